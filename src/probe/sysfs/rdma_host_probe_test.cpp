#include "probe/sysfs/rdma_host_probe.hpp"

#include <gtest/gtest.h>

#include <cerrno>

#include "host/discreet.hpp"
#include "probe/sysfs/network_probe.hpp"
#include "probe/sysfs/probe_fixture.hpp"

namespace angio::probe {
namespace {

model::Machine one_adapter() {
  model::Machine machine;
  model::PciDevice nic;
  nic.address = {0, 0x18, 0, 0};
  machine.pci.devices = {nic};
  return machine;
}

host::Recording roce() {
  host::Recording recording;
  const std::string device = "/sys/class/infiniband/mlx5_0";
  recording[device].link = "../../devices/pci0000:15/0000:15:01.0/0000:18:00.0/infiniband/mlx5_0";
  recording[device + "/device/net/eth2"].exists = true;
  recording[device + "/ports/1/state"].content = "4: ACTIVE\n";
  recording[device + "/ports/1/link_layer"].content = "Ethernet\n";
  for (int slot = 0; slot < 12; ++slot)
    recording[device + "/ports/1/gids/" + std::to_string(slot)].content =
        "0000:0000:0000:0000:0000:0000:0000:0000\n";
  recording[device + "/tc/1/traffic_class"].content = "Global tclass=106\n";
  recording["/sys/class/net/eth2/mtu"].content = "9000\n";
  recording["/sys/class/net/eth2/type"].content = "1\n";
  recording["/sys/class/net/eth2/device"].link = "../../../0000:18:00.0";
  recording["/sys/class/net/eth2/phys_port_name"].content = "p0\n";
  recording["/sys/class/net/ib0/mtu"].content = "2044\n";
  recording["/sys/class/net/ib0/type"].content = "32\n";
  recording["/sys/class/net/ib0/mode"].content = "datagram\n";
  recording["/proc/sys/net/ipv4/conf/eth2/arp_ignore"].content = "1\n";
  recording["/proc/sys/net/ipv4/conf/eth2/rp_filter"].content = "words\n";
  recording["/proc/sys/net/core/rmem_max"].content = "212992\n";
  recording["/proc/sys/net/ipv4/tcp_rmem"].content = "4096\t131072\t6291456\n";
  const std::string pci = "/sys/bus/pci/devices/0000:18:00.0";
  for (int irq = 30; irq < 60; ++irq) {
    recording[pci + "/msi_irqs/" + std::to_string(irq)].content = "msix\n";
    recording["/proc/irq/" + std::to_string(irq) + "/smp_affinity_list"].content = "0-1\n";
  }
  recording["/proc/irq/31/smp_affinity_list"].content = std::unexpected(host::ReadError{EACCES, {}});
  return recording;
}

model::Machine probed(host::Recording recording) {
  model::Machine machine = one_adapter();
  const auto root = host::make_memory_root(std::move(recording), host::Scope::kComplete);
  probe_network(*root, machine);
  probe_rdma_host(*root, machine);
  return machine;
}

TEST(RdmaHostProbe, DevicesAndInterfaces) {
  const model::Machine machine = probed(roce());
  ASSERT_NE(machine.rdma_host, nullptr);
  ASSERT_EQ(machine.rdma_host->devices.size(), 1U);
  const model::RdmaDeviceFacts& device = machine.rdma_host->devices[0];
  EXPECT_TRUE(device.gid_slots.at(0).is(12));
  EXPECT_TRUE(device.traffic_class.is(106));
  EXPECT_TRUE(device.interrupts.is(30));
  ASSERT_EQ(device.first_interrupts.size(), 16U);
  EXPECT_EQ(device.first_interrupts[0].number, 30U);
  EXPECT_EQ(to_list(device.first_interrupts[0].allowed.value_or({})), "0-1");
  EXPECT_EQ(device.first_interrupts[1].allowed.reason(), model::Reason::kDenied);
  EXPECT_TRUE(device.relaxed_ordering.is_absent());  // no configuration space in this tree
  ASSERT_EQ(machine.rdma_host->interfaces.size(), 2U);
  EXPECT_TRUE(machine.rdma_host->interfaces[0].port_name.is("p0"));
  EXPECT_TRUE(machine.rdma_host->interfaces[0].arp_ignore.is(1));
  EXPECT_TRUE(machine.rdma_host->interfaces[0].arp_announce.is_absent());
  EXPECT_EQ(machine.rdma_host->interfaces[0].rp_filter.reason(), model::Reason::kUnparsable);
  EXPECT_TRUE(machine.rdma_host->interfaces[1].ipoib_mode.is("datagram"));
  EXPECT_TRUE(machine.rdma_host->sysctls.at("net.core.rmem_max").is("212992"));
  EXPECT_TRUE(machine.rdma_host->sysctls.at("net.core.somaxconn").is_absent());
}

TEST(RdmaHostProbe, BondsAndTheirMembers) {
  host::Recording recording;
  const auto put = [&](const std::string& path, const std::string& text) {
    recording["/sys/class/net/" + path].content = text;
  };
  put("bond0/operstate", "up");
  put("bond0/bonding/slaves", "eth0 eth1");
  put("bond0/bonding/mode", "802.3ad 4\n");
  put("bond0/bonding/ad_aggregator", "1\n");
  put("eth0/operstate", "up");
  put("eth0/bonding_slave/ad_aggregator_id", "2\n");
  recording["/sys/class/net/eth0/master"].link = "../bond0";
  const model::Machine machine = probed(recording);
  ASSERT_EQ(machine.networks.size(), 2U);
  EXPECT_TRUE(machine.rdma_host->interfaces[0].bond_mode.is("802.3ad"));
  EXPECT_TRUE(machine.rdma_host->interfaces[0].aggregator.is(1));
  EXPECT_TRUE(machine.rdma_host->interfaces[1].aggregator.is(2));
}

TEST(RdmaHostProbe, RelaxedOrderingFromConfigurationSpace) {
  std::string config(256, '\0');
  config[0x06] = 0x10;  // has capabilities
  config[0x34] = 0x60;
  config[0x60] = 0x10;  // PCI Express
  config[0x68] = 0x10;  // Device Control: relaxed ordering
  host::Recording recording = roce();
  recording["/sys/bus/pci/devices/0000:18:00.0/config"].content = config;
  EXPECT_TRUE(probed(recording).rdma_host->devices[0].relaxed_ordering.is(true));
  config[0x68] = 0;
  recording["/sys/bus/pci/devices/0000:18:00.0/config"].content = config;
  EXPECT_TRUE(probed(recording).rdma_host->devices[0].relaxed_ordering.is(false));
  recording["/sys/bus/pci/devices/0000:18:00.0/config"].content = config.substr(0, 64);
  EXPECT_EQ(probed(recording).rdma_host->devices[0].relaxed_ordering.reason(), model::Reason::kDenied);
}

TEST(RdmaHostProbe, NothingWithoutANetwork) {
  model::Machine machine;
  const auto root = host::make_memory_root({}, host::Scope::kComplete);
  probe_rdma_host(*root, machine);
  EXPECT_EQ(machine.rdma_host, nullptr);
}

TEST(TrafficClass, Forms) {
  EXPECT_EQ(parse_traffic_class("Global tclass=106\n"), 106U);
  EXPECT_EQ(parse_traffic_class("96"), 96U);
  EXPECT_EQ(parse_traffic_class("Global tclass=256"), std::nullopt);
  EXPECT_EQ(parse_traffic_class(""), std::nullopt);
}

constexpr const char* kMounts =
    "25 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n"
    "90 25 0:50 / /data rw shared:30 - nfs4 10.1.0.9:/export/secret rw,vers=4.1,proto=rdma,port=20049,"
    "clientaddr=10.1.0.5,addr=10.1.0.9\n"
    "91 25 0:51 / /scratch rw shared:31 - lustre 10.2.0.9@o2ib:10.2.0.10@o2ib:/scratch rw,flock\n"
    "92 25 0:52 / /home rw - nfs4 filer.example:/home/people "
    "rw,proto=tcp,clientaddr=10.9.0.5,addr=10.9.0.1\n";

TEST(NetworkMounts, TransportAndAddresses) {
  const auto mounts = parse_network_mounts(kMounts, 7);
  ASSERT_EQ(mounts.size(), 3U);
  EXPECT_EQ(mounts[0].type, "nfs4");
  EXPECT_EQ(mounts[0].transport, "rdma");
  EXPECT_EQ(mounts[0].client_address, "10.1.0.5");
  EXPECT_EQ(mounts[0].server, "10.1.0.9");
  EXPECT_EQ(mounts[0].source.line, 2U);
  EXPECT_EQ(mounts[1].type, "lustre");
  EXPECT_EQ(mounts[1].transport, "rdma");
  EXPECT_EQ(mounts[1].server, "10.2.0.9");
  EXPECT_EQ(mounts[2].transport, "tcp");
}

// What a snapshot keeps of them says the same, without names and paths.
TEST(NetworkMounts, TheReducedTextTellsTheSame) {
  const std::string reduced = host::reduced_mounts(kMounts);
  for (const char* secret : {"secret", "people", "filer", "/data", "scratch", "/home"})
    EXPECT_EQ(reduced.find(secret), std::string::npos) << secret << " in " << reduced;
  const auto whole = parse_network_mounts(kMounts, 0);
  const auto kept = parse_network_mounts(reduced, 0);
  ASSERT_EQ(kept.size(), whole.size());
  for (std::size_t i = 0; i < whole.size(); ++i) {
    EXPECT_EQ(kept[i].type, whole[i].type);
    EXPECT_EQ(kept[i].transport, whole[i].transport);
    EXPECT_EQ(kept[i].server, whole[i].server);
    EXPECT_EQ(kept[i].client_address, whole[i].client_address);
  }
  EXPECT_EQ(host::reduced_mounts(reduced), reduced);
  // a host whose name is made of hexadecimal letters is a name still
  EXPECT_EQ(host::reduced_mounts("92 25 0:52 / /home rw - nfs4 cafe.beef:/home rw,proto=tcp,addr=10.9.0.1\n"),
            "0 0 0:0 / /... rw - nfs4 ... rw,proto=tcp,addr=10.9.0.1\n");
}

TEST(NetworkMounts, BrokenLines) {
  EXPECT_TRUE(parse_network_mounts("", 0).empty());
  EXPECT_TRUE(parse_network_mounts("- nfs4\n- nfs4 x\n1 2 3 - - -\n", 0).size() <= 1);
}

}  // namespace
}  // namespace angio::probe
