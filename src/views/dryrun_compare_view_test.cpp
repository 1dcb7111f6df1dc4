// Two runs beside each other and sweeps, over runs that a test writes down; and the drawings of all.
#include <gtest/gtest.h>

#include "base/text.hpp"
#include "model/machine.hpp"
#include "views/dryrun_example.hpp"
#include "views/dryrun_view.hpp"

namespace angio::views {
namespace {

using example::operation;
using example::ring_run;

std::string text_of(const report::Document& document) {
  return report::render_terminal(document, {});
}

// Four sizes; b chooses otherwise at 16, 32 and 128, not at 64.
DryRunComparison comparison_of(model::DryRun& a, model::DryRun& b) {
  a = ring_run(1, 8);
  b = ring_run(1, 8);
  a.label = "A";
  b.label = "B";
  b.settings = {{"NCCL_ALGO", "Ring"}};
  a.operations.clear();
  b.operations.clear();
  for (const std::uint64_t size : {16U, 32U, 64U, 128U}) {
    a.operations.push_back(operation("AllReduce", size, size == 64 ? "RING" : "TREE", "LL", 8, 20));
    b.operations.push_back(operation("AllReduce", size, "RING", "LL", 8, 30));
  }
  DryRunComparison report{&a, &b, {}};
  report.comparison.facts = {{"memory of a GPU", "500 MiB", "600 MiB", "Rings need larger buffers."},
                             {"tuning: AllReduce Ring LL", "15.0 us, 80.6 GB/s", "off", ""}};
  for (const std::uint64_t size : {16U, 32U, 128U})
    report.comparison.choices.push_back(
        {"AllReduce", size, "TREE LL, 8 channels", "RING LL, 8 channels", 1.5});
  report.comparison.equal_choices = 1;
  report.comparison.equal_facts = 3;
  return report;
}

TEST(DryRunComparisonView, FoldsOnlySizesThatFollowEachOther) {
  model::DryRun a;
  model::DryRun b;
  const std::string text = text_of(dryrun_comparison_document(comparison_of(a, b)));
  EXPECT_TRUE(contains(text, "  16 B to 32 B  TREE LL, 8 ch  RING LL, 8 ch   1.50\n")) << text;
  EXPECT_TRUE(contains(text, "  128 B         TREE LL, 8 ch  RING LL, 8 ch   1.50\n")) << text;
  EXPECT_FALSE(contains(text, "16 B to 128 B")) << text;
}

TEST(DryRunComparisonView, ShowsBothValuesOfAFactAndCountsTheRest) {
  model::DryRun a;
  model::DryRun b;
  const std::string text = text_of(dryrun_comparison_document(comparison_of(a, b)));
  EXPECT_TRUE(contains(text,
                       "memory of a GPU  A  500 MiB\n"
                       "                 B  600 MiB\n"
                       "                 Rings need larger buffers.\n"))
      << text;
  EXPECT_TRUE(contains(text, "\nAllReduce Ring LL  15.0 us, 80.6 GB/s  off\n")) << text;
  EXPECT_TRUE(contains(text, "NCCL_ALGO=Ring")) << text;
  EXPECT_TRUE(text.starts_with("A  NCCL 2.28.9")) << text;
  b.label = "NCCL_ALGO=Ring";
  const std::string named = text_of(dryrun_comparison_document({&a, &b, {}}));
  EXPECT_TRUE(contains(named, "B  NCCL_ALGO=Ring\n   NCCL 2.28.9")) << named;
  EXPECT_EQ(named.find("NCCL_ALGO"), named.rfind("NCCL_ALGO")) << named;
  EXPECT_TRUE(contains(text, "choices: 3 differ, 1 are the same; facts: 2 differ, 3 are the same")) << text;
}

TEST(DryRunComparisonView, JsonHasBothRunsAndEverySize) {
  model::DryRun a;
  model::DryRun b;
  const Json json = dryrun_comparison_json(comparison_of(a, b));
  EXPECT_EQ(*json.find("schema")->as_string(), "angio.dryrun-comparison/1");
  EXPECT_EQ(json.find("choices")->as_array()->size(), 3U);
  EXPECT_DOUBLE_EQ(*json.find("choices")->as_array()->at(0).find("estimated_time_ratio")->as_double(), 1.5);
  EXPECT_EQ(json.find("a")->find("operations")->as_array()->size(), 4U);
  EXPECT_EQ(*json.find("b")->find("label")->as_string(), "B");
  EXPECT_EQ(json.find("b")->find("schema"), nullptr);
}

TEST(DryRunComparisonView, EqualRunsSaySo) {
  const model::DryRun run = ring_run(1, 2);
  const std::string text = text_of(dryrun_comparison_document({&run, &run, {}}));
  EXPECT_TRUE(contains(text, "choices: 0 differ")) << text;
  EXPECT_FALSE(contains(text, "What differs")) << text;
  EXPECT_TRUE(dryrun_comparison_document({}).blocks.empty());
}

std::vector<model::DryRun> sweep_runs() {
  std::vector<model::DryRun> runs{ring_run(1, 8), ring_run(1, 8), ring_run(1, 8), ring_run(1, 8)};
  runs[1].label = "NCCL_ALGO=Ring";
  for (model::DryRunOperation& each : runs[1].operations) {
    each.algorithm = "RING";
    each.estimate_us = *each.estimate_us * 2;
  }
  runs[2].label = "NCCL_P2P_LEVEL=NVL";
  runs[3].label = "NCCL_ALGO=Coll";
  runs[3].operations.clear();
  runs[3].end = model::DryRunEnd::kFailed;
  runs[3].problem = "NCCL_ALGO: no such algorithm";
  return runs;
}

TEST(DryRunSweepView, NamesWhereAChoiceChangesAndWhatItCosts) {
  const auto runs = sweep_runs();
  const std::string text = text_of(dryrun_sweep_document({&runs, dryrun::sweep_rows(runs)}));
  EXPECT_TRUE(contains(text, "4 variants")) << text;
  EXPECT_TRUE(contains(text, "as given            1 KiB       TREE LL, 2 ch      as best")) << text;
  EXPECT_TRUE(contains(text, "NCCL_ALGO=Ring      1 KiB       RING LL, 2 ch      2.00 x\n")) << text;
  EXPECT_TRUE(contains(text, "NCCL_P2P_LEVEL=NVL  every size  same choices\n")) << text;
  EXPECT_TRUE(contains(text, "NCCL_ALGO=Coll  failed: NCCL_ALGO: no such algorithm")) << text;
}

TEST(DryRunSweepView, AVariantThatReachedNothingIsNamedOnce) {
  auto runs = sweep_runs();
  runs[3].operations = runs[0].operations;
  for (model::DryRunOperation& each : runs[3].operations)
    each.reached = false;
  runs[2].operations[3] = operation("AlltoAll", 8, "", "", std::nullopt, std::nullopt);
  const std::string text = text_of(dryrun_sweep_document({&runs, dryrun::sweep_rows(runs)}));
  EXPECT_EQ(text.find("NCCL_ALGO=Coll"), text.rfind("NCCL_ALGO=Coll")) << text;
  EXPECT_TRUE(contains(text, "NCCL_P2P_LEVEL=NVL  8 B    p2p\n")) << text;
}

TEST(DryRunSweepView, JsonHasRowsAndRuns) {
  const auto runs = sweep_runs();
  const Json json = dryrun_sweep_json({&runs, dryrun::sweep_rows(runs)});
  EXPECT_EQ(*json.find("schema")->as_string(), "angio.dryrun-sweep/1");
  EXPECT_EQ(json.find("runs")->as_array()->size(), 4U);
  EXPECT_EQ(json.find("rows")->as_array()->size(), 6U);  // two collectives of three variants
  EXPECT_TRUE(dryrun_sweep_document({}).blocks.empty());
}

void expect_inside(const report::Drawing& drawing) {
  for (const report::Shape& shape : drawing.shapes) {
    if (const auto* box = std::get_if<report::Box>(&shape)) {
      EXPECT_TRUE(box->x >= 0 && box->x + box->width <= drawing.width) << box->tooltip;
      EXPECT_TRUE(box->y >= 0 && box->y + box->height <= drawing.height) << box->tooltip;
    } else if (const auto* line = std::get_if<report::Connector>(&shape)) {
      for (const auto& [x, y] : line->points)
        EXPECT_TRUE(x >= 0 && x <= drawing.width && y >= 0 && y <= drawing.height) << line->tooltip;
    }
  }
}

TEST(DryRunDrawings, EverySegmentOfASweepIsLabelled) {
  const auto runs = sweep_runs();
  const auto drawing = dryrun_sweep_drawing(dryrun::sweep_rows(runs));
  ASSERT_TRUE(drawing.has_value());
  expect_inside(*drawing);
  std::size_t segments = 0;
  for (std::size_t i = 0; i + 1 < drawing->shapes.size(); ++i) {
    const auto* box = std::get_if<report::Box>(&drawing->shapes[i]);
    if (box == nullptr) continue;
    ++segments;
    const auto* label = std::get_if<report::Label>(&drawing->shapes[i + 1]);
    ASSERT_NE(label, nullptr);
    EXPECT_FALSE(label->text.empty());
    EXPECT_TRUE(label->x > box->x && label->x < box->x + box->width);
  }
  EXPECT_GE(segments, 12U);  // four choices of each of three variants
  EXPECT_FALSE(dryrun_sweep_drawing({}).has_value());
}

TEST(DryRunDrawings, ManyVariantsFitAndAreLabelled) {
  std::vector<dryrun::SweepRow> rows;
  for (int variant = 0; variant < 64; ++variant) {
    dryrun::SweepRow row{
        "NCCL_MAX_NCHANNELS=" + std::to_string(variant) + " NCCL_A_LONG_NAME=with a value", "AllReduce", {}};
    for (std::uint64_t size = 8; size <= (1ULL << 33U); size *= 2)
      row.ranges.push_back({size, size, "ALGORITHM" + std::to_string(size) + " LL, 8 channels", 0});
    rows.push_back(std::move(row));
  }
  const auto drawing = dryrun_sweep_drawing(rows);
  ASSERT_TRUE(drawing.has_value());
  expect_inside(*drawing);
}

TEST(DryRunDrawings, StepsHaveALaneForEachChoiceAndADotForEachSize) {
  const model::DryRun run = ring_run(1, 8);
  const auto drawing = dryrun_choices_drawing(run);
  ASSERT_TRUE(drawing.has_value());
  expect_inside(*drawing);
  const std::string svg = report::render_svg(*drawing);
  for (const char* lane : {">TREE LL<", ">RING LL128<", ">RING SIMPLE<", ">RING LL<"})
    EXPECT_TRUE(contains(svg, lane)) << lane;
  EXPECT_TRUE(contains(svg, "AllReduce 1 MiB: RING LL128, 2 channels, estimated 90.0 us"));
}

TEST(DryRunDrawings, OneSizeAloneAndSizeZeroAreDrawn) {
  model::DryRun run = ring_run(1, 2);
  run.operations = {operation("AllReduce", 0, "RING", "LL", 1, std::nullopt)};
  const auto drawing = dryrun_choices_drawing(run);
  ASSERT_TRUE(drawing.has_value());
  expect_inside(*drawing);
}

model::Machine machine_of(std::uint32_t gpus) {
  model::Machine machine;
  machine.name = "example";
  machine.gpus.resize(gpus);
  return machine;
}

TEST(DryRunDrawings, ARingIsDrawnOverTheMachine) {
  const model::DryRun run = ring_run(1, 4);
  const auto drawings = dryrun_machine_drawings(run, machine_of(4));
  ASSERT_EQ(drawings.size(), 1U);  // equal rings once
  std::size_t hops = 0;
  for (const report::Shape& shape : drawings[0].shapes)
    if (const auto* line = std::get_if<report::Connector>(&shape))
      hops += line->width == 3.5 && line->tooltip.starts_with("hop ") ? 1 : 0;
  EXPECT_EQ(hops, 4U);
  EXPECT_TRUE(contains(drawings[0].description, "Channels 0-1, all alike: 0-3"));
}

TEST(DryRunDrawings, AMachineWithFewerGpusThanRanksIsDrawnAsFarAsItGoes) {
  const model::DryRun run = ring_run(2, 4);
  const auto drawings = dryrun_machine_drawings(run, machine_of(2));
  ASSERT_EQ(drawings.size(), 1U);
  EXPECT_TRUE(contains(drawings[0].description, "part on node 0"));
}

TEST(DryRunPages, HoldTheirPictures) {
  const model::DryRun run = ring_run(2, 4);
  const model::Machine machine = machine_of(4);
  const std::string page = report::render_html(dryrun_page({&run, &machine, std::nullopt}));
  for (const char* part : {"A ring of NCCL", "NCCL rings", "NCCL tree", "Algorithm and protocol by size"})
    EXPECT_TRUE(contains(page, part)) << part;
  EXPECT_FALSE(contains(page, "http://") && contains(page, "src="));
  const auto runs = sweep_runs();
  EXPECT_TRUE(contains(report::render_html(dryrun_sweep_page({&runs, dryrun::sweep_rows(runs)})),
                       "Choices by size and variant"));
  EXPECT_TRUE(contains(report::render_html(dryrun_comparison_page({&run, &run, {}})), "All choices by size"));
}

}  // namespace
}  // namespace angio::views
