// What stands in front of a message of NCCL's: "host:pid:tid [dev] file:line (function) NCCL WARN ", behind
// anything that launchers, frameworks and container runtimes put before it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace angio::import::nccl_log {

enum class Level : std::uint8_t { kInfo, kWarn, kTrace, kCall };

struct Anchor {
  std::size_t at = 0;       // of "NCCL " in the line
  std::size_t message = 0;  // behind "NCCL INFO "
  Level level = Level::kInfo;
};

// The first "NCCL INFO ", "NCCL WARN ", "NCCL TRACE " or "NCCL CALL " from `from` on.
std::optional<Anchor> find_anchor(std::string_view line, std::size_t from = 0);

struct Envelope {
  std::string_view thread;    // "host:pid:tid" as written: tells threads apart
  std::string_view host;      // empty: no envelope, or its start is cut off
  std::string_view prefix;    // what stands before the envelope
  std::string_view location;  // "transport/net_ib.cc:789"
  std::string_view function;
  std::uint32_t pid = 0;
  std::optional<int> device;
  bool cut = false;  // parts are there, but not the host and the process
};

// line up to the anchor, backwards. Empty when it is no envelope but prose that has the words in it.
std::optional<Envelope> parse_envelope(std::string_view before);

// "2025-03-01 12:34:56", "2025-03-01T12:34:56.789Z": microseconds since 1970 as if it were UTC.
std::optional<std::int64_t> find_time(std::string_view prefix);
// The rank that a launcher put in front: "[rank3]:", "[1,3]<stdout>:", " 3: " (srun -l), "[3] ".
std::optional<std::uint32_t> find_launcher_rank(std::string_view prefix);

}  // namespace angio::import::nccl_log
