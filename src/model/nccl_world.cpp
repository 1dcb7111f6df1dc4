#include "model/nccl_world.hpp"

#include <tuple>

namespace angio::model {
namespace {

// How much of it the log tells: ranks first, graphs next.
auto detail(const NcclCommunicator& communicator) {
  return std::tuple(communicator.parent.empty(), communicator.ranks.size(),
                    communicator.patterns.size() + communicator.rings.size());
}

const NcclCommunicator* better(const NcclCommunicator* known, const NcclCommunicator& other) {
  if (known == nullptr) return &other;
  if (known->nranks != other.nranks) return known->nranks < other.nranks ? &other : known;
  return detail(*known) < detail(other) ? &other : known;
}

}  // namespace

const NcclCommunicator* world_of(const NcclLog& log) {
  const NcclCommunicator* found = nullptr;
  for (const NcclCommunicator& communicator : log.communicators)
    found = better(found, communicator);
  return found;
}

const NcclCommunicator* world_of(const NcclLog& log, std::uint32_t ranks) {
  const NcclCommunicator* found = nullptr;
  for (const NcclCommunicator& communicator : log.communicators)
    if (communicator.nranks == ranks) found = better(found, communicator);
  return found;
}

}  // namespace angio::model
