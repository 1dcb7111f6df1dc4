// States of ports, and partners that symmetric siblings have.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "base/format.hpp"
#include "base/text.hpp"
#include "fabric/rules.hpp"
#include "knowledge/knowledge.hpp"

namespace angio::fabric {

using model::FabricNode;
using model::FabricPort;
using model::PortPhysicalState;
using model::PortRef;
using model::PortState;
using model::Severity;

namespace {

constexpr const char* kSnapshots =
    "snapshots of the hosts beside the scan (angio collect), or node descriptions (rdma-ndd)";
constexpr std::uint32_t kFewestSiblings = 3;  // shape: among fewer nobody is in the majority

bool has_states(const Layout& layout) {
  return std::ranges::any_of(layout.fabric->nodes, [](const FabricNode& node) {
    return std::ranges::any_of(node.ports,
                               [](const FabricPort& port) { return port.state != PortState::kUnknown; });
  });
}

template <typename Visit>
void for_each_port(const Layout& layout, Visit visit) {
  for (std::uint32_t n = 0; n < layout.fabric->nodes.size(); ++n)
    for (std::uint32_t p = 0; p < layout.fabric->nodes[n].ports.size(); ++p)
      visit(PortRef{n, p}, layout.fabric->nodes[n].ports[p]);
}

bool waits_for_manager(const FabricPort& port) {
  const bool linked = port.physical_state == PortPhysicalState::kLinkUp ||
                      (port.physical_state == PortPhysicalState::kUnknown && port.peer);
  return linked && (port.state == PortState::kInit || port.state == PortState::kArmed);
}

FabricDraft about_ports(const Layout& layout, std::vector<PortRef> ports, std::string title) {
  FabricDraft found;
  found.subject = subject_of(layout, ports.front().node);
  found.draft.title = std::move(title);
  found.draft.devices = {name_of_port(*layout.fabric, ports.front())};
  found.draft.words["switch"] = name_of_node(layout.node(ports.front().node));
  found.draft.words["port"] = fmt::format("{}", layout.port(ports.front()).number);
  found.draft.evidence.push_back(seen(layout, end_words(layout, ports.front())));
  if (ports.size() > 1)
    found.draft.evidence.push_back(
        seen(layout, fmt::format("{}: {}", count_of(ports.size(), "port"), ports_words(layout, ports))));
  found.ports = std::move(ports);
  return found;
}

void not_configured(const Case& look, FabricOutcome& outcome) {
  std::vector<PortRef> waiting;
  std::size_t active = 0;
  for_each_port(look.layout, [&](PortRef ref, const FabricPort& port) {
    if (port.number == 0 && look.layout.is_switch(ref.node)) return;  // has no cable and is Active by itself
    // Where nobody answers behind a port a manager cannot configure it: fabric.node.no-answer tells that.
    const bool is_silent = !port.peer && !port.trouble.empty();
    if (waits_for_manager(port) && !is_silent) waiting.push_back(ref);
    if (port.state == PortState::kActive) ++active;
  });
  if (!has_states(look.layout)) return outcome.undecided("the states of the ports", kScan);
  if (waiting.empty()) return;
  if (waiting.size() > active) {
    FabricDraft all =
        about_ports(look.layout, waiting,
                    fmt::format("No subnet manager has configured this fabric: {} are linked and wait",
                                count_of(waiting.size(), "port")));
    all.subject = "fabric";
    all.draft.severity = Severity::kCritical;
    all.draft.rank = 1;
    return outcome.fire(std::move(all));
  }
  for (const PortRef ref : waiting) {
    const auto& peer = look.layout.port(ref).peer;
    if (peer && *peer < ref && waits_for_manager(look.layout.port(*peer)))
      continue;  // told with the other end
    outcome.fire(about_ports(
        look.layout, {ref},
        fmt::format("{} is linked, but {}: the subnet manager has not configured it",
                    name_of_port(*look.layout.fabric, ref), model::name_of(look.layout.port(ref).state))));
  }
}

bool is_training(const FabricPort& port) {
  return port.physical_state == PortPhysicalState::kTraining ||
         port.physical_state == PortPhysicalState::kErrorRecovery;
}

void training(const Case& look, FabricOutcome& outcome) {
  bool known = false;
  for_each_port(look.layout, [&](PortRef ref, const FabricPort& port) {
    known = known || port.physical_state != PortPhysicalState::kUnknown;
    if (!is_training(port)) return;
    FabricDraft found =
        about_ports(look.layout, {ref},
                    fmt::format("{} is in {}: it has a partner and gets no stable link",
                                name_of_port(*look.layout.fabric, ref), model::name_of(port.physical_state)));
    if (port.peer && port.peer->node < look.layout.fabric->nodes.size() &&
        port.peer->port < look.layout.node(port.peer->node).ports.size()) {
      found.draft.evidence.push_back(seen(look.layout, end_words(look.layout, *port.peer)));
      found.ports.push_back(*port.peer);
    }
    outcome.fire(std::move(found));
  });
  if (!known) outcome.undecided("the physical states of the ports", kScan);
}

// A port of an adapter is down while the same port of hosts that were numbered alike is up. Switch ports
// without a partner are no finding by themselves: nobody says that they should have one.
void port_down(const Case& look, FabricOutcome& outcome) {
  const Layout& layout = look.layout;
  struct Family {
    std::uint32_t up = 0;
    std::vector<PortRef> down;
  };
  std::map<std::string, Family> families;
  bool several = false;
  for_each_port(layout, [&](PortRef ref, const FabricPort& port) {
    if (!layout.is_host_adapter(ref.node) || layout.names[ref.node].host.empty()) return;
    several = several || layout.node(ref.node).ports.size() > 1 || layout.node(ref.node).stated_ports > 1;
    Family& family = families[fmt::format("{} {} {}", stem_of(layout.names[ref.node].host),
                                          layout.names[ref.node].device, port.number)];
    if (port.state == PortState::kActive) ++family.up;
    if (port.state == PortState::kDown) family.down.push_back(ref);
  });
  for (const auto& [name, family] : families) {
    const std::size_t all = family.up + family.down.size();
    if (family.up < kFewestSiblings ||
        family.up < knowledge::threshold("fabric.peers.share") * static_cast<double>(all))
      continue;
    for (const PortRef ref : family.down) {
      const bool disabled = layout.port(ref).physical_state == PortPhysicalState::kDisabled;
      FabricDraft found = about_ports(
          layout, {ref},
          fmt::format("{} is {}, the same port of {} of {} hosts like it is up",
                      name_of_port(*layout.fabric, ref), disabled ? "switched off" : "down", family.up, all));
      found.draft.words[disabled ? "disabled" : "no_link"] = "";
      outcome.fire(std::move(found));
    }
  }
  if (!has_states(layout)) return outcome.undecided("the states of the ports", kScan);
  if (!several) outcome.not_applicable();  // an adapter with one port that is down is not in a scan at all
}

// Hosts that were numbered alike, and what their adapters are called.
struct HostFamily {
  std::vector<std::uint32_t> hosts;
  std::map<std::string, std::uint32_t> common;  // that most have; how many
  // That whole hosts have beside the common ones, for storage or management: no other name of a missing one.
  std::set<std::string> extras;
};

std::set<std::string> devices_of(const Layout& layout, std::uint32_t host) {
  std::set<std::string> devices;
  for (const std::uint32_t adapter : layout.hosts[host].adapters)
    devices.insert(layout.names[adapter].device);
  return devices;
}

std::vector<std::string> missing_at(const HostFamily& family, const std::set<std::string>& own) {
  std::vector<std::string> missing;
  for (const auto& [device, count] : family.common)
    if (!own.contains(device)) missing.push_back(device);
  return missing;
}

void find_common(const Layout& layout, HostFamily& family) {
  for (const std::uint32_t h : family.hosts)
    for (const std::string& device : devices_of(layout, h))
      ++family.common[device];
  const double enough = knowledge::threshold("fabric.peers.share") * static_cast<double>(family.hosts.size());
  std::erase_if(family.common,
                [&](const auto& device) { return device.first.empty() || device.second < enough; });
  for (const std::uint32_t h : family.hosts) {
    const std::set<std::string> own = devices_of(layout, h);
    if (!missing_at(family, own).empty()) continue;
    for (const std::string& device : own)
      if (!family.common.contains(device)) family.extras.insert(device);
  }
}

std::map<std::string, HostFamily> host_families(const Layout& layout) {
  std::map<std::string, HostFamily> families;
  for (std::uint32_t h = 0; h < layout.hosts.size(); ++h)
    if (layout.hosts[h].joined_by != "system image GUID" && layout.hosts[h].joined_by != "its own GUID")
      families[stem_of(layout.hosts[h].name)].hosts.push_back(h);
  std::erase_if(families, [](const auto& family) { return family.second.hosts.size() <= kFewestSiblings; });
  for (auto& [stem, family] : families)
    find_common(layout, family);
  return families;
}

void tell_missing(const Case& look, const HostFamily& family, std::uint32_t h,
                  const std::vector<std::string>& missing, FabricOutcome& outcome) {
  const Layout& layout = look.layout;
  const std::string name = subject_of(layout, layout.hosts[h].adapters.front());
  const std::size_t all = family.common.size();
  FabricDraft found;
  found.subject = name;
  found.draft.title =
      fmt::format("{} has {} of the {} that hosts like it have: {} missing", name, all - missing.size(),
                  count_of(all, "adapter"), list_words(missing, kMostListed));
  found.draft.rank = static_cast<double>(missing.size()) / static_cast<double>(all);
  for (const std::string& device : missing) {
    const auto rail = look.rails.rail_of_device.find(device);
    std::string text = fmt::format("{} of {} hosts named like it have {}", family.common.at(device),
                                   family.hosts.size(), device);
    if (rail != look.rails.rail_of_device.end()) text += fmt::format(", on rail {}", rail->second);
    found.draft.evidence.push_back(seen(layout, std::move(text)));
  }
  found.draft.devices = missing;
  found.nodes = layout.hosts[h].adapters;
  found.hosts = {h};
  outcome.fire(std::move(found));
}

// Hosts that were numbered alike: how many adapters each has in the fabric.
void adapter_missing(const Case& look, FabricOutcome& outcome) {
  if (is_part(look, outcome, "whether hosts lack adapters")) return;
  const Layout& layout = look.layout;
  std::size_t unnamed = 0;
  for (std::uint32_t n = 0; n < layout.names.size(); ++n)
    if (layout.is_host_adapter(n) && layout.names[n].host.empty()) ++unnamed;
  for (const auto& [stem, family] : host_families(layout)) {
    for (const std::uint32_t h : family.hosts) {
      const std::vector<std::string> missing = missing_at(family, devices_of(layout, h));
      const auto own = std::ranges::count_if(layout.hosts[h].adapters, [&](std::uint32_t adapter) {
        return !family.extras.contains(layout.names[adapter].device);
      });
      // As many of other names: the host calls its adapters differently.
      if (missing.empty() || static_cast<std::size_t>(own) >= family.common.size()) continue;
      if (unnamed == 0)
        tell_missing(look, family, h, missing, outcome);
      else
        outcome.undecided(fmt::format("whether {} lacks {}: {} without a host's name may be it",
                                      printable(layout.hosts[h].name), list_words(missing, kMostListed),
                                      count_of(unnamed, "adapter")),
                          kSnapshots);
    }
  }
  if (layout.hosts.empty()) return outcome.not_applicable();
  const bool named =
      std::ranges::any_of(layout.hosts, [](const auto& host) { return !host.name.starts_with("host of "); });
  if (!named) outcome.undecided("which adapters are one host: no node description names one", kSnapshots);
}

}  // namespace

std::span<const Rule> port_rules() {
  static constexpr std::array kRules = {
      Rule{"fabric.port.not-configured", not_configured},
      Rule{"fabric.port.training", training},
      Rule{"fabric.port.down", port_down},
      Rule{"fabric.host.adapter-missing", adapter_missing},
  };
  return kRules;
}

}  // namespace angio::fabric
