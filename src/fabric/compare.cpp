// What changed between two scans, ranked, each change told once.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <tuple>

#include "base/format.hpp"
#include "base/text.hpp"
#include "fabric/counts.hpp"
#include "fabric/delta.hpp"
#include "fabric/fabric.hpp"
#include "knowledge/fabric_limits.hpp"
#include "knowledge/knowledge.hpp"

namespace angio::fabric {

using model::Fabric;
using model::FabricChange;
using model::FabricChangeKind;
using model::FabricCounter;
using model::FabricDiff;
using model::FabricNode;
using model::FabricPort;
using model::PortRef;
using model::Severity;

namespace {

// Counters of trouble; data counters and ticks of waiting grow on healthy ports.
constexpr std::array kErrorCounters = {
    FabricCounter::kSymbolErrors,
    FabricCounter::kLinkErrorRecoveries,
    FabricCounter::kLinkDowned,
    FabricCounter::kReceiveErrors,
    FabricCounter::kReceiveRemotePhysicalErrors,
    FabricCounter::kTransmitDiscards,
    FabricCounter::kTransmitConstraintErrors,
    FabricCounter::kReceiveConstraintErrors,
    FabricCounter::kLocalLinkIntegrityErrors,
    FabricCounter::kExcessiveBufferOverruns,
    FabricCounter::kVl15Dropped,
};

std::string list_nodes(const Layout& layout, std::vector<std::uint32_t> nodes, std::size_t most = 6) {
  std::vector<std::string> names;
  for (const std::uint32_t n : nodes)
    names.push_back(name_of_node(layout.node(n)));
  std::ranges::sort(names, natural_less);
  return list_words(names, most);
}

class Comparison {
 public:
  Comparison(const Layout& before, const Layout& now, const Delta& delta, FabricDiff& diff)
      : before_(before), now_(now), delta_(delta), diff_(diff) {}

  void run() {
    nodes(before_, delta_.now_of, delta_.gone_with, true);
    nodes(now_, delta_.before_of, delta_.new_with, false);
    cables();
    names_and_lids();
    for (const Cable& cable : now_.cables)
      link(cable);
    for (std::uint32_t n = 0; n < delta_.before_of.size(); ++n)
      if (delta_.before_of[n] != kNone) ports(n);
    tell_resets();
    if (why_not_whole(*now_.fabric)) doubt_what_is_gone();
    std::ranges::stable_sort(diff_.changes, [](const FabricChange& a, const FabricChange& b) {
      if (a.severity != b.severity) return a.severity > b.severity;
      if (a.kind != b.kind) return a.kind < b.kind;
      return natural_less(a.where, b.where);
    });
  }

 private:
  void tell(FabricChangeKind kind, Severity severity, std::string where, std::string before,
            std::string after, std::string meaning = {}) {
    diff_.changes.push_back(
        {kind, severity, std::move(where), std::move(before), std::move(after), std::move(meaning)});
  }

  void doubt_what_is_gone() {
    for (FabricChange& change : diff_.changes) {
      if (change.kind != FabricChangeKind::kNodeGone && change.kind != FabricChangeKind::kLinkGone) continue;
      change.severity = Severity::kInfo;
      change.meaning = "the later one is not whole: perhaps only not read";
    }
  }

