// The profiler, whatever version of the interface NCCL speaks: communicators, handles, and events from their
// start to their stop in the rings of shared memory. Any failure turns the profiler off for the communicator,
// with one log line, no memory among them; nothing here blocks, allocates or fails once a communicator is
// open.
#pragma once

#include <cstdint>

#include "profile_ring/layout.hpp"

namespace angio::profiler::recorder {

struct Communicator {
  int abi = 0;
  std::uint64_t communicator = 0;  // 0: not told yet (interfaces 1 to 3 tell it with the first operation)
  const char* name = nullptr;      // may be null
  int nodes = 0;
  int ranks = 0;
  int rank = -1;
  void (*logger)(int level, unsigned long flags, const char* file, int line, const char* format,
                 ...) = nullptr;
};

// A context for NCCL; null when the profiler is off. mask is NCCL's own, of the whole process: it is set when
// a communicator is recorded and left alone when not.
void* open(const Communicator& communicator, int* mask) noexcept;
void close(void* context) noexcept;

// Begins an event; its time is taken here. parent: a handle or null. Null when it was dropped.
void* start(void* context, profile_ring::Record& record, void* parent) noexcept;
void stop(void* handle) noexcept;
// A state of an event came: its time goes where the kind and the state say. size: bytes of a step or op.
void state(void* handle, int state, std::uint64_t size, std::uint32_t steps) noexcept;
// The GPU's clock at the end of a kernel or phase.
void gpu_stop(void* handle, std::uint64_t gpu_time) noexcept;

// The process that opened communicators: proxy operations of another one have parents that are not ours.
std::int32_t own_process() noexcept;

// Interfaces 1 to 3 tell these with an operation.
void learn(void* context, std::uint64_t communicator, int rank, const char* name) noexcept;

}  // namespace angio::profiler::recorder
