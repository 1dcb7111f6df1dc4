#include "plan/cores.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "base/format.hpp"

namespace angio::plan {
namespace {

using model::Machine;
using model::NumaNode;

// CPU number → index of something that holds it. Linear, for machines of a thousand CPUs.
using Owner = std::vector<std::uint32_t>;

void claim(Owner& owner, const CpuSet& cpus, std::uint32_t index) {
  for (const std::uint32_t cpu : cpus.members()) {
    if (cpu >= owner.size()) owner.resize(cpu + std::size_t{1}, kNoDomain);
    owner[cpu] = index;
  }
}

std::uint32_t owner_of(const Owner& owner, std::uint32_t cpu) {
  return cpu < owner.size() ? owner[cpu] : kNoDomain;
}

// A node's CPUs as runs without gaps: "0-3,8-11" is two of four.
std::vector<std::vector<std::uint32_t>> runs_of(const CpuSet& cpus) {
  std::vector<std::vector<std::uint32_t>> runs;
  for (const std::uint32_t cpu : cpus.members()) {
    if (runs.empty() || runs.back().back() + 1 != cpu) runs.emplace_back();
    runs.back().push_back(cpu);
  }
  return runs;
}

bool equally_long(const std::vector<std::vector<std::uint32_t>>& runs) {
  return std::ranges::all_of(runs, [&](const auto& run) { return run.size() == runs.front().size(); });
}

// Sources without cores: Linux on x86 numbers the second hardware threads in a range of their own, as long as
// the first. Kept together they cannot end up in the shares of two ranks; if they are no siblings, nothing is
// lost but a count.
Owner assumed_owners(const Machine& machine, bool& paired) {
  Owner owner;
  std::uint32_t core = 0;
  for (const NumaNode& node : machine.numa.nodes) {
    const auto runs = runs_of(node.cpus);
    if (runs.size() < 2 || runs.front().size() < 2 || !equally_long(runs)) continue;
    paired = true;
    for (std::size_t i = 0; i < runs.front().size(); ++i, ++core) {
      CpuSet together;
      for (const auto& run : runs)
        together.insert(run[i]);
      claim(owner, together, core);
    }
  }
  return owner;
}

Owner core_owners(const Machine& machine, bool& paired) {
  if (machine.cpus.cores.empty()) return assumed_owners(machine, paired);
  Owner owner;
  for (std::uint32_t i = 0; i < machine.cpus.cores.size(); ++i)
    claim(owner, machine.cpus.cores[i].cpus, i);
  return owner;
}

Owner cache_owners(const Machine& machine) {
  std::uint32_t last = 0;
  for (const model::Cache& cache : machine.cpus.caches)
    last = std::max(last, cache.level);
  Owner owner;
  for (std::uint32_t i = 0; i < machine.cpus.caches.size(); ++i) {
    const model::Cache& cache = machine.cpus.caches[i];
    if (cache.level == last && cache.kind != model::CacheKind::kInstruction) claim(owner, cache.cpus, i);
  }
  return owner;
}

CpuSet online_of(const Machine& machine) {
  if (!machine.cpus.online.empty()) return machine.cpus.online;
  CpuSet all;
  for (const NumaNode& node : machine.numa.nodes)
    all |= node.cpus;
  return all - machine.cpus.offline.value_or({});
}

std::optional<std::uint32_t> package_of(const Machine& machine, const CpuSet& cpus) {
  for (const model::Package& package : machine.cpus.packages) {
    if (package.cpus.intersects(cpus)) return package.id;
  }
  return std::nullopt;
}

struct PoolCore {
  CpuSet cpus;
  std::uint32_t first = 0;
  std::uint32_t domain = kNoDomain;
};

struct Masks {
  CpuSet allowed;   // CPUs that ranks may have
  CpuSet unmasked;  // the same without the scheduler's mask
  CpuSet online;
  Owner core;
  Owner cache;
  bool paired = false;  // cores were assumed from the CPUs' numbers
};

// The node's cores, cut to `cpus`, those that share a last-level cache together.
std::vector<PoolCore> cores_in(const Masks& masks, const CpuSet& cpus) {
  std::map<std::uint32_t, std::size_t> place;
  std::vector<PoolCore> cores;
  for (const std::uint32_t cpu : cpus.members()) {
    const std::uint32_t core = owner_of(masks.core, cpu);
    const auto [entry, is_new] = place.try_emplace(core, cores.size());
    if (is_new || core == kNoDomain) {
      entry->second = cores.size();
      cores.push_back({{}, cpu, owner_of(masks.cache, cpu)});
    }
    cores[entry->second].cpus.insert(cpu);
  }
  std::map<std::uint32_t, std::uint32_t> domain_begin;
  for (const PoolCore& core : cores)
    domain_begin.try_emplace(core.domain, core.first);
  std::ranges::sort(cores, {},
                    [&](const PoolCore& core) { return std::pair{domain_begin[core.domain], core.first}; });
  return cores;
}

// The first cores of every node stay with the system: CPU 0 takes the kernel's own work.
CpuSet system_cpus(const Masks& masks, const NumaNode& node, std::uint32_t count) {
  CpuSet kept;
  if (count == 0) return kept;
  const std::vector<PoolCore> cores = cores_in(masks, node.cpus & masks.online);
  for (std::size_t i = 0; i < std::min<std::size_t>(count, cores.size()); ++i)
    kept |= cores[i].cpus;
  return kept;
}

void add_note(std::vector<model::Note>& notes, std::string id, std::string text, std::string remedy = {}) {
  notes.push_back({std::move(id), std::move(text), 1, std::move(remedy)});
}

Pool make_pool(const Machine& machine, const PlanRequest& request, const Masks& masks, std::uint32_t index,
               Cores& result) {
  const NumaNode& node = machine.numa.nodes[index];
  Pool pool;
  pool.index = index;
  pool.node = node.id;
  pool.package = package_of(machine, node.cpus);
  const CpuSet kept = system_cpus(masks, node, request.system_cores);
  const CpuSet free = node.cpus & masks.allowed;
  CpuSet rest = free - kept;
  if (rest.empty() && !free.empty()) {
    add_note(
        result.notes, "plan.cpus.system-cores",
        fmt::format("node {} has no core besides the {} asked to be kept for the system; none is kept there",
                    node.id.value, request.system_cores),
        "keep fewer cores for the system");
    rest = free;
  } else {
    result.system |= kept;
  }
  for (PoolCore& core : cores_in(masks, rest)) {
    if (request.smt == Smt::kOne) {
      CpuSet one;
      one.insert(core.first);
      core.cpus = std::move(one);
    }
    pool.cores.push_back(std::move(core.cpus));
    pool.domains.push_back(core.domain);
  }
  pool.unmasked = static_cast<std::uint32_t>(cores_in(masks, (node.cpus & masks.unmasked) - kept).size());
  return pool;
}

// isolcpus are for somebody who asks for them by name. A mask of nothing else is such a request.
void leave_out_isolated(const Machine& machine, Masks& masks, std::vector<model::Note>& notes) {
  const CpuSet isolated = machine.cpus.isolated.value_or({}) & masks.online;
  if (isolated.empty()) return;
  masks.unmasked -= isolated;
  const CpuSet rest = masks.allowed - isolated;
  if (rest.empty()) {
    add_note(notes, "plan.cpus.isolated-only",
             fmt::format("all allowed CPUs ({}) are isolated (isolcpus); they are used all the same",
                         to_list(masks.allowed)));
    masks.unmasked |= masks.allowed;
    return;
  }
  if (rest != masks.allowed) {
    add_note(notes, "plan.cpus.isolated",
             fmt::format("isolated CPUs are left out: {} (isolcpus)", to_list(isolated & masks.allowed)));
  }
  masks.allowed = rest;
}

Result<Masks> make_masks(const Machine& machine, const PlanRequest& request, Cores& result) {
  Masks masks;
  masks.online = online_of(machine);
  masks.unmasked = masks.online;
  const CpuSet* known = machine.cpus.allowed.get();
  const CpuSet asked = request.allowed_cpus ? *request.allowed_cpus
                       : known != nullptr   ? *known
                                            : masks.online;
  if ((request.allowed_cpus || known != nullptr) && asked.empty()) {
    return fail(ErrorCode::kInvalidInput, "the CPU mask is empty: no rank could run",
                "look at the cgroup's cpuset.cpus and at the scheduler's CPU binding");
  }
  masks.allowed = asked & masks.online;
  if (masks.allowed.empty() && !masks.online.empty()) {
    return fail(ErrorCode::kInvalidInput,
                fmt::format("the CPU mask {} holds none of the CPUs that are online ({})", to_list(asked),
                            to_list(masks.online)),
                "was the mask made on another machine?");
  }
  result.masked = masks.allowed != masks.online;
  leave_out_isolated(machine, masks, result.notes);
  masks.core = core_owners(machine, masks.paired);
  masks.cache = cache_owners(machine);
  return masks;
}

// [begin, end) of part i of `parts` of `count` things; the first ones take the remainder.
std::pair<std::size_t, std::size_t> part_of(std::size_t count, std::size_t parts, std::size_t i) {
  const std::size_t base = count / parts;
  const std::size_t more = count % parts;
  const std::size_t begin = i * base + std::min(i, more);
  return {begin, begin + base + (i < more ? 1 : 0)};
}

Share take(const Pool& pool, std::size_t begin, std::size_t end) {
  Share share;
  for (std::size_t i = begin; i < end && i < pool.cores.size(); ++i) {
    share.cpus |= pool.cores[i];
    ++share.cores;
  }
  return share;
}

Share divide(const Pool& pool, const Slot& slot) {
  const std::size_t parts = std::max<std::size_t>(slot.parts, 1);
  if (pool.cores.empty()) return {};
  if (pool.cores.size() < parts) {
    const std::size_t core = slot.first % pool.cores.size();
    Share share = take(pool, core, core + 1);
    share.shared = true;
    return share;
  }
  const std::size_t last = std::min<std::size_t>(slot.first + std::max(slot.span, 1U), parts) - 1;
  return take(pool, part_of(pool.cores.size(), parts, std::min<std::size_t>(slot.first, parts - 1)).first,
              part_of(pool.cores.size(), parts, last).second);
}

// Where each last-level cache's cores begin, and the end.
std::vector<std::size_t> domain_bounds(const Pool& pool) {
  std::vector<std::size_t> bounds;
  for (std::size_t i = 0; i < pool.domains.size(); ++i) {
    if (pool.domains[i] == kNoDomain) return {};
    if (i == 0 || pool.domains[i] != pool.domains[i - 1]) bounds.push_back(i);
  }
  bounds.push_back(pool.domains.size());
  return bounds;
}

Share divide_caches(const Pool& pool, const Slot& slot) {
  const std::vector<std::size_t> bounds = domain_bounds(pool);
  const std::size_t parts = std::max<std::size_t>(slot.parts, 1);
  if (bounds.size() < 2 || bounds.size() - 1 < parts) {
    Share share = divide(pool, slot);
    share.cut_domain = true;
    return share;
  }
  const std::size_t last = std::min<std::size_t>(slot.first + std::max(slot.span, 1U), parts) - 1;
  const std::size_t caches = bounds.size() - 1;
  return take(pool, bounds[part_of(caches, parts, std::min<std::size_t>(slot.first, parts - 1)).first],
              bounds[part_of(caches, parts, last).second]);
}

}  // namespace

Result<Cores> make_cores(const Machine& machine, const PlanRequest& request) {
  Cores result;
  auto masks = make_masks(machine, request, result);
  if (!masks) return std::unexpected(std::move(masks.error()));
  bool any_node = false;
  for (std::uint32_t i = 0; i < machine.numa.nodes.size(); ++i) {
    const NumaNode& node = machine.numa.nodes[i];
    // An offline or unlisted node's CPUs are nobody's home.
    if (!node.cpus.intersects(masks->online)) continue;
    any_node = true;
    result.pools.push_back(make_pool(machine, request, *masks, i, result));
  }
  const auto has_cores = [](const Pool& pool) { return !pool.cores.empty(); };
  if (any_node && std::ranges::none_of(result.pools, has_cores)) {
    return fail(
        ErrorCode::kInvalidInput,
        fmt::format("the CPU mask {} lies outside the CPUs of every NUMA node", to_list(masks->allowed)),
        "was the mask made on another machine?");
  }
  if (any_node && machine.cpus.cores.empty()) {
    add_note(result.notes, "plan.cpus.cores-unknown",
             masks->paired
                 ? "the source does not say which hardware threads share a core; CPUs at the same place "
                   "of a node's ranges of numbers are taken for one core, each other CPU for a core"
                 : "the source does not say which hardware threads share a core; each CPU counts as a "
                   "core");
  }
  return result;
}

Share share_of(const Pool& pool, CpuPolicy policy, const Slot& slot) {
  if (policy == CpuPolicy::kL3) return divide_caches(pool, slot);
  Share share = divide(pool, slot);
  if (policy != CpuPolicy::kCore || share.cores < 2) return share;
  // The first core of its share, so that ranks spread over the caches.
  const std::size_t parts = std::max<std::size_t>(slot.parts, 1);
  const std::size_t begin =
      part_of(pool.cores.size(), parts, std::min<std::size_t>(slot.first, parts - 1)).first;
  return take(pool, begin, begin + 1);
}

Share whole_of(const std::vector<const Pool*>& pools) {
  Share share;
  for (const Pool* pool : pools) {
    for (const CpuSet& core : pool->cores)
      share.cpus |= core;
    share.cores += static_cast<std::uint32_t>(pool->cores.size());
  }
  return share;
}

}  // namespace angio::plan
