#include "nccl_run/last_lines.hpp"

#include <algorithm>
#include <vector>

#include "base/text.hpp"

namespace angio::nccl_run {

void LastLines::add(std::string_view bytes) {
  cut_ = cut_ || bytes_.size() + bytes.size() > kMostBytes;
  if (bytes.size() > kMostBytes) bytes.remove_prefix(bytes.size() - kMostBytes);
  bytes_ += bytes;
  if (bytes_.size() > 2 * kMostBytes) bytes_.erase(0, bytes_.size() - kMostBytes);
}

std::string LastLines::text() const {
  std::string_view bytes = bytes_;
  if (bytes.size() > kMostBytes) bytes.remove_prefix(bytes.size() - kMostBytes);
  if (cut_) {
    const std::size_t first_end = bytes.find('\n');  // half a line at the front
    if (first_end != bytes.npos) bytes.remove_prefix(first_end + 1);
  }
  std::vector<std::string_view> lines = split_lines(bytes);
  std::erase_if(lines, [](std::string_view line) { return trim(line).empty(); });
  std::string text;
  for (std::size_t i = lines.size() - std::min(lines.size(), kMostLines); i < lines.size(); ++i)
    text += printable(lines[i]) + "\n";
  return text;
}

std::string LineCutter::add(std::string_view bytes) {
  const std::size_t end = bytes.rfind('\n');
  std::string whole;
  if (end != bytes.npos) {
    whole = std::move(held_);
    whole += bytes.substr(0, end + 1);
    held_.clear();
    bytes.remove_prefix(end + 1);
  }
  held_ += bytes;
  if (held_.size() > kLongest) whole += this->end();
  return whole;
}

std::string LineCutter::end() {
  if (held_.empty()) return {};
  std::string rest = std::move(held_);
  held_.clear();
  rest += '\n';
  return rest;
}

}  // namespace angio::nccl_run
