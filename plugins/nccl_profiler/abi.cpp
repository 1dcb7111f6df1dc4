#include "abi.hpp"

#include <unistd.h>

#include <cstring>

namespace angio::profiler {
namespace {

void keep_unknown(const char* word, Record& record) {
  if (record.text[0] == '\0') std::memcpy(record.text.data(), word, strnlen(word, record.text.size()));
}

// The events of NCCL's own network transports, version 1 (src/include/plugin/profiler/net_ib.h,
// net_socket.h).
constexpr std::int64_t kIb = (1 << 16) | 1;
constexpr std::int64_t kSocket = (2 << 16) | 1;
// The union behind the type is aligned to 8 bytes.
struct IbDescriptor {
  std::uint8_t type;
  struct {
    std::int32_t device;
    std::uint64_t request;
    std::int32_t opcode;
    std::int32_t queue_pair;
    std::size_t length;
  } pair;
};
static_assert(offsetof(IbDescriptor, pair) == 8 && sizeof(IbDescriptor) == 40);
struct SocketDescriptor {
  std::uint8_t type;
  struct {
    std::int32_t descriptor;
    std::int32_t operation;
    std::size_t length;
  } socket;
};
static_assert(offsetof(SocketDescriptor, socket) == 8 && sizeof(SocketDescriptor) == 24);

}  // namespace

void take_function(const char* word, Record& record) {
  if (word == nullptr) return;
  record.function = profile_ring::number_of(profile_ring::kFunctions, word);
  if (record.function == 0) keep_unknown(word, record);
}

void take_algorithm(const char* word, Record& record) {
  if (word == nullptr) return;
  record.algorithm = profile_ring::number_of(profile_ring::kAlgorithms, word);
  if (record.algorithm == 0) keep_unknown(word, record);
}

void take_protocol(const char* word, Record& record) {
  if (word == nullptr) return;
  record.protocol = profile_ring::number_of(profile_ring::kProtocols, word);
}

void take_data_type(const char* word, Record& record) {
  if (word == nullptr) return;
  record.data_type = profile_ring::data_type_number(word);
}

void take_proxy_op(const ProxyOp& op, Record& record) {
  record.process = op.pid;
  record.channel = op.channel;
  record.peer = op.peer;
  record.steps = static_cast<std::uint32_t>(op.steps);
  record.chunk = static_cast<std::uint32_t>(op.chunk);
  if (op.is_send != 0) record.flags |= profile_ring::kIsSend;
  if (op.pid != recorder::own_process()) record.flags |= profile_ring::kForeign;
}

void take_network(const NetPlugin& event, Record& record) {
  if (event.data == nullptr) return;
  if (event.id == kIb) {
    const auto* ib = static_cast<const IbDescriptor*>(event.data);
    record.peer = ib->pair.device;
    record.number = ib->pair.request;
    record.steps = static_cast<std::uint32_t>(ib->pair.queue_pair);
    record.size = ib->pair.length;
  } else if (event.id == kSocket) {
    const auto* socket = static_cast<const SocketDescriptor*>(event.data);
    record.steps = static_cast<std::uint32_t>(socket->socket.descriptor);
    record.size = socket->socket.length;
  }
}

Result stop_event(void* handle) {
  recorder::stop(handle);
  return kSuccess;
}

Result finalize(void* context) {
  recorder::close(context);
  return kSuccess;
}

Result record_state_old(void* handle, int state, ArgumentsOld* arguments) {
  constexpr int kLastOfProxyOp = 7;
  const bool op = state <= kLastOfProxyOp && arguments != nullptr;
  recorder::state(handle, state, op ? arguments->proxy_op.transferred : 0,
                  op ? static_cast<std::uint32_t>(arguments->proxy_op.steps) : 0);
  return kSuccess;
}

Result record_state_new(void* handle, int state, ArgumentsNew* arguments) {
  constexpr int kKernelStop = 22;
  constexpr int kKernelPhaseStop = 31;
  if ((state == kKernelStop || state == kKernelPhaseStop) && arguments != nullptr) {
    recorder::gpu_stop(handle, arguments->gpu_time);
    return kSuccess;
  }
  const bool step = state == 8 || state == 9 || state == 10 || state == 11 || state == 12 || state == 20;
  recorder::state(handle, state, step && arguments != nullptr ? arguments->transferred : 0, 0);
  return kSuccess;
}

}  // namespace angio::profiler
