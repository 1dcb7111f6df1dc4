// Results of nccl-tests. Each test breaks a healthy table in one thing.
#include <gtest/gtest.h>

#include "base/text.hpp"
#include "diagnose/rules/nccl_test_logs.hpp"

namespace angio::diagnose {
namespace {

using namespace angio::test;  // NOLINT(google-build-using-namespace)
using model::NcclTestsTable;

NcclTestsTable table_of(const std::vector<std::string>& hosts, std::uint32_t gpus, double bus_gigabytes) {
  NcclTestsTable table;
  table.program = "all_reduce_perf";
  table.collective = model::NcclCollective::kAllReduce;
  table.source = line(1);
  table.average_source = line(60);
  std::uint32_t rank = 0;
  for (const std::string& host : hosts)
    for (std::uint32_t gpu = 0; gpu < gpus; ++gpu)
      table.devices.push_back({rank++, 0, 1, host, gpu, "0000:1b:00", "NVIDIA H100 80GB HBM3"});
  for (std::uint32_t row = 0; row < 4; ++row) {
    model::NcclTestsRow one;
    one.size = {std::uint64_t{1} << (26 + row)};
    one.count = one.size.value / 4;
    one.type = "float";
    one.source = line(20 + row);
    const double bus = bus_gigabytes * 1e9 * (0.9 + 0.03 * row);
    model::NcclTestsTiming timing{100, {bus / 1.75}, {bus}, 0, {}};
    one.out_of_place = one.in_place = timing;
    table.rows.push_back(std::move(one));
  }
  table.out_of_bounds = 0;
  table.average = BytesPerSecond{bus_gigabytes * 0.95e9};
  return table;
}
Machine with_tables(std::vector<NcclTestsTable> tables, Machine machine = {}) {
  NcclEvidence evidence;
  evidence.places.add("tests.txt");
  evidence.tests = std::move(tables);
  return with_evidence(std::move(evidence), std::move(machine));
}
NcclTestsTable healthy_table() {
  return table_of({"node-a"}, 8, 470);
}

TEST(NcclTestsRules, AHealthyTableHasNoFinding) {
  for (const model::Finding& finding : diagnose::diagnose(with_tables({healthy_table()})).findings)
    ADD_FAILURE() << finding.rule << ": " << finding.title;
}

TEST(NcclTestsWrongValues, FiresOnEveryRowWithWrongElements) {
  NcclTestsTable table = healthy_table();
  table.rows[2].in_place->wrong = 7;
  const auto found = findings_of(with_tables({table}), "nccl.tests.wrong-values");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].severity, model::Severity::kCritical);
  EXPECT_EQ(found[0].evidence[0].text, "256 MiB: 7 wrong elements");
  EXPECT_EQ(found[0].evidence[0].source, "tests.txt:22");
}
TEST(NcclTestsWrongValues, SilentOnRightValues) {
  EXPECT_TRUE(held(with_tables({healthy_table()}), "nccl.tests.wrong-values"));
}
TEST(NcclTestsWrongValues, UndecidedWithoutValidation) {
  NcclTestsTable table = healthy_table();
  for (model::NcclTestsRow& row : table.rows) {
    row.out_of_place->wrong.reset();
    row.in_place->wrong.reset();
  }
  EXPECT_EQ(undecided_of(with_tables({table}), "nccl.tests.wrong-values").at(0).collect, "nccl-tests -c 1");
}

