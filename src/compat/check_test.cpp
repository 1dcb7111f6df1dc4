#include "compat/check.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "compat/facts.hpp"

namespace angio::compat {
namespace {

Report of(const std::vector<std::string>& words) {
  const auto stack = parse_words(words);
  EXPECT_TRUE(stack) << stack.error().message;
  return stack ? check(*stack) : Report{};
}

const Constraint* find(const Report& report, std::string_view id) {
  const auto found = std::ranges::find(report.constraints, id, &Constraint::id);
  return found == report.constraints.end() ? nullptr : &*found;
}

Verdict verdict(const Report& report, std::string_view id) {
  const Constraint* found = find(report, id);
  EXPECT_NE(found, nullptr) << id;
  return found != nullptr ? found->verdict : Verdict::kRemark;
}

std::size_t fails(const Report& report) {
  return static_cast<std::size_t>(
      std::ranges::count(report.constraints, Verdict::kFails, &Constraint::verdict));
}

// The four "golden" stacks of a popular article.

TEST(PopularStacks, Cuda121OnDriver515IsTooOldTwice) {
  const Report report = of({"cuda=12.1", "driver=515.65.01", "nccl=2.12.12"});
  EXPECT_EQ(verdict(report, "cuda.driver"), Verdict::kFails);
  EXPECT_EQ(verdict(report, "nccl.cuda12"), Verdict::kFails);
  EXPECT_EQ(find(report, "cuda.driver")->satisfy, "driver 525 or newer");
}

TEST(PopularStacks, HopperNeedsANewerNcclThan214) {
  const Report report = of({"cuda=12.2", "driver=525.60.13", "nccl=2.14.3", "gpu=9.0"});
  EXPECT_EQ(verdict(report, "cuda.driver"), Verdict::kHolds);
  EXPECT_EQ(verdict(report, "gpu.nccl"), Verdict::kFails);
  EXPECT_EQ(find(report, "gpu.nccl")->satisfy, "NCCL 2.15.1 or newer");
  EXPECT_EQ(verdict(report, "nccl.cuda12"), Verdict::kFails);
}

TEST(PopularStacks, Cuda123OnDriver535NeedsNoUcx) {
  const Report report = of({"cuda=12.3", "driver=535.54.03", "nccl=2.16.2", "ofed=5.9", "ucx=1.13"});
  EXPECT_EQ(fails(report), 0U);
  EXPECT_EQ(verdict(report, "cuda.driver"), Verdict::kHolds);
  EXPECT_NE(find(report, "cuda.driver")->explain.find("545.23.06"), std::string::npos);
  EXPECT_EQ(verdict(report, "ucx.not-needed"), Verdict::kRemark);
  EXPECT_EQ(verdict(report, "ofed.cuda-independent"), Verdict::kRemark);
}

TEST(PopularStacks, TheDriverMinimumIsOfCudaAndNotOfNccl) {
  const Report report = of({"driver=525.60.11", "nccl=2.14.3"});
  EXPECT_EQ(fails(report), 0U);
  EXPECT_EQ(find(report, "cuda.driver"), nullptr);
  const Report with_cuda = of({"driver=525.60.11", "nccl=2.16.2", "cuda=12.2"});
  EXPECT_EQ(verdict(with_cuda, "cuda.driver"), Verdict::kUnknown);
}

TEST(CudaOnDriver, AMissingDriverIsNamed) {
  const Report report = of({"cuda=13.0"});
  ASSERT_EQ(verdict(report, "cuda.driver"), Verdict::kUnknown);
  EXPECT_EQ(find(report, "cuda.driver")->missing, std::vector<Part>{Part::kDriver});
}

TEST(CudaOnDriver, TheForwardCompatibilityPackageBridges) {
  EXPECT_EQ(verdict(of({"cuda=13.0", "driver=535.104.05", "cuda-compat=13-0", "gpu=H100"}), "cuda.driver"),
            Verdict::kHolds);
  EXPECT_EQ(verdict(of({"cuda=13.0", "driver=535.104.05", "cuda-compat=13.0"}), "cuda.driver"),
            Verdict::kUnknown);
  const Report hint = of({"cuda=13.0", "driver=535.104.05"});
  EXPECT_EQ(verdict(hint, "cuda.driver"), Verdict::kFails);
  EXPECT_EQ(find(hint, "cuda.driver")->satisfy,
            "driver 580 or newer; or, on data-centre GPUs the package cuda-compat-13-0");
}

TEST(CudaOnDriver, AnOldPackageOnANewDriverFails) {
  EXPECT_EQ(verdict(of({"cuda=12.4", "driver=580.65.06", "cuda-compat=12.4"}), "cuda-compat.driver"),
            Verdict::kFails);
  EXPECT_EQ(verdict(of({"cuda=12.8", "driver=570.26", "cuda-compat=12.8"}), "cuda-compat.driver"),
            Verdict::kRemark);
}

TEST(CudaOnDriver, TheCudaItOffersWillDo) {
  EXPECT_EQ(verdict(of({"cuda=12.4", "cuda-driver=12.2"}), "cuda.driver"), Verdict::kHolds);
  EXPECT_NE(find(of({"cuda=12.4", "cuda-driver=12.2"}), "cuda.driver")->explain, "");
  EXPECT_EQ(find(of({"cuda=12.4", "cuda-driver=13.0"}), "cuda.driver")->explain, "");
  EXPECT_EQ(verdict(of({"cuda=13.0", "cuda-driver=12.8"}), "cuda.driver"), Verdict::kFails);
}

TEST(CudaOnDriver, TheOwnDriverHasNoLimits) {
  const Report report = of({"cuda=12.4", "driver=550.54.15"});
  EXPECT_EQ(verdict(report, "cuda.driver"), Verdict::kHolds);
  EXPECT_EQ(find(report, "cuda.driver")->explain, "");
}

TEST(CudaOnDriver, SaysWhatTheBranchOffers) {
  const auto why = [](const std::vector<std::string>& words) {
    return find(of(words), "cuda.driver")->explain;
  };
  EXPECT_EQ(why({"driver=470.82.01", "cuda=12.1"}),
            "CUDA 12.x runs on driver 525 or newer; this is branch 470, which offers CUDA 11.4. No "
            "forward-compatibility package is listed for CUDA 12.1 on branch 470; branches past their end of "
            "life were dropped from the table.");
  EXPECT_EQ(
      why({"driver=565.57.01", "cuda=13.0"}),
      "CUDA 13.x runs on driver 580 or newer; this is branch 565. No forward-compatibility package is "
      "listed for CUDA 13.0 on branch 565; branches past their end of life were dropped from the table.");
}

TEST(CudaOnDriver, AShortVersionIsComparedAsFarAsItGoes) {
  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
           {"driver=535", "cuda=12.2"}, {"driver=580.65", "cuda=13.0"}, {"driver=525", "cuda=12.0"}}) {
    const Report report = of(words);
    EXPECT_EQ(verdict(report, "cuda.driver"), Verdict::kHolds) << words[0];
    EXPECT_EQ(find(report, "cuda.driver")->explain, "") << words[0];
  }
  EXPECT_NE(find(of({"driver=530", "cuda=12.2"}), "cuda.driver")->explain, "");
}

