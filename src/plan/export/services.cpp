// Placements for service managers: systemd drop-ins and Kubernetes configuration.
#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "base/cpu_set.hpp"
#include "plan/export/formats.hpp"

namespace angio::plan {
namespace {

using model::MemoryPolicy;
using model::RankPlacement;

// systemd.exec(5), NUMAPolicy=. Interleave and bind need NUMAMask=, preferred takes exactly one node.
std::string systemd_memory(const RankPlacement& rank) {
  const std::string mask = "NUMAMask=" + to_list(rank.memory_nodes) + "\n";
  switch (rank.memory) {
    case MemoryPolicy::kPreferred:
      return "NUMAPolicy=preferred\n" + mask;
    case MemoryPolicy::kBind:
      return "NUMAPolicy=bind\n" + mask;
    case MemoryPolicy::kInterleave:
      return "NUMAPolicy=interleave\n" + mask;
    case MemoryPolicy::kLocal:
      return "NUMAPolicy=local\n";
    case MemoryPolicy::kNone:
      break;
  }
  return "";
}

std::size_t whole_cpus(const model::Placement& placement) {
  CpuSet all;
  for (const RankPlacement& rank : placement.ranks)
    all |= rank.cpus;
  return all.size();
}

std::size_t gpus_of(const model::Placement& placement) {
  return static_cast<std::size_t>(
      std::ranges::count_if(placement.ranks, [](const RankPlacement& rank) { return rank.gpu.has_value(); }));
}

// The nodes of all ranks: one, or more than one, which single-numa-node would refuse.
bool spans_nodes(const model::Placement& placement) {
  const auto& ranks = placement.ranks;
  return std::ranges::any_of(ranks, [&](const RankPlacement& rank) { return rank.node != ranks[0].node; });
}

// The resource name of the device plugin.
std::string_view gpu_resource(const model::Machine& machine) {
  const bool amd = !machine.gpus.empty() && machine.gpus[0].vendor == model::GpuVendor::kAmd;
  return amd ? "amd.com/gpu" : "nvidia.com/gpu";
}

constexpr std::string_view kKubelet =
    "apiVersion: kubelet.config.k8s.io/v1beta1\n"
    "kind: KubeletConfiguration\n"
    "cpuManagerPolicy: static\n"
    "topologyManagerPolicy: {policy}\n"
    "topologyManagerScope: pod\n"
    "---\n"
    "apiVersion: v1\n"
    "kind: Pod\n"
    "metadata:\n"
    "  name: training\n"
    "spec:\n"
    "  containers:\n"
    "    - name: ranks\n"
    "      image: IMAGE\n"
    "      command: [angio, run, --ranks, \"{ranks}\", --, python, train.py]\n"
    "      resources:\n"
    "        requests: {resources}\n"
    "        limits: {resources}\n";

}  // namespace

Export export_systemd(const model::Machine&, const model::Placement& placement) {
  Export made;
  for (const RankPlacement& rank : placement.ranks) {
    made.text +=
        fmt::format("# /etc/systemd/system/rank@{0}.service.d/50-angio.conf\n[Service]\n", rank.local_rank);
    if (!rank.cpus.empty()) made.text += "CPUAffinity=" + to_list(rank.cpus) + "\n";
    made.text += systemd_memory(rank);
    made.text += fmt::format("Environment=LOCAL_RANK={}\n", rank.local_rank);
    if (rank.threads > 0) made.text += fmt::format("Environment=OMP_NUM_THREADS={}\n", rank.threads);
    made.text += "\n";
  }
  made.remarks.emplace_back(
      "one drop-in for each instance of a template unit rank@.service: split at the comments");
  return made;
}

Export export_kubernetes(const model::Machine& machine, const model::Placement& placement) {
  Export made;
  const std::size_t gpus = gpus_of(placement);
  std::string resources = fmt::format("{{cpu: \"{}\", memory: MEMORY", whole_cpus(placement));
  if (gpus > 0) resources += fmt::format(", {}: \"{}\"", gpu_resource(machine), gpus);
  resources += "}";
  made.text =
      fmt::format(kKubelet, fmt::arg("policy", spans_nodes(placement) ? "restricted" : "single-numa-node"),
                  fmt::arg("ranks", placement.ranks.size()), fmt::arg("resources", resources));
  made.remarks.emplace_back(
      "Kubernetes places a container, not its ranks: whole CPUs by the static policy, then angio run inside "
      "divides "
      "them; IMAGE and MEMORY are yours to fill in");
  made.remarks.emplace_back(
      "the static policy needs CPUs for the system (reservedSystemCPUs): plan with --system-cores so that "
      "the rest fits");
  made.remarks.emplace_back(
      "the kubelet must be drained and its cpu_manager_state removed when the policy changes");
  return made;
}

}  // namespace angio::plan
