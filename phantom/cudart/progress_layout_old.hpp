// Rows of the layout table for NCCL 2.18 to 2.21: works lie in a FIFO that each kernel finds by an argument.
// See progress_layout.hpp.
#pragma once

#include "cudart/progress_layout.hpp"

namespace angio::phantom::layouts {

// ncclConnFifo, 2.20 and later.
struct Slot {
  int mode;
  int offset;
  std::int64_t size;
  void* pointer;
};
static_assert(sizeof(Slot) == 24 && offsetof(Slot, size) == 8);

// ncclNetDeviceHandle_t, 2.19 and later.
struct NetDevice {
  int type;
  int version;
  void* handle;
  std::size_t size;
  int needs_progress;
};
static_assert(sizeof(NetDevice) == 32);

namespace v18 {
struct Connection {
  void* buffers[3];
  std::uint64_t* tail;
  std::uint64_t* head;
  int flags;
  int shared;
  void* exchange;
  void* arguments;
  int* sizes;
  int* offsets;
  std::uint64_t step;
  std::uint64_t cleaned;
};
static_assert(sizeof(Connection) == 96);
struct alignas(16) Channel {
  void** peers;
  char ring[24];
  char trees[2][20];
  char direct[76];
  char nvls[72];
  void* done;
};
static_assert(sizeof(Channel) == 240);
struct Comm {
  int rank;
  int ranks;
  int buffers[3];
  int depth;
  void* works;
  void* abort;
  void* channels;
};
struct alignas(16) Whole {
  Comm comm;
  Channel channels[32];
};
static_assert(sizeof(Whole) == 0x1e30);  // libnccl 2.18.3 allocates as much

inline constexpr Layout kLayout = {.first = 21801,
                                   .last = 21806,
                                   .comm_channels = offsetof(Comm, channels),
                                   .channels = offsetof(Whole, channels),
                                   .channel_size = sizeof(Channel),
                                   .channel_count = 32,
                                   .connection_size = sizeof(Connection),
                                   .tail = offsetof(Connection, tail),
                                   .head = offsetof(Connection, head),
                                   .fifo = offsetof(Connection, sizes),
                                   .slot_size = sizeof(int),
                                   .slot_bytes = 0,
                                   .wide_bytes = false};
}  // namespace v18

namespace v19 {
struct Connection {
  void* buffers[3];
  void* handles[3];
  std::uint64_t* tail;
  std::uint64_t* head;
  int flags;
  int shared;
  void* exchange;
  void* arguments;
  int* sizes;
  int* offsets;
  std::uint64_t step;
  std::uint64_t cleaned;
  NetDevice device;
};
static_assert(sizeof(Connection) == 152);
struct Comm {
  int rank;
  int ranks;
  int node;
  int nodes;
  int buffers[3];
  int depth;
  void* works;
  void* abort;
  void* channels;
};
struct alignas(16) Whole {
  Comm comm;
  v18::Channel channels[32];
};
static_assert(sizeof(Whole) == 0x1e40);  // 2.19.3

inline constexpr Layout kLayout = {.first = 21903,
                                   .last = 21904,
                                   .comm_channels = offsetof(Comm, channels),
                                   .channels = offsetof(Whole, channels),
                                   .channel_size = sizeof(v18::Channel),
                                   .channel_count = 32,
                                   .connection_size = sizeof(Connection),
                                   .tail = offsetof(Connection, tail),
                                   .head = offsetof(Connection, head),
                                   .fifo = offsetof(Connection, sizes),
                                   .slot_size = sizeof(int),
                                   .slot_bytes = 0,
                                   .wide_bytes = false};
}  // namespace v19

namespace v20 {
struct Connection {
  void* buffers[3];
  void* handles[3];
  std::uint64_t* tail;
  std::uint64_t* head;
  int flags;
  int shared;
  void* exchange;
  void* arguments;
  Slot* fifo;
  std::uint64_t step;
  std::uint64_t cleaned;
  NetDevice device;
};
static_assert(sizeof(Connection) == 144);
struct alignas(16) Channel {
  void** peers;
  char ring[24];
  char trees[2][20];
  char direct[108];
  char nvls[72];
  void* done;
};
static_assert(sizeof(Channel) == 272);
struct Comm {
  int rank;
  int ranks;
  int node;
  int nodes;
  int buffers[3];
  int chunk;
  int depth;
  void* works;
  void* dense;
  void* abort;
  void* channels;
};
struct alignas(16) Whole {
  Comm comm;
  Channel channels[32];
};
static_assert(sizeof(Whole) == 0x2250);  // 2.20.5

inline constexpr Layout kLayout = {.first = 22003,
                                   .last = 22005,
                                   .comm_channels = offsetof(Comm, channels),
                                   .channels = offsetof(Whole, channels),
                                   .channel_size = sizeof(Channel),
                                   .channel_count = 32,
                                   .connection_size = sizeof(Connection),
                                   .tail = offsetof(Connection, tail),
                                   .head = offsetof(Connection, head),
                                   .fifo = offsetof(Connection, fifo),
                                   .slot_size = sizeof(Slot),
                                   .slot_bytes = offsetof(Slot, size),
                                   .wide_bytes = true};
}  // namespace v20

namespace v21 {
// The same up to 2.32.
struct Connection {
  void* buffers[3];
  void* handles[3];
  std::uint64_t* tail;
  std::uint64_t* head;
  int flags;
  int shared;
  int step_size;
  void* exchange;
  void* arguments;
  Slot* fifo;
  std::uint64_t step;
  std::uint64_t cleaned;
  NetDevice device;
};
static_assert(sizeof(Connection) == 152);
struct alignas(16) Channel {
  void** peers;
  char ring[24];
  char trees[2][20];
  char direct[108];
  char nvls[168];
  void* done;
};
static_assert(sizeof(Channel) == 368);
struct alignas(16) Whole {
  v20::Comm comm;
  Channel channels[32];
};
static_assert(sizeof(Whole) == 0x2e50);  // 2.21.5

inline constexpr Layout kLayout = {.first = 22105,
                                   .last = 22105,
                                   .comm_channels = offsetof(v20::Comm, channels),
                                   .channels = offsetof(Whole, channels),
                                   .channel_size = sizeof(Channel),
                                   .channel_count = 32,
                                   .connection_size = sizeof(Connection),
                                   .tail = offsetof(Connection, tail),
                                   .head = offsetof(Connection, head),
                                   .fifo = offsetof(Connection, fifo),
                                   .slot_size = sizeof(Slot),
                                   .slot_bytes = offsetof(Slot, size),
                                   .wide_bytes = true};
}  // namespace v21

}  // namespace angio::phantom::layouts
