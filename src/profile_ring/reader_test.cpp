#include "profile_ring/reader.hpp"

#include <gtest/gtest.h>

#include <string>

#include "profile_ring/test_file.hpp"
#include "profile_ring/words.hpp"

namespace angio::profile_ring {
namespace {

Record event(EventKind kind, std::uint64_t start, std::uint64_t stop) {
  Record record;
  record.kind = kind;
  record.start_ns = start;
  record.stop_ns = stop;
  return record;
}

TestFile sample() {
  TestFile file(4);
  std::memcpy(file.header().host.data(), "gpu-a", 6);
  file.header().rank = 3;
  file.header().communicator = 0xABCDU;
  Record child = event(EventKind::kProxyOp, 20, 30);
  child.parent = file.add(event(EventKind::kCollective, 10, 12));
  file.add(child);
  file.add(event(EventKind::kProxyStep, 21, 0));
  return file;
}

TEST(RingReader, ReadsHeaderAndEventsOfAllLanes) {
  const TestFile file = sample();
  const auto seen = read_ring(file.bytes(), "a.ring");
  ASSERT_TRUE(seen.has_value());
  EXPECT_EQ(seen->host, "gpu-a");
  EXPECT_EQ(seen->header.rank, 3);
  ASSERT_EQ(seen->events.size(), 3U);
  EXPECT_EQ(seen->events[1].record.parent, seen->events[0].reference);
  EXPECT_EQ(seen->events[2].record.stop_ns, 0U);
}

TEST(RingReader, CountsWhatIsCutOff) {
  const TestFile file = sample();
  const std::size_t inside_second_lane = kHeaderSize + 5 * sizeof(Slot) + 17;
  const auto seen = read_ring(file.bytes().substr(0, inside_second_lane), "a.ring");
  ASSERT_TRUE(seen.has_value());
  EXPECT_EQ(seen->events.size(), 2U);
  EXPECT_EQ(seen->lanes[1].missing, 0U);
  EXPECT_EQ(seen->lanes[2].missing, 1U);
}

TEST(RingReader, RefusesWhatIsNoRing) {
  const auto text = read_ring("a log line\n", "job.log");
  ASSERT_FALSE(text.has_value());
  EXPECT_EQ(text.error().message, "job.log is no file of Angio's profiler plugin");
  const auto empty = read_ring("", "empty");
  EXPECT_FALSE(empty.has_value());
  const TestFile file = sample();
  const auto cut = read_ring(file.bytes().substr(0, 100), "cut.ring");
  ASSERT_FALSE(cut.has_value());
  EXPECT_EQ(cut.error().message, "cut.ring ends after 100 bytes, inside its header");
}

TEST(RingReader, RefusesAnotherFormat) {
  TestFile file = sample();
  file.header().format = 9;
  const auto seen = read_ring(file.bytes(), "a.ring");
  ASSERT_FALSE(seen.has_value());
  EXPECT_EQ(seen.error().code, ErrorCode::kUnsupported);
}

TEST(RingReader, CountsTornAndImpossibleSlots) {
  TestFile file = sample();
  file.slot(Lane::kOperations, 0).body[3] ^= 1;      // content that the checksum denies
  file.slot(Lane::kChannels, 0).version += kPhases;  // a ticket that belongs elsewhere
  file.slot(Lane::kSteps, 0).version = kStarting;    // in the middle of a write
  const auto seen = read_ring(file.bytes(), "a.ring");
  ASSERT_TRUE(seen.has_value());
  EXPECT_TRUE(seen->events.empty());
  EXPECT_EQ(seen->lanes[0].torn, 1U);
  EXPECT_EQ(seen->lanes[1].damaged, 1U);
  EXPECT_EQ(seen->lanes[2].torn, 1U);
}

TEST(RingReader, SurvivesAHeaderThatLies) {
  TestFile file = sample();
  file.header().lanes[0] = {.offset = ~std::uint64_t{0} - 8, .capacity = std::uint64_t{1} << 63U};
  file.header().lanes[1] = {.offset = kHeaderSize, .capacity = 3};
  const auto seen = read_ring(file.bytes(), "a.ring");
  ASSERT_TRUE(seen.has_value());
  EXPECT_EQ(seen->lanes[1].damaged, 1U);
  EXPECT_EQ(seen->events.size(), 1U);
}

TEST(RingReader, TheHeaderAnnouncesTheLength) {
  TestFile file = sample();
  EXPECT_EQ(bytes_announced(file.header()), file.bytes().size());
  file.header().lanes[0] = {.offset = ~std::uint64_t{0} - 8, .capacity = 4};
  EXPECT_EQ(bytes_announced(file.header()), file.bytes().size());
  file.header().lanes[0] = {.offset = kHeaderSize, .capacity = ~std::uint64_t{0}};
  EXPECT_EQ(bytes_announced(file.header()), kMostBytes);
  file.header().lanes = {};
  EXPECT_EQ(bytes_announced(file.header()), kHeaderSize);
}

TEST(RingReader, APathCannotReachTheTerminal) {
  const auto seen = read_ring("text", "a\x1b[2J.ring");
  ASSERT_FALSE(seen.has_value());
  EXPECT_EQ(seen.error().message.find('\x1b'), std::string::npos);
}

TEST(ProfileWords, AreNcclsNumbersPlusOne) {
  EXPECT_EQ(number_of(kFunctions, "AllReduce"), 5);
  EXPECT_EQ(number_of(kAlgorithms, "RING"), 2);
  EXPECT_EQ(number_of(kProtocols, "SIMPLE"), 3);
  EXPECT_EQ(number_of(kAlgorithms, "LL_R"), 0);
  EXPECT_EQ(word_of(kFunctions, 5), "AllReduce");
  EXPECT_EQ(word_of(kFunctions, 200), "");
  EXPECT_EQ(element_size(data_type_number("ncclBfloat16")), 2U);
  EXPECT_EQ(element_size(0), 0U);
}

}  // namespace
}  // namespace angio::profile_ring
