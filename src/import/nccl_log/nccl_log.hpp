// NCCL's and RCCL's debug logs to model::NcclLog: one Reader per file, fed in pieces of any size, several
// files merged into one. Line by line and without regular expressions; what surrounds NCCL's lines
// (launchers, frameworks, tables of nccl-tests) is passed over. Verdicts are none of its business.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "model/nccl_log.hpp"

namespace angio::import::nccl_log {

// True when a line of NCCL's own is in the text: "NCCL INFO", "NCCL WARN" behind an envelope or at the start
// of a line, "NCCL version 2...". The words in prose are not enough. Plain text: gzip must be unpacked
// before.
bool looks_like(std::string_view bytes);
bool is_gzip(std::string_view bytes);

class LogState;

// A line that is none of NCCL's INFO, TRACE and CALL lines, without escapes: for readers of other things.
// NCCL's warnings are among them, for programs print them inside errors of their own. number counts from 1.
using OtherLine = std::function<void(std::uint32_t number, std::string_view text)>;

// The facts of many files. Not thread-safe; files are read one after the other into the same facts, or by
// Logs of their own and then merged.
class Log {
 public:
  Log();
  ~Log();
  Log(Log&&) noexcept;
  Log& operator=(Log&&) noexcept;

  // Told of every such line from here on.
  void on_other_line(OtherLine use);
  // Begins a file; name is for messages. Plain or gzip (RFC 1952, several members), told by its first bytes.
  void begin(const std::string& name);
  // The next bytes of the file, cut anywhere.
  void feed(std::string_view bytes);
  // The end of the file: its last line need not have a line break.
  void end();

  // A whole file: begin, feed, end.
  void add(std::string_view bytes, const std::string& name);

  // The facts so far, put in order. The Log is empty afterwards.
  model::NcclLog take();

 private:
  std::unique_ptr<LogState> state_;
  bool is_open_ = false;
};

// One file that is wholly in memory.
model::NcclLog parse_log(std::string_view bytes, const std::string& name);

}  // namespace angio::import::nccl_log
