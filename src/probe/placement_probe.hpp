// As much of this machine as placing a rank needs, in as few reads as possible: CPUs with their masks and
// cores, NUMA nodes, GPUs by address with their nodes. The result makes the same plan as probe_machine's, a
// hundred times sooner, because a launcher starts this before every rank. It is no description of the
// machine: names, links, counters, software and (unless asked for) network adapters are not in it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "host/root.hpp"
#include "model/machine.hpp"

namespace angio::probe {

struct PlacementQuestion {
  bool caches = false;    // which cores share a last-level cache
  bool packages = false;  // packages CPU by CPU; otherwise one CPU speaks for its node
  bool memory = false;    // sizes, free memory, huge pages
  bool adapters = false;  // network adapters and the bridges between them and the GPUs
  bool uuids = false;     // the visible-devices variables name GPUs by UUID
};

// The live files and, below "/@access", whether this process may open a device.
Result<std::unique_ptr<host::Root>> make_placement_root();

model::Machine probe_placement(const host::Root& root, const PlacementQuestion& question);

// True when only NVML can tell what the plan needs: the GPU of a MIG device, a UUID that the driver's files
// do not have, the node of a GPU that the PCI tree does not know. Then probe_machine is worth its time.
// words: the variables' values ("0,1", "MIG-…").
bool needs_nvml(const model::Machine& machine, const std::vector<std::string>& words);

}  // namespace angio::probe
