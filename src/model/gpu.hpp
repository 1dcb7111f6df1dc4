// GPUs of one machine and how they reach each other. Order: by PCI address, as CUDA_DEVICE_ORDER=PCI_BUS_ID.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.hpp"
#include "base/units.hpp"
#include "model/observed.hpp"

namespace angio::model {

enum class GpuVendor : std::uint8_t { kUnknown, kNvidia, kAmd, kIntel };
enum class LinkState : std::uint8_t { kUnknown, kActive, kInactive };
enum class PeerKind : std::uint8_t { kUnknown, kGpu, kSwitch, kCpu };

// One NVLink (or xGMI) lane of one GPU.
struct GpuLink {
  std::uint32_t index = 0;
  LinkState state = LinkState::kUnknown;
  Observed<std::uint32_t> version;
  PeerKind peer_kind = PeerKind::kUnknown;
  Observed<PciAddress> peer;
  Observed<std::uint64_t> crc_errors;
  Observed<std::uint64_t> replays;
  Observed<std::uint64_t> recoveries;
};

// NVML_P2P_STATUS: whether peer access works between two GPUs, and why not.
enum class P2pStatus : std::uint8_t {
  kOk,
  kChipsetNotSupported,
  kGpuNotSupported,
  kTopologyNotSupported,
  kDisabledByRegkey,
  kNotSupported,
  kUnknown
};

struct ComputeCapability {
  std::uint32_t major = 0;
  std::uint32_t minor = 0;
  bool operator==(const ComputeCapability&) const = default;
};

struct FabricState {
  std::string state;    // "not supported", "not started", "in progress", "completed"
  std::string status;   // NVML's word for the result of registration
  std::string cluster;  // cluster UUID
  std::uint32_t clique = 0;
};

struct Gpu {
  std::uint32_t index = 0;  // in machine.gpus
  GpuVendor vendor = GpuVendor::kUnknown;
  std::optional<std::uint32_t> pci;  // index in machine.pci.devices
  Observed<PciAddress> address;
  Observed<std::uint32_t> library_index;  // NVML's number
  Observed<std::string> name;
  Observed<std::string> uuid;
  Observed<std::string> serial;
  Observed<ComputeCapability> compute_capability;
  Observed<Bytes> memory;
  Observed<Bytes> memory_used;
  Observed<bool> mig;
  Observed<std::string> partition;  // AMD: "SPX" (whole), "DPX", "CPX"…
  Observed<bool> ecc;
  Observed<std::uint64_t> ecc_uncorrected;  // volatile, since the driver was loaded
  Observed<std::uint64_t> remapped_rows;    // uncorrectable
  Observed<bool> remap_pending;
  Observed<bool> remap_failed;
  Observed<Hertz> sm_clock;
  Observed<Hertz> sm_clock_max;
  Observed<std::uint64_t> throttle_reasons;  // NVML's bit mask
  Observed<std::string> performance_state;   // "P0"
  Observed<Watts> power;
  Observed<Watts> power_limit;
  Observed<Watts> power_limit_default;
  Observed<Celsius> temperature;
  Observed<std::uint32_t> utilization;          // percent
  Observed<std::uint32_t> pcie_generation;      // now; idle GPUs go down
  Observed<std::uint32_t> pcie_generation_max;  // GPU and slot
  Observed<std::uint32_t> pcie_width;
  Observed<std::uint32_t> pcie_width_max;
  Observed<bool> persistence;
  Observed<std::string> compute_mode;  // "default", "exclusive process", "prohibited"
  Observed<std::uint64_t> pcie_replays;
  Observed<NumaId> numa;         // nearest CPU node: PCI first, NVML second
  Observed<NumaId> memory_numa;  // its own memory as a NUMA node (C2C)
  Observed<bool> coherent_link;  // NVLink-C2C to the CPU
  Observed<FabricState> fabric;
  std::vector<GpuLink> links;
  std::vector<PciAddress> linked;            // GPUs joined to it by links that are not listed one by one
  std::vector<std::uint32_t> linked_counts;  // as linked: how many links; 0 where the source does not tell
  std::vector<Observed<P2pStatus>> p2p;      // to machine.gpus, same order; empty when never asked
};

}  // namespace angio::model
