// From a case to a Judgement: rows, findings by the rules, and the answer in a sentence.
#include "judge/judge.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "base/format.hpp"
#include "diagnose/wording.hpp"
#include "judge/case.hpp"
#include "knowledge/knowledge.hpp"

namespace angio::judge {
namespace {

constexpr double kGigabyte = 1e9;
constexpr std::size_t kMostOfGroup = 16;  // copies of one test in rows of their own

constexpr std::array kRules{
    Rule{"judge.data.wrong", wrong_data},
    Rule{"judge.value.impossible", impossible_values},
    Rule{"judge.bandwidth.low", low_bandwidth},
    Rule{"judge.latency.high", high_latency},
    Rule{"judge.transport.socket", sockets},
    Rule{"judge.transport.staged", staged},
    Rule{"judge.nvls.off", no_nvls},
    Rule{"judge.network.low", low_network},
    Rule{"judge.copy.low", low_copies},
    Rule{"judge.copy.same-sockets", same_from_both_sockets},
    Rule{"judge.size.dip", dips},
    Rule{"judge.half.gap", placement_gap},
    Rule{"judge.row.contradiction", contradictions},
    Rule{"judge.average.quoted", averages},
    Rule{"judge.metric.type", wrong_types},
    Rule{"judge.test.failed", failed_tests},
};

JudgedRow row_of(const Point& point, const Case& facts) {
  JudgedRow row;
  row.what = name_of(point);
  row.question = model::CollectiveCase{point.collective, point.size, facts.nodes, facts.ranks};
  row.measured = point.bus.value / kGigabyte;
  row.unit = "GB/s";
  row.size = point.size;
  row.in_place = point.in_place;
  row.time_us = point.time_us;
  row.verdict = verdict_of(point);
  const bool timed = std::ranges::all_of(facts.points, [](const Point& one) { return one.bus.value <= 0; });
  if (timed && point.time_us > 0) {  // of an unknown number of ranks: no busbw
    row.measured = point.time_us;
    row.unit = "us";
    row.higher_is_better = false;
  } else if (point.expectation) {
    row.expected = point.expectation->bus.value / kGigabyte;
    row.low = point.expectation->bus_low.value / kGigabyte;
    row.high = point.expectation->bus_high.value / kGigabyte;
    row.limit = point.expectation->limit;
    row.expected_us = point.expectation->time_us;
    row.least_us = point.expectation->least_us;
    row.most_us = point.expectation->most_us;
    row.algorithm = point.expectation->algorithm;
    if (!point.expectation->protocol.empty()) row.algorithm += " " + point.expectation->protocol;
  }
  if (row.verdict == Verdict::kUndecided)
    row.why = !point.counts          ? "its times do not count"
              : !point.expectation   ? point.no_expectation
              : point.bus.value <= 0 ? "no bandwidth"
              : point.expectation->basis == model::ExpectationBasis::kBound
                  ? "only a bound is known"
                  : "the expectation is too wide here to call it low";
  if (row.verdict == Verdict::kImpossible) row.why = "above what the hardware can";
  return row;
}

JudgedRow row_of(const Copy& copy) {
  JudgedRow row;
  row.what = copy.what;
  row.measured = copy.rate.value / kGigabyte;
  row.unit = "GB/s";
  row.limit = copy.limit;
  row.verdict = verdict_of(copy);
  if (copy.wire.value > 0 && copy.kind != CopyKind::kBothWays && copy.kind != CopyKind::kOther) {
    row.expected = copy.wire.value * knowledge::threshold("judge.copy-usual-share") / kGigabyte;
    row.low = copy.wire.value * knowledge::threshold("judge.copy-low-share") / kGigabyte;
    row.high = copy.wire.value / kGigabyte;
  }
  if (row.verdict == Verdict::kUndecided)
    row.why = !copy.why.empty()      ? copy.why
              : copy.wire.value <= 0 ? "what it goes over is not known"
              : !copy.pinned         ? "pageable memory: the CPU copies first"
              : copy.far             ? "from another NUMA node than the GPU's"
                                     : "several ways at once: no expectation";
  if (row.verdict == Verdict::kImpossible) row.why = "above what the wire can";
  return row;
}

JudgedRow row_of(const Flow& flow) {
  JudgedRow row;
  constexpr double kGigabit = 1e9;
  row.what = flow.what;
  row.measured = flow.rate.value / kGigabit;
  row.unit = "Gb/s";
  row.size = flow.size;
  row.verdict = verdict_of(flow);
  row.limit = flow.limit;
  if (flow.payload.value > 0 && flow.counts) {
    row.expected = flow.payload.value * flow.directions / kGigabit;
    row.low = row.expected * knowledge::threshold("mesh.low-share");
    row.high = flow.line.value * flow.directions / kGigabit;
  }
  if (row.verdict == Verdict::kUndecided)
    row.why = !flow.doubt.empty()       ? flow.doubt
              : flow.payload.value <= 0 ? "the port's rate is not known"
                                        : "small messages: their number limits";
  if (row.verdict == Verdict::kImpossible) row.why = "above the rate of the port";
  return row;
}

// Of a test with many copies only the slowest: a matrix of 8 GPUs has 56.
void add_copies(const Case& facts, std::vector<JudgedRow>& rows) {
  std::vector<std::string> order;
  std::map<std::string, std::vector<const Copy*>> groups;
  for (const Copy& copy : facts.copies) {
    auto& group = groups[copy.group];
    if (group.empty()) order.push_back(copy.group);
    group.push_back(&copy);
  }
  for (const std::string& name : order) {
    const auto& group = groups[name];
    if (group.size() <= kMostOfGroup) {
      for (const Copy* copy : group)
        rows.push_back(row_of(*copy));
      continue;
    }
    const Copy& slowest =
        **std::ranges::min_element(group, {}, [](const Copy* copy) { return copy->rate.value; });
    rows.push_back(row_of(slowest));
    rows.back().what += fmt::format(", the slowest of {} ({})", group.size(), name);
  }
}

void apply_rules(const Case& facts, Judgement& judgement) {
  const std::string node = judgement.hosts.size() == 1 ? judgement.hosts.front() : "";
  for (const Rule& rule : kRules) {
    diagnose::Outcome outcome;
    rule.check(facts, outcome);
    const knowledge::RuleText* text = knowledge::find_rule(rule.id);
    if (text == nullptr || !outcome.applicable) continue;
    for (diagnose::Draft& draft : outcome.drafts)
      judgement.findings.push_back(diagnose::make_finding(*text, node, std::move(draft)));
    for (const diagnose::Outcome::Gap& gap : outcome.gaps)
      judgement.undecided.push_back({rule.id, node, gap.missing, gap.collect});
    if (outcome.drafts.empty() && outcome.gaps.empty()) judgement.held.emplace_back(rule.id);
  }
  std::ranges::stable_sort(judgement.findings, [](const model::Finding& a, const model::Finding& b) {
    if (a.severity != b.severity) return a.severity > b.severity;
    return a.rank > b.rank;
  });
}

const model::Finding* find(const Judgement& judgement, std::string_view rule) {
  const auto found = std::ranges::find(judgement.findings, rule, &model::Finding::rule);
  return found == judgement.findings.end() ? nullptr : &*found;
}

struct Decision {
  std::string_view rule;
  Verdict verdict;
};
constexpr std::array kDecisions{
    Decision{"judge.data.wrong", Verdict::kWrong},  Decision{"judge.value.impossible", Verdict::kImpossible},
    Decision{"judge.bandwidth.low", Verdict::kLow}, Decision{"judge.network.low", Verdict::kLow},
    Decision{"judge.copy.low", Verdict::kLow},      Decision{"judge.latency.high", Verdict::kLow},
};

// The row that answers "is this normal": the largest size with an expectation, of the better half.
const JudgedRow* headline(const Judgement& judgement) {
  const JudgedRow* best = nullptr;
  for (const JudgedRow& row : judgement.rows) {
    if (row.expected <= 0 || row.measured <= 0) continue;
    const bool better =
        best == nullptr || row.size > best->size || (row.size == best->size && row.measured > best->measured);
    if (better) best = &row;
  }
  return best;
}

std::string figure(double value, const std::string& unit) {
  return fmt::format("{:.{}f} {}", value, value >= 100 ? 0 : value >= 1 ? 1 : 3, unit);
}

// Of the largest row: small ones often have reasons of their own.
std::string reason_undecided(const Judgement& judgement) {
  const JudgedRow* last = nullptr;
  for (const JudgedRow& row : judgement.rows)
    if (!row.why.empty() && (last == nullptr || row.size >= last->size)) last = &row;
  if (last != nullptr) return last->why;
  if (!judgement.refused.empty()) return judgement.refused.front();
  return judgement.rows.empty() ? "it holds no row that could be judged" : "no expectation";
}

std::string undecided_answer(const JudgedRow& row) {
  return fmt::format("Undecided: {} at {} is {} of the {} that are expected, but {}",
                     figure(row.measured, row.unit), row.size.value > 0 ? in_words(row.size) : row.what,
                     percent(row.measured / row.expected), figure(row.expected, row.unit), row.why);
}

std::string normal_answer(const Judgement& judgement, const JudgedRow& row) {
  std::string text =
      fmt::format("Normal: {} at {}, {} of the {} that are expected", figure(row.measured, row.unit),
                  row.size.value > 0 ? in_words(row.size) : row.what, percent(row.measured / row.expected),
                  figure(row.expected, row.unit));
  if (!row.limit.empty()) text += "; limit: " + row.limit;
  const auto low = std::ranges::count(judgement.rows, Verdict::kLow, &JudgedRow::verdict);
  if (low > 0)
    text += fmt::format(". {} of {} below the expected range{}", low, count_of(judgement.rows.size(), "row"),
                        find(judgement, "judge.size.dip") != nullptr
                            ? ", a dip among them"
                            : ", but not most of the large ones: no finding");
  return text + ".";
}

bool are_nics_assumed(const Judgement& judgement) {
  return judgement.platform && !judgement.platform->nics_known && !judgement.rows.empty() &&
         judgement.rows.back().question && judgement.rows.back().question->nodes > 1;
}

void decide(Judgement& judgement) {
  for (const Decision& decision : kDecisions) {
    const model::Finding* finding = find(judgement, decision.rule);
    if (finding == nullptr) continue;
    judgement.verdict = decision.verdict;
    std::string word = name_of(decision.verdict);
    word[0] = static_cast<char>(word[0] - 'a' + 'A');
    judgement.answer = word + ": " + finding->title + ".";
    for (const char* cause : {"judge.transport.socket", "judge.transport.staged", "judge.nvls.off"}) {
      const model::Finding* found = decision.verdict == Verdict::kLow ? find(judgement, cause) : nullptr;
      if (found == nullptr) continue;
      judgement.answer += " Likely cause: " + found->evidence.front().text + ".";
      break;
    }
    if (decision.verdict == Verdict::kLow && are_nics_assumed(judgement))
      judgement.answer +=
          " The NICs are those of the standard machine with these GPUs; --topo says which there are.";
    return;
  }
  const JudgedRow* row = headline(judgement);
  const bool normal = row != nullptr && row->verdict != Verdict::kUndecided;
  judgement.verdict = normal ? Verdict::kNormal : Verdict::kUndecided;
  judgement.answer = normal           ? normal_answer(judgement, *row)
                     : row != nullptr ? undecided_answer(*row)
                                      : "Undecided: " + reason_undecided(judgement);
  if (!judgement.answer.ends_with('.')) judgement.answer += ".";
}

void refuse_average(const Case& facts, Judgement& judgement) {
  if (!facts.average) return;
  const Point* peak = nullptr;
  std::uint64_t least = UINT64_MAX;
  std::uint64_t most = 0;
  for (const Point& point : facts.points) {
    if (peak == nullptr || point.bus > peak->bus) peak = &point;
    least = std::min(least, point.size.value);
    most = std::max(most, point.size.value);
  }
  std::string text = fmt::format("Avg bus bandwidth {} is no result", in_gigabytes(facts.average->value));
  if (peak == nullptr) {
    text += ": the sizes it is the mean of are not here.";
  } else if (least == most) {
    text += ": the row itself is read.";
  } else {
    text +=
        fmt::format(": the mean over sizes from {} to {}. Read instead: {} at {}.", in_words(Bytes{least}),
                    in_words(Bytes{most}), in_gigabytes(peak->bus.value), in_words(peak->size));
  }
  judgement.refused.push_back(std::move(text));
}

void add_assumptions(const Case& facts, Judgement& judgement) {
  for (const Point& point : facts.points) {
    if (!point.expectation) continue;
    for (const std::string& sentence : point.expectation->assumptions)
      if (std::ranges::find(judgement.assumptions, sentence) == judgement.assumptions.end())
        judgement.assumptions.push_back(sentence);
  }
}

}  // namespace

Judgement conclude(Case facts, Judgement judgement) {
  judgement.subject = facts.subject;
  std::ranges::stable_sort(facts.points, {},
                           [](const Point& point) { return std::pair(point.collective, point.size.value); });
  for (const Point& point : facts.points)
    judgement.rows.push_back(row_of(point, facts));
  for (const Flow& flow : facts.flows)
    judgement.rows.push_back(row_of(flow));
  add_copies(facts, judgement.rows);
  add_assumptions(facts, judgement);
  refuse_average(facts, judgement);
  apply_rules(facts, judgement);
  decide(judgement);
  return judgement;
}

}  // namespace angio::judge
