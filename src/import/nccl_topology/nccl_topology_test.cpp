#include "import/nccl_topology/nccl_topology.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "import/nccl_topology/words.hpp"
#include "support/samples.hpp"

namespace angio::import {
namespace {

using test::import_sample;
using test::note_count;

const model::PciDevice& device_at(const model::Machine& machine, const char* address) {
  return machine.pci.devices.at(machine.pci.find(*parse_pci_address(address)).value_or(99999));
}

TEST(NcclTopology, ReadsTheTree) {
  const model::Machine machine = import_sample("nccl_topology/whole.xml");
  ASSERT_EQ(machine.pci.devices.size(), 5U);
  EXPECT_TRUE(std::ranges::is_sorted(machine.pci.devices, {}, &model::PciDevice::address));
  const model::PciDevice& gpu = device_at(machine, "0000:41:00.0");
  ASSERT_TRUE(gpu.parent.has_value());
  EXPECT_EQ(to_string(machine.pci.devices[*gpu.parent].address), "0000:40:00.0");
  EXPECT_EQ(gpu.class_code, 0x030200U);
  EXPECT_EQ(gpu.device, 0x2330);
  EXPECT_TRUE(gpu.link_max.is(model::PciLink{{32e9}, 16}));
  EXPECT_FALSE(gpu.link.is_known());
  EXPECT_TRUE(gpu.numa.is(NumaId{1}));
  EXPECT_EQ(cite(machine, gpu.link_max.source()), "whole.xml:5");
  EXPECT_EQ(device_at(machine, "ffff:ff:01.0").vendor, 0);  // made up for a virtual switch
}

TEST(NcclTopology, ReadsCpusWithTheirRealFamily) {
  const model::Machine machine = import_sample("nccl_topology/whole.xml");
  ASSERT_EQ(machine.numa.nodes.size(), 2U);
  EXPECT_EQ(to_list(machine.numa.nodes[0].cpus), "0-3");
  EXPECT_EQ(to_list(machine.numa.nodes[1].cpus), "4-7");
  EXPECT_TRUE(machine.cpus.model.family.is(25));  // written as 175
  EXPECT_TRUE(machine.cpus.model.model.is(17));
}

TEST(NcclTopology, ReadsGpusInOrderOfAddress) {
  const model::Machine machine = import_sample("nccl_topology/whole.xml");
  ASSERT_EQ(machine.gpus.size(), 2U);
  EXPECT_TRUE(machine.gpus[0].address.is(*parse_pci_address("0000:11:00.0")));  // known by its class
  const model::Gpu& gpu = machine.gpus[1];
  EXPECT_TRUE(gpu.library_index.is(1));
  EXPECT_TRUE(gpu.compute_capability.is({9, 0}));
  EXPECT_TRUE(gpu.coherent_link.is(true));
  ASSERT_EQ(gpu.links.size(), 7U);
  EXPECT_EQ(gpu.links[0].peer_kind, model::PeerKind::kSwitch);
  EXPECT_EQ(gpu.links[2].peer_kind, model::PeerKind::kGpu);
  EXPECT_TRUE(gpu.links[2].peer.is(*parse_pci_address("0000:11:00.0")));
  EXPECT_TRUE(gpu.links[6].peer.is_unreadable());  // hidden in a virtual machine
  EXPECT_TRUE(machine.pci.devices[*machine.gpus[0].pci].link_max.is_unreadable());
  EXPECT_EQ(note_count(machine, "nccl.link-unknown"), 1U);
}

TEST(NcclTopology, SocketsAreInterfacesVerbsAreRdma) {
  const model::Machine machine = import_sample("nccl_topology/whole.xml");
  ASSERT_EQ(machine.rdma.size(), 1U);
  EXPECT_EQ(machine.rdma[0].name, "mlx5_0");
  EXPECT_TRUE(machine.rdma[0].address.is(*parse_pci_address("0000:42:00.0")));
  EXPECT_TRUE(machine.rdma[0].ports.at(0).rate.is(BitsPerSecond{400e9}));
  EXPECT_TRUE(machine.rdma[0].system_guid.is("58a2:e103:00b1:7ca8"));
  ASSERT_EQ(machine.networks.size(), 1U);
  EXPECT_EQ(machine.networks[0].name, "eth0");
  EXPECT_FALSE(machine.networks[0].pci.has_value());
}

TEST(NcclTopology, NetworkDevicesWithoutNicAreTold) {
  const model::Machine machine = test::import_text(
      "<system version=\"1\"><cpu numaid=\"0\" affinity=\"f\">"
      "<pci busid=\"0101:00:00.0\" class=\"0x020700\"/><pci busid=\"0102:00:00.0\" class=\"0x020000\"/>"
      "<pci busid=\"0103:00:00.0\" class=\"0x020700\"><nic><net name=\"mlx5_0\" speed=\"1\" "
      "port=\"1\"/></nic></pci>"
      "</cpu></system>");
  EXPECT_EQ(note_count(machine, "nccl.network-without-name"), 1U);
  const auto note = std::ranges::find(machine.notes, "nccl.network-without-name", &model::Note::id);
  ASSERT_NE(note, machine.notes.end());
  EXPECT_TRUE(note->text.ends_with("not known: 0101:00:00.0, 0102:00:00.0")) << note->text;
}

TEST(NcclTopology, Rccl) {
  const model::Machine machine = import_sample("nccl_topology/rccl.xml");
  ASSERT_EQ(machine.gpus.size(), 2U);
  EXPECT_EQ(machine.gpus[0].vendor, model::GpuVendor::kAmd);
  EXPECT_FALSE(machine.gpus[0].compute_capability.is_known());
  EXPECT_EQ(machine.gpus[0].links.size(), 2U);
  EXPECT_EQ(machine.gpus[1].links[0].peer_kind, model::PeerKind::kGpu);
  EXPECT_EQ(to_list(machine.numa.nodes.at(0).cpus), "0-13,28-41");
  EXPECT_TRUE(machine.notes.empty());
}

TEST(NcclTopology, CutFileKeepsWhatStandsThere) {
  const model::Machine machine = import_sample("nccl_topology/truncated.xml");
  ASSERT_EQ(machine.gpus.size(), 1U);
  EXPECT_EQ(machine.gpus[0].links.size(), 18U);
  EXPECT_TRUE(machine.gpus[0].numa.is_absent());
  EXPECT_TRUE(machine.numa.nodes.empty());
  EXPECT_EQ(note_count(machine, "xml.cut-off"), 1U);
  EXPECT_EQ(note_count(machine, "xml.broken-tag"), 1U);
  EXPECT_EQ(note_count(machine, "nccl.numa-unknown"), 1U);
}

TEST(NcclTopology, APieceFromTheMiddle) {
  const model::Machine machine = import_sample("nccl_topology/piece.xml");
  EXPECT_EQ(machine.gpus.size(), 1U);
  EXPECT_EQ(machine.pci.devices.size(), 2U);
  EXPECT_EQ(note_count(machine, "xml.start-missing"), 3U);
  EXPECT_EQ(note_count(machine, "nccl.start-missing"), 1U);
}

TEST(NcclTopology, EveryKindOfDamageIsTold) {
  const model::Machine machine = import_sample("nccl_topology/broken.xml");
  EXPECT_EQ(machine.gpus.size(), 1U);
  EXPECT_TRUE(machine.gpus[0].links.empty());
  for (const char* id : {"xml.foreign-text", "xml.broken-tag", "xml.unclosed", "xml.start-missing",
                         "nccl.version", "nccl.unknown-element", "nccl.gpu-skipped", "nccl.device-twice"}) {
    EXPECT_EQ(note_count(machine, id), 1U) << id;
  }
  EXPECT_EQ(note_count(machine, "nccl.value-unreadable"), 4U);
}

TEST(NcclTopology, Words) {
  using namespace nccl_topology;
  EXPECT_EQ(real_family(143), 23U);
  EXPECT_EQ(real_family(175), 25U);
  EXPECT_EQ(real_family(6), 6U);
  EXPECT_EQ(real_family(25), 25U);
  EXPECT_EQ(parse_guid("7"), std::nullopt);
  EXPECT_EQ(parse_number("-1"), -1);
}

}  // namespace
}  // namespace angio::import
