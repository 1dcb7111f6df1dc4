// Lines that are not NCCL's own but speak of it: the bare version line, PyTorch's exceptions with NCCL's last
// error, programs that print the error string.
#include <algorithm>
#include <cstring>

#include "import/nccl_log/events.hpp"
#include "import/nccl_log/parser.hpp"

namespace angio::import::nccl_log {

namespace {

bool is_digit(char letter) {
  return letter >= '0' && letter <= '9';
}

// Without "[rank9]: " and the like.
std::string_view without_prefix(std::string_view line) {
  if (line.starts_with('[')) {
    const auto end = line.find("]: ");
    if (end != std::string_view::npos && end < 40) line.remove_prefix(end + 3);
  }
  return line;
}

}  // namespace

// The letter C is rare enough: most lines of a training log cost one memchr.
void Parser::foreign(std::string_view line) {
  if (error_follows_) {
    error_follows_ = false;
    const auto text = without_prefix(line);
    if (classify(text) != model::NcclEventKind::kOtherWarning) foreign_error(line, text);
    return;
  }
  if (wrapped_event_ != Members::kNone && wrapped_line_ + 1 == source_.line) add_wrapped(line);
  if (line.ends_with("Last error:")) error_follows_ = true;
  for (std::size_t at = line.find('C'); at != std::string_view::npos; at = line.find('C', at + 1)) {
    const auto rest = line.substr(at);
    if (at > 0 && rest.starts_with("CCL version ")) {
      foreign_version(line, at);
      return;
    }
    if (rest.starts_with("Call to ibv_") || rest.starts_with("Connection closed by remote peer ")) {
      foreign_error(line, rest);
      return;
    }
  }
}

// A warning that a mail program or a terminal broke in two.
void Parser::add_wrapped(std::string_view line) {
  auto& event = log_.events[wrapped_event_];
  constexpr std::string_view kVendor = "vendor err ";
  const auto at = line.find(kVendor);
  if (event.kind != model::NcclEventKind::kCompletionError || event.vendor_error ||
      at == std::string_view::npos)
    return;
  Scan scan(line.substr(at + kVendor.size()));
  std::uint32_t value = 0;
  if (scan.number(value)) event.vendor_error = value;
}

void Parser::foreign_version(std::string_view line, std::size_t at) {
  const bool is_rccl = line[at - 1] == 'R';
  if (!is_rccl && line[at - 1] != 'N') return;
  auto text = line.substr(at + std::string_view("CCL version ").size());
  if (text.starts_with(": ")) text.remove_prefix(2);
  if (text.empty() || !is_digit(text.front())) return;
  const auto before = loose_.size();
  version(text, is_rccl, model::kNoNcclIndex, source_);
  if (loose_.size() == before) return;
  loose_.back().launcher_rank = find_launcher_rank(line.substr(0, at - 1));
  // ncclras prints "NCCL version 2.28.9 compiled with CUDA 13.0".
  loose_.back().is_bare = at == 1 && text.find(' ') == std::string_view::npos;
}

// An error that a program printed: of no process that could be named.
void Parser::foreign_error(std::string_view line, std::string_view text) {
  Envelope envelope;
  envelope.prefix = line.substr(0, static_cast<std::size_t>(text.data() - line.data()));
  Message message{text, find_thread(envelope), 0, source_, &envelope};
  message.process = threads_[message.thread].process;
  event(message, classify(text), false);
}

}  // namespace angio::import::nccl_log
