#include "import/nccl_tests/row.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include "base/text.hpp"

namespace angio::import::nccl_tests {
namespace {

using model::NcclTestsTiming;

// Type names of nccl-tests src/common.cu and of rccl-tests.
constexpr std::array<std::string_view, 22> kTypes{
    "int8",    "uint8",    "int32",    "uint32",   "int64",  "uint64", "half", "float",
    "double",  "bfloat16", "fp8_e4m3", "fp8_e5m2", "f8e4m3", "f8e5m2", "bf16", "float16",
    "float32", "float64",  "int",      "char",     "fp16",   "unknown"};
// Words a launcher may put before a row: "[1,0]<stdout>:", "0:", a time, a host.
constexpr std::size_t kMostPrefixWords = 6;
constexpr std::size_t kLongestLine = 1000;
constexpr std::size_t kHalf = 4;  // time, algbw, busbw, wrong
constexpr double kGigabyte = 1e9;

// "[1,0]<stdout>:8" and "0:8" hold a number behind their last colon.
std::string_view behind_prefix(std::string_view word) {
  const std::size_t colon = word.rfind(':');
  return colon == std::string_view::npos ? word : word.substr(colon + 1);
}

// Index of the type's word of a row; none when this is no row.
std::optional<std::size_t> find_type(const std::vector<std::string_view>& words) {
  const std::size_t end = std::min(words.size(), kMostPrefixWords + 3);
  for (std::size_t i = 2; i < end; ++i) {
    if (std::ranges::find(kTypes, words[i]) == kTypes.end()) continue;
    if (parse_integer<std::uint64_t>(behind_prefix(words[i - 2])) &&
        parse_integer<std::uint64_t>(words[i - 1]))
      return i;
  }
  return std::nullopt;
}

bool is_absent(std::string_view word) {
  return word == "N/A" || word == "-";
}

// A number that can be no measure of ours is none: negative or not finite.
std::optional<double> measure(std::string_view word) {
  const auto value = parse_double(word);
  return value && *value >= 0 ? value : std::nullopt;
}

enum class Half : std::uint8_t { kAbsent, kRead, kDamaged };

Half parse_half(const std::vector<std::string_view>& words, std::size_t at, const Columns& columns,
                std::optional<NcclTestsTiming>& result) {
  if (words.size() < at + 3) return Half::kAbsent;
  if (is_absent(words[at])) return Half::kAbsent;
  const auto time = measure(words[at]);
  const auto algorithm = measure(words[at + 1]);
  const auto bus = measure(words[at + 2]);
  if (!time || !algorithm || !bus) return Half::kDamaged;
  NcclTestsTiming timing{*time, {*algorithm * kGigabyte}, {*bus * kGigabyte}, {}, {}};
  if (words.size() >= at + kHalf && !is_absent(words[at + 3])) {
    if (columns.deviation) {
      timing.deviation = parse_double(words[at + 3]);
    } else {
      // rccl-tests marks a wrong count with an asterisk.
      std::string_view wrong = words[at + 3];
      if (wrong.ends_with('*')) wrong.remove_suffix(1);
      timing.wrong = parse_integer<std::uint64_t>(wrong);
      if (!timing.wrong) timing.deviation = parse_double(wrong);
    }
  }
  result = timing;
  return Half::kRead;
}

bool is_reduction(std::string_view word) {
  return !word.empty() && word[0] >= 'a' && word[0] <= 'z';
}

}  // namespace

std::optional<Columns> parse_titles(std::string_view line) {
  if (line.size() > kLongestLine || !contains(line, "busbw") || !contains(line, "size")) return std::nullopt;
  const std::vector<std::string_view> words = split_words(line);
  const auto size = std::ranges::find(words, "size");
  if (size == words.end() || std::ranges::find(size, words.end(), "busbw") == words.end())
    return std::nullopt;
  const auto is_time = [](std::string_view word) { return word == "time" || word == "cputime"; };
  const auto first = std::find_if(size, words.end(), is_time);
  if (first == words.end()) return std::nullopt;
  Columns columns;
  columns.known = true;
  columns.cpu_time = *first == "cputime";
  columns.reduction = std::find(size, first, "redop") != first;
  columns.root = std::find(size, first, "root") != first;
  columns.deviation = std::find(first, words.end(), "error") != words.end();
  if (const auto second = std::find_if(first + 1, words.end(), is_time); second != words.end())
    columns.second = static_cast<std::size_t>(second - first);
  return columns;
}

std::optional<ParsedRow> parse_row(std::string_view line, const Columns& columns) {
  if (line.size() > kLongestLine) return std::nullopt;
  const std::vector<std::string_view> words = split_words(line);
  const auto type = find_type(words);
  if (!type) return std::nullopt;
  ParsedRow parsed;
  parsed.row.size = {*parse_integer<std::uint64_t>(behind_prefix(words[*type - 2]))};
  parsed.row.count = *parse_integer<std::uint64_t>(words[*type - 1]);
  parsed.row.type = words[*type];
  std::size_t at = *type + 1;
  if (at < words.size() && is_reduction(words[at])) {
    if (words[at] != "none") parsed.row.reduction = printable(words[at]);
    ++at;
  }
  const bool has_root = columns.known ? columns.root : words.size() > at + 2 * kHalf;
  if (has_root && at < words.size()) {
    const auto root = parse_integer<std::int64_t>(words[at]);
    if (root) {
      parsed.row.root = root;
      ++at;
    }
  }
  // Less than one half: prose that happens to hold two numbers and a type.
  if (words.size() < at + 3) return std::nullopt;
  const Half first = parse_half(words, at, columns, parsed.row.out_of_place);
  const Half second = parse_half(words, at + columns.second, columns, parsed.row.in_place);
  parsed.damaged = first == Half::kDamaged || second == Half::kDamaged ||
                   (first == Half::kAbsent && second == Half::kAbsent);
  return parsed;
}

}  // namespace angio::import::nccl_tests
