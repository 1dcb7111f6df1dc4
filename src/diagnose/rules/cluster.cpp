#include "diagnose/rules/cluster.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/format.hpp"
#include "base/text.hpp"
#include "diagnose/rules/support.hpp"

namespace angio::diagnose::cluster {

std::string slot_of(const Rail& rail) {
  return rail.port == 1 ? rail.address : rail.address + " port " + std::to_string(rail.port);
}

namespace {

using Votes = std::map<std::string, std::size_t>;

std::optional<Usual> majority(const Votes& votes) {
  std::size_t all = 0;
  const std::pair<const std::string, std::size_t>* most = nullptr;
  for (const auto& entry : votes) {
    all += entry.second;
    if (most == nullptr || entry.second > most->second) most = &entry;
  }
  if (most == nullptr || most->second < 2 || most->second * 2 <= all) return std::nullopt;
  return Usual{most->first, most->second, all};
}

// Of two equal camps that of the first node counts, so that the other one can be named at all.
std::optional<Usual> majority_or_half(const Votes& votes, const std::string& first) {
  if (auto usual = majority(votes)) return usual;
  std::size_t all = 0;
  for (const auto& [value, times] : votes)
    all += times;
  const auto found = votes.find(first);
  if (found == votes.end() || found->second < 2 || found->second * 2 != all) return std::nullopt;
  return Usual{first, found->second, all};
}

std::string rate_text(double rate) {
  return in_words(BitsPerSecond{rate});
}

// What a rail says of itself; what it does not know, it does not say.
std::map<std::string, std::string> statements(const PeerFacts& node, const Rail& rail) {
  std::map<std::string, std::string> said{{"device", rail.device}};
  if (!rail.state.empty()) said["state"] = rail.state;
  if (rail.rate > 0 && rail.state == "ACTIVE") said["rate"] = fmt::format("{:.0f}", rail.rate);
  if (rail.subnet && rail.layer == model::LinkLayer::kEthernet) said["subnet"] = *rail.subnet;
  if (!rail.classes.empty()) said["classes"] = rail.classes;
  if (!rail.qos_options.empty()) said["qos options"] = rail.qos_options;
  if (!rail.classes.empty())
    said["unprotected"] = node.told_by("rdma.roce.traffic-class", rail.device) != nullptr ? "yes" : "no";
  for (const auto& [index, meaning] : rail.gids)
    said["gid " + std::to_string(index)] = meaning;
  return said;
}

constexpr const char* kEmptySlot = "empty";

// A table that was read and has nothing at an index says so too.
void count_empty_slots(std::size_t tables, std::map<std::string, Votes>& names) {
  for (auto& [name, votes] : names) {
    if (!name.starts_with("gid ")) continue;
    std::size_t filled = 0;
    for (const auto& [meaning, times] : votes)
      filled += times;
    if (tables > filled) votes[kEmptySlot] += tables - filled;
  }
}

model::Evidence evidence_of(const PeerFacts& node, const Rail& rail, std::string text, const char* leaf) {
  return {std::move(text), node.imported ? node.origin : "/sys/class/infiniband/" + rail.device + "/" + leaf};
}

// Rails of which the same is to be said are one line: "mlx5_0, mlx5_1: 200 Gb/s; 400 Gb/s on 8 of 9 …".
class Alike {
 public:
  void add(const std::string& name, model::Evidence evidence) {
    const auto found =
        std::ranges::find(lines_, evidence.text, [](const Line& line) { return line.evidence.text; });
    Line& line = found != lines_.end() ? *found : lines_.emplace_back(Line{{}, std::move(evidence)});
    line.names.push_back(name);
  }
  [[nodiscard]] std::vector<model::Evidence> evidence() const {
    std::vector<model::Evidence> all;
    for (const Line& line : lines_)
      all.push_back({list_of(line.names) + ": " + line.evidence.text, line.evidence.source});
    return all;
  }

