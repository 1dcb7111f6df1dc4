#include "bench/child.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <optional>
#include <utility>

extern "C" char** environ;

namespace angio::bench {
namespace {

using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

constexpr double kLongest = 1e9;  // seconds; a limit beyond is none that a clock can hold
constexpr auto kDrain = 200ms;    // for output of children that outlive the command
constexpr auto kOldKernel = 5ms;  // between looks, where there is no pidfd

class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Descriptor() { close_now(); }
  void close_now() {
    if (fd_ >= 0) ::close(std::exchange(fd_, -1));
  }
  [[nodiscard]] int get() const { return fd_; }

 private:
  int fd_ = -1;
};

struct Pipe {
  Descriptor read;
  Descriptor write;
};

Result<Pipe> make_pipe() {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return fail(ErrorCode::kIo, "pipe: " + errno_text(errno));
  return Pipe{Descriptor(ends[0]), Descriptor(ends[1])};
}

void keep_end(std::string& kept, const char* data, std::size_t size) {
  kept.append(data, size);
  if (kept.size() > 2 * kKept) kept.erase(0, kept.size() - kKept);
}

class Child {
 public:
  Child(const ChildWish& wish, const Interrupts& interrupts)
      : wish_(wish), argv_(wish.argv), interrupts_(interrupts) {}

  Result<ChildOutcome> run() {
    auto output = make_pipe();
    if (!output) return std::unexpected(std::move(output.error()));
    auto errors = make_pipe();
    if (!errors) return std::unexpected(std::move(errors.error()));
    const Clock::time_point start = Clock::now();
    if (wish_.limit_seconds)
      limit_ = start + std::chrono::duration_cast<Clock::duration>(
                           std::chrono::duration<double>(std::min(*wish_.limit_seconds, kLongest)));
    if (auto begun = spawn(*output, *errors); !begun) return std::unexpected(std::move(begun.error()));
    output->write.close_now();
    errors->write.close_now();
    out_ = std::move(output->read);
    err_ = std::move(errors->read);
    signals_ = Descriptor(signalfd(-1, &interrupts_.watched(), SFD_CLOEXEC | SFD_NONBLOCK));
    process_ = Descriptor(static_cast<int>(syscall(SYS_pidfd_open, pid_, 0)));
    while (!ended_)
      watch();
    outcome_.seconds = std::chrono::duration<double>(end_ - start).count();
    drain();
    trim_kept();
    return std::move(outcome_);
  }

