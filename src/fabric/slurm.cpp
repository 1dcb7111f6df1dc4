// Slurm's topology.conf for topology/tree. Slurm wants one tree in which a host hangs off one leaf; a fat
// tree has many spines and a rail fabric many leaves for a host. So one rail stands for all, and what is
// above a group of leaves is one switch of an invented name; comments in the file say both.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "base/format.hpp"
#include "base/text.hpp"
#include "fabric/fabric.hpp"
#include "fabric/facts.hpp"

namespace angio::fabric {

using model::Fabric;
using model::FabricReport;

namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

// Letters, digits and "-_.": brackets, commas and blanks mean something to Slurm (hostlist expressions).
bool is_legal(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' || c == '_' || c == '.';
}

// "MF0;leaf-3:MQM9700/U1" is leaf-3, "…:MCS8500/L01/U1" leaf-3-L01; anything else with its odd characters
// replaced.
std::string slurm_name(std::string_view description) {
  std::string_view text = trim(description);
  std::string chip;
  if (const std::size_t semicolon = text.find(';'); semicolon != std::string_view::npos) {
    text.remove_prefix(semicolon + 1);
    if (const std::size_t colon = text.find(':'); colon != std::string_view::npos) {
      const auto parts = split(text.substr(colon + 1), '/');
      for (std::size_t i = 1; i + 1 < parts.size(); ++i)
        chip += "-" + std::string(parts[i]);
      text = text.substr(0, colon);
    }
  }
  std::string name;
  for (const char c : std::string(text) + chip)
    name += is_legal(c) ? c : '-';
  return name;
}

// "gpu[01-04,07]" of names that differ in their last number alone.
std::string in_ranges(std::vector<std::string> names) {
  // By prefix, suffix and the width of padded numbers; 0: none of them is padded.
  std::map<std::tuple<std::string, std::string, std::size_t>, std::vector<std::uint64_t>> groups;
  std::set<std::pair<std::string, std::string>> padded;
  struct Numbered {
    std::string prefix, suffix;
    std::size_t width;
    std::uint64_t number;
  };
  std::vector<Numbered> numbered;
  std::vector<std::string> plain;
  std::ranges::sort(names, natural_less);
  for (const std::string& name : names) {
    std::size_t end = name.size();
    while (end > 0 && !is_digit(name[end - 1]))
      --end;
    std::size_t start = end;
    while (start > 0 && is_digit(name[start - 1]))
      --start;
    const auto number = parse_integer<std::uint64_t>(std::string_view(name).substr(start, end - start));
    if (!number) {
      plain.push_back(name);
      continue;
    }
    numbered.push_back({name.substr(0, start), name.substr(end), end - start, *number});
    if (name[start] == '0' && end - start > 1) padded.emplace(name.substr(0, start), name.substr(end));
  }
  for (const Numbered& each : numbered)
    groups[{each.prefix, each.suffix, padded.contains({each.prefix, each.suffix}) ? each.width : 0}]
        .push_back(each.number);
  std::vector<std::string> parts;
  for (const auto& [key, numbers] : groups) {
    const auto& [prefix, suffix, width] = key;
    std::vector<std::string> runs;
    for (std::size_t i = 0; i < numbers.size();) {
      std::size_t last = i;
      while (last + 1 < numbers.size() && numbers[last + 1] == numbers[last] + 1)
        ++last;
      runs.push_back(last == i ? fmt::format("{:0{}}", numbers[i], width)
                               : fmt::format("{:0{}}-{:0{}}", numbers[i], width, numbers[last], width));
      i = last + 1;
    }
    const bool one = numbers.size() == 1;
    parts.push_back(prefix + (one ? runs.front() : "[" + join(runs, ",") + "]") + suffix);
  }
  parts.insert(parts.end(), plain.begin(), plain.end());
  return join(parts, ",");
}

class TreeWriter {
 public:
  TreeWriter(const Fabric& fabric, const FabricReport& report)
      : report_(report), layout_(make_layout(fabric, {})) {}

  Result<std::string> run() {
    plane_ = main_plane(layout_);
    if (report_.facts.switches == 0 || plane_ == kNone)
      return fail(ErrorCode::kUnsupported, "the fabric has no switch: there is no tree for Slurm to describe",
                  "leave TopologyPlugin out of slurm.conf");
    rails_ = find_rails(layout_, report_.facts.planes);
    choose_rail();
    place_hosts();
    if (leaves_.empty())
      return fail(ErrorCode::kUnsupported,
                  "no host with a name hangs off a switch: Slurm needs the names of its nodes",
                  "set node descriptions (rdma-ndd), or give snapshots of the hosts (angio collect)");
    name_switches();
    join_leaves();
    return text();
  }

