// What NCCL and the adapters say of RDMA: GIDs, registered memory, completions, events of a port.
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

// enum ibv_wc_status, rdma-core libibverbs/verbs.h.
constexpr int kWrFlush = 5;
constexpr int kRetryExceeded = 12;

std::string gid_title(const NcclEvent& event) {
  const std::string index = event.gid_index ? fmt::format(" (GID index {})", *event.gid_index) : "";
  if (is_zero_gid(event.local_gid) || contains(event.text, "(0/0)"))
    return fmt::format("The GID that NCCL uses{} is empty{}", with_device(event), index);
  if (is_zero_gid(event.remote_gid)) return fmt::format("The GID of the peer is empty{}", index);
  if (speaks_of_roce_version(event))
    return "NCCL could not read the RoCE version of a GID: this container's GID table has gaps or other "
           "indices";
  switch (event.number.value_or(0)) {
    case kEtimedout:
      return fmt::format("No way between two adapters: the queue pair{} could not reach its peer{}",
                         with_device(event), index);
    case kEinval:
      return fmt::format("The adapter refused the GID{}{}", with_device(event), index);
    default:
      return fmt::format("The peer's address cannot be reached from the GID that NCCL chose{}{}",
                         with_device(event), index);
  }
}

// What ibv_wc_status means, in words of our own; libibverbs has the names.
std::string_view meaning_of(int status) {
  switch (status) {
    case 1:
      return "a message was longer than its buffer";
    case 2:
      return "the queue pair was used wrongly";
    case 4:
      return "the local memory was not registered for that";
    case 8:
      return "the local memory could not be reached";
    case 9:
      return "the peer refused the request";
    case 10:
      return "the peer's memory was not open to it";
    case 11:
      return "the peer failed while serving it";
    case 13:
      return "the peer had no receive posted in time: it is slow, stuck or dead";
    default:
      return "see ibv_poll_cq(3)";
  }
}

}  // namespace

void gid_wrong(const Machine& machine, Outcome& outcome) {
  const auto logs = logs_of(machine);
  if (logs.empty()) return outcome.not_applicable();
  for (const NcclLog* log : logs) {
    Events events = events_of(
        *log, {NcclEventKind::kQpModify, NcclEventKind::kCompletionError, NcclEventKind::kVerbsCall,
               NcclEventKind::kSystemCall, NcclEventKind::kOtherWarning, NcclEventKind::kInvalidArgument});
    events = only(events, is_gid_trouble);
    fire(*log, events, outcome, gid_title);
    for (const NcclEvent* event : events_of(*log, {NcclEventKind::kQpModify})) {
      if (is_gid_trouble(*event)) continue;
      outcome.undecided(
          log->places.text(event->source) + " does not say with which error ibv_modify_qp failed",
          "the whole line: NCCL_DEBUG=WARN, and show_gids on both nodes");
    }
  }
}

void memory_locked(const Machine& machine, Outcome& outcome) {
  const auto logs = logs_of(machine);
  if (logs.empty()) return outcome.not_applicable();
  for (const NcclLog* log : logs) {
    Events events = events_of(*log, {NcclEventKind::kRegisterMemory, NcclEventKind::kQpCreate});
    const Events locked = only(events, [](const NcclEvent& event) {
      return event.number == kEnomem || contains(event.text, "allocate memory");
    });
    const Events other = only(events, [](const NcclEvent& event) {
      return event.number && *event.number != kEnomem && !contains(event.text, "allocate memory");
    });
    fire(*log, locked, outcome, [&](const NcclEvent& event) {
      return fmt::format("{}: the limit of locked memory is too small",
                         event.kind == NcclEventKind::kQpCreate ? "A queue pair could not be created"
                                                                : "Memory could not be registered");
    });
    fire(*log, other, outcome, [&](const NcclEvent& event) {
      return fmt::format(
          "The adapter refused memory or a queue pair{} (errno {}): not the limit of locked memory",
          with_device(event), *event.number);
    });
    for (const NcclEvent* event : events) {
      if (event->number || contains(event->text, "allocate memory")) continue;
      outcome.undecided(log->places.text(event->source) + " names no errno: memory limit, peermem or IOMMU",
                        "the whole line; ulimit -l inside the job; dmesg of that node");
      break;
    }
  }
}

