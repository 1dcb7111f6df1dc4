#include "bench/cuda_api.hpp"

#include <fmt/format.h>

#include <future>
#include <system_error>
#include <thread>

namespace angio::bench {
namespace {

// Fills one pointer; the first that is missing is remembered.
class Symbols {
 public:
  explicit Symbols(const host::Library& library) : library_(library) {}

  template <typename Function>
  void take(Function*& target, const char* name) {
    target = reinterpret_cast<Function*>(library_.find(name));
    if (target == nullptr && missing_ == nullptr) missing_ = name;
  }
  [[nodiscard]] const char* missing() const { return missing_; }

 private:
  const host::Library& library_;
  const char* missing_ = nullptr;
};

const char* take_all(const host::Library& library, CudaApi& api) {
  Symbols symbols(library);
  symbols.take(api.init, "cuInit");
  symbols.take(api.error_string, "cuGetErrorString");
  symbols.take(api.error_name, "cuGetErrorName");
  symbols.take(api.device_count, "cuDeviceGetCount");
  symbols.take(api.device, "cuDeviceGet");
  symbols.take(api.device_name, "cuDeviceGetName");
  symbols.take(api.device_pci, "cuDeviceGetPCIBusId");
  symbols.take(api.retain_context, "cuDevicePrimaryCtxRetain");
  symbols.take(api.release_context, "cuDevicePrimaryCtxRelease_v2");
  symbols.take(api.use_context, "cuCtxSetCurrent");
  symbols.take(api.allocate, "cuMemAlloc_v2");
  symbols.take(api.release, "cuMemFree_v2");
  symbols.take(api.pin, "cuMemHostRegister_v2");
  symbols.take(api.unpin, "cuMemHostUnregister");
  symbols.take(api.to_gpu, "cuMemcpyHtoD_v2");
  symbols.take(api.from_gpu, "cuMemcpyDtoH_v2");
  symbols.take(api.to_gpu_async, "cuMemcpyHtoDAsync_v2");
  symbols.take(api.from_gpu_async, "cuMemcpyDtoHAsync_v2");
  symbols.take(api.make_stream, "cuStreamCreate");
  symbols.take(api.drop_stream, "cuStreamDestroy_v2");
  symbols.take(api.make_event, "cuEventCreate");
  symbols.take(api.drop_event, "cuEventDestroy_v2");
  symbols.take(api.record, "cuEventRecord");
  symbols.take(api.await, "cuEventSynchronize");
  symbols.take(api.elapsed, "cuEventElapsedTime");
  return symbols.missing();
}

}  // namespace

Result<std::shared_ptr<const Cuda>> Cuda::load(const host::LibraryLoader& loader,
                                               std::chrono::milliseconds patience) {
  auto library = loader.open({"libcuda.so.1"});
  if (!library) return fail(ErrorCode::kNotFound, "no CUDA driver: " + library.error().message);
  const auto cuda = std::make_shared<Cuda>();
  cuda->library_ = std::move(*library);
  if (const char* lacking = take_all(*cuda->library_, cuda->api_)) {
    return fail(ErrorCode::kUnsupported,
                fmt::format("no CUDA driver: {} has no {}", cuda->library_->path(), lacking));
  }
  try {
    std::promise<CudaResult> promise;
    std::future<CudaResult> answer = promise.get_future();
    std::thread([cuda, promise = std::move(promise)]() mutable {
      promise.set_value(cuda->api_.init(0));
    }).detach();
    if (answer.wait_for(patience) != std::future_status::ready) {
      return fail(ErrorCode::kIo, fmt::format("no CUDA driver: cuInit did not answer within {:g} s",
                                              std::chrono::duration<double>(patience).count()));
    }
    if (auto begun = cuda->check(answer.get(), "cuInit"); !begun) {
      return fail(ErrorCode::kIo, "no CUDA driver: " + begun.error().message);
    }
  } catch (const std::system_error& error) {
    return fail(ErrorCode::kIo, fmt::format("no CUDA driver: no thread to start it: {}", error.what()));
  }
  return cuda;
}

Result<void> Cuda::check(CudaResult result, const char* call) const {
  if (result == 0) return {};
  const char* words = nullptr;
  const char* name = nullptr;
  (void)api_.error_string(result, &words);
  (void)api_.error_name(result, &name);
  return fail(ErrorCode::kIo,
              fmt::format("{}: {} ({})", call, words != nullptr ? words : "unknown error",
                          name != nullptr ? std::string(name) : "CUresult " + std::to_string(result)));
}

}  // namespace angio::bench
