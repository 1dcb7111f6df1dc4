// Kernel, limits, virtual machine, container, time.
#include <algorithm>
#include <array>
#include <set>

#include "base/format.hpp"
#include "base/text.hpp"
#include "diagnose/rule.hpp"
#include "diagnose/rules/support.hpp"
#include "knowledge/knowledge.hpp"

namespace angio::diagnose {
namespace {

using model::Machine;

bool has_gpus(const Machine& machine) {
  return !machine.gpus.empty();
}

std::string limit_in_words(const model::Limit& limit) {
  return limit.soft ? in_words(Bytes{*limit.soft}) : "unlimited";
}

// ---- limits

bool too_low(const model::Limit& limit, double minimum) {
  return limit.soft && static_cast<double>(*limit.soft) < minimum;
}

void limit_memlock(const Machine& machine, Outcome& outcome) {
  if (machine.rdma.empty()) return outcome.not_applicable();
  const double minimum = knowledge::threshold("memlock.minimum");
  std::size_t judged = 0;
  for (const model::Process& process : machine.processes) {
    const model::Limit* limit = process.memlock.get();
    if (limit == nullptr || process.gpus.empty()) continue;
    ++judged;
    if (!too_low(*limit, minimum)) continue;
    return outcome.fire(
        {.title = "Process " + std::to_string(process.id) + " may lock only " + limit_in_words(*limit),
         .devices = {std::to_string(process.id)},
         .evidence = {seen(machine, process.memlock.source(), "max locked memory " + limit_in_words(*limit))},
         .cost = {"RDMA registration may fail", ""}});
  }
  if (judged > 0) return;
  const auto& own = machine.software.memlock;
  if (!own.is_known()) return gap(outcome, "locked-memory limit", own);
  if (!too_low(*own.get(), minimum)) return;
  outcome.fire(
      {.title = "Locked memory is limited to " + limit_in_words(*own.get()),
       .evidence = {seen(machine, own.source(), "of the shell that was looked at; jobs may have another")},
       .cost = {"RDMA registration may fail", ""}});
}

void limit_open_files(const Machine& machine, Outcome& outcome) {
  if (machine.gpus.size() < 2) return outcome.not_applicable();
  const auto& files = machine.software.open_files;
  if (!files.is_known()) return gap(outcome, "limit of open files", files);
  const auto hard = files.get()->hard;
  if (!hard || !(static_cast<double>(*hard) < knowledge::threshold("open-files.minimum"))) return;
  outcome.fire({.title = "At most " + std::to_string(*hard) + " open files a process",
                .evidence = {seen(machine, files.source(), "hard limit " + std::to_string(*hard))}});
}

void shm_small(const Machine& machine, Outcome& outcome) {
  if (!has_gpus(machine)) return outcome.not_applicable();
  const auto& size = machine.software.shm_size;
  if (size.is_absent()) return;
  if (!size.is_known()) return gap(outcome, "size of /dev/shm", size);
  if (!(static_cast<double>(size.get()->value) < knowledge::threshold("shm.minimum"))) return;
  const std::string* container = machine.software.container.get();
  Draft draft{
      .title = "/dev/shm has " + in_words(*size.get()) + " for " + count_of(machine.gpus.size(), "GPU"),
      .evidence = {seen(machine, size.source(), "size " + in_words(*size.get()))},
      .words = {{container != nullptr ? "container" : "host", "yes"}}};
  if (container != nullptr) {
    draft.evidence.push_back(seen(machine, machine.software.container.source(), "inside " + *container));
  }
  if (machine.gpus.size() < 2) draft.severity = model::Severity::kInfo;
  outcome.fire(std::move(draft));
}

// ---- memory policy of the kernel

void zone_reclaim(const Machine& machine, Outcome& outcome) {
  if (machine.numa.nodes.size() < 2) return outcome.not_applicable();
  const auto& mode = machine.numa.zone_reclaim_mode;
  if (mode.is_absent()) return;
  if (!mode.is_known()) return gap(outcome, "vm.zone_reclaim_mode", mode);
  if (*mode.get() == 0) return;
  outcome.fire(
      {.title = "vm.zone_reclaim_mode is " + std::to_string(*mode.get()),
       .evidence = {seen(machine, mode.source(), std::to_string(*mode.get()) + ", the default is 0")}});
}

std::size_t nodes_with_cpus(const Machine& machine) {
  return static_cast<std::size_t>(std::ranges::count_if(
      machine.numa.nodes, [](const model::NumaNode& node) { return !node.cpus.empty(); }));
}

void numa_balancing(const Machine& machine, Outcome& outcome) {
  if (nodes_with_cpus(machine) < 2 || !has_gpus(machine)) return outcome.not_applicable();
  const auto& balancing = machine.numa.balancing;
  if (balancing.is_absent()) return;
  if (!balancing.is_known()) return gap(outcome, "kernel.numa_balancing", balancing);
  // Bit 0 balances between nodes; bit 1 alone moves pages between memory tiers (sysctl/kernel.rst).
  if ((*balancing.get() & 1) == 0) return;
  Draft draft{.title = "Automatic NUMA balancing is on",
              .evidence = {seen(machine, balancing.source(),
                                "kernel.numa_balancing = " + std::to_string(*balancing.get()))}};
  const auto busy =
      std::ranges::count_if(machine.processes, [](const auto& process) { return !process.gpus.empty(); });
  if (busy > 0) {
    draft.severity = model::Severity::kWarning;
    draft.evidence.push_back(
        {count_of(static_cast<std::size_t>(busy), "GPU process") + " at work", "process list"});
  }
  outcome.fire(std::move(draft));
}

void iommu_translated(const Machine& machine, Outcome& outcome) {
  const bool peers = machine.gpus.size() > 1 || (has_gpus(machine) && !machine.rdma.empty());
  const bool coherent = std::ranges::any_of(machine.gpus, [](const model::Gpu& gpu) {
    const knowledge::GpuModel* built = gpu.name.is_known() ? knowledge::find_gpu(*gpu.name.get()) : nullptr;
    return gpu.coherent_link.is(true) || (built != nullptr && built->c2c);
  });
  const bool arm = machine.cpus.model.architecture.is("aarch64");
  if (!peers || is_virtual(machine) || coherent || arm) return outcome.not_applicable();
  const auto& mode = machine.pci.iommu;
  if (!mode.is_known()) return gap(outcome, "mode of the IOMMU", mode);
  if (*mode.get() != model::IommuMode::kTranslated) return;
  if (!is_bare_metal(machine))
    return gap(outcome, "whether this is a virtual machine", machine.software.virtual_machine);
  Draft draft{
      .title = "The IOMMU translates DMA between GPUs" + std::string(machine.rdma.empty() ? "" : " and NICs"),
      .evidence = {seen(machine, mode.source(), "mode: translated")}};
  if (const std::string* line = machine.software.kernel_command_line.get()) {
    const bool passes = contains(*line, "iommu=pt");
    draft.evidence.push_back(seen(machine, machine.software.kernel_command_line.source(),
                                  passes ? "iommu=pt is there, yet a domain translates" : "no iommu=pt"));
  }
  outcome.fire(std::move(draft));
}

// ---- CPUs and time

void cpu_governor(const Machine& machine, Outcome& outcome) {
  if (!has_gpus(machine)) return outcome.not_applicable();
  const auto& governor = machine.cpus.governor;
  if (governor.is_absent()) return;  // the firmware or the hypervisor decides
  if (!governor.is_known()) return gap(outcome, "CPU frequency governor", governor);
  if (!contains(*governor.get(), "powersave")) return;
  const std::string driver = machine.cpus.frequency_driver.value_or("unknown driver");
  const bool dynamic = contains(driver, "pstate") || contains(driver, "cppc");
  Draft draft{.title = "CPU frequency governor is powersave (" + driver + ")",
              .evidence = {seen(machine, governor.source(), *governor.get() + " of " + driver)}};
  if (!dynamic && machine.cpus.frequency_driver.is_known()) draft.severity = model::Severity::kWarning;
  outcome.fire(std::move(draft));
}

void clock_source(const Machine& machine, Outcome& outcome) {
  const auto& clock = machine.software.clock_source;
  if (clock.is_absent()) return;
  if (!clock.is_known()) return gap(outcome, "clock source", clock);
  const std::set<std::string_view> slow = {"hpet", "acpi_pm", "jiffies", "pit", "refined-jiffies"};
  if (!slow.contains(*clock.get())) return;
  outcome.fire({.title = "The kernel's clock is " + *clock.get() + ", not tsc",
                .evidence = {seen(machine, clock.source(), *clock.get())}});
}

void cpu_isolated(const Machine& machine, Outcome& outcome) {
  if (!has_gpus(machine)) return outcome.not_applicable();
  const auto& isolated = machine.cpus.isolated;
  if (!isolated.is_known()) return isolated.is_absent() ? void() : gap(outcome, "isolated CPUs", isolated);
  if (isolated.get()->empty()) return;
  std::set<std::uint32_t> gpu_nodes;
  for (const model::Gpu& gpu : machine.gpus) {
    if (const NumaId* node = gpu.numa.get()) gpu_nodes.insert(node->value);
  }
  for (const model::NumaNode& node : machine.numa.nodes) {
    if (!gpu_nodes.contains(node.id.value) || node.cpus.empty()) continue;
    const std::size_t lost = (node.cpus & *isolated.get()).size();
    const double share = static_cast<double>(lost) / static_cast<double>(node.cpus.size());
    if (!(share >= knowledge::threshold("isolated.share"))) continue;
    outcome.fire(
        {.title = std::to_string(lost) + " of " + count_of(node.cpus.size(), "CPU") + " of node " +
                  std::to_string(node.id.value) + " are isolated",
         .evidence = {seen(machine, isolated.source(), to_list(*isolated.get()))},
         .cost = {std::to_string(lost) + " of " + std::to_string(node.cpus.size()) + " CPUs beside the GPUs",
                  "count-share"},
         .rank = share});
  }
}

// ---- virtual machines and containers

// Two GPUs or NICs below one switch, or any bridge at all above a GPU, is a tree; none is a flat bus.
bool is_flat(const Machine& machine) {
  return std::ranges::none_of(machine.gpus, [&](const model::Gpu& gpu) {
    return gpu.pci && *gpu.pci < machine.pci.devices.size() &&
           machine.pci.devices[*gpu.pci].parent.has_value();
  });
}

bool hides_nodes(const Machine& machine) {
  return std::ranges::all_of(machine.gpus, [](const model::Gpu& gpu) { return gpu.numa.is_absent(); });
}

bool has_topology_file(const Machine& machine) {
  if (find_setting(machine.software.settings, "NCCL_TOPO_FILE") != nullptr) return true;
  return std::ranges::any_of(machine.processes, [](const model::Process& process) {
    return find_setting(process.settings, "NCCL_TOPO_FILE") != nullptr;
  });
}

// Amazon's and Google's NICs come with an NCCL plugin that brings the machine type's topology.
bool has_provider_plugin(const Machine& machine) {
  return std::ranges::any_of(machine.pci.devices, [](const model::PciDevice& device) {
    return device.driver.is("efa") || device.driver.is("gve");
  });
}

void vm_topology_hidden(const Machine& machine, Outcome& outcome) {
  const auto& vm = machine.software.virtual_machine;
  if (machine.gpus.size() < 2 || vm.is_absent() || machine.pci.devices.empty())
    return outcome.not_applicable();
  if (!vm.is_known())
    return hides_nodes(machine) ? gap(outcome, "whether this is a virtual machine", vm) : void();
  const bool nodes = hides_nodes(machine);
  if ((!nodes && !is_flat(machine)) || has_topology_file(machine)) return;
  const model::Gpu& first = machine.gpus.front();
  Draft draft{.title = *vm.get() +
                       " guest: " + (nodes ? "no NUMA node for any GPU" : "GPUs on a flat PCI bus") +
                       ", NCCL_TOPO_FILE not set",
              .evidence = {seen(machine, vm.source(), "virtual machine: " + *vm.get()),
                           nodes ? seen(machine, first.numa.source(), "GPU 0: numa_node -1")
                                 : seen(machine, first.address.source(), "no bridge above any GPU")}};
  const bool plugin = has_provider_plugin(machine);
  draft.words.emplace(plugin ? "plugin" : "file", "yes");
  if (machine.rdma.empty() || plugin) draft.severity = model::Severity::kInfo;
  outcome.fire(std::move(draft));
}

void gvisor_gpus(const Machine& machine, Outcome& outcome) {
  const auto& vm = machine.software.virtual_machine;
  if (!has_gpus(machine)) return outcome.not_applicable();
  if (vm.is_unreadable()) return gap(outcome, "whether this is a virtual machine", vm);
  if (!vm.is("gVisor") && !machine.software.container.is("gVisor")) return;
  outcome.fire(
      {.title = "GPUs are used through gVisor", .evidence = {seen(machine, vm.source(), "gVisor kernel")}});
}

void rdma_not_visible(const Machine& machine, Outcome& outcome) {
  if (!machine.rdma.empty() || machine.pci.devices.empty()) return outcome.not_applicable();
  const model::PciDevice* adapter = nullptr;
  for (const model::PciDevice& device : machine.pci.devices) {
    // PCI class 02 07: InfiniBand controller.
    if ((device.class_code >> 8U) != 0x0207) continue;
    if (device.driver.is_unreadable())
      return gap(outcome, "driver of " + to_string(device.address), device.driver);
    if (!device.driver.is("vfio-pci") && adapter == nullptr) adapter = &device;
  }
  if (adapter == nullptr) return outcome.not_applicable();
  Draft draft{
      .title = "InfiniBand adapter " + to_string(adapter->address) + " has no RDMA device",
      .devices = {to_string(adapter->address)},
      .evidence = {seen(machine, adapter->driver.source(), "driver " + adapter->driver.value_or("none"))},
      .cost = {"NCCL falls back to TCP sockets", ""}};
  const std::string module = adapter->driver.is("mlx4_core") ? "mlx4_ib" : "mlx5_ib";
  bool loaded = false;
  if (const auto* modules = machine.software.modules.get()) {
    loaded = std::ranges::find(*modules, module) != modules->end();
    draft.evidence.push_back(seen(machine, machine.software.modules.source(),
                                  module + (loaded ? " is loaded" : " is not loaded")));
  }
  draft.words = {{"module", module}, {loaded ? "loaded" : "unloaded", "yes"}};
  if (has_gpus(machine)) draft.severity = model::Severity::kWarning;
  outcome.fire(std::move(draft));
}

constexpr std::array kRules = {
    Rule{"system.limit.memlock", limit_memlock},   Rule{"system.limit.open-files", limit_open_files},
    Rule{"system.shm.small", shm_small},           Rule{"system.numa.zone-reclaim", zone_reclaim},
    Rule{"system.numa.balancing", numa_balancing}, Rule{"system.iommu.translated", iommu_translated},
    Rule{"system.cpu.governor", cpu_governor},     Rule{"system.clock.slow-source", clock_source},
    Rule{"system.cpu.isolated", cpu_isolated},     Rule{"system.vm.topology-hidden", vm_topology_hidden},
    Rule{"system.gvisor.gpus", gvisor_gpus},       Rule{"system.rdma.not-visible", rdma_not_visible},
};

}  // namespace

std::span<const Rule> system_rules() {
  return kRules;
}

}  // namespace angio::diagnose
