#include "host/jail.hpp"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <array>
#include <cerrno>
#include <climits>
#include <string_view>
#include <vector>

#include "base/text.hpp"
#include "host/descriptor.hpp"

namespace angio::host {
namespace {

constexpr int kMaxLinks = 40;  // as the kernel, include/linux/namei.h MAXSYMLINKS

// The components still to walk, next one last.
class Remaining {
 public:
  explicit Remaining(std::string_view path) { push(path); }
  void push(std::string_view path) {
    const std::vector<std::string_view> parts = split(path, '/');
    for (auto part = parts.rbegin(); part != parts.rend(); ++part) {
      if (!part->empty() && *part != ".") parts_.emplace_back(*part);
    }
  }
  [[nodiscard]] bool empty() const { return parts_.empty(); }
  std::string pop() {
    std::string part = std::move(parts_.back());
    parts_.pop_back();
    return part;
  }

 private:
  std::vector<std::string> parts_;
};

int give_up(int error) {
  errno = error;
  return -1;
}

class Walk {
 public:
  Walk(int directory, const std::string& path, int flags)
      : directory_(directory), remaining_(path), flags_(flags | O_CLOEXEC) {}

  int run() {
    while (!remaining_.empty()) {
      const std::string name = remaining_.pop();
      if (name == "..") {
        if (!stack_.empty()) stack_.pop_back();
        continue;
      }
      Descriptor entry(openat(here(), name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
      if (entry.get() < 0) return -1;
      struct stat status{};
      if (fstat(entry.get(), &status) != 0) return -1;
      const bool last = remaining_.empty();
      if (S_ISLNK(status.st_mode) && !(last && (flags_ & O_NOFOLLOW) != 0)) {
        if (!follow(entry.get())) return -1;
      } else if (last) {
        return openat(here(), name.c_str(), flags_ | O_NOFOLLOW);
      } else {
        if (!S_ISDIR(status.st_mode)) return give_up(ENOTDIR);
        stack_.push_back(std::move(entry));
      }
    }
    return openat(here(), ".", flags_);
  }

 private:
  [[nodiscard]] int here() const { return stack_.empty() ? directory_ : stack_.back().get(); }

  bool follow(int link) {
    std::array<char, PATH_MAX> target{};
    const ssize_t length = readlinkat(link, "", target.data(), target.size());
    if (length < 0) return false;
    if (++links_ > kMaxLinks) {
      errno = ELOOP;
      return false;
    }
    if (length > 0 && target[0] == '/') stack_.clear();
    remaining_.push({target.data(), static_cast<std::size_t>(length)});
    return true;
  }

  int directory_;
  Remaining remaining_;
  int flags_;
  int links_ = 0;
  std::vector<Descriptor> stack_;
};

}  // namespace

int walk_in_root(int directory, const std::string& path, int flags) {
  return Walk(directory, path, flags).run();
}

int open_in_root(int directory, const std::string& path, int flags) {
  open_how how{};
  how.flags = static_cast<std::uint64_t>(flags | O_CLOEXEC);
  how.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS;
  for (;;) {
    const auto fd = static_cast<int>(syscall(SYS_openat2, directory, path.c_str(), &how, sizeof how));
    if (fd >= 0) return fd;
    // EAGAIN: a rename raced with a ".."; EPERM: seccomp of container engines that do not know the call.
    if (errno == EINTR) continue;
    if (errno == ENOSYS || errno == EPERM || errno == EAGAIN) return walk_in_root(directory, path, flags);
    return -1;
  }
}

}  // namespace angio::host
