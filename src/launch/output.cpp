#include "launch/output.hpp"

#include <algorithm>

namespace angio::launch {

std::size_t LineMerger::add_stream(std::string_view label) {
  const std::string bracketed = "[" + std::string(label) + "]";
  streams_.push_back({bracketed + " ", bracketed + "+", {}, false, false});
  return streams_.size() - 1;
}

void LineMerger::add(std::size_t stream, std::string_view bytes) {
  std::string& held = streams_[stream].held;
  const std::size_t last = bytes.rfind('\n');
  if (last != std::string_view::npos) {
    std::string_view whole = bytes.substr(0, last + 1);
    bytes.remove_prefix(last + 1);
    if (!held.empty()) {
      const std::size_t end = whole.find('\n') + 1;
      held += whole.substr(0, end);
      show(stream, held);
      held.clear();
      whole.remove_prefix(end);
    }
    while (!whole.empty()) {
      const std::size_t end = whole.find('\n') + 1;
      show(stream, whole.substr(0, end));
      whole.remove_prefix(end);
    }
  }
  held += bytes;
  if (held.size() >= kLongestLine) flush(stream);
}

void LineMerger::add_note(std::string_view line) {
  if (open_) ready_ += '\n';
  open_.reset();
  ready_ += line;
  ready_ += '\n';
}

void LineMerger::flush(std::size_t stream) {
  show(stream, streams_[stream].held);
  streams_[stream].held.clear();
}

void LineMerger::end(std::size_t stream) {
  flush(stream);
  if (open_ != stream) return;
  ready_ += '\n';
  open_.reset();
  streams_[stream].inside = false;
}

void LineMerger::show(std::size_t number, std::string_view text) {
  if (text.empty()) return;
  Stream& stream = streams_[number];
  if (open_ != number) {
    if (open_) ready_ += '\n';
    ready_ += stream.inside ? stream.again : stream.first;
    stream.after_return = false;
  }
  show_with_returns(stream, text);
  stream.inside = text.back() != '\n';
  open_ = stream.inside ? std::optional(number) : std::nullopt;
}

void LineMerger::show_with_returns(Stream& stream, std::string_view text) {
  for (;;) {
    if (stream.after_return && text.front() != '\n') ready_ += stream.first;
    const std::size_t at = text.find('\r');
    stream.after_return = at != std::string_view::npos;
    const std::string_view piece = text.substr(0, stream.after_return ? at + 1 : text.size());
    ready_ += piece;
    text.remove_prefix(piece.size());
    if (text.empty()) return;
  }
}

void LastWords::add(std::string_view bytes) {
  if (bytes.size() >= kMostBytes) {
    bytes_ = bytes.substr(bytes.size() - kMostBytes);
    return;
  }
  bytes_ += bytes;
  // Rarely, so that a storm of short lines is not moved byte by byte.
  if (bytes_.size() > 4 * kMostBytes) bytes_.erase(0, bytes_.size() - kMostBytes);
}

std::string LastWords::text() const {
  std::vector<std::string_view> lines;
  std::string_view rest = bytes_;
  const bool cut = rest.size() > kMostBytes;
  if (cut) rest.remove_prefix(rest.size() - kMostBytes);
  while (!rest.empty()) {
    const std::size_t end = rest.find_first_of("\r\n");
    const std::string_view line = rest.substr(0, end);
    if (!line.empty()) lines.push_back(line);
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
  }
  std::string text;
  for (std::size_t i = lines.size() - std::min(lines.size(), kMostLines); i < lines.size(); ++i)
    text += std::string(lines[i]) + "\n";
  return text;
}

}  // namespace angio::launch
