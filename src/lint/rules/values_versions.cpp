// Variables that the given release does not read yet, no longer, or under another name.
#include <fmt/format.h>

#include "knowledge/knowledge.hpp"
#include "lint/rules/settings.hpp"

namespace angio::lint {
namespace {

std::string reader_words(const knowledge::Variable& variable) {
  if (variable.component == "nccl") return "NCCL";
  if (variable.component == "pytorch") return "PyTorch";
  return variable.component == "ucx" ? "UCX" : std::string(variable.component);
}

// Old and new name mean the same: a fact "lint.same-meaning.<old name>", with the release of the new name.
bool same_meaning(const knowledge::Variable& variable, std::string_view version) {
  const knowledge::NcclFact* fact =
      knowledge::find_nccl_fact("lint.same-meaning." + std::string(variable.name));
  if (fact == nullptr || version.empty()) return false;
  const auto order = knowledge::compare_versions(version, fact->since);
  return order && *order >= 0;
}

// Only where the name stands once: mpirun -x, docker -e or $NAME elsewhere would keep the old one. An assumed
// release may be too new, and then nothing would read the new name.
void add_renaming(Complaint& complaint, const Known& known, const Context& context,
                  std::string_view version) {
  if (!same_meaning(known.variable, version)) return;
  if (known.variable.component == "nccl" && context.nccl_version_source.starts_with("assumed")) return;
  const knowledge::Variable* successor = knowledge::find_variable(known.variable.replaced_by);
  if (successor == nullptr || knowledge::life_at(*successor, version) != knowledge::VariableLife::kRead)
    return;
  if (known.mentions_of(known.variable.name).all != 1 || known.mentions_of(successor->name).all != 0) return;
  complaint.fix.push_back({known.setting.name_place.offset, known.setting.name_place.length,
                           std::string(known.variable.replaced_by)});
}

void check_removed(const Known& known, std::string_view version, Complaints& out) {
  const knowledge::Variable& variable = known.variable;
  auto complaint = complain("env.version.removed", known.script, known.setting.name_place,
                            fmt::format("{}: {} {} no longer reads it, {} was the last that did",
                                        variable.name, reader_words(variable), version, variable.until),
                            variable.replaced_by.empty()
                                ? "remove it"
                                : fmt::format("see {}, which took its place", variable.replaced_by));
  out.push_back(std::move(complaint));
}

void check_deprecated(const Known& known, const Context& context, std::string_view version, Complaints& out) {
  const knowledge::Variable& variable = known.variable;
  const bool old_framework_name = variable.component == "pytorch" && variable.name.starts_with("NCCL_");
  std::string advice = variable.replaced_by.empty() ? std::string(variable.effect)
                                                    : fmt::format("use {}", variable.replaced_by);
  if (old_framework_name) {
    if (variable.effect.find("reset") != std::string_view::npos)
      advice += "; neither resets NCCL, the process ends";
    out.push_back(complain("pytorch.env.old-name", known.script, known.setting.name_place,
                           fmt::format("{}: PyTorch's old name, NCCL itself never reads it", variable.name),
                           std::move(advice)));
  } else {
    const std::string since =
        variable.deprecated_since == "?" ? "" : fmt::format(" since {}", variable.deprecated_since);
    out.push_back(complain("env.version.deprecated", known.script, known.setting.name_place,
                           fmt::format("{}: deprecated{}", variable.name, since), std::move(advice)));
  }
  if (!variable.replaced_by.empty()) add_renaming(out.back(), known, context, version);
}

bool is_deprecated(const knowledge::Variable& variable, std::string_view version) {
  if (variable.deprecated_since.empty()) return false;
  if (variable.deprecated_since == "?" || version.empty()) return true;
  return knowledge::compare_versions(version, variable.deprecated_since).value_or(1) >= 0;
}

}  // namespace

void check_versions(const Known& known, const Context& context, Complaints& out) {
  const std::string_view version = version_for(context, known.variable);
  switch (knowledge::life_at(known.variable, version)) {
    case knowledge::VariableLife::kNotYet:
      out.push_back(complain("env.version.not-yet", known.script, known.setting.name_place,
                             fmt::format("{}: read from {} {} on; {} ignores it", known.variable.name,
                                         reader_words(known.variable), known.variable.since, version)));
      return;
    case knowledge::VariableLife::kRemoved:
      check_removed(known, version, out);
      return;
    case knowledge::VariableLife::kRead:
      break;
  }
  if (is_deprecated(known.variable, version)) check_deprecated(known, context, version, out);
}

}  // namespace angio::lint
