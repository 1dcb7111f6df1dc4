#include "lint/effective.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "lint/circumstances.hpp"
#include "lint/rules/environments.hpp"
#include "lint/rules/settings.hpp"

namespace angio::lint {
namespace {

struct Source {
  const Script* script = nullptr;
  const Setting* setting = nullptr;
};

std::string origin_of(const Source& source) {
  const bool process = source.script->kind == FileKind::kProcess;
  return process ? source.script->name
                 : fmt::format("{}:{}", source.script->name, source.setting->name_place.line);
}

void take(const Script& script, const Setting& setting, bool overwrite,
          std::map<std::string, Source>& sources) {
  if (setting.unset) {
    if (overwrite) sources.erase(setting.name);
    return;
  }
  if (!setting.exported || knowledge::find_variable(setting.name) == nullptr) return;
  if (overwrite) {
    sources[setting.name] = {&script, &setting};
  } else {
    sources.try_emplace(setting.name, Source{&script, &setting});
  }
}

// Environment before conf files: setenv does not overwrite (src/misc/param.cc).
std::map<std::string, Source> sources_of(const std::vector<Script>& scripts) {
  std::map<std::string, Source> sources;
  for (const bool conf : {false, true}) {
    for (const Script& script : scripts) {
      if ((script.kind == FileKind::kNcclConf) != conf) continue;
      for (const Setting& setting : script.settings)
        take(script, setting, !conf, sources);
    }
  }
  return sources;
}

Effective describe(const std::string& name, const Source& source, const Context& context) {
  const knowledge::Variable& variable = *knowledge::find_variable(name);
  Effective line{name, source.setting->value, origin_of(source), std::string(variable.effect), true};
  const std::string_view version = version_for(context, variable);
  if (!variable.not_read.empty()) {
    line.has_effect = false;
    line.effect = fmt::format("no effect: {}", variable.not_read);
  } else if (knowledge::life_at(variable, version) != knowledge::VariableLife::kRead) {
    line.has_effect = false;
    line.effect = fmt::format("no effect: {} does not read it", version);
  } else if (const auto standard = knowledge::default_at(variable, version);
             standard && *standard == source.setting->value) {
    line.effect = fmt::format("the default; {}", variable.effect);
  }
  return line;
}

// Variables that another one of the same environment makes idle.
void mark_idle(std::vector<Effective>& lines) {
  const auto value = [&](std::string_view name) {
    const auto found = std::ranges::find(lines, name, &Effective::name);
    return found == lines.end() ? std::string_view() : std::string_view(found->value);
  };
  const bool off = !value("NCCL_IB_DISABLE").empty() && read_number(value("NCCL_IB_DISABLE")).value != 0;
  const bool socket = value("NCCL_NET") == "Socket";
  if (!off && !socket) return;
  for (Effective& line : lines) {
    if (!line.name.starts_with("NCCL_IB_") || line.name == "NCCL_IB_DISABLE" || !line.has_effect) continue;
    line.has_effect = false;
    line.effect = off ? "no effect: NCCL_IB_DISABLE is set" : "no effect: NCCL_NET=Socket";
  }
}

}  // namespace

std::vector<Effective> effective_of(const std::vector<Script>& scripts, const Context& context) {
  Context resolved;
  if (!scripts.empty()) resolved = circumstances_of(scripts.front(), context);
  resolved.versions = context.versions;
  std::vector<Effective> lines;
  for (const auto& [name, source] : sources_of(scripts))
    lines.push_back(describe(name, source, resolved));
  const bool plugin = std::ranges::any_of(
      scripts, [](const Script& script) { return !external_network(Scope(script)).empty(); });
  if (!plugin) mark_idle(lines);
  return lines;
}

}  // namespace angio::lint
