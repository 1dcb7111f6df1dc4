// Rows of the layout table for NCCL 2.22 to 2.25: a kernel gets one block of arguments with batches of works.
// See progress_layout.hpp.
#pragma once

#include "cudart/progress_layout_old.hpp"

namespace angio::phantom::layouts {

// ncclDevKernelArgs, the same up to 2.32; batches follow.
struct Arguments {
  void* comm;
  std::uint64_t channels;  // mask
  std::uint8_t storage;    // 0: works are in this block
  std::uint32_t mask;
  void* works;
};
static_assert(sizeof(Arguments) == 32 && offsetof(Arguments, mask) == 20 && offsetof(Arguments, works) == 24);

// What the rows from 2.22 on have in common.
template <typename Comm, typename Channel, typename Whole>
constexpr Layout batch_layout(int first, int last) {
  return {.first = first,
          .last = last,
          .comm_channels = offsetof(Comm, channels),
          .channels = offsetof(Whole, channels),
          .channel_size = sizeof(Channel),
          .channel_count = sizeof(Whole::channels) / sizeof(Channel),
          .connection_size = sizeof(v21::Connection),
          .tail = offsetof(v21::Connection, tail),
          .head = offsetof(v21::Connection, head),
          .fifo = offsetof(v21::Connection, fifo),
          .slot_size = sizeof(Slot),
          .slot_bytes = offsetof(Slot, size),
          .wide_bytes = true,
          .one_argument_block = true};
}

namespace v22 {
struct Comm {
  int rank;
  int ranks;
  int node;
  int nodes;
  int buffers[3];
  int chunk;
  void* consumed;
  void* dense;
  void* abort;
  void* channels;
};
struct alignas(16) Whole {
  Comm comm;
  v21::Channel channels[32];
};
static_assert(sizeof(Whole) == 0x2e40);  // 2.22.3
inline constexpr Layout kLayout = batch_layout<Comm, v21::Channel, Whole>(22203, 22203);
}  // namespace v22

namespace v23 {
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
};
struct alignas(16) Whole {
  Comm comm;
  v21::Channel channels[32];
};
static_assert(sizeof(Whole) == 0x2e50);  // 2.23.4 and 2.24.3
inline constexpr Layout kLayout = batch_layout<Comm, v21::Channel, Whole>(22304, 22403);
}  // namespace v23

namespace v25 {
struct Comm {
  v23::Comm before;
  void* local_ranks;
};
struct alignas(16) Channel {
  void** peers;
  char ring[24];
  char trees[2][20];
  char direct[108];
  char nvls[160];
  void* done;
};
static_assert(sizeof(Channel) == 352);
struct alignas(16) Whole {
  Comm comm;
  Channel channels[64];
};
static_assert(offsetof(Whole, channels) == 80);

constexpr Layout make_layout() {
  Layout layout = batch_layout<v23::Comm, Channel, Whole>(22501, 22501);
  return layout;
}
inline constexpr Layout kLayout = make_layout();
}  // namespace v25

}  // namespace angio::phantom::layouts
