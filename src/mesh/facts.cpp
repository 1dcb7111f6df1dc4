#include "mesh/facts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <tuple>

#include "base/format.hpp"
#include "base/text.hpp"
#include "knowledge/knowledge.hpp"

namespace angio::mesh {
namespace {

using model::Machine;
using model::MeshHost;
using model::MeshNic;

constexpr PciAddress kNowhere{~0U, 0xff, 0xff, 0xff};  // behind all that have a place

void take_pci(const Machine& machine, std::optional<std::uint32_t> index, MeshNic& nic) {
  if (!index || *index >= machine.pci.devices.size()) return;
  const auto* link = machine.pci.devices[*index].link.get();
  if (link == nullptr || link->lanes == 0) return;
  nic.pcie_words = fmt::format("{} x{}", in_words(link->speed), link->lanes);
  nic.pcie = knowledge::pcie_rate(*link);
}

template <typename Device>
void take_numa(const Device& device, MeshNic& nic) {
  if (const auto* node = device.numa.get()) nic.numa = static_cast<std::int32_t>(node->value);
}

std::string plain_address(std::string_view text) {
  return std::string(text.substr(0, text.find('/')));
}

// The address that others can reach: IPv4 before IPv6, link-local ones last and only if there is no other.
std::string best_address(const std::vector<std::string>& addresses) {
  std::string best;
  int best_rank = 0;
  for (const std::string& text : addresses) {
    const std::string address = plain_address(text);
    const bool v6 = contains(address, ":");
    const bool local = address.starts_with("fe80") || address.starts_with("169.254.");
    const int rank = local ? 0 : v6 ? 1 : 2;
    if (rank > best_rank) {
      best = address;
      best_rank = rank;
    }
  }
  return best;
}

// Drivers of interfaces that are memory only announce a speed all the same: veth 10 Gb/s, tun 10 Mb/s, and a
// bridge what its members say.
bool invents_speed(const model::NetDevice& device) {
  return device.kind.is("virtual") || device.kind.is("bridge") || device.kind.is("loopback");
}

// rxe and siw show the speed of an interface as a rate of InfiniBand, or a made-up one.
bool is_software(const model::RdmaDevice& device) {
  return device.name.starts_with("rxe") || device.name.starts_with("siw") ||
         (!device.pci && device.address.is_absent());
}

MeshNic interface_of(const Machine& machine, const model::NetDevice& device) {
  MeshNic nic;
  nic.name = device.name;
  nic.address = best_address(device.addresses);
  const auto* speed = device.speed.get();
  if (speed != nullptr && speed->value > 0 && !invents_speed(device)) nic.rate = *speed;
  if (const auto* mtu = device.mtu.get()) nic.netdev_mtu = Bytes{*mtu};
  take_pci(machine, device.pci, nic);
  take_numa(device, nic);
  return nic;
}

MeshNic port_of(const Machine& machine, const model::RdmaDevice& device, const model::RdmaPort& port) {
  MeshNic nic;
  nic.name = device.name;
  nic.port = port.number;
  if (port.link_layer == model::LinkLayer::kInfiniBand) nic.link_layer = "InfiniBand";
  if (port.link_layer == model::LinkLayer::kEthernet) nic.link_layer = "Ethernet";
  const auto* rate = port.rate.get();
  if (rate != nullptr && rate->value > 0 && !is_software(device)) nic.rate = *rate;
  const auto* lanes = port.lanes.get();
  const auto* speed = port.speed_name.get();
  if (lanes != nullptr && speed != nullptr) nic.rate_name = fmt::format("{}x {}", *lanes, *speed);
  if (const auto* mtu = port.active_mtu.get()) nic.path_mtu = *mtu;
  take_pci(machine, device.pci, nic);
  take_numa(device, nic);
  return nic;
}

// "mlx5_1:1" of a wish.
bool is_port(const MeshNic& nic, std::string_view wish) {
  const std::size_t colon = wish.find(':');
  if (nic.name != wish.substr(0, colon)) return false;
  return colon == std::string_view::npos || std::to_string(nic.port) == wish.substr(colon + 1);
}

std::optional<std::array<std::uint8_t, 4>> parse_ipv4(std::string_view text) {
  const auto parts = split(text, '.');
  if (parts.size() != 4) return std::nullopt;
  std::array<std::uint8_t, 4> bytes{};
  for (std::size_t i = 0; i < 4; ++i) {
    const auto byte = parse_integer<std::uint8_t>(parts[i]);
    if (!byte) return std::nullopt;
    bytes[i] = *byte;
  }
  return bytes;
}

bool is_in_network(std::string_view address, std::string_view network) {
  const std::size_t slash = network.find('/');
  const auto own = parse_ipv4(address);
  const auto other = parse_ipv4(network.substr(0, slash));
  const auto bits = parse_integer<std::uint32_t>(network.substr(slash + 1));
  if (!own || !other || !bits || *bits > 32) return false;
  for (std::uint32_t bit = 0; bit < *bits; ++bit) {
    const auto mask = static_cast<std::uint8_t>(0x80U >> bit % 8);
    if (((*own)[bit / 8] & mask) != ((*other)[bit / 8] & mask)) return false;
  }
  return true;
}

bool is_interface(const MeshNic& nic, std::string_view wish) {
  if (nic.name == wish || nic.address == wish) return true;
  if (contains(wish, "/")) return is_in_network(nic.address, wish);
  return (wish.ends_with(".") || wish.ends_with(":")) && nic.address.starts_with(wish);
}

template <typename Matches>
std::vector<MeshNic> choose(const std::vector<MeshNic>& nics, const std::vector<std::string>& wishes,
                            const std::string& host, const char* what, const Matches& matches,
                            std::vector<std::string>& notes) {
  std::vector<MeshNic> chosen;
  for (const std::string& wish : wishes) {
    const auto found = std::ranges::find_if(nics, [&](const MeshNic& nic) { return matches(nic, wish); });
    if (found == nics.end()) {
      notes.push_back(fmt::format("{} has no {} {}", host, what, wish));
      chosen.emplace_back();  // keeps the rail's place
      continue;
    }
    chosen.push_back(*found);
  }
  while (!chosen.empty() && chosen.back().name.empty() && chosen.back().address.empty())
    chosen.pop_back();
  return chosen;
}

// "n0=mlx5_1" is for that host alone.
std::vector<std::string> words_for(const std::string& host, const std::vector<std::string>& wishes) {
  std::vector<std::string> words;
  for (const std::string& wish : wishes) {
    const std::size_t equals = wish.find('=');
    if (equals == std::string::npos) {
      words.push_back(wish);
    } else if (wish.substr(0, equals) == host) {
      words.push_back(wish.substr(equals + 1));
    }
  }
  return words;
}

}  // namespace

MeshHost nics_of(const Machine& machine) {
  MeshHost host;
  host.facts = "its own probe";
  using Placed = std::tuple<PciAddress, std::string, std::uint32_t, MeshNic>;
  const auto place = [](const auto& device) { return device.address.value_or(kNowhere); };
  const auto sort_into = [](std::vector<Placed>& placed, std::vector<MeshNic>& nics) {
    std::ranges::stable_sort(placed, [](const Placed& a, const Placed& b) {
      return std::tie(std::get<0>(a), std::get<1>(a), std::get<2>(a)) <
             std::tie(std::get<0>(b), std::get<1>(b), std::get<2>(b));
    });
    for (Placed& one : placed)
      nics.push_back(std::move(std::get<3>(one)));
  };
  std::vector<Placed> interfaces;
  for (const model::NetDevice& device : machine.networks) {
    MeshNic nic = interface_of(machine, device);
    if (!nic.address.empty()) interfaces.emplace_back(place(device), device.name, 0, std::move(nic));
  }
  sort_into(interfaces, host.tcp);
  std::vector<Placed> ports;
  for (const model::RdmaDevice& device : machine.rdma) {
    for (const model::RdmaPort& port : device.ports) {
      if (port.state.is("ACTIVE"))
        ports.emplace_back(place(device), device.name, port.number, port_of(machine, device, port));
    }
  }
  sort_into(ports, host.rdma);
  return host;
}

void select_nics(const NicWish& wish, MeshHost& host, std::vector<std::string>& notes) {
  if (!wish.devices.empty())
    host.rdma =
        choose(host.rdma, words_for(host.name, wish.devices), host.name, "active RDMA port", is_port, notes);
  if (!wish.interfaces.empty()) {
    host.tcp =
        choose(host.tcp, words_for(host.name, wish.interfaces), host.name, "interface", is_interface, notes);
    return;
  }
  const auto used = std::ranges::find(host.tcp, wish.used_address, &MeshNic::address);
  MeshNic nic;
  if (used != host.tcp.end()) nic = *used;
  nic.address = wish.used_address;
  host.tcp = {std::move(nic)};
}

void take_facts(const MeshHost& known, MeshHost& host) {
  bool any = false;
  const auto take = [&any](const std::vector<MeshNic>& from, std::vector<MeshNic>& to) {
    for (MeshNic& nic : to) {
      const auto found = std::ranges::find_if(
          from, [&](const MeshNic& one) { return one.name == nic.name && one.port == nic.port; });
      if (nic.name.empty() || found == from.end()) continue;
      const std::string address = nic.address;
      nic = *found;
      if (!address.empty()) nic.address = address;
      any = true;
    }
  };
  take(known.tcp, host.tcp);
  take(known.rdma, host.rdma);
  if (any) host.facts = known.facts;
}

}  // namespace angio::mesh
