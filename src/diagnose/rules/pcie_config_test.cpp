#include <gtest/gtest.h>

#include "diagnose/test_machines.hpp"

namespace angio::test {
namespace {

constexpr std::uint32_t kGpuPort = 2, kHcaPort = 3, kGpu = 4, kHca = 5;

PciDevice& device(Machine& machine, std::uint32_t group, std::uint32_t member) {
  return machine.pci.devices[group * 6 + member];
}

TEST(PcieAerUncorrectable, FiresOnACardAndOnABridge) {
  Machine machine = dgx_h100();
  model::AerCounters counters;
  counters.fatal = {{"DLP", 2}};
  counters.nonfatal = {{"CmpltTO", 3}, {"UnsupReq", 40}};
  set(device(machine, 1, kGpu).aer, counters);
  set(device(machine, 2, kHcaPort).aer, counters);
  const auto found = findings_of(machine, "pcie.aer.uncorrectable");
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].title, "GPU 1 counts 5 uncorrectable PCIe errors");
  EXPECT_EQ(found[0].evidence[0].text, "2 DLP, 3 CmpltTO since boot");
  EXPECT_EQ(found[1].devices[0], "switch port 0000:52:01.0");
}

TEST(PcieAerUncorrectable, SilentOnProbing) {
  Machine machine = dgx_h100();
  model::AerCounters counters;
  counters.nonfatal = {{"UnsupReq", 40}};
  set(device(machine, 1, kGpu).aer, counters);
  EXPECT_TRUE(held(machine, "pcie.aer.uncorrectable"));
  EXPECT_TRUE(not_applicable(plain_host(), "pcie.aer.uncorrectable"));
}

TEST(PcieAerUncorrectable, UndecidedWhenUnread) {
  Machine machine = dgx_h100();
  deny(device(machine, 1, kGpu).aer);
  EXPECT_EQ(undecided_of(machine, "pcie.aer.uncorrectable").size(), 1U);
}

TEST(PcieAerCorrectable, FiresAboveTheLimit) {
  Machine machine = dgx_h100();
  model::AerCounters counters;
  counters.correctable = {{"BadTLP", 90000}, {"RxErr", 12}};
  set(device(machine, 4, kHca).aer, counters);
  const auto found = findings_of(machine, "pcie.aer.correctable");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].title, "mlx5_4 counts 90012 correctable PCIe errors");
}

TEST(PcieAerCorrectable, SilentOnAFewAndOnAdvisories) {
  Machine machine = dgx_h100();
  model::AerCounters counters;
  counters.correctable = {{"BadTLP", 3}, {"NonFatalErr", 50000}};
  set(device(machine, 4, kHca).aer, counters);
  EXPECT_TRUE(held(machine, "pcie.aer.correctable"));
  forget(device(machine, 4, kHca).aer);
  EXPECT_TRUE(held(machine, "pcie.aer.correctable"));
}

TEST(PcieAerCorrectable, UndecidedWhenUnread) {
  Machine machine = dgx_h100();
  deny(device(machine, 1, kGpu).aer);
  EXPECT_EQ(undecided_of(machine, "pcie.aer.correctable").size(), 1U);
}

TEST(PcieAcsRedirect, FiresOnSwitchPorts) {
  Machine machine = dgx_h100();
  for (std::uint32_t i = 0; i < 8; ++i) {
    set(device(machine, i, kGpuPort).acs, model::AccessControl{true, true, true, true});
    set(device(machine, i, kHcaPort).acs, model::AccessControl{true, true, false, true});
  }
  const auto found = findings_of(machine, "pcie.acs.redirect");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].devices.size(), 16U);
  EXPECT_EQ(found[0].title,
            "ACS sends peer traffic of 16 PCIe switch ports up to the CPU instead of straight across");
  EXPECT_EQ(found[0].evidence[0].text, "switch port 0000:12:00.0: request redirect and completion redirect");
  ASSERT_FALSE(found[0].fixes.empty());
  EXPECT_TRUE(found[0].fixes[0].needs_root);
}

TEST(PcieAcsRedirect, SilentOnRootPortsValidationAndGuests) {
  Machine machine = dgx_h100();
  set(machine.pci.devices[0].acs, model::AccessControl{true, true, true, true});
  set(device(machine, 0, kGpuPort).acs, model::AccessControl{true, false, false, false});
  EXPECT_TRUE(held(machine, "pcie.acs.redirect"));
  EXPECT_TRUE(not_applicable(plain_host(), "pcie.acs.redirect"));
  set(device(machine, 0, kGpuPort).acs, model::AccessControl{true, true, true, true});
  set(machine.software.virtual_machine, std::string("KVM"));
  EXPECT_TRUE(not_applicable(machine, "pcie.acs.redirect"));
}

TEST(PcieAcsRedirect, SilentWithoutPeersBelowTheSwitch) {
  Machine machine = dgx_h100();
  set(device(machine, 0, kGpuPort).acs, model::AccessControl{true, true, true, true});
  machine.rdma.clear();
  EXPECT_TRUE(not_applicable(machine, "pcie.acs.redirect"));
}

TEST(PcieAcsRedirect, UndecidedWithoutRoot) {
  Machine machine = dgx_h100();
  for (auto& each : machine.pci.devices)
    deny(each.acs);
  const auto gaps = undecided_of(machine, "pcie.acs.redirect");
  ASSERT_EQ(gaps.size(), 1U);
  EXPECT_EQ(gaps[0].missing,
            "ACS state of 0000:12:00.0, 0000:12:01.0, 0000:42:00.0, 0000:42:01.0, 0000:52:00.0 and 11 more: "
            "permission denied");
  EXPECT_EQ(gaps[0].collect, "sudo angio collect (only root may read this; nothing is changed)");
}

