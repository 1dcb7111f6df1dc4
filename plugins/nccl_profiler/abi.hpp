// What all versions of NCCL's profiler interface share: results, the log function, event types, states, and
// the struct of functions that NCCL looks up. Own declarations of the facts in NVIDIA/nccl
// src/include/plugin/nccl_profiler.h (tags v2.23.4 to v2.32.3); what differs stands in profiler_vN.cpp.
#pragma once

#include <cstddef>
#include <cstdint>

#include "profile_ring/words.hpp"
#include "recorder.hpp"

namespace angio::profiler {

enum Result : int { kSuccess = 0 };

using Logger = void (*)(int level, unsigned long flags, const char* file, int line, const char* format, ...);

// Interface 1 to 3.
using InitOld = Result (*)(void** context, int* mask);
// Interface 4.
using InitFour = Result (*)(void** context, int* mask, const char* name, std::uint64_t communicator,
                            int nodes, int ranks, int rank, Logger logger);
// From interface 5 on.
using InitNew = Result (*)(void** context, std::uint64_t communicator, int* mask, const char* name, int nodes,
                           int ranks, int rank, Logger logger);

// ncclProfiler_vN_t: the shape is one from the first version on.
template <typename Init, typename Descriptor, typename Arguments>
struct Interface {
  const char* name;
  Init init;
  Result (*start_event)(void* context, void** handle, Descriptor* descriptor);
  Result (*stop_event)(void* handle);
  Result (*record_event_state)(void* handle, int state, Arguments* arguments);
  Result (*finalize)(void* context);
};

inline constexpr const char* kName = "Angio";

// ncclProfilerEventDescr_vN_t's members that did not change, by version of the first that has them.
struct ProxyOp {
  std::int32_t pid;
  std::uint8_t channel;
  std::int32_t peer;
  std::int32_t steps;
  std::int32_t chunk;
  std::int32_t is_send;
};
static_assert(sizeof(ProxyOp) == 24 && offsetof(ProxyOp, is_send) == 20);
struct ProxyStep {
  std::int32_t step;
};
struct KernelCh {  // without timer in interface 3
  std::uint8_t channel;
  std::uint64_t timer;
};
static_assert(offsetof(KernelCh, timer) == 8);
struct NetPlugin {
  std::int64_t id;
  void* data;
};

// Interface 4 and on: one 8-byte member, whatever the state. 1 to 3: transSize and steps of a proxy op.
union ArgumentsNew {
  std::size_t transferred;  // proxyStep
  std::int32_t appended;    // proxyCtrl
  void* data;               // netPlugin
  std::uint64_t gpu_time;   // kernelCh, kernelPhase
};
static_assert(sizeof(ArgumentsNew) == 8);
union ArgumentsOld {
  struct {
    std::size_t transferred;
    std::int32_t steps;
  } proxy_op;
  std::int32_t appended;
};
static_assert(sizeof(ArgumentsOld) == 16);

using profile_ring::EventKind;
using profile_ring::Record;

// The bit that is set in an event type; kKinds when it is none or unknown.
constexpr std::size_t kind_number(std::uint64_t type) {
  if (type == 0 || (type & (type - 1)) != 0) return profile_ring::kKinds;
  const auto number = static_cast<std::size_t>(__builtin_ctzll(type));
  return number < profile_ring::kKinds ? number : profile_ring::kKinds;
}

// Kernel and group events come without a rank: theirs is the communicator's.
constexpr bool has_rank(EventKind kind) {
  return kind != EventKind::kKernel && kind != EventKind::kKernelPhase && kind != EventKind::kGroup &&
         kind != EventKind::kProxyControl;
}

// A word as a number; the first that is unknown is kept as it is. word may be null.
void take_function(const char* word, Record& record);
void take_algorithm(const char* word, Record& record);
void take_protocol(const char* word, Record& record);
void take_data_type(const char* word, Record& record);

void take_proxy_op(const ProxyOp& op, Record& record);
// Reads the network plugin's own event where its layout is known (NCCL's IB and socket transports, version
// 1).
void take_network(const NetPlugin& event, Record& record);

// The functions that do not differ.
Result stop_event(void* handle);
Result finalize(void* context);
Result record_state_old(void* handle, int state, ArgumentsOld* arguments);
Result record_state_new(void* handle, int state, ArgumentsNew* arguments);

template <int kVersion>
Result init_old(void** context, int* mask) {
  *context = recorder::open({.abi = kVersion}, mask);
  return kSuccess;
}

template <int kVersion>
Result init_new(void** context, std::uint64_t communicator, int* mask, const char* name, int nodes, int ranks,
                int rank, Logger logger) {
  *context = recorder::open({.abi = kVersion,
                             .communicator = communicator,
                             .name = name,
                             .nodes = nodes,
                             .ranks = ranks,
                             .rank = rank,
                             .logger = logger},
                            mask);
  return kSuccess;
}

}  // namespace angio::profiler
