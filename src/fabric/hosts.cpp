// Which adapters are one host: what a snapshot says of their GUIDs, what their NodeDescriptions say, and the
// system image GUID for those that nobody named.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <unordered_map>
#include <utility>

#include "base/text.hpp"
#include "fabric/layout.hpp"

namespace angio::fabric {

using model::FabricHost;
using model::FabricNode;
using model::FabricNodeKind;

namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

// Device names of Linux and of Mellanox' daemons: letters first, a digit later ("mlx5_0", "HCA-1", "ibp12s0",
// "hfi1_0", "mlx5_bond_0").
bool is_device_name(std::string_view word) {
  const auto legal = [](char c) {
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '-';
  };
  return word.size() > 1 && !is_digit(word.front()) && is_digit(word.back()) &&
         std::ranges::all_of(word, legal);
}

// Names of machines that nobody has named yet.
bool is_nobody(std::string_view host) {
  const std::string lower = to_lower(host);
  return lower == "localhost" || lower == "localhost.localdomain" || lower == "(none)" || lower == "none";
}

// SHARP aggregation nodes sit inside a switch and are no host's (NVIDIA SHARP documentation 3.0, topology).
bool is_aggregation_node(const FabricNode& node) {
  return contains(node.description, "Aggregation Node");
}

std::optional<std::uint64_t> parse_guid(std::string_view text) {
  std::string digits(trim(text));
  std::erase(digits, ':');
  return parse_integer<std::uint64_t>(digits, 16);
}

struct Place {
  std::string key;  // adapters with the same key are one host
  std::string name;
  std::string joined_by;
};

class HostFinder {
 public:
  explicit HostFinder(Layout& layout) : layout_(layout), places_(layout.fabric->nodes.size()) {}

  void by_snapshots(const std::vector<model::Machine>& machines) {
    std::unordered_map<std::uint64_t, std::pair<const model::Machine*, const model::RdmaDevice*>> owners;
    for (const model::Machine& machine : machines)
      for (const model::RdmaDevice& device : machine.rdma)
        if (const std::string* guid = device.node_guid.get())
          if (const auto value = parse_guid(*guid); value && *value != 0)
            owners.try_emplace(*value, &machine, &device);
    for (std::uint32_t n = 0; n < places_.size(); ++n) {
      if (!is_adapter(n)) continue;
      const auto owner = owners.find(layout_.node(n).guid.value);
      if (owner == owners.end()) continue;
      const auto& [machine, device] = owner->second;
      places_[n] = {"m" + machine->name, machine->name, "snapshot " + machine->name};
      layout_.names[n] = {machine->name, device->name};
    }
  }

  // A name that stands twice with the same device belongs to several machines: it names none of them.
  void by_names() {
    std::map<std::pair<std::string, std::string>, std::vector<std::uint32_t>> owners;
    for (std::uint32_t n = 0; n < places_.size(); ++n)
      if (is_open(n) && !layout_.names[n].host.empty())
        owners[{layout_.names[n].host, layout_.names[n].device}].push_back(n);
    std::map<std::string, bool> is_shared;
    for (auto& [name, nodes] : owners)
      if (nodes.size() > 1 && !one_card(nodes)) {
        is_shared[name.first] = true;
        layout_.shared_names.push_back(nodes);
      }
    for (auto& [name, nodes] : owners) {
      if (is_shared.contains(name.first)) continue;
      for (const std::uint32_t n : nodes)
        places_[n] = {"n" + name.first, name.first, "node description"};
    }
  }

  void by_system_guid() {
    std::unordered_map<std::uint64_t, std::uint32_t> named;
    for (std::uint32_t n = 0; n < places_.size(); ++n)
      if (is_adapter(n) && !is_open(n) && layout_.node(n).system_guid != 0)
        named.try_emplace(layout_.node(n).system_guid, n);
    std::unordered_map<std::uint64_t, std::uint32_t> first;
    for (std::uint32_t n = 0; n < places_.size(); ++n) {
      if (!is_open(n)) continue;
      const std::uint64_t box = layout_.node(n).system_guid;
      const auto owner = named.find(box);
      if (box != 0 && owner != named.end()) {
        places_[n] = places_[owner->second];
        continue;
      }
      const std::uint32_t head = box == 0 ? n : first.try_emplace(box, n).first->second;
      const std::string guid = model::to_string(layout_.node(head).guid);
      places_[n] = {fmt::format("g{}", head), "host of " + guid,
                    box == 0 ? "its own GUID" : "system image GUID"};
    }
  }

