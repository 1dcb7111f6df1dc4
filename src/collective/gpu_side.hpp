// What the NCCL transport needs of CUDA, from the driver or from the stand-in for phantom GPUs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/units.hpp"
#include "collective/transport.hpp"

namespace angio::collective {

class GpuSide {
 public:
  GpuSide() = default;
  GpuSide(const GpuSide&) = delete;
  GpuSide& operator=(const GpuSide&) = delete;
  virtual ~GpuSide() = default;

  [[nodiscard]] virtual bool phantom() const = 0;
  [[nodiscard]] virtual std::string name() const = 0;     // of the GPU
  [[nodiscard]] virtual std::string address() const = 0;  // PCI
  [[nodiscard]] virtual void* stream() const = 0;

  virtual Result<Memory> allocate(Bytes size) = 0;
  virtual void release(Memory memory) = 0;
  virtual Result<void> write(Memory to, std::span<const std::byte> data) = 0;
  virtual Result<void> read(Memory from, std::span<std::byte> data) = 0;
  virtual Result<void> finish() = 0;  // waits for the stream
  // Marks on the stream: microseconds between one and the next when all is done. None: it has no clock.
  virtual Result<void> mark() = 0;
  virtual Result<std::vector<double>> take_marks() = 0;
};

Result<std::unique_ptr<GpuSide>> make_driver_side(std::uint32_t local_rank);
// Before NCCL is called: library's own runtime inside is redirected where it has one.
Result<std::unique_ptr<GpuSide>> make_phantom_side(const std::string& library, bool redirect);
// Whether this process has the stand-in.
bool has_phantom();
// Lets the stand-in play the network's GPU side; true: communicators can be destroyed.
bool begin_phantom_progress(int nccl_version);
void settle_phantom();

}  // namespace angio::collective
