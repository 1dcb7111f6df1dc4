// Fabrics for tests: healthy ones of every shape, and the handles to break them. Not for the product.
#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "fabric/fabric.hpp"

namespace angio::fabric::test {

using model::Fabric;
using model::FabricCounter;
using model::FabricNodeKind;
using model::FabricPort;
using model::LaneSpeedName;
using model::PortPhysicalState;
using model::PortRef;
using model::PortState;

inline constexpr std::uint32_t kQuantum = 0xd2f0;    // a switch chip whose tick is known
inline constexpr std::uint32_t kConnectX6 = 0x101b;  // an adapter

class Builder {
 public:
  Builder() {
    fabric.name = "test";
    fabric.origin = "scan from mlx5_0 port 1";
    fabric.captured = "2026-03-01T10:00:00Z";
  }

  std::uint32_t add_switch(const std::string& name, std::uint32_t ports,
                           LaneSpeedName speed = LaneSpeedName::kHdr) {
    const std::uint32_t node = add(FabricNodeKind::kSwitch, name, kQuantum, 0x248a070300100000);
    for (std::uint32_t number = 0; number <= ports; ++number)
      add_port(node, number, speed);
    FabricPort& management = fabric.nodes[node].ports.front();
    management.state = PortState::kActive;
    management.physical_state = PortPhysicalState::kLinkUp;
    management.lid = Lid{next_lid_++};
    return node;
  }

  std::uint32_t add_adapter(const std::string& name, std::uint32_t ports = 1,
                            LaneSpeedName speed = LaneSpeedName::kHdr) {
    const std::uint32_t node = add(FabricNodeKind::kAdapter, name, kConnectX6, 0x248a070300800000);
    for (std::uint32_t number = 1; number <= ports; ++number)
      add_port(node, number, speed);
    return node;
  }

