// Which port of a later reading is which of an earlier one, and the time between the two. Only for src/rdma.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "model/rdma_rates.hpp"

namespace angio::rdma {

using Series = std::vector<const model::RdmaPortReading*>;  // one for each reading; null: not there

// By node GUID, so that a renamed device is the same one; else by name.
std::vector<Series> series_of(std::span<const model::RdmaReading> readings);

struct Interval {
  std::optional<double> seconds;
  const char* clock = "";  // what seconds come from, in words
};
Interval between(const model::RdmaReading& first, const model::RdmaPortReading& before,
                 const model::RdmaReading& second, const model::RdmaPortReading& after);

}  // namespace angio::rdma
