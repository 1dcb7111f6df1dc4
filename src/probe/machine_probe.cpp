#include "probe/machine_probe.hpp"

#include "probe/nvml/gpu_probe.hpp"
#include "probe/process/process_probe.hpp"
#include "probe/procfs/software_probe.hpp"
#include "probe/sysfs/cpu_probe.hpp"
#include "probe/sysfs/network_probe.hpp"
#include "probe/sysfs/numa_probe.hpp"
#include "probe/sysfs/pci_probe.hpp"
#include "probe/sysfs/rdma_host_probe.hpp"

namespace angio::probe {

model::Machine probe_machine(const host::Root& root, const ProbeOptions& options) {
  model::Machine machine;
  machine.live = root.is_live();
  probe_software(root, machine);
  probe_cpus(root, machine);
  probe_numa(root, machine);                                                      // needs CPUs
  probe_pci(root, machine);                                                       // needs NUMA nodes
  probe_network(root, machine);                                                   // needs PCI
  probe_rdma_host(root, machine);                                                 // needs the network
  probe_gpus(root, machine);                                                      // needs PCI and NUMA
  if (options.with_processes) probe_processes(root, options.processes, machine);  // needs GPUs
  return machine;
}

}  // namespace angio::probe
