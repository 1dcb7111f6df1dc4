// Who is slow in a mesh: hosts, NICs, rails, paths and groups told apart by the tables of one transport.
// Values for the words of analysis.cpp.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "model/mesh.hpp"

namespace angio::mesh {

struct SlowEnd {
  std::uint32_t host = 0;
  std::optional<std::uint32_t> nic;    // none: the whole host
  std::uint32_t nics = 1;              // that were tested on that host
  bool out = false, in = false;        // which directions
  double out_share = 1, in_share = 1;  // of the usual
  std::uint32_t partners = 0;
};

struct SlowRail {
  std::uint32_t rail = 0;
  double share = 1;
  std::uint32_t slow = 0,
                directions = 0;  // of its directions, how many are nearer to the rail than to the best
};

struct SlowPath {
  std::size_t there = 0;            // measure, the slower direction
  std::optional<std::size_t> back;  // the other, where it is slow too
  double share = 1;
};

struct SlowGroups {
  std::optional<std::uint32_t> rail;
  std::vector<std::vector<std::uint32_t>> groups;  // hosts
  std::optional<std::uint32_t> sender;             // of groups: slow only from it to the others
  double share = 1;                                // between, of within
  BitsPerSecond within, between;
};

struct Suspects {
  std::uint32_t hosts = 0;      // that were measured
  std::uint32_t cells = 0;      // directions that were measured
  double scatter = 0;           // largest of the tables, as a share
  bool compares_rails = false;  // their rates are known
  std::uint32_t rails = 0;
  std::vector<SlowEnd> ends;
  std::vector<SlowRail> slow_rails;
  std::vector<SlowPath> paths;
  // Directions that are as slow as a slow path's would be, in a table where others lie all the way between:
  // passing traffic, and no path is named.
  std::uint32_t unsettled = 0;
  std::vector<SlowGroups> groups;
};

// Bandwidth, or with `latency` half round trips, whose hosts alone are judged. Fills MeshMeasure::share for
// bandwidth.
Suspects find_suspects(model::MeshResult& result, model::MeshTransport transport, bool latency);

}  // namespace angio::mesh
