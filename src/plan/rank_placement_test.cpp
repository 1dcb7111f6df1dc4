#include <gtest/gtest.h>

#include <algorithm>

#include "model/synthetic.hpp"
#include "plan/plan.hpp"

namespace angio::plan {
namespace {

using model::Machine;

CpuSet list(std::string_view text) {
  return *parse_cpu_list(text);
}

RankRequest rank_of(std::uint32_t local_rank, std::optional<std::uint32_t> ranks,
                    std::optional<std::string> cuda = std::nullopt) {
  RankRequest request;
  request.local_rank = local_rank;
  request.plan.ranks = ranks;
  request.plan.visible.cuda = std::move(cuda);
  return request;
}

model::RankPlacement place(const Machine& machine, const RankRequest& request) {
  auto placement = make_rank_placement(machine, request);
  EXPECT_TRUE(placement.has_value()) << (placement ? "" : placement.error().message);
  if (!placement || placement->ranks.size() != 1) return {};
  return placement->ranks.front();
}

TEST(RankPlacement, TheSameAsThePlanWhereAllSeeAll) {
  const Machine machine = *model::topology("2 numa cores:8 { 2 switch { 2 gpu; 2 hca } }");
  PlanRequest request;
  request.ranks = 8;
  const auto plan = make_placement(machine, request);
  ASSERT_TRUE(plan.has_value());
  for (std::uint32_t i = 0; i < 8; ++i) {
    const model::RankPlacement rank = place(machine, rank_of(i, 8));
    EXPECT_EQ(rank.local_rank, i);
    EXPECT_EQ(rank.gpu, plan->ranks[i].gpu);
    EXPECT_EQ(rank.cpus, plan->ranks[i].cpus);
    EXPECT_EQ(rank.memory_nodes, plan->ranks[i].memory_nodes);
    EXPECT_EQ(rank.rdma, plan->ranks[i].rdma);
  }
}

TEST(RankPlacement, ASingleVisibleGpuIsTheRanksWhateverItsNumber) {
  const Machine machine = *model::topology("2 numa cores:8 { 2 switch { 2 gpu; 2 hca } }");
  CpuSet all;
  for (std::uint32_t i = 0; i < 8; ++i) {
    // Slurm gives rank i GPU 7 - i; none knows of the others.
    const model::RankPlacement rank = place(machine, rank_of(i, 8, std::to_string(7 - i)));
    EXPECT_EQ(rank.gpu, 7 - i);
    EXPECT_EQ(rank.cores, 2U);
    EXPECT_FALSE(rank.cpus.intersects(all)) << i;
    all |= rank.cpus;
    EXPECT_EQ(rank.node, NumaId{(7 - i) / 4});
    ASSERT_EQ(rank.rdma.size(), 1U);
    EXPECT_EQ(rank.rdma[0], 7 - i);
  }
  EXPECT_EQ(all, list("0-15"));
}

TEST(RankPlacement, WithoutANumberOfRanksEachGpuHasItsPart) {
  const Machine machine = *model::topology("2 numa cores:8 { 4 gpu }");
  EXPECT_EQ(to_list(place(machine, rank_of(0, std::nullopt, "5")).cpus), "10-11");
}

TEST(RankPlacement, FewerRanksThanGpusGetLargerParts) {
  const Machine machine = *model::topology("2 numa cores:8 { 4 gpu }");
  EXPECT_EQ(to_list(place(machine, rank_of(0, 2, "1")).cpus), "0-3");
  EXPECT_EQ(to_list(place(machine, rank_of(1, 2, "3")).cpus), "4-7");
  EXPECT_EQ(to_list(place(machine, rank_of(0, 1, "3")).cpus), "0-7");
}

TEST(RankPlacement, SeveralRanksOnEachGpu) {
  const Machine machine = *model::topology("2 numa cores:8 { 2 gpu }");
  for (const bool blocks : {false, true}) {
    CpuSet all;
    for (std::uint32_t i = 0; i < 8; ++i) {
      const std::uint32_t gpu = blocks ? i / 2 : i % 4;
      const model::RankPlacement rank = place(machine, rank_of(i, 8, std::to_string(gpu)));
      EXPECT_EQ(rank.cores, 2U);
      EXPECT_FALSE(rank.cpus.intersects(all)) << i;
      all |= rank.cpus;
    }
    EXPECT_EQ(all, list("0-15"));
  }
}

TEST(RankPlacement, AListOfItsOwn) {
  const Machine machine = *model::topology("2 numa cores:8 { 4 gpu }");
  const model::RankPlacement rank = place(machine, rank_of(3, 4, "6,7"));
  EXPECT_EQ(rank.gpu, 6U);
  EXPECT_EQ(rank.device, "6,7");
  EXPECT_EQ(to_list(rank.cpus), "12-15");
}

TEST(RankPlacement, AMaskCutForTheTaskIsTakenWhole) {
  const Machine machine = *model::topology("2 numa cores:8 { 4 gpu }");
  RankRequest request = rank_of(5, 8, "5");
  request.plan.allowed_cpus = list("14-15");
  model::RankPlacement rank = place(machine, request);
  EXPECT_EQ(to_list(rank.cpus), "14-15");
  EXPECT_NE(rank.why[1].text.find("cut for this rank"), std::string::npos);
  // The mask of a whole job is not.
  request.plan.allowed_cpus = list("0-3,8-15");
  rank = place(machine, request);
  EXPECT_EQ(to_list(rank.cpus), "10-11");
  // A job's mask without node 0: its ranks come here too.
  request.plan.allowed_cpus = list("8-15");
  EXPECT_EQ(to_list(place(machine, request).cpus), "13");
  // The same where the scheduler shows all GPUs to every task.
  request = rank_of(5, 8);
  request.plan.allowed_cpus = list("14-15");
  EXPECT_EQ(to_list(place(machine, request).cpus), "14-15");
  request.plan.allowed_cpus = list("9");
  EXPECT_EQ(to_list(place(machine, request).cpus), "9");
  request.plan.allowed_cpus = list("0-15");
  EXPECT_EQ(to_list(place(machine, request).cpus), "10-11");
}

TEST(RankPlacement, AMaskOnTheWrongNodeIsKeptAndTold) {
  const Machine machine = *model::topology("2 numa cores:8 { 4 gpu }");
  RankRequest request = rank_of(5, 8, "5");
  request.plan.allowed_cpus = list("0-1");
  const auto placement = make_rank_placement(machine, request);
  ASSERT_TRUE(placement.has_value());
  EXPECT_EQ(placement->ranks[0].cpus, list("0-1"));
  EXPECT_TRUE(std::ranges::any_of(placement->notes,
                                  [](const auto& note) { return note.id == "plan.cpus.mask-misses-node"; }));
}

TEST(RankPlacement, MigDevicesOfOneGpuDoNotMeet) {
  Machine machine = *model::topology("numa cores:8 { gpu }");
  machine.gpus[0].uuid = model::Observed<std::string>::known("GPU-aa", {});
  CpuSet all;
  for (std::uint32_t i = 0; i < 4; ++i) {
    const auto rank = place(machine, rank_of(i, 4, "MIG-GPU-aa/" + std::to_string(7 + i) + "/0"));
    EXPECT_EQ(rank.gpu, 0U);
    EXPECT_FALSE(rank.cpus.intersects(all));
    all |= rank.cpus;
  }
  EXPECT_EQ(all, list("0-7"));
}

TEST(RankPlacement, AMigDeviceOfAnUnknownGpu) {
  const auto common =
      place(*model::topology("numa cores:8 { 2 gpu }; numa cores:8"), rank_of(0, 1, "MIG-1234"));
  EXPECT_FALSE(common.gpu.has_value());
  EXPECT_EQ(common.node, NumaId{0});
  EXPECT_EQ(common.device, "MIG-1234");
  const auto unknown = place(*model::topology("2 numa cores:8 { gpu }"), rank_of(0, 1, "MIG-1234"));
  EXPECT_FALSE(unknown.node.has_value());
  EXPECT_TRUE(unknown.cpus.empty());
}

TEST(RankPlacement, RanksWithoutGpus) {
  const Machine machine = *model::topology("2 numa cores:8");
  EXPECT_EQ(to_list(place(machine, rank_of(3, 4)).cpus), "12-15");
  RankRequest request = rank_of(3, 4);
  request.plan.allowed_cpus = list("6-9");
  EXPECT_EQ(to_list(place(machine, request).cpus), "6-9");
}

TEST(RankPlacement, ContradictoryNumbers) {
  const Machine machine = *model::topology("2 numa cores:8 { gpu }");
  const auto placement = make_rank_placement(machine, rank_of(8, 8));
  ASSERT_FALSE(placement.has_value());
  EXPECT_EQ(placement.error().message, "local rank 8 of 8 ranks: local ranks count from 0");
  EXPECT_FALSE(make_rank_placement(machine, rank_of(4000000000U, std::nullopt)).has_value());
}

}  // namespace
}  // namespace angio::plan
