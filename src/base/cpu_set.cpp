#include "base/cpu_set.hpp"

#include <algorithm>
#include <bit>

#include "base/text.hpp"

namespace angio {
namespace {

constexpr unsigned kWordBits = 64;

struct Range {
  std::uint32_t first = 0;
  std::uint32_t last = 0;
  std::uint32_t step = 1;
};

// "4", "0-3" or "0-30:2".
std::optional<Range> parse_range(std::string_view text) {
  Range range;
  const std::size_t colon = text.find(':');
  if (colon != std::string_view::npos) {
    const auto step = parse_integer<std::uint32_t>(text.substr(colon + 1));
    if (!step || *step == 0) return std::nullopt;
    range.step = *step;
    text = text.substr(0, colon);
  }
  const std::size_t dash = text.find('-');
  const auto first = parse_integer<std::uint32_t>(text.substr(0, dash));
  const auto last = dash == std::string_view::npos ? first : parse_integer<std::uint32_t>(text.substr(dash + 1));
  if (!first || !last || *last < *first || *last > CpuSet::kMaxCpu) return std::nullopt;
  range.first = *first;
  range.last = *last;
  return range;
}

}  // namespace

void CpuSet::insert(std::uint32_t cpu) {
  if (cpu > kMaxCpu) return;
  if (cpu / kWordBits >= words_.size()) words_.resize(cpu / kWordBits + 1);
  words_[cpu / kWordBits] |= std::uint64_t{1} << (cpu % kWordBits);
}

void CpuSet::erase(std::uint32_t cpu) {
  if (!contains(cpu)) return;
  words_[cpu / kWordBits] &= ~(std::uint64_t{1} << (cpu % kWordBits));
  shrink();
}

bool CpuSet::contains(std::uint32_t cpu) const {
  return cpu / kWordBits < words_.size() && ((words_[cpu / kWordBits] >> (cpu % kWordBits)) & 1U) != 0;
}

bool CpuSet::empty() const {
  return words_.empty();
}

std::size_t CpuSet::size() const {
  std::size_t count = 0;
  for (const std::uint64_t word : words_) count += static_cast<std::size_t>(std::popcount(word));
  return count;
}

std::optional<std::uint32_t> CpuSet::first() const {
  for (std::uint32_t i = 0; i < words_.size(); ++i) {
    if (words_[i] != 0) return i * kWordBits + static_cast<std::uint32_t>(std::countr_zero(words_[i]));
  }
  return std::nullopt;
}

std::vector<std::uint32_t> CpuSet::members() const {
  std::vector<std::uint32_t> all;
  all.reserve(size());
  for (std::uint32_t i = 0; i < words_.size(); ++i) {
    for (std::uint64_t word = words_[i]; word != 0; word &= word - 1) {
      all.push_back(i * kWordBits + static_cast<std::uint32_t>(std::countr_zero(word)));
    }
  }
  return all;
}

bool CpuSet::is_subset_of(const CpuSet& other) const {
  return (*this - other).empty();
}

bool CpuSet::intersects(const CpuSet& other) const {
  return !(*this & other).empty();
}

CpuSet& CpuSet::operator|=(const CpuSet& other) {
  if (other.words_.size() > words_.size()) words_.resize(other.words_.size());
  for (std::size_t i = 0; i < other.words_.size(); ++i) words_[i] |= other.words_[i];
  return *this;
}

CpuSet& CpuSet::operator&=(const CpuSet& other) {
  words_.resize(std::min(words_.size(), other.words_.size()));
  for (std::size_t i = 0; i < words_.size(); ++i) words_[i] &= other.words_[i];
  shrink();
  return *this;
}

CpuSet& CpuSet::operator-=(const CpuSet& other) {
  for (std::size_t i = 0; i < std::min(words_.size(), other.words_.size()); ++i) words_[i] &= ~other.words_[i];
  shrink();
  return *this;
}

bool CpuSet::operator==(const CpuSet& other) const {
  return words_ == other.words_;
}

void CpuSet::shrink() {
  while (!words_.empty() && words_.back() == 0) words_.pop_back();
}

CpuSet operator|(CpuSet a, const CpuSet& b) {
  return a |= b;
}
CpuSet operator&(CpuSet a, const CpuSet& b) {
  return a &= b;
}
CpuSet operator-(CpuSet a, const CpuSet& b) {
  return a -= b;
}

std::optional<CpuSet> parse_cpu_list(std::string_view text) {
  CpuSet set;
  text = trim(text);
  if (text.empty()) return set;
  for (const std::string_view part : split(text, ',')) {
    const auto range = parse_range(trim(part));
    if (!range) return std::nullopt;
    for (std::uint32_t cpu = range->first; cpu <= range->last; cpu += range->step) set.insert(cpu);
  }
  return set;
}

std::optional<CpuSet> parse_cpu_mask(std::string_view text) {
  constexpr std::uint32_t kMaskWordBits = 32;
  CpuSet set;
  const std::vector<std::string_view> words = split(trim(text), ',');
  for (std::size_t i = 0; i < words.size(); ++i) {
    const auto word = parse_integer<std::uint32_t>(words[words.size() - 1 - i], 16);
    if (!word || i > CpuSet::kMaxCpu / kMaskWordBits) return std::nullopt;
    for (std::uint32_t bit = 0; bit < kMaskWordBits; ++bit) {
      if (((*word >> bit) & 1U) != 0) set.insert(static_cast<std::uint32_t>(i) * kMaskWordBits + bit);
    }
  }
  return set;
}

std::string to_list(const CpuSet& set) {
  std::string list;
  const std::vector<std::uint32_t> all = set.members();
  for (std::size_t i = 0; i < all.size();) {
    std::size_t end = i;
    while (end + 1 < all.size() && all[end + 1] == all[end] + 1) ++end;
    if (!list.empty()) list += ',';
    list += std::to_string(all[i]);
    if (end > i) list += '-' + std::to_string(all[end]);
    i = end + 1;
  }
  return list;
}

}  // namespace angio
