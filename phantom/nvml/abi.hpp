// Our own declarations of what crosses NVML's public interface: numbers and layouts as its reference manual
// gives them (NVML API Reference, 12.9). Only what NCCL and our own tools ask for.
#pragma once

#include <cstddef>

namespace angio::phantom::nvml {

// nvmlReturn_t
enum Return : int {
  kSuccess = 0,
  kUninitialized = 1,
  kInvalidArgument = 2,
  kNotSupported = 3,
  kNotFound = 6,
  kInsufficientSize = 7,
  kDriverNotLoaded = 9,
  kVersionMismatch = 25,
};

// nvmlPciInfo_t as of nvmlDeviceGetPciInfo_v3 and nvmlDeviceGetNvLinkRemotePciInfo_v2. The layout before it
// has other words from `bus_id` on, so the calls without a version write only what stands before.
struct PciInfo {
  char bus_id_legacy[16];
  unsigned domain;
  unsigned bus;
  unsigned device;
  unsigned device_id;  // device << 16 | vendor
  unsigned subsystem_id;
  char bus_id[32];
};
static_assert(sizeof(PciInfo) == 68);
static_assert(offsetof(PciInfo, bus_id) == 36);

// nvmlPciInfoExt_v1_t
struct PciInfoExt {
  unsigned version;
  unsigned domain;
  unsigned bus;
  unsigned device;
  unsigned device_id;
  unsigned subsystem_id;
  unsigned base_class;
  unsigned sub_class;
  char bus_id[32];
};
static_assert(sizeof(PciInfoExt) == 64);

// A version word is the size of the structure and its version in the top byte.
template <typename T>
constexpr unsigned structure_version(unsigned version) {
  return static_cast<unsigned>(sizeof(T)) | version << 24U;
}

// nvmlFieldValue_t
struct FieldValue {
  unsigned field;
  unsigned scope;  // the link, for fields of links
  long long timestamp;
  long long latency;
  int type;
  int result;
  union {
    double real;
    unsigned number;
    unsigned long long big;
  } value;
};
static_assert(sizeof(FieldValue) == 40);
static_assert(offsetof(FieldValue, type) == 24);
static_assert(offsetof(FieldValue, value) == 32);

// NVML_FI_DEV_…
enum Field : unsigned {
  kNvlinkCount = 91,
  kNvlinkState = 165,
  kNvlinkVersion = 166,
  kC2cCount = 170,
};
inline constexpr int kTypeUnsigned = 1;  // nvmlValueType_t

// nvmlMemory_t and nvmlMemory_v2_t, in bytes
struct Memory {
  unsigned long long total;
  unsigned long long free;
  unsigned long long used;
};
struct MemoryV2 {
  unsigned version;
  unsigned long long total;
  unsigned long long reserved;
  unsigned long long free;
  unsigned long long used;
};
static_assert(sizeof(MemoryV2) == 40);

// nvmlConfComputeSystemState_t and nvmlSystemConfComputeSettings_v1_t
struct ConfidentialState {
  unsigned environment;
  unsigned feature;
  unsigned tools;
};
struct ConfidentialSettings {
  unsigned version;
  unsigned environment;
  unsigned feature;
  unsigned tools;
  unsigned multi_gpu;
};

enum LinkCapability : int {
  kCapabilityP2p = 0,
  kCapabilitySystemMemory = 1,
  kCapabilityAtomics = 2,
  kCapabilityValid = 5
};
enum RemoteType : int { kRemoteGpu = 0, kRemoteIbmNpu = 1, kRemoteSwitch = 2, kRemoteUnknown = 255 };
enum P2pIndex : int { kP2pRead = 0, kP2pWrite = 1, kP2pNvlink = 2, kP2pAtomics = 3, kP2pProperty = 4 };

}  // namespace angio::phantom::nvml
