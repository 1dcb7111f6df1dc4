#include "nccl_run/watch.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

namespace angio::nccl_run {
namespace {

constexpr std::uint64_t kMuchMemory = std::uint64_t{1} << 50U;  // bytes

// This test program in the place of a node, as one of the two tests below.
NodeProcess start_as(const char* test) {
  Result<NodeProcess> node = start_node(
      {.program = "/proc/self/exe",
       .environment = {std::string("GTEST_FILTER=Watch.DISABLED_") + test, "GTEST_ALSO_RUN_DISABLED_TESTS=1"},
       .inherited = {}});
  if (node) return std::move(*node);
  ADD_FAILURE() << node.error().message;
  NodeProcess none;
  return none;
}

TEST(Watch, DISABLED_IsKilled) {
  (void)raise(SIGKILL);
}
TEST(Watch, DISABLED_Waits) {
  while (true)
    pause();
}

ClusterOutcome run_one(const char* test, std::chrono::milliseconds timeout,
                       const std::function<bool(int process)>& stop) {
  ClusterRequest request;
  request.nodes.resize(1);
  request.timeout = timeout;
  const auto root = host::make_memory_root({}, host::Scope::kComplete);
  NodeProcess node = start_as(test);
  const Watch::Log log;
  const Watch::Stop ask = [&stop, process = node.pid] { return stop(process); };
  Watch watch(request, *root, kMuchMemory, log, ask);
  watch.add(std::move(node));
  watch.run();
  return watch.take_outcome();
}

constexpr std::chrono::seconds kLong{60};

TEST(Watch, CtrlC) {
  const ClusterOutcome outcome = run_one("Waits", kLong, [](int /*process*/) { return true; });
  EXPECT_EQ(outcome.end, ClusterEnd::kInterrupted);
  EXPECT_EQ(outcome.problem, "stopped while node 0 was at its start, before libnccl was loaded");
}

TEST(Watch, TimeRunsOut) {
  const ClusterOutcome outcome =
      run_one("Waits", std::chrono::milliseconds(20), [](int /*process*/) { return false; });
  EXPECT_EQ(outcome.end, ClusterEnd::kTimeout);
  EXPECT_EQ(outcome.problem, "not done after 0.02 s: node 0 was at its start, before libnccl was loaded");
}

// Ctrl-C as soon as the node's remains are gone: while the watch waits for last lines of others.
TEST(Watch, CtrlCAfterACrashLeavesItTheCause) {
  const ClusterOutcome outcome =
      run_one("IsKilled", kLong, [](int process) { return kill(process, 0) != 0 && errno == ESRCH; });
  EXPECT_EQ(outcome.end, ClusterEnd::kCrashed);
  EXPECT_TRUE(outcome.problem.starts_with("node 0 was ended by SIGKILL (Killed) at its start"))
      << outcome.problem;
  EXPECT_EQ(outcome.nodes.at(0).signal, SIGKILL);
}

}  // namespace
}  // namespace angio::nccl_run
