// The phantom node as this process sees it: its hardware, which GPUs CUDA_VISIBLE_DEVICES leaves, the
// thread's current device and last error. Read once, at the first call, and never destroyed: NCCL's threads
// outlive static destructors.
#pragma once

#include <string>

#include "cudart/abi.hpp"
#include "phantom/hardware.hpp"

namespace angio::phantom {

struct Node {
  Hardware hardware;
  std::vector<unsigned> visible;  // CUDA's ordinal to an index of hardware.gpus
  std::string host;               // NCCL_HOSTID: what tells this node from others
  std::string problem;            // why there is no hardware
  bool verbose = false;
};
const Node& node();

inline int device_count() {
  return static_cast<int>(node().visible.size());
}
// Why there is none: kNoDevice, or kInsufficientDriver for a driver that is older than this runtime.
cuda::Error no_device();
// The GPU behind a CUDA ordinal, or nullptr.
const Gpu* gpu(int device);

// The CUDA major version that this stand-in is; in major.cpp.
int runtime_major();

// Of the calling thread.
int current_device();
void set_current_device(int device);

// Keeps an error for cudaGetLastError and returns it; kSuccess passes through.
cuda::Error fail(cuda::Error error);

// A call that is not provided: its name is kept once for angio_phantom_refused.
cuda::Error refuse(const char* name);
// Something that went wrong within the stand-in, on stderr when verbose.
void complain(const char* what, int error_number);

}  // namespace angio::phantom
