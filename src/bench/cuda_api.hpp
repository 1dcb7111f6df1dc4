// The few functions of the CUDA driver API that copies need, by dlopen of libcuda.so.1, with own declarations
// (CUDA driver API reference; the ABI of the versioned names is stable). No CUDA header, no runtime library.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>

#include "base/error.hpp"
#include "host/libraries.hpp"

namespace angio::bench {

using CudaResult = int;  // CUresult; 0 is CUDA_SUCCESS
using CudaDevice = int;
using CudaAddress = unsigned long long;  // CUdeviceptr
struct CudaContextTag;
struct CudaStreamTag;
struct CudaEventTag;
using CudaContext = CudaContextTag*;
using CudaStream = CudaStreamTag*;
using CudaEvent = CudaEventTag*;

struct CudaApi {
  CudaResult (*init)(unsigned flags) = nullptr;
  CudaResult (*error_string)(CudaResult result, const char** text) = nullptr;
  CudaResult (*error_name)(CudaResult result, const char** text) = nullptr;
  CudaResult (*device_count)(int* count) = nullptr;
  CudaResult (*device)(CudaDevice* device, int ordinal) = nullptr;
  CudaResult (*device_name)(char* name, int size, CudaDevice device) = nullptr;
  CudaResult (*device_pci)(char* text, int size, CudaDevice device) = nullptr;
  CudaResult (*retain_context)(CudaContext* context, CudaDevice device) = nullptr;
  CudaResult (*release_context)(CudaDevice device) = nullptr;
  CudaResult (*use_context)(CudaContext context) = nullptr;
  CudaResult (*allocate)(CudaAddress* address, std::size_t size) = nullptr;
  CudaResult (*release)(CudaAddress address) = nullptr;
  CudaResult (*pin)(void* start, std::size_t size, unsigned flags) = nullptr;
  CudaResult (*unpin)(void* start) = nullptr;
  CudaResult (*to_gpu)(CudaAddress to, const void* from, std::size_t size) = nullptr;
  CudaResult (*from_gpu)(void* to, CudaAddress from, std::size_t size) = nullptr;
  CudaResult (*to_gpu_async)(CudaAddress to, const void* from, std::size_t size, CudaStream stream) = nullptr;
  CudaResult (*from_gpu_async)(void* to, CudaAddress from, std::size_t size, CudaStream stream) = nullptr;
  CudaResult (*make_stream)(CudaStream* stream, unsigned flags) = nullptr;
  CudaResult (*drop_stream)(CudaStream stream) = nullptr;
  CudaResult (*make_event)(CudaEvent* event, unsigned flags) = nullptr;
  CudaResult (*drop_event)(CudaEvent event) = nullptr;
  CudaResult (*record)(CudaEvent event, CudaStream stream) = nullptr;
  CudaResult (*await)(CudaEvent event) = nullptr;
  CudaResult (*elapsed)(float* milliseconds, CudaEvent from, CudaEvent to) = nullptr;
};

// The library with its functions. Shared: a driver that hangs keeps its thread, and the thread its library.
class Cuda {
 public:
  // Loads and initialises; an error says in one line why there is none. Waits for cuInit no longer than
  // patience.
  static Result<std::shared_ptr<const Cuda>> load(const host::LibraryLoader& loader,
                                                  std::chrono::milliseconds patience);

  [[nodiscard]] const CudaApi& api() const { return api_; }
  // "cuMemHostRegister_v2: out of memory (CUDA_ERROR_OUT_OF_MEMORY)"; nothing for success.
  [[nodiscard]] Result<void> check(CudaResult result, const char* call) const;

 private:
  std::unique_ptr<host::Library> library_;
  CudaApi api_;
};

}  // namespace angio::bench
