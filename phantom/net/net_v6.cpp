// ABI version 6, of NCCL 2.18 and before: no word about device offload.
// Layouts: see abi.hpp.
#include "export.hpp"
#include "net/abi.hpp"
#include "net/calls.hpp"
#include "net/core.hpp"

namespace angio::phantom::net {
namespace {

struct NicProperties {
  char* name;
  char* pci_path;
  std::uint64_t guid;
  int pointers;
  int speed;
  int port;
  float latency;
  int max_comms;
  int max_receives;
};
static_assert(sizeof(NicProperties) == 48);

struct Table {
  const char* name;
  Result (*init)(Log log);
  Result (*devices)(int* count);
  Result (*properties)(int device, NicProperties* properties);
  Result (*listen)(int device, void* handle, void** listener);
  Result (*connect)(int device, void* handle, void** sender);
  Result (*accept)(void* listener, void** receiver);
  Result (*register_memory)(void* comm, void* data, int size, int type, void** handle);
  Result (*register_dmabuf)(void* comm, void* data, std::size_t size, int type, std::uint64_t offset, int fd,
                            void** handle);
  Result (*deregister_memory)(void* comm, void* handle);
  Result (*isend)(void* sender, void* data, int size, int tag, void* handle, void** request);
  Result (*irecv)(void* receiver, int count, void** data, int* sizes, int* tags, void** handles,
                  void** request);
  Result (*iflush)(void* receiver, int count, void** data, int* sizes, void** handles, void** request);
  Result (*test)(void* request, int* done, int* sizes);
  Result (*close_send)(void* sender);
  Result (*close_receive)(void* receiver);
  Result (*close_listen)(void* listener);
};
static_assert(sizeof(Table) == 17 * sizeof(void*));

Result properties(int device, NicProperties* to) {
  Properties nic;
  if (const Result result = get_properties(device, nic); result != kSuccess) {
    return result;
  }
  *to = {.name = nic.name,
         .pci_path = nic.pci_path,
         .guid = nic.guid,
         .pointers = nic.pointers,
         .speed = nic.speed,
         .port = nic.port,
         .latency = nic.latency,
         .max_comms = nic.max_comms,
         .max_receives = nic.max_receives};
  return kSuccess;
}

}  // namespace
}  // namespace angio::phantom::net

namespace net = angio::phantom::net;

ANGIO_STAND_IN const net::Table ncclNetPlugin_v6;
const net::Table ncclNetPlugin_v6 = {.name = net::kName,
                                     .init = net::start,
                                     .devices = net::count_devices,
                                     .properties = net::properties,
                                     .listen = net::listen,
                                     .connect = net::connect_there,
                                     .accept = net::accept,
                                     .register_memory = net::remember,
                                     .register_dmabuf = net::remember_dmabuf,
                                     .deregister_memory = net::forget,
                                     .isend = net::send,
                                     .irecv = net::receive,
                                     .iflush = net::flush,
                                     .test = net::test,
                                     .close_send = net::close_send,
                                     .close_receive = net::close_receive,
                                     .close_listen = net::close_listen};
