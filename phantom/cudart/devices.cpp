// Devices: how many, which, what they can, who reaches whom.
#include "cudart/devices.hpp"

#include <strings.h>

#include <cstdio>
#include <cstring>

#include "cudart/abi.hpp"
#include "cudart/architecture.hpp"
#include "cudart/node.hpp"
#include "export.hpp"

namespace angio::phantom {
namespace {

PciPlace pci_place(const std::string& bus) {
  PciPlace place{};
  std::sscanf(bus.c_str(), "%x:%x:%x", &place.domain, &place.bus, &place.device);
  return place;
}

const Peer* find_peer(const Gpu& gpu, const std::string& bus) {
  for (const Peer& peer : gpu.peers) {
    if (strcasecmp(peer.bus.c_str(), bus.c_str()) == 0) {
      return &peer;
    }
  }
  return nullptr;
}

// What a kernel gets.
std::optional<int> compute_attribute(int attribute, const Gpu& gpu) {
  const Architecture& chip = architecture(gpu.sm);
  switch (attribute) {
    case cuda::kComputeCapabilityMajor:
      return static_cast<int>(gpu.sm / 10);
    case cuda::kComputeCapabilityMinor:
      return static_cast<int>(gpu.sm % 10);
    case cuda::kMaxSharedMemoryPerBlockOptin:
      return chip.shared_per_block;
    case cuda::kMaxSharedMemoryPerMultiprocessor:
      return chip.shared_per_sm;
    case cuda::kMaxSharedMemoryPerBlock:
      return kPlainSharedPerBlock;
    case cuda::kMultiProcessorCount:
      return chip.multiprocessors;
    case cuda::kMaxThreadsPerBlock:
    case cuda::kMaxBlockDimX:
      return kMaxThreadsPerBlock;
    case cuda::kMaxGridDimX:
      return 0x7fffffff;
    case cuda::kWarpSize:
      return kWarpSize;
    case cuda::kConcurrentKernels:
    case cuda::kComputePreemption:
    case cuda::kCooperativeLaunch:
      return 1;
    default:
      return std::nullopt;
  }
}

// What NCCL's transports and memory ask.
std::optional<int> memory_attribute(int attribute, const Gpu& gpu) {
  switch (attribute) {
    case cuda::kCanMapHostMemory:
    case cuda::kUnifiedAddressing:
    case cuda::kHostRegisterSupported:
    case cuda::kVirtualMemoryManagement:
    case cuda::kHandleTypePosixFileDescriptor:
    case cuda::kMemoryPoolsSupported:
      return 1;
    case cuda::kGpuDirectRdma:
    case cuda::kGpuDirectRdmaWithVmm:
    case cuda::kGpuDirectRdmaFlushWritesOptions:  // 1: flushed by a call of the host
      return gpu.gdr ? 1 : 0;
    case cuda::kDmaBuf:
      return gpu.dmabuf ? 1 : 0;
    case cuda::kMulticast:
      return gpu.multicast ? 1 : 0;
    case cuda::kHostNumaId:
      return static_cast<int>(gpu.numa);
    default:
      return std::nullopt;
  }
}

}  // namespace

PciPlace pci_place(const Gpu& gpu) {
  return pci_place(gpu.bus);
}

int device_attribute(int attribute, const Gpu& gpu) {
  if (const std::optional<int> value = compute_attribute(attribute, gpu)) {
    return *value;
  }
  if (const std::optional<int> value = memory_attribute(attribute, gpu)) {
    return *value;
  }
  const PciPlace place = pci_place(gpu);
  switch (attribute) {
    case cuda::kPciBusId:
      return static_cast<int>(place.bus);
    case cuda::kPciDeviceId:
      return static_cast<int>(place.device);
    case cuda::kPciDomainId:
      return static_cast<int>(place.domain);
    default:
      return 0;  // Everything else is a feature that a phantom lacks.
  }
}

bool can_access_peer(const Gpu& from, const Gpu& to) {
  const Peer* const peer = find_peer(from, to.bus);
  return &from != &to && (peer == nullptr || peer->status == 0);
}

}  // namespace angio::phantom

using namespace angio::phantom;  // NOLINT(google-build-using-namespace): what follows is CUDA's own namespace
using cuda::Error;

