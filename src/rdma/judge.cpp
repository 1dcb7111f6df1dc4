#include "rdma/judge.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "diagnose/doctor.hpp"
#include "diagnose/wording.hpp"
#include "knowledge/knowledge.hpp"
#include "rdma/rules.hpp"

namespace angio::rdma {

using diagnose::Draft;
using diagnose::Outcome;
using model::RdmaChange;
using model::RdmaChangeKind;
using model::RdmaPortRates;

std::vector<const RdmaPortRates*> watched_ports(const model::RdmaRates& rates) {
  std::vector<const RdmaPortRates*> ports;
  for (const RdmaPortRates& port : rates.ports)
    if (port.absent.empty()) ports.push_back(&port);
  return ports;
}

std::vector<const RdmaPortRates*> counting_ports(const model::RdmaRates& rates,
                                                 std::span<const char* const> names, Outcome& outcome) {
  std::vector<const RdmaPortRates*> ports = watched_ports(rates);
  std::erase_if(ports, [&](const RdmaPortRates* port) {
    const Counters counters(*port);
    return std::ranges::none_of(names, [&](const char* name) { return counters.find(name) != nullptr; });
  });
  if (ports.empty()) outcome.not_applicable();
  return ports;
}

double in_an_hour(const RdmaPortRates& port, std::uint64_t events) {
  constexpr double kHour = 3600;
  return static_cast<double>(events) / std::max(1.0, port.seconds.value_or(0) / kHour);
}

bool went_down(const RdmaPortRates& port) {
  const auto active = std::ranges::find(port.states, "ACTIVE");
  return active != port.states.end() && active + 1 != port.states.end();
}

std::string_view layer_word(const RdmaPortRates& port) {
  if (port.link_layer == model::LinkLayer::kEthernet) return "roce";
  return port.link_layer == model::LinkLayer::kInfiniBand ? "infiniband" : "";
}

std::string ratio_words(double ratio) {
  if (ratio >= 0.001) return fmt::format("{:.2g} %", ratio * 100);
  return fmt::format("{:.1e}", ratio);
}

std::string seconds_words(double seconds) {
  constexpr double kMinute = 60;
  constexpr double kHour = 3600;
  if (seconds >= 2 * kHour) return fmt::format("{:.1f} h", seconds / kHour);
  if (seconds >= 10 * kMinute) return fmt::format("{:.1f} min", seconds / kMinute);
  const std::string text = fmt::format("{:.1f}", seconds);
  return (text.ends_with(".0") ? text.substr(0, text.size() - 2) : text) + " s";
}

model::Evidence grew(const RdmaPortRates& port, const RdmaChange& change, std::string more) {
  const bool least = change.kind == RdmaChangeKind::kReset || change.kind == RdmaChangeKind::kStopped;
  std::string text = fmt::format("{} +{}{}", change.name, change.growth, least ? " or more" : "");
  if (port.seconds) text += " in " + seconds_words(*port.seconds);
  if (!more.empty()) text += ": " + more;
  return {std::move(text), place_of(port, change)};
}

Draft draft_of(const RdmaPortRates& port, std::string title) {
  Draft draft{.title = std::move(title)};
  draft.devices.push_back(label(port));
  draft.words["device"] = port.device;
  if (!port.interfaces.empty()) draft.words["netdev"] = port.interfaces.front();
  if (layer_word(port) == "roce") draft.words["roce"] = "";
  if (layer_word(port) == "infiniband") draft.words["infiniband"] = "";
  return draft;
}

void report_gaps(const RdmaPortRates& port, std::initializer_list<std::string_view> names, Outcome& outcome) {
  const Counters counters(port);
  for (const std::string_view name : names) {
    const RdmaChange* change = counters.find(name);
    if (change == nullptr) continue;
    const std::string what = fmt::format("{} of {}", name, label(port));
    if (change->kind == RdmaChangeKind::kUnread)
      outcome.undecided(what + " could not be read: " + change->why, "cat " + place_of(port, *change));
    if (change->kind == RdmaChangeKind::kGone)
      outcome.undecided(what + " was there before and is not any more",
                        "ls the folder of " + place_of(port, *change));
    if (change->kind == RdmaChangeKind::kStopped && change->growth == 0)
      outcome.undecided(
          fmt::format("{} stands at its maximum {}, where it stops: what was added is not known", what,
                      change->after.value_or(0)),
          "set the counters back (sudo perfquery -R for this port), then look again");
  }
}

std::span<const Rule> rate_rules() {
  static constexpr std::array kRules = {
      Rule{"rdma.rate.bit-errors", bit_errors},
      Rule{"rdma.rate.congestion", congestion},
      Rule{"rdma.rate.host-limit", host_limit},
      Rule{"rdma.rate.link-down", link_down},
      Rule{"rdma.rate.loss", loss},
      Rule{"rdma.rate.pause-storm", pause_storm},
      Rule{"rdma.rate.timeouts", timeouts},
  };
  return kRules;
}

namespace {

// The same trouble on the eight rails of a host is one finding: each port's own words become its evidence.
Draft merged(const knowledge::RuleText& text, std::vector<Draft> alike) {
  Draft all = std::move(alike.front());
  std::vector<model::Evidence> evidence;
  std::vector<std::string> devices;
  alike.front() = all;
  const Draft& worst = *std::ranges::max_element(alike, {}, &Draft::rank);
  const bool same = std::ranges::all_of(alike, [&](const Draft& d) { return d.cost.text == all.cost.text; });
  all.cost = worst.cost;
  if (all.cost.known()) all.cost.text += same ? ", each" : ", the worst of them";
  for (Draft& draft : alike) {
    const std::string source = draft.evidence.empty() ? std::string() : draft.evidence.front().source;
    evidence.push_back({draft.title, source});
    devices.insert(devices.end(), draft.devices.begin(), draft.devices.end());
    all.rank = std::max(all.rank, draft.rank);
    for (const auto& [name, word] : draft.words)
      all.words.emplace(name, word);
  }
  all.title = fmt::format("{} ({} ports)", text.summary, devices.size());
  all.evidence = std::move(evidence);
  all.devices = std::move(devices);
  all.words["device"] = "<device>";
  all.words["netdev"] = "<interface>";
  return all;
}

std::vector<Draft> merge(const knowledge::RuleText& text, std::vector<Draft>& drafts) {
  std::map<model::Severity, std::vector<Draft>> by_severity;
  for (Draft& draft : drafts)
    by_severity[draft.severity.value_or(text.severity)].push_back(std::move(draft));
  std::vector<Draft> list;
  for (auto& [severity, alike] : by_severity)
    list.push_back(alike.size() == 1 ? std::move(alike.front()) : merged(text, std::move(alike)));
  return list;
}

}  // namespace

model::Diagnosis judge(const model::RdmaRates& rates) {
  model::Diagnosis diagnosis;
  const std::string host = rates.host.empty() ? "this host" : rates.host;
  for (const Rule& rule : rate_rules()) {
    const knowledge::RuleText* text = knowledge::find_rule(rule.id);
    if (text == nullptr) continue;  // a test and tools/check_data.py forbid it
    Outcome outcome;
    if (watched_ports(rates).empty()) outcome.not_applicable();
    rule.check(rates, outcome);
    for (Draft& draft : merge(*text, outcome.drafts))
      diagnosis.findings.push_back(diagnose::make_finding(*text, host, std::move(draft)));
    for (Outcome::Gap& gap : outcome.gaps)
      diagnosis.undecided.push_back({rule.id, host, std::move(gap.missing), std::move(gap.collect)});
    if (!outcome.drafts.empty() || !outcome.gaps.empty()) continue;
    (outcome.applicable ? diagnosis.held : diagnosis.not_applicable).emplace_back(rule.id);
  }
  diagnose::rank(diagnosis.findings);
  return diagnosis;
}

}  // namespace angio::rdma
