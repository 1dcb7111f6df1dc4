// What NCCL makes of a topology file: nodes (GPU, PCI, NVS, CPU, NIC, NET), links with NCCL's own bandwidths,
// and the path between every two of them with NCCL's path types. Follows src/graph/{topo,paths}.cc of the
// release asked for; bandwidths are GB/s, decimal, and single precision as in NCCL. graph_search.hpp looks
// for rings and trees on it. Not about real hardware: about NCCL's picture of it.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "nccl/topology_xml.hpp"

namespace angio::nccl {

// In NCCL's order, which is the order of its printed lists.
enum class NodeKind : std::uint8_t { kGpu, kPci, kSwitch, kCpu, kNic, kNet, kDevice };
inline constexpr std::size_t kNodeKinds = 7;
enum class LinkKind : std::uint8_t { kLocal, kNvlink, kC2c, kPci, kSys, kNet };
// Nearer is smaller (NCCL 2.27 and later; earlier ones lack P2C, and C2C before 2.26).
enum class PathType : std::uint8_t { kLoc, kNvl, kNvb, kC2c, kPix, kPxb, kP2c, kPxn, kPhb, kSys, kNet, kDis };

std::string_view label(NodeKind kind);  // "GPU", "NVS", "DEV" …
std::string_view label(LinkKind kind);  // "NVL", "PCI" …
std::string_view label(PathType type);  // "PIX", "PHB" …
// "NVL" and so on; false when it is none of the words.
bool parse_path_type(std::string_view word, PathType& type);

inline constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();

struct SystemLink {
  LinkKind kind = LinkKind::kLocal;
  float bandwidth = 0;
  std::uint32_t from = 0;
  std::uint32_t to = 0;
};

struct SystemNode {
  NodeKind kind = NodeKind::kPci;
  std::uint32_t index = 0;           // within its kind
  std::uint32_t host = 0;            // NCCL's system id
  std::uint64_t id = 0;              // within the host: bus id, NUMA number, device number
  std::vector<std::uint32_t> links;  // in System::links, NCCL's order
  // GPU and DEV
  int rank = -1;
  int device = -1;  // NVML number; of a NET: the plugin's number
  int sm = 0;       // compute capability times ten
  bool gdr = false;
  std::uint32_t parent = kNone;          // the DEV of a GPU, from 2.30 on
  std::vector<std::uint32_t> near_nets;  // of a GPU: its NICs for channels 0, 1, …, indices among the NETs
  // PCI
  std::uint64_t pci_device = 0;
  // CPU, in NCCL's numbers (-1: unknown)
  int arch = -1;
  int vendor = -1;
  int model = -1;
  // NET
  std::string name;
  std::uint64_t asic = 0;
  int port = 0;
  float bandwidth = 0;
  float latency = 0;
  int collective = 0;
  int rail = -1;
  int plane = -1;
  std::uint32_t local_gpu = kNone;  // index among the GPUs; filled with the paths
};

struct Path {
  PathType type = PathType::kDis;
  float bandwidth = 0;
  std::uint32_t via = kNone;        // PXN: the GPU (node) that relays
  std::vector<std::uint32_t> hops;  // in System::links
};

struct SystemOptions {
  std::string version;         // of NCCL: "2.28.9"
  bool between_nodes = false;  // the communicator spans several nodes
};

struct System {
  SystemOptions options;
  std::vector<SystemNode> nodes;
  std::vector<SystemLink> links;
  std::array<std::vector<std::uint32_t>, kNodeKinds> of_kind;  // nodes in NCCL's order
  std::vector<Path> paths;                                     // from × nodes.size() + to
  std::vector<std::string> assumptions;  // what the file does not say and was taken for granted
  // Of each GPU: the first that it is joined to without the network. NCCL prefers NICs behind the same PCI
  // switch to a slower way between CPUs, and then takes the parts for nodes of their own; make_system keeps
  // all together.
  std::vector<std::uint32_t> domains;
  float max_bandwidth = 0;  // NCCL's maxBw and totalBw
  float total_bandwidth = 0;

  [[nodiscard]] const std::vector<std::uint32_t>& all(NodeKind kind) const {
    return of_kind[static_cast<std::size_t>(kind)];
  }
  [[nodiscard]] const SystemNode& node(NodeKind kind, std::size_t index) const {
    return nodes[all(kind)[index]];
  }
  [[nodiscard]] const Path& path(std::uint32_t from, std::uint32_t to) const {
    return paths[from * nodes.size() + to];
  }
  [[nodiscard]] Path& path(std::uint32_t from, std::uint32_t to) { return paths[from * nodes.size() + to]; }
};

// Builds the graph of a <system> element and computes the paths. Errors: no GPU, no CPU, or far more than
// NCCL could hold. GPUs without a rank get one in the order of their numbers.
Result<System> make_system(const Element& root, const SystemOptions& options);

// The lines NCCL itself prints for it with NCCL_DEBUG_SUBSYS=GRAPH, without the prefix.
std::vector<std::string> nccl_lines(const System& system);

// "GPU/0-1b000", "NET/0-3".
std::string nccl_name(const SystemNode& node);

// 0000:1b:00.0 as NCCL numbers it: the hexadecimal digits in a row. Anything else in the text is skipped.
std::uint64_t bus_number(std::string_view text);
// strtol(text, nullptr, 0) as NCCL reads numbers: leading digits, 0x for hexadecimal, 0 for octal; else 0.
std::int64_t read_number(std::string_view text);

// 100 Mb/s of one lane for a spelling of link_speed: NCCL looks whether the text begins with one it knows.
// NaN for any other, which NCCL takes for Gen3.
double lane_value(std::string_view link_speed, std::string_view version);

}  // namespace angio::nccl
