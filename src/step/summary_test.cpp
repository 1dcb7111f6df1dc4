#include "step/summary.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "step/rank_log.hpp"
#include "step/torch_program.hpp"

namespace angio::step {
namespace {

using model::StepRun;
using model::StepTime;

StepTime time_of(double input, double compute, double exposed) {
  return {true, input + compute + exposed + 1, input, compute / 3, compute / 2, compute / 6, exposed};
}

// Ranks that compute so long, with the waits for the slowest, over so many steps.
StepRun run_of(const std::vector<double>& compute, const std::vector<double>& input, std::uint32_t steps) {
  StepRun run;
  run.ranks = static_cast<std::uint32_t>(compute.size());
  run.layout.data = run.ranks;
  run.batch = 8;
  double longest = 0;
  for (std::size_t i = 0; i < compute.size(); ++i)
    longest = std::max(longest, compute[i] + input[i]);
  for (std::uint32_t rank = 0; rank < run.ranks; ++rank) {
    model::StepRank member;
    member.rank = rank;
    for (std::uint32_t i = 0; i < steps; ++i) {
      const double noise = 0.01 * ((i * 7 + rank * 3) % 5);
      const double own = compute[rank] + noise;
      member.steps.push_back(time_of(input[rank], own, 2 + longest - compute[rank] - input[rank]));
    }
    run.members.push_back(std::move(member));
  }
  summarise(run);
  return run;
}

TEST(Spread, IsOfValuesThatWereMeasured) {
  const auto none = spread_of({});
  EXPECT_EQ(none.count, 0U);
  const auto spread = spread_of({5, 1, 3, 2, 4});
  EXPECT_EQ(spread.count, 5U);
  EXPECT_EQ(spread.minimum, 1);
  EXPECT_EQ(spread.median, 3);
  EXPECT_EQ(spread.p95, 5);
  EXPECT_EQ(spread_of({1, 2}).median, 1.5);
  std::vector<double> hundred;
  for (int i = 1; i <= 100; ++i)
    hundred.push_back(i);
  EXPECT_EQ(spread_of(hundred).p95, 95);
  EXPECT_EQ(spread_of(hundred).p99, 99);
}

TEST(Summary, AddsUp) {
  const StepRun run = run_of({30, 30, 30, 30}, {0, 0, 0, 0}, 20);
  EXPECT_EQ(run.step.count, 20U);
  EXPECT_NEAR(run.step.median, 33, 0.1);
  EXPECT_NEAR(*run.exposed_ms, 2, 0.1);
  EXPECT_NEAR(*run.exposed_share, 2.0 / 33, 0.01);
  EXPECT_NEAR(run.samples_per_second, 4 * 8 * 1000 / 33.0, 5);
  EXPECT_FALSE(run.slow);
  EXPECT_FALSE(run.without_ms);
  EXPECT_NEAR(run.splits[1].compute(), 30, 0.1);
  EXPECT_NEAR(run.splits[1].other, 1, 0.01);
}

TEST(Summary, NamesTheRankThatIsWaitedForAndNotTheNetwork) {
  const StepRun compute = run_of({30, 30, 48, 30}, {0, 0, 0, 0}, 20);
  ASSERT_TRUE(compute.slow);
  EXPECT_EQ(compute.slow->rank, 2U);
  EXPECT_EQ(compute.slow->culprit, model::StepCulprit::kCompute);
  EXPECT_NEAR(compute.slow->own - compute.slow->usual, 18, 0.1);
  EXPECT_EQ(compute.slow->steps, 20U);
  const StepRun input = run_of({30, 30, 30, 30}, {1, 25, 1, 1}, 20);
  ASSERT_TRUE(input.slow);
  EXPECT_EQ(input.slow->rank, 1U);
  EXPECT_EQ(input.slow->culprit, model::StepCulprit::kInput);
  EXPECT_NEAR(input.slow->usual, 1, 0.1);
}

TEST(Summary, CallsNobodySlowWhereNothingTells) {
  EXPECT_FALSE(run_of({30, 30.5, 30, 30}, {0, 0, 0, 0}, 20).slow);  // too little to matter
  EXPECT_FALSE(run_of({30, 48}, {0, 0}, 3).slow);                   // too few steps: luck explains it
  EXPECT_FALSE(run_of({48}, {0}, 20).slow);
  StepRun hidden = run_of({30, 48}, {0, 0}, 20);
  for (auto& member : hidden.members) {
    for (StepTime& time : member.steps)
      time.exposed.reset();
  }
  hidden.slow.reset();
  hidden.exposed_ms.reset();
  summarise(hidden);
  EXPECT_FALSE(hidden.slow);
  EXPECT_FALSE(hidden.exposed_ms);
  // Stages of a pipeline have different work.
  StepRun stages = run_of({30, 48}, {0, 0}, 20);
  stages.layout = {1, 1, 2, 1, false, 4};
  stages.slow.reset();
  summarise(stages);
  EXPECT_FALSE(stages.slow);
  EXPECT_NEAR(*stages.bubble_share, 0.2, 1e-9);
}

TEST(Summary, LuckIsThatOfTheFirstOfAlikeRanks) {
  EXPECT_NEAR(luck_of(2, 10, 10), 2.0 / 1024, 1e-9);
  EXPECT_NEAR(luck_of(4, 0, 10), 1, 1e-9);
  EXPECT_GT(luck_of(4, 5, 10), 0.01);
  EXPECT_LT(luck_of(4, 9, 10), 0.001);
}

TEST(Summary, SetsTheStepWithoutCommunicationBesideIt) {
  StepRun run = run_of({30, 30}, {0, 0}, 10);
  for (auto& member : run.members) {
    for (int i = 0; i < 10; ++i)
      member.steps.push_back({false, 28.0 + member.rank, 0, 10, 15, 3, 0.0});
  }
  summarise(run);
  EXPECT_EQ(run.step.count, 10U);
  EXPECT_NEAR(*run.without_ms, 29, 1e-9);
  EXPECT_NEAR(*run.difference_ms, run.step.median - 29, 1e-9);
  EXPECT_NEAR(*run.splits[0].without, 28, 1e-9);
}

TEST(Summary, LeavesOutStepsThatNotAllHave) {
  StepRun run = run_of({30, 30}, {0, 0}, 10);
  run.members[1].steps.resize(4);
  summarise(run);
  EXPECT_EQ(run.step.count, 4U);
  run.members[1].steps.clear();
  summarise(run);
  EXPECT_EQ(run.step.count, 0U);
  EXPECT_EQ(run.step.median, 0);
}

// ------------------------------------------------------------------ what ranks write

RankLog example() {
  RankLog log;
  log.rank.rank = 1;
  log.rank.host = "gpu-a";
  log.rank.pid = 4711;
  log.ranks = 2;
  log.framework = "torch";
  log.version = "torch 2.4.1";
  log.backend = "gloo";
  log.buckets = {9446400, 28351488};
  log.notes = {"a \"note\""};
  return log;
}

TEST(RankLog, ComesBackAsItWas) {
  const StepTime step = time_of(1, 30, 2);
  model::StepRank end;
  end.memory = Bytes{1234567};
  const auto log = parse_rank_log(first_line(example()) + step_line(step) +
                                  step_line({false, 3, 0, 1, 1, 1, {}}) + last_line(end));
  ASSERT_TRUE(log);
  EXPECT_EQ(log->rank.rank, 1U);
  EXPECT_EQ(log->rank.host, "gpu-a");
  EXPECT_EQ(log->buckets, example().buckets);
  EXPECT_EQ(log->notes, example().notes);
  ASSERT_EQ(log->rank.steps.size(), 2U);
  EXPECT_DOUBLE_EQ(log->rank.steps[0].step, step.step);
  EXPECT_DOUBLE_EQ(*log->rank.steps[0].exposed, 2);
  EXPECT_FALSE(log->rank.steps[1].communication);
  EXPECT_FALSE(log->rank.steps[1].exposed);
  EXPECT_TRUE(log->rank.finished);
  EXPECT_EQ(log->rank.memory->value, 1234567U);
}

TEST(RankLog, GivesWhatIsReadable) {
  const std::string whole =
      first_line(example()) + step_line(time_of(1, 30, 2)) + step_line(time_of(1, 31, 2));
  for (std::size_t size = 0; size <= whole.size(); ++size) {
    const auto log = parse_rank_log(std::string_view(whole).substr(0, size));
    if (!log) continue;
    EXPECT_LE(log->rank.steps.size(), 2U);
  }
  EXPECT_FALSE(parse_rank_log(""));
  EXPECT_FALSE(parse_rank_log("warning: something\n"));
  const auto damaged =
      parse_rank_log("noise\n" + first_line(example()) + "half {\n" +
                     R"({"communication": true, "step_ms": -1})" + "\n" + step_line(time_of(1, 30, 2)));
  ASSERT_TRUE(damaged);
  EXPECT_EQ(damaged->rank.steps.size(), 1U);
  ASSERT_EQ(damaged->notes.size(), 2U);
  EXPECT_EQ(damaged->notes[1], "rank 1: 2 lines of its log cannot be read");
  EXPECT_FALSE(damaged->rank.finished);
}

TEST(RankLog, TheFirstToFailIsNamed) {
  const auto at = [](std::uint32_t rank, const std::string& words, double time) {
    RankLog log = example();
    log.rank.rank = rank;
    return first_line(log) + failure_line(words, time);
  };
  const auto logs =
      parse_rank_logs(at(0, "RuntimeError: Connection closed by peer", 12) + at(1, "MemoryError", 11));
  ASSERT_EQ(logs.size(), 2U);
  EXPECT_EQ(first_failure(logs), "rank 1: MemoryError");
}

TEST(Torchrun, SaysWhoFailed) {
  EXPECT_EQ(failed_rank_of(""), "");
  const std::string both =
      "ERROR:torch.distributed.elastic.multiprocessing.api:failed (exitcode: 1) local_rank: 0 (pid: 40) of "
      "binary: /usr/bin/python3\n"
      "Other Failures:\n"
      "[1]:\n"
      "  time      : 2026-11-30_10:00:00\n"
      "  rank      : 2 (local_rank: 2)\n"
      "  exitcode  : -9 (pid: 42)\n";
  EXPECT_EQ(failed_rank_of(both), "rank 2 (pid 42) killed by SIGKILL");
  EXPECT_EQ(failed_rank_of("failed (exitcode: 3) local_rank: 1 (pid: 41) of binary: x\n"),
            "rank 1 (pid 41) ended with exit code 3");
  EXPECT_EQ(failed_rank_of(
                "x (exitcode: -15) local_rank: 1 (pid: 41)\nfailed (exitcode: 1) local_rank: 0 (pid: 40)"),
            "rank 1 (pid 41) ended with exit code -15");
}

TEST(Torchrun, IsStartedForItsRanks) {
  const auto words =
      torchrun_command({"python3", "/tmp/x/torch_step.py", "{}", "/tmp/x/logs", 4, "127.0.0.1", 29500});
  EXPECT_EQ(words.front(), "python3");
  EXPECT_EQ(words.back(), "{}");
  EXPECT_NE(std::ranges::find(words, "29500"), words.end());
  EXPECT_TRUE(torch_program().starts_with("\"\"\"One rank of `angio bench step`"));
  EXPECT_TRUE(torch_program().ends_with("    main()\n"));
}

}  // namespace
}  // namespace angio::step
