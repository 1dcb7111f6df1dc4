// numactl: which nodes, around what. One node is right for a rank and wrong for a launcher of many.
#include <algorithm>
#include <map>
#include <set>

#include "base/cpu_set.hpp"
#include "base/text.hpp"
#include "lint/rules/placement_rules.hpp"

namespace angio::lint {
namespace {

using model::Severity;

struct Policy {
  std::optional<Option> cpus;      // --cpunodebind
  std::optional<Option> cpu_list;  // --physcpubind
  std::optional<Option> strict;    // --membind
  std::optional<Option> interleave;
  bool soft = false;  // --preferred, --localalloc
};

Policy policy_of(const Stage& numactl) {
  Policy policy;
  policy.cpus = find_option(numactl, {"--cpunodebind", "--cpubind", "-N", "-c"});
  policy.cpu_list = find_option(numactl, {"--physcpubind", "-C"});
  policy.strict = find_option(numactl, {"--membind", "-m"});
  policy.interleave = find_option(numactl, {"--interleave", "-i"});
  policy.soft =
      find_option(numactl, {"--preferred", "-p", "--preferred-many", "-P", "--localalloc", "-l", "--local"})
          .has_value();
  return policy;
}

std::string list_text(const std::vector<std::uint32_t>& numbers) {
  CpuSet set;
  for (const auto number : numbers)
    set.insert(number);
  return to_list(set);
}

// "0 and 1"
std::string both(const std::vector<std::uint32_t>& numbers) {
  if (numbers.size() == 2) return std::to_string(numbers[0]) + " and " + std::to_string(numbers[1]);
  return list_text(numbers);
}

bool takes_allocations(const model::NumaNode& node) {
  return node.kind != model::NumaKind::kGpuMemory && node.kind != model::NumaKind::kCpuOnly &&
         node.kind != model::NumaKind::kEmpty && node.kind != model::NumaKind::kCxl;
}

std::set<std::uint32_t> memory_nodes(const model::Machine& machine) {
  std::set<std::uint32_t> nodes;
  for (const auto& node : machine.numa.nodes)
    if (takes_allocations(node)) nodes.insert(node.id.value);
  return nodes;
}

const model::NumaNode* find_node(const model::Machine& machine, std::uint32_t id) {
  for (const auto& node : machine.numa.nodes)
    if (node.id.value == id) return &node;
  return nullptr;
}

// Which program numactl starts, for sentences; empty when it only shows.
const Stage* started_by(const Line& line, const Stage& numactl) {
  for (std::size_t i = 0; i + 1 < line.stages.size(); ++i)
    if (&line.stages[i] == &numactl) return &line.stages[i + 1];
  return nullptr;
}

class Numactl {
 public:
  Numactl(const Job& job, const Context& context, Complaints& out) : job_(job), context_(context), out_(out) {
    concerns_gpus_ = concerns_gpus(job);
    std::size_t part = 0;
    for (const auto& line : job.lines) {
      if (line.stages.back().program == "wait") ++part;
      part_of_[&line] = part;
      const auto* numactl = find_stage(line, {"numactl"});
      if (numactl == nullptr || find_group_launcher(line) == nullptr) continue;
      if (const auto cpus = policy_of(*numactl).cpus) group_nodes_[part].insert(cpus->value);
    }
  }

  void check(const Line& line, const Stage& numactl) {
    const auto policy = policy_of(numactl);
    missing(policy.cpus, "NUMA node");
    missing(policy.strict, "NUMA node");
    missing(policy.interleave, "NUMA node");
    missing_cpu(policy.cpu_list);
    // Programs on CPUs choose high-bandwidth memory like that.
    if (concerns_gpus_ || find_stage(line, {"python"}) != nullptr || find_group_launcher(line) != nullptr) {
      different_nodes(policy);
      memory_alone(line, policy);
    }
    several_nodes(policy);
    strict_memory(policy);
    far_gpu(line, policy);
    outside_mask(line, numactl, policy);
    around_srun(line, numactl);
    if (const auto* program = started_by(line, numactl)) {
      interleaved(*program, policy);
      launcher(line, numactl, policy);
    }
  }

 private:
  void add(std::string_view rule, const Place& place, std::string message, std::string advice) {
    out_.push_back(complain(rule, *job_.script, place, std::move(message), std::move(advice)));
  }

