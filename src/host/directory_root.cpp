#include <dirent.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <string>

#include "host/root.hpp"

namespace angio::host {
namespace {

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (fd_ >= 0) close(fd_);
  }
  [[nodiscard]] int get() const { return fd_; }
  [[nodiscard]] int release() { return std::exchange(fd_, -1); }

 private:
  int fd_;
};

std::unexpected<ReadError> last_error() {
  return std::unexpected(ReadError{errno, {}});
}

// Reads to the end; sysfs answers in one page, so the second read only confirms the end.
Read<std::string> read_all(int fd) {
  constexpr std::size_t kPage = 4096;
  std::array<char, kPage> page{};
  std::string content;
  for (;;) {
    const ssize_t count = ::read(fd, page.data(), page.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return last_error();
    if (count == 0) return content;
    content.append(page.data(), static_cast<std::size_t>(count));
    if (content.size() > kMaxFileSize) return std::unexpected(ReadError{EFBIG, {}});
  }
}

class DirectoryRoot final : public Root {
 public:
  DirectoryRoot(int fd, bool live) : directory_(fd), live_(live) {}

  [[nodiscard]] Read<std::string> read(std::string_view path) const override {
    const Descriptor file(open_below(path, O_RDONLY | O_NONBLOCK | O_NOCTTY));
    if (file.get() < 0) return last_error();
    return read_all(file.get());
  }

  [[nodiscard]] Read<Names> list(std::string_view path) const override {
    Descriptor descriptor(open_below(path, O_RDONLY | O_DIRECTORY));
    if (descriptor.get() < 0) return last_error();
    DIR* stream = fdopendir(descriptor.release());
    if (stream == nullptr) return last_error();
    Names names;
    while (const dirent* entry = readdir(stream)) {
      const std::string_view name = entry->d_name;
      if (name != "." && name != "..") names.emplace_back(name);
    }
    closedir(stream);
    std::ranges::sort(names);
    return names;
  }

  [[nodiscard]] Read<std::string> read_link(std::string_view path) const override {
    const Descriptor link(open_below(path, O_PATH | O_NOFOLLOW));
    if (link.get() < 0) return last_error();
    std::array<char, PATH_MAX> target{};
    const ssize_t length = readlinkat(link.get(), "", target.data(), target.size());
    if (length < 0) return std::unexpected(ReadError{errno == ENOENT ? EINVAL : errno, {}});
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
    while (path.starts_with('/')) path.remove_prefix(1);
    const std::string relative = path.empty() ? "." : std::string(path);
    if (live_) return openat(directory_.get(), relative.c_str(), flags | O_CLOEXEC);
    open_how how{};
    how.flags = static_cast<std::uint64_t>(flags | O_CLOEXEC);
    how.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS;
    const long fd = syscall(SYS_openat2, directory_.get(), relative.c_str(), &how, sizeof how);
    return static_cast<int>(fd);
  }

  Descriptor directory_;
  bool live_;
};

}  // namespace

Result<std::unique_ptr<Root>> open_directory_root(const std::string& directory) {
  const int fd = open(directory.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) {
    return fail(ErrorCode::kNotFound, directory + ": cannot open as a directory: " + errno_text(errno));
  }
  return std::make_unique<DirectoryRoot>(fd, directory == "/");
}

}  // namespace angio::host
