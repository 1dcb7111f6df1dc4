// Memory of NUMA nodes: missing, uneven, used up, huge pages on one side, host pages on GPU memory.
#include <algorithm>

#include "base/format.hpp"
#include "diagnose/rules/numa.hpp"
#include "diagnose/rules/support.hpp"
#include "knowledge/knowledge.hpp"

namespace angio::diagnose::numa {
namespace {

using model::Machine;
using model::NumaKind;
using model::NumaNode;

std::vector<const NumaNode*> of_kind(const Machine& machine, NumaKind kind) {
  std::vector<const NumaNode*> found;
  for (const NumaNode& node : machine.numa.nodes) {
    if (node.kind == kind) found.push_back(&node);
  }
  return found;
}

}  // namespace

void node_without_memory(const Machine& machine, Outcome& outcome) {
  // A whole-machine capture without any memory figure says nothing about one node.
  const auto with_memory = of_kind(machine, NumaKind::kOrdinary);
  if (machine.numa.nodes.size() < 2 || with_memory.empty() || machine.numa.discarded)
    return outcome.not_applicable();
  const auto bare = of_kind(machine, NumaKind::kCpuOnly);
  Gaps gaps("memory size");
  for (const NumaNode* node : with_memory) {
    if (!node->memory.is_known()) gaps.add(node_label(*node), node->memory);
  }
  if (bare.empty()) return gaps.report(outcome);
  Draft draft;
  for (const NumaNode* node : bare) {
    std::string text = node_label(*node) + " has CPUs " + to_list(node->cpus) + " and no memory";
    if (const auto gpus = gpus_on(machine, *node); !gpus.empty())
      text += "; " + list_of(gpus) + (gpus.size() == 1 ? " hangs off it" : " hang off it");
    draft.evidence.push_back(seen(machine, node->memory.source(), std::move(text)));
  }
  draft.title =
      count_of(bare.size(), "NUMA node") + (bare.size() == 1 ? " has" : " have") + " CPUs but no memory";
  draft.rank = static_cast<double>(bare.size()) / static_cast<double>(cpu_nodes(machine).size());
  draft.severity = moves_data(machine) ? warning_on_bare_metal(machine) : model::Severity::kInfo;
  outcome.fire(std::move(draft));
}

void memory_uneven(const Machine& machine, Outcome& outcome) {
  const auto nodes = of_kind(machine, NumaKind::kOrdinary);
  if (nodes.size() < 2 || machine.numa.discarded) return outcome.not_applicable();
  Gaps gaps("memory size");
  Bytes most{};
  for (const NumaNode* node : nodes) {
    if (!node->memory.is_known()) gaps.add(node_label(*node), node->memory);
    most = std::max(most, node->memory.value_or({}));
  }
  if (!gaps.empty() || most.value == 0) return gaps.report(outcome);
  Draft draft;
  std::vector<std::string> small;
  for (const NumaNode* node : nodes) {
    const double share = node->memory.value_or(most) / most;
    draft.evidence.push_back(
        seen(machine, node->memory.source(), node_label(*node) + ": " + in_words(node->memory.value_or({}))));
    if (share >= knowledge::threshold("numa.memory.least-share")) continue;
    small.push_back(node_label(*node));
    draft.rank = std::max(draft.rank, 1 - share);
  }
  if (small.empty()) return;
  draft.title = "NUMA " + list_of(small) + (small.size() == 1 ? " has" : " have") +
                " far less memory than the largest node (" + in_words(most) + ")";
  draft.severity = warning_on_bare_metal(machine);
  outcome.fire(std::move(draft));
}

void memory_exhausted(const Machine& machine, Outcome& outcome) {
  const auto nodes = of_kind(machine, NumaKind::kOrdinary);
  if (nodes.size() < 2 || machine.gpus.empty() || machine.numa.discarded) return outcome.not_applicable();
  Gaps gaps("free memory");
  std::vector<const NumaNode*> full;
  const NumaNode* roomy = nullptr;
  for (const NumaNode* node : nodes) {
    const Bytes* size = node->memory.get();
    const Bytes* free = node->memory_free.get();
    if (size == nullptr || free == nullptr || size->value == 0) {
      gaps.add(node_label(*node), node->memory_free);
      continue;
    }
    const double share = *free / *size;
    if (share < knowledge::threshold("numa.memory.exhausted") && !gpus_on(machine, *node).empty())
      full.push_back(node);
    if (share > knowledge::threshold("numa.memory.roomy")) roomy = node;
  }
  if (!full.empty() && roomy != nullptr) {
    Draft draft;
    std::vector<std::string> names;
    for (const NumaNode* node : full) {
      const auto gpus = gpus_on(machine, *node);
      names.push_back(node_label(*node));
      draft.devices.insert(draft.devices.end(), gpus.begin(), gpus.end());
      draft.evidence.push_back(seen(machine, node->memory_free.source(),
                                    node_label(*node) + ": " + in_words(*node->memory_free.get()) +
                                        " free of " + in_words(*node->memory.get()) + "; nearest to " +
                                        list_of(gpus)));
    }
    draft.evidence.push_back(seen(machine, roomy->memory_free.source(),
                                  node_label(*roomy) + ": " + in_words(*roomy->memory_free.get()) + " free"));
    draft.title = "NUMA " + list_of(names) + (names.size() == 1 ? " has" : " have") +
                  " almost no free memory: new buffers of its GPUs land on other nodes";
    outcome.fire(std::move(draft));
  }
  gaps.report(outcome);
}

// ---- huge pages

namespace {

bool any_huge_pages(const NumaNode& node) {
  return std::ranges::any_of(node.huge_pages, [](const model::HugePages& pages) { return pages.total > 0; });
}

}  // namespace

// no undecided: a node that shows no huge pages directory has none.
void huge_pages_one_sided(const Machine& machine, Outcome& outcome) {
  const auto nodes = of_kind(machine, NumaKind::kOrdinary);
  const auto with = std::ranges::count_if(nodes, [](const NumaNode* node) { return any_huge_pages(*node); });
  if (nodes.size() < 2 || with == 0) return outcome.not_applicable();
  if (static_cast<std::size_t>(with) == nodes.size()) return;
  Draft draft;
  for (const NumaNode* node : nodes) {
    for (const model::HugePages& pages : node->huge_pages) {
      if (pages.total == 0) continue;
      draft.evidence.push_back(
          {node_label(*node) + ": " + std::to_string(pages.total) + " pages of " + in_words(pages.page_size),
           "/sys/devices/system/node/node" + std::to_string(node->id.value) + "/hugepages"});
    }
  }
  draft.title =
      "Huge pages are reserved on " + std::to_string(with) + " of " + count_of(nodes.size(), "NUMA node");
  outcome.fire(std::move(draft));
}

// ---- GPU memory as nodes

void host_pages_on_gpu(const Machine& machine, Outcome& outcome) {
  const auto gpu_nodes = of_kind(machine, NumaKind::kGpuMemory);
  if (gpu_nodes.empty() || machine.processes.empty()) return outcome.not_applicable();
  Gaps gaps("pages by node");
  for (const model::Process& process : machine.processes) {
    const auto* pages = process.bytes_per_node.get();
    const std::string label = "process " + std::to_string(process.id);
    if (pages == nullptr) {
      gaps.add(label, process.bytes_per_node);
      continue;
    }
    Draft draft;
    std::uint64_t sum = 0;
    for (const NumaNode* node : gpu_nodes) {
      const auto found = pages->find(node->id.value);
      if (found == pages->end() || found->second == 0) continue;
      sum += found->second;
      draft.evidence.push_back(
          seen(machine, process.bytes_per_node.source(),
               in_words(Bytes{found->second}) + " on " + node_label(*node) + ", GPU memory"));
    }
    if (sum == 0) continue;
    draft.devices = {label};
    draft.title =
        label + " (" + process.command + ") has " + in_words(Bytes{sum}) + " of ordinary pages in GPU memory";
    outcome.fire(std::move(draft));
  }
  gaps.report(outcome);
}

}  // namespace angio::diagnose::numa
