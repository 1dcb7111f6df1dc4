#include "dryrun/log_taker.hpp"

#include <algorithm>

namespace angio::dryrun {
namespace {

constexpr std::size_t kMostMarks = std::size_t{1} << 20U;  // ours; a run has hundreds

}  // namespace

LogTaker::State::State(const std::string& name) {
  reader.begin(name);
}

// Lines are counted as the reader counts them, so that marks and places agree.
void LogTaker::State::find_marks(std::string_view text) {
  std::uint64_t line = lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    ++line;
    if (const auto operation = nccl_run::parse_operation_mark(text.substr(0, end));
        operation && marks.size() < kMostMarks)
      marks.push_back({*operation, line});
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

LogTaker::LogTaker(const std::string& name) : state_(std::make_unique<State>(name)) {}
LogTaker::~LogTaker() = default;
LogTaker::LogTaker(LogTaker&&) noexcept = default;
LogTaker& LogTaker::operator=(LogTaker&&) noexcept = default;

void LogTaker::feed(std::uint32_t node, std::string_view lines) {
  if (lines.empty()) return;
  State& state = *state_;
  if (node == 0) state.find_marks(lines);
  state.lines += static_cast<std::uint64_t>(std::ranges::count(lines, '\n'));
  state.reader.feed(lines);
  if (lines.back() == '\n') return;
  ++state.lines;  // a process that died in the middle of a line: the next line is another's
  state.reader.feed("\n");
}

}  // namespace angio::dryrun
