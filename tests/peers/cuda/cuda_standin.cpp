// Stands in for libcuda.so.1: two GPUs whose memory is host memory and whose copies are memcpy. Counts what
// is taken and given back; ANGIO_CUDA_STANDIN makes a call fail:
//   "no-init", "no-device", "no-pin", "no-memory", "copy-fails", "hang"
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <set>
#include <string_view>
#include <thread>

namespace {

using CudaResult = int;
constexpr CudaResult kSuccess = 0;
constexpr CudaResult kInvalidValue = 1;
constexpr CudaResult kOutOfMemory = 2;
constexpr CudaResult kNoDevice = 100;
constexpr CudaResult kIllegalAddress = 700;
constexpr int kDevices = 2;

struct Event {
  std::chrono::steady_clock::time_point time;
};

struct Books {
  std::map<unsigned long long, std::size_t> memory;
  std::set<void*> pinned;
  std::set<void*> streams;
  std::set<void*> events;
  std::array<int, kDevices> contexts{};
  int current = -1;
  int pins = 0;
  int copies = 0;
  int bad_frees = 0;
};

Books& books() {
  static Books all;
  return all;
}

bool mood(std::string_view wanted) {
  const char* text = std::getenv("ANGIO_CUDA_STANDIN");
  return text != nullptr && wanted == text;
}

CudaResult copy(void* to, const void* from, std::size_t size) {
  if (books().current < 0) return kInvalidValue;
  if (mood("copy-fails") && books().copies > 2) return kIllegalAddress;
  ++books().copies;
  std::memcpy(to, from, size);
  return kSuccess;
}

bool holds(unsigned long long address, std::size_t size) {
  auto after = books().memory.upper_bound(address);
  if (after == books().memory.begin()) return false;
  const auto [start, length] = *--after;
  return address + size <= start + length;
}

void* pointer(unsigned long long address) {
  return reinterpret_cast<void*>(address);
}

}  // namespace

#define STANDIN extern "C" __attribute__((visibility("default")))

// For the test: what is still held, and how many copies and pins there were.
STANDIN int standin_held() {
  const Books& all = books();
  return static_cast<int>(all.memory.size() + all.pinned.size() + all.streams.size() + all.events.size()) +
         all.contexts[0] + all.contexts[1] + all.bad_frees;
}
STANDIN int standin_copies() {
  return books().copies;
}
STANDIN int standin_pins() {
  return books().pins;
}

