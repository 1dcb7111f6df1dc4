// What PyTorch's process groups say in a job's log: collectives that ran into the watchdog's limit, the last
// operations of each rank, desynchronisation reports, errors that NCCL returned. Values; the lines are the
// evidence.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/observed.hpp"

namespace angio::model {

// "Watchdog caught collective operation timeout: WorkNCCL(SeqNum=…, OpType=…, …) ran for … milliseconds"
struct WatchdogTimeout {
  std::optional<std::uint32_t> rank;
  std::string group;  // "0 (default_pg)"; empty: not said
  std::string guid;   // PG GUID
  std::uint64_t sequence = 0;
  std::string operation;  // "ALLREDUCE"
  std::optional<std::uint64_t> elements_in;
  std::optional<std::uint64_t> elements_out;
  std::optional<std::uint64_t> limit_ms;
  std::optional<std::uint64_t> ran_ms;
  std::string text;
  Source source;
};

// "last enqueued work: 41, last completed work: 40"
struct WatchdogProgress {
  std::optional<std::uint32_t> rank;
  std::string group;
  std::string guid;
  std::optional<std::int64_t> enqueued;
  std::optional<std::int64_t> completed;
  Source source;
};

enum class WatchdogErrorKind : std::uint8_t {
  kNccl,       // an exception with NCCL's result
  kDesync,     // "Detected mismatch between collectives on ranks", "[3] finished collective #5 …"
  kAsync,      // "process group watchdog thread terminated", "async error"
  kHeartbeat,  // the monitor saw no heartbeat of the watchdog
  kUnjoined,   // "DistStoreError: ... 15/16 clients joined": not every process came to the rendezvous
  kKilled,     // "srun: error: node-b: task 9: Killed": the first task that ended so; rank: the task
  kNoMemory,   // "OutOfMemoryError: CUDA out of memory" of a rank
  kException,  // another Python exception of a rank, before its process groups fell over
};

struct WatchdogError {
  WatchdogErrorKind kind = WatchdogErrorKind::kNccl;
  std::optional<std::uint32_t> rank;
  std::string result;      // "ncclSystemError"; kUnjoined "15/16"; kKilled "Killed"; kException "KeyError"
  std::string last_error;  // the text below "Last error:"
  std::string version;     // of NCCL
  std::string text;
  Source source;
  Source last_error_source;
  std::string host = {};  // kKilled
};

struct WatchdogReport {
  std::vector<WatchdogTimeout> timeouts;  // the first of each rank and group
  std::vector<WatchdogProgress> progress;
  std::vector<WatchdogError> errors;
  std::uint64_t lines = 0;     // of PyTorch's process groups
  std::uint64_t left_out = 0;  // beyond the most that are kept
  Source source;
};

}  // namespace angio::model
