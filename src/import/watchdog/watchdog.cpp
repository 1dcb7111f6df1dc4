#include "import/watchdog/watchdog.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"

namespace angio::import::watchdog {
namespace {

using model::Source;
using model::WatchdogError;
using model::WatchdogErrorKind;
using model::WatchdogProgress;
using model::WatchdogTimeout;

constexpr std::size_t kLongestLine = 8192;
constexpr std::size_t kLongestText = 400;
constexpr std::size_t kMostTimeouts = 65'536;  // ranks times groups of a large job
constexpr std::size_t kMostErrors = 4096;

std::string_view after(std::string_view line, std::string_view mark) {
  const std::size_t at = line.find(mark);
  return at == std::string_view::npos ? std::string_view() : line.substr(at + mark.size());
}

template <typename Number>
std::optional<Number> number_after(std::string_view line, std::string_view mark) {
  std::string_view rest = after(line, mark);
  while (rest.starts_with(' '))
    rest.remove_prefix(1);
  const std::size_t end = rest.find_first_not_of("-0123456789");
  return parse_integer<Number>(rest.substr(0, end));
}

// "[rank9]:", "[Rank 9]", "[PG 0 Rank 9]", "[PG ID 1 PG GUID 1(default_pg) Rank 1]"
std::optional<std::uint32_t> rank_of(std::string_view line) {
  for (std::size_t at = line.find("ank"); at != std::string_view::npos; at = line.find("ank", at + 3)) {
    if (at == 0 || (line[at - 1] != 'r' && line[at - 1] != 'R')) continue;
    std::string_view rest = line.substr(at + 3);
    if (rest.starts_with(' ')) rest.remove_prefix(1);
    const std::size_t end = rest.find_first_not_of("0123456789");
    if (end == std::string_view::npos || end == 0 || rest[end] != ']') continue;
    if (const auto rank = parse_integer<std::uint32_t>(rest.substr(0, end))) return rank;
  }
  return std::nullopt;
}

// What stands between "[PG " and " Rank": "0", "ID 1 PG GUID 1(default_pg)".
std::string_view group_text(std::string_view line) {
  const std::string_view rest = after(line, "[PG ");
  const std::size_t end = rest.find(" Rank ");
  return end == std::string_view::npos || end > 200 ? std::string_view() : rest.substr(0, end);
}

void name_group(std::string_view line, std::string& group, std::string& guid) {
  std::string_view text = group_text(line);
  if (text.starts_with("ID ")) text.remove_prefix(3);
  const std::size_t cut = text.find(" PG GUID ");
  group = printable(text.substr(0, cut));
  if (cut != std::string_view::npos) guid = printable(text.substr(cut + 9));
}

std::string_view value_of(std::string_view work, std::string_view key) {
  const std::string_view rest = after(work, key);
  return rest.substr(0, rest.find_first_of(",)"));
}

std::string cut(std::string_view line) {
  return printable(trim(line).substr(0, kLongestText));
}

// One group's lines are its own: two groups of one name have different GUIDs. The group of all ranks is
// number 0; lines of older versions, and those without a group, are of it.
std::string group_key(std::string_view kind, std::string_view group, std::string_view guid) {
  const bool all_ranks = group.empty() || group == "0" || contains(guid, "default_pg");
  return all_ranks ? std::string(kind) : fmt::format("{} {} {}", kind, group, guid);
}

// The first of the words with either case of its first letter: "Last enqueued NCCL work: 498".
std::optional<std::int64_t> work_after(std::string_view line, std::string_view word) {
  for (const std::string_view what : {" work:", " NCCL work:"}) {
    if (const auto found = number_after<std::int64_t>(line, std::string(word) + std::string(what)))
      return found;
  }
  return std::nullopt;
}

std::string rank_text(const std::optional<std::uint32_t>& rank) {
  return rank ? std::to_string(*rank) : std::string();
}

constexpr std::string_view kResults[] = {"ncclSystemError",     "ncclInternalError", "ncclInvalidUsage",
                                         "ncclInvalidArgument", "ncclRemoteError",   "ncclUnhandledCudaError",
                                         "ncclTimeout"};

}  // namespace

bool LineReader::read_timeout(const Source& source, std::string_view line) {
  const std::string_view work = after(line, "atchdog caught collective operation timeout:");
  if (work.empty()) return false;
  WatchdogTimeout timeout;
  timeout.rank = rank_of(line);
  name_group(line, timeout.group, timeout.guid);
  timeout.sequence = parse_integer<std::uint64_t>(value_of(work, "SeqNum=")).value_or(0);
  timeout.operation = printable(value_of(work, "OpType="));
  timeout.elements_in = parse_integer<std::uint64_t>(value_of(work, "NumelIn="));
  timeout.elements_out = parse_integer<std::uint64_t>(value_of(work, "NumelOut="));
  timeout.limit_ms = parse_integer<std::uint64_t>(value_of(work, "Timeout(ms)="));
  timeout.ran_ms = number_after<std::uint64_t>(work, ") ran for ");
  timeout.text = cut(line);
  timeout.source = source;
  // The exception that ends the process repeats the line, with another prefix: the first is the fact.
  const std::string what = fmt::format("timeout {} {}", timeout.sequence, timeout.operation);
  const std::string kind = group_key(what, timeout.group, timeout.guid);
  const bool fresh = seen_.emplace(kind, rank_text(timeout.rank)).second;
  const bool in_any_group = !seen_.emplace("any " + what, rank_text(timeout.rank)).second;
  if (!fresh || (timeout.group.empty() && in_any_group)) return true;
  if (report_.timeouts.size() < kMostTimeouts) {
    report_.timeouts.push_back(std::move(timeout));
  } else {
    ++report_.left_out;
  }
  return true;
}

bool LineReader::read_progress(const Source& source, std::string_view line) {
  WatchdogProgress progress;
  progress.enqueued = work_after(line, "ast enqueued");
  if (!progress.enqueued) return false;
  progress.completed = work_after(line, "ast completed");
  progress.rank = rank_of(line);
  name_group(line, progress.group, progress.guid);
  progress.source = source;
  if (!seen_.emplace(group_key("progress", progress.group, progress.guid), rank_text(progress.rank)).second)
    return true;
  if (report_.progress.size() < kMostTimeouts) report_.progress.push_back(std::move(progress));
  return true;
}

void LineReader::add_error(WatchdogError error) {
  // Every rank and every frame repeats it; one of each kind, rank and result.
  const std::string kind = fmt::format("error {} {}", static_cast<int>(error.kind), error.result);
  if (!seen_.emplace(kind, rank_text(error.rank)).second) return;
  if (report_.errors.size() < kMostErrors) {
    report_.errors.push_back(std::move(error));
  } else {
    ++report_.left_out;
  }
}

bool LineReader::read_error(const Source& source, std::string_view line) {
  WatchdogError error;
  error.rank = rank_of(line);
  error.text = cut(line);
  error.source = source;
  const bool differs = contains(line, "Detected mismatch between collectives on ranks");
  const bool report = contains(line, "joined but didn't finish collective #") ||
                      contains(line, "but didn't join collective #");
  if (differs || report) {
    error.kind = WatchdogErrorKind::kDesync;
    error.result = report ? cut(line).substr(0, 60) : "";
    add_error(std::move(error));
    return true;
  }
  if (contains(line, "eartbeat monitor timed out") || contains(line, "watchdog got stuck for")) {
    error.kind = WatchdogErrorKind::kHeartbeat;
    add_error(std::move(error));
    return true;
  }
  const bool terminated = contains(line, "watchdog thread terminated with exception");
  const std::string_view nccl = after(line, "NCCL error");
  if (nccl.empty() && !terminated) return false;
  if (contains(line, "collective operation timeout")) return true;  // told by read_timeout
  const bool spoken = terminated || contains(line, "DistBackendError") || contains(line, "RuntimeError") ||
                      contains(line, "ProcessGroupNCCL") || contains(line, "NCCLUtils");
  if (!spoken) return false;
  error.kind = terminated ? WatchdogErrorKind::kAsync : WatchdogErrorKind::kNccl;
  std::string_view version = after(line, "NCCL version ");
  error.version = printable(version.substr(0, version.find_first_of(" ,+")));
  add_error(std::move(error));
  return true;
}

// Slurm's and the store's words on processes that are gone or never came.
bool LineReader::read_launcher(const Source& source, std::string_view line) {
  WatchdogError error;
  error.text = cut(line);
  error.source = source;
  if (const std::size_t at = line.find(" clients joined"); at != std::string_view::npos) {
    const std::size_t blank = line.rfind(' ', at == 0 ? 0 : at - 1);
    const std::string_view share = line.substr(blank + 1, at - blank - 1);
    if (share.find('/') == std::string_view::npos || share.size() > 24) return false;
    error.kind = WatchdogErrorKind::kUnjoined;
    error.result = printable(share);
    error.rank = rank_of(line);
    add_error(std::move(error));
    return true;
  }
  if (contains(line, "Job step aborted") || contains(line, "CANCELLED AT")) ended_ = true;
  // "srun: error: node-b: task 9: Killed"; of several tasks the first to die cannot be told.
  const std::string_view rest = after(line, "srun: error: ");
  const std::size_t task = rest.find(": task ");
  if (task == std::string_view::npos || ended_) return false;
  ended_ = true;
  constexpr std::string_view kDeaths[] = {"Killed", "Out Of Memory", "Segmentation fault", "Bus error",
                                          "Aborted"};
  const std::string_view how = after(rest.substr(task + 7), ": ");
  const auto* death = std::ranges::find_if(kDeaths, [&](auto word) { return how.starts_with(word); });
  if (death == std::end(kDeaths)) return false;
  error.kind = WatchdogErrorKind::kKilled;
  error.result = *death;
  error.host = printable(rest.substr(0, task));
  error.rank = number_after<std::uint32_t>(rest, ": task ");
  add_error(std::move(error));
  return true;
}

// "[rank7]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB": the last line of a
// trace, not indented. Errors of the process group are the others' business.
void LineReader::read_exception(const Source& source, std::string_view line) {
  const std::size_t bracket = line.find("[rank");
  const std::size_t end = bracket > 40 ? std::string_view::npos : line.find("]: ", bracket);
  if (end == std::string_view::npos || end - bracket > 15) return;
  const std::string_view text = line.substr(end + 3);
  const std::string_view name = text.substr(0, text.find(": "));
  const bool is_word = name.size() < 80 && name.find_first_of(" \t\"'()[]") == std::string_view::npos;
  if (!is_word || !(name.ends_with("Error") || name.ends_with("Exception"))) return;
  for (const std::string_view echo : {"Dist", "Connection", "BrokenPipe", "ChildFailed", "nccl"})
    if (name.substr(name.rfind('.') + 1).starts_with(echo)) return;
  if (contains(text, "NCCL") || contains(text, "ProcessGroup") || contains(text, "Connection")) return;
  WatchdogError error;
  error.rank = rank_of(line);
  if (!error.rank) return;
  const bool memory = contains(name, "OutOfMemory") || contains(text, "out of memory");
  error.kind = memory ? WatchdogErrorKind::kNoMemory : WatchdogErrorKind::kException;
  error.result = printable(name.substr(name.rfind('.') + 1));
  error.text = cut(line);
  error.source = source;
  add_error(std::move(error));
}

// "ncclSystemError: …", then "Last error:" and its text belong to the exception above.
bool LineReader::read_result(const Source& source, std::string_view line) {
  if (expect_last_error_ != 0 && source.line == expect_last_error_) {
    expect_last_error_ = 0;
    if (!report_.errors.empty() && report_.errors.back().last_error.empty() && !trim(line).empty()) {
      report_.errors.back().last_error = cut(line);
      report_.errors.back().last_error_source = source;
    }
    return true;
  }
  if (report_.errors.empty()) return false;
  WatchdogError& error = report_.errors.back();
  if (error.kind != WatchdogErrorKind::kNccl && error.kind != WatchdogErrorKind::kAsync) return false;
  if (source.place != error.source.place || source.line - error.source.line > 3) return false;
  for (const std::string_view result : kResults) {
    const std::size_t at = line.find(result);
    if (at == std::string_view::npos || line.substr(at + result.size(), 1) != ":") continue;
    if (error.result.empty()) error.result = result;
    return true;
  }
  const std::size_t at = line.find("Last error:");
  if (at == std::string_view::npos) return false;
  if (const std::string_view same = trim(line.substr(at + 11)); !same.empty()) {
    error.last_error = cut(same);
    error.last_error_source = source;
  } else {
    expect_last_error_ = source.line + 1;
  }
  return true;
}

void LineReader::read(std::uint32_t place, std::uint32_t number, std::string_view line) {
  line = line.substr(0, kLongestLine);
  if (place != place_) expect_last_error_ = 0;
  place_ = place;
  const Source source{place, number, ""};
  if (read_result(source, line)) return;
  // Nearly no line of a log is of interest: one search each for words that all of them hold.
  const bool speaks = contains(line, "ollective") || contains(line, "atchdog") ||
                      contains(line, "NCCL error") || contains(line, "ast enqueued") ||
                      contains(line, "eartbeat monitor");
  const bool of_launcher =
      contains(line, "srun: ") || contains(line, "slurmstepd: ") || contains(line, " clients joined");
  if (of_launcher && read_launcher(source, line)) {
    if (report_.lines++ == 0) report_.source = source;
    return;
  }
  if (!speaks && line.size() > 5 && contains(line, "[rank")) read_exception(source, line);
  if (!speaks || contains(line, "NCCL INFO")) return;
  const bool timeout = read_timeout(source, line);
  const bool progress = read_progress(source, line);
  const bool found = timeout || progress || read_error(source, line);
  if (found && report_.lines++ == 0) report_.source = source;
}

}  // namespace angio::import::watchdog
