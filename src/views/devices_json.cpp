#include "views/devices_json.hpp"

#include <fmt/format.h>

#include "views/observed_json.hpp"

namespace angio::views {
namespace {

using model::Machine;

Json link_json(const Machine& machine, const model::Observed<model::PciLink>& link) {
  return observed_json(machine, link, [](const model::PciLink& value) {
    return Json::object({{"speed_transfers_per_second", value.speed.value}, {"lanes", value.lanes}});
  });
}

std::string_view port_word(model::PciPort port) {
  switch (port) {
    case model::PciPort::kUnknown:
      return "unknown";
    case model::PciPort::kEndpoint:
      return "endpoint";
    case model::PciPort::kRootPort:
      return "root_port";
    case model::PciPort::kSwitchUpstream:
      return "switch_upstream";
    case model::PciPort::kSwitchDownstream:
      return "switch_downstream";
    case model::PciPort::kOther:
      return "other";
  }
  return "unknown";
}

Json pci_device_json(const Machine& machine, const model::PciDevice& device) {
  Json json = Json::object({{"address", to_string(device.address)}});
  if (device.parent && *device.parent < machine.pci.devices.size()) {
    json.set("parent", to_string(machine.pci.devices[*device.parent].address));
  }
  json.set("root_complex", device.root_complex);
  json.set("class", fmt::format("{:06x}", device.class_code));
  json.set("vendor", fmt::format("{:04x}", device.vendor));
  json.set("device", fmt::format("{:04x}", device.device));
  json.set("port", port_word(device.port));
  json.set("driver", observed_json(machine, device.driver));
  json.set("numa_node", observed_json(machine, device.numa));
  json.set("local_cpus", observed_json(machine, device.local_cpus));
  json.set("link", link_json(machine, device.link));
  json.set("link_max", link_json(machine, device.link_max));
  if (device.physical_function) json.set("physical_function", to_string(*device.physical_function));
  return json;
}

std::string_view state_word(model::LinkState state) {
  if (state == model::LinkState::kActive) return "active";
  return state == model::LinkState::kInactive ? "inactive" : "unknown";
}

std::string_view peer_word(model::PeerKind kind) {
  switch (kind) {
    case model::PeerKind::kGpu:
      return "gpu";
    case model::PeerKind::kSwitch:
      return "switch";
    case model::PeerKind::kCpu:
      return "cpu";
    case model::PeerKind::kUnknown:
      break;
  }
  return "unknown";
}

std::string_view vendor_word(model::GpuVendor vendor) {
  switch (vendor) {
    case model::GpuVendor::kNvidia:
      return "nvidia";
    case model::GpuVendor::kAmd:
      return "amd";
    case model::GpuVendor::kIntel:
      return "intel";
    case model::GpuVendor::kUnknown:
      break;
  }
  return "unknown";
}

Json gpu_json(const Machine& machine, const model::Gpu& gpu) {
  Json links = Json::array();
  for (const model::GpuLink& link : gpu.links) {
    links.push_back(Json::object({{"index", link.index},
                                  {"state", state_word(link.state)},
                                  {"version", observed_json(machine, link.version)},
                                  {"peer_kind", peer_word(link.peer_kind)},
                                  {"peer", observed_json(machine, link.peer)}}));
  }
  return Json::object({{"index", gpu.index},
                       {"vendor", vendor_word(gpu.vendor)},
                       {"address", observed_json(machine, gpu.address)},
                       {"name", observed_json(machine, gpu.name)},
                       {"uuid", observed_json(machine, gpu.uuid)},
                       {"memory_bytes", observed_json(machine, gpu.memory)},
                       {"numa_node", observed_json(machine, gpu.numa)},
                       {"memory_numa_node", observed_json(machine, gpu.memory_numa)},
                       {"coherent_link", observed_json(machine, gpu.coherent_link)},
                       {"links", std::move(links)}});
}

std::string_view layer_word(model::LinkLayer layer) {
  if (layer == model::LinkLayer::kInfiniBand) return "infiniband";
  return layer == model::LinkLayer::kEthernet ? "ethernet" : "unknown";
}

Json rdma_device_json(const Machine& machine, const model::RdmaDevice& device) {
  Json ports = Json::array();
  for (const model::RdmaPort& port : device.ports) {
    ports.push_back(Json::object({{"number", port.number},
                                  {"state", observed_json(machine, port.state)},
                                  {"physical_state", observed_json(machine, port.physical_state)},
                                  {"rate_bits_per_second", observed_json(machine, port.rate)},
                                  {"lanes", observed_json(machine, port.lanes)},
                                  {"speed_name", observed_json(machine, port.speed_name)},
                                  {"link_layer", layer_word(port.link_layer)}}));
  }
  return Json::object({{"name", device.name},
                       {"address", observed_json(machine, device.address)},
                       {"numa_node", observed_json(machine, device.numa)},
                       {"firmware", observed_json(machine, device.firmware)},
                       {"board_id", observed_json(machine, device.board_id)},
                       {"virtual_function", device.virtual_function},
                       {"network_interfaces", plain_json(device.netdevs)},
                       {"ports", std::move(ports)}});
}

}  // namespace

Json pci_json(const Machine& machine) {
  Json devices = Json::array();
  for (const model::PciDevice& device : machine.pci.devices)
    devices.push_back(pci_device_json(machine, device));
  return devices;
}

Json gpus_json(const Machine& machine) {
  Json gpus = Json::array();
  for (const model::Gpu& gpu : machine.gpus)
    gpus.push_back(gpu_json(machine, gpu));
  return gpus;
}

Json rdma_json(const Machine& machine) {
  Json devices = Json::array();
  for (const model::RdmaDevice& device : machine.rdma)
    devices.push_back(rdma_device_json(machine, device));
  return devices;
}

Json networks_json(const Machine& machine) {
  Json networks = Json::array();
  for (const model::NetDevice& network : machine.networks) {
    networks.push_back(Json::object({{"name", network.name},
                                     {"kind", observed_json(machine, network.kind)},
                                     {"address", observed_json(machine, network.address)},
                                     {"driver", observed_json(machine, network.driver)},
                                     {"state", observed_json(machine, network.state)},
                                     {"speed_bits_per_second", observed_json(machine, network.speed)},
                                     {"mtu_bytes", observed_json(machine, network.mtu)},
                                     {"numa_node", observed_json(machine, network.numa)}}));
  }
  return networks;
}

}  // namespace angio::views
