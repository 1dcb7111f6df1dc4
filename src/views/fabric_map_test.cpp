// The map: what stands where, that labels do not touch, and that large fabrics stay small files.
#include <gtest/gtest.h>

#include <algorithm>

#include "base/text.hpp"
#include "views/fabric_example.hpp"
#include "views/fabric_map_layout.hpp"
#include "views/fabric_view.hpp"

namespace angio::views {
namespace {

using example::TreeShape;
using model::PortRef;
using model::Severity;
using report::Box;
using report::Connector;
using report::Label;
using report::Tone;

struct Drawn {
  model::Fabric fabric;
  model::FabricReport report;
  report::Drawing drawing;
};

template <typename Change>
Drawn draw(const TreeShape& shape, Change change) {
  Drawn drawn;
  drawn.fabric = example::fat_tree(shape);
  drawn.report = example::report_of(drawn.fabric, shape);
  change(drawn.fabric, drawn.report);
  drawn.drawing = fabric_drawing(drawn.fabric, drawn.report);
  return drawn;
}
Drawn draw(const TreeShape& shape) {
  return draw(shape, [](model::Fabric&, model::FabricReport&) {});
}

template <typename Shape>
std::vector<Shape> all(const report::Drawing& drawing) {
  std::vector<Shape> found;
  for (const report::Shape& shape : drawing.shapes)
    if (const auto* one = std::get_if<Shape>(&shape)) found.push_back(*one);
  return found;
}

std::size_t count_kind(const report::Drawing& drawing, std::string_view kind) {
  return static_cast<std::size_t>(
      std::ranges::count_if(all<Box>(drawing), [&](const Box& box) { return box.kind == kind; }));
}

// Labels as boxes; the markers of findings stand above what they mark on purpose.
void expect_labels_apart(const report::Drawing& drawing) {
  std::vector<Label> labels = all<Label>(drawing);
  std::erase_if(labels, [](const Label& label) { return label.halo; });
  const auto left = [](const Label& label) {
    const double width = map_text_width(label.text, label.size);
    return label.align == report::Align::kRight    ? label.x - width
           : label.align == report::Align::kCentre ? label.x - width / 2
                                                   : label.x;
  };
  std::ranges::sort(labels, {}, [](const Label& label) { return label.y; });
  for (std::size_t i = 0; i < labels.size(); ++i) {
    for (std::size_t j = i + 1; j < labels.size() && labels[j].y - labels[i].y < labels[j].size * 0.9; ++j) {
      const Label& a = left(labels[i]) <= left(labels[j]) ? labels[i] : labels[j];
      const Label& b = &a == &labels[i] ? labels[j] : labels[i];
      EXPECT_LE(left(a) + map_text_width(a.text, a.size), left(b) + 0.5) << a.text << " | " << b.text;
    }
  }
}

void expect_inside(const report::Drawing& drawing) {
  for (const Box& box : all<Box>(drawing)) {
    EXPECT_GE(box.x, 0) << box.tooltip;
    EXPECT_GE(box.y, 0) << box.tooltip;
    EXPECT_LE(box.x + box.width, drawing.width) << box.tooltip;
    EXPECT_LE(box.y + box.height, drawing.height) << box.tooltip;
  }
}

TEST(FabricMap, NamesTheHostsOfASmallFabric) {
  const Drawn drawn = draw({4, 2, 2, 1});
  EXPECT_EQ(count_kind(drawn.drawing, "switch"), 4U);
  EXPECT_EQ(count_kind(drawn.drawing, "host"), 4U);
  const std::vector<Label> labels = all<Label>(drawn.drawing);
  EXPECT_TRUE(std::ranges::any_of(labels, [](const Label& label) { return label.text == "gpu-3"; }));
  EXPECT_TRUE(std::ranges::any_of(labels, [](const Label& label) { return label.text == "spine-2"; }));
  expect_labels_apart(drawn.drawing);
  expect_inside(drawn.drawing);
}

TEST(FabricMap, StandsUnderEachOther) {
  const TreeShape shape{4, 2, 2, 1};
  const model::Fabric fabric = example::fat_tree(shape);
  const model::FabricReport report = example::report_of(fabric, shape);
  const auto sections = map_sections(fabric, report, FabricMarks(fabric, report));
  ASSERT_EQ(sections.size(), 1U);
  EXPECT_EQ(sections[0].title, "");
  ASSERT_EQ(sections[0].groups.size(), 2U);
  ASSERT_EQ(sections[0].levels.size(), 1U);
  EXPECT_EQ(sections[0].levels[0].size(), 2U);
  ASSERT_EQ(sections[0].trunks.size(), 4U);
  EXPECT_EQ(sections[0].trunks[0].links, 1U);
  EXPECT_EQ(sections[0].trunks[0].bits_per_second, 200e9);
  const MapLayout layout = place_section(sections[0], fabric, report);
  const MapRect leaf = layout.switches.at(0);
  const MapRect spine = layout.switches.at(2);
  EXPECT_LT(spine.bottom(), leaf.y);
  for (const PlacedCell& cell : layout.cells)
    EXPECT_GE(cell.box.y, leaf.bottom());
}

TEST(FabricMap, PutsTheRailsOfAHostBesideEachOther) {
  const TreeShape shape{8, 8, 2, 4};
  const model::Fabric fabric = example::fat_tree(shape);
  const model::FabricReport report = example::report_of(fabric, shape);
  const auto sections = map_sections(fabric, report, FabricMarks(fabric, report));
  ASSERT_EQ(sections[0].groups.size(), 1U);
  EXPECT_EQ(sections[0].groups[0].leaves.size(), 4U);
  EXPECT_EQ(sections[0].groups[0].hosts.size(), 8U);
  const MapLayout layout = place_section(sections[0], fabric, report);
  std::map<std::uint32_t, double> row;
  for (const PlacedCell& cell : layout.cells) {
    const auto [at, is_new] = row.try_emplace(cell.host, cell.box.y);
    EXPECT_EQ(at->second, cell.box.y);
  }
  EXPECT_EQ(layout.cells.size(), 32U);
}

TEST(FabricMap, DashesADegradedTrunkInRedAndNumbersIt) {
  const Drawn drawn = draw({4, 2, 2, 1}, [](model::Fabric& fabric, model::FabricReport& report) {
    model::FabricPort& port = fabric.nodes[0].ports[2];  // leaf-1 to spine-1
    port.speed = model::LaneSpeedName::kEdr;
    fabric.nodes[port.peer->node].ports[port.peer->port].speed = model::LaneSpeedName::kEdr;
    report.findings.push_back(example::finding("fabric.link.speed", Severity::kWarning,
                                               "leaf-1 port 3 runs EDR", {PortRef{0, 2}}, {}));
  });
  std::vector<Connector> lines = all<Connector>(drawn.drawing);
  std::erase_if(lines, [](const Connector& line) { return line.tooltip.empty(); });  // of the legend
  ASSERT_EQ(lines.size(), 4U);
  const auto red = std::ranges::count_if(lines, [](const Connector& line) { return line.dashed; });
  EXPECT_EQ(red, 1);
  const Connector& loud = *std::ranges::find_if(lines, [](const Connector& line) { return line.dashed; });
  EXPECT_EQ(loud.tone, Tone::kCritical);
  EXPECT_EQ(loud.tooltip,
            "leaf-1 to spine-1: 1 cable, 100 Gb/s; leaf-1 port 3 runs 4x EDR (100 Gb/s); warning: leaf-1 "
            "port 3 runs "
            "EDR");
  const std::vector<Label> labels = all<Label>(drawn.drawing);
  EXPECT_EQ(std::ranges::count_if(labels, [](const Label& label) { return label.halo && label.text == "1"; }),
            1);
}

TEST(FabricMap, MarksTheCellOfAHostWhicheverEndIsNamed) {
  const Drawn drawn = draw({8, 8, 2, 4}, [](model::Fabric&, model::FabricReport& report) {
    report.findings.push_back(
        example::finding("fabric.link.errors", Severity::kWarning, "leaf-2 port 3", {PortRef{1, 2}}, {2}));
  });
  const std::vector<Box> boxes = all<Box>(drawn.drawing);
  const auto loud = std::ranges::find_if(boxes, [](const Box& box) {
    return box.kind == "cell" && !box.tooltip.empty() && box.tone != Tone::kPlain;
  });
  ASSERT_NE(loud, boxes.end());
  EXPECT_EQ(loud->tone, Tone::kWarning);
  EXPECT_EQ(loud->tooltip, "gpu-3 mlx5_1 port 1 to leaf-2 port 3, 4x HDR (200 Gb/s); warning: leaf-2 port 3");
}

TEST(FabricMap, ShowsWhereAHostHasNoPort) {
  const Drawn drawn = draw({8, 8, 2, 4}, [](model::Fabric& fabric, model::FabricReport& report) {
    const std::uint32_t adapter = report.hosts[3].adapters.back();
    report.hosts[3].adapters.pop_back();
    const PortRef peer = *fabric.nodes[adapter].ports[0].peer;
    fabric.nodes[peer.node].ports[peer.port].peer.reset();
    fabric.nodes[adapter].ports[0].peer.reset();
    report.findings.push_back(example::finding("fabric.host.adapters", Severity::kWarning,
                                               "gpu-4 has 3 adapters, others 4", {}, {3}));
  });
  const std::vector<Box> boxes = all<Box>(drawn.drawing);
  const auto missing = std::ranges::find_if(boxes, [](const Box& box) {
    return box.kind == "ring" && box.tooltip.starts_with("gpu-4: no port on this switch");
  });
  EXPECT_NE(missing, boxes.end());
}

TEST(FabricMap, GreysWhatGaveNoAnswer) {
  const Drawn drawn = draw({4, 2, 2, 1}, [](model::Fabric& fabric, model::FabricReport&) {
    fabric.nodes[3].trouble = "no answer to NodeInfo in 3 tries";
  });
  const std::vector<Box> boxes = all<Box>(drawn.drawing);
  const auto grey = std::ranges::find_if(
      boxes, [](const Box& box) { return box.kind == "switch" && box.tone == Tone::kUnknown; });
  ASSERT_NE(grey, boxes.end());
  EXPECT_TRUE(grey->tooltip.contains("spine-2")) << grey->tooltip;
}

TEST(FabricMap, DrawsAFabricWithoutSwitchesOrHosts) {
  model::Fabric fabric;
  model::FabricReport report;
  EXPECT_GT(fabric_drawing(fabric, report).shapes.size(), 0U);
  fabric = example::fat_tree({2, 2, 0, 1});  // one switch
  report = example::report_of(fabric, {2, 2, 0, 1});
  EXPECT_EQ(count_kind(fabric_drawing(fabric, report), "switch"), 1U);
}

TEST(FabricMap, JoinsTwoHostsThatAreCabledToEachOther) {
  const TreeShape shape{2, 2, 0, 1};
  model::Fabric fabric = example::fat_tree(shape);
  fabric.nodes.erase(fabric.nodes.begin());
  for (model::FabricNode& node : fabric.nodes)
    node.ports[0].peer.reset();
  ASSERT_TRUE(model::connect(fabric, {0, 0}, {1, 0}));
  const report::Drawing drawing = fabric_drawing(fabric, example::report_of(fabric, shape));
  const std::vector<Connector> lines = all<Connector>(drawing);
  EXPECT_EQ(std::ranges::count_if(lines, [](const Connector& line) { return line.kind == "network"; }), 1);
}

TEST(FabricMap, KeepsStorageApart) {
  const Drawn drawn = draw({4, 2, 0, 1}, [](model::Fabric& fabric, model::FabricReport& report) {
    model::FabricPlane storage{{1}, model::PlaneRole::kStorage, "snapshots say so"};
    for (const model::FabricPort& port : fabric.nodes[1].ports)
      storage.nodes.push_back(port.peer->node);
    report.facts.planes.push_back(storage);
  });
  const std::vector<Label> labels = all<Label>(drawn.drawing);
  EXPECT_TRUE(std::ranges::any_of(labels, [](const Label& label) { return label.text == "storage"; }));
  expect_labels_apart(drawn.drawing);
  expect_inside(drawn.drawing);
}

class FabricMapSizes : public testing::TestWithParam<TreeShape> {};

TEST_P(FabricMapSizes, LabelsStayApartAndTheFileSmall) {
  const TreeShape shape = GetParam();
  const Drawn drawn = draw(shape, [](model::Fabric&, model::FabricReport& report) {
    report.findings.push_back(
        example::finding("fabric.link.errors", Severity::kWarning, "leaf-1 port 1", {PortRef{0, 0}}, {0}));
  });
  expect_labels_apart(drawn.drawing);
  expect_inside(drawn.drawing);
  EXPECT_LT(drawn.drawing.width, 2200);
  EXPECT_LT(render_svg(drawn.drawing).size(), 3'000'000U);
}

INSTANTIATE_TEST_SUITE_P(Trees, FabricMapSizes,
                         testing::Values(TreeShape{4, 4, 0, 1}, TreeShape{8, 4, 2, 1},
                                         TreeShape{64, 32, 8, 8}, TreeShape{64, 16, 4, 1},
                                         TreeShape{512, 32, 16, 1}, TreeShape{2000, 32, 16, 1},
                                         TreeShape{4096, 32, 32, 1}, TreeShape{512, 32, 16, 8},
                                         TreeShape{2048, 32, 16, 8}));

}  // namespace
}  // namespace angio::views
