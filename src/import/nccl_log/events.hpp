// Failures: which kind a message is, and the numbers in it.
#pragma once

#include <cstdint>
#include <string_view>

#include "import/nccl_log/parser.hpp"

namespace angio::import::nccl_log {

// kOtherWarning when no pattern fits.
model::NcclEventKind classify(std::string_view text);
// A hash of the letters of a message: numbers and addresses in it do not count.
std::uint64_t words_key(std::string_view text);
// What makes two messages one event: the process, the place in NCCL's code, the words without their numbers.
std::uint64_t event_key(const Message& message, model::NcclEventKind kind);
model::NcclEvent make_event(const Message& message, model::NcclEventKind kind);

}  // namespace angio::import::nccl_log
