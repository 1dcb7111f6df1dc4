#include "fabric/delta.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <tuple>

#include "base/text.hpp"

namespace angio::fabric {

using model::Fabric;
using model::FabricNode;
using model::PortRef;

namespace {

// The order by which nodes of two scans meet: GUID, and the name of those without one. A GUID that stands
// twice meets its first by its first and its second by its second.
std::vector<std::uint32_t> sorted_nodes(const Fabric& fabric) {
  std::vector<std::uint32_t> order(fabric.nodes.size());
  for (std::uint32_t n = 0; n < order.size(); ++n)
    order[n] = n;
  std::ranges::stable_sort(order, [&](std::uint32_t a, std::uint32_t b) {
    const FabricNode& one = fabric.nodes[a];
    const FabricNode& other = fabric.nodes[b];
    if (one.guid != other.guid) return one.guid < other.guid;
    return one.guid.value == 0 && one.description < other.description;
  });
  return order;
}

int compare_keys(const FabricNode& a, const FabricNode& b) {
  if (a.guid != b.guid) return a.guid < b.guid ? -1 : 1;
  if (a.guid.value != 0) return 0;
  return a.description.compare(b.description);
}

void match_nodes(const Fabric& before, const Fabric& now, Delta& delta) {
  delta.now_of.assign(before.nodes.size(), kNone);
  delta.before_of.assign(now.nodes.size(), kNone);
  const auto old_order = sorted_nodes(before);
  const auto new_order = sorted_nodes(now);
  std::size_t i = 0;
  std::size_t j = 0;
  while (i < old_order.size() && j < new_order.size()) {
    const int order = compare_keys(before.nodes[old_order[i]], now.nodes[new_order[j]]);
    if (order == 0) {
      delta.now_of[old_order[i]] = new_order[j];
      delta.before_of[new_order[j]] = old_order[i];
      ++delta.nodes_alike;
    }
    if (order <= 0) ++i;
    if (order >= 0) ++j;
  }
}

// The same port of the same node in the other scan; none where the node or the port is not there.
std::optional<PortRef> same_port(const Fabric& from, const Fabric& to,
                                 const std::vector<std::uint32_t>& node_in, PortRef ref) {
  const std::uint32_t node = node_in[ref.node];
  if (node == kNone) return std::nullopt;
  const auto& ports = to.nodes[node].ports;
  const std::uint32_t number = from.nodes[ref.node].ports[ref.port].number;
  if (ref.port < ports.size() && ports[ref.port].number == number) return PortRef{node, ref.port};
  const auto* const found = model::find_port(to.nodes[node], number);
  if (found == nullptr) return std::nullopt;
  return PortRef{node, static_cast<std::uint32_t>(found - ports.data())};
}

// A box or card that was replaced has another GUID, and the name and most of the cables of the old one.
class Replacements {
 public:
  Replacements(const Layout& before, const Layout& now, Delta& delta)
      : before_(before), now_(now), delta_(delta) {}

  void match(bool switches) {
    std::map<std::string_view, std::pair<std::uint32_t, std::uint32_t>> names;  // kNone: none, or several
    std::set<std::string_view> twice;
    for (std::uint32_t n = 0; n < delta_.now_of.size(); ++n) {
      if (delta_.now_of[n] != kNone || before_.is_switch(n) != switches) continue;
      const std::string_view name = trim(before_.node(n).description);
      if (!names.try_emplace(name, n, kNone).second) twice.insert(name);
    }
    for (std::uint32_t n = 0; n < delta_.before_of.size(); ++n) {
      if (delta_.before_of[n] != kNone || now_.is_switch(n) != switches) continue;
      const auto found = names.find(trim(now_.node(n).description));
      if (found == names.end()) continue;
      if (found->second.second != kNone) twice.insert(found->first);
      found->second.second = n;
    }
    for (const auto& [name, pair] : names)
      if (!name.empty() && pair.second != kNone && !twice.contains(name) &&
          has_its_cables(pair.first, pair.second))
        join(pair.first, pair.second);
  }

