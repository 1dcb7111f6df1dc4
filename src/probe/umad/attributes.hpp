// What stands in the payloads of answers, as values of the model. Pure; any bytes give a value.
#pragma once

#include <cstdint>
#include <string>

#include "model/fabric.hpp"
#include "probe/umad/mad.hpp"

namespace angio::probe::umad {

struct NodeInfo {
  std::uint8_t type = 0;  // as it stands; kind is kUnknown beyond 3
  model::FabricNodeKind kind = model::FabricNodeKind::kUnknown;
  std::uint8_t ports = 0;
  std::uint8_t local_port = 0;  // where the question came in
  std::uint64_t system_guid = 0;
  std::uint64_t guid = 0;
  std::uint64_t port_guid = 0;
  std::uint32_t vendor = 0;
  std::uint32_t device = 0;
  std::uint32_t revision = 0;
};
NodeInfo parse_node_info(Payload payload);

// Up to the first NUL; not yet printable().
std::string parse_description(Payload payload);

bool has_enhanced_port0(Payload switch_info);

// Which speed fields of PortInfo hold something. A switch says it at its port 0 for all of its ports.
struct SpeedFields {
  bool extended = false;   // LinkSpeedExt: FDR to NDR
  bool extended2 = false;  // LinkSpeedExt2: XDR
};
SpeedFields parse_speed_fields(Payload port_info);

struct PortLids {
  std::uint16_t lid = 0;
  std::uint16_t sm_lid = 0;
  std::uint8_t lmc = 0;  // the port has 2^lmc LIDs from lid on
};
PortLids parse_lids(Payload port_info);

// State, widths, speeds and MTU.
void apply_port_info(Payload port_info, SpeedFields fields, model::FabricPort& port);
// FDR10 where PortInfo says QDR.
void apply_vendor_port_info(Payload payload, model::FabricPort& port);

struct CounterAbilities {
  bool extended = false;    // 64-bit data counters
  bool additional = false;  // 64-bit error counters as well
  bool wait = false;        // PortXmitWait
  bool all_ports = false;   // port 255 answers with sums over all ports
};
CounterAbilities parse_abilities(Payload class_port_info);

inline constexpr std::uint32_t kAllPorts = 255;
void apply_counters(Payload port_counters, const CounterAbilities& abilities, model::CounterSet& counters);
// Of the sums over all ports: no error was counted anywhere, so that each port's error counters are 0.
bool counts_no_errors(Payload port_counters, const CounterAbilities& abilities);
void apply_no_errors(const CounterAbilities& abilities, model::CounterSet& counters);
void apply_extended_counters(Payload payload, const CounterAbilities& abilities, model::CounterSet& counters);

}  // namespace angio::probe::umad
