// Rings of a log: as NCCL prints them, and made of the hops of the ranks where it cuts their line.
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "import/nccl_log/nccl_log.hpp"

namespace angio::import::nccl_log {
namespace {

std::string info(std::string_view message, std::string_view at) {
  return fmt::format("{} NCCL INFO {}\n", at, message);
}

// NCCL cuts the line of a long ring; each rank prints who follows it.
TEST(NcclLogRings, ARingWhoseLineIsCutIsMadeOfTheHopsOfItsRanks) {
  const auto ring_of = [](int ranks_that_tell) {
    std::string text;
    for (int rank = 0; rank < ranks_that_tell; ++rank) {
      const auto at = fmt::format("node-a:{}:{} [{}]", 100 + rank, 200 + rank, rank);
      text += info(fmt::format("ncclCommInitRank comm 0x7{} rank {} nranks 4 cudaDev {} nvmlDev {} busId "
                               "1b000 commId 0xabc - Init START",
                               rank, rank, rank, rank),
                   at);
      if (rank == 0) text += info("Channel 00/01 :  0  3  1", at);  // "12" cut to "1"
      text += info(fmt::format("Ring 00 : {} -> {} -> {}", (rank + 1) % 4, rank, (rank + 3) % 4), at);
    }
    return parse_log(text, "job.log").communicators.at(0).rings.at(0).order;
  };
  EXPECT_EQ(ring_of(4), (std::vector<std::uint32_t>{0, 3, 2, 1}));
  EXPECT_EQ(ring_of(3), (std::vector<std::uint32_t>{0, 3, 1}));  // a rank is missing: as printed
}

}  // namespace
}  // namespace angio::import::nccl_log
