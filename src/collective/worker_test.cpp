#include "collective/worker.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <thread>

#include "collective/run_json.hpp"
#include "collective/thread_world.hpp"

namespace angio::collective {
namespace {

using model::NcclCollective;

constexpr std::uint32_t kRanks = 4;

struct Ends {
  std::vector<Result<std::optional<model::CollectiveRun>>> ends;
  [[nodiscard]] const model::CollectiveRun& run() const { return **ends.front(); }
};

Ends run_threads(ThreadWorld& world, const Wish& wish, std::uint32_t ranks = kRanks,
                 const std::function<bool()>& stop = {}) {
  Ends all;
  all.ends.resize(ranks, fail(ErrorCode::kBug, "not run"));
  std::vector<std::jthread> threads;
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&, rank] {
      const auto transport = world.transport(rank);
      const auto meeting = world.meeting(rank);
      RankSelf self;
      self.local_rank = rank;
      self.host = rank < 2 ? "n0" : "n1";
      self.pid = 100 + rank;
      self.began = 10 + rank;
      self.here = 12 + rank;
      self.init_seconds = 0.5 * rank;
      all.ends[rank] = run_worker({*transport, *meeting, wish, self, stop, {}});
    });
  }
  threads.clear();
  return all;
}

Wish small_wish() {
  Wish wish;
  wish.least = Bytes{256};
  wish.most = Bytes{4096};
  wish.factor = 4;
  wish.iterations = 3;
  wish.warm_up = 1;
  return wish;
}

const std::vector<NcclCollective> kAll = {
    NcclCollective::kAllReduce, NcclCollective::kAllGather, NcclCollective::kReduceScatter,
    NcclCollective::kBroadcast, NcclCollective::kReduce,    NcclCollective::kAllToAll,
    NcclCollective::kGather,    NcclCollective::kScatter,   NcclCollective::kSendRecv};

TEST(Worker, EveryCollectiveArrivesRight) {
  ThreadWorld world(kRanks);
  Wish wish = small_wish();
  wish.collectives = kAll;
  wish.root = 2;
  const Ends all = run_threads(world, wish);
  ASSERT_TRUE(all.ends.front()) << all.ends.front().error().message;
  const model::CollectiveRun& run = all.run();
  // 3 sizes; all but AlltoAll and SendRecv in place, too.
  ASSERT_EQ(run.rows.size(), 3U * (9 + 7));
  for (const model::CollectiveRow& row : run.rows) {
    SCOPED_TRACE(std::string(model::name_of(row.collective)) + (row.in_place ? " in place" : ""));
    EXPECT_EQ(row.wrong, 0U);
    EXPECT_GT(row.time_us, 0);
    EXPECT_GE(row.maximum_us, row.median_us);
    EXPECT_DOUBLE_EQ(row.algorithm.value, static_cast<double>(row.size.value) / (row.time_us * 1e-6));
    EXPECT_DOUBLE_EQ(row.bus.value / row.algorithm.value, *model::bus_factor(row.collective, kRanks));
    EXPECT_EQ(row.reduction.empty(), !reduces(row.collective));
  }
  EXPECT_TRUE(run.notes.empty());
  for (std::uint32_t rank = 1; rank < kRanks; ++rank)
    EXPECT_TRUE(all.ends[rank] && !all.ends[rank]->has_value());
}

TEST(Worker, SaysWhoTookPartAndHowLongTheStartTook) {
  ThreadWorld world(kRanks);
  const Ends all = run_threads(world, small_wish());
  const model::CollectiveRun& run = all.run();
  EXPECT_EQ(run.backend, "threads");
  EXPECT_EQ(run.ranks, kRanks);
  EXPECT_EQ(run.nodes, 2U);
  ASSERT_EQ(run.members.size(), kRanks);
  EXPECT_EQ(run.members[3].host, "n1");
  EXPECT_EQ(run.members[3].pid, 103U);
  EXPECT_DOUBLE_EQ(run.launch_seconds, 15 - 10);  // the last came at 15, the first began at 10
  EXPECT_DOUBLE_EQ(run.init_seconds, 1.5);
  EXPECT_GT(run.first_seconds, 0);
}

TEST(Worker, EveryTypeAndReductionIsExact) {
  for (const Element element : {Element::kInt8, Element::kUint8, Element::kInt32, Element::kUint32,
                                Element::kInt64, Element::kUint64, Element::kFloat, Element::kDouble}) {
    for (const Reduction reduction :
         {Reduction::kSum, Reduction::kProduct, Reduction::kMinimum, Reduction::kMaximum}) {
      ThreadWorld world(3);
      Wish wish = small_wish();
      wish.collectives = {NcclCollective::kAllReduce, NcclCollective::kReduceScatter};
      wish.element = element;
      wish.reduction = reduction;
      const Ends all = run_threads(world, wish, 3);
      ASSERT_TRUE(all.ends.front());
      for (const model::CollectiveRow& row : all.run().rows)
        EXPECT_EQ(row.wrong, 0U) << label(element) << " " << label(reduction);
    }
  }
}

