// A gzip file (RFC 1952, several members) as its text, up to a limit. What is damaged or cut off ends it:
// what was readable up to there is kept.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace angio::import {

struct Unpacked {
  std::string text;
  bool cut = false;   // the compressed data ended early or is damaged
  bool full = false;  // more than the limit
};

// By the first bytes.
bool is_gzip(std::string_view bytes);
Unpacked gunzip(std::string_view bytes, std::size_t limit);

}  // namespace angio::import
