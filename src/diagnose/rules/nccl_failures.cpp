// What NCCL said itself when something failed: one rule a kind of cause; those about RDMA are in
// nccl_rdma.cpp. Echoes of a failure elsewhere never stand as causes; the failure that came first is ranked
// first.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

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
    cite(*log, events, draft);
    if (const Bytes* size = machine.software.shm_size.get())
      draft.evidence.push_back(
          diagnose::seen(machine, machine.software.shm_size.source(), "/dev/shm: " + in_words(*size)));
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

void peer_closed(const Machine& machine, Outcome& outcome) {
  const auto logs = logs_of(machine);
  if (logs.empty()) return outcome.not_applicable();
  for (const NcclLog* log : logs) {
    const Events events = events_of(*log, {NcclEventKind::kConnectionClosed, NcclEventKind::kConnectionReset,
                                           NcclEventKind::kRemoteError});
    if (events.empty()) continue;
    const NcclEvent* cause = earlier_cause(*log, *events.front());
    if (cause != nullptr && std::ranges::find(events, cause) != events.end()) cause = nullptr;
    const Events named = only(events, [](const NcclEvent& event) { return !event.peer.empty(); });
    const std::string peer = named.empty() ? std::string("a peer") : named.front()->peer;
    fire(
        *log, events, outcome,
        [&](const NcclEvent&) {
          if (cause == nullptr)
            return fmt::format(
                "{} lost {}: it ended first, and its own log is not among these files or says nothing",
                processes_in_words(*log, events), peer);
          return fmt::format(
              "Lost connections are an echo; the first failure is of {}, {}",
              name_of(*log, cause->process).empty() ? "a process" : name_of(*log, cause->process),
              log->places.text(cause->source));
        },
        cause == nullptr ? model::Severity::kWarning : model::Severity::kInfo);
  }
}

void connect_failed(const Machine& machine, Outcome& outcome) {
  const auto logs = logs_of(machine);
  if (logs.empty()) return outcome.not_applicable();
  for (const NcclLog* log : logs) {
    const Events events = events_of(*log, {NcclEventKind::kConnectRefused, NcclEventKind::kConnectTimeout,
                                           NcclEventKind::kBootstrapTimeout, NcclEventKind::kNameResolution});
    // Retries that helped, and names that only the RAS service asks for: the communicator came up all the
    // same.
    const bool came_up =
        std::ranges::any_of(log->communicators, [](const model::NcclCommunicator& communicator) {
          return std::ranges::any_of(communicator.ranks,
                                     [](const model::NcclRank& rank) { return rank.completed.line != 0; });
        });
    fire(
        *log, events, outcome,
        [&](const NcclEvent& event) {
          const std::string end = came_up ? "; the communicator came up all the same" : "";
          if (event.kind == NcclEventKind::kNameResolution) return "An address could not be resolved" + end;
          return "A connection" + (event.peer.empty() ? std::string() : " to " + event.peer) +
                 (event.kind == NcclEventKind::kConnectRefused ? " was refused or not answered"
                                                               : " was not made in time") +
                 end;
        },
        came_up ? std::optional(model::Severity::kInfo) : std::nullopt);
  }
}

void stray_connection(const Machine& machine, Outcome& outcome) {
  of_kinds(machine, outcome, {NcclEventKind::kMessageTruncated, NcclEventKind::kWrongMagic},
           [](const NcclEvent&) {
             return std::string("Ranks were in different steps of the start, or a stranger connected");
           });
}

void cuda_failure(const Machine& machine, Outcome& outcome) {
  of_kinds(machine, outcome, {NcclEventKind::kCudaFailure}, [](const NcclEvent& event) {
    return fmt::format("A CUDA call failed{}: {}", event.number ? fmt::format(" ({})", *event.number) : "",
                       event.text.substr(0, 80));
  });
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
    cite(*log, events, draft);
    for (const char* name : {"NCCL_ALGO", "NCCL_PROTO"})
      for (const model::NcclSetting* setting : settings_of(*log, name))
        draft.evidence.push_back(seen(*log, *setting));
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

void driver_unfit(const Machine& machine, Outcome& outcome) {
  of_kinds(machine, outcome, {NcclEventKind::kDriver, NcclEventKind::kNvml}, [](const NcclEvent& event) {
    return event.kind == NcclEventKind::kDriver
               ? std::string("The CUDA driver is too old for this NCCL")
               : std::string("NVML does not answer: driver and library differ");
  });
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
    fire(
        *log, events, outcome,
        [](const NcclEvent& event) { return "NCCL warns: " + event.text.substr(0, 100); },
        first ? model::Severity::kWarning : model::Severity::kInfo);
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
