// Every rank of many layouts: the groups are the same for all, the calls of a group match in order, and a
// pipeline whose exchanges wait for each other comes to its end.
#include "step/schedule.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "step/groups.hpp"
#include "step/pipeline.hpp"
#include "step/shape.hpp"

namespace angio::step {
namespace {

using model::NcclCollective;

StepSpec spec_of(model::StepLayout layout) {
  StepSpec spec;
  spec.shape = *shape_by_name("tiny");
  spec.shape.layers = 8;
  spec.layout = layout;
  spec.batch = 24;
  return spec;
}

std::vector<model::StepLayout> layouts() {
  return {{1, 1, 1, 1, false, 1}, {4, 1, 1, 1, false, 1}, {4, 1, 1, 1, true, 1},  {4, 1, 1, 1, true, 3},
          {1, 4, 1, 1, false, 1}, {1, 1, 4, 1, false, 8}, {4, 1, 1, 4, false, 1}, {4, 1, 1, 2, false, 2},
          {2, 2, 2, 1, false, 4}, {4, 2, 2, 2, false, 3}, {2, 1, 4, 1, false, 2}, {2, 4, 1, 2, false, 1}};
}

std::vector<Schedule> schedules_of(const StepSpec& spec) {
  std::vector<Schedule> all;
  for (std::uint32_t rank = 0; rank < ranks_of(spec.layout); ++rank) {
    auto schedule = make_schedule(spec, rank);
    EXPECT_TRUE(schedule) << (schedule ? "" : schedule.error().message);
    if (schedule) all.push_back(std::move(*schedule));
  }
  return all;
}

std::uint64_t count_of(const Schedule& schedule, NcclCollective collective) {
  return static_cast<std::uint64_t>(std::ranges::count_if(schedule.ops, [&](const StepOp& op) {
    return op.kind == OpKind::kStart && op.collective == collective;
  }));
}

double compute_of(const Schedule& schedule) {
  double sum = 0;
  for (const StepOp& op : schedule.ops)
    sum += op.ms;
  return sum;
}

// Who moves how much with whom, in the order of the group.
using GroupCalls = std::map<std::uint32_t, std::vector<std::pair<NcclCollective, std::uint64_t>>>;

GroupCalls calls_of(const Schedule& schedule) {
  GroupCalls calls;
  for (const StepOp& op : schedule.ops) {
    if (op.kind == OpKind::kStart && op.collective != NcclCollective::kSendRecv)
      calls[op.group].emplace_back(op.collective, op.count);
  }
  return calls;
}

TEST(Groups, PutEveryRankWhereItBelongs) {
  for (const model::StepLayout& layout : layouts()) {
    for (std::uint32_t rank = 0; rank < ranks_of(layout); ++rank)
      EXPECT_EQ(rank_at(layout, place_of(layout, rank)), rank);
    std::map<GroupKind, std::multiset<std::uint32_t>> seen;
    for (const RankGroup& group : groups_of(layout))
      seen[group.kind].insert(group.ranks.begin(), group.ranks.end());
    for (const auto& [kind, ranks] : seen) {
      EXPECT_EQ(ranks.size(), ranks_of(layout));
      for (std::uint32_t rank = 0; rank < ranks_of(layout); ++rank)
        EXPECT_EQ(ranks.count(rank), 1U);
    }
    EXPECT_EQ(seen.count(GroupKind::kTensor), layout.tensor > 1 ? 1U : 0U);
    EXPECT_EQ(seen.count(GroupKind::kData), layout.data > 1 ? 1U : 0U);
  }
  const auto groups = groups_of({2, 2, 1, 1, false, 1});
  ASSERT_EQ(groups.size(), 4U);
  EXPECT_EQ(groups[0].ranks, (std::vector<std::uint32_t>{0, 2}));  // data
  EXPECT_EQ(groups[2].ranks, (std::vector<std::uint32_t>{0, 1}));  // tensor: neighbours
}

TEST(Schedule, CallsOfAGroupMatchOnAllItsRanks) {
  for (const model::StepLayout& layout : layouts()) {
    const auto schedules = schedules_of(spec_of(layout));
    ASSERT_EQ(schedules.size(), ranks_of(layout));
    for (const Schedule& schedule : schedules)
      EXPECT_EQ(schedule.groups, schedules.front().groups);
    for (std::uint32_t number = 0; number < schedules.front().groups.size(); ++number) {
      const auto& ranks = schedules.front().groups[number];
      const auto first = calls_of(schedules[ranks.front()])[number];
      for (const std::uint32_t rank : ranks)
        EXPECT_EQ(calls_of(schedules[rank])[number], first);
    }
  }
}

TEST(Schedule, EveryCallIsWaitedForAndFitsItsBuffers) {
  for (const model::StepLayout& layout : layouts()) {
    for (const Schedule& schedule : schedules_of(spec_of(layout))) {
      std::set<std::uint32_t> open;
      for (const StepOp& op : schedule.ops) {
        if (op.kind == OpKind::kWait) open.erase(op.group);
        if (op.kind != OpKind::kStart) continue;
        open.insert(op.group);
        const std::uint64_t members = schedule.groups[op.group].size();
        const bool wide_send =
            op.collective == NcclCollective::kReduceScatter || op.collective == NcclCollective::kAllToAll;
        const bool wide_receive =
            op.collective == NcclCollective::kAllGather || op.collective == NcclCollective::kAllToAll;
        EXPECT_LE(op.count * (wide_send ? members : 1), schedule.buffers[op.send]);
        EXPECT_LE(op.count * (wide_receive ? members : 1), schedule.buffers[op.receive]);
      }
      EXPECT_TRUE(open.empty());
    }
  }
}

// A call of a rank is done when each of its halves meets the other half that is its peer's present call.
TEST(Schedule, PipelinesComeToTheirEnd) {
  for (std::uint32_t stages = 2; stages <= 8; ++stages) {
    for (std::uint32_t batches = 1; batches <= 12; ++batches) {
      std::vector<std::vector<PipelineTurn>> exchanges;
      for (std::uint32_t stage = 0; stage < stages; ++stage) {
        const auto order = pipeline_order(stages, stage, batches);
        std::uint32_t forward = 0;
        std::uint32_t backward = 0;
        exchanges.emplace_back();
        for (const PipelineTurn& turn : order) {
          if (turn.turn == Turn::kForward) {
            EXPECT_EQ(turn.micro_batch, forward++);
          }
          if (turn.turn == Turn::kBackward) {
            EXPECT_EQ(turn.micro_batch, backward++);
          }
          EXPECT_LE(backward, forward);
          if (turn.turn == Turn::kExchange) exchanges.back().push_back(turn);
        }
        EXPECT_EQ(forward, batches);
        EXPECT_EQ(backward, batches);
      }
      std::vector<std::size_t> at(stages, 0);
      for (bool moved = true; moved;) {
        moved = false;
        for (std::uint32_t stage = 0; stage + 1 < stages; ++stage) {
          if (at[stage] == exchanges[stage].size() || at[stage + 1] == exchanges[stage + 1].size()) continue;
          const PipelineTurn& here = exchanges[stage][at[stage]];
          const PipelineTurn& there = exchanges[stage + 1][at[stage + 1]];
          if (!here.with_next || there.with_next || here.send != there.receive || here.receive != there.send)
            continue;
          ++at[stage];
          ++at[stage + 1];
          moved = true;
        }
      }
      for (std::uint32_t stage = 0; stage < stages; ++stage)
        EXPECT_EQ(at[stage], exchanges[stage].size())
            << stages << " stages, " << batches << " micro-batches, stage " << stage;
    }
  }
  EXPECT_DOUBLE_EQ(bubble_share(4, 12), 0.2);
}

TEST(Schedule, HasTheCollectivesOfItsStrategy) {
  const auto of = [](model::StepLayout layout) { return schedules_of(spec_of(layout)).front(); };
  EXPECT_EQ(of({1, 1, 1, 1, false, 1}).sent, 0U);
  // Two a block forward and two backward.
  EXPECT_EQ(count_of(of({1, 4, 1, 1, false, 1}), NcclCollective::kAllReduce), 4U * 8);
  // Dispatch and combine, forward and backward.
  EXPECT_EQ(count_of(of({4, 1, 1, 4, false, 1}), NcclCollective::kAllToAll), 4U * 8);
  // Ten units, gathered for forward and, but for the last, again for backward.
  const Schedule sharded = of({4, 1, 1, 1, true, 1});
  EXPECT_EQ(count_of(sharded, NcclCollective::kAllGather), 10U + 9);
  EXPECT_EQ(count_of(sharded, NcclCollective::kReduceScatter), 10U);
  const Schedule ddp = of({4, 1, 1, 1, false, 1});
  EXPECT_EQ(count_of(ddp, NcclCollective::kAllReduce), ddp.buckets.size());
  const auto shape = spec_of({}).shape;
  EXPECT_EQ(ddp.sent, 4 * parameters_of(layers_of(shape)));
  EXPECT_EQ(std::accumulate(ddp.buckets.begin(), ddp.buckets.end(), std::uint64_t{0}), ddp.sent);
}

TEST(Schedule, BucketsAreBegunWhileBackwardGoesOn) {
  StepSpec spec = spec_of({4, 1, 1, 1, false, 1});
  spec.bucket = Bytes{1 << 20};
  const Schedule schedule = *make_schedule(spec, 0);
  ASSERT_GT(schedule.buckets.size(), 4U);
  const auto first = std::ranges::find(schedule.ops, OpKind::kStart, &StepOp::kind);
  const auto computes = std::ranges::count(first, schedule.ops.end(), OpKind::kCompute, &StepOp::kind);
  EXPECT_GT(computes, 4);
  EXPECT_EQ(std::ranges::count(schedule.ops, OpKind::kWait, &StepOp::kind), 1);
}

TEST(Schedule, ComputesTheSameHoweverItIsShared) {
  const double alone = compute_of(schedules_of(spec_of({1, 1, 1, 1, false, 1})).front());
  EXPECT_NEAR(compute_of(schedules_of(spec_of({1, 4, 1, 1, false, 1})).front()), alone / 4, alone * 1e-9);
  double stages = 0;
  for (const Schedule& schedule : schedules_of(spec_of({1, 1, 4, 1, false, 8})))
    stages += compute_of(schedule);
  EXPECT_NEAR(stages, alone, alone * 1e-9);
  StepSpec said = spec_of({2, 1, 1, 1, false, 2});
  said.compute_ms = 10;
  double blocks = 0;
  for (const StepOp& op : make_schedule(said, 0)->ops)
    blocks += op.phase == Phase::kForward ? op.ms : 0;
  EXPECT_GE(blocks, 8 * 10.0);  // and the head
  EXPECT_LT(blocks, 9 * 10.0);
}

TEST(Schedule, RefusesWhatDoesNotFit) {
  EXPECT_FALSE(make_schedule(spec_of({2, 1, 1, 1, false, 1}), 2));
  StepSpec large = spec_of({});
  large.shape.layers = 1U << 20U;
  EXPECT_FALSE(make_schedule(large, 0));
}

}  // namespace
}  // namespace angio::step
