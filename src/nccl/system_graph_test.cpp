#include "nccl/system_graph.hpp"

#include <gtest/gtest.h>

#include "nccl/graph_dump.hpp"
#include "nccl/graph_search.hpp"

namespace angio::nccl {
namespace {

System system_of(const std::string& body, const std::string& version = "2.28.9", bool between = false) {
  Remarks remarks;
  const XmlText text = read_topology_xml("<system version=\"1\">" + body + "</system>", remarks);
  auto system = make_system(text.roots.at(0), {version, between});
  EXPECT_TRUE(system) << (system ? "" : system.error().message);
  return system ? std::move(*system) : System{};
}

std::string cpu(int numa, const std::string& vendor, int model, const std::string& devices) {
  return "<cpu numaid=\"" + std::to_string(numa) + "\" arch=\"x86_64\" vendor=\"" + vendor +
         "\" familyid=\"6\" modelid=\"" + std::to_string(model) + "\">" + devices + "</cpu>";
}

std::string gpu(const std::string& bus, int dev, int sm, const std::string& links = "") {
  return "<pci busid=\"" + bus +
         "\" class=\"0x030200\" link_speed=\"16.0 GT/s PCIe\" link_width=\"16\"><gpu dev=\"" +
         std::to_string(dev) + "\" sm=\"" + std::to_string(sm) + "\" rank=\"" + std::to_string(dev) +
         "\" gdr=\"1\">" + links + "</gpu></pci>";
}

std::string nvlink(const std::string& target, int count, const std::string& target_class = "0x030200") {
  return "<nvlink target=\"" + target + "\" count=\"" + std::to_string(count) + "\" tclass=\"" +
         target_class + "\"/>";
}

std::string nic(const std::string& bus, int dev, const std::string& gdr = "1") {
  return "<pci busid=\"" + bus +
         "\" class=\"0x020700\" link_speed=\"16.0 GT/s PCIe\" link_width=\"16\"><nic><net name=\"mlx9_" +
         std::to_string(dev) + "\" dev=\"" + std::to_string(dev) +
         "\" speed=\"200000\" port=\"1\" guid=\"0x" + std::to_string(dev + 1) + "\" gdr=\"" + gdr +
         "\"/></nic></pci>";
}

std::string bridge(const std::string& bus, const std::string& below) {
  return "<pci busid=\"" + bus + "\" class=\"0x060400\" link_speed=\"16.0 GT/s PCIe\" link_width=\"16\">" +
         below + "</pci>";
}

std::string pair(const System& system, std::size_t from, NodeKind kind, std::size_t to) {
  const Path& path = system.path(system.all(NodeKind::kGpu)[from], system.all(kind)[to]);
  return std::string(label(path.type)) + " " + std::to_string(static_cast<int>(path.bandwidth * 10));
}

TEST(SystemGraph, PathClassesOnPci) {
  const System system =
      system_of(cpu(0, "GenuineIntel", 143,
                    bridge("0000:10:00.0",
                           gpu("0000:11:00.0", 0, 80) + gpu("0000:12:00.0", 1, 80) + nic("0000:13:00.0", 0)) +
                        bridge("0000:20:00.0", bridge("0000:21:00.0", gpu("0000:22:00.0", 2, 80)))) +
                    cpu(1, "GenuineIntel", 143, gpu("0000:90:00.0", 3, 80)),
                "2.28.9", true);
  EXPECT_EQ(pair(system, 0, NodeKind::kGpu, 1), "PIX 240");
  EXPECT_EQ(pair(system, 0, NodeKind::kGpu, 2), "PHB 240");
  EXPECT_EQ(pair(system, 0, NodeKind::kGpu, 3), "SYS 220");  // Sapphire Rapids: 22 GB/s between CPUs
  EXPECT_EQ(pair(system, 0, NodeKind::kNet, 0), "PIX 240");
  EXPECT_EQ(pair(system, 3, NodeKind::kNet, 0), "SYS 220");
}

TEST(SystemGraph, CpuLinksFollowTheRelease) {
  const std::string text = cpu(0, "GenuineIntel", 143, gpu("0000:11:00.0", 0, 80)) +
                           cpu(1, "GenuineIntel", 143, gpu("0000:91:00.0", 1, 80));
  EXPECT_EQ(pair(system_of(text, "2.25.1"), 0, NodeKind::kGpu, 1), "SYS 100");
  EXPECT_EQ(pair(system_of(text, "2.26.2"), 0, NodeKind::kGpu, 1), "SYS 220");
  const std::string emerald = cpu(0, "GenuineIntel", 207, gpu("0000:11:00.0", 0, 80)) +
                              cpu(1, "GenuineIntel", 207, gpu("0000:91:00.0", 1, 80));
  EXPECT_EQ(pair(system_of(emerald), 0, NodeKind::kGpu, 1), "SYS 240");  // the PCI links are the narrow part
}

TEST(SystemGraph, NvlinkDirectThroughSwitchAndThroughAGpu) {
  const System direct =
      system_of(cpu(0, "AuthenticAMD", 1,
                    gpu("0000:11:00.0", 0, 80, nvlink("0000:12:00.0", 4)) +
                        gpu("0000:12:00.0", 1, 80, nvlink("0000:11:00.0", 4) + nvlink("0000:13:00.0", 2)) +
                        gpu("0000:13:00.0", 2, 80, nvlink("0000:12:00.0", 2))));
  EXPECT_EQ(pair(direct, 0, NodeKind::kGpu, 1), "NVL 800");
  EXPECT_EQ(pair(direct, 0, NodeKind::kGpu, 2), "NVB 400");
  const System crossed =
      system_of(cpu(0, "AuthenticAMD", 1,
                    gpu("0000:11:00.0", 0, 90, nvlink("fffffff:ffff:ff", 18, "0x068000")) +
                        gpu("0000:12:00.0", 1, 90, nvlink("fffffff:ffff:ff", 18, "0x068000"))));
  EXPECT_EQ(pair(crossed, 0, NodeKind::kGpu, 1), "NVL 3708");
  EXPECT_EQ(crossed.all(NodeKind::kSwitch).size(), 1U);
}

TEST(SystemGraph, RelaysToFarNicsAndRespectsGpuDirect) {
  const std::string gpus =
      bridge("0000:10:00.0",
             gpu("0000:11:00.0", 0, 90, nvlink("fffffff:ffff:ff", 18, "0x068000")) + nic("0000:12:00.0", 0)) +
      bridge("0000:20:00.0", gpu("0000:21:00.0", 1, 90, nvlink("fffffff:ffff:ff", 18, "0x068000")) +
                                 nic("0000:22:00.0", 1, "0"));
  const System system = system_of(cpu(0, "GenuineIntel", 143, gpus), "2.28.9", true);
  EXPECT_EQ(pair(system, 0, NodeKind::kNet, 0), "PIX 240");
  EXPECT_EQ(pair(system, 1, NodeKind::kNet, 0), "PXN 240");
  EXPECT_EQ(pair(system, 1, NodeKind::kNet, 1), "PHB 240");  // no GPUDirect: through the CPU
  EXPECT_EQ(system.node(NodeKind::kNet, 0).local_gpu, 0U);
}

TEST(SystemGraph, ChipToChipIsP2cFrom227On) {
  const std::string text = "<cpu numaid=\"0\" arch=\"arm64\">" +
                           gpu("0000:01:00.0", 0, 90, "<c2c bw=\"44712\" count=\"10\"/>") +
                           nic("0000:02:00.0", 0) + "</cpu>";
  EXPECT_EQ(pair(system_of(text, "2.28.9", true), 0, NodeKind::kNet, 0).substr(0, 3), "P2C");
  EXPECT_EQ(pair(system_of(text, "2.26.2", true), 0, NodeKind::kNet, 0).substr(0, 3), "PHB");
  EXPECT_EQ(pair(system_of(text), 0, NodeKind::kCpu, 0), "C2C 4471");
}

TEST(SystemGraph, UnknownLinksAreGen3) {
  EXPECT_DOUBLE_EQ(lane_value("32.0 GT/s PCIe", "2.30.7"), 240);
  EXPECT_DOUBLE_EQ(lane_value("16 GT/s", "2.30.7"), 120);
  EXPECT_TRUE(lane_value("16.0 GT/s", "2.30.7") != lane_value("16.0 GT/s", "2.30.7"));  // NaN
  const System system =
      system_of(cpu(0, "GenuineIntel", 143,
                    "<pci busid=\"0000:11:00.0\" class=\"0x030200\"><gpu dev=\"0\" sm=\"80\"/></pci>"
                    "<pci busid=\"0000:12:00.0\" class=\"0x030200\"><gpu dev=\"1\" sm=\"80\"/></pci>"));
  EXPECT_EQ(pair(system, 0, NodeKind::kGpu, 1), "PHB 120");
  EXPECT_EQ(system.assumptions.size(), 2U);  // ranks and GPUDirect
}

TEST(SystemGraph, From230OnGpusHangOffDevices) {
  const System system = system_of(
      cpu(0, "GenuineIntel", 143, gpu("0000:11:00.0", 0, 80) + gpu("0000:12:00.0", 1, 80)), "2.30.7");
  EXPECT_EQ(system.all(NodeKind::kDevice).size(), 2U);
  EXPECT_EQ(system.path(system.all(NodeKind::kGpu)[0], system.all(NodeKind::kGpu)[1]).hops.size(), 4U);
  EXPECT_EQ(pair(system, 0, NodeKind::kGpu, 1), "PHB 240");
}

TEST(SystemGraph, TwoLevelBroadcomSwitchesAreOne) {
  const auto broadcom = [](const std::string& bus, const std::string& vendor, const std::string& sub,
                           const std::string& below) {
    return "<pci busid=\"" + bus +
           "\" class=\"0x060400\" vendor=\"0x1000\" device=\"0xc030\" subsystem_vendor=\"" + vendor +
           "\" subsystem_device=\"" + sub + "\" link_speed=\"16.0 GT/s PCIe\" link_width=\"16\">" + below +
           "</pci>";
  };
  const auto two_levels = [&](const std::string& vendor) {
    return system_of(
        cpu(0, "GenuineIntel", 143,
            broadcom("0000:10:00.0", vendor, "0x0001",
                     broadcom("0000:11:00.0", vendor, "0x1001", gpu("0000:12:00.0", 0, 80)) +
                         broadcom("0000:13:00.0", vendor, "0x1001", gpu("0000:14:00.0", 1, 80)))));
  };
  const System one = two_levels("0x1000");
  EXPECT_EQ(one.all(NodeKind::kPci).size(), 1U);
  EXPECT_EQ(pair(one, 0, NodeKind::kGpu, 1), "PIX 240");
  const System other = two_levels("0x15d9");  // not the ids that NCCL knows
  EXPECT_EQ(other.all(NodeKind::kPci).size(), 3U);
  EXPECT_EQ(pair(other, 0, NodeKind::kGpu, 1), "PXB 240");
}

TEST(SystemGraph, NeedsCpusAndGpus) {
  Remarks remarks;
  const XmlText none = read_topology_xml("<system version=\"1\"/>", remarks);
  EXPECT_FALSE(make_system(none.roots.at(0), {"2.28.9", false}));
  const XmlText bare = read_topology_xml("<system version=\"1\"><cpu numaid=\"0\"/></system>", remarks);
  const auto system = make_system(bare.roots.at(0), {"2.28.9", false});
  ASSERT_FALSE(system);
  EXPECT_EQ(system.error().message, "no <gpu> in the file");
}

TEST(GraphSearch, APairOnNvlinkUsesAllOfIt) {
  const System system = system_of(cpu(0, "AuthenticAMD", 1,
                                      gpu("0000:11:00.0", 0, 80, nvlink("0000:12:00.0", 4)) +
                                          gpu("0000:12:00.0", 1, 80, nvlink("0000:11:00.0", 4))));
  const SearchResult found = search_graphs(system);
  EXPECT_EQ(found.ring.channels, 4);
  EXPECT_FLOAT_EQ(found.ring.bandwidth_intra, 20);  // 4 x 20 GB/s: all 80 of the links
  EXPECT_EQ(found.ring.type_intra, PathType::kNvl);
  EXPECT_EQ(found.nvls.channels, 0);
  const Expectation expected = expect(system, found, 1);
  EXPECT_EQ(expected.channels, 8);
  EXPECT_DOUBLE_EQ(expected.ring_bus, 80);
  EXPECT_DOUBLE_EQ(expected.nvlink, 80);
  EXPECT_DOUBLE_EQ(expected.nic, 0);
}

TEST(GraphSearch, PciOnlyGetsOneChannel) {
  const System system =
      system_of(cpu(0, "GenuineIntel", 143, gpu("0000:11:00.0", 0, 80) + gpu("0000:12:00.0", 1, 80)));
  const SearchResult found = search_graphs(system);
  EXPECT_EQ(found.ring.channels, 1);
  EXPECT_EQ(found.ring.type_intra, PathType::kPhb);
  EXPECT_FLOAT_EQ(found.ring.bandwidth_intra, 20);  // 24 GB/s carry 20: Intel's bridge takes 6/5
  EXPECT_EQ(to_dump(system, found)[0].list[0].gpus, (std::vector<std::int64_t>{0, 1}));
}

TEST(GraphSearch, OneGpuAlone) {
  const System system = system_of(cpu(0, "GenuineIntel", 143, gpu("0000:11:00.0", 0, 80)));
  const SearchResult found = search_graphs(system);
  EXPECT_GT(found.ring.channels, 0);
  EXPECT_DOUBLE_EQ(expect(system, found, 1).ring_bus, 0);  // nothing to reduce with
}

TEST(GraphSearch, NicsBoundWhatGoesBetweenNodes) {
  const std::string devices =
      bridge("0000:10:00.0",
             gpu("0000:11:00.0", 0, 80, nvlink("fffffff:ffff:ff", 12, "0x068000")) + nic("0000:12:00.0", 0)) +
      bridge("0000:20:00.0",
             gpu("0000:21:00.0", 1, 80, nvlink("fffffff:ffff:ff", 12, "0x068000")) + nic("0000:22:00.0", 1));
  const System system = system_of(cpu(0, "GenuineIntel", 143, devices), "2.28.9", true);
  const SearchResult found = search_graphs(system);
  EXPECT_EQ(found.ring.channels, 2);
  EXPECT_FLOAT_EQ(found.ring.bandwidth_inter, 24);
  EXPECT_DOUBLE_EQ(expect(system, found, 2).nic, 48);
}

TEST(NcclLines, AreNccls) {
  const System system =
      system_of(cpu(0, "GenuineIntel", 143, gpu("0000:11:00.0", 0, 80) + gpu("0000:12:00.0", 1, 80)));
  const auto lines = nccl_lines(system);
  EXPECT_EQ(lines[0], "=== System : maxBw 24.0 totalBw 24.0 ===");
  EXPECT_EQ(lines[1], "CPU/0-0 (1/1/3)");
  EXPECT_EQ(lines[2], "+ PCI[24.0] - GPU/0-11000 (0)");
  EXPECT_EQ(lines.back(),
            "GPU/0-12000 :GPU/0-11000 (2/24.0/PHB) GPU/0-12000 (0/5000.0/LOC) CPU/0-0 (1/24.0/PHB) ");
}

TEST(NcclNumbers, AreReadAsNcclDoes) {
  EXPECT_EQ(bus_number("0000:1b:00.0"), 0x1b000U);
  EXPECT_EQ(read_number("16"), 16);
  EXPECT_EQ(read_number("0x10 lanes"), 16);
  EXPECT_EQ(read_number("x16"), 0);
  EXPECT_EQ(read_number("-1"), -1);
}

}  // namespace
}  // namespace angio::nccl
