// What every subcommand gets and gives. One <verb>_command.{hpp,cpp} and .md per subcommand; main.cpp
// lists them. Commands print data to stdout and talk to stderr; everything below returns values.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "report/document.hpp"

namespace angio::app {

class CommandLine;

// The promised exit codes.
enum ExitCode : int {
  kOk = 0,
  kFindings = 1,  // at or above --fail-on
  kUsage = 2,
  kFailed = 3,  // could not do it
  kBug = 4,
};

// <verb>_command.hpp declares `void setup_<verb>(CommandLine& app, int& exit_code);`. It adds the subcommand
// to app; the subcommand's callback does the work and stores an ExitCode. The table is in commands.cpp.
// Without a setup it is a part of another command, which starts it, and no help knows it.
struct Command {
  const char* name;
  void (*setup)(CommandLine& app, int& exit_code);
  // For a command that starts another program: what stands behind its own options is not ours to parse, and
  // how signals are handled is not ours to change. Gets the words from the command's name on.
  int (*run_words)(int argc, char** argv) = nullptr;
};

// Every command, in the order of the help.
std::span<const Command> commands();

// Prints "angio: message. hint" to stderr and returns the exit code that fits the error.
int report_error(const Error& error);

// Writes data to stdout; a reader that went away (EPIPE, `| head`) ends quietly with success.
int print(const std::string& data);

// Width, colour and character set of stdout as it is: NO_COLOR, TERM, LANG, COLUMNS and the window's size.
report::TerminalStyle terminal_style();

// One line to stderr.
void say(const std::string& line);

inline constexpr std::size_t kMaxInput = std::size_t{1} << 30U;

// Whole content of a file, "-" for standard input. Bounded; names the file in its error.
Result<std::string> read_input(const std::string& path);

// The same in pieces and of any size, for readers that keep nothing. stop, asked between pieces and when a
// signal came, ends it as if the input ended.
Result<void> read_pieces(const std::string& path, const std::function<void(std::string_view)>& use,
                         const std::function<bool()>& stop = {});

// Writes by a temporary file beside path and rename: never half a file, Ctrl-C included. "-" is stdout;
// devices and pipes are written as they are.
Result<void> write_output(const std::string& path, const std::string& data);

}  // namespace angio::app
