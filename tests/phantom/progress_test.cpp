// The pump over made-up structures of NCCL, in the shapes of its layout table.
#include "cudart/progress.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <memory>
#include <thread>
#include <type_traits>
#include <vector>

#include "cudart/progress_layout_profile.hpp"

extern "C" int angio_phantom_progress(int nccl_version);

namespace angio::phantom {
namespace {

constexpr int kVersion = 22809;
constexpr const char* kKernel = "ncclDevKernel_AllReduce_Sum_f32_RING_LL";
using Whole = layouts::v27::Whole;
using Connection = layouts::v21::Connection;
using layouts::Batch;
using layouts::Slot;

// One end of a connection and the memory that it shares with a proxy.
struct End {
  std::uint64_t tail = 0;
  std::uint64_t head = 0;
  Slot slots[8] = {};

  End() {
    for (Slot& slot : slots) {
      slot.size = -1;
    }
  }
  void connect(Connection& connection) {
    connection.tail = &tail;
    connection.head = &head;
    connection.fifo = slots;
  }
  std::uint64_t now(const std::uint64_t& word) const { return __atomic_load_n(&word, __ATOMIC_ACQUIRE); }
};

struct Peer {
  Connection ends[4] = {};
};

// Rank 1 of 2 with one channel, number 3.
struct Communicator {
  std::unique_ptr<Whole> whole = std::make_unique<Whole>();
  Peer peer;
  void* peers[2] = {&peer, nullptr};
  std::vector<layouts::Event> started = std::vector<layouts::Event>(64 * layouts::kEvents);
  std::vector<layouts::Event> completed = std::vector<layouts::Event>(64 * layouts::kEvents);
  alignas(16) unsigned char arguments[256] = {};

  Communicator() {
    whole->comm.rank = 1;
    whole->comm.ranks = 2;
    whole->comm.channels = whole->channels;
    whole->comm.started = started.data();
    whole->comm.completed = completed.data();
    whole->channels[3].peers = peers;
    const layouts::Arguments header{
        .comm = whole.get(), .channels = 1U << 3U, .storage = 0, .mask = 0, .works = nullptr};
    std::memcpy(arguments, &header, sizeof header);
  }
  // A collective and one that no profiler asked for, right after the only batch.
  void add_works() {
    const Batch batch{.next = 0, .extends = 0, .type = 1, .function = 0, .base = 48, .works = 3};
    std::memcpy(arguments + sizeof(layouts::Arguments), &batch, sizeof batch);
    const std::uint32_t wanted = 1U << 31U;
    std::memcpy(arguments + 48, &wanted, sizeof wanted);
  }
  void launch(const char* kernel = kKernel) {
    Launch launch;
    launch.kernel = kernel;
    launch.buffer = arguments;
    launch.buffer_size = sizeof arguments;
    progress_launched(launch);
  }
};

template <typename Condition>
bool becomes(Condition condition) {
  for (int count = 0; count < 5000 && !condition(); ++count) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return condition();
}

class Progress : public testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(angio_phantom_progress(kVersion), 1); }
  void TearDown() override { EXPECT_EQ(angio_phantom_progress(0), 0); }
};

TEST(ProgressVersions, OnlyThoseInTheTable) {
  for (const int known :
       {21803, 21903, 22005, 22105, 22203, 22304, 22403, 22602, 22707, 22809, 23007, 23203}) {
    ASSERT_NE(find_layout(known), nullptr) << known;
  }
  for (const int unknown : {0, 21703, 21901, 22809 + 1, 23300, 30000}) {
    EXPECT_EQ(find_layout(unknown), nullptr) << unknown;
    EXPECT_EQ(angio_phantom_progress(unknown), 0) << unknown;
  }
}

TEST_F(Progress, SendsSlicesOfNothingAsFarAsThereAreSlots) {
  Communicator comm;
  End send;
  send.connect(comm.peer.ends[0]);
  comm.launch();
  ASSERT_TRUE(becomes([&] { return send.now(send.tail) == 8; }));
  for (const Slot& slot : send.slots) {
    EXPECT_EQ(slot.size, 0);
  }
  send.slots[0].size = -1;
  __atomic_store_n(&send.head, 1, __ATOMIC_RELEASE);  // the proxy gave one back
  ASSERT_TRUE(becomes([&] { return send.now(send.tail) == 9; }));
  EXPECT_EQ(send.slots[0].size, 0);
}

