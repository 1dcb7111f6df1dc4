// The driver's view of devices, and contexts: one a device, which is all that NCCL makes of them.
#include <algorithm>
#include <cstring>
#include <vector>

#include "cudart/devices.hpp"
#include "cudart/driver.hpp"
#include "cudart/node.hpp"

namespace angio::phantom {

namespace cuda {
struct Context {
  int device;
};
}  // namespace cuda

namespace {

// The contexts of all devices, by ordinal. Leaked, as everything that NCCL's threads may touch at exit.
std::vector<cuda::Context>& contexts() {
  static std::vector<cuda::Context>& all = *[] {
    auto* const made = new std::vector<cuda::Context>;
    for (int device = 0; device < device_count(); ++device) {
      made->push_back({device});
    }
    return made;
  }();
  return all;
}

cuda::Error context_of(cuda::Context** context, int device) {
  if (gpu(device) == nullptr) {
    return cuda::kInvalidDevice;
  }
  *context = &contexts()[static_cast<std::size_t>(device)];
  return cuda::kSuccess;
}

}  // namespace

namespace driver {

cuda::Error init(unsigned /*flags*/) {
  return device_count() > 0 ? cuda::kSuccess : cuda::kNoDevice;
}

cuda::Error driver_get_version(int* version) {
  *version = static_cast<int>(node().hardware.cuda_driver);
  return cuda::kSuccess;
}

cuda::Error device_get(int* device, int ordinal) {
  *device = ordinal;
  return gpu(ordinal) == nullptr ? cuda::kInvalidDevice : cuda::kSuccess;
}

cuda::Error device_get_count(int* count) {
  *count = device_count();
  return cuda::kSuccess;
}

cuda::Error device_get_attribute(int* value, int attribute, int device) {
  const Gpu* const gpu = angio::phantom::gpu(device);
  if (gpu == nullptr) {
    return cuda::kInvalidDevice;
  }
  *value = device_attribute(attribute, *gpu);
  return cuda::kSuccess;
}

cuda::Error device_get_uuid(cuda::Uuid* uuid, int device) {
  const Gpu* const gpu = angio::phantom::gpu(device);
  if (gpu == nullptr) {
    return cuda::kInvalidDevice;
  }
  const auto bytes = gpu_uuid(node().host, gpu->bus);
  std::memcpy(uuid->bytes, bytes.data(), bytes.size());
  return cuda::kSuccess;
}

cuda::Error device_get_name(char* name, int size, int device) {
  const Gpu* const gpu = angio::phantom::gpu(device);
  if (gpu == nullptr || size <= 0) {
    return gpu == nullptr ? cuda::kInvalidDevice : cuda::kInvalidValue;
  }
  const std::size_t length = std::min(gpu->name.size(), static_cast<std::size_t>(size) - 1);
  std::memcpy(name, gpu->name.data(), length);
  name[length] = '\0';
  return cuda::kSuccess;
}

cuda::Error device_can_access_peer(int* can, int from, int to) {
  const Gpu* const a = gpu(from);
  const Gpu* const b = gpu(to);
  if (a == nullptr || b == nullptr) {
    return cuda::kInvalidDevice;
  }
  *can = can_access_peer(*a, *b) ? 1 : 0;
  return cuda::kSuccess;
}

cuda::Error context_create_v2(cuda::Context** context, unsigned /*flags*/, int device) {
  const cuda::Error error = context_of(context, device);
  if (error == cuda::kSuccess) {
    set_current_device(device);
  }
  return error;
}
cuda::Error context_create_v3(cuda::Context** context, void* /*parameters*/, int /*count*/, unsigned flags,
                              int device) {
  return context_create_v2(context, flags, device);
}
cuda::Error context_create_v4(cuda::Context** context, void* /*parameters*/, unsigned flags, int device) {
  return context_create_v2(context, flags, device);
}
cuda::Error context_destroy(cuda::Context* /*context*/) {
  return cuda::kSuccess;
}

cuda::Error context_get_current(cuda::Context** context) {
  return context_of(context, current_device());
}

cuda::Error context_set_current(cuda::Context* context) {
  if (context != nullptr) {
    set_current_device(context->device);
  }
  return cuda::kSuccess;
}

cuda::Error context_get_device(int* device) {
  *device = current_device();
  return cuda::kSuccess;
}

cuda::Error primary_context_retain(cuda::Context** context, int device) {
  return context_of(context, device);
}
cuda::Error primary_context_release(int /*device*/) {
  return cuda::kSuccess;
}

}  // namespace driver
}  // namespace angio::phantom
