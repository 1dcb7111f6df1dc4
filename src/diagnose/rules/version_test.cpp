#include <gtest/gtest.h>

#include "diagnose/test_machines.hpp"

namespace angio::test {
namespace {

model::LibraryFile library(const std::string& name, const std::string& path, const std::string& version) {
  return {name, path, version, at("maps")};
}

Machine with_process(std::vector<model::LibraryFile> libraries) {
  Machine machine = dgx_h100();
  model::Process process;
  process.id = 4242;
  process.command = "python train.py";
  process.gpus = {0};
  process.libraries = std::move(libraries);
  machine.processes.push_back(std::move(process));
  return machine;
}

TEST(VersionDriverMismatch, FiresWhenNvmlSaysSo) {
  Machine machine = dgx_h100();
  set(machine.software.nvml_error, std::string("Driver/library version mismatch"));
  machine.software.nvml_driver = Observed<std::string>();
  const auto found = findings_of(machine, "version.driver.mismatch");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].severity, model::Severity::kCritical);
  EXPECT_NE(found[0].fixes.at(0).command.find("systemctl start nvidia-persistenced nvidia-fabricmanager"),
            std::string::npos);
  EXPECT_EQ(found[0].evidence.back().text, "module on disk 570.86.15");
}

TEST(VersionDriverMismatch, FiresWhenNoLibraryAgreesWithTheModule) {
  Machine machine = dgx_h100();
  machine.software.nvml_driver = Observed<std::string>();
  for (auto& file : machine.software.libraries) {
    if (file.version == "570.86.15") file.version = "575.57.08";
  }
  const auto found = findings_of(machine, "version.driver.mismatch");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].evidence[1].text, "libcuda.so.1 575.57.08, /usr/lib/libcuda.so.570.86.15");
}

TEST(VersionDriverMismatch, SilentOnCompatCopiesAndWhenNvmlAnswers) {
  Machine machine = dgx_h100();
  machine.software.libraries.push_back(
      library("libcuda.so.1", "/usr/local/cuda/compat/libcuda.so.575.57.08", "575.57.08"));
  EXPECT_TRUE(held(machine, "version.driver.mismatch"));
  machine.software.libraries = {library("libcuda.so.1", "/opt/old/libcuda.so.470.1", "470.1")};
  EXPECT_TRUE(held(machine, "version.driver.mismatch"));
  EXPECT_TRUE(not_applicable(plain_host(), "version.driver.mismatch"));
}

TEST(VersionDriverMismatch, UndecidedWithoutTheLoadedVersion) {
  Machine machine = dgx_h100();
  deny(machine.software.nvidia_loaded);
  EXPECT_EQ(undecided_of(machine, "version.driver.mismatch").size(), 1U);
}

TEST(VersionDriverReloadPending, FiresWhenDiskAndMemoryDiffer) {
  Machine machine = dgx_h100();
  set(machine.software.nvidia_on_disk, std::string("575.57.08"));
  EXPECT_EQ(findings_of(machine, "version.driver.reload-pending").at(0).title,
            "NVIDIA driver 575.57.08 is installed, 570.86.15 still runs");
}

TEST(VersionDriverReloadPending, SilentWhenEqual) {
  EXPECT_TRUE(held(dgx_h100(), "version.driver.reload-pending"));
  EXPECT_TRUE(not_applicable(plain_host(), "version.driver.reload-pending"));
}

TEST(VersionDriverReloadPending, UndecidedWithoutTheDiskVersion) {
  Machine machine = dgx_h100();
  deny(machine.software.nvidia_on_disk);
  EXPECT_EQ(undecided_of(machine, "version.driver.reload-pending").size(), 1U);
}

TEST(VersionCudaDriverTooOld, FiresCriticalForAMappedLibrary) {
  Machine machine = with_process({library("libcudart.so.12", "/opt/cuda/libcudart.so.12.4.127", "12.4.127")});
  set(machine.software.nvidia_loaded, std::string("515.65.01"));
  const auto found = findings_of(machine, "version.cuda.driver-too-old");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].title, "Driver 515.65.01 is too old for CUDA 12, which needs 525");
  EXPECT_EQ(found[0].severity, model::Severity::kCritical);
  EXPECT_EQ(found[0].fixes[0].text, "Install driver 525 or newer, or use libraries of CUDA 11");
}

