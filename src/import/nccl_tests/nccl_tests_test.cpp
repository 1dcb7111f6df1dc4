#include "import/nccl_tests/nccl_tests.hpp"

#include <gtest/gtest.h>

#include <string>

#include "base/text.hpp"
#include "support/samples.hpp"

namespace angio::import::nccl_tests {
namespace {

using model::NcclCollective;
using model::NcclTestsTable;

std::vector<NcclTestsTable> read_all(std::string_view text) {
  TableReader reader(1);
  std::uint32_t number = 0;
  for (const std::string_view line : split_lines(text))
    reader.read(++number, line);
  return reader.take();
}
std::vector<NcclTestsTable> sample(const std::string& name) {
  return read_all(test::sample("nccl_tests/" + name));
}

TEST(NcclTests, ReadsATableWithItsConfigurationAndDevices) {
  const auto tables = sample("one_node.txt");
  ASSERT_EQ(tables.size(), 1U);
  const NcclTestsTable& table = tables[0];
  EXPECT_EQ(table.program, "all_reduce_perf");
  EXPECT_EQ(table.collective, NcclCollective::kAllReduce);
  EXPECT_FALSE(table.inferred);
  EXPECT_EQ(table.version, "2.17.6");
  EXPECT_EQ(table.library_version, "2.28.7");
  EXPECT_EQ(table.minimum->value, 1024U);
  EXPECT_EQ(table.iterations, 20U);
  EXPECT_EQ(table.warmup, 1U);
  EXPECT_EQ(table.validated, true);
  EXPECT_EQ(table.step, "2(factor)");
  ASSERT_EQ(table.devices.size(), 8U);
  EXPECT_EQ(table.devices[3].host, "alpha");
  EXPECT_EQ(table.devices[3].address, "0000:4d:00");
  EXPECT_EQ(table.devices[3].name, "NVIDIA H100 80GB HBM3");
  ASSERT_EQ(table.rows.size(), 6U);
  const auto& last = table.rows.back();
  EXPECT_EQ(last.size.value, 1073741824U);
  EXPECT_EQ(last.reduction, "sum");
  EXPECT_EQ(last.root, -1);
  EXPECT_DOUBLE_EQ(last.out_of_place->time_us, 4043.06);
  EXPECT_DOUBLE_EQ(last.out_of_place->bus.value, 464.76e9);
  EXPECT_EQ(last.in_place->wrong, 0U);
  EXPECT_EQ(last.source.line, 23U);
  EXPECT_EQ(last.doubt, "");
  EXPECT_EQ(table.out_of_bounds, 0U);
  EXPECT_NEAR(table.average->value, 178.0988e9, 1e5);
  EXPECT_EQ(table.average_source.line, 25U);
  EXPECT_DOUBLE_EQ(model::peak_of(table).bus.value, 464.76e9);
}

TEST(NcclTests, SeparatesTheTablesOfOneFile) {
  const auto tables = sample("two_tables.txt");
  ASSERT_EQ(tables.size(), 2U);
  EXPECT_EQ(tables[0].devices.size(), 8U);
  EXPECT_EQ(tables[1].program, "all_gather_perf");
  EXPECT_EQ(model::hosts_of(tables[1]), (std::vector<std::string>{"alpha", "beta"}));
  EXPECT_EQ(tables[1].rows[0].reduction, "");
}

TEST(NcclTests, ReadsTheOldFormBehindTagsAndBetweenLinesOfNccl) {
  const auto tables = sample("old_form.txt");
  ASSERT_EQ(tables.size(), 1U);
  const NcclTestsTable& table = tables[0];
  EXPECT_EQ(table.program, "all_reduce_perf");  // from the command line
  EXPECT_EQ(table.devices.size(), 8U);
  EXPECT_EQ(table.devices[7].host, "delta1");
  ASSERT_EQ(table.rows.size(), 3U);
  EXPECT_FALSE(table.rows[0].root.has_value());
  EXPECT_DOUBLE_EQ(*table.rows[0].out_of_place->deviation, 4e-07);
  EXPECT_FALSE(table.rows[2].in_place->deviation.has_value());
  EXPECT_DOUBLE_EQ(table.rows[2].in_place->bus.value, 144.43e9);
  EXPECT_FALSE(table.rows[0].out_of_place->wrong.has_value());
}

TEST(NcclTests, CountsDamagedRowsAndNamesTheContradiction) {
  const auto tables = sample("damaged.txt");
  ASSERT_EQ(tables.size(), 1U);
  EXPECT_EQ(tables[0].damaged_rows, 1U);
  ASSERT_EQ(tables[0].rows.size(), 3U);
  EXPECT_EQ(tables[0].rows[0].doubt, "");
  EXPECT_EQ(tables[0].rows[1].doubt, "busbw 99.99 GB/s is not algbw 41.94 GB/s x 1.750");
  EXPECT_FALSE(tables[0].rows[2].in_place.has_value());
  EXPECT_EQ(tables[0].collective, NcclCollective::kAllReduce);
  EXPECT_TRUE(tables[0].inferred);
}

TEST(NcclTests, KeepsTheErrorThatEndedIt) {
  const auto tables = sample("failed.txt");
  ASSERT_EQ(tables.size(), 1U);
  EXPECT_TRUE(tables[0].errors.size() == 1U && contains(tables[0].errors[0].text, "alltoall.cu:274"));
  EXPECT_EQ(tables[0].rows.size(), 0U);
}

TEST(NcclTests, ReadsEveryHalfWhereTheTitlesPutIt) {
  const auto tables = read_all(
      "#  size  count  type  redop  root  cputime  algbw  busbw #wrong i_min i_max cputime algbw busbw "
      "#wrong i_min i_max\n"
      "2: 1048576 262144 float sum -1 20.00 52.43 91.75 2 19.0 21.0 20.10 52.17 91.30 N/A 19.1 21.2\n");
  ASSERT_EQ(tables.size(), 1U);
  EXPECT_TRUE(tables[0].cpu_time);
  ASSERT_EQ(tables[0].rows.size(), 1U);
  EXPECT_EQ(tables[0].rows[0].out_of_place->wrong, 2U);
  EXPECT_DOUBLE_EQ(tables[0].rows[0].in_place->time_us, 20.10);
  EXPECT_FALSE(tables[0].rows[0].in_place->wrong.has_value());
}

TEST(NcclTests, ReadsRowsThatMpirunTaggedInTheMiddle) {
  const auto tables = read_all(
      "[1,0]<stdout>:#  size  count  type  redop  root  time  algbw  busbw #wrong time algbw busbw #wrong\n"
      "[1,0]<stdout>:   1048576  262144  float  sum  -1[1,0]<stdout>:  20.00  52.43  91.75  0[1,0]<stdout>:  "
      "20.10  52.17 "
      " 91.30  0\n");
  ASSERT_EQ(tables.size(), 1U);
  ASSERT_EQ(tables[0].rows.size(), 1U);
  EXPECT_EQ(tables[0].rows[0].root, -1);
  EXPECT_DOUBLE_EQ(tables[0].rows[0].in_place->time_us, 20.10);
}

TEST(NcclTests, IsNotFooledByProse) {
  EXPECT_TRUE(
      read_all("we moved 8 2 float values\n# Out of 12 Rank 3 device trouble\n#size busbw\n").empty());
}

TEST(NcclTests, ReadsTheJsonFile) {
  const std::string text = test::sample("nccl_tests/reduce_scatter.json");
  ASSERT_TRUE(looks_like_json(text));
  const auto table = parse_json_table(text, "r.json", 1);
  ASSERT_TRUE(table.has_value());
  EXPECT_EQ(table->program, "reduce_scatter_perf");
  EXPECT_EQ(table->collective, NcclCollective::kReduceScatter);
  EXPECT_EQ(table->library_version, "2.29.2");
  EXPECT_EQ(table->validated, true);
  EXPECT_EQ(table->devices.size(), 4U);
  ASSERT_EQ(table->rows.size(), 2U);
  EXPECT_DOUBLE_EQ(table->rows[1].out_of_place->bus.value, 98.304e9);
  EXPECT_FALSE(table->rows[1].in_place.has_value());
  EXPECT_EQ(table->rows[0].root, -1);
  EXPECT_EQ(table->rows[0].doubt, "");
  EXPECT_EQ(table->average_okay, true);
}

TEST(NcclTests, SaysWhereAnUnfinishedJsonFileBreaksOff) {
  const std::string text = test::sample("nccl_tests/reduce_scatter.json");
  const auto table = parse_json_table(text.substr(0, text.size() / 2), "r.json", 1);
  ASSERT_FALSE(table.has_value());
  EXPECT_TRUE(table.error().message.starts_with("r.json: "));
}

TEST(NcclTests, KnowsTheFactorOfEachCollective) {
  EXPECT_DOUBLE_EQ(*model::bus_factor(NcclCollective::kAllReduce, 8), 1.75);
  EXPECT_DOUBLE_EQ(*model::bus_factor(NcclCollective::kAllToAll, 4), 0.75);
  EXPECT_DOUBLE_EQ(*model::bus_factor(NcclCollective::kBroadcast, 4), 1);
  EXPECT_FALSE(model::bus_factor(NcclCollective::kAllReduce, 0).has_value());
}

}  // namespace
}  // namespace angio::import::nccl_tests
