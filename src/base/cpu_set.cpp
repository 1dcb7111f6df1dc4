#include "base/cpu_set.hpp"

#include <algorithm>
#include <bit>

#include "base/text.hpp"

namespace angio {
namespace {

constexpr unsigned kWordBits = 64;
// A list names each CPU once. Hostile text repeats "0-65535" without end; 16 times is patience enough.
constexpr std::size_t kMaxWork = 16 * (CpuSet::kMaxCpu + std::size_t{1});

// The first `used` CPUs of every `group`, from first to last.
struct Range {
  std::uint32_t first = 0;
  std::uint32_t last = 0;
  std::uint32_t used = 1;
  std::uint32_t group = 1;
};

// What follows the colon: "2/25" as the kernel's command line has it (two of every 25), "2" as taskset
// does (every second). Documentation/admin-guide/kernel-parameters.rst, cpu lists.
bool parse_stride(std::string_view text, Range& range) {
  const std::size_t slash = text.find('/');
  const auto first = parse_integer<std::uint32_t>(text.substr(0, slash));
  if (!first) return false;
  if (slash == std::string_view::npos) {
    range.group = *first;
  } else {
    const auto group = parse_integer<std::uint32_t>(text.substr(slash + 1));
    if (!group) return false;
    range.used = *first;
    range.group = *group;
  }
  return range.used > 0 && range.used <= range.group && range.group <= CpuSet::kMaxCpu;
}

// "4", "0-3", "0-30:2" or "100-2000:2/25".
std::optional<Range> parse_range(std::string_view text) {
  Range range;
  const std::size_t colon = text.find(':');
  if (colon != std::string_view::npos) {
    if (!parse_stride(text.substr(colon + 1), range)) return std::nullopt;
    text = text.substr(0, colon);
  }
  const std::size_t dash = text.find('-');
  const auto first = parse_integer<std::uint32_t>(text.substr(0, dash));
  const auto last =
      dash == std::string_view::npos ? first : parse_integer<std::uint32_t>(text.substr(dash + 1));
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
  for (const std::uint64_t word : words_)
    count += static_cast<std::size_t>(std::popcount(word));
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
  for (std::size_t i = 0; i < other.words_.size(); ++i)
    words_[i] |= other.words_[i];
  return *this;
}

CpuSet& CpuSet::operator&=(const CpuSet& other) {
  words_.resize(std::min(words_.size(), other.words_.size()));
  for (std::size_t i = 0; i < words_.size(); ++i)
    words_[i] &= other.words_[i];
  shrink();
  return *this;
}

CpuSet& CpuSet::operator-=(const CpuSet& other) {
  for (std::size_t i = 0; i < std::min(words_.size(), other.words_.size()); ++i)
    words_[i] &= ~other.words_[i];
  shrink();
  return *this;
}

bool CpuSet::operator==(const CpuSet& other) const {
  return words_ == other.words_;
}

void CpuSet::shrink() {
  while (!words_.empty() && words_.back() == 0)
    words_.pop_back();
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
  std::size_t work = 0;
  for (const std::string_view part : split(text, ',')) {
    const auto range = parse_range(trim(part));
    if (!range) return std::nullopt;
    work += range->last - range->first + 1;
    if (work > kMaxWork) return std::nullopt;
    for (std::uint32_t cpu = range->first; cpu <= range->last; ++cpu) {
      if ((cpu - range->first) % range->group < range->used) set.insert(cpu);
    }
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
    while (end + 1 < all.size() && all[end + 1] == all[end] + 1)
      ++end;
    if (!list.empty()) list += ',';
    list += std::to_string(all[i]);
    if (end > i) list += '-' + std::to_string(all[end]);
    i = end + 1;
  }
  return list;
}

}  // namespace angio
