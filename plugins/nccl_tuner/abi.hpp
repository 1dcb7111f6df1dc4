// NCCL's interface to a tuner, as far as this plugin uses it, version by version. Own declarations: layouts
// and meanings after NCCL's public headers src/include/plugin/tuner/tuner_v2.h to tuner_v7.h (2.21 to 2.32
// and main); the assertions hold the offsets. NCCL looks for the newest version that it knows. Version 1
// (2.19 and 2.20) is not served: it does not say which communicator asks, so ranks of two communicators could
// decide differently and hang.
#pragma once

#include <cstddef>
#include <cstdint>

namespace angio::tuner::abi {

enum Result : int {
  kSuccess = 0
};  // ncclSuccess; a failure would end the caller's communicator, so none is returned

// ncclDebugLogger_t, and the values of ncclDebugLogLevel and ncclDebugLogSubSys that are used.
using Logger = void (*)(int level, unsigned long flags, const char* file, int line, const char* format, ...);
inline constexpr int kWarn = 2;
inline constexpr int kInfo = 3;
inline constexpr unsigned long kInit = 0x1;
inline constexpr unsigned long kTuning = 0x40;

inline constexpr int kUndefined = -1;          // NCCL_ALGO_UNDEF, NCCL_PROTO_UNDEF
inline constexpr float kNotAvailable = -1.0F;  // NCCL_ALGO_PROTO_IGNORE, in the cost table

// NCCL 2.21; accepted by all later ones.
struct TunerV2 {
  const char* name;
  Result (*init)(std::size_t ranks, std::size_t nodes, Logger logger, void** context);
  Result (*get_coll_info)(void* context, int function, std::size_t bytes, int collnet, int nvls, int pipe_ops,
                          int* algorithm, int* protocol, int* channels);
  Result (*destroy)(void* context);
};

// NCCL 2.22. The cost table is float[algorithms][protocols] whatever its type says.
struct TunerV3 {
  const char* name;
  Result (*init)(std::size_t ranks, std::size_t nodes, Logger logger, void** context);
  Result (*get_coll_info)(void* context, int function, std::size_t bytes, int pipe_ops, float** costs,
                          int algorithms, int protocols, int* channels);
  Result (*destroy)(void* context);
};

// NCCL 2.24.
struct TunerV4 {
  const char* name;
  Result (*init)(std::size_t ranks, std::size_t nodes, Logger logger, void** context);
  Result (*get_coll_info)(void* context, int function, std::size_t bytes, int pipe_ops, float** costs,
                          int algorithms, int protocols, int registered, int* channels);
  Result (*destroy)(void* context);
};

// NCCL 2.28. The domains of NVLink and the constants of NCCL's model are not used, so their layout, which
// differs between versions 5 and 7, does not matter here.
struct TunerV5 {
  const char* name;
  Result (*init)(void** context, std::uint64_t communicator, std::size_t ranks, std::size_t nodes,
                 Logger logger, void* domains, void* constants);
  Result (*get_coll_info)(void* context, int function, std::size_t bytes, int pipe_ops, float** costs,
                          int algorithms, int protocols, int registered, int* channels);
  Result (*finalize)(void* context);
};

// NCCL 2.30; version 7 (main after 2.32) has more constants and is the same otherwise.
struct TunerV6 {
  const char* name;
  Result (*init)(void** context, std::uint64_t communicator, std::size_t ranks, std::size_t nodes,
                 Logger logger, void* domains, void* constants);
  Result (*get_coll_info)(void* context, int function, std::size_t bytes, int pipe_ops, float** costs,
                          int algorithms, int protocols, int registered, int* channels);
  Result (*finalize)(void* context);
  // May be null: NCCL's own chunk size stands.
  Result (*get_chunk_size)(void* context, int function, std::size_t bytes, int algorithm, int protocol,
                           int channels, std::size_t* chunk);
};
using TunerV7 = TunerV6;

template <typename Tuner>
constexpr bool has_four_in_order = offsetof(Tuner, name) == 0 && offsetof(Tuner, init) == sizeof(void*) &&
                                   offsetof(Tuner, get_coll_info) == 2 * sizeof(void*);
static_assert(has_four_in_order<TunerV2> && offsetof(TunerV2, destroy) == 24 && sizeof(TunerV2) == 32);
static_assert(has_four_in_order<TunerV3> && offsetof(TunerV3, destroy) == 24 && sizeof(TunerV3) == 32);
static_assert(has_four_in_order<TunerV4> && offsetof(TunerV4, destroy) == 24 && sizeof(TunerV4) == 32);
static_assert(has_four_in_order<TunerV5> && offsetof(TunerV5, finalize) == 24 && sizeof(TunerV5) == 32);
static_assert(has_four_in_order<TunerV6> && offsetof(TunerV6, finalize) == 24 &&
              offsetof(TunerV6, get_chunk_size) == 32 && sizeof(TunerV6) == 40);
static_assert(sizeof(Result) == sizeof(int));

}  // namespace angio::tuner::abi
