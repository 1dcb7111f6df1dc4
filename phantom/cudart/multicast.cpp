// Multicast objects (NVLS): addresses over the memory of several GPUs. Nothing is ever written through them,
// so they are a memory file of their own and remember nobody.
#include "cudart/allocations.hpp"
#include "cudart/driver.hpp"
#include "cudart/node.hpp"
#include "cudart/virtual_memory.hpp"

namespace angio::phantom::driver {

cuda::Error multicast_create(cuda::Physical** handle, const cuda::MulticastProperties* properties) {
  const Gpu* const gpu = angio::phantom::gpu(current_device());
  if (gpu == nullptr || !gpu->multicast || (properties->handle_types & cuda::kHandleFabric) != 0) {
    return cuda::kNotSupported;
  }
  cuda::AllocationProperties allocation{};
  allocation.type = 1;  // CU_MEM_ALLOCATION_TYPE_PINNED
  allocation.handle_types = static_cast<int>(properties->handle_types);
  allocation.location = {cuda::kLocationDevice, current_device()};
  return create_physical(handle, properties->size, allocation, true);
}

cuda::Error multicast_add_device(cuda::Physical* /*handle*/, int device) {
  const Gpu* const gpu = angio::phantom::gpu(device);
  if (gpu == nullptr) {
    return cuda::kInvalidDevice;
  }
  return gpu->multicast ? cuda::kSuccess : cuda::kNotSupported;
}

cuda::Error multicast_bind_memory(cuda::Physical* /*handle*/, std::size_t /*offset*/,
                                  cuda::Physical* /*memory*/, std::size_t /*memory_offset*/,
                                  std::size_t /*size*/, unsigned long long /*flags*/) {
  return cuda::kSuccess;
}

cuda::Error multicast_bind_address(cuda::Physical* /*handle*/, std::size_t /*offset*/, Address /*address*/,
                                   std::size_t /*size*/, unsigned long long /*flags*/) {
  return cuda::kSuccess;
}

cuda::Error multicast_unbind(cuda::Physical* /*handle*/, int /*device*/, std::size_t /*offset*/,
                             std::size_t /*size*/) {
  return cuda::kSuccess;
}

cuda::Error multicast_get_granularity(std::size_t* granularity,
                                      const cuda::MulticastProperties* /*properties*/, int /*option*/) {
  *granularity = kGranularity;
  return cuda::kSuccess;
}

}  // namespace angio::phantom::driver
