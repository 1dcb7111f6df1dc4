// Bytes to lines: gzip or plain, pieces of any size.
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>

#include "import/nccl_log/nccl_log.hpp"
#include "import/nccl_log/parser.hpp"

namespace angio::import::nccl_log {

namespace {

// NCCL's own lines stay below 4 KiB (paths of 72 GPUs); the rest of a longer line is passed over.
constexpr std::size_t kMaxLine = std::size_t{64} << 10U;
constexpr std::size_t kOutput = std::size_t{256} << 10U;
constexpr std::size_t kPiece = std::size_t{128} << 10U;
constexpr std::string_view kMagic = "\x1f\x8b";

// The letters that make a line worth cleaning: escapes, and carriage returns that are no line ends.
bool has_dirt(std::string_view bytes) {
  return std::memchr(bytes.data(), '\x1b', bytes.size()) != nullptr ||
         std::memchr(bytes.data(), '\r', bytes.size()) != nullptr;
}

// Lines out of pieces. What is left of a piece waits for the next.
class Splitter {
 public:
  // A whole file may come at once: in pieces that stay in the processor's cache.
  void feed(std::string_view bytes, Parser& parser) {
    parser.add_bytes(bytes.size());
    for (; bytes.size() > kPiece; bytes.remove_prefix(kPiece))
      feed_piece(bytes.substr(0, kPiece), parser);
    feed_piece(bytes, parser);
  }
  void end(Parser& parser) {
    if (started_) flush(parser);
    dirty_ = false;
  }

 private:
  void feed_piece(std::string_view bytes, Parser& parser) {
    const bool dirt = !bytes.empty() && has_dirt(bytes);
    dirty_ = dirty_ || dirt;
    std::size_t at = 0;
    while (at < bytes.size()) {
      const auto* end = static_cast<const char*>(std::memchr(bytes.data() + at, '\n', bytes.size() - at));
      if (end == nullptr) {
        keep(bytes.substr(at));
        return;
      }
      const auto length = static_cast<std::size_t>(end - bytes.data()) - at;
      if (started_) {
        keep(bytes.substr(at, length));
        flush(parser);
        dirty_ = dirt;
      } else {
        whole(bytes.substr(at, length), parser);
      }
      at += length + 1;
    }
  }
  void whole(std::string_view line, Parser& parser) {
    if (line.size() > kMaxLine) parser.note_long_line();
    parser.line(line.substr(0, kMaxLine), dirty_);
  }
  void keep(std::string_view bytes) {
    started_ = true;
    const auto room = kMaxLine - std::min(rest_.size(), kMaxLine);
    too_long_ = too_long_ || bytes.size() > room;
    rest_.append(bytes.substr(0, room));
  }
  void flush(Parser& parser) {
    if (too_long_) parser.note_long_line();
    parser.line(rest_, dirty_);
    rest_.clear();
    started_ = false;
    too_long_ = false;
  }

  std::string rest_;
  bool started_ = false;
  bool too_long_ = false;
  bool dirty_ = false;
};

// RFC 1952, one member behind another.
class Inflater {
 public:
  Inflater() : output_(kOutput, '\0') { good_ = inflateInit2(&stream_, 15 + 16) == Z_OK; }
  ~Inflater() { inflateEnd(&stream_); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  template <typename Use>
  void feed(std::string_view bytes, Use use) {
    while (!bytes.empty() && good_) {
      const auto piece = bytes.substr(0, std::size_t{1} << 30U);
      bytes.remove_prefix(piece.size());
      inflate_piece(piece, use);
    }
  }
  // Ended where a member ends.
  [[nodiscard]] bool is_whole() const { return good_ && between_; }

 private:
  template <typename Use>
  void inflate_piece(std::string_view piece, Use use) {
    // zlib's input pointer is not const in older versions; it never writes there.
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(piece.data()));
    stream_.avail_in = static_cast<uInt>(piece.size());
    while (good_) {
      stream_.next_out = reinterpret_cast<Bytef*>(output_.data());
      stream_.avail_out = static_cast<uInt>(output_.size());
      const int result = inflate(&stream_, Z_NO_FLUSH);
      const auto made = output_.size() - stream_.avail_out;
      if (made > 0) use(std::string_view(output_.data(), made));
      between_ = result == Z_STREAM_END;
      if (result == Z_STREAM_END) {
        good_ = inflateReset(&stream_) == Z_OK;
        if (stream_.avail_in == 0) return;
      } else if (result == Z_BUF_ERROR ||
                 (result == Z_OK && stream_.avail_in == 0 && stream_.avail_out != 0)) {
        return;
      } else if (result != Z_OK) {
        good_ = false;
      }
    }
  }

