#include "diagnose/peers.hpp"

#include <algorithm>
#include <array>
#include <map>

#include "base/text.hpp"
#include "diagnose/rules/cluster.hpp"
#include "diagnose/rules/rdma.hpp"
#include "diagnose/rules/support.hpp"
#include "diagnose/subnet.hpp"
#include "diagnose/wording.hpp"
#include "knowledge/knowledge.hpp"
#include "model/gid_choice.hpp"

namespace angio::diagnose {

using model::Machine;

namespace {

std::string kind_of(const Machine& machine) {
  std::map<std::string, std::size_t> gpus;
  for (const model::Gpu& gpu : machine.gpus)
    ++gpus[gpu.name.value_or("")];
  std::string kind = machine.software.product.value_or("") + "/" +
                     machine.software.container.value_or("host") + "/" +
                     machine.software.virtual_machine.value_or("metal");
  for (const auto& [name, count] : gpus)
    kind += "/" + std::to_string(count) + " " + name;
  return kind;
}

// What decides the class of RoCE packets, as far as files tell it.
std::string classes_in_words(const model::NetDevice& netdev) {
  std::vector<std::string> parts;
  for (const auto& [name, value] : netdev.qos) {
    if (name.starts_with("qos/trust") || name.starts_with("qos/pfc"))
      parts.push_back(name.substr(4) + " " + value);
  }
  return join(parts, ", ");
}

void add_interface(const Machine& machine, const model::RdmaDevice& device, Rail& rail) {
  const model::NetDevice* netdev = rdma::netdev_of(machine, device);
  if (netdev == nullptr) return;
  rail.netdev = netdev->name;
  rail.classes = classes_in_words(*netdev);
  rail.qos_options = rdma::qos_options(*netdev);
  const std::vector<Subnet> subnets = subnets_of(*netdev);
  const bool spoken = std::ranges::any_of(machine.networks, [](const model::NetDevice& one) {
    return !one.addresses.empty();  // else the source tells no addresses at all
  });
  if (!subnets.empty())
    rail.subnet = subnets.front().text();
  else if (spoken && netdev->addresses.empty() && !netdev->bond_master.is_known())
    rail.subnet = "";
}

Rail rail_of(const Machine& machine, const rdma::PortRef& ref) {
  Rail rail;
  rail.device = ref.device->name;
  if (const PciAddress* address = ref.device->address.get()) rail.address = to_string(*address);
  rail.port = ref.port->number;
  rail.board = ref.device->board_id.value_or(ref.device->hca_type.value_or(""));
  rail.firmware = ref.device->firmware.value_or("");
  rail.layer = ref.port->link_layer;
  rail.state = ref.port->state.value_or("");
  rail.rate = ref.port->rate.value_or({}).value;
  for (const model::Gid& gid : ref.port->gids)
    rail.gids.emplace(gid.index, model::meaning_of(gid));
  rail.gids_known = !ref.port->gids.empty();
  add_interface(machine, *ref.device, rail);
  return rail;
}

std::optional<std::uint32_t> gid_index_of(const Machine& machine) {
  for (const model::Process* job : rdma::jobs_of(machine, {"NCCL_IB_GID_INDEX"})) {
    const model::Setting* setting = rdma::setting_of(machine, job, "NCCL_IB_GID_INDEX");
    const auto index = setting != nullptr ? parse_integer<std::uint32_t>(trim(setting->value)) : std::nullopt;
    if (index) return index;
  }
  return std::nullopt;
}

// The node's own rules about the same subjects, asked once more: what is kept of a node has no machine.
void note_told(const Machine& machine, PeerFacts& facts) {
  constexpr std::array kRules{Rule{"rdma.port.no-subnet-manager", rdma::no_subnet_manager},
                              Rule{"rdma.port.down", rdma::port_down},
                              Rule{"rdma.port.slow", rdma::port_slow},
                              Rule{"rdma.port.unsettled", rdma::port_unsettled},
                              Rule{"rdma.bond.degraded", rdma::bond_degraded},
                              Rule{"rdma.roce.no-v2-gid", rdma::roce_no_gid},
                              Rule{"rdma.roce.gid-choice", rdma::roce_gid_choice},
                              Rule{"rdma.roce.traffic-class", rdma::roce_traffic_class},
                              Rule{"rdma.firmware.mixed", rdma::firmware_mixed}};
  for (const Rule& rule : kRules) {
    Outcome outcome;
    rule.check(machine, outcome);
    for (const Draft& draft : outcome.drafts) {
      for (const std::string& device : draft.devices)
        facts.told[rule.id].emplace(device, draft.title);
    }
  }
}

}  // namespace

const std::string* PeerFacts::told_by(const std::string& rule, const std::string& device) const {
  const auto devices = told.find(rule);
  if (devices == told.end()) return nullptr;
  const auto found = devices->second.find(device);
  return found != devices->second.end() ? &found->second : nullptr;
}

PeerFacts peer_facts_of(const Machine& machine) {
  PeerFacts facts;
  facts.node = machine.name;
  facts.kind = kind_of(machine);
  facts.origin = machine.origin;
  facts.imported = machine.imported;
  facts.scrubbed = machine.scrubbed;
  facts.adapters_known = !machine.imported && !machine.pci.devices.empty();
  for (const rdma::PortRef& ref : rdma::hardware_ports(machine)) {
    if (!ref.device->virtual_function) facts.rails.push_back(rail_of(machine, ref));
  }
  facts.gid_index = gid_index_of(machine);
  note_told(machine, facts);
  return facts;
}

std::vector<model::Finding> judge_peers(const std::vector<PeerFacts>& nodes) {
  std::map<std::string, std::vector<const PeerFacts*>> kinds;
  for (const PeerFacts& node : nodes)
    kinds[node.kind].push_back(&node);
  std::vector<model::Finding> findings;
  for (const auto& [kind, alike] : kinds) {
    if (alike.size() < cluster::kFewest) continue;
    const cluster::Peers peers(alike);
    for (const cluster::PeerRule& rule : cluster::peer_rules()) {
      const knowledge::RuleText* text = knowledge::find_rule(rule.id);
      if (text == nullptr) continue;
      for (const PeerFacts* node : alike) {
        Outcome outcome;
        rule.check(peers, *node, outcome);
        for (Draft& draft : outcome.drafts)
          findings.push_back(make_finding(*text, node->node, std::move(draft)));
      }
    }
  }
  return findings;
}

void drop_explained(std::vector<model::Finding>& findings) {
  std::map<std::string, std::vector<std::string>> explained;  // node → devices
  for (const model::Finding& finding : findings) {
    if (finding.rule != "cluster.roce.classes") continue;
    std::vector<std::string>& devices = explained[finding.node];
    devices.insert(devices.end(), finding.devices.begin(), finding.devices.end());
  }
  std::erase_if(findings, [&](const model::Finding& finding) {
    const auto devices = explained.find(finding.node);
    if (finding.rule != "rdma.roce.traffic-class" || devices == explained.end()) return false;
    return std::ranges::all_of(finding.devices, [&](const std::string& device) {
      return std::ranges::find(devices->second, device) != devices->second.end();
    });
  });
}

}  // namespace angio::diagnose
