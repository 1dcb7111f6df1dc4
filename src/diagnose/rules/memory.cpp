// Memory that could not be had, as the logs of a job and of the kernel tell it: which of the five faults with
// one name it was. "CUDA out of memory" of a strict NUMA policy is the one that is nearly always misread.
#include <algorithm>
#include <array>

#include "base/format.hpp"
#include "diagnose/rule.hpp"
#include "diagnose/rules/support.hpp"
#include "knowledge/knowledge.hpp"

namespace angio::diagnose {
namespace {

using model::Machine;
using model::MemoryEvent;
using model::MemoryTrouble;
using model::OomConstraint;

template <typename Wanted>
std::vector<const MemoryEvent*> events_of(const Machine& machine, const Wanted& wanted) {
  std::vector<const MemoryEvent*> found;
  for (const model::JobLog& log : machine.logs) {
    for (const MemoryEvent& event : log.memory)
      if (wanted(event)) found.push_back(&event);
  }
  return found;
}

std::vector<const MemoryEvent*> events_of(const Machine& machine, MemoryTrouble kind) {
  return events_of(machine, [&](const MemoryEvent& event) { return event.kind == kind; });
}

void cite(const Machine& machine, const std::vector<const MemoryEvent*>& events, Draft& draft) {
  for (const MemoryEvent* event : events) {
    const std::string times = event->count > 1 ? ", " + count_of(event->count, "such line") : "";
    draft.evidence.push_back(seen(machine, event->source, event->text + times));
  }
}

void fire(const Machine& machine, Outcome& outcome, const std::vector<const MemoryEvent*>& events,
          std::string title) {
  if (events.empty()) return;
  Draft draft;
  draft.title = std::move(title);
  cite(machine, events, draft);
  outcome.fire(std::move(draft));
}

// A bare "CUDA error: out of memory" may be the one or the other: no claim, and what would tell.
void undecided_cuda(const Machine& machine, Outcome& outcome) {
  for (const MemoryEvent* event : events_of(machine, MemoryTrouble::kCudaEither)) {
    outcome.undecided(
        model::cite(machine, event->source) +
            " says only that CUDA is out of memory, not whether the GPU's or page-locked host memory",
        "the traceback above that line: pin_memory or cudaHostAlloc in it means host memory");
  }
}

// Processes whose pages a strict policy confines, with the policy's name as numa_maps prints it ("bind:0").
std::string strict_policies(const Machine& machine) {
  std::vector<std::string> found;
  for (const model::Process& process : machine.processes) {
    const auto* policies = process.policies.get();
    if (policies == nullptr) continue;
    for (const auto& [policy, mappings] : *policies) {
      if (policy.starts_with("bind")) found.push_back("process " + std::to_string(process.id) + " " + policy);
    }
  }
  std::ranges::sort(found);
  const auto rest = std::ranges::unique(found);
  found.erase(rest.begin(), rest.end());
  return list_of(found);
}

void device_exhausted(const Machine& machine, Outcome& outcome) {
  if (machine.logs.empty()) return outcome.not_applicable();
  fire(machine, outcome, events_of(machine, MemoryTrouble::kDevice),
       "The GPU's own memory was used up; host memory and NUMA binding have no part in it");
  undecided_cuda(machine, outcome);
}

void pinned_refused(const Machine& machine, Outcome& outcome) {
  if (machine.logs.empty()) return outcome.not_applicable();
  const auto events = events_of(machine, MemoryTrouble::kPinned);
  if (!events.empty()) {
    Draft draft;
    draft.title =
        "Page-locked host memory was refused; the driver words it as out of memory, the GPU's may be free";
    cite(machine, events, draft);
    if (const std::string strict = strict_policies(machine); !strict.empty())
      draft.evidence.push_back({"strict memory policy: " + strict, "numa_maps"});
    for (const model::NumaNode& node : machine.numa.nodes) {
      if (!node.memory_free.is_known() || !node.memory.is_known()) continue;
      draft.evidence.push_back(seen(machine, node.memory_free.source(),
                                    "node " + std::to_string(node.id.value) + ": " +
                                        in_words(*node.memory_free.get()) + " free of " +
                                        in_words(*node.memory.get()) + " when this was captured"));
    }
    outcome.fire(std::move(draft));
  }
  undecided_cuda(machine, outcome);
}

bool is_confined(const MemoryEvent& event) {
  return event.kind == MemoryTrouble::kKernel &&
         (event.constraint == OomConstraint::kMemoryPolicy || event.constraint == OomConstraint::kCpuset);
}

void policy_strict(const Machine& machine, Outcome& outcome) {
  if (machine.logs.empty()) return outcome.not_applicable();
  const auto events = events_of(machine, is_confined);
  if (events.empty()) {
    const auto unnamed = events_of(machine, [](const MemoryEvent& event) {
      return event.kind == MemoryTrouble::kKernel && event.constraint == OomConstraint::kUnknown;
    });
    for (const MemoryEvent* event : unnamed) {
      outcome.undecided(model::cite(machine, event->source) + " does not say why the killer ran",
                        "sudo dmesg: the line oom-kill:constraint= above it (Linux 4.19 and newer)");
    }
    return;
  }
  Draft draft;
  const MemoryEvent& first = *events.front();
  const bool policy = first.constraint == OomConstraint::kMemoryPolicy;
  const auto& nodes = policy ? first.policy_nodes : first.cpuset_nodes;
  draft.title = std::string("The kernel killed ") + (first.process.empty() ? "a process" : first.process) +
                " because " + (policy ? "its strict memory policy" : "its cpuset") + " left it " +
                (nodes ? "only NUMA node " + to_list(*nodes) : "some NUMA nodes only") +
                ", and they were full";
  cite(machine, events, draft);
  outcome.fire(std::move(draft));
}

void cgroup_limit(const Machine& machine, Outcome& outcome) {
  if (machine.logs.empty()) return outcome.not_applicable();
  const auto events = events_of(machine, [](const MemoryEvent& event) {
    return event.kind == MemoryTrouble::kKernel && event.constraint == OomConstraint::kCgroup;
  });
  if (events.empty()) return;
  Draft draft;
  draft.title =
      "A control group's memory limit killed a process; the node as a whole may have memory to spare";
  cite(machine, events, draft);
  for (const model::Process& process : machine.processes) {
    if (const Bytes* limit = process.memory_limit.get())
      draft.evidence.push_back(
          seen(machine, process.memory_limit.source(),
               "limit of process " + std::to_string(process.id) + ": " + in_words(*limit)));
  }
  outcome.fire(std::move(draft));
}

void host_exhausted(const Machine& machine, Outcome& outcome) {
  if (machine.logs.empty()) return outcome.not_applicable();
  const auto events = events_of(machine, [](const MemoryEvent& event) {
    return event.kind == MemoryTrouble::kHost ||
           (event.kind == MemoryTrouble::kKernel &&
            (event.constraint == OomConstraint::kNone || event.constraint == OomConstraint::kUnknown));
  });
  fire(machine, outcome, events, "Host memory ran out");
  const auto kernel = events_of(machine, MemoryTrouble::kKernel);
  for (const MemoryEvent* event : events_of(machine, MemoryTrouble::kKilled)) {
    if (!kernel.empty()) break;
    outcome.undecided(model::cite(machine, event->source) + " tells of SIGKILL, not who sent it",
                      "sudo dmesg | grep -i oom-kill; the batch system's record of the job");
  }
}

void shm_exhausted(const Machine& machine, Outcome& outcome) {
  if (machine.logs.empty()) return outcome.not_applicable();
  const auto events = events_of(machine, MemoryTrouble::kShared);
  if (events.empty()) return;
  Draft draft;
  draft.title = "Shared memory (/dev/shm) was too small for the data loader's workers";
  cite(machine, events, draft);
  if (const Bytes* size = machine.software.shm_size.get())
    draft.evidence.push_back(
        seen(machine, machine.software.shm_size.source(), "/dev/shm: " + in_words(*size)));
  outcome.fire(std::move(draft));
}

}  // namespace

std::span<const Rule> memory_rules() {
  static constexpr std::array kRules{
      Rule{"memory.cgroup.limit", cgroup_limit},     Rule{"memory.device.exhausted", device_exhausted},
      Rule{"memory.host.exhausted", host_exhausted}, Rule{"memory.pinned.refused", pinned_refused},
      Rule{"memory.policy.strict", policy_strict},   Rule{"memory.shm.exhausted", shm_exhausted},
  };
  return kRules;
}

}  // namespace angio::diagnose
