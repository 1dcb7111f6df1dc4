// A library that has a CUDA runtime linked into it, as a stock libnccl has: hidden cudaXxx functions that its
// exports call. Each says that it is not the stand-in; the test redirects them.
#include <cstddef>

#define HIDDEN extern "C" __attribute__((visibility("hidden"), noinline, used))
#define EXPORT extern "C" __attribute__((visibility("default")))

namespace {
constexpr int kNotRedirected = 4711;
volatile int calls = 0;  // so that no call is folded away
}  // namespace

HIDDEN int cudaGetDeviceCount(int* count) {
  calls = calls + 1;
  *count = -1;
  return kNotRedirected;
}
HIDDEN int cudaGetDevice(int* device) {
  calls = calls + 1;
  *device = -1;
  return kNotRedirected;
}
HIDDEN int cudaMalloc(void** address, std::size_t /*size*/) {
  calls = calls + 1;
  *address = nullptr;
  return kNotRedirected;
}
// Not provided by the stand-in.
HIDDEN int cudaArrayGetPlane(void* /*plane*/, void* /*array*/, unsigned /*index*/) {
  calls = calls + 1;
  return kNotRedirected;
}
// No call of the runtime: left alone.
HIDDEN int cudart17() {
  calls = calls + 1;
  return kNotRedirected;
}
HIDDEN int
__cudaRegisterExample() {  // NOLINT(bugprone-reserved-identifier): as the compiler of CUDA names them
  calls = calls + 1;
  return kNotRedirected;
}
// A kernel's host symbol, with a name as g++ makes it.
__attribute__((visibility("hidden"), noinline, used)) void exampleKernel(int /*argument*/) {
  calls = calls + 1;
}

EXPORT int inside_device_count(int* count) {
  return cudaGetDeviceCount(count);
}
EXPORT int inside_malloc(void** address, std::size_t size) {
  return cudaMalloc(address, size);
}
EXPORT int inside_refused() {
  return cudaArrayGetPlane(nullptr, nullptr, 0);
}
EXPORT int inside_left_alone() {
  return cudart17() + __cudaRegisterExample();
}
EXPORT const void* inside_kernel() {
  return reinterpret_cast<const void*>(&exampleKernel);
}
