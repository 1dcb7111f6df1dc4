#include <gtest/gtest.h>

#include "diagnose/test_machines.hpp"

namespace angio::test {
namespace {

TEST(GpuPcieReplaysHigh, FiresAboveTheLimit) {
  Machine machine = dgx_h100();
  set(machine.gpus[3].pcie_replays, std::uint64_t{52000});
  const auto found = findings_of(machine, "gpu.pcie.replays-high");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].title, "PCIe link of GPU 3 replayed 52000 packets");
  EXPECT_EQ(found[0].evidence[0].source, "/sys/test/changed");
  EXPECT_NE(found[0].disprove.find("-i 0000:63:00.0"), std::string::npos);
}

TEST(GpuPcieReplaysHigh, SilentOnAFew) {
  Machine machine = dgx_h100();
  set(machine.gpus[3].pcie_replays, std::uint64_t{12});
  EXPECT_TRUE(held(machine, "gpu.pcie.replays-high"));
  EXPECT_TRUE(not_applicable(plain_host(), "gpu.pcie.replays-high"));
}

TEST(GpuPcieReplaysHigh, UndecidedWhenTheCounterIsNotReadable) {
  Machine machine = dgx_h100();
  deny(machine.gpus[0].pcie_replays);
  const auto gaps = undecided_of(machine, "gpu.pcie.replays-high");
  ASSERT_EQ(gaps.size(), 1U);
  EXPECT_EQ(gaps[0].missing, "PCIe replay counter of GPU 0: permission denied");
  EXPECT_EQ(gaps[0].collect, "sudo angio collect (only root may read this; nothing is changed)");
}

TEST(GpuClockThrottled, FiresOnHeatAndOnPowerBrake) {
  Machine machine = dgx_h100();
  set(machine.gpus[1].throttle_reasons, std::uint64_t{0x48});
  set(machine.gpus[1].sm_clock, Hertz{990e6});
  set(machine.gpus[2].throttle_reasons, std::uint64_t{0x80});
  set(machine.gpus[2].sm_clock, Hertz{1500e6});
  const auto found = findings_of(machine, "gpu.clock.throttled");
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].title, "GPU 1 slows itself down: hardware thermal slowdown");
  EXPECT_NEAR(found[0].rank, 0.5, 1e-9);
  EXPECT_EQ(found[1].title, "GPU 2 slows itself down: power brake");
}

TEST(GpuClockThrottled, FiresWithoutACauseOnABareSlowdown) {
  Machine machine = dgx_h100();
  set(machine.gpus[1].throttle_reasons, std::uint64_t{0x8});
  set(machine.gpus[1].sm_clock, Hertz{990e6});
  const auto found = findings_of(machine, "gpu.clock.throttled");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].title, "GPU 1 slows itself down: hardware slowdown");
  EXPECT_EQ(found[0].severity, model::Severity::kWarning);
  ASSERT_EQ(found[0].fixes.size(), 1U);
  EXPECT_NE(found[0].fixes[0].text.find("does not name the cause"), std::string::npos);
}

TEST(GpuClockThrottled, FiresOnceAsInfoAtFullClock) {
  Machine machine = dgx_h100();
  set(machine.gpus[1].throttle_reasons, std::uint64_t{0x20});
  set(machine.gpus[2].throttle_reasons, std::uint64_t{0x20});
  const auto found = findings_of(machine, "gpu.clock.throttled");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].title, "GPU 1, GPU 2 report software thermal slowdown at full clock");
  EXPECT_EQ(found[0].severity, model::Severity::kInfo);
}

TEST(GpuClockThrottled, SilentOnIdleApplicationClocksAndPowerCap) {
  Machine machine = dgx_h100();
  set(machine.gpus[0].throttle_reasons, std::uint64_t{0x1});
  set(machine.gpus[1].throttle_reasons, std::uint64_t{0x2});
  set(machine.gpus[2].throttle_reasons, std::uint64_t{0x4});
  EXPECT_TRUE(held(machine, "gpu.clock.throttled"));
}