 private:
  void comment(const std::string& words) { comments_.push_back(words); }

  // The rail on which the most hosts are; of equals the first.
  void choose_rail() {
    if (rails_.rails.size() < 2) return;
    const auto best =
        std::ranges::max_element(rails_.rails, {}, [](const auto& rail) { return rail.adapters.size(); });
    rail_ = best->number;
    comment(fmt::format("{} rails; a host of Slurm hangs off one leaf, so rail {} stands for all of them:",
                        rails_.rails.size(), *rail_));
    comment("hosts that share its leaf share the leaves of the other rails too.");
  }

  [[nodiscard]] std::optional<std::uint32_t> leaf_on_rail(const model::FabricHost& host) const {
    std::optional<std::uint32_t> neighbour;
    for (const std::uint32_t adapter : host.adapters) {
      if (adapter >= layout_.plane_of.size()) continue;
      for (const std::uint32_t leaf : leaves_of(layout_, adapter)) {
        const auto& leaves = rails_.rails[*rail_].leaves;
        if (std::ranges::find(leaves, leaf) != leaves.end()) return leaf;
        const auto found = rails_.neighbour.find({leaf, *rail_});
        if (!neighbour && found != rails_.neighbour.end()) neighbour = found->second;
      }
    }
    return neighbour;
  }

  [[nodiscard]] std::optional<std::uint32_t> leaf_of(const model::FabricHost& host) const {
    if (rail_) return leaf_on_rail(host);
    for (const std::uint32_t adapter : host.adapters) {
      if (adapter >= layout_.plane_of.size() || layout_.plane_of[adapter] != plane_) continue;
      const auto leaves = leaves_of(layout_, adapter);
      if (!leaves.empty()) return leaves.front();
    }
    return std::nullopt;
  }

  void place_hosts() {
    std::vector<std::string> unnamed;
    std::vector<std::string> without_leaf;
    std::set<std::string> met;
    bool cut = false;
    for (const model::FabricHost& host : report_.hosts) {
      std::string name = host.name;
      if (const std::size_t dot = name.find('.'); dot != std::string::npos) {
        name.resize(dot);
        cut = true;
      }
      const auto leaf = leaf_of(host);
      const bool legal = !name.empty() && std::ranges::all_of(name, is_legal) && met.insert(name).second;
      if (!legal)
        unnamed.push_back(printable(host.name));
      else if (!leaf)
        without_leaf.push_back(name);
      else
        leaves_[*leaf].push_back(name);
    }
    if (cut) comment("domains of host names are left out: Slurm's NodeName is the short name");
    if (!unnamed.empty())
      comment(fmt::format("left out, no name that Slurm could use: {}", list_words(unnamed, 8)));
    if (!without_leaf.empty())
      comment(fmt::format("left out, no leaf here: {}", list_words(without_leaf, 8)));
  }

  void name_switches() {
    std::set<std::string> taken;
    for (const auto& [leaf, hosts] : leaves_)
      taken.insert(hosts.begin(), hosts.end());
    for (const auto& [leaf, hosts] : leaves_) {
      const model::FabricNode& node = layout_.node(leaf);
      std::string name = slurm_name(node.description);
      if (name.empty() || contains(node.description, "Mellanox Technologies"))
        name = fmt::format("switch-{:x}", node.guid.value);
      if (!taken.insert(name).second) taken.insert(name += fmt::format("-{:x}", node.guid.value & 0xffffffU));
      names_[leaf] = name;
    }
    taken_ = std::move(taken);
  }

  std::string invent(const std::string& wanted) {
    std::string name = wanted;
    for (int i = 2; !taken_.insert(name).second; ++i)
      name = fmt::format("{}-{}", wanted, i);
    return name;
  }

