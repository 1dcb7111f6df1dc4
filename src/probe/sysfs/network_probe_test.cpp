#include "probe/sysfs/network_probe.hpp"

#include <gtest/gtest.h>

#include <cerrno>
#include <string>

#include "probe/sysfs/locality.hpp"
#include "probe/sysfs/netdev.hpp"
#include "probe/sysfs/rdma_port.hpp"

namespace angio::probe {
namespace {

void fail_with(host::Recording& recording, const std::string& path, int error) {
  recording[path].content = std::unexpected(host::ReadError{error, {}});
}

void probe(host::Recording recording, model::Machine& machine) {
  probe_network(*host::make_memory_root(std::move(recording), host::Scope::kComplete), machine);
}

// A RoCE port with a sparse GID table, as mlx5 shows it.
host::Recording roce() {
  host::Recording recording;
  const std::string device = "/sys/class/infiniband/mlx5_0";
  recording[device].link = "../../devices/pci0000:15/0000:15:01.0/0000:18:00.0/infiniband/mlx5_0";
  recording[device + "/fw_ver"].content = "28.39.3004\n";
  recording[device + "/board_id"].content = "MT_0000000838\n";
  recording[device + "/hca_type"].content = "MT4129\n";
  recording[device + "/node_guid"].content = "a088:c203:00aa:bbcc\n";
  recording[device + "/node_type"].content = "1: CA\n";
  recording[device + "/device/numa_node"].content = "1\n";
  recording[device + "/device/net/eth2"].exists = true;
  const std::string port = device + "/ports/1";
  recording[port + "/state"].content = "4: ACTIVE\n";
  recording[port + "/phys_state"].content = "5: LinkUp\n";
  recording[port + "/rate"].content = "400 Gb/sec (4X NDR)\n";
  recording[port + "/link_layer"].content = "Ethernet\n";
  recording[port + "/lid"].content = "0x0\n";
  recording[port + "/sm_lid"].content = "0x1d\n";
  for (const int slot : {0, 1, 2, 3, 10, 255}) {
    recording[port + "/gids/" + std::to_string(slot)].content = "0000:0000:0000:0000:0000:0000:0000:0000\n";
    fail_with(recording, port + "/gid_attrs/types/" + std::to_string(slot), EINVAL);
  }
  recording[port + "/gids/3"].content = "0000:0000:0000:0000:0000:ffff:0a00:0005\n";
  recording[port + "/gid_attrs/types/3"].content = "RoCE v2\n";
  recording[port + "/gid_attrs/ndevs/3"].content = "eth2\n";
  recording[port + "/gids/255"].content = "fe80:0000:0000:0000:a288:c2ff:feaa:bbcc\n";
  recording[port + "/counters/link_downed"].content = "255\n";
  recording[port + "/counters/port_xmit_data"].content = "18446744073709551615\n";
  fail_with(recording, port + "/counters/port_rcv_data", EINVAL);
  recording[port + "/counters/VL15_dropped"].content = "N/A (no PMA)\n";
  recording[port + "/hw_counters/out_of_sequence"].content = "12\n";
  recording[port + "/hw_counters/lifespan"].content = "10\n";
  recording["/@verbs/mlx5_0/1/active_mtu"].content = "1024";
  recording["/@verbs/mlx5_0/1/max_mtu"].content = "4096";
  return recording;
}

TEST(NetworkProbe, RoceDevice) {
  model::Machine machine;
  probe(roce(), machine);
  ASSERT_EQ(machine.rdma.size(), 1U);
  const model::RdmaDevice& device = machine.rdma[0];
  EXPECT_EQ(device.name, "mlx5_0");
  EXPECT_TRUE(device.address.is({0, 0x18, 0, 0}));
  EXPECT_FALSE(device.pci.has_value());
  EXPECT_TRUE(device.firmware.is("28.39.3004"));
  EXPECT_TRUE(device.board_id.is("MT_0000000838"));
  EXPECT_TRUE(device.node_guid.is("a088:c203:00aa:bbcc"));
  EXPECT_TRUE(device.node_type.is("CA"));
  EXPECT_TRUE(device.numa.is({1}));
  EXPECT_FALSE(device.bond);
  EXPECT_FALSE(device.virtual_function);
  EXPECT_EQ(device.netdevs, (std::vector<std::string>{"eth2"}));
  ASSERT_EQ(device.ports.size(), 1U);
  const model::RdmaPort& port = device.ports[0];
  EXPECT_TRUE(port.state.is("ACTIVE"));
  EXPECT_TRUE(port.physical_state.is("LinkUp"));
  EXPECT_TRUE(port.rate.is({400e9}));
  EXPECT_TRUE(port.lanes.is(4));
  EXPECT_TRUE(port.speed_name.is("NDR"));
  EXPECT_EQ(port.link_layer, model::LinkLayer::kEthernet);
  EXPECT_TRUE(port.lid.is({0}));
  EXPECT_TRUE(port.sm_lid.is({0x1d}));
  EXPECT_TRUE(port.active_mtu.is({1024}));
  EXPECT_TRUE(port.max_mtu.is({4096}));
}

TEST(NetworkProbe, SparseGidsAreAllFound) {
  model::Machine machine;
  probe(roce(), machine);
  const std::vector<model::Gid>& gids = machine.rdma.at(0).ports.at(0).gids;
  ASSERT_EQ(gids.size(), 2U);
  EXPECT_EQ(gids[0].index, 3U);
  EXPECT_EQ(gids[0].gid, "0000:0000:0000:0000:0000:ffff:0a00:0005");
  EXPECT_TRUE(gids[0].type.is("RoCE v2"));
  EXPECT_TRUE(gids[0].netdev.is("eth2"));
  EXPECT_EQ(gids[1].index, 255U);
  EXPECT_EQ(gids[1].type.error(), EINVAL);
  EXPECT_TRUE(gids[1].netdev.is_absent());
}

TEST(NetworkProbe, OneBadCounterLosesNoOther) {
  model::Machine machine;
  probe(roce(), machine);
  const model::RdmaPort& port = machine.rdma.at(0).ports.at(0);
  ASSERT_EQ(port.counters.size(), 4U);
  EXPECT_TRUE(port.counters.at("link_downed").is(255));
  EXPECT_TRUE(port.counters.at("port_xmit_data").is(18446744073709551615U));
  EXPECT_EQ(port.counters.at("port_rcv_data").error(), EINVAL);
  EXPECT_EQ(port.counters.at("VL15_dropped").reason(), model::Reason::kUnparsable);
  EXPECT_EQ(cite(machine, port.counters.at("link_downed").source()),
            "/sys/class/infiniband/mlx5_0/ports/1/counters/link_downed");
  ASSERT_EQ(port.hw_counters.size(), 1U);  // lifespan is no counter
  EXPECT_TRUE(port.hw_counters.at("out_of_sequence").is(12));
}

TEST(NetworkProbe, PciGivesNodeAndVirtualFunction) {
  host::Recording recording = roce();
  recording["/sys/class/net/roce7/mtu"].content = "4200\n";
  recording["/sys/class/net/roce7/device"].link = "../../../0000:18:00.0";
  model::Machine machine;
  model::PciDevice bridge;
  bridge.address = {0, 0x15, 1, 0};
  bridge.numa = Observed<NumaId>::known({2}, {machine.places.add("/bridge"), 0, "numa_node"});
  model::PciDevice nic;
  nic.address = {0, 0x18, 0, 0};
  nic.parent = 0;
  nic.numa = Observed<NumaId>::absent({});
  nic.physical_function = PciAddress{0, 0x18, 0, 1};
  machine.pci.devices = {bridge, nic};
  probe(std::move(recording), machine);
  const model::RdmaDevice& device = machine.rdma.at(0);
  EXPECT_EQ(device.pci, 1U);
  EXPECT_TRUE(device.virtual_function);
  EXPECT_EQ(device.netdevs, (std::vector<std::string>{"eth2", "roce7"}));
  EXPECT_EQ(machine.networks.at(0).pci, 1U);
  EXPECT_TRUE(device.numa.is({2}));
  EXPECT_EQ(cite(machine, device.numa.source()), "/bridge/numa_node");
}

TEST(NetworkProbe, BondsByNameOrByInterface) {
  host::Recording recording;
  recording["/sys/class/infiniband/mlx5_bond_0/fw_ver"].content = "1\n";
  recording["/sys/class/infiniband/rocep1s0/device/net/bond7"].exists = true;
  recording["/sys/class/infiniband/rxe0/parent"].content = "eth0\n";
  recording["/sys/class/net/bond7/mtu"].content = "9000\n";
  recording["/sys/class/net/bond7/bonding/slaves"].content = "eth1 eth2\n";
  recording["/sys/class/net/eth1/mtu"].content = "9000\n";
  recording["/sys/class/net/eth1/master"].link = "../bond7";
  recording["/sys/class/net/bonding_masters"].content = "bond7\n";
  model::Machine machine;
  probe(std::move(recording), machine);
  ASSERT_EQ(machine.rdma.size(), 3U);
  EXPECT_TRUE(machine.rdma[0].bond);
  EXPECT_TRUE(machine.rdma[1].bond);
  EXPECT_FALSE(machine.rdma[2].bond);
  EXPECT_EQ(machine.rdma[2].netdevs, (std::vector<std::string>{"eth0"}));
  ASSERT_EQ(machine.networks.size(), 2U);
  EXPECT_TRUE(machine.networks[0].kind.is("bond"));
  EXPECT_EQ(machine.networks[0].bond_members, (std::vector<std::string>{"eth1", "eth2"}));
  EXPECT_TRUE(machine.networks[1].bond_master.is("bond7"));
}

TEST(NetworkProbe, InterfaceUpAndDown) {
  host::Recording recording;
  const std::string up = "/sys/class/net/eth0";
  recording[up].link = "../../devices/pci0000:00/0000:00:03.0/virtio2/net/eth0";
  recording[up + "/device"].link = "../../../virtio2";
  recording[up + "/device/driver"].link = "../../../../bus/virtio/drivers/virtio_net";
  recording[up + "/speed"].content = "100000\n";
  recording[up + "/mtu"].content = "9000\n";
  recording[up + "/carrier"].content = "1\n";
  recording[up + "/operstate"].content = "up\n";
  recording[up + "/address"].content = "02:00:00:00:00:01\n";
  recording[up + "/type"].content = "1\n";
  recording[up + "/qos/trust"].content = "dscp\n";
  recording[up + "/ecn/roce_np/enable/3"].content = "1\n";
  const std::string down = "/sys/class/net/eth1";
  fail_with(recording, down + "/speed", EINVAL);
  fail_with(recording, down + "/carrier", EINVAL);
  recording[down + "/mtu"].content = "1500\n";
  recording[down + "/operstate"].content = "down\n";
  recording["/sys/class/net/ib0/type"].content = "32\n";
  recording["/sys/class/net/ib0/mtu"].content = "2044\n";
  recording["/sys/class/net/ib0/speed"].content = "-1\n";
  recording["/sys/class/net/lo/type"].content = "772\n";
  recording["/sys/class/net/lo/mtu"].content = "65536\n";
  recording["/@net/addresses"].content = "eth0 10.0.0.5/24\neth0 fe80::1/64\nlo 127.0.0.1/8\n";
  model::Machine machine;
  probe(std::move(recording), machine);
  ASSERT_EQ(machine.networks.size(), 4U);
  const model::NetDevice& eth0 = machine.networks[0];
  EXPECT_TRUE(eth0.address.is({0, 0, 3, 0}));
  EXPECT_TRUE(eth0.driver.is("virtio_net"));
  EXPECT_TRUE(eth0.speed.is({100e9}));
  EXPECT_TRUE(eth0.mtu.is(9000));
  EXPECT_TRUE(eth0.carrier.is(true));
  EXPECT_TRUE(eth0.kind.is("physical"));
  EXPECT_EQ(eth0.addresses, (std::vector<std::string>{"10.0.0.5/24", "fe80::1/64"}));
  EXPECT_EQ(eth0.qos,
            (std::map<std::string, std::string>{{"ecn/roce_np/enable/3", "1"}, {"qos/trust", "dscp"}}));
  EXPECT_TRUE(machine.networks[1].speed.is_absent());
  EXPECT_TRUE(machine.networks[1].carrier.is_absent());
  EXPECT_TRUE(machine.networks[1].kind.is("virtual"));
  EXPECT_TRUE(machine.networks[2].kind.is("ipoib"));
  EXPECT_TRUE(machine.networks[2].speed.is_absent());
  EXPECT_TRUE(machine.networks[3].kind.is("loopback"));
  EXPECT_EQ(machine.networks[3].addresses, (std::vector<std::string>{"127.0.0.1/8"}));
}

TEST(PortRate, EveryFormOfTheKernel) {
  const auto rate = [](std::string_view text) { return parse_port_rate(text).value_or(PortRate{}); };
  EXPECT_EQ(rate("400 Gb/sec (4X NDR)").rate, BitsPerSecond{400e9});
  EXPECT_EQ(rate("2.5 Gb/sec (1X SDR)").rate, BitsPerSecond{2.5e9});
  EXPECT_EQ(rate("200 Gb/sec (2X NDR)").lanes, 2U);
  EXPECT_EQ(rate("10 Gb/sec (4X)").lanes, 4U);
  EXPECT_EQ(rate("10 Gb/sec (4X)").speed_name, "");
  EXPECT_EQ(rate("800 Gb/sec (4X XDR)").speed_name, "XDR");
  for (const char* bad :
       {"", "400", "400 Gb/sec", "400 GB/sec (4X NDR)", "x Gb/sec (4X NDR)", "400 Gb/sec (NDR)",
        "400 Gb/sec 4X NDR", "-1 Gb/sec (4X NDR)", "400 Gb/sec (4X NDR) more"}) {
    EXPECT_FALSE(parse_port_rate(bad).has_value()) << bad;
  }
}

TEST(Locality, TheLastAddressOfALink) {
  EXPECT_EQ(last_pci_address("../../devices/pci0000:00/0000:00:03.0/virtio2/net/eth0"),
            (PciAddress{0, 0, 3, 0}));
  EXPECT_EQ(last_pci_address("../../../10000:e1:00.0"), (PciAddress{0x10000, 0xe1, 0, 0}));
  EXPECT_EQ(last_pci_address("../../devices/virtual/net/lo"), std::nullopt);
  EXPECT_EQ(last_pci_address(""), std::nullopt);
}

TEST(Addresses, ByInterface) {
  const auto addresses = parse_addresses("eth1 10.0.0.1/8\neth10 10.0.0.2/8\neth1 fe80::1/64\nbroken\n");
  ASSERT_EQ(addresses.size(), 2U);
  EXPECT_EQ(addresses.at("eth1"), (std::vector<std::string>{"10.0.0.1/8", "fe80::1/64"}));
  EXPECT_TRUE(parse_addresses("").empty());
}

}  // namespace
}  // namespace angio::probe
