// Steps that look at the host: bandwidth, line, PCIe, distance, MTU, queue pairs.
#include "rdma/bandwidth_steps.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <set>

#include "base/format.hpp"
#include "base/text.hpp"
#include "knowledge/knowledge.hpp"
#include "model/path.hpp"
#include "rdma/rates.hpp"

namespace angio::rdma {

using model::RdmaStep;
using model::RdmaVerdict;

bool is_roce(const Case& that) {
  return that.port.link_layer == model::LinkLayer::kEthernet;
}

bool is_infiniband(const Case& that) {
  return that.port.link_layer == model::LinkLayer::kInfiniBand;
}

std::optional<BitsPerSecond> rate_of(const Case& that) {
  if (that.wanted.measured) return that.wanted.measured;
  if (!that.port.traffic || that.port.traffic->at_least) return std::nullopt;
  return std::max(that.port.traffic->sent, that.port.traffic->received);
}

namespace {

bool is_down(const Case& that) {
  return !that.port.state.empty() && that.port.state != "ACTIVE";
}

std::string down_words(const Case& that) {
  return "the port is " + that.port.state +
         (that.port.physical_state.empty() ? "" : " (" + that.port.physical_state + ")");
}

// What is left of the data rate behind the headers of each packet.
std::optional<BitsPerSecond> payload_rate(const Case& that) {
  const Bytes* mtu = that.known != nullptr ? that.known->active_mtu.get() : nullptr;
  if (mtu == nullptr || !that.port.rate || (!is_roce(that) && !is_infiniband(that))) return std::nullopt;
  const double headers = is_roce(that) ? knowledge::threshold("rdma.headers.roce2")
                                       : knowledge::threshold("rdma.headers.infiniband");
  const auto payload = static_cast<double>(mtu->value);
  return BitsPerSecond{that.port.rate->value * payload / (payload + headers)};
}

}  // namespace

RdmaStep step_bandwidth(const Case& that) {
  RdmaStep step{.topic = "bandwidth"};
  if (is_down(that)) {
    step.verdict = RdmaVerdict::kNarrows;
    step.seen.push_back(down_words(that) + ": it carries nothing");
    step.next.push_back("ibstat " + that.port.device + "; angio doctor judges the state");
    return step;
  }
  const std::optional<BitsPerSecond> rate = rate_of(that);
  if (!rate) {
    step.seen.push_back("the port's traffic is not known");
    step.next.push_back(
        "angio rdma --for 10s while the transfer runs, or --measured with its figure and unit");
    return step;
  }
  step.seen.push_back((that.wanted.measured ? "stated: " : "of the interval: ") + in_words(*rate));
  if (that.port.rate)
    step.seen.push_back("the port's data rate is " + in_words(*that.port.rate) + " in each direction");
  if (const auto payload = payload_rate(that))
    step.seen.push_back("at most " + in_words(*payload) + " of payload behind the packets' headers");
  if (that.wanted.expected) step.seen.push_back("expected: " + in_words(*that.wanted.expected));
  const double target = that.wanted.expected ? that.wanted.expected->value
                        : that.port.rate
                            ? that.port.rate->value * knowledge::threshold("rdma.rate.full-share")
                            : std::numeric_limits<double>::infinity();
  if (!that.wanted.measured && that.port.idle) {
    step.seen.push_back("the port was idle: nothing follows from that");
    step.next.push_back("ib_write_bw -d " + that.port.device +
                        " --report_gbits between two hosts, and angio rdma --for 10s meanwhile");
    return step;
  }
  if (!that.wanted.expected && !that.port.rate) return step;
  step.verdict = rate->value >= target ? RdmaVerdict::kFine : RdmaVerdict::kNarrows;
  if (step.verdict == RdmaVerdict::kNarrows && !that.wanted.expected && !that.wanted.measured)
    step.seen.push_back(
        "a job that sends less than it could looks the same: a test with ib_write_bw tells them apart");
  return step;
}

namespace {

struct Fastest {
  double rate = 0;  // bits a second; 0: no port of the board is known
  std::string device;
};

Fastest fastest_of_board(const Case& that) {
  Fastest fastest;
  const std::string* board = that.device != nullptr ? that.device->board_id.get() : nullptr;
  if (board == nullptr) return fastest;
  for (const model::RdmaDevice& other : that.machine.rdma) {
    if (!other.board_id.is(*board)) continue;
    for (const model::RdmaPort& port : other.ports)
      if (port.link_layer == that.port.link_layer && port.rate.value_or({}).value > fastest.rate)
        fastest = {port.rate.get()->value, other.name};
  }
  return fastest;
}

}  // namespace

RdmaStep step_line(const Case& that) {
  RdmaStep step{.topic = "line rate and width"};
  constexpr std::uint32_t kFullWidth = 4;   // lanes of an InfiniBand cable of a server adapter
  constexpr std::uint32_t kSplitWidth = 2;  // of one half of a split one: HDR100, NDR200
  if (is_down(that)) {
    step.seen.push_back(down_words(that) + ": the rate that it states is no link's");
    step.next.push_back("ibstat " + that.port.device);
    return step;
  }
  if (!that.port.rate) {
    step.seen.push_back("the port does not state a rate");
    step.next.push_back("ibstat " + that.port.device);
    return step;
  }
  step.seen.push_back(fmt::format("{}{}{}", in_words(*that.port.rate),
                                  that.port.lanes > 0 ? ", " + count_of(that.port.lanes, "lane") : "",
                                  that.port.speed_name.empty() ? "" : " " + that.port.speed_name));
  const Fastest sibling = fastest_of_board(that);
  const bool thin = that.port.lanes > 0 && that.port.lanes < kFullWidth && is_infiniband(that);
  if (thin && that.port.lanes != kSplitWidth) {
    step.verdict = RdmaVerdict::kNarrows;
    step.seen.push_back("an adapter's port has 4 lanes, or 2 behind a split cable");
  } else if (sibling.rate > that.port.rate->value) {
    step.verdict = RdmaVerdict::kNarrows;
    step.seen.push_back(fmt::format("{} of the same board runs at {}", sibling.device,
                                    in_words(BitsPerSecond{sibling.rate})));
  } else if (thin) {
    step.seen.push_back("2 lanes: half of a split cable (HDR100, NDR200), or two of four are lost");
  } else if (sibling.rate > 0) {
    step.verdict = RdmaVerdict::kFine;
    step.seen.push_back("no port of the same board is faster");
  }
  // What both ends could do is in no file of sysfs.
  const std::string mlxlink = "sudo mlxlink -d " + that.port.device + " -c";
  const std::string interface = that.port.interfaces.empty() ? "INTERFACE" : that.port.interfaces.front();
  step.next.push_back("what both ends can: " + (is_roce(that)         ? mlxlink + "; ethtool " + interface
                                                : is_infiniband(that) ? "iblinkinfo, or " + mlxlink
                                                                      : "the tool of the adapter's maker"));
  return step;
}

namespace {

// Ports on other functions of the same card share its PCIe link.
double rate_of_card(const Case& that, const PciAddress& address) {
  double sum = 0;
  std::set<PciAddress> counted;
  for (const model::RdmaDevice& other : that.machine.rdma) {
    const PciAddress* place = other.address.get();
    if (place == nullptr || other.virtual_function || place->domain != address.domain ||
        place->bus != address.bus || place->device != address.device || !counted.insert(*place).second)
      continue;
    for (const model::RdmaPort& port : other.ports)
      if (port.state.is("ACTIVE")) sum += port.rate.value_or({}).value;
  }
  return sum;
}

struct Narrowest {
  std::optional<BytesPerSecond> rate;
  const model::PciDevice* device = nullptr;
  bool complete = true;
};

Narrowest narrowest_link(const model::Machine& machine, std::uint32_t pci) {
  Narrowest narrow;
  const std::vector<std::uint32_t> chain = model::chain_of(machine.pci, pci);
  for (const std::uint32_t at : chain) {
    const model::PciDevice& device = machine.pci.devices[at];
    const model::PciLink* link = device.link.get();
    const auto rate = link != nullptr ? knowledge::pcie_rate(*link) : std::nullopt;
    // The internal bus of a root complex or virtual switch states no link.
    if (!rate) narrow.complete = narrow.complete && device.link.is_absent();
    if (rate && (!narrow.rate || rate->value < narrow.rate->value)) {
      narrow.rate = rate;
      narrow.device = &device;
    }
  }
  return narrow;
}

std::string link_words(const model::PciLink& link) {
  return fmt::format("{} x{}", in_words(link.speed), link.lanes);
}

}  // namespace

RdmaStep step_pcie(const Case& that) {
  RdmaStep step{.topic = "PCIe of the adapter"};
  const PciAddress* address = that.device != nullptr ? that.device->address.get() : nullptr;
  if (that.device == nullptr || !that.device->pci) {
    step.seen.push_back(that.device != nullptr && address == nullptr ? "it is on no PCI device (soft-RoCE)"
                                                                     : "its PCI device is not known");
    if (address != nullptr) step.next.push_back("sudo lspci -vv -s " + to_string(*address));
    return step;
  }
  const Narrowest narrow = narrowest_link(that.machine, *that.device->pci);
  const model::PciDevice& own = that.machine.pci.devices[*that.device->pci];
  if (!narrow.rate || !that.port.rate) {
    step.seen.push_back("the speed of its link is not known");
    step.next.push_back("sudo lspci -vv -s " + to_string(own.address) + ": LnkSta beside LnkCap");
    return step;
  }
  const model::PciLink& link = *narrow.device->link.get();
  const BitsPerSecond carries{narrow.rate->value * 8};
  step.seen.push_back(fmt::format("narrowest link {} {}: {} = {} in each direction, before packet headers",
                                  to_string(narrow.device->address), link_words(link), in_words(*narrow.rate),
                                  in_words(carries)));
  if (is_down(that)) {
    step.seen.push_back("what the port needs is not known while it is " + that.port.state);
    return step;
  }
  const double card = rate_of_card(that, own.address);
  step.seen.push_back("the port needs " + in_words(*that.port.rate));
  if (card > that.port.rate->value)
    step.seen.push_back("all active ports of this card together " + in_words(BitsPerSecond{card}));
  const model::PciLink* most = own.link_max.get();
  if (most != nullptr && own.link.is_known() && !(*most == *own.link.get()))
    step.seen.push_back("the adapter could do " + link_words(*most));
  step.verdict = carries.value < that.port.rate->value ? RdmaVerdict::kNarrows
                 : narrow.complete                     ? RdmaVerdict::kFine
                                                       : RdmaVerdict::kUnknown;
  if (step.verdict == RdmaVerdict::kFine && carries.value < card)
    step.seen.push_back("both ports at once do not fit");
  if (step.verdict != RdmaVerdict::kFine)
    step.next.push_back("sudo lspci -vv -s " + to_string(narrow.device->address) +
                        ": LnkSta beside LnkCap; slot, riser, BIOS");
  return step;
}

namespace {

void look_at_processes(const Case& that, RdmaStep& step) {
  for (const model::Process& process : that.machine.processes) {
    const auto* opened = process.rdma.get();
    const bool uses = opened != nullptr && std::ranges::find(*opened, that.index) != opened->end();
    if (!uses) continue;
    for (const std::uint32_t gpu : process.gpus) {
      const model::Path path =
          path_between(that.machine, {model::DeviceKind::kGpu, gpu}, {model::DeviceKind::kRdma, that.index});
      const bool far = path.kind == model::PathClass::kSys || path.kind == model::PathClass::kNode;
      step.seen.push_back(
          fmt::format("process {} uses it from GPU {}: {}", process.id, gpu, model::label(path)));
      if (path.kind == model::PathClass::kUnknown) continue;
      if (far) step.verdict = RdmaVerdict::kNarrows;
      if (!far && step.verdict == RdmaVerdict::kUnknown) step.verdict = RdmaVerdict::kFine;
    }
  }
}

}  // namespace

RdmaStep step_distance(const Case& that) {
  RdmaStep step{.topic = "distance to GPU and memory"};
  if (that.device == nullptr) {
    step.seen.push_back("the adapter's place in the machine is not known");
    step.next.push_back("angio topo");
    return step;
  }
  const auto node = nearest_node(that.machine, {model::DeviceKind::kRdma, that.index});
  step.seen.push_back(node ? fmt::format("{} is on NUMA node {}", that.port.device, node->value)
                           : "its NUMA node is not known");
  std::vector<std::string> near;
  for (std::uint32_t gpu = 0; gpu < that.machine.gpus.size(); ++gpu) {
    const model::Path path =
        path_between(that.machine, {model::DeviceKind::kGpu, gpu}, {model::DeviceKind::kRdma, that.index});
    if (path.kind == model::PathClass::kPix || path.kind == model::PathClass::kPxb)
      near.push_back(fmt::format("GPU {} ({})", gpu, model::label(path)));
  }
  if (!near.empty()) step.seen.push_back("below the same PCIe switch: " + join(near, ", "));
  look_at_processes(that, step);
  if (step.verdict != RdmaVerdict::kUnknown) return step;
  step.next.push_back(
      node ? fmt::format(
                 "where the process runs: angio ps; a test from its own node: numactl --cpunodebind={0} "
                 "--membind={0} ib_write_bw -d {1}",
                 node->value, that.port.device)
           : "where the process runs: angio ps");
  return step;
}

namespace {

void look_at_netdev(const Case& that, RdmaStep& step) {
  for (const std::string& name : that.port.interfaces) {
    const auto net = std::ranges::find(that.machine.networks, name, &model::NetDevice::name);
    if (net == that.machine.networks.end() || !net->mtu.is_known()) continue;
    step.seen.push_back(fmt::format("MTU of the interface {}: {} bytes", name, *net->mtu.get()));
  }
}

}  // namespace

RdmaStep step_mtu(const Case& that) {
  RdmaStep step{.topic = "MTU"};
  const Bytes* active = that.known != nullptr ? that.known->active_mtu.get() : nullptr;
  const Bytes* most = that.known != nullptr ? that.known->max_mtu.get() : nullptr;
  if (active != nullptr) {
    step.seen.push_back(fmt::format("path MTU of RDMA: {} bytes{}", active->value,
                                    most != nullptr ? fmt::format(", the port can {}", most->value) : ""));
    if (most != nullptr) step.verdict = *active < *most ? RdmaVerdict::kNarrows : RdmaVerdict::kFine;
  } else {
    step.seen.push_back("the path MTU of RDMA is not known");
    step.next.push_back("ibv_devinfo -d " + that.port.device + ": active_mtu beside max_mtu");
  }
  if (is_roce(that)) look_at_netdev(that, step);
  if (step.verdict == RdmaVerdict::kNarrows && is_roce(that))
    step.next.push_back("raise the interface's MTU on hosts and switches: 4200 and more carry 4096");
  if (step.verdict == RdmaVerdict::kNarrows && is_infiniband(that))
    step.next.push_back("the subnet manager sets it, by partition");
  return step;
}

RdmaStep step_queue_pairs(const Case& that) {
  RdmaStep step{.topic = "queue pairs"};
  const bool bond = that.device != nullptr && that.device->bond;
  if (bond) step.seen.push_back(that.port.device + " is a bond: one queue pair uses one of its links");
  std::set<std::string> values;
  for (const model::Process& process : that.machine.processes)
    for (const model::Setting& setting : process.settings)
      if (setting.name == "NCCL_IB_QPS_PER_CONNECTION") values.insert(setting.value);
  for (const std::string& value : values) {
    step.seen.push_back("a job here has NCCL_IB_QPS_PER_CONNECTION=" + printable(value));
    const auto number = parse_integer<std::uint32_t>(value);
    if (bond && number) step.verdict = *number > 1 ? RdmaVerdict::kFine : RdmaVerdict::kNarrows;
  }
  if (bond && values.empty() && !that.machine.processes.empty())
    step.seen.push_back("no process here sets NCCL_IB_QPS_PER_CONNECTION (NCCL's default is 1)");
  if (step.seen.empty()) step.seen.push_back("how many the transfer uses is not known");
  if (step.verdict != RdmaVerdict::kFine)
    step.next.push_back("with several, and large messages: ib_write_bw -d " + that.port.device +
                        " -q 4 -s 1048576 --report_gbits" +
                        (bond ? "; for NCCL: NCCL_IB_QPS_PER_CONNECTION=2 or more" : ""));
  return step;
}

}  // namespace angio::rdma