TEST(VersionCudaDriverTooOld, FiresAsWarningForAnInstalledOne) {
  Machine machine = dgx_h100();
  machine.software.libraries.push_back(
      library("libcublas.so.13", "/opt/libcublas.so.13.0.0.19", "13.0.0.19"));
  const auto found = findings_of(machine, "version.cuda.driver-too-old");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].severity, model::Severity::kWarning);
}

TEST(VersionCudaDriverTooOld, SilentWithinAFamilyAndWithForwardCompatibility) {
  Machine machine = with_process({library("libcudart.so.12", "/opt/cuda/libcudart.so.12.9.1", "12.9.1")});
  EXPECT_TRUE(held(machine, "version.cuda.driver-too-old"));
  machine =
      with_process({library("libcudart.so.13", "/opt/libcudart.so.13.0.1", "13.0.1"),
                    library("libcuda.so.1", "/usr/local/cuda/compat/libcuda.so.580.65.06", "580.65.06")});
  EXPECT_TRUE(held(machine, "version.cuda.driver-too-old"));
}

TEST(VersionCudaDriverTooOld, UndecidedWithoutTheDriversVersion) {
  Machine machine = dgx_h100();
  deny(machine.software.nvidia_loaded);
  deny(machine.software.nvml_driver);
  EXPECT_EQ(undecided_of(machine, "version.cuda.driver-too-old").size(), 1U);
}

TEST(VersionNcclTwoLoaded, FiresOnTwoPathsInOneProcess) {
  const Machine machine = with_process({library("libnccl.so.2", "/a/libnccl.so.2.21.5", "2.21.5"),
                                        library("libnccl.so.2", "/b/libnccl.so.2.26.2", "2.26.2"),
                                        library("libnccl.so.2", "/b/libnccl.so.2.26.2", "2.26.2")});
  EXPECT_EQ(findings_of(machine, "version.nccl.two-loaded").at(0).title,
            "process 4242 (python train.py) has 2 NCCL libraries mapped");
}

TEST(VersionNcclTwoLoaded, SilentOnOne) {
  EXPECT_TRUE(held(with_process({library("libnccl.so.2", "/a/libnccl.so.2.21.5", "2.21.5")}),
                   "version.nccl.two-loaded"));
}

// no undecided: a process whose maps are unreadable has no libraries, which is the next test
TEST(VersionNcclTwoLoaded, UndecidedIsNotApplicableWithoutProcesses) {
  EXPECT_TRUE(not_applicable(dgx_h100(), "version.nccl.two-loaded"));
}

TEST(VersionNcclOlderLoaded, FiresWhenTheSystemCopyHidesTheNewerWheel) {
  Machine machine = with_process({library("libnccl.so.2", "/usr/lib/libnccl.so.2.28.3", "2.28.3")});
  machine.software.libraries.push_back(library(
      "libnccl.so.2", "/opt/venv/lib/python3.11/site-packages/nvidia/nccl/lib/libnccl.so.2", "2.30.4"));
  EXPECT_EQ(findings_of(machine, "version.nccl.older-loaded").at(0).title,
            "process 4242 (python train.py) runs NCCL 2.28.3, not the installed 2.30.4");
}

TEST(VersionNcclOlderLoaded, SilentWhenTheFrameworkRunsItsOwnOlderCopy) {
  const Machine machine =
      with_process({library("libnccl.so.2", "/v/site-packages/nvidia/nccl/lib/libnccl.so.2", "2.21.5")});
  EXPECT_TRUE(held(machine, "version.nccl.older-loaded"));
}

TEST(VersionNcclOlderLoaded, UndecidedWhenTheWheelsFileNameSaysNothing) {
  Machine machine = with_process({library("libnccl.so.2", "/usr/lib/libnccl.so.2.28.3", "2.28.3")});
  machine.software.libraries.push_back(
      library("libnccl.so.2", "/v/site-packages/nvidia/nccl/lib/libnccl.so.2", ""));
  EXPECT_EQ(undecided_of(machine, "version.nccl.older-loaded").size(), 1U);
}

