// The topology file of a machine as NCCL would dump it, made of a model::Machine: live, a snapshot or a
// foreign text. What the machine does not tell is left out and said; NCCL fills such gaps itself when it
// loads the file.
#pragma once

#include <string>
#include <vector>

#include "base/error.hpp"
#include "model/machine.hpp"
#include "nccl/topology_xml.hpp"

namespace angio::nccl {

struct Generated {
  Element root;
  std::vector<std::string> unknown;  // what the file leaves to NCCL, one sentence each
  std::vector<std::string> notes;    // "GPU 5 now x8; NCCL counts x16"
};

// Errors: no GPU, or none whose PCI address is known.
Result<Generated> generate_topology(const model::Machine& machine);

// Adds to a file what detection adds when NCCL loads it: GPUs and NICs that the file lacks, at their PCI
// element where the file has it. What the file states stays. Returns how many were added.
std::size_t complete(Element& file, const Element& detected);
// NVLink and C2C of the file's GPUs that state none, which NCCL asks NVML for. Returns how many GPUs got
// some.
std::size_t complete_links(Element& file, const Element& detected);

// "32.0 GT/s PCIe" as sysfs spells it.
std::string link_speed_text(TransfersPerSecond speed);
// The kernel's cpumap: hexadecimal words of 32 CPUs, most significant first, as many as the machine needs.
std::string affinity_text(const CpuSet& cpus, std::uint32_t last_cpu);
// CPUID's family as NCCL computes it of the kernel's: 25 (Zen 3) is 175.
std::uint32_t nccl_family(std::uint32_t family);
// The slower and narrower of a device and the port above it; none where that is not known.
std::optional<model::PciLink> usable_link(const model::Pci& pci, std::uint32_t device);

}  // namespace angio::nccl
