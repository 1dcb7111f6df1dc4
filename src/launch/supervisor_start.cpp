#include "launch/supervisor_start.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdlib>
#include <cstring>

#include "host/descriptor.hpp"

namespace angio::launch {
namespace {

using Environment = std::vector<std::string>;

std::string_view variable_name(std::string_view assignment) {
  return assignment.substr(0, assignment.find('='));
}

// Inherited variables, the added ones in their place.
Environment merged_environment(const Environment& added) {
  Environment merged;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view name = variable_name(*entry);
    const bool replaced = std::any_of(added.begin(), added.end(),
                                      [&](const std::string& other) { return variable_name(other) == name; });
    if (!replaced) merged.emplace_back(*entry);
  }
  merged.insert(merged.end(), added.begin(), added.end());
  return merged;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> result;
  for (std::string& text : texts)
    result.push_back(text.data());
  result.push_back(nullptr);
  return result;
}

ErrorCode code_of(int error) {
  if (error == EACCES || error == EPERM) return ErrorCode::kDenied;
  return error == ENOENT || error == ENOTDIR ? ErrorCode::kNotFound : ErrorCode::kIo;
}

// The child's last words to its parent: code, message and hint, by NUL. Small enough to be written at once.
void tell_parent(int pipe, const Error& error) {
  std::string text = std::to_string(static_cast<int>(error.code)) + '\0' + error.message + '\0' + error.hint;
  text.resize(std::min<std::size_t>(text.size(), PIPE_BUF));
  if (write(pipe, text.data(), text.size()) < 0) return;
}

Error told_by_child(const std::string& text) {
  std::array<std::string, 3> parts;
  std::size_t part = 0;
  for (const char c : text) {
    if (c == '\0' && part + 1 < parts.size()) {
      ++part;
    } else {
      parts[part] += c;
    }
  }
  return {static_cast<ErrorCode>(std::atoi(parts[0].c_str())), parts[1], parts[2]};
}

bool set_streams(const Streams& streams) {
  const auto put = [](int from, int to) { return from < 0 || from == to || dup2(from, to) >= 0; };
  return put(streams.in, STDIN_FILENO) && put(streams.out, STDOUT_FILENO) && put(streams.err, STDERR_FILENO);
}

Error exec_error(const std::string& program, int error) {
  Error result{code_of(error), "cannot run " + program + ": " + errno_text(error), {}};
  const bool searched = program.find('/') == std::string::npos;
  if (error == ENOENT && searched) result.hint = "No directory of PATH holds it";
  // execve(2) says ENOENT too when the interpreter of a script is what is missing.
  if (error == ENOENT && !searched && access(program.c_str(), F_OK) == 0) {
    result.hint = "The file is there: the interpreter that its first line names is not";
  }
  return result;
}

struct Child {
  const RankCommand& command;
  const Streams& streams;
  const Changed& changed;
  const ChildHook& before_exec;
  std::vector<char*> argv;
  std::vector<char*> environment;
  int parent = 0;
};

// Returns only if it failed.
Error become(const Child& child) {
  setpgid(0, 0);
  // A supervisor that dies by SIGKILL can end nobody: then the kernel does.
  prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
  if (getppid() != child.parent) return {ErrorCode::kIo, "angio died while it started the ranks", {}};
  if (!set_streams(child.streams))
    return {ErrorCode::kIo, "cannot set the standard streams: " + errno_text(errno), {}};
  if (child.before_exec) {
    if (const Result<void> done = child.before_exec(child.command); !done) return done.error();
  }
  child.changed.descriptors.restore();
  child.changed.signals.restore();
  execvpe(child.argv[0], child.argv.data(), child.environment.data());
  return exec_error(child.argv[0], errno);
}

std::string read_all(int fd) {
  std::string text;
  std::array<char, PIPE_BUF> chunk{};
  for (;;) {
    const ssize_t count = read(fd, chunk.data(), chunk.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return text;
    text.append(chunk.data(), static_cast<std::size_t>(count));
  }
}

}  // namespace

Result<int> start_rank(const RankCommand& command, const Streams& streams, const Changed& changed,
                       const ChildHook& before_exec) {
  if (command.argv.empty()) return fail(ErrorCode::kInvalidInput, "no command to run");
  std::vector<std::string> argv = command.argv;
  Environment environment = merged_environment(command.environment);
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0)
    return fail(ErrorCode::kIo, "cannot make a pipe: " + errno_text(errno));
  const host::Descriptor reading(ends[0]);
  host::Descriptor writing(ends[1]);
  const Child child{command, streams, changed, before_exec, pointers(argv), pointers(environment), getpid()};
  const pid_t pid = fork();
  if (pid < 0) {
    return fail(
        ErrorCode::kIo, "cannot start a process: " + errno_text(errno),
        errno == EAGAIN ? "The limit of processes is reached: ulimit -u, or pids.max of the cgroup" : "");
  }
  if (pid == 0) {
    tell_parent(writing.get(), become(child));
    std::_Exit(127);
  }
  setpgid(pid, pid);  // here too: whoever comes first
  writing = host::Descriptor();
  const std::string said = read_all(reading.get());
  if (said.empty()) return pid;
  waitpid(pid, nullptr, 0);
  return std::unexpected(told_by_child(said));
}

DescriptorLimit::DescriptorLimit() {
  getrlimit(RLIMIT_NOFILE, &before_);
}

void DescriptorLimit::restore() const {
  setrlimit(RLIMIT_NOFILE, &before_);
}

Result<void> DescriptorLimit::make_room(std::size_t more) const {
  constexpr std::size_t kUsual = 64;  // standard streams, what was inherited, our own few
  const std::size_t needed = more + kUsual;
  if (before_.rlim_cur == RLIM_INFINITY || before_.rlim_cur >= needed) return {};
  if (before_.rlim_max != RLIM_INFINITY && before_.rlim_max < needed) {
    return fail(
        ErrorCode::kIo,
        fmt::format("{} open files are needed for so many ranks, the limit is {}", needed, before_.rlim_max),
        fmt::format("Raise it (ulimit -Hn {}) or let the ranks keep angio's own streams (raw output)",
                    needed));
  }
  const rlimit raised{needed, before_.rlim_max};
  if (setrlimit(RLIMIT_NOFILE, &raised) == 0) return {};
  return fail(ErrorCode::kIo, "cannot raise the limit of open files: " + errno_text(errno));
}

}  // namespace angio::launch
