// Memory of the runtime: cudaMalloc and its relatives, copies, sets, pools, handles for other processes.
#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>

#include "cudart/allocations.hpp"
#include "cudart/node.hpp"
#include "export.hpp"

namespace angio::phantom {

namespace cuda {
struct Pool {
  int device;
};
}  // namespace cuda

namespace {

// What is inside a cudaIpcMemHandle_t of ours.
struct SharedHandle {
  pid_t process;
  int file;
  std::size_t size;
};
static_assert(sizeof(SharedHandle) <= sizeof(cuda::IpcHandle));

}  // namespace
}  // namespace angio::phantom

using namespace angio::phantom;  // NOLINT(google-build-using-namespace): what follows is CUDA's own namespace
using cuda::Error;

ANGIO_STAND_IN Error cudaMalloc(void** address, std::size_t size) {
  return allocate_device(address, size);
}
ANGIO_STAND_IN Error cudaMallocAsync(void** address, std::size_t size, cuda::Stream* /*stream*/) {
  return allocate_device(address, size);
}
ANGIO_STAND_IN Error cudaMallocFromPoolAsync(void** address, std::size_t size, cuda::Pool* /*pool*/,
                                             cuda::Stream* /*stream*/) {
  return allocate_device(address, size);
}
ANGIO_STAND_IN Error cudaFree(void* address) {
  return release(address, AllocationKind::kDevice, AllocationKind::kDevice);
}
ANGIO_STAND_IN Error cudaFreeAsync(void* address, cuda::Stream* /*stream*/) {
  return cudaFree(address);
}

ANGIO_STAND_IN Error cudaMallocHost(void** address, std::size_t size) {
  return allocate_host(address, size);
}
ANGIO_STAND_IN Error cudaHostAlloc(void** address, std::size_t size, unsigned /*flags*/) {
  return allocate_host(address, size);
}
ANGIO_STAND_IN Error cudaFreeHost(void* address) {
  return release(address, AllocationKind::kHost, AllocationKind::kHost);
}
ANGIO_STAND_IN Error cudaHostRegister(void* address, std::size_t size, unsigned /*flags*/) {
  return register_host(address, size);
}
ANGIO_STAND_IN Error cudaHostUnregister(void* address) {
  return release(address, AllocationKind::kRegistered, AllocationKind::kRegistered);
}
ANGIO_STAND_IN Error cudaHostGetDevicePointer(void** device, void* host, unsigned /*flags*/) {
  *device = host;
  return cuda::kSuccess;
}

ANGIO_STAND_IN Error cudaMemGetInfo(std::size_t* available, std::size_t* total) {
  const Gpu* const gpu = angio::phantom::gpu(current_device());
  if (gpu == nullptr) {
    return fail(cuda::kInvalidDevice);
  }
  *total = gpu->memory;
  *available = gpu->memory - usage(current_device()).device_now;
  return cuda::kSuccess;
}

ANGIO_STAND_IN Error cudaMemcpy(void* to, const void* from, std::size_t size, int /*kind*/) {
  copy_memory(to, from, size);
  return cuda::kSuccess;
}
ANGIO_STAND_IN Error cudaMemcpyAsync(void* to, const void* from, std::size_t size, int /*kind*/,
                                     cuda::Stream* /*stream*/) {
  copy_memory(to, from, size);
  return cuda::kSuccess;
}
ANGIO_STAND_IN Error cudaMemset(void* to, int value, std::size_t size) {
  set_memory(to, value, size);
  return cuda::kSuccess;
}
ANGIO_STAND_IN Error cudaMemsetAsync(void* to, int value, std::size_t size, cuda::Stream* /*stream*/) {
  set_memory(to, value, size);
  return cuda::kSuccess;
}

ANGIO_STAND_IN Error cudaIpcGetMemHandle(cuda::IpcHandle* handle, void* address) {
  const std::optional<FoundAllocation> found = find_allocation(address);
  if (!found || found->kind != AllocationKind::kDevice) {
    return fail(cuda::kInvalidValue);
  }
  const SharedHandle shared{getpid(), found->file, found->size};
  *handle = cuda::IpcHandle{};
  std::memcpy(handle->bytes, &shared, sizeof shared);
  return cuda::kSuccess;
}

ANGIO_STAND_IN Error cudaIpcOpenMemHandle(void** address, cuda::IpcHandle handle, unsigned /*flags*/) {
  SharedHandle shared{};
  std::memcpy(&shared, handle.bytes, sizeof shared);
  char path[64];
  std::snprintf(path, sizeof path, "/proc/%d/fd/%d", static_cast<int>(shared.process), shared.file);
  const int file = ::open(path, O_RDWR | O_CLOEXEC);
  if (file < 0) {
    return fail(cuda::kInvalidValue);
  }
  return open_shared(address, file, shared.size);
}

ANGIO_STAND_IN Error cudaIpcCloseMemHandle(void* address) {
  return release(address, AllocationKind::kShared, AllocationKind::kShared);
}

ANGIO_STAND_IN Error cudaMemPoolCreate(cuda::Pool** pool, const void* /*properties*/) {
  *pool = new cuda::Pool{current_device()};
  return cuda::kSuccess;
}
ANGIO_STAND_IN Error cudaMemPoolDestroy(cuda::Pool* pool) {
  delete pool;
  return cuda::kSuccess;
}
ANGIO_STAND_IN Error cudaMemPoolSetAttribute(cuda::Pool* /*pool*/, int /*attribute*/, void* /*value*/) {
  return cuda::kSuccess;
}
ANGIO_STAND_IN Error cudaMemPoolTrimTo(cuda::Pool* /*pool*/, std::size_t /*keep*/) {
  return cuda::kSuccess;
}
