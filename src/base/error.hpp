// What went wrong, in words a user can act on, and Result<T>: a value or an Error.
// Not for missing machine data: that is a model::Observed, not an error.
// Used by every library; nothing here prints or exits.
#pragma once

#include <expected>
#include <string>
#include <string_view>
#include <utility>

namespace angio {

enum class ErrorCode {
  kInvalidInput,  // a file or argument is not what it should be
  kNotFound,      // the named thing is not there
  kDenied,        // the system refused
  kIo,            // the system failed
  kUnsupported,   // known, but not possible here
  kBug,           // ours
};

// message says the exact cause and the object; hint says what the user can do (may be empty).
// Context is added in front by callers: "node-3.snap: line 118: ...".
struct [[nodiscard]] Error {
  ErrorCode code = ErrorCode::kBug;
  std::string message;
  std::string hint;

  Error with_context(std::string_view context) && {
    message = std::string(context) + ": " + message;
    return std::move(*this);
  }
};

template <typename T>
using Result = std::expected<T, Error>;

inline std::unexpected<Error> fail(ErrorCode code, std::string message, std::string hint = {}) {
  return std::unexpected(Error{code, std::move(message), std::move(hint)});
}

// "No such file or directory (ENOENT)": the words and the name of an errno value.
std::string errno_text(int value);
// "ENOENT"; "E<number>" for a value without a name.
std::string errno_name(int value);
// The value of "ENOENT"; 0 when the name is unknown.
int errno_value(std::string_view name);

}  // namespace angio
