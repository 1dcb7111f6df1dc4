// Version 7 of NCCL's profiler interface: NCCL 2.32 and newer. Facts of NVIDIA/nccl
// src/include/plugin/profiler/profiler_v7.h.
#include "abi.hpp"

namespace angio::profiler::v7 {

struct Descriptor {
  std::uint64_t type;
  void* parent;
  std::int32_t rank;
  union {
    struct {
      bool captured;
      std::int32_t depth;
    } group_api;
    struct {
      const char* function;
      std::size_t count;
      const char* data_type;
      std::int32_t root;
      void* stream;
      bool captured;
      std::uint64_t tag;
    } coll_api;
    struct {
      const char* function;
      std::size_t count;
      const char* data_type;
      void* stream;
      bool captured;
      std::uint64_t tag;
    } p2p_api;
    struct {
      void* stream;
    } launch;
    struct {
      std::uint64_t sequence;
      const char* function;
      const void* send;
      void* receive;
      std::size_t count;
      std::int32_t root;
      const char* data_type;
      std::uint8_t channels;
      std::uint8_t warps;
      const char* algorithm;
      const char* protocol;
      void* parent_group;
      const char* variant;
      bool symmetric;
      std::uint64_t tag;
    } coll;
    struct {
      const char* function;
      void* buffer;
      const char* data_type;
      std::size_t count;
      std::int32_t peer;
      std::uint8_t channels;
      void* parent_group;
      std::uint64_t tag;
    } p2p;
    ProxyOp proxy_op;
    ProxyStep proxy_step;
    KernelCh kernel;
    NetPlugin network;
    struct {
      std::uint64_t sequence;
      const char* function;
      const void* send;
      void* receive;
      std::size_t count;
      std::int32_t root;
      const char* data_type;
      const char* strategy;
      bool in_batch_sync;
      std::uint32_t batch;
      std::uint32_t batches;
      std::uint32_t copy_sequence;
      void* stream;
      std::uint64_t tag;
    } copy;
    struct {
      bool complete;
      std::int32_t ranks;
    } copy_sync;
    struct {
      std::int32_t operations;
      std::size_t bytes;
      bool in_sync;
    } copy_batch;
    struct {
      std::uint8_t channel;
      std::uint8_t phase;
      const char* name;
      std::uint64_t timer;
    } phase;
  };
};
static_assert(offsetof(Descriptor, parent) == 8);
static_assert(offsetof(Descriptor, rank) == 16);
static_assert(offsetof(Descriptor, proxy_op) == 24);
static_assert(offsetof(Descriptor, coll.sequence) == 24);
static_assert(offsetof(Descriptor, coll.function) == 32);
static_assert(offsetof(Descriptor, coll.count) == 56);
static_assert(offsetof(Descriptor, coll.data_type) == 72);
static_assert(offsetof(Descriptor, coll.channels) == 80);
static_assert(offsetof(Descriptor, coll.algorithm) == 88);
static_assert(offsetof(Descriptor, coll.protocol) == 96);
static_assert(offsetof(Descriptor, p2p.count) == 48);
static_assert(offsetof(Descriptor, p2p.peer) == 56);
static_assert(offsetof(Descriptor, p2p.channels) == 60);
static_assert(offsetof(Descriptor, kernel.timer) == 32);
static_assert(offsetof(Descriptor, coll.parent_group) == 104);
static_assert(offsetof(Descriptor, p2p.parent_group) == 64);
static_assert(offsetof(Descriptor, group_api.depth) == 28);
static_assert(offsetof(Descriptor, coll_api.captured) == 64);
static_assert(offsetof(Descriptor, p2p_api.captured) == 56);
static_assert(offsetof(Descriptor, copy.strategy) == 80);
static_assert(offsetof(Descriptor, copy.copy_sequence) == 100);
static_assert(offsetof(Descriptor, copy.stream) == 104);
static_assert(offsetof(Descriptor, copy_batch.bytes) == 32);
static_assert(offsetof(Descriptor, coll.symmetric) == 120);
static_assert(offsetof(Descriptor, coll.tag) == 128);
static_assert(offsetof(Descriptor, p2p.tag) == 72);
static_assert(offsetof(Descriptor, coll_api.tag) == 72);
static_assert(offsetof(Descriptor, p2p_api.tag) == 64);
static_assert(offsetof(Descriptor, copy.tag) == 112);
static_assert(offsetof(Descriptor, phase.timer) == 40);

static void take_coll(const Descriptor& event, Record& record) {
  record.number = event.coll.sequence;
  record.size = event.coll.count;
  record.peer = event.coll.root;
  record.channels = event.coll.channels;
  record.warps = event.coll.warps;
  take_function(event.coll.function, record);
  take_algorithm(event.coll.algorithm, record);
  take_protocol(event.coll.protocol, record);
  take_data_type(event.coll.data_type, record);
  record.tag = event.coll.tag;
  if (event.coll.symmetric) record.flags |= profile_ring::kSymmetric;
}

static void take_p2p(const Descriptor& event, Record& record) {
  record.size = event.p2p.count;
  record.peer = event.p2p.peer;
  record.channels = event.p2p.channels;
  take_function(event.p2p.function, record);
  take_data_type(event.p2p.data_type, record);
  record.tag = event.p2p.tag;
}

static void take_coll_api(const Descriptor& event, Record& record) {
  record.size = event.coll_api.count;
  record.peer = event.coll_api.root;
  take_function(event.coll_api.function, record);
  take_data_type(event.coll_api.data_type, record);
  if (event.coll_api.captured) record.flags |= profile_ring::kGraphCaptured;
  record.tag = event.coll_api.tag;
}

static void take_p2p_api(const Descriptor& event, Record& record) {
  record.size = event.p2p_api.count;
  take_function(event.p2p_api.function, record);
  take_data_type(event.p2p_api.data_type, record);
  if (event.p2p_api.captured) record.flags |= profile_ring::kGraphCaptured;
  record.tag = event.p2p_api.tag;
}

static void take_copy(const Descriptor& event, Record& record) {
  record.number = event.copy.sequence;
  record.size = event.copy.count;
  record.peer = event.copy.root;
  take_function(event.copy.function, record);
  take_data_type(event.copy.data_type, record);
  record.tag = event.copy.tag;
}

// What came after version 4: calls of the API, copy engines, phases of kernels.
static void take_newer(const Descriptor& event, Record& record) {
  switch (record.kind) {
    case EventKind::kGroupApi:
      record.number = static_cast<std::uint64_t>(event.group_api.depth);
      if (event.group_api.captured) record.flags |= profile_ring::kGraphCaptured;
      break;
    case EventKind::kCollectiveApi:
      take_coll_api(event, record);
      break;
    case EventKind::kPointToPointApi:
      take_p2p_api(event, record);
      break;
    case EventKind::kCopyCollective:
      take_copy(event, record);
      break;
    case EventKind::kCopyBatch:
      record.size = event.copy_batch.bytes;
      record.steps = static_cast<std::uint32_t>(event.copy_batch.operations);
      break;
    case EventKind::kKernelPhase:
      record.channel = event.phase.channel;
      record.number = event.phase.phase;
      record.times[0] = event.phase.timer;
      break;
    default:
      break;
  }
}

static void take(const Descriptor& event, Record& record) {
  switch (record.kind) {
    case EventKind::kCollective:
      take_coll(event, record);
      break;
    case EventKind::kPointToPoint:
      take_p2p(event, record);
      break;
    case EventKind::kProxyOp:
      take_proxy_op(event.proxy_op, record);
      break;
    case EventKind::kProxyStep:
      record.number = static_cast<std::uint64_t>(event.proxy_step.step);
      break;
    case EventKind::kKernel:
      record.channel = event.kernel.channel;
      record.times[0] = event.kernel.timer;
      break;
    case EventKind::kNetwork:
      take_network(event.network, record);
      break;
    default:
      take_newer(event, record);
      break;
  }
}

static Result start_event(void* context, void** handle, Descriptor* event) {
  const std::size_t kind = kind_number(event->type);
  *handle = nullptr;
  if (kind == profile_ring::kKinds) return kSuccess;
  Record record;
  record.kind = static_cast<EventKind>(kind);
  if (has_rank(record.kind)) record.rank = event->rank;
  take(*event, record);
  *handle = recorder::start(context, record, event->parent);
  return kSuccess;
}

using Plugin = Interface<InitNew, Descriptor, ArgumentsNew>;
static_assert(sizeof(Plugin) == 48);

}  // namespace angio::profiler::v7

extern "C" {
extern const __attribute__((visibility("default"))) angio::profiler::v7::Plugin ncclProfiler_v7;
const angio::profiler::v7::Plugin ncclProfiler_v7 = {
    angio::profiler::kName,      angio::profiler::init_new<7>,      angio::profiler::v7::start_event,
    angio::profiler::stop_event, angio::profiler::record_state_new, angio::profiler::finalize};
}
