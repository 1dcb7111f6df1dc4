// Which RDMA adapters each rank uses: the nearest by path class, each rank a rail of its own where there are
// enough. Only devices that can carry the ranks' traffic: active ports, no storage ports, no duplicates.
// Not what NCCL will choose, though NCCL follows the same distances.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "model/machine.hpp"

namespace angio::plan {

struct Fleet {
  std::vector<std::uint32_t> devices;  // in machine.rdma, by natural order of names
  std::vector<model::Note> notes;      // what was left out and why
};

Fleet find_fleet(const model::Machine& machine);

// Who asks: a GPU, or a rank without one by its node.
struct Seeker {
  std::optional<std::uint32_t> gpu;
  std::optional<NumaId> node;
  bool operator==(const Seeker&) const = default;
};

struct Adapters {
  std::vector<std::uint32_t> rdma;
  model::Path path;            // to the first
  std::size_t candidates = 0;  // as near as the first
};

// One answer per seeker, in their order.
std::vector<Adapters> assign_adapters(const model::Machine& machine, const Fleet& fleet,
                                      const std::vector<Seeker>& seekers);

}  // namespace angio::plan
