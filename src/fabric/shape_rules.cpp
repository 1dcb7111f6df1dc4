// Rails, levels, symmetry and single points.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "base/format.hpp"
#include "fabric/rules.hpp"
#include "knowledge/knowledge.hpp"

namespace angio::fabric {

using model::FabricLevel;
using model::PortRef;
using model::Severity;
using model::SinglePoint;

namespace {

// ---- rails

std::string stray_words(const Case& look, const Stray& stray) {
  const Layout& layout = look.layout;
  std::string words = fmt::format("{} is on {} (rail {})", name_of_node(layout.node(stray.adapter)),
                                  name_of_node(layout.node(stray.leaf)), stray.found_rail);
  words += stray.expected_leaf != kNone
               ? fmt::format("; it should be on {} (rail {})", name_of_node(layout.node(stray.expected_leaf)),
                             stray.rail)
               : fmt::format("; it should be on a leaf of rail {}", stray.rail);
  return words + fmt::format(", as the same adapter of {} other hosts", stray.peers);
}

bool is_swap(const std::vector<const Stray*>& strays) {
  return strays.size() == 2 && strays[0]->rail == strays[1]->found_rail &&
         strays[1]->rail == strays[0]->found_rail;
}

void misaligned(const Case& look, FabricOutcome& outcome) {
  if (look.rails.rails.size() < 2) {
    const bool several =
        std::ranges::any_of(look.layout.hosts, [](const auto& host) { return host.adapters.size() > 1; });
    const bool named =
        std::ranges::any_of(look.layout.names, [](const AdapterName& name) { return !name.device.empty(); });
    if (several && !named)
      return outcome.undecided(
          "which adapter of a host is which: no node description names a device",
          "snapshots of the hosts beside the scan (angio collect), or node descriptions (rdma-ndd)");
    return outcome.not_applicable();
  }
  std::map<std::uint32_t, std::vector<const Stray*>> hosts;
  for (const Stray& stray : look.rails.strays)
    hosts[look.layout.host_of[stray.adapter]].push_back(&stray);
  for (const auto& [host, strays] : hosts) {
    FabricDraft found;
    found.subject = subject_of(look.layout, strays.front()->adapter);
    std::vector<std::string> names;
    for (const Stray* stray : strays) {
      names.push_back(name_of_node(look.layout.node(stray->adapter)));
      found.draft.evidence.push_back(seen(look.layout, stray_words(look, *stray)));
      found.nodes.push_back(stray->adapter);
    }
    const std::string list = list_words(names, kMostListed);
    found.draft.title =
        is_swap(strays)      ? fmt::format("{} and {} are on each other's rail", names[0], names[1])
        : strays.size() == 1 ? fmt::format("{} is on rail {}, it should be on rail {}", names[0],
                                           strays.front()->found_rail, strays.front()->rail)
                             : fmt::format("{} of {} are on other rails than their siblings: {}",
                                           count_of(strays.size(), "adapter"), found.subject, list);
    if (is_swap(strays)) found.draft.words["swapped"] = "";
    if (!is_swap(strays)) found.draft.words["astray"] = "";
    found.draft.devices = names;
    found.draft.rank =
        static_cast<double>(strays.size()) / static_cast<double>(look.layout.hosts[host].adapters.size());
    found.draft.cost = {
        .text = fmt::format("traffic of {} between hosts on the same rail crosses the spines", list),
        .formula = ""};
    outcome.fire(std::move(found));
  }
}

// ---- levels

const FabricLevel* same_level(const std::vector<FabricLevel>& levels, std::uint32_t level,
                              std::size_t switches) {
  const auto found = std::ranges::find_if(levels, [&](const FabricLevel& each) {
    return each.level == level && each.oversubscription && each.switches.size() * 2 > switches;
  });
  return found == levels.end() ? nullptr : &*found;
}

// What most switches of a level take in by what they can pass on: one cable that is missing or slow is
// another rule's matter. 0: nothing to divide.
double usual_ratio(const Layout& layout, const FabricLevel& level) {
  std::vector<double> ratios;
  for (const std::uint32_t n : level.switches) {
    BitsPerSecond down;
    BitsPerSecond up;
    for (const std::uint32_t c : layout.cables_at(n)) {
      const Cable& cable = layout.cables[c];
      const std::uint32_t far = layout.far_end(cable, n).node;
      if (layout.service[far] != 0 || !carries_data(layout.port(cable.a))) continue;
      const BitsPerSecond rate = running_rate(layout, cable).value_or(BitsPerSecond{0});
      if (layout.level_of[far] < level.level) down = down + rate;
      if (layout.level_of[far] > level.level) up = up + rate;
    }
    if (up.value > 0) ratios.push_back(down / up);
  }
  if (ratios.empty()) return 0;
  const auto middle = ratios.begin() + static_cast<std::ptrdiff_t>(ratios.size() / 2);
  std::ranges::nth_element(ratios, middle);
  return *middle;
}

void oversubscribed(const Case& look, FabricOutcome& outcome) {
  if (is_part(look, outcome, "bandwidth between levels")) return;
  const std::vector<FabricLevel> planned =
      look.earlier != nullptr ? add_up_levels(look.earlier->layout) : std::vector<FabricLevel>{};
  bool any = false;
  bool without_rate = false;
  for (const FabricLevel& level : look.facts.levels) {
    any = any || level.links_up > 0;
    without_rate = without_rate || (level.links_up > 0 && level.up.value <= 0);
    const double remark = knowledge::threshold("fabric.oversubscription.remark");
    if (!level.oversubscription || *level.oversubscription <= remark ||
        usual_ratio(look.layout, level) <= remark)
      continue;
    FabricDraft found;
    found.subject = "fabric";
    found.draft.title = fmt::format("Level {} takes in {:.2f} times what it can pass on", level.level,
                                    *level.oversubscription);
    found.draft.evidence.push_back(
        seen(look.layout,
             fmt::format("{}: {} down with {}, {} up with {}",
                         level.switches.size() == 1 ? std::string("1 switch")
                                                    : fmt::format("{} switches", level.switches.size()),
                         count_of(level.links_down, "cable"), in_words(level.down),
                         count_of(level.links_up, "cable"), in_words(level.up))));
    const FabricLevel* plan = same_level(planned, level.level, level.switches.size());
    if (plan != nullptr) {
      found.draft.evidence.push_back({fmt::format("expected: {:.2f}, {} up with {}", *plan->oversubscription,
                                                  count_of(plan->links_up, "cable"), in_words(plan->up)),
                                      "the plan"});
      if (*level.oversubscription >
          *plan->oversubscription * knowledge::threshold("fabric.oversubscription.remark"))
        found.draft.severity = Severity::kWarning;
    }
    found.draft.cost = {
        .text = fmt::format("{} each host, if all send upwards at once",
                            in_words(level.up * (1.0 / std::max<std::uint32_t>(level.links_down, 1)))),
        .formula = "fabric-level"};
    found.nodes = level.switches;
    outcome.fire(std::move(found));
  }
  if (without_rate) return outcome.undecided("the rates of the cables between switches", kScan);
  if (!any) outcome.not_applicable();  // no cable leads from one level of switches to another
}

// ---- single points

void single_point(const Case& look, FabricOutcome& outcome) {
  const std::size_t switches = look.facts.switches;
  if (switches < 2) return outcome.not_applicable();
  if (is_part(look, outcome, "whether there are other ways")) return;
  for (const SinglePoint& point : look.facts.single_points) {
    FabricDraft found;
    if (point.node) {
      found.subject = name_of_node(look.layout.node(*point.node));
      found.draft.title = fmt::format("{} is the only way: without it {} lose the others", found.subject,
                                      count_of(point.hosts_cut, "host"));
      found.nodes = {*point.node};
    } else {
      const auto cables = look.layout.cables_at(point.link->node);
      const auto cable = std::ranges::find_if(
          cables, [&](std::uint32_t c) { return look.layout.cables[c].a == *point.link; });
      if (cable == cables.end()) continue;
      found.subject = name_of_node(look.layout.node(point.link->node));
      found.draft.title = fmt::format("The cable {} is the only way: without it {} lose the others",
                                      cable_words(look.layout, look.layout.cables[*cable]),
                                      count_of(point.hosts_cut, "host"));
      found.ports = {look.layout.cables[*cable].a, look.layout.cables[*cable].b};
      found.draft.evidence = both_ends(look.layout, look.layout.cables[*cable]);
    }
    if (found.draft.evidence.empty())
      found.draft.evidence.push_back(seen(
          look.layout,
          fmt::format("{} on it, {} cut off", count_of(look.layout.cables_at(*point.node).size(), "cable"),
                      count_of(point.hosts_cut, "host"))));
    found.draft.devices = {found.subject};
    outcome.fire(std::move(found));
  }
}

// ---- cables between switches that symmetric siblings have

struct Uplinks {
  std::uint32_t node = 0;
  std::uint32_t up = 0;
  std::uint32_t hosts = 0;
  std::map<std::uint32_t, std::uint32_t> to;  // by upper switch
};

// Leaves of one plane, level, model and kind of host.
std::map<std::string, std::vector<Uplinks>> families_of(const Layout& layout) {
  std::map<std::string, std::vector<Uplinks>> families;
  for (std::uint32_t n = 0; n < layout.level_of.size(); ++n) {
    if (!layout.is_switch(n) || layout.level_of[n] == 0) continue;
    Uplinks links{n, 0, 0, {}};
    std::map<std::string, std::uint32_t> stems;
    for (const std::uint32_t c : layout.cables_at(n)) {
      const std::uint32_t far = layout.far_end(layout.cables[c], n).node;
      if (layout.is_switch(far) && layout.level_of[far] == layout.level_of[n] + 1) {
        ++links.up;
        ++links.to[far];
      } else if (layout.is_host_adapter(far)) {
        ++links.hosts;
        ++stems[stem_of(layout.hosts[layout.host_of[far]].name)];
      }
    }
    if (links.up == 0) continue;
    std::uint32_t all = 0;
    const std::string stem = stems.empty() ? std::string() : commonest(stems, all)->first;
    families[fmt::format("{} {} {} {}", layout.plane_of[n], layout.level_of[n], layout.node(n).device, stem)]
        .push_back(links);
  }
  return families;
}

// How many cables most lower switches have to each upper one.
std::map<std::uint32_t, std::uint32_t> usual_to(const std::vector<Uplinks>& family) {
  std::map<std::uint32_t, std::map<std::uint32_t, std::uint32_t>> tally;
  for (const Uplinks& links : family)
    for (const auto& [upper, count] : links.to)
      ++tally[upper][count];
  std::map<std::uint32_t, std::uint32_t> usual;
  std::uint32_t all = 0;
  for (const auto& [upper, counts] : tally)
    usual[upper] = commonest(counts, all)->first;
  return usual;
}

// Upper switches to which this one has fewer cables than most of its siblings that reach them; where it
// reaches one not at all, only if most siblings do.
std::vector<std::string> short_of(const Layout& layout, const Uplinks& links,
                                  const std::vector<Uplinks>& family,
                                  const std::map<std::uint32_t, std::uint32_t>& usual) {
  std::map<std::uint32_t, std::uint32_t> reached;
  for (const Uplinks& each : family)
    for (const auto& [upper, count] : each.to)
      ++reached[upper];
  std::vector<std::string> names;
  for (const auto& [upper, count] : usual) {
    const auto own = links.to.find(upper);
    const std::uint32_t here = own == links.to.end() ? 0 : own->second;
    const bool most_do =
        reached[upper] >= knowledge::threshold("fabric.peers.share") * static_cast<double>(family.size());
    if (here < count && (here > 0 || most_do))
      names.push_back(fmt::format("{} ({} of {})", name_of_node(layout.node(upper)), here, count));
  }
  return names;
}

void link_missing(const Case& look, FabricOutcome& outcome) {
  if (is_part(look, outcome, "whether switches lack cables")) return;
  constexpr std::size_t kFewest = 4;  // shape: among fewer switches nobody is in the majority
  bool any = false;
  for (const auto& [name, family] : families_of(look.layout)) {
    if (family.size() < kFewest) continue;
    any = true;
    std::map<std::uint32_t, std::uint32_t> tally;
    for (const Uplinks& links : family)
      ++tally[links.up];
    std::uint32_t all = 0;
    const auto usual = commonest(tally, all);
    if (usual->second < knowledge::threshold("fabric.peers.share") * all) continue;
    const auto per_upper = usual_to(family);
    std::uint32_t usual_hosts = 0;
    for (const Uplinks& links : family)
      if (links.up == usual->first) usual_hosts = std::max(usual_hosts, links.hosts);
    for (const Uplinks& links : family) {
      if (links.up >= usual->first) continue;
      // As many fewer hosts: a leaf that was built smaller.
      if (links.hosts > 0 &&
          std::uint64_t{links.up} * usual_hosts >= std::uint64_t{usual->first} * links.hosts)
        continue;
      const auto places = short_of(look.layout, links, family, per_upper);
      const std::string self = name_of_node(look.layout.node(links.node));
      FabricDraft found;
      found.subject = self;
      found.draft.title = fmt::format("{} has {} up, {} of {} switches like it have {}", self,
                                      count_of(links.up, "cable"), usual->second, all, usual->first);
      if (!places.empty())
        found.draft.evidence.push_back(
            seen(look.layout, "fewer than its siblings to " + list_words(places, kMostListed)));
      found.draft.evidence.push_back(
          seen(look.layout, fmt::format("{}: {} up, {} down to hosts", self, count_of(links.up, "cable"),
                                        count_of(links.hosts, "cable"))));
      found.draft.rank = 1 - static_cast<double>(links.up) / usual->first;
      found.draft.cost = {
          .text = fmt::format("{:.0f} % of the bandwidth up from {}", found.draft.rank * 100, self),
          .formula = "fabric-level"};
      found.draft.devices = {self};
      found.draft.words["switch"] = self;
      found.nodes = {links.node};
      outcome.fire(std::move(found));
    }
  }
  if (!any) outcome.not_applicable();
}

}  // namespace

std::span<const Rule> shape_rules() {
  static constexpr std::array kRules = {
      Rule{"fabric.rail.misaligned", misaligned},
      Rule{"fabric.level.oversubscribed", oversubscribed},
      Rule{"fabric.topology.single-point", single_point},
      Rule{"fabric.link.missing", link_missing},
  };
  return kRules;
}

}  // namespace angio::fabric
