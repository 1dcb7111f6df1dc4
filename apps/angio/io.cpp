#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <condition_variable>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <filesystem>
#include <mutex>
#include <thread>
#include <utility>

#include "base/text.hpp"
#include "command.hpp"
#include "host/root.hpp"

namespace angio::app {
namespace {

class File {
 public:
  explicit File(int fd) : fd_(fd) {}
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File() { (void)close_now(); }
  [[nodiscard]] int get() const { return fd_; }
  // close(2) is where network file systems report what they could not write.
  bool close_now() { return fd_ < 0 || ::close(std::exchange(fd_, -1)) == 0; }

 private:
  int fd_;
};

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

// 0, or the errno of the write that failed.
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

std::unexpected<Error> cannot_write(const std::string& path, int error) {
  const char* hint = error == ENOENT ? "its directory does not exist" : "choose another place with --out";
  return fail(code_of(error), path + ": cannot write: " + errno_text(error), hint);
}

// Devices and pipes (/dev/full, /dev/stdout, a FIFO) are written as they are.
Result<void> write_in_place(const std::string& path, const std::string& data) {
  File file(open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY));
  if (file.get() < 0) return cannot_write(path, errno);
  if (const int error = write_all(file.get(), data); error != 0) return cannot_write(path, error);
  if (!file.close_now()) return cannot_write(path, errno);
  return {};
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

// before: the file that is replaced; none for a new one.
Result<void> write_beside(const std::string& path, const std::string& data, const struct stat* before) {
  if (before != nullptr && !may_write(path, *before)) {
    return fail(ErrorCode::kDenied, path + ": is read-only, left as it is",
                "chmod u+w makes it writable; or write to another place");
  }
  const SignalsWait wait;
  const std::string temporary = path + ".part-" + std::to_string(getpid());
  const mode_t mode = before != nullptr ? 0600 : 0666;
  File file(open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode));
  if (file.get() < 0) return cannot_write(path, errno);
  int error = write_all(file.get(), data);
  if (error == 0 && before != nullptr) error = take_over(file.get(), *before);
  if (error == 0 && fsync(file.get()) != 0) error = errno;
  if (!file.close_now() && error == 0) error = errno;
  if (error == 0 && rename(temporary.c_str(), path.c_str()) != 0) error = errno;
  if (error == 0) return {};
  unlink(temporary.c_str());
  return cannot_write(path, error);
}

// Hands out what the descriptor gives, up to its end or until stop, which is asked after each piece and each
// signal.
Result<void> pump(int fd, const std::string& name, const std::function<Result<void>(std::string_view)>& use,
                  const std::function<bool()>& stop) {
  constexpr std::size_t kPiece = std::size_t{256} << 10U;
  std::string piece(kPiece, '\0');
  for (;;) {
    if (stop && stop()) return {};
    const ssize_t count = ::read(fd, piece.data(), piece.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return fail(code_of(errno), name + ": cannot read: " + errno_text(errno));
    if (count == 0) return {};
    if (auto used = use({piece.data(), static_cast<std::size_t>(count)}); !used) return used;
  }
}

Result<void> pump_file(const std::string& path, const std::function<Result<void>(std::string_view)>& use,
                       const std::function<bool()>& stop = {}) {
  if (path == "-") return pump(STDIN_FILENO, "standard input", use, stop);
  const File file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
  if (file.get() < 0) return fail(code_of(errno), path + ": cannot open: " + errno_text(errno));
  struct stat status{};
  if (fstat(file.get(), &status) == 0 && S_ISDIR(status.st_mode)) {
    return fail(ErrorCode::kInvalidInput, path + " is a directory, expected a file");
  }
  return pump(file.get(), path, use, stop);
}

// Reading and using at the same time: copying out of the kernel costs a fifth of what a parser does. The
// first piece is used at once, so that small files start no thread.
class ReadAhead {
 public:
  explicit ReadAhead(const std::function<void(std::string_view)>& use) : use_(use) {}
  ReadAhead(const ReadAhead&) = delete;
  ReadAhead& operator=(const ReadAhead&) = delete;
  ~ReadAhead() { finish(); }

  void put(std::string_view piece) {
    if (!begun_) {
      begun_ = true;
      use_(piece);
      return;
    }
    if (!worker_.joinable()) worker_ = std::jthread([this] { work(); });
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return waiting_.size() < kMostWaiting; });
    waiting_.emplace_back(piece);
    changed_.notify_all();
  }
  // Everything that was put has been used.
  void finish() {
    if (!worker_.joinable()) return;
    {
      const std::scoped_lock lock(mutex_);
      ended_ = true;
      changed_.notify_all();
    }
    worker_.join();
  }

