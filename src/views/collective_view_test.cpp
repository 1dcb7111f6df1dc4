#include "views/collective_view.hpp"

#include <gtest/gtest.h>

#include <string>

#include "base/text.hpp"
#include "collective/run_json.hpp"
#include "views/collective_json.hpp"

namespace angio::views {
namespace {

using model::CollectiveRow;
using model::CollectiveRun;
using model::NcclCollective;

CollectiveRow row_of(NcclCollective collective, std::uint64_t size, double time_us, bool in_place) {
  CollectiveRow row;
  row.collective = collective;
  row.size = Bytes{size};
  row.count = size / 4;
  row.type = "float";
  row.reduction = collective == NcclCollective::kAllReduce ? "sum" : "";
  row.in_place = in_place;
  row.warm_up = 5;
  row.iterations = 20;
  row.time_us = time_us;
  row.minimum_us = time_us * 0.9;
  row.median_us = time_us;
  row.p95_us = time_us * 1.1;
  row.p99_us = time_us * 1.2;
  row.maximum_us = time_us * 4;
  row.algorithm = {static_cast<double>(size) / (time_us * 1e-6)};
  row.bus = {row.algorithm.value * 1.5};
  row.wrong = 0;
  return row;
}

CollectiveRun run_of(const std::string& backend) {
  CollectiveRun run;
  run.backend = backend;
  run.version = "1.2.3";
  run.library = "/opt/lib" + backend + ".so";
  run.started = "2026-01-02T03:04:05Z";
  run.ranks = 4;
  run.nodes = 1;
  for (std::uint32_t rank = 0; rank < 4; ++rank)
    run.members.push_back(
        {rank, rank, "n0", 100 + rank, "NVIDIA H100 80GB HBM3", "0000:1b:00.0", "0-3", 0.5});
  for (const std::uint64_t size : {1024UL, 1048576UL, 134217728UL}) {
    for (const bool in_place : {false, true})
      run.rows.push_back(
          row_of(NcclCollective::kAllReduce, size, 10 + static_cast<double>(size) / 1e5, in_place));
  }
  run.rows[2].outliers.push_back({17, 3, 88.5});
  run.launch_seconds = 0.25;
  run.init_seconds = 1.5;
  run.first_seconds = 0.125;
  return run;
}

std::string terminal_of(const CollectiveReport& report, std::uint32_t width = 80) {
  return report::render_terminal(collective_document(report), {width, false, true});
}

TEST(CollectiveView, ShowsSizesIterationsDataAndStart) {
  const std::string text = terminal_of({{run_of("nccl")}, {}}, 120);
  EXPECT_NE(text.find("nccl 1.2.3: 4 ranks on 1 node, 4 x NVIDIA H100 80GB HBM3"), std::string::npos) << text;
  EXPECT_NE(text.find("AllReduce, float, sum, 20 iterations after 5 to warm up"), std::string::npos);
  EXPECT_NE(text.find("17 on rank 3: 88.50"), std::string::npos);
  EXPECT_NE(text.find("Data: every element was right"), std::string::npos);
  EXPECT_NE(text.find("1.500 s for its communicator"), std::string::npos);
  // nccl-tests' order.
  const std::size_t size = text.find("size");
  const std::size_t count = text.find("count", size);
  const std::size_t time = text.find("time", count);
  const std::size_t algorithm = text.find("algbw", time);
  const std::size_t bus = text.find("busbw", algorithm);
  EXPECT_LT(bus, text.find("#wrong", bus));
}

TEST(CollectiveView, HoldsEightyColumns) {
  const std::string text = terminal_of({{run_of("nccl")}, {}});
  for (const std::string_view line : split_lines(text))
    EXPECT_LE(line.size(), 80U) << line;
}

TEST(CollectiveView, WrongDataIsTheLoudestFact) {
  CollectiveRun run = run_of("nccl");
  run.rows[1].wrong = 3;
  run.notes.emplace_back(
      "AllReduce of 1 KiB, in place: rank 2 received 3 wrong elements, first at element 7");
  const std::string text = terminal_of({{run}, {}}, 120);
  EXPECT_NE(text.find("Data: 3 wrong elements arrived"), std::string::npos);
  EXPECT_NE(text.find("first at element 7"), std::string::npos);
}

TEST(CollectiveView, PhantomGpusAreSaidToBeNone) {
  CollectiveRun run = run_of("nccl");
  run.phantom = true;
  for (CollectiveRow& row : run.rows)
    row.wrong.reset();
  const std::string text = terminal_of({{run}, {}});
  EXPECT_NE(text.find("These GPUs are not there"), std::string::npos);
  EXPECT_NE(text.find("N/A"), std::string::npos);
  EXPECT_NE(text.find("Data: not checked"), std::string::npos);
  EXPECT_TRUE(collective_json({{run}, {}}).find("metrics")->as_array()->empty());
}

TEST(CollectiveView, TheExpectedBandStandsBesideWithItsVerdict) {
  const CollectiveRun run = run_of("nccl");
  judge::Judgement judgement;
  judgement.answer = "Low at large sizes";
  for (const CollectiveRow& row : run.rows) {
    judge::JudgedRow judged;
    judged.question = model::CollectiveCase{row.collective, row.size, 1, 4};
    judged.size = row.size;
    judged.in_place = row.in_place;
    judged.unit = "GB/s";
    judged.expected = 400;
    judged.low = 380;
    judged.high = 460;
    judged.verdict = row.size.value > 1048576 ? judge::Verdict::kLow : judge::Verdict::kNormal;
    judgement.rows.push_back(judged);
  }
  CollectiveReport report{{run}, {judgement}};
  const std::string text = terminal_of(report, 120);
  EXPECT_NE(text.find("380.0-460.0"), std::string::npos) << text;
  EXPECT_NE(text.find("380.0-460.0 low"), std::string::npos);
  EXPECT_NE(text.find("Low at large sizes"), std::string::npos);
  const std::string svg = report::render_svg(collective_drawing(report));
  EXPECT_NE(svg.find("expected of this hardware"), std::string::npos);
}

TEST(CollectiveView, BackEndsStandSideBySide) {
  CollectiveRun gloo = run_of("gloo");
  gloo.rows.resize(4);
  gloo.init_seconds = 0.01;
  const std::string text = terminal_of({{run_of("nccl"), gloo}, {}}, 120);
  EXPECT_NE(text.find("nccl us"), std::string::npos) << text;
  EXPECT_NE(text.find("gloo us"), std::string::npos);
  EXPECT_NE(text.find("communicator"), std::string::npos);
  EXPECT_NE(text.find("1.875"), std::string::npos);  // 0.25 + 1.5 + 0.125
}

TEST(CollectiveView, ASlowPairIsNamed) {
  CollectiveRun run = run_of("nccl");
  for (std::uint32_t from = 0; from < 4; ++from) {
    for (std::uint32_t to = 0; to < 4; ++to) {
      if (from != to) run.pairs.push_back({from, to, {from == 3 && to == 1 ? 12e9 : 200e9}, 8.5});
    }
  }
  const std::string text = terminal_of({{run}, {}});
  EXPECT_NE(text.find("slow: rank 3 to rank 1, 12.00 GB/s, 6 % of the median"), std::string::npos) << text;
}

TEST(CollectiveView, NothingMeasuredIsNoCrash) {
  EXPECT_EQ(collective_drawing({}).width, 0);
  CollectiveRun empty = run_of("nccl");
  empty.rows.clear();
  empty.interrupted = true;
  EXPECT_NE(terminal_of({{empty}, {}}).find("Interrupted"), std::string::npos);
  EXPECT_TRUE(collective_page({{empty}, {}}).blocks.size() > 1);
  EXPECT_FALSE(collective_nccl_tests_json({{empty}, {}}));
}

TEST(CollectiveJson, IsReadBackAndHasWhatHistoryKeeps) {
  const Json json = collective_json({{run_of("nccl")}, {}});
  const auto again = collective::run_of(json);
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(again->rows.size(), 6U);
  EXPECT_EQ(*json.find("captured")->as_string(), "2026-01-02T03:04:05Z");
  EXPECT_EQ(*json.find("subject")->as_string(), "nccl, 4 ranks on 1 node from n0");
  EXPECT_EQ(json.find("metrics")->as_array()->size(), 3U);
}

TEST(CollectiveJson, AFileOfNcclTestsHoldsOneCollective) {
  CollectiveRun run = run_of("nccl");
  EXPECT_TRUE(collective_nccl_tests_json({{run}, {}}));
  EXPECT_FALSE(collective_nccl_tests_json({{run, run}, {}}));
  run.rows.push_back(row_of(NcclCollective::kBroadcast, 1024, 5, false));
  EXPECT_FALSE(collective_nccl_tests_json({{run}, {}}));
}

}  // namespace
}  // namespace angio::views
