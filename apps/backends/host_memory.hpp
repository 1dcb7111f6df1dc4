// The memory of the ranks of a back end without GPUs: page-aligned, touched, given back at the end. Reads and
// writes go through it and are held against what was allocated.
#pragma once

#include <cstddef>
#include <map>
#include <span>

#include "collective/transport.hpp"

namespace angio::backend {

class HostMemory {
 public:
  HostMemory() = default;
  HostMemory(const HostMemory&) = delete;
  HostMemory& operator=(const HostMemory&) = delete;
  ~HostMemory();
  Result<collective::Memory> allocate(Bytes size);
  void release(collective::Memory memory);
  Result<void> write(collective::Memory to, std::span<const std::byte> data) const;
  Result<void> read(collective::Memory from, std::span<std::byte> data) const;

 private:
  [[nodiscard]] Result<void> check(collective::Memory at, std::size_t size) const;
  std::map<collective::Memory, std::size_t> sizes_;
};

// Touching more than there is would wake the kernel's out-of-memory killer.
Result<void> check_room(Bytes size);

void* pointer_to(collective::Memory memory);

}  // namespace angio::backend
