// In words why NCCL decided as it did: which link bounds the bandwidth, why there is no NVLS, why GPUDirect
// is off, why a pair goes through host memory. Only what topology, settings, version and log show; what
// cannot be told from them says so. Pure.
#pragma once

#include <string>
#include <vector>

#include "model/dryrun.hpp"
#include "nccl/topology_xml.hpp"

namespace angio::dryrun {

struct Reason {
  std::string question;  // "Why 12 channels of 30 GB/s?"
  std::string answer;
  std::vector<std::string> evidence;  // lines of the log, elements of the topology, settings
};
// topology: the <system> of node 0 as NCCL arrives at it, GPUs and links included: NodeDesign::tree.
std::vector<Reason> explain(const model::DryRun& run, const nccl::Element& topology);

}  // namespace angio::dryrun