TEST(Driver, ThePackageCountsWhereNothingIsLoaded) {
  const Report report = of({"disk-driver=470.82.01", "cuda=12.1"});
  EXPECT_EQ(verdict(report, "cuda.driver"), Verdict::kFails);
  EXPECT_EQ(find(report, "cuda.driver")->seen.back(), "NVIDIA driver 470.82.01 (installed)");
}

TEST(Driver, FabricManagerIsOfTheSameVersion) {
  const Report other = of({"driver=535.129.03", "fabric-manager=535.104.05"});
  EXPECT_EQ(verdict(other, "driver.fabric-manager"), Verdict::kFails);
  EXPECT_EQ(find(other, "driver.fabric-manager")->satisfy, "Fabric Manager 535.129.03");
  EXPECT_EQ(verdict(of({"driver=535.104.05", "fabric-manager=535.104.05"}), "driver.fabric-manager"),
            Verdict::kHolds);
  EXPECT_EQ(verdict(of({"driver=535", "fabric-manager=535.104.05"}), "driver.fabric-manager"),
            Verdict::kHolds);
  EXPECT_EQ(find(of({"fabric-manager=535.104.05"}), "driver.fabric-manager"), nullptr);
}

TEST(Driver, LibrariesOfAnotherVersionFail) {
  EXPECT_EQ(verdict(of({"driver=535.54.03", "user-driver=550.54.15"}), "driver.user-libraries"),
            Verdict::kFails);
  EXPECT_EQ(verdict(of({"driver=535.54.03", "user-driver=535.54.03"}), "driver.user-libraries"),
            Verdict::kHolds);
}

