#include "views/fabric_marks.hpp"

#include <algorithm>

#include "views/fabric_words.hpp"

namespace angio::views {
namespace {

constexpr std::uint32_t kNobody = ~std::uint32_t{0};

Mark::Level level_of(model::Severity severity) {
  if (severity == model::Severity::kCritical) return Mark::kCritical;
  return severity == model::Severity::kWarning ? Mark::kWarning : Mark::kInfo;
}

}  // namespace

Mark louder(Mark a, Mark b) {
  return b.level > a.level ? b : a;
}

report::Tone tone_of(Mark mark) {
  switch (mark.level) {
    case Mark::kNone:
    case Mark::kInfo:
      return report::Tone::kPlain;
    case Mark::kUnknown:
      return report::Tone::kUnknown;
    case Mark::kWarning:
      return report::Tone::kWarning;
    case Mark::kCritical:
      return report::Tone::kCritical;
  }
  return report::Tone::kPlain;
}

FabricMarks::FabricMarks(const model::Fabric& fabric, const model::FabricReport& report)
    : fabric_(fabric), report_(report), nodes_(fabric.nodes.size()), hosts_(report.hosts.size()) {
  std::uint32_t ports = 0;
  for (const model::FabricNode& node : fabric.nodes) {
    first_port_.push_back(ports);
    ports += static_cast<std::uint32_t>(node.ports.size());
  }
  ports_.resize(ports);
  for (std::uint32_t n = 0; n < fabric.nodes.size(); ++n) {
    const model::FabricNode& node = fabric.nodes[n];
    if (!node.trouble.empty()) nodes_[n].level = Mark::kUnknown;
    for (std::size_t p = 0; p < node.ports.size(); ++p) {
      if (!node.ports[p].trouble.empty()) ports_[first_port_[n] + p].level = Mark::kUnknown;
    }
  }
  std::vector<std::uint32_t> host_of(fabric.nodes.size(), kNobody);
  for (std::uint32_t host = 0; host < report.hosts.size(); ++host)
    for (const std::uint32_t adapter : report.hosts[host].adapters)
      if (adapter < host_of.size()) host_of[adapter] = host;
  for (std::uint32_t i = 0; i < report.findings.size(); ++i)
    add(i, host_of);
}

// A finding that names all adapters of a host is about the host.
void FabricMarks::add(std::uint32_t number, const std::vector<std::uint32_t>& host_of) {
  const model::FabricFinding& finding = report_.findings[number];
  const Mark mark{level_of(finding.finding.severity), number};
  for (const model::PortRef ref : finding.ports) {
    if (ref.node >= nodes_.size() || ref.port >= fabric_.nodes[ref.node].ports.size()) continue;
    Mark& here = ports_[first_port_[ref.node] + ref.port];
    here = louder(here, mark);
    if (!model::port_at(fabric_, ref).peer) nodes_[ref.node] = louder(nodes_[ref.node], mark);
  }
  if (!finding.ports.empty()) return;
  if (finding.nodes.empty()) {
    for (const std::uint32_t host : finding.hosts)
      if (host < hosts_.size()) hosts_[host] = louder(hosts_[host], mark);
    return;
  }
  const std::uint32_t first = finding.nodes.front();
  const std::uint32_t host = first < host_of.size() ? host_of[first] : kNobody;
  const bool whole = host != kNobody && finding.nodes.size() == report_.hosts[host].adapters.size() &&
                     std::ranges::all_of(finding.nodes, [&](std::uint32_t node) {
                       return node < host_of.size() && host_of[node] == host;
                     });
  if (whole) {
    hosts_[host] = louder(hosts_[host], mark);
    return;
  }
  for (const std::uint32_t node : finding.nodes)
    if (node < nodes_.size()) nodes_[node] = louder(nodes_[node], mark);
}

Mark FabricMarks::port(model::PortRef ref) const {
  return ports_.at(first_port_.at(ref.node) + ref.port);
}

Mark FabricMarks::link(model::PortRef ref) const {
  const std::optional<model::PortRef>& peer = model::port_at(fabric_, ref).peer;
  return peer ? louder(port(ref), port(*peer)) : port(ref);
}

Mark FabricMarks::node(std::uint32_t node) const {
  return nodes_.at(node);
}

Mark FabricMarks::host(std::uint32_t host) const {
  return hosts_.at(host);
}

bool FabricMarks::is_degraded(model::PortRef ref) const {
  const model::FabricPort& port = model::port_at(fabric_, ref);
  if (port.state == model::PortState::kDown) return true;
  if (!port.peer) return false;
  // Texts that do not say what ports can are judged by their likes: the finding has the bandwidth that is
  // lost.
  if (const Mark mark = link(ref); mark.finding < report_.findings.size()) {
    const model::Finding& finding = report_.findings[mark.finding].finding;
    if (finding.severity != model::Severity::kInfo && finding.cost.formula == "fabric-link") return true;
  }
  const auto now = rate_of(port);
  const auto most = most_rate_of(port);
  const auto most_there = most_rate_of(model::port_at(fabric_, *port.peer));
  return now && most && most_there && now->value < std::min(most->value, most_there->value);
}

}  // namespace angio::views
