// How long a mesh will take, before it is run. A guess. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "mesh/schedule.hpp"
#include "model/mesh.hpp"

namespace angio::mesh {

// A guess at the time of a mesh, s: rounds x tests of a pair.
struct MeshSize {
  std::uint32_t tests = 0;  // of one pair, one after another
  double seconds = 0;
};
MeshSize estimate(const model::MeshPlan& plan, std::size_t rounds, std::uint32_t tcp_rails,
                  std::uint32_t rdma_rails);
// "7 rounds of at most 4 pairs at once, 3 tests a pair: about 45 s"; of a long one also what a sample takes.
std::string size_line(const model::MeshResult& result, const std::vector<Round>& rounds,
                      std::uint32_t pairs_at_once);

std::string time_words(double seconds);  // "95 s", "12 min", "3.4 h"

}  // namespace angio::mesh
