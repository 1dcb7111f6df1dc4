// A fabric as one scan or one tool's text saw it: adapters, switches, their ports, the cables between them
// and the counters of each port. InfiniBand or Ethernet (LLDP), never mixed in one value. Values only:
// probe/umad and import/fabric make them, src/fabric judges them, views show them. Compact: 16,000 ports must
// be cheap.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.hpp"
#include "base/units.hpp"
#include "model/machine.hpp"

namespace angio::model {

enum class FabricKind : std::uint8_t { kInfiniBand, kEthernet };
// kSubnet: addresses that reach each other; which switches are between is not known.
enum class FabricNodeKind : std::uint8_t { kUnknown, kAdapter, kSwitch, kRouter, kSubnet };

// 64 bits as the device says; Ethernet: the chassis' MAC address in the low 48.
using NodeGuid = Id<struct NodeGuidTag, std::uint64_t>;

// "0x0002c9030011aabb", the form of infiniband-diags.
std::string to_string(NodeGuid guid);

// Signalling of one lane. The rate is data (knowledge, [[lane]]): ask for it by the name.
enum class LaneSpeedName : std::uint8_t { kUnknown, kSdr, kDdr, kQdr, kFdr10, kFdr, kEdr, kHdr, kNdr, kXdr };
std::string_view name_of(LaneSpeedName speed);  // "HDR"; "" for unknown
LaneSpeedName find_lane_speed(std::string_view name);

// InfiniBand Architecture Specification, PortInfo:PortState and PortPhysicalState.
enum class PortState : std::uint8_t { kUnknown, kDown, kInit, kArmed, kActive };
enum class PortPhysicalState : std::uint8_t {
  kUnknown,
  kSleep,
  kPolling,
  kDisabled,
  kTraining,
  kLinkUp,
  kErrorRecovery,
  kPhyTest
};
std::string_view name_of(PortState state);          // "Active"
std::string_view name_of(PortPhysicalState state);  // "LinkUp"

// Counters of one port, by the names of infiniband-diags. Data counters are in bytes here (the wire counts
// 4-byte words).
enum class FabricCounter : std::uint8_t {
  kSymbolErrors,
  kLinkErrorRecoveries,
  kLinkDowned,
  kReceiveErrors,
  kReceiveRemotePhysicalErrors,
  kReceiveSwitchRelayErrors,
  kTransmitDiscards,
  kTransmitConstraintErrors,
  kReceiveConstraintErrors,
  kLocalLinkIntegrityErrors,
  kExcessiveBufferOverruns,
  kVl15Dropped,
  kTransmitWait,  // ticks in which data waited for credits
  kTransmitBytes,
  kReceiveBytes,
  kTransmitPackets,
  kReceivePackets,
};
inline constexpr std::size_t kFabricCounters = 17;
std::string_view name_of(FabricCounter counter);  // "SymbolErrorCounter", as perfquery prints it
std::optional<FabricCounter> find_fabric_counter(
    std::string_view name);  // either spelling: PortXmitWait, XmtWait

class CounterSet {
 public:
  [[nodiscard]] std::optional<std::uint64_t> get(FabricCounter counter) const {
    const auto at = static_cast<std::size_t>(counter);
    return ((known_ >> at) & 1U) != 0 ? std::optional(values_.at(at)) : std::nullopt;
  }
  // stuck: the counter is at the top of its width and counts no further (IBA counters do not wrap).
  void set(FabricCounter counter, std::uint64_t value, bool stuck = false) {
    const auto at = static_cast<std::size_t>(counter);
    values_.at(at) = value;
    known_ |= 1U << at;
    stuck_ = stuck ? stuck_ | (1U << at) : stuck_ & ~(1U << at);
  }
  [[nodiscard]] bool is_stuck(FabricCounter counter) const {
    return ((stuck_ >> static_cast<std::size_t>(counter)) & 1U) != 0;
  }
  [[nodiscard]] bool empty() const { return known_ == 0; }

 private:
  std::array<std::uint64_t, kFabricCounters> values_{};
  std::uint32_t known_ = 0;
  std::uint32_t stuck_ = 0;
};

struct PortRef {
  std::uint32_t node = 0;  // index in Fabric::nodes
  std::uint32_t port = 0;  // index in FabricNode::ports
  auto operator<=>(const PortRef&) const = default;
};

struct FabricPort {
  std::uint32_t number = 0;  // as the device counts; 0: a switch's own management port
  std::string name;          // Ethernet: "Ethernet12"; InfiniBand: empty
  PortState state = PortState::kUnknown;
  PortPhysicalState physical_state = PortPhysicalState::kUnknown;
  std::uint8_t lanes = 0;  // of the link as it runs; 0: unknown
  LaneSpeedName speed = LaneSpeedName::kUnknown;
  std::uint8_t most_lanes = 0;  // that the port supports; 0: unknown
  LaneSpeedName most_speed = LaneSpeedName::kUnknown;
  std::uint8_t enabled_lanes = 0;  // the most that is allowed; below most_lanes somebody restricted it
  LaneSpeedName enabled_speed = LaneSpeedName::kUnknown;
  std::optional<BitsPerSecond> stated_rate;  // where a source gives a rate and no lanes (Ethernet)
  std::uint64_t guid = 0;                    // of the port; 0: unknown
  std::optional<Lid> lid;
  std::optional<Lid> sm_lid;
  std::optional<std::uint32_t> mtu;  // active path MTU in bytes
  std::optional<PortRef> peer;
  CounterSet counters;
  std::string trouble;  // what could not be asked, in words: "no answer to PortInfo in 3 tries"
};

struct FabricNode {
  FabricNodeKind kind = FabricNodeKind::kUnknown;
  NodeGuid guid;
  std::uint64_t system_guid = 0;  // the same on every chip and port of one box or card; 0: unknown
  std::string description;        // NodeDescription: "gpu-a mlx5_0", "leaf-3"; foreign text
  std::uint32_t vendor = 0;
  std::uint32_t device = 0;
  std::uint32_t revision = 0;
  std::uint32_t stated_ports = 0;  // how many the node says it has; those without a link may be left out
  bool enhanced_port0 = false;     // a switch's port 0 that can be an endpoint and has counters
  std::vector<FabricPort> ports;   // by number
  std::string trouble;
};

struct Fabric {
  std::string name;    // of the file, or "mlx5_0 port 1"
  std::string origin;  // "scan from mlx5_0 port 1", "ibnetdiscover fabric.txt"
  FabricKind kind = FabricKind::kInfiniBand;
  std::optional<std::string> captured;  // RFC 3339 UTC
  std::vector<FabricNode> nodes;
  std::vector<std::string> seen_from;  // "gpu-a mlx5_0 port 1": where the scan stood
  std::vector<Note> notes;             // what could not be read, what was repaired
};

// Null when it is not there.
const FabricPort* find_port(const FabricNode& node, std::uint32_t number);
inline const FabricPort& port_at(const Fabric& fabric, PortRef ref) {
  return fabric.nodes.at(ref.node).ports.at(ref.port);
}

// Joins a to b in both directions. A port that already has another peer keeps it: false, and the caller says
// so in a note.
bool connect(Fabric& fabric, PortRef a, PortRef b);

// "leaf-3 port 12", "gpu-a mlx5_0 port 1"; the GUID where there is no description. Not yet printable().
std::string describe(const Fabric& fabric, PortRef ref);

}  // namespace angio::model
