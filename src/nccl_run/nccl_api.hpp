// NCCL's public functions as this program calls them: own minimal declarations of what has been stable since
// 2.18, found with dlsym in a library that was loaded by its path. Nothing is linked and no header of NVIDIA
// is used. Only the process of a phantom node has them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/error.hpp"

namespace angio::nccl_run {

inline constexpr std::size_t kUniqueIdSize = 128;  // NCCL_UNIQUE_ID_BYTES

struct UniqueId {
  char internal[kUniqueIdSize];  // NOLINT(modernize-avoid-c-arrays): passed by value, in C's layout
};

// ncclSimInfo_t, unchanged from 2.22 to 2.32; version is the library's own ncclGetVersion.
struct SimulationInfo {
  std::size_t size = sizeof(SimulationInfo);
  std::uint32_t magic = 0x74685283;
  std::uint32_t version = 0;
  float estimated_time = -1.0F;  // microseconds; negative: NCCL said none
};

inline constexpr int kFloat32 = 7;          // ncclDataType_t
inline constexpr std::size_t kElement = 4;  // bytes of one
inline constexpr int kSum = 0;              // ncclRedOp_t

using Communicator = void*;
using Stream = void*;
using Outcome = int;  // ncclResult_t, 0 is success

struct NcclApi {
  Outcome (*get_version)(int*) = nullptr;
  const char* (*error_string)(Outcome) = nullptr;
  const char* (*last_error)(Communicator) = nullptr;
  Outcome (*get_unique_id)(UniqueId*) = nullptr;
  Outcome (*init_rank)(Communicator*, int, UniqueId, int) = nullptr;
  Outcome (*destroy)(Communicator) = nullptr;
  Outcome (*group_start)() = nullptr;
  Outcome (*group_end)() = nullptr;
  Outcome (*simulate_end)(SimulationInfo*) = nullptr;  // null before 2.22
  Outcome (*all_reduce)(const void*, void*, std::size_t, int, int, Communicator, Stream) = nullptr;
  Outcome (*all_gather)(const void*, void*, std::size_t, int, Communicator, Stream) = nullptr;
  Outcome (*reduce_scatter)(const void*, void*, std::size_t, int, int, Communicator, Stream) = nullptr;
  Outcome (*broadcast)(const void*, void*, std::size_t, int, int, Communicator, Stream) = nullptr;
  Outcome (*reduce)(const void*, void*, std::size_t, int, int, int, Communicator, Stream) = nullptr;
  Outcome (*send)(const void*, std::size_t, int, int, Communicator, Stream) = nullptr;
  Outcome (*receive)(void*, std::size_t, int, int, Communicator, Stream) = nullptr;
};

// Loads the library and finds its functions. Errors: the loader's words; a function that is missing.
Result<NcclApi> load_nccl(const std::string& path);

// What the preloaded stand-in of the CUDA runtime gives to the program of a node beside CUDA itself.
struct StandInApi {
  int (*redirect)(const char*, double*, unsigned*, unsigned*) = nullptr;
  void (*memory)(unsigned, unsigned long long*, unsigned long long*, unsigned long long*) = nullptr;
  int (*last_launch)(unsigned, char*, std::size_t, unsigned*, unsigned*) = nullptr;
  std::size_t (*refused)(char*, std::size_t) = nullptr;
  int (*progress)(int) = nullptr;
  void (*settle)() = nullptr;  // waits until transfers that were begun have ended
  int (*own)(int) = nullptr;   // 1: what this thread allocates from now on is not NCCL's
  std::size_t (*problem)(char*, std::size_t) = nullptr;  // with its hardware; its length
  const char* (*error_string)(int) = nullptr;            // of CUDA
  int (*set_device)(int) = nullptr;
  int (*allocate)(void**, std::size_t) = nullptr;
  int (*make_stream)(Stream*, unsigned) = nullptr;
};

// Errors: it is not preloaded.
Result<StandInApi> find_stand_in();

}  // namespace angio::nccl_run
