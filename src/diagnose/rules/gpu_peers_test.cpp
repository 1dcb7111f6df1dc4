#include <gtest/gtest.h>

#include "diagnose/test_machines.hpp"

namespace angio::test {
namespace {

TEST(GpuP2pDisabled, FiresByCauseAndCountsPairs) {
  Machine machine = dgx_h100();
  set(machine.pci.iommu, model::IommuMode::kTranslated);
  for (int other = 1; other < 8; ++other)
    set(machine.gpus[0].p2p[other], model::P2pStatus::kChipsetNotSupported);
  const auto found = findings_of(machine, "gpu.p2p.disabled");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].title, "7 GPU pairs without peer access: the chipset does not support it");
  EXPECT_EQ(found[0].evidence[1].text, "the IOMMU translates");
  ASSERT_EQ(found[0].fixes.size(), 1U);
  EXPECT_NE(found[0].fixes[0].text.find("IOMMU"), std::string::npos);
}

TEST(GpuP2pDisabled, SilentOnCardsThatNeverOfferIt) {
  Machine machine = dgx_h100();
  for (Gpu& gpu : machine.gpus) {
    set(gpu.name, std::string("NVIDIA GeForce RTX 4090"));
    for (auto& status : gpu.p2p)
      set(status, model::P2pStatus::kChipsetNotSupported);
  }
  EXPECT_TRUE(held(machine, "gpu.p2p.disabled"));
}

// PCIe cards that reach only those of their socket.
Machine pairs_by_socket() {
  Machine machine = dgx_h100();
  for (Gpu& gpu : machine.gpus) {
    set(gpu.name, std::string("NVIDIA A100 80GB PCIe"));
    for (std::uint32_t other = 0; other < 8; ++other) {
      if (gpu.index / 4 != other / 4) set(gpu.p2p[other], model::P2pStatus::kChipsetNotSupported);
    }
  }
  return machine;
}

TEST(GpuP2pDisabled, FiresAsInfoAcrossSockets) {
  const auto found = findings_of(pairs_by_socket(), "gpu.p2p.disabled");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].severity, model::Severity::kInfo);
  ASSERT_EQ(found[0].fixes.size(), 1U);
  EXPECT_NE(found[0].fixes[0].text.find("below one socket"), std::string::npos);
}

TEST(GpuP2pDisabled, FiresAsWarningWithinASocket) {
  Machine machine = pairs_by_socket();
  set(machine.gpus[0].p2p[1], model::P2pStatus::kChipsetNotSupported);
  auto found = findings_of(machine, "gpu.p2p.disabled");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].severity, model::Severity::kWarning);
  EXPECT_EQ(found[0].fixes.at(0).command, "sudo angio collect");
  machine.pci.devices[2].acs = known(model::AccessControl{true, true, true, true}, "config");
  found = findings_of(machine, "gpu.p2p.disabled");
  EXPECT_NE(found.at(0).fixes.at(0).text.find("iommu=pt"), std::string::npos);
}

TEST(GpuP2pDisabled, FiresAsInfoInAGuestWithTheHostsFix) {
  Machine machine = pairs_by_socket();
  set(machine.software.virtual_machine, std::string("KVM"));
  set(machine.gpus[0].p2p[1], model::P2pStatus::kChipsetNotSupported);
  const auto found = findings_of(machine, "gpu.p2p.disabled");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].severity, model::Severity::kInfo);
  ASSERT_EQ(found[0].fixes.size(), 1U);
  EXPECT_NE(found[0].fixes[0].text.find("host of this virtual machine"), std::string::npos);
}

TEST(GpuP2pDisabled, SilentOnAPeerInMigMode) {
  Machine machine = dgx_h100();
  set(machine.gpus[3].mig, true);
  for (int other = 0; other < 8; ++other) {
    set(machine.gpus[3].p2p[other], model::P2pStatus::kNotSupported);
    set(machine.gpus[other].p2p[3], model::P2pStatus::kNotSupported);
  }
  EXPECT_TRUE(held(machine, "gpu.p2p.disabled"));
}

