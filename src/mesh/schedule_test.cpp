#include "mesh/schedule.hpp"

#include <gtest/gtest.h>

#include <map>
#include <set>

namespace angio::mesh {
namespace {

// No host twice in a round; returns how often each pair plays.
std::map<HostPair, int> played(std::uint32_t hosts, const std::vector<Round>& rounds) {
  std::map<HostPair, int> count;
  for (const Round& round : rounds) {
    std::set<std::uint32_t> busy;
    for (const HostPair& pair : round) {
      EXPECT_LT(pair.first, pair.second);
      EXPECT_LT(pair.second, hosts);
      EXPECT_TRUE(busy.insert(pair.first).second);
      EXPECT_TRUE(busy.insert(pair.second).second);
      ++count[pair];
    }
  }
  return count;
}

TEST(Schedule, EveryPairOnceInTheFewestRounds) {
  for (const std::uint32_t hosts : {2U, 3U, 4U, 5U, 8U, 9U, 64U, 65U}) {
    const auto rounds = full_mesh(hosts);
    EXPECT_EQ(rounds.size(), hosts % 2 == 0 ? hosts - 1 : hosts) << hosts;
    const auto count = played(hosts, rounds);
    EXPECT_EQ(count.size(), std::size_t{hosts} * (hosts - 1) / 2) << hosts;
    for (const auto& [pair, times] : count)
      EXPECT_EQ(times, 1);
    for (const Round& round : rounds)
      EXPECT_EQ(round.size(), hosts / 2) << hosts;
  }
  EXPECT_TRUE(full_mesh(1).empty());
  EXPECT_TRUE(full_mesh(0).empty());
}

TEST(Schedule, SampleMeetsNearAndFarHosts) {
  constexpr std::uint32_t kHosts = 1000;
  const auto rounds = sampled_mesh(kHosts, 6);
  EXPECT_LE(rounds.size(), 10U);
  std::vector<int> partners(kHosts);
  std::set<std::uint32_t> distances;
  for (const auto& [pair, times] : played(kHosts, rounds)) {
    EXPECT_EQ(times, 1);
    ++partners[pair.first];
    ++partners[pair.second];
    const std::uint32_t apart = pair.second - pair.first;
    distances.insert(std::min(apart, kHosts - apart));
  }
  for (const int count : partners)
    EXPECT_EQ(count, 5);  // the farthest distance of an even circle gives one partner
  EXPECT_EQ(distances, (std::set<std::uint32_t>{1, 2, 500}));
}

TEST(Schedule, SampleOfFewHostsIsTheFullMesh) {
  EXPECT_EQ(sampled_mesh(4, 3), full_mesh(4));
  EXPECT_EQ(sampled_mesh(6, 9), full_mesh(6));
}

TEST(Schedule, WhatIsLeftInFewRounds) {
  const auto rounds = rounds_of(6, {{0, 1}, {0, 2}, {3, 4}, {1, 2}});
  EXPECT_EQ(rounds.size(), 3U);
  EXPECT_EQ(played(6, rounds).size(), 4U);
}

TEST(Schedule, PairsAtOnceAreBounded) {
  const auto rounds = at_most(full_mesh(8), 3);
  EXPECT_EQ(rounds.size(), 14U);
  for (const Round& round : rounds)
    EXPECT_LE(round.size(), 3U);
  EXPECT_EQ(played(8, rounds).size(), 28U);
  EXPECT_EQ(at_most(full_mesh(8), 0), full_mesh(8));
}

}  // namespace
}  // namespace angio::mesh
