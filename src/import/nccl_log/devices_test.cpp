// Threads that name no rank are told apart by process and CUDA device.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "import/nccl_log/nccl_log.hpp"

namespace angio::import::nccl_log {
namespace {

TEST(NcclLogDevices, EachRankOfSeveralInAProcessGetsItsOwnLines) {
  std::string text;
  for (int rank = 0; rank < 8; ++rank)
    text += fmt::format(
        "n{0}:{1}:{2} [{3}] NCCL INFO ncclCommInitRank comm 0x{4:x} rank {5} nranks 8 cudaDev {3} nvmlDev "
        "{3} busId "
        "{6}000 commId 0xab - Init START\n",
        rank / 4, 10 + rank / 4, 100 + rank, rank % 4, 0x1000 + rank * 16, rank, rank % 4 + 1);
  for (int rank = 0; rank < 8; ++rank)  // of other threads
    text += fmt::format("n{}:{}:{} [{}] NCCL INFO Connected all trees\n", rank / 4, 10 + rank / 4, 200 + rank,
                        rank % 4);
  const model::NcclLog log = parse_log(text, "job.log");
  ASSERT_EQ(log.communicators.size(), 1U);
  ASSERT_EQ(log.communicators[0].ranks.size(), 8U);
  for (const model::NcclRank& rank : log.communicators[0].ranks)
    EXPECT_TRUE(rank.connected_trees) << "rank " << rank.rank.value_or(99);
}

}  // namespace
}  // namespace angio::import::nccl_log
