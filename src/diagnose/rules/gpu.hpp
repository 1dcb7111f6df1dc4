// The GPU rules' checks, one family a file; gpu.cpp lists them. Only for src/diagnose/rules.
#pragma once

#include <string>
#include <vector>

#include "diagnose/rule.hpp"

namespace angio::diagnose::gpu {

// gpu_links.cpp: NVLink.
void nvlink_inactive(const model::Machine& machine, Outcome& outcome);
void nvlink_errors(const model::Machine& machine, Outcome& outcome);

// gpu_peers.cpp: peer access, the NVSwitch fabric.
void p2p_disabled(const model::Machine& machine, Outcome& outcome);
void fabric_not_ready(const model::Machine& machine, Outcome& outcome);

// gpu_health.cpp: memory, clocks, power.
void pcie_replays(const model::Machine& machine, Outcome& outcome);
void clock_throttled(const model::Machine& machine, Outcome& outcome);
void clock_locked_low(const model::Machine& machine, Outcome& outcome);
void ecc_uncorrected(const model::Machine& machine, Outcome& outcome);
void row_remap(const model::Machine& machine, Outcome& outcome);
void power_limit_low(const model::Machine& machine, Outcome& outcome);

// gpu_modes.cpp: presence, driver, modes, likeness.
void count_missing(const model::Machine& machine, Outcome& outcome);
void driver_unbound(const model::Machine& machine, Outcome& outcome);
void nvml_failed(const model::Machine& machine, Outcome& outcome);
void mode_mig(const model::Machine& machine, Outcome& outcome);
void mode_compute(const model::Machine& machine, Outcome& outcome);
void persistence_off(const model::Machine& machine, Outcome& outcome);
void model_mixed(const model::Machine& machine, Outcome& outcome);
void ecc_mixed(const model::Machine& machine, Outcome& outcome);

// What nvidia-smi -i takes: NVML's number, else the PCI address.
std::string smi_index(const model::Gpu& gpu);
std::string address_of(const model::Gpu& gpu);

// NVML lists other GPUs but not this one: gpu.count.missing speaks of it, and nothing else of it is a gap.
bool is_unlisted(const model::Machine& machine, const model::Gpu& gpu);
// NVLink-C2C to its CPU (Grace): its NVSwitches and their fabric manager are in the rack's switch trays.
bool is_c2c(const model::Gpu& gpu);
// NVSwitches that this machine's own fabric manager sets up: on its PCI bus, or beyond links of a board
// without C2C.
bool has_own_nvswitch(const model::Machine& machine);

// A draft about one GPU with its label, and the words {index} and {address}.
Draft draft_for(const model::Gpu& gpu, std::string title);

// GPUs in the same trouble are one finding. A trouble's draft has everything but title and devices.
struct Trouble {
  const model::Gpu* gpu = nullptr;
  std::string one;   // after the label of a single GPU: " has 16 of 18 NVLinks active"
  std::string many;  // after the labels of several: " have 16 of 18 NVLinks active"; equal ones join
  Draft draft = {};
};
std::vector<Draft> group(std::vector<Trouble> troubles);

}  // namespace angio::diagnose::gpu
