#include "nccl_run/node_process.hpp"

#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include <csignal>

namespace angio::nccl_run {
namespace {

// This test program in the place of a node: the words of a node mean nothing to it, and the environment says
// which of its tests it is to be.
Result<NodeProcess> start_as(const char* test) {
  return start_node({.program = "/proc/self/exe",
                     .environment = {std::string("GTEST_FILTER=NodeProcess.DISABLED_") + test,
                                     "GTEST_ALSO_RUN_DISABLED_TESTS=1"},
                     .inherited = {}});
}

TEST(NodeProcess, DISABLED_IsKilled) {
  (void)raise(SIGKILL);
}

// As a plugin may: a process of its own that keeps the log open and outlives the node.
TEST(NodeProcess, DISABLED_LeavesAChild) {
  if (fork() == 0) {
    while (true)
      pause();
  }
  _exit(3);
}

constexpr int kSlices = 1000;
constexpr int kSlice = 10;  // ms: ten seconds, for a machine that is busy

bool ends(NodeProcess& node) {
  for (int i = 0; i < kSlices && !node.end; ++i) {
    poll(nullptr, 0, kSlice);
    look_at(node);
  }
  return node.end.has_value();
}

// Nobody holds the other end any more.
bool log_ends(NodeProcess& node) {
  for (int i = 0; i < kSlices && node.log.get() >= 0; ++i) {
    pollfd polled{node.log.get(), POLLIN, 0};
    poll(&polled, 1, kSlice);
    (void)read_some(node.log);
  }
  return node.log.get() < 0;
}

TEST(NodeProcess, HowItEndedIsKnownThoughTheCallerIgnoresIt) {
  const auto before = std::signal(SIGCHLD, SIG_IGN);
  {
    const KeptEnds kept;
    Result<NodeProcess> node = start_as("IsKilled");
    ASSERT_TRUE(node) << node.error().message;
    ASSERT_TRUE(ends(*node));
    EXPECT_TRUE(node->end->known);
    EXPECT_EQ(node->end->signal, SIGKILL);
  }
  EXPECT_EQ(std::signal(SIGCHLD, before), SIG_IGN);
}

TEST(NodeProcess, WithoutTheAnswerNothingIsMadeUp) {
  const auto before = std::signal(SIGCHLD, SIG_IGN);
  Result<NodeProcess> node = start_as("IsKilled");
  ASSERT_TRUE(node) << node.error().message;
  ASSERT_TRUE(ends(*node));
  EXPECT_FALSE(node->end->known);
  (void)std::signal(SIGCHLD, before);
}

TEST(NodeProcess, WhatItStartedEndsWithIt) {
  Result<NodeProcess> node = start_as("LeavesAChild");
  ASSERT_TRUE(node) << node.error().message;
  ASSERT_TRUE(ends(*node));
  EXPECT_EQ(node->end->exit_code, 3);
  EXPECT_TRUE(log_ends(*node));
}

TEST(NodeProcess, WhatItStartedIsKilledWithIt) {
  Result<NodeProcess> node = start_as("LeavesAChild");
  ASSERT_TRUE(node) << node.error().message;
  poll(nullptr, 0, 20 * kSlice);  // it may or may not have ended by now
  kill_node(*node);
  EXPECT_TRUE(node->end);
  EXPECT_TRUE(log_ends(*node));
}

}  // namespace
}  // namespace angio::nccl_run
