// A stand-in for libnvidia-ml.so.1: eight H100 behind four NVSwitches, as an HGX board shows them. Tests load
// it through the same dlopen as the real one. ANGIO_NVML_STANDIN changes its mood:
//   "init-fails"  driver and library differ
//   "lost:3"      GPU 3 fell off the bus: every question about it fails
//   "hangs:5"     the first question about GPU 5 never returns
// Built with STANDIN_OLD it lacks what drivers of the 470 branch lack.
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

#include "probe/nvml/nvml_abi.hpp"

using namespace angio::probe::nvml;

#define ANGIO_EXPORT extern "C" __attribute__((visibility("default")))

namespace {

constexpr unsigned kGpus = 8;
constexpr unsigned kLinks = 18;
constexpr const char* kBusIds[kGpus] = {"00000000:1B:00.0", "00000000:43:00.0", "00000000:52:00.0",
                                        "00000000:61:00.0", "00000000:9D:00.0", "00000000:C3:00.0",
                                        "00000000:D1:00.0", "00000000:DF:00.0"};
constexpr const char* kSwitches[4] = {"00000000:05:00.0", "00000000:06:00.0", "00000000:07:00.0",
                                      "00000000:08:00.0"};
char g_handles[kGpus];

std::string_view mood() {
  const char* text = std::getenv("ANGIO_NVML_STANDIN");
  return text != nullptr ? text : "";
}

unsigned index_of(Device device) {
  return static_cast<unsigned>(reinterpret_cast<char*>(device) - g_handles);
}

bool is(const char* what, unsigned gpu) {
  return mood() == std::string(what) + ":" + std::to_string(gpu);
}

// Every question about a GPU passes here.
int enter(Device device) {
  const unsigned gpu = index_of(device);
  while (is("hangs", gpu))
    pause();
  return is("lost", gpu) ? kGpuIsLost : kSuccess;
}

template <typename T>
int give(Device device, T* out, T value) {
  const int code = enter(device);
  if (code == kSuccess) *out = value;
  return code;
}

int give_text(Device device, char* out, unsigned size, const std::string& text) {
  const int code = enter(device);
  if (code != kSuccess) return code;
  if (size <= text.size()) return kInsufficientSize;
  std::memcpy(out, text.c_str(), text.size() + 1);
  return kSuccess;
}

void fill_pci(PciInfo* info, const char* bus_id) {
  *info = PciInfo{};
  std::memcpy(info->bus_id.data(), bus_id, std::strlen(bus_id));
}

}  // namespace

ANGIO_EXPORT int nvmlInit_v2() {
  return mood() == "init-fails" ? kLibRmVersionMismatch : kSuccess;
}
// NVIDIA's own Python binding comes in here.
ANGIO_EXPORT int nvmlInitWithFlags(unsigned) {
  return nvmlInit_v2();
}
ANGIO_EXPORT int nvmlShutdown() {
  return kSuccess;
}

ANGIO_EXPORT const char* nvmlErrorString(int code) {
  switch (code) {
    case kSuccess:
      return "Success";
    case kNotSupported:
      return "Not Supported";
    case kNoPermission:
      return "Insufficient Permissions";
    case kGpuIsLost:
      return "GPU is lost";
    case kLibRmVersionMismatch:
      return "Driver/library version mismatch";
    default:
      return "Unknown Error";
  }
}

ANGIO_EXPORT int nvmlSystemGetDriverVersion(char* out, unsigned size) {
  std::strncpy(out, "550.54.15", size);
  return kSuccess;
}
ANGIO_EXPORT int nvmlSystemGetNVMLVersion(char* out, unsigned size) {
  std::strncpy(out, "12.550.54.15", size);
  return kSuccess;
}
ANGIO_EXPORT int nvmlSystemGetCudaDriverVersion_v2(int* out) {
  *out = 12040;
  return kSuccess;
}

ANGIO_EXPORT int nvmlDeviceGetCount_v2(unsigned* out) {
  *out = kGpus;
  return kSuccess;
}
ANGIO_EXPORT int nvmlDeviceGetHandleByIndex_v2(unsigned index, Device* out) {
  if (index >= kGpus) return kInvalidArgument;
  if (is("lost", index)) return kGpuIsLost;
  *out = reinterpret_cast<Device>(&g_handles[index]);
  return kSuccess;
}

