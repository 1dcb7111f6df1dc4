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

bool is_timeout(const NcclEvent& event) {
  return event.number == kEtimedout;
}

// Fixes by what the lines show: a rail that is not reached is no matter of the GID's index.
void fire_gid(const NcclLog& log, const Events& events, Outcome& outcome) {
  if (events.empty()) return;
  Draft ends;
  const bool across = cite_subnets(log, events, ends);
  const bool late = std::ranges::any_of(events, [](const NcclEvent* event) { return is_timeout(*event); });
  More more;
  if (across) more.words["by_rail"] = "";
  if (late && !across) more.words["by_timeout"] = "";
  for (const model::NcclSetting* setting : settings_of(log, "NCCL_IB_GID_INDEX")) {
    more.words["by_index"] = "";
    if (more.evidence.empty()) more.evidence.push_back(seen(log, *setting));
  }
  if (across)
    for (const model::NcclSetting* setting : settings_of(log, "NCCL_CROSS_NIC"))
      more.evidence.push_back(seen(log, *setting));
  fire(log, events, outcome, gid_title, std::move(more));
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

bool is_no_memory(const NcclEvent& event) {
  return event.number == kEnomem || contains(event.text, "allocate memory");
}
bool is_queue_pair(const NcclEvent& event) {
  return event.kind == NcclEventKind::kQpCreate;
}
bool is_registration(const NcclEvent& event) {
  return !is_queue_pair(event);
}

// ENOMEM. A queue pair is refused with it also when the adapter has given all that it has.
void fire_locked(const NcclLog& log, const Events& events, Outcome& outcome, const char* title) {
  if (events.empty()) return;
  More more;
  more.words = {{"by_limit", ""}, {"without_that_cause", "with ulimit -l unlimited inside the job"}};
  if (is_queue_pair(*events.front())) more.words["by_count"] = "";
  fire(log, events, outcome, [&](const NcclEvent&) { return std::string(title); }, std::move(more));
}

// Between whom: one peer and one adapter are named, of many their number.
struct Unanswered {
  std::set<std::string> peers;
  std::set<std::string> devices;
  std::set<std::string> from;  // hosts
  std::set<std::string> to;    // hosts; "": not known
};
Unanswered unanswered(const NcclLog& log, const Events& events) {
  const PeerHosts hosts(log);
  Unanswered found;
  for (const NcclEvent* event : events) {
    if (event->process < log.processes.size()) found.from.insert(log.processes[event->process].host);
    if (!event->device.empty()) found.devices.insert(event->device);
    if (event->peer.empty()) continue;
    found.peers.insert(event->peer);
    found.to.insert(hosts.find(event->peer));
  }
  return found;
}

// "node-b", "node-a and node-b", "12 peers".
std::string ends_of(const Unanswered& found) {
  if (found.peers.size() == 1) return *found.peers.begin();
  if (found.to.size() == 1 && !found.to.begin()->empty()) return *found.to.begin();
  return found.peers.empty() ? std::string("the peer") : count_of(found.peers.size(), "peer");
}

std::string retry_title(const NcclLog& log, const Events& events, const Unanswered& found) {
  constexpr const char* kLost = ": the packets or their acknowledgements are lost";
  std::string on = found.devices.empty() ? std::string() : with_device(*events.front());
  if (found.devices.size() > 1) on = " on " + count_of(found.devices.size(), "adapter");
  const std::string who = processes_in_words(log, events);
  if (found.to.size() == 2 && found.from == found.to && !found.to.begin()->empty())
    return fmt::format("{} got no answer{}, each way between {} and {}{}", who, on, *found.to.begin(),
                       *found.to.rbegin(), kLost);
  return fmt::format("{} got no answer from {}{}{}", who, ends_of(found), on, kLost);
}

}  // namespace

