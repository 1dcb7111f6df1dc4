// What NCCL would take together: active ports within reach of each job's NCCL_IB_HCA, or of none. InfiniBand
// beside RoCE, fast beside slow, storage beside compute.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/format.hpp"
#include "base/text.hpp"
#include "diagnose/rules/process.hpp"
#include "diagnose/rules/rdma.hpp"
#include "diagnose/rules/support.hpp"
#include "diagnose/subnet.hpp"

namespace angio::diagnose::rdma {

using model::LinkLayer;
using model::Machine;

namespace {

// The interfaces a device's traffic leaves by, with the bonds above them.
std::set<std::string> interfaces_of(const Machine& machine, const model::RdmaDevice& device) {
  std::set<std::string> names(device.netdevs.begin(), device.netdevs.end());
  for (const std::string& name : device.netdevs) {
    const model::NetDevice* found = find_interface(machine, name);
    if (found != nullptr && found->bond_master.is_known()) names.insert(*found->bond_master.get());
  }
  return names;
}

// A file system that is mounted from or to an address of the device's own interfaces. Null: none is known.
const model::NetworkMount* mount_over(const Machine& machine, const model::RdmaDevice& device) {
  const auto* mounts = machine.rdma_host != nullptr ? machine.rdma_host->mounts.get() : nullptr;
  if (mounts == nullptr) return nullptr;
  const std::set<std::string> names = interfaces_of(machine, device);
  for (const model::NetDevice& interface : machine.networks) {
    if (!names.contains(interface.name)) continue;
    for (const Subnet& subnet : subnets_of(interface)) {
      const auto over = std::ranges::find_if(*mounts, [&](const model::NetworkMount& mount) {
        if (!mount.client_address.empty()) return parse_ipv4(mount.client_address) == subnet.address;
        const auto server = parse_ipv4(mount.server);
        return server && subnet.holds(*server);
      });
      if (over != mounts->end()) return &*over;
    }
  }
  return nullptr;
}

struct Kinds {
  std::map<std::string, std::vector<PortRef>> ports;  // "400 Gb/s InfiniBand"
  std::set<LinkLayer> layers;
  std::map<std::string, const model::NetworkMount*> storage;  // device → what it carries
};

// The rate by which a port is sorted: that of its fastest like port, since one that was trained down is
// rdma.port.slow's finding and no port of another kind.
std::map<std::string, BitsPerSecond> rates_of(const std::vector<PortRef>& ports) {
  std::map<std::string, BitsPerSecond> rates;
  for (const PortRef& ref : ports) {
    BitsPerSecond& best = rates[kind_of(ref)];
    best = std::max(best, ref.port->rate.value_or({}));
  }
  return rates;
}

Kinds kinds_of(const Machine& machine, const std::vector<PortRef>& ports, Gaps& gaps) {
  Kinds kinds;
  const std::map<std::string, BitsPerSecond> rates = rates_of(ports);
  for (const PortRef& ref : ports) {
    if (ref.port->link_layer == LinkLayer::kUnknown) continue;
    const BitsPerSecond* rate = ref.port->rate.get();
    if (rate == nullptr) {
      gaps.add(port_label(ref), ref.port->rate);
      continue;
    }
    const bool infiniband = ref.port->link_layer == LinkLayer::kInfiniBand;
    const model::NetworkMount* mount = mount_over(machine, *ref.device);
    if (mount != nullptr) kinds.storage.emplace(ref.device->name, mount);
    const bool apart = ref.device->bond && mount != nullptr;  // a bond for files beside single ports
    const bool known = ref.device->board_id.is_known() || ref.device->hca_type.is_known();
    const BitsPerSecond meant = known && mount == nullptr ? rates.at(kind_of(ref)) : *rate;
    kinds.layers.insert(ref.port->link_layer);
    kinds.ports[in_words(meant) + (infiniband ? " InfiniBand" : " RoCE") + (apart ? " bond" : "")].push_back(
        ref);
  }
  return kinds;
}

// The kind that collectives are meant for: the fastest, of equal ones the most.
const std::vector<PortRef>& main_kind(const Kinds& kinds) {
  const auto value = [](const std::vector<PortRef>& ports) {
    double best = 0;
    for (const PortRef& ref : ports)
      best = std::max(best, ref.port->rate.value_or({}).value);
    return std::pair(best, ports.size());
  };
  return std::ranges::max_element(kinds.ports, {}, [&](const auto& entry) { return value(entry.second); })
      ->second;
}

std::vector<std::string> names_of(const std::vector<PortRef>& ports) {
  std::vector<std::string> names;
  for (const PortRef& ref : ports)
    names.push_back(ref.device->ports.size() > 1 ? fmt::format("{}:{}", ref.device->name, ref.port->number)
                                                 : ref.device->name);
  return names;
}

void fire_mixed(const Machine& machine, const model::Process* job, const Kinds& kinds, Outcome& outcome) {
  std::vector<std::string> parts;
  for (const auto& [kind, ports] : kinds.ports)
    parts.push_back(fmt::format("{} x {} ({})", ports.size(), kind, list_of(names_of(ports))));
  const std::vector<PortRef>& keep = main_kind(kinds);
  const model::Setting* setting = hca_setting(machine, job);
  Draft draft{
      .title = "NCCL would use active ports of " + std::to_string(kinds.ports.size()) + " kinds together",
      .evidence = {seen(machine, keep.front().port->rate.source(), join(parts, "; "))},
      .words = {{"fast", join(names_of(keep), ",")}}};
  if (setting == nullptr) {
    draft.evidence.push_back({"NCCL_IB_HCA is not set", "environment"});
  } else {
    draft.evidence.push_back(seen(machine, setting->source, process::text_of(*setting) + " takes them all"));
  }
  for (const auto& [device, mount] : kinds.storage) {
    if (std::ranges::find(keep, device, [](const PortRef& ref) { return ref.device->name; }) != keep.end())
      continue;
    draft.evidence.push_back(seen(machine, mount->source,
                                  device + " carries a file system: " + mount->type +
                                      (mount->transport.empty() ? "" : " over " + mount->transport)));
  }
  const bool storage = draft.evidence.size() > 2;
  if (kinds.layers.size() < 2 && !storage) draft.severity = model::Severity::kInfo;
  outcome.fire(std::move(draft));
}

}  // namespace

void port_mixed(const Machine& machine, Outcome& outcome) {
  if (machine.gpus.empty()) return outcome.not_applicable();
  Gaps gaps("port rate");
  std::size_t active = 0;
  std::set<std::string> told;  // by the ports: two jobs with the same reach are one finding
  for (const model::Process* job : jobs_of(machine, {"NCCL_IB_HCA"})) {
    std::vector<PortRef> ports = ports_in_reach(machine, job);
    active += ports.size();
    std::erase_if(ports, [&](const PortRef& ref) { return taken_by_prefix(machine, job, ref); });
    const Kinds kinds = kinds_of(machine, ports, gaps);
    if (kinds.ports.size() > 1 && told.insert(join(names_of(ports), ",")).second)
      fire_mixed(machine, job, kinds, outcome);
  }
  if (active == 0) return outcome.not_applicable();
  gaps.report(outcome);
}

}  // namespace angio::diagnose::rdma