  // A switch with all that hung off it alone is one change, and so is a host with its adapters.
  void nodes(const Layout& layout, const std::vector<std::uint32_t>& other,
             const std::vector<std::uint32_t>& with, bool gone) {
    std::map<std::uint32_t, std::vector<std::uint32_t>> hidden;
    std::map<std::uint32_t, std::vector<std::uint32_t>> hosts;
    std::vector<std::uint32_t> alone;
    for (std::uint32_t n = 0; n < other.size(); ++n) {
      if (other[n] != kNone) continue;
      if (with[n] != kNone && layout.service[n] == 0)
        hidden[with[n]].push_back(n);
      else if (with[n] != kNone)
        continue;  // a part of its switch
      else if (layout.host_of[n] != kNone)
        hosts[layout.host_of[n]].push_back(n);
      else
        alone.push_back(n);
    }
    const FabricChangeKind kind = gone ? FabricChangeKind::kNodeGone : FabricChangeKind::kNodeNew;
    const Severity severity = gone ? Severity::kWarning : Severity::kInfo;
    const auto one = [&](std::string where, const std::string& what, std::string meaning) {
      tell(kind, severity, std::move(where), gone ? what : std::string(), gone ? std::string() : what,
           std::move(meaning));
    };
    for (const std::uint32_t n : alone) {
      const std::string cables = count_of(layout.cables_at(n).size(), "cable");
      std::string meaning;
      if (hidden.contains(n))
        meaning = fmt::format("{} with it {} that hang off it alone: {}", gone ? "gone" : "new",
                              count_of(hidden[n].size(), "adapter"), list_nodes(layout, hidden[n]));
      one(name_of_node(layout.node(n)), cables, std::move(meaning));
    }
    for (const auto& [host, adapters] : hosts) {
      const std::size_t all = layout.hosts[host].adapters.size();
      const bool whole = adapters.size() == all;
      one(whole ? printable(layout.hosts[host].name) : list_nodes(layout, adapters),
          count_of(adapters.size(), "adapter"),
          whole ? std::string()
                : fmt::format("{} of {} of {}", adapters.size(), count_of(all, "adapter"),
                              printable(layout.hosts[host].name)));
    }
  }

  [[nodiscard]] static std::string far_words(const Layout& layout, const std::optional<PortRef>& ref) {
    return ref ? name_of_port(*layout.fabric, *ref) : std::string("nothing");
  }
  [[nodiscard]] static std::optional<PortRef> partner(const Layout& layout,
                                                      const std::optional<PortRef>& end) {
    if (!end) return std::nullopt;
    for (const std::uint32_t c : layout.cables_at(end->node)) {
      const Cable& cable = layout.cables[c];
      if (cable.a == *end) return cable.b;
      if (cable.b == *end) return cable.a;
    }
    return std::nullopt;
  }

  void cables() {
    for (const CableDelta& change : delta_.cables) {
      if (change.kind == CableChange::kGone) gone(change);
      if (change.kind == CableChange::kNew) added(change);
      if (change.kind == CableChange::kMoved) moved(change);
      if (change.kind == CableChange::kSwapped) swapped(change);
    }
  }

  void gone(const CableDelta& change) {
    if (delta_.now_of[change.before_a->node] == kNone || delta_.now_of[change.before_b->node] == kNone)
      return;  // told with the node
    const std::string a = end_state(change.now_a);
    const std::string b = end_state(change.now_b);
    tell(FabricChangeKind::kLinkGone, Severity::kWarning,
         cable_words(before_, {*change.before_a, *change.before_b}),
         running_words(before_.port(*change.before_a)), a == b ? a : fmt::format("{} / {}", a, b));
  }

  // Texts of ibnetdiscover leave out ports without a link.
  [[nodiscard]] std::string end_state(const std::optional<PortRef>& end) const {
    return end ? state_words(now_.port(*end)) : std::string("not listed");
  }

  void added(const CableDelta& change) {
    if (delta_.before_of[change.now_a->node] == kNone || delta_.before_of[change.now_b->node] == kNone)
      return;
    tell(FabricChangeKind::kLinkNew, Severity::kInfo, cable_words(now_, {*change.now_a, *change.now_b}), "",
         running_words(now_.port(*change.now_a)));
  }

  // Told at the end that kept its cable: its partner is another one now.
  void moved(const CableDelta& change) {
    const auto was_a = partner(before_, change.before_a);
    const bool at_a = was_a.has_value();
    const PortRef end = at_a ? *change.now_a : *change.now_b;
    const PortRef far = at_a ? *change.now_b : *change.now_a;
    std::string meaning;
    const auto was_b = partner(before_, change.before_b);
    if (was_a && was_b)
      meaning =
          fmt::format("{} was cabled to {}", name_of_port(*now_.fabric, far), far_words(before_, was_b));
    tell(FabricChangeKind::kCableMoved, Severity::kWarning, name_of_port(*now_.fabric, end),
         far_words(before_, at_a ? was_a : was_b), name_of_port(*now_.fabric, far), std::move(meaning));
  }

