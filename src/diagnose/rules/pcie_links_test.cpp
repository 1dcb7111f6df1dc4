#include <gtest/gtest.h>

#include "diagnose/test_machines.hpp"

namespace angio::test {
namespace {

// In dgx_h100() each group of six devices is: root port, uplink, GPU port, HCA port, GPU, HCA.
constexpr std::uint32_t kUplink = 1, kGpuPort = 2, kHcaPort = 3, kGpu = 4, kHca = 5;

PciDevice& device(Machine& machine, std::uint32_t group, std::uint32_t member) {
  return machine.pci.devices[group * 6 + member];
}

TEST(PcieLinkWidthReduced, FiresWhenBothEndsCanMore) {
  Machine machine = dgx_h100();
  set(device(machine, 5, kGpu).link, link(32, 8));
  set(machine.gpus[5].pcie_width, 8U);
  const auto found = findings_of(machine, "pcie.link.width-reduced");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].title, "PCIe link of GPU 5 runs at 32 GT/s x8; both ends can 32 GT/s x16");
  EXPECT_EQ(found[0].severity, model::Severity::kWarning);
  EXPECT_EQ(found[0].cost.text, "31.5 GB/s instead of 63 GB/s in each direction");
  EXPECT_DOUBLE_EQ(found[0].rank, 0.5);
  ASSERT_EQ(found[0].evidence.size(), 3U);
  EXPECT_EQ(found[0].evidence[0].source, "/sys/test/changed");
  EXPECT_EQ(found[0].evidence[2].text, "the port above, 0000:b2:00.0, can 32 GT/s x16");
  EXPECT_NE(found[0].disprove.find("-s 0000:b3:00.0"), std::string::npos);
}

TEST(PcieLinkWidthReduced, FiresOnceForEqualTroubles) {
  Machine machine = dgx_h100();
  for (std::uint32_t i = 0; i < 8; ++i)
    set(device(machine, i, kGpu).link, link(32, 8));
  const auto found = findings_of(machine, "pcie.link.width-reduced");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].devices.size(), 8U);
}

TEST(PcieLinkWidthReduced, FiresOnNvmlAloneWithoutATree) {
  Machine machine = dgx_h100();
  machine.pci.devices.clear();
  for (auto& gpu : machine.gpus)
    gpu.pci.reset();
  machine.rdma.clear();
  set(machine.gpus[2].pcie_width, 4U);
  const auto found = findings_of(machine, "pcie.link.width-reduced");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].evidence[1].text, "GPU and slot together can x16");
}

TEST(PcieLinkWidthReduced, SilentOnEightLanesByDesign) {
  Machine machine = dgx_h100();
  set(device(machine, 5, kGpu).link, link(32, 8));
  set(device(machine, 5, kGpuPort).link_max, link(32, 8));
  EXPECT_TRUE(held(machine, "pcie.link.width-reduced"));
  EXPECT_TRUE(held(dgx_h100(), "pcie.link.width-reduced"));
  EXPECT_TRUE(not_applicable(plain_host(), "pcie.link.width-reduced"));
}

TEST(PcieLinkWidthReduced, SilentOnAnIdleGpuWithAllItsLanes) {
  Machine machine = dgx_h100();
  for (std::uint32_t i = 0; i < 8; ++i)
    set(device(machine, i, kGpu).link, link(2.5, 16));
  EXPECT_TRUE(held(machine, "pcie.link.width-reduced"));
}

TEST(PcieLinkWidthReduced, UndecidedInAGuest) {
  Machine machine = dgx_h100();
  set(machine.software.virtual_machine, std::string("KVM"));
  set(device(machine, 5, kGpu).link, link(32, 8));
  set(machine.gpus[5].pcie_width, 8U);
  EXPECT_TRUE(findings_of(machine, "pcie.link.width-reduced").empty());
  const auto gaps = undecided_of(machine, "pcie.link.width-reduced");
  ASSERT_EQ(gaps.size(), 1U);
  EXPECT_EQ(gaps[0].missing, "what the slot of GPU 5 can: a guest does not see the real port above");
}

TEST(PcieLinkWidthReduced, UndecidedWhenNothingIsReadable) {
  Machine machine = dgx_h100();
  deny(device(machine, 5, kGpu).link);
  deny(machine.gpus[5].pcie_width);
  const auto gaps = undecided_of(machine, "pcie.link.width-reduced");
  ASSERT_EQ(gaps.size(), 1U);
  EXPECT_EQ(gaps[0].missing, "PCIe link width of GPU 5: permission denied");
}

TEST(PcieLinkSpeedReduced, FiresOnAWorkingGpu) {
  Machine machine = dgx_h100();
  set(machine.gpus[3].pcie_generation, 3U);
  set(machine.gpus[3].utilization, 97U);
  const auto found = findings_of(machine, "pcie.link.speed-reduced");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].title, "PCIe link of GPU 3 runs at 8 GT/s x16; both ends can 32 GT/s x16");
  EXPECT_EQ(found[0].evidence[0].text, "GPU 3 now Gen 3 (8 GT/s) at 97 % utilisation");
  EXPECT_EQ(found[0].cost.text, "15.8 GB/s instead of 63 GB/s in each direction");
}

