#include "model/dryrun_end.hpp"

#include <gtest/gtest.h>

#include "model/nccl_world.hpp"

namespace angio::model {
namespace {

TEST(DryRunEnd, EveryEndHasItsWordsAndItsKey) {
  EXPECT_EQ(words_of(DryRunEnd::kComplete), "complete");
  EXPECT_EQ(words_of(DryRunEnd::kTimeout), "timed out");
  EXPECT_EQ(words_of(DryRunEnd::kMemory), "stopped at the memory limit");
  EXPECT_EQ(words_of(DryRunEnd::kInterrupted), "interrupted");
  EXPECT_EQ(key_of(DryRunEnd::kTimeout), "timeout");
  EXPECT_EQ(key_of(DryRunEnd::kCrashed), "crashed");
}

TEST(PointToPoint, IsWhatNcclChoosesNoAlgorithmFor) {
  for (const char* word : {"AllToAll", "AlltoAll", "all_to_all", "SendRecv", "sendrecv"})
    EXPECT_TRUE(is_point_to_point(word)) << word;
  for (const char* word : {"AllReduce", "AllGather", "Reduce", "Broadcast", ""})
    EXPECT_FALSE(is_point_to_point(word)) << word;
}

NcclCommunicator communicator(std::uint32_t ranks, std::size_t told, const char* parent = "") {
  NcclCommunicator made;
  made.nranks = ranks;
  made.ranks.resize(told);
  made.parent = parent;
  return made;
}

TEST(NcclWorld, IsTheLargestThenWholeThenBestKnown) {
  NcclLog log;
  EXPECT_EQ(world_of(log), nullptr);
  log.communicators = {communicator(4, 4), communicator(8, 8, "0x70"), communicator(8, 2), communicator(8, 3),
                       communicator(8, 3)};
  EXPECT_EQ(world_of(log), &log.communicators[3]);
  EXPECT_EQ(world_of(log, 4), &log.communicators[0]);
  EXPECT_EQ(world_of(log, 16), nullptr);
}

}  // namespace
}  // namespace angio::model
