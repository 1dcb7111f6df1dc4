// The door for measurements that people have: a file is recognised by its content, whatever else stands in
// it, and gives all results that it holds. gzip is unpacked. Facts only.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "import/results/hint.hpp"
#include "model/bench_result.hpp"
#include "model/collective_run.hpp"
#include "model/dcgm_metrics.hpp"
#include "model/nccl_evidence.hpp"
#include "model/nvbandwidth.hpp"
#include "model/osu.hpp"
#include "model/perftest.hpp"

namespace angio::import::results {

struct Results {
  std::string name;
  model::NcclEvidence nccl;  // tables of nccl-tests, and NCCL's lines of the same file
  std::vector<model::OsuTable> osu;
  std::vector<model::PerftestRun> perftest;
  std::vector<model::NvbandwidthRun> nvbandwidth;
  std::vector<model::CollectiveRun> collective;
  std::vector<model::MemoryBench> memory;
  std::vector<model::DcgmMetrics> dcgm;
  CollectiveHint hint;               // for tables that do not say their collective
  std::vector<std::string> notes;    // whole sentences: what was cut or left out
  [[nodiscard]] bool empty() const;  // no result; NCCL's lines alone are none
};

// Fails when there is no result in it: the error says what the file looks like, and what is known.
Result<Results> read(std::string_view bytes, const std::string& name);

}  // namespace angio::import::results
