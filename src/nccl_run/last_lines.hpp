// The last lines of a log, for the report on a node that went wrong. Bounded. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace angio::nccl_run {

class LastLines {
 public:
  static constexpr std::size_t kMostBytes = 4096;
  static constexpr std::size_t kMostLines = 12;
  void add(std::string_view bytes);
  // Printable, each line ended by a line feed.
  [[nodiscard]] std::string text() const;

 private:
  std::string bytes_;
  bool cut_ = false;  // something was dropped at the front
};

// Cuts a stream into pieces of whole lines.
class LineCutter {
 public:
  static constexpr std::size_t kLongest = std::size_t{1} << 20U;  // a longer line is cut there
  // The whole lines that bytes completes, perhaps empty.
  std::string add(std::string_view bytes);
  // What is left when the stream ends, with the line feed it lacks.
  std::string end();

 private:
  std::string held_;
};

}  // namespace angio::nccl_run
