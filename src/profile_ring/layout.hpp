// The file that the profiler plugin writes and `angio profile` reads: one page of header, then three lanes of
// fixed slots, each lane a ring of its own, so that a flood of network steps cannot push out the collectives.
// A slot proves itself: its checksum covers its version, so that half a write is seen in any copy of the
// bytes, whether read live, copied while it was written, or left by a killed process. Own words and figures
// in the machine's byte order; the format is bound to one machine kind (little endian, 64 bits).
// Not the writer (lane_writer.hpp), not the reader (reader.hpp). Depends on nothing: the plugin lives in
// processes that are not ours.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace angio::profile_ring {

inline constexpr std::array<char, 8> kMagic = {'A', 'N', 'G', 'I', 'O', 'P', 'R', 'F'};
inline constexpr std::uint32_t kFormat = 1;
inline constexpr const char* kSuffix = ".ring";
inline constexpr std::size_t kHeaderSize = 4096;

// The bit numbers of NCCL's activation mask (src/include/plugin/nccl_profiler.h).
enum class EventKind : std::uint8_t {
  kGroup = 0,
  kCollective = 1,
  kPointToPoint = 2,
  kProxyOp = 3,
  kProxyStep = 4,
  kProxyControl = 5,
  kKernel = 6,
  kNetwork = 7,
  kGroupApi = 8,
  kCollectiveApi = 9,
  kPointToPointApi = 10,
  kKernelLaunch = 11,
  kCopyCollective = 12,
  kCopySync = 13,
  kCopyBatch = 14,
  kKernelPhase = 15,
};
inline constexpr std::size_t kKinds = 16;

enum class Lane : std::uint8_t { kOperations = 0, kChannels = 1, kSteps = 2 };
inline constexpr std::size_t kLanes = 3;

constexpr Lane lane_of(EventKind kind) {
  switch (kind) {
    case EventKind::kProxyOp:
    case EventKind::kKernel:
    case EventKind::kKernelPhase:
      return Lane::kChannels;
    case EventKind::kProxyStep:
    case EventKind::kProxyControl:
    case EventKind::kNetwork:
      return Lane::kSteps;
    default:
      return Lane::kOperations;
  }
}

enum Flag : std::uint8_t {
  kIsSend = 1,          // proxy op, proxy step
  kForeign = 2,         // the parent lives in another process (PXN)
  kGraphCaptured = 4,   // an API event inside a CUDA graph capture
  kSymmetric = 8,       // a symmetric-memory kernel
  kForOtherParent = 16  // the parent was of another communicator, or gone
};

// One event. Times are nanoseconds of CLOCK_MONOTONIC, but for the GPU's own.
struct Record {
  std::uint64_t start_ns = 0;
  std::uint64_t stop_ns = 0;  // 0: not stopped. Of a collective: enqueued, not finished
  std::uint64_t parent = 0;   // reference of an event of this file; 0: none
  EventKind kind = EventKind::kGroup;
  std::uint8_t flags = 0;
  std::uint8_t channel = 0;
  std::uint8_t channels = 0;
  std::uint8_t function = 0;   // words.hpp; 0: unknown, see text
  std::uint8_t algorithm = 0;  // words.hpp
  std::uint8_t protocol = 0;   // words.hpp
  std::uint8_t data_type = 0;  // words.hpp
  std::int32_t rank = -1;
  std::int32_t peer = -1;    // root of a collective; network event: device
  std::uint64_t size = 0;    // elements of an operation; bytes of a step, op or network event
  std::uint64_t number = 0;  // sequence number, step, group depth, phase
  // Send step: GPU wait, peer wait, network wait. Receive step: network wait, flush wait, GPU wait.
  // Kernel and phase: GPU clock at start, GPU clock at stop, unused. Group API: start stopped, end started.
  std::array<std::uint64_t, 3> times{};
  std::uint32_t steps = 0;     // of a proxy op; network event: queue pair
  std::uint32_t warps = 0;     // of a collective
  std::uint32_t chunk = 0;     // bytes of one step of a proxy op
  std::int32_t process = 0;    // of a proxy op: where the operation comes from
  std::uint64_t tag = 0;       // the user's, v7; 0: none
  std::array<char, 8> text{};  // begin of the first word that words.hpp does not know
};
static_assert(std::is_trivially_copyable_v<Record> && sizeof(Record) == 112);

inline constexpr std::size_t kBodyWords = sizeof(Record) / sizeof(std::uint64_t);
using Body = std::array<std::uint64_t, kBodyWords>;

// version is ticket * 8 + phase.
enum Phase : std::uint64_t { kEmpty = 0, kStarting = 1, kOpen = 2, kChanging = 3, kClosed = 4 };
inline constexpr std::uint64_t kPhases = 8;

