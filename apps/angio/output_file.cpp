#include "output_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <utility>

#include "command.hpp"
#include "host/root.hpp"

namespace angio::app {
namespace {

constexpr int kMostNames = 16;  // tried for a temporary file

// Signals that would end the program wait while a file is half written.
class SignalsWait {
 public:
  SignalsWait() {
    sigset_t set;
    sigemptyset(&set);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT})
      sigaddset(&set, signal);
    sigprocmask(SIG_BLOCK, &set, &before_);
  }
  SignalsWait(const SignalsWait&) = delete;
  SignalsWait& operator=(const SignalsWait&) = delete;
  ~SignalsWait() { sigprocmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_{};
};

std::unexpected<Error> cannot_write(const std::string& path, int error) {
  const char* hint = error == ENOENT ? "its directory does not exist" : "choose another place";
  return fail(code_of(error), path + ": cannot write: " + errno_text(error), hint);
}

// What a file that is replaced passes on: who may read it and run it, and who owns it if we may give it away.
int take_over(int fd, const struct stat& before) {
  constexpr mode_t kMode = 07777;
  constexpr mode_t kRunsAsOwner = S_ISUID | S_ISGID;
  const bool same = geteuid() == before.st_uid && getegid() == before.st_gid;
  const bool given = same || fchown(fd, before.st_uid, before.st_gid) == 0;
  const mode_t mode = before.st_mode & kMode & (given ? kMode : static_cast<mode_t>(~kRunsAsOwner));
  return fchmod(fd, mode) == 0 ? 0 : errno;
}

// A file that nobody may write is kept so on purpose; a new name beside it would get around that.
bool may_write(const std::string& path, const struct stat& before) {
  constexpr mode_t kAnyone = S_IWUSR | S_IWGRP | S_IWOTH;
  return (before.st_mode & kAnyone) != 0 && access(path.c_str(), W_OK) == 0;
}

Error is_directory(const std::string& path) {
  return {ErrorCode::kInvalidInput, path + " is a directory, expected a file name",
          "for example " + path + "/node.snap"};
}

Error is_read_only(const std::string& path) {
  return {ErrorCode::kDenied, path + ": is read-only, left as it is",
          "chmod u+w makes it writable; or write to another place"};
}

bool is_in_place(const std::optional<struct stat>& status) {
  return status && !S_ISREG(status->st_mode);
}

std::optional<struct stat> status_of(const std::string& path) {
  struct stat status{};
  return stat(path.c_str(), &status) == 0 ? std::optional(status) : std::nullopt;
}

}  // namespace

bool OpenFile::close_now() {
  return fd_ < 0 || ::close(std::exchange(fd_, -1)) == 0;
}

int write_all(int fd, std::string_view data) {
  while (!data.empty()) {
    const ssize_t count = ::write(fd, data.data(), data.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return errno;
    data.remove_prefix(static_cast<std::size_t>(count));
  }
  return 0;
}

ErrorCode code_of(int error) {
  if (error == EACCES || error == EPERM || error == EROFS) return ErrorCode::kDenied;
  return error == ENOENT ? ErrorCode::kNotFound : ErrorCode::kIo;
}

struct OutputFile::State {
  State(std::string name, std::string part, const std::optional<struct stat>& old, int fd)
      : path(std::move(name)), temporary(std::move(part)), before(old), file(fd) {}
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() {
    if (!temporary.empty()) unlink(temporary.c_str());
  }

  std::string path;
  std::string temporary;              // empty: written in place, or finished
  std::optional<struct stat> before;  // the file that is replaced
  OpenFile file;
};

OutputFile::OutputFile(std::unique_ptr<State> state) : state_(std::move(state)) {}
OutputFile::OutputFile(OutputFile&&) noexcept = default;
OutputFile& OutputFile::operator=(OutputFile&&) noexcept = default;
OutputFile::~OutputFile() = default;

Result<OutputFile> OutputFile::open(const std::string& path) {
  const auto before = status_of(path);
  if (before && S_ISDIR(before->st_mode)) return std::unexpected(is_directory(path));
  if (is_in_place(before)) {
    auto state = std::make_unique<State>(path, std::string(), before,
                                         ::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY));
    if (state->file.get() < 0) return cannot_write(path, errno);
    return OutputFile(std::move(state));
  }
  // Through a link its target is replaced, not the link.
  std::error_code ignored;
  const std::filesystem::path canonical = std::filesystem::canonical(path, ignored);
  const std::string target = canonical.empty() ? path : canonical.string();
  if (before && !may_write(target, *before)) return std::unexpected(is_read_only(target));
  const mode_t mode = before ? 0600 : 0666;
  std::string temporary;
  int fd = -1;
  // Two files of one name may be open at once, and a process of this number may have died over one.
  for (int number = 0; number < kMostNames; ++number) {
    temporary =
        target + ".part-" + std::to_string(getpid()) + (number == 0 ? "" : "-" + std::to_string(number));
    fd = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    if (fd >= 0 || errno != EEXIST) break;
  }
  if (fd < 0) return cannot_write(target, errno);
  return OutputFile(std::make_unique<State>(target, temporary, before, fd));
}

Result<void> OutputFile::write(std::string_view data) {
  if (const int error = write_all(state_->file.get(), data); error != 0)
    return cannot_write(state_->path, error);
  return {};
}

Result<void> OutputFile::finish() {
  State& state = *state_;
  if (state.temporary.empty())
    return state.file.close_now() ? Result<void>{} : Result<void>(cannot_write(state.path, errno));
  const SignalsWait wait;
  int error = state.before ? take_over(state.file.get(), *state.before) : 0;
  if (error == 0 && fsync(state.file.get()) != 0) error = errno;
  if (!state.file.close_now() && error == 0) error = errno;
  if (error == 0 && rename(state.temporary.c_str(), state.path.c_str()) != 0) error = errno;
  if (error != 0) return cannot_write(state.path, error);
  state.temporary.clear();
  return {};
}

Result<void> check_output(const std::string& path) {
  if (path == "-") return {};
  const auto before = status_of(path);
  // Not opened: the reader of a pipe would take that for the end.
  if (is_in_place(before) && !S_ISDIR(before->st_mode))
    return access(path.c_str(), W_OK) == 0 ? Result<void>{} : Result<void>(cannot_write(path, errno));
  const auto file = OutputFile::open(path);
  return file ? Result<void>{} : Result<void>(std::unexpected(file.error()));
}

Result<void> write_output(const std::string& path, const std::string& data) {
  if (path == "-") {
    const int error = write_all(STDOUT_FILENO, data);
    if (error == 0 || error == EPIPE) return {};
    return fail(ErrorCode::kIo, "standard output: cannot write: " + errno_text(error));
  }
  // What is written beside is short-lived: signals wait from its first byte on.
  std::optional<SignalsWait> wait;
  if (!is_in_place(status_of(path))) wait.emplace();
  auto file = OutputFile::open(path);
  if (!file) return std::unexpected(std::move(file.error()));
  if (auto written = file->write(data); !written) return written;
  return file->finish();
}

}  // namespace angio::app
