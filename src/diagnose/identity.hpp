// Who a machine is: whether two snapshots are of one node, so that no node is compared with itself and no two
// nodes that share a name are taken for one. Used by the commands that take several machines.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/machine.hpp"

namespace angio::diagnose {

struct Identity {
  std::string host;                // empty where the source does not name its host
  std::vector<std::string> marks;  // UUIDs of GPUs, GUIDs of RDMA cards, MACs of PCI interfaces; sorted
};
Identity identity_of(const model::Machine& machine);

enum class Kinship : std::uint8_t {
  kOther,      // different hosts, or nobody knows
  kSame,       // the same host name, and no hardware that speaks against it
  kNamesakes,  // the same host name on different hardware
};
Kinship compare(const Identity& a, const Identity& b);

}  // namespace angio::diagnose
