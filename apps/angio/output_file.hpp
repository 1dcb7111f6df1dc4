// A file that is written bit by bit and stands under its name only once it is whole: a temporary file beside
// it and a rename. And the small things that writing and reading share. Whole texts: write_output() of
// command.hpp.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/error.hpp"

namespace angio::app {

class OpenFile {
 public:
  explicit OpenFile(int fd) : fd_(fd) {}
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  ~OpenFile() { (void)close_now(); }
  [[nodiscard]] int get() const { return fd_; }
  // close(2) is where network file systems report what they could not write.
  bool close_now();

 private:
  int fd_;
};

// 0, or the errno of the write that failed.
int write_all(int fd, std::string_view data);
ErrorCode code_of(int error);

class OutputFile {
 public:
  // Devices and pipes (/dev/full, /dev/stdout, a FIFO) are written as they are.
  static Result<OutputFile> open(const std::string& path);
  OutputFile(OutputFile&&) noexcept;
  OutputFile& operator=(OutputFile&&) noexcept;
  ~OutputFile();  // what was not finished is gone
  Result<void> write(std::string_view data);
  Result<void> finish();

 private:
  struct State;
  explicit OutputFile(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// Whether a file could be written there, before there is anything to write. Leaves nothing behind. "-" can.
Result<void> check_output(const std::string& path);

}  // namespace angio::app
