#include "mesh/child.hpp"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <utility>

#include "host/system_roots.hpp"

namespace angio::mesh {
namespace {

using host::Descriptor;

constexpr std::size_t kMostText = std::size_t{256} << 10U;

// The file that PATH leads to; the word itself where it holds a slash.
std::string find_program(const std::string& word, const std::vector<std::string>& environment) {
  if (word.find('/') != std::string::npos) return access(word.c_str(), X_OK) == 0 ? word : std::string();
  std::string rest = host::find_variable(environment, "PATH");
  if (rest.empty()) rest = "/usr/local/bin:/usr/bin:/bin";
  for (;;) {
    const std::size_t end = rest.find(':');
    const std::string path = rest.substr(0, end) + "/" + word;
    if (access(path.c_str(), X_OK) == 0) return path;
    if (end == std::string::npos) return {};
    rest.erase(0, end + 1);
  }
}

std::vector<char*> pointers(const std::vector<std::string>& words) {
  std::vector<char*> list;
  for (const std::string& word : words)
    list.push_back(const_cast<char*>(word.c_str()));
  list.push_back(nullptr);
  return list;
}

struct Pipes {
  std::array<int, 2> in{-1, -1}, out{-1, -1}, status{-1, -1};
};

// Between fork and exec only what is safe in a process whose other threads are gone.
[[noreturn]] void become(const char* program, char* const* argv, char* const* environment, const Pipes& pipes,
                         pid_t parent) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  for (const int number : {SIGPIPE, SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction usual{};
    usual.sa_handler = SIG_DFL;
    sigaction(number, &usual, nullptr);
  }
  dup2(pipes.in[0], STDIN_FILENO);
  dup2(pipes.out[1], STDOUT_FILENO);
  dup2(pipes.out[1], STDERR_FILENO);
  if (getppid() == parent) execve(program, argv, environment);
  const int error = errno;
  (void)!write(pipes.status[1], &error, sizeof error);
  _Exit(127);
}

void close_pair(std::array<int, 2>& pair) {
  for (int& fd : pair) {
    if (fd >= 0) close(fd);
    fd = -1;
  }
}

}  // namespace

Result<Child> Child::start(const std::vector<std::string>& argv, const std::vector<std::string>& environment,
                           const std::string& input) {
  const std::string program = argv.empty() ? std::string() : find_program(argv[0], environment);
  if (program.empty())
    return fail(ErrorCode::kNotFound,
                (argv.empty() ? std::string("no program") : argv[0] + " is not installed"));
  const std::vector<char*> words = pointers(argv);
  const std::vector<char*> variables = pointers(environment);
  Pipes pipes;
  const bool made = pipe2(pipes.in.data(), O_CLOEXEC) == 0 && pipe2(pipes.out.data(), O_CLOEXEC) == 0 &&
                    pipe2(pipes.status.data(), O_CLOEXEC) == 0;
  const pid_t parent = getpid();
  const pid_t pid = made ? fork() : -1;
  if (pid == 0) become(program.c_str(), words.data(), variables.data(), pipes, parent);
  const int error = errno;
  close(std::exchange(pipes.status[1], -1));
  int child_error = pid < 0 ? error : 0;
  if (pid > 0 && read(pipes.status[0], &child_error, sizeof child_error) <= 0) child_error = 0;
  // Small, so it fits into the pipe.
  if (pid > 0 && !input.empty()) (void)!write(pipes.in[1], input.data(), input.size());
  Child child;
  child.pid_ = pid;
  child.output_ = Descriptor(std::exchange(pipes.out[0], -1));
  for (auto* pair : {&pipes.in, &pipes.out, &pipes.status})
    close_pair(*pair);
  if (child_error != 0) return fail(ErrorCode::kIo, program + ": cannot start: " + errno_text(child_error));
  fcntl(child.output_.get(), F_SETFL, O_NONBLOCK);
  return child;
}

Child::Child(Child&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      output_(std::move(other.output_)),
      text_(std::move(other.text_)),
      end_(other.end_) {}

Child& Child::operator=(Child&& other) noexcept {
  std::swap(pid_, other.pid_);
  std::swap(output_, other.output_);
  std::swap(text_, other.text_);
  std::swap(end_, other.end_);
  return *this;
}

Child::~Child() {
  // Once it has been waited for, its number may be another process's.
  if (pid_ <= 0 || end_.ended) return;
  kill(-pid_, SIGKILL);
  kill(pid_, SIGKILL);
  while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

void Child::read_output() {
  std::array<char, 16384> piece;
  while (output_.get() >= 0) {
    const ssize_t count = ::read(output_.get(), piece.data(), piece.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) return;
    if (count <= 0) {
      output_ = Descriptor();
      return;
    }
    text_.append(piece.data(), static_cast<std::size_t>(count));
    if (text_.size() > 2 * kMostText) text_.erase(kMostText / 2, text_.size() - kMostText);
  }
}

const ChildEnd& Child::look() {
  if (end_.ended || pid_ <= 0) return end_;
  int status = 0;
  rusage usage{};
  const pid_t got = wait4(pid_, &status, WNOHANG, &usage);
  if (got == 0 || (got < 0 && errno == EINTR)) return end_;
  end_.ended = true;
  end_.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  end_.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  };
  end_.cpu_seconds = seconds(usage.ru_utime) + seconds(usage.ru_stime);
  read_output();
  return end_;
}

void Child::signal(int number) const {
  if (pid_ > 0 && !end_.ended) kill(-pid_, number);
}

}  // namespace angio::mesh
