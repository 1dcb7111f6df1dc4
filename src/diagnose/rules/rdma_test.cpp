#include <gtest/gtest.h>

#include "diagnose/test_machines.hpp"

namespace angio::test {
namespace {

model::RdmaPort& port(Machine& machine, std::size_t device) {
  return machine.rdma[device].ports[0];
}

Machine roce() {
  Machine machine = dgx_h100();
  for (std::size_t i = 0; i < 8; ++i) {
    model::RdmaPort& one = port(machine, i);
    one.link_layer = model::LinkLayer::kEthernet;
    model::Gid gid;
    gid.index = 3;
    gid.gid = "0000:0000:0000:0000:0000:ffff:0a00:0001";
    gid.type = known<std::string>("RoCE v2", "types/3");
    one.gids = {gid};
    model::NetDevice netdev;
    netdev.name = "rdma" + std::to_string(i);
    netdev.mtu = known(9000U, "mtu");
    machine.rdma[i].netdevs = {netdev.name};
    machine.networks.push_back(netdev);
  }
  return machine;
}

TEST(RdmaPortNoSubnetManager, FiresOnInit) {
  Machine machine = dgx_h100();
  set(port(machine, 2).state, std::string("INIT"));
  set(port(machine, 2).sm_lid, Lid{0});
  const auto found = findings_of(machine, "rdma.port.no-subnet-manager");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].title, "mlx5_2 is linked but no subnet manager configured it (INIT)");
  EXPECT_EQ(found[0].evidence[0].text,
            "state INIT: the link works, but no subnet manager has given the port a LID");
  EXPECT_EQ(found[0].evidence[1].text, "SM LID 0: it never heard of one");
}

TEST(RdmaPortNoSubnetManager, FiresOnArmedWithOtherWords) {
  Machine machine = dgx_h100();
  set(port(machine, 2).state, std::string("ARMED"));
  const auto found = findings_of(machine, "rdma.port.no-subnet-manager");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].title, "mlx5_2 is linked, but the subnet manager did not activate it (ARMED)");
}

TEST(RdmaPortNoSubnetManager, FiresOnceForPortsAlike) {
  Machine machine = dgx_h100();
  for (std::size_t i = 0; i < 8; ++i)
    set(port(machine, i).state, std::string("INIT"));
  const auto found = findings_of(machine, "rdma.port.no-subnet-manager");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].title,
            "mlx5_0 to mlx5_7 are linked but no subnet manager configured "
            "them (INIT)");
  EXPECT_EQ(found[0].devices.size(), 8U);
  EXPECT_EQ(found[0].evidence[0].text,
            "each: state INIT: the link works, but no subnet manager has given the port a LID");
}

TEST(RdmaPortNoSubnetManager, SilentOnActiveAndOnRoce) {
  EXPECT_TRUE(held(dgx_h100(), "rdma.port.no-subnet-manager"));
  EXPECT_TRUE(not_applicable(roce(), "rdma.port.no-subnet-manager"));
}

TEST(RdmaPortNoSubnetManager, UndecidedWithoutTheState) {
  Machine machine = dgx_h100();
  deny(port(machine, 2).state);
  EXPECT_EQ(undecided_of(machine, "rdma.port.no-subnet-manager").size(), 1U);
}

TEST(RdmaPortDown, FiresOnTheOneAmongItsLikes) {
  Machine machine = dgx_h100();
  set(port(machine, 6).state, std::string("DOWN"));
  set(port(machine, 6).physical_state, std::string("Polling"));
  const auto found = findings_of(machine, "rdma.port.down");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].title, "mlx5_6 is down, 7 of 8 like ports are active");
  EXPECT_EQ(
      found[0].evidence[1].text,
      "physical state Polling: it sends and hears no partner: no cable, a dead cable or transceiver, or the "
      "other end is off");
}

TEST(RdmaPortDown, FiresOnAPortThatTheJobNamesWhateverItsSiblingsDo) {
  Machine machine = dgx_h100();
  set(port(machine, 6).state, std::string("DOWN"));
  set(machine.rdma[6].board_id, std::string("MT_0000000437"));
  machine.software.settings = {{"NCCL_IB_HCA", "=mlx5_5,mlx5_6", at("nccl.conf")}};
  const auto found = findings_of(machine, "rdma.port.down");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].title, "mlx5_6 is down, and NCCL_IB_HCA names it");
  machine.software.settings[0].value = "mlx5";  // a prefix names none
  EXPECT_TRUE(held(machine, "rdma.port.down"));
  machine.software.settings[0].value = "^mlx5_6";
  EXPECT_TRUE(held(machine, "rdma.port.down"));
}

