// Streams and events. Whatever is put on a stream is done when the call returns, host functions in the
// caller's thread, so there is never anything to wait for. Nothing is ever captured into a graph.
#include <atomic>
#include <chrono>
#include <cstdint>
#include <utility>

#include "cudart/abi.hpp"
#include "cudart/node.hpp"
#include "export.hpp"

namespace angio::phantom {

namespace cuda {
struct Stream {
  unsigned long long id;
};
struct Event {
  std::chrono::steady_clock::time_point recorded;
};
}  // namespace cuda

namespace {

std::atomic<unsigned long long> next_stream{3};  // those below are the default streams

cuda::Error make_stream(cuda::Stream** stream) {
  *stream = new cuda::Stream{next_stream++};
  return cuda::kSuccess;
}

cuda::Error not_capturing(int* status) {
  *status = 0;  // cudaStreamCaptureStatusNone
  return cuda::kSuccess;
}

}  // namespace
}  // namespace angio::phantom

using namespace angio::phantom;  // NOLINT(google-build-using-namespace): what follows is CUDA's own namespace
using cuda::Error;

ANGIO_STAND_IN Error cudaStreamCreate(cuda::Stream** stream) {
  return make_stream(stream);
}
ANGIO_STAND_IN Error cudaStreamCreateWithFlags(cuda::Stream** stream, unsigned /*flags*/) {
  return make_stream(stream);
}
ANGIO_STAND_IN Error cudaStreamCreateWithPriority(cuda::Stream** stream, unsigned /*flags*/,
                                                  int /*priority*/) {
  return make_stream(stream);
}
ANGIO_STAND_IN Error cudaStreamDestroy(cuda::Stream* stream) {
  delete stream;
  return cuda::kSuccess;
}
ANGIO_STAND_IN Error cudaStreamGetId(cuda::Stream* stream, unsigned long long* id) {
  // cudaStreamLegacy and cudaStreamPerThread are the numbers 1 and 2.
  const auto handle = reinterpret_cast<std::uintptr_t>(stream);
  *id = handle <= 2 ? handle : stream->id;
  return cuda::kSuccess;
}
ANGIO_STAND_IN Error cudaStreamSynchronize(cuda::Stream* /*stream*/) {
  return cuda::kSuccess;
}
ANGIO_STAND_IN Error cudaStreamQuery(cuda::Stream* /*stream*/) {
  return cuda::kSuccess;
}
ANGIO_STAND_IN Error cudaStreamWaitEvent(cuda::Stream* /*stream*/, cuda::Event* /*event*/,
                                         unsigned /*flags*/) {
  return cuda::kSuccess;
}
ANGIO_STAND_IN Error cudaLaunchHostFunc(cuda::Stream* /*stream*/, cuda::HostFunction function, void* data) {
  function(data);
  return cuda::kSuccess;
}

// The versions differ in what they say of a capture, and there is none.
ANGIO_STAND_IN Error cudaStreamIsCapturing(cuda::Stream* /*stream*/, int* status) {
  return not_capturing(status);
}
ANGIO_STAND_IN Error cudaStreamGetCaptureInfo(cuda::Stream* /*stream*/, int* status) {
  return not_capturing(status);
}
ANGIO_STAND_IN Error cudaStreamGetCaptureInfo_v2(cuda::Stream* /*stream*/, int* status) {
  return not_capturing(status);
}
ANGIO_STAND_IN Error cudaStreamGetCaptureInfo_v3(cuda::Stream* /*stream*/, int* status) {
  return not_capturing(status);
}
ANGIO_STAND_IN Error cudaThreadExchangeStreamCaptureMode(int* mode) {
  static thread_local int current = 0;  // cudaStreamCaptureModeGlobal
  std::swap(*mode, current);
  return cuda::kSuccess;
}

ANGIO_STAND_IN Error cudaEventCreate(cuda::Event** event) {
  *event = new cuda::Event{std::chrono::steady_clock::now()};
  return cuda::kSuccess;
}
ANGIO_STAND_IN Error cudaEventCreateWithFlags(cuda::Event** event, unsigned /*flags*/) {
  return cudaEventCreate(event);
}
ANGIO_STAND_IN Error cudaEventDestroy(cuda::Event* event) {
  delete event;
  return cuda::kSuccess;
}
ANGIO_STAND_IN Error cudaEventRecord(cuda::Event* event, cuda::Stream* /*stream*/) {
  if (event == nullptr) {
    return fail(cuda::kInvalidHandle);
  }
  event->recorded = std::chrono::steady_clock::now();
  return cuda::kSuccess;
}
ANGIO_STAND_IN Error cudaEventQuery(cuda::Event* /*event*/) {
  return cuda::kSuccess;
}
ANGIO_STAND_IN Error cudaEventSynchronize(cuda::Event* /*event*/) {
  return cuda::kSuccess;
}
ANGIO_STAND_IN Error cudaEventElapsedTime(float* milliseconds, cuda::Event* from, cuda::Event* to) {
  if (from == nullptr || to == nullptr) {
    return fail(cuda::kInvalidHandle);
  }
  *milliseconds = std::chrono::duration<float, std::milli>(to->recorded - from->recorded).count();
  return cuda::kSuccess;
}
