// Who is behind, who is lost: RAS, the Inspector.
#include <gtest/gtest.h>

#include "base/text.hpp"
#include "diagnose/rules/nccl_test_logs.hpp"

namespace angio::diagnose {
namespace {

using namespace angio::test;  // NOLINT(google-build-using-namespace)
using model::RasReport;

model::RasRank ras_rank(std::uint32_t number) {
  model::RasRank rank;
  rank.rank = number;
  rank.gpus = std::to_string(number % 8);
  rank.pid = 1000 + number;
  rank.host = "192.0.2.1";
  rank.source = line(30 + number);
  return rank;
}

// 30 of 32 ranks at one count, two listed at another.
RasReport answer(std::uint64_t many, std::uint64_t few) {
  RasReport report;
  report.saw_errors = true;
  report.source = line(1);
  model::RasCommunicator communicator;
  communicator.name = "#0-0";
  communicator.hash = "feed";
  communicator.source = line(20);
  model::RasMismatch first;
  first.ranks = 30;
  first.operation = many;
  first.collective = "AllReduce";
  first.source = line(22);
  model::RasMismatch second = first;
  second.ranks = 2;
  second.operation = few;
  second.source = line(23);
  second.listed = {ras_rank(4), ras_rank(12)};
  communicator.mismatches = {first, second};
  report.communicators.push_back(std::move(communicator));
  return report;
}
Machine with_ras(std::vector<RasReport> reports) {
  NcclEvidence evidence;
  evidence.places.add("ras.txt");
  evidence.ras = std::move(reports);
  return with_evidence(std::move(evidence));
}
RasReport healthy_answer() {
  RasReport report;
  report.saw_errors = true;
  report.groups.push_back({0, 1, 4, "8", "32", "32", "RUNNING", "OK", line(12)});
  return report;
}

TEST(NcclRasMismatch, FiresAndSaysThatTheListedRanksAreAhead) {
  const auto found = findings_of(with_ras({answer(812, 815)}), "nccl.ras.mismatch");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].severity, model::Severity::kWarning);
  EXPECT_EQ(found[0].title,
            "The 30 ranks that the answer does not list are behind: 812 AllReduce launched, others 815; "
            "ranks 4,12 are ahead");
}
TEST(NcclRasMismatch, FiresAndNamesTheListedRanksWhenTheyAreBehind) {
  const auto found = findings_of(with_ras({answer(812, 800)}), "nccl.ras.mismatch");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].title, "Ranks 4,12 are behind: 800 AllReduce launched, others 812");
}
TEST(NcclRasMismatch, FiresAsCriticalWhenASecondAnswerIsTheSame) {
  const auto found = findings_of(with_ras({answer(812, 813), answer(812, 813)}), "nccl.ras.mismatch");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].severity, model::Severity::kCritical);
  EXPECT_EQ(findings_of(with_ras({answer(812, 813), answer(900, 901)}), "nccl.ras.mismatch").at(0).severity,
            model::Severity::kInfo);
}
TEST(NcclRasMismatch, FiresOnCountsOfTheJsonForm) {
  RasReport report;
  report.json = true;
  model::RasCommunicator communicator;
  communicator.hash = "0xfeed";
  for (std::uint32_t rank = 0; rank < 4; ++rank) {
    communicator.ranks.push_back(ras_rank(rank));
    communicator.ranks.back().launched = {{"AllReduce", rank == 2 ? 80U : 90U}, {"Broadcast", 1U}};
  }
  report.communicators.push_back(std::move(communicator));
  EXPECT_EQ(findings_of(with_ras({report}), "nccl.ras.mismatch").at(0).title,
            "Rank 2 is behind: 80 AllReduce launched, others 90");
}
TEST(NcclRasMismatch, SilentOnEqualCounts) {
  EXPECT_TRUE(held(with_ras({healthy_answer()}), "nccl.ras.mismatch"));
}
TEST(NcclRasMismatch, UndecidedWhenTheListIsCutAway) {
  RasReport report = healthy_answer();
  report.groups[0].errors = "MISMATCH";
  EXPECT_EQ(undecided_of(with_ras({report}), "nccl.ras.mismatch").size(), 1U);
}