STANDIN CudaResult cuInit(unsigned) {
  if (mood("hang")) std::this_thread::sleep_for(std::chrono::seconds(3600));
  return mood("no-init") ? kNoDevice : kSuccess;
}
STANDIN CudaResult cuGetErrorString(CudaResult result, const char** text) {
  *text = result == kOutOfMemory      ? "out of memory"
          : result == kNoDevice       ? "no CUDA-capable device is detected"
          : result == kIllegalAddress ? "an illegal memory access was encountered"
                                      : "invalid argument";
  return kSuccess;
}
STANDIN CudaResult cuGetErrorName(CudaResult result, const char** text) {
  *text = result == kOutOfMemory      ? "CUDA_ERROR_OUT_OF_MEMORY"
          : result == kNoDevice       ? "CUDA_ERROR_NO_DEVICE"
          : result == kIllegalAddress ? "CUDA_ERROR_ILLEGAL_ADDRESS"
                                      : "CUDA_ERROR_INVALID_VALUE";
  return kSuccess;
}
STANDIN CudaResult cuDeviceGetCount(int* count) {
  *count = mood("no-device") ? 0 : kDevices;
  return kSuccess;
}
STANDIN CudaResult cuDeviceGet(int* device, int ordinal) {
  *device = ordinal;
  return ordinal < kDevices ? kSuccess : kInvalidValue;
}
STANDIN CudaResult cuDeviceGetName(char* name, int size, int) {
  std::snprintf(name, static_cast<std::size_t>(size), "Stand-in GPU");
  return kSuccess;
}
STANDIN CudaResult cuDeviceGetPCIBusId(char* text, int size, int device) {
  std::snprintf(text, static_cast<std::size_t>(size), "0000:%02X:00.0", 0x1b + device);
  return kSuccess;
}
STANDIN CudaResult cuDevicePrimaryCtxRetain(void** context, int device) {
  ++books().contexts.at(static_cast<std::size_t>(device));
  *context = pointer(static_cast<unsigned long long>(device) + 1);
  return kSuccess;
}
STANDIN CudaResult cuDevicePrimaryCtxRelease_v2(int device) {
  --books().contexts.at(static_cast<std::size_t>(device));
  return kSuccess;
}
STANDIN CudaResult cuCtxSetCurrent(void* context) {
  books().current = static_cast<int>(reinterpret_cast<unsigned long long>(context)) - 1;
  return kSuccess;
}
STANDIN CudaResult cuMemAlloc_v2(unsigned long long* address, std::size_t size) {
  if (mood("no-memory")) return kOutOfMemory;
  *address = reinterpret_cast<unsigned long long>(std::malloc(size));
  books().memory[*address] = size;
  return kSuccess;
}
STANDIN CudaResult cuMemFree_v2(unsigned long long address) {
  // A context must still be current: what is freed after it is lost.
  if (books().current < 0 || books().memory.erase(address) == 0) ++books().bad_frees;
  std::free(pointer(address));
  return kSuccess;
}
STANDIN CudaResult cuMemHostRegister_v2(void* start, std::size_t, unsigned) {
  if (mood("no-pin")) return kOutOfMemory;
  ++books().pins;
  books().pinned.insert(start);
  return kSuccess;
}
STANDIN CudaResult cuMemHostUnregister(void* start) {
  if (books().pinned.erase(start) == 0) ++books().bad_frees;
  return kSuccess;
}
STANDIN CudaResult cuMemcpyHtoD_v2(unsigned long long to, const void* from, std::size_t size) {
  return holds(to, size) ? copy(pointer(to), from, size) : kInvalidValue;
}
STANDIN CudaResult cuMemcpyDtoH_v2(void* to, unsigned long long from, std::size_t size) {
  return holds(from, size) ? copy(to, pointer(from), size) : kInvalidValue;
}
// Asynchronous copies are only what they say from pinned memory: the test fails if they are used otherwise.
STANDIN CudaResult cuMemcpyHtoDAsync_v2(unsigned long long to, const void* from, std::size_t size, void*) {
  if (!books().pinned.contains(const_cast<void*>(from)) || !holds(to, size)) return kInvalidValue;
  return copy(pointer(to), from, size);
}
STANDIN CudaResult cuMemcpyDtoHAsync_v2(void* to, unsigned long long from, std::size_t size, void*) {
  if (!books().pinned.contains(to) || !holds(from, size)) return kInvalidValue;
  return copy(to, pointer(from), size);
}
STANDIN CudaResult cuStreamCreate(void** stream, unsigned) {
  *stream = new char;
  books().streams.insert(*stream);
  return kSuccess;
}
STANDIN CudaResult cuStreamDestroy_v2(void* stream) {
  if (books().current < 0 || books().streams.erase(stream) == 0) ++books().bad_frees;
  delete static_cast<char*>(stream);
  return kSuccess;
}
STANDIN CudaResult cuEventCreate(Event** event, unsigned) {
  *event = new Event;
  books().events.insert(*event);
  return kSuccess;
}
STANDIN CudaResult cuEventDestroy_v2(Event* event) {
  if (books().current < 0 || books().events.erase(event) == 0) ++books().bad_frees;
  delete event;
  return kSuccess;
}
STANDIN CudaResult cuEventRecord(Event* event, void*) {
  event->time = std::chrono::steady_clock::now();
  return kSuccess;
}
STANDIN CudaResult cuEventSynchronize(Event*) {
  return kSuccess;
}
STANDIN CudaResult cuEventElapsedTime(float* milliseconds, const Event* from, const Event* to) {
  *milliseconds = std::chrono::duration<float, std::milli>(to->time - from->time).count();
  return kSuccess;
}
