#include "load.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <mutex>
#include <utility>

#include "base/error.hpp"
#include "base/text.hpp"
#include "core.hpp"

namespace angio::tuner {
namespace {

// Up to one byte more than a table may have. What is no regular file is refused: a pipe would block the job.
Result<std::string> read_file(const char* path) {
  const auto failed = [&](int error) { return fail(ErrorCode::kIo, "cannot read: " + errno_text(error)); };
  const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return failed(errno);
  struct stat status{};
  if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode)) {
    close(fd);
    return fail(ErrorCode::kInvalidInput, "is not a regular file");
  }
  std::string bytes;
  std::array<char, 65536> part{};
  ssize_t count = 1;
  while (count > 0 && bytes.size() <= kMaxFile) {
    count = read(fd, part.data(), part.size());
    if (count < 0 && errno == EINTR)
      count = 1;
    else if (count > 0)
      bytes.append(part.data(), static_cast<std::size_t>(count));
  }
  const int error = errno;
  close(fd);
  if (count < 0) return failed(error);
  return bytes;
}

std::string words_of(const Table& table) {
  const Remark& first = table.problems.front();
  std::string words = first.line == 0 ? "" : ":" + std::to_string(first.line);
  words += ": " + first.message;
  if (!first.hint.empty()) words += " (" + first.hint + ")";
  const std::size_t more = table.problems.size() - 1 + table.more_problems;
  if (more > 0) words += "; and " + std::to_string(more) + " more, see angio tuner check";
  return words;
}

Loaded load(const char* path) {
  if (path == nullptr || *path == '\0') return {{}, nullptr, std::string(kTableVariable) + " names no table"};
  const std::string name = printable(path);
  const auto bytes = read_file(path);
  if (!bytes) return {name, nullptr, name + ": " + bytes.error().message};
  auto table = std::make_shared<const Table>(parse_table(*bytes));
  if (!table->usable()) return {name, nullptr, name + words_of(*table)};
  return {name, std::move(table), {}};
}

// Of this process; NCCL's interface has no other place for it.
struct Shared {
  std::mutex mutex;
  std::shared_ptr<const Loaded> held;
};

Shared& shared() {
  static Shared shared;
  return shared;
}

}  // namespace

Load load_table(const char* path) {
  const std::scoped_lock lock(shared().mutex);
  std::shared_ptr<const Loaded>& held = shared().held;
  if (held != nullptr) return {held, false};
  held = std::make_shared<const Loaded>(load(path));
  return {held, true};
}

}  // namespace angio::tuner