TEST(NcclTestsFailed, FiresWithTheLineAndTheHosts) {
  NcclTestsTable table = table_of({"node-a", "node-b"}, 1, 40);
  table.errors.push_back({"node-b: Test NCCL failure alltoall.cu:274", line(30)});
  const auto found = findings_of(with_tables({table}), "nccl.tests.failed");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_TRUE(contains(found[0].fixes[0].text, "node-a, node-b"));
}
TEST(NcclTestsFailed, FiresOnceForManyRunsAndNamesTheCommonNode) {
  NcclTestsTable ab = table_of({"node-a", "node-b"}, 1, 40);
  ab.errors.push_back({"node-b: Test NCCL failure", line(30)});
  NcclTestsTable cb = table_of({"node-c", "node-b"}, 1, 40);
  cb.errors.push_back({"node-b: Test NCCL failure", line(40)});
  const auto found = findings_of(with_tables({ab, cb, healthy_table()}), "nccl.tests.failed");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].title, "2 of 3 runs of nccl-tests ended in an error; node-b is in every one");
}
TEST(NcclTestsFailed, SilentOnAWholeTable) {
  EXPECT_TRUE(held(with_tables({healthy_table()}), "nccl.tests.failed"));
}
TEST(NcclTestsFailed, UndecidedOnATableWithoutRows) {
  NcclTestsTable table = healthy_table();
  table.rows.clear();
  table.average.reset();
  EXPECT_EQ(undecided_of(with_tables({table}), "nccl.tests.failed").size(), 1U);
}

TEST(NcclTestsBelowNvlink, FiresOnTheSpeedOfPcie) {
  const auto found = findings_of(with_tables({table_of({"node-a"}, 8, 38)}), "nccl.tests.below-nvlink");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_TRUE(contains(found[0].title, "no more than PCIe carries"));
}
TEST(NcclTestsBelowNvlink, SilentOnNvlinkSpeedSeveralNodesAndGpusWithoutNvlink) {
  EXPECT_TRUE(held(with_tables({healthy_table()}), "nccl.tests.below-nvlink"));
  EXPECT_TRUE(held(with_tables({table_of({"node-a", "node-b"}, 1, 40)}), "nccl.tests.below-nvlink"));
  NcclTestsTable plain = table_of({"node-a"}, 8, 15);
  for (model::NcclTestsDevice& device : plain.devices)
    device.name = "NVIDIA L40S";
  EXPECT_TRUE(findings_of(with_tables({plain}), "nccl.tests.below-nvlink").empty());
}
TEST(NcclTestsBelowNvlink, UndecidedOnSmallSizesOnly) {
  NcclTestsTable table = table_of({"node-a"}, 8, 5);
  for (model::NcclTestsRow& row : table.rows)
    row.size.value >>= 20U;
  EXPECT_EQ(undecided_of(with_tables({table}), "nccl.tests.below-nvlink").size(), 1U);
}

TEST(NcclTestsBelowNetwork, FiresBesideASnapshotThatKnowsThePorts) {
  const auto found = findings_of(with_tables({table_of({"node-a", "node-b"}, 1, 6)}, dgx_h100()),
                                 "nccl.tests.below-network");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].evidence[1].text, "fastest active port: 400 Gb/s = 50 GB/s");
}
TEST(NcclTestsBelowNetwork, SilentAtTheSpeedOfThePort) {
  EXPECT_TRUE(
      held(with_tables({table_of({"node-a", "node-b"}, 1, 47)}, dgx_h100()), "nccl.tests.below-network"));
}
TEST(NcclTestsBelowNetwork, UndecidedWithoutASnapshot) {
  const auto gaps =
      undecided_of(with_tables({table_of({"node-a", "node-b"}, 1, 6)}), "nccl.tests.below-network");
  ASSERT_EQ(gaps.size(), 1U);
  EXPECT_TRUE(contains(gaps[0].collect, "angio log --snap"));
}

TEST(NcclTestsAverage, FiresAsARemarkWhenTheSweepBeginsSmall) {
  NcclTestsTable table = healthy_table();
  table.average = BytesPerSecond{120e9};
  const auto found = findings_of(with_tables({table}), "nccl.tests.average");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].severity, model::Severity::kInfo);
}
TEST(NcclTestsAverage, SilentWhenAverageAndPeakAgree) {
  EXPECT_TRUE(held(with_tables({healthy_table()}), "nccl.tests.average"));
}
TEST(NcclTestsAverage, UndecidedNever) {
  // no undecided: a table without the line quotes no average
  NcclTestsTable table = healthy_table();
  table.average.reset();
  EXPECT_TRUE(held(with_tables({table}), "nccl.tests.average"));
}

