// The part of NVML's binary interface that Angio calls: our own declarations, none of NVIDIA's text.
// Numbers and layouts as documented in the NVML API reference (docs.nvidia.com/deploy/nvml-api) and as
// the BSD-licensed nvidia-ml-py binding declares them. Shared with the stand-in library of the tests.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace angio::probe::nvml {

struct OpaqueDevice;
using Device = OpaqueDevice*;

// nvmlReturn_t: those that Angio treats each in its own way.
enum Return : int {
  kSuccess = 0,
  kInvalidArgument = 2,
  kNotSupported = 3,
  kNoPermission = 4,
  kNotFound = 6,
  kInsufficientSize = 7,
  kDriverNotLoaded = 9,
  kTimeout = 10,
  kFunctionNotFound = 13,
  kGpuIsLost = 15,
  kLibRmVersionMismatch = 18,
};

inline constexpr unsigned kMostDevices = 256;      // a library that says more is broken
inline constexpr unsigned kMaxLinks = 36;          // NVML_NVLINK_MAX_LINKS; 18 before Blackwell
inline constexpr unsigned kClockSm = 1;            // NVML_CLOCK_SM
inline constexpr unsigned kTemperatureGpu = 0;     // NVML_TEMPERATURE_GPU
inline constexpr unsigned kUncorrectedErrors = 1;  // NVML_MEMORY_ERROR_TYPE_UNCORRECTED
inline constexpr unsigned kVolatileErrors = 0;     // NVML_VOLATILE_ECC
inline constexpr unsigned kLinkReplay = 0;         // NVML_NVLINK_ERROR_DL_REPLAY
inline constexpr unsigned kLinkRecovery = 1;       // NVML_NVLINK_ERROR_DL_RECOVERY
inline constexpr unsigned kLinkCrcFlit = 2;        // NVML_NVLINK_ERROR_DL_CRC_FLIT
inline constexpr unsigned kP2pRead = 0;            // NVML_P2P_CAPS_INDEX_READ
inline constexpr unsigned kScopeNode = 0;          // NVML_AFFINITY_SCOPE_NODE

// NVML_NVLINK_DEVICE_TYPE_*
inline constexpr unsigned kRemoteGpu = 0;
inline constexpr unsigned kRemoteNpu = 1;  // IBM Power9
inline constexpr unsigned kRemoteSwitch = 2;

struct Memory {
  std::uint64_t total;
  std::uint64_t free;
  std::uint64_t used;
};
static_assert(sizeof(Memory) == 24);

struct PciInfo {  // nvmlPciInfo_t since 9.0 (…_v3)
  std::array<char, 16> legacy_id;
  std::uint32_t domain;
  std::uint32_t bus;
  std::uint32_t device;
  std::uint32_t pci_device_id;
  std::uint32_t pci_subsystem_id;
  std::array<char, 32> bus_id;  // "00000000:1B:00.0"
};
static_assert(sizeof(PciInfo) == 68);

struct Utilization {
  std::uint32_t gpu;
  std::uint32_t memory;
};

struct ProcessInfo {  // …_v2 and …_v3 of nvmlDeviceGetComputeRunningProcesses
  std::uint32_t pid;
  std::uint64_t used_memory;  // all ones: not available (MIG, WDDM)
  std::uint32_t gpu_instance;
  std::uint32_t compute_instance;
};
static_assert(sizeof(ProcessInfo) == 24);

// Versioned structs begin with their size and version: size | version << 24.
constexpr std::uint32_t struct_version(std::size_t size, std::uint32_t version) {
  return static_cast<std::uint32_t>(size) | (version << 24U);
}

struct FabricInfo {  // nvmlGpuFabricInfo_v2_t, driver 550 and newer
  std::uint32_t version;
  std::array<std::uint8_t, 16> cluster;
  std::uint32_t status;  // nvmlReturn_t of the registration
  std::uint32_t clique;
  std::uint8_t state;
  std::uint32_t health_mask;
};
static_assert(struct_version(sizeof(FabricInfo), 2) == 0x02000024);

struct FabricInfoV1 {  // nvmlGpuFabricInfo_t: carries no version
  std::array<std::uint8_t, 16> cluster;
  std::uint32_t status;
  std::uint32_t clique;
  std::uint8_t state;
};
static_assert(sizeof(FabricInfoV1) == 28);

struct AddressingMode {  // nvmlDeviceAddressingMode_v1_t: 0 none, 1 HMM, 2 ATS
  std::uint32_t version;
  std::uint32_t value;
};
static_assert(struct_version(sizeof(AddressingMode), 1) == 0x01000008);

// nvmlC2cModeInfo_v1_t is one word without a version in front; the rest is room for what later ones add.
struct C2cMode {
  std::uint32_t enabled;
  std::array<std::uint32_t, 15> reserved;
};

// Shapes of the functions; several share one.
using Init = int (*)();
using ErrorString = const char* (*)(int);
using SystemText = int (*)(char*, unsigned);
using SystemNumber = int (*)(int*);
using DeviceCount = int (*)(unsigned*);
using DeviceHandle = int (*)(unsigned, Device*);
using DeviceText = int (*)(Device, char*, unsigned);
using DeviceNumber = int (*)(Device, unsigned*);
using DevicePair = int (*)(Device, unsigned*, unsigned*);     // current, pending; major, minor
using DeviceSelected = int (*)(Device, unsigned, unsigned*);  // by clock, sensor or link
using DeviceWide = int (*)(Device, unsigned long long*);
using DeviceMemory = int (*)(Device, Memory*);
using DevicePci = int (*)(Device, PciInfo*);
using DeviceEcc = int (*)(Device, unsigned, unsigned, unsigned long long*);
using DeviceRows = int (*)(Device, unsigned*, unsigned*, unsigned*, unsigned*);
using DeviceUtilization = int (*)(Device, Utilization*);
using DeviceAffinity = int (*)(Device, unsigned, unsigned long*, unsigned);
using DeviceC2c = int (*)(Device, C2cMode*);
using DeviceAddressing = int (*)(Device, AddressingMode*);
using DeviceFabric = int (*)(Device, FabricInfo*);
using DeviceFabricV1 = int (*)(Device, FabricInfoV1*);
using DeviceProcesses = int (*)(Device, unsigned*, ProcessInfo*);
using DevicePeer = int (*)(Device, Device, unsigned, unsigned*);
using LinkPci = int (*)(Device, unsigned, PciInfo*);
using LinkErrors = int (*)(Device, unsigned, unsigned, unsigned long long*);

}  // namespace angio::probe::nvml
