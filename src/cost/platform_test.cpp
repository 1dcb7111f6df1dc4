#include "cost/platform.hpp"

#include <gtest/gtest.h>

namespace angio::cost {
namespace {

using model::Gpu;
using model::Machine;
using model::Observed;

template <typename T>
Observed<T> seen(T value) {
  return Observed<T>::known(std::move(value), {});
}

// GPUs behind a switch, a NIC of 400 Gb/s on each one's PCIe switch.
Machine machine_of(const char* name, std::uint32_t gpus, std::uint32_t links) {
  Machine machine;
  machine.name = "node-1";
  for (std::uint32_t index = 0; index < gpus; ++index) {
    Gpu gpu;
    gpu.index = index;
    gpu.vendor = model::GpuVendor::kNvidia;
    gpu.name = seen(std::string(name));
    gpu.pcie_generation_max = seen(5U);
    gpu.pcie_width = seen(16U);
    for (std::uint32_t link = 0; link < links; ++link) {
      model::GpuLink each;
      each.index = link;
      each.state = model::LinkState::kActive;
      each.version = seen(4U);
      each.peer_kind = model::PeerKind::kSwitch;
      gpu.links.push_back(each);
    }
    machine.gpus.push_back(gpu);
  }
  return machine;
}

void add_nic(Machine& machine, double gigabits, const char* state = "ACTIVE",
             model::LinkLayer layer = model::LinkLayer::kInfiniBand) {
  model::RdmaDevice device;
  device.name = "mlx5_" + std::to_string(machine.rdma.size());
  model::RdmaPort port;
  port.state = seen(std::string(state));
  port.rate = seen(BitsPerSecond{gigabits * 1e9});
  port.link_layer = layer;
  device.ports.push_back(port);
  machine.rdma.push_back(device);
}

// A matrix: GPUs first, then NICs; far is the class of every GPU to every NIC but its own.
void state_paths(Machine& machine, model::Path between_gpus, model::PathClass near, model::PathClass far) {
  model::StatedPaths paths;
  const auto gpus = static_cast<std::uint32_t>(machine.gpus.size());
  for (std::uint32_t i = 0; i < gpus; ++i)
    paths.devices.push_back({model::DeviceKind::kGpu, i});
  for (std::uint32_t i = 0; i < machine.rdma.size(); ++i)
    paths.devices.push_back({model::DeviceKind::kRdma, i});
  for (std::size_t row = 0; row < paths.devices.size(); ++row)
    for (std::size_t column = 0; column < paths.devices.size(); ++column) {
      const bool gpu = row < gpus && column < gpus;
      const bool own = row + gpus == column || column + gpus == row;
      if (row == column)
        paths.cells.push_back({model::PathClass::kSelf, 0, ""});
      else if (gpu)
        paths.cells.push_back(between_gpus);
      else
        paths.cells.push_back({own ? near : far, 0, ""});
    }
  machine.stated_paths = paths;
}

TEST(PlatformOfMachine, NvSwitchAndANicForEachGpu) {
  Machine machine = machine_of("NVIDIA H100 80GB HBM3", 8, 18);
  for (int nic = 0; nic < 8; ++nic)
    add_nic(machine, 400);
  add_nic(machine, 25);  // management
  add_nic(machine, 400, "DOWN");
  state_paths(machine, {model::PathClass::kNvLink, 18, ""}, model::PathClass::kPix, model::PathClass::kSys);
  const auto platform = platform_of(machine, 0);
  ASSERT_TRUE(platform.has_value());
  EXPECT_EQ(platform->fabric, Fabric::kNvSwitch);
  EXPECT_EQ(platform->links, 18U);
  EXPECT_DOUBLE_EQ(platform->link.value, 450e9);
  EXPECT_TRUE(platform->nvls);
  EXPECT_EQ(platform->capability, 90);
  EXPECT_EQ(platform->nics, 8U);
  EXPECT_EQ(platform->nic_kind, "InfiniBand");
  EXPECT_DOUBLE_EQ(platform->nic_rate.value, 400e9);
  EXPECT_NEAR(platform->host_link.value, 63e9, 0.1e9);
  EXPECT_EQ(platform->id, "nvswitch-9+infiniband");
  EXPECT_TRUE(platform->assumptions.empty());
  const auto two = platform_of(machine, 2);
  ASSERT_TRUE(two.has_value());
  EXPECT_EQ(two->gpus, 2U);
  EXPECT_EQ(two->nics, 2U);
  EXPECT_DOUBLE_EQ(two->link.value, 450e9);  // through the switch a GPU keeps its links
}

TEST(PlatformOfMachine, AMeshGivesAPartOfTheGpusAPartOfTheLinks) {
  Machine machine = machine_of("NVIDIA A100-SXM4-40GB", 4, 0);
  state_paths(machine, {model::PathClass::kNvLink, 4, ""}, model::PathClass::kPix, model::PathClass::kSys);
  const auto four = platform_of(machine, 0);
  ASSERT_TRUE(four.has_value());
  EXPECT_EQ(four->fabric, Fabric::kNvLinkMesh);
  EXPECT_EQ(four->links, 12U);
  EXPECT_DOUBLE_EQ(four->link.value, 300e9);
  EXPECT_FALSE(four->nvls);
  EXPECT_DOUBLE_EQ(platform_of(machine, 2)->link.value, 100e9);
}

TEST(PlatformOfMachine, BridgedPairsAreNoFabricForFour) {
  Machine machine = machine_of("NVIDIA A100 80GB PCIe", 4, 0);
  state_paths(machine, {model::PathClass::kPhb, 0, ""}, model::PathClass::kPix, model::PathClass::kSys);
  for (const std::size_t cell : {1U, 4U, 11U, 14U})
    machine.stated_paths->cells[cell] = {model::PathClass::kNvLink, 12, ""};
  EXPECT_EQ(platform_of(machine, 0)->fabric, Fabric::kPcie);
  const auto pair = platform_of(machine, 2);
  EXPECT_EQ(pair->fabric, Fabric::kNvLinkMesh);
  EXPECT_DOUBLE_EQ(pair->link.value, 300e9);
}

TEST(PlatformOfMachine, ANarrowLinkOfOneGpuCountsForAll) {
  Machine machine = machine_of("NVIDIA L40S", 2, 0);
  machine.gpus[1].pcie_width = seen(8U);
  state_paths(machine, {model::PathClass::kPhb, 0, ""}, model::PathClass::kPix, model::PathClass::kSys);
  const auto platform = platform_of(machine, 0);
  ASSERT_TRUE(platform.has_value());
  EXPECT_EQ(platform->fabric, Fabric::kPcie);
  EXPECT_NEAR(platform->host_link.value, 31.5e9, 0.1e9);
}

TEST(PlatformOfMachine, NicsOfTheOtherSocketAreSaid) {
  Machine machine = machine_of("NVIDIA H100 80GB HBM3", 2, 18);
  add_nic(machine, 400);
  state_paths(machine, {model::PathClass::kNvLink, 18, ""}, model::PathClass::kSys, model::PathClass::kSys);
  const auto platform = platform_of(machine, 0);
  ASSERT_TRUE(platform.has_value());
  EXPECT_GT(platform->nic_path.value, 0);
  EXPECT_EQ(platform->assumptions.size(), 1U);
}

TEST(PlatformOfMachine, AMatrixWithoutNamesIsReadByItsLinks) {
  Machine machine = machine_of("", 8, 0);
  for (Gpu& gpu : machine.gpus) {
    gpu.name = {};
    gpu.pcie_width = {};
  }
  state_paths(machine, {model::PathClass::kNvLink, 18, ""}, model::PathClass::kPix, model::PathClass::kSys);
  const auto guessed = platform_of(machine, 0);
  ASSERT_TRUE(guessed.has_value());
  EXPECT_EQ(guessed->fabric, Fabric::kNvSwitch);
  EXPECT_DOUBLE_EQ(guessed->link.value, 450e9);
  EXPECT_FALSE(guessed->links_known);
  EXPECT_EQ(guessed->assumptions.size(), 1U);
  const auto named = platform_of(machine, 0, "NVIDIA B200");
  ASSERT_TRUE(named.has_value());
  EXPECT_DOUBLE_EQ(named->link.value, 900e9);
  EXPECT_EQ(named->id, "nvswitch-10");
  EXPECT_TRUE(named->assumptions.empty());
}

TEST(PlatformOfMachine, LinksThatTheSourceLeavesOutAreNotAbsent) {
  Machine machine = machine_of("NVIDIA H100 80GB HBM3", 8, 0);
  machine.imported = true;
  const auto platform = platform_of(machine, 0);
  ASSERT_TRUE(platform.has_value());
  EXPECT_EQ(platform->fabric, Fabric::kNvSwitch);
  EXPECT_FALSE(platform->links_known);
  EXPECT_EQ(platform->nics, 8U);
  EXPECT_FALSE(platform->nics_known);
  EXPECT_EQ(platform->assumptions.size(), 2U);
}

TEST(PlatformOfMachine, NothingIsAnError) {
  Machine machine;
  machine.name = "login-1";
  const auto platform = platform_of(machine, 0);
  ASSERT_FALSE(platform.has_value());
  EXPECT_EQ(platform.error().message,
            "login-1: no GPU and no NIC that is up: nothing to expect of a collective");
  add_nic(machine, 100, "ACTIVE", model::LinkLayer::kEthernet);
  const auto host = platform_of(machine, 0);
  ASSERT_TRUE(host.has_value());
  EXPECT_EQ(host->fabric, Fabric::kHost);
  EXPECT_EQ(host->nic_kind, "RoCE");
  EXPECT_EQ(host->id, "");
}

TEST(PlatformOfName, KnowsStandardMachinesAndSaysSo) {
  const auto platform = platform_of_name("NVIDIA H100 80GB HBM3", 8, 2);
  ASSERT_TRUE(platform.has_value());
  EXPECT_EQ(platform->nics, 8U);
  EXPECT_FALSE(platform->nics_known);
  ASSERT_EQ(platform->assumptions.size(), 2U);
  EXPECT_EQ(platform->assumptions[1],
            "Each node is taken to use 8 NICs of 400 Gb/s for these GPUs: the result does not say.");
  EXPECT_EQ(platform_of_name("NVIDIA H100 80GB HBM3", 1, 2)->nics, 1U);
  EXPECT_EQ(platform_of_name("NVIDIA H100 PCIe", 8, 1)->fabric, Fabric::kPcie);
  EXPECT_EQ(platform_of_name("Tesla V100-SXM2-32GB", 4, 1)->links, 3U);
  EXPECT_EQ(platform_of_name("NVIDIA GH200 120GB", 4, 2)->fabric, Fabric::kNvLinkMesh);
  EXPECT_EQ(platform_of_name("NVIDIA GB200", 4, 18)->domain, 72U);
  EXPECT_FALSE(platform_of_name("Voodoo 2", 2, 1).has_value());
  EXPECT_FALSE(platform_of_name("", 0, 0).has_value());
}

}  // namespace
}  // namespace angio::cost
