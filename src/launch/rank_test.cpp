#include "launch/rank.hpp"

#include <gtest/gtest.h>

#include "base/text.hpp"

namespace angio::launch {
namespace {

using Environment = std::vector<std::string>;

LocalRank rank_of(const Environment& environment) {
  const auto rank = find_local_rank({}, environment);
  EXPECT_TRUE(rank) << (rank ? "" : rank.error().message);
  return rank.value_or(LocalRank{99, {}, {}, {}, "none"});
}

std::string refusal(const Environment& environment) {
  const auto rank = find_local_rank({}, environment);
  return rank ? "found " + std::to_string(rank->rank) : rank.error().message;
}

TEST(LocalRank, TorchrunTellsAll) {
  const LocalRank rank = rank_of({"LOCAL_RANK=3", "LOCAL_WORLD_SIZE=8", "RANK=11", "WORLD_SIZE=16"});
  EXPECT_EQ(rank.rank, 3U);
  EXPECT_EQ(rank.count, 8U);
  EXPECT_EQ(rank.global_rank, 11U);
  EXPECT_EQ(rank.global_count, 16U);
  EXPECT_EQ(rank.origin, "LOCAL_RANK and LOCAL_WORLD_SIZE");
}

TEST(LocalRank, DeepSpeedSaysLocalSize) {
  EXPECT_EQ(rank_of({"LOCAL_RANK=1", "LOCAL_SIZE=4"}).count, 4U);
}

TEST(LocalRank, EveryLauncherIsUnderstood) {
  const std::vector<Environment> launchers{
      {"OMPI_COMM_WORLD_LOCAL_RANK=2", "OMPI_COMM_WORLD_LOCAL_SIZE=4", "OMPI_COMM_WORLD_RANK=6"},
      {"MPI_LOCALRANKID=2", "MPI_LOCALNRANKS=4", "PMI_RANK=6"},
      {"MV2_COMM_WORLD_LOCAL_RANK=2", "MV2_COMM_WORLD_LOCAL_SIZE=4"},
      {"PALS_LOCAL_RANKID=2", "PALS_LOCAL_SIZE=4"},
      {"PMI_LOCAL_RANK=2", "PMI_LOCAL_SIZE=4"},
      {"JSM_NAMESPACE_LOCAL_RANK=2", "JSM_NAMESPACE_LOCAL_SIZE=4"},
      {"FLUX_TASK_LOCAL_ID=2", "FLUX_JOB_NNODES=1", "FLUX_JOB_SIZE=4"},
      {"SLURM_LOCALID=2", "SLURM_STEP_ID=0", "SLURM_NODEID=0", "SLURM_STEP_TASKS_PER_NODE=4"},
  };
  for (const Environment& environment : launchers) {
    const LocalRank rank = rank_of(environment);
    EXPECT_EQ(rank.rank, 2U) << environment[0];
    EXPECT_EQ(rank.count, 4U) << environment[0];
  }
}

TEST(LocalRank, FluxOverSeveralMachinesDoesNotTellTheCount) {
  EXPECT_EQ(rank_of({"FLUX_TASK_LOCAL_ID=2", "FLUX_JOB_NNODES=2", "FLUX_JOB_SIZE=8"}).count, std::nullopt);
}

TEST(LocalRank, SlurmCountsTheTasksOfItsOwnNode) {
  const LocalRank rank = rank_of({"SLURM_LOCALID=1", "SLURM_STEP_ID=3", "SLURM_NODEID=2",
                                  "SLURM_STEP_TASKS_PER_NODE=4(x2),3", "SLURM_TASKS_PER_NODE=8(x3)"});
  EXPECT_EQ(rank.count, 3U);
  EXPECT_EQ(rank.origin, "SLURM_LOCALID and SLURM_STEP_TASKS_PER_NODE");
}

TEST(LocalRank, SlurmOutsideAStepIsNoRank) {
  const Environment batch{"SLURM_LOCALID=0", "SLURM_PROCID=0", "SLURM_JOB_ID=7", "SLURM_TASKS_PER_NODE=8"};
  EXPECT_FALSE(has_local_rank(batch));
  const auto rank = find_local_rank({}, batch);
  ASSERT_FALSE(rank);
  EXPECT_EQ(rank.error().code, ErrorCode::kNotFound);
  EXPECT_TRUE(contains(rank.error().message, "LOCAL_RANK, OMPI_COMM_WORLD_LOCAL_RANK"))
      << rank.error().message;
}

TEST(LocalRank, GlobalRanksAreNotLocalOnes) {
  EXPECT_FALSE(has_local_rank(Environment{"PMIX_RANK=3", "PMI_RANK=3", "RANK=3"}));
}

TEST(LocalRank, TheInnerLauncherWinsWhenTheOuterStartedOneProcess) {
  const Environment nested{"LOCAL_RANK=5",    "LOCAL_WORLD_SIZE=8", "SLURM_LOCALID=0",
                           "SLURM_STEP_ID=0", "SLURM_NODEID=1",     "SLURM_STEP_TASKS_PER_NODE=1(x2)"};
  EXPECT_EQ(rank_of(nested).rank, 5U);
  EXPECT_EQ(rank_of(nested).count, 8U);
}

TEST(LocalRank, AgreeingLaunchersAddWhatTheOtherTells) {
  const LocalRank rank =
      rank_of({"LOCAL_RANK=2", "OMPI_COMM_WORLD_LOCAL_RANK=2", "OMPI_COMM_WORLD_LOCAL_SIZE=4"});
  EXPECT_EQ(rank.rank, 2U);
  EXPECT_EQ(rank.count, 4U);
}

TEST(LocalRank, ContradictionsNameBoth) {
  EXPECT_EQ(refusal({"LOCAL_RANK=0", "LOCAL_WORLD_SIZE=4", "OMPI_COMM_WORLD_LOCAL_RANK=2",
                     "OMPI_COMM_WORLD_LOCAL_SIZE=4"}),
            "LOCAL_RANK=0 but OMPI_COMM_WORLD_LOCAL_RANK=2");
  EXPECT_EQ(refusal({"LOCAL_RANK=2", "LOCAL_WORLD_SIZE=4", "OMPI_COMM_WORLD_LOCAL_RANK=2",
                     "OMPI_COMM_WORLD_LOCAL_SIZE=8"}),
            "LOCAL_WORLD_SIZE=4 but OMPI_COMM_WORLD_LOCAL_SIZE=8");
  EXPECT_EQ(refusal({"LOCAL_RANK=8", "LOCAL_WORLD_SIZE=8"}), "LOCAL_RANK=8 is not below LOCAL_WORLD_SIZE=8");
}

TEST(LocalRank, WordsThatAreNoNumbersAreSaidSo) {
  EXPECT_EQ(refusal({"LOCAL_RANK=abc"}), "LOCAL_RANK=\"abc\" is not a number from 0 on");
  EXPECT_EQ(refusal({"LOCAL_RANK="}), "LOCAL_RANK=\"\" is not a number from 0 on");
  EXPECT_EQ(refusal({"LOCAL_RANK=-1"}), "LOCAL_RANK=\"-1\" is not a number from 0 on");
  EXPECT_EQ(refusal({"LOCAL_RANK=1", "LOCAL_WORLD_SIZE=8 "}),
            "LOCAL_WORLD_SIZE=\"8 \" is not a number from 0 on");
}

TEST(LocalRank, MalformedGlobalRankDecidesNothing) {
  const LocalRank rank = rank_of({"LOCAL_RANK=1", "RANK=node-7"});
  EXPECT_EQ(rank.rank, 1U);
  EXPECT_EQ(rank.global_rank, std::nullopt);
}

TEST(LocalRank, OptionsGoFirst) {
  const Environment environment{"LOCAL_RANK=1", "LOCAL_WORLD_SIZE=8"};
  const auto rank = find_local_rank({5, 6}, environment);
  ASSERT_TRUE(rank);
  EXPECT_EQ(rank->rank, 5U);
  EXPECT_EQ(rank->count, 6U);
  EXPECT_EQ(rank->origin, "--rank and --ranks");
  EXPECT_FALSE(find_local_rank({6, 6}, environment));
  EXPECT_EQ(find_local_rank({{}, 2}, environment).value_or(LocalRank{}).count, 2U);
  EXPECT_FALSE(find_local_rank({{}, 1}, environment));
}

TEST(LocalRank, TasksPerNodeText) {
  EXPECT_EQ(tasks_on_node("4", 0), 4U);
  EXPECT_EQ(tasks_on_node("4", 1), std::nullopt);
  EXPECT_EQ(tasks_on_node("4(x2),3", 1), 4U);
  EXPECT_EQ(tasks_on_node("4(x2),3", 2), 3U);
  EXPECT_EQ(tasks_on_node("4(x2),3", 3), std::nullopt);
  EXPECT_EQ(tasks_on_node("4(x4294967295),3", 4294967294U), 4U);
  for (const char* text : {"", "4(x", "4(x)", "(x2)", "a", "4(2)", "4(x2"})
    EXPECT_EQ(tasks_on_node(text, 0), std::nullopt) << text;
}

}  // namespace
}  // namespace angio::launch
