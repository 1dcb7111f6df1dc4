// Entry points of the driver by name. NCCL up to 2.20 opens libcuda.so by itself and asks cuGetProcAddress;
// the dlopen below gives it this process, where our three exports are found. Later ones ask the runtime.
#include <dlfcn.h>

#include <algorithm>
#include <iterator>
#include <string_view>

#include "cudart/driver.hpp"
#include "cudart/node.hpp"
#include "export.hpp"

namespace angio::phantom {
namespace {

using Function = void (*)();

struct Entry {
  std::string_view name;
  Function function;
};

template <class Any>
Function plain(Any* function) {
  return reinterpret_cast<Function>(function);
}

cuda::Error get_proc_address(const char* name, void** function, int version, unsigned long long flags);
cuda::Error get_proc_address_v2(const char* name, void** function, int version, unsigned long long flags,
                                int* status);

// Sorted by name.
const Entry kEntries[] = {
    {"cuCtxDestroy", plain(driver::context_destroy)},
    {"cuCtxGetCurrent", plain(driver::context_get_current)},
    {"cuCtxGetDevice", plain(driver::context_get_device)},
    {"cuCtxSetCurrent", plain(driver::context_set_current)},
    {"cuDeviceCanAccessPeer", plain(driver::device_can_access_peer)},
    {"cuDeviceGet", plain(driver::device_get)},
    {"cuDeviceGetAttribute", plain(driver::device_get_attribute)},
    {"cuDeviceGetCount", plain(driver::device_get_count)},
    {"cuDeviceGetName", plain(driver::device_get_name)},
    {"cuDeviceGetUuid", plain(driver::device_get_uuid)},
    {"cuDevicePrimaryCtxRelease", plain(driver::primary_context_release)},
    {"cuDevicePrimaryCtxRetain", plain(driver::primary_context_retain)},
    {"cuDriverGetVersion", plain(driver::driver_get_version)},
    {"cuGetErrorName", plain(driver::get_error_name)},
    {"cuGetErrorString", plain(driver::get_error_string)},
    {"cuInit", plain(driver::init)},
    {"cuLaunchKernel", plain(driver::launch_kernel)},
    {"cuLaunchKernelEx", plain(driver::launch_kernel_ex)},
    {"cuMemAddressFree", plain(driver::memory_address_free)},
    {"cuMemAddressReserve", plain(driver::memory_address_reserve)},
    {"cuMemCreate", plain(driver::memory_create)},
    {"cuMemExportToShareableHandle", plain(driver::memory_export)},
    {"cuMemGetAddressRange", plain(driver::memory_get_address_range)},
    {"cuMemGetAllocationGranularity", plain(driver::memory_get_granularity)},
    {"cuMemGetAllocationPropertiesFromHandle", plain(driver::memory_get_properties)},
    {"cuMemGetHandleForAddressRange", plain(driver::memory_get_range_handle)},
    {"cuMemImportFromShareableHandle", plain(driver::memory_import)},
    {"cuMemMap", plain(driver::memory_map)},
    {"cuMemRelease", plain(driver::memory_release)},
    {"cuMemRetainAllocationHandle", plain(driver::memory_retain_allocation_handle)},
    {"cuMemSetAccess", plain(driver::memory_set_access)},
    {"cuMemUnmap", plain(driver::memory_unmap)},
    {"cuMulticastAddDevice", plain(driver::multicast_add_device)},
    {"cuMulticastBindAddr", plain(driver::multicast_bind_address)},
    {"cuMulticastBindMem", plain(driver::multicast_bind_memory)},
    {"cuMulticastCreate", plain(driver::multicast_create)},
    {"cuMulticastGetGranularity", plain(driver::multicast_get_granularity)},
    {"cuMulticastUnbind", plain(driver::multicast_unbind)},
    {"cuPointerGetAttribute", plain(driver::pointer_get_attribute)},
    {"cuPointerSetAttribute", plain(driver::pointer_set_attribute)},
    {"cuStreamBatchMemOp", plain(driver::stream_batch_operations)},
    {"cuStreamWaitValue32", plain(driver::stream_wait_value_32)},
    {"cuStreamWaitValue64", plain(driver::stream_wait_value_64)},
    {"cuStreamWriteValue32", plain(driver::stream_write_value_32)},
    {"cuStreamWriteValue64", plain(driver::stream_write_value_64)},
};

// cuCtxCreate took other arguments with 11.4 and 13.0 (PFN_cuCtxCreate_v3020, _v11040, _v12050).
Function context_create(int version) {
  if (version < 11040) {
    return plain(driver::context_create_v2);
  }
  return version < 12050 ? plain(driver::context_create_v3) : plain(driver::context_create_v4);
}

Function find_entry(std::string_view name, int version) {
  if (name == "cuCtxCreate") {
    return context_create(version);
  }
  if (name == "cuGetProcAddress") {
    return version < 12000 ? plain(get_proc_address) : plain(get_proc_address_v2);
  }
  const Entry* const end = std::end(kEntries);
  const Entry* const found =
      std::lower_bound(std::begin(kEntries), end, name,
                       [](const Entry& entry, std::string_view key) { return entry.name < key; });
  return found != end && found->name == name ? found->function : nullptr;
}

cuda::Error give_entry(const char* name, void** function, int version, int* status) {
  *function = reinterpret_cast<void*>(find_entry(name, version));
  if (status != nullptr) {
    *status = *function == nullptr ? cuda::kEntryPointNotFound : cuda::kEntryPointSuccess;
  }
  return cuda::kSuccess;
}

cuda::Error get_proc_address_v2(const char* name, void** function, int version, unsigned long long /*flags*/,
                                int* status) {
  give_entry(name, function, version, status);
  return *function == nullptr ? cuda::kNotFound : cuda::kSuccess;
}

cuda::Error get_proc_address(const char* name, void** function, int version, unsigned long long flags) {
  return get_proc_address_v2(name, function, version, flags, nullptr);
}

bool is_driver_library(const char* name) {
  if (name == nullptr) {
    return false;
  }
  const std::string_view path = name;
  const std::string_view file = path.substr(path.rfind('/') + 1);  // npos + 1 is 0
  return file == "libcuda.so" || file == "libcuda.so.1";
}

}  // namespace
}  // namespace angio::phantom