TEST(Driver, AFigureThatWasCutOffIsNoOtherVersion) {
  EXPECT_EQ(verdict(of({"driver=535.54.03", "user-driver=535.54"}), "driver.user-libraries"),
            Verdict::kHolds);
  EXPECT_EQ(verdict(of({"driver=535.54.03", "user-driver=535.5"}), "driver.user-libraries"), Verdict::kFails);
}

TEST(Driver, TheBranchsEndOfLifeIsARemark) {
  const Report report = of({"driver=535.104.05"});
  EXPECT_EQ(find(report, "driver.branch")->title,
            "Driver branch 535: long-term support, end of life 2026-06");
  EXPECT_EQ(find(of({"driver=550.54.15"}), "driver.branch"), nullptr);  // no source, no word
}

TEST(Gpu, AGenerationThatWasDroppedFails) {
  EXPECT_EQ(verdict(of({"gpu=V100", "driver=590.44.01"}), "gpu.driver"), Verdict::kFails);
  EXPECT_EQ(find(of({"gpu=V100", "driver=580.65.06"}), "gpu.driver"), nullptr);
  EXPECT_EQ(verdict(of({"gpu=V100", "cuda=13.0"}), "gpu.cuda"), Verdict::kFails);
  EXPECT_EQ(verdict(of({"gpu=V100", "cuda=12.9"}), "gpu.cuda"), Verdict::kHolds);
  EXPECT_EQ(verdict(of({"gpu=sm100", "cuda=12.6"}), "gpu.cuda"), Verdict::kFails);
}

TEST(Gpu, ADriverBeforeItsFirstToolkitIsDoubted) {
  const Report report = of({"gpu=B200", "driver=550.54.15"});
  ASSERT_EQ(verdict(report, "gpu.driver"), Verdict::kUnknown);
  EXPECT_EQ(find(report, "gpu.driver")->satisfy, "driver 570.26 or newer");
  EXPECT_EQ(find(of({"gpu=B200", "driver=570.26"}), "gpu.driver"), nullptr);
}

TEST(Gpu, TheBuildsAreHeldAgainstItToo) {
  EXPECT_EQ(verdict(of({"gpu=B200", "pytorch=2.4.0+cu121"}), "gpu.pytorch-cuda"), Verdict::kFails);
  EXPECT_EQ(verdict(of({"gpu=B200", "pytorch=2.7.0+cu128"}), "gpu.pytorch-cuda"), Verdict::kHolds);
  EXPECT_EQ(verdict(of({"gpu=V100", "pytorch=2.9.0+cu130"}), "gpu.pytorch-cuda"), Verdict::kFails);
  // It carries PTX: the wheel of PyTorch 2.7 for Blackwell brings this very build.
  EXPECT_EQ(verdict(of({"gpu=B200", "nccl=2.26.2+cuda12.2"}), "gpu.nccl-cuda"), Verdict::kRemark);
  EXPECT_EQ(verdict(of({"gpu=V100", "nccl=2.28.9+cuda13.0"}), "gpu.nccl-cuda"), Verdict::kFails);
}

