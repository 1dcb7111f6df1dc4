#include "diagnose/rules/nccl_events.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <set>

#include "base/format.hpp"
#include "base/text.hpp"
#include "diagnose/rules/support.hpp"

namespace angio::diagnose::nccl {
namespace {

using model::NcclEvent;
using model::NcclEventKind;
using model::NcclLog;

constexpr std::size_t kMostRows = 6;  // what a finding shows without being cut

// "::ffff:10.6.0.35" gives "10.6.0.": RoCE addresses of one rail share it (NCCL_IB_SUBNET_PREFIX_LEN, default
// 24).
std::string_view subnet_of(std::string_view gid) {
  constexpr std::string_view kMapped = "::ffff:";
  if (!gid.starts_with(kMapped)) return {};
  gid.remove_prefix(kMapped.size());
  const std::size_t dot = gid.rfind('.');
  return dot == std::string_view::npos ? std::string_view() : gid.substr(0, dot + 1);
}

}  // namespace

void cite(const NcclLog& log, const Events& events, Draft& draft) {
  const std::size_t room = std::max<std::size_t>(kMostRows - std::min(kMostRows, draft.evidence.size()), 2);
  const std::size_t shown = events.size() > room ? room - 1 : events.size();
  std::vector<model::Evidence> lines;
  for (std::size_t i = 0; i < shown; ++i)
    lines.push_back(seen(log, *events[i]));
  if (shown < events.size())
    lines.push_back({fmt::format("and {} more like these", events.size() - shown), ""});
  draft.evidence.insert(draft.evidence.begin(), std::make_move_iterator(lines.begin()),
                        std::make_move_iterator(lines.end()));
}

namespace {

// The one value that all events give; empty where they differ or none gives one.
std::string agreed(const Events& events, std::string NcclEvent::* member) {
  std::string value;
  for (const NcclEvent* event : events) {
    const std::string& one = event->*member;
    if (one.empty() || one == value) continue;
    if (!value.empty()) return {};
    value = one;
  }
  return value;
}

// "10.0.0.2" of "10.0.0.2<33092>".
std::string_view address_of(std::string_view peer) {
  return peer.substr(0, peer.find('<'));
}

bool is_number(std::string_view address) {
  return contains(address, ":") ||
         (contains(address, ".") && address.find_first_not_of("0123456789.") == std::string_view::npos);
}

}  // namespace

Draft draft_of(const NcclLog& log, const Events& events, std::string title, More more) {
  Draft draft;
  draft.title = std::move(title);
  draft.rank = std::min(rank_in_time(log, events), more.most_rank);
  draft.severity = more.severity;
  draft.words = std::move(more.words);
  draft.evidence = std::move(more.evidence);
  cite_subnets(log, events, draft);
  cite(log, events, draft);
  const NcclEvent& first = *events.front();
  draft.words.emplace("errno", first.number ? std::to_string(*first.number) : "<errno>");
  if (const std::string peer = agreed(events, &NcclEvent::peer); !peer.empty())
    draft.words.emplace("peer", peer);
  if (const std::string device = agreed(events, &NcclEvent::device); !device.empty())
    draft.words.emplace("adapter", device.substr(0, device.find(':')));
  return draft;
}

PeerHosts::PeerHosts(const NcclLog& log) {
  for (const model::NcclProcess& process : log.processes) {
    if (process.host.empty()) continue;
    names_.insert(process.host);
    const std::string_view address = address_of(process.bootstrap_address);
    if (address.empty()) continue;
    const auto [entry, is_new] = by_address_.emplace(address, process.host);
    if (!is_new && entry->second != process.host) entry->second.clear();
  }
}

std::string PeerHosts::find(const std::string& peer) const {
  const std::string_view address = address_of(peer);
  if (const auto known = by_address_.find(address); known != by_address_.end()) return known->second;
  if (is_number(address)) return {};
  const auto name = names_.find(address.substr(0, address.find('.')));
  return name == names_.end() ? std::string() : *name;
}

bool PeerHosts::is_absent(const std::string& peer) const {
  const std::string_view address = address_of(peer);
  return !address.empty() && !is_number(address) && find(peer).empty();
}

Events before_the_end(const NcclLog& log, const Events& events) {
  std::map<model::NcclIndex, model::Source> ends;  // line 0: something of the process never ended
  for (const model::NcclCommunicator& communicator : log.communicators) {
    for (const model::NcclRank& rank : communicator.ranks) {
      const auto [end, is_new] = ends.emplace(rank.process, rank.ended);
      if (is_new || end->second.line == 0) continue;
      if (rank.ended.line == 0 || rank.ended.line > end->second.line) end->second = rank.ended;
    }
  }
  return only(events, [&](const NcclEvent& event) {
    const auto end = ends.find(event.process);
    return end == ends.end() || end->second.line == 0 || end->second.place != event.source.place ||
           event.source.line < end->second.line;
  });
}

const model::NcclProcess* inner_bootstrap(const NcclLog& log) {
  if (hosts_of(log).size() <= 1) return nullptr;
  const auto inner = std::ranges::find_if(log.processes, [](const model::NcclProcess& process) {
    const std::string& name = process.bootstrap_interface;
    return name == "lo" || name.starts_with("docker") || name.starts_with("virbr") ||
           name.starts_with("veth");
  });
  return inner == log.processes.end() ? nullptr : &*inner;
}

std::string processes_in_words(const NcclLog& log, const Events& events) {
  std::set<model::NcclIndex> who;
  for (const NcclEvent* event : events)
    who.insert(event->process);
  if (who.size() != 1) return processes(who.size());
  const std::string name = name_of(log, *who.begin());
  return name.empty() ? "A process" : name;
}

bool cite_subnets(const NcclLog& log, const Events& events, Draft& draft) {
  for (const NcclEvent* event : events) {
    const std::string_view local = subnet_of(event->local_gid);
    const std::string_view remote = subnet_of(event->remote_gid);
    if (local.empty() || remote.empty() || local == remote) continue;
    draft.evidence.push_back(
        {fmt::format("the two ends lie in different subnets, {}x and {}x: another rail, reachable "
                     "only if the fabric routes between them",
                     local, remote),
         log.places.text(event->source)});
    return true;
  }
  return false;
}

std::string with_device(const NcclEvent& event) {
  // "mlx5_0:1"; some messages give only the number of the device, which says little.
  const bool named = !event.device.empty() && (event.device[0] < '0' || event.device[0] > '9');
  return named ? " on " + event.device : std::string();
}

bool is_zero_gid(const std::string& gid) {
  return !gid.empty() && gid.find_first_not_of("0:") == std::string::npos;
}

bool speaks_of_roce_version(const NcclEvent& event) {
  const std::string text = to_lower(event.text);
  return contains(text, "roce") && contains(text, "version");
}

bool is_gid_trouble(const NcclEvent& event) {
  if (is_zero_gid(event.local_gid) || is_zero_gid(event.remote_gid)) return true;
  if (speaks_of_roce_version(event) || contains(event.text, "(0/0)")) return true;
  if (event.kind != NcclEventKind::kQpModify || !event.number) return false;
  return *event.number == kEinval || *event.number == kEnodata || *event.number == kEnetunreach ||
         *event.number == kEhostunreach || *event.number == kEtimedout;
}

const NcclEvent* earlier_cause(const NcclLog& log, const NcclEvent& echo) {
  const NcclEvent* first = model::find_earliest_failure(log);
  return first == nullptr || first == &echo || model::is_echo(*first) ? nullptr : first;
}

}  // namespace angio::diagnose::nccl
