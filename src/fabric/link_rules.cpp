// Rates and widths of cables, and what both ends agree on.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <tuple>

#include "base/format.hpp"
#include "fabric/rules.hpp"
#include "knowledge/knowledge.hpp"

namespace angio::fabric {

using diagnose::Draft;
using model::FabricPort;
using model::PortRef;
using model::Severity;

namespace {

// A cable's finding: both ends as evidence, the bandwidth lost, words for fixes.
FabricDraft about(const Layout& layout, const Cable& cable, std::string title) {
  FabricDraft found;
  found.subject = subject_of(layout, layout.is_host_adapter(cable.a.node)   ? cable.a.node
                                     : layout.is_host_adapter(cable.b.node) ? cable.b.node
                                                                            : lower_switch(layout, cable));
  found.draft.title = std::move(title);
  found.draft.evidence = both_ends(layout, cable);
  found.ports = {cable.a, cable.b};
  add_cable_words(layout, cable, found.draft);
  return found;
}

void price(Draft& draft, BitsPerSecond run, BitsPerSecond could) {
  if (could.value <= 0) return;
  draft.rank = 1 - run / could;
  draft.cost = {.text = fmt::format("{} of {} each way", in_words(run), in_words(could)),
                .formula = "fabric-link"};
}

// Cables of which an end does not say what it can: nothing is said about them.
void tell_unknown(const Case& look, FabricOutcome& outcome) {
  std::size_t unknown = 0;
  for (const CableVerdict& verdict : look.verdicts)
    if (verdict.state == CableState::kUnknown) ++unknown;
  if (look.verdicts.empty()) outcome.not_applicable();
  if (unknown > 0)
    outcome.undecided(
        fmt::format("what both ends of {} of {} can", unknown, count_of(look.verdicts.size(), "cable")),
        std::string(kScan) + "; or iblinkinfo beside this text");
}

void width_reduced(const Case& look, FabricOutcome& outcome) {
  for (std::size_t c = 0; c < look.verdicts.size(); ++c) {
    const CableVerdict& verdict = look.verdicts[c];
    if (verdict.state != CableState::kNarrow) continue;
    const Cable& cable = look.layout.cables[c];
    FabricDraft found = about(look.layout, cable,
                              fmt::format("{} runs {}, both ends can {}", cable_words(look.layout, cable),
                                          link_words(verdict.lanes, verdict.speed),
                                          link_words(verdict.could_lanes, verdict.could_speed)));
    price(found.draft, verdict.run, verdict.could);
    outcome.fire(std::move(found));
  }
  tell_unknown(look, outcome);
}

// Nearly all cables of a kind run so: one remark, for it may be meant.
void tell_as_built(const Case& look, FabricOutcome& outcome) {
  std::map<std::tuple<BitsPerSecond, BitsPerSecond, std::string, std::string>, std::vector<std::size_t>>
      kinds;
  for (std::size_t c = 0; c < look.verdicts.size(); ++c) {
    const CableVerdict& verdict = look.verdicts[c];
    if (verdict.state == CableState::kAsBuilt)
      kinds[{verdict.run, verdict.could, link_words(verdict.lanes, verdict.speed),
             link_words(verdict.could_lanes, verdict.could_speed)}]
          .push_back(c);
  }
  for (const auto& [kind, cables] : kinds) {
    const auto& [run, could, runs, can] = kind;
    FabricDraft found = about(look.layout, look.layout.cables[cables.front()],
                              fmt::format("{} run {} though both ends can {}: nearly all of their kind",
                                          count_of(cables.size(), "cable"), runs, can));
    found.subject = "fabric";
    found.draft.severity = Severity::kInfo;
    found.draft.evidence.front().text = "for one, " + found.draft.evidence.front().text;
    found.draft.words["as_built"] = "";
    found.draft.words.erase("by_cable");
    price(found.draft, run, could);
    found.ports.clear();
    for (const std::size_t c : cables)
      found.ports.insert(found.ports.end(), {look.layout.cables[c].a, look.layout.cables[c].b});
    outcome.fire(std::move(found));
  }
}

void speed_reduced(const Case& look, FabricOutcome& outcome) {
  for (std::size_t c = 0; c < look.verdicts.size(); ++c) {
    const CableVerdict& verdict = look.verdicts[c];
    if (verdict.state != CableState::kSlow) continue;
    const Cable& cable = look.layout.cables[c];
    FabricDraft found =
        about(look.layout, cable,
              fmt::format("{} runs at {}, both ends can {}", cable_words(look.layout, cable),
                          model::name_of(verdict.speed), model::name_of(verdict.could_speed)));
    price(found.draft, verdict.run, verdict.could);
    outcome.fire(std::move(found));
  }
  tell_as_built(look, outcome);
  tell_unknown(look, outcome);
}

bool restricts(const FabricPort& port) {
  return (port.enabled_lanes != 0 && port.enabled_lanes < port.most_lanes) ||
         (port.enabled_speed != model::LaneSpeedName::kUnknown && port.enabled_speed < port.most_speed);
}

void restricted(const Case& look, FabricOutcome& outcome) {
  for (std::size_t c = 0; c < look.verdicts.size(); ++c) {
    const CableVerdict& verdict = look.verdicts[c];
    if (verdict.state != CableState::kRestricted) continue;
    const Cable& cable = look.layout.cables[c];
    const PortRef by = restricts(look.layout.port(cable.a)) ? cable.a : cable.b;
    FabricDraft found =
        about(look.layout, cable,
              fmt::format("{} is set to at most {}, so its cable runs {}; both ends can {}",
                          name_of_port(*look.layout.fabric, by),
                          link_words(look.layout.port(by).enabled_lanes, look.layout.port(by).enabled_speed),
                          link_words(verdict.lanes, verdict.speed),
                          link_words(verdict.could_lanes, verdict.could_speed)));
    found.draft.words[verdict.lanes < verdict.could_lanes ? "by_width" : "by_speed"] = "";
    found.draft.words["port"] = fmt::format("{}", look.layout.port(by).number);
    if (const auto lid = lid_of(look.layout, by)) found.draft.words["lid"] = fmt::format("{}", lid->value);
    found.draft.words["restricted_port"] = name_of_port(*look.layout.fabric, by);
    price(found.draft, verdict.run, verdict.could);
    outcome.fire(std::move(found));
  }
  tell_unknown(look, outcome);
}

// "MQM9700" of "MF0;leaf-3:MQM9700/U1": texts that give no device ids have it in the names of managed
// switches.
std::string_view model_of(const model::FabricNode& node) {
  const std::string_view text = node.description;
  const std::size_t colon = text.rfind(':');
  if (node.device != 0 || !text.contains(';') || colon == std::string_view::npos) return {};
  return text.substr(colon + 1, text.find('/', colon) - colon - 1);
}

std::string kind_of_switch(const Layout& layout, std::uint32_t node) {
  return fmt::format("{}/{}/{}", layout.level_of[node], layout.node(node).device,
                     model_of(layout.node(node)));
}

// Cables that should be alike: between the same kinds of switches at the same levels of a plane; of the same
// adapter on hosts that were numbered alike.
std::string family_of(const Layout& layout, const Cable& cable) {
  const bool a_is_switch = layout.is_switch(cable.a.node);
  const bool b_is_switch = layout.is_switch(cable.b.node);
  if (a_is_switch && b_is_switch) {
    const auto [low, high] =
        std::minmax({kind_of_switch(layout, cable.a.node), kind_of_switch(layout, cable.b.node)});
    return fmt::format("{} {} {}", layout.plane_of[cable.a.node], low, high);
  }
  const std::uint32_t adapter = a_is_switch ? cable.b.node : cable.a.node;
  if (!layout.is_host_adapter(adapter) || layout.names[adapter].host.empty()) return {};
  return fmt::format("{} {} {} {}", stem_of(layout.names[adapter].host), layout.names[adapter].device,
                     layout.node(adapter).device, layout.node(layout.far_end(cable, adapter).node).device);
}

// What a plan says of the cable itself is the better ground: fabric.plan.slower tells it.
bool is_below_plan(const Case& look, const Cable& cable, BitsPerSecond rate) {
  if (look.earlier == nullptr || look.earlier->delta.before_of[cable.a.node] == kNone) return false;
  const auto* old = model::find_port(look.earlier->layout.node(look.earlier->delta.before_of[cable.a.node]),
                                     look.layout.port(cable.a).number);
  const auto was = old == nullptr ? std::nullopt : running_rate(*old);
  return was && rate < *was;
}

void below_peers(const Case& look, FabricOutcome& outcome) {
  constexpr std::uint32_t kFewestPeers = 4;  // shape: among fewer nobody is in the majority
  std::map<std::string, std::vector<std::size_t>> families;
  std::size_t without_rate = 0;
  for (std::size_t c = 0; c < look.verdicts.size(); ++c) {
    const Cable& cable = look.layout.cables[c];
    if (!carries_data(look.layout.port(cable.a)) || look.verdicts[c].state != CableState::kUnknown) continue;
    if (!running_rate(look.layout, cable))
      ++without_rate;
    else if (std::string family = family_of(look.layout, cable); !family.empty())
      families[std::move(family)].push_back(c);
  }
  for (const auto& [family, cables] : families) {
    std::map<BitsPerSecond, std::uint32_t> rates;
    for (const std::size_t c : cables)
      ++rates[*running_rate(look.layout, look.layout.cables[c])];
    std::uint32_t all = 0;
    const auto usual = commonest(rates, all);
    if (all < kFewestPeers || usual->second < knowledge::threshold("fabric.peers.share") * all) continue;
    for (const std::size_t c : cables) {
      const Cable& cable = look.layout.cables[c];
      const BitsPerSecond rate = *running_rate(look.layout, cable);
      if (rate >= usual->first || is_below_plan(look, cable, rate)) continue;
      FabricDraft found =
          about(look.layout, cable,
                fmt::format("{} runs {}, {} of {} cables like it run {}", cable_words(look.layout, cable),
                            in_words(rate), usual->second, all, in_words(usual->first)));
      price(found.draft, rate, usual->first);
      outcome.fire(std::move(found));
    }
  }
  if (look.verdicts.empty()) outcome.not_applicable();
  if (without_rate > 0)
    outcome.undecided(fmt::format("the rate of {}", count_of(without_rate, "cable")), kScan);
}

void ends_differ(const Case& look, FabricOutcome& outcome) {
  for (const Cable& cable : look.layout.cables) {
    const FabricPort& a = look.layout.port(cable.a);
    const FabricPort& b = look.layout.port(cable.b);
    const bool known = a.lanes != 0 && b.lanes != 0;
    const bool lanes = known && a.lanes != b.lanes;
    const auto rate_a = running_rate(a);
    const auto rate_b = running_rate(b);
    const bool rates = rate_a && rate_b && rate_a->value != rate_b->value;
    if (!carries_data(a) || !carries_data(b) || (!lanes && !rates)) continue;
    outcome.fire(about(look.layout, cable,
                       fmt::format("{}: one end says {}, the other {}", cable_words(look.layout, cable),
                                   running_words(a), running_words(b))));
  }
  if (look.layout.cables.empty()) return outcome.not_applicable();
  const bool any = std::ranges::any_of(look.layout.cables, [&](const Cable& cable) {
    return running_rate(look.layout.port(cable.a)) && running_rate(look.layout.port(cable.b));
  });
  if (!any) outcome.undecided("the rates that both ends of a cable report", kScan);
}

void mtu_differs(const Case& look, FabricOutcome& outcome) {
  bool any = false;
  for (const Cable& cable : look.layout.cables) {
    const auto& a = look.layout.port(cable.a).mtu;
    const auto& b = look.layout.port(cable.b).mtu;
    if (!a || !b) continue;
    any = true;
    if (*a == *b || look.layout.port(cable.a).state != model::PortState::kActive) continue;
    FabricDraft found = about(look.layout, cable,
                              fmt::format("{}: path MTU {} bytes at one end, {} at the other",
                                          cable_words(look.layout, cable), *a, *b));
    outcome.fire(std::move(found));
  }
  if (look.layout.cables.empty()) return outcome.not_applicable();
  if (!any) outcome.undecided("the MTU of the ports", kScan);
}

struct HostCable {
  std::uint32_t adapter;
  std::size_t cable;
  BitsPerSecond rate;
  std::string family;
};

// Cables of each host of which no end says what it can: what both can explains a rate, or another rule tells
// it.
std::vector<std::vector<HostCable>> open_host_cables(const Case& look, std::size_t& without_rate) {
  const Layout& layout = look.layout;
  std::vector<std::vector<HostCable>> hosts(layout.hosts.size());
  for (std::size_t c = 0; c < layout.cables.size(); ++c) {
    const Cable& cable = layout.cables[c];
    const std::uint32_t adapter = layout.is_host_adapter(cable.a.node) ? cable.a.node : cable.b.node;
    const bool open = look.verdicts[c].state == CableState::kUnknown && carries_data(layout.port(cable.a));
    if (!layout.is_host_adapter(adapter) || !open) continue;
    const auto rate = running_rate(layout, cable);
    if (rate)
      hosts[layout.host_of[adapter]].push_back({adapter, c, *rate, family_of(layout, cable)});
    else
      ++without_rate;
  }
  return hosts;
}

bool is_faster_twin(const Layout& layout, const HostCable& one, const HostCable& other) {
  return other.adapter != one.adapter && other.rate > one.rate &&
         layout.node(other.adapter).device == layout.node(one.adapter).device &&
         layout.plane_of[other.adapter] == layout.plane_of[one.adapter];
}

// Adapters of one model in one host, on the same plane, at different rates. Where hosts that were numbered
// alike show the same, or are enough to judge each adapter by, it is not this rule's matter.
void host_speeds(const Case& look, FabricOutcome& outcome) {
  std::size_t without_rate = 0;
  const auto hosts = open_host_cables(look, without_rate);
  std::map<std::string, std::uint32_t> families;
  for (const auto& cables : hosts)
    for (const HostCable& one : cables)
      if (!one.family.empty()) ++families[one.family];
  for (const auto& cables : hosts) {
    for (const HostCable& one : cables) {
      if (!one.family.empty() && families[one.family] > 1) continue;
      const auto twin = std::ranges::find_if(
          cables, [&](const HostCable& other) { return is_faster_twin(look.layout, one, other); });
      if (twin == cables.end()) continue;
      FabricDraft found =
          about(look.layout, look.layout.cables[one.cable],
                fmt::format("{} runs {}, {} of the same model in the same host {}",
                            name_of_node(look.layout.node(one.adapter)), in_words(one.rate),
                            name_of_node(look.layout.node(twin->adapter)), in_words(twin->rate)));
      price(found.draft, one.rate, twin->rate);
      outcome.fire(std::move(found));
    }
  }
  const bool pairs =
      std::ranges::any_of(look.layout.hosts, [](const auto& host) { return host.adapters.size() > 1; });
  if (!pairs) return outcome.not_applicable();
  if (without_rate > 0)
    outcome.undecided(fmt::format("the rate of {}", count_of(without_rate, "cable")), kScan);
}

}  // namespace

std::span<const Rule> link_rules() {
  static constexpr std::array kRules = {
      Rule{"fabric.link.width-reduced", width_reduced}, Rule{"fabric.link.speed-reduced", speed_reduced},
      Rule{"fabric.link.restricted", restricted},       Rule{"fabric.link.below-peers", below_peers},
      Rule{"fabric.link.ends-differ", ends_differ},     Rule{"fabric.link.mtu-differs", mtu_differs},
      Rule{"fabric.host.speeds-differ", host_speeds},
  };
  return kRules;
}

}  // namespace angio::fabric
