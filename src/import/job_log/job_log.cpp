#include "import/job_log/job_log.hpp"

#include <algorithm>
#include <utility>

#include "base/text.hpp"
#include "import/job_log/memory_line.hpp"

namespace angio::import::job_log {
namespace {

using model::MemoryEvent;
using model::MemoryTrouble;
using model::OomConstraint;

// A traceback's frames stand above its error; PyTorch's are rarely longer.
constexpr std::uint32_t kTracebackLines = 40;
// Logs hold progress bars of any length.
constexpr std::size_t kLongestScanned = 4096;

bool same_kind(const MemoryEvent& a, const MemoryEvent& b) {
  return a.kind == b.kind && a.constraint == b.constraint && a.policy_nodes == b.policy_nodes;
}

// "Killed process 12 (python)" repeats the summary line that stands just above it: one kill, not two.
bool repeats_kill(const MemoryEvent& earlier, const MemoryEvent& event) {
  return earlier.kind == MemoryTrouble::kKernel && event.kind == MemoryTrouble::kKernel &&
         event.pid.has_value() && earlier.pid == event.pid;
}

std::vector<MemoryEvent> read_events(const std::vector<Line>& lines, std::uint32_t place) {
  MemoryReader reader(place);
  for (const Line& line : lines)
    reader.read(line.number, line.text);
  return reader.take();
}

}  // namespace

void MemoryReader::read(std::uint32_t number, std::string_view line) {
  const std::string_view text = line.substr(0, kLongestScanned);
  if (speaks_of_pinning(text)) pinning_ = number;
  std::optional<MemoryEvent> event = parse_memory_line(text);
  if (!event) return;
  const bool pinned = pinning_ != 0 && number - pinning_ <= kTracebackLines;
  if (event->kind == MemoryTrouble::kCudaEither && pinned) event->kind = MemoryTrouble::kPinned;
  event->text = quoted(trim(text));
  event->source = {place_, number, ""};
  add(std::move(*event));
}

void MemoryReader::add(MemoryEvent event) {
  const auto repeated = [&](const MemoryEvent& known) { return repeats_kill(known, event); };
  if (std::ranges::any_of(events_, repeated)) return;
  const auto known =
      std::ranges::find_if(events_, [&](const MemoryEvent& each) { return same_kind(each, event); });
  if (known == events_.end()) {
    events_.push_back(std::move(event));
  } else {
    ++known->count;
  }
}

bool looks_like(const std::vector<Line>& lines) {
  return std::ranges::any_of(lines, [](const Line& line) {
    return parse_memory_line(line.text.substr(0, kLongestScanned)).has_value();
  });
}

model::Machine import_log(const std::vector<Line>& lines, const std::string& name, Draft draft) {
  draft.machine.logs.push_back({name, read_events(lines, draft.at(0).place)});
  return std::move(draft.machine);
}

}  // namespace angio::import::job_log
