// RDMA ports: the MTU of the path, and the GIDs a RoCE connection is addressed by.
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

const model::NetDevice* netdev_of(const Machine& machine, const RdmaDevice& device) {
  for (const std::string& name : device.netdevs) {
    const auto found = std::ranges::find(machine.networks, name, &model::NetDevice::name);
    if (found != machine.networks.end()) return &*found;
  }
  return nullptr;
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

// ---- GIDs

void roce_no_gid(const Machine& machine, Outcome& outcome) {
  bool any = false;
  Gaps gaps("GID table");
  std::vector<Trouble> troubles;
  for (const PortRef& ref : hardware_ports(machine)) {
    const bool roce = is_active(*ref.port) && ref.port->link_layer == LinkLayer::kEthernet;
    if (!roce || machine.gpus.empty() || left_out(machine, ref)) continue;
    any = true;
    const auto untyped =
        std::ranges::find_if(ref.port->gids, [](const model::Gid& gid) { return gid.type.is_unreadable(); });
    if (ref.port->gids.empty()) {
      gaps.note(port_label(ref), model::Reason::kNotCollected, 0);
    } else if (std::ranges::any_of(ref.port->gids, is_routable_v2)) {
      continue;
    } else if (untyped != ref.port->gids.end()) {
      gaps.note(port_label(ref), untyped->type.reason(), untyped->type.error());
    } else {
      const model::Gid& sample = ref.port->gids.back();
      Draft draft{.title = {},
                  .evidence = {seen(machine, sample.type.source(),
                                    fmt::format("{} entries; the last, {}: {}, {}", ref.port->gids.size(),
                                                sample.index, sample.gid, sample.type.value_or("")))},
                  .cost = {"no connection beyond the link's own subnet", ""}};
      troubles.push_back(
          {ref, "has no routable RoCE v2 GID", "have no routable RoCE v2 GID", std::move(draft)});
    }
  }
  if (!any) return outcome.not_applicable();
  fire_grouped(troubles, outcome);
  gaps.report(outcome);
}

}  // namespace angio::diagnose::rdma
