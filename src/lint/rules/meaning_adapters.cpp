// NCCL_IB_HCA and GIDs, against the adapters of the machines where there are any.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"
#include "lint/rules/device_list.hpp"
#include "lint/rules/settings.hpp"

namespace angio::lint {
namespace {

struct Port {
  const model::RdmaDevice* device = nullptr;
  const model::RdmaPort* port = nullptr;
};

bool is_active(const model::RdmaPort& port) {
  return port.state.is("ACTIVE");
}

std::vector<Port> ports_of(const model::Machine& machine) {
  std::vector<Port> ports;
  for (const model::RdmaDevice& device : machine.rdma) {
    for (const model::RdmaPort& port : device.ports)
      ports.push_back({&device, &port});
  }
  return ports;
}

bool matches(const DeviceList& list, const DeviceEntry& entry, const Port& port) {
  return list.names(entry, port.device->name) && (!entry.port || *entry.port == port.port->number);
}

// What NCCL would use: ports in state ACTIVE that the list lets through; all without a list.
std::vector<Port> selected(const model::Machine& machine, const DeviceList* list) {
  std::vector<Port> chosen;
  for (const Port& port : ports_of(machine)) {
    if (!is_active(*port.port)) continue;
    const bool named = list != nullptr && std::ranges::any_of(list->entries, [&](const DeviceEntry& entry) {
                         return matches(*list, entry, port);
                       });
    if (list == nullptr || list->entries.empty() || named != list->excluded) chosen.push_back(port);
  }
  return chosen;
}

std::string names_text(const std::vector<std::string>& names) {
  constexpr std::size_t kMost = 6;
  if (names.size() <= kMost) return join(names, ", ");
  return fmt::format("{} and {} more", join(std::span(names).first(kMost), ", "), names.size() - kMost);
}

std::string fabric_of(const model::RdmaPort& port) {
  if (port.link_layer == model::LinkLayer::kInfiniBand) return "InfiniBand";
  return port.link_layer == model::LinkLayer::kEthernet ? "RoCE" : "RDMA";
}

// One value of NCCL_IB_HCA against one machine.
class Adapters {
 public:
  Adapters(const Scope& scope, const Setting& setting, const model::Machine& machine, Complaints& out)
      : scope_(scope), setting_(setting), machine_(machine), out_(out), list_(parse_devices(setting.value)) {}

  void check() {
    const bool found = check_present();
    check_prefixes();
    if (!found || list_.excluded) return;
    check_states();
    check_layers();
    check_count();
  }

 private:
  void say(std::string_view rule, std::string message, std::string advice = {}) {
    out_.push_back(
        complain(rule, scope_.script(), setting_.value_place, std::move(message), std::move(advice)));
  }
  bool check_present();
  void check_prefixes();
  void check_states();
  void check_layers();
  void check_count();