ANGIO_STAND_IN Error cudaGetDeviceCount(int* count) {
  *count = device_count();
  return fail(*count > 0 ? cuda::kSuccess : no_device());
}

ANGIO_STAND_IN Error cudaGetDevice(int* device) {
  *device = current_device();
  return fail(device_count() > 0 ? cuda::kSuccess : no_device());
}

ANGIO_STAND_IN Error cudaSetDevice(int device) {
  if (gpu(device) == nullptr) {
    return fail(device_count() > 0 ? cuda::kInvalidDevice : no_device());
  }
  set_current_device(device);
  return cuda::kSuccess;
}

ANGIO_STAND_IN Error cudaDriverGetVersion(int* version) {
  *version = static_cast<int>(node().hardware.cuda_driver);
  return cuda::kSuccess;
}

ANGIO_STAND_IN Error cudaDeviceGetPCIBusId(char* text, int size, int device) {
  const Gpu* const gpu = angio::phantom::gpu(device);
  if (gpu == nullptr || text == nullptr || size <= 0) {
    return fail(gpu == nullptr ? cuda::kInvalidDevice : cuda::kInvalidValue);
  }
  const PciPlace place = pci_place(*gpu);
  const int length = std::snprintf(text, static_cast<std::size_t>(size), "%04X:%02X:%02X.0", place.domain,
                                   place.bus, place.device);
  return fail(length < size ? cuda::kSuccess : cuda::kInvalidValue);
}

ANGIO_STAND_IN Error cudaDeviceGetByPCIBusId(int* device, const char* text) {
  PciPlace wanted{};
  if (text == nullptr || std::sscanf(text, "%x:%x:%x", &wanted.domain, &wanted.bus, &wanted.device) != 3) {
    return fail(cuda::kInvalidValue);
  }
  for (int ordinal = 0; ordinal < device_count(); ++ordinal) {
    if (pci_place(*gpu(ordinal)) == wanted) {
      *device = ordinal;
      return cuda::kSuccess;
    }
  }
  return fail(cuda::kInvalidDevice);
}

ANGIO_STAND_IN Error cudaDeviceGetAttribute(int* value, int attribute, int device) {
  const Gpu* const gpu = angio::phantom::gpu(device);
  if (gpu == nullptr) {
    return fail(cuda::kInvalidDevice);
  }
  *value = device_attribute(attribute, *gpu);
  return cuda::kSuccess;
}

ANGIO_STAND_IN Error cudaDeviceCanAccessPeer(int* can, int from, int to) {
  const Gpu* const a = gpu(from);
  const Gpu* const b = gpu(to);
  if (a == nullptr || b == nullptr) {
    return fail(cuda::kInvalidDevice);
  }
  *can = can_access_peer(*a, *b) ? 1 : 0;
  return cuda::kSuccess;
}

ANGIO_STAND_IN Error cudaDeviceGetP2PAttribute(int* value, int /*attribute*/, int from, int to) {
  return cudaDeviceCanAccessPeer(value, from, to);
}

// One address space for all: nothing to enable.
ANGIO_STAND_IN Error cudaDeviceEnablePeerAccess(int peer, unsigned /*flags*/) {
  return fail(gpu(peer) == nullptr ? cuda::kInvalidDevice : cuda::kSuccess);
}
ANGIO_STAND_IN Error cudaDeviceDisablePeerAccess(int peer) {
  return fail(gpu(peer) == nullptr ? cuda::kInvalidDevice : cuda::kSuccess);
}

ANGIO_STAND_IN Error cudaDeviceSetLimit(int /*limit*/, std::size_t /*value*/) {
  return cuda::kSuccess;
}
ANGIO_STAND_IN Error cudaDeviceGetLimit(std::size_t* value, int /*limit*/) {
  *value = 1024;  // The default of the stack, the only limit NCCL sets.
  return cuda::kSuccess;
}
ANGIO_STAND_IN Error cudaDeviceSynchronize() {
  return cuda::kSuccess;
}
ANGIO_STAND_IN Error cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  if (least != nullptr) {
    *least = 0;
  }
  if (greatest != nullptr) {
    *greatest = -5;  // as every GPU since Kepler answers
  }
  return cuda::kSuccess;
}
