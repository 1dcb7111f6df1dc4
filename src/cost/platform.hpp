// The hardware that a collective runs on, as far as its cost goes: GPUs of a node, what joins them, the NICs
// that a node has for them. Made of a Machine, or of what a result says about its devices. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "base/units.hpp"
#include "model/machine.hpp"

namespace angio::cost {

enum class Fabric : std::uint8_t {
  kNvSwitch,    // any GPU to any other at full rate
  kNvLinkMesh,  // direct links, not to all: cube mesh, 4-GPU mesh, bridges
  kPcie,        // through PCIe and the CPUs
  kXgmi,
  kHost,  // no GPU: memory of the hosts
  kUnknown,
};

struct Platform {
  std::string name;        // of the GPU, as printed; empty: host memory
  std::string id;          // key in data/cost*.toml that its constants are from; empty: none fits
  std::uint32_t gpus = 0;  // of a node that take part
  int capability = 0;      // 90: Hopper; 0: unknown
  Fabric fabric = Fabric::kUnknown;
  BytesPerSecond link;  // one direction of one GPU to all others of the node, sum of its links
  std::uint32_t links = 0;
  BytesPerSecond link_each;
  bool nvls = false;         // the switch reduces
  BytesPerSecond host_link;  // one direction of one GPU to its CPU: PCIe or C2C
  std::uint32_t nics = 0;    // of a node, for the GPUs
  BitsPerSecond nic_rate;    // of one, payload not deducted
  std::string nic_kind;      // "InfiniBand", "RoCE", "EFA", "TCP"; empty: unknown
  BytesPerSecond nic_host;   // PCIe of one NIC, one direction; 0: unknown
  std::string cpu_vendor;    // "intel", "amd", "arm"; empty: unknown
  BytesPerSecond
      nic_path;  // of one NIC that only the link between the sockets reaches, by that link; 0: near
  std::uint32_t domain = 0;              // GPUs that NVLink joins beyond the node (NVL72); 0: the node alone
  bool links_known = true;               // link is of this machine, not of the standard one of its name
  bool nics_known = true;                // the same for nics, nic_rate and nic_kind
  std::vector<std::string> assumptions;  // whole sentences
};

// gpus_used: of this machine, in the job (0: all). Errors: no GPU and no NIC.
// gpu_name: of GPUs that the source leaves without one (a matrix, a topology file), as a result names them.
Result<Platform> platform_of(const model::Machine& machine, std::uint32_t gpus_used,
                             std::string_view gpu_name = {});

// By what a result names: "NVIDIA H100 80GB HBM3", GPUs of a node, nodes. None: an unknown name. What a name
// does not tell (NICs) is taken from the standard machine of that name and said as an assumption.
std::optional<Platform> platform_of_name(std::string_view gpu, std::uint32_t gpus_of_node,
                                         std::uint32_t nodes);

// The links of data/cost.toml that its constants are from, "nvswitch-9+infiniband".
std::string platform_id(const Platform& platform);
std::string_view node_link_of(const Platform& platform);     // "nvswitch-9"; empty: none fits
std::string_view network_link_of(const Platform& platform);  // "infiniband"; empty: no NIC

}  // namespace angio::cost
