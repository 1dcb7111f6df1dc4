#include <gtest/gtest.h>

#include "diagnose/test_machines.hpp"

namespace angio::test {
namespace {

void set_class(Machine& machine, const std::string& value) {
  machine.software.settings.clear();
  if (!value.empty()) machine.software.settings.push_back({"NCCL_IB_TC", value, at("nccl.conf")});
}

TEST(RdmaRoceTrafficClass, FiresWhereTheClassIsNotProtected) {
  Machine machine = dgx_roce();
  set_class(machine, "");
  const auto found = findings_of(machine, "rdma.roce.traffic-class");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].title, "mlx5_0 to mlx5_7 carry NCCL's traffic in priority 0, PFC is on for 3 only");
  EXPECT_EQ(found[0].evidence.at(0).text, "each: NCCL_IB_TC is not set: traffic class 0");
  EXPECT_EQ(found[0].evidence.at(1).text, "each: it trusts DSCP: class 0 is DSCP 0, priority 0");
  ASSERT_EQ(found[0].fixes.size(), 1U);
  EXPECT_EQ(found[0].fixes[0].command, "export NCCL_IB_TC=96");
}

// DSCP 59 is priority 7 in mlx5's own map; a map of the site's own may well say 3.
TEST(RdmaRoceTrafficClass, UndecidedWhereTheMapDecides) {
  Machine machine = dgx_roce();
  set_class(machine, "236");
  EXPECT_TRUE(findings_of(machine, "rdma.roce.traffic-class").empty());
  const auto gaps = undecided_of(machine, "rdma.roce.traffic-class");
  ASSERT_EQ(gaps.size(), 1U);
  EXPECT_EQ(
      gaps[0].missing,
      "whether DSCP 59 (traffic class 236) is mapped to priority 3, for which PFC is on on rdma0 to rdma7: "
      "the map is not in files");
}

TEST(RdmaRoceTrafficClass, FiresWhereTheAdapterTrustsTheVlanTag) {
  Machine machine = dgx_roce();
  for (auto& netdev : machine.networks)
    netdev.qos["qos/trust"] = "pcp";
  const auto found = findings_of(machine, "rdma.roce.traffic-class");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].fixes.at(0).command, "sudo mlnx_qos -i rdma0 --trust dscp");
}

TEST(RdmaRoceTrafficClass, SilentWhereItIs) {
  EXPECT_TRUE(held(dgx_roce(), "rdma.roce.traffic-class"));
  EXPECT_TRUE(not_applicable(dgx_h100(), "rdma.roce.traffic-class"));
  Machine forced = dgx_roce();  // by the driver: NCCL need not ask
  set_class(forced, "");
  for (auto& facts : rdma_host(forced).devices)
    facts.traffic_class = known(106U, "tc/1/traffic_class");
  EXPECT_TRUE(held(forced, "rdma.roce.traffic-class"));
}

TEST(RdmaRoceTrafficClass, SilentOnFabricsThatProtectNothing) {
  Machine machine = dgx_roce();
  set_class(machine, "");
  for (auto& netdev : machine.networks)
    netdev.qos = {{"qos/pfc", "0 0 0 0 0 0 0 0"}};
  EXPECT_TRUE(held(machine, "rdma.roce.traffic-class"));
}

TEST(RdmaRoceTrafficClass, UndecidedWithTheKernelsOwnDriver) {
  Machine machine = dgx_roce();
  for (auto& netdev : machine.networks)
    netdev.qos.clear();
  const auto gaps = undecided_of(machine, "rdma.roce.traffic-class");
  ASSERT_EQ(gaps.size(), 1U);
  EXPECT_EQ(
      gaps[0].missing,
      "which priorities of rdma0 to rdma7 are lossless, and what they trust: the driver shows it to netlink "
      "only");
}

void one_subnet(Machine& machine) {
  for (std::size_t i = 0; i < 8; ++i)
    machine.networks[i].addresses = {"10.0.0." + std::to_string(10 + i) + "/16"};
}

TEST(RdmaRoceSameSubnet, FiresWherePortsAnswerForEachOther) {
  Machine machine = dgx_roce();
  one_subnet(machine);
  for (auto& facts : rdma_host(machine).interfaces)
    facts.arp_ignore = known(std::int64_t{0}, "arp_ignore");
  const auto found = findings_of(machine, "rdma.roce.same-subnet");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].title, "8 RoCE ports share subnet 10.0.0.0/16 and may answer ARP for each other");
  EXPECT_EQ(found[0].devices.size(), 8U);
  rdma_host(machine).sysctls["net.ipv4.conf.all.arp_ignore"] = known<std::string>("1", "all");
  EXPECT_TRUE(held(machine, "rdma.roce.same-subnet"));
}

