// RDMA devices: what the rules share about ports, interfaces and jobs, and the list of all RDMA rules.
#include "diagnose/rules/rdma.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "base/text.hpp"
#include "diagnose/rules/support.hpp"
#include "knowledge/knowledge.hpp"

namespace angio::diagnose::rdma {

using model::LinkLayer;
using model::Machine;
using model::RdmaDevice;
using model::RdmaPort;

std::vector<PortRef> hardware_ports(const Machine& machine) {
  std::vector<PortRef> ports;
  for (const RdmaDevice& device : machine.rdma) {
    const bool soft = !device.pci && !device.address.is_known() && !device.board_id.is_known();
    if (soft) continue;
    for (const RdmaPort& port : device.ports)
      ports.push_back({&device, &port});
  }
  return ports;
}

bool is_active(const RdmaPort& port) {
  return port.state.is("ACTIVE");
}

bool is_fast(const RdmaPort& port) {
  return port.link_layer == LinkLayer::kInfiniBand ||
         port.rate.value_or({}).value >= knowledge::threshold("rdma.fast-port");
}

std::string port_label(const PortRef& ref) {
  return ref.device->ports.size() > 1 ? ref.device->name + " port " + std::to_string(ref.port->number)
                                      : ref.device->name;
}

std::string kind_of(const PortRef& ref) {
  return fmt::format("{}/{}/{}", ref.device->board_id.value_or(ref.device->hca_type.value_or("")),
                     ref.port->number, static_cast<int>(ref.port->link_layer));
}

bool is_routable_v2(const model::Gid& gid) {
  const bool empty = gid.gid.find_first_not_of("0:") == std::string::npos;
  return gid.type.is("RoCE v2") && !empty && !to_lower(gid.gid).starts_with("fe80");
}

namespace {

bool all_show(const std::vector<const Trouble*>& alike, const std::string& text) {
  return std::ranges::all_of(alike, [&](const Trouble* trouble) {
    return std::ranges::find(trouble->draft.evidence, text, &model::Evidence::text) !=
           trouble->draft.evidence.end();
  });
}

// What all of them show is said once; the rest under each port's name, of the first ports.
std::vector<model::Evidence> evidence_of(const std::vector<const Trouble*>& alike) {
  constexpr std::size_t kPorts = 3;  // the rest have the same words
  std::vector<model::Evidence> evidence;
  for (std::size_t i = 0; i < std::min(alike.size(), kPorts); ++i) {
    for (model::Evidence one : alike[i]->draft.evidence) {
      const bool common = alike.size() > 1 && all_show(alike, one.text);
      if (common && i > 0) continue;
      if (alike.size() > 1)
        one.text = (common ? std::string("each") : port_label(alike[i]->ref)) + ": " + one.text;
      evidence.push_back(std::move(one));
    }
  }
  return evidence;
}

}  // namespace

void fire_grouped(const std::vector<Trouble>& troubles, Outcome& outcome) {
  std::map<std::string, std::vector<const Trouble*>> groups;
  for (const Trouble& trouble : troubles)
    groups[trouble.singular].push_back(&trouble);
  for (const auto& [words, alike] : groups) {
    Draft draft = alike.front()->draft;
    draft.words.emplace("device", alike.front()->ref.device->name);
    draft.evidence = evidence_of(alike);
    std::vector<std::string> labels;
    for (const Trouble* trouble : alike) {
      labels.push_back(port_label(trouble->ref));
      draft.devices.push_back(trouble->ref.device->name);
    }
    draft.title = list_of(labels) + " " + (labels.size() == 1 ? words : alike.front()->plural);
    outcome.fire(std::move(draft));
  }
}

const model::NetDevice* find_interface(const Machine& machine, std::string_view name) {
  const auto found = std::ranges::find(machine.networks, name, &model::NetDevice::name);
  return found != machine.networks.end() ? &*found : nullptr;
}

const model::NetDevice* netdev_of(const Machine& machine, const RdmaDevice& device) {
  for (const std::string& name : device.netdevs) {
    if (const model::NetDevice* found = find_interface(machine, name)) return found;
  }
  return nullptr;
}

const model::RdmaDeviceFacts* facts_of(const Machine& machine, const RdmaDevice& device) {
  const auto index = static_cast<std::size_t>(&device - machine.rdma.data());
  if (machine.rdma_host == nullptr || index >= machine.rdma_host->devices.size()) return nullptr;
  return &machine.rdma_host->devices[index];
}

const model::NetDeviceFacts* facts_of(const Machine& machine, const model::NetDevice& device) {
  const auto index = static_cast<std::size_t>(&device - machine.networks.data());
  if (machine.rdma_host == nullptr || index >= machine.rdma_host->interfaces.size()) return nullptr;
  return &machine.rdma_host->interfaces[index];
}

std::vector<PortRef> ports_in_reach(const Machine& machine, const model::Process* process) {
  std::vector<PortRef> ports;
  for (const PortRef& ref : hardware_ports(machine)) {
    if (is_active(*ref.port) && uses_port(machine, process, ref)) ports.push_back(ref);
  }
  return ports;
}

const model::Setting* setting_of(const Machine& machine, const model::Process* process,
                                 std::string_view name) {
  const model::Setting* own = process != nullptr ? find_setting(process->settings, name) : nullptr;
  return own != nullptr ? own : find_setting(machine.software.settings, name);
}

std::vector<const model::Process*> jobs_of(const Machine& machine,
                                           const std::vector<std::string_view>& settings) {
  std::vector<const model::Process*> jobs;
  std::set<std::string> seen;
  for (const model::Process& process : machine.processes) {
    if (process.gpus.empty()) continue;
    std::string key;
    for (const std::string_view name : settings) {
      const model::Setting* setting = setting_of(machine, &process, name);
      key += (setting != nullptr ? "=" + setting->value : std::string("-")) + "\n";
    }
    if (seen.insert(key).second) jobs.push_back(&process);
  }
  if (jobs.empty()) jobs.push_back(nullptr);
  return jobs;
}

}  // namespace angio::diagnose::rdma