TEST(GpuP2pDisabled, UndecidedWhenNobodyAsked) {
  Machine machine = dgx_h100();
  for (Gpu& gpu : machine.gpus)
    gpu.p2p.clear();
  EXPECT_EQ(undecided_of(machine, "gpu.p2p.disabled").size(), 1U);
}

TEST(GpuFabricNotReady, FiresWithoutTheFabricManager) {
  Machine machine = dgx_h100();
  set(machine.software.fabric_manager_running, false);
  EXPECT_EQ(findings_of(machine, "gpu.fabric.not-ready").at(0).title,
            "The fabric manager does not run on this NVSwitch machine");
}

TEST(GpuFabricNotReady, FiresWhenRegistrationIsInProgress) {
  Machine machine = dgx_h100();
  for (Gpu& gpu : machine.gpus)
    set(gpu.fabric, model::FabricState{"in progress", "N/A", "", 0});
  EXPECT_EQ(findings_of(machine, "gpu.fabric.not-ready").size(), 1U);
}

TEST(GpuFabricNotReady, FiresAsWarningWithoutTheFabricManagerOnRegisteredGpus) {
  Machine machine = dgx_h100();
  for (Gpu& gpu : machine.gpus)
    set(gpu.fabric, model::FabricState{"completed", "Success", "", 0});
  set(machine.software.fabric_manager_running, false);
  const auto found = findings_of(machine, "gpu.fabric.not-ready");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].severity, model::Severity::kWarning);
  EXPECT_EQ(found[0].cost.text, "GPU resets and link failures are not handled");
}

TEST(GpuFabricNotReady, FiresWhenRegistrationCompletedWithAnError) {
  Machine machine = dgx_h100();
  for (Gpu& gpu : machine.gpus)
    set(gpu.fabric, model::FabricState{"completed", "Success", "", 0});
  set(machine.gpus[2].fabric, model::FabricState{"completed", "Unknown Error", "", 0});
  const auto found = findings_of(machine, "gpu.fabric.not-ready");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].title, "Fabric registration of GPU 2 failed: Unknown Error");
  EXPECT_EQ(found[0].severity, model::Severity::kCritical);
}

// The switches and their fabric manager are in the rack's switch trays.
TEST(GpuFabricNotReady, SilentOnATrayWithoutFabricManager) {
  Machine machine = dgx_h100();
  machine.gpus.resize(4);
  for (Gpu& gpu : machine.gpus) {
    set(gpu.name, std::string("NVIDIA GB200"));
    set(gpu.coherent_link, true);
    set(gpu.fabric, model::FabricState{"completed", "Success", "", 0});
  }
  set(machine.software.fabric_manager_running, false);
  EXPECT_TRUE(held(machine, "gpu.fabric.not-ready"));
  set(machine.gpus[0].fabric, model::FabricState{"in progress", "N/A", "", 0});
  const auto found = findings_of(machine, "gpu.fabric.not-ready");
  ASSERT_EQ(found.size(), 1U);
  ASSERT_EQ(found[0].fixes.size(), 1U);
  EXPECT_NE(found[0].fixes[0].text.find("switch trays"), std::string::npos);
}

TEST(GpuFabricNotReady, SilentWhenDoneInContainersAndWithoutNvswitch) {
  Machine machine = dgx_h100();
  for (Gpu& gpu : machine.gpus)
    set(gpu.fabric, model::FabricState{"completed", "success", "", 0});
  EXPECT_TRUE(held(machine, "gpu.fabric.not-ready"));
  set(machine.software.fabric_manager_running, false);
  set(machine.software.container, std::string("docker"));
  EXPECT_TRUE(held(machine, "gpu.fabric.not-ready"));
  EXPECT_TRUE(not_applicable(plain_host(), "gpu.fabric.not-ready"));
}

TEST(GpuFabricNotReady, UndecidedWhenProcessesCouldNotBeListed) {
  Machine machine = dgx_h100();
  deny(machine.software.fabric_manager_running);
  EXPECT_EQ(undecided_of(machine, "gpu.fabric.not-ready").size(), 1U);
}

}  // namespace
}  // namespace angio::test
