#include "net/core.hpp"

#include <cstring>
#include <mutex>
#include <string>

#include "hardware_file.hpp"
#include "net/messages.hpp"

namespace angio::phantom::net {
namespace {

// Never destroyed: NCCL's threads outlive static destructors.
struct Plugin {
  std::mutex mutex;
  bool read = false;
  std::string problem;
  Hardware hardware;
  Log log = nullptr;
};
Plugin& plugin() {
  static Plugin& plugin = *new Plugin;
  return plugin;
}

Result complain(Result result, const std::string& problem) {
  if (const Log log = plugin().log; log != nullptr) {
    log(kLogWarn, kLogNet, __func__, __LINE__, "NET/%s : %s", kName, problem.c_str());
  }
  return result;
}

const Net* find_net(int device) {
  const std::vector<Net>& nets = plugin().hardware.nets;
  return device >= 0 && static_cast<std::size_t>(device) < nets.size()
             ? &nets[static_cast<std::size_t>(device)]
             : nullptr;
}

// Requests of both kinds are told apart by the lowest bit of what NCCL gets of them.
constexpr std::uintptr_t kReceiveBit = 1;

void* mark(Request* request) {
  return reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(request) | kReceiveBit);
}

template <typename Size>
Result receive(void* receiver, int count, void* const* data, const Size* sizes, const int* tags,
               void** request) {
  if (receiver == nullptr || count < 1 || count > kMostParts || request == nullptr) {
    return complain(kInvalidArgument, "a receive of " + std::to_string(count) + " parts");
  }
  Part parts[kMostParts];
  for (int index = 0; index < count; ++index) {
    parts[index] = {.data = data[index], .size = static_cast<std::size_t>(sizes[index]), .tag = tags[index]};
  }
  *request = mark(post_receive(*static_cast<Receiver*>(receiver), parts, count));
  return kSuccess;
}

Result test_receive(Request& request, int* done, int* sizes) {
  const State state = request.state.load(std::memory_order_acquire);
  if (state == State::kBusy) {
    rest();
    return kSuccess;
  }
  *done = 1;
  for (int index = 0; sizes != nullptr && index < request.count; ++index) {
    sizes[index] = static_cast<int>(request.parts[index].got);
  }
  request.state.store(State::kFree, std::memory_order_release);
  return state == State::kDone ? kSuccess : kRemoteError;
}

}  // namespace

Result start(Log log) {
  Plugin& all = plugin();
  const std::lock_guard lock(all.mutex);
  all.log = log;
  if (!all.read) {
    all.read = true;
    all.problem = read_hardware_file(all.hardware);
  }
  if (!all.problem.empty()) {
    return complain(kSystemError, all.problem);
  }
  if (log != nullptr) {
    log(kLogInfo, kLogInit | kLogNet, __func__, __LINE__, "NET/%s : %zu phantom NICs", kName,
        all.hardware.nets.size());
  }
  return kSuccess;
}

Result count_devices(int* count) {
  *count = static_cast<int>(plugin().hardware.nets.size());
  return kSuccess;
}

Result get_properties(int device, Properties& properties) {
  const Net* const net = find_net(device);
  if (net == nullptr) {
    return complain(kInvalidArgument, "there is no NIC " + std::to_string(device));
  }
  // NCCL does not write into them.
  properties = {.name = const_cast<char*>(net->name.c_str()),
                .pci_path = net->pci_path.empty() ? nullptr : const_cast<char*>(net->pci_path.c_str()),
                .guid = net->guid,
                .pointers = kPointerHost | (net->gdr ? kPointerCuda : 0) | (net->dmabuf ? kPointerDmaBuf : 0),
                .force_flush = net->force_flush ? 1 : 0,
                .speed = static_cast<int>(net->speed),
                .port = static_cast<int>(net->port),
                .latency = static_cast<float>(net->latency),
                .max_comms = static_cast<int>(net->max_comms),
                .max_receives = static_cast<int>(net->max_receives)};
  return kSuccess;
}

Result listen(int device, void* handle, void** listener) {
  static_assert(sizeof(Handle) <= kHandleSize);
  if (find_net(device) == nullptr || handle == nullptr) {
    return complain(kInvalidArgument, "listen on NIC " + std::to_string(device));
  }
  Handle mine;
  std::string problem;
  *listener = make_listener(mine, problem);
  if (*listener == nullptr) {
    return complain(kSystemError, problem);
  }
  std::memcpy(handle, &mine, sizeof mine);
  return kSuccess;
}

Result connect(int device, const void* handle, void** sender) {
  if (find_net(device) == nullptr || handle == nullptr) {
    return complain(kInvalidArgument, "connect from NIC " + std::to_string(device));
  }
  Handle theirs;
  std::memcpy(&theirs, handle, sizeof theirs);
  std::string problem;
  *sender = connect_to(theirs, problem);
  return problem.empty() ? kSuccess : complain(kRemoteError, problem);
}

Result accept(void* listener, void** receiver) {
  *receiver = accept_from(*static_cast<Listener*>(listener));
  if (*receiver == nullptr) {
    rest();
  }
  return kSuccess;
}

Result register_memory(void* comm, void** handle) {
  *handle = comm;
  return kSuccess;
}
Result deregister_memory() {
  return kSuccess;
}

Result isend(void* sender, const void* data, std::size_t size, int tag, void** request) {
  *request = send_message(*static_cast<Sender*>(sender), data, size, tag);
  if (*request == nullptr) {
    rest();
  }
  return kSuccess;
}

Result irecv(void* receiver, int count, void* const* data, const std::size_t* sizes, const int* tags,
             void** request) {
  return receive(receiver, count, data, sizes, tags, request);
}
Result irecv(void* receiver, int count, void* const* data, const int* sizes, const int* tags,
             void** request) {
  return receive(receiver, count, data, sizes, tags, request);
}

Result iflush(void** request) {
  *request = nullptr;
  return kSuccess;
}

Result test(void* request, int* done, int* sizes) {
  *done = 0;
  const auto word = reinterpret_cast<std::uintptr_t>(request);
  if ((word & kReceiveBit) != 0) {
    return test_receive(*reinterpret_cast<Request*>(word & ~kReceiveBit), done, sizes);
  }
  auto& sent = *static_cast<SendRequest*>(request);
  *done = 1;
  if (sizes != nullptr) {
    sizes[0] = static_cast<int>(sent.size);
  }
  sent.state.store(State::kFree, std::memory_order_release);
  return kSuccess;
}

Result close_send(void* sender) {
  close_sender(static_cast<Sender*>(sender));
  return kSuccess;
}
Result close_receive(void* receiver) {
  close_receiver(static_cast<Receiver*>(receiver));
  return kSuccess;
}
Result close_listen(void* listener) {
  close_listener(static_cast<Listener*>(listener));
  return kSuccess;
}

}  // namespace angio::phantom::net