  void swapped(const CableDelta& change) {
    const auto a = partner(before_, change.before_a);
    const auto b = partner(before_, change.before_b);
    tell(FabricChangeKind::kCableMoved, Severity::kWarning,
         fmt::format("{} and {}", name_of_port(*now_.fabric, *change.now_a), far_words(before_, b)),
         fmt::format("to {} and {}", far_words(before_, a), name_of_port(*now_.fabric, *change.now_b)),
         fmt::format("to {} and {}", name_of_port(*now_.fabric, *change.now_b), far_words(before_, a)),
         "two cables are swapped");
  }

  static std::string state_words(const FabricPort& port) {
    if (port.state == model::PortState::kUnknown) return "no cable";
    std::string words(model::name_of(port.state));
    if (port.physical_state != model::PortPhysicalState::kUnknown)
      words += fmt::format(" ({})", model::name_of(port.physical_state));
    return words;
  }

  void names_and_lids() {
    std::vector<std::pair<std::uint32_t, std::uint32_t>> lids;  // node now, before
    std::map<HostNames, std::vector<std::uint32_t>> renamed;
    for (std::uint32_t n = 0; n < delta_.before_of.size(); ++n) {
      const std::uint32_t old = delta_.before_of[n];
      if (old == kNone) continue;
      const FabricNode& is = now_.node(n);
      const FabricNode& was = before_.node(old);
      if (delta_.replaced[n] != 0 && now_.service[n] != 0) continue;  // a part of its switch
      if (delta_.replaced[n] != 0) {
        tell(FabricChangeKind::kReplaced, Severity::kInfo, name_of_node(is), model::to_string(was.guid),
             model::to_string(is.guid), "same name and cables, another GUID: its counters start anew");
        continue;
      }
      if (trim(is.description) != trim(was.description)) renamed[host_names(n, old)].push_back(n);
      if (const auto change = lid_change(is, was)) lids.emplace_back(n, old);
    }
    tell_renamed(renamed);
    // A manager that assigned LIDs anew changes them all.
    if (lids.size() > kMostAlike && lids.size() * 2 > delta_.nodes_alike) {
      tell(FabricChangeKind::kLid, Severity::kInfo, count_of(lids.size(), "node"), "", "",
           "most nodes have other LIDs: a subnet manager assigned them anew");
      return;
    }
    for (const auto& [n, old] : lids) {
      const auto change = lid_change(now_.node(n), before_.node(old));
      tell(FabricChangeKind::kLid, Severity::kInfo, name_of_node(now_.node(n)),
           fmt::format("LID {}", change->first), fmt::format("LID {}", change->second));
    }
  }

  // Of the host before and now, where the adapter kept its device; empty for all others.
  using HostNames = std::pair<std::string, std::string>;
  [[nodiscard]] HostNames host_names(std::uint32_t now, std::uint32_t old) const {
    const AdapterName& is = now_.names[now];
    const AdapterName& was = before_.names[old];
    if (is.host.empty() || was.host.empty() || is.host == was.host || is.device != was.device) return {};
    return {was.host, is.host};
  }

  // A host with all its adapters is one change.
  void tell_renamed(const std::map<HostNames, std::vector<std::uint32_t>>& renamed) {
    for (const auto& [names, nodes] : renamed) {
      if (!names.first.empty() && nodes.size() > 1) {
        tell(FabricChangeKind::kRenamed, Severity::kInfo, count_of(nodes.size(), "adapter"),
             printable(names.first), printable(names.second));
        continue;
      }
      for (const std::uint32_t n : nodes)
        tell(FabricChangeKind::kRenamed, Severity::kInfo, model::to_string(now_.node(n).guid),
             name_of_node(before_.node(delta_.before_of[n])), name_of_node(now_.node(n)));
    }
  }

  static std::optional<std::pair<std::uint32_t, std::uint32_t>> lid_change(const FabricNode& is,
                                                                           const FabricNode& was) {
    for (const FabricPort& port : is.ports) {
      const FabricPort* old = model::find_port(was, port.number);
      if (old == nullptr || !old->lid || !port.lid || old->lid->value == 0 || port.lid->value == 0) continue;
      if (*old->lid != *port.lid)
        return std::pair<std::uint32_t, std::uint32_t>(old->lid->value, port.lid->value);
    }
    return std::nullopt;
  }

