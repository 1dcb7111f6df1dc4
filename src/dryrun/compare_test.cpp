#include "dryrun/compare.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "dryrun/compare_test_runs.hpp"

namespace angio::dryrun::test {
namespace {

const Difference* find(const Comparison& comparison, std::string_view what) {
  const auto found = std::ranges::find(comparison.facts, what, &Difference::what);
  return found == comparison.facts.end() ? nullptr : &*found;
}

TEST(Compare, EqualRunsDifferInNothingAndCountIt) {
  const Comparison done = compare(healthy_run(), healthy_run());
  EXPECT_TRUE(done.facts.empty()) << done.facts.front().what;
  EXPECT_TRUE(done.choices.empty());
  EXPECT_EQ(done.equal_choices, 3U);
  EXPECT_GE(done.equal_facts, 20U);
}

TEST(Compare, NamesVersionGraphChannelsAndTransports) {
  DryRun other = healthy_run();
  other.nccl = "2.27.7+cuda12.9";
  world_in(other).patterns[0].bw_intra = 20;
  world_in(other).patterns[0].bw_inter = 20;
  for (model::NcclRank& rank : world_in(other).ranks) {
    rank.coll_channels = 4;
    rank.connections[0] = shm(rank.connections[0].from, rank.connections[0].to);
    rank.connections[1].gdr = rank.connections[2].gdr = false;
  }
  const Comparison done = compare(healthy_run(), other);
  ASSERT_NE(find(done, "NCCL"), nullptr);
  EXPECT_EQ(find(done, "NCCL")->b, "2.27.7+cuda12.9");
  ASSERT_NE(find(done, "ring graph"), nullptr);
  EXPECT_EQ(find(done, "ring graph")->a, "8 channels of 40 GB/s, between nodes 40 GB/s, paths NVL/PIX");
  EXPECT_EQ(find(done, "ring graph")->meaning, "all channels together 320 GB/s against 160 GB/s");
  ASSERT_NE(find(done, "channels of collectives"), nullptr);
  EXPECT_EQ(find(done, "channels of collectives")->b, "4");
  ASSERT_NE(find(done, "transports"), nullptr);
  EXPECT_EQ(find(done, "transports")->a, "NET/IB GDRDMA 4 pairs, P2P/CUMEM 4 pairs");
  EXPECT_EQ(find(done, "transports")->b, "NET/IB 4 pairs, SHM 4 pairs");
  EXPECT_EQ(find(done, "transports")->meaning, "through host memory: 0 pairs against 4 pairs");
  EXPECT_EQ(find(done, "GPUDirect RDMA")->b, "0 of 4 pairs between nodes");
  EXPECT_EQ(find(done, "tree graph"), nullptr);
  EXPECT_EQ(find(done, "NVLS multicast"), nullptr);
}

TEST(Compare, NamesTheFirstRingAndTreeThatDiffer) {
  DryRun other = healthy_run();
  world_in(other).rings[1].order = {0, 2, 1, 3};
  world_in(other).ranks[2].trees[0].up = 0;
  const Comparison done = compare(healthy_run(), other);
  ASSERT_NE(find(done, "ring 1"), nullptr);
  EXPECT_EQ(find(done, "ring 1")->a, "0 3 2 1");
  EXPECT_EQ(find(done, "ring 1")->meaning, "the order of ranks differs in 1 of 2 rings");
  ASSERT_NE(find(done, "tree 0, rank 2"), nullptr);
  EXPECT_EQ(find(done, "tree 0, rank 2")->a, "parent 1, children 3");
  EXPECT_EQ(find(done, "tree 0, rank 2")->b, "parent 0, children 3");
}

TEST(Compare, ShowsCellsSwitchedOffFirstAndCountsTheRest) {
  DryRun other = healthy_run();
  for (model::NcclTuningCell& cell : world_in(other).tuning)
    cell.latency_us += 1;
  world_in(other).tuning[4].bandwidth = 0;
  const Comparison done = compare(healthy_run(), other);
  const auto first = std::ranges::find_if(
      done.facts, [](const Difference& fact) { return fact.what.starts_with("tuning: "); });
  ASSERT_NE(first, done.facts.end());
  EXPECT_EQ(first->what, "tuning: AllReduce Ring Simple");
  EXPECT_EQ(first->a, "131.6 us, 204.8 GB/s");
  EXPECT_EQ(first->b, "off");
}

TEST(Compare, JoinsChoicesBySizeWithTheRatioOfEstimates) {
  DryRun other = healthy_run();
  other.operations[1] = operation(std::uint64_t{1} << 20U, "TREE", "LL128", 16, 135);
  const Comparison done = compare(healthy_run(), other);
  ASSERT_EQ(done.choices.size(), 1U);
  EXPECT_EQ(done.choices[0].a, "RING LL128, 16 channels");
  EXPECT_EQ(done.choices[0].b, "TREE LL128, 16 channels");
  EXPECT_DOUBLE_EQ(done.choices[0].estimate_ratio, 1.5);
  EXPECT_EQ(done.equal_choices, 2U);
  ASSERT_NE(find(done, "kernel of AllReduce 1 MiB"), nullptr);
  EXPECT_EQ(find(done, "kernel of AllReduce 1 MiB")->meaning, "the kernel differs in 1 of 3 operations");
}

TEST(Compare, ComparesTheMostMemoryOfAnyGpu) {
  DryRun other = healthy_run();
  other.memory[3].peak = 1024ULL << 20U;
  const Comparison done = compare(healthy_run(), other);
  ASSERT_NE(find(done, "memory of a GPU at its peak"), nullptr);
  EXPECT_EQ(find(done, "memory of a GPU at its peak")->a, "512 MiB");
  EXPECT_EQ(find(done, "memory of a GPU at its peak")->b, "1 GiB");
  EXPECT_EQ(find(done, "memory of a GPU after init"), nullptr);
}

TEST(Compare, ARunThatFailedLacksNothingButItsEnd) {
  DryRun other = healthy_run();
  other.end = model::DryRunEnd::kFailed;
  other.problem = "ncclCommInitRank of rank 0 failed: invalid usage";
  other.evidence.log = NcclLog{};
  other.operations.clear();
  other.memory.clear();
  const Comparison done = compare(healthy_run(), other);
  ASSERT_EQ(done.facts.size(), 1U);
  EXPECT_EQ(done.facts[0].what, "end");
  EXPECT_EQ(done.facts[0].b, "failed: ncclCommInitRank of rank 0 failed: invalid usage");
  EXPECT_EQ(done.equal_choices, 0U);
}

TEST(Compare, NamesWarningsOfOneRunAlone) {
  DryRun other = healthy_run();
  model::NcclEvent event;
  event.text = "a warning \x1b[31m";
  log_of(other).events.push_back(event);
  const Comparison done = compare(healthy_run(), other);
  ASSERT_NE(find(done, "warnings"), nullptr);
  EXPECT_EQ(find(done, "warnings")->a, "none");
  EXPECT_EQ(find(done, "warnings")->b, "a warning \\x1b[31m");
}

TEST(Compare, NothingFromNothing) {
  const Comparison done = compare(DryRun{}, DryRun{});
  EXPECT_TRUE(done.facts.empty());
  EXPECT_EQ(done.equal_choices, 0U);
}

TEST(ChoiceText, SaysWhatNcclNamed) {
  model::DryRunOperation one = operation(8, "RING", "LL128", 1, 1);
  EXPECT_EQ(choice_text(one), "RING LL128, 1 channel");
  one.channels = std::nullopt;
  EXPECT_EQ(choice_text(one), "RING LL128");
  one.algorithm = one.protocol = "";
  EXPECT_EQ(choice_text(one), "not named");
  one.reached = false;
  EXPECT_EQ(choice_text(one), "not reached");
}

}  // namespace
}  // namespace angio::dryrun::test
