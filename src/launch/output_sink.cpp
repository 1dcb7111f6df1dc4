#include "launch/output_sink.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>

namespace angio::launch {
namespace {

constexpr std::size_t kAtOnce = std::size_t{256} << 10U;

bool is_writable(int fd) {
  pollfd wanted{fd, POLLOUT, 0};
  return poll(&wanted, 1, 0) > 0;
}

}  // namespace

// O_NONBLOCK belongs to the open file, which the shell and others share with us; opening the pipe or terminal
// anew gives one of our own.
Sink::Sink(int fd) : fd_(fd), most_(kAtOnce) {
  struct stat status{};
  if (fstat(fd, &status) != 0) return;
  if (S_ISSOCK(status.st_mode)) way_ = Way::kSocket;
  if (!S_ISFIFO(status.st_mode) && !S_ISCHR(status.st_mode)) return;
  const std::string path = "/proc/self/fd/" + std::to_string(fd);
  own_ = host::Descriptor(open(path.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY));
  if (own_.get() >= 0) {
    fd_ = own_.get();
    way_ = Way::kNonblocking;
  } else {
    most_ = PIPE_BUF;  // poll(2) promises room for no more
  }
}

Sink::State Sink::write(std::string& text) {
  std::size_t done = 0;
  while (done < text.size() && (state_ == State::kReady || state_ == State::kBlocked)) {
    if (way_ == Way::kPlain && most_ == PIPE_BUF && !is_writable(fd_)) {
      state_ = State::kBlocked;
      break;
    }
    const std::size_t count = std::min(text.size() - done, most_);
    const ssize_t written = way_ == Way::kSocket
                                ? send(fd_, text.data() + done, count, MSG_DONTWAIT | MSG_NOSIGNAL)
                                : ::write(fd_, text.data() + done, count);
    if (written >= 0) {
      done += static_cast<std::size_t>(written);
      state_ = State::kReady;
    } else if (errno == EAGAIN) {
      state_ = State::kBlocked;
      break;
    } else if (errno != EINTR) {
      error_ = errno;
      state_ = errno == EPIPE || errno == ECONNRESET ? State::kClosed : State::kBroken;
    }
  }
  const bool gone = state_ == State::kClosed || state_ == State::kBroken;
  text.erase(0, gone ? text.size() : done);
  return state_;
}

bool Sink::same(int a, int b) {
  struct stat first{};
  struct stat second{};
  return fstat(a, &first) == 0 && fstat(b, &second) == 0 && first.st_dev == second.st_dev &&
         first.st_ino == second.st_ino && first.st_rdev == second.st_rdev;
}

}  // namespace angio::launch
