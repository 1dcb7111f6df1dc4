// What the process of one node is to do, and what it says on the way: the two ends of the pipes between
// `angio dryrun` and its node processes. Values and their JSON lines; no process here (node.hpp,
// cluster.hpp).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"

namespace angio::nccl_run {

enum class Collective : std::uint8_t {
  kAllReduce,
  kAllGather,
  kReduceScatter,
  kBroadcast,
  kReduce,
  kAllToAll,
  kSendRecv
};
std::string_view label(Collective collective);               // "AllReduce", "SendRecv" (a ring of neighbours)
Result<Collective> parse_collective(std::string_view word);  // any case, "all_reduce" and "allreduce" too

struct Operation {
  Collective collective = Collective::kAllReduce;
  std::uint64_t bytes =
      0;  // as nccl-tests counts size: the larger of the send and the receive buffer of a rank
};

struct NodeScript {
  std::string library;    // path of libnccl
  bool redirect = false;  // its runtime is inside: the preloaded stand-in takes its public entries over
  std::uint32_t node = 0;
  std::uint32_t nodes = 1;
  std::uint32_t first_rank = 0;  // of this node
  std::uint32_t ranks = 1;       // of this node; rank first_rank + i drives CUDA device devices[i]
  std::uint32_t world = 1;
  std::vector<std::uint32_t> devices;
  std::vector<Operation> operations;
  bool estimates = true;  // ask ncclGroupSimulateEnd where this NCCL has it
  bool progress = false;  // play the GPU side of network connections, so that proxies finish and the
                          // communicators can be destroyed (only where the layouts of this NCCL are known)
};

// Reports, one JSON object a line, in this order: loaded; id (node 0 only); init; operation…; memory; done.
// failed may come at any place and is the last but for done.
struct LoadedReport {
  int version = 0;  // ncclGetVersion: 22809
  double redirect_ms = 0;
  std::uint32_t provided = 0;  // redirected entries
  std::uint32_t refused = 0;   // entries that go to the refuser
  bool progress = false;       // asked for and this NCCL's layouts are known
};
struct InitReport {
  double seconds = 0;  // ncclCommInitRank of all ranks of the node
};
struct OperationReport {
  std::uint32_t index = 0;  // of NodeScript::operations
  std::optional<double> estimate_us;
  double enqueue_ms = 0;
  std::string kernel;  // demangled name without arguments; of the node's first rank
  std::uint32_t grid = 0;
  std::uint32_t block = 0;
};
struct MemoryReport {
  std::uint32_t device = 0;
  std::uint64_t after_init =
      0;  // bytes of device memory, NCCL's own: buffers of the collectives are not counted
  std::uint64_t peak = 0;
  std::uint64_t host = 0;  // pinned host memory
};
struct FailedReport {
  std::string call;           // "ncclCommInitRank"
  std::optional<int> result;  // ncclResult_t; none: what failed is no call of NCCL
  std::string text;           // ncclGetErrorString and ncclGetLastError, or words of our own
};
struct DoneReport {
  std::uint64_t rss = 0;  // bytes, peak of the process
};
struct NodeReports {
  std::optional<LoadedReport> loaded;
  std::string id;  // hexadecimal, node 0
  std::optional<InitReport> init;
  std::vector<OperationReport> operations;
  std::vector<MemoryReport> memory;
  std::optional<FailedReport> failed;
  std::optional<DoneReport> done;
  std::vector<std::string> refused_calls;  // CUDA calls that NCCL made and the stand-in does not have
};

std::string write_script(const NodeScript& script);
Result<NodeScript> parse_script(std::string_view text);
// One report line, without its line feed, added to what is known of the node.
Result<void> add_report(std::string_view line, NodeReports& reports);
std::string write_loaded(const LoadedReport& report);
std::string write_id(std::string_view hexadecimal);
std::string write_init(const InitReport& report);
std::string write_operation(const OperationReport& report);
std::string write_memory(const MemoryReport& report);
std::string write_failed(const FailedReport& report);
std::string write_refused(std::string_view call);
std::string write_done(const DoneReport& report);

// The line that a node prints into NCCL's log before an operation: NCCL up to 2.21 does not say which
// collective a choice is for. "angio dryrun: operation 3 AllReduce 1048576 bytes".
std::string operation_mark(std::uint32_t index, const Operation& operation);
std::optional<std::uint32_t> parse_operation_mark(std::string_view line);

}  // namespace angio::nccl_run
