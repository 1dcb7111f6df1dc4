// Running jobs: where they may run and where their memory lies; the list of all process rules. Settings are
// in process_settings.cpp and process_hca.cpp. Only what a snapshot shows; scripts are not read here.
#include "diagnose/rules/process.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "base/format.hpp"
#include "base/text.hpp"
#include "diagnose/rules/support.hpp"
#include "knowledge/knowledge.hpp"

namespace angio::diagnose::process {

using model::Machine;
using model::Process;
using model::Setting;

std::string process_label(const Process& process) {
  return "process " + std::to_string(process.id) +
         (process.command.empty() ? "" : " (" + process.command + ")");
}

const model::Observed<CpuSet>* main_mask(const Process& process) {
  const auto main = std::ranges::find(process.threads, process.id, &model::Thread::id);
  if (main != process.threads.end()) return &main->allowed;
  return process.threads.empty() ? nullptr : &process.threads.front().allowed;
}

namespace {

// A process on exactly one GPU, and that GPU's node.
struct Placed {
  const Process* process;
  const model::Gpu* gpu;
  const model::NumaNode* node;
};

std::vector<Placed> placed_processes(const Machine& machine) {
  std::vector<Placed> placed;
  for (const Process& process : machine.processes) {
    if (process.gpus.size() != 1 || process.gpus[0] >= machine.gpus.size()) continue;
    const model::Gpu& gpu = machine.gpus[process.gpus[0]];
    const NumaId* id = gpu.numa.get();
    if (id == nullptr) continue;
    const auto node = std::ranges::find(machine.numa.nodes, *id, &model::NumaNode::id);
    if (node != machine.numa.nodes.end() && !node->cpus.empty()) placed.push_back({&process, &gpu, &*node});
  }
  return placed;
}

std::size_t ordinary_nodes(const Machine& machine) {
  return static_cast<std::size_t>(std::ranges::count_if(
      machine.numa.nodes, [](const model::NumaNode& node) { return !node.cpus.empty(); }));
}

}  // namespace

void affinity_remote(const Machine& machine, Outcome& outcome) {
  const std::vector<Placed> placed = placed_processes(machine);
  if (placed.empty() || ordinary_nodes(machine) < 2) return outcome.not_applicable();
  Gaps gaps("allowed CPUs");
  Draft draft;
  std::size_t judged = 0;
  for (const Placed& one : placed) {
    const auto* mask = main_mask(*one.process);
    if (mask == nullptr || !mask->is_known()) {
      gaps.note(process_label(*one.process), mask != nullptr ? mask->reason() : model::Reason::kNotCollected,
                0);
      continue;
    }
    ++judged;
    if (mask->get()->intersects(package_cpus(machine, one.node->id))) continue;
    draft.devices.push_back(gpu_label(*one.gpu));
    draft.words.emplace("pid", std::to_string(one.process->id));
    draft.evidence.push_back(
        seen(machine, mask->source(),
             fmt::format("{} may use CPUs {}, {} is on node {} ({})", process_label(*one.process),
                         to_list(*mask->get()), gpu_label(*one.gpu), one.node->id.value,
                         to_list(one.node->cpus))));
  }
  if (!draft.devices.empty()) {
    draft.title =
        fmt::format("{} of {} GPU processes may only run away from their GPU", draft.devices.size(), judged);
    draft.rank = static_cast<double>(draft.devices.size()) / static_cast<double>(judged);
    outcome.fire(std::move(draft));
  }
  gaps.report(outcome);
}

void affinity_crowded(const Machine& machine, Outcome& outcome) {
  std::map<std::string, std::vector<const Process*>> by_mask;
  std::size_t jobs = 0;
  Gaps gaps("allowed CPUs");
  for (const Process& process : machine.processes) {
    if (process.gpus.empty()) continue;
    ++jobs;
    const auto* mask = main_mask(process);
    if (mask == nullptr || !mask->is_known()) {
      gaps.note(process_label(process), mask != nullptr ? mask->reason() : model::Reason::kNotCollected, 0);
    } else {
      by_mask[to_list(*mask->get())].push_back(&process);
    }
  }
  if (jobs < 2) return outcome.not_applicable();
  for (const auto& [list, processes] : by_mask) {
    const auto* mask = main_mask(*processes.front());
    const std::size_t cpus = mask->get()->size();
    const double each = static_cast<double>(cpus) / static_cast<double>(processes.size());
    if (processes.size() < 2 || !(each < knowledge::threshold("process.cpus-per-rank"))) continue;
    outcome.fire({.title = fmt::format("{} GPU processes share {} ({})", processes.size(),
                                       count_of(cpus, "CPU"), list),
                  .evidence = {seen(machine, mask->source(),
                                    process_label(*processes.front()) + " may use CPUs " + list)},
                  .rank = std::clamp(1 - each, 0.0, 1.0)});
  }
  gaps.report(outcome);
}

// Cores with at least one CPU in the set.
static std::size_t cores_in(const Machine& machine, const CpuSet& cpus) {
  return static_cast<std::size_t>(std::ranges::count_if(
      machine.cpus.cores, [&](const model::Core& core) { return core.cpus.intersects(cpus); }));
}

// Only for a job that has every GPU: otherwise the rest of the cores is for other jobs.
void cores_unused(const Machine& machine, Outcome& outcome) {
  std::set<std::uint32_t> gpus;
  CpuSet used;
  const Process* sample = nullptr;
  Gaps gaps("allowed CPUs");
  for (const Process& process : machine.processes) {
    if (process.gpus.empty()) continue;
    gpus.insert(process.gpus.begin(), process.gpus.end());
    for (const model::Thread& thread : process.threads) {
      if (thread.allowed.is_known()) used |= *thread.allowed.get();
    }
    const auto* mask = main_mask(process);
    if (mask == nullptr || !mask->is_known()) {
      gaps.note(process_label(process), mask != nullptr ? mask->reason() : model::Reason::kNotCollected, 0);
    } else if (sample == nullptr) {
      sample = &process;
    }
  }
  const std::size_t all = machine.cpus.cores.size();
  if (gpus.size() < 2 || gpus.size() < machine.gpus.size() || all == 0) return outcome.not_applicable();
  gaps.report(outcome);
  const std::size_t reached = cores_in(machine, used);
  const double share = static_cast<double>(reached) / static_cast<double>(all);
  if (sample == nullptr || !outcome.gaps.empty() || share > knowledge::threshold("process.cores-used"))
    return;
  const auto* mask = main_mask(*sample);
  outcome.fire({.title = fmt::format("The job's processes may use {} of {} cores", reached, all),
                .evidence = {seen(machine, mask->source(),
                                  process_label(*sample) + " may use CPUs " + to_list(*mask->get()))},
                .rank = 1 - share});
}

namespace {

// A mask of nodes without the GPU's node and its siblings: no page can be near, whatever was touched so far.
bool may_take_near(const Machine& machine, const Placed& one) {
  const CpuSet* nodes = one.process->allowed_memory.get();
  if (nodes == nullptr) return true;
  return std::ranges::any_of(machine.numa.nodes, [&](const model::NumaNode& node) {
    return nodes->contains(node.id.value) && same_package(machine, node.id, one.node->id);
  });
}

// True when the process is bound away; its pages need no look then.
bool bound_away(const Machine& machine, const Placed& one, Draft& draft) {
  if (may_take_near(machine, one)) return false;
  draft.devices.push_back(gpu_label(*one.gpu));
  draft.words.emplace("pid", std::to_string(one.process->id));
  draft.words.emplace("bound", "");
  draft.evidence.push_back(seen(
      machine, one.process->allowed_memory.source(),
      fmt::format("{} may take memory of nodes {}, {} is on node {}", process_label(*one.process),
                  to_list(*one.process->allowed_memory.get()), gpu_label(*one.gpu), one.node->id.value)));
  return true;
}

void much_away(const Machine& machine, const Placed& one, Outcome& outcome) {
  const auto& bytes = one.process->bytes_per_node;
  double all = 0;
  double away = 0;
  std::pair<std::uint32_t, std::uint64_t> farthest{0, 0};
  for (const auto& [node, size] : *bytes.get()) {
    const auto found = std::ranges::find(machine.numa.nodes, NumaId{node}, &model::NumaNode::id);
    if (found == machine.numa.nodes.end() || found->kind == model::NumaKind::kGpuMemory) continue;
    all += static_cast<double>(size);
    if (same_package(machine, NumaId{node}, one.node->id)) continue;
    away += static_cast<double>(size);
    if (size > farthest.second) farthest = {node, size};
  }
  const bool much = away > all * knowledge::threshold("process.remote-pages") &&
                    away > knowledge::threshold("process.remote-bytes");
  if (!much) return;
  const std::string pid = std::to_string(one.process->id);
  outcome.fire(
      {.title = fmt::format("{:.0f} % of the memory of {} is away from {}", 100 * away / all,
                            process_label(*one.process), gpu_label(*one.gpu)),
       .devices = {gpu_label(*one.gpu), pid},
       .evidence = {seen(machine, bytes.source(),
                         fmt::format("{} on node {}, {} is on node {}", in_words(Bytes{farthest.second}),
                                     farthest.first, gpu_label(*one.gpu), one.node->id.value))},
       .rank = away / all,
       .words = {{"pid", pid},
                 {"from", std::to_string(farthest.first)},
                 {"to", std::to_string(one.node->id.value)}}});
}

}  // namespace

void memory_remote(const Machine& machine, Outcome& outcome) {
  const std::vector<Placed> placed = placed_processes(machine);
  if (placed.empty() || ordinary_nodes(machine) < 2) return outcome.not_applicable();
  Gaps gaps("memory by node (numa_maps)");
  Draft bound;
  for (const Placed& one : placed) {
    if (bound_away(machine, one, bound)) continue;
    if (one.process->bytes_per_node.is_known()) {
      much_away(machine, one, outcome);
    } else {
      gaps.add(process_label(*one.process), one.process->bytes_per_node);
    }
  }
  if (!bound.devices.empty()) {
    bound.title = fmt::format("{} of {} GPU processes may only take memory away from their GPU",
                              bound.devices.size(), placed.size());
    bound.rank = 1;
    outcome.fire(std::move(bound));
  }
  gaps.report(outcome);
}

namespace {

// One of several ranks, by the launcher's own words. Single-GPU jobs side by side are no group.
bool has_peers(const Process& process) {
  for (const char* name : {"WORLD_SIZE", "SLURM_NTASKS", "SLURM_STEP_NUM_TASKS", "OMPI_COMM_WORLD_SIZE"}) {
    const Setting* size = find_setting(process.settings, name);
    if (size != nullptr && parse_integer<std::uint32_t>(size->value).value_or(0) > 1) return true;
  }
  return false;
}

// Ranks on different GPUs that all call theirs number 0: a device cgroup shows each only its own.
const Setting* same_number_on_other_gpu(const std::vector<Process>& processes, const Process& process) {
  const Setting* own = find_setting(process.settings, "CUDA_VISIBLE_DEVICES");
  if (own == nullptr || !parse_integer<std::uint32_t>(own->value)) return nullptr;
  const bool shared = std::ranges::any_of(processes, [&](const Process& other) {
    const Setting* theirs = find_setting(other.settings, "CUDA_VISIBLE_DEVICES");
    return theirs != nullptr && theirs->value == own->value && !other.gpus.empty() &&
           other.gpus != process.gpus;
  });
  return shared ? own : nullptr;
}

// "1", "h100:1": the number Slurm was asked for.
bool is_one(std::string_view value) {
  return parse_integer<std::uint32_t>(split(value, ':').back()) == 1U;
}

// What shows this process only its own GPU; null when nothing does, or more than one is shown.
const Setting* hiding(const Machine& machine, const Process& process) {
  const Setting* bind = find_setting(process.settings, "SLURM_GPU_BIND");
  if (process.gpus.size() != 1 || (bind != nullptr && contains(bind->value, "none"))) return nullptr;
  if (const Setting* same = same_number_on_other_gpu(machine.processes, process)) return same;
  const Setting* per_task = find_setting(process.settings, "SLURM_GPUS_PER_TASK");
  if (per_task != nullptr) return is_one(per_task->value) ? per_task : nullptr;
  return bind;
}

}  // namespace

void hidden_peers(const Machine& machine, Outcome& outcome) {
  std::size_t jobs = 0;
  std::size_t hidden = 0;
  const Process* sample = nullptr;
  const Setting* cause = nullptr;
  for (const Process& process : machine.processes) {
    if (process.gpus.empty() || !has_peers(process)) continue;
    ++jobs;
    const Setting* setting = hiding(machine, process);
    if (setting == nullptr) continue;
    ++hidden;
    if (sample != nullptr) continue;
    sample = &process;
    cause = setting;
  }
  if (jobs < 2) return outcome.not_applicable();
  if (hidden < 2) return;
  Draft draft = draft_for(machine, {cause, sample},
                          std::to_string(hidden) +
                              " GPU processes are shown one GPU each: NCCL may not "
                              "see the peers");
  draft.severity = has_nvlink(machine) ? model::Severity::kWarning : model::Severity::kInfo;
  outcome.fire(std::move(draft));
}

void omp_threads(const Machine& machine, Outcome& outcome) {
  bool any = false;
  Gaps gaps("allowed CPUs");
  for (const Process& process : machine.processes) {
    const Setting* setting = find_setting(process.settings, "OMP_NUM_THREADS");
    const auto threads =
        setting != nullptr ? parse_integer<std::size_t>(split(setting->value, ',').front()) : std::nullopt;
    if (!threads || process.gpus.empty()) continue;
    any = true;
    const auto* mask = main_mask(process);
    if (mask == nullptr || !mask->is_known()) {
      gaps.note(process_label(process), mask != nullptr ? mask->reason() : model::Reason::kNotCollected, 0);
      continue;
    }
    if (*threads <= mask->get()->size()) continue;
    Draft draft =
        draft_for(machine, {setting, &process},
                  fmt::format("OMP_NUM_THREADS={} on {}", *threads, count_of(mask->get()->size(), "CPU")));
    draft.evidence.push_back(seen(machine, mask->source(), "may use CPUs " + to_list(*mask->get())));
    draft.words["pid"] = std::to_string(process.id);
    outcome.fire(std::move(draft));
  }
  if (!any) return outcome.not_applicable();
  gaps.report(outcome);
}

}  // namespace angio::diagnose::process

