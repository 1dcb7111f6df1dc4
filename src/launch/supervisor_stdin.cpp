#include "launch/supervisor_stdin.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>

namespace angio::launch {
namespace {

// Reading a terminal from the background stops the reader.
bool in_foreground() {
  return tcgetpgrp(STDIN_FILENO) == getpgrp();
}

bool is_readable(int fd) {
  pollfd wanted{fd, POLLIN, 0};
  return poll(&wanted, 1, 0) > 0;
}

}  // namespace

Result<host::Descriptor> Input::open() {
  if (isatty(STDIN_FILENO) == 0) return host::Descriptor();
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0)
    return fail(ErrorCode::kIo, "cannot make a pipe: " + errno_text(errno));
  to_rank_ = host::Descriptor(ends[1]);
  fcntl(ends[1], F_SETFL, O_NONBLOCK);
  return host::Descriptor(ends[0]);
}

void Input::watch(std::vector<pollfd>& wanted) const {
  if (to_rank_.get() < 0) return;
  if (!held_.empty()) {
    wanted.push_back({to_rank_.get(), POLLOUT, 0});
  } else if (in_foreground()) {
    wanted.push_back({STDIN_FILENO, POLLIN, 0});
  }
}

void Input::pump() {
  if (to_rank_.get() < 0) return;
  if (held_.empty() && in_foreground() && is_readable(STDIN_FILENO)) {
    std::array<char, 4096> bytes{};
    const ssize_t count = read(STDIN_FILENO, bytes.data(), bytes.size());
    if (count < 0 && (errno == EINTR || errno == EAGAIN)) return;
    if (count <= 0) {
      to_rank_ = host::Descriptor();
      return;
    }
    held_.assign(bytes.data(), static_cast<std::size_t>(count));
  }
  if (held_.empty()) return;
  const ssize_t count = write(to_rank_.get(), held_.data(), held_.size());
  if (count >= 0) {
    held_.erase(0, static_cast<std::size_t>(count));
  } else if (errno != EAGAIN && errno != EINTR) {
    to_rank_ = host::Descriptor();  // rank 0 closed it
  }
}

Result<host::Descriptor> open_nothing() {
  host::Descriptor nothing(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  if (nothing.get() < 0) return fail(ErrorCode::kIo, "/dev/null: cannot open: " + errno_text(errno));
  return nothing;
}

}  // namespace angio::launch
