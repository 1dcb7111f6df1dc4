#include "dryrun/node_design.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/text.hpp"
#include "knowledge/phantom_gpus.hpp"
#include "knowledge/versions.hpp"
#include "nccl/system_graph.hpp"

namespace angio::dryrun {
namespace {

using nccl::Element;

Element tree(std::string_view text) {
  nccl::Remarks remarks;
  return nccl::read_topology_xml(text, remarks).roots.at(0);
}

NodeDesign design(std::string_view text, const DesignOptions& options = {},
                  const NodeChange* change = nullptr) {
  auto made = design_node(tree(text), options, change);
  EXPECT_TRUE(made) << made.error().message;
  return made ? *std::move(made) : NodeDesign{};
}

std::string error_of(std::string_view text, const DesignOptions& options = {},
                     const NodeChange* change = nullptr) {
  const auto made = design_node(tree(text), options, change);
  return made ? "no error" : made.error().message;
}

DesignOptions with_gpu(std::string word) {
  DesignOptions options;
  options.gpu = std::move(word);
  return options;
}

DesignOptions with_driver(std::uint32_t version) {
  DesignOptions options;
  options.cuda_driver = version;
  return options;
}

DesignOptions with_ranks(std::uint32_t ranks) {
  DesignOptions options;
  options.ranks = ranks;
  return options;
}

bool notes_hold(const NodeDesign& made, std::string_view part) {
  return std::ranges::any_of(made.notes, [&](const std::string& note) { return contains(note, part); });
}

// Two GPUs and two NICs behind two switches, dumped by NCCL; dev numbers against the order of the file.
constexpr std::string_view kDump = R"(<system version="1">
  <cpu numaid="1" arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="143">
    <pci busid="0000:a1:00.0" class="0x060400" link_speed="32.0 GT/s PCIe" link_width="16">
      <pci busid="0000:a3:00.0" class="0x030200" vendor="0x10de" device="0x2330" link_speed="32.0 GT/s PCIe" link_width="16">
        <gpu dev="1" sm="90" rank="1" gdr="1">
          <nvlink target="0000:07:00.0" count="9" tclass="0x068000"/>
          <nvlink target="0000:08:00.0" count="9" tclass="0x068000"/>
        </gpu>
      </pci>
      <pci busid="0000:a2:00.0" class="0x020700" link_speed="32.0 GT/s PCIe" link_width="16">
        <nic>
          <net name="mlx9_1" dev="1" speed="400000" port="1" latency="0.500000" guid="0xb2" maxconn="1000" gdr="1"/>
        </nic>
      </pci>
    </pci>
    <pci busid="0000:b1:00.0" class="0x060400" link_speed="32.0 GT/s PCIe" link_width="16">
      <pci busid="0000:b3:00.0" class="0x030200" vendor="0x10de" device="0x2330" link_speed="32.0 GT/s PCIe" link_width="16">
        <gpu dev="0" sm="90" rank="0" gdr="0">
          <nvlink target="fffffff:ffff:ff" count="18" tclass="0x068000"/>
        </gpu>
      </pci>
      <pci busid="0000:b2:00.0" class="0x020700" link_speed="32.0 GT/s PCIe" link_width="16">
        <nic>
          <net name="mlx9_0" dev="0" speed="200000" port="2" guid="0xa1" gdr="0"/>
        </nic>
      </pci>
    </pci>
  </cpu>
</system>
)";

TEST(NodeDesign, TakesGpusInNvmlsOrderWithTheirLinks) {
  const NodeDesign made = design(kDump);
  ASSERT_EQ(made.hardware.gpus.size(), 2U);
  const phantom::Gpu& first = made.hardware.gpus[0];
  EXPECT_EQ(first.bus, "0000:b3:00.0");
  EXPECT_EQ(first.name, "NVIDIA H100 80GB HBM3");
  EXPECT_EQ(first.sm, 90U);
  EXPECT_EQ(first.memory, 80ULL << 30U);
  EXPECT_EQ(first.numa, 1U);
  EXPECT_FALSE(first.gdr);
  EXPECT_TRUE(first.multicast);
  ASSERT_EQ(first.links.size(), 18U);
  EXPECT_EQ(first.links[17].index, 17U);
  EXPECT_EQ(first.links[0].remote, "ffff:ff:ff.f");
  const phantom::Gpu& second = made.hardware.gpus[1];
  EXPECT_TRUE(second.gdr);
  ASSERT_EQ(second.links.size(), 18U);
  EXPECT_EQ(second.links[0].remote, "0000:07:00.0");
  EXPECT_EQ(second.links[17].remote, "0000:08:00.0");
  EXPECT_EQ(second.links[17].remote_class, 0x068000U);
  EXPECT_EQ(made.devices, (std::vector<std::uint32_t>{0, 1}));
  EXPECT_TRUE(made.notes.empty()) << made.notes[0];
}

TEST(NodeDesign, TakesNicsInThePluginsOrder) {
  const NodeDesign made = design(kDump);
  ASSERT_EQ(made.hardware.nets.size(), 2U);
  const phantom::Net& first = made.hardware.nets[0];
  EXPECT_EQ(first.name, "mlx9_0");
  EXPECT_EQ(first.pci_path, "/sys/devices/pci0000:b1/0000:b1:00.0/0000:b2:00.0");
  EXPECT_EQ(first.speed, 200000U);
  EXPECT_EQ(first.port, 2U);
  EXPECT_EQ(first.guid, 0xa1U);
  EXPECT_FALSE(first.gdr);
  const phantom::Net& second = made.hardware.nets[1];
  EXPECT_DOUBLE_EQ(second.latency, 0.5);
  EXPECT_EQ(second.max_comms, 1000U);
  EXPECT_TRUE(second.gdr);
}

TEST(NodeDesign, LeavesAFileThatSaysEverythingAsItIs) {
  const NodeDesign made = design(kDump);
  EXPECT_EQ(made.topology, nccl::write_topology_xml(tree(kDump)));
  EXPECT_EQ(nccl::write_topology_xml(made.tree), made.topology);
}

TEST(NodeDesign, GivesTheNicsOfOtherNodesGuidsOfTheirOwn) {
  DesignOptions options;
  options.node = 3;
  const NodeDesign made = design(kDump, options);
  EXPECT_EQ(made.hardware.nets[0].guid, (3ULL << 40U) | 0xa1U);
  EXPECT_NE(made.topology.find("guid=\"0x300000000a1\""), std::string::npos);
  EXPECT_NE(made.topology.find("guid=\"0x300000000b2\""), std::string::npos);
}

TEST(NodeDesign, DriverIsTheNewestKnownOrTheOneAskedFor) {
  const auto newest = knowledge::cuda_toolkits().back();
  const NodeDesign made = design(kDump);
  EXPECT_GE(made.hardware.cuda_driver, 13020U);
  EXPECT_EQ(made.hardware.driver_version, newest.driver);
  const NodeDesign older = design(kDump, with_driver(12040));
  EXPECT_EQ(older.hardware.cuda_driver, 12040U);
  EXPECT_TRUE(older.hardware.driver_version.starts_with("550.")) << older.hardware.driver_version;
  EXPECT_TRUE(older.notes.empty()) << older.notes.front();
}

// Branch 565 offered CUDA 12.7 without a toolkit of it.
TEST(NodeDesign, ADriverThatNoToolkitCameWithSaysWhichItTakes) {
  const NodeDesign gap = design(kDump, with_driver(12070));
  EXPECT_EQ(gap.hardware.cuda_driver, 12070U);
  EXPECT_TRUE(gap.hardware.driver_version.starts_with("560.")) << gap.hardware.driver_version;
  EXPECT_TRUE(
      notes_hold(gap, "No toolkit of CUDA 12.7 is known: the driver says 12.7 and calls itself 560."));
  const NodeDesign unknown = design(kDump, with_driver(99090));
  EXPECT_EQ(unknown.hardware.cuda_driver, 99090U);
  EXPECT_EQ(unknown.hardware.driver_version, knowledge::cuda_toolkits().back().driver);
  EXPECT_TRUE(notes_hold(unknown, "is made up"));
}

// ---- files of PCI trees only

constexpr std::string_view kTree = R"(<system version="1">
  <cpu numaid="0">
    <pci busid="ffff:ff:01.0" class="0x060400" link_speed="16 GT/s" link_width="16">
      <pci busid="0004:00:00.0" class="0x030200" link_speed="16 GT/s" link_width="16"/>
      <pci busid="0104:00:00.0" class="0x020700" link_speed="16 GT/s" link_width="16"/>
      <pci busid="0003:00:00.0" class="0x030200" link_speed="16 GT/s" link_width="16"/>
      <pci busid="0103:00:00.0" class="0x020700" link_speed="16 GT/s" link_width="8"/>
      <pci busid="0009:00:00.0" class="0x020000"/>
    </pci>
  </cpu>
</system>
)";