TEST(Gpu, AMajorVersionAloneLeavesItOpen) {
  const Report report = of({"gpu=B200", "cuda=12"});
  ASSERT_EQ(verdict(report, "gpu.cuda"), Verdict::kUnknown);
  EXPECT_EQ(find(report, "gpu.cuda")->missing, std::vector<Part>{Part::kCuda});
}

TEST(Nccl, WhatRunsIsNotWhatIsInstalled) {
  EXPECT_EQ(verdict(of({"nccl=2.28.9", "nccl-installed=2.30.4"}), "nccl.loaded"), Verdict::kFails);
  EXPECT_EQ(verdict(of({"nccl=2.30.4", "nccl-installed=2.28.9"}), "nccl.loaded"), Verdict::kRemark);
  EXPECT_EQ(find(of({"nccl=2.30.4", "nccl-installed=2.30.4"}), "nccl.loaded"), nullptr);
}

TEST(Nccl, PluginsMustExportAnInterfaceItTakes) {
  EXPECT_EQ(verdict(of({"nccl=2.26.2", "net-plugin=v5"}), "nccl.net-plugin"), Verdict::kFails);
  EXPECT_EQ(verdict(of({"nccl=2.26.2", "net-plugin=v8"}), "nccl.net-plugin"), Verdict::kHolds);
  EXPECT_EQ(verdict(of({"nccl=2.20.5", "tuner-plugin=3"}), "nccl.tuner-plugin"), Verdict::kFails);
  EXPECT_EQ(verdict(of({"net-plugin=v8"}), "nccl.net-plugin"), Verdict::kUnknown);
  EXPECT_EQ(verdict(of({"nccl=2.12.12", "net-plugin=v5"}), "nccl.net-plugin"), Verdict::kUnknown);
}

TEST(Nccl, AWheelsOwnNcclHolds) {
  EXPECT_EQ(verdict(of({"pytorch=2.3.0+cu121", "nccl=2.20.5"}), "pytorch.nccl"), Verdict::kHolds);
  EXPECT_EQ(verdict(of({"pytorch=2.3.0+cu121", "nccl=2.18.3"}), "pytorch.nccl"), Verdict::kRemark);
  EXPECT_EQ(find(of({"pytorch=2.1.0", "nccl=2.18.3"}), "pytorch.nccl"), nullptr);
}

TEST(KnownBad, ThreadMaskHasARange) {
  EXPECT_EQ(verdict(of({"nccl=2.29.3"}), "nccl.thread-mask"), Verdict::kFails);
  EXPECT_EQ(find(of({"nccl=2.28.9"}), "nccl.thread-mask"), nullptr);
  EXPECT_EQ(find(of({"nccl=2.30.3"}), "nccl.thread-mask"), nullptr);
}

TEST(KnownBad, ASecondConditionThatIsUnknownLeavesItOpen) {
  const Report open = of({"nccl=2.28.9"});
  ASSERT_EQ(verdict(open, "nccl.gin-without-mlx5"), Verdict::kUnknown);
  EXPECT_EQ(find(open, "nccl.gin-without-mlx5")->missing, std::vector<Part>{Part::kAdapter});
  EXPECT_EQ(verdict(of({"nccl=2.28.9", "adapter=rxe0"}), "nccl.gin-without-mlx5"), Verdict::kFails);
  EXPECT_EQ(find(of({"nccl=2.28.9", "adapter=mlx5_0"}), "nccl.gin-without-mlx5"), nullptr);
  EXPECT_EQ(find(of({"nccl=2.28.9", "adapter=none"}), "nccl.gin-without-mlx5"), nullptr);
}