 private:
  [[nodiscard]] bool has_its_cables(std::uint32_t old, std::uint32_t node) const {
    std::size_t all = 0;
    std::size_t same = 0;
    for (const std::uint32_t c : before_.cables_at(old)) {
      const PortRef far = before_.far_end(before_.cables[c], old);
      if (delta_.now_of[far.node] == kNone) continue;
      ++all;
      const auto there = same_port(*before_.fabric, *now_.fabric, delta_.now_of, far);
      const auto& peer = there ? now_.port(*there).peer : std::nullopt;
      if (peer && peer->node == node) ++same;
    }
    return same > 0 && same * 2 >= all;
  }
  void join(std::uint32_t old, std::uint32_t node) {
    delta_.now_of[old] = node;
    delta_.before_of[node] = old;
    delta_.replaced[node] = 1;
  }

  const Layout& before_;
  const Layout& now_;
  Delta& delta_;
};

// Partners by cable, not by what one end claims.
using Partners = std::vector<std::vector<std::optional<PortRef>>>;
Partners partners_of(const Layout& layout) {
  Partners partners(layout.fabric->nodes.size());
  for (std::size_t n = 0; n < partners.size(); ++n)
    partners[n].resize(layout.fabric->nodes[n].ports.size());
  for (const Cable& cable : layout.cables) {
    partners[cable.a.node][cable.a.port] = cable.b;
    partners[cable.b.node][cable.b.port] = cable.a;
  }
  return partners;
}

class CableMatcher {
 public:
  CableMatcher(const Layout& before, const Layout& now, Delta& delta)
      : before_(before), now_(now), delta_(delta), old_(partners_of(before)), new_(partners_of(now)) {}

  void match() {
    for (const Cable& cable : before_.cables)
      if (is_there_now(cable)) ++delta_.links_alike;
    for (const Cable& cable : now_.cables)
      if (!was_there(cable)) tell_new(cable);
    for (const Cable& cable : before_.cables) {
      if (is_there_now(cable) || told_.contains(cable.a) || told_.contains(cable.b)) continue;
      delta_.cables.push_back({.kind = CableChange::kGone,
                               .before_a = cable.a,
                               .before_b = cable.b,
                               .now_a = in_now(cable.a),
                               .now_b = in_now(cable.b)});
    }
  }

 private:
  [[nodiscard]] std::optional<PortRef> in_now(PortRef old) const {
    return same_port(*before_.fabric, *now_.fabric, delta_.now_of, old);
  }
  [[nodiscard]] std::optional<PortRef> in_before(PortRef ref) const {
    return same_port(*now_.fabric, *before_.fabric, delta_.before_of, ref);
  }
  [[nodiscard]] bool is_there_now(const Cable& cable) const {
    const auto a = in_now(cable.a);
    const auto b = in_now(cable.b);
    return a && b && new_[a->node][a->port] == b;
  }
  [[nodiscard]] bool was_there(const Cable& cable) const {
    const auto a = in_before(cable.a);
    const auto b = in_before(cable.b);
    return a && b && old_[a->node][a->port] == b;
  }
  // What this port of the later scan was cabled to, as a port of the earlier one.
  [[nodiscard]] std::optional<PortRef> old_partner(PortRef ref) const {
    const auto old = in_before(ref);
    return old ? old_[old->node][old->port] : std::nullopt;
  }

  void tell_new(const Cable& cable) {
    if (told_now_.contains(cable.a) || told_now_.contains(cable.b)) return;  // the second half of a swap
    const auto was_a = old_partner(cable.a);
    const auto was_b = old_partner(cable.b);
    CableDelta change{.kind = CableChange::kNew,
                      .before_a = in_before(cable.a),
                      .before_b = in_before(cable.b),
                      .now_a = cable.a,
                      .now_b = cable.b};
    if (was_a || was_b) change.kind = CableChange::kMoved;
    // Swapped: the old partners of both ends are cabled to each other now.
    if (was_a && was_b) {
      const auto a = in_now(*was_a);
      const auto b = in_now(*was_b);
      if (a && b && new_[a->node][a->port] == b) {
        change.kind = CableChange::kSwapped;
        change.other_a = a;
        change.other_b = b;
        told_now_.insert(*a);
        told_now_.insert(*b);
      }
    }
    for (const auto& end : {change.before_a, change.before_b, was_a, was_b})
      if (end && change.kind != CableChange::kNew) told_.insert(*end);
    delta_.cables.push_back(change);
  }