Machine guest() {
  Machine machine = dgx_h100();
  set(machine.software.virtual_machine, std::string("KVM"));
  for (auto& each : machine.pci.devices)
    set(each.ats_enabled, true);
  return machine;
}

TEST(PcieAtsOffInGuest, FiresAsInfo) {
  Machine machine = guest();
  set(device(machine, 6, kHca).ats_enabled, false);
  const auto found = findings_of(machine, "pcie.ats.off-in-guest");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].severity, model::Severity::kInfo);
  EXPECT_EQ(found[0].devices, std::vector<std::string>{"mlx5_6"});
}

TEST(PcieAtsOffInGuest, SilentWhenOnAndOnBareMetal) {
  EXPECT_TRUE(held(guest(), "pcie.ats.off-in-guest"));
  EXPECT_TRUE(not_applicable(dgx_h100(), "pcie.ats.off-in-guest"));
}

TEST(PcieAtsOffInGuest, UndecidedWithoutRoot) {
  Machine machine = guest();
  deny(device(machine, 6, kHca).ats_enabled);
  EXPECT_EQ(undecided_of(machine, "pcie.ats.off-in-guest").size(), 1U);
}

TEST(PciePayloadSmall, FiresAsInfoWithTheArithmetic) {
  Machine machine = dgx_h100();
  for (auto& each : machine.pci.devices)
    set(each.max_payload, Bytes{128});
  const auto found = findings_of(machine, "pcie.payload.small");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].severity, model::Severity::kInfo);
  EXPECT_EQ(found[0].devices.size(), 16U);
  EXPECT_EQ(found[0].cost.text, "84 % of the link carries data, 96 % possible");
}

TEST(PciePayloadSmall, FiresAsWarningAboveThePort) {
  Machine machine = dgx_h100();
  set(device(machine, 0, kGpu).max_payload, Bytes{512});
  const auto found = findings_of(machine, "pcie.payload.small");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].severity, model::Severity::kWarning);
  EXPECT_EQ(found[0].title, "Max payload of GPU 0 is above what the port takes");
}

TEST(PciePayloadSmall, SilentAt256AndWhereThePathCanNoMore) {
  EXPECT_TRUE(held(dgx_h100(), "pcie.payload.small"));
  Machine machine = dgx_h100();
  for (auto& each : machine.pci.devices)
    set(each.max_payload, Bytes{128});
  for (std::uint32_t i = 0; i < 8; ++i)
    set(device(machine, i, 0).max_payload_supported, Bytes{128});
  EXPECT_TRUE(held(machine, "pcie.payload.small"));
}

TEST(PciePayloadSmall, UndecidedWithoutRoot) {
  Machine machine = dgx_h100();
  for (auto& each : machine.pci.devices)
    deny(each.max_payload);
  EXPECT_EQ(undecided_of(machine, "pcie.payload.small").size(), 1U);
}

TEST(PcieReadrequestSmall, FiresAsInfo) {
  Machine machine = dgx_h100();
  set(device(machine, 0, kHca).max_read_request, Bytes{512});
  const auto found = findings_of(machine, "pcie.readrequest.small");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].severity, model::Severity::kInfo);
  EXPECT_EQ(found[0].title, "Max read request of mlx5_0 is 512 B");
}

TEST(PcieReadrequestSmall, SilentOnOtherCards) {
  Machine machine = dgx_h100();
  set(device(machine, 0, kHca).max_read_request, Bytes{512});
  set(device(machine, 0, kHca).driver, std::string("bnxt_re"));
  EXPECT_TRUE(held(machine, "pcie.readrequest.small"));
  EXPECT_TRUE(not_applicable(plain_host(), "pcie.readrequest.small"));
}

TEST(PcieReadrequestSmall, UndecidedWithoutRoot) {
  Machine machine = dgx_h100();
  deny(device(machine, 0, kHca).max_read_request);
  EXPECT_EQ(undecided_of(machine, "pcie.readrequest.small").size(), 1U);
}

TEST(PcieBarSmall, FiresAsInfo) {
  Machine machine = dgx_h100();
  set(device(machine, 0, kGpu).largest_bar, Bytes{256ULL << 20U});
  const auto found = findings_of(machine, "pcie.bar.small");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].evidence[0].text, "GPU 0: largest BAR 256 MiB, memory 80 GiB");
}

TEST(PcieBarSmall, SilentAloneAndOnCoherentGpus) {
  Machine machine = dgx_h100();
  set(device(machine, 0, kGpu).largest_bar, Bytes{256ULL << 20U});
  set(machine.gpus[0].coherent_link, true);
  EXPECT_TRUE(held(machine, "pcie.bar.small"));
  machine.gpus.resize(1);
  machine.rdma.clear();
  EXPECT_TRUE(not_applicable(machine, "pcie.bar.small"));
}

TEST(PcieBarSmall, UndecidedWithoutMemorySizeOrBar) {
  Machine machine = dgx_h100();
  deny(machine.gpus[1].memory);
  deny(device(machine, 2, kGpu).largest_bar);
  EXPECT_EQ(undecided_of(machine, "pcie.bar.small").size(), 2U);
}

}  // namespace
}  // namespace angio::test