TEST(GpuClockThrottled, UndecidedWithoutReasons) {
  Machine machine = dgx_h100();
  deny(machine.gpus[0].throttle_reasons);
  EXPECT_EQ(undecided_of(machine, "gpu.clock.throttled").size(), 1U);
}

TEST(GpuClockLockedLow, FiresOnlyUnderLoad) {
  Machine machine = dgx_h100();
  set(machine.gpus[4].sm_clock, Hertz{1005e6});
  EXPECT_TRUE(held(machine, "gpu.clock.locked-low"));
  set(machine.gpus[4].utilization, 99U);
  EXPECT_EQ(findings_of(machine, "gpu.clock.locked-low").at(0).title, "GPU 4 works at 1005 MHz of 1980 MHz");
}

TEST(GpuClockLockedLow, FiresEarlierWithApplicationClocks) {
  Machine machine = dgx_h100();
  for (std::uint32_t i : {4U, 5U}) {
    set(machine.gpus[i].sm_clock, Hertz{1600e6});
    set(machine.gpus[i].utilization, 99U);
  }
  EXPECT_TRUE(held(machine, "gpu.clock.locked-low"));
  for (std::uint32_t i : {4U, 5U})
    set(machine.gpus[i].throttle_reasons, std::uint64_t{0x2});
  const auto found = findings_of(machine, "gpu.clock.locked-low");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].title, "GPU 4, GPU 5 work at 1600 MHz of 1980 MHz");
  EXPECT_EQ(found[0].fixes.at(0).command, "sudo nvidia-smi -i 4,5 -rgc; sudo nvidia-smi -i 4,5 -rac");
}

TEST(GpuClockLockedLow, SilentWhenPowerExplainsIt) {
  Machine machine = dgx_h100();
  set(machine.gpus[4].sm_clock, Hertz{1005e6});
  set(machine.gpus[4].utilization, 99U);
  set(machine.gpus[4].throttle_reasons, std::uint64_t{0x4});
  EXPECT_TRUE(held(machine, "gpu.clock.locked-low"));
}

TEST(GpuClockLockedLow, UndecidedWithoutTheClock) {
  Machine machine = dgx_h100();
  deny(machine.gpus[4].sm_clock);
  EXPECT_EQ(undecided_of(machine, "gpu.clock.locked-low").size(), 1U);
}

TEST(GpuEccUncorrected, FiresOnOne) {
  Machine machine = dgx_h100();
  set(machine.gpus[6].ecc_uncorrected, std::uint64_t{1});
  EXPECT_EQ(findings_of(machine, "gpu.ecc.uncorrected").at(0).title,
            "GPU 6 had 1 uncorrectable memory error");
}

TEST(GpuEccUncorrected, SilentOnNoneAndWhereTheBoardHasNoEcc) {
  Machine machine = dgx_h100();
  EXPECT_TRUE(held(machine, "gpu.ecc.uncorrected"));
  machine.gpus[0].ecc_uncorrected = Observed<std::uint64_t>::unreadable(model::Reason::kUnsupported, at("x"));
  EXPECT_TRUE(held(machine, "gpu.ecc.uncorrected"));
}

TEST(GpuEccUncorrected, UndecidedWithoutTheCount) {
  Machine machine = dgx_h100();
  deny(machine.gpus[0].ecc_uncorrected);
  EXPECT_EQ(undecided_of(machine, "gpu.ecc.uncorrected").size(), 1U);
}

TEST(GpuMemoryRowRemap, FiresPendingAsWarningAndFailedAsCritical) {
  Machine machine = dgx_h100();
  set(machine.gpus[0].remap_pending, true);
  set(machine.gpus[1].remap_failed, true);
  const auto found = findings_of(machine, "gpu.memory.row-remap");
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].title, "GPU 1: row remapping failed");
  EXPECT_EQ(found[0].severity, model::Severity::kCritical);
  EXPECT_EQ(found[0].fixes.at(0).text, "Replace the GPU");
  EXPECT_EQ(found[1].severity, model::Severity::kWarning);
}

TEST(GpuMemoryRowRemap, SilentOnRowsRemappedBefore) {
  Machine machine = dgx_h100();
  set(machine.gpus[0].remapped_rows, std::uint64_t{3});
  EXPECT_TRUE(held(machine, "gpu.memory.row-remap"));
}

