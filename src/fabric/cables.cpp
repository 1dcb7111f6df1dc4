#include "fabric/cables.hpp"

#include <algorithm>
#include <map>
#include <tuple>

#include "knowledge/knowledge.hpp"

namespace angio::fabric {

using model::FabricPort;
using model::LaneSpeedName;
using model::PortRef;

namespace {

struct Rate {
  std::uint8_t lanes = 0;
  LaneSpeedName speed = LaneSpeedName::kUnknown;
  auto operator<=>(const Rate&) const = default;
};

// The less of both ends; nothing where an end does not say.
Rate less(Rate a, Rate b) {
  if (a.lanes == 0 || b.lanes == 0 || a.speed == LaneSpeedName::kUnknown ||
      b.speed == LaneSpeedName::kUnknown)
    return {};
  return {std::min(a.lanes, b.lanes), std::min(a.speed, b.speed)};
}

Rate supported(const FabricPort& port) {
  return {port.most_lanes, port.most_speed};
}

// What an end allows; an end that does not say allows what it can.
Rate allowed(const FabricPort& port) {
  return {port.enabled_lanes != 0 ? std::min(port.enabled_lanes, port.most_lanes) : port.most_lanes,
          port.enabled_speed != LaneSpeedName::kUnknown ? std::min(port.enabled_speed, port.most_speed)
                                                        : port.most_speed};
}

// A higher name is not always a higher rate: FDR10 signals as fast as QDR.
bool is_slower(LaneSpeedName speed, LaneSpeedName than) {
  const auto a = rate_of(1, speed);
  const auto b = rate_of(1, than);
  return a && b && a->value < b->value;
}

bool runs(const FabricPort& port) {
  return port.state != model::PortState::kDown;
}

CableVerdict judge(const FabricPort& a, const FabricPort& b) {
  CableVerdict verdict;
  if (!runs(a) || !runs(b)) {
    verdict.state = CableState::kFine;
    return verdict;
  }
  const Rate run = less({a.lanes, a.speed}, {b.lanes, b.speed});
  const Rate can = less(supported(a), supported(b));
  const Rate may = less(allowed(a), allowed(b));
  verdict.lanes = run.lanes;
  verdict.speed = run.speed;
  verdict.run = rate_of(run.lanes, run.speed).value_or(BitsPerSecond{0});
  if (run.lanes == 0 || can.lanes == 0) return verdict;
  const bool narrow = run.lanes < may.lanes;
  const bool slow = is_slower(run.speed, may.speed);
  const bool restricted = run.lanes < can.lanes || is_slower(run.speed, can.speed);
  verdict.state = narrow       ? CableState::kNarrow
                  : slow       ? CableState::kSlow
                  : restricted ? CableState::kRestricted
                               : CableState::kFine;
  const Rate could = narrow || slow ? may : can;
  verdict.could_lanes = could.lanes;
  verdict.could_speed = could.speed;
  verdict.could = rate_of(could.lanes, could.speed).value_or(BitsPerSecond{0});
  return verdict;
}

using Kind =
    std::tuple<std::uint32_t, std::uint32_t, bool, Rate>;  // devices of both ends, to a host, what both could

Kind kind_of(const Layout& layout, const Cable& cable, const CableVerdict& verdict) {
  const std::uint32_t a = layout.node(cable.a.node).device;
  const std::uint32_t b = layout.node(cable.b.node).device;
  const bool to_host = !layout.is_switch(cable.a.node) || !layout.is_switch(cable.b.node);
  return {std::min(a, b), std::max(a, b), to_host, {verdict.could_lanes, verdict.could_speed}};
}

// What ports of one kind of device that support the same are set to. A setting that most of them share is
// how the fabric was built (a manager's default; 12x that a connector cannot carry), not a restriction.
class Settings {
 public:
  explicit Settings(const Layout& layout) : layout_(layout) {
    for (std::uint32_t n = 0; n < layout.fabric->nodes.size(); ++n)
      for (const FabricPort& port : layout.node(n).ports)
        if (port.number != 0 && port.most_lanes != 0) ++tally_[key(n, port)][allowed(port)];
  }

  // What most ports like it are set to, where most agree; else what it can.
  [[nodiscard]] Rate usual(PortRef ref) const {
    constexpr std::uint32_t kFewestPorts = 4;  // shape: fewer have nothing in common yet
    const auto settings = tally_.find(key(ref.node, layout_.port(ref)));
    if (settings == tally_.end()) return supported(layout_.port(ref));
    std::uint32_t all = 0;
    const auto best = commonest(settings->second, all);
    const bool common =
        all >= kFewestPorts && best->second >= knowledge::threshold("fabric.peers.share") * all;
    return common ? best->first : supported(layout_.port(ref));
  }

 private:
  using Key = std::tuple<std::uint32_t, bool, Rate>;
  [[nodiscard]] Key key(std::uint32_t node, const FabricPort& port) const {
    return {layout_.node(node).device, layout_.is_switch(node), supported(port)};
  }

  const Layout& layout_;
  std::map<Key, std::map<Rate, std::uint32_t>> tally_;
};

// A restricted cable against what it could carry if both of its ends were set as most ports like them.
void hold_against_usual(const Settings& settings, const Cable& cable, CableVerdict& verdict) {
  const Rate usual = less(settings.usual(cable.a), settings.usual(cable.b));
  if (verdict.lanes >= usual.lanes && !is_slower(verdict.speed, usual.speed)) {
    verdict.state = CableState::kAsBuilt;
    return;
  }
  verdict.could_lanes = usual.lanes;
  verdict.could_speed = usual.speed;
  verdict.could = rate_of(usual.lanes, usual.speed).value_or(BitsPerSecond{0});
}

bool is_lower(CableState state) {
  return state == CableState::kNarrow || state == CableState::kSlow;
}

}  // namespace

std::vector<CableVerdict> judge_cables(const Layout& layout) {
  constexpr std::uint32_t kFewestAlike = 4;  // shape: fewer cables have nothing in common yet
  struct Group {
    std::uint32_t all = 0;
    std::map<Rate, std::uint32_t> lower;
  };
  std::vector<CableVerdict> verdicts;
  std::map<Kind, Group> groups;
  for (const Cable& cable : layout.cables) {
    const CableVerdict& verdict = verdicts.emplace_back(judge(layout.port(cable.a), layout.port(cable.b)));
    if (verdict.could_lanes == 0) continue;
    Group& group = groups[kind_of(layout, cable, verdict)];
    ++group.all;
    if (is_lower(verdict.state)) ++group.lower[{verdict.lanes, verdict.speed}];
  }
  const double share = knowledge::threshold("fabric.common.share");
  const Settings settings(layout);
  for (std::size_t c = 0; c < verdicts.size(); ++c) {
    if (verdicts[c].state == CableState::kRestricted)
      hold_against_usual(settings, layout.cables[c], verdicts[c]);
    if (!is_lower(verdicts[c].state)) continue;
    const Group& group = groups.at(kind_of(layout, layout.cables[c], verdicts[c]));
    const std::uint32_t alike = group.lower.at({verdicts[c].lanes, verdicts[c].speed});
    if (group.all >= kFewestAlike && alike >= share * group.all) verdicts[c].state = CableState::kAsBuilt;
  }
  return verdicts;
}

}  // namespace angio::fabric
