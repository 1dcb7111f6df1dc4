#include "bench/child.hpp"

#include <gtest/gtest.h>

#include <csignal>
#include <thread>

namespace angio::bench {
namespace {

Result<ChildOutcome> shell(const std::string& line) {
  const Interrupts interrupts;
  return run_child({"sh", "-c", line}, interrupts);
}

TEST(Child, OutputErrorsAndTime) {
  const auto outcome = shell("echo speed 12.5; echo bad >&2; sleep 0.1");
  ASSERT_TRUE(outcome) << outcome.error().message;
  EXPECT_EQ(outcome->output, "speed 12.5\n");
  EXPECT_EQ(outcome->errors, "bad\n");
  EXPECT_EQ(outcome->exit_code, 0);
  EXPECT_GE(outcome->seconds, 0.1);
}

TEST(Child, ExitCodeAndSignal) {
  EXPECT_EQ(shell("exit 7")->exit_code, 7);
  const auto killed = shell("kill -9 $$");
  EXPECT_EQ(killed->exit_code, 137);
  EXPECT_EQ(killed->signal, SIGKILL);
  EXPECT_FALSE(killed->interrupted);
}

TEST(Child, StandardInputIsEmpty) {
  EXPECT_EQ(shell("wc -c")->output, "0\n");
}

TEST(Child, SignalsAreNotInherited) {
  EXPECT_EQ(shell("kill -INT $$; echo alive")->exit_code, 128 + SIGINT);
  EXPECT_EQ(shell("kill -PIPE $$; echo alive")->exit_code, 128 + SIGPIPE);
}

TEST(Child, MoreOutputThanAPipeHolds) {
  const auto outcome = shell("head -c 9000000 /dev/zero | tr '\\0' x; echo; echo last 3");
  ASSERT_TRUE(outcome);
  EXPECT_EQ(outcome->output.size(), kKept);
  EXPECT_TRUE(outcome->output.ends_with("x\nlast 3\n"));
}

TEST(Child, OnesLeftBehindAreNotWaitedFor) {
  const auto outcome = shell("sleep 30 & echo done");
  ASSERT_TRUE(outcome);
  EXPECT_EQ(outcome->output, "done\n");
  EXPECT_LT(outcome->seconds, 10);
}

TEST(Child, UnknownCommandIsNamed) {
  const Interrupts interrupts;
  const auto outcome = run_child({"no-such-command-here"}, interrupts);
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().message,
            "no-such-command-here: cannot start: No such file or directory (ENOENT)");
}

TEST(Child, AnInterruptReachesTheWholeGroup) {
  const Interrupts interrupts;
  raise(SIGTERM);
  const auto outcome = run_child({"sh", "-c", "sleep 60 & wait; sleep 60"}, interrupts);
  ASSERT_TRUE(outcome);
  EXPECT_TRUE(outcome->interrupted);
  EXPECT_EQ(outcome->signal, SIGTERM);
  EXPECT_LT(outcome->seconds, 10);
  EXPECT_EQ(interrupts.pending(), SIGTERM);
}

TEST(Child, LimitEndsItAndItsChildren) {
  const Interrupts interrupts;
  const auto outcome =
      run_child(ChildWish{{"sh", "-c", "echo begun; sleep 600 & wait"}, {}, 0.3}, interrupts);
  ASSERT_TRUE(outcome) << outcome.error().message;
  EXPECT_TRUE(outcome->timed_out);
  EXPECT_FALSE(outcome->interrupted);
  EXPECT_NE(outcome->exit_code, 0);
  EXPECT_EQ(outcome->output, "begun\n");
}

TEST(Child, EnvironmentIsTheOneGiven) {
  const Interrupts interrupts;
  const std::vector<std::string> environment{"PATH=/usr/bin:/bin", "KNOB=a b"};
  const auto outcome =
      run_child(ChildWish{{"sh", "-c", "echo \"$KNOB,${HOME-unset}\""}, environment, 600}, interrupts);
  ASSERT_TRUE(outcome) << outcome.error().message;
  EXPECT_EQ(outcome->output, "a b,unset\n");
  EXPECT_FALSE(outcome->timed_out);
}

}  // namespace
}  // namespace angio::bench
