// Packets that were dropped or refused, ports that waited, counters that no longer count. Totals since an
// unknown reset are remarks at most.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/format.hpp"
#include "fabric/counts.hpp"
#include "fabric/rules.hpp"
#include "knowledge/knowledge.hpp"

namespace angio::fabric {

using model::FabricCounter;
using model::FabricPort;
using model::PortRef;
using model::Severity;

namespace {

struct Hit {
  PortRef ref;
  Count count;
  double weight = 0;
};

struct Hits {
  std::vector<Hit> hits;  // heaviest first
  std::size_t looked = 0;
};

template <typename Weigh>
Hits collect(const Case& look, FabricCounter counter, Weigh weigh) {
  Hits all;
  for (std::uint32_t n = 0; n < look.layout.fabric->nodes.size(); ++n)
    for (std::uint32_t p = 0; p < look.layout.fabric->nodes[n].ports.size(); ++p) {
      const PortRef ref{n, p};
      const auto count = count_at(look, ref, counter);
      if (!count) continue;
      ++all.looked;
      if (const double weight = weigh(ref, *count); weight > 0) all.hits.push_back({ref, *count, weight});
    }
  std::ranges::stable_sort(all.hits, [](const Hit& a, const Hit& b) { return a.weight > b.weight; });
  return all;
}

Hits beyond_few(const Case& look, FabricCounter counter) {
  const double few = knowledge::threshold("fabric.packets.few");
  return collect(look, counter, [&](PortRef, const Count& count) {
    return static_cast<double>(count.value) > few ? static_cast<double>(count.value) : 0.0;
  });
}

void tell_missing(const Case& look, const Hits& hits, FabricCounter counter, FabricOutcome& outcome) {
  if (hits.looked == 0) outcome.undecided(no_counter(look, counter), kCounters);
}

// One finding for all ports: these counters come together wherever a switch or a job was busy.
FabricDraft together(const Case& look, const std::vector<Hit>& hits, FabricCounter counter,
                     std::string title) {
  FabricDraft found;
  found.subject = hits.size() == 1 ? subject_of(look.layout, hits.front().ref.node) : std::string("fabric");
  found.draft.title = std::move(title);
  for (const Hit& hit : hits) {
    found.ports.push_back(hit.ref);
    if (found.draft.evidence.size() < kMostListed)
      found.draft.evidence.push_back(seen(
          look.layout,
          fmt::format("{}: {} {}{} {}", end_words(look.layout, hit.ref), model::name_of(counter),
                      hit.count.stuck ? "at least " : "", grouped(hit.count.value), base_words(hit.count))));
  }
  if (hits.size() > kMostListed)
    found.draft.evidence.push_back(
        seen(look.layout, fmt::format("and {} more", count_of(hits.size() - kMostListed, "port"))));
  found.draft.devices = {name_of_port(*look.layout.fabric, hits.front().ref)};
  return found;
}

std::string ports_title(const Case& look, const std::vector<Hit>& hits) {
  return hits.size() == 1 ? name_of_port(*look.layout.fabric, hits.front().ref)
                          : count_of(hits.size(), "port");
}

void discards(const Case& look, FabricOutcome& outcome) {
  const Hits all = beyond_few(look, FabricCounter::kTransmitDiscards);
  tell_missing(look, all, FabricCounter::kTransmitDiscards, outcome);
  if (all.hits.empty()) return;
  const bool timed = all.hits.front().count.seconds.has_value();
  FabricDraft found = together(
      look, all.hits, FabricCounter::kTransmitDiscards,
      fmt::format("{} dropped packets that waited too long or had no link: {}{}", ports_title(look, all.hits),
                  grouped(all.hits.front().count.value), all.hits.size() > 1 ? " at the worst" : ""));
  if (timed) found.draft.severity = Severity::kWarning;
  outcome.fire(std::move(found));
}

void constraint_errors(const Case& look, FabricOutcome& outcome) {
  for (const FabricCounter counter :
       {FabricCounter::kReceiveConstraintErrors, FabricCounter::kTransmitConstraintErrors}) {
    const Hits all = beyond_few(look, counter);
    if (counter == FabricCounter::kReceiveConstraintErrors) tell_missing(look, all, counter, outcome);
    for (const Hit& hit : all.hits)
      outcome.fire(
          together(look, {hit}, counter,
                   fmt::format("{} refused {} packets: partition keys or raw packets are filtered",
                               name_of_port(*look.layout.fabric, hit.ref), grouped(hit.count.value))));
  }
}

void management_dropped(const Case& look, FabricOutcome& outcome) {
  const Hits all = beyond_few(look, FabricCounter::kVl15Dropped);
  tell_missing(look, all, FabricCounter::kVl15Dropped, outcome);
  if (all.hits.empty()) return;
  outcome.fire(together(
      look, all.hits, FabricCounter::kVl15Dropped,
      fmt::format("{} dropped management packets: {}{}", ports_title(look, all.hits),
                  grouped(all.hits.front().count.value), all.hits.size() > 1 ? " at the worst" : "")));
}

void waiting(const Case& look, FabricOutcome& outcome) {
  std::size_t without_time = 0;
  std::size_t without_tick = 0;
  const Hits all = collect(look, FabricCounter::kTransmitWait, [&](PortRef ref, const Count& count) {
    if (count.value == 0) return 0.0;
    if (!count.seconds) ++without_time;
    if (!count.seconds) return 0.0;
    const auto share =
        wait_share(look.layout.node(ref.node).device, look.layout.port(ref), count.value, *count.seconds);
    if (!share) ++without_tick;
    return share && *share >= knowledge::threshold("fabric.wait.share") ? *share : 0.0;
  });
  tell_missing(look, all, FabricCounter::kTransmitWait, outcome);
  if (without_time > 0)
    outcome.undecided(
        fmt::format("how long {} waited for credits: PortXmitWait is a total since an unknown reset",
                    count_of(without_time, "port")),
        "two scans some minutes apart, the first one given as the earlier one");
  if (without_tick > 0)
    outcome.undecided(
        fmt::format("what a tick of PortXmitWait is worth on {}", count_of(without_tick, "port")),
        "perfquery -c LID PORT shows the tick of a device");
  for (const Hit& hit : all.hits) {
    const FabricPort& port = look.layout.port(hit.ref);
    FabricDraft found =
        together(look, {hit}, FabricCounter::kTransmitWait,
                 fmt::format("{} had data and no credits for {:.0f} % of {}",
                             name_of_port(*look.layout.fabric, hit.ref), std::min(hit.weight, 1.0) * 100,
                             duration_words(*hit.count.seconds)));
    found.draft.rank = std::min(hit.weight, 1.0);
    const BitsPerSecond rate = running_rate(port).value_or(BitsPerSecond{0});
    found.draft.cost = {.text = fmt::format("{} of {} on this cable",
                                            in_words(rate * std::min(hit.weight, 1.0)), in_words(rate)),
                        .formula = "fabric-wait"};
    if (hit.weight < knowledge::threshold("fabric.wait.heavy")) found.draft.severity = Severity::kInfo;
    outcome.fire(std::move(found));
  }
}

void counters_stuck(const Case& look, FabricOutcome& outcome) {
  struct Stuck {
    PortRef ref;
    std::string counters;
  };
  std::vector<Stuck> stuck;
  bool any = false;
  for (std::uint32_t n = 0; n < look.layout.fabric->nodes.size(); ++n)
    for (std::uint32_t p = 0; p < look.layout.fabric->nodes[n].ports.size(); ++p) {
      const PortRef ref{n, p};
      const model::CounterSet& counters = look.layout.port(ref).counters;
      any = any || !counters.empty();
      std::vector<std::string> names;
      for (std::size_t i = 0; i < model::kFabricCounters; ++i)
        if (counters.is_stuck(static_cast<FabricCounter>(i)))
          names.emplace_back(model::name_of(static_cast<FabricCounter>(i)));
      if (!names.empty()) stuck.push_back({ref, list_words(names, kMostListed)});
    }
  if (!any) return outcome.undecided("counters of any port", kCounters);
  if (stuck.empty()) return;
  FabricDraft found;
  found.subject = stuck.size() == 1 ? subject_of(look.layout, stuck.front().ref.node) : std::string("fabric");
  found.draft.title = fmt::format("Counters of {} stand at their maximum and count no further",
                                  count_of(stuck.size(), "port"));
  for (const Stuck& each : stuck) {
    found.ports.push_back(each.ref);
    if (found.draft.evidence.size() < kMostListed)
      found.draft.evidence.push_back(
          seen(look.layout, end_words(look.layout, each.ref) + ": " + each.counters));
  }
  if (stuck.size() > kMostListed)
    found.draft.evidence.push_back(
        seen(look.layout, fmt::format("and {} more", count_of(stuck.size() - kMostListed, "port"))));
  found.draft.devices = {name_of_port(*look.layout.fabric, stuck.front().ref)};
  outcome.fire(std::move(found));
}

}  // namespace

std::span<const Rule> traffic_rules() {
  static constexpr std::array kRules = {
      Rule{"fabric.port.discards", discards},
      Rule{"fabric.port.constraint-errors", constraint_errors},
      Rule{"fabric.port.management-dropped", management_dropped},
      Rule{"fabric.port.waiting", waiting},
      Rule{"fabric.port.counters-stuck", counters_stuck},
  };
  return kRules;
}

}  // namespace angio::fabric