TEST(NodeDesign, GpusHaveTheGenerationsOfTheirModelOrTheirFile) {
  const NodeDesign file = design(kDump);
  EXPECT_EQ(file.hardware.gpus[0].nvlink_version, 4U);
  EXPECT_EQ(file.hardware.gpus[0].pcie_generation, 5U);
  EXPECT_EQ(file.hardware.gpus[0].pcie_width, 16U);
  EXPECT_FALSE(design(kDump, with_gpu("h100-sxm")).needs_model);
  const NodeDesign model = design(kTree, with_gpu("v100-sxm2"));
  EXPECT_TRUE(model.needs_model);
  EXPECT_EQ(model.hardware.gpus[0].nvlink_version, 2U);
  EXPECT_EQ(model.hardware.gpus[0].pcie_generation, 3U);
}

TEST(NodeDesign, PlacesGpusOfAModelOnPciDevices) {
  const NodeDesign made = design(kTree, with_gpu("A100-SXM-80"));
  ASSERT_EQ(made.hardware.gpus.size(), 2U);
  EXPECT_EQ(made.hardware.gpus[0].bus, "0003:00:00.0");
  EXPECT_EQ(made.hardware.gpus[1].bus, "0004:00:00.0");
  EXPECT_EQ(made.hardware.gpus[0].name, "NVIDIA A100-SXM4-80GB");
  EXPECT_EQ(made.hardware.gpus[0].nvlinks, 12U);
  EXPECT_EQ(made.hardware.gpus[0].links.size(), 12U);
  EXPECT_FALSE(made.hardware.gpus[0].multicast);
  EXPECT_TRUE(notes_hold(
      made, "2 GPUs placed on its PCI devices by bus id, NVIDIA A100-SXM4-80GB by the model's name"));
  EXPECT_TRUE(notes_hold(made, "12 links of each GPU to NVSwitch"));
}

