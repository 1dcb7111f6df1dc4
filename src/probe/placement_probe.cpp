#include "probe/placement_probe.hpp"

#include <algorithm>
#include <optional>
#include <set>

#include "host/system_roots.hpp"
#include "probe/nvml/gpu_list.hpp"
#include "probe/place.hpp"
#include "probe/placement_gpus.hpp"
#include "probe/sysfs/cpu_cache.hpp"
#include "probe/sysfs/cpu_model.hpp"
#include "probe/sysfs/cpu_sets.hpp"
#include "probe/sysfs/cpu_topology.hpp"
#include "probe/sysfs/network_probe.hpp"
#include "probe/sysfs/numa_kind.hpp"
#include "probe/sysfs/numa_probe.hpp"
#include "probe/sysfs/pci_probe.hpp"

namespace angio::probe {
namespace {

constexpr const char* kCpus = "/sys/devices/system/cpu";
constexpr const char* kNodes = "/sys/devices/system/node";

// The affinity mask; the kernel keeps it inside the cpuset of the process, so the cgroup's files add nothing.
void read_masks(const host::Root& root, model::Machine& machine) {
  const Place cpus(root, machine, kCpus);
  machine.cpus.online = observe_cpu_set(cpus, "online").value_or({});
  machine.cpus.isolated = observe_cpu_set(cpus, "isolated");
  const Place self(root, machine, "/proc/self");
  machine.cpus.allowed = self.parsed("status", [](std::string_view text) -> std::optional<CpuSet> {
    constexpr std::string_view kKey = "Cpus_allowed_list:";
    const std::size_t at = text.find(kKey);
    if (at == std::string_view::npos) return std::nullopt;
    return parse_cpu_list(trim(text.substr(at + kKey.size(), text.find('\n', at) - at - kKey.size())));
  });
  if (machine.cpus.online.empty()) machine.cpus.online = machine.cpus.allowed.value_or({});
}

// Each CPU is a core of its own where SMT is off or not known to the kernel's files.
void add_single_cores(const CpuSet& cpus, model::Machine& machine) {
  for (const std::uint32_t cpu : cpus.members()) {
    CpuSet one;
    one.insert(cpu);
    machine.cpus.cores.push_back({0, cpu, {}, {}, std::move(one)});
  }
}

std::optional<CpuSet> siblings_of(const host::Root& root, std::uint32_t cpu) {
  const std::string topology = std::string(kCpus) + "/cpu" + std::to_string(cpu) + "/topology/";
  if (auto cpus = read_cpu_list(root, topology + "core_cpus_list")) return cpus;  // since Linux 5.3
  return read_cpu_list(root, topology + "thread_siblings_list");
}

void read_cores(const host::Root& root, model::Machine& machine) {
  const CpuSet& online = machine.cpus.online;
  const auto smt = root.read(std::string(kCpus) + "/smt/active");
  if (smt && trim(*smt) == "0") return add_single_cores(online, machine);
  CpuSet seen;
  for (const std::uint32_t cpu : online.members()) {
    if (seen.contains(cpu)) continue;
    std::optional<CpuSet> cpus = siblings_of(root, cpu);
    if (!cpus) return add_single_cores(online - seen, machine);
    *cpus &= online;
    cpus->insert(cpu);
    *cpus -= seen;
    seen |= *cpus;
    machine.cpus.cores.push_back({0, cpu, {}, {}, std::move(*cpus)});
  }
}

std::optional<std::vector<std::uint32_t>> parse_distances(std::string_view text, std::size_t count) {
  std::vector<std::uint32_t> distances;
  for (const std::string_view word : split_words(text)) {
    const auto distance = parse_integer<std::uint32_t>(word);
    if (!distance) return std::nullopt;
    distances.push_back(*distance);
  }
  return distances.size() == count ? std::optional(distances) : std::nullopt;
}

void read_nodes(const host::Root& root, model::Machine& machine) {
  const Place place(root, machine, kNodes);
  const CpuSet ids = observe_cpu_set(place, "online").value_or({});
  const Observed<CpuSet> with_memory = observe_cpu_set(place, "has_memory");
  for (const std::uint32_t id : ids.members()) {
    const Place directory(root, machine, place.path("node" + std::to_string(id)));
    model::NumaNode node;
    node.id = {id};
    node.cpus = observe_cpu_set(directory, "cpulist", "cpumap").value_or({}) & machine.cpus.online;
    if (with_memory.is_known() && !with_memory.get()->contains(id))
      node.memory = Observed<Bytes>::known({}, place.source("has_memory"));
    if (ids.size() > 1) {
      node.distances = directory.parsed(
          "distance", [&ids](std::string_view text) { return parse_distances(text, ids.size()); });
    }
    machine.numa.nodes.push_back(std::move(node));
  }
  tell_node_kinds(root, machine);
}

bool has_plain_nodes(const model::Machine& machine) {
  CpuSet seen;
  for (const model::NumaNode& node : machine.numa.nodes) {
    if (seen.intersects(node.cpus)) return false;
    seen |= node.cpus;
  }
  return !machine.numa.nodes.empty();
}

// One CPU of each node tells the node's package; on two nodes or fewer nothing depends on it.
void read_packages_of_nodes(const host::Root& root, model::Machine& machine) {
  if (machine.numa.nodes.size() <= 2) return;
  for (const model::NumaNode& node : machine.numa.nodes) {
    if (node.cpus.empty()) continue;
    const auto text = root.read(std::string(kCpus) + "/cpu" + std::to_string(*node.cpus.first()) +
                                "/topology/physical_package_id");
    const auto id = text ? parse_integer<std::uint32_t>(trim(*text)) : std::nullopt;
    if (!id) continue;
    const auto known = std::ranges::find(machine.cpus.packages, *id, &model::Package::id);
    if (known != machine.cpus.packages.end())
      known->cpus |= node.cpus;
    else
      machine.cpus.packages.push_back({*id, node.cpus});
  }
}

void read_cpus_and_nodes(const host::Root& root, const PlacementQuestion& question, model::Machine& machine) {
  read_masks(root, machine);
  const Place cpus(root, machine, kCpus);
  if (question.packages || question.caches)
    read_cpu_topology(cpus, {}, machine.cpus);
  else
    read_cores(root, machine);
  if (question.caches) read_caches(cpus, machine);
  if (!question.memory) read_nodes(root, machine);
  // Odd maps and memory sizes are the full probe's business.
  if (question.memory || !has_plain_nodes(machine)) {
    machine.numa = {};
    probe_numa(root, machine);
  }
  if (machine.cpus.packages.empty()) read_packages_of_nodes(root, machine);
}

bool is_multi_node(const model::Machine& machine) {
  return std::ranges::count_if(machine.numa.nodes, [](const auto& node) { return !node.cpus.empty(); }) > 1;
}

bool names_uuid(const std::string& word) {
  return contains(word, "GPU-");
}

bool names_mig_device(const std::string& word) {
  const std::size_t at = word.find("MIG-");
  return at != std::string::npos && !word.substr(at).starts_with("MIG-GPU-");
}

}  // namespace

Result<std::unique_ptr<host::Root>> make_placement_root() {
  Result<std::unique_ptr<host::Root>> files = host::open_directory_root("/");
  if (!files) return files;
  auto root = std::make_unique<host::MountedRoot>(std::move(*files));
  root->mount("/@access", host::make_device_access_root());
  return root;
}

model::Machine probe_placement(const host::Root& root, const PlacementQuestion& question) {
  model::Machine machine;
  machine.live = root.is_live();
  read_cpus_and_nodes(root, question, machine);
  if (question.adapters) probe_pci(root, machine);
  read_placement_gpus(root, question.uuids, machine);
  if (question.adapters) probe_network(root, machine);
  return machine;
}

bool needs_nvml(const model::Machine& machine, const std::vector<std::string>& words) {
  const bool nvidia = std::ranges::any_of(
      machine.gpus, [](const model::Gpu& gpu) { return gpu.vendor == model::GpuVendor::kNvidia; });
  if (!nvidia) return false;
  const bool several = machine.gpus.size() > 1;
  if (several && std::ranges::any_of(words, names_mig_device)) return true;
  if (std::ranges::any_of(words, names_uuid) &&
      std::ranges::any_of(machine.gpus, [](const model::Gpu& gpu) { return !gpu.uuid.is_known(); }))
    return true;
  return is_multi_node(machine) &&
         std::ranges::any_of(machine.gpus, [](const model::Gpu& gpu) { return !gpu.numa.is_known(); });
}

}  // namespace angio::probe
