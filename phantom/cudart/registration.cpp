// What a library that nvcc made does when it is loaded: it registers its kernels. There is no GPU for their
// code, so only their names are kept. Also the three calls behind kernel<<<...>>>().
#include <cstddef>

#include "cudart/abi.hpp"
#include "cudart/kernel_names.hpp"
#include "export.hpp"

namespace angio::phantom {
namespace {

struct Configuration {
  cuda::Dim3 grid;
  cuda::Dim3 block;
  std::size_t shared;
  void* stream;
};
thread_local Configuration t_configuration{};

void* no_binary[1];

}  // namespace
}  // namespace angio::phantom

using namespace angio::phantom;  // NOLINT(google-build-using-namespace): what follows is CUDA's own namespace
using cuda::Error;

// NOLINTBEGIN(bugprone-reserved-identifier): the names are the CUDA compiler's.
ANGIO_STAND_IN void** __cudaRegisterFatBinary(void* /*binary*/) {
  return no_binary;
}
ANGIO_STAND_IN void __cudaRegisterFatBinaryEnd(void** /*handle*/) {}
ANGIO_STAND_IN void __cudaUnregisterFatBinary(void** /*handle*/) {}
ANGIO_STAND_IN void __cudaRegisterFunction(void** /*handle*/, const char* symbol, char* /*device_function*/,
                                           const char* name, int /*thread_limit*/, void* /*thread*/,
                                           void* /*block*/, void* /*block_size*/, void* /*grid_size*/,
                                           int* /*warp_size*/) {
  register_kernel(symbol, name);
}
ANGIO_STAND_IN void __cudaRegisterVar(void** /*handle*/, char* /*variable*/, char* /*address*/,
                                      const char* /*name*/, int /*external*/, std::size_t /*size*/,
                                      int /*constant*/, int /*global*/) {}
ANGIO_STAND_IN void __cudaRegisterManagedVar(void** /*handle*/, void** /*variable*/, char* /*address*/,
                                             const char* /*name*/, int /*external*/, std::size_t /*size*/,
                                             int /*constant*/, int /*global*/) {}
ANGIO_STAND_IN void __cudaRegisterHostVar(void** /*handle*/, const char* /*name*/, char* /*variable*/,
                                          std::size_t /*size*/) {}
ANGIO_STAND_IN char __cudaInitModule(void** /*handle*/) {
  return 1;
}

ANGIO_STAND_IN unsigned __cudaPushCallConfiguration(cuda::Dim3 grid, cuda::Dim3 block, std::size_t shared,
                                                    void* stream) {
  t_configuration = {grid, block, shared, stream};
  return 0;
}
ANGIO_STAND_IN Error __cudaPopCallConfiguration(cuda::Dim3* grid, cuda::Dim3* block, std::size_t* shared,
                                                void* stream) {
  *grid = t_configuration.grid;
  *block = t_configuration.block;
  *shared = t_configuration.shared;
  *static_cast<void**>(stream) = t_configuration.stream;
  return cuda::kSuccess;
}

ANGIO_STAND_IN Error cudaLaunchKernel(const void* function, cuda::Dim3 grid, cuda::Dim3 block,
                                      void** parameters, std::size_t shared, cuda::Stream* stream);
ANGIO_STAND_IN Error __cudaGetKernel(const void** kernel, const void* symbol) {
  *kernel = symbol;
  return cuda::kSuccess;
}
ANGIO_STAND_IN Error __cudaLaunchKernel(const void* kernel, cuda::Dim3 grid, cuda::Dim3 block,
                                        void** parameters, std::size_t shared, cuda::Stream* stream) {
  return cudaLaunchKernel(kernel, grid, block, parameters, shared, stream);
}
// NOLINTEND(bugprone-reserved-identifier)
