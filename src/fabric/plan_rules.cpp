// The fabric against what was expected: a plan, or an earlier scan that was good.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "base/format.hpp"
#include "base/text.hpp"
#include "fabric/rules.hpp"

namespace angio::fabric {

using model::PortRef;

namespace {

model::Evidence planned(const Case& look, std::string text) {
  const model::Fabric& plan = *look.earlier->layout.fabric;
  return {std::move(text), "expected: " + printable(plan.origin.empty() ? plan.name : plan.origin)};
}

std::string cable_in(const Layout& layout, PortRef a, PortRef b) {
  return cable_words(layout, {std::min(a, b), std::max(a, b)});
}

// Where both ends were cabled.
std::vector<model::Evidence> places(const Case& look, std::uint32_t node) {
  std::vector<model::Evidence> evidence;
  const Layout& plan = look.earlier->layout;
  for (const std::uint32_t c : plan.cables_at(node)) {
    if (evidence.size() == kMostListed) break;
    evidence.push_back(planned(look, cable_words(plan, plan.cables[c])));
  }
  return evidence;
}

// Switches with all that hung off them alone, and hosts with all their adapters, are one thing each.
void node_missing(const Case& look, FabricOutcome& outcome) {
  if (look.earlier == nullptr) return outcome.not_applicable();
  if (is_part(look, outcome, "which nodes are missing")) return;
  const Layout& plan = look.earlier->layout;
  const Delta& delta = look.earlier->delta;
  std::map<std::uint32_t, std::uint32_t> hidden;  // by switch: adapters that went with it
  std::map<std::uint32_t, std::vector<std::uint32_t>> hosts;
  for (std::uint32_t n = 0; n < delta.now_of.size(); ++n) {
    if (delta.now_of[n] != kNone || plan.is_switch(n)) continue;
    if (delta.gone_with[n] != kNone && plan.service[n] != 0) continue;  // a part of its switch
    if (delta.gone_with[n] != kNone)
      ++hidden[delta.gone_with[n]];
    else if (plan.host_of[n] != kNone)
      hosts[plan.host_of[n]].push_back(n);
  }
  const auto fire = [&](std::uint32_t node, std::string title, double rank) {
    FabricDraft found;
    found.subject = subject_of(plan, node);
    found.draft.title = std::move(title);
    found.draft.devices = {name_of_node(plan.node(node))};
    found.draft.evidence = places(look, node);
    if (found.draft.evidence.empty())
      found.draft.evidence.push_back(planned(look, name_of_node(plan.node(node))));
    found.draft.rank = rank;
    outcome.fire(std::move(found));
  };
  for (std::uint32_t n = 0; n < delta.now_of.size(); ++n) {
    if (delta.now_of[n] != kNone || !plan.is_switch(n)) continue;
    const std::uint32_t with = hidden.contains(n) ? hidden.at(n) : 0;
    fire(n,
         with == 0 ? fmt::format("{} is not there", name_of_node(plan.node(n)))
                   : fmt::format("{} is not there, and with it {} that hung off it",
                                 name_of_node(plan.node(n)), count_of(with, "adapter")),
         1);
  }
  for (const auto& [host, adapters] : hosts) {
    const std::size_t all = plan.hosts[host].adapters.size();
    const std::string name = printable(plan.hosts[host].name);
    std::vector<std::string> names;
    for (const std::uint32_t adapter : adapters)
      names.push_back(name_of_node(plan.node(adapter)));
    fire(adapters.front(),
         adapters.size() == all ? fmt::format("{} is not there, with {}", name, count_of(all, "adapter"))
                                : fmt::format("{} of {} of {} not there: {}", adapters.size(),
                                              count_of(all, "adapter"), name, list_words(names, kMostListed)),
         static_cast<double>(adapters.size()) / static_cast<double>(all));
  }
  if (plan.fabric->nodes.empty())
    outcome.undecided("what is expected: the plan has no nodes", "give a plan or an earlier scan");
}

void link_missing(const Case& look, FabricOutcome& outcome) {
  if (look.earlier == nullptr) return outcome.not_applicable();
  if (is_part(look, outcome, "which cables are missing")) return;
  const Layout& plan = look.earlier->layout;
  if (plan.cables.empty())
    return outcome.undecided("what is expected: the plan has no cables", "give a plan or an earlier scan");
  for (const CableDelta& change : look.earlier->delta.cables) {
    if (change.kind != CableChange::kGone) continue;
    const std::uint32_t a = look.earlier->delta.now_of[change.before_a->node];
    const std::uint32_t b = look.earlier->delta.now_of[change.before_b->node];
    if (a == kNone || b == kNone) continue;  // a node is missing: told there
    FabricDraft found;
    const std::string words = cable_in(plan, *change.before_a, *change.before_b);
    const bool a_is_lower = look.layout.level_of[a] <= look.layout.level_of[b];
    found.subject = subject_of(look.layout, a_is_lower ? a : b);
    found.draft.title = fmt::format("The cable {} is not there", words);
    found.draft.evidence.push_back(planned(look, words));
    for (const auto& [end, old] :
         {std::pair(change.now_a, *change.before_a), std::pair(change.now_b, *change.before_b)}) {
      if (end) found.ports.push_back(*end);
      found.draft.evidence.push_back(
          seen(look.layout, end ? end_words(look.layout, *end)
                                : fmt::format("{} is not listed", name_of_port(*plan.fabric, old))));
    }
    found.draft.devices = {words};
    found.nodes = {a_is_lower ? a : b};
    outcome.fire(std::move(found));
  }
}

void cable_elsewhere(const Case& look, FabricOutcome& outcome) {
  if (look.earlier == nullptr) return outcome.not_applicable();
  const Layout& plan = look.earlier->layout;
  if (plan.cables.empty())
    return outcome.undecided("what is expected: the plan has no cables", "give a plan or an earlier scan");
  for (const CableDelta& change : look.earlier->delta.cables) {
    const bool swapped = change.kind == CableChange::kSwapped;
    if (!swapped && change.kind != CableChange::kMoved) continue;
    FabricDraft found;
    const std::string now = cable_in(look.layout, *change.now_a, *change.now_b);
    found.subject = subject_of(look.layout, change.now_a->node);
    found.draft.title = swapped ? fmt::format("Two cables are swapped: {} and {}", now,
                                              cable_in(look.layout, *change.other_a, *change.other_b))
                                : fmt::format("A cable is elsewhere than expected: {}", now);
    found.draft.evidence.push_back(seen(look.layout, now));
    if (swapped)
      found.draft.evidence.push_back(
          seen(look.layout, cable_in(look.layout, *change.other_a, *change.other_b)));
    for (const auto& end : {change.before_a, change.before_b}) {
      if (!end) continue;
      for (const std::uint32_t c : plan.cables_at(end->node))
        if (plan.cables[c].a == *end || plan.cables[c].b == *end)
          found.draft.evidence.push_back(planned(look, cable_words(plan, plan.cables[c])));
    }
    found.draft.devices = {now};
    found.draft.words[swapped ? "swapped" : "moved"] = "";
    found.ports = {*change.now_a, *change.now_b};
    if (swapped) found.ports.insert(found.ports.end(), {*change.other_a, *change.other_b});
    outcome.fire(std::move(found));
  }
}

// Cables that are where they should be and run slower than they did, or than the plan says.
void slower(const Case& look, FabricOutcome& outcome) {
  if (look.earlier == nullptr) return outcome.not_applicable();
  const Layout& plan = look.earlier->layout;
  std::size_t compared = 0;
  for (std::size_t c = 0; c < look.layout.cables.size(); ++c) {
    const Cable& cable = look.layout.cables[c];
    const std::uint32_t node = look.earlier->delta.before_of[cable.a.node];
    if (node == kNone) continue;
    const auto* old = model::find_port(plan.node(node), look.layout.port(cable.a).number);
    const auto was = old == nullptr ? std::nullopt : running_rate(*old);
    const auto is = running_rate(look.layout, cable);
    if (!was || !is) continue;
    ++compared;
    const CableState state = look.verdicts[c].state;
    const bool told =
        state == CableState::kNarrow || state == CableState::kSlow || state == CableState::kRestricted;
    if (is->value >= was->value || told || !carries_data(look.layout.port(cable.a))) continue;
    FabricDraft found;
    found.subject = subject_of(look.layout, cable.a.node);
    found.draft.title = fmt::format("{} runs {}, expected {}", cable_words(look.layout, cable), in_words(*is),
                                    in_words(*was));
    found.draft.evidence = both_ends(look.layout, cable);
    found.draft.evidence.push_back(planned(look, running_words(*old)));
    found.draft.rank = 1 - *is / *was;
    found.draft.cost = {.text = fmt::format("{} of {} each way", in_words(*is), in_words(*was)),
                        .formula = "fabric-link"};
    add_cable_words(look.layout, cable, found.draft);
    found.ports = {cable.a, cable.b};
    outcome.fire(std::move(found));
  }
  if (compared == 0) outcome.undecided("rates of cables, in the plan and now", kScan);
}

}  // namespace

std::span<const Rule> plan_rules() {
  static constexpr std::array kRules = {
      Rule{"fabric.plan.node-missing", node_missing},
      Rule{"fabric.plan.link-missing", link_missing},
      Rule{"fabric.plan.cable-elsewhere", cable_elsewhere},
      Rule{"fabric.plan.slower", slower},
  };
  return kRules;
}

}  // namespace angio::fabric