  void missing(const std::optional<Option>& option, std::string_view what) {
    const auto numbers = option && !option->dynamic ? numbers_of(option->value) : std::nullopt;
    if (!numbers) return;
    for (const auto& machine : context_.machines) {
      if (machine.numa.nodes.empty()) continue;
      for (const auto number : *numbers) {
        if (find_node(machine, number) != nullptr) continue;
        add("placement.numactl.missing-node", option->word->place,
            shown(*option) + ": " + machine.name + " has no " + std::string(what) + " " +
                std::to_string(number) + "; numactl stops with an error",
            "nodes of " + machine.name + ": " + list_text(ids_of(machine)));
        return;
      }
    }
  }

  static std::vector<std::uint32_t> ids_of(const model::Machine& machine) {
    std::vector<std::uint32_t> ids;
    for (const auto& node : machine.numa.nodes)
      ids.push_back(node.id.value);
    return ids;
  }

  void missing_cpu(const std::optional<Option>& option) {
    const auto wanted = option && !option->dynamic ? parse_cpu_list(option->value) : std::nullopt;
    if (!wanted || wanted->empty()) return;
    for (const auto& machine : context_.machines) {
      if (machine.cpus.online.empty() || wanted->is_subset_of(machine.cpus.online)) continue;
      add("placement.cpus.missing", option->word->place,
          shown(*option) + ": " + machine.name + " has no CPU " + to_list(*wanted - machine.cpus.online),
          "CPUs of " + machine.name + ": " + to_list(machine.cpus.online));
      return;
    }
  }

  void different_nodes(const Policy& policy) {
    if (!policy.cpus || !policy.strict || policy.cpus->dynamic || policy.strict->dynamic) return;
    const auto cpus = numbers_of(policy.cpus->value);
    const auto memory = numbers_of(policy.strict->value);
    if (!cpus || !memory) return;
    for (const auto node : *memory)
      if (std::ranges::find(*cpus, node) != cpus->end() || is_without_cpus(node)) return;
    add("placement.numactl.different-nodes", policy.strict->word->place,
        "CPUs of node " + list_text(*cpus) + ", memory of node " + list_text(*memory) +
            " only: every access crosses between the nodes",
        "name the same node in both options");
  }

  // High-bandwidth or CXL memory is a node without CPUs: memory from elsewhere is then meant.
  [[nodiscard]] bool is_without_cpus(std::uint32_t id) const {
    return std::ranges::any_of(context_.machines, [&](const auto& machine) {
      const auto* node = find_node(machine, id);
      return node != nullptr && node->cpus.empty();
    });
  }

  void several_nodes(const Policy& policy) {
    if (!policy.strict || policy.strict->dynamic) return;
    const bool all = policy.strict->value == "all";
    const auto nodes = numbers_of(policy.strict->value);
    if (!all && (!nodes || nodes->size() < 2)) return;
    const bool cpus_too = policy.cpus && policy.cpus->value == policy.strict->value;
    const std::string what = cpus_too ? "CPUs and memory" : "memory";
    if (const auto* machine = covered(nodes, all)) {
      add("placement.numactl.several-nodes", policy.strict->word->place,
          shown(*policy.strict) + " names every node of " + machine->name + ": " + what +
              " are bound to nothing",
          "one rank, one node: that of its GPU (angio plan)");
      return;
    }
    if (!context_.machines.empty() && !all) return;  // part of a machine with more nodes: a socket, perhaps
    const bool pair = cpus_too && (all || both(*nodes) == "0 and 1");
    const std::string where = all ? "all nodes" : "nodes " + both(*nodes);
    auto complaint = complain("placement.numactl.several-nodes", *job_.script, policy.strict->word->place,
                              shown(*policy.strict) + ": " + what + " may come from " + where +
                                  (pair && !all ? "; on a host with two nodes that binds nothing"
                                                : "; which of them is left to chance"),
                              "one rank, one node: that of its GPU (angio plan)");
    out_.push_back(pair ? std::move(complaint) : with_severity(std::move(complaint), Severity::kInfo));
  }

  [[nodiscard]] const model::Machine* covered(const std::optional<std::vector<std::uint32_t>>& nodes,
                                              bool all) const {
    for (const auto& machine : context_.machines) {
      const auto memory = memory_nodes(machine);
      if (memory.size() < 2) continue;
      const auto named = [&](std::uint32_t id) {
        return all || std::ranges::find(*nodes, id) != nodes->end();
      };
      if (std::ranges::all_of(memory, named)) return &machine;
    }
    return nullptr;
  }

  void memory_alone(const Line& line, const Policy& policy) {
    if (!policy.strict || policy.cpus || policy.cpu_list || policy.strict->value == "all") return;
    if (find_stage(line, {"taskset", "mpirun", "srun", "docker", "chrt"}) != nullptr) return;
    add("placement.numactl.memory-without-cpus", policy.strict->word->place,
        shown(*policy.strict) +
            " binds the memory, but not the CPUs: threads run on any node and reach it from afar",
        "add --cpunodebind=" + policy.strict->value);
  }