TEST(NodeDesign, LeavesSwitchLinksToNvmlButShowsThemInTheTree) {
  const NodeDesign made = design(kTree, with_gpu("h100-sxm"));
  EXPECT_TRUE(made.hardware.gpus[0].multicast);
  EXPECT_EQ(made.topology.find("<gpu"), std::string::npos);
  EXPECT_EQ(made.topology.find("<nvlink"), std::string::npos);
  const auto system = nccl::make_system(made.tree, {"2.28.9", false});
  ASSERT_TRUE(system) << system.error().message;
  const auto& gpus = system->all(nccl::NodeKind::kGpu);
  ASSERT_EQ(gpus.size(), 2U);
  EXPECT_EQ(system->path(gpus[0], gpus[1]).type, nccl::PathType::kNvl);
  EXPECT_EQ(system->all(nccl::NodeKind::kNet).size(), 2U);
}

TEST(NodeDesign, PlacesInfiniBandAdaptersByBusIdWithTheSpeedOfTheirLink) {
  const NodeDesign made = design(kTree, with_gpu("a100-sxm-40"));
  ASSERT_EQ(made.hardware.nets.size(), 2U);
  EXPECT_EQ(made.hardware.nets[0].name, "mlx5_0");
  EXPECT_EQ(made.hardware.nets[0].pci_path, "/sys/devices/pciffff:ff/ffff:ff:01.0/0103:00:00.0");
  EXPECT_EQ(made.hardware.nets[0].speed, 100000U);  // Gen4 x8 feeds EDR
  EXPECT_EQ(made.hardware.nets[1].speed, 200000U);  // Gen4 x16 feeds HDR
  EXPECT_NE(made.hardware.nets[0].guid, made.hardware.nets[1].guid);
  const Element read = tree(made.topology);
  const Element& adapter = read.children[0].children[0].children[3];
  EXPECT_EQ(adapter.get("busid"), "0103:00:00.0");
  ASSERT_NE(adapter.child("nic"), nullptr);
  EXPECT_EQ(adapter.child("nic")->child("net")->get("name"), "mlx5_0");
  EXPECT_EQ(adapter.child("nic")->child("net")->get("speed"), "100000");
  EXPECT_TRUE(notes_hold(made, "1 Ethernet device left out"));
  EXPECT_TRUE(notes_hold(made, "The topology has no <net>: 2 NICs placed"));
}