TEST(RdmaPortDown, FiresAsInformationWhereSomebodyDisabledIt) {
  Machine machine = dgx_h100();
  set(port(machine, 6).state, std::string("DOWN"));
  set(port(machine, 6).physical_state, std::string("Disabled"));
  auto found = findings_of(machine, "rdma.port.down");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].severity, model::Severity::kInfo);
  EXPECT_EQ(found[0].title, "mlx5_6 is disabled, 7 of 8 like ports are active");
  ASSERT_EQ(found[0].fixes.size(), 1U);
  EXPECT_EQ(found[0].fixes[0].command, "sudo mlxlink -d mlx5_6 --port_state UP");
  Machine ethernet = roce();
  set(port(ethernet, 6).state, std::string("DOWN"));
  set(port(ethernet, 6).physical_state, std::string("Disabled"));
  found = findings_of(ethernet, "rdma.port.down");
  EXPECT_EQ(found.at(0).fixes.at(0).command, "sudo ip link set dev rdma6 up");
}

TEST(RdmaPortDown, FiresOnceForTwoAlike) {
  Machine machine = dgx_h100();
  for (const std::size_t i : {5U, 6U})
    set(port(machine, i).state, std::string("DOWN"));
  const auto found = findings_of(machine, "rdma.port.down");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].title, "mlx5_5, mlx5_6 are down, 6 of 8 like ports are active");
  EXPECT_EQ(found[0].cost.text, "2 of 8 ports");
  EXPECT_NEAR(found[0].rank, 0.25, 1e-9);
}

TEST(RdmaPortDown, SilentOnAdaptersLeftUncabled) {
  Machine machine = dgx_h100();
  set(port(machine, 6).state, std::string("DOWN"));
  set(machine.rdma[6].board_id, std::string("MT_0000000437"));  // another board: storage, unused
  EXPECT_TRUE(held(machine, "rdma.port.down"));
}

TEST(RdmaPortDown, UndecidedWithoutTheState) {
  Machine machine = dgx_h100();
  deny(port(machine, 6).state);
  EXPECT_EQ(undecided_of(machine, "rdma.port.down").size(), 1U);
}

TEST(RdmaPortSlow, FiresAgainstALikePortWithTheRateLost) {
  Machine machine = dgx_h100();
  set(port(machine, 3).rate, BitsPerSecond{200e9});
  const auto found = findings_of(machine, "rdma.port.slow");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].title, "mlx5_3 runs at 200 Gb/s, a like port at 400 Gb/s");
  EXPECT_EQ(found[0].cost.text, "25 GB/s of 50 GB/s a port");
  EXPECT_NEAR(found[0].rank, 0.5, 1e-9);
}

// One board type for compute and for storage, whose switch is slower.
TEST(RdmaPortSlow, FiresAsInformationOnPortsThatTheJobsLeaveOut) {
  Machine machine = dgx_h100();
  set(port(machine, 7).rate, BitsPerSecond{200e9});
  machine.software.settings = {{"NCCL_IB_HCA", "^=mlx5_7", at("nccl.conf")}};
  const auto found = findings_of(machine, "rdma.port.slow");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].severity, model::Severity::kInfo);
  EXPECT_EQ(found[0].title, "mlx5_7 runs at 200 Gb/s, a like port at 400 Gb/s; NCCL_IB_HCA leaves it out");
}

TEST(RdmaPortSlow, FiresOnOneLaneAlone) {
  Machine machine = dgx_h100();
  set(port(machine, 3).rate, BitsPerSecond{100e9});
  set(port(machine, 3).lanes, 1U);
  const auto found = findings_of(machine, "rdma.port.slow");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].title, "mlx5_3 runs on one lane, 100 Gb/s");
}

