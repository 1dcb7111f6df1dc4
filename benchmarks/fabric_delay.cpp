// A wire with a delay, for fabric_scan.py: preloaded before umad2sim, it lets an answer be seen DELAY_US
// after its request was sent (FABRIC_DELAY_US, 200), as many side by side as are under way. A datagram that
// the simulator lost comes back when the sender's timeouts are over, as from the kernel; the simulator itself
// hands it back at once. The same for every tool that talks through libibumad.
#include <dlfcn.h>
#include <poll.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <queue>
#include <string>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

constexpr int kFirst = 1024;  // the descriptors of umad2sim
constexpr int kEnd = 2048;
constexpr std::size_t kMadAt = 64;  // struct ib_user_mad, then the datagram
constexpr std::size_t kTransactionAt = kMadAt + 12;

template <typename Function>
Function next_one(const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

struct Sent {
  Clock::time_point time;
  std::chrono::milliseconds patience{0};
};

struct Answer {
  Clock::time_point due;
  std::string bytes;
  bool operator>(const Answer& other) const { return due > other.due; }
};

struct Wire {
  ssize_t (*write)(int, const void*,
                   std::size_t) = next_one<ssize_t (*)(int, const void*, std::size_t)>("write");
  ssize_t (*read)(int, void*, std::size_t) = next_one<ssize_t (*)(int, void*, std::size_t)>("read");
  int (*poll)(pollfd*, nfds_t, int) = next_one<int (*)(pollfd*, nfds_t, int)>("poll");
  std::chrono::microseconds delay{200};
  std::unordered_map<std::uint32_t, Sent> sent;
  std::priority_queue<Answer, std::vector<Answer>, std::greater<>> answers;

  Wire() {
    if (const char* word = std::getenv("FABRIC_DELAY_US")) delay = std::chrono::microseconds(std::atol(word));
    prctl(PR_SET_TIMERSLACK, 1000UL, 0UL, 0UL, 0UL);
  }

  void fetch(int fd) {
    char buffer[1024];
    for (ssize_t got = read(fd, buffer, sizeof buffer); got >= static_cast<ssize_t>(kTransactionAt + 4);
         got = read(fd, buffer, sizeof buffer)) {
      std::uint32_t transaction = 0, status = 0;
      std::memcpy(&transaction, buffer + kTransactionAt, 4);
      std::memcpy(&status, buffer + 4, 4);
      const auto known = sent.find(transaction);
      Clock::time_point due = Clock::now();
      if (known != sent.end()) {
        due = known->second.time +
              (status == 0 ? Clock::duration(delay) : Clock::duration(known->second.patience));
        sent.erase(known);
      }
      answers.push({due, std::string(buffer, static_cast<std::size_t>(got))});
    }
  }
};

Wire& wire() {
  static Wire the_wire;
  return the_wire;
}

bool is_simulated(int fd) {
  return fd >= kFirst && fd < kEnd;
}

}  // namespace

extern "C" ssize_t write(int fd, const void* buffer, std::size_t count) {
  Wire& way = wire();
  if (is_simulated(fd) && count >= kTransactionAt + 4) {
    std::uint32_t transaction = 0, timeout = 0, retries = 0;
    const char* bytes = static_cast<const char*>(buffer);
    std::memcpy(&transaction, bytes + kTransactionAt, 4);
    std::memcpy(&timeout, bytes + 8, 4);
    std::memcpy(&retries, bytes + 12, 4);
    way.sent[transaction] = {Clock::now(), std::chrono::milliseconds(std::uint64_t{timeout} * (retries + 1))};
  }
  return way.write(fd, buffer, count);
}

extern "C" ssize_t read(int fd, void* buffer, std::size_t count) {
  Wire& way = wire();
  if (!is_simulated(fd)) return way.read(fd, buffer, count);
  way.fetch(fd);
  if (way.answers.empty() || way.answers.top().due > Clock::now())
    return -EWOULDBLOCK;  // as umad2sim says it
  const std::string bytes = way.answers.top().bytes;
  way.answers.pop();
  std::memcpy(buffer, bytes.data(), std::min(count, bytes.size()));
  return static_cast<ssize_t>(std::min(count, bytes.size()));
}

extern "C" int poll(pollfd* fds, nfds_t count, int timeout) {
  Wire& way = wire();
  if (count != 1 || !is_simulated(fds[0].fd)) return way.poll(fds, count, timeout);
  const Clock::time_point end =
      timeout < 0 ? Clock::time_point::max() : Clock::now() + std::chrono::milliseconds(timeout);
  for (;;) {
    way.fetch(fds[0].fd);
    const Clock::time_point now = Clock::now();
    fds[0].revents = 0;
    if (!way.answers.empty() && way.answers.top().due <= now) {
      fds[0].revents = POLLIN;
      return 1;
    }
    if (now >= end) return 0;
    if (way.answers.empty()) {
      way.poll(fds, 1,
               static_cast<int>(std::min<std::int64_t>(
                   10, std::chrono::ceil<std::chrono::milliseconds>(end - now).count())));
    } else {
      // Far away is a lost datagram: something else may come before it.
      const auto soon = now + std::chrono::milliseconds(1);
      if (way.answers.top().due > soon) {
        way.poll(fds, 1, 1);
      } else {
        std::this_thread::sleep_until(std::min(way.answers.top().due, end));
      }
    }
  }
}