  const Layout& before_;
  const Layout& now_;
  Delta& delta_;
  Partners old_, new_;
  std::set<PortRef> told_;      // ports of the earlier scan whose cable's fate is told
  std::set<PortRef> told_now_;  // ports of the later one
};

// Adapters whose only ways were switches that are gone too: lost from view, not for themselves.
std::vector<std::uint32_t> attribute(const Layout& layout, const std::vector<std::uint32_t>& other) {
  std::vector<std::uint32_t> with(other.size(), kNone);
  for (std::uint32_t n = 0; n < other.size(); ++n) {
    if (other[n] != kNone || layout.is_switch(n)) continue;
    const auto leaves = leaves_of(layout, n);
    const bool all_gone =
        std::ranges::all_of(leaves, [&](std::uint32_t leaf) { return other[leaf] == kNone; });
    if (!leaves.empty() && all_gone) with[n] = leaves.front();
  }
  return with;
}

}  // namespace

Delta match(const Layout& before, const Layout& now) {
  Delta delta;
  match_nodes(*before.fabric, *now.fabric, delta);
  delta.replaced.assign(now.fabric->nodes.size(), 0);
  Replacements replacements(before, now, delta);
  replacements.match(true);
  replacements.match(false);
  CableMatcher(before, now, delta).match();
  delta.gone_with = attribute(before, delta.now_of);
  delta.new_with = attribute(now, delta.before_of);
  return delta;
}

std::optional<double> parse_instant(const std::string& text) {
  // "2026-01-31T12:00:00Z", "…00.5+01:00"
  if (text.size() < 20 || text[4] != '-' || text[7] != '-' || text[13] != ':' || text[16] != ':')
    return std::nullopt;
  const std::string_view view = text;
  std::array<int, 6> parts{};
  constexpr std::array<std::pair<std::size_t, std::size_t>, 6> kPlaces = {
      {{0, 4}, {5, 2}, {8, 2}, {11, 2}, {14, 2}, {17, 2}}};
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const auto value = parse_integer<int>(view.substr(kPlaces.at(i).first, kPlaces.at(i).second));
    if (!value || *value < 0) return std::nullopt;
    parts.at(i) = *value;
  }
  if (parts[1] < 1 || parts[1] > 12 || parts[2] < 1 || parts[2] > 31) return std::nullopt;
  // Days since 1970 of the proleptic Gregorian calendar, years that begin in March.
  const int year = parts[1] <= 2 ? parts[0] - 1 : parts[0];
  const int month = (parts[1] + 9) % 12;
  const int era = year / 400;
  const int of_era = year - era * 400;
  const int day = (153 * month + 2) / 5 + parts[2] - 1;
  const double days =
      static_cast<double>(era) * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + day - 719468;
  double seconds = days * 86400 + parts[3] * 3600 + parts[4] * 60 + parts[5];
  std::string_view rest = view.substr(19);
  if (rest.starts_with('.')) {
    const std::size_t end = std::min(rest.find_first_not_of("0123456789", 1), rest.size());
    seconds += parse_double("0" + std::string(rest.substr(0, end))).value_or(0);
    rest.remove_prefix(end);
  }
  if (rest == "Z" || rest == "z") return seconds;
  if (rest.size() != 6 || (rest[0] != '+' && rest[0] != '-') || rest[3] != ':') return std::nullopt;
  const auto hours = parse_integer<int>(rest.substr(1, 2));
  const auto minutes = parse_integer<int>(rest.substr(4, 2));
  if (!hours || !minutes) return std::nullopt;
  return seconds - (rest[0] == '-' ? -1 : 1) * (*hours * 3600 + *minutes * 60);
}

std::optional<double> seconds_between(const Fabric& before, const Fabric& now) {
  if (!before.captured || !now.captured) return std::nullopt;
  const auto from = parse_instant(*before.captured);
  const auto to = parse_instant(*now.captured);
  if (!from || !to || *to <= *from) return std::nullopt;
  return *to - *from;
}

}  // namespace angio::fabric
