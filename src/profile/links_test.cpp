#include "profile/links.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "profile/profile.hpp"
#include "profile/slow_groups.hpp"
#include "profile/test_job.hpp"

namespace angio::profile {
namespace {

using Common = SlowGroup::Common;

constexpr double kRate = TestJob::kStepBytes * 1e9 / TestJob::kStepNs;  // bytes a second

Communicator look_at(const JobPlan& plan) {
  return make_profile(TestJob(plan).inputs()).communicators.at(0);
}

const Link& send_of(const Communicator& communicator, std::int32_t rank) {
  for (const Link& link : communicator.links)
    if (link.send && link.rank == rank) return link;
  static const Link kNone;
  return kNone;
}

TEST(ProfileLinks, ComparesOnlyStepsOfOneSize) {
  // Rank 1 is slower than the slow one, but its steps are of another size: it says nothing about the others.
  const Communicator all = look_at(
      {.ranks = 6, .hosts = 6, .collectives = 20, .slow_sender = 3, .slow_factor = 4, .small_sender = 1});
  const Link& slow = send_of(all, 3);
  EXPECT_EQ(slow.verdict, Verdict::kSlow);
  EXPECT_EQ(slow.alike, 4U);
  EXPECT_NEAR(slow.alike_least, kRate, 1e3);
  EXPECT_NEAR(slow.alike_median, kRate, 1e3);
  EXPECT_GT(slow.alike_least, slow.rate);
  const Link& small = send_of(all, 1);
  EXPECT_LT(small.rate, slow.rate);
  EXPECT_EQ(small.verdict, Verdict::kUnknown);
  EXPECT_EQ(small.why, Unjudged::kFewAlike);
  ASSERT_EQ(all.slow.size(), 1U);
  EXPECT_EQ(all.slow[0].common, Common::kPair);
}

TEST(ProfileLinks, StepsOfNothingHaveNoRateAndNoVerdict) {
  const Communicator all = look_at(
      {.ranks = 4, .hosts = 4, .collectives = 20, .slow_sender = 3, .slow_factor = 90, .step_bytes = 0});
  ASSERT_EQ(all.links.size(), 8U);
  for (const Link& link : all.links) {
    EXPECT_EQ(link.count, 20U);
    EXPECT_EQ(link.bytes, 0U);
    EXPECT_FALSE(link.bytes_at_most);  // interface 5 told that it was nothing
    EXPECT_EQ(link.rate, 0);
    EXPECT_EQ(link.verdict, Verdict::kUnknown);
    EXPECT_EQ(link.why, link.send ? Unjudged::kSmallSteps : Unjudged::kReceive);
  }
  EXPECT_TRUE(all.slow.empty());
}

TEST(ProfileLinks, JudgesFromSixtyFourKibibytesAStepOn) {
  JobPlan plan{.ranks = 4, .hosts = 4, .collectives = 20, .slow_sender = 3, .slow_factor = 4};
  plan.step_bytes = 65'535;
  EXPECT_EQ(send_of(look_at(plan), 3).why, Unjudged::kSmallSteps);
  plan.step_bytes = 65'536;
  EXPECT_EQ(send_of(look_at(plan), 3).verdict, Verdict::kSlow);
  plan.collectives = 7;
  EXPECT_EQ(send_of(look_at(plan), 3).why, Unjudged::kFewSteps);
  plan.collectives = 8;
  EXPECT_EQ(send_of(look_at(plan), 3).verdict, Verdict::kSlow);
}

TEST(ProfileLinks, OldInterfacesTellTheBytesOfOperations) {
  JobPlan plan{.ranks = 4, .hosts = 4, .collectives = 20, .slow_sender = 3, .slow_factor = 4};
  plan.interface = 3;
  plan.step_bytes = 131'072;
  const Communicator untold = look_at(plan);
  EXPECT_EQ(send_of(untold, 3).why, Unjudged::kBytesUnknown);
  EXPECT_TRUE(send_of(untold, 3).bytes_at_most);
  EXPECT_EQ(send_of(untold, 3).bytes, 20 * TestJob::kStepBytes);  // chunks
  EXPECT_NEAR(send_of(untold, 3).rate, kRate / 4, 1e3);
  EXPECT_TRUE(untold.slow.empty());
  plan.operation_bytes = true;
  const Communicator told = look_at(plan);
  EXPECT_EQ(send_of(told, 3).verdict, Verdict::kSlow);
  EXPECT_FALSE(send_of(told, 3).bytes_at_most);
  EXPECT_EQ(send_of(told, 3).bytes, 20U * 131'072);
  EXPECT_NEAR(send_of(told, 3).rate, kRate / 16, 1e3);
}

TEST(ProfileLinks, AStepThatHasNotStoppedLeavesTheBytesExact) {
  TestJob job({.ranks = 2, .hosts = 2, .collectives = 9});
  std::vector<Input> inputs = job.inputs();
  for (profile_ring::Event& event : inputs[0].file.events) {
    if (event.record.kind != profile_ring::EventKind::kProxyStep) continue;
    event.record.stop_ns = 0;
    event.record.size = 0;
    event.record.times = {};
    break;
  }
  const Communicator all = make_profile(inputs).communicators.at(0);
  EXPECT_EQ(send_of(all, 0).count, 8U);
  EXPECT_EQ(send_of(all, 0).bytes, 8 * TestJob::kStepBytes);
  EXPECT_FALSE(send_of(all, 0).bytes_at_most);
}

TEST(ProfileLinks, WholeOperationsAreNotJudged) {
  JobPlan plan{.ranks = 4, .hosts = 4, .collectives = 20, .slow_sender = 3, .slow_factor = 4};
  plan.steps = false;
  const Communicator all = look_at(plan);
  ASSERT_EQ(all.links.size(), 8U);
  EXPECT_EQ(send_of(all, 3).why, Unjudged::kOperations);
  EXPECT_TRUE(send_of(all, 3).bytes_at_most);
}

TEST(ProfileLinks, NobodyStandsOutWhereRatesScatterFromEndToEnd) {
  const Communicator all = look_at({.ranks = 16, .hosts = 16, .collectives = 20, .scattered = true});
  EXPECT_LT(send_of(all, 0).rate, 0.5 * send_of(all, 0).alike_median);
  for (const Link& link : all.links)
    EXPECT_NE(link.verdict, Verdict::kSlow);
}

TEST(ProfileLinks, NamesTheNodeThatItsSlowConnectionsShare) {
  const Communicator all =
      look_at({.ranks = 12, .hosts = 4, .collectives = 20, .slow_factor = 4, .slow_host = 2});
  ASSERT_EQ(all.slow.size(), 1U);
  EXPECT_EQ(all.slow[0].common, Common::kSenderHost);
  EXPECT_EQ(all.slow[0].judged, 3U);
  ASSERT_EQ(all.slow[0].links.size(), 3U);
  for (const std::size_t link : all.slow[0].links) {
    EXPECT_GE(all.links[link].rank, 6);
    EXPECT_LE(all.links[link].rank, 8);
  }
}

// Sends from rank to rank with one rate each, to group without files.
Link judged(std::int32_t rank, std::int32_t peer, bool slow) {
  return {.rank = rank,
          .peer = peer,
          .rate = slow ? 1e9 : 9e9,
          .verdict = slow ? Verdict::kSlow : Verdict::kAlike};
}

std::vector<SlowGroup> groups_of(const std::vector<Link>& links, std::uint32_t ranks) {
  const std::vector<Input> inputs = TestJob({.ranks = ranks, .hosts = ranks / 2}).inputs();
  Communicator communicator = make_profile(inputs).communicators.at(0);
  communicator.links = links;
  return group_slow(inputs, communicator);
}

TEST(ProfileSlowGroups, OneRankOfANodeIsTheRank) {
  const auto groups =
      groups_of({judged(2, 0, true), judged(2, 4, true), judged(3, 0, false), judged(3, 5, false)}, 6);
  ASSERT_EQ(groups.size(), 1U);
  EXPECT_EQ(groups[0].common, Common::kSenderRank);
  EXPECT_EQ(groups[0].judged, 2U);
}

TEST(ProfileSlowGroups, AReceiverThatAllAreSlowToIsNamedAndNotItsSenders) {
  std::vector<Link> links;
  for (const std::int32_t sender : {0, 1, 4, 5, 6, 7})
    for (const std::int32_t receiver : {2, 3})
      links.push_back(judged(sender, receiver, true));
  for (const std::int32_t sender : {0, 1, 4, 5, 6, 7})
    links.push_back(judged(sender, sender < 4 ? 5 : 0, false));
  const auto groups = groups_of(links, 8);
  ASSERT_EQ(groups.size(), 1U);
  EXPECT_EQ(groups[0].common, Common::kReceiverHost);
  EXPECT_EQ(groups[0].links.size(), 12U);
  EXPECT_EQ(groups[0].judged, 12U);
}

TEST(ProfileSlowGroups, TwoThatShareNothingAreTwo) {
  const auto groups = groups_of({judged(0, 2, true), judged(4, 6, true), judged(0, 4, false),
                                 judged(2, 4, false), judged(4, 0, false), judged(6, 2, false)},
                                8);
  ASSERT_EQ(groups.size(), 2U);
  EXPECT_EQ(groups[0].common, Common::kPair);
  EXPECT_EQ(groups[1].common, Common::kPair);
  EXPECT_TRUE(groups_of({judged(0, 2, false)}, 4).empty());
}

TEST(ProfilePairs, RateIsBytesByKernelTimeOfTheSameOperations) {
  using profile_ring::EventKind;
  std::vector<Input> inputs = TestJob({.ranks = 2}).inputs();
  std::uint64_t reference = 0;
  const auto add = [&](std::int32_t peer, std::uint64_t bytes, std::uint64_t kernel_ns) {
    profile_ring::Event event;
    event.reference = ++reference;
    event.record.kind = EventKind::kPointToPoint;
    event.record.function = profile_ring::number_of(profile_ring::kFunctions, "Send");
    event.record.data_type = profile_ring::data_type_number("ncclInt8");
    event.record.peer = peer;
    event.record.size = bytes;
    inputs[0].file.events.push_back(event);
    if (kernel_ns == 0) return;
    profile_ring::Event kernel;
    kernel.reference = reference + 1000;
    kernel.record.kind = EventKind::kKernel;
    kernel.record.parent = reference;
    kernel.record.start_ns = 1000;
    kernel.record.stop_ns = 1000 + kernel_ns;
    inputs[0].file.events.push_back(kernel);
  };
  add(1, 8, 20'000);  // small ones take as long as large ones
  add(1, 8, 20'000);
  add(1, 64'000'000, 160'000);
  add(1, 64'000'000, 0);  // not recorded: not in the rate
  add(2, 1'000'000, 100'000);
  add(3, 1'000'000, 0);
  const std::vector<Pair> pairs = make_profile(inputs).communicators.at(0).pairs;
  ASSERT_EQ(pairs.size(), 3U);
  EXPECT_EQ(pairs[0].peer, 2);  // lowest rate first
  EXPECT_NEAR(pairs[0].rate, 1e10, 1);
  EXPECT_EQ(pairs[1].peer, 1);
  EXPECT_EQ(pairs[1].count, 4U);
  EXPECT_EQ(pairs[1].timed, 3U);
  EXPECT_EQ(pairs[1].bytes, 128'000'016U);
  EXPECT_EQ(pairs[1].timed_bytes, 64'000'016U);
  EXPECT_NEAR(pairs[1].kernel_ns, 200'000, 1e-6);
  EXPECT_NEAR(pairs[1].rate, 64'000'016 * 1e9 / 200'000, 1);
  EXPECT_EQ(pairs[2].peer, 3);  // not known, so last
  EXPECT_EQ(pairs[2].rate, 0);
}

}  // namespace
}  // namespace angio::profile
