#include "views/profile_view.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

#include "profile/test_job.hpp"

namespace angio::views {
namespace {

using profile::JobPlan;
using profile::TestJob;

std::vector<profile::Input> inputs_of(const std::vector<JobPlan>& plans) {
  std::vector<profile::Input> inputs;
  for (JobPlan plan : plans) {
    plan.communicator = 0x1000 + inputs.size();
    const std::vector<profile::Input> own = TestJob(plan).inputs();
    inputs.insert(inputs.end(), own.begin(), own.end());
  }
  return inputs;
}

std::string show(const std::vector<profile::Input>& inputs) {
  const profile::Profile profile = profile::make_profile(inputs);
  return report::render_terminal(profile_document({&inputs, &profile}), {});
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

std::size_t lines_of(const std::string& text) {
  return static_cast<std::size_t>(std::ranges::count(text, '\n'));
}

// Words on one line each, so that it does not matter where the text is wrapped.
std::string unwrapped(const std::string& text) {
  std::istringstream words(text);
  std::string all;
  for (std::string word; words >> word;)
    all += (all.empty() ? "" : " ") + word;
  return all;
}

TEST(ProfileView, OneNodeIsOneLineAndItsComparisonIsItsOwn) {
  const std::string text = unwrapped(show(inputs_of(
      {{.ranks = 12, .hosts = 4, .collectives = 20, .slow_factor = 4, .slow_host = 2, .small_sender = 0}})));
  EXPECT_TRUE(
      has(text,
          "SLOW sender gpu-c (ranks 6 to 8) stands out: 3 of its 3 connections that could be judged, "
          "to ranks 7 to 9, at 6.6 GB/s in the network; no other of its step size that could be judged "
          "is below 26.2 GB/s"))
      << text;
  EXPECT_TRUE(has(text, "1 with fewer than 3 of their step size")) << text;
  EXPECT_EQ(text.find("SLOW sender"), text.rfind("SLOW sender"));
}

TEST(ProfileView, OldInterfacesTellTheMostThatARateCanBe) {
  JobPlan plan{.ranks = 4, .hosts = 4, .collectives = 20, .slow_sender = 1, .slow_factor = 9};
  plan.interface = 2;
  const std::string text = show(inputs_of({plan}));
  EXPECT_TRUE(has(text, "<= 10 MiB   <= 2.9 GB/s")) << text;
  EXPECT_TRUE(has(unwrapped(text), "could be judged: 4 whose bytes are not told")) << text;
  EXPECT_FALSE(has(text, "SLOW")) << text;
}

TEST(ProfileView, OfTwoSlowOnesNeitherIsSaidToBeTheOnlyOne) {
  std::vector<profile::Input> inputs =
      inputs_of({{.ranks = 8, .hosts = 8, .collectives = 20, .slow_sender = 1, .slow_factor = 4}});
  for (profile_ring::Event& event : inputs[5].file.events)
    if (event.record.kind == profile_ring::EventKind::kProxyStep) event.record.stop_ns += 200'000;
  const std::string text = unwrapped(show(inputs));
  EXPECT_TRUE(has(text,
                  "SLOW rank 1 (gpu-b) -> rank 2 (gpu-c), channel 0, at 6.6 GB/s in the network; those of "
                  "its step size that are not slow are not below 26.2 GB/s"))
      << text;
  EXPECT_TRUE(has(text, "SLOW rank 5 (gpu-f) -> rank 6 (gpu-g), channel 0, at 2.4 GB/s")) << text;
  EXPECT_FALSE(has(text, "no other")) << text;
}

TEST(ProfileView, SaysWhyNothingCouldBeJudged) {
  JobPlan plan{.ranks = 4, .hosts = 4, .collectives = 20, .slow_sender = 1, .slow_factor = 9};
  plan.step_bytes = 0;
  const std::string text = unwrapped(show(inputs_of({plan})));
  EXPECT_TRUE(has(text, "slow unknown: no send over the network could be judged: 4 with steps below 64 KiB"))
      << text;
  EXPECT_FALSE(has(text, "SLOW"));
  EXPECT_FALSE(has(text, "<="));  // interface 5 told the bytes: none
}

TEST(ProfileView, RanksAlikeShareARowAndTheLateOneStandsAlone) {
  const std::string text = show(
      inputs_of({{.ranks = 128, .hosts = 16, .late_rank = 37, .late_ns = 1'000'000, .collectives = 12}}));
  EXPECT_LE(lines_of(text), 2U + 48U) << text;
  EXPECT_TRUE(has(text, "Ranks, those alike in one row")) << text;
  EXPECT_TRUE(has(text, "0-36,38-127  16 hosts")) << text;
  EXPECT_TRUE(has(text, "         37  gpu-e")) << text;
  EXPECT_TRUE(has(text, "12/12")) << text;
}

TEST(ProfileView, QuietCommunicatorsTakeALineAndLoudOnesAScreen) {
  std::vector<JobPlan> plans(6, JobPlan{.ranks = 8, .hosts = 4, .collectives = 12});
  plans.push_back({.ranks = 64,
                   .hosts = 8,
                   .late_rank = 3,
                   .late_ns = 1'000'000,
                   .collectives = 20,
                   .slow_factor = 4,
                   .slow_host = 2});
  const std::string text = show(inputs_of(plans));
  EXPECT_TRUE(has(text, "6 communicators in which nothing stands out")) << text;
  EXPECT_TRUE(has(text, "nobody of 12  none of 8")) << text;
  EXPECT_LE(lines_of(text), 2U + 24U + 1U + 2U + 6U) << text;
  EXPECT_TRUE(has(text, "LATE")) << text;
  EXPECT_TRUE(has(text, "SLOW")) << text;
}

TEST(ProfileView, ADeadRankIsNotQuiet) {
  std::vector<profile::Input> inputs =
      inputs_of(std::vector<JobPlan>(5, JobPlan{.ranks = 2, .collectives = 3}));
  inputs[0].file.header.state = static_cast<std::uint32_t>(profile_ring::FileState::kRecording);
  const std::string text = show(inputs);
  EXPECT_TRUE(has(text, "4 communicators in which nothing stands out")) << text;
  EXPECT_TRUE(has(text, "died")) << text;
}

TEST(ProfileView, JsonSaysWhatIsSlowAndWhatWasNotJudged) {
  const std::vector<profile::Input> inputs = inputs_of(
      {{.ranks = 12, .hosts = 4, .collectives = 20, .slow_factor = 4, .slow_host = 2, .small_sender = 0}});
  const profile::Profile profile = profile::make_profile(inputs);
  const std::string text = to_text(profile_json({&inputs, &profile}), -1);
  EXPECT_TRUE(has(text, R"("slow":[{"common":"sender host","judged":3,"connections":[0,1,2]}])")) << text;
  EXPECT_TRUE(has(text, R"("not_judged":"few alike","alike":null)"));
  EXPECT_TRUE(has(text, R"("verdict":"slow","not_judged":null,"alike":{"count":8,)"));
}

}  // namespace
}  // namespace angio::views
