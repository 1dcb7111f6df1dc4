#include "launch/exec.hpp"

#include <unistd.h>

#include <cerrno>
#include <string_view>
#include <vector>

namespace angio::launch {
namespace {

constexpr int kNotExecutable = 126;  // POSIX.1-2017, XCU 2.8.2
constexpr int kNotFound = 127;

ExecFailure failure_of(const std::string& program, int error) {
  const bool is_path = program.find('/') != std::string::npos;
  if (error == ENOENT && is_path && access(program.c_str(), F_OK) == 0) {
    return {{ErrorCode::kInvalidInput, program + ": cannot be executed: its interpreter is not there",
             "look at its first line, or at the loader it was linked for"},
            kNotExecutable};
  }
  if (error == ENOENT) {
    return {{ErrorCode::kNotFound, program + ": no such program" + (is_path ? "" : " in PATH"), {}},
            kNotFound};
  }
  return {{ErrorCode::kDenied, program + ": cannot be executed: " + errno_text(error), {}}, kNotExecutable};
}

}  // namespace

ExecFailure exec_program(char* const* argv, std::span<const std::string> environment) {
  std::vector<char*> entries;
  entries.reserve(environment.size() + 1);
  for (const std::string& entry : environment)
    entries.push_back(const_cast<char*>(entry.c_str()));  // NOLINT: execve does not write to them
  entries.push_back(nullptr);
  execvpe(argv[0], argv, entries.data());
  return failure_of(argv[0], errno);
}

}  // namespace angio::launch
