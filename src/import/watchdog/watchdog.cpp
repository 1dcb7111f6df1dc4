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
  const std::string kind = fmt::format("timeout {} {}", timeout.sequence, timeout.operation);
  if (!seen_.emplace(kind, rank_text(timeout.rank)).second) return true;
  if (report_.timeouts.size() < kMostTimeouts) {
    report_.timeouts.push_back(std::move(timeout));
  } else {
    ++report_.left_out;
  }
  return true;
}

bool LineReader::read_progress(const Source& source, std::string_view line) {
  WatchdogProgress progress;
  for (const std::string_view word : {"last enqueued work:", "last enqueued NCCL work:"}) {
    if (!progress.enqueued) progress.enqueued = number_after<std::int64_t>(line, word);
  }
  if (!progress.enqueued) return false;
  for (const std::string_view word : {"last completed work:", "last completed NCCL work:"}) {
    if (!progress.completed) progress.completed = number_after<std::int64_t>(line, word);
  }
  progress.rank = rank_of(line);
  std::string guid;
  name_group(line, progress.group, guid);
  progress.source = source;
  if (!seen_.emplace("progress " + progress.group, rank_text(progress.rank)).second) return true;
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
                      contains(line, "NCCL error") || contains(line, "last enqueued") ||
                      contains(line, "eartbeat monitor");
  if (!speaks || contains(line, "NCCL INFO")) return;
  const bool timeout = read_timeout(source, line);
  const bool progress = read_progress(source, line);
  const bool found = timeout || progress || read_error(source, line);
  if (found && report_.lines++ == 0) report_.source = source;
}

}  // namespace angio::import::watchdog
