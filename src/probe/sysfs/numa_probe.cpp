#include "probe/sysfs/numa_probe.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "base/format.hpp"
#include "probe/place.hpp"
#include "probe/sysfs/cpu_sets.hpp"
#include "probe/sysfs/numa_kind.hpp"

namespace angio::probe {
namespace {

// "MemTotal:   131072 kB", with "Node 0 " before it in a node's own meminfo; kB is 1024 bytes.
std::optional<Bytes> find_meminfo(std::string_view text, std::string_view key) {
  constexpr std::uint64_t kMostKibibytes = std::uint64_t{1} << 50U;
  for (const std::string_view line : split_lines(text)) {
    const std::size_t at = line.find(key);
    if (at == std::string_view::npos) continue;
    const std::vector<std::string_view> words = split_words(line.substr(at + key.size()));
    const auto count = words.empty() ? std::nullopt : parse_integer<std::uint64_t>(words[0]);
    if (!count || *count > kMostKibibytes) return std::nullopt;
    return kibibytes(*count);
  }
  return std::nullopt;
}

Observed<Bytes> meminfo_value(const Place& place, const Observed<std::string>& text, std::string_view key) {
  if (text.is_absent()) return Observed<Bytes>::absent(text.source());
  if (!text.is_known()) return Observed<Bytes>::unreadable(text.reason(), text.source(), text.error());
  const auto value = find_meminfo(*text.get(), key);
  if (value) return Observed<Bytes>::known(*value, text.source());
  return Observed<Bytes>::unreadable(model::Reason::kUnparsable, place.source("meminfo"));
}

void read_memory(const Place& place, model::NumaNode& node) {
  const Observed<std::string> text = place.text("meminfo");
  node.memory = meminfo_value(place, text, "MemTotal:");
  node.memory_free = meminfo_value(place, text, "MemFree:");
}

// Directories "hugepages-2048kB".
void read_huge_pages(const Place& place, model::NumaNode& node) {
  constexpr std::string_view kPrefix = "hugepages-";
  constexpr std::uint64_t kMostKibibytes = std::uint64_t{1} << 40U;
  for (const std::string& name : place.names("hugepages").value_or({})) {
    if (!name.starts_with(kPrefix) || !name.ends_with("kB")) continue;
    const auto size = parse_integer<std::uint64_t>(
        std::string_view(name).substr(kPrefix.size(), name.size() - kPrefix.size() - 2));
    const auto total = place.root().read(place.path("hugepages/" + name + "/nr_hugepages"));
    const auto count = total ? parse_integer<std::uint64_t>(trim(*total)) : std::nullopt;
    if (!size || *size > kMostKibibytes || !count) continue;
    const auto free = place.root().read(place.path("hugepages/" + name + "/free_hugepages"));
    const auto unused = free ? parse_integer<std::uint64_t>(trim(*free)) : std::nullopt;
    node.huge_pages.push_back({kibibytes(*size), *count, unused.value_or(0)});
  }
  std::ranges::sort(node.huge_pages, {}, &model::HugePages::page_size);
}

// Linux Documentation/ABI/stable/sysfs-devices-node: bandwidth in MB/s (10^6, as ACPI HMAT has it),
// latency in nanoseconds. 0 is what the kernel shows where HMAT has no entry.
std::optional<BytesPerSecond> parse_bandwidth(std::string_view text) {
  constexpr double kMegabyte = 1e6;
  const auto value = parse_integer<std::uint32_t>(text);
  if (!value || *value == 0) return std::nullopt;
  return BytesPerSecond{*value * kMegabyte};
}
std::optional<Nanoseconds> parse_latency(std::string_view text) {
  const auto value = parse_integer<std::uint32_t>(text);
  if (!value || *value == 0) return std::nullopt;
  return Nanoseconds{static_cast<double>(*value)};
}

void read_access(const Place& place, model::MemoryAccess& access) {
  const Observed<host::Names> names = place.names("access0/initiators");
  if (!names.is_known()) {
    const auto copy = [&names]<typename T>(Observed<T>& target) {
      target = names.is_absent() ? Observed<T>::absent(names.source())
                                 : Observed<T>::unreadable(names.reason(), names.source(), names.error());
    };
    copy(access.read_bandwidth), copy(access.write_bandwidth);
    copy(access.read_latency), copy(access.write_latency), copy(access.initiators);
    return;
  }
  CpuSet initiators;
  for (const std::string& name : *names.get()) {
    if (const auto node = parse_numbered_name(name, "node")) initiators.insert(*node);
  }
  access.initiators = Observed<CpuSet>::known(std::move(initiators), names.source());
  access.read_bandwidth = place.parsed("access0/initiators/read_bandwidth", parse_bandwidth);
  access.write_bandwidth = place.parsed("access0/initiators/write_bandwidth", parse_bandwidth);
  access.read_latency = place.parsed("access0/initiators/read_latency", parse_latency);
  access.write_latency = place.parsed("access0/initiators/write_latency", parse_latency);
}

std::optional<std::vector<std::uint32_t>> parse_distances(std::string_view text, std::size_t count) {
  std::vector<std::uint32_t> distances;
  for (const std::string_view word : split_words(text)) {
    const auto distance = parse_integer<std::uint32_t>(word);
    if (!distance || distances.size() == count) return std::nullopt;
    distances.push_back(*distance);
  }
  if (distances.size() != count) return std::nullopt;
  return distances;
}

void note_distances(model::Machine& machine) {
  const auto bad = [](const model::NumaNode& node) {
    return node.distances.is_unreadable() && node.distances.reason() == model::Reason::kUnparsable;
  };
  std::vector<model::NumaNode>& nodes = machine.numa.nodes;
  const auto count = std::ranges::count_if(nodes, bad);
  if (count == 0) return;
  const auto first = std::ranges::find_if(nodes, bad);
  machine.notes.push_back(
      {"numa.distances",
       fmt::format("{}: not one distance for each of the {}", cite(machine, first->distances.source()),
                   count_of(nodes.size(), "node")),
       static_cast<std::uint32_t>(count), "Distances of these nodes are not used."});
}

model::NumaNode read_node(const host::Root& root, model::Machine& machine, std::uint32_t id,
                          std::size_t count) {
  const Place place(root, machine, "/sys/devices/system/node/node" + std::to_string(id));
  model::NumaNode node;
  node.id = {id};
  node.cpus = observe_cpu_set(place, "cpulist", "cpumap").value_or({});
  if (!machine.cpus.online.empty()) node.cpus &= machine.cpus.online;
  read_memory(place, node);
  read_huge_pages(place, node);
  read_access(place, node.access);
  node.distances =
      place.parsed("distance", [count](std::string_view text) { return parse_distances(text, count); });
  return node;
}

bool cpus_overlap(const std::vector<model::NumaNode>& nodes) {
  CpuSet seen;
  for (const model::NumaNode& node : nodes) {
    if (seen.intersects(node.cpus)) return true;
    seen |= node.cpus;
  }
  return false;
}

// One node with everything: a kernel without NUMA, or one whose NUMA maps cannot be true.
void use_single_node(const host::Root& root, model::Machine& machine) {
  const Place proc(root, machine, "/proc");
  model::NumaNode node;
  node.cpus = machine.cpus.online;
  read_memory(proc, node);
  node.distances = Observed<std::vector<std::uint32_t>>::absent(proc.source("meminfo"));
  machine.numa.nodes.assign(1, std::move(node));
}

// Firmware with wrong affinity tables makes the kernel list one CPU in several nodes. hwloc gives up
// NUMA then, and so do we: any choice would be a guess.
void discard_overlapping(const host::Root& root, model::Machine& machine) {
  machine.numa.discarded = true;
  const std::size_t count = machine.numa.nodes.size();
  use_single_node(root, machine);
  machine.notes.push_back({"numa.overlapping-maps",
                           fmt::format("/sys/devices/system/node: CPUs are listed in more than one of the {}",
                                       count_of(count, "node")),
                           1, "Update the firmware; NUMA information of this machine is not used."});
}

// SNC, NPS: how many nodes with CPUs a package holds. Absent when a node spans packages.
Observed<std::uint32_t> nodes_per_package(const model::Machine& machine, model::Source source) {
  std::size_t most = 0;
  for (const model::Package& package : machine.cpus.packages) {
    std::size_t inside = 0;
    for (const model::NumaNode& node : machine.numa.nodes) {
      if (node.cpus.empty() || !node.cpus.intersects(package.cpus)) continue;
      if (!node.cpus.is_subset_of(package.cpus)) return Observed<std::uint32_t>::absent(source);
      ++inside;
    }
    most = std::max(most, inside);
  }
  if (most == 0) return Observed<std::uint32_t>::unreadable(model::Reason::kNotCollected, source);
  return Observed<std::uint32_t>::known(static_cast<std::uint32_t>(most), source);
}

// "always [madvise] never": the chosen word is in brackets.
std::optional<std::string> parse_choice(std::string_view text) {
  const std::size_t open = text.find('[');
  const std::size_t close = text.find(']', open == std::string_view::npos ? 0 : open);
  if (open == std::string_view::npos || close == std::string_view::npos) return std::nullopt;
  return std::string(text.substr(open + 1, close - open - 1));
}

void read_settings(const host::Root& root, model::Machine& machine) {
  const Place proc(root, machine, "/proc/sys");
  machine.numa.zone_reclaim_mode = proc.integer<std::int64_t>("vm/zone_reclaim_mode");
  machine.numa.balancing = proc.integer<std::int64_t>("kernel/numa_balancing");
  const Place pages(root, machine, "/sys/kernel/mm/transparent_hugepage");
  machine.numa.transparent_huge_pages = pages.parsed("enabled", parse_choice);
}

}  // namespace

void probe_numa(const host::Root& root, model::Machine& machine) {
  const Place place(root, machine, "/sys/devices/system/node");
  const Observed<host::Names> names = place.names("");
  CpuSet ids;  // also sorts them: node10 is listed before node2
  for (const std::string& name : names.value_or({})) {
    if (const auto id = parse_numbered_name(name, "node")) ids.insert(*id);
  }
  for (const std::uint32_t id : ids.members()) {
    machine.numa.nodes.push_back(read_node(root, machine, id, ids.size()));
  }
  if (cpus_overlap(machine.numa.nodes))
    discard_overlapping(root, machine);
  else if (machine.numa.nodes.empty() && names.is_absent())
    use_single_node(root, machine);
  note_distances(machine);
  tell_node_kinds(root, machine);
  machine.numa.nodes_per_package = nodes_per_package(machine, place.source("node*/cpulist"));
  read_settings(root, machine);
}

}  // namespace angio::probe
