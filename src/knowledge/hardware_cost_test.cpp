#include "knowledge/hardware_cost.hpp"

#include <gtest/gtest.h>

#include "knowledge/versions.hpp"

namespace angio::knowledge {
namespace {

TEST(HardwareCosts, AreFoundByLinkAlgorithmAndCollective) {
  const HardwareCost* row = find_hardware_cost("nvswitch-9", "NVLS", "AllReduce");
  ASSERT_NE(row, nullptr);
  EXPECT_EQ(row->id, "nvswitch-9 NVLS");
  EXPECT_TRUE(row->fitted);
  EXPECT_EQ(find_hardware_cost("infiniband", "P2P", "SendRecv")->collective, "SendRecv");
  EXPECT_EQ(find_hardware_cost("infiniband", "P2P", "Gather")->collective, "");
  EXPECT_EQ(find_hardware_cost("infiniband", "Abacus", ""), nullptr);
}

TEST(HardwareCosts, AreSane) {
  for (const HardwareCost& row : hardware_costs()) {
    if (row.link == "socket") continue;
    EXPECT_TRUE(row.efficiency > 0 && row.efficiency <= 1) << row.id;
    EXPECT_TRUE(row.base_us > 0 && row.step_us > 0 && row.fill >= 0 && row.extra >= 1) << row.id;
    EXPECT_TRUE(row.low > 0 && row.low <= 1) << row.id;
    EXPECT_TRUE(row.quicker < 1 && row.slower > 1 && row.slower_middle >= row.slower &&
                row.slower_small >= row.slower_middle)
        << row.id;
  }
}

TEST(CostMachines, MatchNamesOfTheirOwn) {
  EXPECT_EQ(find_cost_machine("NVIDIA GH200 120GB")->match, "GH200");
  EXPECT_EQ(find_cost_machine("NVIDIA H200")->match, "H200");
  EXPECT_EQ(find_cost_machine("NVIDIA A10G"), nullptr);
  EXPECT_EQ(find_cost_machine("A100-SXM4-40GB")->match, "A100");
  EXPECT_EQ(find_cost_machine("NVIDIA A100-PCIE-40GB")->match, "A100-PCIE");
  for (const CostMachine& machine : cost_machines()) {
    const bool amd = machine.match.starts_with("MI");
    EXPECT_TRUE(amd || !capability_of(machine.match).empty()) << machine.match;
    EXPECT_TRUE(machine.fabric == "pcie" || machine.links > 0) << machine.match;
  }
}

}  // namespace
}  // namespace angio::knowledge