 private:
  struct Line {
    std::vector<std::string> names;
    model::Evidence evidence;
  };
  std::vector<Line> lines_;
};

std::string share(const Usual& usual) {
  return fmt::format("{} of {} nodes of this kind", usual.nodes, usual.of);
}

}  // namespace

Peers::Peers(const std::vector<const PeerFacts*>& nodes) : nodes_(nodes.size()) {
  std::map<std::string, std::map<std::string, Votes>> votes;
  std::map<std::string, Votes> firmware;
  std::map<std::string, std::size_t> tables;   // slot → GID tables that were read
  std::map<std::string, std::string> devices;  // slot → its device on the first node
  Votes slots;
  Votes counts;
  for (const PeerFacts* node : nodes) {
    scrubbed_ = scrubbed_ || node->scrubbed;
    if (node->gid_index && gid_index_ == nullptr) gid_index_ = node;
    if (node->adapters_known) ++counts[std::to_string(node->rails.size())];
    for (const Rail& rail : node->rails) {
      if (!rail.board.empty() && !rail.firmware.empty()) ++firmware[rail.board][rail.firmware];
      if (rail.address.empty()) continue;
      ++slots[slot_of(rail)];
      devices.emplace(slot_of(rail), rail.device);
      tables[slot_of(rail)] += rail.gids_known ? 1 : 0;
      for (const auto& [name, value] : statements(*node, rail))
        ++votes[slot_of(rail)][name][value];
    }
  }
  for (const auto& [slot, times] : slots) {
    if (times * 2 > nodes_ && times > 1) slots_.insert(slot);
  }
  if (const auto usual = majority(counts)) count_ = parse_integer<std::size_t>(usual->value).value_or(0);
  for (auto& [slot, names] : votes) {
    count_empty_slots(tables[slot], names);
    for (const auto& [name, values] : names) {
      auto usual = name == "device" ? majority_or_half(values, devices[slot]) : majority(values);
      if (usual) usual_[slot].emplace(name, std::move(*usual));
    }
  }
  for (const auto& [board, versions] : firmware) {
    if (auto usual = majority(versions)) firmware_.emplace(board, std::move(*usual));
  }
}

const Usual* Peers::usual(const std::string& slot, const std::string& name) const {
  const auto names = usual_.find(slot);
  if (names == usual_.end()) return nullptr;
  const auto found = names->second.find(name);
  return found != names->second.end() ? &found->second : nullptr;
}

const Usual* Peers::usual_firmware(const std::string& board) const {
  const auto found = firmware_.find(board);
  return found != firmware_.end() ? &found->second : nullptr;
}

namespace {

// ---- an adapter that peers have

void adapter_missing(const Peers& peers, const PeerFacts& node, Outcome& outcome) {
  if (!node.adapters_known || node.rails.size() >= peers.usual_count()) return;
  std::set<std::string> here;
  for (const Rail& rail : node.rails)
    here.insert(slot_of(rail));
  std::vector<std::string> missing;
  for (const std::string& slot : peers.usual_slots()) {
    if (here.contains(slot)) continue;
    const Usual* name = peers.usual(slot, "device");
    missing.push_back(name != nullptr ? name->value + " (" + slot + ")" : slot);
  }
  // In slots of other numbers nothing tells which one is gone.
  if (missing.empty() || here.size() + missing.size() > peers.usual_slots().size()) return;
  Draft draft{.title = list_of(missing) + (missing.size() == 1 ? " is" : " are") +
                       " missing; most peers have " + (missing.size() == 1 ? "it" : "them"),
              .devices = missing,
              .evidence = {{fmt::format("{} RDMA ports here, {} on most of {} nodes of this kind",
                                        node.rails.size(), peers.usual_count(), peers.size()),
                            node.imported ? node.origin : "/sys/class/infiniband"}},
              .cost = {fmt::format("{} of {} ports", missing.size(), peers.usual_count()), "count-share"}};
  draft.rank = static_cast<double>(missing.size()) / static_cast<double>(peers.usual_count());
  const std::string& slot = missing.front();
  const std::size_t open = slot.find('(');
  draft.words["address"] =
      open == slot.npos ? slot : slot.substr(open + 1, slot.find_first_of(" )", open) - open - 1);
  outcome.fire(std::move(draft));
}

// ---- names in other slots

void adapter_renamed(const Peers& peers, const PeerFacts& node, Outcome& outcome) {
  std::vector<std::string> names;
  std::vector<model::Evidence> evidence;
  std::set<std::string> usual_names;
  std::set<std::string> here;
  bool half = false;
  for (const Rail& rail : node.rails) {
    const Usual* usual = peers.usual(slot_of(rail), "device");
    if (usual == nullptr) return;  // other slots: nothing to compare names by
    usual_names.insert(usual->value);
    here.insert(rail.device);
    if (usual->value == rail.device) continue;
    half = half || usual->nodes * 2 == usual->of;
    names.push_back(rail.device);
    evidence.push_back(evidence_of(
        node, rail,
        fmt::format("{} is at {}, where {} have {}", rail.device, slot_of(rail), share(*usual), usual->value),
        "device"));
  }
  if (names.empty() || usual_names != here) return;  // names of another scheme are a difference, no trap
  std::ranges::sort(names);
  Draft draft{.title = list_of(names) + " are in each other's slots, compared with " +
                       (half ? "half of the nodes" : "most peers"),
              .devices = names,
              .evidence = std::move(evidence)};
  outcome.fire(std::move(draft));
}

// ---- state and rate

// Whether the node's own rules show it already.
bool told_at_home(const PeerFacts& node, const Rail& rail) {
  constexpr std::array kRules{"rdma.port.no-subnet-manager", "rdma.port.down", "rdma.port.slow",
                              "rdma.port.unsettled", "rdma.bond.degraded"};
  return std::ranges::any_of(kRules,
                             [&](const char* rule) { return node.told_by(rule, rail.device) != nullptr; });
}

// "DOWN" and "ACTIVE", or "100 Gb/s" and "200 Gb/s"; nothing where the rail is no worse than on its peers.
std::optional<std::pair<std::string, std::string>> behind(const Peers& peers, const Rail& rail) {
  const Usual* state = peers.usual(slot_of(rail), "state");
  if (state == nullptr || state->value != "ACTIVE" || rail.state.empty()) return std::nullopt;
  if (rail.state != "ACTIVE") return std::pair(rail.state, state->value);
  const Usual* rate = peers.usual(slot_of(rail), "rate");
  const double usual = rate != nullptr ? parse_double(rate->value).value_or(0) : 0;
  if (rail.rate <= 0 || rail.rate >= usual) return std::nullopt;
  return std::pair(rate_text(rail.rate), rate_text(usual));
}

void port_behind(const Peers& peers, const PeerFacts& node, Outcome& outcome) {
  std::map<std::pair<std::string, std::string>, std::pair<Draft, Alike>>
      drafts;  // eight at half rate are one
  for (const Rail& rail : node.rails) {
    const auto words = behind(peers, rail);
    if (!words || told_at_home(node, rail)) continue;
    const bool active = rail.state == "ACTIVE";
    const Usual* usual = peers.usual(slot_of(rail), active ? "rate" : "state");
    auto& [draft, alike] = drafts[*words];
    draft.devices.push_back(rail.device);
    alike.add(rail.device,
              evidence_of(node, rail, fmt::format("{}; {} on {}", words->first, words->second, share(*usual)),
                          active ? "ports/1/rate" : "ports/1/state"));
    draft.rank = active ? 1 - rail.rate / parse_double(usual->value).value_or(rail.rate) : 1;
  }
  for (auto& [words, found] : drafts) {
    auto& [draft, alike] = found;
    const bool one = draft.devices.size() == 1;
    const bool rate = words.second != "ACTIVE";
    draft.evidence = alike.evidence();
    draft.title =
        fmt::format("{} {} {}; on most peers {}", list_of(draft.devices),
                    rate ? (one ? "runs at" : "run at") : (one ? "is" : "are"), words.first, words.second);
    outcome.fire(std::move(draft));
  }
}

// ---- subnets of rails

// The node's own rules tell of the address that is missing, by the GID that it would bring.
bool has_no_gid(const PeerFacts& node, const Rail& rail) {
  return node.told_by("rdma.roce.no-v2-gid", rail.device) != nullptr ||
         node.told_by("rdma.roce.gid-choice", rail.device) != nullptr;
}

void rail_subnet(const Peers& peers, const PeerFacts& node, Outcome& outcome) {
  if (!peers.addresses_comparable()) return;
  std::map<std::string, std::string> owner;  // subnet → the device that usually has it
  for (const std::string& slot : peers.usual_slots()) {
    const Usual* subnet = peers.usual(slot, "subnet");
    const Usual* device = peers.usual(slot, "device");
    if (subnet != nullptr && device != nullptr && !subnet->value.empty())
      owner.emplace(subnet->value, device->value);
  }
  std::vector<model::Evidence> crossed;
  std::vector<model::Evidence> bare;
  std::vector<std::string> crossed_names;
  std::vector<std::string> bare_names;
  for (const Rail& rail : node.rails) {
    const Usual* usual = peers.usual(slot_of(rail), "subnet");
    if (usual == nullptr || usual->value.empty() || !rail.subnet || *rail.subnet == usual->value) continue;
    if (rail.subnet->empty()) {
      if (has_no_gid(node, rail)) continue;
      bare_names.push_back(rail.device);
      bare.push_back({fmt::format("{} has no IPv4 address; {} have one of {} there", rail.netdev,
                                  share(*usual), usual->value),
                      node.imported ? node.origin : "interface addresses"});
    } else if (const auto other = owner.find(*rail.subnet); other != owner.end()) {
      crossed_names.push_back(rail.device);
      crossed.push_back({fmt::format("{} is in {}, which is {}'s on {}; its own there is {}", rail.netdev,
                                     *rail.subnet, other->second, share(*usual), usual->value),
                         node.imported ? node.origin : "interface addresses"});
    }
  }
  if (!crossed.empty())
    outcome.fire({.title = list_of(crossed_names) + (crossed.size() == 1 ? " is" : " are") +
                           " in the subnet of another rail, compared with most peers",
                  .devices = crossed_names,
                  .evidence = std::move(crossed)});
  if (!bare.empty())
    outcome.fire({.title = list_of(bare_names) + (bare.size() == 1 ? " has" : " have") +
                           " no IPv4 address; on most peers " + (bare.size() == 1 ? "it has" : "they have"),
                  .devices = bare_names,
                  .evidence = std::move(bare)});
}

// ---- meaning of a GID index that a job names

bool serves(const std::string& meaning) {
  return meaning == "RoCE v2, IPv4" || meaning == "RoCE v2, IPv6";
}

// The node's own rule tells of an entry that cannot serve; of an index that only few nodes have, those
// without a job that names it have no harm.
bool is_told_or_harmless(const PeerFacts& node, const Rail& rail, const std::string& here,
                         const std::string& usual) {
  if (node.told_by("rdma.roce.no-v2-gid", rail.device) != nullptr) return true;
  return node.gid_index ? !serves(here) : usual == kEmptySlot;
}

void gid_meaning(const Peers& peers, const PeerFacts& node, Outcome& outcome) {
  const PeerFacts* named = peers.with_gid_index();
  if (named == nullptr) return;
  const std::uint32_t index = node.gid_index.value_or(*named->gid_index);
  std::vector<std::string> devices;
  Alike alike;
  for (const Rail& rail : node.rails) {
    if (rail.layer != model::LinkLayer::kEthernet || rail.state != "ACTIVE" || !rail.gids_known) continue;
    const Usual* usual = peers.usual(slot_of(rail), "gid " + std::to_string(index));
    const auto here = rail.gids.find(index);
    const std::string meaning = here != rail.gids.end() ? here->second : kEmptySlot;
    if (usual == nullptr || usual->value == meaning) continue;
    if (is_told_or_harmless(node, rail, meaning, usual->value)) continue;
    devices.push_back(rail.device);
    alike.add(rail.device,
              evidence_of(node, rail,
                          fmt::format("GID {} is {}; {} on {}", index, meaning, usual->value, share(*usual)),
                          "ports/1/gid_attrs/types"));
  }
  if (devices.empty()) return;
  std::vector<model::Evidence> evidence = alike.evidence();
  evidence.push_back(
      {fmt::format("NCCL_IB_GID_INDEX={} on {}", index, node.gid_index ? node.node : named->node),
       "environment"});
  outcome.fire(
      {.title = fmt::format("GID {} of {} means something else than on most peers", index, list_of(devices)),
       .devices = devices,
       .evidence = std::move(evidence),
       .cost = {"no connection between this node and the others by that index", ""},
       .words = {{"index", std::to_string(index)}}});
}

// ---- traffic classes, firmware

// Silent where most peers are the ones whose class is not protected: their own rule tells.
void classes_differ(const Peers& peers, const PeerFacts& node, Outcome& outcome) {
  std::vector<std::string> devices;
  Alike alike;
  Draft draft;
  std::set<std::string> consequences;
  for (const Rail& rail : node.rails) {
    const Usual* usual = peers.usual(slot_of(rail), "classes");
    if (usual == nullptr || rail.classes.empty() || rail.classes == usual->value) continue;
    const Usual* unprotected = peers.usual(slot_of(rail), "unprotected");
    if (unprotected != nullptr && unprotected->value == "yes") continue;
    devices.push_back(rail.device);
    alike.add(rail.netdev, {fmt::format("{}; {}: {}", rail.classes, share(*usual), usual->value),
                            node.imported ? node.origin : "/sys/class/net/" + rail.netdev + "/qos"});
    draft.words.emplace("netdev", rail.netdev);
    if (const Usual* options = peers.usual(slot_of(rail), "qos options"))
      draft.words.emplace("options", options->value);
    if (const auto* title = node.told_by("rdma.roce.traffic-class", rail.device)) consequences.insert(*title);
  }
  if (devices.empty()) return;
  if (!draft.words.contains("options")) draft.words["no_options"] = "";
  draft.title = list_of(devices) + (devices.size() == 1 ? " sorts" : " sort") +
                " packets into classes differently from most peers";
  draft.evidence = alike.evidence();
  for (const std::string& title : consequences)
    draft.evidence.push_back({"so " + title, "rule rdma.roce.traffic-class"});
  draft.devices = std::move(devices);
  outcome.fire(std::move(draft));
}

void firmware_differs(const Peers& peers, const PeerFacts& node, Outcome& outcome) {
  std::map<std::pair<std::string, std::string>, std::vector<std::string>> odd;  // board, firmware
  for (const Rail& rail : node.rails) {
    const Usual* usual = peers.usual_firmware(rail.board);
    const bool told = node.told_by("rdma.firmware.mixed", rail.device) != nullptr;
    if (usual != nullptr && !told && !rail.firmware.empty() && rail.firmware != usual->value)
      odd[{rail.board, rail.firmware}].push_back(rail.device);
  }
  for (const auto& [what, devices] : odd) {
    const Usual* usual = peers.usual_firmware(what.first);
    outcome.fire({.title = fmt::format("Adapters of board {} run firmware {}; most on the peers run {}",
                                       what.first, what.second, usual->value),
                  .devices = devices,
                  .evidence = {{list_of(devices) + ": " + what.second,
                                node.imported ? node.origin : "/sys/class/infiniband/*/fw_ver"},
                               {fmt::format("{} of {} adapters of this board: {}", usual->nodes, usual->of,
                                            usual->value),
                                "all nodes of this kind"}}});
  }
}

constexpr std::array kPeerRules = {
    PeerRule{"cluster.adapter.missing", adapter_missing},
    PeerRule{"cluster.adapter.renamed", adapter_renamed},
    PeerRule{"cluster.port.behind", port_behind},
    PeerRule{"cluster.rail.subnet", rail_subnet},
    PeerRule{"cluster.gid.meaning", gid_meaning},
    PeerRule{"cluster.roce.classes", classes_differ},
    PeerRule{"cluster.firmware.mixed", firmware_differs},
};

}  // namespace

std::span<const PeerRule> peer_rules() {
  return kPeerRules;
}

}  // namespace angio::diagnose::cluster

namespace angio::diagnose {
namespace {

// A single machine has no peers; judge_peers asks these rules.
void needs_peers(const model::Machine&, Outcome& outcome) {
  outcome.not_applicable();
}

constexpr std::array kRules = {
    Rule{"cluster.adapter.missing", needs_peers}, Rule{"cluster.adapter.renamed", needs_peers},
    Rule{"cluster.port.behind", needs_peers},     Rule{"cluster.rail.subnet", needs_peers},
    Rule{"cluster.gid.meaning", needs_peers},     Rule{"cluster.roce.classes", needs_peers},
    Rule{"cluster.firmware.mixed", needs_peers},
};

}  // namespace

std::span<const Rule> cluster_rules() {
  return kRules;
}

}  // namespace angio::diagnose
