// Kernel launches: no kernel runs. Each is remembered by device for angio_phantom_last_launch and shown to
// the pump (progress.hpp). Memory operations of a stream write at once and never wait.
#include <atomic>
#include <cstring>
#include <map>
#include <mutex>
#include <string>

#include "cudart/driver.hpp"
#include "cudart/kernel_names.hpp"
#include "cudart/node.hpp"
#include "cudart/progress.hpp"
#include "export.hpp"

namespace angio::phantom {
namespace {

struct LastLaunch {
  std::string kernel;
  unsigned grid = 0;
  unsigned block = 0;
};

struct Launches {
  std::mutex mutex;
  std::map<unsigned, LastLaunch> last;
};
Launches& launches() {
  static Launches& all = *new Launches;
  return all;
}

cuda::Error launched(Launch launch) {
  if (gpu(current_device()) == nullptr || launch.symbol == nullptr) {
    return launch.symbol == nullptr ? cuda::kInvalidHandle : cuda::kInvalidDevice;
  }
  launch.device = static_cast<unsigned>(current_device());
  const std::string& name = kernel_name(launch.symbol);
  launch.kernel = name.c_str();
  progress_launched(launch);
  Launches& all = launches();
  const std::lock_guard lock(all.mutex);
  all.last[launch.device] = {name, launch.grid, launch.block};
  return cuda::kSuccess;
}

Launch launch_of(const void* symbol, const cuda::Dim3& grid, const cuda::Dim3& block, void** parameters) {
  Launch launch;
  launch.symbol = symbol;
  launch.grid = grid.x * grid.y * grid.z;
  launch.block = block.x * block.y * block.z;
  launch.parameters = parameters;
  return launch;
}

// Fills in the buffer of cuLaunchKernel's last argument: pairs of a word and its value, up to an end.
void read_extra(void** extra, Launch& launch) {
  for (; extra != nullptr; extra += 2) {
    switch (reinterpret_cast<std::uintptr_t>(extra[0])) {
      case cuda::kLaunchBufferPointer:
        launch.buffer = extra[1];
        break;
      case cuda::kLaunchBufferSize:
        launch.buffer_size = *static_cast<const std::size_t*>(extra[1]);
        break;
      default:
        return;
    }
  }
}

template <class Value>
void store(driver::Address address, Value value) {
  // NOLINTNEXTLINE(performance-no-int-to-ptr): the driver's addresses are numbers
  __atomic_store_n(reinterpret_cast<Value*>(address), value, __ATOMIC_RELEASE);
}

}  // namespace

namespace driver {

cuda::Error launch_kernel(const void* function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                          unsigned block_x, unsigned block_y, unsigned block_z, unsigned /*shared*/,
                          cuda::Stream* /*stream*/, void** parameters, void** extra) {
  Launch launch = launch_of(function, {grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, parameters);
  read_extra(extra, launch);
  return launched(launch);
}

cuda::Error launch_kernel_ex(const cuda::DriverLaunch* config, const void* function, void** parameters,
                             void** extra) {
  Launch launch = launch_of(function, config->grid, config->block, parameters);
  read_extra(extra, launch);
  return launched(launch);
}

cuda::Error stream_write_value_32(cuda::Stream* /*stream*/, Address address, std::uint32_t value,
                                  unsigned /*flags*/) {
  store(address, value);
  return cuda::kSuccess;
}

cuda::Error stream_write_value_64(cuda::Stream* /*stream*/, Address address, std::uint64_t value,
                                  unsigned /*flags*/) {
  store(address, value);
  return cuda::kSuccess;
}

cuda::Error stream_wait_value_32(cuda::Stream* /*stream*/, Address /*address*/, std::uint32_t /*value*/,
                                 unsigned /*flags*/) {
  return cuda::kSuccess;
}

cuda::Error stream_wait_value_64(cuda::Stream* /*stream*/, Address /*address*/, std::uint64_t /*value*/,
                                 unsigned /*flags*/) {
  return cuda::kSuccess;
}

cuda::Error stream_batch_operations(cuda::Stream* /*stream*/, unsigned count,
                                    cuda::BatchOperation* operations, unsigned /*flags*/) {
  for (unsigned index = 0; index < count; ++index) {
    const cuda::BatchOperation& operation = operations[index];
    if (operation.operation == cuda::kWriteValue32) {
      store(operation.address, static_cast<std::uint32_t>(operation.value));
    } else if (operation.operation == cuda::kWriteValue64) {
      store(operation.address, operation.value);
    }
  }
  return cuda::kSuccess;
}

}  // namespace driver
}  // namespace angio::phantom

using namespace angio::phantom;  // NOLINT(google-build-using-namespace): what follows is CUDA's own namespace
using cuda::Error;

ANGIO_STAND_IN Error cudaLaunchKernel(const void* function, cuda::Dim3 grid, cuda::Dim3 block,
                                      void** parameters, std::size_t /*shared*/, cuda::Stream* /*stream*/) {
  return fail(launched(launch_of(function, grid, block, parameters)));
}

ANGIO_STAND_IN Error cudaLaunchKernelExC(const cuda::RuntimeLaunch* config, const void* function,
                                         void** parameters) {
  return fail(launched(launch_of(function, config->grid, config->block, parameters)));
}

// A kernel's function is its host symbol: there is no module that it could be looked up in.
ANGIO_STAND_IN Error cudaGetFuncBySymbol(const void** function, const void* symbol) {
  *function = symbol;
  return cuda::kSuccess;
}

ANGIO_STAND_IN Error cudaFuncSetAttribute(const void* /*function*/, int /*attribute*/, int /*value*/) {
  return cuda::kSuccess;
}

// The device's last launch: 1 when there was one since the last call.
ANGIO_STAND_IN int angio_phantom_last_launch(unsigned device, char* name, std::size_t size, unsigned* grid,
                                             unsigned* block) {
  Launches& all = launches();
  const std::lock_guard lock(all.mutex);
  const auto found = all.last.find(device);
  if (found == all.last.end()) {
    return 0;
  }
  if (size > 0) {
    const std::size_t taken = std::min(size - 1, found->second.kernel.size());
    std::memcpy(name, found->second.kernel.data(), taken);
    name[taken] = '\0';
  }
  *grid = found->second.grid;
  *block = found->second.block;
  all.last.erase(found);
  return 1;
}
