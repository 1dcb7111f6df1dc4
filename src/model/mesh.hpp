// What a mesh test measured between hosts: who took part, each direction of each pair with what the tools
// said, and what hardware should give. Values only: src/mesh fills and judges them, views show them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.hpp"
#include "model/finding.hpp"
#include "model/metric.hpp"

namespace angio::model {

enum class MeshTransport : std::uint8_t { kTcp, kRdma };
std::string_view name_of(MeshTransport transport);  // "TCP", "RDMA"

// One adapter of a host as a rail of the mesh: rail k is the k-th of each host.
struct MeshNic {
  std::string name{};     // "mlx5_0", "eth0"
  std::string address{};  // of the interface, for TCP; empty for RDMA
  std::uint32_t port = 1;
  std::string link_layer{};             // "InfiniBand", "Ethernet"; empty: unknown
  std::optional<BitsPerSecond> rate{};  // what the port announces
  std::string rate_name{};              // "4x NDR"
  std::optional<BytesPerSecond> pcie{};
  std::string pcie_words{};            // "16 GT/s x16"
  std::optional<Bytes> path_mtu{};     // RDMA
  std::optional<Bytes> netdev_mtu{};   // TCP
  std::optional<std::int32_t> numa{};  // node
};

struct MeshHost {
  std::string name;
  std::string host_name;  // as it calls itself; empty: it never answered
  std::string facts;      // where the NICs' facts are from: "its own probe", "snapshot gpu-a.snap"
  std::vector<MeshNic> tcp;
  std::vector<MeshNic> rdma;
  bool tested = false;  // answered when the test began
  std::string trouble;  // why it did not, or stopped: "ended by signal", "did not answer for 30 s"
};

enum class MeshState : std::uint8_t { kMissing, kDone, kFailed };
std::string_view name_of(MeshState state);  // "done"

enum class MeshVerdict : std::uint8_t { kUnknown, kNormal, kLow, kImpossible };
std::string_view name_of(MeshVerdict verdict);  // "normal"

// One direction between two NICs.
struct MeshMeasure {
  MeshTransport transport = MeshTransport::kTcp;
  std::uint32_t from = 0, from_nic = 0;  // hosts of the result, their NICs
  std::uint32_t to = 0, to_nic = 0;
  MeshState state = MeshState::kMissing;
  std::string trouble;  // kFailed: what the tool said
  std::uint32_t round = 0;
  std::optional<BitsPerSecond> bandwidth;  // of payload
  std::optional<Bytes> message;            // size of one message
  std::optional<double> messages_per_second;
  std::optional<double> latency_us;     // half of a round trip, median
  std::optional<double> latency_99_us;  // 99th percentile
  std::optional<double> from_cpu;       // CPU seconds a second that the sending process took
  std::optional<double> to_cpu;
  // The judge's.
  std::optional<BitsPerSecond> expected;  // what the hardware allows
  std::string limit;                      // which part limits: "port of n1 mlx5_0, 200 Gb/s"
  MeshVerdict verdict = MeshVerdict::kUnknown;
  std::optional<double> share;  // of what the other pairs reach, once hosts and rails are seen; 1 is usual
};

enum class MeshLevel : std::uint8_t { kBoth, kBandwidth, kLatency };

struct MeshPlan {
  bool tcp = true;
  bool rdma = false;
  MeshLevel level = MeshLevel::kBoth;
  std::uint32_t seconds = 2;                 // of one bandwidth figure
  std::uint32_t streams = 4;                 // TCP
  Bytes tcp_size{std::uint64_t{1} << 20U};   // of a write
  Bytes rdma_size{std::uint64_t{1} << 20U};  // of a message
  Bytes latency_size{8};
  std::uint32_t rounds = 0;    // 0: all
  std::uint32_t partners = 0;  // 0: every host with every other
  bool all_nics = false;       // NIC k also with NIC l
  std::uint32_t queue_pairs = 1;
  std::optional<std::uint32_t> gid_index;
  std::optional<std::uint32_t> cuda;  // GPU whose memory perftest uses
};

struct MeshResult {
  std::string name;      // "n[0-7]": of the hosts
  std::string tool;      // "angio 0.5.0"
  std::string captured;  // RFC 3339 UTC
  std::string launcher;  // "srun", "perftest texts"
  MeshPlan plan;
  std::vector<MeshHost> hosts;
  std::uint32_t rounds_planned = 0;
  std::uint32_t rounds_done = 0;
  double seconds = 0;  // of testing, resumed runs added up
  std::vector<MeshMeasure> measures;
  std::vector<std::string> notes;
};

// The usual speed of a transport over one rail, or between all NICs.
struct MeshUsual {
  MeshTransport transport = MeshTransport::kTcp;
  std::optional<std::uint32_t> rail;  // none: over all of them
  std::uint32_t measured = 0;
  BitsPerSecond median, lowest, highest;
  std::optional<double> latency_us;
  std::optional<double> from_cpu, to_cpu;  // CPU seconds for 1 GB, medians
};

struct MeshReport {
  std::vector<MeshUsual> usual;
  std::vector<Finding> findings;  // ranked
  std::vector<Undecided> undecided;
  std::vector<std::string> held;
};

}  // namespace angio::model
