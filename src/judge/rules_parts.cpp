// Copies between host and GPU, flows between two hosts, tests that did not run.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "base/format.hpp"
#include "judge/case.hpp"
#include "knowledge/knowledge.hpp"

namespace angio::judge {
namespace {

using diagnose::Draft;
using diagnose::Outcome;

constexpr std::size_t kShown = 4;

model::Evidence seen(const Copy& copy, const std::string& source) {
  return {fmt::format("{}: {}, {} of {}", copy.what, in_gigabytes(copy.rate.value),
                      percent(copy.rate / copy.wire), copy.limit),
          source};
}

const char* direction_of(CopyKind kind) {
  return kind == CopyKind::kHostToGpu ? "host to GPU" : "GPU to host";
}

}  // namespace

void low_copies(const Case& facts, Outcome& outcome) {
  if (facts.copies.empty()) return outcome.not_applicable();
  std::vector<const Copy*> low;
  bool decided = false;
  for (const Copy& copy : facts.copies) {
    const Verdict verdict = verdict_of(copy);
    decided = decided || verdict != Verdict::kUndecided;
    if (verdict == Verdict::kLow) low.push_back(&copy);
  }
  if (low.empty()) {
    if (!decided)
      outcome.undecided("whether the copies are slow: what they go over is not known",
                        "name the hardware: --topo SNAP or --gpu NAME");
    return;
  }
  const Copy& worst =
      **std::ranges::min_element(low, {}, [](const Copy* copy) { return copy->rate / copy->wire; });
  Draft draft;
  draft.title = fmt::format("{}: {}, {} of {}{}", worst.what, in_gigabytes(worst.rate.value),
                            percent(worst.rate / worst.wire), worst.limit,
                            low.size() > 1 ? fmt::format("; {} copies are low", low.size()) : "");
  for (std::size_t i = 0; i < std::min(low.size(), kShown); ++i)
    draft.evidence.push_back(seen(*low[i], facts.source));
  draft.cost = {
      fmt::format("a copy takes {:.1f} times as long as it should",
                  worst.wire.value * knowledge::threshold("judge.copy-usual-share") / worst.rate.value),
      "judge-share"};
  const bool gpus = worst.kind == CopyKind::kGpuToGpu;
  draft.words[gpus ? "gpus" : "host"] = "yes";
  if (worst.gpu) draft.words["gpu"] = std::to_string(*worst.gpu);
  draft.rank = std::clamp(1 - worst.rate / worst.wire, 0.0, 1.0);
  outcome.fire(std::move(draft));
}

// Case 67 of the field: the copy from the far socket looks as quick, for PCIe is full first.
void same_from_both_sockets(const Case& facts, Outcome& outcome) {
  std::map<std::pair<std::uint32_t, CopyKind>, std::map<std::uint32_t, const Copy*>> by_node;
  for (const Copy& copy : facts.copies)
    if (copy.gpu && copy.node && copy.pinned && copy.rate.value > 0)
      by_node[{*copy.gpu, copy.kind}][*copy.node] = &copy;
  const double equal = knowledge::threshold("judge.same-share");
  bool looked = false;
  for (const auto& [key, nodes] : by_node) {
    if (nodes.size() < 2) continue;
    looked = true;
    double least = 0;
    double most = 0;
    for (const auto& [node, copy] : nodes) {
      least = least == 0 ? copy->rate.value : std::min(least, copy->rate.value);
      most = std::max(most, copy->rate.value);
    }
    if (least < equal * most) continue;
    Draft draft;
    draft.title = fmt::format("{}, GPU {}: {} from every NUMA node, so this test cannot tell near from far",
                              direction_of(key.second), key.first, in_gigabytes(most));
    for (const auto& [node, copy] : nodes)
      draft.evidence.push_back(
          {fmt::format("node {}: {}", node, in_gigabytes(copy->rate.value)), facts.source});
    draft.evidence.resize(std::min(draft.evidence.size(), kShown));
    draft.words["gpu"] = std::to_string(key.first);
    return outcome.fire(std::move(draft));
  }
  if (looked) return;
  const bool copies = std::ranges::any_of(facts.copies, [](const Copy& copy) {
    return copy.kind == CopyKind::kHostToGpu || copy.kind == CopyKind::kGpuToHost;
  });
  if (!copies) return outcome.not_applicable();
  outcome.undecided("near against far memory: the copies are from one NUMA node, or do not say from which",
                    "angio bench memory, which copies from every node");
}

void low_network(const Case& facts, Outcome& outcome) {
  if (facts.flows.empty()) return outcome.not_applicable();
  const Flow* worst = nullptr;
  const Flow* best = nullptr;
  bool decided = false;
  for (const Flow& flow : facts.flows) {
    decided = decided || verdict_of(flow) != Verdict::kUndecided;
    if (!flow.counts || flow.rate.value <= 0) continue;
    if (best == nullptr || flow.rate > best->rate) best = &flow;
    if (worst == nullptr || flow.size > worst->size) worst = &flow;
  }
  if (!decided || best == nullptr) {
    outcome.undecided("whether the network is slow: the port's rate is not known, or all messages are small",
                      "--topo SNAP of one of the hosts, and messages of 64 KiB and more");
    return;
  }
  if (verdict_of(*best) != Verdict::kLow) return;
  const double share = best->rate / best->payload / best->directions;
  Draft draft;
  draft.title = fmt::format("{}: {}, {} of what {} allows", best->what, in_words(best->rate), percent(share),
                            best->limit);
  draft.evidence.push_back(
      {fmt::format("the best of {}; at most {} of payload", count_of(facts.flows.size(), "size"),
                   in_words(BitsPerSecond{best->payload.value * best->directions})),
       facts.source});
  draft.cost = {fmt::format("transfers take {:.1f} times as long as they should", share > 0 ? 1 / share : 0),
                "judge-share"};
  draft.rank = std::clamp(1 - share, 0.0, 1.0);
  outcome.fire(std::move(draft));
}

// Case 71 of the field: a rate that is declared a counter.
void wrong_types(const Case& facts, Outcome& outcome) {
  if (facts.gauges.empty()) return outcome.not_applicable();
  Draft draft;
  std::size_t wrong = 0;
  std::size_t unsaid = 0;
  for (const Gauge& gauge : facts.gauges) {
    unsaid += gauge.type.empty() ? 1 : 0;
    if (gauge.type != "counter") continue;
    if (++wrong <= kShown) draft.evidence.push_back({gauge.what + " is declared a counter", gauge.place});
  }
  if (wrong > 0) {
    draft.title =
        "DCGM's link rates are declared counters: rate() of them is the change of a rate, and means nothing";
    draft.rank = 0.5;
    return outcome.fire(std::move(draft));
  }
  if (unsaid == facts.gauges.size())
    outcome.undecided("as what Prometheus takes DCGM's link rates: the text has no # TYPE lines",
                      "the whole answer of dcgm-exporter: curl HOST:9400/metrics");
}

void failed_tests(const Case& facts, Outcome& outcome) {
  if (!facts.has_tests) return outcome.not_applicable();
  Draft draft;
  std::size_t failed = 0;
  std::size_t waived = 0;
  for (const FailedTest& test : facts.failed) {
    if (test.waived) {
      ++waived;
      continue;
    }
    if (++failed <= kShown) draft.evidence.push_back({test.name + ": " + test.text, facts.source});
  }
  if (failed > 0) {
    draft.title = fmt::format("{}: {} did not run", facts.subject, count_of(failed, "test"));
    draft.rank = 0.5;
    return outcome.fire(std::move(draft));
  }
  if (waived > 0)
    outcome.undecided(
        count_of(waived, "test") + " left out by the program itself (waived): the hardware lacks a part",
        "nothing, where the machine has one GPU or no peer access");
}

}  // namespace angio::judge