TEST(KnownBad, OldPcieSpeedsNeedANewKernel) {
  EXPECT_EQ(verdict(of({"nccl=2.10.3", "kernel=5.15.0-91-generic"}), "nccl.old-pcie-speeds"),
            Verdict::kFails);
  EXPECT_EQ(find(of({"nccl=2.10.3", "kernel=5.4.0"}), "nccl.old-pcie-speeds"), nullptr);
}

TEST(GpuDirect, EitherWayWillDo) {
  const std::vector<std::string> dma_buf = {"adapter=mlx5", "kernel=5.15.0", "driver=570.26", "module=open",
                                            "rdma-core=44"};
  EXPECT_EQ(verdict(of(dma_buf), "gdr.dma-buf"), Verdict::kHolds);
  EXPECT_EQ(verdict(of({"adapter=mlx5", "kernel=5.4.0", "driver=570.26", "peermem=yes"}), "gdr.dma-buf"),
            Verdict::kHolds);
  EXPECT_EQ(verdict(of({"adapter=mlx5", "kernel=5.4.0", "driver=570.26", "peermem=no"}), "gdr.dma-buf"),
            Verdict::kFails);
  const Report open = of({"adapter=mlx5", "kernel=5.4.0", "driver=570.26"});
  ASSERT_EQ(verdict(open, "gdr.dma-buf"), Verdict::kUnknown);
  EXPECT_EQ(find(open, "gdr.dma-buf")->missing, std::vector<Part>{Part::kPeermem});
  EXPECT_EQ(find(of({"adapter=none", "kernel=5.4.0"}), "gdr.dma-buf"), nullptr);
}

TEST(Firmware, IsHeldAgainstItsDoca) {
  EXPECT_EQ(verdict(of({"doca=3.1.0", "firmware=28.46.1006"}), "firmware.doca"), Verdict::kHolds);
  const Report old = of({"doca=3.1.0", "firmware=28.43.2026"});
  EXPECT_EQ(find(old, "firmware.doca")->satisfy, "firmware 28.46.1006");
  EXPECT_EQ(verdict(of({"doca=9.9.9", "firmware=28.43.2026"}), "firmware.doca"), Verdict::kUnknown);
}

TEST(Rules, NamePartsThatExist) {
  for (const auto rules : {knowledge::version_requirements(), knowledge::known_bad_versions(),
                           knowledge::version_remarks(), knowledge::nccl_features()}) {
    EXPECT_FALSE(rules.empty());
    for (const knowledge::VersionRule& rule : rules)
      for (const auto conditions : {rule.when, rule.needs, rule.unless})
        for (const knowledge::VersionCondition& one : conditions)
          EXPECT_TRUE(find_part(one.part)) << rule.id << " names " << one.part;
  }
}

TEST(Rules, ARemarkStaysAwayWhereItIsAnswered) {
  EXPECT_NE(find(of({"nccl=2.20.5", "driver=550.54.14"}), "nccl.no-driver-pair"), nullptr);
  EXPECT_EQ(find(of({"nccl=2.20.5", "driver=550.54.14", "cuda=12.4"}), "nccl.no-driver-pair"), nullptr);
}

TEST(Features, FollowTheReleaseAndTheRestOfTheStack) {
  const auto feature = [](const Report& report, std::string_view id) {
    return std::ranges::find(report.features, id, &Feature::id)->verdict;
  };
  const Report hopper = of({"nccl=2.18.3", "driver=535.54.03", "gpu=H100"});
  EXPECT_EQ(feature(hopper, "nccl.nvls"), Verdict::kHolds);
  EXPECT_EQ(feature(hopper, "nccl.dynamic-gid"), Verdict::kFails);
  EXPECT_EQ(feature(of({"nccl=2.18.3", "driver=535.54.03", "gpu=A100"}), "nccl.nvls"), Verdict::kFails);
  EXPECT_EQ(feature(of({"nccl=2.18.3"}), "nccl.nvls"), Verdict::kUnknown);
  EXPECT_TRUE(of({"driver=535.54.03"}).features.empty());
}

}  // namespace
}  // namespace angio::compat