TEST(NodeDesign, NamesElasticFabricAdaptersAsTheirDriverDoes) {
  const NodeDesign made = design(
      R"(<system version="1"><cpu numaid="0"><pci busid="0000:10:1b.0" class="0x020000" vendor="0x1d0f" link_speed="8 GT/s" link_width="16"/>)"
      R"(<pci busid="0000:10:1c.0" class="0x030200" vendor="0x10de" device="0x20b0"/></cpu></system>)");
  ASSERT_EQ(made.hardware.nets.size(), 1U);
  EXPECT_EQ(made.hardware.nets[0].name, "rdmap16s27");
  EXPECT_EQ(made.hardware.nets[0].speed, 100000U);
  EXPECT_EQ(made.hardware.gpus[0].name, "NVIDIA A100-SXM4-40GB");
  EXPECT_TRUE(notes_hold(made, "NVIDIA A100-SXM4-40GB by PCI device 0x20b0"));
}

TEST(NodeDesign, WiresAMeshIntoTheFile) {
  std::string text = "<system version=\"1\"><cpu numaid=\"0\">";
  for (int number = 1; number <= 8; ++number)
    text += "<pci busid=\"000" + std::to_string(number) + ":00:00.0\" class=\"0x030200\"/>";
  const NodeDesign made = design(text + "</cpu></system>", with_gpu("v100-sxm2"));
  ASSERT_EQ(made.hardware.gpus.size(), 8U);
  for (const phantom::Gpu& gpu : made.hardware.gpus)
    EXPECT_EQ(gpu.links.size(), 6U) << gpu.bus;
  const Element read = tree(made.topology);
  const Element* gpu = read.children[0].children[0].child("gpu");
  ASSERT_NE(gpu, nullptr);
  EXPECT_EQ(gpu->get("dev"), "0");
  EXPECT_EQ(gpu->get("sm"), "70");
  ASSERT_EQ(gpu->children.size(), 4U);
  EXPECT_EQ(gpu->children[3].get("target"), "0005:00:00.0");
  EXPECT_EQ(gpu->children[3].get("count"), "2");
  EXPECT_EQ(gpu->children[3].get("tclass"), "0x030200");
  EXPECT_TRUE(notes_hold(made, "an assumption"));
}

// ---- what is not stated

