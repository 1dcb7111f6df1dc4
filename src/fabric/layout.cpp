#include "fabric/layout.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "base/format.hpp"
#include "base/text.hpp"
#include "knowledge/knowledge.hpp"

namespace angio::fabric {

using model::Fabric;
using model::FabricNode;
using model::FabricPort;
using model::LaneSpeedName;
using model::PortRef;
using model::PortState;

namespace {

bool is_there(const Fabric& fabric, PortRef ref) {
  return ref.node < fabric.nodes.size() && ref.port < fabric.nodes[ref.node].ports.size();
}

// Both ends say so, or the far end says nothing.
bool is_cable(const Fabric& fabric, PortRef from, PortRef to) {
  if (!is_there(fabric, to) || from == to) return false;
  const auto& back = model::port_at(fabric, to).peer;
  return !back || *back == from;
}

std::array<double, 10> lane_rates() {
  std::array<double, 10> rates{};
  for (std::size_t i = 0; i < rates.size(); ++i) {
    const auto rate = knowledge::lane_rate(model::name_of(static_cast<LaneSpeedName>(i)));
    rates.at(i) = rate ? rate->value : 0;
  }
  return rates;
}

}  // namespace

void find_cables(Layout& layout) {
  const Fabric& fabric = *layout.fabric;
  std::vector<std::uint32_t> count(fabric.nodes.size() + 1);
  for (std::uint32_t n = 0; n < fabric.nodes.size(); ++n) {
    for (std::uint32_t p = 0; p < fabric.nodes[n].ports.size(); ++p) {
      const auto& peer = fabric.nodes[n].ports[p].peer;
      const PortRef here{n, p};
      if (!peer || !is_cable(fabric, here, *peer)) continue;
      const bool told_twice = model::port_at(fabric, *peer).peer.has_value();
      if (told_twice && *peer < here) continue;  // the other end told it
      layout.cables.push_back({std::min(here, *peer), std::max(here, *peer)});
    }
  }
  for (const Cable& cable : layout.cables) {
    ++count[cable.a.node];
    if (cable.b.node != cable.a.node) ++count[cable.b.node];
  }
  layout.cables_start.assign(fabric.nodes.size() + 1, 0);
  for (std::size_t n = 0; n < fabric.nodes.size(); ++n)
    layout.cables_start[n + 1] = layout.cables_start[n] + count[n];
  layout.cables_of.resize(layout.cables_start.back());
  std::vector<std::uint32_t> next(layout.cables_start.begin(), layout.cables_start.end() - 1);
  for (std::uint32_t c = 0; c < layout.cables.size(); ++c) {
    const Cable& cable = layout.cables[c];
    layout.cables_of[next[cable.a.node]++] = c;
    if (cable.b.node != cable.a.node) layout.cables_of[next[cable.b.node]++] = c;
  }
}

std::optional<std::string> why_not_whole(const Fabric& fabric) {
  constexpr std::array<std::string_view, 8> kParts = {
      "scan.stopped",    "scan.time-limit",       "scan.limit",           "scan.send", "scan.receive",
      "fabric.text-cut", "fabric.too-many-nodes", "fabric.too-many-ports"};
  const auto found = std::ranges::find_if(fabric.notes, [&](const model::Note& note) {
    return std::ranges::find(kParts, note.id) != kParts.end();
  });
  return found == fabric.notes.end() ? std::nullopt : std::optional(found->text);
}

Layout make_layout(const Fabric& fabric, const Surroundings& surroundings) {
  Layout layout;
  layout.fabric = &fabric;
  find_cables(layout);
  find_hosts(layout, surroundings);
  find_planes_and_levels(layout);
  return layout;
}

std::vector<std::uint32_t> leaves_of(const Layout& layout, std::uint32_t adapter) {
  std::vector<std::uint32_t> leaves;
  for (const std::uint32_t c : layout.cables_at(adapter)) {
    const std::uint32_t far = layout.far_end(layout.cables[c], adapter).node;
    if (layout.is_switch(far) && std::ranges::find(leaves, far) == leaves.end()) leaves.push_back(far);
  }
  return leaves;
}

std::optional<BitsPerSecond> rate_of(std::uint8_t lanes, LaneSpeedName speed) {
  static const std::array<double, 10> kRates = lane_rates();
  const auto at = static_cast<std::size_t>(speed);
  if (lanes == 0 || at >= kRates.size() || kRates.at(at) == 0) return std::nullopt;
  return BitsPerSecond{lanes * kRates.at(at)};
}

std::optional<BitsPerSecond> running_rate(const FabricPort& port) {
  const auto rate = rate_of(port.lanes, port.speed);
  return rate ? rate : port.stated_rate;
}

std::optional<BitsPerSecond> running_rate(const Layout& layout, const Cable& cable) {
  const auto a = running_rate(layout.port(cable.a));
  const auto b = running_rate(layout.port(cable.b));
  if (a && b) return std::min(*a, *b);
  return a ? a : b;
}

bool carries_data(const FabricPort& port) {
  return port.state == PortState::kActive || port.state == PortState::kUnknown;
}

std::string link_words(std::uint8_t lanes, LaneSpeedName speed) {
  if (lanes == 0) return std::string(model::name_of(speed));
  if (speed == LaneSpeedName::kUnknown) return fmt::format("{}x", lanes);
  return fmt::format("{}x {}", lanes, model::name_of(speed));
}

std::string running_words(const FabricPort& port) {
  const std::string words = link_words(port.lanes, port.speed);
  const auto rate = running_rate(port);
  if (!rate) return words.empty() ? "an unknown rate" : words;
  return words.empty() ? in_words(*rate) : fmt::format("{} ({})", words, in_words(*rate));
}

std::string name_of_node(const FabricNode& node) {
  const std::string_view text = trim(node.description);
  return text.empty() ? model::to_string(node.guid) : printable(text);
}

std::string name_of_port(const Fabric& fabric, PortRef ref) {
  return printable(model::describe(fabric, ref));
}

std::string cable_words(const Layout& layout, const Cable& cable) {
  const bool host_first = layout.is_switch(cable.b.node) && !layout.is_switch(cable.a.node);
  const PortRef first = host_first ? cable.b : cable.a;
  const PortRef second = host_first ? cable.a : cable.b;
  return name_of_port(*layout.fabric, first) + " to " + name_of_port(*layout.fabric, second);
}

std::string list_words(const std::vector<std::string>& words, std::size_t most) {
  if (words.size() <= most + 1) return join(words, ", ");
  const std::vector<std::string> first(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(most));
  return fmt::format("{} and {} more", join(first, ", "), words.size() - most);
}

bool natural_less(std::string_view a, std::string_view b) {
  const auto digit = [](char c) { return c >= '0' && c <= '9'; };
  std::size_t i = 0;
  std::size_t j = 0;
  while (i < a.size() && j < b.size()) {
    if (!digit(a[i]) || !digit(b[j])) {
      if (a[i] != b[j]) return a[i] < b[j];
      ++i;
      ++j;
      continue;
    }
    std::size_t end_a = i;
    std::size_t end_b = j;
    while (end_a < a.size() && digit(a[end_a]))
      ++end_a;
    while (end_b < b.size() && digit(b[end_b]))
      ++end_b;
    std::string_view one = a.substr(i, end_a - i);
    std::string_view other = b.substr(j, end_b - j);
    one.remove_prefix(std::min(one.find_first_not_of('0'), one.size()));
    other.remove_prefix(std::min(other.find_first_not_of('0'), other.size()));
    if (one.size() != other.size()) return one.size() < other.size();
    if (one != other) return one < other;
    i = end_a;
    j = end_b;
  }
  if (i < a.size() || j < b.size()) return j < b.size();
  return a < b;  // the same but for leading zeros
}

}  // namespace angio::fabric
