// A cursor over one message, and the hash table of the parser. Nothing here allocates per line: messages come
// by the million.
#pragma once

#include <algorithm>
#include <array>
#include <charconv>
#include <concepts>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

namespace angio::import::nccl_log {

class Scan {
 public:
  explicit Scan(std::string_view text) : text_(text) {}

  [[nodiscard]] std::string_view rest() const { return text_; }
  [[nodiscard]] bool done() const { return text_.empty(); }
  [[nodiscard]] char peek() const { return text_.empty() ? '\0' : text_.front(); }

  bool eat(char wanted) {
    if (text_.empty() || text_.front() != wanted) return false;
    text_.remove_prefix(1);
    return true;
  }
  bool eat(std::string_view wanted) {
    if (!text_.starts_with(wanted)) return false;
    text_.remove_prefix(wanted.size());
    return true;
  }
  void blanks() {
    std::size_t at = 0;
    while (at < text_.size() && text_[at] == ' ')
      ++at;
    text_.remove_prefix(at);
  }
  // At most what is left.
  void skip(std::size_t count) { text_.remove_prefix(std::min(count, text_.size())); }
  // Decimal digits; false on none or when they exceed Number.
  template <std::unsigned_integral Number>
  bool number(Number& value) {
    std::uint64_t sum = 0;
    std::size_t at = 0;
    while (at < text_.size() && at < kLongest && text_[at] >= '0' && text_[at] <= '9') {
      sum = sum * 10 + static_cast<std::uint64_t>(text_[at++] - '0');
    }
    const bool more = at < text_.size() && text_[at] >= '0' && text_[at] <= '9';
    if (at == 0 || more || sum > std::uint64_t{static_cast<Number>(~Number{})}) return false;
    value = static_cast<Number>(sum);
    text_.remove_prefix(at);
    return true;
  }
  template <std::signed_integral Number>
  bool number(Number& value) {
    const bool negative = peek() == '-';
    Scan ahead(text_.substr(negative ? 1 : 0));
    std::make_unsigned_t<Number> size{};
    if (!ahead.number(size) ||
        size > static_cast<std::make_unsigned_t<Number>>(~std::make_unsigned_t<Number>{} >> 1U))
      return false;
    value = negative ? static_cast<Number>(-static_cast<Number>(size)) : static_cast<Number>(size);
    text_ = ahead.text_;
    return true;
  }
  // Lower-case hexadecimal digits, with or without 0x.
  bool hex(std::uint64_t& value) {
    Scan ahead(text_);
    (void)ahead.eat("0x");
    const auto* first = ahead.text_.data();
    const auto [end, error] = std::from_chars(first, first + ahead.text_.size(), value, 16);
    if (error != std::errc{}) return false;
    text_ = ahead.text_.substr(static_cast<std::size_t>(end - first));
    return true;
  }
  bool decimal(double& value) {
    const auto* first = text_.data();
    const auto [end, error] = std::from_chars(first, first + text_.size(), value);
    if (error != std::errc{}) return false;
    text_.remove_prefix(static_cast<std::size_t>(end - first));
    return true;
  }
  // Everything before `stop`, which stays; everything that is left when there is none.
  std::string_view until(char stop) {
    const auto at = std::min(text_.find(stop), text_.size());
    const auto found = text_.substr(0, at);
    text_.remove_prefix(at);
    return found;
  }
  std::string_view word() { return until(' '); }
  // Goes to the next blank, or to the end: for short words, which a search would take longer to begin with.
  void skip_word() {
    std::size_t at = 0;
    while (at < text_.size() && text_[at] != ' ')
      ++at;
    text_.remove_prefix(at);
  }
  // Goes behind the next `wanted`; false, and stays, when there is none.
  bool skip_past(std::string_view wanted) {
    const auto at = text_.find(wanted);
    if (at == std::string_view::npos) return false;
    text_.remove_prefix(at + wanted.size());
    return true;
  }

 private:
  static constexpr std::size_t kLongest = 19;  // digits that fit 64 bits whatever they are
  std::string_view text_;
};

// What stands behind " name " or at the start behind "name ", up to the next blank; empty: not there.
inline std::string_view value_after(std::string_view text, std::string_view name) {
  for (std::size_t from = 0;;) {
    const auto at = text.find(name, from);
    if (at == std::string_view::npos) return {};
    from = at + name.size();
    if ((at == 0 || text[at - 1] == ' ' || text[at - 1] == '(') && from < text.size() && text[from] == ' ') {
      Scan value(text.substr(from + 1));
      return value.word();
    }
  }
}

// Eight bytes a step; not for use against an adversary, who could at worst merge two lines of his own.
inline std::uint64_t mix(std::uint64_t hash, std::uint64_t value) {
  hash = (hash ^ value) * 0x9e3779b97f4a7c15ULL;
  return hash ^ (hash >> 29U);
}
inline std::uint64_t hash_text(std::string_view text, std::uint64_t hash = 0x243f6a8885a308d3ULL) {
  std::uint64_t piece = 0;
  const char* at = text.data();
  std::size_t left = text.size();
  for (; left >= sizeof piece; left -= sizeof piece, at += sizeof piece) {
    std::memcpy(&piece, at, sizeof piece);
    hash = mix(hash, piece);
  }
  piece = 0;
  if (left > 0) std::memcpy(&piece, at, left);
  return mix(hash, piece ^ (std::uint64_t{text.size()} << 56U));
}

// From a 64-bit key to an index. Open addressing, grows by doubling, nothing is ever removed but all at once.
class Index {
 public:
  static constexpr std::uint32_t kNone = 0xffffffffU;

  [[nodiscard]] std::uint32_t find(std::uint64_t key) const {
    if (slots_.empty()) return kNone;
    for (std::size_t at = start(key);; at = (at + 1) & (slots_.size() - 1)) {
      if (slots_[at].value == kNone || slots_[at].key == key) return slots_[at].value;
    }
  }
  void put(std::uint64_t key, std::uint32_t value) {
    if ((count_ + 1) * 2 > slots_.size()) grow();
    for (std::size_t at = start(key);; at = (at + 1) & (slots_.size() - 1)) {
      if (slots_[at].value == kNone) {
        slots_[at] = {key, value};
        ++count_;
        return;
      }
      if (slots_[at].key == key) {
        slots_[at].value = value;
        return;
      }
    }
  }
  // True the first time.
  bool add(std::uint64_t key) {
    if (find(key) != kNone) return false;
    put(key, 0);
    return true;
  }
  void clear() {
    slots_.clear();
    count_ = 0;
  }
  [[nodiscard]] std::size_t size() const { return count_; }

 private:
  struct Slot {
    std::uint64_t key = 0;
    std::uint32_t value = kNone;
  };
  [[nodiscard]] std::size_t start(std::uint64_t key) const {
    return static_cast<std::size_t>(key ^ (key >> 32U)) & (slots_.size() - 1);
  }
  void grow() {
    std::vector<Slot> old(slots_.empty() ? 64 : slots_.size() * 2);
    old.swap(slots_);
    count_ = 0;
    for (const Slot& slot : old) {
      if (slot.value != kNone) put(slot.key, slot.value);
    }
  }
  std::vector<Slot> slots_;
  std::size_t count_ = 0;
};

}  // namespace angio::import::nccl_log
