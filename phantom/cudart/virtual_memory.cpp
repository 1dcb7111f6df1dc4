// Virtual memory of the driver (cuMem*): reserved ranges, physical allocations as memory files, mappings of
// one into the other, and the descriptors by which another process gets at them.
#include "cudart/virtual_memory.hpp"

#include <fcntl.h>
#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "cudart/allocations.hpp"
#include "cudart/driver.hpp"
#include "cudart/node.hpp"

namespace angio::phantom::driver {
namespace {

void* pointer(Address address) {
  return reinterpret_cast<void*>(
      address);  // NOLINT(performance-no-int-to-ptr): the driver's addresses are numbers
}

Address number(const void* address) {
  return reinterpret_cast<Address>(address);
}

template <class Value>
void put(void* to, Value value) {
  std::memcpy(to, &value, sizeof value);
}

// Attributes of a pointer that are one int.
std::optional<int> word_of(const FoundAllocation& found, int attribute) {
  switch (attribute) {
    case cuda::kPointerMemoryType:
      return found.host ? cuda::kMemoryHost : cuda::kMemoryDevice;
    case cuda::kPointerSyncMemops:
    case cuda::kPointerIsManaged:
      return 0;
    case cuda::kPointerDeviceOrdinal:
      return std::max(found.device, 0);
    case cuda::kPointerIsLegacyIpcCapable:
      return found.kind == AllocationKind::kDevice ? 1 : 0;
    case cuda::kPointerMapped:
      return 1;
    case cuda::kPointerIsRdmaCapable: {
      const Gpu* const gpu = angio::phantom::gpu(found.device);
      return gpu != nullptr && gpu->gdr ? 1 : 0;
    }
    default:
      return std::nullopt;
  }
}

}  // namespace

cuda::Error memory_get_address_range(Address* begin, std::size_t* size, Address address) {
  const std::optional<FoundAllocation> found = find_allocation(pointer(address));
  if (!found) {
    return cuda::kNotFound;
  }
  if (begin != nullptr) {
    *begin = number(found->begin);
  }
  if (size != nullptr) {
    *size = found->size;
  }
  return cuda::kSuccess;
}

cuda::Error memory_address_reserve(Address* address, std::size_t size, std::size_t alignment,
                                   Address /*hint*/, unsigned long long /*flags*/) {
  alignment = std::max(alignment, kGranularity);
  if (size == 0 || size + alignment < size || (alignment & (alignment - 1)) != 0) {
    return cuda::kInvalidValue;
  }
  void* const mapped =
      mmap(nullptr, size + alignment, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED) {
    complain("reservation of addresses", errno);
    return cuda::kOutOfMemory;
  }
  const Address first = number(mapped);
  const Address begin = (first + alignment - 1) & ~Address{alignment - 1};
  if (begin > first) {
    munmap(mapped, begin - first);
  }
  munmap(pointer(begin + size), first + alignment - begin);
  *address = begin;
  return cuda::kSuccess;
}

cuda::Error memory_address_free(Address address, std::size_t size) {
  return munmap(pointer(address), size) == 0 ? cuda::kSuccess : cuda::kInvalidValue;
}

cuda::Error memory_create(cuda::Physical** handle, std::size_t size,
                          const cuda::AllocationProperties* properties, unsigned long long /*flags*/) {
  if ((properties->handle_types & cuda::kHandleFabric) != 0) {
    return cuda::kNotSupported;
  }
  return create_physical(handle, size, *properties, false);
}

cuda::Error memory_release(cuda::Physical* handle) {
  if (handle == nullptr) {
    return cuda::kInvalidValue;
  }
  release_physical(handle);
  return cuda::kSuccess;
}

cuda::Error memory_retain_allocation_handle(cuda::Physical** handle, void* address) {
  const std::optional<FoundAllocation> found = find_allocation(address);
  if (!found || found->physical == nullptr) {
    return cuda::kInvalidValue;
  }
  retain_physical(found->physical);
  *handle = found->physical;
  return cuda::kSuccess;
}

cuda::Error memory_map(Address address, std::size_t size, std::size_t offset, cuda::Physical* handle,
                       unsigned long long /*flags*/) {
  if (handle == nullptr || offset > handle->size || size > handle->size - offset) {
    return cuda::kInvalidValue;
  }
  return map_physical(pointer(address), size, offset, handle);
}

cuda::Error memory_unmap(Address address, std::size_t size) {
  return unmap_physical(pointer(address), size);
}

cuda::Error memory_set_access(Address /*address*/, std::size_t /*size*/,
                              const cuda::AccessDescription* /*access*/, std::size_t /*count*/) {
  return cuda::kSuccess;
}

cuda::Error memory_get_granularity(std::size_t* granularity, const cuda::AllocationProperties* /*properties*/,
                                   int /*option*/) {
  *granularity = kGranularity;
  return cuda::kSuccess;
}

cuda::Error memory_get_properties(cuda::AllocationProperties* properties, cuda::Physical* handle) {
  if (properties == nullptr || handle == nullptr) {
    return cuda::kInvalidValue;
  }
  *properties = handle->properties;
  return cuda::kSuccess;
}

cuda::Error memory_export(void* shareable, cuda::Physical* handle, int type, unsigned long long /*flags*/) {
  if (shareable == nullptr || handle == nullptr) {
    return cuda::kInvalidValue;
  }
  if (type != cuda::kHandlePosixFileDescriptor) {
    return cuda::kNotSupported;
  }
  const int file = fcntl(handle->file, F_DUPFD_CLOEXEC, 0);
  if (file < 0) {
    complain("export of memory", errno);
    return cuda::kOutOfMemory;
  }
  put(shareable, file);
  return cuda::kSuccess;
}

cuda::Error memory_import(cuda::Physical** handle, void* shareable, int type) {
  if (type != cuda::kHandlePosixFileDescriptor) {
    return cuda::kNotSupported;
  }
  return import_physical(handle, static_cast<int>(reinterpret_cast<std::intptr_t>(shareable)));
}

// DMA-BUF and the like: NCCL falls back to registering the address.
cuda::Error memory_get_range_handle(void* /*handle*/, Address /*address*/, std::size_t /*size*/, int /*type*/,
                                    unsigned long long /*flags*/) {
  return cuda::kNotSupported;
}

cuda::Error pointer_get_attribute(void* value, int attribute, Address address) {
  const std::optional<FoundAllocation> found = find_allocation(pointer(address));
  if (!found || value == nullptr) {
    return cuda::kInvalidValue;
  }
  if (attribute == cuda::kPointerDevicePointer) {
    put(value, address);
  } else if (attribute == cuda::kPointerRangeStart) {
    put(value, found->begin);
  } else if (attribute == cuda::kPointerRangeSize) {
    put(value, found->size);
  } else if (attribute == cuda::kPointerAllowedHandleTypes) {
    const int types = found->physical == nullptr ? 0 : found->physical->properties.handle_types;
    put(value, static_cast<std::uint64_t>(types));
  } else if (const std::optional<int> word = word_of(*found, attribute)) {
    put(value, *word);
  } else {
    return cuda::kNotSupported;
  }
  return cuda::kSuccess;
}

cuda::Error pointer_set_attribute(const void* /*value*/, int /*attribute*/, Address /*address*/) {
  return cuda::kSuccess;
}

}  // namespace angio::phantom::driver
