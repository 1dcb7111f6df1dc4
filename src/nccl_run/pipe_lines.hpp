// Text lines over the pipes between `angio dryrun` and its node processes: the blocking ends that a node has.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace angio::nccl_run {

// False when the other end is gone.
bool write_fully(int fd, std::string_view text);

class LineReader {
 public:
  explicit LineReader(int fd) : fd_(fd) {}
  // The next line without its line feed; none at the end. Bounded.
  std::optional<std::string> next();

 private:
  int fd_;
  std::string held_;
};

}  // namespace angio::nccl_run
