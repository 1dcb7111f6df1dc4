#include "base/error.hpp"

#include <cerrno>
#include <cstring>

#include "base/text.hpp"

namespace angio {

std::string errno_name(int value) {
  const char* name = strerrorname_np(value);
  return name != nullptr ? name : "E" + std::to_string(value);
}

std::string errno_text(int value) {
  const char* words = strerrordesc_np(value);
  return std::string(words != nullptr ? words : "unknown error") + " (" + errno_name(value) + ")";
}

int errno_value(std::string_view name) {
  constexpr int kLastErrno = 133;  // EHWPOISON, include/uapi/asm-generic/errno.h
  for (int value = 1; value <= kLastErrno; ++value) {
    const char* candidate = strerrorname_np(value);
    if (candidate != nullptr && name == candidate) return value;
  }
  if (name.starts_with('E')) return parse_integer<int>(name.substr(1)).value_or(0);
  return 0;
}

}  // namespace angio
