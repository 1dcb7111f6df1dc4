// NCCL_SOCKET_IFNAME: interfaces that are not there, that reach no other node, that match more than meant.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"
#include "knowledge/knowledge.hpp"
#include "lint/rules/device_list.hpp"
#include "lint/rules/settings.hpp"

namespace angio::lint {
namespace {

// Interfaces of the host itself: "lo docker virbr …".
bool is_local(std::string_view name) {
  const knowledge::NcclFact* fact = knowledge::find_nccl_fact("lint.interfaces.local");
  if (fact == nullptr || name.empty()) return false;
  const auto families = split_words(fact->text.substr(0, fact->text.find(':')));
  return std::ranges::any_of(families, [&](std::string_view family) {
    return family == "lo" ? name == family : name.starts_with(family);
  });
}

void check_local(const Scope& scope, const Setting& setting, const DeviceList& list, const Context& context,
                 Complaints& out) {
  for (const DeviceEntry& entry : list.entries) {
    if (list.excluded || !is_local(entry.name)) continue;
    auto complaint =
        complain("nccl.socket.ifname-local", scope.script(), setting.value_place,
                 fmt::format("{}: {} does not leave the host, other nodes cannot be reached over it",
                             shown(setting), shown(entry.name)),
                 "leave it unset, or name the interface that the nodes share");
    if (!context.several_nodes) complaint.severity = model::Severity::kWarning;
    if (context.several_nodes && !*context.several_nodes) complaint.severity = model::Severity::kInfo;
    out.push_back(std::move(complaint));
  }
}

bool has_address(const model::NetDevice& device) {
  return std::ranges::any_of(device.addresses,
                             [](const std::string& address) { return !address.starts_with("fe80"); });
}

void check_present(const Scope& scope, const Setting& setting, const DeviceList& list,
                   const model::Machine& machine, Complaints& out) {
  if (list.excluded) return;
  for (const DeviceEntry& entry : list.entries) {
    std::vector<const model::NetDevice*> found;
    for (const model::NetDevice& device : machine.networks) {
      if (list.names(entry, device.name)) found.push_back(&device);
    }
    if (found.empty()) {
      std::vector<std::string> names;
      for (const model::NetDevice& device : machine.networks)
        names.push_back(device.name);
      if (names.size() > 8) names.resize(8);
      out.push_back(
          complain("nccl.socket.ifname-missing", scope.script(), setting.value_place,
                   fmt::format("{}: {} has no interface {}", setting.name, machine.name, shown(entry.name)),
                   fmt::format("it has {}", join(names, ", "))));
      continue;
    }
    const bool down =
        std::ranges::all_of(found, [](const model::NetDevice* device) { return device->state.is("down"); });
    const bool no_address = std::ranges::all_of(found, [](const model::NetDevice* device) {
      return !device->addresses.empty() && !has_address(*device);
    });
    if (down || no_address) {
      out.push_back(complain("nccl.socket.ifname-down", scope.script(), setting.value_place,
                             fmt::format("{}: {} of {} {}", setting.name, shown(entry.name), machine.name,
                                         down ? "is down" : "has no address of its own"),
                             "NCCL finds no interface then and does not start"));
    }
  }
}

// eth1 is there itself and begins the name of another one.
void check_prefixes(const Scope& scope, const Setting& setting, const DeviceList& list,
                    const Context& context, Complaints& out) {
  if (list.exact || list.excluded) return;
  for (const DeviceEntry& entry : list.entries) {
    for (const model::Machine& machine : context.machines) {
      const bool itself = std::ranges::any_of(
          machine.networks, [&](const model::NetDevice& device) { return device.name == entry.name; });
      const auto other = std::ranges::find_if(machine.networks, [&](const model::NetDevice& device) {
        return device.name != entry.name && device.name.starts_with(entry.name) && may_be_prefix(entry.name);
      });
      if (!itself || other == machine.networks.end()) continue;
      auto complaint = complain("nccl.socket.ifname-prefix", scope.script(), setting.value_place,
                                fmt::format("{}: {} also matches {} of {} (prefix)", shown(setting),
                                            shown(entry.name), other->name, machine.name),
                                fmt::format("write ={}", shown(setting.value)));
      if (list.entries.size() == 1)
        fix_with(complaint, new_value(scope.script(), setting, "=" + setting.value));
      out.push_back(std::move(complaint));
      return;
    }
  }
}

// Interfaces of InfiniBand: the variable does not choose the RDMA adapter.
void check_scope(const Scope& scope, const Setting& setting, const DeviceList& list, Complaints& out) {
  const bool ipoib = std::ranges::any_of(
      list.entries, [](const DeviceEntry& entry) { return entry.name.starts_with("ib"); });
  if (!ipoib || list.excluded) return;
  out.push_back(
      complain("nccl.socket.ifname-scope", scope.script(), setting.value_place,
               fmt::format("{}: chooses the interface of the start-up and of TCP only, not the RDMA adapter",
                           shown(setting)),
               "NCCL prefers ib* by itself; adapters are chosen by NCCL_IB_HCA"));
}

}  // namespace

void check_interfaces(const Scope& scope, const Context& context, Complaints& out) {
  const Setting* setting = scope.find("NCCL_SOCKET_IFNAME");
  if (setting == nullptr || setting->dynamic || setting->value.empty()) return;
  const DeviceList list = parse_devices(setting->value);
  check_local(scope, *setting, list, context, out);
  for (const model::Machine& machine : context.machines) {
    if (!machine.networks.empty()) check_present(scope, *setting, list, machine, out);
  }
  check_prefixes(scope, *setting, list, context, out);
  check_scope(scope, *setting, list, out);
}

}  // namespace angio::lint