using namespace angio::phantom;  // NOLINT(google-build-using-namespace): what follows is CUDA's own namespace
using cuda::Error;

ANGIO_STAND_IN Error cudaGetDriverEntryPointByVersion(const char* name, void** function, unsigned version,
                                                      unsigned long long /*flags*/, int* status) {
  return give_entry(name, function, static_cast<int>(version), status);
}

// Without a version: of the CUDA that the caller was built for, of which only the major is known here. The
// functions that NCCL asks for this way changed within none but cuCtxCreate, for which it means that of 11.4.
ANGIO_STAND_IN Error cudaGetDriverEntryPoint(const char* name, void** function, unsigned long long /*flags*/,
                                             int* status) {
  return give_entry(name, function, 12000, status);
}

ANGIO_STAND_IN Error cuInit(unsigned flags) {
  return driver::init(flags);
}
ANGIO_STAND_IN Error cuDriverGetVersion(int* version) {
  return driver::driver_get_version(version);
}
ANGIO_STAND_IN Error cuGetProcAddress(const char* name, void** function, int version,
                                      unsigned long long flags) {
  return get_proc_address(name, function, version, flags);
}
ANGIO_STAND_IN Error cuGetProcAddress_v2(const char* name, void** function, int version,
                                         unsigned long long flags, int* status) {
  return get_proc_address_v2(name, function, version, flags, status);
}

ANGIO_STAND_IN void* dlopen(const char* name, int flags) noexcept {
  using Open = void* (*)(const char*, int);
  static const Open real = reinterpret_cast<Open>(dlsym(RTLD_NEXT, "dlopen"));
  if (is_driver_library(name)) {
    name = nullptr;
  }
  // The last thing this function does, so that the loader takes our caller for its own (RUNPATH);
  // CMakeLists.txt asks for the tail call in every build.
  return real(name, flags);
}