  // Two ports by number; the link runs at what both can.
  void plug(std::uint32_t a, std::uint32_t a_port, std::uint32_t b, std::uint32_t b_port) {
    const PortRef one = ref(a, a_port);
    const PortRef other = ref(b, b_port);
    model::connect(fabric, one, other);
    const LaneSpeedName speed = std::min(port(one).most_speed, port(other).most_speed);
    for (const PortRef end : {one, other}) {
      FabricPort& up = port(end);
      up.state = PortState::kActive;
      up.physical_state = PortPhysicalState::kLinkUp;
      up.lanes = 4;
      up.speed = speed;
      up.mtu = 4096;
      up.counters.set(FabricCounter::kReceiveBytes, 4'000'000'000'000'000);  // 3.2e16 bits
      up.counters.set(FabricCounter::kReceivePackets, 1'000'000'000'000);
      if (fabric.nodes[end.node].kind == FabricNodeKind::kAdapter) up.lid = Lid{next_lid_++};
    }
  }

  void unplug(std::uint32_t a, std::uint32_t a_port) {
    const PortRef one = ref(a, a_port);
    const PortRef other = *port(one).peer;
    for (const PortRef end : {one, other}) {
      FabricPort& down = port(end);
      down.peer.reset();
      down.state = PortState::kDown;
      down.physical_state = PortPhysicalState::kPolling;
      down.lanes = 0;
      down.speed = LaneSpeedName::kUnknown;
    }
  }

  // What a text without PortInfo leaves out.
  void forget_support() {
    for (auto& node : fabric.nodes)
      for (FabricPort& each : node.ports) {
        each.most_lanes = each.enabled_lanes = 0;
        each.most_speed = each.enabled_speed = LaneSpeedName::kUnknown;
      }
  }
  void forget_counters() {
    for (auto& node : fabric.nodes)
      for (FabricPort& each : node.ports)
        each.counters = {};
  }
  void forget_states() {
    for (auto& node : fabric.nodes)
      for (FabricPort& each : node.ports) {
        each.state = PortState::kUnknown;
        each.physical_state = PortPhysicalState::kUnknown;
      }
  }
  void set_rate(std::uint32_t node, std::uint32_t number, std::uint8_t lanes, LaneSpeedName speed) {
    FabricPort& here = port(ref(node, number));
    for (FabricPort* end : {&here, &port(*here.peer)}) {
      end->lanes = lanes;
      end->speed = speed;
    }
  }

  [[nodiscard]] std::uint32_t node(const std::string& name) const {
    for (std::uint32_t n = 0; n < fabric.nodes.size(); ++n)
      if (fabric.nodes[n].description == name) return n;
    return 0xffffffffU;
  }
  [[nodiscard]] PortRef ref(std::uint32_t node, std::uint32_t number) const {
    const FabricPort* found = model::find_port(fabric.nodes.at(node), number);
    return {node, static_cast<std::uint32_t>(found - fabric.nodes.at(node).ports.data())};
  }
  FabricPort& port(PortRef at) { return fabric.nodes.at(at.node).ports.at(at.port); }
  FabricPort& port(const std::string& name, std::uint32_t number) { return port(ref(node(name), number)); }

  Fabric fabric;

 private:
  std::uint32_t add(FabricNodeKind kind, const std::string& name, std::uint32_t device, std::uint64_t base) {
    model::FabricNode node;
    node.kind = kind;
    node.description = name;
    node.guid.value = base + 0x10 * fabric.nodes.size();
    node.system_guid = node.guid.value;
    node.vendor = 0x2c9;
    node.device = device;
    fabric.nodes.push_back(std::move(node));
    return static_cast<std::uint32_t>(fabric.nodes.size() - 1);
  }

  void add_port(std::uint32_t node, std::uint32_t number, LaneSpeedName speed) {
    FabricPort port;
    port.number = number;
    port.state = PortState::kDown;
    port.physical_state = PortPhysicalState::kPolling;
    port.most_lanes = port.enabled_lanes = 4;
    port.most_speed = port.enabled_speed = speed;
    for (std::size_t i = 0; i < model::kFabricCounters; ++i)
      port.counters.set(static_cast<FabricCounter>(i), 0);
    fabric.nodes[node].ports.push_back(port);
  }

  std::uint16_t next_lid_ = 1;
};

// Hosts "gpu-1 mlx5_0" … on leaves "leaf-1" …, each leaf with `cables` to each of the spines "spine-1" ….
// Ports: hosts from 1 on, uplinks behind them by spine.
struct TreeShape {
  std::uint32_t leaves = 4;
  std::uint32_t hosts = 8;  // a leaf
  std::uint32_t spines = 2;
  std::uint32_t cables = 4;
};
inline Builder fat_tree(TreeShape shape = {}) {
  Builder build;
  std::vector<std::uint32_t> leaves;
  std::vector<std::uint32_t> spines;
  for (std::uint32_t l = 0; l < shape.leaves; ++l)
    leaves.push_back(
        build.add_switch("leaf-" + std::to_string(l + 1), shape.hosts + shape.spines * shape.cables + 2));
  for (std::uint32_t s = 0; s < shape.spines; ++s)
    spines.push_back(build.add_switch("spine-" + std::to_string(s + 1), shape.leaves * shape.cables + 2));
  for (std::uint32_t l = 0; l < shape.leaves; ++l) {
    for (std::uint32_t h = 0; h < shape.hosts; ++h)
      build.plug(leaves[l], h + 1,
                 build.add_adapter("gpu-" + std::to_string(l * shape.hosts + h + 1) + " mlx5_0"), 1);
    for (std::uint32_t s = 0; s < shape.spines; ++s)
      for (std::uint32_t c = 0; c < shape.cables; ++c)
        build.plug(leaves[l], shape.hosts + s * shape.cables + c + 1, spines[s], l * shape.cables + c + 1);
  }
  return build;
}

// Pods of hosts with an adapter on each rail: "gpu-1 mlx5_0" … "gpu-1 mlx5_3" on "pod1-rail0" … "pod1-rail3",
// all leaves below the same spines.
struct RailShape {
  std::uint32_t pods = 2;
  std::uint32_t hosts = 4;  // a pod
  std::uint32_t rails = 4;
  std::uint32_t spines = 2;
  std::uint32_t cables = 2;
};
inline Builder rail_tree(RailShape shape = {}) {
  Builder build;
  std::vector<std::uint32_t> spines;
  for (std::uint32_t s = 0; s < shape.spines; ++s)
    spines.push_back(
        build.add_switch("spine-" + std::to_string(s + 1), shape.pods * shape.rails * shape.cables));
  std::uint32_t leaf_number = 0;
  for (std::uint32_t p = 0; p < shape.pods; ++p) {
    std::vector<std::uint32_t> leaves;
    for (std::uint32_t r = 0; r < shape.rails; ++r, ++leaf_number) {
      leaves.push_back(build.add_switch("pod" + std::to_string(p + 1) + "-rail" + std::to_string(r),
                                        shape.hosts + shape.spines * shape.cables));
      for (std::uint32_t s = 0; s < shape.spines; ++s)
        for (std::uint32_t c = 0; c < shape.cables; ++c)
          build.plug(leaves[r], shape.hosts + s * shape.cables + c + 1, spines[s],
                     leaf_number * shape.cables + c + 1);
    }
    for (std::uint32_t h = 0; h < shape.hosts; ++h)
      for (std::uint32_t r = 0; r < shape.rails; ++r)
        build.plug(leaves[r], h + 1,
                   build.add_adapter("gpu-" + std::to_string(p * shape.hosts + h + 1) + " mlx5_" +
                                     std::to_string(r)),
                   1);
  }
  return build;
}

// ---- what a report says

inline const model::FabricFinding* find(const model::FabricReport& report, std::string_view rule) {
  const auto found =
      std::ranges::find_if(report.findings, [&](const auto& each) { return each.finding.rule == rule; });
  return found == report.findings.end() ? nullptr : &*found;
}
inline std::size_t count(const model::FabricReport& report, std::string_view rule) {
  return static_cast<std::size_t>(
      std::ranges::count_if(report.findings, [&](const auto& each) { return each.finding.rule == rule; }));
}
// No finding, no gap, and the rule looked.
inline bool held(const model::FabricReport& report, std::string_view rule) {
  return std::ranges::find(report.held, rule) != report.held.end();
}
inline std::string gap(const model::FabricReport& report, std::string_view rule) {
  const auto found = std::ranges::find(report.undecided, rule, &model::Undecided::rule);
  return found == report.undecided.end() ? std::string() : found->missing;
}
inline std::string list(const model::FabricReport& report) {
  std::string text;
  for (const auto& each : report.findings)
    text += each.finding.rule + ": " + each.finding.title + "\n";
  return text;
}
inline bool has_evidence(const model::FabricFinding& finding, std::string_view part) {
  return std::ranges::any_of(finding.finding.evidence,
                             [&](const auto& each) { return each.text.find(part) != std::string::npos; });
}
// Findings of this severity and above, of whatever rule.
inline std::size_t alarms(const model::FabricReport& report,
                          model::Severity from = model::Severity::kWarning) {
  return static_cast<std::size_t>(std::ranges::count_if(
      report.findings, [&](const auto& each) { return each.finding.severity >= from; }));
}

// The fat tree with one counter of leaf-2 port 3 as given.
inline model::FabricReport with(FabricCounter counter, std::uint64_t value, bool stuck = false) {
  Builder build = fat_tree();
  build.port("leaf-2", 3).counters.set(counter, value, stuck);
  return analyse(build.fabric);
}
inline model::FabricReport without_counters() {
  Builder build = fat_tree();
  build.forget_counters();
  return analyse(build.fabric);
}
// A scan two hours later in which one counter has grown.
inline model::FabricReport grown(FabricCounter counter, std::uint64_t before, std::uint64_t now) {
  Builder old = fat_tree();
  old.port("leaf-2", 3).counters.set(counter, before);
  Builder build = fat_tree();
  build.fabric.captured = "2026-03-01T12:00:00Z";
  build.port("leaf-2", 3).counters.set(counter, now);
  return analyse(build.fabric, {.expected = &old.fabric});
}

// A snapshot that knows one adapter by its GUID.
inline model::Machine machine_with(const std::string& name, const std::string& device,
                                   const std::string& guid) {
  model::Machine machine;
  machine.name = name;
  model::RdmaDevice adapter;
  adapter.name = device;
  adapter.node_guid = model::Observed<std::string>::known(guid, {});
  machine.rdma.push_back(std::move(adapter));
  return machine;
}

}  // namespace angio::fabric::test
