// The GPU side of NCCL's network connections, played by a thread: kernels never run on a phantom node, so
// without it a proxy waits for ever for a GPU to fill or empty its buffers. Knows the memory layouts of
// single NCCL versions; for any other it does nothing. The stand-in's launch and memory code call these
// hooks; they may be called from every thread, at any time, whether the pump was started or not, and are
// cheap when it was not.
#pragma once

#include <cstddef>

namespace angio::phantom {

// One kernel launch. Valid during the call only. NCCL passes its arguments in one of two shapes.
struct Launch {
  unsigned device = 0;  // as CUDA counts: CUDA_VISIBLE_DEVICES applied
  const char* kernel =
      nullptr;  // demangled name without arguments: "ncclDevKernel_AllReduce_Sum_f32_RING_LL"
  const void* symbol = nullptr;  // the host symbol of the kernel
  unsigned grid = 0;             // blocks
  unsigned block = 0;            // threads
  const void* buffer = nullptr;  // CU_LAUNCH_PARAM_BUFFER_POINTER: all arguments in one block; or nullptr
  std::size_t buffer_size = 0;   // bytes of it
  void* const* parameters = nullptr;  // else: the address of each argument, their count is the kernel's
};

// Before the launch is reported as done.
void progress_launched(const Launch& launch);

// Waits until the connections rest after the last launches: what synchronising with a GPU means where kernels
// do not run. NCCL's proxies may not have taken up their work when a launch returns, and a communicator that
// is destroyed before that loses it, up to 2.23 at least. Returns at once when nothing was launched since.
void progress_settle();

// The range is about to be unmapped or unregistered. On return nothing of it is touched again.
void progress_forget(const void* begin, std::size_t size);

}  // namespace angio::phantom