TEST_F(Progress, WaitsForTheCreditOfSharedBuffers) {
  Communicator comm;
  End send;
  send.head = static_cast<std::uint64_t>(-8);  // NCCL: nothing may be sent yet
  End receive;
  receive.tail = 1;
  send.connect(comm.peer.ends[1]);
  receive.connect(comm.peer.ends[2]);
  comm.launch();
  ASSERT_TRUE(becomes([&] { return receive.now(receive.head) == 1; }));
  EXPECT_EQ(send.now(send.tail), 0U);
  __atomic_store_n(&send.head, static_cast<std::uint64_t>(-6), __ATOMIC_RELEASE);
  EXPECT_TRUE(becomes([&] { return send.now(send.tail) == 2; }));
}

TEST_F(Progress, TakesWhatArrives) {
  Communicator comm;
  End receive;
  receive.connect(comm.peer.ends[3]);
  comm.launch();
  for (const std::uint64_t step : {1U, 4U, 100U}) {
    __atomic_store_n(&receive.tail, step, __ATOMIC_RELEASE);
    ASSERT_TRUE(becomes([&] { return receive.now(receive.head) == step; })) << step;
  }
}

TEST_F(Progress, NeverTouchesWhatWentAway) {
  Communicator comm;
  End gone;
  End left;
  gone.connect(comm.peer.ends[2]);
  left.connect(comm.peer.ends[3]);
  comm.launch();
  progress_forget(&gone.tail, sizeof gone.tail);
  gone.tail = 5;
  __atomic_store_n(&left.tail, 5, __ATOMIC_RELEASE);
  ASSERT_TRUE(becomes([&] { return left.now(left.head) == 5; }));
  EXPECT_EQ(gone.head, 0U);
}

TEST_F(Progress, LeavesAStructureThatIsNotTheOneOfTheTable) {
  Communicator comm;
  End receive;
  receive.tail = 1;
  receive.connect(comm.peer.ends[2]);
  comm.whole->comm.channels = comm.whole->channels + 1;
  comm.launch();
  comm.whole->comm.channels = comm.whole->channels;
  comm.launch("ncclSymkDevKernel_AllReduce_AGxLL_R_sum_f32");  // other arguments
  progress_settle();
  EXPECT_EQ(receive.head, 0U);
}

TEST_F(Progress, TellsTheProfilerOfWorksThatItAskedFor) {
  Communicator comm;
  comm.add_works();
  comm.launch();
  const layouts::Event* const started = comm.started.data() + 3 * layouts::kEvents;
  const layouts::Event* const completed = comm.completed.data() + 3 * layouts::kEvents;
  EXPECT_EQ(comm.whole->channels[3].works, 2U);
  EXPECT_EQ(started[1].counter, 1U);
  EXPECT_EQ(completed[1].counter, 1U);
  EXPECT_GT(started[1].time, 0U);
  EXPECT_EQ(started[2].counter, 0U);  // nobody asked for the second
  comm.launch();
  EXPECT_EQ(comm.whole->channels[3].works, 4U);
  EXPECT_EQ(completed[3].counter, 3U);
}

TEST_F(Progress, DamagedBatchesEnd) {
  Communicator comm;
  const Batch batch{
      .next = 4000, .extends = 0, .type = 1, .function = 0, .base = 0xfffffff0U, .works = ~0ULL};
  std::memcpy(comm.arguments + sizeof(layouts::Arguments), &batch, sizeof batch);
  comm.launch();
  EXPECT_EQ(comm.whole->channels[3].works, 64U);
  EXPECT_EQ(comm.started[3 * layouts::kEvents + 1].counter, 0U);
}

TEST_F(Progress, SettlesOnlyAfterALaunch) {
  using Clock = std::chrono::steady_clock;
  const auto begin = Clock::now();
  progress_settle();
  Communicator comm;
  comm.launch();
  progress_settle();
  EXPECT_GT(Clock::now() - begin, std::chrono::milliseconds(15));
  const auto again = Clock::now();
  progress_settle();
  EXPECT_LT(Clock::now() - again, std::chrono::milliseconds(10));
}

}  // namespace
}  // namespace angio::phantom
