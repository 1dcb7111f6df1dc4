// What NCCL's tuner believes of a topology and chooses by size, for people and programs. What it is computed
// of is in src/cost/nccl_model.hpp. Used by `angio nccl-topo tuning`.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/json.hpp"
#include "cost/nccl_model.hpp"
#include "report/document.hpp"

namespace angio::views {

struct TuningReport {
  std::string subject;  // the file or machine
  std::string version;  // of NCCL
  std::string without_nvlink;
  cost::NcclTable table;
  std::vector<tuner::Collective> collectives;  // whose choices are shown
  std::vector<std::uint64_t> sizes;            // to tell in full; none: only where the choice changes
  std::uint64_t least = 8;                     // of the sizes where changes are looked for
  std::uint64_t most = 0;
  std::vector<std::string> notes;
};
report::Document nccl_tuning_document(const TuningReport& report);
Json nccl_tuning_json(const TuningReport& report);

}  // namespace angio::views
