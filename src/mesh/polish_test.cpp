#include "mesh/polish.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace angio::mesh {
namespace {

TEST(Polish, TakesSenderReceiverAndPairApart) {
  // value = 10 + out + in, and one wild pair.
  const std::vector<double> out{0, 0, -2, 0, 0};
  const std::vector<double> in{0, -1, 0, 0, 0};
  std::vector<Cell> cells;
  for (std::uint32_t from = 0; from < 5; ++from) {
    for (std::uint32_t to = 0; to < 5; ++to) {
      if (from != to) cells.push_back({from, to, 10 + out[from] + in[to] - (from == 3 && to == 4 ? 5 : 0)});
    }
  }
  const Polish fit = polish(cells, 5);
  EXPECT_NEAR(fit.overall, 10, 1e-6);
  for (std::uint32_t end = 0; end < 5; ++end) {
    EXPECT_NEAR(fit.out[end], out[end], 1e-6) << end;
    EXPECT_NEAR(fit.in[end], in[end], 1e-6) << end;
    EXPECT_EQ(fit.out_cells[end], 4U);
  }
  for (std::size_t i = 0; i < cells.size(); ++i)
    EXPECT_NEAR(fit.residuals[i], cells[i].from == 3 && cells[i].to == 4 ? -5 : 0, 1e-6);
}

TEST(Polish, ThreeHostsAreEnoughForOneSlowOne) {
  std::vector<Cell> cells;
  for (std::uint32_t from = 0; from < 3; ++from) {
    for (std::uint32_t to = 0; to < 3; ++to) {
      if (from != to) cells.push_back({from, to, from == 2 || to == 2 ? -1.0 : 0.0});
    }
  }
  const Polish fit = polish(cells, 3);
  EXPECT_NEAR(fit.out[2], -1, 1e-4);
  EXPECT_NEAR(fit.in[2], -1, 1e-4);
  EXPECT_NEAR(fit.overall, 0, 1e-4);
}

TEST(Polish, EmptyTable) {
  const Polish fit = polish({}, 3);
  EXPECT_EQ(fit.overall, 0);
  EXPECT_EQ(fit.out, std::vector<double>(3));
}

std::vector<Cell> two_groups(double between) {
  std::vector<Cell> cells;
  for (std::uint32_t from = 0; from < 7; ++from) {
    for (std::uint32_t to = 0; to < 7; ++to) {
      if (from != to)
        cells.push_back({from, to, (from < 3) == (to < 3) ? 0.01 * ((from + to) % 3) : between});
    }
  }
  return cells;
}

TEST(Groups, AreFoundWhereTheTrunkIsSlow) {
  const auto groups = find_groups(two_groups(-0.7), 7, 0.2, 6);
  ASSERT_TRUE(groups.has_value());
  EXPECT_EQ(groups->count, 2U);
  EXPECT_EQ(groups->group_of, (std::vector<std::uint32_t>{0, 0, 0, 1, 1, 1, 1}));
  EXPECT_NEAR(groups->within - groups->between, 0.71, 0.02);
}

TEST(Groups, AreNoneWithoutAGapOrOfSingleHosts) {
  EXPECT_FALSE(find_groups(two_groups(-0.1), 7, 0.2, 6).has_value());
  std::vector<Cell> cells;
  for (std::uint32_t from = 0; from < 6; ++from) {
    for (std::uint32_t to = 0; to < 6; ++to) {
      if (from != to) cells.push_back({from, to, from >= 4 || to >= 4 ? -1.0 : 0.0});
    }
  }
  EXPECT_FALSE(find_groups(cells, 6, 0.2, 6).has_value());
  EXPECT_FALSE(find_groups({}, 0, 0.2, 6).has_value());
}

TEST(Statistics, MedianAndSpread) {
  EXPECT_EQ(median_of({}), 0);
  EXPECT_EQ(median_of({3, 1, 2}), 2);
  EXPECT_EQ(median_of({4, 1, 2, 3}), 2.5);
  EXPECT_NEAR(spread_of({1, 2, 3, 4, 5}), 1.4826, 1e-9);
}

}  // namespace
}  // namespace angio::mesh