ANGIO_EXPORT int nvmlDeviceGetName(Device device, char* out, unsigned size) {
  return give_text(device, out, size, "NVIDIA H100 80GB HBM3");
}
ANGIO_EXPORT int nvmlDeviceGetUUID(Device device, char* out, unsigned size) {
  return give_text(device, out, size,
                   "GPU-00000000-0000-0000-0000-00000000000" + std::to_string(index_of(device)));
}
ANGIO_EXPORT int nvmlDeviceGetSerial(Device device, char*, unsigned) {
  const int code = enter(device);
  return code == kSuccess ? kNoPermission : code;
}
ANGIO_EXPORT int nvmlDeviceGetPciInfo_v3(Device device, PciInfo* out) {
  const int code = enter(device);
  if (code == kSuccess) fill_pci(out, kBusIds[index_of(device)]);
  return code;
}
ANGIO_EXPORT int nvmlDeviceGetMemoryInfo(Device device, Memory* out) {
  return give(device, out, Memory{85899345920ULL, 85336260608ULL, 563085312ULL});
}
ANGIO_EXPORT int nvmlDeviceGetCudaComputeCapability(Device device, unsigned* major, unsigned* minor) {
  *minor = 0;
  return give(device, major, 9U);
}
ANGIO_EXPORT int nvmlDeviceGetMigMode(Device device, unsigned* now, unsigned* pending) {
  *pending = 0;
  return give(device, now, 0U);
}
ANGIO_EXPORT int nvmlDeviceGetEccMode(Device device, unsigned* now, unsigned* pending) {
  *pending = 1;
  return give(device, now, 1U);
}
ANGIO_EXPORT int nvmlDeviceGetTotalEccErrors(Device device, unsigned type, unsigned counter,
                                             unsigned long long* out) {
  if (type != kUncorrectedErrors || counter != kVolatileErrors) return kInvalidArgument;
  return give(device, out, index_of(device) == 2 ? 4ULL : 0ULL);
}
ANGIO_EXPORT int nvmlDeviceGetRemappedRows(Device device, unsigned* correctable, unsigned* uncorrectable,
                                           unsigned* pending, unsigned* failed) {
  *correctable = 1;
  *pending = index_of(device) == 2 ? 1 : 0;
  *failed = 0;
  return give(device, uncorrectable, index_of(device) == 2 ? 2U : 0U);
}
ANGIO_EXPORT int nvmlDeviceGetClockInfo(Device device, unsigned clock, unsigned* out) {
  return clock == kClockSm ? give(device, out, 345U) : static_cast<int>(kInvalidArgument);
}
ANGIO_EXPORT int nvmlDeviceGetMaxClockInfo(Device device, unsigned clock, unsigned* out) {
  return clock == kClockSm ? give(device, out, 1980U) : static_cast<int>(kInvalidArgument);
}
ANGIO_EXPORT int nvmlDeviceGetPerformanceState(Device device, unsigned* out) {
  return give(device, out, 8U);
}
ANGIO_EXPORT int nvmlDeviceGetPowerUsage(Device device, unsigned* out) {
  return give(device, out, 71500U);
}
ANGIO_EXPORT int nvmlDeviceGetEnforcedPowerLimit(Device device, unsigned* out) {
  return give(device, out, 700000U);
}
ANGIO_EXPORT int nvmlDeviceGetPowerManagementDefaultLimit(Device device, unsigned* out) {
  return give(device, out, 700000U);
}
ANGIO_EXPORT int nvmlDeviceGetTemperature(Device device, unsigned sensor, unsigned* out) {
  return sensor == kTemperatureGpu ? give(device, out, 31U) : static_cast<int>(kInvalidArgument);
}
ANGIO_EXPORT int nvmlDeviceGetUtilizationRates(Device device, Utilization* out) {
  return give(device, out, Utilization{0, 0});
}
// Idle: the link went down to 2.5 GT/s, as PCIe power management does.
ANGIO_EXPORT int nvmlDeviceGetCurrPcieLinkGeneration(Device device, unsigned* out) {
  return give(device, out, 1U);
}
ANGIO_EXPORT int nvmlDeviceGetMaxPcieLinkGeneration(Device device, unsigned* out) {
  return give(device, out, 5U);
}
ANGIO_EXPORT int nvmlDeviceGetCurrPcieLinkWidth(Device device, unsigned* out) {
  return give(device, out, index_of(device) == 6 ? 8U : 16U);
}
ANGIO_EXPORT int nvmlDeviceGetMaxPcieLinkWidth(Device device, unsigned* out) {
  return give(device, out, 16U);
}
ANGIO_EXPORT int nvmlDeviceGetPcieReplayCounter(Device device, unsigned* out) {
  return give(device, out, 0U);
}
ANGIO_EXPORT int nvmlDeviceGetPersistenceMode(Device device, unsigned* out) {
  return give(device, out, 1U);
}
ANGIO_EXPORT int nvmlDeviceGetComputeMode(Device device, unsigned* out) {
  return give(device, out, 0U);
}

