#include "bench/conditions.hpp"

#include <gtest/gtest.h>

namespace angio::bench {
namespace {

TEST(CpuTime, OfTheFirstLine) {
  const auto time = parse_cpu_time("cpu  100 10 20 500 30 1 2 7 50 0\ncpu0 1 1 1 1 1 1 1 1 1 1\n");
  ASSERT_TRUE(time);
  EXPECT_EQ(time->all, 670U);  // guest is part of user and not counted twice
  EXPECT_EQ(time->idle, 530U);
  EXPECT_EQ(time->stolen, 7U);
}

TEST(CpuTime, DamagedTextGivesNothing) {
  EXPECT_FALSE(parse_cpu_time(""));
  EXPECT_FALSE(parse_cpu_time("cpu 1 2 3\n"));
  EXPECT_FALSE(parse_cpu_time("cpu0 1 2 3 4 5 6 7 8\n"));
  EXPECT_FALSE(parse_cpu_time("cpu 1 2 3 4 5 6 7 x\n"));
}

TEST(CpuShares, BetweenTwoReadings) {
  const auto shares = shares_between({1000, 800, 10}, {1100, 860, 15});
  ASSERT_TRUE(shares);
  EXPECT_DOUBLE_EQ(shares->busy, 35);
  EXPECT_DOUBLE_EQ(shares->stolen, 5);
  EXPECT_FALSE(shares_between({1000, 800, 10}, {1000, 800, 10}));
  EXPECT_FALSE(shares_between({1000, 800, 10}, {1100, 700, 10}));
}

TEST(Load, FirstWord) {
  EXPECT_EQ(parse_load("6.54 4.10 2.83 7/137 8019\n"), 6.54);
  EXPECT_FALSE(parse_load(""));
  EXPECT_FALSE(parse_load("high\n"));
}

TEST(Judge, NothingOnAQuietMachine) {
  model::BenchConditions conditions;
  conditions.others_percent = 1.0;
  conditions.steal_percent = 0.0;
  judge(conditions);
  EXPECT_TRUE(conditions.doubts.empty());
}

TEST(Judge, NamesLoadStealAndVirtualMachine) {
  model::BenchConditions conditions;
  conditions.others_percent = 48.2;
  conditions.steal_percent = 3.25;
  conditions.virtual_machine = true;
  judge(conditions);
  ASSERT_EQ(conditions.doubts.size(), 3U);
  EXPECT_EQ(conditions.doubts[0], "other processes used 48 % of all CPUs just before the start");
  EXPECT_EQ(conditions.doubts[1], "the hypervisor took 3.2 % of the CPU time meanwhile");
}

}  // namespace
}  // namespace angio::bench
