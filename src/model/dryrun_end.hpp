// How the run of a phantom cluster ended, and its words: the cluster says it, results keep it, views show
// it. No run here.
#pragma once

#include <cstdint>
#include <string_view>

namespace angio::model {

enum class DryRunEnd : std::uint8_t { kComplete, kFailed, kCrashed, kTimeout, kMemory, kInterrupted };

std::string_view words_of(DryRunEnd end);  // "timed out"
std::string_view key_of(DryRunEnd end);    // "timeout": for machine-readable output

// "AllToAll" and "SendRecv", in any case and with _ or without: NCCL chooses no algorithm for them.
bool is_point_to_point(std::string_view collective);

}  // namespace angio::model
