#include "tune_ledger_file.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <utility>

#include "base/text.hpp"
#include "output_file.hpp"

namespace angio::app {
namespace {

constexpr int kMode = 0666;  // less the umask

std::unexpected<Error> failed(const std::string& path, const char* what, int error) {
  return fail(code_of(error), printable(path) + ": cannot " + what + ": " + errno_text(error));
}

// So that the file's name survives as its content does.
void sync_folder(const std::string& path) {
  const std::string folder = std::filesystem::path(path).parent_path().string();
  const OpenFile open_folder(
      ::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (open_folder.get() >= 0) (void)fsync(open_folder.get());
}

}  // namespace

LedgerFile::LedgerFile(std::string path, int fd) : path_(std::move(path)), fd_(fd) {}
LedgerFile::LedgerFile(LedgerFile&& other) noexcept
    : path_(std::move(other.path_)), fd_(std::exchange(other.fd_, -1)) {}
LedgerFile& LedgerFile::operator=(LedgerFile&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(fd_, other.fd_);
  return *this;
}
LedgerFile::~LedgerFile() {
  if (fd_ >= 0) ::close(fd_);
}

Result<LedgerFile> LedgerFile::create(const std::string& path) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, kMode);
  if (fd < 0 && errno == EEXIST)
    return fail(ErrorCode::kInvalidInput, printable(path) + ": there is a ledger already",
                "angio tune --resume " + printable(path) + " goes on with it; --ledger names another");
  if (fd < 0) return failed(path, "make", errno);
  LedgerFile file(path, fd);
  if (auto held = file.lock(); !held) return std::unexpected(std::move(held.error()));
  sync_folder(path);
  return file;
}

Result<LedgerFile> LedgerFile::go_on(const std::string& path, std::size_t whole, std::size_t size) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
  if (fd < 0) return failed(path, "open for writing", errno);
  LedgerFile file(path, fd);
  if (auto held = file.lock(); !held) return std::unexpected(std::move(held.error()));
  struct stat now{};
  if (fstat(fd, &now) != 0) return failed(path, "look at", errno);
  if (static_cast<std::size_t>(now.st_size) != size)
    return fail(ErrorCode::kDenied, printable(path) + ": another angio tune wrote to it meanwhile",
                "start angio tune --resume again");
  if (ftruncate(fd, static_cast<off_t>(whole)) != 0)
    return failed(path, "cut off the unfinished line", errno);
  return file;
}

Result<void> LedgerFile::lock() const {
  if (flock(fd_, LOCK_EX | LOCK_NB) == 0) return {};
  if (errno == EWOULDBLOCK)
    return fail(ErrorCode::kDenied, printable(path_) + ": another angio tune writes to it",
                "wait for it, or stop it");
  return {};  // a file system without locks
}

Result<void> LedgerFile::append(std::string_view line) {
  const auto lost = [&](const char* what, int error) {
    auto failure = failed(path_, what, error);
    failure.error().hint = "angio tune --resume " + printable(path_) + " goes on when that is mended";
    return failure;
  };
  if (const int error = write_all(fd_, line); error != 0) return lost("write", error);
  if (fdatasync(fd_) != 0 && errno != EINVAL && errno != EROFS) return lost("sync", errno);
  return {};
}

void LedgerFile::remove() const {
  (void)::unlink(path_.c_str());
}

}  // namespace angio::app
