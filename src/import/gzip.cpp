#include "import/gzip.hpp"

#include <zlib.h>

#include <algorithm>
#include <array>

namespace angio::import {

bool is_gzip(std::string_view bytes) {
  return bytes.starts_with("\x1f\x8b");
}

Unpacked gunzip(std::string_view bytes, std::size_t limit) {
  Unpacked result;
  z_stream stream{};
  if (inflateInit2(&stream, 15 + 16) != Z_OK) return {{}, true, false};
  std::array<char, std::size_t{1} << 16U> piece{};
  constexpr std::size_t kInput = std::size_t{1} << 30U;  // avail_in is 32 bits wide
  bool between = true;
  while (!result.full && !result.cut) {
    if (stream.avail_in == 0) {
      if (bytes.empty()) break;
      // zlib's input pointer is not const in older versions; it never writes there.
      stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
      stream.avail_in = static_cast<uInt>(std::min(bytes.size(), kInput));
      bytes.remove_prefix(stream.avail_in);
    }
    stream.next_out = reinterpret_cast<Bytef*>(piece.data());
    stream.avail_out = static_cast<uInt>(piece.size());
    const int state = inflate(&stream, Z_NO_FLUSH);
    const std::size_t made = std::min(piece.size() - stream.avail_out, limit - result.text.size());
    result.text.append(piece.data(), made);
    result.full = result.text.size() >= limit;
    between = state == Z_STREAM_END;
    if (between) {
      if (inflateReset(&stream) != Z_OK) result.cut = true;
    } else if (state != Z_OK) {
      result.cut = true;
    }
  }
  inflateEnd(&stream);
  result.cut = result.cut || (!result.full && !between);
  return result;
}

}  // namespace angio::import
