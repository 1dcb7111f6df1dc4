#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/format.hpp"
#include "base/text.hpp"
#include "fabric/rules.hpp"

namespace angio::fabric {

using model::Evidence;
using model::FabricPort;
using model::PortRef;

bool is_part(const Case& look, FabricOutcome& outcome, std::string_view what) {
  if (!look.part) return false;
  outcome.undecided(fmt::format("{}: {}", what, printable(*look.part)),
                    "the whole text, or a scan that ends by itself");
  return true;
}

std::optional<Lid> lid_of(const Layout& layout, PortRef ref) {
  const FabricPort* management =
      layout.is_switch(ref.node) ? model::find_port(layout.node(ref.node), 0) : nullptr;
  const auto lid = management != nullptr && management->lid ? management->lid : layout.port(ref).lid;
  return lid && lid->value != 0 ? lid : std::nullopt;
}

std::string end_words(const Layout& layout, PortRef ref) {
  const FabricPort& port = layout.port(ref);
  std::string words = name_of_port(*layout.fabric, ref);
  words += fmt::format(" (GUID {}", model::to_string(layout.node(ref.node).guid));
  if (const auto lid = lid_of(layout, ref)) words += fmt::format(", LID {}", lid->value);
  words += ")";
  std::vector<std::string> parts;
  if (port.state != model::PortState::kUnknown && port.state != model::PortState::kActive)
    parts.push_back(fmt::format("state {}", model::name_of(port.state)));
  if (running_rate(port)) parts.push_back("runs " + running_words(port));
  const std::string can = link_words(port.most_lanes, port.most_speed);
  const std::string allows = link_words(port.enabled_lanes, port.enabled_speed);
  if (!can.empty()) parts.push_back("can " + can);
  if (!allows.empty() && allows != can) parts.push_back("allows " + allows);
  return parts.empty() ? words : words + ": " + join(parts, ", ");
}

Evidence seen(const Layout& layout, std::string text) {
  const std::string& origin = layout.fabric->origin;
  return {std::move(text), printable(origin.empty() ? layout.fabric->name : origin)};
}

std::vector<Evidence> both_ends(const Layout& layout, const Cable& cable) {
  const bool b_first = layout.is_switch(cable.b.node) && !layout.is_switch(cable.a.node);
  return {seen(layout, end_words(layout, b_first ? cable.b : cable.a)),
          seen(layout, end_words(layout, b_first ? cable.a : cable.b))};
}

std::string subject_of(const Layout& layout, std::uint32_t node) {
  const std::uint32_t host = layout.host_of[node];
  return host != kNone ? printable(layout.hosts[host].name) : name_of_node(layout.node(node));
}

std::uint32_t lower_switch(const Layout& layout, const Cable& cable) {
  if (!layout.is_switch(cable.a.node)) return layout.is_switch(cable.b.node) ? cable.b.node : cable.a.node;
  if (!layout.is_switch(cable.b.node)) return cable.a.node;
  return layout.level_of[cable.b.node] < layout.level_of[cable.a.node] ? cable.b.node : cable.a.node;
}

void add_cable_words(const Layout& layout, const Cable& cable, diagnose::Draft& draft) {
  const std::uint32_t owner = lower_switch(layout, cable);
  const PortRef end = cable.a.node == owner ? cable.a : cable.b;
  draft.words["cable"] = cable_words(layout, cable);
  draft.words["switch"] = name_of_node(layout.node(owner));
  draft.words["port"] = fmt::format("{}", layout.port(end).number);
  if (const auto lid = lid_of(layout, end)) draft.words["lid"] = fmt::format("{}", lid->value);
  const bool inside = layout.node(cable.a.node).system_guid != 0 && layout.is_switch(cable.a.node) &&
                      layout.is_switch(cable.b.node) &&
                      layout.node(cable.a.node).system_guid == layout.node(cable.b.node).system_guid;
  draft.words[inside ? "in_box" : "by_cable"] = "";
  draft.devices = {draft.words["cable"]};
}

std::vector<std::uint32_t> hosts_at(const Layout& layout, std::uint32_t node) {
  if (layout.host_of[node] != kNone) return {layout.host_of[node]};
  // Down from the switch, level by level.
  std::vector<std::uint32_t> queue{node};
  std::set<std::uint32_t> met{node};
  std::set<std::uint32_t> hosts;
  for (std::size_t at = 0; at < queue.size(); ++at) {
    for (const std::uint32_t c : layout.cables_at(queue[at])) {
      const std::uint32_t far = layout.far_end(layout.cables[c], queue[at]).node;
      if (layout.host_of[far] != kNone) hosts.insert(layout.host_of[far]);
      const bool down = layout.is_switch(far) && layout.level_of[far] < layout.level_of[queue[at]];
      if (down && met.insert(far).second) queue.push_back(far);
    }
  }
  return {hosts.begin(), hosts.end()};
}

std::string ports_words(const Layout& layout, const std::vector<PortRef>& ports) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < std::min(ports.size(), kMostListed + 1); ++i)
    names.push_back(name_of_port(*layout.fabric, ports[i]));
  if (ports.size() <= kMostListed + 1) return join(names, ", ");
  names.pop_back();
  return fmt::format("{} and {} more", join(names, ", "), ports.size() - names.size());
}

std::string grouped(std::uint64_t number) {
  std::string digits = fmt::format("{}", number);
  for (std::size_t at = digits.size(); at > 3; at -= 3)
    digits.insert(at - 3, ",");
  return digits;
}

std::string duration_words(double seconds) {
  constexpr double kMinute = 60;
  constexpr double kHour = 3600;
  constexpr double kDay = 86400;
  if (seconds < 2 * kMinute) return fmt::format("{:.3g} s", seconds);
  if (seconds < 2 * kHour) return fmt::format("{:.3g} min", seconds / kMinute);
  if (seconds < 2 * kDay) return fmt::format("{:.3g} h", seconds / kHour);
  return fmt::format("{:.3g} days", seconds / kDay);
}

}  // namespace angio::fabric
