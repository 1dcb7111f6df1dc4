// What a topology file holds, read once for the design of a phantom node: its PCI devices with the path that
// /sys would give them, its GPUs and its NICs, and why it cannot be one NVIDIA node. For node_design.cpp.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "nccl/topology_xml.hpp"

namespace angio::dryrun {

struct ScannedPci {
  const nccl::Element* element = nullptr;
  std::string bus;   // as the file writes it
  std::string path;  // "/sys/devices/pci0000:15/0000:15:00.0/0000:18:00.0"
  std::uint32_t numa = 0;
  std::string_view device_class;  // "0x030200"
  std::uint32_t vendor = 0;       // 0: not said
  std::uint32_t device = 0;
};

struct ScannedGpu {
  const nccl::Element* element = nullptr;  // null: a PCI device that a GPU can be placed on
  std::size_t pci = 0;                     // in Scan::pcis
};

struct ScannedNet {
  const nccl::Element* element = nullptr;
  std::optional<std::size_t> pci;  // none: hangs off a CPU
};

struct Scan {
  std::vector<ScannedPci> pcis;
  std::vector<ScannedGpu> gpus;  // of <gpu>; where the file has none, of PCI devices
  std::vector<ScannedNet> nets;
  bool placed = false;         // the GPUs are PCI devices
  std::size_t bare_slots = 0;  // GPU devices without <gpu> beside others that have one
  std::size_t classless = 0;   // PCI devices without class
  bool unnamed_cpu = false;    // a <cpu> without arch or, of x86, without vendor
  bool states_links = false;   // some GPU has nvlink or c2c
};

// Errors: no <system>, RCCL's, several hosts, no GPU at all.
Result<Scan> scan_topology(const nccl::Element& root);

// "3 GPUs", "1 NIC".
std::string counted(std::size_t count, std::string_view noun);
// At most eight of them, then how many more.
std::string listed(const std::vector<std::string>& names);

}  // namespace angio::dryrun
