#include <gtest/gtest.h>

#include "diagnose/rules/process_test_jobs.hpp"

namespace angio::test {
namespace {

TEST(ProcessSettingIbHca, FiresOnNoMatchAndOnPrefixes) {
  EXPECT_EQ(title_of(with("NCCL_IB_HCA", "bnxt"), "process.setting.ib-hca"),
            "NCCL_IB_HCA=bnxt matches no RDMA device");
  Machine machine = with("NCCL_IB_HCA", "mlx5_1:1");
  machine.rdma.push_back(machine.rdma[1]);
  machine.rdma.back().name = "mlx5_10";
  const auto found = findings_of(machine, "process.setting.ib-hca");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].title, "NCCL_IB_HCA=mlx5_1:1 also takes mlx5_10");
  EXPECT_EQ(found[0].severity, model::Severity::kWarning);
  EXPECT_EQ(found[0].fixes[0].text, "Write an exact list: NCCL_IB_HCA=\"=mlx5_1:1\"");
}

// A prefix that takes two storage cards as well is one trouble: neither mixed kinds nor two of four like
// ports.
TEST(ProcessSettingIbHca, FiresAloneWhereAPrefixTakesOtherKinds) {
  Machine machine = training();
  for (const char* name : {"mlx5_10", "mlx5_20"}) {
    model::RdmaDevice storage = machine.rdma[0];
    storage.name = name;
    set(storage.board_id, std::string("MT_0000000437"));
    storage.ports[0].link_layer = model::LinkLayer::kEthernet;
    machine.rdma.push_back(storage);
  }
  add_rdma_host(machine);
  for (model::Process& process : machine.processes)
    process.settings.push_back(
        {"NCCL_IB_HCA", "mlx5_0,mlx5_1,mlx5_3,mlx5_4,mlx5_5,mlx5_6,mlx5_7", at("environ")});
  EXPECT_EQ(findings_of(machine, "process.setting.ib-hca").size(), 1U);
  EXPECT_TRUE(held(machine, "rdma.port.mixed"));
  const auto few = findings_of(machine, "process.setting.hca-few");
  ASSERT_EQ(few.size(), 1U);  // mlx5_2, which nobody named
  EXPECT_EQ(few[0].devices, std::vector<std::string>{"mlx5_2"});
}

TEST(ProcessSettingIbHca, FiresOnAnExclusionThatTakesMoreAway) {
  Machine machine = with("NCCL_IB_HCA", "^mlx5_1");
  EXPECT_TRUE(held(machine, "process.setting.ib-hca"));
  machine.rdma.push_back(machine.rdma[1]);
  machine.rdma.back().name = "mlx5_10";
  const auto found = findings_of(machine, "process.setting.ib-hca");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].title, "NCCL_IB_HCA=\"^mlx5_1\" also leaves out mlx5_10");
  EXPECT_EQ(found[0].fixes[0].text, "Write an exact list: NCCL_IB_HCA=\"^=mlx5_1\"");
}

TEST(ProcessSettingIbHca, FiresOnANameThatFitsNothingBesideOthers) {
  const auto found = findings_of(with("NCCL_IB_HCA", "=mlx5_0,mlx5_30"), "process.setting.ib-hca");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].title, "NCCL_IB_HCA=\"=mlx5_0,mlx5_30\" names mlx5_30, which fits no device here");
  EXPECT_EQ(found[0].severity, model::Severity::kWarning);
  EXPECT_EQ(found[0].fixes[0].text, "Write an exact list: NCCL_IB_HCA=\"=mlx5_0\"");
  EXPECT_EQ(findings_of(with("NCCL_IB_HCA", "mlx5,bnxt"), "process.setting.ib-hca").at(0).severity,
            model::Severity::kInfo);
}

TEST(ProcessSettingIbHca, SilentOnExactAndOnAFamily) {
  EXPECT_TRUE(held(with("NCCL_IB_HCA", "=mlx5_0,mlx5_1"), "process.setting.ib-hca"));
  EXPECT_TRUE(held(with("NCCL_IB_HCA", "mlx5"), "process.setting.ib-hca"));
  EXPECT_TRUE(held(with("NCCL_IB_HCA", "^mlx5_7"), "process.setting.ib-hca"));
}

