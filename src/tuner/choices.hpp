// A table made ready for one communicator: which row decides for a collective and a size. The rows that fit
// the communicator's nodes and ranks become sorted intervals of sizes, with a first step by the size's
// leading bits, so that an answer costs tens of nanoseconds at ten thousand rows. The answer depends on
// nothing but the table and the arguments: every rank gets the same.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "tuner/table.hpp"

namespace angio::tuner {

class Choices {
 public:
  Choices(std::shared_ptr<const Table> table, std::uint64_t nodes, std::uint64_t ranks);

  // The row that decides; nullptr: none fits, NCCL's own choice stands.
  [[nodiscard]] const Rule* find(Collective collective, std::uint64_t bytes, std::uint64_t pipe_ops,
                                 bool registered) const;
  // How many rows fit the communicator.
  [[nodiscard]] std::size_t fitting() const { return fitting_; }

  struct Interval {
    Range bytes;
    const Rule* rule = nullptr;
  };
  // All sizes in order, those without a row included.
  [[nodiscard]] std::vector<Interval> intervals(Collective collective, std::uint64_t pipe_ops,
                                                bool registered) const;

 private:
  // The first step: sizes whose bit width and three bits below the leading one are the same share a bucket.
  static constexpr std::size_t kBuckets = 496;
  struct Index {
    std::vector<std::uint64_t> starts;                // first sizes of the intervals, ascending from 0
    std::vector<std::uint32_t> rules;                 // of each interval; kNone without a row
    std::array<std::uint32_t, kBuckets + 1> first{};  // interval in which a bucket begins
  };
  static std::size_t bucket_of(std::uint64_t bytes);
  static std::uint64_t start_of(std::size_t bucket);
  static Index make_index(const std::vector<Rule>& rules, std::span<const std::uint32_t> fitting);
  [[nodiscard]] const Index& index_for(Collective collective, std::uint64_t pipe_ops, bool registered) const;

  std::shared_ptr<const Table> table_;
  std::size_t fitting_ = 0;
  std::vector<std::uint64_t> pipe_starts_;  // where a range of num_pipe_ops begins or has ended, ascending
  std::size_t registered_kinds_ = 1;        // 2 when some row tells registered buffers apart
  std::vector<Index> indices_;              // by collective, kind of buffer, range of num_pipe_ops
};

}  // namespace angio::tuner
