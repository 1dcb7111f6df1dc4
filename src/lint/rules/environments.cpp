#include "lint/rules/environments.hpp"

#include <algorithm>
#include <array>

#include "base/text.hpp"
#include "knowledge/knowledge.hpp"
#include "lint/circumstances.hpp"
#include "lint/rules/settings.hpp"

namespace angio::lint {
namespace {

// Setting::via of what one command gets; readers/commands.cpp writes them.
bool is_of_one_command(std::string_view via) {
  if (via.starts_with("#")) return false;
  constexpr std::array<std::string_view, 8> kEnds{
      "command",           "env",           "mpirun -x", "mpirun -genv",
      "mca_base_env_list", "srun --export", "--env",     "sbatch --export"};
  return std::ranges::any_of(kEnds, [&](std::string_view end) { return via.ends_with(end); });
}

bool contains_place(const Command& command, std::size_t offset) {
  return command.place.offset <= offset && offset < command.place.offset + command.place.length;
}

}  // namespace

const Command* command_of(const Script& script, const Setting& setting) {
  if (!is_of_one_command(setting.via)) return nullptr;
  const std::size_t offset = setting.name_place.offset;
  auto after = std::ranges::upper_bound(script.commands, offset, {},
                                        [](const Command& command) { return command.place.offset; });
  constexpr int kReach = 64;  // commands inside one another's text
  for (int i = 0; i < kReach && after != script.commands.begin(); ++i)
    if (contains_place(*--after, offset)) return &*after;
  return nullptr;
}

std::optional<bool> several_nodes_for(const Script& script, const Setting& setting, const Context& context) {
  const Command* command = command_of(script, setting);
  const auto own = command != nullptr ? several_nodes_of(*command) : std::nullopt;
  return own ? own : context.several_nodes;
}

Environments::Environments(const Script& script) : script_(script) {
  for (const Setting& setting : script.settings) {
    if (!setting.exported && !setting.unset) continue;
    if (const Command* command = command_of(script, setting)) {
      of_command_[{command, setting.name}] = &setting;
    } else {
      of_file_[setting.name].push_back(&setting);
    }
  }
}

const Setting* Environments::beside(const Setting& setting, std::string_view name) const {
  if (const Command* command = command_of(script_, setting)) {
    const auto own = of_command_.find({command, name});
    if (own != of_command_.end()) return own->second->unset ? nullptr : own->second;
  }
  const auto found = of_file_.find(name);
  if (found == of_file_.end()) return nullptr;
  const bool runs = script_.kind == FileKind::kShell || script_.kind == FileKind::kPython;
  if (!runs) return found->second.back()->unset ? nullptr : found->second.back();
  const auto after = std::ranges::lower_bound(found->second, setting.name_place.offset, {},
                                              [](const Setting* one) { return one->name_place.offset; });
  if (after == found->second.begin()) return nullptr;
  const Setting* before = *(after - 1);
  return before->unset || before->statement_place.length == 0 ? nullptr : before;
}

bool Environments::together(const Setting& a, const Setting& b) const {
  return beside(a, b.name) == &b || beside(b, a.name) == &a;
}

std::string_view external_network(const Scope& scope) {
  const auto says = [&](std::string_view name, std::initializer_list<std::string_view> own) {
    const Setting* setting = scope.find(name);
    if (setting == nullptr || setting->value.empty()) return false;
    return setting->dynamic || std::ranges::none_of(own, [&](std::string_view word) {
             return to_lower(setting->value) == to_lower(word);
           });
  };
  if (says("NCCL_NET", {"IB", "Socket"})) return "NCCL_NET";
  if (says("NCCL_NET_PLUGIN", {"none"})) return "NCCL_NET_PLUGIN";
  const knowledge::NcclFact* fact = knowledge::find_nccl_fact("lint.network.plugin-signs");
  for (const std::string_view sign : split_words(fact == nullptr ? std::string_view() : fact->text)) {
    const auto equals = sign.find('=');
    if (equals != std::string_view::npos) {
      if (scope.text(sign.substr(0, equals)) == sign.substr(equals + 1)) return sign.substr(0, equals);
      continue;
    }
    for (const Setting& setting : scope.script().settings)
      if (setting.exported && !setting.unset && setting.name.starts_with(sign)) return sign;
  }
  return {};
}

}  // namespace angio::lint
