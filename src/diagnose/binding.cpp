#include "diagnose/binding.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/format.hpp"
#include "base/text.hpp"
#include "diagnose/job.hpp"
#include "knowledge/knowledge.hpp"

namespace angio::diagnose {
namespace {

using model::Machine;
using model::NumaNode;
using model::Process;

std::string percent(double share) {
  return fmt::format("{:.0f} %", 100 * share);
}

class Judge {
 public:
  Judge(const Machine& machine, const Process& process) : machine_(machine), process_(process) {
    for (const NumaNode& node : machine.numa.nodes) {
      if (!node.cpus.empty()) nodes_.insert(node.id.value);
    }
  }

  BindingVerdict run() {
    group_threads();
    find_gpu_nodes();
    place();
    count_pages();
    count_threads();
    word();
    return std::move(verdict_);
  }

 private:
  [[nodiscard]] CpuSet nodes_of(const CpuSet& cpus) const {
    CpuSet nodes;
    for (const NumaNode& node : machine_.numa.nodes) {
      if (node.cpus.intersects(cpus)) nodes.insert(node.id.value);
    }
    return nodes;
  }

  void group_threads() {
    for (const model::Thread& thread : process_.threads) {
      const CpuSet* allowed = thread.allowed.get();
      if (allowed == nullptr) continue;
      const auto group = std::ranges::find(verdict_.groups, *allowed, &ThreadGroup::allowed);
      if (group != verdict_.groups.end()) {
        ++group->threads;
      } else {
        verdict_.groups.push_back({*allowed, 1});
      }
    }
    std::ranges::stable_sort(verdict_.groups, std::greater{}, &ThreadGroup::threads);
    if (const model::Thread* main = main_thread()) verdict_.allowed = main->allowed.value_or({});
    if (!machine_.cpus.online.empty()) verdict_.allowed &= machine_.cpus.online;
    verdict_.cpu_nodes = nodes_of(verdict_.allowed);
  }

  [[nodiscard]] const model::Thread* main_thread() const {
    const auto main = std::ranges::find(process_.threads, process_.id, &model::Thread::id);
    if (main != process_.threads.end()) return &*main;
    return process_.threads.empty() ? nullptr : &process_.threads.front();
  }

  void find_gpu_nodes() {
    own_gpus_ = process_.gpus;
    if (has_stray_context(process_)) std::erase(own_gpus_, 0U);
    for (const std::uint32_t gpu : own_gpus_) {
      if (const auto node = gpu_node(machine_, gpu)) gpu_nodes_.insert(node->value);
    }
  }

  void place() {
    if (nodes_.size() == 1) {
      verdict_.bound = Bound::kOneNode;
    } else if (verdict_.allowed.empty() || verdict_.cpu_nodes.empty()) {
      verdict_.bound = Bound::kUnknown;
    } else if (verdict_.cpu_nodes == nodes_) {
      verdict_.bound = Bound::kNotBound;
    } else {
      const bool near = gpu_nodes_.empty() || gpu_nodes_.intersects(verdict_.cpu_nodes);
      verdict_.bound = near ? Bound::kNear : Bound::kAway;
    }
    verdict_.home = gpu_nodes_;
    if (verdict_.bound == Bound::kNear) verdict_.home |= verdict_.cpu_nodes;
    verdict_.trouble = verdict_.bound == Bound::kAway || verdict_.bound == Bound::kNotBound;
  }

  void count_pages() {
    const auto* bytes = process_.bytes_per_node.get();
    if (bytes == nullptr || verdict_.home.empty() || nodes_.size() == 1) return;
    std::uint64_t local = 0;
    for (const auto& [id, size] : *bytes) {
      const auto node = std::ranges::find(machine_.numa.nodes, NumaId{id}, &NumaNode::id);
      if (node != machine_.numa.nodes.end() && node->kind == model::NumaKind::kGpuMemory) continue;
      verdict_.all_bytes.value += size;
      if (verdict_.home.contains(id)) {
        local += size;
      } else {
        verdict_.remote_bytes.value += size;
        if (size > 0) away_.insert(id);
      }
    }
    if (verdict_.all_bytes.value == 0) return;
    verdict_.local_share = static_cast<double>(local) / static_cast<double>(verdict_.all_bytes.value);
  }

  void count_threads() {
    if (verdict_.bound != Bound::kNear && verdict_.bound != Bound::kAway) return;
    CpuSet home_cpus;
    for (const NumaNode& node : machine_.numa.nodes) {
      if (verdict_.home.contains(node.id.value)) home_cpus |= node.cpus;
    }
    for (const model::Thread& thread : process_.threads) {
      const CpuSet* allowed = thread.allowed.get();
      if (allowed != nullptr && !(*allowed & machine_.cpus.online).is_subset_of(verdict_.allowed)) {
        ++verdict_.free_threads;
        free_ |= *allowed;
      }
      const std::uint32_t* last = thread.last_cpu.get();
      if (last != nullptr && !home_cpus.contains(*last)) ++verdict_.strayed_threads;
    }
  }

