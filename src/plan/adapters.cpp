#include "plan/adapters.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "base/format.hpp"
#include "knowledge/knowledge.hpp"

namespace angio::plan {
namespace {

using model::LinkLayer;
using model::Machine;
using model::PathClass;
using model::RdmaDevice;
using model::RdmaPort;

bool may_be_active(const RdmaPort& port) {
  return !port.state.is_known() || port.state.is("ACTIVE");
}

// A device whose ports the source does not tell of is not held to be down.
bool usable(const RdmaDevice& device) {
  return device.ports.empty() || std::ranges::any_of(device.ports, may_be_active);
}

double rate_of(const RdmaDevice& device) {
  double rate = 0;
  for (const RdmaPort& port : device.ports) {
    if (may_be_active(port)) rate = std::max(rate, port.rate.value_or({}).value);
  }
  return rate;
}

LinkLayer layer_of(const RdmaDevice& device) {
  for (const RdmaPort& port : device.ports) {
    if (may_be_active(port)) return port.link_layer;
  }
  return LinkLayer::kUnknown;
}

// mlx5_2 before mlx5_10.
bool natural_less(const std::string& a, const std::string& b) {
  const auto digits = [](const std::string& text) {
    const std::size_t last = text.find_last_not_of("0123456789");
    return last == std::string::npos ? 0 : last + 1;
  };
  const std::size_t end_a = digits(a);
  const std::size_t end_b = digits(b);
  if (a.compare(0, end_a, b, 0, end_b) != 0) return a < b;
  if (a.size() != b.size()) return a.size() < b.size();
  return a < b;
}

std::string names_of(const Machine& machine, const std::vector<std::uint32_t>& devices) {
  std::string names;
  for (const std::uint32_t device : devices) {
    if (!names.empty()) names += ", ";
    names += machine.rdma[device].name;
  }
  return names;
}

void leave_out(const Machine& machine, Fleet& fleet, const std::vector<std::uint32_t>& out, std::string id,
               const std::string& why, std::string remedy) {
  if (out.empty()) return;
  std::erase_if(fleet.devices,
                [&](std::uint32_t device) { return std::ranges::find(out, device) != out.end(); });
  fleet.notes.push_back({std::move(id), fmt::format("{} {}", names_of(machine, out), why),
                         static_cast<std::uint32_t>(out.size()), std::move(remedy)});
}

template <typename Test>
std::vector<std::uint32_t> those(const Machine& machine, const Fleet& fleet, const Test& test) {
  std::vector<std::uint32_t> found;
  for (const std::uint32_t device : fleet.devices) {
    if (test(machine.rdma[device])) found.push_back(device);
  }
  return found;
}

// Virtual functions are another's share of a card, unless they are all there is, as in a pod.
void drop_virtual(const Machine& machine, Fleet& fleet) {
  const auto virtuals =
      those(machine, fleet, [](const RdmaDevice& device) { return device.virtual_function; });
  if (virtuals.size() == fleet.devices.size()) return;
  leave_out(machine, fleet, virtuals, "plan.nic.virtual",
            virtuals.size() == 1 ? "is a virtual function of a card" : "are virtual functions of cards", "");
}

// A bonded card answers as one device for all its ports; a single port of it is the same card again.
void drop_bonded_ports(const Machine& machine, Fleet& fleet) {
  const auto bonds = those(machine, fleet, [](const RdmaDevice& device) { return device.bond; });
  const auto same_card = [&](const RdmaDevice& device, std::uint32_t bond) {
    const PciAddress* a = device.address.get();
    const PciAddress* b = machine.rdma[bond].address.get();
    return a != nullptr && b != nullptr && a->domain == b->domain && a->bus == b->bus &&
           a->device == b->device;
  };
  const auto ports = those(machine, fleet, [&](const RdmaDevice& device) {
    return !device.bond &&
           std::ranges::any_of(bonds, [&](std::uint32_t bond) { return same_card(device, bond); });
  });
  leave_out(machine, fleet, ports, "plan.nic.bonded",
            ports.size() == 1 ? "is a port of a bond that is used as one device"
                              : "are ports of a bond that is used as one device",
            "");
}

// InfiniBand and RoCE do not speak to each other, and a slow port in the communicator slows all: the ranks'
// adapters are the group with the highest summed rate.
void drop_other_networks(const Machine& machine, Fleet& fleet) {
  std::map<LinkLayer, double> sums;
  for (const std::uint32_t device : fleet.devices)
    sums[layer_of(machine.rdma[device])] += rate_of(machine.rdma[device]);
  if (fleet.devices.size() < 2) return;
  const LinkLayer best =
      std::ranges::max_element(sums, {}, [](const auto& entry) { return entry.second; })->first;
  const auto others = those(machine, fleet, [&](const RdmaDevice& device) {
    return layer_of(device) != best && layer_of(device) != LinkLayer::kUnknown;
  });
  const bool ethernet = best == LinkLayer::kInfiniBand;
  leave_out(machine, fleet, others, "plan.nic.other-network",
            ethernet ? "on Ethernet left to storage and management beside the InfiniBand adapters"
                     : "on InfiniBand left out beside the faster Ethernet adapters",
            "name other adapters yourself by NCCL_IB_HCA");
  double fastest = 0;
  for (const std::uint32_t device : fleet.devices)
    fastest = std::max(fastest, rate_of(machine.rdma[device]));
  const double least = fastest * knowledge::threshold("launch.adapter-rate");
  const auto slow = those(machine, fleet, [&](const RdmaDevice& device) {
    return rate_of(device) > 0 && rate_of(device) < least;
  });
  leave_out(machine, fleet, slow, "plan.nic.slow",
            fmt::format("slower than half of the fastest adapter's {}, left to storage and management",
                        in_words(BitsPerSecond{fastest})),
            "name other adapters yourself by NCCL_IB_HCA");
}

model::Path path_to(const Machine& machine, const Seeker& seeker, std::uint32_t device) {
  const model::DeviceRef adapter{model::DeviceKind::kRdma, device};
  if (seeker.gpu) return model::path_between(machine, {model::DeviceKind::kGpu, *seeker.gpu}, adapter);
  const auto node = model::nearest_node(machine, adapter);
  if (!node || !seeker.node) return {PathClass::kUnknown, 0, "the adapter's NUMA node is not known"};
  return {*node == *seeker.node ? PathClass::kNode : PathClass::kSys, 0, {}};
}

// The nearest adapters of one seeker, and how near.
struct Candidates {
  model::Path path;
  std::vector<std::uint32_t> devices;
};

Candidates nearest(const Machine& machine, const Fleet& fleet, const Seeker& seeker) {
  Candidates best;
  for (const std::uint32_t device : fleet.devices) {
    model::Path path = path_to(machine, seeker, device);
    if (best.devices.empty() || path.kind < best.path.kind) {
      best.path = std::move(path);
      best.devices = {device};
    } else if (path.kind == best.path.kind) {
      best.devices.push_back(device);
    }
  }
  // Unknown distances choose nothing, unless there is nothing to choose.
  if (best.path.kind == PathClass::kUnknown && best.devices.size() > 1) best.devices.clear();
  return best;
}

// More seekers than rails: in turn. More rails than seekers: neighbours for each.
std::vector<std::uint32_t> rails_of(const std::vector<std::uint32_t>& devices, std::size_t seekers,
                                    std::size_t turn) {
  if (devices.empty()) return {};
  if (devices.size() <= seekers) return {devices[turn % devices.size()]};
  const std::size_t begin = turn * devices.size() / seekers;
  const std::size_t end = (turn + 1) * devices.size() / seekers;
  return {devices.begin() + static_cast<std::ptrdiff_t>(begin),
          devices.begin() + static_cast<std::ptrdiff_t>(end)};
}

}  // namespace

Fleet find_fleet(const Machine& machine) {
  Fleet fleet;
  for (std::uint32_t i = 0; i < machine.rdma.size(); ++i)
    fleet.devices.push_back(i);
  std::ranges::sort(fleet.devices, [&](std::uint32_t a, std::uint32_t b) {
    return natural_less(machine.rdma[a].name, machine.rdma[b].name);
  });
  const auto down = those(machine, fleet, [](const RdmaDevice& device) { return !usable(device); });
  leave_out(machine, fleet, down, "plan.nic.down",
            down.size() == 1 ? "has no active port and is not used" : "have no active port and are not used",
            "angio doctor --rule rdma.port.down");
  drop_virtual(machine, fleet);
  drop_bonded_ports(machine, fleet);
  drop_other_networks(machine, fleet);
  return fleet;
}

std::vector<Adapters> assign_adapters(const Machine& machine, const Fleet& fleet,
                                      const std::vector<Seeker>& seekers) {
  std::vector<Candidates> found;
  std::map<std::pair<PathClass, std::vector<std::uint32_t>>, std::size_t> crowd;
  for (const Seeker& seeker : seekers) {
    found.push_back(nearest(machine, fleet, seeker));
    ++crowd[{found.back().path.kind, found.back().devices}];
  }
  std::map<std::pair<PathClass, std::vector<std::uint32_t>>, std::size_t> turns;
  std::vector<Adapters> answers;
  for (Candidates& candidates : found) {
    const std::pair key{candidates.path.kind, candidates.devices};
    Adapters answer;
    answer.rdma = rails_of(candidates.devices, crowd[key], turns[key]++);
    answer.path = std::move(candidates.path);
    answer.candidates = candidates.devices.size();
    answers.push_back(std::move(answer));
  }
  return answers;
}

}  // namespace angio::plan
