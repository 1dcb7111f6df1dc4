// PCIe links narrower or slower than both of their ends can. Idle GPUs lower their link speed by
// themselves, so a low speed counts only on a GPU that is seen working.
#include <algorithm>
#include <map>
#include <set>

#include "base/format.hpp"
#include "base/text.hpp"
#include "diagnose/rules/pcie.hpp"
#include "diagnose/rules/support.hpp"
#include "knowledge/knowledge.hpp"

namespace angio::diagnose::pcie {
namespace {

using model::Gpu;
using model::Machine;
using model::PciDevice;
using model::PciLink;

constexpr std::uint32_t kNvmeClass = 0x010802;  // PCI Code and ID Assignment: mass storage, NVM Express

// A reading with a width of zero or above what PCIe has is a link that is down or a device that does not
// tell.
constexpr std::uint32_t kMaxLanes = 32;  // PCI Express Base Specification, Link Capabilities
bool plausible(const PciLink& link) {
  return link.lanes > 0 && link.lanes <= kMaxLanes && link.speed.value > 0;
}

std::string address_of(const PciDevice& device) {
  return to_string(device.address);
}

// What is to be said of one link, once both ends are known.
struct Link {
  std::string label;
  std::string address;
  PciLink now;
  PciLink could;
  std::vector<model::Evidence> evidence;
};

enum class Reading { kFull, kReduced, kUnknown };

// What could not be read, and the cards that run below their own maximum under a port that is not seen.
struct Unread {
  explicit Unread(std::string what) : gaps(std::move(what)) {}
  Gaps gaps;
  std::vector<std::string> hidden;