  void make_hosts(const std::map<std::string, std::vector<std::string>>& jobs) {
    std::unordered_map<std::string, std::uint32_t> index;
    for (std::uint32_t n = 0; n < places_.size(); ++n) {
      if (!is_adapter(n)) continue;
      const auto [place, is_new] =
          index.try_emplace(places_[n].key, static_cast<std::uint32_t>(layout_.hosts.size()));
      if (is_new) layout_.hosts.push_back({places_[n].name, {}, places_[n].joined_by, {}});
      layout_.hosts[place->second].adapters.push_back(n);
      layout_.host_of[n] = place->second;
    }
    for (FabricHost& host : layout_.hosts) {
      std::ranges::sort(host.adapters, [&](std::uint32_t a, std::uint32_t b) { return is_before(a, b); });
      const auto found = jobs.find(host.name);
      if (found != jobs.end()) host.jobs = found->second;
    }
  }

 private:
  [[nodiscard]] bool is_adapter(std::uint32_t n) const {
    return layout_.node(n).kind == FabricNodeKind::kAdapter && layout_.service[n] == 0;
  }
  [[nodiscard]] bool is_open(std::uint32_t n) const { return is_adapter(n) && places_[n].key.empty(); }

  // Old drivers show the ports of one card as one name; a GUID that stands twice is another rule's matter.
  [[nodiscard]] bool one_card(const std::vector<std::uint32_t>& nodes) const {
    const FabricNode& first = layout_.node(nodes.front());
    if (layout_.names[nodes.front()].device.empty()) return true;  // nothing told them apart to begin with
    return std::ranges::all_of(nodes, [&](std::uint32_t n) {
      const FabricNode& node = layout_.node(n);
      return node.guid == first.guid || (node.system_guid != 0 && node.system_guid == first.system_guid);
    });
  }

  [[nodiscard]] bool is_before(std::uint32_t a, std::uint32_t b) const {
    const std::string& one = layout_.names[a].device;
    const std::string& other = layout_.names[b].device;
    if (one != other) return natural_less(one, other);
    return layout_.node(a).guid < layout_.node(b).guid;
  }

  Layout& layout_;
  std::vector<Place> places_;
};

}  // namespace

AdapterName read_adapter_name(const std::string& description) {
  const auto words = split_words(description);
  if (words.empty() || words.size() > 2 || is_nobody(words.front())) return {};
  if (words.size() == 1)
    return is_device_name(words.front()) && words.front().starts_with("mlx")
               ? AdapterName{}
               : AdapterName{std::string(words[0]), ""};
  if (!is_device_name(words[1])) return {};
  return {std::string(words[0]), std::string(words[1])};
}

std::string stem_of(const std::string& name) {
  std::string stem;
  for (const char c : name) {
    if (!is_digit(c))
      stem += c;
    else if (!stem.ends_with('#'))
      stem += '#';
  }
  return stem;
}

void find_hosts(Layout& layout, const Surroundings& surroundings) {
  const auto& nodes = layout.fabric->nodes;
  layout.service.assign(nodes.size(), 0);
  layout.names.assign(nodes.size(), {});
  layout.host_of.assign(nodes.size(), kNone);
  for (std::uint32_t n = 0; n < nodes.size(); ++n) {
    if (nodes[n].kind != FabricNodeKind::kAdapter) continue;
    layout.service[n] = is_aggregation_node(nodes[n]) ? 1 : 0;
    if (layout.service[n] == 0) layout.names[n] = read_adapter_name(nodes[n].description);
  }
  HostFinder finder(layout);
  if (surroundings.machines != nullptr) finder.by_snapshots(*surroundings.machines);
  finder.by_names();
  finder.by_system_guid();
  finder.make_hosts(surroundings.jobs);
}

}  // namespace angio::fabric
