// The structure of a fabric as the report tells it. Internal to src/fabric.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "fabric/layout.hpp"
#include "model/fabric_report.hpp"

namespace angio::fabric {

// Rails as most hosts show them, and the adapters that are elsewhere than their siblings.
struct Stray {
  std::uint32_t adapter = 0;
  std::uint32_t leaf = 0;               // where it is
  std::uint32_t rail = 0;               // where it should be, as number
  std::uint32_t found_rail = kNone;     // of the leaf it is on
  std::uint32_t expected_leaf = kNone;  // where the siblings of its neighbours are; kNone: not told
  std::uint32_t peers = 0;              // adapters that are on the rail
};
struct Rails {
  std::vector<model::FabricRail> rails;
  std::vector<Stray> strays;
  std::map<std::string, std::uint32_t> rail_of_device;  // "mlx5_3" to its rail
  // The leaf of a rail that hosts on a leaf of another one use.
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> neighbour;  // (leaf, rail) to leaf
};
Rails find_rails(const Layout& layout, const std::vector<model::FabricPlane>& planes);  // rails.cpp

std::vector<model::FabricPlane> describe_planes(const Layout& layout,
                                                const Surroundings& surroundings);  // planes.cpp
std::vector<model::FabricLevel> add_up_levels(const Layout& layout);
std::vector<model::SinglePoint> find_single_points(const Layout& layout);  // cuts.cpp
model::FabricFacts make_facts(const Layout& layout, const Rails& rails,
                              std::vector<model::FabricPlane> planes);
// The plane with the most adapters of hosts; of equals, the first.
std::uint32_t main_plane(const Layout& layout);

}  // namespace angio::fabric