  [[nodiscard]] std::string gpu_words() const {
    std::vector<std::string> words;
    for (const std::uint32_t gpu : own_gpus_) {
      const auto node = gpu_node(machine_, gpu);
      words.push_back(
          fmt::format("GPU {} is on {}", gpu,
                      node ? fmt::format("node {}", node->value) : std::string("an unknown node")));
    }
    return join(words, ", ");
  }

  void word() {
    std::vector<std::string> parts{head()};
    if (nodes_.size() > 1) {
      if (const std::string gpus = gpu_words(); !gpus.empty()) parts.push_back(gpus);
      if (verdict_.local_share) parts.push_back(percent(*verdict_.local_share) + " of pages local");
    }
    verdict_.text = join(parts, ", ");
    remark_memory();
    remark_threads();
    remark_nics();
  }

  [[nodiscard]] std::string head() const {
    const std::size_t cpus = verdict_.allowed.size();
    const std::size_t all = machine_.cpus.online.size();
    switch (verdict_.bound) {
      case Bound::kOneNode:
        return "one NUMA node: nothing to bind" +
               (cpus > 0 && cpus < all ? fmt::format("; may use {} of {}", cpus, count_of(all, "CPU")) : "");
      case Bound::kNear:
        return fmt::format("bound: {} of {}", count_of(cpus, "CPU"), nodes_in_words(verdict_.cpu_nodes));
      case Bound::kAway:
        return "bound to " + nodes_in_words(verdict_.cpu_nodes);
      case Bound::kNotBound:
        return fmt::format("not bound: {} of all {} nodes", count_of(cpus, "CPU"), nodes_.size());
      case Bound::kUnknown:
        break;
    }
    return nodes_.empty() ? "the machine's NUMA nodes are unknown" : "allowed CPUs unknown";
  }

  void remark_memory() {
    if (process_.bytes_per_node.reason() == model::Reason::kDenied &&
        process_.bytes_per_node.is_unreadable()) {
      verdict_.remarks.emplace_back("where its pages lie is unknown: numa_maps denied; sudo angio ps");
    }
    if (!verdict_.local_share) return;
    const double remote = 1 - *verdict_.local_share;
    if (!(remote > knowledge::threshold("process.remote-pages"))) return;
    verdict_.remarks.push_back(fmt::format("{} of pages remote ({} of {} on {})", percent(remote),
                                           in_words(verdict_.remote_bytes), in_words(verdict_.all_bytes),
                                           nodes_in_words(away_)));
    // Less than a framework's own libraries is no trouble.
    verdict_.trouble = verdict_.trouble || static_cast<double>(verdict_.remote_bytes.value) >
                                               knowledge::threshold("process.remote-bytes");
  }

  void remark_threads() {
    const std::size_t all = process_.threads.size();
    if (verdict_.free_threads > 0) {
      const bool anywhere = nodes_of(free_) == nodes_;
      verdict_.remarks.push_back(
          fmt::format("threads started before binding: {} of {} may run {}", verdict_.free_threads, all,
                      anywhere ? "anywhere" : "on " + nodes_in_words(nodes_of(free_)) + " too"));
      verdict_.trouble = true;
    }
    if (verdict_.strayed_threads > 0) {
      verdict_.remarks.push_back(fmt::format("{} of {} last ran away from {}", verdict_.strayed_threads,
                                             count_of(all, "thread"), nodes_in_words(verdict_.home)));
    }
  }

  void remark_nics() {
    if (gpu_nodes_.empty() || nodes_.size() == 1) return;
    for (const std::uint32_t index : process_.rdma.value_or({})) {
      if (index >= machine_.rdma.size()) continue;
      const model::RdmaDevice& nic = machine_.rdma[index];
      const NumaId* node = nic.numa.get();
      if (node != nullptr && !gpu_nodes_.contains(node->value))
        verdict_.remarks.push_back(fmt::format("NIC {} is on node {}", nic.name, node->value));
    }
  }

  const Machine& machine_;
  const Process& process_;
  CpuSet nodes_;                         // with CPUs
  std::vector<std::uint32_t> own_gpus_;  // without a stray context on GPU 0
  CpuSet gpu_nodes_;
  CpuSet away_;  // nodes with remote pages
  CpuSet free_;  // CPUs of free threads
  BindingVerdict verdict_;
};

}  // namespace

std::string nodes_in_words(const CpuSet& nodes) {
  return (nodes.size() == 1 ? "node " : "nodes ") + to_list(nodes);
}

std::optional<NumaId> gpu_node(const Machine& machine, std::uint32_t gpu) {
  if (gpu >= machine.gpus.size()) return std::nullopt;
  const NumaId* node = machine.gpus[gpu].numa.get();
  return node != nullptr ? std::optional(*node) : std::nullopt;
}

BindingVerdict judge_binding(const Machine& machine, const Process& process) {
  return Judge(machine, process).run();
}

}  // namespace angio::diagnose
