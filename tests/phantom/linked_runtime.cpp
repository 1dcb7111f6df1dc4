// A library that needs libcudart.so.12 by its name, as a libnccl whose runtime is linked dynamically does.
#include <cstddef>

extern "C" int cudaGetDeviceCount(int* count);

extern "C" __attribute__((visibility("default"))) int linked_device_count(int* count) {
  return cudaGetDeviceCount(count);
}
