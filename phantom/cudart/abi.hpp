// Our own declarations of what crosses the public interface of the CUDA runtime and driver: numbers and
// layouts as their reference manuals give them (CUDA Runtime API and CUDA Driver API, 12.9 and 13.0). Only
// what NCCL uses. Layouts that differ between CUDA 12 and 13 are in abi_major.hpp.
#pragma once

#include <cstddef>
#include <cstdint>

namespace angio::phantom::cuda {

// cudaError_t and CUresult: the same numbers since CUDA 10.1.
enum Error : int {
  kSuccess = 0,
  kInvalidValue = 1,
  kOutOfMemory = 2,
  kInsufficientDriver = 35,
  kNoDevice = 100,
  kInvalidDevice = 101,
  kInvalidContext = 201,
  kInvalidHandle = 400,
  kNotFound = 500,
  kPeerAccessAlreadyEnabled = 704,
  kHostMemoryAlreadyRegistered = 712,
  kHostMemoryNotRegistered = 713,
  kNotPermitted = 800,
  kNotSupported = 801,
  kCaptureUnsupported = 900,
  kUnknown = 999,
};

// Opaque to the caller. Streams, events and pools are objects of ours.
struct Stream;
struct Event;
struct Pool;
struct Physical;  // what cuMemCreate and cuMulticastCreate make
struct Context;

struct Dim3 {
  unsigned x;
  unsigned y;
  unsigned z;
};

// cudaDeviceAttr and CUdevice_attribute: the same numbers.
enum Attribute : int {
  kMaxThreadsPerBlock = 1,
  kMaxBlockDimX = 2,
  kMaxGridDimX = 5,
  kMaxSharedMemoryPerBlock = 8,
  kWarpSize = 10,
  kMultiProcessorCount = 16,
  kCanMapHostMemory = 19,
  kConcurrentKernels = 31,
  kPciBusId = 33,
  kPciDeviceId = 34,
  kUnifiedAddressing = 41,
  kPciDomainId = 50,
  kComputeCapabilityMajor = 75,
  kComputeCapabilityMinor = 76,
  kMaxSharedMemoryPerMultiprocessor = 81,
  kComputePreemption = 90,
  kCooperativeLaunch = 95,
  kMaxSharedMemoryPerBlockOptin = 97,
  kHostRegisterSupported = 99,
  kVirtualMemoryManagement = 102,
  kHandleTypePosixFileDescriptor = 103,
  kGpuDirectRdmaWithVmm = 110,
  kMemoryPoolsSupported = 115,
  kGpuDirectRdma = 116,
  kGpuDirectRdmaFlushWritesOptions = 117,
  kGpuDirectRdmaWritesOrdering = 118,
  kDmaBuf = 124,
  kHandleTypeFabric = 128,
  kMulticast = 132,
  kHostNumaId = 134,
};

struct Uuid {
  unsigned char bytes[16];
};
static_assert(sizeof(Uuid) == 16);

enum LocationType : int { kLocationDevice = 1, kLocationHost = 2, kLocationHostNuma = 3 };
struct Location {
  int type;
  int id;
};
static_assert(sizeof(Location) == 8);

enum HandleType : int { kHandleNone = 0, kHandlePosixFileDescriptor = 1, kHandleFabric = 8 };

// CUmemAllocationProp
struct AllocationProperties {
  int type;
  int handle_types;
  Location location;
  void* win32_metadata;
  unsigned char compression;
  unsigned char rdma_capable;
  unsigned short usage;
  unsigned char reserved[4];
};
static_assert(sizeof(AllocationProperties) == 32);
static_assert(offsetof(AllocationProperties, location) == 8);
static_assert(offsetof(AllocationProperties, win32_metadata) == 16);
static_assert(offsetof(AllocationProperties, rdma_capable) == 25);

// CUmulticastObjectProp
struct MulticastProperties {
  unsigned devices;
  std::size_t size;
  unsigned long long handle_types;
  unsigned long long flags;
};
static_assert(sizeof(MulticastProperties) == 32);
static_assert(offsetof(MulticastProperties, size) == 8);
static_assert(offsetof(MulticastProperties, handle_types) == 16);

// CUmemAccessDesc
struct AccessDescription {
  Location location;
  int flags;
};
static_assert(sizeof(AccessDescription) == 12);

// cudaLaunchConfig_t
struct RuntimeLaunch {
  Dim3 grid;
  Dim3 block;
  std::size_t shared_memory;
  Stream* stream;
  void* attributes;
  unsigned attribute_count;
};
static_assert(sizeof(RuntimeLaunch) == 56);
static_assert(offsetof(RuntimeLaunch, shared_memory) == 24);
static_assert(offsetof(RuntimeLaunch, stream) == 32);

// CUlaunchConfig
struct DriverLaunch {
  Dim3 grid;
  Dim3 block;
  unsigned shared_memory;
  Stream* stream;
  void* attributes;
  unsigned attribute_count;
};
static_assert(sizeof(DriverLaunch) == 56);
static_assert(offsetof(DriverLaunch, shared_memory) == 24);
static_assert(offsetof(DriverLaunch, stream) == 32);
static_assert(offsetof(DriverLaunch, attribute_count) == 48);

// What the words of cuLaunchKernel's last argument mean: pairs of one of these and a value.
enum LaunchParameter : std::uintptr_t { kLaunchEnd = 0, kLaunchBufferPointer = 1, kLaunchBufferSize = 2 };

// CUstreamBatchMemOpParams, its members that write.
enum MemoryOperation : int { kWriteValue32 = 2, kWriteValue64 = 5 };
struct BatchOperation {
  int operation;
  std::uint64_t address;
  std::uint64_t value;
  unsigned flags;
  std::uint64_t alias;
  std::uint64_t rest;
};
static_assert(sizeof(BatchOperation) == 48);
static_assert(offsetof(BatchOperation, address) == 8);
static_assert(offsetof(BatchOperation, value) == 16);

enum PointerAttribute : int {
  kPointerContext = 1,
  kPointerMemoryType = 2,
  kPointerDevicePointer = 3,
  kPointerHostPointer = 4,
  kPointerSyncMemops = 6,
  kPointerBufferId = 7,
  kPointerIsManaged = 8,
  kPointerDeviceOrdinal = 9,
  kPointerIsLegacyIpcCapable = 10,
  kPointerRangeStart = 11,
  kPointerRangeSize = 12,
  kPointerMapped = 13,
  kPointerAllowedHandleTypes = 14,
  kPointerIsRdmaCapable = 15,
};

// cudaMemoryType; CUmemorytype has the same for host and device.
enum MemoryType : int { kMemoryUnregistered = 0, kMemoryHost = 1, kMemoryDevice = 2 };

struct IpcHandle {
  unsigned char bytes[64];
};
static_assert(sizeof(IpcHandle) == 64);

enum EntryPoint : int { kEntryPointSuccess = 0, kEntryPointNotFound = 1 };

using HostFunction = void (*)(void* data);

}  // namespace angio::phantom::cuda
