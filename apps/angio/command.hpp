// What every subcommand gets and gives. One <verb>_command.{hpp,cpp} and .md per subcommand; main.cpp
// lists them. Commands print data to stdout and talk to stderr; everything below returns values.
#pragma once

#include <string>

#include "base/error.hpp"
#include "report/document.hpp"

namespace CLI {
class App;
}

namespace angio::app {

// The promised exit codes.
enum ExitCode : int {
  kOk = 0,
  kFindings = 1,  // at or above --fail-on
  kUsage = 2,
  kFailed = 3,  // could not do it
  kBug = 4,
};

// A command parses its options in setup and does its work in run, which returns an ExitCode.
struct Command {
  const char* name;
  void (*setup)(CLI::App& app, int& exit_code);  // adds the subcommand with its callback
};

// Prints "angio: message. hint" to stderr and returns the exit code that fits the error.
int report_error(const Error& error);

// Writes data to stdout; a reader that went away (EPIPE, `| head`) ends quietly with success.
int print(const std::string& data);

// Width, colour and character set of stdout as it is: NO_COLOR, TERM, LANG, COLUMNS and the window's size.
report::TerminalStyle terminal_style();

// Whole content of a file, "-" for standard input. Bounded; names the file in its error.
Result<std::string> read_input(const std::string& path);

// Writes by a temporary file beside path and rename: never half a file. "-" is stdout.
Result<void> write_output(const std::string& path, const std::string& data);

}  // namespace angio::app
