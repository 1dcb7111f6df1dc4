// What the hardware at both ends allows between two NICs, and which part of it limits. Pure.
#pragma once

#include <optional>
#include <string>

#include "model/mesh.hpp"

namespace angio::mesh {

struct Expectation {
  BitsPerSecond payload;  // at most
  std::string limit;      // "port of n1 mlx5_0: 4x HDR, 200 Gb/s"
  BitsPerSecond line;     // the slower port's rate: nothing goes faster
};
// None where no rate of either end is known. TCP gets its ports' rates only: how much of it TCP reaches is
// not the hardware's.
std::optional<Expectation> expect(const model::MeshHost& from, const model::MeshNic& source,
                                  const model::MeshHost& to, const model::MeshNic& sink,
                                  model::MeshTransport transport);

// Expected, limit and verdict of every measure.
void judge_measures(model::MeshResult& result);

// Of messages so small that their number limits, not their bytes.
bool is_small(const std::optional<Bytes>& message);

const model::MeshNic* find_nic(const model::MeshResult& result, const model::MeshMeasure& measure, bool from);

}  // namespace angio::mesh
