#include "views/mesh_view.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/text.hpp"
#include "mesh/analysis.hpp"
#include "mesh/result_json.hpp"
#include "mesh/test_mesh.hpp"
#include "views/mesh_cells.hpp"
#include "views/mesh_json.hpp"

namespace angio::views {
namespace {

using mesh::test::make_mesh;
using mesh::test::MeshSpec;

std::string terminal(model::MeshResult result) {
  const auto report = mesh::analyse(result);
  return report::render_terminal(mesh_document(result, report, false), {});
}

MeshSpec of(std::uint32_t hosts) {
  MeshSpec spec;
  spec.hosts = hosts;
  return spec;
}

model::MeshResult with_slow_host(std::uint32_t hosts) {
  return make_mesh(of(hosts),
                   [](auto from, auto, auto to, auto) { return from == 3 || to == 3 ? 0.5 : 1.0; });
}

TEST(MeshView, EightyColumnsHoldEveryTable) {
  for (const std::uint32_t hosts : {2U, 6U, 10U, 11U, 40U}) {
    for (const std::string_view line : split_lines(terminal(with_slow_host(hosts)))) {
      EXPECT_LE(line.size(), 84U) << line;  // bytes; an ellipsis has three
    }
  }
}

TEST(MeshView, FewHostsAreATableAndManyTheWorst) {
  EXPECT_NE(terminal(with_slow_host(6)).find("Gb/s from the row's host to the column's"), std::string::npos);
  const std::string many = terminal(with_slow_host(40));
  EXPECT_NE(many.find("the 3 worst of 40 hosts"), std::string::npos);
  const std::size_t first = many.find("its worst");
  ASSERT_NE(first, std::string::npos);
  const auto lines = split_lines(std::string_view(many).substr(first));
  ASSERT_GT(lines.size(), 2U);
  EXPECT_TRUE(
      std::ranges::any_of(lines, [](std::string_view line) { return trim(line).starts_with("n3 "); }));
}

TEST(MeshView, JsonIsReadAgain) {
  model::MeshResult result = with_slow_host(5);
  result.measures[3].state = model::MeshState::kFailed;
  result.measures[3].trouble = "no data came";
  const auto report = mesh::analyse(result);
  const std::string text = to_text(mesh_json(result, report));
  const auto again = mesh::parse_mesh_result(text, "m.json");
  ASSERT_TRUE(again.has_value()) << again.error().message;
  ASSERT_EQ(again->measures.size(), result.measures.size());
  EXPECT_EQ(again->measures[3].trouble, "no data came");
  EXPECT_EQ(again->measures[7].bandwidth, result.measures[7].bandwidth);
  model::MeshResult copy = *again;
  const auto second = mesh::analyse(copy);
  ASSERT_EQ(second.findings.size(), report.findings.size());
  for (std::size_t i = 0; i < second.findings.size(); ++i)
    EXPECT_EQ(second.findings[i].title, report.findings[i].title);
}

TEST(MeshView, MetricsAreOfHostsAndPairs) {
  const auto metrics = mesh_metrics(make_mesh(of(3)));
  // Each host sends and receives; six directions; three round trips.
  EXPECT_EQ(metrics.size(), 6U + 6U + 3U);
  EXPECT_EQ(metrics[0].subject, "n0");
  EXPECT_EQ(metrics[0].name, "median RDMA sent");
  EXPECT_EQ(metrics[0].unit, "Gb/s");
  EXPECT_NEAR(metrics[0].value, 190, 20);
  EXPECT_EQ(metrics.back().subject, "n1 mlx5_0 -> n0 mlx5_0");
}

std::size_t boxes(const report::Drawing& drawing, std::string_view kind) {
  return static_cast<std::size_t>(std::ranges::count_if(drawing.shapes, [&](const report::Shape& shape) {
    const auto* box = std::get_if<report::Box>(&shape);
    return box != nullptr && box->kind == kind && !box->tooltip.empty();
  }));
}

TEST(MeshPicture, ShadesSayHowMuchIsReached) {
  model::MeshResult result = with_slow_host(6);
  result.measures[0].state = model::MeshState::kFailed;
  result.measures[0].bandwidth.reset();
  result.measures[1].state = model::MeshState::kMissing;
  const auto report = mesh::analyse(result);
  const auto drawing = mesh_drawing(result, report);
  EXPECT_EQ(boxes(drawing, "heat hx"), 1U);
  EXPECT_EQ(boxes(drawing, "heat hu"), 1U);
  EXPECT_GE(boxes(drawing, "heat h3"), 8U);  // half of what is usual
  EXPECT_GE(boxes(drawing, "heat h0") + boxes(drawing, "heat h1"), 18U);
}

TEST(MeshPicture, TwoHundredAndFiftySixHostsStaySmall) {
  model::MeshResult result = with_slow_host(256);
  const auto report = mesh::analyse(result);
  const auto drawing = mesh_drawing(result, report);
  EXPECT_LE(drawing.width, 1000);
  EXPECT_LE(drawing.height, 1000);
  EXPECT_GE(boxes(drawing, "heat h3"), 400U);  // each slow cell is its own
  EXPECT_LT(report::render_svg(drawing).size(), std::size_t{12} << 20U);
}

}  // namespace
}  // namespace angio::views
