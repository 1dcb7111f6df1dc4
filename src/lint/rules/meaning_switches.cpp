// Switches that take a fast path away.
#include <fmt/format.h>

#include <algorithm>

#include "lint/rules/environments.hpp"
#include "lint/rules/settings.hpp"

namespace angio::lint {
namespace {

bool has_nvlink(const model::Machine& machine) {
  return std::ranges::any_of(machine.gpus, [](const model::Gpu& gpu) {
    return !gpu.linked.empty() || std::ranges::any_of(gpu.links, [](const model::GpuLink& link) {
      return link.state == model::LinkState::kActive;
    });
  });
}

bool has_nvswitch(const model::Machine& machine) {
  return std::ranges::any_of(machine.gpus, [](const model::Gpu& gpu) {
    return std::ranges::any_of(
        gpu.links, [](const model::GpuLink& link) { return link.peer_kind == model::PeerKind::kSwitch; });
  });
}

bool is_on(const Scope& scope, std::string_view name) {
  return scope.number(name).value_or(0) != 0;
}

void p2p(const Scope& scope, const Context& context, Complaints& out) {
  const bool level = scope.text("NCCL_P2P_LEVEL") == "LOC" || scope.text("NCCL_P2P_LEVEL") == "0";
  const Setting* setting = scope.find(level ? "NCCL_P2P_LEVEL" : "NCCL_P2P_DISABLE");
  if (setting == nullptr || (!level && !is_on(scope, "NCCL_P2P_DISABLE"))) return;
  const auto machine = std::ranges::find_if(context.machines, has_nvlink);
  const bool here = machine != context.machines.end();
  auto complaint = complain(
      "nccl.p2p.disabled", scope.script(), setting->name_place,
      here ? fmt::format("{}: turns NVLink off on {} as well; everything goes through host memory",
                         shown(*setting), machine->name)
           : fmt::format("{}: turns off all peer access, NVLink included, not PCIe alone", shown(*setting)),
      "for NVLink only write NCCL_P2P_LEVEL=NVL; for a test remove it again afterwards");
  if (here) complaint.severity = model::Severity::kCritical;
  out.push_back(std::move(complaint));
}

void infiniband(const Scope& scope, const Context& context, Complaints& out) {
  const Setting* setting = scope.find("NCCL_IB_DISABLE");
  if (setting == nullptr || !is_on(scope, "NCCL_IB_DISABLE")) return;
  if (const std::string_view plugin = external_network(scope); !plugin.empty()) {
    auto complaint = complain("nccl.ib.disabled", scope.script(), setting->name_place,
                              fmt::format("{}: concerns NCCL's own InfiniBand only; {} speaks of a network "
                                          "plugin, which comes first",
                                          shown(*setting), plugin),
                              "no effect on the plugin");
    complaint.severity = model::Severity::kInfo;
    out.push_back(std::move(complaint));
    return;
  }
  const auto nodes = several_nodes_for(scope.script(), *setting, context);
  const bool several = nodes.value_or(false);
  const bool single = nodes && !several;
  auto complaint = complain(
      "nccl.ib.disabled", scope.script(), setting->name_place,
      single ? fmt::format("{}: not needed on one node; NCCL uses the network there only where it is faster",
                           shown(*setting))
             : fmt::format("{}: {} over TCP, RDMA adapters stay idle", shown(*setting),
                           several ? "the nodes of this job talk" : "nodes talk"),
      single ? "remove it" : "remove it; to find out why RDMA fails set NCCL_NET=IB and NCCL_DEBUG=INFO");
  if (several) complaint.severity = model::Severity::kCritical;
  if (single) complaint.severity = model::Severity::kInfo;
  out.push_back(std::move(complaint));
}

void network(const Scope& scope, const Context& context, Complaints& out) {
  const Setting* setting = scope.find("NCCL_NET");
  if (setting == nullptr) return;
  const Setting* disabled = scope.find("NCCL_IB_DISABLE");
  if (scope.text("NCCL_NET") == "IB" && is_on(scope, "NCCL_IB_DISABLE") &&
      Environments(scope.script()).together(*setting, *disabled)) {
    out.push_back(complain(
        "nccl.net.contradiction", scope.script(), setting->name_place,
        "NCCL_NET=IB with NCCL_IB_DISABLE=1: the only network allowed is switched off, NCCL does not start",
        "remove NCCL_IB_DISABLE"));
  }
  if (scope.text("NCCL_NET") == "Socket" &&
      several_nodes_for(scope.script(), *setting, context).value_or(true)) {
    out.push_back(complain("nccl.net.socket", scope.script(), setting->name_place,
                           "NCCL_NET=Socket: nodes talk over TCP, RDMA adapters stay idle",
                           "remove it; NCCL takes InfiniBand or RoCE where they work"));
  }
}

void shared_memory(const Scope& scope, Complaints& out) {
  const Setting* setting = scope.find("NCCL_SHM_DISABLE");
  if (setting == nullptr || !is_on(scope, "NCCL_SHM_DISABLE")) return;
  out.push_back(
      complain("nccl.shm.disabled", scope.script(), setting->name_place,
               fmt::format("{}: ranks of one node without peer access then use the network", shown(*setting)),
               "if /dev/shm is too small, enlarge it (docker --shm-size, a memory volume)"));
}

void affinity(const Scope& scope, Complaints& out) {
  const Setting* setting = scope.find("NCCL_IGNORE_CPU_AFFINITY");
  if (setting == nullptr || !is_on(scope, "NCCL_IGNORE_CPU_AFFINITY")) return;
  out.push_back(
      complain("nccl.affinity.ignored", scope.script(), setting->name_place,
               fmt::format("{}: NCCL's threads leave the CPUs that the job was given", shown(*setting)),
               "right only where the given CPUs are wrong; mend the binding instead"));
}

void blocking(const Scope& scope, Complaints& out) {
  const Setting* setting = scope.find("CUDA_LAUNCH_BLOCKING");
  if (setting == nullptr || !is_on(scope, "CUDA_LAUNCH_BLOCKING")) return;
  out.push_back(complain("cuda.launch.blocking", scope.script(), setting->name_place,
                         fmt::format("{}: every kernel is waited for, nothing overlaps", shown(*setting)),
                         "for finding a fault only; remove it"));
}

void gpudirect(const Scope& scope, Complaints& out) {
  const Setting* setting = scope.find("NCCL_NET_GDR_LEVEL");
  const auto level = scope.text("NCCL_NET_GDR_LEVEL");
  if (setting == nullptr || (level != "LOC" && level != "0")) return;
  out.push_back(
      complain("nccl.gdr.off", scope.script(), setting->name_place,
               fmt::format("{}: GPUDirect RDMA is off, adapters copy through host memory", shown(*setting)),
               "leave it unset; the default goes as far as the PCI switches"));
}

void nvls(const Scope& scope, const Context& context, Complaints& out) {
  const Setting* enable = scope.find("NCCL_NVLS_ENABLE");
  const Setting* memory = scope.find("NCCL_CUMEM_ENABLE");
  const auto wanted = scope.number("NCCL_NVLS_ENABLE");
  const bool no_memory = scope.is("NCCL_CUMEM_ENABLE", 0);
  const bool hosted = std::ranges::any_of(context.machines, has_nvswitch);
  if (no_memory && memory != nullptr && (wanted.value_or(0) > 0 || hosted) && !(wanted && *wanted == 0)) {
    out.push_back(complain("nccl.nvls.no-cumem", scope.script(), memory->name_place,
                           fmt::format("{}: NVLS needs this memory, it stays off{}", shown(*memory),
                                       enable != nullptr ? " whatever NCCL_NVLS_ENABLE says" : ""),
                           "leave NCCL_CUMEM_ENABLE unset"));
  }
  if (no_memory && memory != nullptr && scope.is("NCCL_MNNVL_ENABLE", 1)) {
    out.push_back(
        complain("nccl.mnnvl.no-cumem", scope.script(), memory->name_place,
                 "NCCL_CUMEM_ENABLE=0 with NCCL_MNNVL_ENABLE=1: NVLink across nodes needs this memory",
                 "leave NCCL_CUMEM_ENABLE unset"));
  }
  if (enable == nullptr || !wanted) return;
  if (*wanted == 0) {
    out.push_back(
        complain("nccl.nvls.disabled", scope.script(), enable->name_place,
                 fmt::format("{}: gives up NVLink SHARP, on NVSwitch the fastest AllReduce of large messages",
                             shown(*enable)),
                 "a workaround for a fault or for memory; note which, and drop it with the next release"));
  } else if (!context.machines.empty() && !hosted) {
    out.push_back(complain("nccl.nvls.no-nvswitch", scope.script(), enable->name_place,
                           fmt::format("{}: no effect on {}, no NVSwitch is seen there", shown(*enable),
                                       context.machines.front().name)));
  }
}

void error_handling(const Scope& scope, Complaints& out) {
  const Setting* setting = scope.find("TORCH_NCCL_ASYNC_ERROR_HANDLING");
  if (setting == nullptr || !scope.is("TORCH_NCCL_ASYNC_ERROR_HANDLING", 0)) return;
  out.push_back(
      complain("pytorch.async.off", scope.script(), setting->name_place,
               fmt::format("{}: a failed or lost rank leaves the others waiting for ever", shown(*setting)),
               "leave it unset: the process ends and an elastic launcher can start again; nothing resets "
               "NCCL in place"));
}

// One name for all nodes: NCCL takes them for one host.
void host_id(const Scope& scope, const Context& context, Complaints& out) {
  const Setting* setting = scope.find("NCCL_HOSTID");
  if (setting == nullptr || setting->dynamic ||
      !several_nodes_for(scope.script(), *setting, context).value_or(false))
    return;
  out.push_back(
      complain("nccl.hostid.constant", scope.script(), setting->name_place,
               fmt::format("{}: the same on every node, NCCL then takes them for one host", shown(*setting)),
               "remove it, or use the host's name"));
}

}  // namespace

void check_switches(const Scope& scope, const Context& context, Complaints& out) {
  p2p(scope, context, out);
  infiniband(scope, context, out);
  network(scope, context, out);
  shared_memory(scope, out);
  affinity(scope, out);
  blocking(scope, out);
  gpudirect(scope, out);
  nvls(scope, context, out);
  error_handling(scope, out);
  host_id(scope, context, out);
}

}  // namespace angio::lint
