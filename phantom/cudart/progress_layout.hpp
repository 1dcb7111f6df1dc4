// Where the parts of NCCL's device-side structures lie that the pump (progress.cpp) reads and writes, by
// NCCL's version. The structures are internal to NCCL: each row was taken from src/include/device.h
// (devcomm.h up to 2.18) of that version and held against the sizes that its library allocates. No row, no
// pump.
#pragma once

#include <cstddef>
#include <cstdint>

namespace angio::phantom {

// How the kernels of a version tell NCCL's profiler that they started and stopped.
enum class KernelClock : std::uint8_t {
  kNone,      // up to 2.25
  kCounters,  // 2.26: the number of works, one word a channel
  kEvents,    // 2.27 and later: number and time, a ring of 64 a channel
};

struct Layout {
  int first = 0;  // as ncclGetVersion: 22809
  int last = 0;

  // The communicator on the device, which lies before its channels in one allocation.
  std::uint32_t comm_channels = 0;  // offset of the pointer to them, and …
  std::uint32_t channels = 0;       // … the offset from the communicator that it must show
  std::uint32_t channel_size = 0;
  std::uint32_t channel_count = 0;

  // One end of a connection (ncclConnInfo); a peer has two to send, then two to receive.
  std::uint32_t connection_size = 0;
  std::uint32_t tail = 0;
  std::uint32_t head = 0;
  std::uint32_t fifo = 0;
  // The FIFO that the GPU fills for the proxy: where the size of a slot lies.
  std::uint32_t slot_size = 0;
  std::uint32_t slot_bytes = 0;
  bool wide_bytes = false;  // 64 bits, else 32

  bool one_argument_block = false;  // else three arguments: communicator, mask of channels, first work

  KernelClock clock = KernelClock::kNone;
  std::uint32_t work_counter = 0;  // in a channel
  std::uint32_t started = 0;       // in the communicator
  std::uint32_t completed = 0;
  std::uint32_t phases = 0;  // in the communicator; 0: there are none (before 2.31)
  std::uint32_t collective_size = 0;
};

// nullptr: not known.
const Layout* find_layout(int version);

}  // namespace angio::phantom
