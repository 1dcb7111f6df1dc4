#include "base/fnv.hpp"

#include <fmt/format.h>

namespace angio {

void Digest::add(std::string_view text) {
  for (const char c : text)
    add(static_cast<unsigned char>(c));
  add(static_cast<unsigned char>(0));
}

std::string Digest::text() const {
  return fmt::format("{:016x}", state_);
}

void Digest::add(unsigned char byte) {
  state_ ^= byte;
  state_ *= 1099511628211ULL;
}

}  // namespace angio
