// The PCI tree of one machine, bridges included, with what each link could do and does.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/cpu_set.hpp"
#include "base/ids.hpp"
#include "base/units.hpp"
#include "model/observed.hpp"

namespace angio::model {

struct PciLink {
  TransfersPerSecond speed;  // per lane, 16 GT/s is 16e9
  std::uint32_t lanes = 0;
  bool operator==(const PciLink&) const = default;
};

// Access Control Services of a bridge or function; redirects force peer traffic up to the root.
struct AccessControl {
  bool source_validation = false;
  bool request_redirect = false;
  bool completion_redirect = false;
  bool upstream_forwarding = false;
};

struct AerCounters {
  std::map<std::string, std::uint64_t> correctable;  // "BadTLP" → count, zeros left out
  std::map<std::string, std::uint64_t> nonfatal;
  std::map<std::string, std::uint64_t> fatal;
  std::uint64_t total_correctable = 0;
  std::uint64_t total_nonfatal = 0;
  std::uint64_t total_fatal = 0;
};

enum class PciPort : std::uint8_t {
  kUnknown,
  kEndpoint,
  kRootPort,
  kSwitchUpstream,
  kSwitchDownstream,
  kOther
};

struct PciDevice {
  PciAddress address;
  std::optional<std::uint32_t> parent;  // index in pci.devices of the bridge above; none at a root bus
  std::string root_complex;             // "pci0000:15": devices with equal text share a host bridge
  std::uint32_t class_code = 0;         // 0x030200
  std::uint16_t vendor = 0;
  std::uint16_t device = 0;
  std::uint16_t subsystem_vendor = 0;
  std::uint16_t subsystem_device = 0;
  PciPort port = PciPort::kUnknown;
  Observed<std::string> driver;  // absent: no driver bound
  Observed<NumaId> numa;         // absent: the kernel says -1, it does not know
  Observed<CpuSet> local_cpus;
  Observed<PciLink> link;      // now
  Observed<PciLink> link_max;  // of this device; the bridge above has its own
  Observed<bool> enabled;
  Observed<AccessControl> acs;  // needs root (configuration space above 64 bytes)
  Observed<bool> ats_enabled;   // needs root
  Observed<Bytes> max_payload;  // needs root
  Observed<Bytes> max_payload_supported;
  Observed<Bytes> max_read_request;  // needs root
  Observed<Bytes> largest_bar;       // with resizable BAR on: about the GPU's memory
  Observed<AerCounters> aer;
  Observed<std::uint32_t> virtual_functions;  // SR-IOV: configured
  Observed<std::uint32_t> virtual_functions_max;
  std::optional<PciAddress> physical_function;  // set on a VF
  Observed<std::string> slot;
};

inline std::uint32_t base_class(const PciDevice& device) {
  return device.class_code >> 16U;
}
inline bool is_bridge(const PciDevice& device) {
  return (device.class_code >> 8U) == 0x0604;
}

enum class IommuMode : std::uint8_t { kOff, kPassthrough, kTranslated };

struct Pci {
  std::vector<PciDevice> devices;  // by address
  Observed<IommuMode> iommu;
  [[nodiscard]] std::optional<std::uint32_t> find(const PciAddress& address) const;
};

// The device and the bridges above it, nearest first. Bounded, should parents ever form a ring.
std::vector<std::uint32_t> chain_of(const Pci& pci, std::uint32_t device);
// What a bridge is. Port types need root to read, so an unknown one follows from its place in the tree:
// below a root port sits a switch's upstream port, below that its downstream ports, and so on.
PciPort port_role(const Pci& pci, std::uint32_t bridge);

}  // namespace angio::model
