// Is a process where its GPU is: which node's CPUs it may use, where its pages lie, which threads run free.
// Pure: Machine and Process in, one verdict out. No advice on what to bind where: that is plan.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/cpu_set.hpp"
#include "model/machine.hpp"

namespace angio::diagnose {

enum class Bound : std::uint8_t {
  kUnknown,   // the allowed CPUs could not be read
  kOneNode,   // the machine has one node with CPUs
  kNear,      // CPUs of some nodes, its GPU's among them (or the GPU's node is unknown, or it has none)
  kAway,      // CPUs of some nodes, none of them its GPU's
  kNotBound,  // CPUs of every node
};

// Threads of a process that may use the same CPUs.
struct ThreadGroup {
  CpuSet allowed;
  std::size_t threads = 0;
};

struct BindingVerdict {
  Bound bound = Bound::kUnknown;
  std::string text;                   // "bound: 14 CPUs of node 0, GPU 0 is on node 0, 98 % of pages local"
  std::vector<std::string> remarks;   // "22 % of pages remote (4.1 GiB of 18.6 GiB on node 1)"
  bool trouble = false;               // worth a look: away, not bound, remote pages, free threads
  CpuSet allowed;                     // of the main thread
  CpuSet cpu_nodes;                   // nodes of these CPUs
  CpuSet home;                        // nodes that count as local: the GPU's, or those bound to
  std::optional<double> local_share;  // of pages; GPU memory nodes left out
  Bytes remote_bytes;
  Bytes all_bytes;
  std::vector<ThreadGroup> groups;  // largest first
  std::size_t free_threads = 0;     // may use CPUs that the main thread may not
  std::size_t strayed_threads = 0;  // last ran on a CPU away from home
};

BindingVerdict judge_binding(const model::Machine& machine, const model::Process& process);

// "node 0", "nodes 0-1".
std::string nodes_in_words(const CpuSet& nodes);
// Whether the GPU's node is known and which; none for GPUs outside the machine.
std::optional<NumaId> gpu_node(const model::Machine& machine, std::uint32_t gpu);

}  // namespace angio::diagnose
