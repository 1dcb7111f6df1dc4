// What all versions of NCCL's network plugin interface have in common, in our own declarations: numbers and
// layouts as NVIDIA's plugin headers give them (NCCL 2.18 to 2.32, src/include/plugin/net). Structures that
// differ by version are in net_v<N>.cpp.
#pragma once

#include <cstddef>
#include <cstdint>

namespace angio::phantom::net {

// ncclResult_t
enum Result : int {
  kSuccess = 0,
  kSystemError = 2,
  kInternalError = 3,
  kInvalidArgument = 4,
  kInvalidUsage = 5,
  kRemoteError = 6,
};

// ncclDebugLogger_t, ncclDebugLogLevel and two of the bits of ncclDebugLogSubSys
using Log = void (*)(int level, unsigned long subsystems, const char* file, int line, const char* format,
                     ...);
inline constexpr int kLogWarn = 2;
inline constexpr int kLogInfo = 3;
inline constexpr unsigned long kLogInit = 0x1;
inline constexpr unsigned long kLogNet = 0x10;

inline constexpr std::size_t kHandleSize = 128;  // NCCL_NET_HANDLE_MAXSIZE
inline constexpr int kMostReceives = 8;          // parts of one grouped receive
inline constexpr int kPointerHost = 1;           // NCCL_PTR_…
inline constexpr int kPointerCuda = 2;
inline constexpr int kPointerDmaBuf = 4;

// Nothing is offloaded: handles for the device stay empty.
inline constexpr int kDeviceHost = 0;
inline constexpr int kDeviceVersion = 0;
struct DeviceHandle;

// ncclProfilerCallback_t: not called.
using Profile = Result (*)(void**, int, void*, std::int64_t, void*);

}  // namespace angio::phantom::net
