// What a machine's model says of the adapters that a mesh test can use, and which of them it uses. Pure.
#pragma once

#include <string>
#include <vector>

#include "base/error.hpp"
#include "model/machine.hpp"
#include "model/mesh.hpp"

namespace angio::mesh {

// Interfaces that are up and have an address, and RDMA ports that are active, both in the order of the PCI
// bus as NCCL counts them.
model::MeshHost nics_of(const model::Machine& machine);

struct NicWish {
  std::vector<std::string> devices;  // RDMA: "mlx5_0", "mlx5_0:1", "n0=mlx5_2"; empty: all that are active
  std::vector<std::string>
      interfaces;            // TCP: "eth0", "10.1." or "10.1.0.0/16"; empty: the one used_address has
  std::string used_address;  // by which the agent talks to the controller
};
// Leaves only what the wish names, in the wish's order: rail k is the k-th. What a host lacks is told in
// `notes` and is left out with what stands behind it in none: a NIC without a name keeps the place.
void select_nics(const NicWish& wish, model::MeshHost& host, std::vector<std::string>& notes);

// The facts of `known` (a snapshot) for those NICs of `host` that have the same name.
void take_facts(const model::MeshHost& known, model::MeshHost& host);

}  // namespace angio::mesh
