// NVML of a phantom node: start and end, the node itself, its GPUs and what they are. Links: links.cpp.
#include <cstdint>
#include <cstdio>

#include "export.hpp"
#include "nvml/devices.hpp"

namespace angio::phantom::nvml {
namespace {

Return start() {
  return node().problem.empty() ? kSuccess : kDriverNotLoaded;
}

Return count(unsigned* number) {
  if (number == nullptr) {
    return kInvalidArgument;
  }
  *number = static_cast<unsigned>(node().hardware.gpus.size());
  return start();
}

Return by_index(unsigned index, const void** handle) {
  if (handle == nullptr || index >= node().hardware.gpus.size()) {
    return kInvalidArgument;
  }
  *handle = &node().hardware.gpus[index];
  return kSuccess;
}

Return by_address(const char* text, const void** handle) {
  Address wanted;
  if (text == nullptr || handle == nullptr || !parse_address(text, wanted)) {
    return kInvalidArgument;
  }
  for (const Gpu& gpu : node().hardware.gpus) {
    Address address;
    if (parse_address(gpu.bus, address) && address == wanted) {
      *handle = &gpu;
      return kSuccess;
    }
  }
  return kNotFound;
}

// PCI ids of NVIDIA (0x10de) with a device that no GPU has: NCCL's topology file says which it is.
constexpr unsigned kDeviceId = 0x10de;
constexpr unsigned kDisplayController = 0x03;
constexpr unsigned kDisplay3d = 0x02;

}  // namespace

void write_address(const Address& address, PciInfo& info, bool whole) {
  std::snprintf(info.bus_id_legacy, sizeof info.bus_id_legacy, "%04X:%02X:%02X.%X", address.domain & 0xffffU,
                address.bus & 0xffU, address.device & 0xffU, address.function & 15U);
  info.domain = address.domain;
  info.bus = address.bus;
  info.device = address.device;
  info.device_id = kDeviceId;
  info.subsystem_id = kDeviceId;
  if (whole) {
    std::snprintf(info.bus_id, sizeof info.bus_id, "%08X:%02X:%02X.%X", address.domain, address.bus & 0xffU,
                  address.device & 0xffU, address.function & 15U);
  }
}

namespace {

Return pci_info(const void* handle, PciInfo* info, bool whole) {
  const Gpu* const gpu = find_gpu(handle);
  Address address;
  if (gpu == nullptr || info == nullptr || !parse_address(gpu->bus, address)) {
    return kInvalidArgument;
  }
  write_address(address, *info, whole);
  return kSuccess;
}

Return say(const void* handle, unsigned* to, unsigned (*what)(const Gpu&)) {
  const Gpu* const gpu = find_gpu(handle);
  if (gpu == nullptr || to == nullptr) {
    return kInvalidArgument;
  }
  *to = what(*gpu);
  return kSuccess;
}

}  // namespace
}  // namespace angio::phantom::nvml

using angio::phantom::Gpu;
using angio::phantom::gpu_uuid_text;
using namespace angio::phantom::nvml;

ANGIO_STAND_IN Return nvmlInit() {
  return start();
}
ANGIO_STAND_IN Return nvmlInit_v2() {
  return start();
}
ANGIO_STAND_IN Return nvmlInitWithFlags(unsigned /*flags*/) {
  return start();
}
ANGIO_STAND_IN Return nvmlShutdown() {
  return kSuccess;
}

ANGIO_STAND_IN const char* nvmlErrorString(Return result) {
  switch (result) {
    case kSuccess:
      return "success";
    case kUninitialized:
      return "phantom NVML: not initialised";
    case kInvalidArgument:
      return "phantom NVML: invalid argument";
    case kNotSupported:
      return "phantom NVML: not supported";
    case kNotFound:
      return "phantom NVML: no such device";
    case kInsufficientSize:
      return "phantom NVML: buffer too small";
    case kDriverNotLoaded:
      // Names the variable or the line that is wrong.
      return node().problem.empty() ? "phantom NVML: no hardware" : node().problem.c_str();
    case kVersionMismatch:
      return "phantom NVML: unknown version of a structure";
  }
  return "phantom NVML: unknown error";
}

