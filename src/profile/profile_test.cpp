#include "profile/profile.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "profile/statistics.hpp"
#include "profile/test_job.hpp"

namespace angio::profile {
namespace {

TEST(ProfileStatistics, MedianAndSpread) {
  EXPECT_DOUBLE_EQ(median({}), 0);
  EXPECT_DOUBLE_EQ(median({3, 1, 2}), 2);
  EXPECT_DOUBLE_EQ(median({4, 1, 2, 3}), 2.5);
  EXPECT_DOUBLE_EQ(spread({1, 1, 1, 1000}), 0);
  EXPECT_NEAR(spread({1, 2, 3, 4, 5}), 1.4826, 1e-9);
}

TEST(Profile, NamesTheRankThatComesLast) {
  TestJob job({.ranks = 4, .late_rank = 2, .late_ns = 1'000'000, .collectives = 20});
  const Profile profile = make_profile(job.inputs());
  ASSERT_EQ(profile.communicators.size(), 1U);
  const Communicator& all = profile.communicators[0];
  ASSERT_EQ(all.members.size(), 4U);
  EXPECT_EQ(all.compared, 20U);
  EXPECT_EQ(all.basis, Basis::kKernel);
  ASSERT_TRUE(all.straggler.has_value());
  const Member& late = all.members[*all.straggler];
  EXPECT_EQ(late.rank, 2);
  EXPECT_EQ(late.last, 20U);
  EXPECT_NEAR(late.late_ns, 1'000'000, 1);
  EXPECT_NEAR(late.delayed_ns, 20 * 1'000'000.0, 20);
  EXPECT_NEAR(all.members[0].waited_ns, 20 * 1'000'000.0, 20);
  EXPECT_NEAR(late.waited_ns, 0, 1);
  EXPECT_EQ(late.newest, "AllReduce 19");
  ASSERT_FALSE(all.worst.empty());
  EXPECT_EQ(all.worst[0].last_rank, 2);
  EXPECT_EQ(all.worst[0].bytes, 4U << 20U);
  EXPECT_EQ(all.worst[0].algorithm, "RING");
}

TEST(Profile, NamesNobodyWhenAllAreAlike) {
  TestJob job({.ranks = 4, .late_rank = 2, .late_ns = 2'000, .collectives = 20});
  const Profile profile = make_profile(job.inputs());
  EXPECT_FALSE(profile.communicators.at(0).straggler.has_value());
}

TEST(Profile, AlignsTheClocksOfHostsByTheEndsOfCollectives) {
  // Host 1's wall clock is 7 ms ahead: naively all its ranks would be 7 ms late.
  TestJob job({.ranks = 4,
               .hosts = 2,
               .late_rank = 1,
               .late_ns = 800'000,
               .collectives = 20,
               .clock_ahead_ns = 7'000'000});
  const Profile profile = make_profile(job.inputs());
  const Communicator& all = profile.communicators.at(0);
  ASSERT_EQ(all.clocks.size(), 2U);
  EXPECT_TRUE(all.clocks[1].comparable);
  EXPECT_NEAR(all.clocks[1].offset_ns, 7'000'000, 1);
  ASSERT_TRUE(all.clocks[1].uncertainty_ns.has_value());
  EXPECT_EQ(all.clocks[1].collectives, 20U);
  ASSERT_TRUE(all.straggler.has_value());
  EXPECT_EQ(all.members[*all.straggler].rank, 1);
}

TEST(Profile, ClaimsNothingAcrossHostsWithoutKernelTimes) {
  TestJob job(
      {.ranks = 2, .hosts = 2, .late_rank = 1, .late_ns = 900'000, .collectives = 20, .kernels = false});
  const Profile profile = make_profile(job.inputs());
  const Communicator& all = profile.communicators.at(0);
  EXPECT_FALSE(all.clocks.at(1).comparable);
  EXPECT_FALSE(all.clocks.at(1).uncertainty_ns.has_value());
  EXPECT_EQ(all.compared, 0U);
  EXPECT_FALSE(all.straggler.has_value());
}

TEST(Profile, FindsTheSlowConnection) {
  TestJob job({.ranks = 4, .hosts = 4, .collectives = 20, .slow_sender = 3, .slow_factor = 4});
  const Profile profile = make_profile(job.inputs());
  const std::vector<Link>& links = profile.communicators.at(0).links;
  ASSERT_EQ(links.size(), 8U);
  EXPECT_EQ(links[0].verdict, Verdict::kSlow);
  EXPECT_EQ(links[0].rank, 3);
  EXPECT_EQ(links[0].peer, 0);
  EXPECT_TRUE(links[0].send);
  EXPECT_NEAR(links[0].rate, TestJob::kStepBytes * 1e9 / (4.0 * TestJob::kStepNs), 1e3);
  EXPECT_EQ(links[0].count, 20U);
  EXPECT_NEAR(links[0].gpu_ns, 20 * 1000.0, 1);
  EXPECT_NEAR(links[0].peer_ns, 20 * 500.0, 1);
  EXPECT_NEAR(links[0].network_ns, 20 * 4.0 * TestJob::kStepNs, 1);
  for (std::size_t i = 1; i < links.size(); ++i)
    EXPECT_NE(links[i].verdict, Verdict::kSlow);
}

TEST(Profile, JudgesNoConnectionAmongTwo) {
  TestJob job({.ranks = 2, .hosts = 2, .collectives = 20, .slow_sender = 1, .slow_factor = 9});
  const Profile profile = make_profile(job.inputs());
  for (const Link& link : profile.communicators.at(0).links)
    EXPECT_EQ(link.verdict, Verdict::kUnknown);
}

TEST(Profile, KeepsFilesWithoutACommunicatorApartAndRepeatedRanksOut) {
  TestJob job({.ranks = 2, .collectives = 3});
  std::vector<Input> inputs = job.inputs();
  inputs.push_back(inputs[1]);
  inputs.back().file.path = "copy.ring";
  Profile profile = make_profile(inputs);
  EXPECT_EQ(profile.communicators.at(0).members.size(), 2U);
  ASSERT_EQ(profile.notes.size(), 1U);
  EXPECT_EQ(profile.notes[0], "copy.ring is another file of rank 1 of the same communicator; it is left out");
  for (Input& input : inputs)
    input.file.header.communicator = 0;
  profile = make_profile(inputs);
  EXPECT_EQ(profile.communicators.size(), 3U);
}

TEST(Profile, NothingAtAll) {
  EXPECT_TRUE(make_profile({}).communicators.empty());
  TestJob job({.ranks = 1, .collectives = 0});
  const Profile profile = make_profile(job.inputs());
  EXPECT_EQ(profile.communicators.at(0).compared, 0U);
  EXPECT_EQ(profile.communicators.at(0).members.at(0).newest, "");
}

}  // namespace
}  // namespace angio::profile
