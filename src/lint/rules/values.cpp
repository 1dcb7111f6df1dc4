// Names, types, words, versions and form of the variables that files set.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"
#include "knowledge/knowledge.hpp"
#include "lint/rules/settings.hpp"

namespace angio::lint {
namespace {

// Families the catalogue covers as a whole; of others a name proves nothing.
constexpr std::array<std::string_view, 2> kCovered{"NCCL_", "TORCH_NCCL_"};
// A hostile file may hold many unknown names; looking for the nearest one costs.
constexpr std::size_t kMostUnknown = 200;

std::string_view family_of(std::string_view name) {
  for (const std::string_view family : kCovered) {
    if (name.starts_with(family)) return family;
  }
  return {};
}

// Patterns of names that belong to plugins and build scripts: "NCCL_FASTRAK_*: …", "*_VERSION: …".
bool belongs_elsewhere(std::string_view name) {
  return std::ranges::any_of(knowledge::nccl_facts(), [&](const knowledge::NcclFact& fact) {
    if (!fact.id.starts_with("lint.family.")) return false;
    const std::string_view pattern = fact.text.substr(0, fact.text.find(':'));
    return pattern.starts_with('*') ? name.ends_with(pattern.substr(1))
                                    : name.starts_with(pattern.substr(0, pattern.size() - 1));
  });
}

std::optional<std::string> nearest(std::string_view name, std::string_view family) {
  std::vector<std::string_view> candidates;
  for (const knowledge::Variable& variable : knowledge::variables()) {
    if (variable.name.starts_with(family) && variable.until.empty())
      candidates.push_back(variable.name.substr(family.size()));
  }
  const auto found = did_you_mean(name.substr(family.size()), candidates);
  if (!found) return std::nullopt;
  return std::string(family) + *found;
}

void check_unknown(const Script& script, const Setting& setting, Complaints& out) {
  const std::string_view family = family_of(setting.name);
  if (family.empty() || belongs_elsewhere(setting.name)) return;
  if (const auto meant = nearest(setting.name, family)) {
    out.push_back(complain("env.name.unknown", script, setting.name_place,
                           fmt::format("{}: nothing reads a variable of this name", shown(setting.name)),
                           fmt::format("did you mean {}? NCCL never reports unknown names", *meant)));
  } else {
    out.push_back(complain("env.name.not-in-catalogue", script, setting.name_place,
                           fmt::format("{}: no release in the catalogue reads it", shown(setting.name)),
                           "a plugin may; NCCL itself ignores unknown names without a word"));
  }
}

std::string upper(std::string_view text) {
  std::string result(text);
  std::ranges::transform(result, result.begin(),
                         [](char c) { return static_cast<char>(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c); });
  return result;
}

// nccl_debug: names are case-sensitive everywhere.
bool check_case(const Script& script, const Setting& setting, Complaints& out) {
  const std::string name = upper(setting.name);
  if (name == setting.name || name.find('_') == std::string::npos || !to_lower(name).starts_with("nccl_"))
    return false;
  if (setting.via == "assignment" || knowledge::find_variable(name) == nullptr) return false;
  out.push_back(complain(
      "env.name.case", script, setting.name_place,
      fmt::format("{}: names of variables are case-sensitive, nothing reads this one", shown(setting.name)),
      fmt::format("write {}", name)));
  return true;
}

void check_not_read(const Known& known, Complaints& out) {
  if (known.variable.not_read.empty()) return;
  const bool build = known.variable.component == "build";
  if (build) return;  // a build script reads it, that is what it is for
  std::string advice =
      known.variable.replaced_by.empty() ? "remove it" : fmt::format("use {}", known.variable.replaced_by);
  out.push_back(complain("env.name.not-read", known.script, known.setting.name_place,
                         fmt::format("{}: {}", known.variable.name, known.variable.not_read),
                         std::move(advice)));
}

bool is_read(const Known& known, const Context& context) {
  return knowledge::life_at(known.variable, version_for(context, known.variable)) ==
         knowledge::VariableLife::kRead;
}

}  // namespace

void check_names(const Input& input, Complaints& out) {
  for (const Script& script : input.scripts) {
    std::size_t unknown = 0;
    for (const Setting& setting : script.settings) {
      const bool reaches = setting.exported && !setting.unset;
      if (!reaches || knowledge::find_variable(setting.name) != nullptr) continue;
      if (!check_case(script, setting, out) && unknown < kMostUnknown && !family_of(setting.name).empty()) {
        ++unknown;
        check_unknown(script, setting, out);
      }
    }
  }
}

void check_values(const Input& input, Complaints& out) {
  check_names(input, out);
  for (const Script& script : input.scripts) {
    const bool kubernetes = is_kubernetes(script);
    for (const Known& known : known_settings(script)) {
      check_not_read(known, out);
      check_versions(known, input.context, out);
      check_form(known, kubernetes, out);
      if (known.setting.dynamic || known.setting.comment_glued || !is_read(known, input.context)) continue;
      // A blank of nccl.conf is a complaint of its own.
      if (trim(known.setting.value) != known.setting.value) continue;
      check_number(known, input.context, out);
      check_words(known, input.context, out);
      check_algorithms(known, input.context, out);
    }
    check_repeats(script, out);
    check_exports(script, out);
    check_writing(script, out);
  }
}

}  // namespace angio::lint