  z_stream stream_{};
  std::string output_;
  bool good_ = false;
  bool between_ = true;
};

}  // namespace

bool is_gzip(std::string_view bytes) {
  return bytes.starts_with(kMagic);
}

bool looks_like(std::string_view bytes) {
  std::size_t at = 0;
  while (const auto anchor = find_anchor(bytes, at)) {
    const auto start = anchor->at == 0 ? 0 : bytes.rfind('\n', anchor->at - 1) + 1;
    if (parse_envelope(bytes.substr(start, anchor->at - start))) return true;
    at = anchor->message;
  }
  for (const std::string_view words : {"NCCL version 2.", "RCCL version 2.", "RCCL version : 2."}) {
    const auto found = bytes.find(words);
    if (found != std::string_view::npos &&
        (found == 0 || bytes[found - 1] == '\n' || bytes[found - 1] == ' '))
      return true;
  }
  return false;
}

// The state of the file that is being read.
struct Stream {
  std::string name;
  std::string head;  // the first bytes, until it is told what they are
  Splitter splitter;
  std::unique_ptr<Inflater> inflater;
  bool known = false;
};

class LogState {
 public:
  Parser parser;
  Stream stream;

  void start() {
    stream.known = true;
    const bool gzip = is_gzip(stream.head);
    parser.begin(stream.name, gzip);
    if (gzip) stream.inflater = std::make_unique<Inflater>();
    const auto head = std::move(stream.head);
    read(head);
  }
  void read(std::string_view bytes) {
    if (stream.inflater) {
      stream.inflater->feed(bytes, [&](std::string_view plain) { stream.splitter.feed(plain, parser); });
    } else {
      stream.splitter.feed(bytes, parser);
    }
  }
};

Log::Log() : state_(std::make_unique<LogState>()) {}
Log::~Log() = default;
Log::Log(Log&&) noexcept = default;
Log& Log::operator=(Log&&) noexcept = default;

void Log::on_other_line(OtherLine use) {
  state_->parser.on_other_line(std::move(use));
}

void Log::begin(const std::string& name) {
  end();
  state_->stream = Stream{};
  state_->stream.name = name;
  is_open_ = true;
}

void Log::feed(std::string_view bytes) {
  if (!is_open_ || bytes.empty()) return;
  auto& stream = state_->stream;
  if (stream.known) {
    state_->read(bytes);
    return;
  }
  const auto wanted = std::min(bytes.size(), kMagic.size() - stream.head.size());
  stream.head.append(bytes.substr(0, wanted));
  if (stream.head.size() < kMagic.size()) return;
  state_->start();
  if (wanted < bytes.size()) state_->read(bytes.substr(wanted));
}

void Log::end() {
  if (!is_open_) return;
  if (!state_->stream.known) state_->start();
  state_->stream.splitter.end(state_->parser);
  if (state_->stream.inflater && !state_->stream.inflater->is_whole()) state_->parser.note_gzip_cut();
  state_->parser.end();
  is_open_ = false;
}

void Log::add(std::string_view bytes, const std::string& name) {
  begin(name);
  feed(bytes);
  end();
}

model::NcclLog Log::take() {
  end();
  return state_->parser.take();
}

model::NcclLog parse_log(std::string_view bytes, const std::string& name) {
  Log log;
  log.add(bytes, name);
  return log.take();
}

}  // namespace angio::import::nccl_log