ANGIO_EXPORT int nvmlDeviceGetNvLinkState(Device device, unsigned link, unsigned* out) {
  if (link >= kLinks) return kInvalidArgument;
  return give(device, out, index_of(device) == 4 && link == 7 ? 0U : 1U);
}
ANGIO_EXPORT int nvmlDeviceGetNvLinkVersion(Device device, unsigned link, unsigned* out) {
  return link < kLinks ? give(device, out, 6U) : static_cast<int>(kInvalidArgument);  // 6 is NVLink 4.0
}
ANGIO_EXPORT int nvmlDeviceGetNvLinkRemotePciInfo_v2(Device device, unsigned link, PciInfo* out) {
  if (link >= kLinks) return kInvalidArgument;
  const int code = enter(device);
  if (code == kSuccess) fill_pci(out, kSwitches[link % 4]);
  return code;
}
ANGIO_EXPORT int nvmlDeviceGetNvLinkRemoteDeviceType(Device device, unsigned link, unsigned* out) {
  return link < kLinks ? give(device, out, kRemoteSwitch) : static_cast<int>(kInvalidArgument);
}
ANGIO_EXPORT int nvmlDeviceGetNvLinkErrorCounter(Device device, unsigned link, unsigned counter,
                                                 unsigned long long* out) {
  if (link >= kLinks) return kInvalidArgument;
  const bool bad = index_of(device) == 4 && link == 7 && counter == kLinkCrcFlit;
  return give(device, out, bad ? 1234ULL : 0ULL);
}
ANGIO_EXPORT int nvmlDeviceGetP2PStatus(Device device, Device peer, unsigned kind, unsigned* out) {
  if (kind != kP2pRead) return kInvalidArgument;
  const int code = enter(peer);
  if (code != kSuccess) return code;
  return give(device, out, 0U);
}

#ifdef STANDIN_OLD
ANGIO_EXPORT int nvmlDeviceGetCurrentClocksThrottleReasons(Device device, unsigned long long* out) {
  return give(device, out, 1ULL);
}
ANGIO_EXPORT int nvmlDeviceGetComputeRunningProcesses_v2(Device device, unsigned* count, ProcessInfo*) {
  return give(device, count, 0U);
}
#else
ANGIO_EXPORT int nvmlDeviceGetCurrentClocksEventReasons(Device device, unsigned long long* out) {
  return give(device, out, 1ULL);
}
ANGIO_EXPORT int nvmlDeviceGetComputeRunningProcesses_v3(Device device, unsigned* count, ProcessInfo* out) {
  constexpr unsigned kProcesses = 100;  // more than the first buffer holds
  const int code = enter(device);
  if (code != kSuccess) return code;
  const unsigned room = *count;
  *count = index_of(device) == 1 ? kProcesses : 0;
  if (room < *count) return kInsufficientSize;
  for (unsigned i = 0; i < *count; ++i)
    out[i] = {4000 + i, i == 0 ? ~0ULL : 1048576ULL, 0, 0};
  return kSuccess;
}
ANGIO_EXPORT int nvmlDeviceGetNumaNodeId(Device device, unsigned*) {
  const int code = enter(device);
  return code == kSuccess ? kNotSupported : code;
}
ANGIO_EXPORT int nvmlDeviceGetMemoryAffinity(Device device, unsigned size, unsigned long* out,
                                             unsigned scope) {
  if (scope != kScopeNode || size == 0) return kInvalidArgument;
  return give(device, out, index_of(device) < 4 ? 1UL : 2UL);
}
ANGIO_EXPORT int nvmlDeviceGetC2cModeInfoV(Device device, C2cMode* out) {
  return give(device, &out->enabled, std::uint32_t{0});
}
ANGIO_EXPORT int nvmlDeviceGetAddressingMode(Device device, AddressingMode* out) {
  if (out->version != 0x01000008) return kInvalidArgument;
  return give(device, &out->value, std::uint32_t{0});
}
ANGIO_EXPORT int nvmlDeviceGetGpuFabricInfoV(Device device, FabricInfo* out) {
  if (out->version != 0x02000024) return kInvalidArgument;
  out->cluster[0] = 0xAB;
  out->cluster[15] = 0x01;
  out->status = 0;
  out->clique = 7;
  return give(device, &out->state, std::uint8_t{3});
}
#endif
