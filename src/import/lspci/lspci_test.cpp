#include "import/lspci/lspci.hpp"

#include <gtest/gtest.h>

#include "support/samples.hpp"

namespace angio::import {
namespace {

using model::PciPort;
using test::import_sample;
using test::note_count;

TEST(Lspci, ReadsTreeAndLinks) {
  const model::Machine machine = import_sample("lspci/whole.txt");
  ASSERT_EQ(machine.pci.devices.size(), 4U);
  const model::PciDevice& root = machine.pci.devices[0];
  EXPECT_EQ(root.port, PciPort::kRootPort);
  EXPECT_TRUE(root.link_max.is(model::PciLink{{16e9}, 16}));
  EXPECT_TRUE(root.link.is(model::PciLink{{16e9}, 8}));
  EXPECT_TRUE(root.numa.is(NumaId{1}));
  EXPECT_TRUE(root.driver.is("pcieport"));
  ASSERT_TRUE(root.acs.is_known());
  EXPECT_TRUE(root.acs.get()->request_redirect);
  EXPECT_FALSE(root.acs.get()->completion_redirect);
  EXPECT_EQ(machine.pci.devices[1].port, PciPort::kSwitchUpstream);
  EXPECT_EQ(machine.pci.devices[2].parent, 1U);
  EXPECT_EQ(machine.pci.devices[1].parent, 0U);
  EXPECT_EQ(machine.pci.devices[2].root_complex, "pci0000:40");
  EXPECT_TRUE(machine.pci.devices[1].driver.is_absent());
}

TEST(Lspci, ReadsTheGpu) {
  const model::Machine machine = import_sample("lspci/whole.txt");
  ASSERT_EQ(machine.gpus.size(), 1U);
  EXPECT_TRUE(machine.gpus[0].name.is("NVIDIA Corporation GH100 [H100 SXM5 80GB]"));
  const model::PciDevice& gpu = machine.pci.devices.at(machine.gpus[0].pci.value_or(99999));
  EXPECT_EQ(gpu.class_code, 0x030200U);
  EXPECT_EQ(gpu.subsystem_device, 0x16c1);
  EXPECT_TRUE(gpu.largest_bar.is(Bytes{128ULL << 30U}));
  EXPECT_TRUE(gpu.max_payload_supported.is(Bytes{256}));
  EXPECT_TRUE(gpu.max_payload.is(Bytes{128}));
  EXPECT_TRUE(gpu.max_read_request.is(Bytes{4096}));
  EXPECT_TRUE(gpu.link.is(model::PciLink{{2.5e9}, 16}));
  EXPECT_TRUE(gpu.virtual_functions.is(2));
  EXPECT_TRUE(gpu.virtual_functions_max.is(16));
  EXPECT_EQ(cite(machine, gpu.link.source()), "whole.txt:26");
}

TEST(Lspci, DeniedIsNotAbsent) {
  const model::Machine machine = import_sample("lspci/whole.txt");
  EXPECT_EQ(machine.pci.devices[3].acs.reason(), model::Reason::kDenied);
  EXPECT_EQ(note_count(machine, "lspci.denied"), 1U);
}

TEST(Lspci, NumbersWordsAndLargeDomains) {
  const model::Machine machine = import_sample("lspci/numbers.txt");
  ASSERT_EQ(machine.pci.devices.size(), 3U);
  EXPECT_EQ(machine.pci.devices[0].device, 0x2330);  // "Device 2330"
  EXPECT_EQ(machine.pci.devices[0].vendor, 0x10de);
  EXPECT_EQ(machine.pci.devices[2].address.domain, 0x10000U);
  EXPECT_EQ(machine.pci.devices[2].class_code, 0x010800U);
  EXPECT_EQ(machine.gpus.size(), 2U);
  EXPECT_TRUE(machine.pci.devices[0].root_complex.empty());
  EXPECT_EQ(note_count(machine, "lspci.no-tree"), 1U);
}

TEST(Lspci, CutAndBroken) {
  const model::Machine cut = import_sample("lspci/truncated.txt");
  EXPECT_EQ(cut.gpus.size(), 1U);
  EXPECT_FALSE(cut.pci.devices.back().link.is_known());
  const model::Machine broken = import_sample("lspci/broken.txt");
  EXPECT_EQ(broken.pci.devices.size(), 2U);
  EXPECT_EQ(note_count(broken, "lspci.value-unreadable"), 3U);
  EXPECT_EQ(note_count(broken, "lspci.unknown-line"), 2U);
  EXPECT_EQ(note_count(broken, "lspci.class-word-unknown"), 1U);
  EXPECT_EQ(note_count(broken, "lspci.device-twice"), 1U);
}

}  // namespace
}  // namespace angio::import
