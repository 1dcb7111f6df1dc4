#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <string>

#include "host/descriptor.hpp"
#include "host/jail.hpp"
#include "host/root.hpp"

namespace angio::host {
namespace {

std::unexpected<ReadError> failed(int error) {
  return std::unexpected(ReadError{error, {}});
}
std::unexpected<ReadError> last_error() {
  return failed(errno);
}

// Reads to the end. sysfs answers in one page; the read after it only confirms the end.
Read<std::string> read_all(int fd) {
  constexpr std::size_t kChunk = 16384;
  std::array<char, kChunk> chunk;  // NOLINT: filled by read
  std::string content;
  for (;;) {
    const ssize_t count = ::read(fd, chunk.data(), chunk.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return last_error();
    if (count == 0) return content;
    if (content.size() + static_cast<std::size_t>(count) > kMaxFileSize) return failed(EFBIG);
    content.append(chunk.data(), static_cast<std::size_t>(count));
  }
}

// 0 for a regular file; otherwise why it is not read. Opening a device or a FIFO can block or act.
int why_not_regular(int fd) {
  struct stat status{};
  if (fstat(fd, &status) != 0) return errno;
  if (S_ISREG(status.st_mode)) return 0;
  return S_ISDIR(status.st_mode) ? EISDIR : ENXIO;
}

// The kernel's own trees hold regular files and links only, apart from links of processes to open files.
bool is_kernel_tree(std::string_view path) {
  return path.starts_with("/sys/") || (path.starts_with("/proc/") && path.find("/fd/") == path.npos);
}

class DirectoryRoot final : public Root {
 public:
  DirectoryRoot(int fd, bool live) : directory_(fd), live_(live) {}

  [[nodiscard]] Read<std::string> read(std::string_view path) const override {
    if (live_ && !is_kernel_tree(path)) {
      const Descriptor look(open_below(path, O_PATH));
      if (look.get() < 0) return last_error();
      if (const int why = why_not_regular(look.get()); why != 0) return failed(why);
    }
    const Descriptor file(open_below(path, O_RDONLY | O_NONBLOCK | O_NOCTTY));
    if (file.get() < 0) return last_error();
    // A captured tree is opened once: O_NONBLOCK keeps a FIFO or device in it from blocking.
    if (!live_) {
      if (const int why = why_not_regular(file.get()); why != 0) return failed(why);
    }
    return read_all(file.get());
  }

  [[nodiscard]] Read<Names> list(std::string_view path) const override {
    Descriptor descriptor(open_below(path, O_RDONLY | O_DIRECTORY));
    if (descriptor.get() < 0) return last_error();
    DIR* stream = fdopendir(descriptor.get());
    if (stream == nullptr) return last_error();
    (void)descriptor.release();  // the stream closes it
    Names names;
    errno = 0;
    while (const dirent* entry = readdir(stream)) {
      const std::string_view name = entry->d_name;
      if (name != "." && name != "..") names.emplace_back(name);
    }
    const int error = errno;
    closedir(stream);
    if (error != 0) return failed(error);
    std::ranges::sort(names);
    return names;
  }

  [[nodiscard]] Read<std::string> read_link(std::string_view path) const override {
    const Descriptor link(open_below(path, O_PATH | O_NOFOLLOW));
    if (link.get() < 0) return last_error();
    std::array<char, PATH_MAX> target;  // NOLINT: filled by readlinkat
    const ssize_t length = readlinkat(link.get(), "", target.data(), target.size());
    if (length < 0) return failed(errno == ENOENT ? EINVAL : errno);
    return std::string(target.data(), static_cast<std::size_t>(length));
  }

  [[nodiscard]] bool exists(std::string_view path) const override {
    const Descriptor there(open_below(path, O_PATH));
    return there.get() >= 0 || errno == EACCES;
  }

  [[nodiscard]] bool is_live() const override { return live_; }

 private:
  // The live host needs no jail, and /proc/self links must work there; a captured tree gets one.
  [[nodiscard]] int open_below(std::string_view path, int flags) const {
    if (path.find('\0') != path.npos) {
      errno = EINVAL;
      return -1;
    }
    while (path.starts_with('/'))
      path.remove_prefix(1);
    const std::string relative = path.empty() ? "." : std::string(path);
    if (!live_) return open_in_root(directory_.get(), relative, flags);
    int fd = -1;
    do {
      fd = openat(directory_.get(), relative.c_str(), flags | O_CLOEXEC);
    } while (fd < 0 && errno == EINTR);
    return fd;
  }

  Descriptor directory_;
  bool live_;
};

}  // namespace

Result<std::unique_ptr<Root>> open_directory_root(const std::string& directory) {
  const int fd = open(directory.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (fd >= 0) return std::make_unique<DirectoryRoot>(fd, directory == "/");
  const int error = errno;
  const ErrorCode code = error == EACCES || error == EPERM ? ErrorCode::kDenied : ErrorCode::kNotFound;
  return fail(code, directory + ": cannot open as a directory: " + errno_text(error));
}

}  // namespace angio::host