 private:
  static constexpr std::size_t kMostWaiting = 4;

  void work() {
    for (;;) {
      std::string piece;
      {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [this] { return ended_ || !waiting_.empty(); });
        if (waiting_.empty()) return;
        piece = std::move(waiting_.front());
        waiting_.pop_front();
        changed_.notify_all();
      }
      use_(piece);
    }
  }

  const std::function<void(std::string_view)>& use_;
  bool begun_ = false;
  bool ended_ = false;
  std::deque<std::string> waiting_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::jthread worker_;
};

bool names_utf8() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const char* value = std::getenv(name);
    if (value == nullptr || *value == '\0') continue;
    const std::string lower = to_lower(value);
    return contains(lower, "utf-8") || contains(lower, "utf8");
  }
  return false;
}

std::uint32_t terminal_width() {
  constexpr std::uint32_t kLeast = 40;
  constexpr std::uint32_t kMost = 1000;
  const char* columns = std::getenv("COLUMNS");
  auto width = parse_integer<std::uint32_t>(columns != nullptr ? columns : "").value_or(0);
  winsize size{};
  if (width == 0 && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0) width = size.ws_col;
  return width == 0 ? report::TerminalStyle{}.width : std::min(std::max(width, kLeast), kMost);
}

}  // namespace

int report_error(const Error& error) {
  std::string words = "angio: " + error.message;
  if (!error.hint.empty()) words += (words.ends_with('.') ? " " : ". ") + error.hint;
  std::string text;
  for (const std::string_view line : split_lines(words))
    text += printable(line) + "\n";
  (void)write_all(STDERR_FILENO, text);
  return error.code == ErrorCode::kBug ? kBug : kFailed;
}

void say(const std::string& line) {
  (void)write_all(STDERR_FILENO, line + "\n");
}

int print(const std::string& data) {
  const int error = write_all(STDOUT_FILENO, data);
  if (error == 0 || error == EPIPE) return kOk;
  return report_error({ErrorCode::kIo, "standard output: cannot write: " + errno_text(error), {}});
}

report::TerminalStyle terminal_style() {
  report::TerminalStyle style;
  const bool terminal = isatty(STDOUT_FILENO) != 0;
  const char* no_colour = std::getenv("NO_COLOR");
  const char* kind = std::getenv("TERM");
  const bool dumb = kind == nullptr || std::strcmp(kind, "dumb") == 0;
  style.width = terminal || std::getenv("COLUMNS") != nullptr ? terminal_width() : style.width;
  style.colour = terminal && !dumb && (no_colour == nullptr || *no_colour == '\0');
  style.ascii = !names_utf8();
  return style;
}

Result<std::string> read_input(const std::string& path) {
  std::string content;
  auto read = pump_file(path, [&](std::string_view piece) -> Result<void> {
    content += piece;
    if (content.size() <= kMaxInput) return {};
    return fail(ErrorCode::kInvalidInput,
                std::string(path == "-" ? "standard input" : path) + ": larger than 1 GiB",
                "give the part that matters");
  });
  if (!read) return std::unexpected(std::move(read.error()));
  return content;
}

Result<void> read_pieces(const std::string& path, const std::function<void(std::string_view)>& use,
                         const std::function<bool()>& stop) {
  ReadAhead ahead(use);
  auto read = pump_file(
      path,
      [&](std::string_view piece) -> Result<void> {
        ahead.put(piece);
        return {};
      },
      stop);
  ahead.finish();
  return read;
}

Result<void> write_output(const std::string& path, const std::string& data) {
  if (path == "-") {
    const int error = write_all(STDOUT_FILENO, data);
    if (error == 0 || error == EPIPE) return {};
    return fail(ErrorCode::kIo, "standard output: cannot write: " + errno_text(error));
  }
  struct stat status{};
  const bool there = stat(path.c_str(), &status) == 0;
  if (!there || S_ISREG(status.st_mode)) {
    // Through a link its target is replaced, not the link.
    std::error_code ignored;
    const std::filesystem::path target = std::filesystem::canonical(path, ignored);
    return write_beside(target.empty() ? path : target.string(), data, there ? &status : nullptr);
  }
  if (S_ISDIR(status.st_mode)) {
    return fail(ErrorCode::kInvalidInput, path + " is a directory, expected a file name",
                "for example " + path + "/node.snap");
  }
  return write_in_place(path, data);
}

}  // namespace angio::app