namespace angio::diagnose {
namespace {

constexpr std::array kRules = {
    Rule{"rdma.gdr.peermem-missing", rdma::gdr_missing},
    Rule{"rdma.gdr.level-too-near", rdma::gdr_level},
    Rule{"rdma.port.no-subnet-manager", rdma::no_subnet_manager},
    Rule{"rdma.port.down", rdma::port_down},
    Rule{"rdma.port.slow", rdma::port_slow},
    Rule{"rdma.port.unsettled", rdma::port_unsettled},
    Rule{"rdma.bond.degraded", rdma::bond_degraded},
    Rule{"rdma.port.mixed", rdma::port_mixed},
    Rule{"rdma.port.mtu-low", rdma::mtu_low},
    Rule{"rdma.roce.mtu-low", rdma::roce_mtu_low},
    Rule{"rdma.roce.mtu-above-netdev", rdma::roce_mtu_above_netdev},
    Rule{"rdma.roce.no-v2-gid", rdma::roce_no_gid},
    Rule{"rdma.roce.gid-choice", rdma::roce_gid_choice},
    Rule{"rdma.roce.traffic-class", rdma::roce_traffic_class},
    Rule{"rdma.roce.same-subnet", rdma::roce_same_subnet},
    Rule{"rdma.interrupts.misplaced", rdma::interrupt_affinity},
    Rule{"rdma.pcie.relaxed-ordering", rdma::relaxed_ordering},
    Rule{"rdma.firmware.mixed", rdma::firmware_mixed},
    Rule{"rdma.port.errors", rdma::port_errors},
    Rule{"rdma.port.loss", rdma::port_loss},
    Rule{"rdma.port.idle", rdma::port_idle},
};

}  // namespace

std::span<const Rule> rdma_rules() {
  return kRules;
}

}  // namespace angio::diagnose
