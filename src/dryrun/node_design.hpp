// From a topology to what a phantom node needs: the file NCCL loads, and GPUs, links and NICs for the
// stand-ins. Fills what a topology file leaves to NVML (GPUs without <gpu>, NVLinks) from a GPU model of
// data/, and says so. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "model/machine.hpp"
#include "nccl/topology_xml.hpp"
#include "phantom/hardware.hpp"

namespace angio::dryrun {

// maxNvmlDevices, src/include/nvmlwrap.h: as many GPUs of a node as NCCL asks NVML for.
inline constexpr std::uint32_t kMostGpus = 32;

struct DesignOptions {
  std::string gpu;  // --gpu h100-sxm: the model of GPUs the file does not describe; empty: not given
  std::uint32_t cuda_driver = 0;  // 13000; 0: that of the newest toolkit known, which has every feature
  std::optional<std::uint32_t> ranks = std::nullopt;  // of this node; none: one per GPU
  std::uint32_t node = 0;                             // NICs of other nodes than 0 get GUIDs of their own
};

// "--node 1:without=mlx5_3", "--node 2:order=0,2,1,3", "--node 0:NCCL_IB_HCA=mlx5_0", "--node
// 3:without=gpu:5", "--node 1:ranks=4", "--node 1:slow=mlx5_3:100" (Gb/s). Several parts joined by ';'.
// gpu:N is CUDA device N of the whole node; order counts the devices that are left, as CUDA would.
struct NodeChange {
  std::uint32_t node = 0;
  std::vector<std::string> without;  // NICs by name, "gpu:N"
  std::vector<std::uint32_t> order;  // CUDA devices in the order of ranks
  std::optional<std::uint32_t> ranks;
  std::vector<std::pair<std::string, std::uint32_t>> speed;  // Gb/s by NIC
  std::vector<std::pair<std::string, std::string>> environment;
};
Result<NodeChange> parse_node_change(std::string_view text);

struct NodeDesign {
  std::string topology;  // for NCCL_TOPO_FILE
  nccl::Element tree;    // what NCCL arrives at: the file and what it asks NVML for
  phantom::Hardware hardware;
  std::vector<std::uint32_t> devices;  // CUDA devices of the ranks, in order
  bool needs_model = false;            // some GPU, its capability or its NVLinks came from a model
  std::vector<std::string> notes;      // what was assumed
};

// root: a <system>. Errors: no GPU and no model to place, a name in a change that is not there (with what
// there is), an unknown model (with those known).
Result<NodeDesign> design_node(const nccl::Element& root, const DesignOptions& options,
                               const NodeChange* change);

std::vector<std::string> gpu_models();  // the words --gpu takes

}  // namespace angio::dryrun