TEST(RdmaPortSlow, SilentOnAnotherBoardsSpeed) {
  Machine machine = dgx_h100();
  set(port(machine, 3).rate, BitsPerSecond{200e9});
  set(machine.rdma[3].board_id, std::string("MT_0000000437"));
  EXPECT_TRUE(held(machine, "rdma.port.slow"));
}

TEST(RdmaPortSlow, UndecidedOnTheOnlyFastPort) {
  Machine machine = dgx_h100();
  machine.rdma.resize(1);
  const auto gaps = undecided_of(machine, "rdma.port.slow");
  ASSERT_EQ(gaps.size(), 1U);
  EXPECT_EQ(gaps[0].missing,
            "what mlx5_0 could run at: no like port to compare with, and sysfs tells only the rate in use");
}

TEST(RdmaPortSlow, UndecidedWithoutTheRate) {
  Machine machine = dgx_h100();
  deny(port(machine, 3).rate);
  EXPECT_EQ(undecided_of(machine, "rdma.port.slow").size(), 1U);
}

TEST(RdmaPortMixed, FiresOnSlowRoceBesideInfiniBand) {
  Machine machine = dgx_h100();
  port(machine, 3).link_layer = model::LinkLayer::kEthernet;
  set(port(machine, 3).rate, BitsPerSecond{40e9});
  const auto found = findings_of(machine, "rdma.port.mixed");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].severity, model::Severity::kWarning);
  EXPECT_EQ(found[0].fixes[0].text,
            "Name the fast ports, exactly: "
            "NCCL_IB_HCA=\"=mlx5_0,mlx5_1,mlx5_2,mlx5_4,mlx5_5,mlx5_6,mlx5_7\"");
}

TEST(RdmaPortMixed, SilentOnAPortThatWasTrainedDown) {
  Machine machine = dgx_h100();
  set(port(machine, 3).rate, BitsPerSecond{200e9});  // rdma.port.slow
  EXPECT_TRUE(held(machine, "rdma.port.mixed"));
  set(machine.rdma[3].board_id, std::string("MT_0000000437"));  // another board: another kind
  EXPECT_EQ(findings_of(machine, "rdma.port.mixed").size(), 1U);
}

TEST(RdmaPortMixed, FiresOnTheSecondPortOfADevice) {
  Machine machine = dgx_h100();
  model::RdmaPort second = port(machine, 0);
  second.number = 2;
  second.link_layer = model::LinkLayer::kEthernet;
  set(second.rate, BitsPerSecond{40e9});
  machine.rdma[0].ports.push_back(second);
  EXPECT_EQ(findings_of(machine, "rdma.port.mixed").at(0).fixes.at(0).text,
            "Name the fast ports, exactly: "
            "NCCL_IB_HCA=\"=mlx5_0:1,mlx5_1,mlx5_2,mlx5_3,mlx5_4,mlx5_5,mlx5_6,mlx5_7\"");
}

TEST(RdmaPortMixed, FiresWithinTheReachOfAPrefix) {
  Machine machine = dgx_h100();
  port(machine, 3).link_layer = model::LinkLayer::kEthernet;
  set(port(machine, 3).rate, BitsPerSecond{40e9});
  machine.software.settings.push_back({"NCCL_IB_HCA", "mlx5", at("environment")});
  const auto found = findings_of(machine, "rdma.port.mixed");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].evidence.at(1).text, "NCCL_IB_HCA=mlx5 takes them all");
}

// A bond of the compute ports' speed and link layer: only what it carries tells that it is for files.
TEST(RdmaPortMixed, FiresOnABondThatCarriesAFileSystem) {
  Machine machine = dgx_roce();
  machine.rdma[7].bond = true;
  EXPECT_TRUE(held(machine, "rdma.port.mixed"));
  model::NetworkMount mount{"nfs4", "rdma", "10.7.0.200", "10.7.0.5", at("mountinfo")};
  rdma_host(machine).mounts = known(std::vector{mount}, "mountinfo");
  const auto found = findings_of(machine, "rdma.port.mixed");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].severity, model::Severity::kWarning);
  EXPECT_EQ(found[0].evidence.back().text, "mlx5_7 carries a file system: nfs4 over rdma");
  EXPECT_EQ(found[0].fixes.at(0).text,
            "Name the fast ports, exactly: "
            "NCCL_IB_HCA=\"=mlx5_0,mlx5_1,mlx5_2,mlx5_3,mlx5_4,mlx5_5,mlx5_6\"");
}

