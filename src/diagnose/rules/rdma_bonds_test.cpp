#include <gtest/gtest.h>

#include "diagnose/test_machines.hpp"

namespace angio::test {
namespace {

model::NetDevice interface(const std::string& name, double speed) {
  model::NetDevice netdev;
  netdev.name = name;
  netdev.kind = known<std::string>("physical", "device");
  netdev.speed = known(BitsPerSecond{speed}, "speed");
  netdev.carrier = known(true, "carrier");
  netdev.state = known<std::string>("up", "operstate");
  netdev.bond_master = known<std::string>("bond0", "master");
  netdev.address = known(pci(name == "ens1f0" ? "0000:f1:00.0" : "0000:f1:00.1"), "device");
  return netdev;
}

// mlx5_bond_0 over ens1f0 and ens1f1, LACP, both in aggregator 1.
Machine bonded() {
  Machine machine = dgx_roce();
  model::NetDevice bond;
  bond.name = "bond0";
  bond.kind = known<std::string>("bond", "bonding");
  bond.bond_members = {"ens1f0", "ens1f1"};
  machine.rdma[7].name = "mlx5_bond_0";
  machine.rdma[7].bond = true;
  machine.rdma[7].netdevs = {"ens1f0", "bond0"};
  machine.networks = {interface("ens1f0", 200e9), interface("ens1f1", 200e9), bond};
  add_rdma_host(machine);
  auto& facts = rdma_host(machine).interfaces;
  facts.resize(3);
  facts[2].bond_mode = known<std::string>("802.3ad", "mode");
  for (auto& one : facts)
    one.aggregator = known(1U, "ad_aggregator");
  return machine;
}

TEST(RdmaBondDegraded, FiresOnAMemberWithoutALink) {
  Machine machine = bonded();
  machine.networks[1].carrier = known(false, "carrier");
  const auto found = findings_of(machine, "rdma.bond.degraded");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].title, "bond0 of mlx5_bond_0 runs on 1 of 2 members: ens1f1 has no link");
  EXPECT_EQ(found[0].cost.text, "1 of 2 links of the bond");
  EXPECT_NEAR(found[0].rank, 0.5, 1e-9);
  ASSERT_EQ(found[0].fixes.size(), 1U);
  EXPECT_EQ(found[0].fixes[0].command, "sudo mlxlink -d 0000:f1:00.1 -m");
  EXPECT_EQ(found[0].severity, model::Severity::kWarning);
}

TEST(RdmaBondDegraded, FiresAsInformationWithActiveBackup) {
  Machine machine = bonded();
  machine.networks[1].state = known<std::string>("down", "operstate");
  rdma_host(machine).interfaces[2].bond_mode = known<std::string>("active-backup", "mode");
  const auto found = findings_of(machine, "rdma.bond.degraded");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].severity, model::Severity::kInfo);
  EXPECT_EQ(found[0].cost.text, "no spare link");
}

TEST(RdmaBondDegraded, FiresOnAMemberThatLacpLeavesOut) {
  Machine machine = bonded();
  rdma_host(machine).interfaces[0].aggregator = known(2U, "ad_aggregator_id");
  const auto found = findings_of(machine, "rdma.bond.degraded");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].title,
            "bond0 of mlx5_bond_0 runs on 1 of 2 members: ens1f0 linked, but left out by LACP");
  EXPECT_EQ(found[0].evidence.at(0).text, "ens1f0 is in aggregator 2, bond0 uses 1");
}

TEST(RdmaBondDegraded, FiresOnASlowMember) {
  Machine machine = bonded();
  machine.networks[1].speed = known(BitsPerSecond{100e9}, "speed");
  const auto found = findings_of(machine, "rdma.bond.degraded");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].title, "ens1f1 in bond0 of mlx5_bond_0 runs at 100 Gb/s, another member at 200 Gb/s");
  EXPECT_EQ(found[0].cost.text, "12.5 GB/s of 25 GB/s on this member");
  EXPECT_NEAR(found[0].rank, 0.25, 1e-9);
}

TEST(RdmaBondDegraded, SilentOnAWholeBondAndWithoutOne) {
  EXPECT_TRUE(held(bonded(), "rdma.bond.degraded"));
  Machine old = bonded();  // a source that knows nothing of LACP
  rdma_host(old).interfaces.clear();
  EXPECT_TRUE(held(old, "rdma.bond.degraded"));
  EXPECT_TRUE(not_applicable(dgx_roce(), "rdma.bond.degraded"));
}

TEST(RdmaBondDegraded, UndecidedWithoutTheMembers) {
  Machine machine = bonded();
  deny(machine.networks[1].carrier);
  EXPECT_EQ(undecided_of(machine, "rdma.bond.degraded").size(), 1U);
}

}  // namespace
}  // namespace angio::test
