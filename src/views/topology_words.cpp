#include "views/topology_words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/format.hpp"
#include "base/text.hpp"

namespace angio::views {
namespace {

using model::Machine;
using model::PciDevice;
using report::Tone;

// The port that the device's link ends at: only root and downstream ports speak of the link below them.
const PciDevice* port_above(const Machine& machine, const PciDevice& device) {
  if (!device.parent || *device.parent >= machine.pci.devices.size()) return nullptr;
  const model::PciPort role = model::port_role(machine.pci, *device.parent);
  const bool faces_down = role == model::PciPort::kRootPort || role == model::PciPort::kSwitchDownstream;
  return faces_down ? &machine.pci.devices[*device.parent] : nullptr;
}

constexpr std::uint32_t kDisplayClass = 0x03;      // PCI Code and ID Assignment: display controller
constexpr std::uint32_t kAcceleratorClass = 0x12;  // processing accelerator

bool slows_down_when_idle(const PciDevice& device) {
  return model::base_class(device) == kDisplayClass || model::base_class(device) == kAcceleratorClass;
}

}  // namespace

std::string device_name(const Machine& machine, model::DeviceRef device) {
  switch (device.kind) {
    case model::DeviceKind::kGpu:
      return fmt::format("GPU {}", device.index);
    case model::DeviceKind::kRdma:
      return device.index < machine.rdma.size() ? machine.rdma[device.index].name : "NIC";
    case model::DeviceKind::kNetwork:
      return device.index < machine.networks.size() ? machine.networks[device.index].name : "NIC";
  }
  return "device";
}

std::string board_name(std::string_view name) {
  constexpr std::array<std::string_view, 6> kVendorWords{"nvidia",   "tesla", "amd",
                                                         "instinct", "intel", "corporation"};
  const auto same = [](std::string_view a, std::string_view b) {
    return std::ranges::equal(
        a, b, {}, [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  };
  while (true) {
    const std::size_t end = name.find(' ');
    const std::string_view word = name.substr(0, end);
    const auto matches = [&](std::string_view vendor) { return same(word, vendor); };
    if (end == std::string_view::npos || std::ranges::none_of(kVendorWords, matches))
      return std::string(name);
    name.remove_prefix(end + 1);
  }
}

std::string in_words(const model::PciLink& link) {
  if (link.lanes == 0) return angio::in_words(link.speed);
  if (link.speed.value <= 0) return fmt::format("x{}", link.lanes);
  return fmt::format("{} x{}", angio::in_words(link.speed), link.lanes);
}

LinkView view_link(const Machine& machine, std::uint32_t pci) {
  LinkView view;
  if (pci >= machine.pci.devices.size()) return view;
  const PciDevice& device = machine.pci.devices[pci];
  const model::PciLink* now = device.link.get();
  const model::PciLink* most = device.link_max.get();
  if (now == nullptr || now->lanes == 0) {
    if (most != nullptr && most->lanes > 0) view.text = "up to " + in_words(*most);
    return view;
  }
  view.text = in_words(*now);
  if (most == nullptr || most->lanes == 0) return view;
  const PciDevice* port = port_above(machine, device);
  const model::PciLink* port_most = port != nullptr ? port->link_max.get() : nullptr;
  model::PciLink possible = *most;
  if (port_most != nullptr && port_most->lanes > 0) {
    possible.lanes = std::min(possible.lanes, port_most->lanes);
    possible.speed = std::min(possible.speed, port_most->speed);
  }
  if (now->lanes < possible.lanes) {
    view.brief = fmt::format("x{} of x{}", now->lanes, possible.lanes);
    view.text += port_most != nullptr
                     ? fmt::format(", could be x{}", possible.lanes)
                     : fmt::format(", the device can x{}, its slot is not known", possible.lanes);
    view.tone = port_most != nullptr ? Tone::kCritical : Tone::kWarning;
  }
  if (now->speed < possible.speed && !slows_down_when_idle(device)) {
    view.text += fmt::format(", could be {}", angio::in_words(possible.speed));
    if (view.brief.empty()) {
      view.brief = fmt::format("{:g} of {}", now->speed.value / 1e9, angio::in_words(possible.speed));
    }
    view.tone = std::max(view.tone, Tone::kWarning);
  } else if (now->speed < possible.speed) {
    view.text += fmt::format(" now, {} under load", angio::in_words(possible.speed));
  }
  return view;
}

report::Span view_port(const model::RdmaDevice& device) {
  if (device.ports.empty()) return {"", Tone::kQuiet};
  std::string text;
  Tone tone = Tone::kQuiet;
  for (const model::RdmaPort& port : device.ports) {
    if (!text.empty()) text += "; ";
    if (device.ports.size() > 1) text += fmt::format("port {}: ", port.number);
    if (port.link_layer == model::LinkLayer::kInfiniBand) text += "InfiniBand";
    if (port.link_layer == model::LinkLayer::kEthernet) text += "Ethernet";
    if (port.link_layer == model::LinkLayer::kUnknown) text += "RDMA";
    if (const BitsPerSecond* rate = port.rate.get()) text += " " + angio::in_words(*rate);
    if (const std::string* speed = port.speed_name.get(); speed != nullptr && !speed->empty())
      text += " " + *speed;
    if (const std::string* state = port.state.get(); state != nullptr && *state != "ACTIVE") {
      text += ", " + *state;
      tone = Tone::kCritical;
    }
  }
  return {text, tone};
}

std::string number_ranges(std::vector<std::uint32_t> numbers) {
  std::ranges::sort(numbers);
  numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
  std::string text;
  for (std::size_t i = 0; i < numbers.size();) {
    std::size_t last = i;
    while (last + 1 < numbers.size() && numbers[last + 1] == numbers[last] + 1)
      ++last;
    if (!text.empty()) text += ",";
    text += last == i ? fmt::format("{}", numbers[i]) : fmt::format("{}-{}", numbers[i], numbers[last]);
    i = last + 1;
  }
  return text;
}

std::string name_list(const Machine& machine, const std::vector<model::DeviceRef>& devices) {
  std::vector<std::pair<std::string, std::vector<std::uint32_t>>> groups;
  for (const model::DeviceRef device : devices) {
    const std::string name = device_name(machine, device);
    const std::size_t digits = name.find_last_not_of("0123456789") + 1;
    const auto number = parse_integer<std::uint32_t>(std::string_view(name).substr(digits));
    const std::string stem = number ? name.substr(0, digits) : name;
    auto group = std::ranges::find(groups, stem, &std::pair<std::string, std::vector<std::uint32_t>>::first);
    if (group == groups.end()) group = groups.insert(groups.end(), {stem, {}});
    if (number) group->second.push_back(*number);
  }
  std::vector<std::string> words;
  for (const auto& [stem, numbers] : groups) {
    const bool gpus = stem == "GPU " && numbers.size() > 1;
    words.push_back((gpus ? "GPUs " : stem) + number_ranges(numbers));
  }
  return join(words, ", ");
}

namespace {

std::uint32_t active_links(const model::Gpu& gpu) {
  return static_cast<std::uint32_t>(
      std::ranges::count(gpu.links, model::LinkState::kActive, &model::GpuLink::state));
}

}  // namespace

NvLinkCount count_nvlinks(const Machine& machine, std::uint32_t index) {
  const model::Gpu& gpu = machine.gpus[index];
  NvLinkCount count;
  count.total = static_cast<std::uint32_t>(gpu.links.size());
  count.active = active_links(gpu);
  for (const model::GpuLink& link : gpu.links) {
    const bool counts = link.state == model::LinkState::kActive && link.peer_kind == model::PeerKind::kSwitch;
    count.to_switch += counts ? 1 : 0;
  }
  const std::string name = gpu.name.value_or({});
  for (const model::Gpu& other : machine.gpus) {
    if (other.name.value_or({}) == name && active_links(other) > count.active) count.fewer_than_alike = true;
  }
  return count;
}

std::string_view link_family(const Machine& machine) {
  const auto amd = [](const model::Gpu& gpu) { return gpu.vendor == model::GpuVendor::kAmd; };
  return !machine.gpus.empty() && std::ranges::all_of(machine.gpus, amd) ? "xGMI" : "NVLink";
}

std::vector<model::DeviceRef> matrix_nics(const Machine& machine) {
  std::vector<model::DeviceRef> nics;
  const auto stated = [&](model::DeviceRef device) {
    return machine.stated_paths &&
           std::ranges::find(machine.stated_paths->devices, device) != machine.stated_paths->devices.end();
  };
  for (std::uint32_t i = 0; i < machine.rdma.size(); ++i) {
    if (!machine.rdma[i].virtual_function) nics.push_back({model::DeviceKind::kRdma, i});
  }
  if (nics.empty()) {
    for (std::uint32_t i = 0; i < machine.rdma.size(); ++i)
      nics.push_back({model::DeviceKind::kRdma, i});
  }
  const bool rdma = !nics.empty();
  for (std::uint32_t i = 0; i < machine.networks.size(); ++i) {
    const model::DeviceRef device{model::DeviceKind::kNetwork, i};
    if (stated(device) || (!rdma && machine.networks[i].pci)) nics.push_back(device);
  }
  return nics;
}

}  // namespace angio::views
