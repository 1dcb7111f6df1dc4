// The stack of a machine that was probed or captured.
#include <algorithm>
#include <string>

#include "base/text.hpp"
#include "compat/stack.hpp"

namespace angio::compat {
namespace {

using model::LibraryFile;
using model::Machine;

template <typename T>
void take(Stack& stack, const Machine& machine, Part part, const model::Observed<T>& value) {
  if (const T* text = value.get()) (void)put(stack, part, *text, cite(machine, value.source()));
}

bool is_library(const LibraryFile& library, std::string_view stem) {
  return library.name.starts_with(stem) &&
         (library.name.size() == stem.size() || library.name[stem.size()] == '.');
}

// "/usr/local/cuda-12.8/compat/libcuda.so.570.26" → "12.8"; empty: no such path.
std::string compat_package(const std::string& path) {
  const std::size_t end = path.find("/compat/");
  const std::size_t start = end == std::string::npos ? end : path.rfind("/cuda-", end);
  return start == std::string::npos || start >= end ? std::string() : path.substr(start + 6, end - start - 6);
}

// Of files on disk `nccl` is what is installed; of a process's mappings it is what runs.
void take_library(Stack& stack, const LibraryFile& library, Part nccl) {
  const std::string& where = library.path;
  if (contains(library.path, "/stubs/")) return;
  if (is_library(library, "libcuda.so") && contains(library.path, "/compat/")) {
    if (const std::string package = compat_package(library.path); !package.empty())
      (void)put(stack, Part::kCudaCompat, package, where);
    return;
  }
  if (library.version.empty()) return;
  if (is_library(library, "libcuda.so") || is_library(library, "libnvidia-ml.so"))
    (void)put(stack, Part::kUserDriver, library.version, where);
  if (is_library(library, "libcudart.so")) (void)put(stack, Part::kCuda, library.version, where);
  if (is_library(library, "libnccl.so")) (void)put(stack, nccl, library.version, where);
}

void take_driver(Stack& stack, const Machine& machine) {
  const model::Software& software = machine.software;
  take(stack, machine, Part::kDriver, software.nvidia_loaded);
  if (stack.get(Part::kDriver) == nullptr) take(stack, machine, Part::kDriver, software.nvml_driver);
  take(stack, machine, Part::kDiskDriver, software.nvidia_on_disk);
  // NVML answered with the module's version: whatever else lies on the disk, the right library is found
  // first.
  if (software.nvml_driver.is_known() && software.nvidia_loaded.is_known())
    take(stack, machine, Part::kUserDriver, software.nvml_driver);
  if (const bool* open = software.nvidia_open.get())
    stack.set(Part::kModule, *open ? "open" : "closed", cite(machine, software.nvidia_open.source()));
  if (const std::string* error = software.nvml_error.get())
    stack.mismatch = contains(to_lower(*error), "version mismatch");
  if (const std::uint32_t* api = software.cuda_driver.get())  // 12040: major x 1000 + minor x 10
    stack.set(Part::kCudaDriver, std::to_string(*api / 1000) + "." + std::to_string(*api % 1000 / 10),
              cite(machine, software.cuda_driver.source()));
  if (const auto* modules = software.modules.get()) {
    const bool loaded = std::ranges::find(*modules, "nvidia_peermem") != modules->end();
    stack.set(Part::kPeermem, loaded ? "yes" : "no", cite(machine, software.modules.source()));
  }
}

void take_network(Stack& stack, const Machine& machine) {
  const model::Software& software = machine.software;
  if (const std::string* ofed = software.ofed.get()) {
    // Stand-alone OFED and the OFED inside DOCA share one numbering.
    const std::size_t digit = ofed->find_first_of("0123456789");
    if (digit != std::string::npos)
      (void)put(stack, Part::kOfed, ofed->substr(digit), cite(machine, software.ofed.source()));
  }
  if (const std::string* core = software.rdma_core.get()) {
    // libibverbs.so.1.14.39.0 is of rdma-core 39.
    const auto parts = split(*core, '.');
    const bool whole = parts.size() >= 3 && parts[0] == "1";
    (void)put(stack, Part::kRdmaCore, whole ? parts[2] : *core, cite(machine, software.rdma_core.source()));
  }
  take(stack, machine, Part::kKernel, software.kernel);
  if (const std::string* vendor = machine.cpus.model.vendor.get())
    (void)put(stack, Part::kCpu,
              *vendor == "AuthenticAMD"   ? "amd"
              : *vendor == "GenuineIntel" ? "intel"
                                          : *vendor,
              cite(machine, machine.cpus.model.vendor.source()));
  std::string kind;
  for (const model::RdmaDevice& device : machine.rdma) {
    if (kind.empty() || device.name.starts_with("mlx5")) kind = device.name.substr(0, device.name.find('_'));
    if (const std::string* firmware = device.firmware.get())
      stack.firmware.push_back({device.name, *firmware, cite(machine, device.firmware.source())});
  }
  if (!kind.empty()) (void)put(stack, Part::kAdapter, kind, "/sys/class/infiniband");
}

}  // namespace

Stack stack_of(const Machine& machine) {
  Stack stack;
  take_driver(stack, machine);
  for (const model::Process& process : machine.processes)
    for (const LibraryFile& library : process.libraries)
      take_library(stack, library, Part::kNccl);
  for (const LibraryFile& library : machine.software.libraries)
    take_library(stack, library, Part::kNcclInstalled);
  take_network(stack, machine);
  for (const model::Gpu& gpu : machine.gpus) {
    if (gpu.vendor != model::GpuVendor::kNvidia) continue;
    StackGpu one{gpu.name.value_or(""), "", cite(machine, gpu.name.source())};
    if (const auto* capability = gpu.compute_capability.get())
      one.capability = std::to_string(capability->major) + "." + std::to_string(capability->minor);
    stack.add_gpu(std::move(one));
  }
  return stack;
}

}  // namespace angio::compat