TEST(PcieLinkSpeedReduced, SilentWhenTheSlotIsOlder) {
  Machine machine = dgx_h100();
  set(machine.gpus[3].pcie_generation, 4U);
  set(machine.gpus[3].pcie_generation_max, 4U);
  set(machine.gpus[3].utilization, 97U);
  EXPECT_TRUE(held(machine, "pcie.link.speed-reduced"));
}

// A desktop that draws its windows, and a board that lowers its state between kernels.
TEST(PcieLinkSpeedReduced, UndecidedAtLittleWorkAndInALowState) {
  Machine machine = dgx_h100();
  set(machine.gpus[3].pcie_generation, 1U);
  set(machine.gpus[3].utilization, 4U);
  EXPECT_TRUE(findings_of(machine, "pcie.link.speed-reduced").empty());
  EXPECT_EQ(undecided_of(machine, "pcie.link.speed-reduced").size(), 1U);
  set(machine.gpus[3].utilization, 97U);
  set(machine.gpus[3].performance_state, std::string("P8"));
  EXPECT_TRUE(findings_of(machine, "pcie.link.speed-reduced").empty());
  EXPECT_EQ(undecided_of(machine, "pcie.link.speed-reduced").size(), 1U);
}

TEST(PcieLinkSpeedReduced, UndecidedWhileIdle) {
  Machine machine = dgx_h100();
  for (auto& gpu : machine.gpus)
    set(gpu.pcie_generation, 1U);
  EXPECT_TRUE(findings_of(machine, "pcie.link.speed-reduced").empty());
  const auto gaps = undecided_of(machine, "pcie.link.speed-reduced");
  ASSERT_EQ(gaps.size(), 1U);
  EXPECT_EQ(gaps[0].missing,
            "link speed under load of GPUs 0-7: not seen working, and "
            "idle GPUs "
            "lower it");
  EXPECT_EQ(gaps[0].collect, "angio collect while a job runs");
}

TEST(PcieLinkSpeedReduced, UndecidedWithoutNvml) {
  Machine machine = dgx_h100();
  deny(machine.gpus[3].pcie_generation);
  deny(machine.gpus[3].utilization);
  set(device(machine, 3, kGpu).link, link(2.5, 16));
  EXPECT_TRUE(findings_of(machine, "pcie.link.speed-reduced").empty());
  EXPECT_EQ(undecided_of(machine, "pcie.link.speed-reduced").size(), 1U);
}

TEST(PcieNicLinkReduced, FiresOnWidthAndSpeed) {
  Machine machine = dgx_h100();
  set(device(machine, 0, kHca).link, link(32, 8));
  set(device(machine, 7, kHca).link, link(16, 16));
  const auto found = findings_of(machine, "pcie.nic.link-reduced");
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].title, "PCIe link of mlx5_7 runs at 16 GT/s x16; both ends can 32 GT/s x16");
  EXPECT_EQ(found[1].title, "PCIe link of mlx5_0 runs at 32 GT/s x8; both ends can 32 GT/s x16");
}

TEST(PcieNicLinkReduced, SilentInANarrowSlotAndOnFunctions) {
  Machine machine = dgx_h100();
  set(device(machine, 0, kHca).link, link(32, 8));
  set(device(machine, 0, kHcaPort).link_max, link(32, 8));
  set(device(machine, 1, kHca).link, link(2.5, 1));
  device(machine, 1, kHca).physical_function = pci("0000:43:00.0");
  EXPECT_TRUE(held(machine, "pcie.nic.link-reduced"));
  EXPECT_TRUE(not_applicable(plain_host(), "pcie.nic.link-reduced"));
}

TEST(PcieNicLinkReduced, UndecidedWithoutThePort) {
  Machine machine = dgx_h100();
  set(device(machine, 0, kHca).link, link(32, 8));
  deny(device(machine, 0, kHcaPort).link_max);
  EXPECT_TRUE(findings_of(machine, "pcie.nic.link-reduced").empty());
  ASSERT_EQ(undecided_of(machine, "pcie.nic.link-reduced").size(), 1U);
  deny(device(machine, 2, kHca).link);
  EXPECT_EQ(undecided_of(machine, "pcie.nic.link-reduced").size(), 2U);
}

TEST(PcieNicSlotBelowPort, FiresOnEightLanesForFourHundredGigabits) {
  Machine machine = dgx_h100();
  set(device(machine, 0, kHcaPort).link_max, link(32, 8));
  const auto found = findings_of(machine, "pcie.nic.slot-below-port");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].severity, model::Severity::kInfo);
  EXPECT_EQ(found[0].title, "mlx5_0 has 400 Gb/s of ports behind a PCIe link of 32 GT/s x8");
  EXPECT_EQ(found[0].cost.text, "at most 31.5 GB/s in each direction of 50 GB/s");
}