namespace angio::diagnose {
namespace {

constexpr std::array kRules = {
    Rule{"process.affinity.remote", process::affinity_remote},
    Rule{"process.affinity.crowded", process::affinity_crowded},
    Rule{"process.affinity.unused", process::cores_unused},
    Rule{"process.memory.remote", process::memory_remote},
    Rule{"process.gpu.hidden-peers", process::hidden_peers},
    Rule{"process.setting.omp-threads", process::omp_threads},
    Rule{"process.setting.p2p-disabled", process::p2p_disabled},
    Rule{"process.setting.shm-disabled", process::shm_disabled},
    Rule{"process.setting.ib-disabled", process::ib_disabled},
    Rule{"process.setting.gdr-level", process::gdr_level},
    Rule{"process.setting.socket-ifname", process::socket_ifname},
    Rule{"process.setting.ll128-forced", process::ll128_forced},
    Rule{"process.setting.algo-unknown", process::algo_unknown},
    Rule{"process.setting.algo-narrow", process::algo_narrow},
    Rule{"process.setting.topo-file", process::topo_file},
    Rule{"process.setting.ib-hca", process::ib_hca},
    Rule{"process.setting.hca-few", process::hca_few},
    Rule{"process.setting.gid-index", process::gid_index},
    Rule{"process.setting.gid-unset", process::gid_unset},
    Rule{"process.setting.bond-qps", process::bond_qps},
};

}  // namespace

std::span<const Rule> process_rules() {
  return kRules;
}

}  // namespace angio::diagnose