ANGIO_STAND_IN Return nvmlSystemGetDriverVersion(char* version, unsigned size) {
  return copy_text(node().hardware.driver_version, version, size);
}
// NVML's version is that of the CUDA it came with and the driver's: "13.580.65.06".
ANGIO_STAND_IN Return nvmlSystemGetNVMLVersion(char* version, unsigned size) {
  return copy_text(std::to_string(node().hardware.cuda_driver / 1000) + "." + node().hardware.driver_version,
                   version, size);
}
ANGIO_STAND_IN Return nvmlSystemGetCudaDriverVersion(int* version) {
  if (version == nullptr) {
    return kInvalidArgument;
  }
  *version = static_cast<int>(node().hardware.cuda_driver);
  return kSuccess;
}
ANGIO_STAND_IN Return nvmlSystemGetCudaDriverVersion_v2(int* version) {
  return nvmlSystemGetCudaDriverVersion(version);
}
ANGIO_STAND_IN Return nvmlSystemGetConfComputeState(ConfidentialState* state) {
  if (state == nullptr) {
    return kInvalidArgument;
  }
  *state = {};
  return kSuccess;
}
// No look at the version: NCCL up to 2.27 leaves it to chance.
ANGIO_STAND_IN Return nvmlSystemGetConfComputeSettings(ConfidentialSettings* settings) {
  if (settings == nullptr) {
    return kInvalidArgument;
  }
  *settings = {.version = settings->version, .environment = 0, .feature = 0, .tools = 0, .multi_gpu = 0};
  return kSuccess;
}

ANGIO_STAND_IN Return nvmlDeviceGetCount(unsigned* number) {
  return count(number);
}
ANGIO_STAND_IN Return nvmlDeviceGetCount_v2(unsigned* number) {
  return count(number);
}
ANGIO_STAND_IN Return nvmlDeviceGetHandleByIndex(unsigned index, const void** handle) {
  return by_index(index, handle);
}
ANGIO_STAND_IN Return nvmlDeviceGetHandleByIndex_v2(unsigned index, const void** handle) {
  return by_index(index, handle);
}
ANGIO_STAND_IN Return nvmlDeviceGetHandleByPciBusId(const char* address, const void** handle) {
  return by_address(address, handle);
}
ANGIO_STAND_IN Return nvmlDeviceGetHandleByPciBusId_v2(const char* address, const void** handle) {
  return by_address(address, handle);
}
ANGIO_STAND_IN Return nvmlDeviceGetHandleByUUID(const char* uuid, const void** handle) {
  if (uuid == nullptr || handle == nullptr) {
    return kInvalidArgument;
  }
  for (const Gpu& gpu : node().hardware.gpus) {
    if (gpu_uuid_text(node().host, gpu.bus) == uuid) {
      *handle = &gpu;
      return kSuccess;
    }
  }
  return kNotFound;
}

ANGIO_STAND_IN Return nvmlDeviceGetIndex(const void* handle, unsigned* index) {
  return say(handle, index,
             [](const Gpu& gpu) { return static_cast<unsigned>(&gpu - node().hardware.gpus.data()); });
}
ANGIO_STAND_IN Return nvmlDeviceGetMinorNumber(const void* handle, unsigned* minor) {
  return nvmlDeviceGetIndex(handle, minor);
}
ANGIO_STAND_IN Return nvmlDeviceGetName(const void* handle, char* name, unsigned size) {
  const Gpu* const gpu = find_gpu(handle);
  return gpu == nullptr ? kInvalidArgument : copy_text(gpu->name, name, size);
}
ANGIO_STAND_IN Return nvmlDeviceGetUUID(const void* handle, char* uuid, unsigned size) {
  const Gpu* const gpu = find_gpu(handle);
  return gpu == nullptr ? kInvalidArgument : copy_text(gpu_uuid_text(node().host, gpu->bus), uuid, size);
}
ANGIO_STAND_IN Return nvmlDeviceGetCudaComputeCapability(const void* handle, int* major, int* minor) {
  const Gpu* const gpu = find_gpu(handle);
  if (gpu == nullptr || major == nullptr || minor == nullptr) {
    return kInvalidArgument;
  }
  *major = static_cast<int>(gpu->sm / 10);
  *minor = static_cast<int>(gpu->sm % 10);
  return kSuccess;
}
ANGIO_STAND_IN Return nvmlDeviceGetMemoryInfo(const void* handle, Memory* memory) {
  const Gpu* const gpu = find_gpu(handle);
  if (gpu == nullptr || memory == nullptr) {
    return kInvalidArgument;
  }
  *memory = {.total = gpu->memory, .free = gpu->memory, .used = 0};
  return kSuccess;
}
ANGIO_STAND_IN Return nvmlDeviceGetMemoryInfo_v2(const void* handle, MemoryV2* memory) {
  const Gpu* const gpu = find_gpu(handle);
  if (gpu == nullptr || memory == nullptr) {
    return kInvalidArgument;
  }
  if (memory->version != structure_version<MemoryV2>(2)) {
    return kVersionMismatch;
  }
  *memory = {.version = memory->version, .total = gpu->memory, .reserved = 0, .free = gpu->memory, .used = 0};
  return kSuccess;
}

