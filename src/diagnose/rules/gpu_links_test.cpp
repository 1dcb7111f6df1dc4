#include <gtest/gtest.h>

#include "diagnose/test_machines.hpp"

namespace angio::test {
namespace {

using model::LinkState;

void drop_links(Gpu& gpu, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i)
    gpu.links[i].state = LinkState::kInactive;
}

// Renames every GPU; the number of links stays.
void rename(Machine& machine, const std::string& name) {
  for (Gpu& gpu : machine.gpus)
    set(gpu.name, name);
}

TEST(GpuNvlinkInactive, FiresAgainstTheModelWithTheShareLost) {
  Machine machine = dgx_h100();
  drop_links(machine.gpus[5], 2);
  const auto found = findings_of(machine, "gpu.nvlink.inactive");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].title, "GPU 5 has 16 of 18 NVLinks active");
  EXPECT_EQ(found[0].cost.text, "400 GB/s of 450 GB/s between GPU 5 and the others, each direction");
  EXPECT_NEAR(found[0].rank, 2.0 / 18, 1e-9);
  EXPECT_EQ(found[0].severity, model::Severity::kCritical);
}

TEST(GpuNvlinkInactive, FiresAgainstSiblingsForAnUnknownModelAndInAVirtualMachine) {
  Machine machine = dgx_h100();
  rename(machine, "NVIDIA X999");
  drop_links(machine.gpus[1], 18);
  EXPECT_EQ(findings_of(machine, "gpu.nvlink.inactive").size(), 1U);
  rename(machine, "NVIDIA H100 80GB HBM3");
  set(machine.software.virtual_machine, std::string("KVM"));
  EXPECT_EQ(findings_of(machine, "gpu.nvlink.inactive").size(), 1U);
}

TEST(GpuNvlinkInactive, SilentOnPcieCardsWithTwelveLinksOrNone) {
  Machine machine = dgx_h100();
  rename(machine, "NVIDIA H100 PCIe");
  for (Gpu& gpu : machine.gpus)
    gpu.links.resize(12);
  EXPECT_TRUE(held(machine, "gpu.nvlink.inactive"));
  for (Gpu& gpu : machine.gpus)
    drop_links(gpu, 12);
  EXPECT_TRUE(held(machine, "gpu.nvlink.inactive"));
}

TEST(GpuNvlinkInactive, FiresOnceForEqualTroubles) {
  Machine machine = dgx_h100();
  drop_links(machine.gpus[5], 2);
  drop_links(machine.gpus[6], 2);
  const auto found = findings_of(machine, "gpu.nvlink.inactive");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].title, "GPU 5, GPU 6 have 16 of 18 NVLinks active each");
  ASSERT_EQ(found[0].fixes.size(), 1U);
  EXPECT_NE(found[0].fixes[0].command.find("fabricmanager"), std::string::npos);
}

TEST(GpuNvlinkInactive, FiresAsWarningOnABridgeThatHasLostLinks) {
  Machine machine = dgx_h100();
  rename(machine, "NVIDIA H100 PCIe");
  for (Gpu& gpu : machine.gpus) {
    gpu.links.resize(12);
    for (model::GpuLink& each : gpu.links)
      each.peer_kind = model::PeerKind::kGpu;
  }
  drop_links(machine.gpus[3], 8);
  drop_links(machine.gpus[7], 12);  // no bridge at all
  const auto found = findings_of(machine, "gpu.nvlink.inactive");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].title, "GPU 3 has 4 of 12 NVLinks active");
  EXPECT_EQ(found[0].severity, model::Severity::kWarning);
  ASSERT_EQ(found[0].fixes.size(), 1U);
  EXPECT_EQ(found[0].fixes[0].command, "sudo nvidia-smi -r -i 3");
}

TEST(GpuNvlinkInactive, FiresOnATrayWithoutItsOwnFabricManager) {
  Machine machine = dgx_h100();
  rename(machine, "NVIDIA GB200");
  drop_links(machine.gpus[0], 1);
  const auto found = findings_of(machine, "gpu.nvlink.inactive");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].fixes.at(0).command.find("fabricmanager"), std::string::npos);
}

TEST(GpuNvlinkInactive, SilentOnAGpuThatNvmlDoesNotList) {
  Machine machine = dgx_h100();
  forget(machine.gpus[4].library_index);
  machine.gpus[4].links.clear();
  EXPECT_TRUE(held(machine, "gpu.nvlink.inactive"));
}

