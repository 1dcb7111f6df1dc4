// Everything of NCCL's that the artefacts of one job hold: its debug log, tables of nccl-tests, answers of
// the RAS service, records of the Inspector, lines of PyTorch's watchdog. Values; import fills them, diagnose
// and views read.
#pragma once

#include <optional>
#include <vector>

#include "model/nccl_inspector.hpp"
#include "model/nccl_log.hpp"
#include "model/nccl_ras.hpp"
#include "model/nccl_tests.hpp"
#include "model/nccl_watchdog.hpp"

namespace angio::model {

struct NcclEvidence {
  std::optional<NcclLog> log;  // of all files with lines of NCCL's own; empty: none
  Places places;               // of every Source below; the log has its own
  std::vector<NcclTestsTable> tests;
  std::vector<RasReport> ras;
  std::optional<InspectorSummary> inspector;
  std::optional<WatchdogReport> watchdog;
};

}  // namespace angio::model