 private:
  Result<void> spawn(const Pipe& output, const Pipe& errors) {
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    posix_spawn_file_actions_init(&files);
    posix_spawnattr_init(&attributes);
    posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&files, output.write.get(), STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&files, errors.write.get(), STDERR_FILENO);
    // What we ignore or block would be inherited.
    sigset_t normal;
    sigfillset(&normal);
    posix_spawnattr_setsigdefault(&attributes, &normal);
    posix_spawnattr_setsigmask(&attributes, &interrupts_.before());
    posix_spawnattr_setpgroup(&attributes, 0);
    posix_spawnattr_setflags(&attributes,
                             POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP);
    std::vector<char*> words;
    for (const std::string& word : argv_)
      words.push_back(const_cast<char*>(word.c_str()));
    words.push_back(nullptr);
    std::vector<char*> variables;
    for (std::size_t at = 0; wish_.environment && at < wish_.environment->size(); ++at)
      variables.push_back(const_cast<char*>((*wish_.environment)[at].c_str()));
    variables.push_back(nullptr);
    char** const environment = wish_.environment ? variables.data() : environ;
    const int error = posix_spawnp(&pid_, words[0], &files, &attributes, words.data(), environment);
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&attributes);
    if (error == 0) return {};
    const ErrorCode code = error == ENOENT ? ErrorCode::kNotFound : ErrorCode::kIo;
    return fail(code, fmt::format("{}: cannot start: {}", argv_[0], errno_text(error)));
  }

  void watch() {
    std::array<pollfd, 4> list{{{out_.get(), POLLIN, 0},
                                {err_.get(), POLLIN, 0},
                                {process_.get(), POLLIN, 0},
                                {forwarded_ ? -1 : signals_.get(), POLLIN, 0}}};
    auto patience = process_.get() < 0 ? kOldKernel : std::chrono::milliseconds(forwarded_ ? 100 : 1000);
    if (limit_ && !forwarded_) {
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(*limit_ - Clock::now());
      patience = std::clamp(left, std::chrono::milliseconds(0), patience);
    }
    if (poll(list.data(), list.size(), static_cast<int>(patience.count())) < 0 && errno != EINTR)
      ended_ = true;
    if (list[2].revents != 0 || process_.get() < 0) reap();
    if (list[0].revents != 0) take(out_, outcome_.output);
    if (list[1].revents != 0) take_errors();
    if (!ended_) pass_on_signal();
  }

  // Answers whether there was something.
  static bool take(Descriptor& from, std::string& kept) {
    std::array<char, 65536> data;
    const ssize_t count = ::read(from.get(), data.data(), data.size());
    if (count > 0) keep_end(kept, data.data(), static_cast<std::size_t>(count));
    if (count == 0 || (count < 0 && errno != EINTR && errno != EAGAIN)) from.close_now();
    return count > 0;
  }

  void take_errors() {
    std::string piece;
    (void)take(err_, piece);
    if (piece.empty()) return;
    if (wish_.hear_errors) wish_.hear_errors(piece);
    keep_end(outcome_.errors, piece.data(), piece.size());
  }

  void reap() {
    int status = 0;
    const pid_t got = waitpid(pid_, &status, WNOHANG);
    if (got == 0 || (got < 0 && errno == EINTR)) return;
    end_ = Clock::now();
    ended_ = true;
    if (got < 0) return;
    outcome_.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    outcome_.exit_code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  }

  // To the whole group; what does not end in time is killed.
  void pass_on_signal() {
    const int signal = interrupts_.pending();
    const bool late = limit_ && Clock::now() >= *limit_;
    if (signal == 0 && !late) return;
    if (!forwarded_) {
      kill(-pid_, signal != 0 ? signal : SIGTERM);
      forwarded_ = Clock::now();
      outcome_.interrupted = signal != 0;
      outcome_.timed_out = signal == 0;
    } else if (std::chrono::duration<double>(Clock::now() - *forwarded_).count() > wish_.grace_seconds) {
      kill(-pid_, SIGKILL);
    }
  }

  // What is in the pipes yet; children that were left behind may hold them open for ever.
  void drain() {
    const Clock::time_point until = Clock::now() + kDrain;
    while ((out_.get() >= 0 || err_.get() >= 0) && Clock::now() < until) {
      std::array<pollfd, 2> list{{{out_.get(), POLLIN, 0}, {err_.get(), POLLIN, 0}}};
      if (poll(list.data(), list.size(), 20) <= 0) continue;
      if (list[0].revents != 0) (void)take(out_, outcome_.output);
      if (list[1].revents != 0) take_errors();
    }
    if (outcome_.interrupted || outcome_.timed_out) kill(-pid_, SIGKILL);
  }

  void trim_kept() {
    for (std::string* kept : {&outcome_.output, &outcome_.errors}) {
      if (kept->size() > kKept) kept->erase(0, kept->size() - kKept);
    }
  }

  const ChildWish& wish_;
  const std::vector<std::string>& argv_;
  std::optional<Clock::time_point> limit_;
  const Interrupts& interrupts_;
  pid_t pid_ = 0;
  Descriptor out_;
  Descriptor err_;
  Descriptor signals_;
  Descriptor process_;
  bool ended_ = false;
  Clock::time_point end_ = Clock::now();
  std::optional<Clock::time_point> forwarded_;
  ChildOutcome outcome_;
};

}  // namespace

Result<ChildOutcome> run_child(const ChildWish& wish, const Interrupts& interrupts) {
  if (wish.argv.empty() || wish.argv[0].empty()) return fail(ErrorCode::kInvalidInput, "no command to run");
  return Child(wish, interrupts).run();
}

Result<ChildOutcome> run_child(const std::vector<std::string>& argv, const Interrupts& interrupts) {
  return run_child(ChildWish{argv, {}, {}}, interrupts);
}

}  // namespace angio::bench
