// What NCCL's own tuner believes: the table of latencies and bandwidths that it prints when a communicator is
// made, the time that follows of it for a size, and what it therefore chooses. As ncclTopoTuneModel and what
// is around it compute (src/graph/tuning.cc, src/enqueue.cc; from 2.31 on src/tuning), release by release
// with the figures of data/nccl_tuning.toml. Compared with the tables that NCCL printed
// (nccl_model_shared_test.cpp, tests/dryrun/tuning_test.py). Not what hardware reaches: that is hardware.hpp.
// Left out: CollNet (SHARP), symmetric kernels, tuner plugins, nodes that are unlike. Pure.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/units.hpp"
#include "model/nccl_log.hpp"
#include "nccl/graph_dump.hpp"
#include "nccl/graph_search.hpp"
#include "tuner/table.hpp"

namespace angio::cost {

inline constexpr std::size_t kNcclAlgorithms = 7;  // of tuner::Algorithm
inline constexpr std::size_t kNcclProtocols = 3;   // of tuner::Protocol

// What the tuner takes of a graph. Without channels the graph is not there.
struct NcclGraph {
  int channels = 0;
  float intra = 0;    // GB/s of one channel
  float inter = 0;    // GB/s of one channel
  float latency = 0;  // us, of the NIC
  nccl::PathType type_intra = nccl::PathType::kLoc;
  nccl::PathType type_inter = nccl::PathType::kLoc;
  bool same_channels = false;
  bool chain = false;  // a tree whose NIC traffic is all on one GPU (pattern 3)
};

// Of NCCL's environment. Names that have no part in the table are passed over.
using NcclSettings = std::vector<std::pair<std::string, std::string>>;

enum class NcclCpu : std::uint8_t { kOther, kIntel, kAmd, kPower, kArm };

// A communicator over equal nodes.
struct NcclJob {
  std::string version;  // "2.28.9"
  int nodes = 1;
  int ranks = 1;             // of all nodes
  int capability_least = 0;  // 90: compute capability 9.0
  int capability_most = 0;
  NcclCpu cpu = NcclCpu::kOther;
  NcclGraph ring;
  NcclGraph tree;
  NcclGraph nvls;
  int channels = 0;       // of the communicator: "N coll channels"
  int nvls_channels = 0;  // "N nvls channels"
  NcclSettings settings;
  std::vector<std::string> assumptions;  // whole sentences
};

// Of our own search. ranks_of_node 0: all GPUs. Errors: more ranks than GPUs, no NIC between nodes.
Result<NcclJob> nccl_job(const nccl::System& system, const nccl::SearchResult& found, int nodes,
                         NcclSettings settings);

// Of a dump (NCCL_GRAPH_DUMP_FILE): the graphs alone are filled; what the dump has not stays as it is.
void take_graphs(const std::vector<nccl::DumpedGraph>& graphs, NcclJob& job);
// Of the lines of a log (NCCL_DEBUG_SUBSYS=GRAPH): graphs, channels, nodes and ranks. A log does not tell the
// NIC's latency.
void take_log(const model::NcclCommunicator& logged, NcclJob& job);

struct NcclCell {
  float latency_us = 0;
  float bandwidth = 0;   // GB/s of the algorithm; 0: not possible
  bool enabled = false;  // from 2.31 on a cell may have a bandwidth and not be allowed
};
using NcclCells = std::array<std::array<NcclCell, kNcclProtocols>, kNcclAlgorithms>;

// What is kept of the tables by release that times and choices need.
struct NcclTimes {
  std::array<std::array<float, 24>, kNcclProtocols>
      tree{};                  // of a tree's bandwidth, by power of two from 64 bytes
  std::size_t tree_sizes = 0;  // that count for Tree
  bool tree_for_nvlstree = false;
  float plateau = 1;                  // of a ring's latency for Simple, AllReduce between nodes
  int plateau_within = 0;             // the same on one node: 1 as it is, 2 less for few steps and much data
  bool allgather_nvls = true;         // AllGather may choose NVLS
  int least_threads = 0;              // of a block
  int tree_threads = 0;               // of Tree and PAT; 0: as of any other
  std::uint64_t channel_traffic = 0;  // bytes that a channel moves at least
};

struct NcclTable {
  NcclJob job;
  std::array<NcclCells, tuner::kCollectives> cells{};
  std::array<std::array<int, kNcclProtocols>, kNcclAlgorithms> threads{};     // most of a block
  std::array<std::array<int, kNcclProtocols>, kNcclAlgorithms> thresholds{};  // bytes of a thread
  NcclTimes times;
  int algorithms = 0;              // that the release has
  std::vector<std::string> notes;  // whole sentences: what is assumed, and what a setting did

  [[nodiscard]] const NcclCell& at(tuner::Collective collective, tuner::Algorithm algorithm,
                                   tuner::Protocol protocol) const {
    return cells[static_cast<std::size_t>(collective)][static_cast<std::size_t>(algorithm)]
                [static_cast<std::size_t>(protocol)];
  }
};

// Errors: a release that is too old or no release, no rank, a setting that NCCL refuses to start with.
Result<NcclTable> nccl_table(const NcclJob& job);

// The table as a log holds it, in NCCL's order.
std::vector<model::NcclTuningCell> nccl_cells(const NcclTable& table);
// NCCL's own lines, without the prefix.
std::vector<std::string> nccl_lines(const NcclTable& table);

// "AllReduce", "CollNetDirect", "LL128" as NCCL prints them.
std::string_view nccl_name(tuner::Collective collective);
std::string_view nccl_name(tuner::Algorithm algorithm);
std::string_view nccl_name(tuner::Protocol protocol);

// What NCCL believes a call takes (us); none: it cannot be done so. bytes as nccl-tests counts.
std::optional<float> nccl_time(const NcclTable& table, tuner::Collective collective,
                               tuner::Algorithm algorithm, tuner::Protocol protocol, Bytes bytes);

struct NcclPick {
  tuner::Algorithm algorithm = tuner::Algorithm::kRing;
  tuner::Protocol protocol = tuner::Protocol::kSimple;
  int channels = 0;  // at most: one kernel may take fewer
  int threads = 0;   // of a block
  float time_us = 0;
  bool operator==(const NcclPick&) const = default;
};
// None: NCCL fails the call, "No algorithm/protocol available".
std::optional<NcclPick> nccl_pick(const NcclTable& table, tuner::Collective collective, Bytes bytes);

// Where algorithm or protocol change, from least to most.
struct NcclSpan {
  Bytes first;
  Bytes last;
  NcclPick pick;  // of the last size
};
std::vector<NcclSpan> nccl_spans(const NcclTable& table, tuner::Collective collective, Bytes least,
                                 Bytes most);

// Bus bandwidth in GB/s of so much time, as nccl-tests computes it.
double nccl_bus(tuner::Collective collective, int ranks, Bytes bytes, double time_us);

}  // namespace angio::cost
