// PCIe rules: the checks that pcie.cpp lists, and what several of them ask of the PCI tree.
// Private to the pcie*.cpp files. Checks read the model only; words and numbers are in data/rules/pcie.toml.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "diagnose/rule.hpp"
#include "model/machine.hpp"

namespace angio::diagnose::pcie {

// A card that moves data: a GPU, or an RDMA card (several ports or functions are one card and one link).
struct Endpoint {
  std::string label;         // "GPU 5", "mlx5_0, mlx5_1"
  std::uint32_t device = 0;  // index in machine.pci.devices
  const model::Gpu* gpu = nullptr;
};

// Those with a known place in the PCI tree; virtual functions have no link of their own and are left out.
std::vector<Endpoint> gpu_endpoints(const model::Machine& machine);
std::vector<Endpoint> nic_endpoints(const model::Machine& machine);
std::vector<Endpoint> endpoints(const model::Machine& machine);

// The bridge directly above; null at a root bus or when the source does not show it.
const model::PciDevice* port_above(const model::Machine& machine, const model::PciDevice& device);
// Indices of the bridges above, nearest first.
std::vector<std::uint32_t> bridges_above(const model::Machine& machine, std::uint32_t device);

// What both ends of a link can.
model::PciLink possible(const model::PciLink& device, const model::PciLink& port);
std::string in_words(const model::PciLink& link);           // "16 GT/s x8"
std::string generation_in_words(TransfersPerSecond speed);  // "Gen 4 (16 GT/s)"
// "31.5 of 63 GB/s in each direction"; empty when a rate is not in the table.
model::Cost link_cost(const model::PciLink& now, const model::PciLink& could);
double share_lost(const model::PciLink& now, const model::PciLink& could);

// Links.
void gpu_width(const model::Machine& machine, Outcome& outcome);
void gpu_speed(const model::Machine& machine, Outcome& outcome);
void nic_link(const model::Machine& machine, Outcome& outcome);
void slot_below_port(const model::Machine& machine, Outcome& outcome);
void nvme_link(const model::Machine& machine, Outcome& outcome);
void switch_uplink(const model::Machine& machine, Outcome& outcome);
void shared_uplink(const model::Machine& machine, Outcome& outcome);
// Errors and configuration space.
void aer_correctable(const model::Machine& machine, Outcome& outcome);
void aer_uncorrectable(const model::Machine& machine, Outcome& outcome);
void acs_redirect(const model::Machine& machine, Outcome& outcome);
void ats_in_guest(const model::Machine& machine, Outcome& outcome);
void payload(const model::Machine& machine, Outcome& outcome);
void read_request(const model::Machine& machine, Outcome& outcome);
void small_bar(const model::Machine& machine, Outcome& outcome);
// Places.
void nic_far(const model::Machine& machine, Outcome& outcome);
void nic_not_below_switch(const model::Machine& machine, Outcome& outcome);
void unbalanced_gpus(const model::Machine& machine, Outcome& outcome);

}  // namespace angio::diagnose::pcie
