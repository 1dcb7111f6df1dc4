// What the user asks of the profiler, from the environment: ANGIO_PROFILER_DIR, ANGIO_PROFILER_EVENTS,
// ANGIO_PROFILER_EVENTS_MAX, ANGIO_PROFILER_TOTAL_MAX. An unknown word is an error, never a default.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace angio::profiler {

struct Settings {
  std::string directory;
  bool own_directory = true;  // the default one: made when it is not there
  std::uint64_t mask = 0;     // bits by profile_ring::EventKind
  std::uint64_t events = 0;   // slots of a file, all lanes together; a power of two
  std::uint64_t total = 0;    // bytes of all files in the directory
};

// "coll,p2p,proxy-step" to the mask; the words of docs/profiler.md. Returns what is wrong, empty when
// nothing.
std::string parse_events(std::string_view text, std::uint64_t& mask);
// A whole number of at least least; K, M and G are powers of 1024.
std::string parse_count(std::string_view name, std::string_view text, std::uint64_t least, std::uint64_t most,
                        std::uint64_t& value);
// Returns what is wrong, empty when nothing.
std::string read_settings(Settings& settings);

}  // namespace angio::profiler
