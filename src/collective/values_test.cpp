#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <set>

#include "collective/layout.hpp"
#include "collective/merge.hpp"
#include "collective/pattern.hpp"
#include "collective/wish.hpp"

namespace angio::collective {
namespace {

using model::NcclCollective;

TEST(Wish, SurvivesItsJson) {
  Wish wish;
  wish.collectives = {NcclCollective::kAllToAll, NcclCollective::kSendRecv};
  wish.least = Bytes{1};
  wish.step = Bytes{100};
  wish.element = Element::kBfloat16;
  wish.reduction = Reduction::kAverage;
  wish.check = false;
  wish.nccl = "/a b/libnccl.so.2";
  const auto again = parse_wish(to_text(to_json(wish), -1));
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(*again, wish);
}

TEST(Wish, NamesWhatIsWrong) {
  EXPECT_NE(parse_wish(R"({"element":"floot"})").error().message.find("\"element\""), std::string::npos);
  EXPECT_NE(parse_wish(R"({"collectives":["reduce_all"]})").error().message.find("collectives"),
            std::string::npos);
  EXPECT_FALSE(parse_wish(R"({"iterations":0})"));
  EXPECT_FALSE(parse_wish(R"({"least":-1})"));
  EXPECT_FALSE(parse_wish("[]"));
}

TEST(Wish, KnowsTheNamesOfNcclTests) {
  for (const char* word : {"all_reduce", "AllReduce", "all_reduce_perf", "allreduce"})
    EXPECT_EQ(parse_collective(word), NcclCollective::kAllReduce);
  EXPECT_EQ(parse_collective("alltoall_perf"), NcclCollective::kAllToAll);
  EXPECT_EQ(parse_collective("all_to_all"), NcclCollective::kAllToAll);
  const auto wrong = parse_collective("all_reduc");
  ASSERT_FALSE(wrong);
  EXPECT_NE(wrong.error().hint.find("all_reduce"), std::string::npos);
}

TEST(Sizes, StepAndFactor) {
  Wish wish;
  wish.least = Bytes{8};
  wish.most = Bytes{64};
  EXPECT_EQ(sizes_of(wish), (std::vector{Bytes{8}, Bytes{16}, Bytes{32}, Bytes{64}}));
  wish.step = Bytes{20};
  EXPECT_EQ(sizes_of(wish), (std::vector{Bytes{8}, Bytes{28}, Bytes{48}}));
  wish.step = Bytes{0};
  EXPECT_FALSE(sizes_of(wish));
  wish.least = wish.most;
  EXPECT_EQ(sizes_of(wish), std::vector{Bytes{64}});
  wish.most = Bytes{1};
  EXPECT_FALSE(sizes_of(wish));
  wish.most = Bytes{1000000};
  wish.step = Bytes{1};
  EXPECT_FALSE(sizes_of(wish));  // too many
}

TEST(Sizes, EndAtTheLargestNumber) {
  Wish wish;
  wish.least = Bytes{std::uint64_t{1} << 62U};
  wish.most = Bytes{~std::uint64_t{0}};
  EXPECT_EQ(sizes_of(wish)->size(), 2U);
  wish.step = Bytes{std::uint64_t{1} << 63U};
  EXPECT_EQ(sizes_of(wish)->size(), 2U);
}

// Counts that nccl-tests 2.17.6 prints for 8 ranks, float, -b 1M (src/*.cu: GetCollByteCount).
TEST(Layout, CountsAsNcclTests) {
  const auto of = [](NcclCollective collective) {
    return layout_of(collective, Bytes{1048576}, Element::kFloat, 8);
  };
  EXPECT_EQ(of(NcclCollective::kAllReduce).count, 262144U);
  for (const NcclCollective collective :
       {NcclCollective::kAllGather, NcclCollective::kReduceScatter, NcclCollective::kAllToAll,
        NcclCollective::kGather, NcclCollective::kScatter}) {
    EXPECT_EQ(of(collective).count, 32768U);
    EXPECT_EQ(of(collective).size, Bytes{1048576});
  }
  EXPECT_EQ(of(NcclCollective::kAllGather).send_in_place, 32768U);
  EXPECT_EQ(of(NcclCollective::kReduceScatter).receive_in_place, 32768U);
  // A part is whole 16 B.
  EXPECT_EQ(layout_of(NcclCollective::kAllGather, Bytes{1000}, Element::kFloat, 3).size, Bytes{3 * 320});
  EXPECT_EQ(layout_of(NcclCollective::kAllGather, Bytes{8}, Element::kFloat, 8).count, 0U);
}

bool holds_small_sums(Element element, std::uint32_t ranks, std::uint64_t most) {
  Pattern pattern;
  pattern.element = element;
  pattern.reduction = Reduction::kSum;
  pattern.ranks = ranks;
  constexpr std::uint64_t kCount = 500;
  const auto sum = reduced(pattern, 0, kCount);
  std::uint64_t largest = 0;
  for (std::uint64_t i = 0; i < kCount; ++i) {
    std::uint64_t value = 0;
    std::memcpy(&value, sum.data() + i * size_of(element), size_of(element));
    largest = std::max(largest, value);
  }
  return largest > 0 && largest <= most;
}

TEST(Pattern, SumsStayExactWithManyRanks) {
  for (const std::uint32_t ranks : {1U, 2U, 3U, 8U, 100U, 1000U, 5000U}) {
    EXPECT_TRUE(holds_small_sums(Element::kInt8, ranks, 127)) << ranks;
    EXPECT_TRUE(holds_small_sums(Element::kUint8, ranks, 255)) << ranks;
    EXPECT_TRUE(holds_small_sums(Element::kInt32, ranks, 0x7fffffff)) << ranks;
  }
}

TEST(Pattern, RanksPlacesAndRunsDiffer) {
  Pattern pattern;
  pattern.element = Element::kInt32;
  const auto one = sent_by(pattern, 0, 0, 1000);
  EXPECT_NE(one, sent_by(pattern, 1, 0, 1000));
  EXPECT_NE(one, sent_by(pattern, 0, 1, 1000));
  pattern.run = 1;
  EXPECT_NE(one, sent_by(pattern, 0, 0, 1000));
}

TEST(Pattern, LongDataIsItsPieces) {
  Pattern pattern;
  pattern.element = Element::kDouble;
  pattern.reduction = Reduction::kSum;
  pattern.ranks = 3;
  const auto whole = reduced(pattern, 5, 40000);
  const auto piece = reduced(pattern, 5 + 33333, 100);
  EXPECT_EQ(std::memcmp(whole.data() + 33333 * 8, piece.data(), piece.size()), 0);
}

TEST(Pattern, OneBitIsFoundAndNamed) {
  for (const Element element : {Element::kInt8, Element::kHalf, Element::kBfloat16, Element::kFloat,
                                Element::kDouble, Element::kInt64}) {
    Pattern pattern;
    pattern.element = element;
    pattern.reduction = Reduction::kSum;
    pattern.ranks = 8;
    auto data = reduced(pattern, 0, 30000);
    std::optional<std::uint64_t> where;
    const Piece piece{0, 30000, 0, std::nullopt};
    EXPECT_EQ(count_wrong(pattern, data, piece, 0, where), 0U);
    data[20001 * size_of(element)] ^= std::byte{1};
    EXPECT_EQ(count_wrong(pattern, data, piece, 0, where), 1U) << label(element);
    EXPECT_EQ(where, 20001U);
  }
}

// binary16 by hand: 1 is 0x3c00, 2 0x4000, 3 0x4200, 2047 0x67ff; bfloat16 is the upper half of a float.
TEST(Pattern, HalvesAreWhatTheirFormatsSay) {
  Pattern pattern;
  pattern.element = Element::kHalf;
  pattern.reduction = Reduction::kProduct;
  pattern.ranks = 1000;
  const auto halves = sent_by(pattern, 7, 0, 200);  // nearly all 1
  std::uint16_t bits = 0;
  std::set<std::uint16_t> seen;
  for (std::size_t i = 0; i < 200; ++i) {
    std::memcpy(&bits, halves.data() + 2 * i, 2);
    seen.insert(bits);
  }
  EXPECT_TRUE(seen.contains(0x3c00));
  pattern.element = Element::kBfloat16;
  const auto brains = sent_by(pattern, 7, 0, 200);
  seen.clear();
  for (std::size_t i = 0; i < 200; ++i) {
    std::memcpy(&bits, brains.data() + 2 * i, 2);
    seen.insert(bits);
  }
  EXPECT_TRUE(seen.contains(0x3f80));
}

TEST(Pattern, AveragesMayBeRounded) {
  Pattern pattern;
  pattern.element = Element::kFloat;
  pattern.reduction = Reduction::kAverage;
  pattern.ranks = 3;
  auto data = reduced(pattern, 0, 100);
  float value = 0;
  std::memcpy(&value, data.data(), sizeof value);
  value = std::nextafter(value, 1e30F);
  std::memcpy(data.data(), &value, sizeof value);
  std::optional<std::uint64_t> where;
  const Piece piece{0, 100, 0, std::nullopt};
  EXPECT_EQ(count_wrong(pattern, data, piece, 0, where), 0U);
  value *= 1.0001F;
  std::memcpy(data.data(), &value, sizeof value);
  EXPECT_EQ(count_wrong(pattern, data, piece, 0, where), 1U);
}

// A type that does not hold the number of ranks averages nothing but 0: what wraps around is no wrong data.
TEST(Pattern, SumsBehindAveragesDoNotOverflow) {
  Pattern pattern;
  pattern.element = Element::kInt8;
  pattern.reduction = Reduction::kAverage;
  for (pattern.ranks = 1; pattern.ranks < 400; pattern.ranks += 21) {
    int sum = 0;
    for (std::uint32_t rank = 0; rank < pattern.ranks; ++rank)
      sum += static_cast<std::int8_t>(sent_by(pattern, rank, 5, 1).front());
    EXPECT_LE(sum, 127);
    EXPECT_EQ(static_cast<int>(reduced(pattern, 5, 1).front()), sum / static_cast<int>(pattern.ranks));
    EXPECT_EQ(sum == 0, pattern.ranks > 127);
  }
}

TEST(Merge, QuantilesLieBetweenValues) {
  const std::vector<double> sorted{1, 2, 3, 4, 5};
  EXPECT_DOUBLE_EQ(quantile(sorted, 0.5), 3);
  EXPECT_DOUBLE_EQ(quantile(sorted, 0.95), 4.8);
  EXPECT_DOUBLE_EQ(quantile(sorted, 1), 5);
  EXPECT_DOUBLE_EQ(quantile({}, 0.5), 0);
}

TEST(Merge, AnIterationLastsAsLongAsOnItsSlowestRankAndOutliersHaveNames) {
  std::vector<std::vector<double>> samples(3, std::vector<double>(20, 10));
  for (std::size_t i = 0; i < 20; ++i)
    samples[1][i] = 10 + 0.01 * static_cast<double>(i % 3);
  samples[2][7] = 42;
  samples[0][9] = 12;  // a fifth longer is no outlier
  model::CollectiveRow row;
  take_samples(samples, row);
  EXPECT_DOUBLE_EQ(row.minimum_us, 10);
  EXPECT_DOUBLE_EQ(row.maximum_us, 42);
  ASSERT_EQ(row.outliers.size(), 1U);
  EXPECT_EQ(row.outliers.front().iteration, 7U);
  EXPECT_EQ(row.outliers.front().rank, 2U);
}

TEST(Merge, NoisyTimesAreNoOutliers) {
  std::vector<std::vector<double>> samples(1);
  for (int i = 0; i < 100; ++i)
    samples[0].push_back(10 + (i * 37 % 100) * 0.2);  // 10 to 30, evenly
  model::CollectiveRow row;
  take_samples(samples, row);
  EXPECT_TRUE(row.outliers.empty());
}

TEST(Merge, EveryPairOnceAndNoRankTwiceInARound) {
  for (const std::uint32_t ranks : {1U, 2U, 3U, 4U, 7U, 8U, 16U}) {
    std::set<RankPair> all;
    for (const auto& round : pair_rounds(ranks)) {
      std::set<std::uint32_t> busy;
      for (const auto& [first, second] : round) {
        EXPECT_LT(first, second);
        EXPECT_LT(second, ranks);
        EXPECT_TRUE(busy.insert(first).second);
        EXPECT_TRUE(busy.insert(second).second);
        EXPECT_TRUE(all.emplace(first, second).second);
      }
    }
    EXPECT_EQ(all.size(), std::size_t{ranks} * (ranks - 1) / 2);
  }
}

}  // namespace
}  // namespace angio::collective
