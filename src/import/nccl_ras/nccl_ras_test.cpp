#include "import/nccl_ras/nccl_ras.hpp"

#include <gtest/gtest.h>

#include "base/text.hpp"
#include "support/samples.hpp"

namespace angio::import::nccl_ras {
namespace {

std::vector<model::RasReport> read_all(std::string_view text) {
  RasReader reader(1);
  std::uint32_t number = 0;
  for (const std::string_view line : split_lines(text))
    reader.read(++number, line);
  return reader.take();
}

TEST(NcclRas, ReadsAHealthyAnswer) {
  const auto reports = read_all(test::sample("nccl_ras/healthy.txt"));
  ASSERT_EQ(reports.size(), 1U);
  EXPECT_EQ(reports[0].version, "2.28.9");
  EXPECT_EQ(reports[0].nodes, 4U);
  EXPECT_EQ(reports[0].gpus, 32U);
  ASSERT_EQ(reports[0].groups.size(), 1U);
  EXPECT_EQ(reports[0].groups[0].errors, "OK");
  EXPECT_EQ(reports[0].groups[0].ranks_per_communicator, "32");
  EXPECT_TRUE(reports[0].saw_errors);
  EXPECT_TRUE(reports[0].problems.empty() && reports[0].communicators.empty());
}

TEST(NcclRas, KeepsWhichRanksAreListedUnderWhichCount) {
  const auto reports = read_all(test::sample("nccl_ras/ahead.txt"));
  ASSERT_EQ(reports.size(), 1U);
  ASSERT_EQ(reports[0].communicators.size(), 1U);
  const auto& communicator = reports[0].communicators[0];
  EXPECT_EQ(communicator.hash, "5b1dc0ffee12aa01");
  ASSERT_EQ(communicator.mismatches.size(), 2U);
  EXPECT_EQ(communicator.mismatches[0].operation, 812U);
  EXPECT_EQ(communicator.mismatches[0].ranks, 30U);
  EXPECT_TRUE(communicator.mismatches[0].listed.empty());
  EXPECT_EQ(communicator.mismatches[1].operation, 815U);
  EXPECT_EQ(communicator.mismatches[1].collective, "AllReduce");
  ASSERT_EQ(communicator.mismatches[1].listed.size(), 2U);
  EXPECT_EQ(communicator.mismatches[1].listed[1].rank, 12U);
  EXPECT_EQ(communicator.mismatches[1].listed[1].host, "192.0.2.12");
  EXPECT_EQ(communicator.mismatches[1].listed[1].pid, 31204U);
}

TEST(NcclRas, ReadsASingleRankOnItsOwnLine) {
  const auto reports = read_all(test::sample("nccl_ras/behind.txt"));
  const auto& groups = reports.at(0).communicators.at(0).mismatches;
  ASSERT_EQ(groups.size(), 2U);
  EXPECT_EQ(groups[1].operation, 60U);
  ASSERT_EQ(groups[1].listed.size(), 1U);
  EXPECT_EQ(groups[1].listed[0].rank, 7U);
  EXPECT_EQ(groups[1].listed[0].gpus, "7");
}

TEST(NcclRas, ReadsDeadProcessesMissingRanksAndTimeouts) {
  const auto reports = read_all(test::sample("nccl_ras/dead.txt"));
  ASSERT_EQ(reports.size(), 1U);
  ASSERT_EQ(reports[0].problems.size(), 2U);
  EXPECT_EQ(reports[0].problems[0].kind, "DEAD");
  ASSERT_EQ(reports[0].problems[0].processes.size(), 1U);
  EXPECT_EQ(reports[0].problems[0].processes[0].pid, 20515U);
  EXPECT_EQ(reports[0].problems[0].processes[0].gpus, "5");
  EXPECT_EQ(reports[0].timeouts, 2U);
  ASSERT_EQ(reports[0].communicators.size(), 1U);
  ASSERT_EQ(reports[0].communicators[0].missing.size(), 1U);
  EXPECT_EQ(reports[0].communicators[0].missing[0].rank, 21U);
}

TEST(NcclRas, ReadsTheJsonAnswer) {
  const std::string text = test::sample("nccl_ras/two_ranks.json");
  ASSERT_TRUE(looks_like_json(text));
  const auto reports = parse_json_report(text, "ras.json", 1);
  ASSERT_TRUE(reports.has_value());
  ASSERT_EQ(reports->size(), 1U);
  const auto& communicator = reports->at(0).communicators.at(0);
  EXPECT_EQ(communicator.size, 3U);
  EXPECT_EQ(communicator.ranks.at(1).launched.at("AllReduce"), 84U);
  EXPECT_EQ(communicator.ranks.at(1).async_error, 6);
  EXPECT_TRUE(communicator.ranks.at(1).aborted);
  EXPECT_TRUE(communicator.missing.at(0).unresponsive);
  EXPECT_EQ(reports->at(0).timeouts, 1U);
}

TEST(NcclRas, ReadsEventsOfTheMonitor) {
  const auto text =
      read_all("[2026-01-02 03:04:05] PEER_DEAD: Process 77 on node 192.0.2.9 managing GPU 3\n");
  ASSERT_EQ(text.size(), 1U);
  EXPECT_EQ(text[0].problems.at(0).kind, "PEER_DEAD");
  EXPECT_EQ(text[0].problems.at(0).processes.at(0).host, "192.0.2.9");
  const std::string event =
      R"({"timestamp": "t", "group": "LIFECYCLE", "event": "PEER_DEAD", "peer": {"host": "192.0.2.9", "pid": 77, "cuda_devs": [1, 2]}})";
  ASSERT_TRUE(looks_like_json(event));
  const auto json = parse_json_report(event + "\n" + event, "m.json", 1);
  ASSERT_TRUE(json.has_value());
  ASSERT_EQ(json->size(), 1U);
  EXPECT_EQ(json->at(0).problems.size(), 2U);
  EXPECT_EQ(json->at(0).problems[0].processes.at(0).gpus, "1,2");
}

TEST(NcclRas, OrdinaryTextIsNoAnswer) {
  EXPECT_TRUE(
      read_all("Errors\n======\nnothing here\n#0 comment (x) y\nNCCL version 2.28.9+cuda13.0\n").empty());
}

}  // namespace
}  // namespace angio::import::nccl_ras
