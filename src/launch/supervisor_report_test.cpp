#include "launch/supervisor_report.hpp"

#include <gtest/gtest.h>
#include <signal.h>

namespace angio::launch {
namespace {

RankEnd end_of(std::uint32_t rank, int exit_code, int signal, bool stopped) {
  RankEnd end;
  end.rank = rank;
  end.pid = 1000 + static_cast<int>(rank);
  end.exit_code = exit_code;
  end.signal = signal;
  end.stopped = stopped;
  end.seconds = 12.34;
  return end;
}

GroupOutcome crashed() {
  GroupOutcome outcome;
  outcome.cause = GroupCause::kRankFailed;
  outcome.ends = {end_of(0, 0, SIGTERM, true), end_of(1, 0, 0, false), end_of(2, 0, SIGKILL, true),
                  end_of(3, 0, SIGSEGV, false)};
  outcome.ends[3].core_dumped = true;
  outcome.first_failure = 3;
  outcome.last_words = "one\ntwo\033[31m\n";
  return outcome;
}

TEST(Report, NamesTheFirstFailure) {
  EXPECT_EQ(
      describe(crashed()),
      "rank 3 (pid 1003) killed by SIGSEGV (core dumped) after 12.3 s; 2 others stopped (1 by SIGKILL)\n"
      "The last lines of rank 3:\n"
      "  one\n"
      "  two\\x1b[31m");
  EXPECT_EQ(exit_code_of(crashed()), 128 + SIGSEGV);
}

TEST(Report, AnExitCode) {
  GroupOutcome outcome;
  outcome.cause = GroupCause::kRankFailed;
  outcome.ends = {end_of(0, 7, 0, false)};
  outcome.ends[0].seconds = 3725;
  outcome.first_failure = 0;
  EXPECT_EQ(describe(outcome), "rank 0 (pid 1000) exited with 7 after 1 h 2 min");
  EXPECT_EQ(exit_code_of(outcome), 7);
}

TEST(Report, KilledFromOutsideNamesTheUsualCause) {
  GroupOutcome outcome;
  outcome.cause = GroupCause::kRankFailed;
  outcome.ends = {end_of(0, 0, SIGKILL, false)};
  outcome.first_failure = 0;
  EXPECT_NE(describe(outcome).find("out-of-memory killer"), std::string::npos);
}

TEST(Report, WhoIsToBlame) {
  const int killed = blame_of(end_of(3, 0, SIGKILL, false));
  EXPECT_EQ(killed, blame_of(end_of(3, 0, SIGSEGV, false)));
  EXPECT_EQ(killed, blame_of(end_of(3, 0, SIGTERM, false)));
  const int answered = blame_of(end_of(0, 0, SIGABRT, false));
  EXPECT_EQ(answered, blame_of(end_of(0, 0, SIGPIPE, false)));
  EXPECT_GT(killed, answered);
  EXPECT_GT(answered, blame_of(end_of(0, 1, 0, false)));
}

TEST(Report, ASignalThatCame) {
  GroupOutcome outcome;
  outcome.cause = GroupCause::kSignal;
  outcome.signal = SIGINT;
  outcome.ends = {end_of(0, 0, SIGINT, true), end_of(1, 0, SIGKILL, true)};
  EXPECT_EQ(describe(outcome), "stopped by SIGINT after 12.3 s; 1 rank had to be killed");
  EXPECT_EQ(exit_code_of(outcome), 130);
  outcome.ends = {end_of(0, 0, 0, true), end_of(1, 0, 0, true)};
  EXPECT_EQ(exit_code_of(outcome), 0);  // the program ended well by itself
  outcome.ends[1].exit_code = 85;
  EXPECT_EQ(exit_code_of(outcome), 85);
}

TEST(Report, QuietWhenAllIsWell) {
  GroupOutcome outcome;
  outcome.ends = {end_of(0, 0, 0, false)};
  EXPECT_EQ(describe(outcome), "");
  EXPECT_EQ(exit_code_of(outcome), 0);
  outcome.cause = GroupCause::kOutputClosed;
  EXPECT_EQ(describe(outcome), "");
  EXPECT_EQ(exit_code_of(outcome), 141);
}

TEST(Report, WhatWasLeftBehind) {
  GroupOutcome outcome;
  outcome.ends = {end_of(0, 0, 0, false)};
  outcome.swept = {{77, "sleep"}};
  EXPECT_EQ(describe(outcome), "1 background process outlived the ranks, stopped: sleep (pid 77)");
}

TEST(Report, SignalNames) {
  EXPECT_EQ(signal_name(SIGUSR1), "SIGUSR1");
  EXPECT_EQ(signal_name(SIGRTMIN + 3), "SIGRTMIN+3");
  EXPECT_EQ(signal_name(999), "signal 999");
}

}  // namespace
}  // namespace angio::launch
