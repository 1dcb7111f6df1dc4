// Shell scripts to put in front of a command: numactl, taskset and plain variables.
#include <fmt/format.h>

#include <string>

#include "base/cpu_set.hpp"
#include "plan/export/formats.hpp"

namespace angio::plan {
namespace {

using model::MemoryPolicy;
using model::RankPlacement;

// The script finds its rank as `angio run` does, by the variables of the usual launchers.
constexpr std::string_view kHead =
    "#!/bin/sh\n"
    "# {what} of {host}, {count} ranks on the node. Put it before the command: {use}\n"
    "rank=${{LOCAL_RANK:-${{SLURM_LOCALID:-${{OMPI_COMM_WORLD_LOCAL_RANK:-${{MPI_LOCALRANKID:-}}}}}}}}\n"
    "case \"$rank\" in\n";

constexpr std::string_view kTail =
    "*) echo \"no placement for local rank '$rank': this script knows 0 to {last}\" >&2; exit 2 ;;\n"
    "esac\n";

std::string numactl_memory(const RankPlacement& rank) {
  const std::string nodes = to_list(rank.memory_nodes);
  switch (rank.memory) {
    case MemoryPolicy::kPreferred:
      return " --preferred=" + nodes;
    case MemoryPolicy::kBind:
      return " --membind=" + nodes;
    case MemoryPolicy::kInterleave:
      return " --interleave=" + nodes;
    case MemoryPolicy::kLocal:
      return " --localalloc";
    case MemoryPolicy::kNone:
      break;
  }
  return "";
}

std::string numactl_command(const RankPlacement& rank) {
  const std::string cpus = rank.cpus.empty() ? "" : " --physcpubind=" + to_list(rank.cpus);
  const std::string memory = numactl_memory(rank);
  return cpus.empty() && memory.empty() ? "" : "numactl" + cpus + memory + " -- ";
}

std::string taskset_command(const RankPlacement& rank) {
  return rank.cpus.empty() ? "" : "taskset -c " + to_list(rank.cpus) + " ";
}

std::string exports(const RankPlacement& rank) {
  return rank.threads == 0
             ? ""
             : fmt::format("export OMP_NUM_THREADS=\"${{OMP_NUM_THREADS:-{}}}\"; ", rank.threads);
}

template <typename Command>
std::string script(const model::Machine& machine, const model::Placement& placement, std::string_view what,
                   const Command& command) {
  std::string text = fmt::format(kHead, fmt::arg("what", what), fmt::arg("host", machine.name),
                                 fmt::arg("count", placement.ranks.size()),
                                 fmt::arg("use", "torchrun --no-python ./bind.sh python train.py"));
  for (const RankPlacement& rank : placement.ranks) {
    text += fmt::format("{}) {}exec {}\"$@\" ;;\n", rank.local_rank, exports(rank), command(rank));
  }
  return text + fmt::format(kTail, fmt::arg("last", placement.ranks.size() - 1));
}

}  // namespace

Export export_numactl(const model::Machine& machine, const model::Placement& placement) {
  Export made{script(machine, placement, "numactl placement", numactl_command), {}};
  for (const RankPlacement& rank : placement.ranks) {
    if (rank.memory != MemoryPolicy::kPreferred || rank.memory_nodes.size() < 2) continue;
    made.remarks.emplace_back("numactl before 2.0.15 takes one node for --preferred, here are several");
    break;
  }
  return made;
}

Export export_taskset(const model::Machine& machine, const model::Placement& placement) {
  Export made{script(machine, placement, "taskset placement", taskset_command), {}};
  made.remarks.emplace_back("taskset sets CPUs only: memory follows the first touch, with no policy");
  return made;
}

Export export_environment(const model::Machine& machine, const model::Placement& placement) {
  Export made{script(machine, placement, "variables", [](const RankPlacement&) { return ""; }), {}};
  made.remarks.emplace_back("variables bind neither CPUs nor memory; angio run does");
  return made;
}

}  // namespace angio::plan