constexpr std::string_view kBare = R"(<system version="1"><cpu numaid="0">
  <pci busid="0000:10:00.0" class="0x030200"><gpu dev="0" sm="90" gdr="1"/></pci>
  <pci busid="0000:20:00.0" class="0x030200"><gpu dev="1" sm="90" gdr="1"/></pci>
</cpu></system>)";

TEST(NodeDesign, AssumesNoNvLinkWithoutTheUsersWord) {
  const NodeDesign bare = design(kBare);
  EXPECT_TRUE(bare.hardware.gpus[0].links.empty());
  EXPECT_FALSE(bare.hardware.gpus[0].multicast);
  EXPECT_EQ(bare.hardware.gpus[0].name, "GPU of compute capability 9.0");
  EXPECT_TRUE(notes_hold(bare, "The topology has no NVLink, and NCCL would ask NVML: none assumed"));
  const NodeDesign named = design(kBare, with_gpu("h100-sxm"));
  EXPECT_EQ(named.hardware.gpus[0].links.size(), 18U);
  EXPECT_TRUE(named.hardware.gpus[0].multicast);
  EXPECT_EQ(named.topology, nccl::write_topology_xml(tree(kBare)));
  EXPECT_NE(nccl::write_topology_xml(named.tree).find("<nvlink target=\"fffffff:ffff:ff\" count=\"18\""),
            std::string::npos);
}

TEST(NodeDesign, BridgesAreNeverAssumed) {
  const NodeDesign made = design(kBare, with_gpu("h100-pcie"));
  EXPECT_EQ(made.hardware.gpus[0].nvlinks, 12U);
  EXPECT_TRUE(made.hardware.gpus[0].links.empty());
  EXPECT_TRUE(notes_hold(made, "bridges are an option"));
}

TEST(NodeDesign, AGpuThatLostItsLinksGetsNoneBack) {
  Element root = tree(kDump);
  root.children[0].children[1].children[0].children[0].children.clear();
  const auto made = design_node(root, with_gpu("h100-sxm"), nullptr);
  ASSERT_TRUE(made);
  EXPECT_TRUE(made->hardware.gpus[0].links.empty());
  EXPECT_EQ(made->hardware.gpus[1].links.size(), 18U);
  EXPECT_FALSE(made->hardware.gpus[0].multicast);
  EXPECT_TRUE(notes_hold(*made, "No NVLink at 0000:b3:00.0, though other GPUs have some"));
}

TEST(NodeDesign, LinksBetweenGpusAreNoSwitch) {
  const NodeDesign made = design(R"(<system version="1"><cpu numaid="0">
    <pci busid="0000:10:00.0" class="0x030200"><gpu dev="0" sm="90"><nvlink target="0000:20:00.0" count="12"/></gpu></pci>
    <pci busid="0000:20:00.0" class="0x030200"><gpu dev="1" sm="90"><nvlink target="0000:10:00.0" count="12"/></gpu></pci>
  </cpu></system>)");
  EXPECT_EQ(made.hardware.gpus[0].links[0].remote_class, 0x030200U);
  EXPECT_FALSE(made.hardware.gpus[0].multicast);
}

// ---- changes

NodeChange change(std::string_view text) {
  auto parsed = parse_node_change(text);
  EXPECT_TRUE(parsed) << parsed.error().message;
  return parsed ? *std::move(parsed) : NodeChange{};
}

TEST(NodeDesign, WithoutANic) {
  const NodeChange without = change("1:without=mlx9_0");
  const NodeDesign made = design(kDump, {}, &without);
  ASSERT_EQ(made.hardware.nets.size(), 1U);
  EXPECT_EQ(made.hardware.nets[0].name, "mlx9_1");
  EXPECT_EQ(made.topology.find("mlx9_0"), std::string::npos);
  EXPECT_TRUE(notes_hold(made, "node 1 is without mlx9_0"));
}

