// Version 1 of NCCL's profiler interface: NCCL 2.23 and newer. Facts of NVIDIA/nccl
// src/include/plugin/profiler/profiler_v1.h.
#include "abi.hpp"

namespace angio::profiler::v1 {

struct Descriptor {
  std::uint8_t type;
  void* parent;
  std::int32_t rank;
  union {
    struct {
      const char* name;
      std::uint64_t communicator;
      std::uint64_t sequence;
      std::uint8_t function;
      const void* send;
      void* receive;
      std::size_t count;
      std::int32_t root;
      std::uint8_t data_type;
      std::uint32_t operation;
      std::size_t traffic;
      std::uint8_t channels;
      std::uint8_t warps;
      std::uint8_t algorithm;
      std::uint8_t protocol;
      std::int32_t collnet;
      std::int32_t nvls;
    } coll;
    struct {
      const char* name;
      std::uint64_t communicator;
      std::uint8_t function;
      void* buffer;
      std::uint8_t data_type;
      std::size_t count;
      std::int32_t peer;
    } p2p;
    ProxyOp proxy_op;
    ProxyStep proxy_step;
  };
};
static_assert(offsetof(Descriptor, parent) == 8);
static_assert(offsetof(Descriptor, rank) == 16);
static_assert(offsetof(Descriptor, proxy_op) == 24);
static_assert(offsetof(Descriptor, coll.function) == 48);
static_assert(offsetof(Descriptor, coll.count) == 72);
static_assert(offsetof(Descriptor, coll.root) == 80);
static_assert(offsetof(Descriptor, coll.data_type) == 84);
static_assert(offsetof(Descriptor, coll.operation) == 88);
static_assert(offsetof(Descriptor, coll.traffic) == 96);
static_assert(offsetof(Descriptor, coll.channels) == 104);
static_assert(offsetof(Descriptor, coll.protocol) == 107);
static_assert(offsetof(Descriptor, coll.nvls) == 112);
static_assert(offsetof(Descriptor, p2p.function) == 40);
static_assert(offsetof(Descriptor, p2p.data_type) == 56);
static_assert(offsetof(Descriptor, p2p.count) == 64);
static_assert(offsetof(Descriptor, p2p.peer) == 72);

static void take_coll(const Descriptor& event, Record& record) {
  record.number = event.coll.sequence;
  record.size = event.coll.count;
  record.peer = event.coll.root;
  record.channels = event.coll.channels;
  record.warps = event.coll.warps;
  record.function = static_cast<std::uint8_t>(event.coll.function + 1);
  record.algorithm = static_cast<std::uint8_t>(event.coll.algorithm + 1);
  record.protocol = static_cast<std::uint8_t>(event.coll.protocol + 1);
  record.data_type = static_cast<std::uint8_t>(event.coll.data_type + 1);
}

static void take_p2p(const Descriptor& event, Record& record) {
  record.size = event.p2p.count;
  record.peer = event.p2p.peer;
  record.function = static_cast<std::uint8_t>(event.p2p.function + 1);
  record.data_type = static_cast<std::uint8_t>(event.p2p.data_type + 1);
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
    default:
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
  if (record.kind == EventKind::kCollective)
    recorder::learn(context, event->coll.communicator, event->rank, event->coll.name);
  if (record.kind == EventKind::kPointToPoint)
    recorder::learn(context, event->p2p.communicator, event->rank, event->p2p.name);
  *handle = recorder::start(context, record, event->parent);
  return kSuccess;
}

using Plugin = Interface<InitOld, Descriptor, ArgumentsOld>;
static_assert(sizeof(Plugin) == 48);

}  // namespace angio::profiler::v1

extern "C" {
extern const __attribute__((visibility("default"))) angio::profiler::v1::Plugin ncclProfiler_v1;
const angio::profiler::v1::Plugin ncclProfiler_v1 = {
    angio::profiler::kName,      angio::profiler::init_old<1>,      angio::profiler::v1::start_event,
    angio::profiler::stop_event, angio::profiler::record_state_old, angio::profiler::finalize};
}
