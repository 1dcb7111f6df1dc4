#include "nccl_run/memory_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>

#include <array>
#include <cerrno>

#include "nccl_run/pipe_lines.hpp"

namespace angio::nccl_run {
namespace {

// linux/memfd.h since 6.3; a host may demand that a file says whether it is to be executed (vm.memfd_noexec).
// Mapping a library asks for neither, so whatever the kernel takes will do.
constexpr unsigned kNoExecute = 0x0008;  // MFD_NOEXEC_SEAL
constexpr unsigned kExecute = 0x0010;    // MFD_EXEC

int create(const char* name) {
  constexpr unsigned kUsual = MFD_CLOEXEC | MFD_ALLOW_SEALING;
  for (const unsigned more : {kExecute, 0U, kNoExecute}) {
    const int fd = memfd_create(name, kUsual | more);
    if (fd >= 0 || (errno != EINVAL && errno != EACCES && errno != EPERM)) return fd;
  }
  return -1;
}

}  // namespace

Result<host::Descriptor> make_memory_file(const char* name, std::span<const unsigned char> content) {
  return make_memory_file(name,
                          std::string_view(reinterpret_cast<const char*>(content.data()), content.size()));
}

Result<host::Descriptor> make_memory_file(const char* name, std::string_view content) {
  host::Descriptor file(create(name));
  const bool written = file.get() >= 0 && write_fully(file.get(), content);
  if (!written ||
      fcntl(file.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL) != 0)
    return fail(ErrorCode::kIo,
                fmt::format("cannot make a file in memory for a node: {}", errno_text(errno)));
  return file;
}

std::string path_of(const host::Descriptor& file) {
  return fmt::format("/proc/self/fd/{}", file.get());
}

}  // namespace angio::nccl_run
