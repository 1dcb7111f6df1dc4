#include "host_memory.hpp"

#include <fmt/format.h>
#include <sys/mman.h>

#include <bit>
#include <cerrno>
#include <cstring>

#include "base/format.hpp"
#include "bench/available.hpp"
#include "host/root.hpp"

namespace angio::backend {
namespace {

using collective::Memory;

}  // namespace

Result<void> check_room(Bytes size) {
  const auto root = host::open_directory_root("/");
  if (!root) return {};
  const auto meminfo = (*root)->read("/proc/meminfo");
  std::optional<Bytes> left = bench::left_in_cgroups(**root);
  if (meminfo) {
    const auto free = bench::available_on_node(*meminfo);
    if (free && (!left || *free < *left)) left = free;
  }
  if (!left || size <= *left) return {};
  return fail(
      ErrorCode::kIo,
      fmt::format("no memory for buffers of {} on this host: {} are left", in_words(size), in_words(*left)),
      "Ask for smaller sizes, or for fewer ranks on this machine");
}

void* pointer_to(Memory memory) {
  return std::bit_cast<void*>(memory);
}

HostMemory::~HostMemory() {
  for (const auto& [memory, size] : sizes_)
    munmap(pointer_to(memory), size);
}

Result<Memory> HostMemory::allocate(Bytes size) {
  const std::size_t wanted = size.value == 0 ? 1 : size.value;
  if (auto room = check_room(Bytes{wanted}); !room) return std::unexpected(std::move(room).error());
  void* const at = mmap(nullptr, wanted, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED)
    return fail(ErrorCode::kIo,
                fmt::format("no memory for a buffer of {}: {}", in_words(Bytes{wanted}), errno_text(errno)));
  std::memset(at, 0, wanted);
  const auto memory = std::bit_cast<Memory>(at);
  sizes_.emplace(memory, wanted);
  return memory;
}

void HostMemory::release(Memory memory) {
  const auto found = sizes_.find(memory);
  if (found == sizes_.end()) return;
  munmap(pointer_to(memory), found->second);
  sizes_.erase(found);
}

Result<void> HostMemory::check(Memory at, std::size_t size) const {
  auto found = sizes_.upper_bound(at);
  if (found != sizes_.begin() &&
      (--found, at - found->first <= found->second && size <= found->second - (at - found->first)))
    return {};
  return fail(ErrorCode::kBug, fmt::format("{} bytes at {:#x} lie in no buffer of this rank", size, at));
}

Result<void> HostMemory::write(Memory to, std::span<const std::byte> data) const {
  if (auto checked = check(to, data.size()); !checked) return checked;
  if (!data.empty()) std::memcpy(pointer_to(to), data.data(), data.size());
  return {};
}

Result<void> HostMemory::read(Memory from, std::span<std::byte> data) const {
  if (auto checked = check(from, data.size()); !checked) return checked;
  if (!data.empty()) std::memcpy(data.data(), pointer_to(from), data.size());
  return {};
}

}  // namespace angio::backend