TEST(NcclTestsInPlaceGap, FiresOnAGapAtLargeSizes) {
  NcclTestsTable table = healthy_table();
  for (model::NcclTestsRow& row : table.rows)
    row.in_place->bus.value *= 0.6;
  EXPECT_TRUE(contains(findings_of(with_tables({table}), "nccl.tests.in-place-gap").at(0).title, "60 %"));
}
TEST(NcclTestsInPlaceGap, SilentOnEqualHalves) {
  EXPECT_TRUE(held(with_tables({healthy_table()}), "nccl.tests.in-place-gap"));
}
TEST(NcclTestsInPlaceGap, UndecidedWithoutBothHalves) {
  NcclTestsTable table = healthy_table();
  for (model::NcclTestsRow& row : table.rows)
    row.in_place.reset();
  EXPECT_EQ(undecided_of(with_tables({table}), "nccl.tests.in-place-gap").size(), 1U);
}

TEST(NcclTestsSlowSize, FiresOnADipBetweenFasterSizes) {
  NcclTestsTable table = healthy_table();
  table.rows[1].out_of_place->bus.value = table.rows[1].in_place->bus.value = 100e9;
  const auto found = findings_of(with_tables({table}), "nccl.tests.slow-size");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].evidence[0].source, "tests.txt:21");
}
TEST(NcclTestsSlowSize, SilentOnARisingTable) {
  EXPECT_TRUE(held(with_tables({healthy_table()}), "nccl.tests.slow-size"));
}
TEST(NcclTestsSlowSize, UndecidedOnTooFewSizes) {
  NcclTestsTable table = healthy_table();
  table.rows.resize(2);
  EXPECT_EQ(undecided_of(with_tables({table}), "nccl.tests.slow-size").size(), 1U);
}

TEST(NcclTestsDoubtfulRow, FiresOnAContradiction) {
  NcclTestsTable table = healthy_table();
  table.rows[3].doubt = "busbw 99.99 GB/s is not algbw 41.94 GB/s x 1.750";
  EXPECT_TRUE(contains(findings_of(with_tables({table}), "nccl.tests.doubtful-row").at(0).title, "1 row of"));
}
TEST(NcclTestsDoubtfulRow, SilentOnRowsThatFit) {
  EXPECT_TRUE(held(with_tables({healthy_table()}), "nccl.tests.doubtful-row"));
}
TEST(NcclTestsDoubtfulRow, UndecidedOnUnreadableRows) {
  NcclTestsTable table = healthy_table();
  table.damaged_rows = 2;
  EXPECT_EQ(undecided_of(with_tables({table}), "nccl.tests.doubtful-row").size(), 1U);
}

TEST(NcclTestsSlowPair, FiresOnTheNodeWhosePairsAreAllSlow) {
  std::vector<NcclTestsTable> tables;
  const std::vector<std::string> hosts{"a", "b", "c", "d"};
  for (std::size_t i = 0; i < hosts.size(); ++i)
    for (std::size_t j = i + 1; j < hosts.size(); ++j)
      tables.push_back(table_of({hosts[i], hosts[j]}, 1, hosts[i] == "b" || hosts[j] == "b" ? 9 : 46));
  const auto found = findings_of(with_tables(tables), "nccl.tests.slow-pair");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].devices, (std::vector<std::string>{"b"}));
  EXPECT_EQ(found[0].title, "b slows every pair in all_reduce_perf over 2 GPUs");
}
TEST(NcclTestsSlowPair, SilentOnEqualPairs) {
  EXPECT_TRUE(held(with_tables({table_of({"a", "b"}, 1, 46), table_of({"a", "c"}, 1, 45),
                                table_of({"b", "c"}, 1, 46), table_of({"a", "d"}, 1, 47)}),
                   "nccl.tests.slow-pair"));
}
TEST(NcclTestsSlowPair, UndecidedOnTooFewPairs) {
  const Machine machine = with_tables({table_of({"a", "b"}, 1, 46), table_of({"a", "c"}, 1, 9)});
  EXPECT_EQ(undecided_of(machine, "nccl.tests.slow-pair").size(), 1U);
}

}  // namespace
}  // namespace angio::diagnose
