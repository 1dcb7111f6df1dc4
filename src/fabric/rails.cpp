// Rails: on which leaves adapter k of most hosts is, and which adapters are elsewhere. Counting only; a
// fabric whose adapters mix on their leaves has no rails, and nothing is called misplaced then.
#include <algorithm>
#include <tuple>
#include <unordered_map>

#include "fabric/facts.hpp"

namespace angio::fabric {

using model::FabricPlane;
using model::FabricRail;
using model::PlaneRole;

namespace {

constexpr std::size_t kFewestHosts = 3;  // shape: with two hosts nobody is in the majority
constexpr std::size_t kStrayShare = 4;   // shape: with more than a quarter astray there is no rule to break
constexpr std::size_t kReferences = 3;   // adapters of a host by which its neighbours are found

struct OnLeaf {
  std::uint32_t adapter;
  std::uint32_t host;
  std::uint32_t leaf;
  std::uint32_t device;  // index in devices
};

class RailFinder {
 public:
  explicit RailFinder(const Layout& layout) : layout_(layout) {}

  Rails find(const std::vector<FabricPlane>& planes) {
    collect(planes);
    Rails rails;
    if (hosts_ < kFewestHosts || !group_devices()) return rails;
    number_rails(rails);
    sort_adapters(rails);
    if (rails.rails.size() < 2 || rails.strays.size() * kStrayShare > adapters_.size()) return {};
    find_neighbours(rails);
    for (Stray& stray : rails.strays)
      place(rails, stray);
    return rails;
  }

 private:
  void collect(const std::vector<FabricPlane>& planes) {
    for (std::uint32_t h = 0; h < layout_.hosts.size(); ++h) {
      const std::size_t before = adapters_.size();
      for (const std::uint32_t adapter : layout_.hosts[h].adapters) {
        const PlaneRole role = planes[layout_.plane_of[adapter]].role;
        const auto leaves = leaves_of(layout_, adapter);
        if (role == PlaneRole::kStorage || role == PlaneRole::kManagement || leaves.size() != 1 ||
            layout_.names[adapter].device.empty())
          continue;
        const auto [device, is_new] = devices_.try_emplace(layout_.names[adapter].device,
                                                           static_cast<std::uint32_t>(device_names_.size()));
        if (is_new) device_names_.push_back(device->first);
        adapters_.push_back({adapter, h, leaves.front(), device->second});
      }
      if (adapters_.size() - before < 2)
        adapters_.resize(before);  // one adapter has no siblings
      else
        ++hosts_;
    }
  }

  // Devices that many hosts have on the same leaf are one rail. False: all are one.
  bool group_devices() {
    std::unordered_map<std::uint32_t, std::unordered_map<std::uint32_t, std::uint32_t>> on_leaf;
    for (const OnLeaf& each : adapters_)
      ++on_leaf[each.leaf][each.device];
    root_.resize(device_names_.size());
    for (std::uint32_t d = 0; d < root_.size(); ++d)
      root_[d] = d;
    strong_.assign(root_.size(), 0);
    for (const auto& [leaf, counts] : on_leaf) {
      std::uint32_t most = 0;
      for (const auto& [device, count] : counts)
        most = std::max(most, count);
      if (most < 2) continue;  // one adapter of each proves nothing
      std::uint32_t first = kNone;
      for (const auto& [device, count] : counts) {
        if (count * 2 <= most) continue;
        strong_[device] = 1;
        if (first == kNone) first = device;
        root_[std::max(find(first), find(device))] = std::min(find(first), find(device));
      }
      leaf_device_[leaf] = first;
    }
    std::uint32_t groups = 0;
    for (std::uint32_t d = 0; d < root_.size(); ++d)
      if (strong_[d] != 0 && find(d) == d) ++groups;
    return groups > 1;
  }

  std::uint32_t find(std::uint32_t device) {
    while (root_[device] != device)
      device = root_[device] = root_[root_[device]];
    return device;
  }

  void number_rails(Rails& rails) {
    std::vector<std::string> names;
    for (std::uint32_t d = 0; d < root_.size(); ++d)
      if (strong_[d] != 0) names.push_back(device_names_[d]);
    std::ranges::sort(names, natural_less);
    for (const std::string& name : names) {
      const std::uint32_t group = find(devices_.at(name));
      const auto [number, is_new] =
          rail_of_group_.try_emplace(group, static_cast<std::uint32_t>(rails.rails.size()));
      if (is_new) rails.rails.push_back({number->second, {}, {}});
      rails.rail_of_device[name] = number->second;
    }
    join_schemes(rails);
    for (const auto& [leaf, device] : leaf_device_) {
      rail_of_leaf_[leaf] = rail_of_group_.at(find(device));
      rails.rails[rail_of_leaf_[leaf]].leaves.push_back(leaf);
    }
    for (FabricRail& rail : rails.rails)
      std::ranges::sort(rail.leaves);
  }

