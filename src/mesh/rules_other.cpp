// What failed, and what the figures are against the hardware and against TCP.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "base/format.hpp"
#include "base/text.hpp"
#include "knowledge/knowledge.hpp"
#include "mesh/expectation.hpp"
#include "mesh/polish.hpp"
#include "mesh/rules.hpp"

namespace angio::mesh {
namespace {

using diagnose::Draft;
using diagnose::Outcome;
using model::MeshMeasure;
using model::MeshResult;
using model::MeshTransport;
using model::MeshVerdict;

constexpr std::size_t kMostEach = 8;

std::string pair_of(const MeshResult& result, const MeshMeasure& measure) {
  return result.hosts[measure.from].name + " to " + result.hosts[measure.to].name;
}

// The same trouble with other numbers in it is the same trouble.
std::string kind_of(std::string_view trouble) {
  std::string kind;
  for (const char c : trouble) {
    const bool digit = (c >= '0' && c <= '9');
    if (!digit) kind += c;
  }
  return kind;
}

bool is_lost(const model::MeshHost& host) {
  return !host.trouble.empty() && !host.trouble.starts_with("it is not among");
}

struct Failures {
  std::vector<const MeshMeasure*> list;
  std::set<std::uint32_t> hosts;
};

void fire_failures(const MeshCase& facts, MeshTransport transport, const Failures& failures,
                   std::size_t tried, Outcome& outcome) {
  const MeshMeasure& first = *failures.list.front();
  Draft draft;
  const std::size_t count = failures.list.size();
  // One host that all of them share?
  std::optional<std::uint32_t> common;
  for (const std::uint32_t host : {first.from, first.to}) {
    const bool all = std::ranges::all_of(
        failures.list, [host](const MeshMeasure* one) { return one->from == host || one->to == host; });
    if (all && failures.hosts.size() > 2) common = host;
  }
  const std::string what = fmt::format("{} of {} directions over {}", count, tried, name_of(transport));
  if (common) {
    draft.title = fmt::format("{} failed, all with {}", what, facts.result.hosts[*common].name);
    draft.devices = {facts.result.hosts[*common].name};
  } else if (failures.hosts.size() == 2) {
    draft.title = fmt::format("{} failed, {}", what, pair_of(facts.result, first));
    draft.devices = {facts.result.hosts[first.from].name, facts.result.hosts[first.to].name};
  } else {
    draft.title = fmt::format("{} failed", what);
  }
  draft.evidence.push_back({fmt::format("{}: {}", pair_of(facts.result, first), first.trouble), "this mesh"});
  draft.rank = static_cast<double>(count) / static_cast<double>(std::max<std::size_t>(1, tried));
  outcome.fire(std::move(draft));
}

std::vector<const MeshMeasure*> with_verdict(const MeshResult& result, MeshVerdict verdict) {
  std::vector<const MeshMeasure*> list;
  for (const MeshMeasure& measure : result.measures) {
    if (measure.verdict == verdict) list.push_back(&measure);
  }
  std::ranges::stable_sort(list, [](const MeshMeasure* a, const MeshMeasure* b) {
    return *a->bandwidth / *a->expected < *b->bandwidth / *b->expected;
  });
  return list;
}

// Measured both ways, in pairs of the same direction.
struct Both {
  const MeshMeasure* tcp = nullptr;
  const MeshMeasure* rdma = nullptr;
};

std::vector<Both> measured_both(const MeshResult& result) {
  std::map<std::pair<std::uint32_t, std::uint32_t>, Both> by_pair;
  for (const MeshMeasure& measure : result.measures) {
    if (!measure.bandwidth) continue;
    Both& both = by_pair[{measure.from, measure.to}];
    const MeshMeasure*& place = measure.transport == MeshTransport::kTcp ? both.tcp : both.rdma;
    if (place == nullptr || *place->bandwidth < *measure.bandwidth) place = &measure;
  }
  std::vector<Both> list;
  for (const auto& [pair, both] : by_pair) {
    if (both.tcp != nullptr && both.rdma != nullptr) list.push_back(both);
  }
  return list;
}

// The slower port of a direction.
BitsPerSecond line_of(const MeshResult& result, const MeshMeasure& measure) {
  const auto expected =
      expect(result.hosts[measure.from], *find_nic(result, measure, true), result.hosts[measure.to],
             *find_nic(result, measure, false), measure.transport);
  return expected ? expected->line : BitsPerSecond{};
}

}  // namespace

void lost_hosts(const MeshCase& facts, Outcome& outcome) {
  std::size_t fired = 0;
  std::size_t lost = 0;
  for (const model::MeshHost& host : facts.result.hosts) {
    if (!is_lost(host)) continue;
    ++lost;
    if (++fired > kMostEach) continue;
    Draft draft;
    draft.title = fmt::format("{} is not usable: {}", host.name, host.trouble);
    draft.devices = {host.name};
    draft.evidence.push_back({host.tested ? "it took part until then" : "it never took part",
                              "angio mesh over " + facts.result.launcher});
    draft.rank = 1;
    draft.words = {{"host", host.name}};
    outcome.fire(std::move(draft));
  }
  if (lost > kMostEach) {
    Draft draft;
    draft.title = fmt::format("{} more hosts are not usable: --format json has them all", lost - kMostEach);
    outcome.fire(std::move(draft));
  }
}

void failed_pairs(const MeshCase& facts, Outcome& outcome) {
  for (const MeshTransport transport : {MeshTransport::kTcp, MeshTransport::kRdma}) {
    std::map<std::string, Failures> by_kind;
    std::size_t tried = 0;
    for (const MeshMeasure& measure : facts.result.measures) {
      if (measure.transport != transport || measure.state == model::MeshState::kMissing) continue;
      ++tried;
      if (measure.state != model::MeshState::kFailed) continue;
      // What a lost host takes along is said of the host.
      if (is_lost(facts.result.hosts[measure.from]) || is_lost(facts.result.hosts[measure.to])) continue;
      Failures& failures = by_kind[kind_of(measure.trouble)];
      failures.list.push_back(&measure);
      failures.hosts.insert({measure.from, measure.to});
    }
    std::size_t fired = 0;
    for (const auto& [kind, failures] : by_kind) {
      if (++fired <= kMostEach) fire_failures(facts, transport, failures, tried, outcome);
    }
  }
}

void below_hardware(const MeshCase& facts, Outcome& outcome) {
  std::size_t judged = 0;
  std::size_t unknown = 0;
  std::size_t small = 0;
  std::vector<double> shares;
  for (const MeshMeasure& measure : facts.result.measures) {
    if (measure.transport != MeshTransport::kRdma || !measure.bandwidth) continue;
    if (is_small(measure.message) || !measure.expected) {
      ++(is_small(measure.message) ? small : unknown);
      continue;
    }
    ++judged;
    shares.push_back(*measure.bandwidth / *measure.expected);
  }
  if (judged + unknown + small == 0) {
    outcome.not_applicable();
    return;
  }
  if (small > 0 && judged + unknown == 0) {
    outcome.undecided("how near RDMA comes to the hardware: messages below 64 KiB show how many there can be",
                      "test with messages of 1 MiB (--size 1MiB; ib_write_bw -s 1048576)");
    return;
  }
  if (judged == 0) {
    outcome.undecided("what the hardware allows: no rate of any port is known",
                      "give --snapshots of the hosts");
    return;
  }
  // Slow hosts, rails and trunks are named by what they have in common; here even the fastest are low.
  constexpr double kFastest = 0.98;
  const auto at = static_cast<std::ptrdiff_t>(kFastest * static_cast<double>(shares.size()));
  std::ranges::nth_element(shares, shares.begin() + at);
  const double share = shares[static_cast<std::size_t>(at)];
  if (share >= knowledge::threshold("mesh.low-share")) return;
  const auto low = with_verdict(facts.result, MeshVerdict::kLow);
  if (low.empty()) return;
  const MeshMeasure& middle = *low[low.size() / 2];
  Draft draft;
  draft.title = fmt::format("RDMA between these hosts reaches at most {:.0f} % of what their hardware allows",
                            share * 100);
  draft.evidence = {{fmt::format("{} of {} directions are low", low.size(), judged), "this mesh"},
                    {fmt::format("{}: {} of {}", pair_of(facts.result, middle), in_words(*middle.bandwidth),
                                 in_words(*middle.expected)),
                     "this mesh"},
                    {"limit: " + middle.limit, "the hosts' own probes or snapshots"}};
  draft.cost = {fmt::format("{} of {} on a usual path", in_words(*middle.expected - *middle.bandwidth),
                            in_words(*middle.expected)),
                "mesh-expected"};
  draft.rank = 1 - share;
  outcome.fire(std::move(draft));
}

void impossible_rates(const MeshCase& facts, Outcome& outcome) {
  const bool known = std::ranges::any_of(facts.result.measures, [](const MeshMeasure& measure) {
    return measure.bandwidth && measure.expected;
  });
  if (!known) {
    outcome.undecided("whether a rate is possible: no rate of any port is known",
                      "give --snapshots of the hosts");
    return;
  }
  const auto list = with_verdict(facts.result, MeshVerdict::kImpossible);
  if (list.empty()) return;
  const MeshMeasure& worst = *list.back();
  Draft draft;
  draft.title = fmt::format("{} of payload cannot go through a port of {}", in_words(*worst.bandwidth),
                            in_words(line_of(facts.result, worst)));
  draft.devices = {facts.result.hosts[worst.from].name, facts.result.hosts[worst.to].name};
  draft.evidence = {
      {fmt::format("{}: {}", pair_of(facts.result, worst), in_words(*worst.bandwidth)), "this mesh"},
      {"limit: " + worst.limit, "the hosts' own probes or snapshots"},
      {fmt::format("so in {} of {} directions", list.size(), facts.result.measures.size()), "this mesh"}};
  draft.rank = 1;
  outcome.fire(std::move(draft));
}

void slower_than_tcp(const MeshCase& facts, Outcome& outcome) {
  const auto list = measured_both(facts.result);
  if (!facts.result.plan.rdma || !facts.result.plan.tcp) {
    outcome.not_applicable();
    return;
  }
  if (list.empty()) {
    outcome.undecided("whether RDMA is faster than TCP: no pair was measured with both",
                      "test with --transport both");
    return;
  }
  std::vector<double> ratios;
  for (const Both& both : list)
    ratios.push_back(*both.rdma->bandwidth / *both.tcp->bandwidth);
  const double ratio = median_of(ratios);
  if (ratio >= 1) return;
  Draft draft;
  draft.title = fmt::format("RDMA is slower than TCP on the same pairs: {:.0f} % of it", ratio * 100);
  const Both& first = list.front();
  draft.evidence = {{fmt::format("{}: RDMA {}, TCP {}", pair_of(facts.result, *first.rdma),
                                 in_words(*first.rdma->bandwidth), in_words(*first.tcp->bandwidth)),
                     "this mesh"},
                    {fmt::format("{} measured with both", count_of(list.size(), "direction")), "this mesh"}};
  draft.rank = 1 - ratio;
  outcome.fire(std::move(draft));
}

std::span<const Rule> mesh_rules() {
  static constexpr std::array kRules{
      Rule{"mesh.host.lost", lost_hosts},
      Rule{"mesh.pair.failed", failed_pairs},
      Rule{"mesh.host.slow", slow_hosts},
      Rule{"mesh.nic.slow", slow_nics},
      Rule{"mesh.rail.slow", slow_rails},
      Rule{"mesh.path.slow", slow_paths},
      Rule{"mesh.trunk.slow", slow_trunks},
      Rule{"mesh.latency.high", late_hosts},
      Rule{"mesh.bandwidth.below-hardware", below_hardware},
      Rule{"mesh.bandwidth.impossible", impossible_rates},
      Rule{"mesh.rdma.slower-than-tcp", slower_than_tcp},
  };
  return kRules;
}

}  // namespace angio::mesh
