#include "nccl_run/node_process.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>

namespace angio::nccl_run {
namespace {

constexpr int kNotStarted = 127;  // as a shell says it

struct Ends {
  host::Descriptor ours;
  host::Descriptor theirs;
};

Result<Ends> make_pipe() {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0)
    return fail(ErrorCode::kIo, fmt::format("cannot make a pipe: {}", errno_text(errno)));
  fcntl(ends[0], F_SETFL, O_NONBLOCK);  // only our end: each end has flags of its own
  return Ends{host::Descriptor(ends[0]), host::Descriptor(ends[1])};
}

Result<Ends> make_socket() {
  std::array<int, 2> ends{};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0)
    return fail(ErrorCode::kIo, fmt::format("cannot make a socket: {}", errno_text(errno)));
  fcntl(ends[0], F_SETFL, O_NONBLOCK);
  return Ends{host::Descriptor(ends[0]), host::Descriptor(ends[1])};
}

std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> result;
  result.reserve(texts.size() + 1);
  for (const std::string& text : texts)
    result.push_back(const_cast<char*>(text.c_str()));  // NOLINT: execve does not write to them
  result.push_back(nullptr);
  return result;
}

void set_limits() {
  rlimit files{};
  if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
    files.rlim_cur = files.rlim_max;  // NCCL takes a descriptor for each allocation
    setrlimit(RLIMIT_NOFILE, &files);
  }
  const rlimit none{0, 0};
  setrlimit(RLIMIT_CORE, &none);  // a crash of NCCL leaves no file
}

void reset_signals() {
  for (const int signal : {SIGPIPE, SIGCHLD, SIGINT, SIGTERM, SIGHUP, SIGQUIT})
    (void)std::signal(signal, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
}

struct Child {
  const char* program;
  char* const* argv;
  char* const* environment;
  const std::vector<int>& inherited;
  int log;
  int parent;
};

// After fork and before exec: calls that are safe there only. Returns if it failed.
void become(const Child& child) {
  setpgid(0, 0);  // Ctrl-C is for angio, which ends its nodes itself
  prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
  if (getppid() != child.parent) return;
  const int nothing = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  dup2(nothing, STDIN_FILENO);
  dup2(child.log, STDOUT_FILENO);
  dup2(child.log, STDERR_FILENO);
  // Nothing of the caller's but what is meant; before Linux 5.11 only what is marked closes.
  constexpr unsigned kCloseOnExec = 4;  // CLOSE_RANGE_CLOEXEC
  syscall(SYS_close_range, static_cast<unsigned>(STDERR_FILENO + 1), ~0U, kCloseOnExec);
  for (const int fd : child.inherited)
    fcntl(fd, F_SETFD, 0);
  set_limits();
  reset_signals();
  execve(child.program, child.argv, child.environment);
  constexpr std::string_view kFailure = "angio dryrun: this program could not be started anew\n";
  if (write(STDERR_FILENO, kFailure.data(), kFailure.size()) < 0) return;
}

std::unexpected<Error> no_process(int error) {
  return fail(
      ErrorCode::kIo, fmt::format("cannot start a process: {}", errno_text(error)),
      error == EAGAIN ? "The limit of processes is reached: ulimit -u, or pids.max of the cgroup" : "");
}

}  // namespace

Result<NodeProcess> start_node(const NodeStart& start) {
  Result<Ends> log = make_pipe();
  Result<Ends> reports = make_pipe();
  Result<Ends> script = make_socket();
  if (!log) return std::unexpected(log.error());
  if (!reports) return std::unexpected(reports.error());
  if (!script) return std::unexpected(script.error());
  std::vector<int> inherited = start.inherited;
  inherited.push_back(script->theirs.get());
  inherited.push_back(reports->theirs.get());
  const std::vector<std::string> words{"angio", "dryrun-node", std::to_string(script->theirs.get()),
                                       std::to_string(reports->theirs.get())};
  const std::vector<char*> argv = pointers(words);
  const std::vector<char*> environment = pointers(start.environment);
  const Child child{start.program.c_str(), argv.data(), environment.data(), inherited,
                    log->theirs.get(),     getpid()};
  const pid_t pid = fork();
  if (pid < 0) return no_process(errno);
  if (pid == 0) {
    become(child);
    std::_Exit(kNotStarted);
  }
  setpgid(pid, pid);  // here too: whoever comes first
  NodeProcess node;
  node.pid = pid;
  node.log = std::move(log->ours);
  node.reports = std::move(reports->ours);
  node.script = std::move(script->ours);
  return node;
}

namespace {

void take_end(NodeProcess& node, int options) {
  int status = 0;
  pid_t result = 0;
  do {
    result = waitpid(node.pid, &status, options);
  } while (result < 0 && errno == EINTR);
  if (result == node.pid) {
    node.end =
        NodeEnd{WIFEXITED(status) ? WEXITSTATUS(status) : 0, WIFSIGNALED(status) ? WTERMSIG(status) : 0};
  } else if (result < 0) {
    node.end = NodeEnd{.known = false};
  }
}

}  // namespace

void look_at(NodeProcess& node) {
  if (node.end || node.pid <= 0) return;
  siginfo_t info{};
  const int result = waitid(P_PID, static_cast<id_t>(node.pid), &info, WEXITED | WNOHANG | WNOWAIT);
  if (result == 0 && info.si_pid == 0) return;
  // While its remains are here its number, and so its group's, is nobody else's.
  if (result == 0) kill(-node.pid, SIGKILL);
  take_end(node, WNOHANG);
}

void kill_node(NodeProcess& node) {
  if (node.end || node.pid <= 0) return;
  kill(-node.pid, SIGKILL);
  kill(node.pid, SIGKILL);
  take_end(node, 0);
}

std::string read_some(host::Descriptor& from) {
  constexpr std::size_t kChunk = std::size_t{64} << 10U;  // the size of a pipe
  std::string bytes(kChunk, '\0');
  const ssize_t count = read(from.get(), bytes.data(), bytes.size());
  const bool later = count < 0 && (errno == EAGAIN || errno == EINTR);
  if (count <= 0 && !later) from = host::Descriptor();
  bytes.resize(count > 0 ? static_cast<std::size_t>(count) : 0);
  return bytes;
}

void send_some(NodeProcess& node) {
  while (!node.to_send.empty()) {
    const ssize_t count = send(node.script.get(), node.to_send.data(), node.to_send.size(), MSG_NOSIGNAL);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) return;
    if (count <= 0) {
      node.to_send.clear();  // it is dying; waitpid will say how
      return;
    }
    node.to_send.erase(0, static_cast<std::size_t>(count));
  }
}

MoreFiles::MoreFiles() {
  rlimit files{};
  if (getrlimit(RLIMIT_NOFILE, &files) != 0 || files.rlim_cur == files.rlim_max) return;
  soft_ = files.rlim_cur;
  files.rlim_cur = files.rlim_max;
  raised_ = setrlimit(RLIMIT_NOFILE, &files) == 0;
}

MoreFiles::~MoreFiles() {
  rlimit files{};
  if (!raised_ || getrlimit(RLIMIT_NOFILE, &files) != 0) return;
  files.rlim_cur = soft_;
  setrlimit(RLIMIT_NOFILE, &files);
}

KeptEnds::KeptEnds() : before_(std::make_unique<struct sigaction>()) {
  struct sigaction usual{};
  usual.sa_handler = SIG_DFL;
  sigaction(SIGCHLD, &usual, before_.get());
}

KeptEnds::~KeptEnds() {
  sigaction(SIGCHLD, before_.get(), nullptr);
}

}  // namespace angio::nccl_run
