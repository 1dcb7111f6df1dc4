#include "probe/sysfs/numa_kind.hpp"

#include <algorithm>

#include "base/text.hpp"
#include "probe/sysfs/cpu_sets.hpp"

namespace angio::probe {
namespace {

// "Node:      255" in /proc/driver/nvidia/gpus/*/numa_status: the driver of coherent GPUs (POWER9,
// Grace) names the node their memory is. -1 when it is offline.
std::optional<std::uint32_t> parse_numa_status(std::string_view text) {
  constexpr std::string_view kKey = "Node:";
  for (const std::string_view line : split_lines(text)) {
    if (line.starts_with(kKey)) return parse_integer<std::uint32_t>(trim(line.substr(kKey.size())));
  }
  return std::nullopt;
}

CpuSet nodes_of_nvidia_driver(const host::Root& root) {
  const std::string directory = "/proc/driver/nvidia/gpus";
  CpuSet nodes;
  for (const std::string& gpu : root.list(directory).value_or(host::Names{})) {
    const auto status = root.read(directory + "/" + gpu + "/numa_status");
    const auto node = status ? parse_numa_status(*status) : std::nullopt;
    if (node) nodes.insert(*node);
  }
  return nodes;
}

// ACPI ties a device to nodes as their generic initiator; GPUs of Grace machines do, and an NVIDIA
// driver in the machine says whose memory it is.
CpuSet nodes_of_gpu_initiators(const host::Root& root) {
  if (!root.exists("/proc/driver/nvidia")) return {};
  return read_cpu_list(root, "/sys/devices/system/node/has_generic_initiator").value_or(CpuSet{});
}

// Nodes that DAX devices (CXL, NVDIMM, specific-purpose memory) become when they go online as memory.
CpuSet nodes_of_dax(const host::Root& root) {
  const std::string directory = "/sys/bus/dax/devices";
  CpuSet nodes;
  for (const std::string& device : root.list(directory).value_or(host::Names{})) {
    const auto target = root.read(directory + "/" + device + "/target_node");
    const auto node = target ? parse_integer<std::uint32_t>(trim(*target)) : std::nullopt;
    if (node) nodes.insert(*node);
  }
  return nodes;
}

bool has_memory(const model::NumaNode& node) {
  const Bytes* memory = node.memory.get();
  return memory == nullptr || memory->value > 0;  // unknown: it may have
}

// The best read bandwidth of a node that has CPUs, by HMAT; 0 where firmware does not say.
double best_ordinary_bandwidth(const model::Numa& numa) {
  double best = 0;
  for (const model::NumaNode& node : numa.nodes) {
    const BytesPerSecond* bandwidth = node.access.read_bandwidth.get();
    if (!node.cpus.empty() && has_memory(node) && bandwidth != nullptr)
      best = std::max(best, bandwidth->value);
  }
  return best;
}

}  // namespace

void tell_node_kinds(const host::Root& root, model::Machine& machine) {
  using model::NumaKind;
  bool any_special = false;
  for (model::NumaNode& node : machine.numa.nodes) {
    if (!node.cpus.empty()) {
      node.kind = has_memory(node) ? NumaKind::kOrdinary : NumaKind::kCpuOnly;
    } else {
      node.kind = has_memory(node) ? NumaKind::kMemoryOnly : NumaKind::kEmpty;
      any_special = true;
    }
  }
  if (!any_special) return;
  const CpuSet gpu_nodes = nodes_of_nvidia_driver(root) | nodes_of_gpu_initiators(root);
  const CpuSet dax_nodes = nodes_of_dax(root);
  const double ordinary = best_ordinary_bandwidth(machine.numa);
  for (model::NumaNode& node : machine.numa.nodes) {
    if (node.kind != NumaKind::kMemoryOnly) continue;
    const BytesPerSecond* bandwidth = node.access.read_bandwidth.get();
    if (gpu_nodes.contains(node.id.value))
      node.kind = NumaKind::kGpuMemory;
    else if (ordinary > 0 && bandwidth != nullptr && bandwidth->value > ordinary)
      node.kind = NumaKind::kHighBandwidth;
    else if (dax_nodes.contains(node.id.value))
      node.kind = NumaKind::kCxl;
  }
}

}  // namespace angio::probe
