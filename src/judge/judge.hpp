// Holds measurements against what the hardware should give: each row normal, low or impossible, with the part
// that limits and what to check next. Pure: figures and an expectation in, a Judgement out.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/units.hpp"
#include "cost/platform.hpp"
#include "model/bench_result.hpp"
#include "model/collective_run.hpp"
#include "model/dcgm_metrics.hpp"
#include "model/expectation.hpp"
#include "model/finding.hpp"
#include "model/nccl_log.hpp"
#include "model/nccl_tests.hpp"
#include "model/nvbandwidth.hpp"
#include "model/osu.hpp"
#include "model/perftest.hpp"

namespace angio::judge {

enum class Verdict : std::uint8_t {
  kNormal,
  kLow,
  kImpossible,  // beyond the hardware: units, formula or topology are not what was said
  kUndecided,   // no expectation, or only a bound
  kWrong,       // the data was wrong: no figure counts
};
const char* name_of(Verdict verdict);  // "normal"

struct JudgedRow {
  std::string what;  // "AllReduce 1 GiB, out of place", "H2D GPU 3"
  std::optional<model::CollectiveCase> question;
  double measured = 0;  // in `unit`
  double expected = 0;  // 0: unknown
  double low = 0;
  double high = 0;
  std::string unit;  // "GB/s", "Gb/s", "us"
  bool higher_is_better = true;
  Verdict verdict = Verdict::kUndecided;
  std::string limit;
  std::string why;  // of kUndecided and kImpossible
  Bytes size;       // 0: has none
  std::optional<bool> in_place;
  double time_us = 0;      // 0: not said
  double expected_us = 0;  // 0: unknown; with the least and most of the interval
  double least_us = 0, most_us = 0;
  std::string algorithm;  // that the expectation is of: "NVLS", "Ring LL128"; may be empty
};

struct Judgement {
  std::string input;   // "nccl-tests table", "OSU osu_allreduce"
  std::string source;  // file
  std::optional<cost::Platform> platform;
  std::vector<std::string> assumptions;  // whole sentences
  std::vector<JudgedRow> rows;
  Verdict verdict = Verdict::kUndecided;  // of the whole
  std::string answer;                     // one or two sentences
  std::vector<model::Finding> findings;   // what to check next, as the doctor says it
  std::vector<std::string> refused;       // what was not taken for a result: the average of a sweep
  std::string subject;                    // "AllReduce, 16 GPUs on 2 hosts"
  std::vector<std::string> hosts;
  std::vector<model::Undecided> undecided;
  std::vector<std::string> held;  // rules that looked and found nothing
};

struct Topology {
  const model::Machine* machine = nullptr;  // one of the nodes; null: only what the result says
  std::optional<std::uint32_t> nodes;       // said by the user
  std::optional<std::uint32_t> gpus_of_node;
  std::string gpu;                      // said by the user: "H100"; empty: what the result says
  const model::NcclLog* log = nullptr;  // NCCL's lines of the same run; null: none
  std::string source = {};              // name of the file
  // Where the result does not say it; and who does: "the file's name".
  model::NcclCollective collective = model::NcclCollective::kUnknown;
  std::string collective_of = {};
};

Judgement judge(const model::NcclTestsTable& table, const Topology& topology);
Judgement judge(const model::CollectiveRun& run, const Topology& topology);
Judgement judge(const model::PerftestRun& run, const Topology& topology);
Judgement judge(const model::OsuTable& table, const Topology& topology);
Judgement judge(const model::NvbandwidthRun& run, const Topology& topology);
Judgement judge(const model::MemoryBench& bench, const Topology& topology);
Judgement judge(const model::DcgmMetrics& metrics, const Topology& topology);

}  // namespace angio::judge
