// ABI version 11, of NCCL 2.28 and 2.29: a context a communicator.
// Layouts: see abi.hpp.
#include "export.hpp"
#include "net/abi.hpp"
#include "net/calls.hpp"
#include "net/core.hpp"

namespace angio::phantom::net {
namespace {

// NICs behind a virtual one; NCCL_NET_MAX_DEVS_PER_NIC of this version.
struct VirtualNic {
  int count;
  int devices[4];
};

struct CommConfig {
  int traffic_class;
};

struct NicProperties {
  char* name;
  char* pci_path;
  std::uint64_t guid;
  int pointers;
  int global_registration;
  int force_flush;
  int speed;
  int port;
  float latency;
  int max_comms;
  int max_receives;
  int device_type;
  int device_version;
  VirtualNic nics;
  std::size_t max_point_to_point;
  std::size_t max_collective;
  int max_multi_request;
};
static_assert(sizeof(NicProperties) == 112);

struct Traffic {
  std::int32_t concurrent_peers[2];
  std::int32_t flows_per_peer[2];
};
struct NetAttributes {
  Traffic to;
  Traffic from;
  std::uint32_t operation;
  std::uint32_t algorithm;
  std::uint32_t protocol;
};

struct Table {
  const char* name;
  Result (*init)(void** context, std::uint64_t comm, CommConfig* config, Log log, Profile profile);
  Result (*devices)(int* count);
  Result (*properties)(int device, NicProperties* properties);
  Result (*listen)(void* context, int device, void* handle, void** listener);
  Result (*connect)(void* context, int device, void* handle, void** sender, DeviceHandle** device_handle);
  Result (*accept)(void* listener, void** receiver, DeviceHandle** device_handle);
  Result (*register_memory)(void* comm, void* data, std::size_t size, int type, void** handle);
  Result (*register_dmabuf)(void* comm, void* data, std::size_t size, int type, std::uint64_t offset, int fd,
                            void** handle);
  Result (*deregister_memory)(void* comm, void* handle);
  Result (*isend)(void* sender, void* data, std::size_t size, int tag, void* handle, void* profile,
                  void** request);
  Result (*irecv)(void* receiver, int count, void** data, std::size_t* sizes, int* tags, void** handles,
                  void** profiles, void** request);
  Result (*iflush)(void* receiver, int count, void** data, int* sizes, void** handles, void** request);
  Result (*test)(void* request, int* done, int* sizes);
  Result (*close_send)(void* sender);
  Result (*close_receive)(void* receiver);
  Result (*close_listen)(void* listener);
  Result (*device_memory)(void* comm, void* handle, void** device_handle);
  Result (*consumed)(void* receiver, int count, void* request);
  Result (*make_virtual)(int* device, VirtualNic* nics);
  Result (*finalize)(void* context);
  Result (*set_attributes)(void* context, NetAttributes* attributes);
};
static_assert(sizeof(Table) == 22 * sizeof(void*));

Result init(void** context, std::uint64_t /*comm*/, CommConfig* /*config*/, Log log, Profile /*profile*/) {
  *context = nullptr;
  return start(log);
}

Result properties(int device, NicProperties* to) {
  Properties nic;
  if (const Result result = get_properties(device, nic); result != kSuccess) {
    return result;
  }
  // NCCL_MAX_NET_SIZE_BYTES: NCCL refuses more.
  constexpr std::size_t kMostBytes = std::size_t{1} << 40U;
  *to = {.name = nic.name,
         .pci_path = nic.pci_path,
         .guid = nic.guid,
         .pointers = nic.pointers,
         .global_registration = 1,
         .force_flush = nic.force_flush,
         .speed = nic.speed,
         .port = nic.port,
         .latency = nic.latency,
         .max_comms = nic.max_comms,
         .max_receives = nic.max_receives,
         .device_type = kDeviceHost,
         .device_version = kDeviceVersion,
         .nics = {.count = 1, .devices = {device}},
         .max_point_to_point = kMostBytes,
         .max_collective = kMostBytes,
         .max_multi_request = 1};
  return kSuccess;
}

Result set_attributes(void* /*context*/, NetAttributes* /*attributes*/) {
  return kSuccess;
}

}  // namespace
}  // namespace angio::phantom::net

namespace net = angio::phantom::net;

ANGIO_STAND_IN const net::Table ncclNetPlugin_v11;
const net::Table ncclNetPlugin_v11 = {.name = net::kName,
                                      .init = net::init,
                                      .devices = net::count_devices,
                                      .properties = net::properties,
                                      .listen = net::listen_here,
                                      .connect = net::connect_there,
                                      .accept = net::accept_here,
                                      .register_memory = net::remember,
                                      .register_dmabuf = net::remember_dmabuf,
                                      .deregister_memory = net::forget,
                                      .isend = net::send,
                                      .irecv = net::receive,
                                      .iflush = net::flush,
                                      .test = net::test,
                                      .close_send = net::close_send,
                                      .close_receive = net::close_receive,
                                      .close_listen = net::close_listen,
                                      .device_memory = nullptr,
                                      .consumed = nullptr,
                                      .make_virtual = nullptr,
                                      .finalize = net::finalize,
                                      .set_attributes = net::set_attributes};