TEST(RdmaPortMixed, SilentWhereFilesAndCollectivesShareLikePorts) {
  Machine machine = dgx_roce();
  model::NetworkMount mount{"nfs4", "tcp", "10.7.0.200", "10.7.0.5", at("mountinfo")};
  rdma_host(machine).mounts = known(std::vector{mount}, "mountinfo");
  EXPECT_TRUE(held(machine, "rdma.port.mixed"));
}

TEST(RdmaPortMixed, SilentWhenChosen) {
  Machine machine = dgx_h100();
  port(machine, 3).link_layer = model::LinkLayer::kEthernet;
  machine.software.settings.push_back({"NCCL_IB_HCA", "=mlx5_0", at("environment")});
  EXPECT_TRUE(held(machine, "rdma.port.mixed"));
  EXPECT_TRUE(held(dgx_h100(), "rdma.port.mixed"));
}

TEST(RdmaPortMixed, UndecidedWithoutTheRate) {
  Machine machine = dgx_h100();
  deny(port(machine, 3).rate);
  EXPECT_EQ(undecided_of(machine, "rdma.port.mixed").size(), 1U);
}

TEST(RdmaPortUnsettled, FiresWhileTheLinkIsTrainedAgain) {
  Machine machine = dgx_h100();
  set(port(machine, 4).physical_state, std::string("LinkErrorRecovery"));
  auto found = findings_of(machine, "rdma.port.unsettled");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].title, "mlx5_4 counts as active while its link is being trained again");
  set(port(machine, 4).physical_state, std::string("LinkUp"));
  set(port(machine, 4).state, std::string("ACTIVE_DEFER"));
  EXPECT_EQ(findings_of(machine, "rdma.port.unsettled").size(), 1U);
}

TEST(RdmaPortUnsettled, SilentOnLinkUpAndOnPortsThatAreDown) {
  EXPECT_TRUE(held(dgx_h100(), "rdma.port.unsettled"));
  Machine machine = dgx_h100();
  set(port(machine, 4).state, std::string("DOWN"));
  set(port(machine, 4).physical_state, std::string("Polling"));
  EXPECT_TRUE(held(machine, "rdma.port.unsettled"));
}

TEST(RdmaPortUnsettled, UndecidedWithoutThePhysicalState) {
  Machine machine = dgx_h100();
  deny(port(machine, 4).physical_state);
  EXPECT_EQ(undecided_of(machine, "rdma.port.unsettled").size(), 1U);
}

TEST(RdmaRoceMtuAboveNetdev, FiresOnASmallerVlanAboveThePort) {
  Machine machine = dgx_roce();
  model::NetDevice vlan;
  vlan.name = "rdma0.100";
  vlan.mtu = known(1500U, "mtu");
  machine.networks.push_back(vlan);
  for (model::Gid& one : port(machine, 0).gids)
    one.netdev = known<std::string>("rdma0.100", "ndevs");
  const auto found = findings_of(machine, "rdma.roce.mtu-above-netdev");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].title, "mlx5_0 uses a path MTU of 4096 over an interface of 1500");
  EXPECT_EQ(found[0].evidence.at(0).text, "path MTU 4096, 4156 with its headers");
  EXPECT_EQ(found[0].fixes.at(0).command, "sudo ip link set dev rdma0.100 mtu 9000");
}

TEST(RdmaRoceMtuAboveNetdev, SilentWhereItFits) {
  EXPECT_TRUE(held(dgx_roce(), "rdma.roce.mtu-above-netdev"));
  Machine machine = dgx_roce();
  set(machine.networks[0].mtu, 4200U);
  EXPECT_TRUE(held(machine, "rdma.roce.mtu-above-netdev"));
  set(port(machine, 0).active_mtu, Bytes{1024});
  set(machine.networks[0].mtu, 1500U);
  EXPECT_TRUE(held(machine, "rdma.roce.mtu-above-netdev"));
  EXPECT_TRUE(not_applicable(dgx_h100(), "rdma.roce.mtu-above-netdev"));
}

TEST(RdmaRoceMtuAboveNetdev, UndecidedWithoutTheInterfacesMtu) {
  Machine machine = dgx_roce();
  deny(machine.networks[0].mtu);
  EXPECT_EQ(undecided_of(machine, "rdma.roce.mtu-above-netdev").size(), 1U);
}

