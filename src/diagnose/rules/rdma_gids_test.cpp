#include <gtest/gtest.h>

#include "diagnose/test_machines.hpp"

namespace angio::test {
namespace {

constexpr const char* kLocal = "fe80:0000:0000:0000:ba59:9fff:fe00:0001";
constexpr const char* kIpv6 = "fd00:0000:0000:0001:0000:0000:0000:0005";
constexpr const char* kOther = "0000:0000:0000:0000:0000:ffff:0a63:0001";

std::vector<model::Gid>& gids(Machine& machine, std::size_t device) {
  return machine.rdma[device].ports[0].gids;
}

void set_nccl(Machine& machine, const std::string& version) {
  for (auto& library : machine.software.libraries) {
    if (library.name == "libnccl.so.2") library.version = version;
  }
}

void set_everywhere(Machine& machine, const std::string& name, const std::string& value) {
  machine.software.settings.push_back({name, value, at("nccl.conf")});
}

TEST(RdmaRoceGidChoice, FiresWherePortsHaveIpv6Alone) {
  Machine machine = dgx_roce();
  for (std::size_t i = 0; i < 8; ++i)
    gids(machine, i) = {gid_entry(0, kLocal, "IB/RoCE v1"), gid_entry(1, kLocal, "RoCE v2"),
                        gid_entry(2, kIpv6, "IB/RoCE v1"), gid_entry(3, kIpv6, "RoCE v2")};
  const auto found = findings_of(machine, "rdma.roce.gid-choice");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].title,
            "mlx5_0 to mlx5_7 would be used with GID 0 (RoCE v1, link-local), though 3 is RoCE v2, IPv6");
  EXPECT_EQ(
      found[0].evidence.at(0).text,
      "each: GID table: 0 RoCE v1, link-local; 1 RoCE v2, link-local; 2 RoCE v1, IPv6; 3 RoCE v2, IPv6");
  EXPECT_EQ(found[0].evidence.at(1).text,
            "each: NCCL 2.26.2: index 0: where the search begins; no usable IPv4 entry after it");
  ASSERT_EQ(found[0].fixes.size(), 1U);
  EXPECT_EQ(found[0].fixes[0].command, "export NCCL_IB_ADDR_FAMILY=AF_INET6");
  set_everywhere(machine, "NCCL_IB_ADDR_FAMILY", "AF_INET6");
  EXPECT_TRUE(held(machine, "rdma.roce.gid-choice"));
}

TEST(RdmaRoceGidChoice, FiresOnARangeThatNoAddressIsIn) {
  Machine machine = dgx_roce();
  set_everywhere(machine, "NCCL_IB_ADDR_RANGE", "192.168.0.0/16");
  const auto found = findings_of(machine, "rdma.roce.gid-choice");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].fixes.at(0).command, "unset NCCL_IB_ADDR_RANGE");
  machine.software.settings.back().value = "10.0.0.0/8";
  EXPECT_TRUE(held(machine, "rdma.roce.gid-choice"));
}

// Pods on one adapter: the entries of the others are there, their types are not (NVIDIA/nccl issue 1573).
TEST(RdmaRoceGidChoice, FiresOnEntriesOfOtherPodsBefore226) {
  Machine machine = dgx_roce();
  for (std::size_t i = 0; i < 8; ++i) {
    std::vector<model::Gid> own = gids(machine, i);
    for (model::Gid& one : own)
      one.index += 4;
    own.insert(own.begin(), {gid_entry(2, kOther, ""), gid_entry(3, kOther, "")});
    gids(machine, i) = own;
  }
  EXPECT_TRUE(held(machine, "rdma.roce.gid-choice"));  // 2.26.2 passes them over
  set_nccl(machine, "2.23.4");
  const auto found = findings_of(machine, "rdma.roce.gid-choice");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].title,
            "mlx5_0 to mlx5_7 have a GID whose type cannot be read: NCCL 2.23.4 gives up there");
  EXPECT_EQ(found[0].cost.text, "the job ends when it connects");
  EXPECT_EQ(found[0].fixes.size(), 2U);
}

TEST(RdmaRoceGidChoice, FiresOnAnInterfaceThatIsDown) {
  Machine machine = dgx_roce();
  set(machine.networks[2].state, std::string("down"));
  const auto found = findings_of(machine, "rdma.roce.gid-choice");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].title, "mlx5_2 would be used with GID 3, whose interface is down");
  EXPECT_EQ(found[0].fixes.at(0).command, "sudo ip link set dev rdma2 up");
}

TEST(RdmaRoceGidChoice, SilentWhereTheSearchEndsWell) {
  Machine machine = dgx_roce();
  EXPECT_TRUE(held(machine, "rdma.roce.gid-choice"));
  EXPECT_TRUE(not_applicable(dgx_h100(), "rdma.roce.gid-choice"));
  // with an index, and before 2.21.5, others judge
  set_everywhere(machine, "NCCL_IB_GID_INDEX", "0");
  EXPECT_TRUE(not_applicable(machine, "rdma.roce.gid-choice"));
  Machine old = dgx_roce();
  set_nccl(old, "2.18.3");
  EXPECT_TRUE(not_applicable(old, "rdma.roce.gid-choice"));
}

TEST(RdmaRoceGidChoice, SilentWhereNothingWouldServe) {
  Machine machine = dgx_roce();
  gids(machine, 3) = {gid_entry(0, kLocal, "IB/RoCE v1"), gid_entry(1, kLocal, "RoCE v2")};
  EXPECT_TRUE(held(machine, "rdma.roce.gid-choice"));
  EXPECT_EQ(findings_of(machine, "rdma.roce.no-v2-gid").size(), 1U);
}

TEST(RdmaRoceGidChoice, UndecidedWithoutTheTypes) {
  Machine machine = dgx_roce();
  for (model::Gid& one : gids(machine, 4))
    one.type = {};
  const auto gaps = undecided_of(machine, "rdma.roce.gid-choice");
  ASSERT_EQ(gaps.size(), 1U);
  EXPECT_EQ(gaps[0].missing, "RoCE version of the GIDs of mlx5_4: not collected");
}

TEST(RdmaRoceNoV2Gid, FiresOnAnEmptyTable) {
  Machine machine = dgx_roce();
  gids(machine, 1).clear();
  const auto found = findings_of(machine, "rdma.roce.no-v2-gid");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].title, "mlx5_1 has an empty GID table");
  EXPECT_EQ(found[0].evidence.at(0).text, "256 slots, all empty: the interface has no address, or is down");
}

}  // namespace
}  // namespace angio::test