  void strict_memory(const Policy& policy) {
    if (!policy.strict || said_strict_) return;
    said_strict_ = true;
    add("placement.numactl.strict-memory", policy.strict->word->place,
        shown(*policy.strict) +
            " is strict: when that memory is full, allocations fail, pinned ones with CUDA's "
            "\"out of memory\"",
        "--preferred=NODE takes the node first and spills over instead of failing");
  }

  // CUDA_VISIBLE_DEVICES=4 numactl --cpunodebind=0 …, where a snapshot knows that GPU 4 hangs off node 1.
  void far_gpu(const Line& line, const Policy& policy) {
    const auto nodes = policy.cpus && !policy.cpus->dynamic ? numbers_of(policy.cpus->value) : std::nullopt;
    const auto visible = variable_at(line, "CUDA_VISIBLE_DEVICES");
    const auto gpus = visible ? numbers_of(*visible) : std::nullopt;
    if (!nodes || !gpus) return;
    for (const auto& machine : context_.machines) {
      std::optional<std::uint32_t> home;
      const bool all_far = std::ranges::all_of(*gpus, [&](std::uint32_t index) {
        const auto* node = index < machine.gpus.size() ? machine.gpus[index].numa.get() : nullptr;
        if (node != nullptr) home = node->value;
        return node != nullptr && std::ranges::find(*nodes, node->value) == nodes->end();
      });
      if (!all_far || !home) continue;
      add("placement.numactl.far-gpu", policy.cpus->word->place,
          shown(*policy.cpus) + " with CUDA_VISIBLE_DEVICES=" + *visible + ": on " + machine.name +
              (gpus->size() == 1 ? " this GPU hangs" : " these GPUs hang") + " off node " +
              std::to_string(*home),
          "--cpunodebind=" + std::to_string(*home));
      return;
    }
  }

  // numactl reads what its parent may use, and refuses CPUs beyond it.
  void outside_mask(const Line& line, const Stage& numactl, const Policy& policy) {
    const auto inner =
        policy.cpu_list && !policy.cpu_list->dynamic ? parse_cpu_list(policy.cpu_list->value) : std::nullopt;
    const auto* outer = find_stage(line, {"taskset", "docker"});
    if (!inner || inner->empty() || outer == nullptr || outer > &numactl) return;
    const auto option = outer->program == "docker" ? find_option(*outer, {"--cpuset-cpus"})
                                                   : find_option(*outer, {"-c", "--cpu-list"});
    const auto mask = option && !option->dynamic ? parse_cpu_list(option->value) : std::nullopt;
    if (!mask || mask->empty() || inner->is_subset_of(*mask)) return;
    add("placement.cpus.outside-mask", policy.cpu_list->word->place,
        shown(*policy.cpu_list) + " lies outside the CPUs that " + outer->program + " " + shown(*option) +
            " leaves: numactl stops with an error",
        "name CPUs of " + option->value + ", or bind in one place only");
  }

  void around_srun(const Line& line, const Stage& numactl) {
    const auto* program = started_by(line, numactl);
    if (program == nullptr || program->program != "srun") return;
    add("placement.numactl.around-srun", numactl.place(),
        "numactl stands before srun: it binds the srun client; the tasks are started by slurmstepd and stay "
        "unbound",
        "srun … numactl … PROGRAM, or srun --cpu-bind and --mem-bind");
  }

  void interleaved(const Stage& program, const Policy& policy) {
    if (!policy.interleave) return;
    if (program.program != "python" && program.program != "torchrun" && program.program != "deepspeed" &&
        program.program != "accelerate")
      return;
    add("placement.numactl.interleave", policy.interleave->word->place,
        shown(*policy.interleave) +
            " spreads the pages of the rank over these nodes: part of its copies to the GPU "
            "come from the far node",
        "for a process with one GPU prefer that GPU's node");
  }

  // One node around a program that starts several ranks.
  void launcher(const Line& line, const Stage& numactl, const Policy& policy) {
    const auto* group = find_group_launcher(line);
    if (group == nullptr) return tasks(line, numactl, policy);
    if (group < &numactl || !policy.cpus || policy.cpus->dynamic) return;
    const auto nodes = numbers_of(policy.cpus->value);
    if (!nodes || nodes->size() != 1) return;
    const auto ranks = local_ranks(line, *group, job_.allocation);
    const bool many = ranks ? *ranks > 1 : starts_all(*group);
    if (!many) return;
    if (other_groups(line, policy.cpus->value)) return group_of_ranks(policy, ranks);
    all_on_one(line, *group, policy, nodes->front(), ranks);
  }