TEST(PcieNicSlotBelowPort, SilentInAFittingSlotAndOnDownPorts) {
  EXPECT_TRUE(held(dgx_h100(), "pcie.nic.slot-below-port"));
  Machine machine = dgx_h100();
  set(device(machine, 0, kHcaPort).link_max, link(32, 8));
  set(machine.rdma[0].ports[0].state, std::string("DOWN"));
  EXPECT_TRUE(held(machine, "pcie.nic.slot-below-port"));
  set(machine.software.virtual_machine, std::string("KVM"));
  EXPECT_TRUE(not_applicable(machine, "pcie.nic.slot-below-port"));
}

TEST(PcieNicSlotBelowPort, UndecidedWithoutTheSlotOrTheRate) {
  Machine machine = dgx_h100();
  deny(device(machine, 0, kHca).link_max);
  EXPECT_EQ(undecided_of(machine, "pcie.nic.slot-below-port").size(), 1U);
  deny(machine.rdma[1].ports[0].rate);
  EXPECT_EQ(undecided_of(machine, "pcie.nic.slot-below-port").size(), 2U);
}

Machine with_drive() {
  Machine machine = plain_host();
  const auto root = add_pci(machine, "0000:00:1d.0", {}, 0x060400, model::PciPort::kRootPort, 0);
  add_pci(machine, "0000:3b:00.0", root, 0x010802, model::PciPort::kEndpoint, 0);
  for (auto& each : machine.pci.devices)
    set(each.link, link(16, 4));
  for (auto& each : machine.pci.devices)
    set(each.link_max, link(16, 4));
  return machine;
}

TEST(PcieNvmeLinkReduced, FiresAsInfo) {
  Machine machine = with_drive();
  set(machine.pci.devices[1].link, link(16, 2));
  const auto found = findings_of(machine, "pcie.nvme.link-reduced");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].severity, model::Severity::kInfo);
  EXPECT_EQ(found[0].devices, std::vector<std::string>{"NVMe drive 0000:3b:00.0"});
}

TEST(PcieNvmeLinkReduced, SilentOnANewDriveInAnOldSlot) {
  Machine machine = with_drive();
  set(machine.pci.devices[1].link, link(8, 4));
  set(machine.pci.devices[0].link_max, link(8, 4));
  EXPECT_TRUE(held(machine, "pcie.nvme.link-reduced"));
  EXPECT_TRUE(not_applicable(plain_host(), "pcie.nvme.link-reduced"));
}

TEST(PcieNvmeLinkReduced, UndecidedWhenUnread) {
  Machine machine = with_drive();
  deny(machine.pci.devices[1].link);
  EXPECT_EQ(undecided_of(machine, "pcie.nvme.link-reduced").size(), 1U);
}

TEST(PcieSwitchUplinkReduced, Fires) {
  Machine machine = dgx_h100();
  set(device(machine, 2, kUplink).link, link(32, 8));
  const auto found = findings_of(machine, "pcie.switch.uplink-reduced");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].title,
            "PCIe uplink of switch 0000:51:00.0 runs at 32 GT/s x8; both ends can 32 GT/s x16");
}

TEST(PcieSwitchUplinkReduced, SilentOnTheSwitchOfAGpuBoard) {
  Machine machine = dgx_h100();
  set(device(machine, 2, kUplink).link, link(2.5, 16));
  device(machine, 2, kUplink).vendor = 0x10de;
  machine.rdma.clear();
  EXPECT_TRUE(held(machine, "pcie.switch.uplink-reduced"));
  EXPECT_TRUE(not_applicable(plain_host(), "pcie.switch.uplink-reduced"));
}

TEST(PcieSwitchUplinkReduced, UndecidedWhenUnread) {
  Machine machine = dgx_h100();
  deny(device(machine, 2, kUplink).link);
  EXPECT_EQ(undecided_of(machine, "pcie.switch.uplink-reduced").size(), 1U);
}

// Two GPUs below the first switch, as on HGX A100.
Machine with_shared_uplink() {
  Machine machine = dgx_h100();
  device(machine, 1, kGpu).parent = kGpuPort;
  return machine;
}

TEST(PcieSwitchSharedUplink, FiresWithTheShare) {
  const auto found = findings_of(with_shared_uplink(), "pcie.switch.shared-uplink");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].severity, model::Severity::kInfo);
  EXPECT_EQ(found[0].cost.text,
            "31.5 GB/s to the host for each of GPU 0, GPU 1 when all copy at once; one alone gets 63 GB/s");
}

TEST(PcieSwitchSharedUplink, FiresWithWhatToDo) {
  EXPECT_EQ(findings_of(with_shared_uplink(), "pcie.switch.shared-uplink").at(0).fixes.size(), 1U);
}

TEST(PcieSwitchSharedUplink, SilentWithOneGpuEach) {
  EXPECT_TRUE(held(dgx_h100(), "pcie.switch.shared-uplink"));
  EXPECT_TRUE(not_applicable(plain_host(), "pcie.switch.shared-uplink"));
}

TEST(PcieSwitchSharedUplink, UndecidedWhenTheUplinkIsUnread) {
  Machine machine = with_shared_uplink();
  deny(device(machine, 0, kUplink).link);
  EXPECT_EQ(undecided_of(machine, "pcie.switch.shared-uplink").size(), 1U);
}

}  // namespace
}  // namespace angio::test