TEST(GpuMemoryRowRemap, UndecidedWithoutTheState) {
  Machine machine = dgx_h100();
  deny(machine.gpus[0].remap_pending);
  EXPECT_EQ(undecided_of(machine, "gpu.memory.row-remap").size(), 1U);
}

TEST(GpuPowerLimitLow, FiresWithTheShare) {
  Machine machine = dgx_h100();
  set(machine.gpus[7].power_limit, Watts{350});
  const auto found = findings_of(machine, "gpu.power.limit-low");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].title, "GPU 7 may use 350 W, its default is 700 W");
  EXPECT_EQ(found[0].fixes[0].command, "sudo nvidia-smi -i 7 -pl 700");
}

TEST(GpuPowerLimitLow, FiresOnceAsInfoWhenAllAreAlike) {
  Machine machine = dgx_h100();
  for (Gpu& gpu : machine.gpus)
    set(gpu.power_limit, Watts{500});
  auto found = findings_of(machine, "gpu.power.limit-low");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].severity, model::Severity::kInfo);
  EXPECT_EQ(found[0].devices.size(), 8U);
  set(machine.gpus[7].power_limit, Watts{350});
  found = findings_of(machine, "gpu.power.limit-low");
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].severity, model::Severity::kWarning);
  EXPECT_EQ(found[0].title, "GPU 7 may use 350 W, its default is 700 W");
}

TEST(GpuPowerLimitLow, SilentAtTheDefault) {
  EXPECT_TRUE(held(dgx_h100(), "gpu.power.limit-low"));
}

TEST(GpuPowerLimitLow, UndecidedWithoutTheLimit) {
  Machine machine = dgx_h100();
  deny(machine.gpus[0].power_limit);
  EXPECT_EQ(undecided_of(machine, "gpu.power.limit-low").size(), 1U);
}

TEST(GpuCountMissing, FiresOnAGpuThatFellOffTheBus) {
  Machine machine = dgx_h100();
  forget(machine.gpus[2].library_index);
  const auto found = findings_of(machine, "gpu.count.missing");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].title, "GPU 2 (0000:53:00.0) is on the bus but not in the driver's list");
  EXPECT_EQ(found[0].cost.text, "1 of 8 GPUs");
}

TEST(GpuCountMissing, FiresOnABoardOfSeven) {
  Machine machine = dgx_h100();
  machine.gpus.pop_back();
  EXPECT_EQ(findings_of(machine, "gpu.count.missing").at(0).title, "7 of 8 GPUs of the board are there");
}

TEST(GpuCountMissing, SilentOnVfioAndOnWholeBoards) {
  Machine machine = dgx_h100();
  EXPECT_TRUE(held(machine, "gpu.count.missing"));
  forget(machine.gpus[2].library_index);
  set(machine.pci.devices[*machine.gpus[2].pci].driver, std::string("vfio-pci"));
  EXPECT_TRUE(held(machine, "gpu.count.missing"));
}

TEST(GpuCountMissing, UndecidedInsideAContainerOrJob) {
  Machine machine = dgx_h100();
  forget(machine.gpus[2].library_index);
  machine.software.settings.push_back({"SLURM_JOB_ID", "17", at("environment")});
  EXPECT_EQ(undecided_of(machine, "gpu.count.missing").size(), 1U);
  EXPECT_TRUE(findings_of(machine, "gpu.count.missing").empty());
}

TEST(GpuDriverUnbound, FiresOnADataCentreGpuWithoutDriver) {
  Machine machine = dgx_h100();
  forget(machine.gpus[2].library_index);
  forget(machine.pci.devices[*machine.gpus[2].pci].driver);
  EXPECT_EQ(findings_of(machine, "gpu.driver.unbound").at(0).title, "GPU 2 (0000:53:00.0) has no driver");
}

