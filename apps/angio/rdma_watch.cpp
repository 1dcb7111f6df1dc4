#include "rdma_watch.hpp"

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstring>

#include "base/text.hpp"
#include "launch/supervisor_report.hpp"

extern char** environ;

namespace angio::app {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kMostReadings = 400;

// Signals wait here instead of acting, until asked for.
class Inbox {
 public:
  explicit Inbox(std::initializer_list<int> signals) {
    sigemptyset(&set_);
    for (const int signal : signals)
      sigaddset(&set_, signal);
    pthread_sigmask(SIG_BLOCK, &set_, &before_);
  }
  Inbox(const Inbox&) = delete;
  Inbox& operator=(const Inbox&) = delete;
  ~Inbox() {
    const timespec none{};
    while (sigtimedwait(&set_, nullptr, &none) > 0) {
    }
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  // The signal that came, 0 when the time is over.
  int wait_until(Clock::time_point time, siginfo_t& info) const {
    for (;;) {
      const double left = std::max(0.0, std::chrono::duration<double>(time - Clock::now()).count());
      const double whole = std::floor(left);
      const timespec pause{static_cast<time_t>(whole), static_cast<long>((left - whole) * 1e9)};
      const int signal = sigtimedwait(&set_, &info, &pause);
      if (signal > 0) return signal;
      if (errno != EINTR) return 0;
    }
  }
  [[nodiscard]] const sigset_t& before() const { return before_; }

 private:
  sigset_t set_{};
  sigset_t before_{};
};

// Readings, thinned when there are many: pairs of neighbours stay neighbours, with more time between.
class Readings {
 public:
  Readings(const TakeReading& take, double every) : take_(take), every_(every) {}
  void take() {
    list_.push_back(take_());
    next_ = Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(every_));
    if (list_.size() >= kMostReadings) thin();
  }
  [[nodiscard]] Clock::time_point next() const { return next_; }
  std::vector<model::RdmaReading> all() { return std::move(list_); }

 private:
  void thin() {
    std::vector<model::RdmaReading> kept;
    for (std::size_t i = 0; i < list_.size(); ++i)
      if (i % 2 == 0 || i + 1 == list_.size()) kept.push_back(std::move(list_[i]));
    list_ = std::move(kept);
    every_ *= 2;
  }
  const TakeReading& take_;
  double every_;
  Clock::time_point next_;
  std::vector<model::RdmaReading> list_;
};

void describe_end(int status, Watched& watched) {
  constexpr int kShellSignal = 128;
  if (WIFSIGNALED(status)) {
    watched.exit_code = kShellSignal + WTERMSIG(status);
    watched.end = "was ended by " + launch::signal_name(WTERMSIG(status));
    return;
  }
  watched.exit_code = WEXITSTATUS(status);
  watched.end = "ended with " + std::to_string(watched.exit_code);
}

Result<pid_t> start(const std::vector<std::string>& command, const sigset_t& mask) {
  std::vector<char*> argv;
  for (const std::string& word : command)
    argv.push_back(const_cast<char*>(word.c_str()));  // posix_spawn does not write to it
  argv.push_back(nullptr);
  posix_spawnattr_t attributes{};
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setsigmask(&attributes, &mask);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  pid_t pid = 0;
  const int error = posix_spawnp(&pid, argv[0], nullptr, &attributes, argv.data(), environ);
  posix_spawnattr_destroy(&attributes);
  if (error == 0) return pid;
  const ErrorCode code = error == ENOENT   ? ErrorCode::kNotFound
                         : error == EACCES ? ErrorCode::kDenied
                                           : ErrorCode::kIo;
  return fail(code, "cannot start " + printable(command[0]) + ": " + errno_text(error),
              error == ENOENT ? "Is it in PATH? The command stands behind --during --" : "");
}

}  // namespace

Watched watch_for(const TakeReading& take, double seconds, double every) {
  const Inbox inbox({SIGINT, SIGTERM, SIGHUP});
  Watched watched;
  Readings readings(take, every);
  const Clock::time_point begin = Clock::now();
  const auto end =
      begin + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
  readings.take();
  siginfo_t info{};
  // A reading just before the end would make the last part too short to mean anything.
  const auto least = std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(every / 2));
  while (watched.signal == 0 && readings.next() + least < end) {
    watched.signal = inbox.wait_until(readings.next(), info);
    if (watched.signal == 0) readings.take();
  }
  if (watched.signal == 0) watched.signal = inbox.wait_until(end, info);
  readings.take();
  watched.readings = readings.all();
  return watched;
}

Result<Watched> watch_during(const TakeReading& take, const std::vector<std::string>& command, double every) {
  // With SIGCHLD ignored, as some parents leave it, the kernel would not tell how the command ended.
  std::signal(SIGCHLD, SIG_DFL);
  const Inbox inbox({SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGCHLD});
  Watched watched;
  Readings readings(take, every);
  readings.take();
  const Result<pid_t> pid = start(command, inbox.before());
  if (!pid) return std::unexpected(pid.error());
  int status = 0;
  while (waitpid(*pid, &status, WNOHANG) == 0) {
    siginfo_t info{};
    const int signal = inbox.wait_until(readings.next(), info);
    if (signal == 0) readings.take();
    if (signal == 0 || signal == SIGCHLD) continue;
    watched.signal = signal;
    // What a terminal's key sends reaches the command's own process group by itself.
    if (info.si_code != SI_KERNEL) kill(*pid, signal);
  }
  readings.take();
  describe_end(status, watched);
  watched.readings = readings.all();
  return watched;
}

}  // namespace angio::app