TEST(RdmaRoceSameSubnet, SilentOnSubnetsOfTheirOwnAndWithArpIgnore) {
  Machine machine = dgx_roce();
  EXPECT_TRUE(held(machine, "rdma.roce.same-subnet"));
  one_subnet(machine);
  EXPECT_TRUE(held(machine, "rdma.roce.same-subnet"));
  EXPECT_TRUE(not_applicable(dgx_h100(), "rdma.roce.same-subnet"));
}

TEST(RdmaRoceSameSubnet, UndecidedWithoutTheSettings) {
  Machine machine = dgx_roce();
  one_subnet(machine);
  deny(rdma_host(machine).interfaces[0].arp_ignore);
  EXPECT_EQ(undecided_of(machine, "rdma.roce.same-subnet").size(), 1U);
}

TEST(RdmaInterruptsMisplaced, FiresOnOneCpuAndOnTheOtherSocket) {
  Machine machine = dgx_h100();
  CpuSet first;
  first.insert(0);
  for (auto& device : rdma_host(machine).devices) {
    for (auto& interrupt : device.first_interrupts)
      interrupt.allowed = known(first, "smp_affinity_list");
  }
  auto found = findings_of(machine, "rdma.interrupts.misplaced");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].title, "mlx5_0 to mlx5_7 have their first interrupts on one CPU");
  for (auto& device : rdma_host(machine).devices)
    device.interrupts = known(16U, "msi_irqs");
  EXPECT_EQ(findings_of(machine, "rdma.interrupts.misplaced").at(0).title,
            "mlx5_0 to mlx5_7 send all their interrupts to one CPU");
  Machine far = dgx_h100();
  for (auto& interrupt : rdma_host(far).devices[1].first_interrupts)
    interrupt.allowed = known(cpu_range(60, 8), "smp_affinity_list");
  found = findings_of(far, "rdma.interrupts.misplaced");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].title, "mlx5_1 has its first interrupts on the other socket");
  EXPECT_EQ(found[0].evidence.at(0).text, "the first 16 of its 57 interrupts may run on CPUs 60-67");
  EXPECT_EQ(found[0].severity, model::Severity::kInfo);
}

TEST(RdmaInterruptsMisplaced, SilentOnTheOwnNodeAndWhereAllCpusMay) {
  EXPECT_TRUE(held(dgx_h100(), "rdma.interrupts.misplaced"));
  Machine machine = dgx_h100();  // the kernel's default mask
  for (auto& interrupt : rdma_host(machine).devices[1].first_interrupts)
    interrupt.allowed = known(machine.cpus.online, "smp_affinity_list");
  EXPECT_TRUE(held(machine, "rdma.interrupts.misplaced"));
}

TEST(RdmaInterruptsMisplaced, UndecidedWhereNobodyLooked) {
  Machine machine = dgx_h100();
  machine.rdma_host = nullptr;
  EXPECT_EQ(undecided_of(machine, "rdma.interrupts.misplaced").size(), 1U);
}

TEST(RdmaPcieRelaxedOrdering, FiresWhereTheHostForbidsIt) {
  Machine machine = dgx_h100();
  rdma_host(machine).devices[2].relaxed_ordering = known(false, "config");
  const auto found = findings_of(machine, "rdma.pcie.relaxed-ordering");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].title, "mlx5_2 may not use relaxed ordering on PCIe");
  EXPECT_EQ(found[0].disprove, "sudo lspci -vv -s 0000:54:00.0: DevCtl has RlxdOrd+");
}

TEST(RdmaPcieRelaxedOrdering, SilentWhereItIsAllowed) {
  EXPECT_TRUE(held(dgx_h100(), "rdma.pcie.relaxed-ordering"));
}

TEST(RdmaPcieRelaxedOrdering, UndecidedWithoutRoot) {
  Machine machine = dgx_h100();
  for (auto& device : rdma_host(machine).devices)
    deny(device.relaxed_ordering);
  const auto gaps = undecided_of(machine, "rdma.pcie.relaxed-ordering");
  ASSERT_EQ(gaps.size(), 1U);
  EXPECT_EQ(gaps[0].missing, "relaxed ordering of mlx5_0 to mlx5_7: permission denied");
}

}  // namespace
}  // namespace angio::test