  [[nodiscard]] const FabricPort* old_port(PortRef ref) const {
    const std::uint32_t node = delta_.before_of[ref.node];
    if (node == kNone) return nullptr;
    const auto& ports = before_.node(node).ports;
    const std::uint32_t number = now_.port(ref).number;
    if (ref.port < ports.size() && ports[ref.port].number == number) return &ports[ref.port];
    return model::find_port(before_.node(node), number);
  }

  // Once a cable, by the end whose old port is known.
  void link(const Cable& cable) {
    const FabricPort* old = old_port(cable.a);
    if (old == nullptr || !old->peer) return;
    const FabricPort& port = now_.port(cable.a);
    const auto was = running_rate(*old);
    const auto is = running_rate(port);
    const Severity worse = was && is && is->value < was->value ? Severity::kWarning : Severity::kInfo;
    if (old->lanes != 0 && port.lanes != 0 && old->lanes != port.lanes)
      tell(FabricChangeKind::kWidth, worse, cable_words(now_, cable), running_words(*old),
           running_words(port));
    else if (old->speed != port.speed && old->speed != model::LaneSpeedName::kUnknown &&
             port.speed != model::LaneSpeedName::kUnknown)
      tell(FabricChangeKind::kSpeed, worse, cable_words(now_, cable), running_words(*old),
           running_words(port));
    else if (was && is && was->value != is->value)
      tell(FabricChangeKind::kSpeed, worse, cable_words(now_, cable), running_words(*old),
           running_words(port));
  }

  void ports(std::uint32_t n) {
    const auto& all = now_.node(n).ports;
    for (std::uint32_t p = 0; p < all.size(); ++p) {
      const FabricPort* old = old_port({n, p});
      if (old == nullptr) continue;
      state({n, p}, *old);
      if (old->counters.empty() || all[p].counters.empty() || delta_.replaced[n] != 0) continue;
      ++counted_;
      if (was_reset(old->counters, all[p].counters)) resets_.push_back({n, p});
      counters({n, p}, *old);
    }
  }

  // Ports that lost or found a cable are told with the cable.
  void state(PortRef ref, const FabricPort& old) {
    const FabricPort& port = now_.port(ref);
    if (port.state == old.state || port.state == model::PortState::kUnknown ||
        old.state == model::PortState::kUnknown)
      return;
    if (port.peer.has_value() != old.peer.has_value()) return;
    const Severity severity = old.state == model::PortState::kActive ? Severity::kWarning : Severity::kInfo;
    tell(FabricChangeKind::kState, severity, name_of_port(*now_.fabric, ref), state_words(old),
         state_words(port));
  }

  void counters(PortRef ref, const FabricPort& old) {
    const FabricPort& port = now_.port(ref);
    for (const FabricCounter counter : kErrorCounters) {
      const auto was = old.counters.get(counter);
      const auto is = port.counters.get(counter);
      if (!was || !is || *is == *was || *is == 0) continue;
      // One that fell was cleared: what it shows now is the least that was added.
      auto [severity, meaning] = weigh(ref, counter, *is > *was ? *is - *was : *is);
      if (*is < *was) meaning = "cleared in between, at least " + meaning;
      tell(FabricChangeKind::kCounter, severity, name_of_port(*now_.fabric, ref),
           fmt::format("{} {}", model::name_of(counter), was.value()),
           fmt::format("{} {}", model::name_of(counter), is.value()), std::move(meaning));
    }
    waiting(ref, old);
  }

