// RDMA ports: the MTU of the path (verbs) and that of the interface below a RoCE port. Never one for the
// other.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/format.hpp"
#include "base/text.hpp"
#include "diagnose/rules/rdma.hpp"
#include "diagnose/rules/support.hpp"
#include "knowledge/knowledge.hpp"

namespace angio::diagnose::rdma {

using model::LinkLayer;
using model::Machine;
using model::RdmaDevice;

namespace {

std::string header_share(double headers, Bytes mtu) {
  return fmt::format("{:.1f} %", 100 * headers / (headers + static_cast<double>(mtu.value)));
}

model::Cost mtu_cost(const char* headers_id, Bytes now, Bytes most) {
  const double headers = knowledge::threshold(headers_id);
  return {header_share(headers, now) + " of the line for headers instead of " + header_share(headers, most),
          "mtu-headers"};
}

struct LowMtu {
  PortRef ref;
  Bytes now;
  Bytes most;
};

// Active ports of one link layer whose MTU is below what they can; reports gaps and absence.
std::vector<LowMtu> low_mtus(const Machine& machine, LinkLayer layer, Outcome& outcome) {
  std::vector<LowMtu> low;
  bool any = false;
  Gaps gaps("MTU");
  for (const PortRef& ref : hardware_ports(machine)) {
    if (!is_active(*ref.port) || ref.port->link_layer != layer) continue;
    any = true;
    const Bytes* now = ref.port->active_mtu.get();
    const Bytes* most = ref.port->max_mtu.get();
    if (now == nullptr) {
      gaps.add(port_label(ref), ref.port->active_mtu);
    } else if (most == nullptr) {
      gaps.add(port_label(ref), ref.port->max_mtu);
    } else if (*now < *most) {
      low.push_back({ref, *now, *most});
    }
  }
  if (!any) outcome.not_applicable();
  gaps.report(outcome);
  return low;
}

// "uses an MTU of 2048, it can 4096" for each of them.
Trouble low_trouble(const Machine& machine, const LowMtu& low, const char* what, const char* headers) {
  const std::string sizes = fmt::format("{} of {}, ", what, low.now.value);
  Draft draft{.title = {},
              .evidence = {seen(machine, low.ref.port->active_mtu.source(),
                                "active " + std::to_string(low.now.value)),
                           seen(machine, low.ref.port->max_mtu.source(),
                                "maximum " + std::to_string(low.most.value))},
              .cost = mtu_cost(headers, low.now, low.most)};
  return {low.ref, fmt::format("uses {}it can {}", sizes, low.most.value),
          fmt::format("use {}they can {}", sizes, low.most.value), std::move(draft)};
}

}  // namespace

void mtu_low(const Machine& machine, Outcome& outcome) {
  std::vector<Trouble> troubles;
  for (const LowMtu& low : low_mtus(machine, LinkLayer::kInfiniBand, outcome))
    troubles.push_back(low_trouble(machine, low, "an MTU", "rdma.headers.infiniband"));
  fire_grouped(troubles, outcome);
}

// A warning where collectives run over it: a GPU node without InfiniBand whose RoCE ports are fast.
void roce_mtu_low(const Machine& machine, Outcome& outcome) {
  const auto ports = hardware_ports(machine);
  const bool only_roce = std::ranges::none_of(ports, [](const PortRef& ref) {
    return is_active(*ref.port) && ref.port->link_layer == LinkLayer::kInfiniBand;
  });
  std::vector<Trouble> troubles;
  for (const LowMtu& low : low_mtus(machine, LinkLayer::kEthernet, outcome)) {
    Trouble trouble = low_trouble(machine, low, "a RoCE MTU", "rdma.headers.roce2");
    trouble.draft.evidence.pop_back();  // the interface's MTU says more than the maximum
    if (const model::NetDevice* netdev = netdev_of(machine, *low.ref.device)) {
      trouble.draft.words["netdev"] = netdev->name;
      if (const std::uint32_t* mtu = netdev->mtu.get()) {
        trouble.draft.evidence.push_back(
            seen(machine, netdev->mtu.source(), netdev->name + " has an MTU of " + std::to_string(*mtu)));
      }
    }
    troubles.push_back(std::move(trouble));
  }
  const bool fast = std::ranges::any_of(troubles, [&](const Trouble& trouble) {
    return is_fast(*trouble.ref.port) && !left_out(machine, trouble.ref);
  });
  if (fast && only_roce && !machine.gpus.empty()) {
    for (Trouble& trouble : troubles)
      trouble.draft.severity = model::Severity::kWarning;
  }
  fire_grouped(troubles, outcome);
}

namespace {

// The smallest MTU of the interfaces that the port's usable GIDs lie on: VLANs and bonds have their own.
const model::NetDevice* smallest_interface(const Machine& machine, const PortRef& ref) {
  const model::NetDevice* smallest = nullptr;
  for (const model::Gid& gid : ref.port->gids) {
    const std::string* name = gid.netdev.get();
    const model::NetDevice* one =
        name != nullptr && is_routable_v2(gid) ? find_interface(machine, *name) : nullptr;
    if (one == nullptr || !one->mtu.is_known() || one->kind.is("ipoib")) continue;
    if (smallest == nullptr || *one->mtu.get() < *smallest->mtu.get()) smallest = one;
  }
  if (smallest != nullptr) return smallest;
  const model::NetDevice* own = netdev_of(machine, *ref.device);
  return own != nullptr && !own->kind.is("ipoib") ? own : nullptr;  // IPoIB has an MTU of another meaning
}

}  // namespace

// The path MTU counts payload; IP, UDP and RDMA headers come on top and must pass the interface too.
void roce_mtu_above_netdev(const Machine& machine, Outcome& outcome) {
  const auto headers = static_cast<std::uint64_t>(knowledge::threshold("rdma.headers.roce2-packet"));
  bool any = false;
  Gaps gaps("MTU");
  std::vector<Trouble> troubles;
  for (const PortRef& ref : hardware_ports(machine)) {
    const model::NetDevice* netdev = smallest_interface(machine, ref);
    if (!is_active(*ref.port) || ref.port->link_layer != LinkLayer::kEthernet || netdev == nullptr) continue;
    any = true;
    const Bytes* path = ref.port->active_mtu.get();
    const std::uint32_t* mtu = netdev->mtu.get();
    if (path == nullptr || mtu == nullptr) {
      path == nullptr ? gaps.add(port_label(ref), ref.port->active_mtu) : gaps.add(netdev->name, netdev->mtu);
      continue;
    }
    if (*mtu >= path->value + headers) continue;
    Draft draft{.title = {},
                .evidence = {seen(machine, ref.port->active_mtu.source(),
                                  fmt::format("path MTU {}, {} with its headers", path->value,
                                              path->value + headers)),
                             seen(machine, netdev->mtu.source(),
                                  fmt::format("{} has an MTU of {}", netdev->name, *mtu))},
                .cost = {"full packets do not pass", ""},
                .rank = 1,
                .words = {{"netdev", netdev->name}, {"needed", std::to_string(path->value + headers)}}};
    const std::string words = fmt::format(" a path MTU of {} over an interface of {}", path->value, *mtu);
    troubles.push_back({ref, "uses" + words, "use" + words, std::move(draft)});
  }
  if (!any) return outcome.not_applicable();
  fire_grouped(troubles, outcome);
  gaps.report(outcome);
}

}  // namespace angio::diagnose::rdma
