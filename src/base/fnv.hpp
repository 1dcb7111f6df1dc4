// FNV-1a, 64 bits (http://www.isthe.com/chongo/tech/comp/fnv): tells contents apart, no protection against
// intent.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace angio {

class Digest {
 public:
  void add(std::string_view text);  // "ab" "c" is not "a" "bc"
  [[nodiscard]] std::uint64_t number() const { return state_; }
  [[nodiscard]] std::string text() const;  // 16 hexadecimal digits

 private:
  void add(unsigned char byte);
  std::uint64_t state_ = 14695981039346656037ULL;
};

}  // namespace angio
