// How much memory the processes of a dry run hold together. Two measures of the kernel: resident pages
// (statm), cheap and too high, for a page that is mapped twice counts twice; and proportional pages
// (smaps_rollup), true and slow. The first is asked each time, the second when the first is beyond the limit
// and otherwise only as often as it costs little.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "host/root.hpp"

namespace angio::nccl_run {

class MemoryGuard {
 public:
  MemoryGuard(const host::Root& root, std::uint64_t limit) : root_(root), limit_(limit) {}

  // Of the processes that are running; true when they hold more than the limit.
  bool is_beyond(std::span<const int> processes);
  // The next call takes the true measure: a process came to an end of its work.
  void ask_truly() { due_ = {}; }
  [[nodiscard]] std::uint64_t peak() const { return peak_; }
  [[nodiscard]] std::uint64_t limit() const { return limit_; }
  // Which of the processes of the last true measure held the most.
  [[nodiscard]] std::size_t largest() const { return largest_; }

 private:
  std::uint64_t measure(std::span<const int> processes);

  const host::Root& root_;
  std::uint64_t limit_;
  std::uint64_t peak_ = 0;
  std::size_t largest_ = 0;
  std::chrono::steady_clock::time_point due_;
};

// What can be had without harming others, bytes: MemAvailable, and what the limits of this process's control
// groups leave. None: /proc/meminfo does not say.
std::optional<std::uint64_t> available_memory(const host::Root& root);

}  // namespace angio::nccl_run