TEST(ProcessSettingIbHca, UndecidedWithoutDevices) {
  Machine machine = with("NCCL_IB_HCA", "mlx5");
  machine.rdma.clear();
  EXPECT_EQ(undecided_of(machine, "process.setting.ib-hca").size(), 1U);
}

TEST(ProcessSettingHcaFew, FiresWhenLikePortsAreLeftOut) {
  const auto found = findings_of(with("NCCL_IB_HCA", "=mlx5_0"), "process.setting.hca-few");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].title, "NCCL_IB_HCA takes 1 of 8 like active ports");
  EXPECT_EQ(found[0].severity, model::Severity::kWarning);
  EXPECT_EQ(found[0].cost.text, "7 of 8 ports");
  EXPECT_EQ(findings_of(with("NCCL_IB_HCA", "^mlx5_7"), "process.setting.hca-few").at(0).severity,
            model::Severity::kInfo);
}

TEST(ProcessSettingHcaFew, SilentWhenRanksShareThemOutAndOnOtherBoards) {
  Machine machine = training();
  for (std::size_t i = 0; i < 8; ++i)
    machine.processes[i].settings.push_back({"NCCL_IB_HCA", "=" + machine.rdma[i].name, at("environ")});
  EXPECT_TRUE(held(machine, "process.setting.hca-few"));
  Machine storage = with("NCCL_IB_HCA", "^mlx5_7");
  set(storage.rdma[7].board_id, std::string("MT_0000000437"));
  EXPECT_TRUE(held(storage, "process.setting.hca-few"));
}

TEST(ProcessSettingHcaFew, UndecidedWithoutPortStates) {
  Machine machine = with("NCCL_IB_HCA", "=mlx5_0");
  for (auto& device : machine.rdma)
    deny(device.ports[0].state);
  EXPECT_EQ(undecided_of(machine, "process.setting.hca-few").size(), 1U);
}

const std::string kPorts = "mlx5_0 to mlx5_7";

Machine roce_with_index(const std::string& index) {
  Machine machine = with("NCCL_IB_GID_INDEX", index);
  make_roce(machine);
  return machine;
}

TEST(ProcessSettingGidIndex, FiresOnEmptyLinkLocalAndInfiniBand) {
  EXPECT_EQ(title_of(roce_with_index("5"), "process.setting.gid-index"), "GID 5 is empty on " + kPorts);
  EXPECT_EQ(title_of(roce_with_index("1"), "process.setting.gid-index"), "GID 1 is link-local on " + kPorts);
  EXPECT_EQ(findings_of(with("NCCL_IB_GID_INDEX", "3"), "process.setting.gid-index").at(0).severity,
            model::Severity::kInfo);
}

TEST(ProcessSettingGidIndex, SilentOnTheRightEntryAndOnAutomatic) {
  EXPECT_TRUE(held(roce_with_index("3"), "process.setting.gid-index"));
  EXPECT_TRUE(held(roce_with_index("-1"), "process.setting.gid-index"));
}

TEST(ProcessSettingGidIndex, UndecidedWithoutTheTable) {
  Machine machine = roce_with_index("3");
  for (auto& device : machine.rdma)
    device.ports[0].gids.clear();
  EXPECT_EQ(undecided_of(machine, "process.setting.gid-index").size(), 1U);
}

TEST(ProcessSettingGidIndex, SilentOnAPortThatNcclDoesNotTake) {
  Machine machine = roce_with_index("3");
  machine.rdma[7].ports[0].gids = {gid(0, kLinkLocal), gid(5, kRoutable)};
  EXPECT_EQ(title_of(machine, "process.setting.gid-index"), "GID 3 is empty on mlx5_7");
  for (model::Process& process : machine.processes)
    process.settings.push_back({"NCCL_IB_HCA", "^mlx5_7", at("environ")});
  EXPECT_TRUE(held(machine, "process.setting.gid-index"));
}

