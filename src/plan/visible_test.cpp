#include "plan/visible.hpp"

#include <gtest/gtest.h>

#include "model/synthetic.hpp"

namespace angio::plan {
namespace {

using model::Machine;

template <typename T>
model::Observed<T> known(T value) {
  return model::Observed<T>::known(std::move(value), {});
}

Machine eight() {
  Machine machine = *model::topology("2 numa { 4 gpu }");
  for (std::uint32_t i = 0; i < 8; ++i) {
    machine.gpus[i].uuid = known("GPU-" + std::string(1, static_cast<char>('a' + i)) + "0000000-1111");
    machine.gpus[i].library_index = known(i);
  }
  return machine;
}

VisibleDevices cuda(std::string text) {
  VisibleDevices variables;
  variables.cuda = std::move(text);
  return variables;
}

// "4 6": the GPUs in order, "?" for one that is not known; behind a slash the notes' ids.
std::string seen(const Machine& machine, const VisibleDevices& variables) {
  const auto visible = find_visible(machine, variables);
  if (!visible) return "error: " + visible.error().message;
  std::string text;
  for (const VisibleGpu& each : visible->gpus)
    text += (text.empty() ? "" : " ") + (each.gpu ? std::to_string(*each.gpu) : std::string("?"));
  for (const model::Note& note : visible->notes)
    text += " /" + note.id.substr(std::string("plan.gpu.").size());
  return text;
}

TEST(Visible, WithoutVariablesAllInOrder) {
  EXPECT_EQ(seen(eight(), {}), "0 1 2 3 4 5 6 7");
  EXPECT_EQ(find_visible(eight(), {})->gpus[3].device, "3");
  EXPECT_EQ(seen(*model::topology("2 numa"), {}), "");
}

TEST(Visible, NumbersInTheOrderOfTheList) {
  EXPECT_EQ(seen(eight(), cuda("6,4, 5")), "6 4 5");
  EXPECT_EQ(find_visible(eight(), cuda("6,4"))->gpus[1].device, "4");
}

TEST(Visible, UuidsByAnyUnambiguousPrefix) {
  EXPECT_EQ(seen(eight(), cuda("GPU-c0000000-1111,GPU-a")), "2 0");
  Machine machine = eight();
  machine.gpus[1].uuid = known(std::string("GPU-a0000001"));
  EXPECT_EQ(seen(machine, cuda("GPU-a0000001")), "1");
  EXPECT_EQ(seen(machine, cuda("GPU-a")),
            "error: CUDA_VISIBLE_DEVICES: \"GPU-a\" begins the UUIDs of 2 GPUs: write more of it");
}

TEST(Visible, AnInvalidWordEndsTheList) {
  const auto visible = find_visible(eight(), cuda("0,2,9,1"));
  ASSERT_TRUE(visible.has_value());
  EXPECT_EQ(visible->gpus.size(), 2U);
  ASSERT_EQ(visible->notes.size(), 1U);
  EXPECT_EQ(visible->notes[0].text,
            "CUDA_VISIBLE_DEVICES: \"9\" is out of range: there are 8 GPUs; the list ends there, 2 GPUs are "
            "visible");
  EXPECT_EQ(seen(eight(), cuda("0,2,-1,1")), "0 2 /list-ends");
  EXPECT_EQ(seen(eight(), cuda("3,GPU-a")), "3 /list-ends");
  EXPECT_EQ(seen(eight(), cuda("GPU-a,3")), "0 /list-ends");
  EXPECT_EQ(seen(eight(), cuda("1,,2")), "1 /list-ends");
}

TEST(Visible, AFirstWordThatNamesNoGpuIsAnError) {
  EXPECT_EQ(seen(eight(), cuda("8")), "error: CUDA_VISIBLE_DEVICES: \"8\" is out of range: there are 8 GPUs");
  EXPECT_EQ(seen(eight(), cuda("GPU-zz")),
            "error: CUDA_VISIBLE_DEVICES: \"GPU-zz\" is the UUID of none of 8 GPUs");
  EXPECT_EQ(seen(eight(), cuda("gpu0")),
            "error: CUDA_VISIBLE_DEVICES: \"gpu0\" is neither a number nor a UUID");
  EXPECT_EQ(seen(eight(), cuda("99999999999999999999")),
            "error: CUDA_VISIBLE_DEVICES: \"99999999999999999999\" is neither a number nor a UUID");
}

TEST(Visible, NoGpuOnPurpose) {
  for (const char* text : {"", " ", "-1", "NoDevFiles", "none", "void"})
    EXPECT_EQ(seen(eight(), cuda(text)), " /none-visible") << text;
}

TEST(Visible, ADuplicateLeavesNone) {
  EXPECT_EQ(seen(eight(), cuda("1,2,1")), " /duplicate");
  EXPECT_EQ(seen(eight(), cuda("GPU-a,GPU-a0")), " /duplicate");
}

TEST(Visible, CudaReadsLeadingDigits) {
  EXPECT_EQ(seen(eight(), cuda("1gpu,2")), "1 2 /trailing");
  EXPECT_EQ(seen(eight(), cuda("+1")), "1");
}

TEST(Visible, MigByGpuUuidAndInstances) {
  const auto visible = find_visible(eight(), cuda("MIG-GPU-c0000000-1111/7/0"));
  ASSERT_TRUE(visible.has_value());
  ASSERT_EQ(visible->gpus.size(), 1U);
  EXPECT_EQ(visible->gpus[0].gpu, 2U);
  EXPECT_TRUE(visible->gpus[0].slice);
  EXPECT_EQ(visible->gpus[0].device, "MIG-GPU-c0000000-1111/7/0");
  // Two devices of one GPU are no duplicates.
  EXPECT_EQ(seen(eight(), cuda("MIG-GPU-c/7/0,MIG-GPU-c/8/0")), "2 2 /several-mig");
}

TEST(Visible, MigByItsOwnUuidOnlyWithOneGpuInMigMode) {
  Machine machine = eight();
  EXPECT_EQ(seen(machine, cuda("MIG-5f3a")), "? /not-found");
  machine.gpus[5].mig = known(true);
  EXPECT_EQ(seen(machine, cuda("MIG-5f3a")), "5");
  machine.gpus[6].mig = known(true);
  EXPECT_EQ(seen(machine, cuda("MIG-5f3a")), "? /not-found");
}

TEST(Visible, UnequalGpusMakeNumbersAmbiguous) {
  Machine machine = eight();
  machine.gpus[0].name = known(std::string("NVIDIA T400"));
  for (std::uint32_t i = 1; i < 8; ++i)
    machine.gpus[i].name = known(std::string("NVIDIA A100"));
  EXPECT_EQ(seen(machine, cuda("1,2")), "1 2 /order");
  VisibleDevices variables = cuda("1,2");
  variables.cuda_order = "PCI_BUS_ID";
  EXPECT_EQ(seen(machine, variables), "1 2");
  EXPECT_EQ(seen(machine, cuda("GPU-b")), "1");
  variables.cuda_order = "pci";
  EXPECT_EQ(seen(machine, variables), "1 2 /order-unknown /order");
  machine.gpus[0].name = machine.gpus[1].name;
  EXPECT_EQ(seen(machine, cuda("1,2")), "1 2");
}

TEST(Visible, InAContainerNumbersCountWhatTheLibraryLists) {
  Machine machine = eight();
  for (model::Gpu& gpu : machine.gpus)
    gpu.library_index = model::Observed<std::uint32_t>::absent({});
  machine.gpus[5].library_index = known(0U);
  EXPECT_EQ(seen(machine, cuda("0")), "5");
  EXPECT_EQ(seen(machine, {}), "5");
  EXPECT_EQ(find_visible(machine, {})->all.size(), 8U);
}

Machine amd() {
  Machine machine = eight();
  for (model::Gpu& gpu : machine.gpus)
    gpu.vendor = model::GpuVendor::kAmd;
  return machine;
}

TEST(Visible, HipCountsWhatRocrLeft) {
  VisibleDevices variables;
  variables.rocr = "4,5,6";
  EXPECT_EQ(seen(amd(), variables), "4 5 6");
  variables.hip = "2,0";
  EXPECT_EQ(seen(amd(), variables), "6 4");
  variables.hip = "3";
  EXPECT_EQ(seen(amd(), variables), "error: HIP_VISIBLE_DEVICES: \"3\" is out of range: there are 3 GPUs");
  variables.hip.reset();
  variables.cuda = "1";
  EXPECT_EQ(seen(amd(), variables), "5");
  variables = {};
  variables.rocr = "1,2x,3";
  EXPECT_EQ(seen(amd(), variables), "1 /list-ends");
  variables.rocr = "1,2,1,3";
  EXPECT_EQ(seen(amd(), variables), "1 2 /duplicate");
}

TEST(Visible, RanksUseTheComputeGpusOfAMixedMachine) {
  Machine machine = eight();
  machine.gpus[0].vendor = model::GpuVendor::kIntel;
  machine.gpus[0].library_index = {};
  EXPECT_EQ(seen(machine, cuda("0")), "1");
}

TEST(Visible, HostileTextEnds) {
  std::string many;
  for (int i = 0; i < 20000; ++i)
    many += std::to_string(i) + ",";
  EXPECT_EQ(seen(eight(), cuda(many)), "0 1 2 3 4 5 6 7 /list-ends");
  EXPECT_EQ(seen(eight(), cuda("\x1b[2J")),
            "error: CUDA_VISIBLE_DEVICES: \"\\x1b[2J\" is neither a number nor a UUID");
}

}  // namespace
}  // namespace angio::plan
