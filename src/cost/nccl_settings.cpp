#include "cost/nccl_settings.hpp"

#include <algorithm>
#include <span>

#include "base/text.hpp"

namespace angio::cost {
namespace {

// NCCL's own spellings in lower case; it compares without regard to case.
template <typename Value>
std::vector<std::string_view> words_of(std::size_t count) {
  std::vector<std::string_view> words;
  for (std::size_t i = 0; i < count; ++i)
    words.push_back(tuner::to_word(static_cast<Value>(i)));
  return words;
}

std::size_t index_of(const std::vector<std::string_view>& words, std::string_view word) {
  return static_cast<std::size_t>(std::ranges::find(words, to_lower(word)) - words.begin());
}

// strtok: empty parts do not count.
std::vector<std::string_view> parts_of(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (const std::string_view part : split(text, separator))
    if (!part.empty()) parts.push_back(part);
  return parts;
}

std::string hint(std::string_view word, const std::vector<std::string_view>& known) {
  if (const auto guess = did_you_mean(to_lower(word.substr(0, 64)), known))
    return "Did you mean " + *guess + "?";
  return "It knows " + join(std::vector<std::string>(known.begin(), known.end()), ", ");
}

struct List {
  std::string_view variable;
  std::vector<std::string_view> words;
};

// Sets one function's row: "Ring,Tree", "^LL".
template <typename Row>
Result<void> set_row(Row& row, std::string_view names, const List& list, bool strict,
                     std::vector<std::string>& notes) {
  const bool inverted = names.starts_with('^');
  if (inverted) names.remove_prefix(1);
  std::fill(row.begin(), row.end(), static_cast<std::uint8_t>(inverted));
  for (const std::string_view name : parts_of(names, ',')) {
    const std::size_t at = index_of(list.words, name);
    if (at < list.words.size()) {
      row[at] = static_cast<std::uint8_t>(!inverted);
    } else if (strict) {
      return fail(ErrorCode::kInvalidInput,
                  std::string(list.variable) + ": NCCL does not start, \"" + printable(name) +
                      "\" is none of its words",
                  hint(name, list.words));
    } else {
      notes.push_back(std::string(list.variable) + ": this release passes over \"" + printable(name) + "\"");
    }
  }
  return {};
}

// 2.24 and later: "Ring,Tree;allreduce:Tree;allgather:^Ring".
template <typename Table>
Result<void> set_by_function(Table& table, std::string_view text, const List& list,
                             std::vector<std::string>& notes) {
  const auto functions = words_of<tuner::Collective>(tuner::kCollectives);
  bool first = true;
  for (const std::string_view entry : parts_of(text, ';')) {
    const std::size_t colon = entry.find(':');
    if (colon == std::string_view::npos && !first)
      return fail(ErrorCode::kInvalidInput,
                  std::string(list.variable) + ": NCCL does not start, \"" + printable(entry) +
                      "\" names no function; only the first entry may",
                  "As in Ring;allreduce:Tree");
    first = false;
    if (colon == std::string_view::npos) {
      for (auto& row : table)
        if (auto set = set_row(row, entry, list, true, notes); !set) return set;
      continue;
    }
    const std::size_t at = index_of(functions, entry.substr(0, colon));
    if (at == functions.size())
      return fail(ErrorCode::kInvalidInput,
                  std::string(list.variable) + ": NCCL does not start, \"" +
                      printable(entry.substr(0, colon)) + "\" is no function of its",
                  hint(entry.substr(0, colon), functions));
    if (auto set = set_row(table[at], entry.substr(colon + 1), list, true, notes); !set) return set;
  }
  return {};
}

template <typename Table>
Result<void> take_list(Table& table, const NcclSettings& settings, const List& list,
                       const NcclFigures& figures, std::vector<std::string>& notes) {
  const std::string* text = find_setting(settings, list.variable);
  if (text == nullptr || text->empty()) return {};
  if (!figures.old_lists) return set_by_function(table, *text, list, notes);
  for (auto& row : table)
    if (auto set = set_row(row, *text, list, false, notes); !set) return set;
  if (notes.size() > tuner::kCollectives) {  // the same for each function
    std::ranges::sort(notes);
    const auto same = std::ranges::unique(notes);
    notes.erase(same.begin(), same.end());
  }
  return {};
}

}  // namespace

const std::string* find_setting(const NcclSettings& settings, std::string_view name) {
  const auto found =
      std::find_if(settings.rbegin(), settings.rend(), [&](const auto& each) { return each.first == name; });
  return found == settings.rend() ? nullptr : &found->second;
}

std::optional<std::int64_t> number_setting(const NcclSettings& settings, std::string_view name,
                                           std::vector<std::string>& notes) {
  const std::string* text = find_setting(settings, name);
  if (text == nullptr || text->empty()) return std::nullopt;
  const auto number = parse_integer<std::int64_t>(*text);
  if (!number)
    notes.push_back(std::string(name) + ": \"" + printable(*text) + "\" is no number, not counted here");
  return number ? std::optional(*number) : std::nullopt;
}

Result<NcclEnabled> nccl_enabled(const NcclSettings& settings, const NcclFigures& figures,
                                 std::vector<std::string>& notes) {
  NcclEnabled enabled;
  for (auto& row : enabled.algorithms)
    row.fill(1);
  for (auto& row : enabled.protocols)
    row = {1, 2, 1};
  const List algorithms{"NCCL_ALGO",
                        words_of<tuner::Algorithm>(static_cast<std::size_t>(figures.algorithms))};
  if (auto set = take_list(enabled.algorithms, settings, algorithms, figures, notes); !set)
    return std::unexpected(std::move(set.error()));
  const List protocols{"NCCL_PROTO", words_of<tuner::Protocol>(kNcclProtocols)};
  if (auto set = take_list(enabled.protocols, settings, protocols, figures, notes); !set)
    return std::unexpected(std::move(set.error()));
  return enabled;
}

}  // namespace angio::cost
