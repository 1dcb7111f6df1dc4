#include "launch/environment.hpp"

#include <gtest/gtest.h>

namespace angio::launch {
namespace {

using Environment = std::vector<std::string>;

model::Machine two_gpus(model::GpuVendor vendor) {
  model::Machine machine;
  machine.gpus.resize(2);
  for (model::Gpu& gpu : machine.gpus)
    gpu.vendor = vendor;
  machine.rdma.resize(3);
  machine.rdma[0].name = "mlx5_0";
  machine.rdma[1].name = "mlx5_1";
  machine.rdma[2].name = "mlx5_10";
  return machine;
}

model::RankPlacement rank_on_gpu_1() {
  model::RankPlacement placement;
  placement.local_rank = 1;
  placement.gpu = 1;
  placement.device = "1";
  placement.threads = 12;
  placement.rdma = {1, 2};
  return placement;
}

std::vector<VariableChange> changes_of(const EnvironmentOptions& options, const Environment& environment,
                                       model::GpuVendor vendor = model::GpuVendor::kNvidia) {
  auto changes = plan_environment(two_gpus(vendor), rank_on_gpu_1(), options, environment);
  EXPECT_TRUE(changes);
  return changes.value_or(std::vector<VariableChange>{});
}

TEST(RankEnvironment, ThreadsAreSetOnlyWhenUnset) {
  const auto set = changes_of({}, {"PATH=/bin"});
  ASSERT_EQ(set.size(), 1U);
  EXPECT_EQ(set[0].name, "OMP_NUM_THREADS");
  EXPECT_EQ(set[0].value, "12");
  EXPECT_FALSE(set[0].kept);
  const auto kept = changes_of({}, {"OMP_NUM_THREADS=1"});
  ASSERT_EQ(kept.size(), 1U);
  EXPECT_TRUE(kept[0].kept);
  EXPECT_EQ(kept[0].why, "it is set to \"1\" already and stays; the plan says 12");
  EXPECT_EQ(apply_changes(Environment{"OMP_NUM_THREADS=1"}, kept), Environment{"OMP_NUM_THREADS=1"});
}

TEST(RankEnvironment, AdaptersAreNamedExactly) {
  const auto changes = changes_of({.own_device = false, .adapters = true}, {});
  ASSERT_EQ(changes.size(), 2U);
  EXPECT_EQ(changes[1].name, "NCCL_IB_HCA");
  EXPECT_EQ(changes[1].value, "=mlx5_1,mlx5_10");
}

TEST(RankEnvironment, OwnDeviceReplacesTheListAndTellsTheOldOne) {
  const Environment environment{"CUDA_VISIBLE_DEVICES=0,1", "HOME=/h"};
  const auto changes = changes_of({.own_device = true, .adapters = false}, environment);
  ASSERT_EQ(changes.size(), 2U);
  EXPECT_EQ(changes[1].name, "CUDA_VISIBLE_DEVICES");
  EXPECT_EQ(changes[1].value, "1");
  EXPECT_EQ(changes[1].before, "0,1");
  EXPECT_EQ(apply_changes(environment, changes),
            (Environment{"HOME=/h", "OMP_NUM_THREADS=12", "CUDA_VISIBLE_DEVICES=1"}));
}

TEST(RankEnvironment, AmdDevicesKeepTheVariableInUse) {
  const EnvironmentOptions own{.own_device = true, .adapters = false};
  EXPECT_EQ(changes_of(own, {}, model::GpuVendor::kAmd).back().name, "ROCR_VISIBLE_DEVICES");
  EXPECT_EQ(changes_of(own, {"HIP_VISIBLE_DEVICES=0,1"}, model::GpuVendor::kAmd).back().name,
            "HIP_VISIBLE_DEVICES");
}

TEST(RankEnvironment, OwnDeviceWithoutAGpuIsAnError) {
  model::RankPlacement placement;
  placement.local_rank = 4;
  const auto changes =
      plan_environment({}, placement, {.own_device = true, .adapters = false}, Environment{});
  ASSERT_FALSE(changes);
  EXPECT_EQ(changes.error().message, "--devices own: rank 4 has no GPU of its own");
}

TEST(RankEnvironment, NothingToAddChangesNothing) {
  EXPECT_TRUE(plan_environment({}, {}, {}, Environment{}).value_or(std::vector<VariableChange>(1)).empty());
  const Environment odd{"=C:=x", "novalue", "A=1"};
  EXPECT_EQ(apply_changes(odd, {}), odd);
}

}  // namespace
}  // namespace angio::launch
