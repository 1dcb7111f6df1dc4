// Rows of the layout table for NCCL 2.26 to 2.32: kernels also tell the profiler when they start and stop.
// See progress_layout.hpp.
#pragma once

#include "cudart/progress_layout_batch.hpp"

namespace angio::phantom::layouts {

// ncclDevWorkBatch
struct Batch {
  std::uint32_t next : 14;  // 0: the channel's last
  std::uint32_t extends : 1;
  std::uint32_t type : 2;  // 0 point to point, 1 collective, 2 registered collective, 3 batched broadcast
  std::uint32_t function : 15;
  std::uint32_t base;   // offset of its first work
  std::uint64_t works;  // bit i: there is a work at base + i * its size
};
static_assert(sizeof(Batch) == 16);

// ncclDevWorkP2p, and where its flag lies. Of a collective it is the top bit of the first word.
struct PointToPoint {
  void* buffers[2];
  std::size_t bytes[2];
  int ranks[2];
  std::uint8_t channels[4];
  std::uint8_t chunks[2];
  std::uint8_t flags;  // bit 6: a profiler wants to know
};
static_assert(offsetof(PointToPoint, flags) == 46);
inline constexpr std::uint32_t kPointToPointSize = 48;  // the real one is aligned to 16
inline constexpr std::uint32_t kBroadcastSize = 48;
inline constexpr std::uint32_t kRegisteredExtra = 192;  // a registered collective is as much larger

// A ring of events: ncclDevProfiler, and from 2.31 on ncclDevProfilerPhases beside it.
inline constexpr std::uint32_t kEvents = 64;
struct Event {
  std::uint64_t counter;
  std::uint64_t time;  // ns
};
struct Phases {
  std::uint64_t counter;
  std::uint64_t times[4];  // begin, after opening, before closing, end
};

namespace v26 {
struct Comm {
  int rank;
  int ranks;
  int node;
  int nodes;
  int buffers[3];
  int chunk;
  int all_nvlink;
  void* consumed;
  void* dense;
  void* abort;
  void* channels;
  void* local_ranks;
  std::uint64_t* started;
  std::uint64_t* completed;
};
struct alignas(16) Channel {
  void** peers;
  char ring[24];
  char trees[2][20];
  char direct[108];
  char nvls[160];
  void* done;
  std::uint64_t works;
};
static_assert(sizeof(Channel) == 368);
struct alignas(16) Whole {
  Comm comm;
  Channel channels[64];
};
static_assert(sizeof(Whole) == 0x5c60);  // 2.26.2

constexpr Layout make_layout() {
  Layout layout = batch_layout<Comm, Channel, Whole>(22602, 22606);
  layout.clock = KernelClock::kCounters;
  layout.work_counter = offsetof(Channel, works);
  layout.started = offsetof(Comm, started);
  layout.completed = offsetof(Comm, completed);
  layout.collective_size = 96;
  return layout;
}
inline constexpr Layout kLayout = make_layout();
}  // namespace v26

namespace v27 {
struct Comm {
  int rank;
  int ranks;
  int node;
  int nodes;
  int buffers[3];
  int chunk;
  int more[2];  // all_nvlink; from 2.30 on another word before it
  void* dense;
  void* abort;
  void* channels;
  void* local_ranks;
  Event* started;
  Event* completed;
};
struct alignas(16) Whole {
  Comm comm;
  v26::Channel channels[64];
};
static_assert(sizeof(Whole) == 0x5c60);  // 2.27.7 and 2.28.9

constexpr Layout make_layout() {
  Layout layout = batch_layout<Comm, v26::Channel, Whole>(22703, 22809);
  layout.clock = KernelClock::kEvents;
  layout.work_counter = offsetof(v26::Channel, works);
  layout.started = offsetof(Comm, started);
  layout.completed = offsetof(Comm, completed);
  layout.collective_size = 96;
  return layout;
}
inline constexpr Layout kLayout = make_layout();
}  // namespace v27

namespace v29 {
struct alignas(16) Channel {
  void** peers;
  char ring[32];  // with the inverse of its order
  char trees[2][20];
  char direct[108];
  char nvls[160];
  void* done;
  std::uint64_t works;
};
static_assert(sizeof(Channel) == 368 && offsetof(Channel, works) == 360);
struct alignas(16) Whole {
  v27::Comm comm;
  Channel channels[64];
};
static_assert(sizeof(Whole) == 0x5c60);

constexpr Layout make_layout(int first, int last, std::uint32_t collective_size) {
  Layout layout = batch_layout<v27::Comm, Channel, Whole>(first, last);
  layout.clock = KernelClock::kEvents;
  layout.work_counter = offsetof(Channel, works);
  layout.started = offsetof(v27::Comm, started);
  layout.completed = offsetof(v27::Comm, completed);
  layout.collective_size = collective_size;
  return layout;
}
inline constexpr Layout kLayout = make_layout(22902, 22907, 96);
}  // namespace v29

namespace v30 {
inline constexpr Layout kLayout = v29::make_layout(23003, 23007, 128);  // 2.30.7
}  // namespace v30

namespace v31 {
// ncclConnFifo with an offset of 64 bits.
struct Slot {
  int mode;
  std::int64_t offset;
  std::int64_t size;
  void* pointer;
};
static_assert(sizeof(Slot) == 32 && offsetof(Slot, size) == 16);
struct Comm {
  v27::Comm before;
  Phases* phases;
};
struct alignas(16) Whole {
  Comm comm;
  v29::Channel channels[64];
};
static_assert(sizeof(Whole) == 0x5c60);  // 2.32.3

constexpr Layout make_layout() {
  Layout layout = v29::make_layout(23102, 23203, 128);
  layout.slot_size = sizeof(Slot);
  layout.slot_bytes = offsetof(Slot, size);
  layout.phases = offsetof(Comm, phases);
  return layout;
}
inline constexpr Layout kLayout = make_layout();
}  // namespace v31

}  // namespace angio::phantom::layouts
