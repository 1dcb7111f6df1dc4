#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <mutex>
#include <thread>

#include "base/text.hpp"
#include "command.hpp"
#include "host/root.hpp"
#include "output_file.hpp"

namespace angio::app {
namespace {

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
  const OpenFile file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
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

}  // namespace angio::app
