// A stand-in for libibverbs.so.1: mlx5_0 (IB, 4096), mlx5_1 (RoCE, runs 1024 of 4096), mlx5_2 whose device
// file may not be opened, mlx5_3 whose firmware never answers. Loaded through the same dlopen as the real
// one.
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "probe/verbs/verbs_abi.hpp"

using namespace angio::probe::verbs;

#define ANGIO_EXPORT extern "C" __attribute__((visibility("default")))

namespace {
constexpr int kDevices = 4;
constexpr const char* kNames[kDevices] = {"mlx5_0", "mlx5_1", "mlx5_2", "mlx5_3"};
char g_devices[kDevices];
Device g_list[kDevices + 1];

long index_of(const void* device) {
  return static_cast<const char*>(device) - g_devices;
}
}  // namespace

ANGIO_EXPORT Device* ibv_get_device_list(int* count) {
  for (int i = 0; i < kDevices; ++i)
    g_list[i] = reinterpret_cast<Device>(&g_devices[i]);
  *count = kDevices;
  return g_list;
}
ANGIO_EXPORT void ibv_free_device_list(Device*) {}
ANGIO_EXPORT const char* ibv_get_device_name(Device device) {
  return kNames[index_of(device)];
}

ANGIO_EXPORT Context ibv_open_device(Device device) {
  if (index_of(device) == 2) {
    errno = EACCES;
    return nullptr;
  }
  return reinterpret_cast<Context>(device);
}
ANGIO_EXPORT int ibv_close_device(Context) {
  return 0;
}

ANGIO_EXPORT int ibv_query_port(Context context, unsigned char port, PortAttributes* out) {
  if (port != 1) return EINVAL;
  while (index_of(context) == 3)
    pause();
  // The compatibility symbol writes 48 bytes and no more.
  std::memset(static_cast<void*>(out), 0, 48);
  out->state = 4;
  out->max_mtu = 5;
  out->active_mtu = index_of(context) == 1 ? 3 : 5;
  return 0;
}
