#include "profile_ring/lane_writer.hpp"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <thread>
#include <vector>

#include "profile_ring/reader.hpp"
#include "profile_ring/test_file.hpp"

namespace angio::profile_ring {
namespace {

Record collective(std::uint64_t number) {
  Record record;
  record.kind = EventKind::kCollective;
  record.number = number;
  record.start_ns = 1000 + number;
  return record;
}

RingFile read(const TestFile& file) {
  auto read = read_ring(file.bytes(), "x.ring");
  EXPECT_TRUE(read.has_value());
  return std::move(*read);
}

TEST(LaneWriter, KeepsAnEventFromStartToStop) {
  TestFile file(8);
  LaneWriter lane = file.lane(Lane::kOperations);
  const std::uint64_t ticket = lane.begin(collective(7));
  ASSERT_EQ(ticket, 1U);
  RingFile seen = read(file);
  ASSERT_EQ(seen.events.size(), 1U);
  EXPECT_EQ(seen.events[0].record.number, 7U);
  EXPECT_EQ(seen.events[0].record.stop_ns, 0U);
  EXPECT_TRUE(lane.change(ticket, true, [](LaneWriter::Edit& edit) { edit.set(kStopWord, 5000); }));
  seen = read(file);
  ASSERT_EQ(seen.events.size(), 1U);
  EXPECT_EQ(seen.events[0].record.stop_ns, 5000U);
  EXPECT_EQ(seen.events[0].reference, reference_of(Lane::kOperations, 0));
}

TEST(LaneWriter, WrapsAroundAndKeepsTheNewest) {
  TestFile file(8);
  LaneWriter lane = file.lane(Lane::kOperations);
  for (std::uint64_t i = 0; i < 20; ++i)
    lane.change(lane.begin(collective(i)), true, [](LaneWriter::Edit& edit) { edit.set(kStopWord, 1); });
  const RingFile seen = read(file);
  ASSERT_EQ(seen.events.size(), 8U);
  EXPECT_EQ(seen.events.front().record.number, 12U);
  EXPECT_EQ(seen.events.back().record.number, 19U);
  EXPECT_EQ(seen.lanes[0].started, 20U);
  EXPECT_EQ(seen.lanes[0].overwritten, 12U);
  EXPECT_EQ(seen.lanes[0].overwritten_open, 0U);
  EXPECT_EQ(seen.lanes[0].dropped, 0U);
}

TEST(LaneWriter, AStopAfterTheSlotServedAgainChangesNothing) {
  TestFile file(8);
  LaneWriter lane = file.lane(Lane::kOperations);
  const std::uint64_t old = lane.begin(collective(0));
  for (std::uint64_t i = 1; i <= 8; ++i)
    lane.begin(collective(i));
  EXPECT_FALSE(lane.change(old, true, [](LaneWriter::Edit& edit) { edit.set(kStopWord, 1); }));
  const RingFile seen = read(file);
  ASSERT_EQ(seen.events.size(), 8U);
  for (const Event& event : seen.events)
    EXPECT_EQ(event.record.stop_ns, 0U);
  EXPECT_EQ(seen.lanes[0].late, 1U);
  EXPECT_EQ(seen.lanes[0].overwritten_open, 1U);
}

TEST(LaneWriter, ASecondStopChangesNothing) {
  TestFile file(8);
  LaneWriter lane = file.lane(Lane::kOperations);
  const std::uint64_t ticket = lane.begin(collective(1));
  EXPECT_TRUE(lane.change(ticket, true, [](LaneWriter::Edit& edit) { edit.set(kStopWord, 10); }));
  EXPECT_FALSE(lane.change(ticket, true, [](LaneWriter::Edit& edit) { edit.set(kStopWord, 99); }));
  EXPECT_EQ(read(file).events.at(0).record.stop_ns, 10U);
}

TEST(LaneWriter, DropsWhatMeetsAWriteThatNeverEnded) {
  TestFile file(4);
  LaneWriter lane = file.lane(Lane::kOperations);
  lane.begin(collective(0));
  file.slot(Lane::kOperations, 0).version = kChanging;  // as a killed thread left it
  for (std::uint64_t i = 1; i < 4; ++i)
    EXPECT_NE(lane.begin(collective(i)), 0U);
  EXPECT_EQ(lane.begin(collective(4)), 0U);
  const RingFile seen = read(file);
  EXPECT_EQ(seen.events.size(), 3U);
  EXPECT_EQ(seen.lanes[0].dropped, 1U);
  EXPECT_EQ(seen.lanes[0].torn, 1U);
}

// Every event that was begun is kept, overwritten or counted as dropped; what is read is never mixed.
TEST(LaneWriter, ManyThreadsAndAReaderSeeWholeEventsOnly) {
  constexpr std::size_t kThreads = 4;
  constexpr std::uint64_t kEvents = 20000;
  TestFile file(64);
  std::atomic<std::size_t> running{kThreads};
  std::atomic<std::uint64_t> begun{0};
  std::vector<std::jthread> writers;
  for (std::size_t thread = 0; thread < kThreads; ++thread) {
    writers.emplace_back([&, thread] {
      LaneWriter lane = file.lane(Lane::kOperations);
      for (std::uint64_t i = 0; i < kEvents; ++i) {
        Record record = collective(i);
        record.tag = record.number ^ thread;
        record.rank = static_cast<std::int32_t>(thread);
        const std::uint64_t ticket = lane.begin(record);
        if (ticket == 0) continue;
        begun.fetch_add(1, std::memory_order_relaxed);
        lane.change(ticket, true,
                    [&record](LaneWriter::Edit& edit) { edit.set(kStopWord, record.start_ns + record.tag); });
      }
      running.fetch_sub(1);
    });
  }
  std::size_t looked = 0;
  while (running.load() > 0) {
    const auto seen = read_ring(file.copy(), "x.ring");
    ASSERT_TRUE(seen.has_value());
    EXPECT_EQ(seen->lanes[0].damaged, 0U);
    for (const Event& event : seen->events) {
      ASSERT_EQ(event.record.tag, event.record.number ^ static_cast<std::uint64_t>(event.record.rank));
      if (event.record.stop_ns == 0) continue;
      ASSERT_EQ(event.record.stop_ns, event.record.start_ns + event.record.tag);
    }
    ++looked;
  }
  writers.clear();
  EXPECT_GT(looked, 0U);
  const RingFile seen = read(file);
  EXPECT_EQ(seen.lanes[0].started, kThreads * kEvents);
  EXPECT_EQ(begun.load() + seen.lanes[0].dropped, kThreads * kEvents);
  EXPECT_EQ(seen.lanes[0].torn, 0U);
}

}  // namespace
}  // namespace angio::profile_ring
