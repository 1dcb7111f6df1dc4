#include "model/synthetic.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace angio::model {
namespace {

TEST(Synthetic, CountsWhatTheLineSays) {
  const auto machine = topology("2 numa { 4 gpu nvlink:full pcie:5x16; 4 hca ndr }");
  ASSERT_TRUE(machine.has_value());
  EXPECT_EQ(machine->numa.nodes.size(), 2U);
  EXPECT_EQ(machine->cpus.packages.size(), 2U);
  EXPECT_EQ(machine->gpus.size(), 8U);
  EXPECT_EQ(machine->rdma.size(), 8U);
  EXPECT_EQ(machine->gpus[7].links.size(), 18U);
  EXPECT_EQ(machine->gpus[7].numa.value_or(NumaId{9}).value, 1U);
  EXPECT_EQ(machine->rdma[4].name, "mlx5_4");
  EXPECT_EQ(machine->rdma[4].ports.front().rate.value_or({}).value, 400e9);
  EXPECT_TRUE(std::ranges::is_sorted(machine->pci.devices, {}, &PciDevice::address));
  EXPECT_EQ(machine->pci.devices[*machine->gpus[3].pci].address, machine->gpus[3].address.value_or({}));
}

TEST(Synthetic, LinkCanRunBelowItsMaximum) {
  const auto machine = topology("numa { gpu pcie:4x16/8 }");
  ASSERT_TRUE(machine.has_value());
  const PciDevice& gpu = machine->pci.devices[*machine->gpus[0].pci];
  EXPECT_EQ(gpu.link.value_or({}), (PciLink{{16e9}, 8}));
  EXPECT_EQ(gpu.link_max.value_or({}), (PciLink{{16e9}, 16}));
}

TEST(Synthetic, PackagesHoldNumaNodes) {
  const auto machine = topology("node { 2 package { 2 numa cores:4 mem:8GiB } }");
  ASSERT_TRUE(machine.has_value());
  EXPECT_EQ(to_list(machine->cpus.packages[1].cpus), "8-15");
  EXPECT_EQ(machine->numa.nodes[3].memory.value_or({}).value, std::uint64_t{8} << 30U);
  EXPECT_EQ(machine->numa.nodes[0].distances.value_or({}), (std::vector<std::uint32_t>{10, 12, 21, 21}));
}

struct Wrong {
  const char* description;
  const char* message;
  const char* hint;
};

class SyntheticErrors : public testing::TestWithParam<Wrong> {};

TEST_P(SyntheticErrors, NameTheColumn) {
  const auto machine = topology(GetParam().description);
  ASSERT_FALSE(machine.has_value());
  EXPECT_EQ(machine.error().message, GetParam().message);
  EXPECT_EQ(machine.error().hint, GetParam().hint);
}

INSTANTIATE_TEST_SUITE_P(
    All, SyntheticErrors,
    testing::Values(
        Wrong{"", "topology: column 1: nothing is described", ""},
        Wrong{"numa { 4 gpus }", "topology: column 10: \"gpus\" is no kind", "did you mean \"gpu\"?"},
        Wrong{"numa { gpu", "topology: column 11: \"}\" is missing for the \"{\" of column 6", ""},
        Wrong{"numa } gpu", "topology: column 6: unexpected \"}\"", ""},
        Wrong{"0 gpu", "topology: column 1: counts go from 1 to 1024", ""},
        Wrong{"gpu pcie:9x16", "topology: column 5: pcie: GENERATIONxLANES such as 5x16", ""},
        Wrong{"gpu pcie:5x", "topology: column 5: pcie: GENERATIONxLANES such as 5x16", ""},
        Wrong{"gpu nvlnk:full", "topology: column 5: \"nvlnk\" is no option", "did you mean \"nvlink\"?"},
        Wrong{"gpu ndr", "topology: column 5: \"ndr\" is no option of gpu", ""},
        Wrong{"gpu { hca }", "topology: column 1: nothing goes into a gpu", ""},
        Wrong{"2 node { gpu }", "topology: column 3: one machine is one node",
              "describe each node by itself"},
        Wrong{"numa { numa }", "topology: column 8: a numa node stands inside a numa node", ""},
        Wrong{"1024 numa { 1024 gpu }", "topology: column 18: more than 4096 parts", ""},
        Wrong{"3", "topology: column 2: the description ends where a kind should stand", ""}));

TEST(Synthetic, DeepNestingIsRefused) {
  std::string deep = "numa { ";
  for (int i = 0; i < 100; ++i)
    deep += "switch { ";
  const auto machine = topology(deep);
  ASSERT_FALSE(machine.has_value());
  EXPECT_NE(machine.error().message.find("more than 16 levels"), std::string::npos);
}

}  // namespace
}  // namespace angio::model
