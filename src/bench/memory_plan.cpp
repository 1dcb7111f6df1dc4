#include "bench/memory_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/format.hpp"

namespace angio::bench {
namespace {

constexpr Bytes kLeastSize{std::uint64_t{1} << 20U};
constexpr Bytes kUsualSize{std::uint64_t{256} << 20U};
// One fault of huge pages, one fill and the links of the chain, on a slow core.
constexpr double kPrepareBytesPerSecond = 1.2e9;
constexpr double kCacheLineShare = 0.05;  // of the time of a figure
constexpr std::size_t kFiguresOfCell = 4;

using Nodes = std::vector<model::NumaNode>;

CpuSet usable_cpus(const model::Machine& machine) {
  CpuSet usable = machine.cpus.online;
  if (const CpuSet* allowed = machine.cpus.allowed.get()) usable &= *allowed;
  return usable;
}

// One CPU of every core, then their siblings.
std::vector<std::uint32_t> cpus_in_order(const model::Machine& machine, const CpuSet& cpus) {
  std::vector<std::uint32_t> firsts;
  std::vector<std::uint32_t> siblings;
  CpuSet seen;
  for (const model::Core& core : machine.cpus.cores) {
    const std::vector<std::uint32_t> here = (core.cpus & cpus).members();
    for (std::size_t index = 0; index < here.size(); ++index)
      (index == 0 ? firsts : siblings).push_back(here[index]);
    seen |= core.cpus;
  }
  for (const std::uint32_t cpu : (cpus - seen).members())
    firsts.push_back(cpu);
  std::ranges::sort(firsts);
  firsts.insert(firsts.end(), siblings.begin(), siblings.end());
  return firsts;
}

std::size_t core_count(const model::Machine& machine, const CpuSet& cpus) {
  const auto count = static_cast<std::size_t>(std::ranges::count_if(
      machine.cpus.cores, [&cpus](const model::Core& core) { return core.cpus.intersects(cpus); }));
  return count == 0 ? cpus.size() : count;
}

std::string name(const model::NumaNode& node) {
  return fmt::format("node {}", node.id.value);
}

Result<Nodes> chosen_nodes(const Nodes& all, const MemoryWish& wish, std::vector<std::string>& left_out) {
  Nodes chosen;
  CpuSet existing;
  for (const model::NumaNode& node : all) {
    existing.insert(node.id.value);
    if (wish.nodes && !wish.nodes->contains(node.id.value)) continue;
    if (!wish.nodes && node.kind == model::NumaKind::kGpuMemory) {
      left_out.push_back(name(node) + " is memory of a GPU; name it with --nodes to measure it");
      continue;
    }
    chosen.push_back(node);
  }
  if (wish.nodes && (wish.nodes->empty() || !wish.nodes->is_subset_of(existing))) {
    return fail(ErrorCode::kInvalidInput,
                fmt::format("--nodes {}: this machine has node {}", to_list(*wish.nodes), to_list(existing)));
  }
  return chosen;
}

Result<void> choose_cpus(const model::Machine& machine, const MemoryWish& wish, const Nodes& nodes,
                         MemoryPlan& plan) {
  const CpuSet usable = usable_cpus(machine);
  for (const model::NumaNode& node : nodes) {
    if (node.cpus.empty()) {
      plan.left_out.push_back(name(node) + " has no CPUs: only its memory is measured");
      continue;
    }
    const CpuSet here = node.cpus & usable;
    if (here.empty()) {
      plan.left_out.push_back(name(node) +
                              "'s CPUs are not allowed for this process: only its memory is measured");
      continue;
    }
    std::vector<std::uint32_t> cpus = cpus_in_order(machine, here);
    const std::size_t count = wish.threads.value_or(static_cast<std::uint32_t>(core_count(machine, here)));
    if (count > cpus.size()) {
      return fail(ErrorCode::kInvalidInput, fmt::format("--threads {}: {} has {} that this process may use",
                                                        count, name(node), count_of(cpus.size(), "CPU")));
    }
    cpus.resize(count);
    plan.cpu_sides.push_back({node.id, std::move(cpus)});
  }
  if (!plan.cpu_sides.empty()) return {};
  return fail(ErrorCode::kUnsupported, "none of the chosen nodes has CPUs that this process may use",
              "choose others with --nodes");
}

Result<void> choose_memories(const Nodes& nodes, MemoryPlan& plan) {
  for (const model::NumaNode& node : nodes) {
    if (node.memory.is_known() && node.memory.get()->value == 0) {
      plan.left_out.push_back(name(node) + " has no memory: only its CPUs are measured");
      continue;
    }
    plan.memory_nodes.push_back(node);
  }
  if (!plan.memory_nodes.empty()) return {};
  return fail(ErrorCode::kUnsupported, "none of the chosen nodes has memory", "choose others with --nodes");
}

// All last-level caches that the CPUs of one node reach; the largest such sum.
Bytes last_level_cache(const model::Machine& machine, const Nodes& nodes) {
  std::uint32_t level = 0;
  for (const model::Cache& cache : machine.cpus.caches)
    level = std::max(level, cache.level);
  Bytes most;
  for (const model::NumaNode& node : nodes) {
    Bytes sum;
    for (const model::Cache& cache : machine.cpus.caches) {
      if (cache.level == level && cache.cpus.intersects(node.cpus)) sum = sum + cache.size.value_or({});
    }
    most = std::max(most, sum);
  }
  return most;
}

Bytes part_of(Bytes size, double part) {
  return Bytes{static_cast<std::uint64_t>(static_cast<double>(size.value) * part)};
}

// What may be taken of a node: most of what is free, and of what the cgroups leave.
std::optional<Bytes> may_take(const model::NumaNode& node, const Available& available) {
  constexpr double kMost = 0.75;
  std::optional<Bytes> most = available.of_cgroup;
  if (const auto found = available.on_node.find(node.id.value); found != available.on_node.end()) {
    most = std::min(most.value_or(found->second), found->second);
  }
  return most ? std::optional(part_of(*most, kMost)) : std::nullopt;
}

Bytes whole_mebibytes(Bytes size) {
  return Bytes{std::max(size.value >> 20U << 20U, kLeastSize.value)};
}

Result<void> choose_size(const model::Machine& machine, const MemoryWish& wish, const Available& available,
                         MemoryPlan& plan) {
  const Bytes caches = last_level_cache(machine, plan.memory_nodes);
  Bytes size = wish.size.value_or(std::max(kUsualSize, part_of(caches, 2)));
  if (size < kLeastSize) {
    return fail(ErrorCode::kInvalidInput,
                fmt::format("--size {}: at least {}", in_words(size), in_words(kLeastSize)));
  }
  for (const model::NumaNode& node : plan.memory_nodes) {
    const std::optional<Bytes> most = may_take(node, available);
    if (!most || size <= *most) continue;
    if (wish.size || *most < part_of(kLeastSize, 32)) {
      return fail(
          ErrorCode::kUnsupported,
          fmt::format("{} has too little free memory for a buffer of {}: at most {} may be taken without "
                      "pushing others out",
                      name(node), in_words(size), in_words(*most)),
          "use a smaller --size, or wait until the machine is idle");
    }
    size = *most;
  }
  plan.size = whole_mebibytes(size);
  if (plan.size < part_of(caches, 2)) {
    plan.doubts.push_back(
        fmt::format("the buffer of {} is less than twice the last-level cache ({}): figures may be "
                    "the cache's in part",
                    in_words(plan.size), in_words(caches)));
  }
  return {};
}

void choose_cache_line_cpus(const model::Machine& machine, const Nodes& nodes, MemoryPlan& plan) {
  const CpuSet usable = usable_cpus(machine);
  for (const model::NumaNode& node : nodes) {
    const CpuSet here = node.cpus & usable;
    std::vector<std::uint32_t> cpus = cpus_in_order(machine, here);
    cpus.resize(std::min(cpus.size(), core_count(machine, here)));
    plan.cache_line_cpus.insert(plan.cache_line_cpus.end(), cpus.begin(), cpus.end());
  }
}

void expect(MemoryPlan& plan) {
  plan.figures = plan.cpu_sides.size() * plan.memory_nodes.size() * kFiguresOfCell;
  const double prepare =
      static_cast<double>(plan.size.value * plan.memory_nodes.size()) / kPrepareBytesPerSecond;
  plan.expected_seconds = static_cast<double>(plan.figures) * plan.seconds + prepare;
  const std::size_t cores = plan.cache_line_cpus.size();
  const std::size_t pairs = cores < 2 ? 0 : cores * (cores - 1) / 2;
  plan.figures += pairs;
  plan.expected_seconds += static_cast<double>(pairs) * plan.seconds * kCacheLineShare;
}

}  // namespace

std::vector<model::NumaNode> nodes_or_whole(const model::Machine& machine) {
  if (!machine.numa.nodes.empty()) return machine.numa.nodes;
  model::NumaNode whole;
  whole.cpus = machine.cpus.online;
  return {whole};
}

Result<MemoryPlan> plan_memory_bench(const model::Machine& machine, const MemoryWish& wish,
                                     const Available& available) {
  MemoryPlan plan;
  plan.seconds = wish.seconds;
  const Nodes all = nodes_or_whole(machine);
  plan.one_memory = std::ranges::count_if(all, [](const model::NumaNode& node) {
                      return !node.memory.is_known() || node.memory.get()->value > 0;
                    }) == 1;
  const auto nodes = chosen_nodes(all, wish, plan.left_out);
  if (!nodes) return std::unexpected(nodes.error());
  if (auto done = choose_cpus(machine, wish, *nodes, plan); !done) return std::unexpected(done.error());
  if (auto done = choose_memories(*nodes, plan); !done) return std::unexpected(done.error());
  if (auto done = choose_size(machine, wish, available, plan); !done) return std::unexpected(done.error());
  if (wish.cache_lines) choose_cache_line_cpus(machine, *nodes, plan);
  expect(plan);
  return plan;
}

std::string duration_in_words(double seconds) {
  constexpr double kMinute = 60;
  if (seconds < 2 * kMinute) return fmt::format("about {:.0f} s", std::max(1.0, std::ceil(seconds)));
  return fmt::format("about {:.0f} min", std::ceil(seconds / kMinute));
}

}  // namespace angio::bench
