// The file in the form of nccl-tests that angio bench collective writes, read by the reader of nccl-tests'
// own.
#include <gtest/gtest.h>

#include <string>

#include "import/nccl_tests/nccl_tests.hpp"
#include "views/collective_json.hpp"

namespace angio {
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

CollectiveRun measured_run() {
  CollectiveRun run;
  run.backend = "nccl";
  run.version = "1.2.3";
  run.library = "/opt/libnccl.so.2";
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

// Our own reader of nccl-tests' file takes what is written, figure by figure.
TEST(NcclTestsForm, NcclTestsFormSurvivesTheReader) {
  CollectiveRun run = measured_run();
  run.rows.back().wrong = 5;
  const auto json = views::collective_nccl_tests_json({{run}, {}});
  ASSERT_TRUE(json) << json.error().message;
  const auto table = import::nccl_tests::parse_json_table(to_text(*json), "file", 0);
  ASSERT_TRUE(table) << table.error().message;
  EXPECT_EQ(table->collective, NcclCollective::kAllReduce);
  EXPECT_EQ(table->program, "all_reduce_perf");
  EXPECT_EQ(model::ranks_of(*table), 4U);
  EXPECT_EQ(table->minimum, Bytes{1024});
  EXPECT_EQ(table->out_of_bounds, 5U);
  EXPECT_EQ(table->validated, true);
  EXPECT_EQ(table->damaged_rows, 0U);
  ASSERT_EQ(table->rows.size(), 3U);
  for (std::size_t i = 0; i < 3; ++i) {
    const model::NcclTestsRow& row = table->rows[i];
    EXPECT_EQ(row.size, run.rows[2 * i].size);
    EXPECT_EQ(row.count, run.rows[2 * i].count);
    EXPECT_EQ(row.type, "float");
    EXPECT_EQ(row.reduction, "sum");
    EXPECT_EQ(row.root, -1);
    EXPECT_TRUE(row.doubt.empty()) << row.doubt;
    ASSERT_TRUE(row.out_of_place && row.in_place);
    EXPECT_NEAR(row.out_of_place->time_us, run.rows[2 * i].time_us, 1e-9);
    EXPECT_NEAR(row.out_of_place->bus.value, run.rows[2 * i].bus.value, 1);
    EXPECT_EQ(row.in_place->wrong, i == 2 ? 5U : 0U);
  }
}

}  // namespace
}  // namespace angio
