#include "knowledge/variables.hpp"

#include <algorithm>
#include <array>
#include <string>

#include "base/text.hpp"
#include "knowledge/knowledge.hpp"

namespace angio::knowledge {
namespace {

#include "variables_tables.inc"

}  // namespace

std::span<const Variable> variables() {
  return kVariables;
}
std::span<const LintRule> lint_rules() {
  return kLintRules;
}

const Variable* find_variable(std::string_view name) {
  const auto found = std::ranges::lower_bound(variables(), name, {}, &Variable::name);
  return found != variables().end() && found->name == name ? &*found : nullptr;
}

const LintRule* find_lint_rule(std::string_view id) {
  const auto found = std::ranges::lower_bound(lint_rules(), id, {}, &LintRule::id);
  return found != lint_rules().end() && found->id == id ? &*found : nullptr;
}

VariableLife life_at(const Variable& variable, std::string_view version) {
  if (!variable.since.empty() && compare_versions(version, variable.since).value_or(0) < 0)
    return VariableLife::kNotYet;
  if (!variable.until.empty() && compare_versions(version, variable.until).value_or(0) > 0)
    return VariableLife::kRemoved;
  return VariableLife::kRead;
}

std::optional<std::string_view> default_at(const Variable& variable, std::string_view version) {
  if (variable.defaults.empty()) return std::nullopt;
  if (!compare_versions(version, "0")) return variable.defaults.back().value;
  std::optional<std::string_view> value;
  for (const VariableDefault& row : variable.defaults) {
    if (row.since.empty() || compare_versions(version, row.since).value_or(-1) >= 0) value = row.value;
  }
  return value;
}

const VariableWord* find_word(const Variable& variable, std::string_view word) {
  const std::string wanted = to_lower(word);
  for (const VariableWord& row : variable.words) {
    if (to_lower(row.word) == wanted) return &row;
  }
  return nullptr;
}

}  // namespace angio::knowledge