void gid_wrong(const Machine& machine, Outcome& outcome) {
  const auto logs = logs_of(machine);
  if (logs.empty()) return outcome.not_applicable();
  for (const NcclLog* log : logs) {
    Events events = events_of(
        *log, {NcclEventKind::kQpModify, NcclEventKind::kCompletionError, NcclEventKind::kVerbsCall,
               NcclEventKind::kSystemCall, NcclEventKind::kOtherWarning, NcclEventKind::kInvalidArgument});
    fire_gid(*log, only(events, is_gid_trouble), outcome);
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
    const Events locked = only(events, is_no_memory);
    const Events other =
        only(events, [](const NcclEvent& event) { return event.number.has_value() && !is_no_memory(event); });
    fire_locked(*log, only(locked, is_registration), outcome,
                "Memory could not be registered: the limit of locked memory is too small");
    fire_locked(*log, only(locked, is_queue_pair), outcome,
                "A queue pair could not be created: the limit of locked memory is too small, or the adapter "
                "has none left");
    fire(*log, other, outcome,
         [&](const NcclEvent& event) {
           return fmt::format(
               "The adapter refused memory or a queue pair{} (errno {}): not the limit of locked memory",
               with_device(event), *event.number);
         },
         {.words = {{"by_errno", ""},
                    {"without_that_cause", "with nvidia_peermem loaded and the IOMMU off"}}});
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
    const Unanswered found = unanswered(*log, events);
    More more;
    more.words["peer"] = found.to.size() == 2 && found.from == found.to && !found.to.begin()->empty()
                             ? *found.to.begin() + " and " + *found.to.rbegin()
                             : ends_of(found);
    fire(
        *log, events, outcome, [&](const NcclEvent&) { return retry_title(*log, events, found); },
        std::move(more));
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
    const Events events =
        before_the_end(*log, only(events_of(*log, {NcclEventKind::kCompletionError}),
                                  [](const NcclEvent& event) { return event.status == kWrFlush; }));
    if (events.empty()) continue;
    const NcclEvent* cause = earlier_cause(*log, *events.front());
    if (cause != nullptr && std::ranges::find(events, cause) != events.end()) cause = nullptr;
    fire(*log, events, outcome,
         [&](const NcclEvent& event) {
           if (cause == nullptr)
             return fmt::format(
                 "Requests were flushed{}: the queue pair had failed before, and these logs do not say why",
                 event.peer.empty() ? "" : " towards " + event.peer);
           return fmt::format("Flushed requests are an echo; the first failure is {}",
                              log->places.text(cause->source));
         },
         {.severity = cause == nullptr ? model::Severity::kWarning : model::Severity::kInfo});
  }
}

void port_event(const Machine& machine, Outcome& outcome) {
  const auto logs = logs_of(machine);
  if (logs.empty()) return outcome.not_applicable();
  for (const NcclLog* log : logs) {
    fire(*log, events_of(*log, {NcclEventKind::kAsyncFatal}), outcome,
         [](const NcclEvent& event) {
           return fmt::format("The adapter reported a fatal error{}", with_device(event));
         },
         {.words = {{"by_adapter", ""}, {"what_changed", "the list of errors in dmesg for that adapter"}}});
    fire(*log, events_of(*log, {NcclEventKind::kAsyncPort}), outcome,
         [](const NcclEvent& event) {
           return fmt::format("A port went down while the job ran{}: the link flaps", with_device(event));
         },
         {.words = {{"by_port", ""}, {"what_changed", "link_downed of that port"}}});
    fire(*log, events_of(*log, {NcclEventKind::kAsyncOther}), outcome,
         [](const NcclEvent& event) {
           if (contains(to_lower(event.text), "gid"))
             return fmt::format("The adapter's addresses changed while the job ran{}", with_device(event));
           return fmt::format("The adapter reported a change while the job ran{}", with_device(event));
         },
         {.words = {{"by_address", ""}, {"what_changed", "the table that show_gids prints"}},
          .severity = model::Severity::kWarning});
  }
}

}  // namespace angio::diagnose::nccl