  const Scope& scope_;
  const Setting& setting_;
  const model::Machine& machine_;
  Complaints& out_;
  DeviceList list_;
};

bool Adapters::check_present() {
  const auto ports = ports_of(machine_);
  bool any = false;
  for (const DeviceEntry& entry : list_.entries) {
    const bool device = std::ranges::any_of(
        machine_.rdma, [&](const model::RdmaDevice& one) { return list_.names(entry, one.name); });
    const bool port = std::ranges::any_of(ports, [&](const Port& one) { return matches(list_, entry, one); });
    any = any || port;
    if (device && port) continue;
    std::vector<std::string> names;
    for (const model::RdmaDevice& one : machine_.rdma)
      names.push_back(one.name);
    if (!device) {
      say("nccl.ib.hca-missing",
          fmt::format("{}: {} has no {}", setting_.name, machine_.name, shown(entry.name)),
          fmt::format("it has {}", names_text(names)));
    } else {
      say("nccl.ib.hca-missing", fmt::format("{}: {} of {} has no port {}", setting_.name, shown(entry.name),
                                             machine_.name, entry.port.value_or(0)));
    }
  }
  return any;
}

// mlx5_1 is there itself and also begins the name of others.
void Adapters::check_prefixes() {
  if (list_.exact) return;
  const auto has = [&](std::string_view name) {
    return std::ranges::any_of(machine_.rdma, [&](const auto& device) { return device.name == name; });
  };
  bool all_exact = true;
  std::vector<std::string> others;
  std::string_view of;
  for (const DeviceEntry& entry : list_.entries) {
    if (!has(entry.name)) {
      all_exact = false;
      continue;
    }
    for (const model::RdmaDevice& device : machine_.rdma) {
      const bool listed = std::ranges::any_of(
          list_.entries, [&](const DeviceEntry& other) { return other.name == device.name; });
      if (device.name == entry.name || !device.name.starts_with(entry.name) || listed) continue;
      others.push_back(device.name);
      if (of.empty()) of = entry.name;
    }
  }
  if (others.empty()) return;
  const std::string exact = fmt::format("{}={}", list_.excluded ? "^" : "",
                                        std::string_view(setting_.value).substr(list_.excluded ? 1 : 0));
  auto complaint =
      complain("nccl.ib.hca-prefix", scope_.script(), setting_.value_place,
               fmt::format("{}: {} also matches {} (prefix)", shown(setting_), shown(of), names_text(others)),
               fmt::format("write {}", shown(exact)));
  if (all_exact) fix_with(complaint, new_value(scope_.script(), setting_, exact));
  out_.push_back(std::move(complaint));
}

void Adapters::check_states() {
  std::vector<std::string> idle;
  for (const Port& port : ports_of(machine_)) {
    const bool named = std::ranges::any_of(
        list_.entries, [&](const DeviceEntry& entry) { return matches(list_, entry, port); });
    if (named && port.port->state.is_known() && !is_active(*port.port)) {
      idle.push_back(
          fmt::format("{}:{} ({})", port.device->name, port.port->number, *port.port->state.get()));
    }
  }
  if (!idle.empty())
    say("nccl.ib.hca-down",
        fmt::format("{}: not active on {}: {}", setting_.name, machine_.name, names_text(idle)),
        "NCCL passes over ports that are not ACTIVE");
}

void Adapters::check_layers() {
  const auto chosen = selected(machine_, &list_);
  const auto layer = [&](model::LinkLayer wanted) {
    return std::ranges::any_of(chosen, [&](const Port& port) { return port.port->link_layer == wanted; });
  };
  if (!layer(model::LinkLayer::kInfiniBand) || !layer(model::LinkLayer::kEthernet)) return;
  say("nccl.ib.hca-mixed",
      fmt::format("{}: takes InfiniBand and Ethernet ports of {} together", shown(setting_), machine_.name),
      "name the ports of one fabric; the other may not reach all nodes");
}

void Adapters::check_count() {
  const auto chosen = selected(machine_, &list_);
  if (chosen.empty()) return;
  const model::LinkLayer layer = chosen.front().port->link_layer;
  const auto* fastest = chosen.front().port->rate.get();
  std::vector<std::string> left;
  std::size_t all = 0;
  for (const Port& port : selected(machine_, nullptr)) {
    const auto* rate = port.port->rate.get();
    if (port.port->link_layer != layer || port.device->virtual_function) continue;
    if (rate == nullptr || fastest == nullptr || rate->value < fastest->value)
      continue;  // storage and management
    ++all;
    const bool used = std::ranges::any_of(chosen, [&](const Port& one) { return one.port == port.port; });
    if (!used) left.push_back(port.device->name);
  }
  if (left.empty()) return;
  say("nccl.ib.hca-few",
      fmt::format("{}: uses {} of {} active {} ports of {}; left out: {}", shown(setting_), chosen.size(),
                  all, fabric_of(*chosen.front().port), machine_.name, names_text(left)),
      "each adapter left out is bandwidth left out; leave NCCL_IB_HCA unset or name them all");
}

// Without a machine only what the list itself tells.
void check_list_alone(const Scope& scope, const Setting& setting, Complaints& out) {
  const DeviceList list = parse_devices(setting.value);
  const auto ambiguous =
      std::ranges::find_if(list.entries, [](const DeviceEntry& entry) { return may_be_prefix(entry.name); });
  const bool blanks = setting.value.find(' ') != std::string::npos;  // a complaint of its own
  if (!list.exact && !blanks && ambiguous != list.entries.end()) {
    auto complaint = complain(
        "nccl.ib.hca-prefix", scope.script(), setting.value_place,
        fmt::format("{}: {} also matches {}0, {}1 and so on where they exist (prefix)", shown(setting),
                    shown(ambiguous->name), shown(ambiguous->name), shown(ambiguous->name)),
        "'=' in front of the list makes the names exact");
    complaint.severity = model::Severity::kInfo;
    out.push_back(std::move(complaint));
  }
  if (!list.excluded && list.entries.size() == 1 && may_be_device(list.entries.front().name)) {
    out.push_back(
        complain("nccl.ib.hca-one", scope.script(), setting.value_place,
                 fmt::format("{}: one adapter; on nodes with several the others stay idle", shown(setting)),
                 "leave it unset, or name them all; with --snap of a node this is checked"));
  }
}

void check_hca(const Scope& scope, const Context& context, Complaints& out) {
  const Setting* setting = scope.find("NCCL_IB_HCA");
  if (setting == nullptr || setting->dynamic || setting->value.empty()) return;
  bool any_machine = false;
  for (const model::Machine& machine : context.machines) {
    if (machine.rdma.empty()) continue;
    any_machine = true;
    Adapters(scope, *setting, machine, out).check();
  }
  if (!any_machine) check_list_alone(scope, *setting, out);
}

bool is_link_local(std::string_view gid) {
  return gid.starts_with("fe80");
}

// What is wrong with this entry of a port's GID table; empty: nothing seen.
std::string gid_trouble(const model::RdmaPort& port, std::uint32_t index) {
  const auto entry = std::ranges::find(port.gids, index, &model::Gid::index);
  if (port.gids.empty()) return {};
  if (entry == port.gids.end()) return "is empty";
  const auto* type = entry->type.get();
  if (type != nullptr && *type != "RoCE v2") return fmt::format("is {}, not RoCE v2", printable(*type));
  return is_link_local(entry->gid) ? "is a link-local address" : "";
}

struct GidView {
  bool infiniband = false;
  bool ethernet = false;
  std::vector<std::string> troubles;
  std::size_t fine = 0;
};

GidView look_at_gids(const Scope& scope, const Context& context, std::uint32_t index) {
  const auto value = scope.text("NCCL_IB_HCA");
  const DeviceList list = parse_devices(value.value_or(""));
  GidView view;
  for (const model::Machine& machine : context.machines) {
    for (const Port& port : selected(machine, value ? &list : nullptr)) {
      view.infiniband = view.infiniband || port.port->link_layer == model::LinkLayer::kInfiniBand;
      if (port.port->link_layer != model::LinkLayer::kEthernet) continue;
      view.ethernet = true;
      const std::string trouble = gid_trouble(*port.port, index);
      if (trouble.empty()) {
        ++view.fine;
      } else {
        view.troubles.push_back(
            fmt::format("{} {}: entry {} {}", machine.name, port.device->name, index, trouble));
      }
    }
  }
  return view;
}

void check_gid(const Scope& scope, const Context& context, Complaints& out) {
  const Setting* setting = scope.find("NCCL_IB_GID_INDEX");
  const auto index = scope.number("NCCL_IB_GID_INDEX");
  if (setting == nullptr || !index || *index < 0 || *index > UINT32_MAX) return;
  const GidView view = look_at_gids(scope, context, static_cast<std::uint32_t>(*index));
  const bool dynamic = holds("lint.gid.dynamic", context);
  const auto say = [&](std::string_view rule, std::string message, std::string advice) {
    out.push_back(complain(rule, scope.script(), setting->name_place, std::move(message), std::move(advice)));
  };
  if (view.infiniband && !view.ethernet) {
    say("nccl.gid.on-infiniband",
        fmt::format("{}: no effect on InfiniBand, which has no RoCE GIDs to choose from", shown(*setting)),
        "remove it");
  } else if (!view.troubles.empty()) {
    say("nccl.gid.wrong", fmt::format("{}: {}", shown(*setting), names_text(view.troubles)),
        dynamic ? fmt::format("leave it unset: {} finds the right entry itself", nccl_words(context))
                : "the entry must be a routable RoCE v2 address on every node");
  } else if (dynamic) {
    say("nccl.gid.fixed",
        fmt::format("{}: {} finds the entry itself; a fixed one breaks when addresses come and go",
                    shown(*setting), nccl_words(context)),
        view.fine > 0 ? "it is right on the machines seen here; unset it all the same"
                      : "leave it unset; it is not sure that this entry is RoCE v2 on every node");
  }
}

}  // namespace

void check_adapters(const Scope& scope, const Context& context, Complaints& out) {
  check_hca(scope, context, out);
  check_gid(scope, context, out);
}

}  // namespace angio::lint
