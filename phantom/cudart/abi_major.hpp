// Where the members of the CUDA runtime's larger structures lie, which differs between major versions:
// cudaDeviceProp, cudaPointerAttributes, cudaFuncAttributes. ANGIO_CUDART_MAJOR picks. The numbers are what
// offsetof and sizeof say of the public headers of CUDA 12.9 and 13.0.
#pragma once

#include <cstddef>

#include "cudart/abi.hpp"

namespace angio::phantom::cuda {

#if ANGIO_CUDART_MAJOR != 12 && ANGIO_CUDART_MAJOR != 13
#error "the structures of this CUDA runtime are not described here"
#endif

// cudaDeviceProp. Sizes in bytes.
struct PropertyOffsets {
  std::size_t size;
  std::size_t multiprocessors;
  std::size_t integrated;
  std::size_t can_map_host_memory;
  std::size_t concurrent_kernels;
  std::size_t pci_bus;
  std::size_t pci_device;
  std::size_t pci_domain;
  std::size_t unified_addressing;
  std::size_t max_threads_per_multiprocessor;
  std::size_t shared_per_multiprocessor;
  std::size_t cooperative_launch;
  std::size_t shared_per_block_optin;
  std::size_t host_register_supported;
  std::size_t memory_pools_supported;
  std::size_t gpu_direct_rdma_supported;
};
inline constexpr PropertyOffsets kProperties =
    ANGIO_CUDART_MAJOR == 12
        ? PropertyOffsets{1032, 388, 396, 400, 576, 584, 588, 592, 604, 624, 640, 688, 696, 728, 744, 748}
        : PropertyOffsets{1008, 384, 388, 392, 560, 568, 572, 576, 588, 604, 624, 668, 672, 704, 720, 724};

// The head of cudaDeviceProp, which both have.
struct PropertiesHead {
  char name[256];
  Uuid uuid;
  char luid[8];
  unsigned luid_mask;
  std::size_t total_memory;
  std::size_t shared_per_block;
  int registers_per_block;
  int warp_size;
  std::size_t pitch;
  int max_threads_per_block;
  int max_block[3];
  int max_grid[3];
  int clock_rate;  // 12 only; padding in 13
  std::size_t constant_memory;
  int major;
  int minor;
};
static_assert(offsetof(PropertiesHead, uuid) == 256);
static_assert(offsetof(PropertiesHead, total_memory) == 288);
static_assert(offsetof(PropertiesHead, shared_per_block) == 296);
static_assert(offsetof(PropertiesHead, warp_size) == 308);
static_assert(offsetof(PropertiesHead, max_threads_per_block) == 320);
static_assert(offsetof(PropertiesHead, max_grid) == 336);
static_assert(offsetof(PropertiesHead, constant_memory) == 352);
static_assert(offsetof(PropertiesHead, major) == 360);
static_assert(sizeof(PropertiesHead) == 368);

struct PointerAttributes {
  int type;
  int device;
  void* device_pointer;
  void* host_pointer;
#if ANGIO_CUDART_MAJOR == 13
  long reserved[8];
#endif
};
static_assert(sizeof(PointerAttributes) == (ANGIO_CUDART_MAJOR == 12 ? 24 : 88));
static_assert(offsetof(PointerAttributes, host_pointer) == 16);

// Laid out alike in both.
struct FunctionAttributes {
  std::size_t shared_bytes;
  std::size_t constant_bytes;
  std::size_t local_bytes;
  int max_threads_per_block;
  int registers;
  int ptx_version;
  int binary_version;
  int cache_mode;
  int max_dynamic_shared_bytes;
  int rest[24];
};
static_assert(sizeof(FunctionAttributes) == 144);
static_assert(offsetof(FunctionAttributes, local_bytes) == 16);
static_assert(offsetof(FunctionAttributes, max_threads_per_block) == 24);
static_assert(offsetof(FunctionAttributes, max_dynamic_shared_bytes) == 44);

}  // namespace angio::phantom::cuda
