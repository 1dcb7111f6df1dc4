#include "model/fabric.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text.hpp"
#include "model/fabric_report.hpp"

namespace angio::model {
namespace {

constexpr std::array<std::string_view, 10> kLaneSpeeds = {"",    "SDR", "DDR", "QDR", "FDR10",
                                                          "FDR", "EDR", "HDR", "NDR", "XDR"};
// The words of libibmad (mad_dump_portstate, mad_dump_physportstate), so that both can be compared.
constexpr std::array<std::string_view, 5> kPortStates = {"unknown", "Down", "Initialize", "Armed", "Active"};
constexpr std::array<std::string_view, 8> kPhysicalStates = {
    "unknown",           "Sleep",  "Polling", "Disabled", "PortConfigurationTraining", "LinkUp",
    "LinkErrorRecovery", "PhyTest"};
// As perfquery prints them (libibmad, fields.c), in the order of FabricCounter.
constexpr std::array<std::string_view, kFabricCounters> kCounters = {"SymbolErrorCounter",
                                                                     "LinkErrorRecoveryCounter",
                                                                     "LinkDownedCounter",
                                                                     "PortRcvErrors",
                                                                     "PortRcvRemotePhysicalErrors",
                                                                     "PortRcvSwitchRelayErrors",
                                                                     "PortXmitDiscards",
                                                                     "PortXmitConstraintErrors",
                                                                     "PortRcvConstraintErrors",
                                                                     "LocalLinkIntegrityErrors",
                                                                     "ExcessiveBufferOverrunErrors",
                                                                     "VL15Dropped",
                                                                     "PortXmitWait",
                                                                     "PortXmitData",
                                                                     "PortRcvData",
                                                                     "PortXmitPkts",
                                                                     "PortRcvPkts"};

struct Spelling {
  std::string_view plain;  // lower case, without underscores and without "Ext" or "Extended" at the end
  FabricCounter counter;
};

// Beside the names above: infiniband-diags before 1.6, the kernel's sysfs and ibdiagnet.
constexpr std::array kSpellings = {
    Spelling{"symbolerrors", FabricCounter::kSymbolErrors},
    Spelling{"symbolerror", FabricCounter::kSymbolErrors},
    Spelling{"linkrecovers", FabricCounter::kLinkErrorRecoveries},
    Spelling{"linkerrorrecovery", FabricCounter::kLinkErrorRecoveries},
    Spelling{"linkdowned", FabricCounter::kLinkDowned},
    Spelling{"linkdowncounter", FabricCounter::kLinkDowned},
    Spelling{"rcverrors", FabricCounter::kReceiveErrors},
    Spelling{"rcvremotephyserrors", FabricCounter::kReceiveRemotePhysicalErrors},
    Spelling{"rcvswrelayerrors", FabricCounter::kReceiveSwitchRelayErrors},
    Spelling{"xmtdiscards", FabricCounter::kTransmitDiscards},
    Spelling{"portxmitdiscard", FabricCounter::kTransmitDiscards},
    Spelling{"xmtconstrainterrors", FabricCounter::kTransmitConstraintErrors},
    Spelling{"xmitconstrainterrors", FabricCounter::kTransmitConstraintErrors},
    Spelling{"rcvconstrainterrors", FabricCounter::kReceiveConstraintErrors},
    Spelling{"linkintegrityerrors", FabricCounter::kLocalLinkIntegrityErrors},
    Spelling{"excbufoverrunerrors", FabricCounter::kExcessiveBufferOverruns},
    Spelling{"excessivebuffererrors", FabricCounter::kExcessiveBufferOverruns},
    Spelling{"xmtwait", FabricCounter::kTransmitWait},
    Spelling{"xmtdata", FabricCounter::kTransmitBytes},
    Spelling{"rcvdata", FabricCounter::kReceiveBytes},
    Spelling{"xmtpkts", FabricCounter::kTransmitPackets},
    Spelling{"portxmitpackets", FabricCounter::kTransmitPackets},
    Spelling{"rcvpkts", FabricCounter::kReceivePackets},
    Spelling{"portrcvpackets", FabricCounter::kReceivePackets},
};

std::string plain(std::string_view name) {
  std::string lower = to_lower(trim(name));
  std::erase(lower, '_');
  for (const std::string_view wide : {"extended", "ext"}) {
    if (lower.ends_with(wide)) lower.resize(lower.size() - wide.size());
  }
  return lower;
}

template <typename Enum, std::size_t kSize>
std::string_view word(const std::array<std::string_view, kSize>& words, Enum value) {
  const auto at = static_cast<std::size_t>(value);
  return at < kSize ? words.at(at) : std::string_view{};
}

bool is_there(const Fabric& fabric, PortRef ref) {
  return ref.node < fabric.nodes.size() && ref.port < fabric.nodes[ref.node].ports.size();
}

}  // namespace

std::string to_string(NodeGuid guid) {
  return fmt::format("0x{:016x}", guid.value);
}

std::string_view name_of(LaneSpeedName speed) {
  return word(kLaneSpeeds, speed);
}

LaneSpeedName find_lane_speed(std::string_view name) {
  const std::string lower = to_lower(trim(name));
  if (lower.empty()) return LaneSpeedName::kUnknown;
  for (std::size_t i = 1; i < kLaneSpeeds.size(); ++i) {
    if (lower == to_lower(kLaneSpeeds.at(i))) return static_cast<LaneSpeedName>(i);
  }
  return LaneSpeedName::kUnknown;
}

std::string_view name_of(PortState state) {
  return word(kPortStates, state);
}

std::string_view name_of(PortPhysicalState state) {
  return word(kPhysicalStates, state);
}

std::string_view name_of(FabricCounter counter) {
  return word(kCounters, counter);
}

std::optional<FabricCounter> find_fabric_counter(std::string_view name) {
  for (std::size_t i = 0; i < kCounters.size(); ++i) {
    if (name == kCounters.at(i)) return static_cast<FabricCounter>(i);
  }
  const std::string wanted = plain(name);
  for (std::size_t i = 0; i < kCounters.size(); ++i) {
    if (wanted == to_lower(kCounters.at(i))) return static_cast<FabricCounter>(i);
  }
  const auto* const found = std::ranges::find(kSpellings, wanted, &Spelling::plain);
  return found != kSpellings.end() ? std::optional(found->counter) : std::nullopt;
}

const FabricPort* find_port(const FabricNode& node, std::uint32_t number) {
  const auto found = std::ranges::lower_bound(node.ports, number, {}, &FabricPort::number);
  return found != node.ports.end() && found->number == number ? &*found : nullptr;
}

bool connect(Fabric& fabric, PortRef a, PortRef b) {
  if (!is_there(fabric, a) || !is_there(fabric, b)) return false;
  std::optional<PortRef>& of_a = fabric.nodes[a.node].ports[a.port].peer;
  std::optional<PortRef>& of_b = fabric.nodes[b.node].ports[b.port].peer;
  if ((of_a && *of_a != b) || (of_b && *of_b != a)) return false;
  of_a = b;
  of_b = a;
  return true;
}

std::string describe(const Fabric& fabric, PortRef ref) {
  if (!is_there(fabric, ref)) return "a port that is not there";
  const FabricNode& node = fabric.nodes[ref.node];
  const FabricPort& port = node.ports[ref.port];
  const std::string_view name = trim(node.description);
  const std::string owner = name.empty() ? to_string(node.guid) : std::string(name);
  return port.name.empty() ? fmt::format("{} port {}", owner, port.number)
                           : fmt::format("{} {}", owner, port.name);
}

std::string_view name_of(PlaneRole role) {
  constexpr std::array<std::string_view, 4> kWords = {"unknown", "compute", "storage", "management"};
  return word(kWords, role);
}

std::string_view name_of(FabricShape shape) {
  constexpr std::array<std::string_view, 6> kWords = {"unknown",  "direct",        "single switch",
                                                      "fat tree", "rail fat tree", "irregular"};
  return word(kWords, shape);
}

std::string_view name_of(FabricChangeKind kind) {
  constexpr std::array<std::string_view, 13> kWords = {
      "node gone", "node new", "replaced", "link gone",     "link new", "cable moved", "speed",
      "width",     "state",    "counter",  "counter reset", "renamed",  "LID"};
  return word(kWords, kind);
}

}  // namespace angio::model
