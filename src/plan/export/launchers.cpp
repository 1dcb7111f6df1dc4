// Options and files of launchers: srun, mpirun, torchrun.
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/cpu_set.hpp"
#include "base/text.hpp"
#include "plan/export/formats.hpp"

namespace angio::plan {
namespace {

using model::MemoryPolicy;
using model::RankPlacement;

// srun's masks: hexadecimal, most significant digit first, no separators.
std::string hexadecimal_mask(const CpuSet& set) {
  const std::vector<std::uint32_t> members = set.members();
  if (members.empty()) return "0x0";
  std::string digits(members.back() / 4 + 1, '0');
  std::vector<unsigned> values(digits.size(), 0U);
  for (const std::uint32_t member : members)
    values[member / 4] |= 1U << (member % 4);
  for (std::size_t i = 0; i < values.size(); ++i)
    digits[digits.size() - 1 - i] = "0123456789abcdef"[values[i]];
  return "0x" + digits;
}

template <typename Text>
std::string for_each_rank(const model::Placement& placement, const Text& text) {
  std::vector<std::string> parts;
  for (const RankPlacement& rank : placement.ranks)
    parts.push_back(text(rank));
  return join(parts, ",");
}

bool all_bound(const model::Placement& placement) {
  return std::ranges::none_of(placement.ranks, [](const auto& rank) { return rank.cpus.empty(); });
}

// srun's memory binding: prefer is a hint, without it the binding is strict (srun(1), --mem-bind).
std::string slurm_memory(const model::Placement& placement) {
  const MemoryPolicy policy = placement.ranks.front().memory;
  if (policy == MemoryPolicy::kLocal) return " --mem-bind=local";
  if (policy != MemoryPolicy::kPreferred && policy != MemoryPolicy::kBind) return "";
  const std::string masks =
      for_each_rank(placement, [](const RankPlacement& rank) { return hexadecimal_mask(rank.memory_nodes); });
  return fmt::format(" --mem-bind={}mask_mem:{}", policy == MemoryPolicy::kPreferred ? "prefer," : "", masks);
}

std::size_t gpus_used(const model::Placement& placement) {
  std::vector<std::uint32_t> gpus;
  for (const RankPlacement& rank : placement.ranks)
    if (rank.gpu) gpus.push_back(*rank.gpu);
  std::ranges::sort(gpus);
  return static_cast<std::size_t>(std::ranges::unique(gpus).begin() - gpus.begin());
}

}  // namespace

Export export_slurm(const model::Machine& machine, const model::Placement& placement) {
  Export made;
  std::string options = fmt::format("--ntasks-per-node={}", placement.ranks.size());
  if (const std::size_t gpus = gpus_used(placement); gpus > 0) {
    options += fmt::format(" --gpus-per-node={}", gpus);
    made.remarks.emplace_back(
        "GPUs are asked for each node, not for each task: a task that cannot see its peers' GPUs loses "
        "NVLink and "
        "P2P in NCCL");
  }
  if (all_bound(placement)) {
    options += " --cpu-bind=mask_cpu:" + for_each_rank(placement, [](const RankPlacement& rank) {
                 return hexadecimal_mask(rank.cpus);
               });
  }
  options += slurm_memory(placement);
  if (placement.ranks.front().memory == MemoryPolicy::kInterleave) {
    made.remarks.emplace_back("srun has no interleaved memory: use srun … angio run --memory interleave --");
  }
  made.remarks.push_back(fmt::format(
      "use: srun --exclusive {}, on nodes that are like {}; masks need TaskPlugin=task/affinity and a job "
      "that owns the whole node",
      "$(angio plan --format slurm) python train.py", machine.name));
  made.text = options + "\n";
  return made;
}

Export export_rankfile(const model::Machine& machine, const model::Placement& placement) {
  Export made;
  for (const RankPlacement& rank : placement.ranks) {
    if (rank.cpus.empty()) continue;
    made.text += fmt::format("rank {}={} slot={}\n", rank.local_rank, machine.name, to_list(rank.cpus));
  }
  made.remarks.emplace_back(
      "use with OpenMPI 4: mpirun --rankfile FILE --mca rmaps_rank_file_physical 1 python train.py");
  made.remarks.emplace_back("a rank file has no memory policy: memory follows the first touch");
  return made;
}

Export export_torchrun(const model::Machine&, const model::Placement& placement) {
  Export made;
  made.text = fmt::format("torchrun --nproc-per-node={} --no-python angio run -- python train.py\n",
                          placement.ranks.size());
  made.remarks.emplace_back(
      "torchrun has no list of CPUs for each rank; angio run finds LOCAL_RANK and applies this placement");
  return made;
}

}  // namespace angio::plan
