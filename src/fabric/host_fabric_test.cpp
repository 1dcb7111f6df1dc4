#include <fmt/format.h>
#include <gtest/gtest.h>

#include "fabric/fabric.hpp"

namespace angio::fabric {
namespace {

using model::Machine;
using model::Observed;

const model::Source kSource{};

void add_adapter(Machine& machine, std::uint32_t number, const std::string& address,
                 model::LinkLayer layer = model::LinkLayer::kEthernet) {
  model::NetDevice interface;
  interface.name = fmt::format("eth{}", number);
  if (!address.empty()) interface.addresses = {address};
  machine.networks.push_back(interface);
  model::RdmaDevice device;
  device.name = fmt::format("mlx5_{}", number);
  device.netdevs = {interface.name};
  model::RdmaPort port;
  port.link_layer = layer;
  port.state = Observed<std::string>::known("ACTIVE", kSource);
  port.rate = Observed<BitsPerSecond>::known({400e9}, kSource);
  device.ports.push_back(port);
  machine.rdma.push_back(device);
}

// Hosts with one subnet a rail.
std::vector<Machine> hosts(std::uint32_t count, std::uint32_t rails) {
  std::vector<Machine> machines(count);
  for (std::uint32_t host = 0; host < count; ++host) {
    machines[host].name = fmt::format("gpu-{}", host);
    for (std::uint32_t rail = 0; rail < rails; ++rail)
      add_adapter(machines[host], rail, fmt::format("10.{}.0.{}/24", rail, host + 1));
  }
  return machines;
}

TEST(HostFabric, AdaptersHangOffTheSubnetsOfTheirAddresses) {
  const auto machines = hosts(4, 2);
  const auto fabric = make_host_fabric(machines);
  ASSERT_TRUE(fabric.has_value());
  EXPECT_EQ(fabric->kind, model::FabricKind::kEthernet);
  const auto report = analyse(*fabric, {&machines});
  EXPECT_EQ(report.facts.adapters, 8U);
  EXPECT_EQ(report.facts.subnets, 2U);
  EXPECT_EQ(report.facts.switches, 0U);
  EXPECT_EQ(report.facts.links, 8U);
  EXPECT_EQ(report.hosts.size(), 4U);
  EXPECT_EQ(report.facts.rails.size(), 2U);
}

TEST(HostFabric, ClaimsNothingOfSwitchesThatNobodySaw) {
  const auto machines = hosts(4, 1);
  const auto report = analyse(*make_host_fabric(machines), {&machines});
  EXPECT_TRUE(report.findings.empty());
  EXPECT_TRUE(report.facts.single_points.empty());
  EXPECT_TRUE(report.facts.levels.empty());
  EXPECT_EQ(report.facts.shape, model::FabricShape::kUnknown);
  EXPECT_NE(report.facts.shape_why.find("not known"), std::string::npos);
}

TEST(HostFabric, AnAdapterInTheSubnetOfAnotherRailIsNamed) {
  auto machines = hosts(8, 4);
  machines[3].networks[2].addresses = {"10.1.0.77/24"};
  const auto report = analyse(*make_host_fabric(machines), {&machines});
  ASSERT_EQ(report.findings.size(), 1U);
  EXPECT_NE(report.findings[0].finding.title.find("gpu-3 mlx5_2"), std::string::npos);
}

TEST(HostFabric, BondsAndVlansLendTheirAddresses) {
  auto machines = hosts(2, 1);
  for (Machine& machine : machines) {
    model::NetDevice bond;
    bond.name = "bond0";
    bond.addresses = std::move(machine.networks[0].addresses);
    machine.networks[0].addresses.clear();
    machine.networks[0].bond_master = Observed<std::string>::known("bond0", kSource);
    machine.networks.push_back(bond);
  }
  EXPECT_EQ(analyse(*make_host_fabric(machines), {&machines}).facts.links, 2U);
}

TEST(HostFabric, OfTwoSnapshotsOfAHostTheNewerCounts) {
  auto machines = hosts(2, 1);
  machines[1].name = machines[0].name;
  machines[0].captured = Observed<std::string>::known("2026-11-02T08:00:00Z", kSource);
  machines[1].captured = Observed<std::string>::known("2026-11-01T08:00:00Z", kSource);
  const auto fabric = make_host_fabric(machines);
  ASSERT_EQ(fabric->nodes.size(), 2U);
  EXPECT_EQ(fabric->notes[0].id, "fabric.older-snapshot");
}

TEST(HostFabric, Ipv6NetworksJoinToo) {
  std::vector<Machine> machines(2);
  for (std::uint32_t host = 0; host < 2; ++host) {
    machines[host].name = fmt::format("gpu-{}", host);
    add_adapter(machines[host], 0, fmt::format("2001:db8:1:2::{}/64", host + 1));
    machines[host].networks[0].addresses.emplace_back("fe80::1/64");
  }
  const auto fabric = make_host_fabric(machines);
  ASSERT_EQ(fabric->nodes.size(), 3U);
  EXPECT_EQ(fabric->nodes[1].description, "subnet 2001:db8:1:2::/64");
}

TEST(HostFabric, PortsWithoutAnAddressAndInfiniBandAreSaid) {
  auto machines = hosts(1, 1);
  add_adapter(machines[0], 1, "");
  add_adapter(machines[0], 2, "10.9.0.1/24", model::LinkLayer::kInfiniBand);
  const auto fabric = make_host_fabric(machines);
  ASSERT_EQ(fabric->notes.size(), 2U);
  EXPECT_EQ(fabric->notes[0].id, "fabric.infiniband-ports");
  EXPECT_EQ(fabric->notes[1].id, "fabric.no-address");
  const std::vector<Machine> none(1);
  EXPECT_FALSE(make_host_fabric(none).has_value());
}

}  // namespace
}  // namespace angio::fabric