// The first two are of a time when the structure ended otherwise.
ANGIO_STAND_IN Return nvmlDeviceGetPciInfo(const void* handle, PciInfo* info) {
  return pci_info(handle, info, false);
}
ANGIO_STAND_IN Return nvmlDeviceGetPciInfo_v2(const void* handle, PciInfo* info) {
  return pci_info(handle, info, false);
}
ANGIO_STAND_IN Return nvmlDeviceGetPciInfo_v3(const void* handle, PciInfo* info) {
  return pci_info(handle, info, true);
}
ANGIO_STAND_IN Return nvmlDeviceGetPciInfoExt(const void* handle, PciInfoExt* info) {
  if (info == nullptr) {
    return kInvalidArgument;
  }
  if (info->version != structure_version<PciInfoExt>(1)) {
    return kVersionMismatch;
  }
  PciInfo known{};
  const Return result = pci_info(handle, &known, true);
  if (result == kSuccess) {
    *info = {.version = info->version,
             .domain = known.domain,
             .bus = known.bus,
             .device = known.device,
             .device_id = known.device_id,
             .subsystem_id = known.subsystem_id,
             .base_class = kDisplayController,
             .sub_class = kDisplay3d,
             .bus_id = {}};
    return copy_text(known.bus_id, info->bus_id, sizeof info->bus_id);
  }
  return result;
}

// Generation n is number n of NVML_PCIE_LINK_MAX_SPEED_…
ANGIO_STAND_IN Return nvmlDeviceGetPcieLinkMaxSpeed(const void* handle, unsigned* speed) {
  return say(handle, speed, [](const Gpu& gpu) { return unsigned{gpu.pcie_generation}; });
}
ANGIO_STAND_IN Return nvmlDeviceGetCurrPcieLinkGeneration(const void* handle, unsigned* generation) {
  return say(handle, generation, [](const Gpu& gpu) { return unsigned{gpu.pcie_generation}; });
}
ANGIO_STAND_IN Return nvmlDeviceGetMaxPcieLinkGeneration(const void* handle, unsigned* generation) {
  return say(handle, generation, [](const Gpu& gpu) { return unsigned{gpu.pcie_generation}; });
}
ANGIO_STAND_IN Return nvmlDeviceGetCurrPcieLinkWidth(const void* handle, unsigned* width) {
  return say(handle, width, [](const Gpu& gpu) { return unsigned{gpu.pcie_width}; });
}
ANGIO_STAND_IN Return nvmlDeviceGetMaxPcieLinkWidth(const void* handle, unsigned* width) {
  return nvmlDeviceGetCurrPcieLinkWidth(handle, width);
}

// Multi-node NVLink, the platform's slots and error counters: a phantom has none of them.
ANGIO_STAND_IN Return nvmlDeviceGetGpuFabricInfo(const void* /*handle*/, void* /*info*/) {
  return kNotSupported;
}
ANGIO_STAND_IN Return nvmlDeviceGetGpuFabricInfoV(const void* /*handle*/, void* /*info*/) {
  return kNotSupported;
}
ANGIO_STAND_IN Return nvmlDeviceGetPlatformInfo(const void* /*handle*/, void* /*info*/) {
  return kNotSupported;
}
ANGIO_STAND_IN Return nvmlDeviceGetMemoryErrorCounter(const void* /*handle*/, int /*type*/, int /*counter*/,
                                                      int /*location*/, unsigned long long* /*number*/) {
  return kNotSupported;
}
