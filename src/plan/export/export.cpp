#include "plan/export/export.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "plan/export/formats.hpp"

namespace angio::plan {
namespace {

struct Entry {
  std::string_view word;
  ExportFormat format;
  Export (*render)(const model::Machine&, const model::Placement&);
};

constexpr std::array kFormats{
    Entry{"numactl", ExportFormat::kNumactl, export_numactl},
    Entry{"taskset", ExportFormat::kTaskset, export_taskset},
    Entry{"slurm", ExportFormat::kSlurm, export_slurm},
    Entry{"mpirun-rankfile", ExportFormat::kRankfile, export_rankfile},
    Entry{"torchrun", ExportFormat::kTorchrun, export_torchrun},
    Entry{"systemd", ExportFormat::kSystemd, export_systemd},
    Entry{"kubernetes", ExportFormat::kKubernetes, export_kubernetes},
    Entry{"env", ExportFormat::kEnvironment, export_environment},
};

}  // namespace

std::optional<ExportFormat> parse_export_format(std::string_view word) {
  const auto found = std::ranges::find(kFormats, word, &Entry::word);
  if (found == kFormats.end()) return std::nullopt;
  return found->format;
}

Export export_placement(const model::Machine& machine, const model::Placement& placement,
                        ExportFormat format) {
  Export made = std::ranges::find(kFormats, format, &Entry::format)->render(machine, placement);
  const auto unbound = [](const model::RankPlacement& rank) { return rank.cpus.empty(); };
  if (std::ranges::any_of(placement.ranks, unbound)) {
    made.remarks.emplace_back("some ranks are not bound: angio plan --why says why");
  }
  return made;
}

}  // namespace angio::plan