  void report(const Machine& machine, Outcome& outcome) const {
    gaps.report(outcome);
    if (hidden.empty()) return;
    const bool guest = is_virtual(machine);
    outcome.undecided(
        "what the slot of " + list_of(hidden) + " can: " +
            (guest ? "a guest does not see the real port above" : "the port above is not in this source"),
        guest ? "angio collect on the host of this virtual machine" : "angio collect on the node");
  }
};

// Reads a link from the PCI tree. kUnknown: noted in unread. A link at its device's own maximum is full
// whatever the port; a lower one is reduced only if the port above is known to do more.
Reading read_link(const Machine& machine, const Endpoint& endpoint, Unread& unread, Link& link) {
  const PciDevice& device = machine.pci.devices[endpoint.device];
  const PciLink* now = device.link.get();
  const PciLink* own = device.link_max.get();
  if (now == nullptr || own == nullptr) {
    now == nullptr ? unread.gaps.add(endpoint.label, device.link)
                   : unread.gaps.add(endpoint.label, device.link_max);
    return Reading::kUnknown;
  }
  if (!plausible(*now) || !plausible(*own) || (now->lanes >= own->lanes && now->speed >= own->speed)) {
    return Reading::kFull;
  }
  const PciDevice* port = port_above(machine, device);
  const PciLink* above = port != nullptr ? port->link_max.get() : nullptr;
  if (above == nullptr || !plausible(*above) || is_virtual(machine)) {
    unread.hidden.push_back(endpoint.label);
    return Reading::kUnknown;
  }
  link = {endpoint.label, address_of(device), *now, possible(*own, *above), {}};
  link.evidence = {
      seen(machine, device.link.source(), endpoint.label + " " + link.address + " now " + in_words(*now)),
      seen(machine, device.link_max.source(), "the card can " + in_words(*own)),
      seen(machine, port->link_max.source(),
           "the port above, " + address_of(*port) + ", can " + in_words(*above))};
  return now->lanes < link.could.lanes || now->speed < link.could.speed ? Reading::kReduced : Reading::kFull;
}

// Equal troubles are one finding: eight GPUs behind the wrong risers read as one line.
void fire_links(const std::vector<Link>& links, const std::string& what, Outcome& outcome) {
  std::map<std::pair<std::string, std::string>, std::vector<const Link*>> alike;
  for (const Link& link : links)
    alike[{in_words(link.now), in_words(link.could)}].push_back(&link);
  for (const auto& [words, group] : alike) {
    std::vector<std::string> labels;
    Draft draft;
    for (const Link* link : group) {
      labels.push_back(link->label);
      draft.devices.push_back(link->label);
      draft.evidence.insert(draft.evidence.end(), link->evidence.begin(), link->evidence.end());
    }
    const Link& first = *group.front();
    const bool many = labels.size() > 1;
    draft.title = what + (many ? "s" : "") + " of " + list_of(labels) + (many ? " run at " : " runs at ") +
                  words.first + "; both ends can " + words.second;
    draft.cost = link_cost(first.now, first.could);
    draft.rank = share_lost(first.now, first.could);
    draft.words = {{"address", first.address}};
    outcome.fire(std::move(draft));
  }
}

// ---- GPUs: width

// NVML's maximum already takes the slot into account.
Reading read_nvml_width(const Machine& machine, const Gpu& gpu, Link& link) {
  const std::uint32_t* now = gpu.pcie_width.get();
  const std::uint32_t* most = gpu.pcie_width_max.get();
  if (now == nullptr || most == nullptr || *now == 0 || *most > kMaxLanes) return Reading::kUnknown;
  if (*now >= *most) return Reading::kFull;
  const auto speed =
      knowledge::pcie_speed(gpu.pcie_generation_max.value_or(0)).value_or(TransfersPerSecond{});
  const PciAddress* address = gpu.address.get();
  link = {gpu_label(gpu),
          address != nullptr ? to_string(*address) : gpu_label(gpu),
          {speed, *now},
          {speed, *most},
          {}};
  link.evidence = {
      seen(machine, gpu.pcie_width.source(), gpu_label(gpu) + " now x" + std::to_string(*now)),
      seen(machine, gpu.pcie_width_max.source(), "GPU and slot together can x" + std::to_string(*most))};
  return Reading::kReduced;
}

// The tree first, then NVML, whose idea of the slot is as good as the machine is real.
Reading read_gpu_width(const Machine& machine, const Gpu& gpu, const std::vector<Endpoint>& cards,
                       Unread& unread, Link& link) {
  const auto card = std::ranges::find(cards, &gpu, &Endpoint::gpu);
  Unread from_tree("");
  if (card != cards.end()) {
    const PciDevice& device = machine.pci.devices[card->device];
    const PciLink* now = device.link.get();
    const PciLink* own = device.link_max.get();
    if (now != nullptr && own != nullptr && now->lanes >= own->lanes) return Reading::kFull;
    const Reading reading = read_link(machine, *card, from_tree, link);
    link.now.speed = link.could.speed;  // an idle GPU's speed is another matter
    if (reading == Reading::kReduced && link.now.lanes >= link.could.lanes) return Reading::kFull;
    if (reading != Reading::kUnknown) return reading;
  }
  const Reading reading = read_nvml_width(machine, gpu, link);
  if (reading == Reading::kFull || (reading == Reading::kReduced && !is_virtual(machine))) return reading;
  if (reading == Reading::kReduced || !from_tree.hidden.empty()) {
    unread.hidden.push_back(gpu_label(gpu));
  } else if (card != cards.end()) {
    unread.gaps.add(gpu_label(gpu), machine.pci.devices[card->device].link);
  } else {
    unread.gaps.add(gpu_label(gpu), gpu.pcie_width);
  }
  return Reading::kUnknown;
}

}  // namespace

void gpu_width(const Machine& machine, Outcome& outcome) {
  if (machine.gpus.empty()) return outcome.not_applicable();
  Unread unread("PCIe link width");
  std::vector<Link> reduced;
  const std::vector<Endpoint> cards = gpu_endpoints(machine);
  for (const Gpu& gpu : machine.gpus) {
    Link link;
    if (read_gpu_width(machine, gpu, cards, unread, link) == Reading::kReduced)
      reduced.push_back(std::move(link));
  }
  fire_links(reduced, "PCIe link", outcome);
  unread.report(machine, outcome);
}

// ---- GPUs: speed

namespace {

bool is_working(const Gpu& gpu) {
  const std::uint32_t* busy = gpu.utilization.get();
  if (busy == nullptr || !(static_cast<double>(*busy) >= knowledge::threshold("gpu.working-utilisation")))
    return false;
  const std::string state = gpu.performance_state.value_or("");  // "P0"
  const auto number = state.starts_with("P") ? parse_integer<std::uint32_t>(state.substr(1)) : std::nullopt;
  return !number || static_cast<double>(*number) <= knowledge::threshold("gpu.working-state");
}

// The generation as NVML sees it: it knows what GPU and slot can together.
Reading read_nvml_speed(const Machine& machine, const Gpu& gpu, Link& link) {
  const std::uint32_t* now = gpu.pcie_generation.get();
  const std::uint32_t* most = gpu.pcie_generation_max.get();
  if (now == nullptr || most == nullptr || *now == 0) return Reading::kUnknown;
  if (*now >= *most) return Reading::kFull;
  const auto speed = knowledge::pcie_speed(*now);
  const auto full = knowledge::pcie_speed(*most);
  if (!speed || !full) return Reading::kUnknown;
  const std::uint32_t lanes = gpu.pcie_width.value_or(0);
  const PciAddress* address = gpu.address.get();
  link = {gpu_label(gpu),
          address != nullptr ? to_string(*address) : gpu_label(gpu),
          {*speed, lanes},
          {*full, lanes},
          {}};
  link.evidence = {seen(machine, gpu.pcie_generation.source(),
                        gpu_label(gpu) + " now " + generation_in_words(*speed) + " at " +
                            std::to_string(gpu.utilization.value_or(0)) + " % utilisation"),
                   seen(machine, gpu.pcie_generation_max.source(),
                        "GPU and slot together can " + generation_in_words(*full))};
  return Reading::kReduced;
}

Reading read_tree_speed(const Machine& machine, const Endpoint& card, Unread& unread, Link& link) {
  const Reading reading = read_link(machine, card, unread, link);
  return reading == Reading::kReduced && link.now.speed >= link.could.speed ? Reading::kFull : reading;
}

void report_idle(const std::vector<std::string>& idle, Outcome& outcome) {
  if (idle.empty()) return;
  outcome.undecided(
      "link speed under load of " + list_of(idle) + ": not seen working, and idle GPUs lower it",
      "angio collect while a job runs", Asked::kNvml);
}

}  // namespace

void gpu_speed(const Machine& machine, Outcome& outcome) {
  if (machine.gpus.empty()) return outcome.not_applicable();
  Unread unread("PCIe link speed");
  std::vector<Link> reduced;
  std::vector<std::string> idle;
  const std::vector<Endpoint> cards = gpu_endpoints(machine);
  for (const Gpu& gpu : machine.gpus) {
    Link link;
    Reading reading = read_nvml_speed(machine, gpu, link);
    const auto card = std::ranges::find(cards, &gpu, &Endpoint::gpu);
    if (reading == Reading::kUnknown && card != cards.end())
      reading = read_tree_speed(machine, *card, unread, link);
    if (reading == Reading::kUnknown && card == cards.end())
      unread.gaps.add(gpu_label(gpu), gpu.pcie_generation);
    if (reading != Reading::kReduced) continue;
    if (is_working(gpu)) {
      reduced.push_back(std::move(link));
    } else {
      idle.push_back(gpu_label(gpu));
    }
  }
  fire_links(reduced, "PCIe link", outcome);
  report_idle(idle, outcome);
  unread.report(machine, outcome);
}

// ---- cards that never lower their link

void nic_link(const Machine& machine, Outcome& outcome) {
  const std::vector<Endpoint> nics = nic_endpoints(machine);
  if (nics.empty()) return outcome.not_applicable();
  Unread unread("PCIe link");
  std::vector<Link> reduced;
  for (const Endpoint& nic : nics) {
    Link link;
    if (read_link(machine, nic, unread, link) == Reading::kReduced) reduced.push_back(std::move(link));
  }
  fire_links(reduced, "PCIe link", outcome);
  unread.report(machine, outcome);
}

namespace {

// What the active ports of the card could carry together; unread ports are noted.
BitsPerSecond active_rate(const Machine& machine, std::uint32_t card, Gaps& gaps) {
  const PciAddress& place = machine.pci.devices[card].address;
  BitsPerSecond sum{};
  for (const model::RdmaDevice& nic : machine.rdma) {
    if (!nic.pci || *nic.pci >= machine.pci.devices.size() || nic.virtual_function) continue;
    const PciAddress& other = machine.pci.devices[*nic.pci].address;
    if (other.domain != place.domain || other.bus != place.bus || other.device != place.device) continue;
    for (const model::RdmaPort& port : nic.ports) {
      if (!contains(port.state.value_or(""), "ACTIVE")) continue;
      if (const BitsPerSecond* rate = port.rate.get()) {
        sum.value += rate->value;
      } else {
        gaps.add(nic.name, port.rate);
      }
    }
  }
  return sum;
}

}  // namespace

// The slot as built, not as it runs: a link below what both ends can is nic_link's.
void slot_below_port(const Machine& machine, Outcome& outcome) {
  const std::vector<Endpoint> nics = nic_endpoints(machine);
  if (nics.empty() || is_virtual(machine)) return outcome.not_applicable();
  Gaps rates("port rate");
  Gaps links("maximum PCIe link");
  for (const Endpoint& nic : nics) {
    const PciDevice& device = machine.pci.devices[nic.device];
    const PciDevice* port = port_above(machine, device);
    const PciLink* own = device.link_max.get();
    const PciLink* above = port != nullptr ? port->link_max.get() : nullptr;
    const BitsPerSecond ports = active_rate(machine, nic.device, rates);
    if (own == nullptr || above == nullptr) {
      own == nullptr ? links.add(nic.label, device.link_max)
                     : links.note(nic.label, model::Reason::kNotCollected, 0);
      continue;
    }
    const PciLink slot = possible(*own, *above);
    const auto rate = plausible(slot) ? knowledge::pcie_rate(slot) : std::nullopt;
    const BytesPerSecond wanted = to_bytes(ports);
    if (!rate || rate->value >= wanted.value) continue;
    Draft draft{
        .title = nic.label + " has " + angio::in_words(ports) + " of ports behind a PCIe link of " +
                 in_words(slot),
        .devices = {nic.label},
        .evidence = {seen(machine, device.link_max.source(), "the card can " + in_words(*own)),
                     seen(machine, port->link_max.source(),
                          "the port above, " + address_of(*port) + ", can " + in_words(*above))},
        .cost = {"at most " + angio::in_words(*rate) + " in each direction of " + angio::in_words(wanted),
                 "pcie-link"},
        .rank = 1 - rate->value / wanted.value,
        .words = {{"address", address_of(device)}}};
    outcome.fire(std::move(draft));
  }
  rates.report(outcome);
  links.report(outcome);
}

void nvme_link(const Machine& machine, Outcome& outcome) {
  std::vector<Endpoint> drives;
  for (std::uint32_t i = 0; i < machine.pci.devices.size(); ++i) {
    const PciDevice& device = machine.pci.devices[i];
    if (device.class_code == kNvmeClass && !device.physical_function) {
      drives.push_back({"NVMe drive " + address_of(device), i, nullptr});
    }
  }
  if (drives.empty()) return outcome.not_applicable();
  Unread unread("PCIe link");
  std::vector<Link> reduced;
  for (const Endpoint& drive : drives) {
    Link link;
    if (read_link(machine, drive, unread, link) == Reading::kReduced) reduced.push_back(std::move(link));
  }
  fire_links(reduced, "PCIe link", outcome);
  unread.report(machine, outcome);
}

// ---- switches

namespace {

// Upstream ports of switches above GPUs and NICs. A switch that is part of a GPU board (AMD and Intel
// make such) lowers its speed with the GPU and is left out.
std::vector<std::uint32_t> uplinks(const Machine& machine) {
  std::set<std::uint32_t> found;
  for (const Endpoint& card : endpoints(machine)) {
    for (const std::uint32_t bridge : bridges_above(machine, card.device)) {
      const PciDevice& port = machine.pci.devices[bridge];
      const bool own_board = card.gpu != nullptr && port.vendor == machine.pci.devices[card.device].vendor;
      if (port.port == model::PciPort::kSwitchUpstream && !own_board) found.insert(bridge);
    }
  }
  return {found.begin(), found.end()};
}

}  // namespace

void switch_uplink(const Machine& machine, Outcome& outcome) {
  const std::vector<std::uint32_t> ports = uplinks(machine);
  if (ports.empty()) return outcome.not_applicable();
  Unread unread("PCIe uplink");
  std::vector<Link> reduced;
  for (const std::uint32_t port : ports) {
    Link link;
    const Endpoint uplink{"switch " + address_of(machine.pci.devices[port]), port, nullptr};
    if (read_link(machine, uplink, unread, link) == Reading::kReduced) reduced.push_back(std::move(link));
  }
  fire_links(reduced, "PCIe uplink", outcome);
  unread.report(machine, outcome);
}

namespace {

struct Sharing {
  std::vector<std::string> gpus;
  double demand = 0;  // bytes a second
};

// GPUs below a bridge and what their links can together; none when a GPU's rate is not known.
std::optional<Sharing> sharing(const Machine& machine, std::uint32_t bridge,
                               const std::vector<Endpoint>& gpus) {
  Sharing below;
  for (const Endpoint& gpu : gpus) {
    const auto above = bridges_above(machine, gpu.device);
    if (std::ranges::find(above, bridge) == above.end()) continue;
    const PciLink* link = machine.pci.devices[gpu.device].link_max.get();
    const auto rate = link != nullptr ? knowledge::pcie_rate(*link) : std::nullopt;
    if (!rate) return std::nullopt;
    below.gpus.push_back(gpu.label);
    below.demand += rate->value;
  }
  return below;
}

}  // namespace

// One finding for the machine: what each switch's GPUs get when all of them talk to the host at once.
void shared_uplink(const Machine& machine, Outcome& outcome) {
  const std::vector<Endpoint> gpus = gpu_endpoints(machine);
  const std::vector<std::uint32_t> ports = uplinks(machine);
  if (ports.empty() || gpus.size() < 2) return outcome.not_applicable();
  Gaps gaps("speed of the uplink");
  Draft draft;
  double worst = 1;
  for (const std::uint32_t port : ports) {
    const PciDevice& uplink = machine.pci.devices[port];
    const auto below = sharing(machine, port, gpus);
    if (!below || below->gpus.size() < 2) continue;
    const PciLink* now = uplink.link.get();
    if (now == nullptr) gaps.add("switch " + address_of(uplink), uplink.link);
    const auto rate = now != nullptr ? knowledge::pcie_rate(*now) : std::nullopt;
    if (!rate || below->demand <= rate->value) continue;
    const BytesPerSecond each{rate->value / static_cast<double>(below->gpus.size())};
    if (rate->value / below->demand < worst) {
      worst = rate->value / below->demand;
      draft.cost = {angio::in_words(each) + " to the host for each of " + list_of(below->gpus) +
                        " when all copy at once; one alone gets " + angio::in_words(*rate),
                    "pcie-link"};
    }
    draft.devices.insert(draft.devices.end(), below->gpus.begin(), below->gpus.end());
    draft.evidence.push_back(
        seen(machine, uplink.link.source(),
             list_of(below->gpus) + " share the uplink " + address_of(uplink) + ", " + in_words(*now)));
  }
  if (!draft.evidence.empty()) {
    draft.title = count_of(draft.evidence.size(), "PCIe switch uplink") + " shared by several GPUs";
    draft.rank = 1 - worst;
    outcome.fire(std::move(draft));
  }
  gaps.report(outcome);
}

}  // namespace angio::diagnose::pcie
