// Who is slow against the others, in words.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/format.hpp"
#include "base/text.hpp"
#include "knowledge/knowledge.hpp"
#include "mesh/expectation.hpp"
#include "mesh/launcher.hpp"
#include "mesh/rules.hpp"

namespace angio::mesh {
namespace {

using diagnose::Draft;
using diagnose::Outcome;
using model::MeshMeasure;
using model::MeshResult;
using model::MeshTransport;

// What a reader takes in; the JSON form has the figures of all.
constexpr std::size_t kMostEach = 8;

std::string host_name(const MeshResult& result, std::uint32_t host) {
  return result.hosts[host].name;
}

std::string folded(const MeshResult& result, const std::vector<std::uint32_t>& hosts) {
  std::vector<std::string> names;
  for (const std::uint32_t host : hosts)
    names.push_back(host_name(result, host));
  return fold_hosts(names);
}

std::string nic_name(const MeshResult& result, MeshTransport transport, std::uint32_t host,
                     std::uint32_t nic) {
  const auto& nics = transport == MeshTransport::kTcp ? result.hosts[host].tcp : result.hosts[host].rdma;
  if (nic < nics.size() && !nics[nic].name.empty()) return nics[nic].name;
  return fmt::format("NIC {}", nic);
}

std::string percent(double share) {
  return fmt::format("{:.0f} %", share * 100);
}

std::string directions(bool out, bool in) {
  return out && in ? "sending and receiving" : out ? "sending" : "receiving";
}

std::string shares(const SlowEnd& end) {
  if (end.out && end.in)
    return fmt::format("{} of the usual sending, {} receiving", percent(end.out_share),
                       percent(end.in_share));
  return percent(end.out ? end.out_share : end.in_share) + " of the usual";
}

// The slowest direction of an end, as it was measured.
model::Evidence example_of(const MeshCase& facts, MeshTransport transport, const SlowEnd& end, bool latency) {
  const MeshMeasure* worst = nullptr;
  const auto value = [latency](const MeshMeasure& one) {
    return latency ? -one.latency_us.value_or(0) : one.bandwidth->value;
  };
  for (const MeshMeasure& one : facts.result.measures) {
    if (one.transport != transport || (latency ? !one.latency_us : !one.bandwidth)) continue;
    const bool sends = end.out && one.from == end.host && (!end.nic || one.from_nic == *end.nic);
    const bool receives = end.in && one.to == end.host && (!end.nic || one.to_nic == *end.nic);
    if ((sends || receives) && (worst == nullptr || value(one) < value(*worst))) worst = &one;
  }
  if (worst == nullptr) return {};
  const std::string pair = host_name(facts.result, worst->from) + " to " + host_name(facts.result, worst->to);
  if (latency)
    return {fmt::format("{}: {:.1f} us, half of a round trip", pair, *worst->latency_us), "this mesh"};
  return {fmt::format("{}: {}", pair, in_words(*worst->bandwidth)), "this mesh"};
}

model::Evidence usual_of(const MeshCase& facts, MeshTransport transport, bool latency) {
  for (const model::MeshUsual& usual : facts.report.usual) {
    if (usual.transport != transport || usual.rail) continue;
    if (latency)
      return {fmt::format("median of the mesh {:.1f} us", usual.latency_us.value_or(0)), "this mesh"};
    return {
        fmt::format("median of the mesh {}, {} directions measured", in_words(usual.median), usual.measured),
        "this mesh"};
  }
  return {};
}

model::Cost cost_of(double share) {
  return {fmt::format("collectives that cross it run at {} of what the others allow", percent(share)),
          "mesh-usual"};
}

// A table says nothing where there is nothing to compare with.
bool can_compare(const MeshCase& facts, Outcome& outcome) {
  const bool any = std::ranges::any_of(facts.suspects, [](const TransportCase& one) {
    return one.bandwidth.hosts >= 3 || one.latency.hosts >= 3;
  });
  if (!any)
    outcome.undecided(
        "which host is slow: fewer than three hosts were measured, so none has another to be compared with",
        "test three hosts or more");
  return any;
}

template <typename Choose>
void fire_ends(const MeshCase& facts, Outcome& outcome, const Choose& choose) {
  for (const TransportCase& one : facts.suspects) {
    std::size_t fired = 0;
    for (const SlowEnd& end : one.bandwidth.ends) {
      if (!choose(end)) continue;
      if (++fired > kMostEach) continue;
      const std::string host = host_name(facts.result, end.host);
      const bool alone = end.nic && end.nics == 1;
      const std::string nic = end.nic ? nic_name(facts.result, one.transport, end.host, *end.nic) : "";
      const std::string what = end.nic && !alone ? host + " " + nic : host;
      Draft draft;
      draft.title = fmt::format("{} is slow {} over {}: {}", what, directions(end.out, end.in),
                                name_of(one.transport), shares(end));
      draft.devices = {what};
      draft.evidence.push_back(
          {fmt::format("so with {}{}", count_of(end.partners, "partner"),
                       alone && !nic.empty() ? "; " + nic + " is its only NIC in this test"
                       : end.nic             ? "; its other NICs are as usual"
                                             : ""),
           "rows and columns of the table"});
      draft.evidence.push_back(example_of(facts, one.transport, end, false));
      draft.evidence.push_back(usual_of(facts, one.transport, false));
      const double share = std::min(end.out ? end.out_share : 1, end.in ? end.in_share : 1);
      draft.cost = cost_of(share);
      draft.rank = 1 - share;
      draft.words = {{"host", host}, {"nic", nic.empty() ? "<NIC>" : nic}};
      outcome.fire(std::move(draft));
    }
    if (fired > kMostEach) {
      Draft draft;
      draft.title = fmt::format("{} more are slow over {}: --format json has them all", fired - kMostEach,
                                name_of(one.transport));
      outcome.fire(std::move(draft));
    }
  }
}

}  // namespace

void slow_hosts(const MeshCase& facts, Outcome& outcome) {
  if (can_compare(facts, outcome))
    fire_ends(facts, outcome, [](const SlowEnd& end) { return !end.nic || end.nics == 1; });
}

void slow_nics(const MeshCase& facts, Outcome& outcome) {
  const bool several =
      std::ranges::any_of(facts.suspects, [](const TransportCase& one) { return one.bandwidth.rails > 1; });
  if (!several) {
    outcome.not_applicable();
    return;
  }
  if (can_compare(facts, outcome))
    fire_ends(facts, outcome, [](const SlowEnd& end) { return end.nic && end.nics > 1; });
}

void slow_rails(const MeshCase& facts, Outcome& outcome) {
  bool any = false;
  for (const TransportCase& one : facts.suspects) {
    if (one.bandwidth.rails < 2) continue;
    any = true;
    if (!one.bandwidth.compares_rails)
      outcome.undecided(fmt::format("whether a rail is slow over {}: the rates of some ports are unknown",
                                    name_of(one.transport)),
                        "give --snapshots of the hosts");
    for (const SlowRail& rail : one.bandwidth.slow_rails) {
      Draft draft;
      const std::string where = rail.slow == rail.directions
                                    ? "all hosts"
                                    : fmt::format("{} of {} paths", rail.slow, rail.directions);
      draft.title = fmt::format("Rail {} is slow on {} over {}: its median is {} of the best rail's",
                                rail.rail, where, name_of(one.transport), percent(rail.share));
      draft.devices = {fmt::format("rail {}", rail.rail)};
      for (const model::MeshUsual& usual : facts.report.usual) {
        if (usual.transport == one.transport && usual.rail)
          draft.evidence.push_back(
              {fmt::format("rail {}: median {}, {} to {}", *usual.rail, in_words(usual.median),
                           in_words(usual.lowest), in_words(usual.highest)),
               "this mesh"});
      }
      draft.cost = cost_of(rail.share);
      draft.rank = 1 - rail.share;
      draft.words = {{"rail", std::to_string(rail.rail)}};
      outcome.fire(std::move(draft));
    }
  }
  if (!any) outcome.not_applicable();
}

void slow_paths(const MeshCase& facts, Outcome& outcome) {
  if (!can_compare(facts, outcome)) return;
  for (const TransportCase& one : facts.suspects) {
    if (one.bandwidth.unsettled > 0)
      outcome.undecided(
          fmt::format("which path is slow over {}: {} of {} directions are far below what their hosts reach "
                      "with others, "
                      "too many or too unlike for single faults: passing traffic looks like that",
                      name_of(one.transport), one.bandwidth.unsettled, one.bandwidth.cells),
          "test again, and with --pairs-at-once 1: a slow path is slow each time");
    const std::vector<SlowPath>& paths = one.bandwidth.paths;
    for (std::size_t i = 0; i < std::min(paths.size(), kMostEach); ++i) {
      const MeshMeasure& there = facts.result.measures[paths[i].there];
      const std::string from = host_name(facts.result, there.from);
      const std::string to = host_name(facts.result, there.to);
      Draft draft;
      const std::string ends =
          paths[i].back ? fmt::format("between {} and {}", from, to) : fmt::format("from {} to {}", from, to);
      draft.title = fmt::format("The path {} is slow over {}: {} of what both reach with others", ends,
                                name_of(one.transport), percent(paths[i].share));
      draft.devices = {from + " " + nic_name(facts.result, one.transport, there.from, there.from_nic),
                       to + " " + nic_name(facts.result, one.transport, there.to, there.to_nic)};
      draft.evidence.push_back(
          {fmt::format("{} to {}: {}", from, to, in_words(*there.bandwidth)), "this mesh"});
      if (paths[i].back) {
        const MeshMeasure& back = facts.result.measures[*paths[i].back];
        draft.evidence.push_back(
            {fmt::format("{} to {}: {}", to, from, in_words(*back.bandwidth)), "this mesh"});
      }
      draft.evidence.push_back(usual_of(facts, one.transport, false));
      draft.cost = cost_of(paths[i].share);
      draft.rank = 1 - paths[i].share;
      draft.words = {{"host", from}, {"other", to}};
      outcome.fire(std::move(draft));
    }
    if (paths.size() > kMostEach) {
      Draft draft;
      draft.title = fmt::format("{} more paths are slow over {}: --format json has them all",
                                paths.size() - kMostEach, name_of(one.transport));
      outcome.fire(std::move(draft));
    }
  }
}

void slow_trunks(const MeshCase& facts, Outcome& outcome) {
  if (!can_compare(facts, outcome)) return;
  for (const TransportCase& one : facts.suspects) {
    for (const SlowGroups& groups : one.bandwidth.groups) {
      Draft draft;
      const std::string rail =
          groups.rail && one.bandwidth.rails > 1 ? fmt::format(" on rail {}", *groups.rail) : "";
      draft.title =
          fmt::format("{} groups of hosts reach each other at {} of what they reach within, over {}{}",
                      groups.groups.size(), percent(groups.share), name_of(one.transport), rail);
      if (groups.sender)
        draft.title = fmt::format(
            "{} reaches the other hosts at {} of what is usual, over {}{}; the way back is as usual",
            folded(facts.result, groups.groups[*groups.sender]), percent(groups.share),
            name_of(one.transport), rail);
      for (const auto& group : groups.groups) {
        const std::string names = folded(facts.result, group);
        draft.devices.push_back(names);
        if (draft.evidence.size() < kMostEach) draft.evidence.push_back({names, "fast among themselves"});
      }
      draft.evidence.push_back(
          {fmt::format("median within {}, between {}", in_words(groups.within), in_words(groups.between)),
           "this mesh"});
      draft.cost = cost_of(groups.share);
      draft.rank = 1 - groups.share;
      outcome.fire(std::move(draft));
    }
  }
}

void late_hosts(const MeshCase& facts, Outcome& outcome) {
  const bool any =
      std::ranges::any_of(facts.suspects, [](const TransportCase& one) { return one.latency.cells > 0; });
  if (!any) {
    outcome.not_applicable();
    return;
  }
  if (!can_compare(facts, outcome)) return;
  for (const TransportCase& one : facts.suspects) {
    std::size_t fired = 0;
    for (const SlowEnd& end : one.latency.ends) {
      // A round trip has both directions in it.
      if (!end.out || !end.in || ++fired > kMostEach) continue;
      const std::string host = host_name(facts.result, end.host);
      const double times = 1 / std::min(end.out_share, end.in_share);
      Draft draft;
      draft.title = fmt::format("{} answers late over {}: {:.1f} times the usual latency", host,
                                name_of(one.transport), times);
      draft.devices = {host};
      draft.evidence = {example_of(facts, one.transport, end, true), usual_of(facts, one.transport, true)};
      draft.rank = 1 - 1 / times;
      draft.words = {{"host", host}};
      outcome.fire(std::move(draft));
    }
  }
}

}  // namespace angio::mesh