TEST(Worker, FindsOneWrongElement) {
  ThreadWorld world(kRanks);
  // The last bit of one element, in every call of 1024 B on rank 2.
  world.damage_by([](std::uint32_t rank, const Call& call, std::uint64_t) {
    if (rank != 2 || call.count != 256) return;
    auto* bytes = reinterpret_cast<unsigned char*>(call.receive);
    bytes[100 * sizeof(float)] ^= 1U;
  });
  const Ends all = run_threads(world, small_wish());
  const model::CollectiveRun& run = all.run();
  std::uint32_t found = 0;
  for (const model::CollectiveRow& row : run.rows) {
    EXPECT_EQ(row.wrong, row.count == 256 ? 1U : 0U);
    found += row.count == 256 ? 1 : 0;
  }
  EXPECT_EQ(found, 2U);
  ASSERT_EQ(run.notes.size(), 2U);
  EXPECT_EQ(run.notes.front(), "AllReduce of 1 KiB: rank 2 received 1 wrong element, first at element 100");
}

TEST(Worker, FindsDataOfAnEarlierRun) {
  ThreadWorld world(kRanks);
  std::map<std::uint64_t, std::vector<unsigned char>> kept;
  world.damage_by([&kept](std::uint32_t rank, const Call& call, std::uint64_t) {
    if (rank != 1 || call.count != 64) return;
    auto* bytes = reinterpret_cast<unsigned char*>(call.receive);
    std::vector<unsigned char> now(bytes, bytes + 256);
    auto& before = kept[call.send];
    if (!before.empty()) std::memcpy(bytes, before.data(), before.size());
    before = now;
  });
  const Ends all = run_threads(world, small_wish());
  EXPECT_GT(all.run().rows.front().wrong.value_or(0), 32U);
}

TEST(Worker, SizesThatLeaveNothingAreSaid) {
  ThreadWorld world(kRanks);
  Wish wish = small_wish();
  wish.collectives = {NcclCollective::kAllReduce, NcclCollective::kAllGather};
  wish.least = wish.most = Bytes{8};
  const Ends some = run_threads(world, wish);
  ASSERT_EQ(some.run().rows.size(), 2U);
  EXPECT_EQ(some.run().notes,
            std::vector<std::string>{
                fmt::format("AllGather: sizes below 16 B for each of the {} ranks were left out", kRanks)});
  ThreadWorld another(kRanks);
  wish.least = wish.most = Bytes{3};
  const Ends none = run_threads(another, wish);
  ASSERT_FALSE(none.ends.front());
  EXPECT_EQ(none.ends.front().error().message, "no size leaves anything to measure");
}

TEST(Worker, WithoutCheckThereIsNoVerdictOnTheData) {
  ThreadWorld world(kRanks);
  Wish wish = small_wish();
  wish.check = false;
  wish.samples = false;
  wish.in_place = false;
  const Ends all = run_threads(world, wish);
  ASSERT_EQ(all.run().rows.size(), 3U);
  EXPECT_FALSE(all.run().rows.front().wrong.has_value());
  EXPECT_EQ(all.run().rows.front().maximum_us, 0);
}

TEST(Worker, OneRankThatWantsToStopStopsAll) {
  ThreadWorld world(kRanks);
  std::atomic<int> asked = 0;
  const Ends all = run_threads(world, small_wish(), kRanks, [&asked] { return ++asked > 6; });
  EXPECT_TRUE(all.run().interrupted);
  EXPECT_EQ(all.run().rows.size(), 2U);  // what was finished
}

TEST(Worker, EveryPairOnceInEachDirection) {
  ThreadWorld world(kRanks);
  Wish wish = small_wish();
  wish.pairs = true;
  wish.pair_size = Bytes{65536};
  const Ends all = run_threads(world, wish);
  ASSERT_TRUE(all.ends.front());
  const auto& pairs = all.run().pairs;
  ASSERT_EQ(pairs.size(), std::size_t{kRanks} * (kRanks - 1));
  for (const model::CollectivePair& pair : pairs) {
    EXPECT_NE(pair.from, pair.to);
    EXPECT_GT(pair.rate.value, 0);
    EXPECT_GT(pair.latency_us, 0);
  }
}

TEST(Worker, ARootThatIsNoRankIsAnErrorOnAll) {
  ThreadWorld world(kRanks);
  Wish wish = small_wish();
  wish.root = 9;
  const Ends all = run_threads(world, wish);
  for (const auto& end : all.ends) {
    ASSERT_FALSE(end);
    EXPECT_NE(end.error().message.find("root 9 is none of the 4 ranks"), std::string::npos);
  }
}

TEST(Worker, TheResultSurvivesItsJson) {
  ThreadWorld world(kRanks);
  Wish wish = small_wish();
  wish.pairs = true;
  wish.pair_size = Bytes{4096};
  const Ends all = run_threads(world, wish);
  const std::string text = to_text(to_json(all.run()));
  const auto again = parse_run(text);
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(to_text(to_json(*again)), text);
}

TEST(RunJson, SaysWhatIsWrong) {
  EXPECT_NE(parse_run("{\"schema\":\"x/1\"}").error().message.find("\"x/1\" found"), std::string::npos);
  const auto wrong =
      parse_run(R"({"schema":"angio.bench-collective/1","rows":[{"collective":"all_reduce","bytes":"a"}]})");
  EXPECT_NE(wrong.error().message.find("\"bytes\""), std::string::npos);
  EXPECT_FALSE(parse_run(""));
}

}  // namespace
}  // namespace angio::collective
