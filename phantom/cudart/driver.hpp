// The functions of the CUDA driver that NCCL asks for by name (cudaGetDriverEntryPoint, cuGetProcAddress):
// the table of driver_entry.cpp hands them out, so no libcuda is needed. Named as the driver's, in our
// spelling: get_error_string is cuGetErrorString. They return their error and leave cudaGetLastError alone.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cudart/abi.hpp"

namespace angio::phantom::driver {

using Address = unsigned long long;  // CUdeviceptr

// errors.cpp
cuda::Error get_error_string(cuda::Error error, const char** text);
cuda::Error get_error_name(cuda::Error error, const char** name);

// driver_devices.cpp
cuda::Error init(unsigned flags);
cuda::Error driver_get_version(int* version);
cuda::Error device_get(int* device, int ordinal);
cuda::Error device_get_count(int* count);
cuda::Error device_get_attribute(int* value, int attribute, int device);
cuda::Error device_get_uuid(cuda::Uuid* uuid, int device);
cuda::Error device_get_name(char* name, int size, int device);
cuda::Error device_can_access_peer(int* can, int from, int to);
cuda::Error context_create_v2(cuda::Context** context, unsigned flags, int device);
cuda::Error context_create_v3(cuda::Context** context, void* parameters, int count, unsigned flags,
                              int device);
cuda::Error context_create_v4(cuda::Context** context, void* parameters, unsigned flags, int device);
cuda::Error context_destroy(cuda::Context* context);
cuda::Error context_get_current(cuda::Context** context);
cuda::Error context_set_current(cuda::Context* context);
cuda::Error context_get_device(int* device);
cuda::Error primary_context_retain(cuda::Context** context, int device);
cuda::Error primary_context_release(int device);

// virtual_memory.cpp
cuda::Error memory_get_address_range(Address* begin, std::size_t* size, Address address);
cuda::Error memory_address_reserve(Address* address, std::size_t size, std::size_t alignment, Address hint,
                                   unsigned long long flags);
cuda::Error memory_address_free(Address address, std::size_t size);
cuda::Error memory_create(cuda::Physical** handle, std::size_t size,
                          const cuda::AllocationProperties* properties, unsigned long long flags);
cuda::Error memory_release(cuda::Physical* handle);
cuda::Error memory_retain_allocation_handle(cuda::Physical** handle, void* address);
cuda::Error memory_map(Address address, std::size_t size, std::size_t offset, cuda::Physical* handle,
                       unsigned long long flags);
cuda::Error memory_unmap(Address address, std::size_t size);
cuda::Error memory_set_access(Address address, std::size_t size, const cuda::AccessDescription* access,
                              std::size_t count);
cuda::Error memory_get_granularity(std::size_t* granularity, const cuda::AllocationProperties* properties,
                                   int option);
cuda::Error memory_get_properties(cuda::AllocationProperties* properties, cuda::Physical* handle);
cuda::Error memory_export(void* shareable, cuda::Physical* handle, int type, unsigned long long flags);
cuda::Error memory_import(cuda::Physical** handle, void* shareable, int type);
cuda::Error memory_get_range_handle(void* handle, Address address, std::size_t size, int type,
                                    unsigned long long flags);
cuda::Error pointer_get_attribute(void* value, int attribute, Address address);
cuda::Error pointer_set_attribute(const void* value, int attribute, Address address);

// multicast.cpp
cuda::Error multicast_create(cuda::Physical** handle, const cuda::MulticastProperties* properties);
cuda::Error multicast_add_device(cuda::Physical* handle, int device);
cuda::Error multicast_bind_memory(cuda::Physical* handle, std::size_t offset, cuda::Physical* memory,
                                  std::size_t memory_offset, std::size_t size, unsigned long long flags);
cuda::Error multicast_bind_address(cuda::Physical* handle, std::size_t offset, Address address,
                                   std::size_t size, unsigned long long flags);
cuda::Error multicast_unbind(cuda::Physical* handle, int device, std::size_t offset, std::size_t size);
cuda::Error multicast_get_granularity(std::size_t* granularity, const cuda::MulticastProperties* properties,
                                      int option);

// launches.cpp
cuda::Error launch_kernel(const void* function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                          unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared,
                          cuda::Stream* stream, void** parameters, void** extra);
cuda::Error launch_kernel_ex(const cuda::DriverLaunch* launch, const void* function, void** parameters,
                             void** extra);
cuda::Error stream_write_value_32(cuda::Stream* stream, Address address, std::uint32_t value, unsigned flags);
cuda::Error stream_write_value_64(cuda::Stream* stream, Address address, std::uint64_t value, unsigned flags);
cuda::Error stream_wait_value_32(cuda::Stream* stream, Address address, std::uint32_t value, unsigned flags);
cuda::Error stream_wait_value_64(cuda::Stream* stream, Address address, std::uint64_t value, unsigned flags);
cuda::Error stream_batch_operations(cuda::Stream* stream, unsigned count, cuda::BatchOperation* operations,
                                    unsigned flags);

}  // namespace angio::phantom::driver
