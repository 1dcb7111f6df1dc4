// Hosts that look odd and are healthy: no rule about RDMA or the cluster may find anything in them.
#include <gtest/gtest.h>

#include "diagnose/test_machines.hpp"

namespace angio::test {
namespace {

// "rule: title" of what was found about RDMA.
std::vector<std::string> complaints(const Machine& machine) {
  std::vector<std::string> found;
  for (const model::Finding& finding : diagnose::diagnose(machine).findings) {
    const bool about = finding.rule.starts_with("rdma.") || finding.rule.starts_with("cluster.") ||
                       finding.rule.starts_with("process.setting") || finding.rule.starts_with("system.rdma");
    if (about) found.push_back(finding.rule + ": " + finding.title);
  }
  return found;
}

using Nothing = std::vector<std::string>;

TEST(OddHosts, HealthyOnes) {
  EXPECT_EQ(complaints(dgx_h100()), Nothing());
  EXPECT_EQ(complaints(dgx_roce()), Nothing());
  EXPECT_EQ(complaints(plain_host()), Nothing());
}

TEST(OddHosts, OneAdapterWithOnePort) {
  Machine machine = dgx_h100();
  machine.rdma.resize(1);
  machine.gpus.resize(1);
  add_rdma_host(machine);
  EXPECT_EQ(complaints(machine), Nothing());
}

TEST(OddHosts, DualPortCardsWithTheSecondPortUnused) {
  Machine machine = dgx_h100();
  for (model::RdmaDevice& device : machine.rdma) {
    model::RdmaPort second = device.ports[0];
    second.number = 2;
    set(second.state, std::string("DOWN"));
    set(second.physical_state, std::string("Polling"));
    set(second.rate, BitsPerSecond{10e9});
    set(second.sm_lid, Lid{0});
    device.ports.push_back(second);
  }
  add_rdma_host(machine);
  EXPECT_EQ(complaints(machine), Nothing());
}

// The second ports are functions of their own, none of them cabled.
TEST(OddHosts, SecondFunctionsUncabled) {
  Machine machine = dgx_h100();
  const std::vector<model::RdmaDevice> first = machine.rdma;
  for (model::RdmaDevice device : first) {
    device.name += "_p1";
    set(device.ports[0].state, std::string("DOWN"));
    set(device.ports[0].physical_state, std::string("Disabled"));
    machine.rdma.push_back(device);
  }
  add_rdma_host(machine);
  EXPECT_EQ(complaints(machine), Nothing());
}

TEST(OddHosts, ACloudMachineWithVirtualFunctions) {
  Machine machine = dgx_h100();
  machine.software.virtual_machine = known<std::string>("Hyper-V", "dmi");
  for (model::RdmaDevice& device : machine.rdma) {
    forget(device.board_id);
    model::PciDevice& function = machine.pci.devices[*device.pci];
    forget(function.link);
    forget(function.link_max);
    function.parent.reset();
    function.acs = absent<model::AccessControl>();
  }
  for (auto& facts : rdma_host(machine).devices) {
    facts.relaxed_ordering = absent<bool>();
    facts.interrupts = known(3U, "msi_irqs");
    facts.first_interrupts.resize(3);
  }
  EXPECT_EQ(complaints(machine), Nothing());
}

// AWS EFA: the link layer is "Unspecified", there is one GID, link-local, and no interface below it.
TEST(OddHosts, Efa) {
  Machine machine = dgx_h100();
  for (std::size_t i = 0; i < machine.rdma.size(); ++i) {
    model::RdmaDevice& device = machine.rdma[i];
    device.name = "rdmap" + std::to_string(79 + i) + "s0";
    forget(device.board_id);
    set(device.hca_type, std::string("0xefa1"));
    model::RdmaPort& port = device.ports[0];
    port.link_layer = model::LinkLayer::kUnknown;
    set(port.rate, BitsPerSecond{100e9});
    forget(port.sm_lid);
    port.gids = {gid_entry(0, "fe80:0000:0000:0000:0000:00ff:fe00:0001", "")};
    port.active_mtu = known(Bytes{4096}, "active_mtu");
  }
  machine.software.modules =
      known<std::vector<std::string>>({"efa", "ib_core", "ib_uverbs", "nvidia"}, "modules");
  machine.software.virtual_machine = known<std::string>("Nitro", "dmi");
  EXPECT_EQ(complaints(machine), Nothing());
}

// A pod with an interface of its own on each adapter: the table has the entries of other pods too.
TEST(OddHosts, APodWithMacvlanInterfaces) {
  Machine machine = dgx_roce();
  machine.software.container = known<std::string>("kubernetes", "env");
  for (std::uint32_t i = 0; i < 8; ++i) {
    model::RdmaPort& port = machine.rdma[i].ports[0];
    const std::string name = "net" + std::to_string(i + 1);
    machine.networks[i].name = name;
    machine.networks[i].pci.reset();
    machine.networks[i].qos.clear();
    set(machine.networks[i].kind, std::string("virtual"));
    machine.rdma[i].netdevs = {name};
    for (model::Gid& one : port.gids) {
      one.index += 4 + 4 * i;
      one.netdev = known(name, "ndevs");
    }
    port.gids.insert(port.gids.begin(), gid_entry(3, "0000:0000:0000:0000:0000:ffff:0a63:0001", ""));
  }
  EXPECT_EQ(complaints(machine), Nothing());
}

TEST(OddHosts, IpoibDownByDesign) {
  Machine machine = dgx_h100();
  for (std::size_t i = 0; i < 8; ++i) {
    model::NetDevice ipoib;
    ipoib.name = "ib" + std::to_string(i);
    ipoib.pci = machine.rdma[i].pci;
    ipoib.kind = known<std::string>("ipoib", "type");
    ipoib.state = known<std::string>("down", "operstate");
    ipoib.mtu = known(2044U, "mtu");
    machine.rdma[i].netdevs = {ipoib.name};
    machine.networks.push_back(ipoib);
  }
  add_rdma_host(machine);
  EXPECT_EQ(complaints(machine), Nothing());
}

// A storage bond beside the compute ports, which the jobs leave out.
TEST(OddHosts, BondedStorageThatJobsLeaveOut) {
  Machine machine = dgx_h100();
  model::RdmaDevice bond = machine.rdma[0];
  bond.name = "mlx5_bond_0";
  bond.bond = true;
  set(bond.board_id, std::string("MT_0000001093"));
  bond.ports[0].link_layer = model::LinkLayer::kEthernet;
  set(bond.ports[0].rate, BitsPerSecond{200e9});
  bond.ports[0].gids = mlx5_gids(9, 5, "bond0");
  bond.ports[0].active_mtu = known(Bytes{1024}, "active_mtu");
  bond.netdevs = {"bond0"};
  machine.rdma.push_back(bond);
  model::NetDevice netdev;
  netdev.name = "bond0";
  netdev.kind = known<std::string>("bond", "bonding");
  netdev.mtu = known(1500U, "mtu");
  netdev.addresses = {"10.9.0.5/24"};
  machine.networks.push_back(netdev);
  machine.software.settings = {{"NCCL_IB_HCA", "^=mlx5_bond_0", at("nccl.conf")}};
  add_rdma_host(machine);
  auto found = complaints(machine);
  // the bond's own path MTU is below what it can: an information, whoever uses it
  std::erase_if(found, [](const std::string& text) { return text.starts_with("rdma.roce.mtu-low"); });
  EXPECT_EQ(found, Nothing());
}

// A DPU in switch mode: one device with a port for each representor, down while no guest runs.
TEST(OddHosts, RepresentorsOfADpu) {
  Machine machine = dgx_h100();
  model::RdmaDevice dpu = machine.rdma[0];
  dpu.name = "mlx5_8";
  set(dpu.board_id, std::string("MT_0000000884"));
  dpu.ports[0].link_layer = model::LinkLayer::kEthernet;
  set(dpu.ports[0].rate, BitsPerSecond{25e9});
  set(dpu.ports[0].state, std::string("DOWN"));
  set(dpu.ports[0].physical_state, std::string("Disabled"));
  dpu.ports[0].gids.clear();
  for (std::uint32_t number = 2; number < 6; ++number) {
    model::RdmaPort representor = dpu.ports[0];
    representor.number = number;
    dpu.ports.push_back(representor);
  }
  machine.rdma.push_back(dpu);
  add_rdma_host(machine);
  EXPECT_EQ(complaints(machine), Nothing());
}

}  // namespace
}  // namespace angio::test
