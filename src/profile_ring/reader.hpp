// Bytes of a ring file to its events, however the bytes came: a live file read once, a copy, what a killed
// process left, a cut or a hostile file. Slots that do not prove themselves are counted and left out.
// Not the meaning of the events (profile/).
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "profile_ring/layout.hpp"

namespace angio::profile_ring {

struct Event {
  Record record;
  std::uint64_t reference = 0;  // what a child has as parent
};

struct LaneState {
  std::uint64_t capacity = 0;     // slots
  std::uint64_t started = 0;      // events since the file was made
  std::uint64_t dropped = 0;      // not recorded: the slot was being written
  std::uint64_t overwritten = 0;  // older events that gave way to newer ones
  std::uint64_t overwritten_open = 0;
  std::uint64_t late = 0;     // stops that came after their event was overwritten
  std::uint64_t torn = 0;     // slots in the middle of a write when the bytes were taken
  std::uint64_t damaged = 0;  // slots whose content cannot be
  std::uint64_t missing = 0;  // slots beyond the end of the bytes
};

struct RingFile {
  std::string path;
  Header header{};  // its text members need not end; use the strings below
  std::string host;
  std::string boot;
  std::string name;  // of the communicator
  std::array<LaneState, kLanes> lanes{};
  std::vector<Event> events;  // by lane, then in the order of their start
};

// Errors when the header is no header. Everything below is counted, not fatal.
Result<RingFile> read_ring(std::string_view bytes, const std::string& path);

// The length of the file that has this header, kMostBytes at most: what is behind it is not of the ring.
std::size_t bytes_announced(const Header& header);

}  // namespace angio::profile_ring