TEST(NodeDesign, WithoutAGpuTheOthersMoveUp) {
  const NodeChange without = change("1:without=gpu:0");
  const NodeDesign made = design(kDump, {}, &without);
  ASSERT_EQ(made.hardware.gpus.size(), 1U);
  EXPECT_EQ(made.hardware.gpus[0].bus, "0000:a3:00.0");
  EXPECT_EQ(made.devices, (std::vector<std::uint32_t>{0}));
  EXPECT_EQ(made.topology.find("0000:b3:00.0"), std::string::npos);
  EXPECT_NE(made.topology.find("<gpu dev=\"0\" sm=\"90\" rank=\"1\""), std::string::npos);
}

TEST(NodeDesign, WithoutAWiredGpuLinksToItAreDown) {
  const NodeChange without = change("0:without=gpu:1");
  const NodeDesign made = design(kTree, with_gpu("v100-sxm2"), &without);
  ASSERT_EQ(made.hardware.gpus.size(), 1U);
  EXPECT_TRUE(made.hardware.gpus[0].links.empty());
  EXPECT_EQ(made.topology.find("<nvlink"), std::string::npos);
}

TEST(NodeDesign, OrderAndRanks) {
  const NodeChange order = change("0:order=1,0");
  EXPECT_EQ(design(kDump, {}, &order).devices, (std::vector<std::uint32_t>{1, 0}));
  EXPECT_EQ(design(kDump, with_ranks(1), &order).devices, (std::vector<std::uint32_t>{1}));
  const NodeChange one = change("0:ranks=1");
  EXPECT_EQ(design(kDump, with_ranks(2), &one).devices, (std::vector<std::uint32_t>{0}));
}

TEST(NodeDesign, ASlowNicIsSlowInTheFileToo) {
  const NodeChange slow = change("2:slow=mlx9_1:100");
  const NodeDesign made = design(kDump, {}, &slow);
  EXPECT_EQ(made.hardware.nets[1].speed, 100000U);
  EXPECT_NE(made.topology.find("name=\"mlx9_1\" dev=\"1\" speed=\"100000\""), std::string::npos);
  EXPECT_TRUE(notes_hold(made, "node 2: mlx9_1 at 100 Gb/s in place of 400"));
}

TEST(NodeDesign, ChangesOfWhatIsNotThere) {
  const auto refused = [](std::string_view text) {
    const NodeChange wanted = change(text);
    return error_of(kDump, {}, &wanted);
  };
  EXPECT_EQ(refused("1:without=mlx9_7"), "node 1 has no NIC mlx9_7");
  EXPECT_EQ(refused("1:without=gpu:7"), "node 1 has no GPU 7");
  EXPECT_EQ(refused("1:without=gpu:0,gpu:1"), "node 1 is left without any GPU");
  EXPECT_EQ(refused("1:slow=mlx9_7:100"), "node 1 has no NIC mlx9_7");
  EXPECT_EQ(refused("1:order=0,2"), "order: node 1 has no CUDA device 2");
  EXPECT_EQ(refused("1:ranks=3"), "3 ranks on a node of 2 GPUs");
  const NodeChange twice = change("1:without=mlx9_0,mlx9_0");
  EXPECT_EQ(design(kDump, {}, &twice).hardware.nets.size(), 1U);
  EXPECT_EQ(error_of(kDump, with_ranks(0)), "0 ranks on a node of 2 GPUs");
}

// ---- refusals

TEST(NodeDesign, SaysWhyAFileIsNoNode) {
  EXPECT_EQ(error_of("<graphs version=\"1\"/>"), "<graphs> is no topology of NCCL");
  EXPECT_EQ(error_of(kTree),
            "the topology names 2 PCI devices for GPUs, but not what they are (the first is 0004:00:00.0)");
  EXPECT_EQ(error_of(kTree, with_gpu("h100-sxn")),
            "--gpu: no model \"h100-sxn\" is known; did you mean h100-sxm?");
  EXPECT_EQ(error_of(kBare, with_gpu("a100-sxm-80")),
            "--gpu a100-sxm-80 is sm 80, but the topology says sm 90 for the GPU at 0000:10:00.0");
  EXPECT_EQ(error_of("<system version=\"1\"><cpu numaid=\"0\"/></system>"),
            "no GPU in the topology: no <gpu>, and no PCI device of class 0x0302");
}