TEST(NcclRasMissing, FiresOnADeadProcessAndItsRank) {
  RasReport report = healthy_answer();
  model::RasProblem problem{"DEAD", "1 job process is considered dead", {ras_rank(5)}, line(18)};
  report.problems.push_back(problem);
  model::RasCommunicator communicator;
  communicator.name = "#0-0";
  communicator.hash = "feed";
  communicator.missing.push_back(ras_rank(21));
  report.communicators.push_back(communicator);
  const auto found = findings_of(with_ras({report}), "nccl.ras.missing");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].severity, model::Severity::kCritical);
  EXPECT_EQ(found[0].title, "Rank 21 died or lost its network: the job cannot go on");
}
TEST(NcclRasMissing, SilentOnAHealthyAnswer) {
  EXPECT_TRUE(held(with_ras({healthy_answer()}), "nccl.ras.missing"));
}
TEST(NcclRasMissing, UndecidedWhenTheListIsCutAway) {
  RasReport report = healthy_answer();
  report.groups[0].errors = "INCOMPLETE";
  report.saw_errors = false;
  EXPECT_EQ(undecided_of(with_ras({report}), "nccl.ras.missing").size(), 1U);
}

TEST(NcclRasError, FiresOnAnAsynchronousError) {
  RasReport report;
  report.json = true;
  model::RasCommunicator communicator;
  communicator.ranks.push_back(ras_rank(1));
  communicator.ranks.back().async_error = 6;
  report.communicators.push_back(communicator);
  EXPECT_TRUE(contains(findings_of(with_ras({report}), "nccl.ras.error").at(0).title, "rank 1"));
}
TEST(NcclRasError, SilentWhileInitIsInProgress) {
  RasReport report;
  report.json = true;
  model::RasCommunicator communicator;
  communicator.ranks.push_back(ras_rank(1));
  communicator.ranks.back().async_error = 7;
  report.communicators.push_back(communicator);
  EXPECT_TRUE(held(with_ras({report}), "nccl.ras.error"));
}
TEST(NcclRasError, UndecidedNever) {
  // no undecided: the text form has no such fields, so nothing is missing in it
  EXPECT_TRUE(held(with_ras({healthy_answer()}), "nccl.ras.error"));
}

Machine with_inspector(double slowest, std::uint64_t records) {
  NcclEvidence evidence;
  evidence.places.add("inspector.log");
  evidence.inspector.emplace();
  evidence.inspector->records = records;
  model::InspectorAggregate sum;
  sum.operation = "AllReduce";
  sum.bucket = {1U << 26U};
  sum.records = records;
  sum.slowest_us = slowest;
  sum.slowest_rank = 2;
  sum.time_us = slowest + 700.0 * static_cast<double>(records - 1);
  sum.slowest = line(16);
  evidence.inspector->aggregates.push_back(sum);
  return with_evidence(std::move(evidence));
}
TEST(NcclInspectorStraggler, FiresOnOneSlowRecord) {
  EXPECT_EQ(findings_of(with_inspector(6300, 12), "nccl.inspector.straggler").at(0).title,
            "One AllReduce of 64 MiB took 9 times as long as the others, seen by rank 2");
}
TEST(NcclInspectorStraggler, SilentOnEvenRecords) {
  EXPECT_TRUE(held(with_inspector(900, 12), "nccl.inspector.straggler"));
}
TEST(NcclInspectorStraggler, UndecidedOnFewRecords) {
  EXPECT_EQ(undecided_of(with_inspector(6300, 3), "nccl.inspector.straggler").size(), 1U);
}

}  // namespace
}  // namespace angio::diagnose
