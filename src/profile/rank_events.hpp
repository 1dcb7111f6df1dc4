// The events of one file, joined: each collective with the begin and end of its kernel. What the steps after
// it (clocks, arrivals, links) work on.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "profile/profile.hpp"

namespace angio::profile {

struct KernelSpan {
  std::uint64_t start_ns = 0;  // earliest channel
  std::uint64_t stop_ns = 0;   // latest channel; 0: one has not stopped
  double gpu_ns = 0;           // longest channel by the GPU's clock; 0: not told
};

// One rank's part in one collective, in the monotonic time of its host.
struct Part {
  std::size_t member = 0;
  const profile_ring::Record* record = nullptr;
  std::uint64_t occurrence = 0;  // of the same function and number on this rank (graph replays)
  KernelSpan kernel{};           // start 0: not recorded
};

// Kernel events by the reference of their operation.
std::unordered_map<std::uint64_t, KernelSpan> kernel_spans(const profile_ring::RingFile& file);
std::vector<Part> parts_of(const profile_ring::RingFile& file, std::size_t member);

}  // namespace angio::profile
