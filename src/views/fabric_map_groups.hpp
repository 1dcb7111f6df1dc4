// What the map of a fabric shows, before it has a place on the sheet: sections of planes with one role, in
// each the groups of leaves that share hosts, a cell for each port of a host, and the bundles of cables
// between switches. Knows nothing of pixels. Internal to fabric_map.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/fabric.hpp"
#include "model/fabric_report.hpp"
#include "views/fabric_marks.hpp"

namespace angio::views {

struct MapCell {
  std::uint32_t host = 0;  // row: place in MapGroup::hosts
  std::uint32_t leaf = 0;  // place in MapGroup::leaves
  std::uint32_t lane = 0;  // among the ports that this host has on this leaf
  std::uint32_t adapter = 0;
  std::optional<std::uint32_t> port;  // of the adapter; none: it has no cable at all
};

// Leaves that share hosts, as the leaves of the rails do. One leaf alone is the commonest.
struct MapGroup {
  std::vector<std::uint32_t> leaves;  // nodes; empty: hosts that no switch reaches
  std::vector<std::uint32_t> lanes;   // by leaf: the most ports that one host has on it
  std::vector<std::uint32_t> hosts;   // in FabricReport::hosts, by name
  std::vector<MapCell> cells;         // by leaf, lane and host
};

// All cables between two switches.
struct MapTrunk {
  std::uint32_t lower = 0;
  std::uint32_t upper = 0;
  std::uint32_t links = 0;
  double bits_per_second = 0;  // of those whose rate is known
  std::uint32_t degraded = 0;  // links that run below what both ends can
  Mark mark;                   // the worst
  model::PortRef worst;        // where; the first link if nothing is wrong
};

struct MapSection {
  std::string title;                               // "compute", "storage"; empty: the only one
  std::vector<MapGroup> groups;                    // by name of their first leaf
  std::vector<std::vector<std::uint32_t>> levels;  // switches from level 2 on
  std::vector<MapTrunk> trunks;
};

std::vector<MapSection> map_sections(const model::Fabric& fabric, const model::FabricReport& report,
                                     const FabricMarks& marks);

}  // namespace angio::views
