#include "plan/adapters.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "model/synthetic.hpp"
#include "plan/plan.hpp"

namespace angio::plan {
namespace {

using model::Machine;

template <typename T>
model::Observed<T> known(T value) {
  return model::Observed<T>::known(std::move(value), {});
}

// "0:PIX 1:PIX": each rank's adapters and how near the first is.
std::string rails(const Machine& machine, const PlanRequest& request = {}) {
  const auto placement = make_placement(machine, request);
  if (!placement) return "error: " + placement.error().message;
  std::string text;
  for (const model::RankPlacement& rank : placement->ranks) {
    std::string devices;
    for (const std::uint32_t device : rank.rdma)
      devices += (devices.empty() ? "" : "+") + machine.rdma[device].name.substr(5);
    text += (text.empty() ? "" : " ") + devices + ":" + model::label(rank.rdma_path);
  }
  return text;
}

std::string note(const Machine& machine, std::string_view id) {
  const auto placement = make_placement(machine, {});
  if (!placement) return "error";
  const auto found = std::ranges::find(placement->notes, id, &model::Note::id);
  return found == placement->notes.end() ? "" : found->text;
}

TEST(PlanAdapters, TheOneBelowTheSameSwitch) {
  EXPECT_EQ(rails(*model::topology("2 numa { 2 switch { gpu; hca } }")), "0:PIX 1:PIX 2:PIX 3:PIX");
}

TEST(PlanAdapters, EquallyNearOnesAreSpreadAsRails) {
  EXPECT_EQ(rails(*model::topology("2 numa { switch { 2 gpu; 2 hca } }")), "0:PIX 1:PIX 2:PIX 3:PIX");
  EXPECT_EQ(rails(*model::topology("numa { 4 switch { gpu }; 2 switch { hca } }")),
            "0:NODE 1:NODE 0:NODE 1:NODE");
  EXPECT_EQ(rails(*model::topology("2 numa { switch { gpu; 2 hca } }")), "0+1:PIX 2+3:PIX");
  EXPECT_EQ(rails(*model::topology("numa { switch { 2 gpu; 4 hca } }")), "0+1:PIX 2+3:PIX");
}

TEST(PlanAdapters, RanksOnOneGpuShareItsAdapter) {
  PlanRequest request;
  request.ranks = 4;
  EXPECT_EQ(rails(*model::topology("numa { 2 switch { gpu; hca } }"), request), "0:PIX 1:PIX 0:PIX 1:PIX");
}

TEST(PlanAdapters, OnlyOnTheOtherNode) {
  const Machine machine = *model::topology("numa { 2 gpu; 2 hca }; numa { 2 gpu }");
  EXPECT_EQ(rails(machine), "0:PHB 1:PHB 0:SYS 1:SYS");
  const std::string text = note(machine, "plan.nic.far");
  EXPECT_TRUE(
      text.starts_with("ranks 2-3 reach the nearest adapter only over the CPUs' interconnect (SYS): all "
                       "adapters are on node 0; without NCCL_NET_GDR_LEVEL"))
      << text;
}

TEST(PlanAdapters, DownPortsAndVirtualFunctionsAreLeftOut) {
  Machine machine = *model::topology("numa { switch { gpu; 3 hca } }");
  machine.rdma[0].ports[0].state = known(std::string("DOWN"));
  machine.rdma[1].virtual_function = true;
  EXPECT_EQ(rails(machine), "2:PIX");
  EXPECT_EQ(note(machine, "plan.nic.down"), "mlx5_0 has no active port and is not used");
  EXPECT_EQ(note(machine, "plan.nic.virtual"), "mlx5_1 is a virtual function of a card");
  // In a pod virtual functions are all there is.
  machine.rdma[2].virtual_function = true;
  EXPECT_EQ(rails(machine), "1+2:PIX");
  // A port of which nothing is known is not held to be down.
  machine.rdma[0].ports.clear();
  machine.rdma[0].virtual_function = true;
  EXPECT_EQ(rails(machine), "0+1+2:PIX");
}

TEST(PlanAdapters, StorageAdaptersAreLeftToStorage) {
  const Machine mixed = *model::topology("numa { switch { gpu; hca roce; hca ndr } }");
  EXPECT_EQ(rails(mixed), "1:PIX");
  EXPECT_EQ(note(mixed, "plan.nic.other-network"),
            "mlx5_0 on Ethernet left to storage and management beside the InfiniBand adapters");
  Machine slow = *model::topology("numa { switch { gpu; 2 hca roce } }");
  slow.rdma[0].ports[0].rate = known(BitsPerSecond{40e9});
  slow.rdma[1].ports[0].rate = known(BitsPerSecond{200e9});
  EXPECT_EQ(rails(slow), "1:PIX");
  EXPECT_FALSE(note(slow, "plan.nic.slow").empty());
}

TEST(PlanAdapters, ABondIsOneDevice) {
  Machine machine = *model::topology("numa { switch { gpu; 2 hca roce } }");
  machine.rdma[0].bond = true;
  PciAddress second = *machine.rdma[0].address.get();
  second.function = 1;
  machine.rdma[1].address = known(second);
  EXPECT_EQ(rails(machine), "0:PIX");
  EXPECT_EQ(note(machine, "plan.nic.bonded"), "mlx5_1 is a port of a bond that is used as one device");
}

TEST(PlanAdapters, NamesInNaturalOrder) {
  Machine machine = *model::topology("numa { switch { 2 gpu; 2 hca } }");
  machine.rdma[0].name = "mlx5_10";
  machine.rdma[1].name = "mlx5_9";
  EXPECT_EQ(rails(machine), "9:PIX 10:PIX");
}

TEST(PlanAdapters, RanksWithoutGpusTakeThoseOfTheirNode) {
  EXPECT_EQ(rails(*model::topology("2 numa { hca }")), "0:NODE 1:NODE");
}

TEST(PlanAdapters, UnknownDistancesChooseNothing) {
  Machine machine = *model::topology("2 numa { gpu; hca }");
  for (model::RdmaDevice& device : machine.rdma) {
    device.pci.reset();
    device.numa = {};
  }
  EXPECT_EQ(rails(machine), ":? :?");
  machine.rdma.pop_back();
  EXPECT_EQ(rails(machine), "0:? 0:?");
}

TEST(PlanAdapters, WithoutAnyNothingIsSaid) {
  EXPECT_EQ(rails(*model::topology("2 numa { gpu }")), ":? :?");
  const auto placement = make_placement(*model::topology("2 numa { gpu }"), {});
  EXPECT_TRUE(
      std::ranges::none_of(placement->ranks[0].why, [](const auto& why) { return why.what == "nic"; }));
}

}  // namespace
}  // namespace angio::plan
