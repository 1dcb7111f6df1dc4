#include "mesh/tcp_baseline.hpp"

#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <thread>
#include <utility>
#include <vector>

namespace angio::mesh {
namespace {

using host::Descriptor;
using Clock = std::chrono::steady_clock;
using Stop = std::function<bool()>;

constexpr double kWarmShare = 0.25;  // of the seconds, not counted: windows open meanwhile
constexpr double kWarmMost = 0.5;    // s

// To connect and to show the ticket.
std::chrono::seconds meeting_time(const Order& order) {
  constexpr std::uint32_t kMost = 10;
  return std::chrono::seconds(std::min(kMost, order.limit));
}

std::chrono::duration<double> warm_time(const Order& order) {
  return std::chrono::duration<double>(std::min(kWarmMost, kWarmShare * order.seconds));
}

// CPU seconds that this thread has taken: user and system. Work in interrupts is not among them.
double thread_cpu() {
  rusage usage{};
  getrusage(RUSAGE_THREAD, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

// What one stream did between two moments.
struct Stretch {
  double bytes = 0;
  double seconds = 0;
  double cpu = 0;
  std::string trouble;
};

// Counts from the end of warming up to the end of the test, as near as reads and writes come.
class Counter {
 public:
  explicit Counter(const Order& order)
      : from_(Clock::now() + std::chrono::duration_cast<Clock::duration>(warm_time(order))),
        until_(from_ + std::chrono::seconds(order.seconds)) {}
  // False: the time is over.
  bool add(std::size_t bytes) {
    const auto now = Clock::now();
    if (!begun_ && now >= from_) {
      begun_ = true;
      start_ = now;
      cpu_ = thread_cpu();
      return now < until_;
    }
    if (begun_) {
      stretch_.bytes += static_cast<double>(bytes);
      last_ = now;
    }
    return now < until_;
  }
  [[nodiscard]] Clock::time_point until() const { return until_; }
  Stretch take() {
    // Silence at the end counts: a stream that stalls is slow, not short.
    if (begun_) {
      stretch_.seconds = std::chrono::duration<double>(std::max(last_, Clock::now()) - start_).count();
      stretch_.cpu = thread_cpu() - cpu_;
    }
    return std::move(stretch_);
  }

 private:
  Clock::time_point from_, until_;
  Clock::time_point start_{}, last_{};
  bool begun_ = false;
  double cpu_ = 0;
  Stretch stretch_;
};

bool is_again(int error) {
  return error == EAGAIN || error == EINTR;
}

// All of it, or the reason in words.
std::string send_all(int fd, const char* data, std::size_t size, Clock::time_point until, const Stop& stop) {
  while (size > 0) {
    const ssize_t count = send(fd, data, size, MSG_NOSIGNAL);
    if (count < 0 && !is_again(errno)) return errno_text(errno);
    if (count < 0 && wait_ready(fd, true, until, stop) != Waited::kReady) return "it does not take data";
    if (count < 0) continue;
    data += count;
    size -= static_cast<std::size_t>(count);
  }
  return {};
}

std::string receive_all(int fd, char* data, std::size_t size, Clock::time_point until, const Stop& stop) {
  while (size > 0) {
    const ssize_t count = recv(fd, data, size, 0);
    if (count == 0) return "the other side closed the connection";
    if (count < 0 && !is_again(errno)) return errno_text(errno);
    if (count < 0 && wait_ready(fd, false, until, stop) != Waited::kReady) return "no data came";
    if (count < 0) continue;
    data += count;
    size -= static_cast<std::size_t>(count);
  }
  return {};
}

// Connections that hold the ticket, as many as the test has streams.
Result<std::vector<Descriptor>> meet(const Order& order, const Listener& listener, const Stop& stop) {
  std::vector<Descriptor> streams;
  const auto until = Clock::now() + meeting_time(order);
  while (streams.size() < order.streams) {
    if (wait_ready(listener.socket.get(), false, until, stop) != Waited::kReady)
      return fail(ErrorCode::kIo, fmt::format("{} of {} connections came within {} s", streams.size(),
                                              order.streams, meeting_time(order).count()));
    Descriptor socket(accept4(listener.socket.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (socket.get() < 0) continue;
    std::string ticket(order.ticket.size(), '\0');
    const auto soon = std::min(until, Clock::now() + std::chrono::seconds(2));
    if (!receive_all(socket.get(), ticket.data(), ticket.size(), soon, stop).empty()) continue;
    if (ticket == order.ticket) streams.push_back(std::move(socket));
  }
  return streams;
}

Stretch receive_stream(int fd, const Order& order, const Stop& stop) {
  std::vector<char> buffer(order.size);
  Counter counter(order);
  std::string trouble;
  for (;;) {
    const ssize_t count = recv(fd, buffer.data(), buffer.size(), 0);
    if (count == 0) break;
    if (count < 0 && !is_again(errno)) {
      trouble = errno_text(errno);
      break;
    }
    if (count < 0 && wait_ready(fd, false, counter.until(), stop) == Waited::kStopped) break;
    if (!counter.add(count < 0 ? 0 : static_cast<std::size_t>(count))) break;
  }
  Stretch stretch = counter.take();
  stretch.trouble = std::move(trouble);
  return stretch;
}

// Sends until the receiver has its figures and closes, or well after it should have.
Stretch send_stream(int fd, const Order& order, const Stop& stop) {
  constexpr auto kLonger = std::chrono::seconds(1);
  const std::vector<char> buffer(order.size, 'a');
  Counter counter(order);
  std::string trouble;
  for (;;) {
    const ssize_t count = send(fd, buffer.data(), buffer.size(), MSG_NOSIGNAL);
    if (count < 0 && !is_again(errno)) {
      const bool is_over = Clock::now() + kLonger >= counter.until();
      if (!is_over) trouble = errno_text(errno);
      break;
    }
    if (count < 0 && wait_ready(fd, true, counter.until() + kLonger, stop) == Waited::kStopped) break;
    if (!counter.add(count < 0 ? 0 : static_cast<std::size_t>(count)) &&
        Clock::now() >= counter.until() + kLonger)
      break;
  }
  Stretch stretch = counter.take();
  stretch.trouble = std::move(trouble);
  return stretch;
}

template <typename Work>
std::vector<Stretch> in_threads(const std::vector<Descriptor>& streams, const Work& work) {
  std::vector<Stretch> stretches(streams.size());
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 1; i < streams.size(); ++i)
      threads.emplace_back([&, i] { stretches[i] = work(streams[i].get()); });
    stretches[0] = work(streams[0].get());
  }
  return stretches;
}

void sum_up(const std::vector<Stretch>& stretches, bool receives, Outcome& outcome) {
  double rate = 0;
  double cpu = 0;
  for (const Stretch& stretch : stretches) {
    if (outcome.trouble.empty()) outcome.trouble = stretch.trouble;
    if (stretch.seconds <= 0) continue;
    rate += stretch.bytes / stretch.seconds;
    cpu += stretch.cpu / stretch.seconds;
  }
  if (receives && rate <= 0 && outcome.trouble.empty()) outcome.trouble = "connected, but no data came";
  if (receives) outcome.bytes_per_second = rate;
  outcome.cpu = cpu;
}

// What is still queued would disturb the next test: the reset throws it away.
void drop_queue(const std::vector<Descriptor>& streams) {
  const linger now{1, 0};
  for (const Descriptor& stream : streams)
    setsockopt(stream.get(), SOL_SOCKET, SO_LINGER, &now, sizeof now);
}

void no_delay(int fd) {
  const int on = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

constexpr std::size_t kMostTrips = 20000;
constexpr std::size_t kWarmTrips = 50;

void answer_pings(int fd, const Order& order, const Stop& stop, Outcome& outcome) {
  no_delay(fd);
  std::string message(order.size, '\0');
  const auto until = Clock::now() + std::chrono::seconds(order.limit);
  const auto start = Clock::now();
  const double cpu = thread_cpu();
  std::size_t trips = 0;
  for (;; ++trips) {
    if (!receive_all(fd, message.data(), message.size(), until, stop).empty()) break;
    if (!send_all(fd, message.data(), message.size(), until, stop).empty()) break;
  }
  const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
  if (trips <= kWarmTrips) outcome.trouble = "the ping-pong stopped";
  if (seconds > 0) outcome.cpu = (thread_cpu() - cpu) / seconds;
}

// Half of a round trip, as perftest's ping-pongs have it.
double half_of(std::vector<double>& trips, double quantile) {
  const auto at = static_cast<std::ptrdiff_t>(quantile * static_cast<double>(trips.size() - 1));
  std::ranges::nth_element(trips, trips.begin() + at);
  return trips[static_cast<std::size_t>(at)] / 2;
}

void ping(int fd, const Order& order, const Stop& stop, Outcome& outcome) {
  no_delay(fd);
  std::string message(order.size, 'p');
  std::vector<double> trips;
  const auto start = Clock::now();
  const auto until = start + std::chrono::seconds(order.seconds);
  const auto last = start + std::chrono::seconds(order.limit);
  const double cpu = thread_cpu();
  for (std::size_t i = 0; i < kMostTrips + kWarmTrips && (Clock::now() < until || i <= kWarmTrips); ++i) {
    const auto sent = Clock::now();
    std::string trouble = send_all(fd, message.data(), message.size(), last, stop);
    if (trouble.empty()) trouble = receive_all(fd, message.data(), message.size(), last, stop);
    if (!trouble.empty()) {
      outcome.trouble = std::move(trouble);
      return;
    }
    const double micros = std::chrono::duration<double, std::micro>(Clock::now() - sent).count();
    if (i >= kWarmTrips) trips.push_back(micros);
  }
  const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
  if (seconds > 0) outcome.cpu = (thread_cpu() - cpu) / seconds;
  if (trips.empty()) return;
  outcome.latency_us = half_of(trips, 0.5);
  outcome.latency_99_us = half_of(trips, 0.99);
}

Outcome failed(const Order& order, const Error& error) {
  Outcome outcome;
  outcome.test = order.test;
  outcome.trouble = error.message;
  return outcome;
}

Outcome begin(const Order& order) {
  Outcome outcome;
  outcome.test = order.test;
  return outcome;
}

}  // namespace

Outcome run_tcp_listener(const Order& order, const Listener& listener, const Stop& stop) {
  const auto streams = meet(order, listener, stop);
  if (!streams) return failed(order, streams.error());
  Outcome outcome = begin(order);
  if (order.tool == Tool::kTcpLatency) {
    answer_pings(streams->front().get(), order, stop, outcome);
    return outcome;
  }
  sum_up(in_threads(*streams, [&](int fd) { return receive_stream(fd, order, stop); }), true, outcome);
  drop_queue(*streams);
  return outcome;
}

Outcome run_tcp_sender(const Order& order, const Stop& stop) {
  std::vector<Descriptor> streams;
  const auto until = Clock::now() + meeting_time(order);
  for (std::uint32_t i = 0; i < order.streams; ++i) {
    auto socket = connect_to(order.address, order.tcp_port, order.own_address, until);
    if (!socket) return failed(order, socket.error());
    const std::string trouble =
        send_all(socket->get(), order.ticket.data(), order.ticket.size(), until, stop);
    if (!trouble.empty()) return failed(order, {ErrorCode::kIo, order.address + ": " + trouble, {}});
    streams.push_back(std::move(*socket));
  }
  Outcome outcome = begin(order);
  if (order.tool == Tool::kTcpLatency) {
    ping(streams.front().get(), order, stop, outcome);
    return outcome;
  }
  sum_up(in_threads(streams, [&](int fd) { return send_stream(fd, order, stop); }), false, outcome);
  drop_queue(streams);
  return outcome;
}

}  // namespace angio::mesh
