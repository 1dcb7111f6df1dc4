// What settings do: dangerous ones, contradictions, no effect here, devices that are not there.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"
#include "lint/rules/device_list.hpp"
#include "lint/rules/settings.hpp"

namespace angio::lint {

DeviceList parse_devices(std::string_view value) {
  DeviceList list;
  list.excluded = value.starts_with('^');
  if (list.excluded) value.remove_prefix(1);
  list.exact = value.starts_with('=');
  if (list.exact) value.remove_prefix(1);
  for (const std::string_view part : split(value, ',')) {
    if (part.empty()) continue;
    const std::size_t colon = part.find(':');
    DeviceEntry entry{part.substr(0, colon), std::nullopt};
    if (colon != std::string_view::npos) {
      const std::string_view rest = part.substr(colon + 1);
      entry.port = parse_integer<std::uint32_t>(rest.substr(0, rest.find(':')));
    }
    list.entries.push_back(entry);
  }
  return list;
}

// The driver's own name: mlx5 calls its devices mlx5_0, mlx5_1 … (rdma naming of the kernel).
bool is_family(std::string_view name) {
  return name.starts_with("mlx") && name.find('_') == std::string_view::npos;
}

bool may_be_device(std::string_view name) {
  return !name.empty() && name.back() >= '0' && name.back() <= '9' && !is_family(name);
}

bool may_be_prefix(std::string_view name) {
  if (is_family(name)) return false;
  std::size_t digits = 0;
  while (digits < name.size() && name[name.size() - 1 - digits] >= '0' &&
         name[name.size() - 1 - digits] <= '9')
    ++digits;
  // Numbers have no leading zero: nothing else begins with "mlx5_0".
  return digits > 0 && digits < name.size() && name[name.size() - digits] != '0';
}

namespace {

// A variable that must be equal everywhere, made of this rank's number.
void check_per_rank(const Known& known, Complaints& out) {
  const Setting& setting = known.setting;
  if (!known.variable.uniform || !setting.dynamic || known.variable.component != "nccl") return;
  const bool rank = setting.value.find("RANK") != std::string::npos ||
                    setting.value.find("PROCID") != std::string::npos ||
                    setting.value.find("LOCALID") != std::string::npos;
  if (!rank) return;
  out.push_back(
      complain("nccl.env.per-rank", known.script, setting.value_place,
               fmt::format("{}: must be equal on all ranks, this value depends on the rank", shown(setting)),
               "ranks that disagree choose different algorithms or buffers: a hang or wrong results"));
}

}  // namespace

void check_meaning(const Input& input, Complaints& out) {
  for (const Script& script : input.scripts) {
    const auto known = known_settings(script);
    for (const Known& one : known)
      check_per_rank(one, out);
    const Scope scope(script);
    check_libraries(scope, input.context, out);
    if (known.empty()) continue;
    check_switches(scope, input.context, out);
    check_debugging(scope, out);
    check_conflicts(scope, input.context, out);
    check_arithmetic(scope, input.context, out);
    check_adapters(scope, input.context, out);
    check_interfaces(scope, input.context, out);
  }
}

void check_uniform(const std::vector<Script>& scripts, Complaints& out) {
  std::vector<Scope> processes;
  for (const Script& script : scripts) {
    if (script.kind == FileKind::kProcess) processes.emplace_back(script);
  }
  if (processes.size() < 2) return;
  for (const knowledge::Variable& variable : knowledge::variables()) {
    if (!variable.uniform || variable.component != "nccl") continue;
    const auto first = processes.front().text(variable.name);
    for (const Scope& process : processes) {
      const auto value = process.text(variable.name);
      if (value == first) continue;
      const Setting* setting = process.find(variable.name);
      const auto words = [](const std::optional<std::string_view>& text) {
        return text ? shown(*text) : std::string("not set");
      };
      out.push_back(
          complain("nccl.env.differs", process.script(), setting != nullptr ? setting->name_place : Place{},
                   fmt::format("{}: {} here, {} in {}; it must be equal on all ranks", variable.name,
                               words(value), words(first), processes.front().script().name),
                   "give every rank of the job the same environment, if these are ranks of one job"));
    }
  }
}

}  // namespace angio::lint
