// What must hold in every log of NCCL whatever it decided: rings go through every rank once, channels keep to
// the limit of the release, nothing crosses nodes but the network, and P2P goes no farther than its level. A
// breach means that the run, or our reading of it, is not to be trusted. No judgement of speed.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "model/dryrun.hpp"
#include "nccl/topology_xml.hpp"

namespace angio::dryrun {

// What is broken, one sentence each; empty: all holds. topologies: the tree of each node as NCCL got it, or
// one for all; empty: paths are not looked at.
std::vector<std::string> broken_invariants(const model::DryRun& run,
                                           std::span<const nccl::Element> topologies);

}  // namespace angio::dryrun
