#include "cost/hardware_shapes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/format.hpp"

namespace angio::cost {
namespace {

using model::NcclCollective;

double log2_up(double value) {
  return value <= 1 ? 0 : std::ceil(std::log2(value));
}

// n - 1 hops of a ring; every node is entered once in a round.
Shape ring(const Layout& at, double rounds, double bytes) {
  const double hops = rounds * (at.ranks - 1);
  const double network = at.nodes > 1 ? rounds * (at.nodes - 1) : 0;
  return {"Ring", bytes, at.nodes > 1 ? bytes : 0, 0, hops - network, network};
}

// Up and down a chain within the node; between nodes two trees of half the message each. An inner node of one
// is a leaf of the other: 2 x size in each direction; of two nodes each only sends to the other: 1 x size.
Shape tree(const Layout& at) {
  return {
      "Tree", 2, at.nodes > 2 ? 2.0 : at.nodes > 1 ? 1.0 : 0, 0, 2 * (at.gpus - 1), 2 * log2_up(at.nodes)};
}

// The switch pulls each GPU's whole message once and pushes the sum: (1 + 1/g) x size in each direction.
Shape nvls(const Layout& at) {
  return {"NVLS", 1 + 1 / at.gpus, 0, 0, 2, 0};
}

Shape nvls_tree(const Layout& at) {
  return {"NVLSTree", 1 + 1 / at.gpus, at.nodes > 2 ? 2.0 : 1.0, 0, 2, 2 * log2_up(at.nodes)};
}

// Switches of the network add: the message goes up once and comes down once.
Shape collnet(const Layout& at) {
  return {"CollNet", 2, 1, 0, 2 * (at.gpus - 1), 2, true};
}

Shape pat(const Layout& at) {
  return {"PAT", 0, (at.ranks - 1) / at.ranks, 0, 0, log2_up(at.nodes)};
}

// Each rank to each other: the share of the other nodes leaves by the node's NICs.
Shape all_to_all(const Layout& at) {
  const double away = (at.ranks - at.gpus) / at.ranks;
  return {"P2P",       (at.gpus - 1) / at.ranks,       at.nodes > 1 ? away * at.gpus : 0, 0,
          at.gpus - 1, at.nodes > 1 ? at.nodes - 1 : 0};
}

// Rank to next rank: one pair of each node crosses the network, by the NICs of one GPU.
Shape send_receive(const Layout& at) {
  return {
      "P2P", at.gpus > 1 ? 1.0 : 0, 0, at.nodes > 1 ? 1.0 : 0, at.gpus > 1 ? 1.0 : 0, at.nodes > 1 ? 1.0 : 0};
}

// All parts pass the root's link; those of other nodes its NIC.
Shape to_root(const Layout& at) {
  const double away = (at.ranks - at.gpus) / at.ranks;
  return {"P2P",
          (at.ranks - 1) / at.ranks,
          0,
          at.nodes > 1 ? away : 0,
          at.gpus > 1 ? 1.0 : 0,
          at.nodes > 1 ? 1.0 : 0};
}

std::vector<Shape> all_reduce(const Platform& platform, const Layout& at) {
  const bool many = at.nodes > 1;
  std::vector<Shape> shapes{ring(at, 2, 2 * (at.ranks - 1) / at.ranks), tree(at)};
  if (platform.nvls && at.gpus > 2) shapes.push_back(many ? nvls_tree(at) : nvls(at));
  if (many && platform.nic_kind == "InfiniBand") shapes.push_back(collnet(at));
  return shapes;
}

std::vector<Shape> gathering(const Layout& at) {
  std::vector<Shape> shapes{ring(at, 1, (at.ranks - 1) / at.ranks)};
  if (at.nodes > 1 && at.gpus == 1) shapes.push_back(pat(at));
  return shapes;
}

}  // namespace

Layout layout_of(const Platform& platform, const model::CollectiveCase& question) {
  Layout at;
  at.ranks = question.ranks;
  at.nodes = std::max(question.nodes, 1U);
  if (platform.domain >= question.ranks) at.nodes = 1;  // one NVLink domain is one node to a collective
  at.gpus = std::ceil(at.ranks / at.nodes);
  return at;
}

std::vector<Shape> shapes_of(const Platform& platform, const model::CollectiveCase& question) {
  const Layout at = layout_of(platform, question);
  switch (question.collective) {
    case NcclCollective::kAllReduce:
      return all_reduce(platform, at);
    case NcclCollective::kAllGather:
    case NcclCollective::kReduceScatter:
      return gathering(at);
    case NcclCollective::kBroadcast:
    case NcclCollective::kReduce:
      return {ring(at, 1, 1)};
    case NcclCollective::kAllToAll:
      return {all_to_all(at)};
    case NcclCollective::kSendRecv:
      return {send_receive(at)};
    case NcclCollective::kGather:
    case NcclCollective::kScatter:
      return {to_root(at)};
    default:
      return {};
  }
}

NetworkWire network_wire(const Platform& platform, const Layout& layout) {
  NetworkWire wire;
  if (platform.nics == 0) return wire;
  wire.one = to_bytes(platform.nic_rate);
  const std::string kind = platform.nic_kind.empty() ? "" : platform.nic_kind + " ";
  double nics = platform.nics;
  if (platform.gpus > layout.gpus) nics = std::max(1.0, nics * layout.gpus / platform.gpus);
  wire.part = fmt::format("network of each node: {:g} x {}{}", nics, kind, in_words(platform.nic_rate));
  if (platform.nic_host.value > 0 && platform.nic_host < wire.one) {
    wire.one = platform.nic_host;
    wire.part = fmt::format("PCIe of the NICs of each node: {:g} x {}", nics, in_words(wire.one));
  }
  if (platform.nic_path.value > 0 && platform.nic_path < wire.one) {
    wire.one = platform.nic_path;
    wire.part = fmt::format("way to NICs at the other socket: {:g} x {}", nics, in_words(wire.one));
  }
  wire.all = wire.one * nics;
  const BytesPerSecond gpus = platform.host_link * layout.gpus;
  if (platform.fabric != Fabric::kHost && gpus.value > 0 && gpus < wire.all) {
    wire.all = gpus;
    wire.part = fmt::format("PCIe of each GPU towards the NICs: {:g} x {}", layout.gpus,
                            in_words(platform.host_link));
  }
  if (platform.fabric != Fabric::kHost && platform.host_link.value > 0)
    wire.one = std::min(wire.one, platform.host_link);
  return wire;
}

}  // namespace angio::cost
