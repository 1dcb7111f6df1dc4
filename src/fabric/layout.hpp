// What every judge looks up of a fabric, made once: its cables, each once, what they run at and could, the
// hosts and the levels. Peers that do not agree, that point outside or at themselves make no cable: a hostile
// scan cannot lead astray. Internal to src/fabric.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/units.hpp"
#include "fabric/fabric.hpp"

namespace angio::fabric {

inline constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();

struct Cable {
  model::PortRef a;  // the end on the node with the smaller index
  model::PortRef b;
};

// Which adapter of which host a node is, read from its NodeDescription.
struct AdapterName {
  std::string host;    // empty: nobody is named
  std::string device;  // "mlx5_0", "HCA-1"; empty: not told
};
AdapterName read_adapter_name(const std::string& description);
// "gpu#-r#" of "gpu12-r3": hosts that were numbered alike.
std::string stem_of(const std::string& name);

struct Layout {
  const model::Fabric* fabric = nullptr;
  std::vector<Cable> cables;
  std::vector<std::uint32_t> cables_of;     // indices of cables, node by node
  std::vector<std::uint32_t> cables_start;  // by node, one more than nodes: where in cables_of
  std::vector<char> service;                // by node: an aggregation node inside a switch, no host's adapter
  std::vector<AdapterName> names;           // by node; empty for switches
  std::vector<model::FabricHost> hosts;
  std::vector<std::uint32_t> host_of;   // by node; kNone: no host's
  std::vector<std::uint32_t> plane_of;  // by node
  std::vector<std::uint32_t> level_of;  // by node: 0 adapters and routers, 1 leaves …
  std::vector<std::vector<std::uint32_t>>
      shared_names;  // adapters that carry one name though they cannot be one

  [[nodiscard]] const model::FabricNode& node(std::uint32_t index) const { return fabric->nodes[index]; }
  [[nodiscard]] const model::FabricPort& port(model::PortRef ref) const {
    return fabric->nodes[ref.node].ports[ref.port];
  }
  [[nodiscard]] std::span<const std::uint32_t> cables_at(std::uint32_t node) const {
    return std::span(cables_of).subspan(cables_start[node], cables_start[node + 1] - cables_start[node]);
  }
  [[nodiscard]] bool is_switch(std::uint32_t node) const {
    return fabric->nodes[node].kind == model::FabricNodeKind::kSwitch ||
           fabric->nodes[node].kind == model::FabricNodeKind::kRouter ||
           fabric->nodes[node].kind == model::FabricNodeKind::kSubnet;
  }
  [[nodiscard]] bool is_host_adapter(std::uint32_t node) const { return host_of[node] != kNone; }
  // The end of the cable that is not on this node.
  [[nodiscard]] model::PortRef far_end(const Cable& cable, std::uint32_t node) const {
    return cable.a.node == node ? cable.b : cable.a;
  }
};

Layout make_layout(const model::Fabric& fabric, const Surroundings& surroundings);
void find_cables(Layout& layout);                                                   // layout.cpp
void find_hosts(Layout& layout, const Surroundings& surroundings);                  // hosts.cpp
void find_planes_and_levels(Layout& layout);                                        // levels.cpp
std::vector<std::uint32_t> leaves_of(const Layout& layout, std::uint32_t adapter);  // switches it hangs off

// ---- figures

std::optional<BitsPerSecond> rate_of(std::uint8_t lanes, model::LaneSpeedName speed);
// As the port runs; none where nothing says so.
std::optional<BitsPerSecond> running_rate(const model::FabricPort& port);
// The slower of both ends.
std::optional<BitsPerSecond> running_rate(const Layout& layout, const Cable& cable);
// Active, or nobody said: Down and Init carry no data.
bool carries_data(const model::FabricPort& port);

// The commonest key of a tally and what the tally counts in all.
template <typename Tally>
auto commonest(const Tally& tally, std::uint32_t& all) {
  auto best = tally.begin();
  all = 0;
  for (auto each = tally.begin(); each != tally.end(); ++each) {
    all += each->second;
    if (each->second > best->second) best = each;
  }
  return best;
}

// ---- words

std::string link_words(std::uint8_t lanes, model::LaneSpeedName speed);  // "4x HDR"; "" for unknown
std::string running_words(const model::FabricPort& port);                // "4x HDR (200 Gb/s)"
std::string name_of_node(const model::FabricNode& node);  // printable; the GUID where nothing names it
std::string name_of_port(const model::Fabric& fabric, model::PortRef ref);
std::string cable_words(const Layout& layout, const Cable& cable);  // "leaf-3 port 12 to gpu-a mlx5_0 port 1"
// "a, b, c and 5 more"; most: how many are spelt out.
std::string list_words(const std::vector<std::string>& words, std::size_t most);
// 2 before 10: runs of digits by their number.
bool natural_less(std::string_view a, std::string_view b);

}  // namespace angio::fabric
