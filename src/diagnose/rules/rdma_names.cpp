// Which RDMA ports a job takes: NCCL_IB_HCA of its processes. Not their state.
#include <algorithm>
#include <set>

#include "diagnose/rules/rdma.hpp"
#include "diagnose/rules/support.hpp"

namespace angio::diagnose::rdma {

using model::Machine;
using model::Process;
using model::Setting;

bool takes(const NameList& list, const PortRef& ref) {
  return model::takes(list, ref.device->name, ref.port->number);
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

std::vector<std::string> covered_beside(const Machine& machine, const NameList& list) {
  std::vector<std::string> extra;
  if (list.exact) return extra;
  std::set<std::string> existing;
  for (const model::RdmaDevice& device : machine.rdma)
    existing.insert(device.name);
  std::set<std::string> named;
  for (const std::string_view part : list.names)
    named.emplace(device_part(part));
  for (const std::string& part : named) {
    if (!existing.contains(part)) continue;
    for (const model::RdmaDevice& device : machine.rdma) {
      if (device.name.starts_with(part) && !named.contains(device.name)) extra.push_back(device.name);
    }
  }
  return extra;
}

bool taken_by_prefix(const Machine& machine, const Process* process, const PortRef& ref) {
  const Setting* setting = hca_setting(machine, process);
  if (setting == nullptr) return false;
  const NameList list = parse_names(setting->value);
  if (list.exclude) return false;
  const std::vector<std::string> extra = covered_beside(machine, list);
  return std::ranges::find(extra, ref.device->name) != extra.end();
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
