#include "import/hwloc_xml/hwloc_xml.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "import/hwloc_xml/words.hpp"
#include "support/samples.hpp"

namespace angio::import {
namespace {

using Distances = std::vector<std::uint32_t>;
using test::import_sample;
using test::note_count;

TEST(HwlocXml, ReadsCpusAndNodes) {
  const model::Machine machine = import_sample("hwloc_xml/whole.xml");
  EXPECT_EQ(to_list(machine.cpus.online), "0-3");
  EXPECT_EQ(to_list(machine.cpus.present.value_or({})), "0-4");
  EXPECT_EQ(to_list(machine.cpus.allowed.value_or({})), "0-1");
  EXPECT_TRUE(machine.software.hostname.is("sample"));
  EXPECT_TRUE(machine.cpus.model.family.is(25));
  ASSERT_EQ(machine.cpus.cores.size(), 2U);
  EXPECT_EQ(to_list(machine.cpus.cores[1].cpus), "2-3");
  EXPECT_TRUE(machine.cpus.caches.at(0).size.is(Bytes{33554432}));
  EXPECT_EQ(machine.cpus.caches[0].level, 3U);
}

TEST(HwlocXml, MemoryWithoutCpusOfItsOwn) {
  const model::Machine machine = import_sample("hwloc_xml/whole.xml");
  ASSERT_EQ(machine.numa.nodes.size(), 3U);
  EXPECT_EQ(machine.numa.nodes[2].id, NumaId{3});
  EXPECT_EQ(machine.numa.nodes[2].kind, model::NumaKind::kHighBandwidth);
  EXPECT_TRUE(machine.numa.nodes[2].cpus.empty());
  EXPECT_TRUE(machine.numa.nodes[0].distances.is(Distances{10, 12, 20}));
  EXPECT_TRUE(machine.numa.nodes[2].distances.is(Distances{20, 30, 10}));
}

TEST(HwlocXml, ReadsDevices) {
  const model::Machine machine = import_sample("hwloc_xml/whole.xml");
  ASSERT_EQ(machine.gpus.size(), 1U);
  const model::Gpu& gpu = machine.gpus[0];
  EXPECT_TRUE(gpu.name.is("Sample GPU"));
  EXPECT_TRUE(gpu.uuid.is("GPU-1"));
  EXPECT_TRUE(gpu.library_index.is(2));
  EXPECT_TRUE(gpu.memory.is(Bytes{1ULL << 30U}));
  EXPECT_TRUE(gpu.numa.is(NumaId{1}));
  const model::PciDevice& device = machine.pci.devices.at(gpu.pci.value_or(99999));
  EXPECT_EQ(device.root_complex, "pci0000:40");
  EXPECT_EQ(to_string(machine.pci.devices.at(device.parent.value_or(99999)).address), "0000:40:01.0");
  EXPECT_EQ(device.link.reason(), model::Reason::kUnsupported);
  const model::Path path = path_between(machine, {model::DeviceKind::kGpu, 0}, {model::DeviceKind::kRdma, 0});
  EXPECT_EQ(path.kind, model::PathClass::kPhb);
}

TEST(HwlocXml, ReadsNetworks) {
  const model::Machine machine = import_sample("hwloc_xml/whole.xml");
  ASSERT_EQ(machine.rdma.size(), 1U);
  EXPECT_TRUE(machine.rdma[0].node_guid.is("58a2:e103:00b1:7ca8"));
  ASSERT_EQ(machine.rdma[0].ports.size(), 1U);
  EXPECT_TRUE(machine.rdma[0].ports[0].state.is("ACTIVE"));
  EXPECT_TRUE(machine.rdma[0].ports[0].lid.is(Lid{31}));
  EXPECT_EQ(machine.rdma[0].ports[0].gids.size(), 1U);
  ASSERT_EQ(machine.networks.size(), 1U);
  EXPECT_TRUE(machine.networks[0].mac.is("00:11:22:33:44:55"));
  EXPECT_EQ(note_count(machine, "hwloc.link-bandwidth"), 3U);
  EXPECT_EQ(note_count(machine, "hwloc.link-bandwidth-matrix"), 1U);
  EXPECT_EQ(machine.notes.size(), 2U);
}

std::string gpu_object(const char* address, int number) {
  return "<object type=\"PCIDev\" gp_index=\"" + std::to_string(number) + "\" pci_busid=\"" + address +
         "\" pci_type=\"0302 [10de:2330] [10de:16c1] a1\"><object type=\"OSDev\" gp_index=\"" +
         std::to_string(number + 100) + "\" name=\"cuda0\" subtype=\"CUDA\" osdev_type=\"5\"/></object>";
}

model::Machine linked_by(const std::string& indexes, const std::string& values) {
  return test::import_text(
      "<topology version=\"2.0\"><object type=\"Machine\">" + gpu_object("0000:01:00.0", 1) +
      gpu_object("0000:02:00.0", 2) + gpu_object("0000:03:00.0", 3) +
      "</object><distances2hetero kind=\"25\" name=\"NVLinkBandwidth\"><indexes>" + indexes +
      "</indexes><u64values>" + values + "</u64values></distances2hetero></topology>");
}

std::string path_why(const model::Machine& machine, std::uint32_t a, std::uint32_t b) {
  return path_between(machine, {model::DeviceKind::kGpu, a}, {model::DeviceKind::kGpu, b}).why;
}

constexpr const char* kLinkedWhy = "NVLink or xGMI joins them, but the source does not say by how many links";

TEST(HwlocXml, LinkBandwidthsTellWhichGpusAreJoined) {
  const model::Machine machine = linked_by("OSDev:101 OSDev:102 PCIDev:3", "1000 40 0 40 1000 0 0 0 1000");
  ASSERT_EQ(machine.gpus.size(), 3U);
  EXPECT_EQ(path_why(machine, 0, 1), kLinkedWhy);
  EXPECT_EQ(path_why(machine, 1, 0), kLinkedWhy);
  EXPECT_NE(path_why(machine, 0, 2), kLinkedWhy);
  EXPECT_TRUE(machine.gpus[0].links.empty());
  const auto note = std::ranges::find(machine.notes, "hwloc.link-bandwidth-matrix", &model::Note::id);
  ASSERT_NE(note, machine.notes.end());
  EXPECT_NE(note->text.find("links join 1 pair of GPUs (0000:01:00.0-0000:02:00.0)"), std::string::npos)
      << note->text;
}

TEST(HwlocXml, SwitchesJoinTheirGpus) {
  const model::Machine machine = linked_by("OSDev:101 OSDev:103 PCIDev:9", "0 0 25 0 0 25 25 25 0");
  EXPECT_EQ(path_why(machine, 0, 2), kLinkedWhy);
  EXPECT_NE(path_why(machine, 0, 1), kLinkedWhy);
}

std::uint32_t links_between(const model::Machine& machine, std::uint32_t a, std::uint32_t b) {
  return path_between(machine, {model::DeviceKind::kGpu, a}, {model::DeviceKind::kGpu, b}).links;
}

TEST(HwlocXml, BandwidthsOfHwlocsOwnSizeTellTheNumberOfLinks) {
  const model::Machine direct =
      linked_by("OSDev:101 OSDev:102 OSDev:103", "1000000 50000 0 50000 1000000 25000 0 25000 1000000");
  EXPECT_EQ(links_between(direct, 0, 1), 2U);
  EXPECT_EQ(links_between(direct, 2, 1), 1U);
  EXPECT_EQ(note_count(direct, "hwloc.link-bandwidth-matrix"), 0U);
  // Version 1: 20000 a link.
  EXPECT_EQ(links_between(linked_by("OSDev:101 OSDev:102", "1000000 40000 40000 1000000"), 0, 1), 2U);
  // Two switches, a link to each from GPU 0 and two from GPU 2: the poorer one decides.
  const model::Machine switched =
      linked_by("OSDev:101 OSDev:103 PCIDev:8 PCIDev:9",
                "1000000 0 25000 25000 0 1000000 50000 50000 25000 50000 1000000 0 25000 50000 0 1000000");
  EXPECT_EQ(links_between(switched, 0, 2), 2U);
}

TEST(HwlocXml, IndexesWithoutTypeUseTheTypeOfTheMatrix) {
  const model::Machine machine =
      test::import_text("<topology version=\"2.0\"><object type=\"Machine\">" +
                        gpu_object("0000:01:00.0", 1) + gpu_object("0000:02:00.0", 2) +
                        "</object><distances2 type=\"OSDev\" kind=\"9\" name=\"XGMIBandwidth\" "
                        "indexing=\"gp\"><indexes>101 102 "
                        "</indexes><u64values>0 100 100 0</u64values></distances2></topology>");
  EXPECT_EQ(path_why(machine, 0, 1), kLinkedWhy);
}

TEST(HwlocXml, IncompleteLinkMatrix) {
  const model::Machine machine = linked_by("OSDev:101 OSDev:103", "0 1 2");
  EXPECT_EQ(note_count(machine, "hwloc.link-matrix-incomplete"), 1U);
  EXPECT_TRUE(machine.gpus[0].linked.empty());
}

TEST(HwlocXml, VersionOne) {
  const model::Machine machine = import_sample("hwloc_xml/version1.xml");
  ASSERT_EQ(machine.numa.nodes.size(), 2U);
  EXPECT_TRUE(machine.numa.nodes[1].distances.is(Distances{21, 10}));
  EXPECT_EQ(machine.cpus.packages.size(), 1U);
  EXPECT_EQ(machine.cpus.caches.at(0).level, 2U);
  EXPECT_TRUE(machine.notes.empty());
}

TEST(HwlocXml, CutFile) {
  const model::Machine machine = import_sample("hwloc_xml/truncated.xml");
  ASSERT_EQ(machine.gpus.size(), 1U);
  EXPECT_TRUE(machine.gpus[0].name.is("Sample GPU"));
  EXPECT_FALSE(machine.gpus[0].uuid.is_known());
  EXPECT_FALSE(machine.numa.nodes.at(0).distances.is_known());
  EXPECT_EQ(note_count(machine, "xml.cut-off"), 1U);
}

TEST(HwlocXml, BrokenFile) {
  const model::Machine machine = import_sample("hwloc_xml/broken.xml");
  EXPECT_EQ(machine.rdma.size(), 1U);
  EXPECT_FALSE(machine.rdma[0].pci.has_value());
  for (const char* id : {"hwloc.device-unreadable", "hwloc.node-unreadable", "hwloc.distances-incomplete",
                         "hwloc.unknown-type"}) {
    EXPECT_EQ(note_count(machine, id), 1U) << id;
  }
}

TEST(HwlocXml, Words) {
  using namespace hwloc_xml;
  EXPECT_EQ(to_list(parse_bitmap("0x00000003,,0x80000001").value_or(CpuSet())), "0,31,64-65");
  EXPECT_EQ(parse_bitmap("0xf...f"), std::nullopt);
  EXPECT_EQ(host_bridge("000b:[00-01]"), "pci000b:00");
  EXPECT_EQ(os_device(48, true), OsDevice::kOpenFabrics);
  EXPECT_EQ(os_device(12, true), OsDevice::kGpu);
  EXPECT_EQ(os_device(2, true), OsDevice::kOther);  // memory
  EXPECT_EQ(os_device(2, false), OsDevice::kNetwork);
}

}  // namespace
}  // namespace angio::import
