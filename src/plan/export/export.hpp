// A placement in the words of the launchers that exist: scripts, options, rank files, unit drop-ins. Text
// only; nothing is run. What a format cannot say becomes a remark, never a silent loss.
// The real tools check these texts in tests/launchers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/machine.hpp"
#include "model/placement.hpp"

namespace angio::plan {

enum class ExportFormat : std::uint8_t {
  kNumactl,      // shell script that execs numactl for its rank
  kTaskset,      // the same with taskset: CPUs only
  kSlurm,        // srun options
  kRankfile,     // OpenMPI 4 rank file, physical CPUs
  kTorchrun,     // command line
  kSystemd,      // one drop-in a rank
  kKubernetes,   // kubelet configuration and pod resources
  kEnvironment,  // shell script that exports each rank's variables
};

std::optional<ExportFormat> parse_export_format(std::string_view word);  // "numactl", "mpirun-rankfile", …

struct Export {
  std::string text;
  std::vector<std::string> remarks;  // what the format cannot say, how to use it
};

Export export_placement(const model::Machine& machine, const model::Placement& placement,
                        ExportFormat format);

}  // namespace angio::plan