TEST(RdmaPortMtuLow, FiresWithTheHeadersShare) {
  Machine machine = dgx_h100();
  set(port(machine, 0).active_mtu, Bytes{2048});
  const auto found = findings_of(machine, "rdma.port.mtu-low");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].title, "mlx5_0 uses an MTU of 2048, it can 4096");
  EXPECT_EQ(found[0].cost.text, "1.3 % of the line for headers instead of 0.6 %");
}

TEST(RdmaPortMtuLow, SilentAtTheMaximum) {
  EXPECT_TRUE(held(dgx_h100(), "rdma.port.mtu-low"));
}

TEST(RdmaPortMtuLow, UndecidedWithoutTheMtu) {
  Machine machine = dgx_h100();
  deny(port(machine, 0).active_mtu);
  EXPECT_EQ(undecided_of(machine, "rdma.port.mtu-low").size(), 1U);
}

TEST(RdmaRoceMtuLow, FiresWithTheInterface) {
  Machine machine = roce();
  set(port(machine, 0).active_mtu, Bytes{1024});
  set(machine.networks[0].mtu, 1500U);
  const auto found = findings_of(machine, "rdma.roce.mtu-low");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].severity, model::Severity::kWarning);
  EXPECT_EQ(found[0].evidence[1].text, "rdma0 has an MTU of 1500");
  EXPECT_EQ(found[0].fixes[0].command, "sudo ip link set dev rdma0 mtu 9000");
}

TEST(RdmaRoceMtuLow, FiresOnceForAllPortsAndAsInformationOnSlowOnes) {
  Machine machine = roce();
  for (std::size_t i = 0; i < 8; ++i)
    set(port(machine, i).active_mtu, Bytes{1024});
  auto found = findings_of(machine, "rdma.roce.mtu-low");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].severity, model::Severity::kWarning);
  EXPECT_EQ(found[0].devices.size(), 8U);
  for (std::size_t i = 0; i < 8; ++i)
    set(port(machine, i).rate, BitsPerSecond{25e9});
  found = findings_of(machine, "rdma.roce.mtu-low");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].severity, model::Severity::kInfo);
}

TEST(RdmaRoceMtuLow, SilentAt4096AndWithoutRoce) {
  EXPECT_TRUE(held(roce(), "rdma.roce.mtu-low"));
  EXPECT_TRUE(not_applicable(dgx_h100(), "rdma.roce.mtu-low"));
}

TEST(RdmaRoceMtuLow, UndecidedWithoutTheMtu) {
  Machine machine = roce();
  deny(port(machine, 0).max_mtu);
  EXPECT_EQ(undecided_of(machine, "rdma.roce.mtu-low").size(), 1U);
}

TEST(RdmaRoceNoV2Gid, FiresOnLinkLocalOnly) {
  Machine machine = roce();
  port(machine, 1).gids[0].gid = "fe80:0000:0000:0000:ba59:9fff:fe00:0001";
  EXPECT_EQ(findings_of(machine, "rdma.roce.no-v2-gid").at(0).title, "mlx5_1 has no routable RoCE v2 GID");
}

TEST(RdmaRoceNoV2Gid, SilentWithAnIpv4Gid) {
  EXPECT_TRUE(held(roce(), "rdma.roce.no-v2-gid"));
}

TEST(RdmaRoceNoV2Gid, SilentOnAPortThatNoJobTakes) {
  Machine machine = roce();
  port(machine, 1).gids[0].gid = "fe80:0000:0000:0000:ba59:9fff:fe00:0001";
  machine.software.settings = {{"NCCL_IB_HCA", "=mlx5_0", at("nccl.conf")}};
  EXPECT_TRUE(held(machine, "rdma.roce.no-v2-gid"));
}

TEST(RdmaRoceNoV2Gid, UndecidedWithoutTheTable) {
  Machine machine = roce();
  port(machine, 1).gids.clear();
  machine.rdma_host = nullptr;  // nobody counted the slots
  EXPECT_EQ(undecided_of(machine, "rdma.roce.no-v2-gid").size(), 1U);
}

}  // namespace
}  // namespace angio::test
