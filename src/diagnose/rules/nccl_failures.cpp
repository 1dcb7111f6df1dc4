// What NCCL said itself when something failed: one rule a kind of cause; those about RDMA are in
// nccl_rdma.cpp. Echoes of a failure elsewhere never stand as causes; the failure that came first is ranked
// first.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <utility>

#include "base/format.hpp"
#include "base/text.hpp"
#include "diagnose/rules/nccl_events.hpp"
#include "diagnose/rules/support.hpp"

namespace angio::diagnose::nccl {
namespace {

using model::Machine;
using model::NcclEvent;
using model::NcclEventKind;
using model::NcclLog;

bool is_no_algorithm(const NcclEvent& event) {
  const std::string text = to_lower(event.text);
  return contains(text, "no algorithm/protocol available");
}

// The strict reader of NCCL_ALGO and NCCL_PROTO, since 2.24.
bool is_unknown_word(const NcclEvent& event) {
  return contains(event.text, "Unrecognized element token") ||
         contains(event.text, "Unrecognized prefix token") || contains(event.text, "must have a prefix");
}

bool is_silent_cause(const NcclEvent& event) {
  return event.kind == NcclEventKind::kOtherWarning && event.is_warning && !is_no_algorithm(event) &&
         !is_unknown_word(event) && !is_gid_trouble(event);
}

}  // namespace

void shm_small(const Machine& machine, Outcome& outcome) {
  const auto logs = logs_of(machine);
  if (logs.empty()) return outcome.not_applicable();
  for (const NcclLog* log : logs) {
    const Events events = events_of(*log, {NcclEventKind::kSharedMemory});
    if (events.empty()) continue;
    Draft draft;
    draft.title = "Shared memory (/dev/shm) has no room for NCCL's buffers";
    draft.rank = rank_in_time(*log, events);
    if (const Bytes* size = machine.software.shm_size.get())
      draft.evidence.push_back(
          diagnose::seen(machine, machine.software.shm_size.source(), "/dev/shm: " + in_words(*size)));
    cite(*log, events, draft);
    outcome.fire(std::move(draft));
  }
}

void nvls_failed(const Machine& machine, Outcome& outcome) {
  of_kinds(machine, outcome, {NcclEventKind::kNvls},
           [](const NcclEvent&) { return std::string("NVLink SHARP (multicast) could not be set up"); });
}

void imex_failed(const Machine& machine, Outcome& outcome) {
  of_kinds(machine, outcome, {NcclEventKind::kMnnvlImex}, [](const NcclEvent&) {
    return std::string("NVLink between nodes is there, but IMEX does not serve it on every node");
  });
}

namespace {

// Whom the witnesses lost, and what the logs can say of it.
std::string lost_peer(const NcclLog& log, const Events& events) {
  const PeerHosts hosts(log);
  std::set<std::string> peers;
  std::set<std::string> homes;
  bool absent = true;
  for (const NcclEvent* event : events) {
    if (event->peer.empty()) continue;
    peers.insert(event->peer);
    homes.insert(hosts.find(event->peer));
    absent = absent && hosts.is_absent(event->peer);
  }
  if (peers.empty()) return "a peer: it ended first, and these files do not say why";
  const bool one_home = homes.size() == 1 && !homes.begin()->empty();
  std::string whom = *peers.begin();
  if (peers.size() > 1)
    whom = count_of(peers.size(), "peer") + (one_home ? " on " + *homes.begin() : std::string());
  const std::string ended = peers.size() > 1 ? ": they ended first" : ": it ended first";
  if (absent) return whom + ended + ", and no log of that node is among these files";
  if (one_home) return whom + ended + ", and the lines of " + *homes.begin() + " do not say why";
  return whom + ended + ", and these files do not say why";
}

}  // namespace

void peer_closed(const Machine& machine, Outcome& outcome) {
  const auto logs = logs_of(machine);
  if (logs.empty()) return outcome.not_applicable();
  for (const NcclLog* log : logs) {
    const Events events =
        before_the_end(*log, events_of(*log, {NcclEventKind::kConnectionClosed,
                                              NcclEventKind::kConnectionReset, NcclEventKind::kRemoteError}));
    if (events.empty()) continue;
    const NcclEvent* cause = earlier_cause(*log, *events.front());
    if (cause != nullptr && std::ranges::find(events, cause) != events.end()) cause = nullptr;
    fire(*log, events, outcome,
         [&](const NcclEvent&) {
           if (cause == nullptr) return processes_in_words(*log, events) + " lost " + lost_peer(*log, events);
           return fmt::format(
               "Lost connections are an echo; the first failure is of {}, {}",
               name_of(*log, cause->process).empty() ? "a process" : name_of(*log, cause->process),
               log->places.text(cause->source));
         },
         {.severity = cause == nullptr ? model::Severity::kWarning : model::Severity::kInfo});
  }
}

namespace {

bool came_up(const NcclLog& log) {
  return std::ranges::any_of(log.communicators, [](const model::NcclCommunicator& communicator) {
    return std::ranges::any_of(communicator.ranks,
                               [](const model::NcclRank& rank) { return rank.completed.line != 0; });
  });
}

// Retries that helped, and names that only the RAS service asks for. A connection that was given up is no
// remark however far the job had come: most are made at the first collective.
bool is_overcome(const model::NcclEvidence& evidence, const NcclLog& log, const Events& events) {
  if (evidence.watchdog && !evidence.watchdog->errors.empty()) return false;
  return came_up(log) && std::ranges::all_of(events, [](const NcclEvent* event) {
           return event->kind == NcclEventKind::kConnectRefused ||
                  event->kind == NcclEventKind::kNameResolution;
         });
}

// The one that tells most stands first: given up before refused.
Events by_weight(Events events) {
  std::ranges::stable_partition(events, [](const NcclEvent* event) {
    return event->kind == NcclEventKind::kConnectTimeout || event->kind == NcclEventKind::kBootstrapTimeout;
  });
  return events;
}

}  // namespace

void connect_failed(const Machine& machine, Outcome& outcome) {
  if (logs_of(machine).empty()) return outcome.not_applicable();
  for (const model::NcclEvidence* evidence : evidence_of(machine)) {
    if (!evidence->log) continue;
    const NcclLog& log = *evidence->log;
    const Events events =
        by_weight(events_of(log, {NcclEventKind::kConnectRefused, NcclEventKind::kConnectTimeout,
                                  NcclEventKind::kBootstrapTimeout, NcclEventKind::kNameResolution}));
    const bool overcome = is_overcome(*evidence, log, events);
    More more;
    if (overcome) more.severity = model::Severity::kInfo;
    if (came_up(log) && !overcome) more.words["late"] = "";
    if (inner_bootstrap(log) != nullptr) more.most_rank = 0.9;
    fire(
        log, events, outcome,
        [&](const NcclEvent& event) {
          std::string end = overcome ? "; the communicator came up all the same" : "";
          if (more.words.contains("late")) end = ", after the communicator had come up";
          if (event.kind == NcclEventKind::kNameResolution) return "An address could not be resolved" + end;
          return "A connection" + (event.peer.empty() ? std::string() : " to " + event.peer) +
                 (event.kind == NcclEventKind::kConnectRefused ? " was refused or not answered"
                                                               : " was not made in time") +
                 end;
        },
        more);
  }
}

void stray_connection(const Machine& machine, Outcome& outcome) {
  of_kinds(machine, outcome, {NcclEventKind::kMessageTruncated, NcclEventKind::kWrongMagic},
           [](const NcclEvent&) {
             return std::string("Ranks were in different steps of the start, or a stranger connected");
           });
}

namespace {

// cudaError_t of the CUDA runtime, driver_types.h; NCCL prints the number only in newer versions.
struct CudaCause {
  const char* word;
  const char* without;  // how to see that it is another cause
};
CudaCause cuda_cause(const NcclEvent& event) {
  const std::int64_t number = event.number.value_or(0);
  const std::string text = to_lower(event.text);
  if (number == 2 || contains(text, "out of memory"))
    return {"by_memory", "while nvidia-smi shows free memory on that GPU"};
  if (number == 802 || contains(text, "system not yet initialized"))
    return {"by_fabric", "although nvidia-smi -q shows Fabric State Completed for every GPU"};
  if (number == 217 || contains(text, "peer access is not supported"))
    return {"by_peer", "although nvidia-smi topo -p2p r shows OK between these GPUs"};
  if (number == 801 && (contains(event.location, "nvls") || contains(text, "multicast")))
    return {"by_nvls", "with NCCL_NVLS_ENABLE=0 too"};
  if (number == 801) return {"by_support", "on bare metal with the same driver"};
  if (number == 100 || number == 101)
    return {"by_device", "although nvidia-smi -L shows that GPU where the job runs"};
  if (number == 214 || number == 220 || number == 226 || contains(text, "ecc error") ||
      contains(text, "nvlink error"))
    return {"by_hardware", "on another GPU too, without an Xid message"};
  return {"by_work", "at the same place with CUDA_LAUNCH_BLOCKING=1"};
}

}  // namespace

void cuda_failure(const Machine& machine, Outcome& outcome) {
  const auto logs = logs_of(machine);
  if (logs.empty()) return outcome.not_applicable();
  for (const NcclLog* log : logs) {
    std::map<std::string_view, Events> causes;
    for (const NcclEvent* event : events_of(*log, {NcclEventKind::kCudaFailure}))
      causes[cuda_cause(*event).word].push_back(event);
    for (const auto& [word, events] : causes) {
      const CudaCause cause = cuda_cause(*events.front());
      fire(*log, events, outcome,
           [](const NcclEvent& event) {
             return fmt::format("A CUDA call failed{}: {}",
                                event.number ? fmt::format(" ({})", *event.number) : "",
                                event.text.substr(0, 80));
           },
           {.words = {{cause.word, ""}, {"without_that_cause", cause.without}}});
    }
  }
}

void no_transport(const Machine& machine, Outcome& outcome) {
  const auto logs = logs_of(machine);
  if (logs.empty()) return outcome.not_applicable();
  for (const NcclLog* log : logs) {
    // At level INFO peer access that cannot be had is no failure: another way is taken, see nccl.p2p.off.
    const Events events = only(events_of(*log, {NcclEventKind::kNoTransport, NcclEventKind::kPeerQuery}),
                               [](const NcclEvent& event) { return event.is_warning; });
    fire(*log, events, outcome, [](const NcclEvent& event) {
      if (event.rank_a && event.rank_b)
        return fmt::format("Ranks {} and {} have no way to each other", *event.rank_a, *event.rank_b);
      return std::string("Two GPUs of a node have no way to each other");
    });
  }
}

void topology_limit(const Machine& machine, Outcome& outcome) {
  of_kinds(machine, outcome, {NcclEventKind::kTopologyLimit}, [](const NcclEvent&) {
    return std::string("The topology file has more elements than NCCL reads: init fails");
  });
}

void path_fallback(const Machine& machine, Outcome& outcome) {
  of_kinds(machine, outcome, {NcclEventKind::kNoPath}, [](const NcclEvent&) {
    return std::string("NCCL found no good ring over this topology and took the plain order of the ranks");
  });
}

void algorithm_unavailable(const Machine& machine, Outcome& outcome) {
  const auto logs = logs_of(machine);
  if (logs.empty()) return outcome.not_applicable();
  for (const NcclLog* log : logs) {
    Events events;
    for (const NcclEvent& event : log->events)
      if (is_no_algorithm(event)) events.push_back(&event);
    if (events.empty()) continue;
    Draft draft;
    draft.title = "NCCL_ALGO and NCCL_PROTO leave nothing that can do a collective which the job calls";
    draft.rank = rank_in_time(*log, events);
    for (const char* name : {"NCCL_ALGO", "NCCL_PROTO"})
      for (const model::NcclSetting* setting : settings_of(*log, name))
        draft.evidence.push_back(seen(*log, *setting));
    cite(*log, events, draft);
    outcome.fire(std::move(draft));
  }
}

void setting_invalid(const Machine& machine, Outcome& outcome) {
  const auto logs = logs_of(machine);
  if (logs.empty()) return outcome.not_applicable();
  for (const NcclLog* log : logs) {
    const Events events =
        only(events_of(*log, {NcclEventKind::kInvalidSetting, NcclEventKind::kOtherWarning}),
             [](const NcclEvent& event) {
               if (event.kind == NcclEventKind::kOtherWarning) return is_unknown_word(event);
               return !is_no_algorithm(event);
             });
    fire(*log, events, outcome, [](const NcclEvent& event) {
      return "NCCL does not understand a setting: " + event.text.substr(0, 90);
    });
  }
}

namespace {

// What the lines of one finding have in common, by their first.
std::pair<std::string, const char*> driver_cause(const NcclEvent& event) {
  const std::string text = to_lower(event.text);
  if (event.kind == NcclEventKind::kDriver) return {"The CUDA driver is too old for this NCCL", "by_version"};
  if (contains(text, "version mismatch"))
    return {"NVML does not answer: driver and library differ", "by_version"};
  if (contains(text, "libnvidia-ml"))
    return {"The library of NVML is not there or does not load", "by_library"};
  if (contains(text, "nvmlinit"))
    return {"NVML does not start: driver and library differ, or no driver is loaded", "by_version"};
  if (contains(text, "not found") || contains(text, "gpu is lost"))
    return {"NVML does not know a GPU that the job uses: lost, or hidden from this container", "by_gpu"};
  return {"A call of NVML failed", "by_gpu"};
}

}  // namespace

void driver_unfit(const Machine& machine, Outcome& outcome) {
  const auto logs = logs_of(machine);
  if (logs.empty()) return outcome.not_applicable();
  for (const NcclLog* log : logs) {
    std::map<std::pair<std::string, const char*>, Events> causes;
    for (const NcclEvent* event : events_of(*log, {NcclEventKind::kDriver, NcclEventKind::kNvml}))
      causes[driver_cause(*event)].push_back(event);
    for (const auto& [cause, events] : causes)
      fire(*log, events, outcome, [&](const NcclEvent&) { return cause.first; },
           {.words = {{cause.second, ""}}});
  }
}

void call_invalid(const Machine& machine, Outcome& outcome) {
  const auto logs = logs_of(machine);
  if (logs.empty()) return outcome.not_applicable();
  for (const NcclLog* log : logs) {
    // "Invalid argument" is also the text of an errno: of a GID that could not be read, for one.
    const Events events = only(events_of(*log, {NcclEventKind::kInvalidArgument}),
                               [](const NcclEvent& event) { return !is_gid_trouble(event); });
    fire(*log, events, outcome, [](const NcclEvent& event) {
      return "The application called NCCL wrongly: " + event.text.substr(0, 90);
    });
  }
}

void warning_other(const Machine& machine, Outcome& outcome) {
  const auto logs = logs_of(machine);
  if (logs.empty()) return outcome.not_applicable();
  for (const NcclLog* log : logs) {
    Events events = only(events_of(*log, {NcclEventKind::kOtherWarning}), is_silent_cause);
    for (const NcclEvent* event :
         events_of(*log, {NcclEventKind::kSystemCall, NcclEventKind::kVerbsCall, NcclEventKind::kHostMemory,
                          NcclEventKind::kTopologyOther, NcclEventKind::kCollnet, NcclEventKind::kAbort}))
      if (event->is_warning && !is_gid_trouble(*event)) events.push_back(event);
    if (events.empty()) continue;
    const bool first = rank_in_time(*log, events) > 0.9;
    fire(*log, events, outcome,
         [](const NcclEvent& event) { return "NCCL warns: " + event.text.substr(0, 100); },
         {.severity = first ? model::Severity::kWarning : model::Severity::kInfo});
  }
}

std::span<const Rule> failure_rules() {
  static constexpr std::array kRules{
      Rule{"nccl.gid.wrong", gid_wrong},
      Rule{"nccl.memory.register", memory_locked},
      Rule{"nccl.ib.retry-exceeded", retry_exceeded},
      Rule{"nccl.ib.completion-error", completion_error},
      Rule{"nccl.ib.flushed", completion_flushed},
      Rule{"nccl.ib.port-event", port_event},
      Rule{"nccl.shm.too-small", shm_small},
      Rule{"nccl.nvls.failed", nvls_failed},
      Rule{"nccl.mnnvl.imex", imex_failed},
      Rule{"nccl.peer.closed", peer_closed},
      Rule{"nccl.bootstrap.connect", connect_failed},
      Rule{"nccl.bootstrap.stray", stray_connection},
      Rule{"nccl.cuda.failure", cuda_failure},
      Rule{"nccl.transport.none", no_transport},
      Rule{"nccl.topology.too-large", topology_limit},
      Rule{"nccl.graph.simple-order", path_fallback},
      Rule{"nccl.algorithm.unavailable", algorithm_unavailable},
      Rule{"nccl.setting.not-understood", setting_invalid},
      Rule{"nccl.driver.unfit", driver_unfit},
      Rule{"nccl.call.invalid", call_invalid},
      Rule{"nccl.warning.other", warning_other},
  };
  return kRules;
}

}  // namespace angio::diagnose::nccl