TEST(ProcessSettingGidIndex, SilentWhereNoIndexServes) {
  Machine machine = roce_with_index("3");
  machine.rdma[7].ports[0].gids = {gid(0, kLinkLocal)};
  EXPECT_TRUE(held(machine, "process.setting.gid-index"));
  const auto found = findings_of(machine, "rdma.roce.no-v2-gid");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].severity, model::Severity::kCritical);
  EXPECT_EQ(found[0].evidence.back().text, "NCCL_IB_GID_INDEX=3: no index serves on this port");
}

TEST(ProcessSettingGidIndex, FiresWithTheCureForTheRelease) {
  Machine machine = roce_with_index("1");
  map_nccl(machine, "2.18.3");
  auto fixes = findings_of(machine, "process.setting.gid-index").at(0).fixes;
  ASSERT_EQ(fixes.size(), 1U);
  EXPECT_TRUE(fixes[0].text.starts_with("Set NCCL_IB_GID_INDEX=3,")) << fixes[0].text;
  machine.rdma[2].ports[0].gids = {gid(5, kRoutable)};
  fixes = findings_of(machine, "process.setting.gid-index").at(0).fixes;
  EXPECT_TRUE(fixes.at(0).text.starts_with("No index is good on every port")) << fixes[0].text;
  map_nccl(machine, "2.21.5");
  fixes = findings_of(machine, "process.setting.gid-index").at(0).fixes;
  EXPECT_TRUE(fixes.at(0).text.starts_with("Remove it")) << fixes[0].text;
}

Machine roce_job(const std::string& nccl) {
  Machine machine = training();
  make_roce(machine);
  map_nccl(machine, nccl);
  return machine;
}

TEST(ProcessSettingGidUnset, FiresOnAnOldNcclOnRoce) {
  const auto found = findings_of(roce_job("2.18.3"), "process.setting.gid-unset");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].title, "NCCL 2.18.3 takes GID 0, which is not RoCE v2 on " + kPorts);
  ASSERT_EQ(found[0].fixes.size(), 2U);
  EXPECT_TRUE(found[0].fixes[1].text.starts_with("Or set NCCL_IB_GID_INDEX=3,")) << found[0].fixes[1].text;
}

TEST(ProcessSettingGidUnset, SilentWhenSetOrNewOrOnInfiniBand) {
  EXPECT_TRUE(held(roce_job("2.21.5"), "process.setting.gid-unset"));
  Machine machine = roce_job("2.18.3");
  machine.software.settings.push_back({"NCCL_IB_GID_INDEX", "3", at("nccl.conf")});
  EXPECT_TRUE(held(machine, "process.setting.gid-unset"));
  Machine infiniband = training();
  map_nccl(infiniband, "2.18.3");
  EXPECT_TRUE(not_applicable(infiniband, "process.setting.gid-unset"));
}

TEST(ProcessSettingGidUnset, UndecidedWithoutTheTable) {
  Machine machine = roce_job("2.18.3");
  for (auto& device : machine.rdma)
    device.ports[0].gids.clear();
  EXPECT_EQ(undecided_of(machine, "process.setting.gid-unset").size(), 1U);
}

Machine bonded() {
  Machine machine = training();
  make_roce(machine);
  machine.rdma.resize(1);
  machine.rdma[0].name = "mlx5_bond_0";
  machine.rdma[0].bond = true;
  return machine;
}

TEST(ProcessSettingBondQps, FiresOnOneQueuePair) {
  EXPECT_EQ(title_of(bonded(), "process.setting.bond-qps"),
            "mlx5_bond_0 is a bond and NCCL uses one queue pair a connection");
}

TEST(ProcessSettingBondQps, SilentOnMoreAndWithoutABond) {
  Machine machine = bonded();
  machine.software.settings.push_back({"NCCL_IB_QPS_PER_CONNECTION", "2", at("nccl.conf")});
  EXPECT_TRUE(held(machine, "process.setting.bond-qps"));
  EXPECT_TRUE(not_applicable(training(), "process.setting.bond-qps"));
}

// no undecided: without a job there is no setting to judge
TEST(ProcessSettingBondQps, UndecidedIsNotApplicableWithoutProcesses) {
  Machine machine = bonded();
  machine.processes.clear();
  EXPECT_TRUE(not_applicable(machine, "process.setting.bond-qps"));
}

}  // namespace
}  // namespace angio::test
