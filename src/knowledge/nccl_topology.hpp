// The figures of NCCL's topology detection, graph search and topology files by release:
// data/nccl_topology.toml. Lookups only; src/nccl computes with them. A question without an answer gives
// nothing (or NaN), no default.
#pragma once

#include <span>
#include <string_view>

namespace angio::knowledge {

// One figure or one list of figures, true from `since` to `until`, both included; empty is open.
struct NcclTopologyFigure {
  std::string_view id;
  std::string_view name;  // what is asked for; several entries of one name cover ranges of releases
  std::string_view since;
  std::string_view until;
  std::span<const double> values;
  std::string_view text;  // in place of values
  std::string_view unit;
  std::string_view meaning;
  std::string_view source;
};

std::span<const NcclTopologyFigure> nccl_topology_figures();  // by name

// The entry of that name that holds for an NCCL release ("2.28.9"); null when there is none.
const NcclTopologyFigure* find_nccl_topology(std::string_view name, std::string_view version);
// Its values; empty when there is none.
std::span<const double> nccl_topology_list(std::string_view name, std::string_view version);
// Its first value; NaN when there is none.
double nccl_topology_value(std::string_view name, std::string_view version);

// The newest release that the figures describe, and the one whose own dumps they were compared with.
std::string_view newest_nccl_topology();
std::string_view checked_nccl_topology();

}  // namespace angio::knowledge