TEST(VersionNcclThreadMask, FiresOnTheBrokenReleases) {
  const Machine machine = with_process({library("libnccl.so.2", "/a/libnccl.so.2.29.3", "2.29.3")});
  const auto found = findings_of(machine, "version.nccl.thread-mask");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].severity, model::Severity::kWarning);
  Machine installed = dgx_h100();
  installed.software.libraries[2] = library("libnccl.so.2", "/usr/lib/libnccl.so.2.29.7", "2.29.7");
  EXPECT_EQ(findings_of(installed, "version.nccl.thread-mask").at(0).severity, model::Severity::kInfo);
}

TEST(VersionNcclThreadMask, SilentBeforeAndAfter) {
  EXPECT_TRUE(held(dgx_h100(), "version.nccl.thread-mask"));
  EXPECT_TRUE(held(with_process({library("libnccl.so.2", "/a/libnccl.so.2.30.3", "2.30.3")}),
                   "version.nccl.thread-mask"));
}

TEST(VersionNcclThreadMask, UndecidedWithoutAVersion) {
  EXPECT_EQ(
      undecided_of(with_process({library("libnccl.so.2", "/a/libnccl.so.2", "")}), "version.nccl.thread-mask")
          .size(),
      1U);
}

TEST(VersionNcclTooOldForGpu, FiresForHopperAndBlackwell) {
  const Machine hopper = with_process({library("libnccl.so.2", "/a/libnccl.so.2.14.3", "2.14.3")});
  EXPECT_EQ(findings_of(hopper, "version.nccl.too-old-for-gpu").at(0).title,
            "NCCL 2.14.3 is older than GPUs of compute capability 9.0");
  Machine blackwell = with_process({library("libnccl.so.2", "/a/libnccl.so.2.21.5", "2.21.5")});
  set(blackwell.gpus[0].compute_capability, model::ComputeCapability{10, 0});
  EXPECT_EQ(findings_of(blackwell, "version.nccl.too-old-for-gpu").at(0).fixes[0].text,
            "Use NCCL 2.25.1 or newer");
}

TEST(VersionNcclTooOldForGpu, SilentOnANewOneAndOnAnUnusedOldCopy) {
  Machine machine = dgx_h100();
  EXPECT_TRUE(held(machine, "version.nccl.too-old-for-gpu"));
  machine.software.libraries.push_back(library("libnccl.so.2", "/opt/old/libnccl.so.2.8.3", "2.8.3"));
  EXPECT_TRUE(held(machine, "version.nccl.too-old-for-gpu"));
}

TEST(VersionNcclTooOldForGpu, UndecidedWithoutTheComputeCapability) {
  Machine machine = dgx_h100();
  for (Gpu& gpu : machine.gpus)
    deny(gpu.compute_capability);
  EXPECT_EQ(undecided_of(machine, "version.nccl.too-old-for-gpu").size(), 1U);
}

TEST(VersionNcclOldPcieSpeeds, FiresUnderANewKernel) {
  const Machine machine = with_process({library("libnccl.so.2", "/a/libnccl.so.2.8.4", "2.8.4")});
  EXPECT_EQ(findings_of(machine, "version.nccl.old-pcie-speeds").at(0).title,
            "NCCL 2.8.4 takes PCIe links for Gen3 under kernel 5.15.0-1053-nvidia");
}

TEST(VersionNcclOldPcieSpeeds, SilentOnOldKernelsNewNcclAndGen3) {
  Machine machine = with_process({library("libnccl.so.2", "/a/libnccl.so.2.8.4", "2.8.4")});
  set(machine.software.kernel, std::string("5.4.0-190-generic"));
  EXPECT_TRUE(held(machine, "version.nccl.old-pcie-speeds"));
  EXPECT_TRUE(held(dgx_h100(), "version.nccl.old-pcie-speeds"));
  set(machine.software.kernel, std::string("6.8.0"));
  for (PciDevice& device : machine.pci.devices)
    set(device.link_max, link(8, 16));
  EXPECT_TRUE(held(machine, "version.nccl.old-pcie-speeds"));
}

TEST(VersionNcclOldPcieSpeeds, UndecidedWithoutTheKernelsVersion) {
  Machine machine = with_process({library("libnccl.so.2", "/a/libnccl.so.2.8.4", "2.8.4")});
  deny(machine.software.kernel);
  EXPECT_EQ(undecided_of(machine, "version.nccl.old-pcie-speeds").size(), 1U);
}

}  // namespace
}  // namespace angio::test
