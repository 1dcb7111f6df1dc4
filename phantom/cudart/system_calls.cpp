// Calls of the C library that NCCL makes and that must not reach the machine as they are: its files in
// /dev/shm go into a folder of the dry run, which removes it; its bootstrap, which spins on sockets, sleeps
// for a moment instead: hundreds of ranks share a few cores here; each node has a name of its own in the log;
// and the PCI devices of this machine are not those of the node.
#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

#include "export.hpp"
#include "phantom/hardware.hpp"

namespace angio::phantom {
namespace {

constexpr std::string_view kNcclFiles = "/dev/shm/nccl-";

// The folder, or null when NCCL's files stay where they are. Read anew: it is set by the caller of a script.
const char* folder() {
  const char* const path = std::getenv(kSharedMemoryVariable);
  return path == nullptr || *path == '\0' ? nullptr : path;
}

// Where a path of NCCL's shared memory really is; others as they are. Keeps errno.
std::string real_path(const char* path) {
  // NCCL opens a null path for an interface without a device, lo; the kernel only refuses that.
  const std::string_view text = path != nullptr ? path : "";
  const char* const to = folder();
  if (to == nullptr || !text.starts_with(kNcclFiles)) {
    return std::string(text);
  }
  return to + std::string(text.substr(std::strlen("/dev/shm")));
}

// Below openat: the loader's and libc's own opens do not come here, ours must not come here again.
int open_at(const char* path, int flags, mode_t mode) {
  return static_cast<int>(syscall(SYS_openat, AT_FDCWD, real_path(path).c_str(), flags | O_LARGEFILE, mode));
}

bool takes_mode(int flags) {
  return (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE;
}

// A file whose name ends in what mkstemp put for the X's; the caller's name stays in /dev/shm.
int make_file(char* name) {
  std::string real = real_path(name);
  const int file = mkostemp(real.data(), 0);
  const std::size_t length = std::strlen(name);
  if (file >= 0 && length >= 6) {
    std::memcpy(name + length - 6, real.data() + real.size() - 6, 6);
  }
  return file;
}

constexpr int kPatience = 1;  // milliseconds that a reader of an empty socket sleeps

}  // namespace
}  // namespace angio::phantom

using namespace angio::phantom;  // NOLINT(google-build-using-namespace): what follows is the C library's
                                 // namespace

ANGIO_STAND_IN int open(const char* path, int flags, ...) {
  mode_t mode = 0;
  if (takes_mode(flags)) {
    va_list rest;
    va_start(rest, flags);
    mode = va_arg(rest, mode_t);
    va_end(rest);
  }
  return open_at(path, flags, mode);
}

ANGIO_STAND_IN int open64(const char* path, int flags, ...) {
  mode_t mode = 0;
  if (takes_mode(flags)) {
    va_list rest;
    va_start(rest, flags);
    mode = va_arg(rest, mode_t);
    va_end(rest);
  }
  return open_at(path, flags, mode);
}

ANGIO_STAND_IN int unlink(const char* path) noexcept {
  return static_cast<int>(syscall(SYS_unlinkat, AT_FDCWD, real_path(path).c_str(), 0));
}

ANGIO_STAND_IN int mkstemp(char* name) {
  return make_file(name);
}
ANGIO_STAND_IN int mkstemp64(char* name) {
  return make_file(name);
}

ANGIO_STAND_IN int shm_open(const char* name, int flags, mode_t mode) {
  const std::string path = "/dev/shm" + std::string(*name == '/' ? "" : "/") + name;
  return open_at(path.c_str(), flags | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, mode);
}
ANGIO_STAND_IN int shm_unlink(const char* name) {
  const std::string path = "/dev/shm" + std::string(*name == '/' ? "" : "/") + name;
  return unlink(path.c_str());
}

// Where NCCL asks what this machine has at a PCI address. A phantom node has what its topology says and
// nothing else: a real device at the same address would take its place. With NCCL's own NET/IB the adapters
// are real.
ANGIO_STAND_IN char* realpath(const char* path, char* resolved) noexcept {
  using Function = char* (*)(const char*, char*);
  static const auto real = reinterpret_cast<Function>(dlsym(RTLD_NEXT, "realpath"));
  const char* const net = std::getenv("NCCL_NET");
  const bool is_real = net != nullptr && std::strcmp(net, "IB") == 0;
  if (!is_real && path != nullptr && std::string_view(path).starts_with("/sys/class/pci_bus/")) {
    errno = ENOENT;
    return nullptr;
  }
  return real(path, resolved);
}

// NCCL_HOSTID tells the nodes apart; with it in the lines of the log, so can a reader.
ANGIO_STAND_IN int gethostname(char* name, std::size_t size) noexcept {
  utsname system{};
  const char* host = std::getenv("NCCL_HOSTID");
  if ((host == nullptr || *host == '\0') && uname(&system) == 0) {
    host = system.nodename;
  }
  if (host == nullptr || size <= std::strlen(host)) {
    errno = ENAMETOOLONG;
    return -1;
  }
  std::strcpy(name, host);
  return 0;
}

ANGIO_STAND_IN ssize_t recv(int socket, void* buffer, std::size_t size, int flags) {
  ssize_t got = recvfrom(socket, buffer, size, flags, nullptr, nullptr);
  if (got >= 0 || errno != EAGAIN || (flags & MSG_DONTWAIT) == 0) {
    return got;
  }
  pollfd waiting{socket, POLLIN, 0};
  if (poll(&waiting, 1, kPatience) > 0) {
    return recvfrom(socket, buffer, size, flags, nullptr, nullptr);
  }
  errno = EAGAIN;
  return -1;
}