TEST(GpuDriverUnbound, SilentOnAPassedThroughGpuAndADesktopWithNouveau) {
  Machine machine = dgx_h100();
  set(machine.pci.devices[*machine.gpus[2].pci].driver, std::string("vfio-pci"));
  EXPECT_TRUE(held(machine, "gpu.driver.unbound"));
  Machine desk = plain_host();
  add_h100(desk, add_pci(desk, "0000:01:00.0", {}, 0x030000, model::PciPort::kEndpoint, 0), 0);
  forget(desk.gpus[0].library_index);
  set(desk.pci.devices[0].driver, std::string("nouveau"));
  EXPECT_TRUE(held(desk, "gpu.driver.unbound"));
}

TEST(GpuDriverUnbound, UndecidedWithoutTheBinding) {
  Machine machine = dgx_h100();
  deny(machine.pci.devices[*machine.gpus[2].pci].driver);
  EXPECT_EQ(undecided_of(machine, "gpu.driver.unbound").size(), 1U);
}

TEST(GpuDriverNvmlFailed, FiresWithNvmlsOwnWords) {
  Machine machine = dgx_h100();
  set(machine.software.nvml_error, std::string("Unknown Error"));
  EXPECT_EQ(findings_of(machine, "gpu.driver.nvml-failed").at(0).title, "NVML does not start: Unknown Error");
}

TEST(GpuDriverNvmlFailed, SilentOnAMismatchAndWithoutGpus) {
  Machine machine = dgx_h100();
  set(machine.software.nvml_error, std::string("Driver/library version mismatch"));
  EXPECT_TRUE(held(machine, "gpu.driver.nvml-failed"));
  EXPECT_TRUE(not_applicable(plain_host(), "gpu.driver.nvml-failed"));
}

TEST(GpuDriverNvmlFailed, UndecidedWhenNobodyAsked) {
  Machine machine = dgx_h100();
  deny(machine.software.nvml_error);
  deny(machine.software.nvml_driver);
  EXPECT_EQ(undecided_of(machine, "gpu.driver.nvml-failed").size(), 1U);
}

TEST(GpuModeMig, FiresAsInformation) {
  Machine machine = dgx_h100();
  set(machine.gpus[0].mig, true);
  EXPECT_EQ(findings_of(machine, "gpu.mode.mig").at(0).severity, model::Severity::kInfo);
}

TEST(GpuModeMig, FiresWithAllIndices) {
  Machine machine = dgx_h100();
  set(machine.gpus[0].mig, true);
  set(machine.gpus[6].mig, true);
  EXPECT_EQ(findings_of(machine, "gpu.mode.mig").at(0).fixes.at(0).command, "sudo nvidia-smi -i 0,6 -mig 0");
}

TEST(GpuModeMig, SilentOnAGpuThatNvmlDoesNotList) {
  Machine machine = dgx_h100();
  forget(machine.gpus[0].library_index);
  deny(machine.gpus[0].mig);
  EXPECT_TRUE(held(machine, "gpu.mode.mig"));
}

TEST(GpuModeMig, SilentWhenOff) {
  EXPECT_TRUE(held(dgx_h100(), "gpu.mode.mig"));
}

TEST(GpuModeMig, UndecidedWhenUnreadable) {
  Machine machine = dgx_h100();
  deny(machine.gpus[0].mig);
  EXPECT_EQ(undecided_of(machine, "gpu.mode.mig").size(), 1U);
}

TEST(GpuModeCompute, FiresOnExclusiveAndProhibited) {
  Machine machine = dgx_h100();
  set(machine.gpus[0].compute_mode, std::string("exclusive process"));
  set(machine.gpus[1].compute_mode, std::string("prohibited"));
  const auto found = findings_of(machine, "gpu.mode.compute");
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].severity, model::Severity::kCritical);
  EXPECT_EQ(found[1].severity, model::Severity::kInfo);
}

TEST(GpuModeCompute, SilentOnDefault) {
  EXPECT_TRUE(held(dgx_h100(), "gpu.mode.compute"));
}

TEST(GpuModeCompute, UndecidedWhenUnreadable) {
  Machine machine = dgx_h100();
  deny(machine.gpus[0].compute_mode);
  EXPECT_EQ(undecided_of(machine, "gpu.mode.compute").size(), 1U);
}

