#include "views/topology_view.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/json.hpp"
#include "model/synthetic.hpp"
#include "views/machine_json.hpp"
#include "views/topology_diff.hpp"
#include "views/topology_words.hpp"

namespace angio::views {
namespace {

model::Machine machine_of(const char* description) {
  Result<model::Machine> machine = model::topology(description);
  EXPECT_TRUE(machine.has_value()) << (machine ? "" : machine.error().message);
  return machine ? *machine : model::Machine{};
}

std::string text_of(const model::Machine& machine, bool explain = false) {
  return report::render_terminal(topology_document(machine, {explain, false}), {80, false, true});
}

bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

TEST(TopologyView, WholeTextOfASmallMachine) {
  const model::Machine machine =
      machine_of("2 numa cores:2 mem:8GiB { switch { gpu nvlink:full:4; hca ndr; nvme } }");
  EXPECT_EQ(text_of(machine), R"(synthetic
2 packages, 4 cores, 4 CPUs; 2 NUMA nodes, 16 GiB; 2 GPUs; 2 RDMA devices

synthetic
|- package 0, 2 cores, 2 CPUs
|  `- NUMA node 0  8 GiB, CPUs 0-1
|     `- switch 0000:02:00.0  32 GT/s x16
|        |- GPU 0  0000:04:00.0  32 GT/s x16
|        |- mlx5_0  0000:06:00.0  InfiniBand 400 Gb/s NDR  32 GT/s x16
|        `- NVMe  0000:08:00.0  32 GT/s x16
`- package 1, 2 cores, 2 CPUs
   `- NUMA node 1  8 GiB, CPUs 2-3
      `- switch 0000:0a:00.0  32 GT/s x16
         |- GPU 1  0000:0c:00.0  32 GT/s x16
         |- mlx5_1  0000:0e:00.0  InfiniBand 400 Gb/s NDR  32 GT/s x16
         `- NVMe  0000:10:00.0  32 GT/s x16

GPU to GPU
       GPU 0  GPU 1  node
GPU 0    X     NV4      0
GPU 1   NV4     X       1

NIC to GPU
        GPU 0  GPU 1  node
mlx5_0   PIX    SYS      0
mlx5_1   SYS    PIX      1

Near to far
  NV#  that many active NVLinks, direct or through NVSwitch
  PIX  one PCIe switch or bridge at most
  SYS  between two NUMA nodes, over the interconnect of the CPUs

Links of the GPUs
  GPUs 0-1  4 of 4 links active: 4 to NVSwitch

NUMA distances
node   0   1
   0  10  21
   1  21  10

As the firmware states them: 10 is local, larger is farther; they are no
latencies.

This source does not tell: caches.
)");
}

TEST(TopologyView, DegradedLinkIsSaidInWords) {
  EXPECT_TRUE(has(text_of(machine_of("numa { gpu pcie:5x16/8 }")), "32 GT/s x8, could be x16"));
}

TEST(TopologyView, NarrowLinkByDesignIsNoFault) {
  model::Machine machine = machine_of("numa { gpu pcie:5x8 }");
  machine.pci.devices[*machine.gpus[0].pci].link_max =
      model::Observed<model::PciLink>::known({{32e9}, 16}, {});
  EXPECT_FALSE(view_link(machine, *machine.gpus[0].pci).degraded());  // the slot has eight lanes
}

TEST(TopologyView, IdleGpuIsNotCalledDegraded) {
  model::Machine machine = machine_of("numa { gpu }");
  machine.pci.devices[*machine.gpus[0].pci].link = model::Observed<model::PciLink>::known({{2.5e9}, 16}, {});
  const LinkView link = view_link(machine, *machine.gpus[0].pci);
  EXPECT_FALSE(link.degraded());
  EXPECT_EQ(link.text, "2.5 GT/s x16 now, 32 GT/s under load");
}

TEST(TopologyView, SlowNicLinkIsDegraded) {
  model::Machine machine = machine_of("numa { hca }");
  machine.pci.devices[*machine.rdma[0].pci].link = model::Observed<model::PciLink>::known({{16e9}, 16}, {});
  EXPECT_EQ(view_link(machine, *machine.rdma[0].pci).brief, "16 of 32 GT/s");
}

TEST(TopologyView, EmptyMachineSaysWhatIsNotKnown) {
  EXPECT_EQ(text_of({}),
            "machine\nno device is known\n\nmachine\n\nThis source does not tell: CPUs, caches, NUMA nodes, "
            "PCI tree and links.\n");
}

TEST(TopologyView, MatrixOnlyGroupsByPix) {
  model::Machine machine;
  machine.name = "matrix";
  for (std::uint32_t i = 0; i < 2; ++i) {
    model::Gpu gpu;
    gpu.index = i;
    machine.gpus.push_back(gpu);
  }
  model::StatedPaths stated;
  stated.devices = {{model::DeviceKind::kGpu, 0}, {model::DeviceKind::kGpu, 1}};
  stated.cells = {{model::PathClass::kSelf, 0, {}},
                  {model::PathClass::kPix, 0, {}},
                  {model::PathClass::kPix, 0, {}},
                  {model::PathClass::kSelf, 0, {}}};
  machine.stated_paths = stated;
  EXPECT_TRUE(has(text_of(machine),
                  "`- NUMA node not known\n   `- below one PCIe bridge (the source says PIX)\n"
                  "      |- GPU 0\n      `- GPU 1\n"));
}

TEST(TopologyView, FourDrivesBecomeOneLine) {
  EXPECT_TRUE(
      has(text_of(machine_of("numa { 4 nvme; gpu }")), "4 NVMe drives  0000:02:00.0 to 0000:05:00.0"));
}

TEST(TopologyExplain, NamesFarNicsAndTheirNodes) {
  const std::string text = text_of(machine_of("numa { gpu }; numa { hca }"), true);
  EXPECT_TRUE(has(text, "GPU 0 - mlx5_0: SYS: crosses from NUMA node 0 to 1; no NIC is nearer."));
}

TEST(TopologyExplain, NamesTheGpuWithFewerLinks) {
  model::Machine machine = machine_of("numa { 8 gpu nvlink:full:18 }");
  machine.gpus[2].links[0].state = model::LinkState::kInactive;
  const std::string text = text_of(machine, true);
  EXPECT_TRUE(has(text, "GPU 2 with every other: NV17: most pairs have NV18: fewer active links"));
  EXPECT_TRUE(has(text, "17 of 18 links active: 17 to NVSwitch, fewer than GPUs like it"));
}

TEST(TopologyPicture, MarksWhatIsDegradedAndDrawsOneBar) {
  const report::Drawing drawing =
      topology_drawing(machine_of("2 numa { 3 gpu nvlink:full; gpu nvlink:full pcie:5x16/4; 4 hca }"));
  std::size_t bars = 0;
  std::size_t dashed = 0;
  for (const report::Shape& shape : drawing.shapes) {
    if (const auto* box = std::get_if<report::Box>(&shape); box != nullptr && box->kind == "nvlink") ++bars;
    if (const auto* line = std::get_if<report::Connector>(&shape); line != nullptr && line->dashed) {
      ++dashed;
      EXPECT_EQ(line->tone, report::Tone::kCritical);
    }
  }
  EXPECT_EQ(bars, 1U);
  EXPECT_EQ(dashed, 2U);
  EXPECT_TRUE(has(drawing.description, "GPU 3: PCIe x4 of x16"));
}

TEST(TopologyPicture, StaysInsideItsSheet) {
  for (const char* description :
       {"numa { gpu }", "8 numa { 2 gpu nvlink:mesh:2; hca }", "2 numa { 8 gpu nvlink:full; 8 hca }",
        "numa { 4 gpu nvlink:pairs:4 }", "40 numa cores:1", "numa { 16 gpu nvlink:full; 32 hca }",
        "numa { 6 switch { 3 gpu; hca; 2 nvme } }"}) {
    const report::Drawing drawing = topology_drawing(machine_of(description));
    EXPECT_LE(drawing.width, 1640) << description;  // a slide
    for (const report::Shape& shape : drawing.shapes) {
      const auto* box = std::get_if<report::Box>(&shape);
      if (box == nullptr) continue;
      EXPECT_GE(box->x, 0) << description;
      EXPECT_LE(box->x + box->width, drawing.width) << description;
      EXPECT_LE(box->y + box->height, drawing.height) << description;
    }
  }
}

std::vector<std::string> titles_of(const report::Drawing& drawing, std::string_view kind) {
  std::vector<std::string> titles;
  for (const report::Shape& shape : drawing.shapes) {
    if (const auto* box = std::get_if<report::Box>(&shape); box != nullptr && box->kind == kind)
      titles.push_back(box->title);
  }
  return titles;
}

TEST(TopologyPicture, BreaksAWideNodeAndKeepsEveryGpu) {
  const report::Drawing drawing = topology_drawing(machine_of("numa { 16 gpu nvlink:full; hca }"));
  EXPECT_EQ(titles_of(drawing, "gpu").size(), 16U);
  EXPECT_EQ(titles_of(drawing, "package"),
            (std::vector<std::string>{"package 0, continued", "package 0, 8 cores, 8 CPUs"}));
  EXPECT_EQ(titles_of(drawing, "nvlink"),
            (std::vector<std::string>{"NVSwitch: every GPU to every other", "the same NVSwitch fabric"}));
}

TEST(TopologyPicture, FoldsNicsThatAreAlike) {
  model::Machine machine = machine_of("numa { switch { gpu; 4 hca ndr } }");
  EXPECT_EQ(titles_of(topology_drawing(machine), "nic"), std::vector<std::string>{"4 NICs"});
  machine.rdma[1].ports[0].state = model::Observed<std::string>::known("DOWN", {});
  EXPECT_EQ(titles_of(topology_drawing(machine), "nic"),
            (std::vector<std::string>{"mlx5_0", "mlx5_1", "mlx5_2", "mlx5_3"}));
}

TEST(TopologyPicture, BracketsOfOneGpuLeaveAtDifferentPlaces) {
  const report::Drawing drawing = topology_drawing(machine_of("numa { 5 gpu nvlink:pairs:2; gpu }"));
  const report::Drawing mesh = topology_drawing(machine_of("2 numa { 3 gpu nvlink:mesh:2; gpu }"));
  for (const report::Drawing* each : {&drawing, &mesh}) {
    std::vector<double> ends;
    for (const report::Shape& shape : each->shapes) {
      const auto* line = std::get_if<report::Connector>(&shape);
      if (line == nullptr || line->kind != "nvlink") continue;
      ends.push_back(line->points.front().first);
      ends.push_back(line->points.back().first);
    }
    std::ranges::sort(ends);
    EXPECT_FALSE(ends.empty());
    EXPECT_EQ(std::ranges::adjacent_find(ends), ends.end());
  }
}

TEST(TopologyPicture, PackagesBelowEachOtherAreJoined) {
  const report::Drawing drawing = topology_drawing(machine_of("2 numa { 4 switch { gpu; hca; nvme } }"));
  std::size_t joins = 0;
  for (const report::Shape& shape : drawing.shapes) {
    const auto* line = std::get_if<report::Connector>(&shape);
    joins += line != nullptr && line->kind == "interconnect" && line->points.size() == 4 ? 1 : 0;
  }
  EXPECT_EQ(joins, 1U);
}

TEST(TopologyView, NicThatOnlyPciKnowsIsShown) {
  model::Machine machine = machine_of("numa { gpu; hca }");
  machine.rdma.clear();
  const std::string text = text_of(machine);
  EXPECT_TRUE(has(text, "NIC  0000:03:00.0  InfiniBand")) << text;
  EXPECT_TRUE(has(text, "1 GPU; 1 NIC")) << text;
  EXPECT_EQ(titles_of(topology_drawing(machine), "nic"), std::vector<std::string>{"NIC 03:00.0"});
}

TEST(TopologyWords, BoardNameLosesTheVendorInAnyCase) {
  EXPECT_EQ(board_name("NVIDIA H100 80GB HBM3"), "H100 80GB HBM3");
  EXPECT_EQ(board_name("Nvidia tesla V100-SXM2"), "V100-SXM2");
  EXPECT_EQ(board_name("NVIDIA"), "NVIDIA");
}

TEST(TopologyDiff, PciDevicesOfOneSideAreCounted) {
  const model::Machine left = machine_of("numa { 2 gpu; 3 nvme }");
  const TopologyComparison comparison = compare_topologies(left, machine_of("numa { 2 gpu }"));
  ASSERT_EQ(comparison.differences.size(), 2U);
  EXPECT_EQ(comparison.differences[0].subject, "PCI addresses only here: NVMe drives");
  EXPECT_EQ(comparison.differences[0].left, "3");
  EXPECT_EQ(comparison.differences[0].right, "0");
  EXPECT_EQ(comparison.differences[1].subject, "PCI addresses only here: bridges");
}

TEST(TopologyDiff, SameMachineIsTheSame) {
  const model::Machine machine = machine_of("2 numa { 2 gpu nvlink:full; hca }");
  const TopologyComparison comparison = compare_topologies(machine, machine);
  EXPECT_TRUE(comparison.same());
  EXPECT_TRUE(comparison.incomparable.empty());
}

TEST(TopologyDiff, NamesLanesLinksAndWhatIsMissing) {
  const model::Machine left = machine_of("numa { 2 gpu nvlink:full:4; hca }");
  model::Machine right = machine_of("numa { gpu nvlink:full:4; gpu nvlink:full:4 pcie:5x16/8; hca }");
  right.gpus[0].links[3].state = model::LinkState::kInactive;
  right.rdma.clear();
  const TopologyComparison comparison = compare_topologies(left, right);
  const auto find = [&](const std::string& subject) {
    for (const TopologyDifference& each : comparison.differences) {
      if (each.subject == subject) return each.left + " / " + each.right;
    }
    return std::string("nothing");
  };
  EXPECT_EQ(find("GPU 0 active NVLinks"), "4 / 3");
  EXPECT_EQ(find("mlx5_0"), "present / none");
  EXPECT_EQ(find("RDMA devices"), "1 / 0");
  EXPECT_EQ(find("GPU 1 PCIe lanes"), "x16 / x8");
  EXPECT_EQ(find("path GPU 0 to GPU 1"), "NV4 / NV3");
}

TEST(TopologyDiff, NotKnownIsNoDifference) {
  const model::Machine left = machine_of("numa { gpu }");
  model::Machine right = left;
  right.numa.nodes[0].memory = {};
  const TopologyComparison comparison = compare_topologies(left, right);
  EXPECT_TRUE(comparison.same());
  EXPECT_EQ(comparison.incomparable, std::vector<std::string>{"NUMA node 0 memory"});
}

TEST(MachineJson, SaysKnownAbsentAndUnreadable) {
  model::Machine machine = machine_of("numa mem:8GiB { gpu }");
  const std::uint32_t place = machine.places.add("/sys/x");
  machine.gpus[0].numa = model::Observed<NumaId>::absent({place, 0, "numa_node"});
  machine.pci.devices[0].link =
      model::Observed<model::PciLink>::unreadable(model::Reason::kDenied, {place, 0, "link"}, 13);
  const Json json = machine_json(machine);
  EXPECT_EQ(*json.find("schema")->as_string(), "angio.topology/1");
  const std::string text = to_text(json, -1);
  EXPECT_TRUE(has(text, R"("numa_node":{"absent":true,"source":"/sys/x/numa_node"})"))
      << text.substr(0, 4000);
  EXPECT_TRUE(has(text, R"("link":{"unreadable":"denied","error":"EACCES","source":"/sys/x/link"})"));
  EXPECT_TRUE(has(text, R"("memory_bytes":{"value":8589934592,"source":"topology"})"));
  EXPECT_TRUE(parse_json(text).has_value());
}

model::Gid gid_of(std::uint32_t index, const char* text, const char* type) {
  return {index, text, model::Observed<std::string>::known(type, {}),
          model::Observed<std::string>::known("rdma0", {})};
}

TEST(TopologyExplain, TellsWhichGidIsTaken) {
  model::Machine machine = machine_of("1 numa cores:2 mem:8GiB { switch { gpu; hca ndr } }");
  EXPECT_FALSE(has(text_of(machine, true), "GIDs of RoCE ports"));
  model::RdmaPort& port = machine.rdma[0].ports[0];
  port.link_layer = model::LinkLayer::kEthernet;
  port.gids = {gid_of(0, "fe80:0000:0000:0000:0000:00ff:fe00:0001", "IB/RoCE v1"),
               gid_of(2, "0000:0000:0000:0000:0000:ffff:0a01:0005", "IB/RoCE v1"),
               gid_of(3, "0000:0000:0000:0000:0000:ffff:0a01:0005", "RoCE v2")};
  EXPECT_TRUE(has(text_of(machine, true), "mlx5_0    3  v2    10.1.0.5"));
  const auto line_with_taken = [&] {
    const std::string text = text_of(machine, true);
    const std::size_t at = text.find("  taken");
    return text.substr(text.rfind('\n', at) + 1, 11);
  };
  EXPECT_EQ(line_with_taken(), "mlx5_0    3");
  machine.software.settings = {{"NCCL_IB_GID_INDEX", "2", {}}};
  EXPECT_EQ(line_with_taken(), "mlx5_0    2");
  EXPECT_TRUE(has(text_of(machine, true), "Taken: what NCCL_IB_GID_INDEX=2 of this machine names."));
}

}  // namespace
}  // namespace angio::views
