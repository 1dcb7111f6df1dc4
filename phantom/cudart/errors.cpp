// Names and words of errors, for the runtime and the driver: those that the stand-in returns.
#include <cstddef>

#include "cudart/abi.hpp"
#include "cudart/driver.hpp"
#include "export.hpp"

namespace angio::phantom {
namespace {

struct ErrorText {
  cuda::Error error;
  const char* name;    // of the runtime
  const char* driver;  // of the driver
  const char* text;
};

constexpr ErrorText kErrors[] = {
    {cuda::kSuccess, "cudaSuccess", "CUDA_SUCCESS", "no error"},
    {cuda::kInvalidValue, "cudaErrorInvalidValue", "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {cuda::kOutOfMemory, "cudaErrorMemoryAllocation", "CUDA_ERROR_OUT_OF_MEMORY",
     "out of memory (of the phantom GPU)"},
    {cuda::kInsufficientDriver, "cudaErrorInsufficientDriver", "CUDA_ERROR_UNKNOWN",
     "CUDA driver version is insufficient for CUDA runtime version"},
    {cuda::kNoDevice, "cudaErrorNoDevice", "CUDA_ERROR_NO_DEVICE", "no phantom GPU is visible"},
    {cuda::kInvalidDevice, "cudaErrorInvalidDevice", "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
    {cuda::kInvalidContext, "cudaErrorDeviceUninitialized", "CUDA_ERROR_INVALID_CONTEXT",
     "invalid device context"},
    {cuda::kInvalidHandle, "cudaErrorInvalidResourceHandle", "CUDA_ERROR_INVALID_HANDLE",
     "invalid resource handle"},
    {cuda::kNotFound, "cudaErrorSymbolNotFound", "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
    {cuda::kPeerAccessAlreadyEnabled, "cudaErrorPeerAccessAlreadyEnabled",
     "CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED", "peer access is already enabled"},
    {cuda::kHostMemoryAlreadyRegistered, "cudaErrorHostMemoryAlreadyRegistered",
     "CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED", "part or all of the memory is already registered"},
    {cuda::kHostMemoryNotRegistered, "cudaErrorHostMemoryNotRegistered",
     "CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED", "the memory is not registered"},
    {cuda::kNotPermitted, "cudaErrorNotPermitted", "CUDA_ERROR_NOT_PERMITTED", "operation not permitted"},
    {cuda::kNotSupported, "cudaErrorNotSupported", "CUDA_ERROR_NOT_SUPPORTED",
     "operation not supported (by phantom GPUs)"},
    {cuda::kCaptureUnsupported, "cudaErrorStreamCaptureUnsupported", "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED",
     "operation not permitted when a stream is capturing"},
    {cuda::kUnknown, "cudaErrorUnknown", "CUDA_ERROR_UNKNOWN", "unknown error"},
};

const ErrorText* find_error(cuda::Error error) {
  for (const ErrorText& entry : kErrors) {
    if (entry.error == error) {
      return &entry;
    }
  }
  return nullptr;
}

}  // namespace

namespace driver {

cuda::Error get_error_string(cuda::Error error, const char** text) {
  const ErrorText* const found = find_error(error);
  *text = found == nullptr ? nullptr : found->text;
  return found == nullptr ? cuda::kInvalidValue : cuda::kSuccess;
}

cuda::Error get_error_name(cuda::Error error, const char** name) {
  const ErrorText* const found = find_error(error);
  *name = found == nullptr ? nullptr : found->driver;
  return found == nullptr ? cuda::kInvalidValue : cuda::kSuccess;
}

}  // namespace driver
}  // namespace angio::phantom

ANGIO_STAND_IN const char* cudaGetErrorString(angio::phantom::cuda::Error error) {
  const auto* const found = angio::phantom::find_error(error);
  return found == nullptr ? "unrecognized error code" : found->text;
}

ANGIO_STAND_IN const char* cudaGetErrorName(angio::phantom::cuda::Error error) {
  const auto* const found = angio::phantom::find_error(error);
  return found == nullptr ? "unrecognized error code" : found->name;
}