TEST(GpuModePersistenceOff, FiresAsInformation) {
  Machine machine = dgx_h100();
  for (Gpu& gpu : machine.gpus)
    set(gpu.persistence, false);
  const auto found = findings_of(machine, "gpu.mode.persistence-off");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].severity, model::Severity::kInfo);
  EXPECT_EQ(found[0].title, "Persistence mode is off for GPUs 0-7");
}

TEST(GpuModePersistenceOff, SilentInVirtualMachinesAndOnDesktopCards) {
  Machine machine = dgx_h100();
  for (Gpu& gpu : machine.gpus)
    set(gpu.persistence, false);
  set(machine.software.virtual_machine, std::string("KVM"));
  EXPECT_TRUE(not_applicable(machine, "gpu.mode.persistence-off"));
}

TEST(GpuModePersistenceOff, UndecidedWhenUnreadable) {
  Machine machine = dgx_h100();
  deny(machine.gpus[0].persistence);
  EXPECT_EQ(undecided_of(machine, "gpu.mode.persistence-off").size(), 1U);
}

TEST(GpuModelMixed, FiresOnTwoModels) {
  Machine machine = dgx_h100();
  set(machine.gpus[7].name, std::string("NVIDIA A100 80GB PCIe"));
  EXPECT_EQ(findings_of(machine, "gpu.model.mixed").at(0).title, "GPUs of 2 kinds in one machine");
}

TEST(GpuModelMixed, SilentOnGpusThatNvmlDoesNotListOrVfioHas) {
  Machine machine = dgx_h100();
  forget(machine.gpus[7].library_index);
  forget(machine.gpus[7].memory);
  set(machine.gpus[7].name, std::string("NVIDIA H100 SXM5 80GB"));
  EXPECT_TRUE(held(machine, "gpu.model.mixed"));
  machine = dgx_h100();
  machine.gpus[7].memory = Observed<Bytes>();
  EXPECT_TRUE(held(machine, "gpu.model.mixed"));
  set(machine.gpus[7].name, std::string("NVIDIA A100 80GB PCIe"));
  set(machine.pci.devices[*machine.gpus[7].pci].driver, std::string("vfio-pci"));
  EXPECT_TRUE(held(machine, "gpu.model.mixed"));
}

TEST(GpuModelMixed, SilentOnADisplayCardBesideThem) {
  Machine machine = dgx_h100();
  set(machine.gpus[7].name, std::string("NVIDIA T400 4GB"));
  EXPECT_TRUE(held(machine, "gpu.model.mixed"));
}

TEST(GpuModelMixed, UndecidedWithoutAName) {
  Machine machine = dgx_h100();
  deny(machine.gpus[7].name);
  EXPECT_EQ(undecided_of(machine, "gpu.model.mixed").size(), 1U);
}

TEST(GpuEccMixed, FiresWhenSomeAreOff) {
  Machine machine = dgx_h100();
  set(machine.gpus[3].ecc, false);
  EXPECT_EQ(findings_of(machine, "gpu.ecc.mixed").at(0).title, "ECC is off on GPU 3, on on 7 others");
}

TEST(GpuEccMixed, FiresWithAllIndices) {
  Machine machine = dgx_h100();
  set(machine.gpus[3].ecc, false);
  set(machine.gpus[4].ecc, false);
  EXPECT_EQ(findings_of(machine, "gpu.ecc.mixed").at(0).fixes.at(0).command, "sudo nvidia-smi -i 3,4 -e 1");
}

TEST(GpuEccMixed, SilentWhenAllAreOff) {
  Machine machine = dgx_h100();
  for (Gpu& gpu : machine.gpus)
    set(gpu.ecc, false);
  EXPECT_TRUE(held(machine, "gpu.ecc.mixed"));
}

TEST(GpuEccMixed, UndecidedWhenUnreadable) {
  Machine machine = dgx_h100();
  deny(machine.gpus[3].ecc);
  EXPECT_EQ(undecided_of(machine, "gpu.ecc.mixed").size(), 1U);
}

}  // namespace
}  // namespace angio::test
