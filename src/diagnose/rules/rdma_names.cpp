// Which RDMA ports a job takes: NCCL_IB_HCA of its processes. Not their state.
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
