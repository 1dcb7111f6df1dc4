// Words of enumerations and path classes, by release.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"
#include "knowledge/knowledge.hpp"
#include "lint/rules/settings.hpp"

namespace angio::lint {
namespace {

using knowledge::VariableKind;
using knowledge::VariableWord;

// ALGO and PROTO have a grammar of their own.
bool has_own_grammar(const knowledge::Variable& variable) {
  return variable.name == "NCCL_ALGO" || variable.name == "NCCL_PROTO";
}

// "MAX:N" stands for "MAX:2".
const VariableWord* match(const knowledge::Variable& variable, std::string_view word) {
  if (const VariableWord* found = knowledge::find_word(variable, word)) return found;
  for (const VariableWord& candidate : variable.words) {
    if (!candidate.word.ends_with(":N")) continue;
    const std::string_view head = candidate.word.substr(0, candidate.word.size() - 1);
    if (to_lower(word).starts_with(to_lower(head))) return &candidate;
  }
  return nullptr;
}

std::string words_of(const knowledge::Variable& variable, std::string_view word) {
  std::vector<std::string_view> candidates;
  std::vector<std::string> all;
  for (const VariableWord& candidate : variable.words) {
    candidates.push_back(candidate.word);
    all.emplace_back(candidate.word);
  }
  if (const auto meant = did_you_mean(word, candidates)) return fmt::format("did you mean {}?", *meant);
  return fmt::format("it knows {}", join(all, ", "));
}

void check_word_version(const Known& known, const VariableWord& word, const Context& context,
                        Complaints& out) {
  const std::string_view version = version_for(context, known.variable);
  const auto order = [&](std::string_view other) {
    return knowledge::compare_versions(version, other).value_or(0);
  };
  if (version.empty()) return;
  if (!word.since.empty() && order(word.since) < 0) {
    out.push_back(complain("env.value.word-version", known.script, known.setting.value_place,
                           fmt::format("{}: {} is known from {} on, not to {}", shown(known.setting),
                                       word.word, word.since, version)));
  } else if (!word.until.empty() && order(word.until) > 0) {
    out.push_back(complain("env.value.word-version", known.script, known.setting.value_place,
                           fmt::format("{}: {} was last known to {}, not to {}", shown(known.setting),
                                       word.word, word.until, version)));
  }
}

void check_one_word(const Known& known, std::string_view word, const Context& context, Complaints& out) {
  if (const VariableWord* found = match(known.variable, word)) {
    check_word_version(known, *found, context, out);
    return;
  }
  out.push_back(
      complain("env.value.unknown-word", known.script, known.setting.value_place,
               fmt::format("{}: \"{}\" is no word that it knows", shown(known.setting), shown(word)),
               words_of(known.variable, word)));
}

void check_list(const Known& known, const Context& context, Complaints& out) {
  std::string_view value = known.setting.value;
  if (value.starts_with('^')) value.remove_prefix(1);
  std::string list(value);
  std::ranges::replace(list, '|', ',');
  for (const std::string_view word : split(list, ',')) {
    if (!word.empty()) check_one_word(known, word, context, out);
  }
}

// Upper case, exactly; anything else is taken as not set, silently (src/graph/paths.cc).
void check_path_class(const Known& known, const Context& context, Complaints& out) {
  const std::string_view value = known.setting.value;
  if (is_digits(value.substr(0, 1))) return;
  const VariableWord* found = knowledge::find_word(known.variable, value);
  if (found != nullptr && found->word == value) {
    check_word_version(known, *found, context, out);
    return;
  }
  auto complaint = complain(
      "env.value.path-class", known.script, known.setting.value_place,
      fmt::format("{}: no path class, NCCL goes on as if it were not set", shown(known.setting)),
      found != nullptr ? fmt::format("upper case only: {}", found->word) : words_of(known.variable, value));
  if (found != nullptr) fix_with(complaint, new_value(known.script, known.setting, found->word));
  out.push_back(std::move(complaint));
}

}  // namespace

void check_words(const Known& known, const Context& context, Complaints& out) {
  const knowledge::Variable& variable = known.variable;
  if (known.setting.value.empty() || variable.words.empty() || has_own_grammar(variable)) return;
  if (variable.kind == VariableKind::kPathClass) {
    check_path_class(known, context, out);
  } else if (variable.kind == VariableKind::kEnumList) {
    check_list(known, context, out);
  } else if (variable.kind == VariableKind::kEnum && known.setting.value.find(',') == std::string::npos) {
    check_one_word(known, known.setting.value, context, out);
  }
}

}  // namespace angio::lint
