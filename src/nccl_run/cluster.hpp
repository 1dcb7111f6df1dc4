// Runs a real libnccl on phantom nodes: one process per node, each this program started anew as
// `angio dryrun-node`, with the stand-ins preloaded; feeds them their scripts, hands NCCL's log on, and
// guards time and memory. A crash, a hang or an error of NCCL is a result. Whatever happens, nothing is left:
// no process, no shared memory, no descriptor, no file.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "model/dryrun_end.hpp"
#include "nccl_run/find_nccl.hpp"
#include "nccl_run/script.hpp"
#include "phantom/hardware.hpp"

namespace angio::nccl_run {

struct NodeRequest {
  phantom::Hardware hardware;
  std::string topology;                                          // text for NCCL_TOPO_FILE
  std::vector<std::uint32_t> devices;                            // CUDA devices of its ranks
  std::vector<std::pair<std::string, std::string>> environment;  // of this node alone, after that of all
};

// The stand-ins of phantom/ as they are inside the binary: whole shared libraries. The caller has them, so
// that nothing here depends on them.
struct StandIns {
  std::span<const unsigned char> cudart12;
  std::span<const unsigned char> cudart13;
  std::span<const unsigned char> nvml;
  std::span<const unsigned char> net;
};

enum class NetKind : std::uint8_t { kPhantom, kIb, kSocket };

struct ClusterRequest {
  StandIns stand_ins;
  NcclLibrary library;
  std::vector<NodeRequest> nodes;
  std::vector<std::pair<std::string, std::string>>
      environment;  // the job's settings; nothing else is handed on
  std::vector<Operation> operations;
  NetKind net = NetKind::kPhantom;
  bool estimates = true;
  bool progress = false;
  std::chrono::milliseconds timeout{120000};
  std::uint64_t memory_limit = 0;  // bytes, resident, all nodes together; 0: half of what is available
  std::string program;             // of a node; empty: this program itself
};

using ClusterEnd = model::DryRunEnd;

struct NodeOutcome {
  NodeReports reports;
  int exit_code = 0;       // when it exited
  int signal = 0;          // when a signal ended it; ours after a timeout too
  std::string last_lines;  // of its log, printable
};

struct ClusterOutcome {
  ClusterEnd end = ClusterEnd::kComplete;
  std::string problem;        // one sentence unless complete
  std::uint32_t culprit = 0;  // node to which it happened first
  std::vector<NodeOutcome> nodes;
  double seconds = 0;  // wall
  // Bytes, resident, all nodes together, as sampled: pages that several processes or mappings share are
  // counted once (PSS; the kernel's smaps_rollup).
  std::uint64_t peak_memory = 0;
  std::uint64_t memory_limit = 0;  // bytes, the one that held
  std::vector<std::string> notes;  // settings that were not handed on, files of this machine that NCCL reads
};

// log: gets NCCL's output, whole lines of one node at a time. stop: asked a few times a second.
Result<ClusterOutcome> run_cluster(const ClusterRequest& request,
                                   const std::function<void(std::uint32_t node, std::string_view lines)>& log,
                                   const std::function<bool()>& stop);

}  // namespace angio::nccl_run