TEST(NodeDesign, ClasslessDevicesAreToBeNamedFirst) {
  const auto made = design_node(
      tree("<system version=\"1\"><cpu numaid=\"0\"><pci busid=\"0000:00:16.0\"/></cpu></system>"), {},
      nullptr);
  ASSERT_FALSE(made);
  EXPECT_NE(made.error().hint.find("angio nccl-topo set FILE pci:0000:00:16.0 class=0x030200"),
            std::string::npos);
}

TEST(NodeDesign, RefusesAmdAndSeveralHosts) {
  EXPECT_EQ(error_of("<system version=\"1\"><cpu numaid=\"0\"><pci busid=\"0000:10:00.0\" class=\"0x030200\">"
                     "<gpu dev=\"0\" sm=\"94\" gcn=\"942\"/></pci></cpu></system>"),
            "the topology is RCCL's: it has AMD GPUs (xgmi links or gcn)");
  EXPECT_EQ(error_of("<system version=\"1\"><cpu numaid=\"0\">"
                     "<pci busid=\"0000:10:00.0\" class=\"0x030200\" vendor=\"0x1002\"/></cpu></system>",
                     with_gpu("h100-sxm")),
            "the topology has AMD GPUs (PCI vendor 0x1002)");
  EXPECT_EQ(error_of("<system version=\"1\"><cpu host_hash=\"0x1\" numaid=\"0\"/>"
                     "<cpu host_hash=\"0x2\" numaid=\"0\"/></system>"),
            "the topology holds 2 hosts (host_hash 0x1, 0x2)");
}

TEST(NodeDesign, RefusesGpusThatCannotBeToldApart) {
  const auto gpus = [](std::string_view bus, std::string_view first, std::string_view second) {
    std::string text = "<system version=\"1\"><cpu numaid=\"0\">";
    text += "<pci busid=\"0000:10:00.0\" class=\"0x030200\"><gpu sm=\"90\" dev=\"" + std::string(first) +
            "\"/></pci>";
    text += "<pci busid=\"" + std::string(bus) + "\" class=\"0x030200\"><gpu sm=\"90\" dev=\"" +
            std::string(second) + "\"/></pci>";
    return text + "</cpu></system>";
  };
  EXPECT_EQ(error_of(gpus("0000:10:00.0", "0", "1")), "two GPUs at 0000:10:00.0");
  EXPECT_EQ(error_of(gpus("0000:20:00.0", "0", "0")), "two GPUs with dev=\"0\"");
  EXPECT_EQ(error_of(gpus("nonsense", "0", "1")), "a GPU at busid \"nonsense\"");
  EXPECT_EQ(design(gpus("0000:20:00.0", "0", "-1")).hardware.gpus.size(), 1U);
  std::string many = "<system version=\"1\"><cpu numaid=\"0\">";
  for (int bus = 16; bus < 49; ++bus)
    many += "<pci busid=\"0000:" + std::to_string(bus) + ":00.0\" class=\"0x030200\"><gpu sm=\"90\" dev=\"" +
            std::to_string(bus) + "\"/></pci>";
  EXPECT_EQ(error_of(many + "</cpu></system>"), "33 GPUs in one node; NCCL asks NVML for at most 32");
}

