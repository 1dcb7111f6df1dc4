// The calls of one rank while they are read: small and in one piece, because a verbose log is mostly calls.
// finish() turns it into model::NcclCalls.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "model/nccl_log.hpp"

namespace angio::import::nccl_log {

struct Call {
  std::uint64_t op_count = 0;
  std::uint64_t count = 0;
  std::uint32_t line = 0;
  std::int32_t root = 0;
  std::uint32_t place = 0;
  std::uint8_t function = 0;  // of kFunctions
  std::uint8_t datatype = 0;
  std::uint8_t op = 0;
};

// What NCCL prints in front of ": opCount"; the last two are counted, not compared.
inline constexpr auto kFunctions = std::to_array<std::string_view>(
    {"AllReduce", "AllGather", "ReduceScatter", "Broadcast", "Reduce", "AlltoAll", "AllToAll", "Gather",
     "Scatter", "AllGatherV", "AllToAllv", "PutSignal", "Send", "Recv"});
inline constexpr std::uint8_t kSend = 12;
inline constexpr std::uint8_t kRecv = 13;

class CallTrace {
 public:
  void add(const Call& call);
  void add_point_to_point() { ++point_to_point_; }
  [[nodiscard]] model::NcclCalls finish() const;

 private:
  static constexpr std::size_t kFirst = 16;
  static constexpr std::size_t kLast = 32;
  static constexpr std::size_t kBlocks = 128;

  void close_block();

  std::uint64_t collectives_ = 0;
  std::uint64_t block_length_ = 1;
  model::NcclCallBlock block_;  // the open one
  std::uint64_t point_to_point_ = 0;
  std::vector<Call> last_;  // a ring
  std::vector<Call> first_;
  std::vector<model::NcclCallBlock> blocks_;
};

}  // namespace angio::import::nccl_log