  // Some hosts call their adapters mlx5_0 … and others HCA-1 …: no host has both. Where both ways of naming
  // give as many rails, the first of one is the first of the other.
  void join_schemes(Rails& rails) {
    std::vector<std::uint32_t> scheme(rails.rails.size());
    for (std::uint32_t r = 0; r < scheme.size(); ++r)
      scheme[r] = r;
    const auto top = [&](std::uint32_t rail) {
      while (scheme[rail] != rail)
        rail = scheme[rail];
      return rail;
    };
    for (std::size_t i = 1; i < adapters_.size(); ++i) {
      const OnLeaf& one = adapters_[i - 1];
      const OnLeaf& other = adapters_[i];
      if (one.host != other.host || strong_[one.device] == 0 || strong_[other.device] == 0) continue;
      const std::uint32_t a = top(rail_of_group_.at(find(one.device)));
      const std::uint32_t b = top(rail_of_group_.at(find(other.device)));
      scheme[std::max(a, b)] = std::min(a, b);
    }
    std::unordered_map<std::uint32_t, std::vector<std::uint32_t>> members;
    for (std::uint32_t r = 0; r < scheme.size(); ++r)
      members[top(r)].push_back(r);
    const std::size_t each = members.begin()->second.size();
    const bool equal =
        std::ranges::all_of(members, [&](const auto& entry) { return entry.second.size() == each; });
    if (members.size() < 2 || each < 2 || !equal) return;
    std::vector<std::uint32_t> place(scheme.size());
    for (const auto& [root, all] : members)
      for (std::uint32_t i = 0; i < all.size(); ++i)
        place[all[i]] = i;
    for (auto& [group, rail] : rail_of_group_)
      rail = place[rail];
    for (auto& [device, rail] : rails.rail_of_device)
      rail = place[rail];
    rails.rails.resize(each);
  }

  // Only hosts that were numbered alike are siblings: a manager with adapters of the same names is none.
  void sort_adapters(Rails& rails) {
    std::unordered_map<std::string, std::size_t> aligned;
    const auto family = [&](const OnLeaf& each) {
      return stem_of(layout_.hosts[each.host].name) + "\n" + device_names_[each.device];
    };
    for (const OnLeaf& each : adapters_)
      if (aligned_rail(each) != kNone) ++aligned[family(each)];
    for (const OnLeaf& each : adapters_) {
      if (strong_[each.device] == 0) continue;
      const std::uint32_t rail = rail_of_group_.at(find(each.device));
      const auto here = rail_of_leaf_.find(each.leaf);
      if (here == rail_of_leaf_.end()) continue;  // a leaf of no rail: nothing to compare with
      if (here->second == rail)
        rails.rails[rail].adapters.push_back(each.adapter);
      else if (aligned[family(each)] >= kFewestHosts)
        rails.strays.push_back({each.adapter, each.leaf, rail, here->second, kNone, 0});
    }
  }

  // For a few adapters of each host: on which leaf of each rail their siblings are.
  void find_neighbours(Rails& rails) {
    std::vector<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>>
        votes;  // leaf, rail, leaf of that rail
    for (std::size_t start = 0; start < adapters_.size();) {
      std::size_t end = start;
      std::vector<std::pair<std::uint32_t, std::uint32_t>> aligned;  // leaf, rail
      for (; end < adapters_.size() && adapters_[end].host == adapters_[start].host; ++end)
        if (const auto rail = aligned_rail(adapters_[end]); rail != kNone)
          aligned.emplace_back(adapters_[end].leaf, rail);
      for (std::size_t i = 0; i < std::min(kReferences, aligned.size()); ++i)
        for (const auto& [leaf, rail] : aligned)
          votes.emplace_back(aligned[i].first, rail, leaf);
      start = end;
    }
    std::ranges::sort(votes);
    std::size_t best = 0;
    for (std::size_t start = 0; start < votes.size();) {
      const auto end =
          static_cast<std::size_t>(std::ranges::upper_bound(votes, votes[start]) - votes.begin());
      const auto [leaf, rail, there] = votes[start];
      const auto [entry, is_new] = rails.neighbour.try_emplace({leaf, rail}, there);
      if (is_new || end - start > best) {
        entry->second = there;
        best = end - start;
      }
      start = end;
    }
  }

  std::uint32_t aligned_rail(const OnLeaf& each) {
    if (strong_[each.device] == 0) return kNone;
    const std::uint32_t rail = rail_of_group_.at(find(each.device));
    const auto here = rail_of_leaf_.find(each.leaf);
    return here != rail_of_leaf_.end() && here->second == rail ? rail : kNone;
  }

  void place(const Rails& rails, Stray& stray) {
    stray.peers = static_cast<std::uint32_t>(rails.rails[stray.rail].adapters.size());
    for (const std::uint32_t sibling : layout_.hosts[layout_.host_of[stray.adapter]].adapters) {
      const auto leaves = leaves_of(layout_, sibling);
      if (sibling == stray.adapter || leaves.empty()) continue;
      const auto own = rails.rail_of_device.find(layout_.names[sibling].device);
      const auto here = rail_of_leaf_.find(leaves.front());
      if (own == rails.rail_of_device.end() || here == rail_of_leaf_.end() || own->second != here->second)
        continue;
      const auto found = rails.neighbour.find({leaves.front(), stray.rail});
      if (found == rails.neighbour.end()) continue;
      stray.expected_leaf = found->second;
      return;
    }
    if (rails.rails[stray.rail].leaves.size() == 1)
      stray.expected_leaf = rails.rails[stray.rail].leaves.front();
  }

  const Layout& layout_;
  std::vector<OnLeaf> adapters_;  // host by host
  std::unordered_map<std::string, std::uint32_t> devices_;
  std::vector<std::string> device_names_;
  std::size_t hosts_ = 0;
  std::vector<std::uint32_t> root_;
  std::vector<char> strong_;
  std::unordered_map<std::uint32_t, std::uint32_t> leaf_device_, rail_of_group_, rail_of_leaf_;
};

}  // namespace

Rails find_rails(const Layout& layout, const std::vector<FabricPlane>& planes) {
  return RailFinder(layout).find(planes);
}

}  // namespace angio::fabric