TEST(NodeDesign, OddValuesAreHeldInBounds) {
  const NodeDesign made = design(R"(<system version="1"><cpu numaid="-1">
    <pci busid="0000:10:00.0" class="0x030200"><gpu dev="7" sm="90"><nvlink target="zz" count="4000000000"/></gpu></pci>
    <nic><net name="eth0" dev="0" speed="-1" port="-3" guid="zz" latency="nan" maxconn="-5"/><net dev="1"/>
         <net name="eth0" dev="2"/></nic>
  </cpu></system>)");
  EXPECT_EQ(made.hardware.gpus[0].links.size(), 18U);
  EXPECT_EQ(made.hardware.gpus[0].numa, 0U);
  ASSERT_EQ(made.hardware.nets.size(), 1U);
  const phantom::Net& net = made.hardware.nets[0];
  EXPECT_EQ(net.pci_path, "/sys/devices/virtual/net/eth0");
  EXPECT_EQ(net.speed, 10000U);
  EXPECT_EQ(net.port, 0U);
  EXPECT_EQ(net.guid, 0U);
  EXPECT_FALSE(net.gdr);
  EXPECT_EQ(net.max_comms, 262144U);
  EXPECT_TRUE(notes_hold(made, "1 <net> without name left out"));
  EXPECT_TRUE(notes_hold(made, "NIC eth0 stands twice"));
}

TEST(NodeDesign, SaysWhichNicsNcclsOwnNetworkWouldJoin) {
  const NodeDesign made = design(R"(<system version="1"><cpu numaid="0" arch="x86_64" vendor="GenuineIntel">
    <pci busid="0000:10:00.0" class="0x030200"><gpu dev="0" sm="75"/></pci>
    <pci busid="0000:20:00.0" class="0x020700"><nic><net name="a" dev="0"/><net name="b" dev="1"/></nic></pci>
    <pci busid="0000:30:00.0" class="0x020700"><nic><net name="c" dev="2"/></nic></pci>
    <pci busid="0000:30:00.1" class="0x020700"><nic><net name="d" dev="3"/></nic></pci>
    <pci busid="0000:40:00.0" class="0x020700"><nic><net name="e" dev="4"/></nic></pci>
  </cpu></system>)");
  EXPECT_EQ(made.hardware.nets.size(), 5U);
  EXPECT_TRUE(notes_hold(made, "4 NICs are ports of 2 adapters"));
  EXPECT_FALSE(notes_hold(design(kDump), "are ports of"));
}

TEST(NodeDesign, SaysWhereNcclTakesTheCpuOfThisMachine) {
  EXPECT_TRUE(notes_hold(design(kBare), "The topology does not name its CPU"));
  EXPECT_FALSE(notes_hold(design(kDump), "does not name its CPU"));
}

TEST(NodeDesign, SmOutsideAnyCapabilityIsRefused) {
  EXPECT_EQ(
      error_of("<system version=\"1\"><cpu numaid=\"0\"><pci busid=\"0000:10:00.0\"><gpu dev=\"0\" sm=\"9\"/>"
               "</pci></cpu></system>"),
      "GPU 0000:10:00.0: sm=\"9\" is no compute capability");
}

TEST(NodeDesign, HardwareReadsBackAsWritten) {
  const NodeDesign made = design(kDump);
  phantom::Hardware read;
  ASSERT_EQ(phantom::parse_hardware(phantom::write_hardware(made.hardware), read), "");
  ASSERT_EQ(read.gpus.size(), 2U);
  EXPECT_EQ(read.gpus[1].name, made.hardware.gpus[1].name);
  EXPECT_EQ(read.gpus[1].links.size(), 18U);
  EXPECT_EQ(read.nets[1].pci_path, made.hardware.nets[1].pci_path);
}

TEST(NodeDesign, EveryModelIsAWordOfGpu) {
  ASSERT_EQ(gpu_models().size(), knowledge::phantom_gpus().size());
  EXPECT_TRUE(contains(error_of(kTree, with_gpu("h100-smx")), "did you mean h100-sxm"));
}

}  // namespace
}  // namespace angio::dryrun