  // srun starts numactl once a task, each time with the same node.
  void tasks(const Line& line, const Stage& numactl, const Policy& policy) {
    const auto* srun = find_stage(line, {"srun"});
    const auto* python = find_stage(line, {"python"});
    if (srun == nullptr || srun > &numactl || python == nullptr || !policy.cpus || policy.cpus->dynamic)
      return;
    const auto nodes = numbers_of(policy.cpus->value);
    const auto count = tasks_per_node(job_, &line, srun);
    if (!nodes || nodes->size() != 1 || count.value_or(1) < 2) return;
    all_on_one(line, *srun, policy, nodes->front(), count);
  }

  static bool starts_all(const Stage& group) {
    if (group.program == "deepspeed") return true;
    const auto count = find_option(group, {"--nproc-per-node"});
    return count && (count->value == "gpu" || count->value == "auto");
  }

  // Another launcher before the same "wait" is bound to another node: the ranks are split on purpose.
  [[nodiscard]] bool other_groups(const Line& line, std::string_view nodes) const {
    const auto group = group_nodes_.find(part_of_.at(&line));
    return group != group_nodes_.end() &&
           std::ranges::any_of(group->second, [&](const std::string& other) { return other != nodes; });
  }

  void group_of_ranks(const Policy& policy, std::optional<long> ranks) {
    if (said_group_) return;
    said_group_ = true;
    add("placement.numactl.group-of-ranks", policy.cpus->word->place,
        shown(*policy.cpus) + " holds " + (ranks ? "all " + counted(*ranks, "rank") : "all ranks") +
            " of one launcher on the same CPUs",
        "bind each rank for itself: torchrun --numa-binding=node, or angio run -- COMMAND");
  }

  void all_on_one(const Line& line, const Stage& group, const Policy& policy, std::uint32_t node,
                  std::optional<long> ranks) {
    const auto far = far_gpus(line, node, ranks);
    if (!context_.machines.empty() && far.empty()) return;
    if (far.empty() && variable_at(line, "CUDA_VISIBLE_DEVICES")) return group_of_ranks(policy, ranks);
    const std::string subject = ranks ? "all " + counted(*ranks, "rank") : "all ranks of " + group.program;
    add("placement.numactl.all-ranks-one-node", policy.cpus->word->place,
        shown(*policy.cpus) + " holds " + subject + " on NUMA node " + std::to_string(node) +
            (far.empty() ? ": GPUs of other nodes are then driven from afar, and the other CPUs idle"
                         : ": " + far),
        "bind each rank to the node of its GPU: torchrun --numa-binding=node, or angio run -- COMMAND");
  }

  // "GPUs 4-7 of gpu-a hang off node 1"; empty when none does or no machine is known.
  [[nodiscard]] std::string far_gpus(const Line& line, std::uint32_t node, std::optional<long> ranks) const {
    const auto visible = variable_at(line, "CUDA_VISIBLE_DEVICES");
    const auto chosen = visible ? numbers_of(*visible) : std::nullopt;
    for (const auto& machine : context_.machines) {
      CpuSet gpus;
      std::optional<std::uint32_t> other;
      for (const auto& gpu : machine.gpus) {
        if (chosen && std::ranges::find(*chosen, gpu.index) == chosen->end()) continue;
        if (!chosen && ranks && static_cast<long>(gpu.index) >= *ranks) continue;
        const auto* home = gpu.numa.get();
        if (home == nullptr || home->value == node) continue;
        gpus.insert(gpu.index);
        other = home->value;
      }
      if (other)
        return (gpus.size() == 1 ? "GPU " : "GPUs ") + to_list(gpus) + " of " + machine.name +
               (gpus.size() == 1 ? " hangs off node " : " hang off node ") + std::to_string(*other);
    }
    return {};
  }

  const Job& job_;
  const Context& context_;
  Complaints& out_;
  std::map<const Line*, std::size_t> part_of_;  // the file between its "wait"s
  std::map<std::size_t, std::set<std::string, std::less<>>>
      group_nodes_;  // that launchers of a part are bound to
  bool concerns_gpus_ = false;
  bool said_strict_ = false;
  bool said_group_ = false;
};

}  // namespace

void check_numactl(const Job& job, const Context& context, Complaints& out) {
  Numactl rules(job, context, out);
  for (const auto& line : job.lines)
    for (const auto& stage : line.stages)
      if (stage.program == "numactl" && started_by(line, stage) != nullptr) rules.check(line, stage);
}

}  // namespace angio::lint
