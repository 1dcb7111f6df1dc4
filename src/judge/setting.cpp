// On what a result was measured: ranks, nodes and hardware, from what the user says, what the result says and
// what a name lets assume, in this order. Each assumption is a sentence.
#include <fmt/format.h>

#include <algorithm>

#include "base/format.hpp"
#include "cost/hardware.hpp"
#include "judge/case.hpp"

namespace angio::judge {
namespace {

constexpr std::uint32_t kUsualGpus = 8;  // of a node

void count_nodes(const Said& said, const Topology& topology, Setting& setting) {
  setting.ranks = said.ranks;
  setting.nodes = topology.nodes.value_or(said.nodes);
  const std::uint32_t of_node = topology.gpus_of_node.value_or(0);
  if (setting.ranks == 0 && setting.nodes > 0 && of_node > 0) setting.ranks = setting.nodes * of_node;
  if (setting.ranks == 0 || setting.nodes > 0) return;
  if (of_node > 0) {
    setting.nodes = (setting.ranks + of_node - 1) / of_node;
    return;
  }
  if (topology.machine != nullptr && !topology.machine->gpus.empty()) {
    const auto gpus = static_cast<std::uint32_t>(topology.machine->gpus.size());
    setting.nodes = (setting.ranks + gpus - 1) / gpus;
    setting.assumptions.push_back(fmt::format("The result names no hosts: {} of {} GPUs each, as on {}.",
                                              count_of(setting.nodes, "node"), gpus, topology.machine->name));
    return;
  }
  setting.nodes = (setting.ranks + kUsualGpus - 1) / kUsualGpus;
  setting.assumptions.push_back(
      fmt::format("The result names no hosts: {} with {} GPUs each assumed (--nodes says).",
                  count_of(setting.nodes, "node"), (setting.ranks + setting.nodes - 1) / setting.nodes));
}

void find_platform(const Said& said, const Topology& topology, Setting& setting) {
  const std::uint32_t of_node = setting.nodes > 0 ? (setting.ranks + setting.nodes - 1) / setting.nodes : 0;
  if (topology.machine != nullptr) {
    auto platform = cost::platform_of(*topology.machine, of_node);
    if (platform) {
      setting.platform = std::move(*platform);
    } else {
      setting.missing = platform.error().message;
    }
    return;
  }
  if (said.devices.size() > 1 && topology.gpu.empty()) {
    setting.missing = "several kinds of GPU took part: " + said.devices[0] + ", " + said.devices[1];
    return;
  }
  const std::string name = !topology.gpu.empty() ? topology.gpu : said.devices.empty() ? "" : said.devices[0];
  if (name.empty()) {
    setting.missing = said.host_memory
                          ? "no GPU took part, and what host memory and the network give is not known"
                          : "the result does not name the GPUs (--gpu NAME or --topo SNAP says)";
    return;
  }
  setting.platform = cost::platform_of_name(name, std::max(of_node, 1U), std::max(setting.nodes, 1U));
  if (!setting.platform) setting.missing = "nothing is known of a GPU named \"" + name + "\"";
}

}  // namespace

Setting setting_of(const Said& said, const Topology& topology) {
  Setting setting;
  count_nodes(said, topology, setting);
  find_platform(said, topology, setting);
  if (setting.platform)
    setting.assumptions.insert(setting.assumptions.end(), setting.platform->assumptions.begin(),
                               setting.platform->assumptions.end());
  return setting;
}

void expect_points(const Setting& setting, std::vector<Point>& points) {
  for (Point& point : points) {
    if (!setting.platform) {
      point.no_expectation = setting.missing;
      continue;
    }
    if (setting.ranks < 2) {
      point.no_expectation = setting.ranks == 0
                                 ? "the number of ranks is not known (--nodes and --gpus-per-node say)"
                                 : "one rank: no data crosses a link";
      continue;
    }
    if (point.size.value == 0) {
      point.no_expectation = "no bytes";
      continue;
    }
    auto expected = cost::expect(*setting.platform,
                                 {point.collective, point.size, std::max(setting.nodes, 1U), setting.ranks});
    if (expected) {
      point.expectation = std::move(*expected);
    } else {
      point.no_expectation = expected.error().message;
    }
  }
}

}  // namespace angio::judge
