// OpenMP's threads: more than CPUs, or all ranks' threads on the same ones.
#include "base/cpu_set.hpp"
#include "base/text.hpp"
#include "lint/rules/placement_rules.hpp"

namespace angio::lint {
namespace {

// Where a variable was last set before the line, or the line itself.
Place place_of(const Line& line, std::string_view name) {
  for (const auto& setting : line.command->environment)
    if (setting.name == name) return setting.name_place;
  auto place = line.command->place;
  if (const auto found = line.settings->find(name); found != line.settings->end())
    for (const auto* setting : found->second)
      if (setting->name_place.offset < line.command->place.offset) place = setting->name_place;
  return place;
}

// Ranks that share the CPUs of one task (or of the host, without srun).
std::optional<long> ranks_of_line(const Job& job, const Line& line) {
  if (const auto* launcher = find_group_launcher(line)) return local_ranks(line, *launcher, job.allocation);
  return find_stage(line, {"python"}) != nullptr ? std::optional<long>(1) : std::nullopt;
}

void oversubscribed(const Job& job, const Context& context, const Line& line, Complaints& out) {
  const auto text = variable_at(line, "OMP_NUM_THREADS");
  const long threads = text ? parse_integer<long>(*text).value_or(0) : 0;
  const long ranks = ranks_of_line(job, line).value_or(0);
  constexpr long kMany = 1 << 20;  // beyond it the figures are nonsense, not a job
  if (threads < 2 || ranks < 1 || threads > kMany || ranks > kMany) return;
  const auto* srun = find_stage(line, {"srun"});
  const auto own = srun != nullptr ? number_option(line, *srun, {"--cpus-per-task", "-c"}) : std::nullopt;
  const auto cpus = own ? own : job.allocation.cpus_per_task;
  const auto needed = threads * ranks;
  const std::string sum =
      counted(ranks, "rank") + " x OMP_NUM_THREADS=" + *text + " = " + std::to_string(needed) + " threads";
  const std::string advice =
      "OMP_NUM_THREADS at most CPUs / ranks, less what DataLoader workers and NCCL need";
  if (cpus && needed > *cpus) {
    out.push_back(complain("placement.threads.oversubscribed", *job.script, place_of(line, "OMP_NUM_THREADS"),
                           sum + " on --cpus-per-task=" + std::to_string(*cpus), advice));
    return;
  }
  for (const auto& machine : context.machines) {
    const auto online = static_cast<long>(machine.cpus.online.size());
    if (cpus || online == 0 || needed <= online) continue;
    out.push_back(complain("placement.threads.oversubscribed", *job.script, place_of(line, "OMP_NUM_THREADS"),
                           sum + " on the " + counted(online, "CPU") + " of " + machine.name, advice));
    return;
  }
}

bool fixed_places(std::string_view name, std::string_view value) {
  if (name == "GOMP_CPU_AFFINITY") return true;
  if (name == "OMP_PLACES") return value.starts_with('{');
  const auto lower = to_lower(value);
  return contains(lower, "explicit") || contains(lower, "proclist");
}

// Several ranks that nothing has bound: each starts to count from the same CPU.
void same_cpus(const Job& job, const Line& line, Complaints& out) {
  const auto* torch = find_torch(line);
  const auto* mpirun = find_stage(line, {"mpirun"});
  const auto* launcher = torch != nullptr ? torch : mpirun;
  if (launcher == nullptr || local_ranks(line, *launcher, job.allocation).value_or(1) < 2) return;
  for (const std::string_view name : {"GOMP_CPU_AFFINITY", "KMP_AFFINITY", "OMP_PLACES"}) {
    const auto value = variable_at(line, name);
    if (!value || value->empty() || !fixed_places(name, *value)) continue;
    out.push_back(complain("placement.threads.same-cpus", *job.script, place_of(line, name),
                           std::string(name) + "=" + *value + " is the same in all " +
                               counted(*local_ranks(line, *launcher, job.allocation), "rank") +
                               " of the host: their threads share these CPUs",
                           "bind each rank first and leave the list to it: OMP_PROC_BIND=close"));
  }
  if (torch == nullptr || find_option(*torch, {"--numa-binding"}) || find_stage(line, {"numactl"}) != nullptr)
    return;
  for (const std::string_view name : {"OMP_PROC_BIND", "KMP_AFFINITY"}) {
    const auto value = variable_at(line, name);
    if (!value || fixed_places(name, *value)) continue;
    const auto lower = to_lower(*value);
    if (!contains(lower, "close") && !contains(lower, "true") && !contains(lower, "compact") &&
        !contains(lower, "master") && !contains(lower, "primary"))
      continue;
    out.push_back(complain("placement.threads.unbound-ranks", *job.script, place_of(line, name),
                           std::string(name) + "=" + *value +
                               " with ranks that nothing binds: each rank places its "
                               "threads from the first CPU on",
                           "bind the ranks first: torchrun --numa-binding=node, or angio run"));
    return;
  }
}

}  // namespace

void check_threads(const Job& job, const Context& context, Complaints& out) {
  for (const auto& line : job.lines) {
    oversubscribed(job, context, line, out);
    same_cpus(job, line, out);
  }
}

}  // namespace angio::lint
