#include "collective/meeting.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <future>
#include <thread>

#include "collective/meeting_wire.hpp"
#include "collective/rank_report.hpp"
#include "host/root.hpp"
#include "launch/rendezvous.hpp"

namespace angio::collective {
namespace {

std::uint16_t free_port() {
  const auto root = host::make_memory_root({}, host::Scope::kComplete);
  const auto master = launch::settle_master(std::nullopt, {1, true}, *root);
  return master ? master->port : 0;
}

MeetingPlace place_of(std::uint32_t rank, std::uint32_t ranks, std::uint16_t port,
                      std::chrono::milliseconds patience = std::chrono::seconds(60)) {
  MeetingPlace place;
  place.address = "127.0.0.1";
  place.port = port;
  place.rank = rank;
  place.ranks = ranks;
  place.patience = patience;
  return place;
}

template <typename Work>
void on_ranks(std::uint32_t ranks, const Work& work) {
  const std::uint16_t port = free_port();
  ASSERT_NE(port, 0);
  std::vector<std::jthread> threads;
  for (std::uint32_t rank = 0; rank < ranks; ++rank)
    threads.emplace_back([&, rank] { work(rank, port); });
}

TEST(Meeting, EverybodyGetsEverybodysTextByRank) {
  on_ranks(5, [](std::uint32_t rank, std::uint16_t port) {
    auto meeting = meet_over_tcp(place_of(rank, 5, port));
    ASSERT_TRUE(meeting) << meeting.error().message;
    for (int round = 0; round < 20; ++round) {
      const auto texts = (*meeting)->exchange(std::string(rank * 100, 'x') + std::to_string(round));
      ASSERT_TRUE(texts) << texts.error().message;
      ASSERT_EQ(texts->size(), 5U);
      for (std::uint32_t other = 0; other < 5; ++other)
        EXPECT_EQ((*texts)[other], std::string(other * 100, 'x') + std::to_string(round));
    }
  });
}

TEST(Meeting, LargeTextsPass) {
  constexpr std::size_t kLarge = std::size_t{3} << 20U;
  on_ranks(3, [](std::uint32_t rank, std::uint16_t port) {
    auto meeting = meet_over_tcp(place_of(rank, 3, port));
    ASSERT_TRUE(meeting);
    const auto texts = (*meeting)->exchange(std::string(kLarge, static_cast<char>('a' + rank)));
    ASSERT_TRUE(texts);
    EXPECT_EQ((*texts)[2], std::string(kLarge, 'c'));
  });
}

TEST(Meeting, OneRankNeedsNobody) {
  auto meeting = meet_over_tcp(place_of(0, 1, 0));
  ASSERT_TRUE(meeting);
  EXPECT_EQ((*meeting)->exchange("a"), std::vector<std::string>{"a"});
}

TEST(Meeting, NamesWhoDoesNotCome) {
  const std::uint16_t port = free_port();
  std::jthread one([port] {
    const auto meeting = meet_over_tcp(place_of(1, 4, port));
    ASSERT_FALSE(meeting);
    EXPECT_NE(meeting.error().message.find("ranks 2, 3"), std::string::npos) << meeting.error().message;
  });
  const auto meeting = meet_over_tcp(place_of(0, 4, port, std::chrono::milliseconds(700)));
  ASSERT_FALSE(meeting);
  EXPECT_NE(meeting.error().message.find("ranks 2, 3 did not come"), std::string::npos);
}

TEST(Meeting, SaysThatNobodyListens) {
  const auto meeting = meet_over_tcp(place_of(1, 2, free_port(), std::chrono::milliseconds(100)));
  ASSERT_FALSE(meeting);
  EXPECT_NE(meeting.error().message.find("rank 0 does not listen on 127.0.0.1"), std::string::npos);
}

TEST(Meeting, ARankThatEndsIsNamedToThoseWhoWaitElsewhere) {
  on_ranks(3, [](std::uint32_t rank, std::uint16_t port) {
    auto meeting = meet_over_tcp(place_of(rank, 3, port));
    ASSERT_TRUE(meeting);
    (*meeting)->working_on("AllReduce of 8 MiB");
    if (rank == 2) {
      ASSERT_TRUE((*meeting)->exchange(""));
      return;  // gone, while the others wait for its data
    }
    std::promise<std::string> lost;
    (*meeting)->when_lost([&lost](const std::string& words) { lost.set_value(words); });
    ASSERT_TRUE((*meeting)->exchange(""));
    const std::string words = lost.get_future().get();
    EXPECT_NE(words.find("rank 2 has ended before its work was done"), std::string::npos) << words;
  });
}

TEST(Meeting, ARankThatGivesUpTellsWhy) {
  on_ranks(4, [](std::uint32_t rank, std::uint16_t port) {
    auto meeting = meet_over_tcp(place_of(rank, 4, port));
    ASSERT_TRUE(meeting);
    const Result<std::string> own =
        rank == 3 ? Result<std::string>(fail(ErrorCode::kNotFound, "no GPU here")) : Result<std::string>("");
    const auto texts = agree(**meeting, own);
    ASSERT_FALSE(texts);
    if (rank != 3) {
      EXPECT_EQ(texts.error().message, "rank 3: no GPU here");
      return;
    }
    // Until the others have heard: in a program the process ends here.
    std::promise<void> all;
    (*meeting)->when_lost([&all](const std::string&) { all.set_value(); });
    all.get_future().wait_for(std::chrono::seconds(20));
  });
}

TEST(Meeting, TwoJobsOnOnePortAreAnError) {
  const std::uint16_t port = free_port();
  std::jthread other([port] { EXPECT_FALSE(meet_over_tcp(place_of(1, 3, port))); });
  const auto meeting = meet_over_tcp(place_of(0, 2, port));
  ASSERT_FALSE(meeting);
  EXPECT_NE(meeting.error().message.find("rank 1 of 3 came to the meeting of 2 ranks"), std::string::npos);
}

// One that says nothing, one that is cut off, one that speaks HTTP, one whose first word is none of a rank.
TEST(Meeting, StrangersAtTheDoorAreNoRanks) {
  const std::uint16_t port = free_port();
  std::jthread other([port] {
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    std::vector<host::Descriptor> strangers;
    for (const std::string& said :
         {std::string(), std::string("H\x19"), std::string("GET / HTTP/1.1\r\n\r\n"),
          std::string(100000, '\xff'), write_frame(FrameKind::kData, "angio meeting 1 1 2"),
          write_frame(FrameKind::kHello, "angio meeting 1 x 2")}) {
      auto socket = connect_at("127.0.0.1", port, until);
      ASSERT_TRUE(socket);
      (void)send_all(socket->get(), said, std::chrono::steady_clock::now());
      strangers.push_back(std::move(*socket));
    }
    auto meeting = meet_over_tcp(place_of(1, 2, port));
    ASSERT_TRUE(meeting) << meeting.error().message;
    EXPECT_EQ((*meeting)->exchange("b"), (std::vector<std::string>{"a", "b"}));
  });
  auto meeting = meet_over_tcp(place_of(0, 2, port));
  ASSERT_TRUE(meeting) << meeting.error().message;
  EXPECT_EQ((*meeting)->exchange("a"), (std::vector<std::string>{"a", "b"}));
}

TEST(Meeting, APortInUseIsNamed) {
  const std::uint16_t port = free_port();
  const auto holder = listen_at("127.0.0.1", port);
  ASSERT_TRUE(holder);
  const auto meeting = meet_over_tcp(place_of(0, 2, port));
  ASSERT_FALSE(meeting);
  EXPECT_TRUE(
      meeting.error().message.starts_with(fmt::format("rank 0 cannot listen on 127.0.0.1 port {}", port)));
}

TEST(Wire, FramesInPieces) {
  const std::string all = write_frame(FrameKind::kData, "abc") + write_frame(FrameKind::kAlive, "");
  for (std::size_t cut = 0; cut <= all.size(); ++cut) {
    std::string bytes = all.substr(0, cut);
    std::vector<Frame> frames;
    EXPECT_TRUE(take_frames(bytes, 100, frames));
    bytes += all.substr(cut);
    EXPECT_TRUE(take_frames(bytes, 100, frames));
    ASSERT_EQ(frames.size(), 2U);
    EXPECT_EQ(frames[0].text, "abc");
    EXPECT_TRUE(bytes.empty());
  }
}

TEST(Wire, StrangersAreRefused) {
  std::vector<Frame> frames;
  std::string http = "GET / HTTP/1.1\r\n\r\n";
  EXPECT_FALSE(take_frames(http, 100, frames));
  std::string long_one = write_frame(FrameKind::kData, std::string(101, 'x'));
  EXPECT_FALSE(take_frames(long_one, 100, frames));
  EXPECT_TRUE(frames.empty());
  EXPECT_FALSE(unpack("12345"));
  EXPECT_FALSE(unpack(std::string(8, '\xff')));
  EXPECT_EQ(unpack(pack({"a", "", "ccc"})), (std::vector<std::string>{"a", "", "ccc"}));
}

}  // namespace
}  // namespace angio::collective