  // "+12 in 2 h, 6 an hour", and for symbol errors what that is a bit.
  std::pair<Severity, std::string> weigh(PortRef ref, FabricCounter counter, std::uint64_t grown) {
    constexpr double kHour = 3600;
    const auto seconds = diff_.seconds_between;
    std::string words = "+" + fmt::format("{}", grown);
    if (seconds)
      words += fmt::format(" in {}, {:.3g} an hour", duration_words(*seconds),
                           static_cast<double>(grown) * kHour / *seconds);
    if (counter == FabricCounter::kLinkDowned || counter == FabricCounter::kLinkErrorRecoveries)
      return {grown > 1 ? Severity::kWarning : Severity::kInfo, words};
    if (counter != FabricCounter::kSymbolErrors) {
      const bool many = static_cast<double>(grown) > knowledge::threshold("fabric.errors.few");
      const bool of_line = counter == FabricCounter::kReceiveErrors ||
                           counter == FabricCounter::kLocalLinkIntegrityErrors ||
                           counter == FabricCounter::kExcessiveBufferOverruns;
      return {many && of_line ? Severity::kWarning : Severity::kInfo, words};
    }
    const FabricPort& port = now_.port(ref);
    const auto rate = running_rate(port);
    const knowledge::LinkErrorLimit* limit = knowledge::find_link_errors(model::name_of(port.speed));
    if (!seconds || !rate || rate->value <= 0 || limit == nullptr) return {Severity::kInfo, words};
    const double ratio = static_cast<double>(grown) / (rate->value * *seconds);
    const bool bad =
        ratio >= limit->limit && static_cast<double>(grown) > knowledge::threshold("fabric.errors.few");
    words += fmt::format(": {:.1e} a bit of the line, {} should stay below {:.0e}", ratio, limit->speed,
                         limit->normal);
    return {bad ? Severity::kWarning : Severity::kInfo, words};
  }

  void waiting(PortRef ref, const FabricPort& old) {
    const FabricPort& port = now_.port(ref);
    const auto was = old.counters.get(FabricCounter::kTransmitWait);
    const auto is = port.counters.get(FabricCounter::kTransmitWait);
    if (!was || !is || *is <= *was || !diff_.seconds_between ||
        port.counters.is_stuck(FabricCounter::kTransmitWait))
      return;
    const auto share = wait_share(now_.node(ref.node).device, port, *is - *was, *diff_.seconds_between);
    if (!share || *share < knowledge::threshold("fabric.wait.share")) return;
    tell(FabricChangeKind::kCounter,
         *share >= knowledge::threshold("fabric.wait.heavy") ? Severity::kWarning : Severity::kInfo,
         name_of_port(*now_.fabric, ref),
         fmt::format("{} {}", model::name_of(FabricCounter::kTransmitWait), *was),
         fmt::format("{} {}", model::name_of(FabricCounter::kTransmitWait), *is),
         fmt::format("had data and no credits for {:.0f} % of {}", std::min(*share, 1.0) * 100,
                     duration_words(*diff_.seconds_between)));
  }

  void tell_resets() {
    if (resets_.size() > kMostAlike && resets_.size() * 2 > counted_) {
      tell(FabricChangeKind::kCounterReset, Severity::kInfo, count_of(resets_.size(), "port"), "", "",
           "counters of most ports fell: somebody cleared them");
      return;
    }
    std::map<std::uint32_t, std::vector<PortRef>> by_node;
    for (const PortRef ref : resets_)
      by_node[ref.node].push_back(ref);
    for (const auto& [node, ports] : by_node)
      tell(FabricChangeKind::kCounterReset, Severity::kInfo,
           ports.size() == 1
               ? name_of_port(*now_.fabric, ports.front())
               : fmt::format("{}, {}", name_of_node(now_.node(node)), count_of(ports.size(), "port")),
           "", "", "counters fell: cleared, or the node restarted");
  }

  static constexpr std::size_t kMostAlike = 8;  // presentation: more of the same kind are one change

  const Layout& before_;
  const Layout& now_;
  const Delta& delta_;
  FabricDiff& diff_;
  std::size_t counted_ = 0;
  std::vector<PortRef> resets_;
};

}  // namespace

FabricDiff compare(const Fabric& before, const Fabric& now) {
  const Layout old_layout = make_layout(before, {});
  const Layout new_layout = make_layout(now, {});
  const Delta delta = match(old_layout, new_layout);
  FabricDiff diff;
  diff.before_name = before.name;
  diff.after_name = now.name;
  diff.before_captured = before.captured;
  diff.after_captured = now.captured;
  diff.seconds_between = seconds_between(before, now);
  diff.nodes_alike = delta.nodes_alike;
  diff.links_alike = delta.links_alike;
  Comparison(old_layout, new_layout, delta, diff).run();
  return diff;
}

}  // namespace angio::fabric
