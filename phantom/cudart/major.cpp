// The calls whose structures or arguments differ between CUDA 12 and 13; compiled once for each.
#include <cstring>

#include "cudart/abi_major.hpp"
#include "cudart/allocations.hpp"
#include "cudart/architecture.hpp"
#include "cudart/devices.hpp"
#include "cudart/node.hpp"
#include "export.hpp"

namespace angio::phantom {
namespace {

void put(unsigned char* properties, std::size_t offset, int value) {
  std::memcpy(properties + offset, &value, sizeof value);
}

void put_size(unsigned char* properties, std::size_t offset, std::size_t value) {
  std::memcpy(properties + offset, &value, sizeof value);
}

void fill_head(cuda::PropertiesHead& head, const Gpu& gpu) {
  const std::size_t length = std::min(gpu.name.size(), sizeof head.name - 1);
  std::memcpy(head.name, gpu.name.data(), length);
  const auto uuid = gpu_uuid(node().host, gpu.bus);
  std::memcpy(head.uuid.bytes, uuid.data(), uuid.size());
  head.total_memory = gpu.memory;
  head.shared_per_block = kPlainSharedPerBlock;
  head.registers_per_block = 65536;  // of every architecture since Kepler
  head.warp_size = kWarpSize;
  head.max_threads_per_block = kMaxThreadsPerBlock;
  head.max_block[0] = head.max_block[1] = kMaxThreadsPerBlock;
  head.max_block[2] = 64;
  head.max_grid[0] = 0x7fffffff;
  head.max_grid[1] = head.max_grid[2] = 65535;
  head.constant_memory = 65536;
  head.major = static_cast<int>(gpu.sm / 10);
  head.minor = static_cast<int>(gpu.sm % 10);
}

void fill_properties(unsigned char* properties, const Gpu& gpu) {
  constexpr cuda::PropertyOffsets at = cuda::kProperties;
  std::memset(properties, 0, at.size);
  cuda::PropertiesHead head{};
  fill_head(head, gpu);
  std::memcpy(properties, &head, sizeof head);
  const Architecture& chip = architecture(gpu.sm);
  const PciPlace place = pci_place(gpu);
  put(properties, at.multiprocessors, chip.multiprocessors);
  put(properties, at.can_map_host_memory, 1);
  put(properties, at.concurrent_kernels, 1);
  put(properties, at.pci_bus, static_cast<int>(place.bus));
  put(properties, at.pci_device, static_cast<int>(place.device));
  put(properties, at.pci_domain, static_cast<int>(place.domain));
  put(properties, at.unified_addressing, 1);
  put(properties, at.max_threads_per_multiprocessor, chip.threads_per_sm);
  put_size(properties, at.shared_per_multiprocessor, static_cast<std::size_t>(chip.shared_per_sm));
  put(properties, at.cooperative_launch, 1);
  put_size(properties, at.shared_per_block_optin, static_cast<std::size_t>(chip.shared_per_block));
  put(properties, at.host_register_supported, 1);
  put(properties, at.memory_pools_supported, 1);
  put(properties, at.gpu_direct_rdma_supported, gpu.gdr ? 1 : 0);
}

}  // namespace

int runtime_major() {
  return ANGIO_CUDART_MAJOR;
}

}  // namespace angio::phantom

using namespace angio::phantom;  // NOLINT(google-build-using-namespace): what follows is CUDA's own namespace
using cuda::Error;

// In CUDA 12 the plain name is the structure of CUDA 11, which nothing built for 12 asks for; in CUDA 13
// there is no other.
#if ANGIO_CUDART_MAJOR == 12
ANGIO_STAND_IN Error cudaGetDeviceProperties_v2(void* properties, int device) {
#else
ANGIO_STAND_IN Error cudaGetDeviceProperties(void* properties, int device) {
#endif
  const Gpu* const gpu = angio::phantom::gpu(device);
  if (gpu == nullptr || properties == nullptr) {
    return fail(gpu == nullptr ? cuda::kInvalidDevice : cuda::kInvalidValue);
  }
  fill_properties(static_cast<unsigned char*>(properties), *gpu);
  return cuda::kSuccess;
}

// The driver's where it is of this major version, for a runtime is never younger than its driver allows.
ANGIO_STAND_IN Error cudaRuntimeGetVersion(int* version) {
  const int driver = static_cast<int>(node().hardware.cuda_driver);
  *version = driver / 1000 == ANGIO_CUDART_MAJOR ? driver : ANGIO_CUDART_MAJOR * 1000;
  return cuda::kSuccess;
}

ANGIO_STAND_IN Error cudaPointerGetAttributes(cuda::PointerAttributes* attributes, const void* pointer) {
  if (attributes == nullptr) {
    return fail(cuda::kInvalidValue);
  }
  *attributes = cuda::PointerAttributes{};
  const std::optional<FoundAllocation> found = find_allocation(pointer);
  if (!found) {
    attributes->type = cuda::kMemoryUnregistered;
    attributes->device = -2;  // cudaInvalidDeviceId
    attributes->host_pointer = const_cast<void*>(pointer);
    return cuda::kSuccess;
  }
  attributes->device = std::max(found->device, 0);
  attributes->device_pointer = const_cast<void*>(pointer);
  attributes->type = found->host ? cuda::kMemoryHost : cuda::kMemoryDevice;
  attributes->host_pointer = found->host ? const_cast<void*>(pointer) : nullptr;
  return cuda::kSuccess;
}

ANGIO_STAND_IN Error cudaFuncGetAttributes(cuda::FunctionAttributes* attributes, const void* /*function*/) {
  const Gpu* const gpu = angio::phantom::gpu(current_device());
  if (gpu == nullptr || attributes == nullptr) {
    return fail(gpu == nullptr ? cuda::kInvalidDevice : cuda::kInvalidValue);
  }
  *attributes = cuda::FunctionAttributes{};
  attributes->max_threads_per_block = kMaxThreadsPerBlock;
  attributes->registers = 96;  // what NCCL's kernels are built for; it is printed, nothing follows from it
  attributes->ptx_version = attributes->binary_version = static_cast<int>(gpu->sm);
  attributes->max_dynamic_shared_bytes = kPlainSharedPerBlock;
  return cuda::kSuccess;
}

#if ANGIO_CUDART_MAJOR == 12
ANGIO_STAND_IN Error cudaMemcpyBatchAsync(void** to, void** from, std::size_t* sizes, std::size_t count,
                                          void* /*attributes*/, std::size_t* /*attribute_indices*/,
                                          std::size_t /*attribute_count*/, std::size_t* /*failed*/,
                                          cuda::Stream* /*stream*/) {
#else
ANGIO_STAND_IN Error cudaMemcpyBatchAsync(void* const* to, const void* const* from, const std::size_t* sizes,
                                          std::size_t count, void* /*attributes*/,
                                          std::size_t* /*attribute_indices*/, std::size_t /*attribute_count*/,
                                          cuda::Stream* /*stream*/) {
#endif
  for (std::size_t index = 0; index < count; ++index) {
    copy_memory(to[index], from[index], sizes[index]);
  }
  return cuda::kSuccess;
}
