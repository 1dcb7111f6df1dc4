#include "tuner/choices.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <string>
#include <vector>

namespace angio::tuner {
namespace {

std::shared_ptr<const Table> table_of(const std::string& text) {
  return std::make_shared<const Table>(parse_table(text));
}

const Rule* scan(const Table& table, Collective collective, std::uint64_t bytes, std::uint64_t nodes,
                 std::uint64_t ranks, std::uint64_t pipe_ops, bool registered) {
  for (const Rule& rule : table.rules)
    if (rule.collective == collective && rule.bytes.has(bytes) && rule.nodes.has(nodes) &&
        rule.ranks.has(ranks) && rule.pipe_ops.has(pipe_ops) && rule.registered.has(registered ? 1 : 0))
      return &rule;
  return nullptr;
}

TEST(TunerChoices, TheFirstRowThatFitsDecides) {
  const auto table = table_of(
      "allreduce,1K,2K,tree,ll,-1,2,16\n"
      "allreduce,0,1M,ring,simple,8,*,*\n"
      "allreduce,4M,*,nvls,simple,-1,1,8\n");
  ASSERT_TRUE(table->usable());
  const Choices two(table, 2, 16);
  EXPECT_EQ(two.fitting(), 2U);
  EXPECT_EQ(two.find(Collective::kAllReduce, 1024, 1, false)->line, 1U);
  EXPECT_EQ(two.find(Collective::kAllReduce, 2048, 1, false)->line, 1U);
  EXPECT_EQ(two.find(Collective::kAllReduce, 2049, 1, false)->line, 2U);
  EXPECT_EQ(two.find(Collective::kAllReduce, 1023, 1, false)->line, 2U);
  EXPECT_EQ(two.find(Collective::kAllReduce, 1048577, 1, false), nullptr);
  EXPECT_EQ(two.find(Collective::kAllGather, 1024, 1, false), nullptr);
  const Choices one(table, 1, 8);
  EXPECT_EQ(one.find(Collective::kAllReduce, kUnlimited, 1, false)->line, 3U);
  EXPECT_EQ(one.find(Collective::kAllReduce, 4194303, 1, false), nullptr);
}

TEST(TunerChoices, PipeOpsAndRegisteredBuffers) {
  const auto table = table_of(
      "allreduce,0,1M,tree,ll,-1,*,*,2-4\n"
      "allreduce,0,1M,nvls,simple,-1,*,*,*,1\n"
      "allreduce,0,1M,ring,ll,-1,*,*\n");
  ASSERT_TRUE(table->usable());
  const Choices choices(table, 1, 8);
  EXPECT_EQ(choices.find(Collective::kAllReduce, 8, 1, false)->line, 3U);
  EXPECT_EQ(choices.find(Collective::kAllReduce, 8, 1, true)->line, 2U);
  EXPECT_EQ(choices.find(Collective::kAllReduce, 8, 2, true)->line, 1U);
  EXPECT_EQ(choices.find(Collective::kAllReduce, 8, 4, false)->line, 1U);
  EXPECT_EQ(choices.find(Collective::kAllReduce, 8, 5, false)->line, 3U);
}

TEST(TunerChoices, IntervalsTellEverySize) {
  const auto table = table_of("allreduce,1K,2K,ring,ll,-1,*,*\n");
  const auto intervals = Choices(table, 1, 8).intervals(Collective::kAllReduce, 1, false);
  ASSERT_EQ(intervals.size(), 3U);
  EXPECT_EQ(intervals[0].bytes, (Range{0, 1023}));
  EXPECT_EQ(intervals[0].rule, nullptr);
  EXPECT_EQ(intervals[1].bytes, (Range{1024, 2048}));
  EXPECT_EQ(intervals[1].rule->line, 1U);
  EXPECT_EQ(intervals[2].bytes, (Range{2049, kUnlimited}));
}

// Small numbers, so that ends meet often; some large ones, for every width of a size.
class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}
  std::uint64_t below(std::uint64_t limit) { return engine_() % limit; }
  std::uint64_t size() { return below(4) == 0 ? engine_() >> below(64) : below(40); }
  Range range(std::uint64_t limit) {
    if (below(3) == 0) return {1, kUnlimited};
    const std::uint64_t low = 1 + below(limit);
    return {low, below(2) == 0 ? low : low + below(limit)};
  }
  Rule rule() {
    Rule rule;
    rule.collective = static_cast<Collective>(below(kCollectives));
    const std::uint64_t a = size();
    const std::uint64_t b = size();
    rule.bytes = {std::min(a, b), below(8) == 0 ? kUnlimited : std::max(a, b)};
    rule.nodes = range(4);
    rule.ranks = range(4);
    if (below(4) == 0) rule.pipe_ops = {1 + below(2), 2 + below(3)};
    if (rule.pipe_ops.low == 0) rule.pipe_ops.low = 1;
    const std::uint64_t kind = below(6);
    rule.registered = {kind == 1 ? 1U : 0U, kind == 0 ? 0U : 1U};
    return rule;
  }

 private:
  std::mt19937_64 engine_;
};

TEST(TunerChoices, AgreesWithALookThroughAllRows) {
  std::size_t hits = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    Random random(seed);
    Table table;
    for (std::uint64_t i = 0, count = 1 + random.below(60); i < count; ++i)
      table.rules.push_back(random.rule());
    const auto shared = std::make_shared<const Table>(table);
    const std::uint64_t nodes = 1 + random.below(8);
    const std::uint64_t ranks = 1 + random.below(8);
    const Choices choices(shared, nodes, ranks);
    for (int i = 0; i < 300; ++i) {
      const auto collective = static_cast<Collective>(random.below(kCollectives));
      const std::uint64_t bytes = random.size();
      const std::uint64_t pipe_ops = 1 + random.below(6);
      const bool registered = random.below(2) == 1;
      const Rule* expected = scan(*shared, collective, bytes, nodes, ranks, pipe_ops, registered);
      ASSERT_EQ(choices.find(collective, bytes, pipe_ops, registered), expected)
          << "seed " << seed << ", " << to_word(collective) << " of " << bytes << " B, " << pipe_ops;
      hits += expected != nullptr ? 1 : 0;
    }
  }
  EXPECT_GT(hits, 10000U);
}

// A row that is called unreachable is never found, on any communicator.
TEST(TunerChoices, WhatIsRefusedAsUnreachableNeverDecides) {
  std::size_t refused = 0;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    Random random(1000 + seed);
    std::string text;
    for (int i = 0; i < 25; ++i) {
      const Range bytes = random.rule().bytes;
      const std::string nodes = to_text(random.range(3));
      text += "allreduce," + std::to_string(bytes.low % 40) + "," +
              std::to_string(bytes.low % 40 + random.below(30)) + ",ring,ll,-1," + nodes + ",*\n";
    }
    const Table table = parse_table(text);
    for (const Remark& problem : table.problems) {
      ++refused;
      for (std::uint64_t nodes = 1; nodes < 9; ++nodes)
        for (std::uint64_t bytes = 0; bytes < 80; ++bytes) {
          const Rule* found = scan(table, Collective::kAllReduce, bytes, nodes, 64, 1, false);
          ASSERT_FALSE(found != nullptr && found->line == problem.line) << text << problem.line;
        }
    }
  }
  EXPECT_GT(refused, 100U);
}

}  // namespace
}  // namespace angio::tuner