  // Leaves that reach each other through switches up to a level are one group at that level.
  [[nodiscard]] std::map<std::uint32_t, std::vector<std::uint32_t>> groups_up_to(std::uint32_t level) const {
    std::vector<std::uint32_t> root(layout_.level_of.size());
    std::iota(root.begin(), root.end(), 0U);
    const auto find = [&](std::uint32_t n) {
      while (root[n] != n)
        n = root[n] = root[root[n]];
      return n;
    };
    for (const Cable& cable : layout_.cables) {
      const std::uint32_t a = cable.a.node;
      const std::uint32_t b = cable.b.node;
      if (!layout_.is_switch(a) || !layout_.is_switch(b) || layout_.level_of[a] > level ||
          layout_.level_of[b] > level)
        continue;
      root[std::max(find(a), find(b))] = std::min(find(a), find(b));
    }
    std::map<std::uint32_t, std::vector<std::uint32_t>> groups;
    for (const auto& [leaf, hosts] : leaves_)
      groups[find(leaf)].push_back(leaf);
    return groups;
  }

  // A switch of an invented name above each group of several parts; true where there is one.
  bool join_groups(const std::map<std::uint32_t, std::vector<std::uint32_t>>& groups,
                   std::map<std::uint32_t, std::string>& name_of_leaf_group) {
    bool invented = false;
    std::uint32_t number = 0;
    for (const auto& [root, leaves] : groups) {
      std::set<std::string> children;
      for (const std::uint32_t leaf : leaves)
        children.insert(name_of_leaf_group[leaf]);
      ++number;
      if (children.size() < 2) continue;
      const std::string name = invent(groups.size() == 1 ? "top" : fmt::format("pod-{}", number));
      lines_.push_back(
          fmt::format("SwitchName={} Switches={}", name, in_ranges({children.begin(), children.end()})));
      for (const std::uint32_t leaf : leaves)
        name_of_leaf_group[leaf] = name;
      invented = true;
    }
    return invented;
  }

  void join_leaves() {
    std::vector<std::uint32_t> order;
    for (const auto& [leaf, hosts] : leaves_)
      order.push_back(leaf);
    std::ranges::sort(order,
                      [&](std::uint32_t x, std::uint32_t y) { return natural_less(names_[x], names_[y]); });
    for (const std::uint32_t leaf : order)
      lines_.push_back(fmt::format("SwitchName={} Nodes={}", names_[leaf], in_ranges(leaves_[leaf])));
    std::uint32_t top = 1;
    for (std::uint32_t n = 0; n < layout_.level_of.size(); ++n)
      if (layout_.is_switch(n) && layout_.plane_of[n] == plane_) top = std::max(top, layout_.level_of[n]);
    std::map<std::uint32_t, std::string> name_of_leaf_group;  // by leaf: what stands for it so far
    for (const auto& [leaf, hosts] : leaves_)
      name_of_leaf_group[leaf] = names_[leaf];
    bool invented = false;
    for (std::uint32_t level = 1; level <= top; ++level)
      invented = join_groups(groups_up_to(level), name_of_leaf_group) || invented;
    std::set<std::string> roots;
    for (const auto& [leaf, name] : name_of_leaf_group)
      roots.insert(name);
    if (invented)
      comment("switches above the leaves are drawn together: a tree has one parent, a fat tree many");
    if (roots.size() > 1)
      comment(
          fmt::format("{} parts that do not reach each other on this plane: Slurm places no job across them",
                      roots.size()));
  }

  [[nodiscard]] std::string text() const {
    std::string out = fmt::format(
        "# topology.conf of {} for topology/tree\n",
        printable(layout_.fabric->origin.empty() ? layout_.fabric->name : layout_.fabric->origin));
    if (layout_.fabric->captured) out += fmt::format("# as of {}\n", printable(*layout_.fabric->captured));
    for (const std::string& line : comments_)
      out += "# " + line + "\n";
    for (const std::string& line : lines_)
      out += line + "\n";
    return out;
  }

  const FabricReport& report_;
  Layout layout_;
  Rails rails_;
  std::uint32_t plane_ = kNone;
  std::optional<std::uint32_t> rail_;
  std::map<std::uint32_t, std::vector<std::string>> leaves_;  // hosts by leaf
  std::map<std::uint32_t, std::string> names_;
  std::set<std::string> taken_;
  std::vector<std::string> comments_, lines_;
};

}  // namespace

Result<std::string> render_slurm_topology(const Fabric& fabric, const FabricReport& report) {
  if (report.facts.planes.empty() || report.facts.level_of.size() != fabric.nodes.size())
    return fail(ErrorCode::kUnsupported,
                "the fabric is empty or was not analysed: there is no tree to describe",
                "give a scan or a text of a fabric");
  return TreeWriter(fabric, report).run();
}

}  // namespace angio::fabric
