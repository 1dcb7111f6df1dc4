#include "nccl/topology_check.hpp"

#include <gtest/gtest.h>

#include "nccl/graph_dump.hpp"

namespace angio::nccl {
namespace {

std::string ids(std::string_view text, std::string_view version = "2.30.7") {
  Remarks remarks;
  const XmlText read = read_topology_xml(text, remarks);
  check_topology(read, version, remarks);
  std::string found;
  for (const Remark& remark : remarks.all())
    found += (found.empty() ? "" : " ") + remark.id;
  return found;
}

std::string in_system(const std::string& text) {
  return "<system version=\"1\"><cpu numaid=\"0\" arch=\"x86_64\" vendor=\"GenuineIntel\">" + text +
         "</cpu></system>";
}

std::string gpu(const std::string& bus, const std::string& dev, const std::string& links) {
  return "<pci busid=\"" + bus +
         "\" class=\"0x030200\" link_speed=\"32.0 GT/s PCIe\" link_width=\"16\"><gpu dev=\"" + dev +
         "\" sm=\"90\" gdr=\"1\">" + links + "</gpu></pci>";
}

TEST(TopologyCheck, AGoodFileIsSilent) {
  EXPECT_EQ(
      ids(in_system(
          gpu("0000:21:00.0", "0", "<nvlink target=\"0000:22:00.0\" count=\"4\" tclass=\"0x030200\"/>") +
          gpu("0000:22:00.0", "1", "<nvlink target=\"0000:21:00.0\" count=\"4\" tclass=\"0x030200\"/>"))),
      "");
  EXPECT_EQ(ids(in_system(gpu("0000:21:00.0", "0",
                              "<nvlink target=\"fffffff:ffff:ff\" count=\"18\" tclass=\"0x068000\"/>"))),
            "");
}

TEST(TopologyCheck, UnknownElementsAndAttributes) {
  EXPECT_EQ(ids("<system version=\"1\"><graph><link src=\"0\" dst=\"1\" type=\"NVLink\"/></graph></system>"),
            "element.ignored");
  EXPECT_EQ(ids(in_system(gpu(
                "0000:21:00.0", "0",
                "<nvlink target=\"fffffff:ffff:ff\" count=\"18\" tclass=\"0x068000\" type=\"direct\"/>"))),
            "attribute.unknown");
  EXPECT_EQ(ids(in_system("<gpu dev=\"0\"/>")), "element.ignored");
}

TEST(TopologyCheck, VersionOfTheFile) {
  EXPECT_EQ(ids("<system version=\"2\"><cpu numaid=\"0\"/></system>"), "system.version");
  EXPECT_EQ(ids("<system><cpu numaid=\"0\"/></system>"), "value.missing");
}

TEST(TopologyCheck, BusIds) {
  EXPECT_EQ(
      ids(in_system("<pci busid=\"0000:AB:00.0\" class=\"0x060400\" link_speed=\"\" link_width=\"16\"/>")),
      "pci.busid pci.speed-unknown");
  EXPECT_EQ(ids(in_system("<pci busid=\"17:00.0\" class=\"0x060400\" link_width=\"16\"/>")), "pci.busid");
  EXPECT_EQ(ids(in_system("<pci busid=\"0000:17:00.0\" class=\"0x060400\"/><pci busid=\"0000:17:00.0\" "
                          "class=\"0x060400\"/>")),
            "pci.twice");
}

TEST(TopologyCheck, LinkSpeedsAsNcclSpellsThem) {
  const auto with = [](const std::string& speed) {
    return ids(in_system("<pci busid=\"0000:17:00.0\" class=\"0x060400\" link_speed=\"" + speed +
                         "\" link_width=\"16\"/>"));
  };
  EXPECT_EQ(with("16.0 GT/s PCIe"), "");
  EXPECT_EQ(with("16 GT/s"), "");
  EXPECT_EQ(with("16.0 GT/s"), "pci.speed");  // NCCL knows this one with "PCIe" only
  EXPECT_EQ(with("Gen5"), "pci.speed");
}

TEST(TopologyCheck, NvlinkValues) {
  EXPECT_EQ(ids(in_system(gpu("0000:21:00.0", "0",
                              "<nvlink target=\"fffffff:ffff:ff\" count=\"600\" tclass=\"0x068000\"/>"))),
            "link.count");
  EXPECT_EQ(
      ids(in_system(gpu("0000:21:00.0", "0", "<nvlink target=\"GPU1\" count=\"4\" tclass=\"0x030200\"/>"))),
      "link.target");
  EXPECT_EQ(ids(in_system(gpu("0000:21:00.0", "0",
                              "<nvlink target=\"0000:77:00.0\" count=\"4\" tclass=\"0x030200\"/>"))),
            "link.nowhere");
  EXPECT_EQ(ids(in_system(gpu("0000:21:00.0", "0",
                              "<nvlink target=\"0000:21:00.0\" count=\"4\" tclass=\"0x030200\"/>"))),
            "link.self");
  EXPECT_EQ(ids(in_system(gpu("0000:21:00.0", "0",
                              "<nvlink target=\"0000:22:00.0\" count=\"4\" tclass=\"0x030200\"/>") +
                          gpu("0000:22:00.0", "1", ""))),
            "link.one-way");
}

TEST(TopologyCheck, NicSpeedIsInMegabits) {
  EXPECT_EQ(ids(in_system("<nic><net name=\"mlx9_0\" dev=\"0\" speed=\"400\"/></nic>")), "net.speed");
  EXPECT_EQ(ids(in_system("<nic><net name=\"mlx9_0\" dev=\"0\" speed=\"400000\"/></nic>")), "");
  EXPECT_EQ(ids(in_system("<nic><net name=\"mlx9_0\" dev=\"0\" speed=\"-1\"/></nic>")), "net.speed-unknown");
}

TEST(TopologyCheck, ByRelease) {
  const std::string c2c = in_system(gpu("0000:21:00.0", "0", "<c2c bw=\"44712\" count=\"10\"/>"));
  EXPECT_EQ(ids(c2c, "2.18.3"), "element.too-new");
  EXPECT_EQ(ids(c2c, "2.28.9"), "");
  const std::string hash = "<system version=\"1\"><cpu numaid=\"0\" host_hash=\"0x1\"/></system>";
  EXPECT_EQ(ids(hash, "2.20.5"), "");
  EXPECT_EQ(ids(hash, "2.23.4"), "cpu.host-hash");
  EXPECT_EQ(ids(hash, "2.27.3"), "");
  std::string many;
  for (int cpu = 0; cpu < 140; ++cpu)
    many += "<cpu numaid=\"" + std::to_string(cpu) + "\"/>";
  EXPECT_EQ(ids("<system version=\"1\">" + many + "</system>", "2.28.9"), "xml.children");
  EXPECT_EQ(ids("<system version=\"1\">" + many + "</system>", "2.30.7"), "");
  EXPECT_TRUE(ids("<system version=\"1\">" + many + many + "</system>", "2.30.7")
                  .ends_with("cpu.twice xml.elements"));
}

TEST(TopologyCheck, RcclIsADialect) {
  const std::string text =
      "<system version=\"2\"><cpu numaid=\"0\" arch=\"x86_64\" vendor=\"AuthenticAMD\"><pci "
      "busid=\"0000:21:00.0\" "
      "class=\"0x120000\" link_width=\"16\"><gpu dev=\"0\" sm=\"304\" gcn=\"gfx942\" arch=\"38911\" "
      "rank=\"0\" gdr=\"1\">"
      "<xgmi target=\"0000:21:00.0\" count=\"1\" tclass=\"0x120000\"/></gpu></pci></cpu></system>";
  EXPECT_EQ(ids(text), "");
}

TEST(TopologyCheck, WordsOfBusIds) {
  EXPECT_TRUE(is_bus_id("0000:1b:00.0"));
  EXPECT_FALSE(is_bus_id("0000:1B:00.0"));
  EXPECT_FALSE(is_bus_id("10000:e1:00.0"));
  EXPECT_TRUE(is_hidden_target("fffffff:ffff:ff"));
  EXPECT_TRUE(is_hidden_target("fffffff:ff:ff.0"));
  EXPECT_FALSE(is_hidden_target("0000:1b:00.0"));
}

constexpr std::string_view kGraphs =
    "<graphs version=\"1\">\n"
    "  <graph id=\"0\" pattern=\"4\" crossnic=\"0\" nchannels=\"2\" speedintra=\"20\" speedinter=\"20\" "
    "latencyinter=\"0\" "
    "typeintra=\"NVL\" typeinter=\"PIX\" samechannels=\"1\">\n"
    "    <channel>\n      <gpu dev=\"0\"/>\n      <gpu dev=\"0x1\"/>\n    </channel>\n"
    "    <channel>\n      <gpu dev=\"0x1\"/>\n      <gpu dev=\"0\"/>\n    </channel>\n"
    "  </graph>\n"
    "</graphs>\n";

TEST(GraphDump, ReadsAndWritesTheSame) {
  Remarks remarks;
  const XmlText text = read_topology_xml(kGraphs, remarks);
  const auto graphs = read_graphs(text.roots[0], "2.28.9", remarks);
  EXPECT_TRUE(remarks.all().empty());
  ASSERT_EQ(graphs.size(), 1U);
  EXPECT_EQ(graphs[0].list[1].gpus, (std::vector<std::int64_t>{1, 0}));
  EXPECT_EQ(write_topology_xml(to_element(graphs)), kGraphs);
}

TEST(GraphDump, SaysWhatCannotBe) {
  const auto found = [](std::string text, std::string_view from, std::string_view to) {
    text.replace(text.find(from), from.size(), to);
    Remarks remarks;
    const XmlText read = read_topology_xml(text, remarks);
    static_cast<void>(read_graphs(read.roots[0], "2.28.9", remarks));
    return remarks.all().empty() ? std::string() : remarks.all()[0].id;
  };
  const std::string good(kGraphs);
  EXPECT_EQ(found(good, "nchannels=\"2\"", "nchannels=\"3\""), "graph.channels");
  EXPECT_EQ(found(good, "typeintra=\"NVL\"", "typeintra=\"NVLINK\""), "graph.type");
  EXPECT_EQ(found(good, "<gpu dev=\"0x1\"/>", "<gpu dev=\"0\"/>"), "graph.gpu-twice");
  EXPECT_EQ(found(good, "<gpu dev=\"0x1\"/>", "<link/>"), "element.ignored");
  EXPECT_EQ(found(good, "graphs version=\"1\"", "graphs version=\"2\""), "graphs.version");
}

}  // namespace
}  // namespace angio::nccl
