#include "nccl_run/pipe_lines.hpp"

#include <unistd.h>

#include <array>
#include <cerrno>

namespace angio::nccl_run {
namespace {

constexpr std::size_t kChunk = 4096;
constexpr std::size_t kLongestLine = std::size_t{16} << 20U;

}  // namespace

bool write_fully(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t count = write(fd, text.data(), text.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(count));
  }
  return true;
}

std::optional<std::string> LineReader::next() {
  std::size_t looked = 0;
  for (;;) {
    const std::size_t end = held_.find('\n', looked);
    if (end != held_.npos) {
      std::string line = held_.substr(0, end);
      held_.erase(0, end + 1);
      return line;
    }
    looked = held_.size();
    std::array<char, kChunk> chunk{};
    const ssize_t count = read(fd_, chunk.data(), chunk.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0 || held_.size() > kLongestLine) return std::nullopt;
    held_.append(chunk.data(), static_cast<std::size_t>(count));
  }
}

}  // namespace angio::nccl_run