struct Slot {
  std::uint64_t version;
  std::uint64_t checksum;
  Body body;
};
static_assert(sizeof(Slot) == 128);

// Words of the body that change after an event has begun.
inline constexpr std::size_t kStopWord = 1;
inline constexpr std::size_t kKindWord = 3;  // kind in the lowest byte
inline constexpr std::size_t kSizeWord = 5;
inline constexpr std::size_t kTimesWord = 7;   // and the two behind it
inline constexpr std::size_t kStepsWord = 10;  // steps in the lower half
static_assert(offsetof(Record, stop_ns) == 8 * kStopWord && offsetof(Record, kind) == 8 * kKindWord &&
              offsetof(Record, size) == 8 * kSizeWord && offsetof(Record, times) == 8 * kTimesWord &&
              offsetof(Record, steps) == 8 * kStepsWord);

// The checksum is a sum of products, one a word: it pipelines (about 15 cycles), and a change of one word
// needs that word alone. Against torn writes, not against a forger.
constexpr std::uint64_t share_of_version(std::uint64_t version) {
  return (version + 1) * 0x9E3779B97F4A7C15U;
}
constexpr std::uint64_t share_of_word(std::size_t index, std::uint64_t word) {
  // The second is even, so every factor is odd.
  const std::uint64_t odd = 0x9E3779B97F4A7C15U + (index + 1) * 0xD1B54A32D192ED02U;
  return (word ^ (word >> 31U)) * odd;
}
constexpr std::uint64_t checksum_of(std::uint64_t version, const Body& body) {
  std::uint64_t sum = share_of_version(version);
  for (std::size_t i = 0; i < body.size(); ++i)
    sum += share_of_word(i, body[i]);
  return sum;
}

// A reference names an event within its file: lane and ticket + 1 (0 is "none").
inline constexpr std::uint32_t kTicketBits = 46;
inline constexpr std::uint64_t kTicketMask = (std::uint64_t{1} << kTicketBits) - 1;
constexpr std::uint64_t reference_of(Lane lane, std::uint64_t ticket) {
  return (static_cast<std::uint64_t>(lane) << kTicketBits) | ((ticket + 1) & kTicketMask);
}

struct LaneHeader {
  std::uint64_t offset;    // bytes from the begin of the file
  std::uint64_t capacity;  // slots, a power of two
};

// On a cache line of its own, for several threads of NCCL count here.
struct alignas(64) LaneCounters {
  std::uint64_t next;         // ticket of the next event
  std::uint64_t dropped;      // events that met a slot in the middle of a write, and were not recorded
  std::uint64_t late;         // stops and states of events that were overwritten before
  std::uint64_t overwritten;  // events that were overwritten while open
};

enum class FileState : std::uint32_t { kStarting = 0, kRecording = 1, kFinished = 2 };

struct Header {
  std::array<char, 8> magic;
  std::uint32_t format;
  std::uint32_t header_size;
  std::uint32_t slot_size;
  std::uint32_t abi;  // NCCL's profiler interface: 1 to 7
  std::uint32_t state;
  std::uint32_t process;
  std::uint64_t process_start;    // field 22 of /proc/PID/stat: tells a number that was given again
  std::uint64_t pid_namespace;    // inode of /proc/self/ns/pid
  std::uint64_t monotonic_ns;     // one moment on both clocks
  std::uint64_t realtime_ns;      // since 1970
  std::uint64_t anchor_error_ns;  // the two were read within this time
  std::uint64_t finished_ns;      // monotonic
  std::uint64_t mask;             // events that are recorded, bits by EventKind
  std::uint64_t communicator;     // NCCL's hash; the same on all ranks; 0: not known yet
  std::int32_t rank;              // -1: not known yet
  std::uint32_t ranks;            // 0: not told (interfaces 1 to 3)
  std::uint32_t nodes;            // 0: not told
  std::uint32_t reserved;
  std::array<char, 64> host;
  std::array<char, 40> boot;  // /proc/sys/kernel/random/boot_id: whose monotonic clock this is
  std::array<char, 64> name;  // of the communicator; may be empty
  std::array<LaneHeader, kLanes> lanes;
  alignas(64) std::array<LaneCounters, kLanes> counters;
};
// What a file may have at most, all lanes together: a limit of the plugin's settings and of who reads.
inline constexpr std::uint64_t kMostSlots = std::uint64_t{1} << 24U;
inline constexpr std::size_t kMostBytes = kHeaderSize + kMostSlots * sizeof(Slot);
static_assert(std::is_trivially_copyable_v<Header> && sizeof(Header) <= kHeaderSize);
static_assert(offsetof(Header, lanes) == 280 && offsetof(Header, counters) == 384);

}  // namespace angio::profile_ring
