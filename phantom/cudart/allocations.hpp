// All memory that the stand-in gave out or was told of: device memory as mappings of memory files, pinned
// host memory, ranges mapped over physical allocations (cuMem*). Nothing takes real memory before it is
// touched. Counts what NCCL itself allocated for each device.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "cudart/abi.hpp"

namespace angio::phantom {

namespace cuda {
// What cuMemCreate, cuMulticastCreate and an import make: a memory file. References: its handle, each
// mapping and each retained handle.
struct Physical {
  int file = -1;
  std::size_t size = 0;
  unsigned references = 1;
  AllocationProperties properties{};
  bool multicast = false;
  bool counted = false;
  int device = 0;  // by which it is counted
};
}  // namespace cuda

enum class AllocationKind : std::uint8_t {
  kDevice,      // cudaMalloc
  kHost,        // cudaHostAlloc
  kRegistered,  // cudaHostRegister: the caller's
  kMapped,      // cuMemMap
  kShared,      // cudaIpcOpenMemHandle
};

struct FoundAllocation {
  void* begin = nullptr;
  std::size_t size = 0;
  AllocationKind kind = AllocationKind::kDevice;
  int device = 0;     // -1: of the host
  bool host = false;  // lies in host memory
  int file = -1;      // of the memory behind it; -1: none
  std::size_t offset = 0;
  cuda::Physical* physical = nullptr;
};
// Of which the address is a part.
std::optional<FoundAllocation> find_allocation(const void* address);

cuda::Error allocate_device(void** address, std::size_t size);
cuda::Error allocate_host(void** address, std::size_t size);
cuda::Error register_host(void* address, std::size_t size);
// Ends an allocation of one of these kinds (cudaFree: device and shared).
cuda::Error release(void* address, AllocationKind kind, AllocationKind other);
// Maps a memory file of another process; takes the descriptor.
cuda::Error open_shared(void** address, int file, std::size_t size);

void copy_memory(void* to, const void* from, std::size_t size);
void set_memory(void* to, int value, std::size_t size);

// Physical allocations and their mappings. The functions below keep the reference counts.
cuda::Error create_physical(cuda::Physical** physical, std::size_t size,
                            const cuda::AllocationProperties& properties, bool multicast);
cuda::Error import_physical(cuda::Physical** physical, int file);
cuda::Error map_physical(void* address, std::size_t size, std::size_t offset, cuda::Physical* physical);
cuda::Error unmap_physical(void* address, std::size_t size);
void retain_physical(cuda::Physical* physical);
void release_physical(cuda::Physical* physical);

// Bytes of the device and of pinned host memory that this device's NCCL holds.
struct Usage {
  std::uint64_t device_now = 0;
  std::uint64_t device_peak = 0;
  std::uint64_t host_now = 0;
  std::uint64_t own = 0;  // device memory that is not NCCL's
};
Usage usage(int device);

}  // namespace angio::phantom
