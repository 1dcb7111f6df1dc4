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
// Behind what the port that is down is named for.
constexpr double kConsequence = 0.9;

std::string gid_title(const NcclEvent& event) {
  const std::string index = event.gid_index ? fmt::format(" (GID index {})", *event.gid_index) : "";
  if (is_zero_gid(event.local_gid) || contains(event.text, "(0/0)") || event.number == kEnodata)
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

// "10.6.0.35" of "::ffff:10.6.0.35"; empty: no IPv4 address.
std::string address_of(std::string_view gid) {
  constexpr std::string_view kMapped = "::ffff:";
  return gid.starts_with(kMapped) ? std::string(gid.substr(kMapped.size())) : std::string();
}

// Fixes by what the lines show: a rail that is not reached is no matter of the GID's index.
void fire_gid(const NcclLog& log, const Events& events, Outcome& outcome) {
  if (events.empty()) return;
  Draft ends;
  const bool across = cite_subnets(log, events, ends);
  const auto late = std::ranges::find_if(events, [](const NcclEvent* event) { return is_timeout(*event); });
  More more;
  more.words["by_table"] = "";
  if (across) more.words["by_rail"] = "";
  if (late != events.end() && !across) {
    more.words["by_timeout"] = "";
    const std::string local = address_of((*late)->local_gid);
    const std::string remote = address_of((*late)->remote_gid);
    if (!local.empty()) more.words["local"] = local;
    if (!remote.empty()) more.words["remote"] = remote;
  }
  for (const model::NcclSetting* setting : settings_of(log, "NCCL_IB_GID_INDEX")) {
    more.words["by_index"] = "";
    if (more.evidence.empty()) more.evidence.push_back(seen(log, *setting));
  }
  if (across)
    for (const model::NcclSetting* setting : settings_of(log, "NCCL_CROSS_NIC"))
      more.evidence.push_back(seen(log, *setting));
  fire(log, events, outcome, gid_title, std::move(more));
}

// NCCL tries a queue pair again (2.24 and newer, NCCL_IB_MQP_RETRY_CNT). Whether what came later in that
// process shows that a try went well.
bool came_up(const NcclLog& log, const NcclEvent& event) {
  const auto later = [&](const model::Source& source) {
    return source.place == event.source.place && source.line > event.source.line;
  };
  for (const model::NcclCommunicator& communicator : log.communicators)
    for (const model::NcclRank& rank : communicator.ranks)
      if (rank.process == event.process && rank.connected_rings && later(rank.rings_source)) return true;
  return std::ranges::any_of(log.events, [&](const NcclEvent& other) {
    return other.process == event.process && other.kind == NcclEventKind::kCompletionError &&
           later(other.source);
  });
}

// Tries of a queue pair: those that went well in the end, and those that are a failure, without the tries of
// processes that say the failure itself.
struct Tries {
  Events came_up;
  Events failed;
};
Tries tries_of(const NcclLog& log, const Events& events) {
  std::set<model::NcclIndex> gave_up;
  for (const NcclEvent* event : events)
    if (!event->handled) gave_up.insert(event->process);
  Tries tries;
  for (const NcclEvent* event : events) {
    if (!event->handled)
      tries.failed.push_back(event);
    else if (!gave_up.contains(event->process))
      (came_up(log, *event) ? tries.came_up : tries.failed).push_back(event);
  }
  return tries;
}

void fire_late(const NcclLog& log, const Events& events, Outcome& outcome) {
  fire(log, events, outcome,
       [](const NcclEvent& event) {
         return fmt::format(
             "A queue pair{} reached its peer only after {}", with_device(event),
             event.count == 1 ? "a failed try" : std::to_string(event.count) + " failed tries");
       },
       {.words = {{"by_try", ""}}, .severity = model::Severity::kInfo, .most_rank = 0});
}

// ---------------------------------------------------------------- the ports of the snapshot

// The port that an event speaks of, where the snapshot is of that host.
struct OwnPort {
  const model::RdmaDevice* device = nullptr;
  const model::RdmaPort* port = nullptr;
};

std::string_view short_name(std::string_view host) {
  return host.substr(0, host.find('.'));
}

OwnPort own_port(const Machine& machine, const NcclLog& log, const NcclEvent& event) {
  if (event.device.empty() || event.process >= log.processes.size()) return {};
  if (short_name(log.processes[event.process].host) != short_name(machine.name)) return {};
  const std::string_view words = event.device;  // "mlx5_0" or "mlx5_0:1"
  const std::size_t colon = words.find(':');
  const auto device = std::ranges::find(machine.rdma, words.substr(0, colon), &model::RdmaDevice::name);
  if (device == machine.rdma.end()) return {};
  const auto number =
      colon == std::string_view::npos ? std::nullopt : parse_integer<std::uint32_t>(words.substr(colon + 1));
  for (const model::RdmaPort& port : device->ports)
    if (number ? port.number == *number : device->ports.size() == 1) return {&*device, &port};
  return {};
}

bool is_down(const OwnPort& own) {
  return own.port != nullptr && own.port->state.is("DOWN");
}

Events on_lost_ports(const Machine& machine, const NcclLog& log, const Events& events) {
  return only(events, [&](const NcclEvent& event) { return is_down(own_port(machine, log, event)); });
}

// Each port once: its state, and how often its link went down.
std::vector<model::Evidence> ports_seen(const Machine& machine, const NcclLog& log, const Events& events) {
  std::set<const model::RdmaPort*> told;
  std::vector<model::Evidence> evidence;
  for (const NcclEvent* event : events) {
    const OwnPort own = own_port(machine, log, *event);
    if (own.port == nullptr || !told.insert(own.port).second) continue;
    const std::string label =
        fmt::format("{} port {} of {}", own.device->name, own.port->number, machine.name);
    if (is_down(own))
      evidence.push_back(diagnose::seen(machine, own.port->state.source(),
                                        fmt::format("{} is down, physical state {}", label,
                                                    own.port->physical_state.value_or("not known"))));
    for (const auto* counters : {&own.port->counters, &own.port->hw_counters}) {
      const auto downed = counters->find("link_downed");
      if (downed == counters->end() || downed->second.value_or(0) == 0) continue;
      evidence.push_back(diagnose::seen(
          machine, downed->second.source(),
          fmt::format("link_downed {} of {}, since that counter began", *downed->second.get(), label)));
      break;
    }
  }
  return evidence;
}

// What ibv_wc_status means, in words of our own; libibverbs has the names.
std::string_view meaning_of(int status) {
  switch (status) {
    case 1:
      return "a message was longer than its buffer";
    case 2:
      return "the adapter could not carry it out: its driver or, in software, its interface is in trouble";
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

// "::ffff:10.7.0.1" of "0/100070AFFFF0000", as NCCL prints the two halves of a GID: numbers of its own
// (little) byte order. Empty where it is no IPv4 address.
std::string gid_of_halves(std::string_view halves) {
  constexpr std::uint64_t kMapped = 0xffff0000;  // 00 00 ff ff in front of the address
  constexpr std::string_view kNoPrefix = "0/";
  if (!halves.starts_with(kNoPrefix)) return {};
  const auto low = parse_integer<std::uint64_t>(halves.substr(kNoPrefix.size()), 16);
  if (!low || (*low & 0xffffffffU) != kMapped) return {};
  const auto byte = [&](unsigned place) { return (*low >> (8 * place)) & 0xffU; };
  return fmt::format("::ffff:{}.{}.{}.{}", byte(4), byte(5), byte(6), byte(7));
}

// The hosts by the addresses of their own adapters, as connections and events name them; empty: several have
// it.
std::map<std::string, std::string> hosts_by_gid(const NcclLog& log, const Events& events) {
  std::map<std::string, std::string> hosts;
  const auto add = [&](const std::string& gid, const std::string& host) {
    if (gid.empty() || host.empty()) return;
    const auto [entry, is_new] = hosts.emplace(gid, host);
    if (!is_new && entry->second != host) entry->second.clear();
  };
  for (const model::NcclNetwork& network : log.networks)
    for (const model::NcclNetDevice& device : network.devices)
      add(gid_of_halves(device.gid), network.host);
  for (const NcclEvent* event : events)
    if (event->process < log.processes.size()) add(event->local_gid, log.processes[event->process].host);
  return hosts;
}

Unanswered unanswered(const NcclLog& log, const Events& events) {
  const PeerHosts hosts(log);
  const auto by_gid = hosts_by_gid(log, events);
  Unanswered found;
  for (const NcclEvent* event : events) {
    if (event->process < log.processes.size()) found.from.insert(log.processes[event->process].host);
    if (!event->device.empty()) found.devices.insert(event->device);
    if (event->peer.empty()) continue;
    found.peers.insert(event->peer);
    std::string host = hosts.find(event->peer);
    if (const auto known = by_gid.find(event->remote_gid); host.empty() && known != by_gid.end())
      host = known->second;
    found.to.insert(std::move(host));
  }
  return found;
}

// "node-b", "node-a and node-b", "12 peers".
std::string ends_of(const Unanswered& found) {
  if (found.to.size() == 1 && !found.to.begin()->empty()) return *found.to.begin();
  if (found.peers.size() == 1) return *found.peers.begin();
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
    const Tries tries = tries_of(*log, only(events, is_gid_trouble));
    fire_gid(*log, tries.failed, outcome);
    fire_late(*log, tries.came_up, outcome);
    for (const NcclEvent* event : events_of(*log, {NcclEventKind::kQpModify})) {
      if (is_gid_trouble(*event)) continue;
      const std::string where = log->places.text(event->source);
      if (event->number)
        outcome.undecided(
            fmt::format("{}: errno {} of ibv_modify_qp is no matter of GIDs", where, *event->number),
            "dmesg of that node, and what ib_write_bw says between the same two ports");
      else
        outcome.undecided(where + " does not say with which error ibv_modify_qp failed",
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
    more.evidence = ports_seen(machine, *log, events);
    if (!on_lost_ports(machine, *log, events).empty()) more.most_rank = kConsequence;
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

namespace {

// The adapter said so, or the snapshot shows down what the job could not send by.
void fire_port(const Machine& machine, const NcclLog& log, Outcome& outcome) {
  const Events failures =
      events_of(log, {NcclEventKind::kAsyncPort, NcclEventKind::kCompletionError, NcclEventKind::kQpModify});
  const Events lost = on_lost_ports(machine, log, failures);
  const Events said = events_of(log, {NcclEventKind::kAsyncPort});
  More more{.words = {{"by_port", ""}, {"what_changed", "link_downed of that port"}},
            .evidence = ports_seen(machine, log, said.empty() ? lost : said)};
  if (said.empty()) {
    fire(
        log, lost, outcome,
        [](const NcclEvent& event) { return event.device + " is down, and the job could not send by it"; },
        std::move(more));
    return;
  }
  const bool still = !on_lost_ports(machine, log, said).empty();
  fire(
      log, said, outcome,
      [still](const NcclEvent& event) {
        return fmt::format("A port went down while the job ran{}: {}", with_device(event),
                           still ? "it is down in the snapshot too" : "the link flaps");
      },
      std::move(more));
}

}  // namespace

void port_event(const Machine& machine, Outcome& outcome) {
  const auto logs = logs_of(machine);
  if (logs.empty()) return outcome.not_applicable();
  for (const NcclLog* log : logs) {
    fire(*log, events_of(*log, {NcclEventKind::kAsyncFatal}), outcome,
         [](const NcclEvent& event) {
           return fmt::format("The adapter reported a fatal error{}", with_device(event));
         },
         {.words = {{"by_adapter", ""}, {"what_changed", "the list of errors in dmesg for that adapter"}}});
    fire_port(machine, *log, outcome);
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
