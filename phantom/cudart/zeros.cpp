#include "cudart/zeros.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string_view>

#include "export.hpp"

// memset of the C library under the name of its checking twin, for memset itself is replaced below. limit is
// the size of the whole object. NOLINTNEXTLINE(readability-identifier-naming)
extern "C" void* angio_real_memset(void* to, int value, std::size_t size, std::size_t limit) noexcept
    __asm__("__memset_chk");

namespace angio::phantom {
namespace {

// Below it, writing zeros is cheaper than the call that gives pages back.
constexpr std::size_t kHoleFrom = std::size_t{128} << 10U;

void write_zeros(std::uintptr_t begin, std::uintptr_t end) {
  // NOLINTNEXTLINE(performance-no-int-to-ptr): the ragged ends of a range
  angio_real_memset(reinterpret_cast<void*>(begin), 0, end - begin, end - begin);
}

// A file that NCCL made for shared memory.
bool is_nccl_file(int file) {
  char link[64];
  char path[4096];
  std::snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  const ssize_t length = readlink(link, path, sizeof path);
  return length > 0 &&
         std::string_view(path, static_cast<std::size_t>(length)).find("/nccl-") != std::string_view::npos;
}

}  // namespace

bool zero_by_hole(void* address, std::size_t size) {
  if (size < kHoleFrom) {
    return false;
  }
  static const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto begin = reinterpret_cast<std::uintptr_t>(address);
  const std::uintptr_t end = begin + size;
  const std::uintptr_t first = (begin + page - 1) / page * page;
  const std::uintptr_t last = end / page * page;
  const int before = errno;
  // Refused for anything but a shared mapping of a file that can have holes, with nothing done.
  // NOLINTNEXTLINE(performance-no-int-to-ptr): whole pages of a range
  if (first >= last || madvise(reinterpret_cast<void*>(first), last - first, MADV_REMOVE) != 0) {
    errno = before;
    return false;
  }
  write_zeros(begin, first);
  write_zeros(last, end);
  return true;
}

}  // namespace angio::phantom

// NCCL clears what it has just allocated with the C library's function too.
ANGIO_STAND_IN void* memset(void* to, int value, std::size_t size) noexcept {
  if (value != 0 || !angio::phantom::zero_by_hole(to, size)) {
    angio_real_memset(to, value, size, size);
  }
  return to;
}

// NCCL asks for the pages of its shared memory beforehand, to fail early where there are too few. Here most
// are never touched: the file only gets its size.
ANGIO_STAND_IN int fallocate(int file, int mode, off_t offset, off_t length) {
  struct stat state{};
  if (mode == 0 && angio::phantom::is_nccl_file(file) && fstat(file, &state) == 0) {
    return state.st_size >= offset + length ? 0 : ftruncate(file, offset + length);
  }
  return static_cast<int>(syscall(SYS_fallocate, file, mode, offset, length));
}
