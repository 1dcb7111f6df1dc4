// Which RDMA ports a job takes: NCCL's lists of names (NCCL user guide 2.30, NCCL_IB_HCA). Not their state.
#include <algorithm>

#include "base/text.hpp"
#include "diagnose/rules/rdma.hpp"
#include "diagnose/rules/support.hpp"

namespace angio::diagnose::rdma {

using model::Machine;
using model::Process;
using model::Setting;

NameList parse_names(std::string_view value) {
  NameList list;
  if (value.starts_with('^')) list.exclude = true;
  if (list.exclude) value.remove_prefix(1);
  if (value.starts_with('=')) list.exact = true;
  if (list.exact) value.remove_prefix(1);
  for (const std::string_view part : split(value, ',')) {
    if (!trim(part).empty()) list.names.push_back(trim(part));
  }
  return list;
}

std::string_view device_part(std::string_view name) {
  return name.substr(0, name.find(':'));
}

namespace {

bool names_it(const NameList& list, std::string_view part, std::string_view name) {
  part = device_part(part);
  return list.exact ? name == part : name.starts_with(part);
}

// "mlx5_0:1" means port 1 only; "mlx5_0" and "mlx5_0:x" any. A rail or plane may follow.
bool port_fits(std::string_view part, std::uint32_t port) {
  const auto fields = split(part, ':');
  if (fields.size() < 2) return true;
  const auto number = parse_integer<std::uint32_t>(fields[1]);
  return !number || *number == port;
}

}  // namespace

bool takes(const NameList& list, std::string_view name) {
  const bool listed =
      std::ranges::any_of(list.names, [&](std::string_view part) { return names_it(list, part, name); });
  return listed != list.exclude;
}

bool takes(const NameList& list, const PortRef& ref) {
  const bool listed = std::ranges::any_of(list.names, [&](std::string_view part) {
    return names_it(list, part, ref.device->name) && port_fits(part, ref.port->number);
  });
  return listed != list.exclude;
}

const Setting* hca_setting(const Machine& machine, const Process* process) {
  const Setting* own = process != nullptr ? find_setting(process->settings, "NCCL_IB_HCA") : nullptr;
  return own != nullptr ? own : find_setting(machine.software.settings, "NCCL_IB_HCA");
}

bool uses_port(const Machine& machine, const Process* process, const PortRef& ref) {
  const Setting* setting = hca_setting(machine, process);
  if (setting == nullptr) return true;
  const NameList list = parse_names(setting->value);
  return list.names.empty() || takes(list, ref);
}

bool left_out(const Machine& machine, const PortRef& ref) {
  bool any = false;
  for (const Process& process : machine.processes) {
    if (process.gpus.empty()) continue;
    any = true;
    if (uses_port(machine, &process, ref)) return false;
  }
  return any || !uses_port(machine, nullptr, ref);
}

}  // namespace angio::diagnose::rdma
