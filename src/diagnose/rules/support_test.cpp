#include "diagnose/rules/support.hpp"

#include <gtest/gtest.h>

#include <cerrno>

#include "diagnose/doctor.hpp"
#include "diagnose/test_machines.hpp"

namespace angio::diagnose {
namespace {

using Names = std::vector<std::string>;

Names numbered(const std::string& stem, std::uint32_t first, std::uint32_t last) {
  Names names;
  for (std::uint32_t i = first; i <= last; ++i)
    names.push_back(stem + std::to_string(i));
  return names;
}

Names both(Names a, const Names& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

TEST(ListOf, ShortListsNameEachItem) {
  EXPECT_EQ(list_of({}), "");
  EXPECT_EQ(list_of({"GPU 0", "GPU 1"}), "GPU 0, GPU 1");
  EXPECT_EQ(list_of(numbered("GPU ", 0, 5)), "GPU 0, GPU 1, GPU 2, GPU 3, GPU 4, GPU 5");
}

TEST(ListOf, NeighboursOfALongListBecomeRanges) {
  EXPECT_EQ(list_of(numbered("GPU ", 0, 7)), "GPUs 0-7");
  EXPECT_EQ(list_of(numbered("mlx5_", 0, 11)), "mlx5_0 to mlx5_11");
  EXPECT_EQ(list_of(numbered("", 0, 11)), "0-11");
  EXPECT_EQ(list_of(both(numbered("GPU ", 0, 7), numbered("mlx5_", 0, 7))), "GPUs 0-7, mlx5_0 to mlx5_7");
  EXPECT_EQ(list_of(both(numbered("GPU ", 0, 3), numbered("GPU ", 5, 7))), "GPUs 0-3, GPUs 5-7");
  EXPECT_EQ(list_of(both(numbered("GPU ", 0, 5), {"GPU 9"})), "GPUs 0-5, GPU 9");
  EXPECT_EQ(list_of(numbered("process ", 1, 7)), "process 1 to process 7");
}

TEST(ListOf, PairsAddressesAndPaddedNamesAreNoRanges) {
  EXPECT_EQ(list_of(numbered("0-", 1, 7)), "0-1, 0-2, 0-3, 0-4, 0-5 and 2 more");
  EXPECT_EQ(list_of(numbered("0000:17:00.", 0, 6)),
            "0000:17:00.0, 0000:17:00.1, 0000:17:00.2, 0000:17:00.3, 0000:17:00.4 and 2 more");
  EXPECT_EQ(list_of({"n01", "n02", "n03", "n04", "n05", "n06", "n07"}), "n01, n02, n03, n04, n05 and 2 more");
}

TEST(ListOf, WhatIsStillLongIsCountedInItems) {
  Names odd = numbered("GPU ", 0, 3);
  for (const char* name : {"a", "b", "c", "d", "e", "f"})
    odd.emplace_back(name);
  EXPECT_EQ(list_of(odd), "GPUs 0-3, a, b, c, d and 2 more");
}

model::Undecided mig_gap(const model::Machine& machine) {
  for (const model::Undecided& gap : diagnose(machine).undecided) {
    if (gap.rule == "gpu.mode.mig") return gap;
  }
  return {};
}

// A machine whose GPUs NVML says nothing of.
model::Machine without_nvml() {
  model::Machine machine = test::dgx_h100();
  for (model::Gpu& gpu : machine.gpus) {
    gpu.library_index = {};
    gpu.mig = {};
  }
  machine.software.nvml_driver = {};
  return machine;
}

TEST(Undecided, WhereNvmlDoesNotStartItsTroubleComesFirst) {
  model::Machine machine = without_nvml();
  machine.software.nvml_error = model::Observed<std::string>::known("Driver/library version mismatch", {});
  EXPECT_EQ(
      mig_gap(machine).collect,
      "first cure version.driver.mismatch (NVML said: Driver/library version mismatch), then angio collect");
  machine.software.nvml_error = model::Observed<std::string>::known("Unknown Error", {});
  EXPECT_EQ(mig_gap(machine).collect,
            "first cure gpu.driver.nvml-failed (NVML said: Unknown Error), then angio collect");
  machine.software.nvml_error = model::Observed<std::string>::absent({});
  EXPECT_EQ(mig_gap(machine).collect,
            "first install the driver's user libraries (libnvidia-ml.so.1 is not here), then angio collect");
  machine.software.nvml_error =
      model::Observed<std::string>::unreadable(model::Reason::kFailed, {}, ETIMEDOUT);
  EXPECT_NE(mig_gap(machine).collect.find("why NVML does not answer"), std::string::npos);
}

TEST(PlaceOf, AnotherToolsTextIsItsOwnPlace) {
  model::Machine machine = test::dgx_h100();
  EXPECT_EQ(place_of(machine, "/sys/devices/system/node"), "/sys/devices/system/node");
  machine.imported = true;
  machine.origin = "lscpu lscpu.txt";
  EXPECT_EQ(place_of(machine, "/sys/devices/system/node"), "lscpu lscpu.txt");
}

TEST(Undecided, WhereNobodyAskedNvmlCollectingHelps) {
  model::Machine machine = without_nvml();
  machine.software.nvml_error = {};
  EXPECT_EQ(mig_gap(machine).missing, "MIG mode of GPUs 0-7: not collected");
  EXPECT_EQ(mig_gap(machine).collect, "angio collect on the node");
}

TEST(Undecided, WhatOnlyRootMayReadSaysSo) {
  Outcome outcome;
  gap(outcome, "ACS state", model::Observed<bool>::unreadable(model::Reason::kDenied, {}, EACCES));
  ASSERT_EQ(outcome.gaps.size(), 1U);
  EXPECT_EQ(outcome.gaps[0].missing, "ACS state: permission denied");
  EXPECT_EQ(outcome.gaps[0].collect, "sudo angio collect (only root may read this; nothing is changed)");
}

}  // namespace
}  // namespace angio::diagnose