void retry_exceeded(const Machine& machine, Outcome& outcome) {
  const auto logs = logs_of(machine);
  if (logs.empty()) return outcome.not_applicable();
  for (const NcclLog* log : logs) {
    const Events all = events_of(*log, {NcclEventKind::kCompletionError});
    const Events events = only(all, [](const NcclEvent& event) { return event.status == kRetryExceeded; });
    fire(*log, events, outcome, [&](const NcclEvent& event) {
      const std::string peer = event.peer.empty() ? std::string("the peer") : event.peer;
      return fmt::format("{} got no answer from {}{}: the packets or their acknowledgements are lost",
                         processes_in_words(*log, events), peer, with_device(event));
    });
    for (const NcclEvent* event : all) {
      if (event->status) continue;
      outcome.undecided(log->places.text(event->source) + " is cut before the status of the completion",
                        "the whole line");
      break;
    }
  }
}

void completion_error(const Machine& machine, Outcome& outcome) {
  const auto logs = logs_of(machine);
  if (logs.empty()) return outcome.not_applicable();
  for (const NcclLog* log : logs) {
    const Events events =
        only(events_of(*log, {NcclEventKind::kCompletionError}), [](const NcclEvent& event) {
          return event.status && *event.status != kRetryExceeded && *event.status != kWrFlush;
        });
    fire(*log, events, outcome, [&](const NcclEvent& event) {
      return fmt::format("A transfer of {} ended with status {}: {}", processes_in_words(*log, events),
                         *event.status, meaning_of(*event.status));
    });
  }
}

void completion_flushed(const Machine& machine, Outcome& outcome) {
  const auto logs = logs_of(machine);
  if (logs.empty()) return outcome.not_applicable();
  for (const NcclLog* log : logs) {
    const Events events = only(events_of(*log, {NcclEventKind::kCompletionError}),
                               [](const NcclEvent& event) { return event.status == kWrFlush; });
    if (events.empty()) continue;
    const NcclEvent* cause = earlier_cause(*log, *events.front());
    if (cause != nullptr && std::ranges::find(events, cause) != events.end()) cause = nullptr;
    fire(
        *log, events, outcome,
        [&](const NcclEvent& event) {
          if (cause == nullptr)
            return fmt::format(
                "Requests were flushed{}: the queue pair had failed before, and these logs do not say why",
                event.peer.empty() ? "" : " towards " + event.peer);
          return fmt::format("Flushed requests are an echo; the first failure is {}",
                             log->places.text(cause->source));
        },
        cause == nullptr ? model::Severity::kWarning : model::Severity::kInfo);
  }
}

void port_event(const Machine& machine, Outcome& outcome) {
  const auto logs = logs_of(machine);
  if (logs.empty()) return outcome.not_applicable();
  for (const NcclLog* log : logs) {
    fire(*log, events_of(*log, {NcclEventKind::kAsyncFatal, NcclEventKind::kAsyncPort}), outcome,
         [](const NcclEvent& event) {
           return event.kind == NcclEventKind::kAsyncFatal
                      ? fmt::format("The adapter reported a fatal error{}", with_device(event))
                      : fmt::format("A port went down while the job ran{}: the link flaps",
                                    with_device(event));
         });
    fire(
        *log, events_of(*log, {NcclEventKind::kAsyncOther}), outcome,
        [](const NcclEvent& event) {
          return fmt::format("The adapter's addresses changed while the job ran{}", with_device(event));
        },
        model::Severity::kWarning);
  }
}

}  // namespace angio::diagnose::nccl
