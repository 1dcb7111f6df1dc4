// Fabrics for the tests of their views: fat trees with and without rails, and what could be said of them. The
// report is put together by hand, not judged.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "model/fabric.hpp"
#include "model/fabric_report.hpp"

namespace angio::views::example {

struct TreeShape {
  std::uint32_t hosts = 4;
  std::uint32_t hosts_per_leaf = 2;
  std::uint32_t spines = 2;
  std::uint32_t rails = 1;  // adapters of a host, each on a leaf of its own
};

class TreeBuilder {
 public:
  explicit TreeBuilder(const TreeShape& shape) : shape_(shape) {
    const std::uint32_t units = (shape.hosts + shape.hosts_per_leaf - 1) / shape.hosts_per_leaf;
    fabric_.name = "hall.txt";
    fabric_.origin = "ibnetdiscover hall.txt";
    fabric_.captured = "2026-01-02T03:04:05Z";
    for (std::uint32_t unit = 0; unit < units; ++unit)
      for (std::uint32_t rail = 0; rail < shape.rails; ++rail)
        leaves_.push_back(add_switch("leaf-" + std::to_string(unit * shape.rails + rail + 1),
                                     shape.hosts_per_leaf + shape.spines));
    for (std::uint32_t spine = 0; spine < shape.spines; ++spine) {
      const std::uint32_t node = add_switch("MF0;spine-" + std::to_string(spine + 1) + ":MQM9700/U1",
                                            static_cast<std::uint32_t>(leaves_.size()));
      for (std::uint32_t leaf = 0; leaf < leaves_.size(); ++leaf)
        model::connect(fabric_, {leaves_[leaf], shape.hosts_per_leaf + spine}, {node, leaf});
      spines_.push_back(node);
    }
    for (std::uint32_t host = 0; host < shape.hosts; ++host)
      for (std::uint32_t rail = 0; rail < shape.rails; ++rail)
        add_adapter(host, rail);
  }

  model::Fabric take() { return std::move(fabric_); }

 private:
  static model::FabricPort port(std::uint32_t number) {
    model::FabricPort one;
    one.number = number;
    one.lanes = one.most_lanes = 4;
    one.speed = one.most_speed = model::LaneSpeedName::kHdr;
    one.state = model::PortState::kActive;
    one.physical_state = model::PortPhysicalState::kLinkUp;
    return one;
  }
  std::uint32_t add_node(model::FabricNodeKind kind, std::string description, std::uint32_t ports) {
    model::FabricNode node;
    node.kind = kind;
    node.guid = {0x0002c90300000000ULL + fabric_.nodes.size()};
    node.description = std::move(description);
    node.stated_ports = ports;
    for (std::uint32_t number = 1; number <= ports; ++number)
      node.ports.push_back(port(number));
    fabric_.nodes.push_back(std::move(node));
    return static_cast<std::uint32_t>(fabric_.nodes.size() - 1);
  }
  std::uint32_t add_switch(std::string description, std::uint32_t ports) {
    return add_node(model::FabricNodeKind::kSwitch, std::move(description), ports);
  }
  void add_adapter(std::uint32_t host, std::uint32_t rail) {
    const std::uint32_t node =
        add_node(model::FabricNodeKind::kAdapter,
                 "gpu-" + std::to_string(host + 1) + " mlx5_" + std::to_string(rail), 1);
    const std::uint32_t leaf = leaves_.at(host / shape_.hosts_per_leaf * shape_.rails + rail);
    model::connect(fabric_, {node, 0}, {leaf, host % shape_.hosts_per_leaf});
  }

  TreeShape shape_;
  model::Fabric fabric_;
  std::vector<std::uint32_t> leaves_;
  std::vector<std::uint32_t> spines_;
};

inline model::Fabric fat_tree(const TreeShape& shape) {
  return TreeBuilder(shape).take();
}

// What src/fabric would say of such a tree where nothing is wrong.
inline model::FabricReport report_of(const model::Fabric& fabric, const TreeShape& shape) {
  model::FabricReport report;
  model::FabricFacts& facts = report.facts;
  std::map<std::string, std::uint32_t> hosts;
  model::FabricLevel leaves;
  model::FabricLevel spines;
  spines.level = 2;
  facts.planes.push_back({{}, model::PlaneRole::kCompute, "most adapters"});
  for (std::uint32_t i = 0; i < fabric.nodes.size(); ++i) {
    const model::FabricNode& node = fabric.nodes[i];
    facts.planes.front().nodes.push_back(i);
    facts.level_of.push_back(0);
    if (node.kind == model::FabricNodeKind::kAdapter) {
      ++facts.adapters;
      const std::string name = node.description.substr(0, node.description.find(' '));
      const auto [at, is_new] = hosts.try_emplace(name, static_cast<std::uint32_t>(report.hosts.size()));
      if (is_new) report.hosts.push_back({name, {}, "node description", {}});
      report.hosts[at->second].adapters.push_back(i);
      continue;
    }
    ++facts.switches;
    const bool leaf = node.description.starts_with("leaf");
    facts.level_of.back() = leaf ? 1 : 2;
    (leaf ? leaves : spines).switches.push_back(i);
  }
  facts.links = facts.adapters + static_cast<std::uint32_t>(leaves.switches.size() * shape.spines);
  facts.link_rates = {{"4x HDR (200 Gb/s)", facts.links}};
  facts.shape = shape.rails > 1 ? model::FabricShape::kRailFatTree : model::FabricShape::kFatTree;
  leaves.links_down = facts.adapters;
  leaves.links_up = spines.links_down = facts.links - facts.adapters;
  leaves.down = {leaves.links_down * 200e9};
  leaves.up = spines.down = {leaves.links_up * 200e9};
  leaves.oversubscription = leaves.down / leaves.up;
  facts.levels = {leaves, spines};
  if (shape.rails > 1) {
    for (std::uint32_t rail = 0; rail < shape.rails; ++rail) {
      model::FabricRail one;
      one.number = rail;
      for (std::size_t at = rail; at < leaves.switches.size(); at += shape.rails)
        one.leaves.push_back(leaves.switches[at]);
      for (const model::FabricHost& host : report.hosts)
        one.adapters.push_back(host.adapters.at(rail));
      facts.rails.push_back(std::move(one));
    }
  }
  report.held = {"fabric.link.state", "fabric.link.errors"};
  return report;
}

inline model::FabricFinding finding(std::string rule, model::Severity severity, std::string title,
                                    std::vector<model::PortRef> ports, std::vector<std::uint32_t> hosts) {
  model::FabricFinding one;
  one.finding.rule = std::move(rule);
  one.finding.severity = severity;
  one.finding.title = std::move(title);
  one.finding.evidence = {{"active 1x HDR, supported 4x HDR", "PortInfo"}};
  one.finding.fixes = {{"Reseat the cable at both ends", "", "drops the link", false, false}};
  one.finding.disprove = "angio fabric scan shows 4x HDR";
  one.finding.sources = {"InfiniBand Architecture Specification 1.6, PortInfo"};
  one.ports = std::move(ports);
  one.hosts = std::move(hosts);
  return one;
}

}  // namespace angio::views::example
