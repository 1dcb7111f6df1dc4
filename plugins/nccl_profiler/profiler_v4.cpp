// Version 4 of NCCL's profiler interface: NCCL 2.27 and newer. Facts of NVIDIA/nccl
// src/include/plugin/profiler/profiler_v4.h.
#include "abi.hpp"

namespace angio::profiler::v4 {

struct Descriptor {
  std::uint8_t type;
  void* parent;
  std::int32_t rank;
  union {
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
    } coll;
    struct {
      const char* function;
      void* buffer;
      const char* data_type;
      std::size_t count;
      std::int32_t peer;
      std::uint8_t channels;
    } p2p;
    ProxyOp proxy_op;
    ProxyStep proxy_step;
    KernelCh kernel;
    NetPlugin network;
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
}

static void take_p2p(const Descriptor& event, Record& record) {
  record.size = event.p2p.count;
  record.peer = event.p2p.peer;
  record.channels = event.p2p.channels;
  take_function(event.p2p.function, record);
  take_data_type(event.p2p.data_type, record);
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

static Result init(void** context, int* mask, const char* name, std::uint64_t communicator, int nodes,
                   int ranks, int rank, Logger logger) {
  return init_new<4>(context, communicator, mask, name, nodes, ranks, rank, logger);
}

using Plugin = Interface<InitFour, Descriptor, ArgumentsNew>;
static_assert(sizeof(Plugin) == 48);

}  // namespace angio::profiler::v4

extern "C" {
extern const __attribute__((visibility("default"))) angio::profiler::v4::Plugin ncclProfiler_v4;
const angio::profiler::v4::Plugin ncclProfiler_v4 = {
    angio::profiler::kName,      angio::profiler::v4::init,         angio::profiler::v4::start_event,
    angio::profiler::stop_event, angio::profiler::record_state_new, angio::profiler::finalize};
}
