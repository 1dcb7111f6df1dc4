#include "views/fabric_map_words.hpp"

#include <fmt/format.h>

#include <vector>

#include "base/format.hpp"
#include "views/doctor_report.hpp"
#include "views/fabric_words.hpp"

namespace angio::views {

std::string MapWords::of_finding(Mark mark) const {
  if (mark.finding >= report_.findings.size()) return {};
  const model::Finding& finding = report_.findings[mark.finding].finding;
  return "; " + in_words(finding.severity) + ": " + with_short_names(finding.title);
}

std::string MapWords::of_trunk(const MapTrunk& trunk) const {
  std::string words = fmt::format("{} to {}: {}", short_name(fabric_.nodes[trunk.lower]),
                                  short_name(fabric_.nodes[trunk.upper]), count_of(trunk.links, "cable"));
  if (trunk.bits_per_second > 0) words += ", " + in_words(BitsPerSecond{trunk.bits_per_second});
  if (trunk.mark.level == Mark::kNone) return words;
  words += "; " + short_port(fabric_, trunk.worst);
  if (const std::string rate = rate_words(model::port_at(fabric_, trunk.worst)); !rate.empty())
    words += " runs " + rate;
  return words + of_finding(trunk.mark);
}

std::string MapWords::of_switch(std::uint32_t at, Mark mark) const {
  const model::FabricNode& node = fabric_.nodes[at];
  std::size_t cabled = 0;
  for (const model::FabricPort& port : node.ports)
    cabled += port.peer ? 1U : 0U;
  std::string words = short_name(node);
  if (!node.description.empty()) words += " (" + to_string(node.guid) + ")";
  words += node.stated_ports > 0 ? fmt::format(": {} of {} ports cabled", cabled, node.stated_ports)
                                 : fmt::format(": {} cabled", count_of(cabled, "port"));
  if (!node.trouble.empty()) words += "; " + node.trouble;
  return words + of_finding(mark);
}

std::string MapWords::of_cell(const PlacedCell& placed, Mark mark) const {
  const model::FabricHost& host = report_.hosts[placed.host];
  if (placed.cell == nullptr) return host.name + ": no port on this switch" + of_finding(mark);
  const model::FabricNode& adapter = fabric_.nodes[placed.cell->adapter];
  std::string words = host.name + " " + adapter_name(adapter, host.name);
  if (placed.cell->port) {
    const model::FabricPort& port = adapter.ports[*placed.cell->port];
    words += port.name.empty() ? fmt::format(" port {}", port.number) : " " + port.name;
    words += port.peer ? " to " + short_port(fabric_, *port.peer) : ": no cable";
    if (const std::string rate = rate_words(port); port.peer && !rate.empty()) words += ", " + rate;
    if (!port.trouble.empty()) words += "; " + port.trouble;
  }
  if (!adapter.trouble.empty()) words += "; " + adapter.trouble;
  if (!host.jobs.empty()) words += "; jobs " + some_names(host.jobs);
  return words + of_finding(mark);
}

std::string MapWords::of_cells(std::span<const PlacedCell> placed) const {
  constexpr std::size_t kNames = 5;
  std::vector<std::string> names;
  for (const PlacedCell& one : placed)
    names.push_back(report_.hosts[one.host].name);
  std::string words = some_names(names, kNames);
  const MapCell& first = *placed.front().cell;
  if (!first.port) return words;
  if (const auto& peer = model::port_at(fabric_, {first.adapter, *first.port}).peer)
    words += ": on " + short_name(fabric_.nodes[peer->node]);
  return words;
}

std::string MapWords::of_cable(model::PortRef port, Mark mark) const {
  const model::FabricPort& here = model::port_at(fabric_, port);
  std::string words = short_port(fabric_, port);
  if (here.peer) words += " to " + short_port(fabric_, *here.peer);
  if (const std::string rate = rate_words(here); !rate.empty()) words += ", " + rate;
  return words + of_finding(mark);
}

}  // namespace angio::views
