// What a real NCCL decided on phantom hardware: the run, its end, NCCL's log as facts, and each operation
// with the choice that was made for it. Values; src/dryrun makes them, views show them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "model/dryrun_end.hpp"
#include "model/nccl_evidence.hpp"

namespace angio::model {

struct DryRunOperation {
  std::string collective;   // "AllReduce"
  std::uint64_t bytes = 0;  // as nccl-tests counts
  std::string algorithm;    // "RING"; empty: NCCL names none (point to point, or it was never reached)
  std::string protocol;     // "LL128"
  std::optional<std::uint32_t> channels;
  std::optional<double> estimate_us;  // NCCL's own model: no congestion, no overlap
  std::string kernel;
  std::uint32_t grid = 0;   // blocks
  std::uint32_t block = 0;  // threads
  double enqueue_ms = 0;    // on this machine, with phantom GPUs: not the job's
  bool reached = false;     // enqueued without an error
};

struct DryRunMemory {
  std::uint32_t rank = 0;
  std::uint64_t after_init = 0;  // bytes of device memory that NCCL allocated
  std::uint64_t peak = 0;
  std::uint64_t host = 0;  // bytes of pinned host memory
};

struct DryRun {
  std::string label;     // "A", "B", or a variant: "NCCL_ALGO=Ring"
  std::string nccl;      // "2.28.9+cuda13.0"
  std::string library;   // path
  std::string way;       // "runtime linked dynamically", "entries redirected"
  std::string topology;  // what the user named
  std::uint32_t nodes = 1;
  std::vector<std::uint32_t> ranks_per_node;
  std::string net;  // "phantom", "ib", "socket"
  std::vector<std::pair<std::string, std::string>> settings;
  DryRunEnd end = DryRunEnd::kComplete;
  std::string problem;        // one sentence unless complete
  std::optional<int> result;  // ncclResult_t of the call that failed
  std::string failed_call;
  std::uint32_t culprit = 0;  // node
  std::string last_lines;     // of the culprit's log unless complete
  double init_seconds = 0;    // slowest node, here
  double seconds = 0;
  std::uint64_t peak_memory = 0;  // bytes, resident, of all processes here
  double redirect_ms = 0;
  std::vector<DryRunOperation> operations;
  std::vector<DryRunMemory> memory;  // by rank
  std::vector<std::string> notes;    // what was assumed, left out or refused
  NcclEvidence evidence;             // the log, as `angio log` reads it
};

}  // namespace angio::model