TEST(GpuNvlinkInactive, SilentWhenAVirtualMachineGotPartOfABoard) {
  Machine machine = dgx_h100();
  set(machine.software.virtual_machine, std::string("KVM"));
  for (Gpu& gpu : machine.gpus)
    drop_links(gpu, 18);
  EXPECT_TRUE(held(machine, "gpu.nvlink.inactive"));
  machine.gpus.resize(1);
  EXPECT_TRUE(not_applicable(machine, "gpu.nvlink.inactive"));
}

TEST(GpuNvlinkInactive, UndecidedWhenTheStatesAreNotThere) {
  Machine machine = dgx_h100();
  for (Gpu& gpu : machine.gpus)
    gpu.links.clear();
  EXPECT_EQ(undecided_of(machine, "gpu.nvlink.inactive").size(), 1U);
}

Machine matrix(std::size_t size, auto cell) {
  Machine machine;
  machine.places.add("topo.txt");
  model::StatedPaths stated;
  for (std::uint32_t i = 0; i < size; ++i) {
    Gpu gpu;
    gpu.index = i;
    gpu.vendor = model::GpuVendor::kNvidia;
    machine.gpus.push_back(gpu);
    stated.devices.push_back({model::DeviceKind::kGpu, i});
  }
  for (std::uint32_t i = 0; i < size; ++i) {
    for (std::uint32_t j = 0; j < size; ++j) {
      model::Path path;
      path.kind = i == j           ? model::PathClass::kSelf
                  : cell(i, j) > 0 ? model::PathClass::kNvLink
                                   : model::PathClass::kSys;
      path.links = i == j ? 0 : cell(i, j);
      stated.cells.push_back(path);
    }
  }
  machine.stated_paths = stated;
  return machine;
}

TEST(GpuNvlinkInactive, FiresOnTheOddRowOfAMatrix) {
  const auto found = findings_of(matrix(8, [](auto i, auto j) { return i == 5 || j == 5 ? 0U : 18U; }),
                                 "gpu.nvlink.inactive");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].title, "GPU 5 reaches the others by SYS, they each other by NV18");
  const auto narrow = findings_of(matrix(8, [](auto i, auto j) { return i == 2 || j == 2 ? 10U : 12U; }),
                                  "gpu.nvlink.inactive");
  ASSERT_EQ(narrow.size(), 1U);
  EXPECT_EQ(narrow[0].title, "GPU 2 reaches the others by NV10, they each other by NV12");
}

TEST(GpuNvlinkInactive, SilentOnUniformBridgedAndCubeMeshMatrices) {
  EXPECT_TRUE(held(matrix(8, [](auto, auto) { return 12U; }), "gpu.nvlink.inactive"));
  EXPECT_TRUE(
      held(matrix(4, [](auto i, auto j) { return i / 2 == j / 2 ? 12U : 0U; }), "gpu.nvlink.inactive"));
  EXPECT_TRUE(held(matrix(8, [](auto, auto) { return 0U; }), "gpu.nvlink.inactive"));
  // DGX-1V: NV1, NV2 and SYS by design.
  const unsigned mesh[8][8] = {{0, 1, 1, 2, 2, 0, 0, 0}, {1, 0, 2, 1, 0, 2, 0, 0}, {1, 2, 0, 2, 0, 0, 1, 0},
                               {2, 1, 2, 0, 0, 0, 0, 1}, {2, 0, 0, 0, 0, 1, 1, 2}, {0, 2, 0, 0, 1, 0, 2, 1},
                               {0, 0, 1, 0, 1, 2, 0, 2}, {0, 0, 0, 1, 2, 1, 2, 0}};
  EXPECT_TRUE(held(matrix(8, [&](auto i, auto j) { return mesh[i][j]; }), "gpu.nvlink.inactive"));
}

TEST(GpuNvlinkErrors, FiresAboveTheLimit) {
  Machine machine = dgx_h100();
  set(machine.gpus[2].links[7].crc_errors, std::uint64_t{90000});
  const auto found = findings_of(machine, "gpu.nvlink.errors");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].evidence[0].text, "link 7: 90000 CRC errors");
}

TEST(GpuNvlinkErrors, SilentOnAFewAndWithoutNvlink) {
  Machine machine = dgx_h100();
  set(machine.gpus[2].links[7].replays, std::uint64_t{3});
  EXPECT_TRUE(held(machine, "gpu.nvlink.errors"));
  EXPECT_TRUE(not_applicable(plain_host(), "gpu.nvlink.errors"));
}

TEST(GpuNvlinkErrors, UndecidedWithoutCounters) {
  Machine machine = dgx_h100();
  deny(machine.gpus[0].links[0].crc_errors);
  EXPECT_EQ(undecided_of(machine, "gpu.nvlink.errors").size(), 1U);
}

}  // namespace
}  // namespace angio::test
