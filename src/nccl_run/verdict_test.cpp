#include "nccl_run/verdict.hpp"

#include <gtest/gtest.h>

#include <csignal>

#include "nccl_run/last_lines.hpp"

namespace angio::nccl_run {
namespace {

const std::vector<Operation> kOperations{{Collective::kAllReduce, 8}, {Collective::kAllGather, 1U << 20U}};

TEST(Verdict, SaysHowFarANodeCame) {
  NodeReports said;
  EXPECT_EQ(whereabouts(said, kOperations), "at its start, before libnccl was loaded");
  said.loaded = LoadedReport{};
  EXPECT_EQ(whereabouts(said, kOperations), "in ncclCommInitRank");
  said.init = InitReport{};
  EXPECT_EQ(whereabouts(said, kOperations), "in operation 1 of 2 (AllReduce of 8 B)");
  said.operations.resize(1);
  EXPECT_EQ(whereabouts(said, kOperations), "in operation 2 of 2 (AllGather of 1 MiB)");
  EXPECT_EQ(progress_of(said), 3U);
  said.operations.resize(2);
  EXPECT_EQ(whereabouts(said, kOperations), "in ncclCommDestroy, after all operations");
  said.done = DoneReport{};
  EXPECT_EQ(whereabouts(said, kOperations), "at its end, after all its work");
}

TEST(Verdict, ACrashExplainsMoreThanAnError) {
  const Trouble crash = trouble_of(2, 0, SIGSEGV, "in ncclCommInitRank", false);
  const Trouble error = trouble_of(1, FailedReport{"ncclAllReduce", 3, "internal error"});
  const Trouble remote = trouble_of(0, FailedReport{"ncclCommInitRank", 6, "remote process exited"});
  EXPECT_GT(crash.blame, error.blame);
  EXPECT_GT(error.blame, remote.blame);
  EXPECT_EQ(crash.text, "node 2 was ended by SIGSEGV (Segmentation fault) in ncclCommInitRank");
  EXPECT_EQ(crash.end, ClusterEnd::kCrashed);
  EXPECT_EQ(error.text, "node 1: ncclAllReduce failed (result 3): internal error");
  EXPECT_EQ(error.end, ClusterEnd::kFailed);
}

TEST(Verdict, WhoKilled) {
  EXPECT_EQ(
      trouble_of(0, 0, SIGKILL, "in ncclCommInitRank", true).text,
      "node 0 was ended by SIGKILL (Killed) in ncclCommInitRank; the kernel killed processes for want of "
      "memory meanwhile");
  EXPECT_EQ(
      trouble_of(0, 0, SIGKILL, "x", false).text,
      "node 0 was ended by SIGKILL (Killed) x; not by angio: somebody killed it, or a limit of the host did");
  EXPECT_EQ(trouble_of(4, 127, 0, "at its start, before libnccl was loaded", false).text,
            "node 4 ended with exit code 127 at its start, before libnccl was loaded");
  EXPECT_EQ(trouble_of(2, FailedReport{"dlopen", std::nullopt, "no such file"}).text,
            "node 2: dlopen failed: no such file");
  EXPECT_EQ(
      trouble_of_unknown_end(1, "in ncclCommInitRank").text,
      "node 1 ended in ncclCommInitRank; how is not known: another part of this program took the answer");
}

TEST(LastLines, KeepsTheEnd) {
  LastLines last;
  for (int i = 0; i < 1000; ++i)
    last.add("line " + std::to_string(i) + "\n");
  last.add("half\x1b");
  const std::string text = last.text();
  EXPECT_TRUE(text.starts_with("line 989\n")) << text;
  EXPECT_TRUE(text.ends_with("line 999\nhalf\\x1b\n")) << text;
}

TEST(LastLines, ShowsNoHalfLineAtItsFront) {
  LastLines last;
  last.add(std::string(LastLines::kMostBytes, 'x') + "\nwhole\n");
  EXPECT_EQ(last.text(), "whole\n");
  EXPECT_EQ(LastLines().text(), "");
}

TEST(LineCutter, GivesWholeLines) {
  LineCutter cutter;
  EXPECT_EQ(cutter.add("a"), "");
  EXPECT_EQ(cutter.add("b\nc\nd"), "ab\nc\n");
  EXPECT_EQ(cutter.end(), "d\n");
  EXPECT_EQ(cutter.end(), "");
}

TEST(LineCutter, IsBounded) {
  LineCutter cutter;
  std::string all;
  for (int i = 0; i < 20; ++i)
    all += cutter.add(std::string(LineCutter::kLongest / 8, 'x'));
  EXPECT_GE(all.size(), 2 * LineCutter::kLongest);
}

}  // namespace
}  // namespace angio::nccl_run
