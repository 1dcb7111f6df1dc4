#include "import/nccl_ras/nccl_ras.hpp"

#include <algorithm>
#include <utility>

#include "base/text.hpp"

namespace angio::import::nccl_ras {
namespace {

using model::RasCommunicator;
using model::RasGroup;
using model::RasMismatch;
using model::RasProblem;
using model::RasRank;
using model::RasReport;

constexpr std::size_t kLongestLine = 2000;
// Hostile text; the service itself prints at most half of the ranks of a communicator.
constexpr std::size_t kMostReports = 1024;
constexpr std::size_t kMostItems = 65'536;

std::string_view after(std::string_view line, std::string_view mark) {
  const std::size_t at = line.find(mark);
  return at == std::string_view::npos ? std::string_view() : line.substr(at + mark.size());
}
std::string_view first_word(std::string_view text) {
  text = trim(text);
  return text.substr(0, text.find_first_of(" \t,"));
}

// "Rank 6 -- GPU 6 managed by process 3467978 on node 10.194.132.77" and the words of processes that managing
// "GPU 5", "GPUs 0,1".
RasRank parse_rank(std::string_view line) {
  RasRank rank;
  if (line.starts_with("Rank "))
    rank.rank = parse_integer<std::uint32_t>(first_word(line.substr(5))).value_or(0);
  rank.pid = parse_integer<std::uint64_t>(first_word(after(line, "rocess "))).value_or(0);
  rank.host = printable(first_word(after(line, "on node ")));
  std::string_view gpus = after(line, "GPU");
  if (gpus.starts_with("s")) gpus.remove_prefix(1);
  rank.gpus = printable(first_word(gpus));
  return rank;
}

// "26 ranks have …", "1 rank has …", "Rank 7 has …": how many, and what they have.
struct Count {
  std::uint32_t ranks = 0;
  bool single = false;
  std::string_view words;
};
std::optional<Count> parse_count(std::string_view line) {
  const std::string_view number = first_word(line);
  if (line.starts_with("Rank ")) {
    const std::string_view rest = after(line, " has ");
    if (rest.empty()) return std::nullopt;
    return Count{1, true, rest};
  }
  const auto ranks = parse_integer<std::uint32_t>(number);
  if (!ranks) return std::nullopt;
  std::string_view rest = after(line, " ranks have ");
  if (rest.empty()) rest = after(line, " rank has ");
  return rest.empty() ? std::nullopt : std::optional(Count{*ranks, false, rest});
}

bool is_upper_word(std::string_view word) {
  return !word.empty() &&
         std::ranges::all_of(word, [](char c) { return (c >= 'A' && c <= 'Z') || c == '_'; });
}

}  // namespace

void RasReader::close() {
  if (!current_) return;
  const bool worth = !current_->groups.empty() || !current_->problems.empty() ||
                     !current_->communicators.empty() || current_->nodes;
  if (worth && reports_.size() < kMostReports) reports_.push_back(std::move(*current_));
  current_.reset();
  section_ = Section::kNone;
  in_communicator_ = mismatch_ = false;
}

std::vector<RasReport> RasReader::take() {
  close();
  return std::move(reports_);
}

bool RasReader::read_version(std::uint32_t number, std::string_view line) {
  // The answer's own first line; NCCL's log has the same words behind an envelope, which does not start a
  // line.
  for (const std::string_view library : {"NCCL", "RCCL"}) {
    if (!line.starts_with(library) || !line.substr(4).starts_with(" version ") ||
        !contains(line, "compiled with"))
      continue;
    close();
    current_ = RasReport{};
    current_->library = library;
    current_->version = printable(first_word(line.substr(13)));
    current_->source = {place_, number, ""};
    return true;
  }
  return false;
}

bool RasReader::read_heading(std::uint32_t number, std::string_view line) {
  if (line == "Job summary") {
    if (!current_ || section_ != Section::kNone) {
      close();
      current_ = RasReport{};
      current_->source = {place_, number, ""};
    }
    section_ = Section::kSummary;
    return true;
  }
  if (!current_) {
    // An excerpt may begin with a table or a list.
    const bool excerpt =
        line.starts_with("Communicators... (") || (line.starts_with("#") && contains(line, ") MISMATCH"));
    if (!excerpt) return false;
    current_ = RasReport{};
    current_->source = {place_, number, ""};
    if (line.starts_with("#")) section_ = Section::kWarnings;
  }
  if (line.starts_with("Communicators... (")) {
    section_ = Section::kGroups;
    return true;
  }
  if (line == "Errors" || line == "Warnings") {
    section_ = line == "Errors" ? Section::kErrors : Section::kWarnings;
    current_->saw_errors = true;
    in_communicator_ = mismatch_ = false;
    return true;
  }
  return false;
}

// "[2025-12-19 13:07:07] PEER_DEAD: Process 1524345 on node 172.16.64.245 managing GPU 1"
bool RasReader::read_event(std::uint32_t number, std::string_view line) {
  if (!line.starts_with("[") || !contains(line, "] PEER_")) return false;
  const std::string_view rest = after(line, "] ");
  const std::size_t colon = rest.find(':');
  if (colon == std::string_view::npos || !is_upper_word(rest.substr(0, colon))) return false;
  if (!current_) {
    current_ = RasReport{};
    current_->source = {place_, number, ""};
  }
  if (current_->problems.size() >= kMostItems) return true;
  RasProblem problem;
  problem.kind = rest.substr(0, colon);
  problem.text = printable(line);
  problem.source = {place_, number, ""};
  problem.processes.push_back(parse_rank(trim(rest.substr(colon + 1))));
  problem.processes.back().source = problem.source;
  current_->problems.push_back(std::move(problem));
  return true;
}

void RasReader::read_counts(std::string_view line) {
  const std::vector<std::string_view> words = split_words(line);
  if (words.size() < 5 || current_->nodes) return;
  const auto nodes = parse_integer<std::uint32_t>(words[0]);
  if (!nodes) return;
  current_->nodes = nodes;
  current_->processes = parse_integer<std::uint32_t>(words[3]);
  current_->gpus = parse_integer<std::uint32_t>(words[4]);
}

void RasReader::read_group(std::uint32_t number, std::string_view line) {
  const std::vector<std::string_view> words = split_words(line);
  if (words.size() < 8 || current_->groups.size() >= kMostItems) return;
  const auto index = parse_integer<std::uint32_t>(words[0]);
  if (!index) return;
  RasGroup group;
  group.number = *index;
  group.communicators = parse_integer<std::uint32_t>(words[1]).value_or(0);
  group.nodes = parse_integer<std::uint32_t>(words[2]).value_or(0);
  group.ranks_per_node = printable(words[3]);
  group.ranks_per_communicator = printable(words[4]);
  group.ranks = printable(words[5]);
  group.status = printable(words[6]);
  group.errors = printable(words[7]);
  group.source = {place_, number, ""};
  current_->groups.push_back(std::move(group));
}

void RasReader::read_mismatch(std::uint32_t number, std::string_view line, std::string_view words) {
  RasCommunicator& communicator = current_->communicators.back();
  const auto count = parse_count(line);
  if (!count || communicator.mismatches.size() >= kMostItems) return;
  RasMismatch group;
  group.ranks = count->ranks;
  group.collective = collective_;
  group.source = {place_, number, ""};
  if (words.starts_with("launched up to operation ")) {
    group.operation = parse_integer<std::uint64_t>(first_word(words.substr(25)));
  } else if (words.starts_with("not launched any")) {
    group.operation = 0;
  } else {
    return;  // "status RUNNING": starting or ending, not behind
  }
  if (count->single) {
    group.listed.push_back(parse_rank(line));
    group.listed.back().source = group.source;
  }
  communicator.mismatches.push_back(std::move(group));
}

void RasReader::read_communicator_line(std::uint32_t number, std::string_view line) {
  RasCommunicator& communicator = current_->communicators.back();
  if (line.starts_with("Communicator ranks have different ")) {
    std::string_view what = line.substr(34);
    mismatch_ = contains(what, "operation counts");
    collective_ = what.starts_with("collective ") ? "" : printable(first_word(what));
    return;
  }
  if (const auto count = parse_count(line)) return read_mismatch(number, line, count->words);
  if (line.starts_with("Missing communicator data from ")) {
    communicator.missing_count = parse_integer<std::uint32_t>(first_word(line.substr(31)));
    mismatch_ = false;
    return;
  }
  if (contains(line, "issing rank") && contains(line, ":")) {
    for (const std::string_view part : split(after(line, ":"), ',')) {
      const auto rank = parse_integer<std::uint32_t>(trim(part));
      if (!rank || communicator.missing.size() >= kMostItems) continue;
      communicator.missing.emplace_back();
      communicator.missing.back().rank = *rank;
      communicator.missing.back().source = {place_, number, ""};
    }
    return;
  }
  if (!line.starts_with("Rank ") || !contains(line, "process ")) return;
  RasRank rank = parse_rank(line);
  rank.source = {place_, number, ""};
  auto* list = &communicator.missing;
  if (mismatch_) {
    if (communicator.mismatches.empty()) return;
    list = &communicator.mismatches.back().listed;
  }
  if (list->size() < kMostItems) list->push_back(std::move(rank));
}

// Sections "Errors" and "Warnings": a word in capitals opens a problem of processes, "#0-0 (hash) WORD" one
// of a communicator; the lines below belong to it.
void RasReader::read_trouble(std::uint32_t number, std::string_view line) {
  if (line.starts_with("#")) {
    const std::size_t open = line.find('(');
    const std::size_t end = line.find(')');
    if (open == std::string_view::npos || end == std::string_view::npos || end < open) return;
    const std::string name(printable(trim(line.substr(0, open))));
    mismatch_ = contains(line.substr(end), "MISMATCH");
    in_communicator_ = true;
    auto& known = current_->communicators;
    if (known.size() >= kMostItems) return;
    if (!known.empty() && known.back().name == name) return;
    known.emplace_back();
    known.back().name = name;
    known.back().hash = printable(line.substr(open + 1, end - open - 1));
    known.back().source = {place_, number, ""};
    return;
  }
  if (is_upper_word(line)) {
    in_communicator_ = false;
    if (current_->problems.size() < kMostItems)
      current_->problems.push_back({printable(line), {}, {}, {place_, number, ""}});
    return;
  }
  if (in_communicator_) return read_communicator_line(number, line);
  if (current_->problems.empty()) return;
  RasProblem& problem = current_->problems.back();
  if (line.starts_with("Process ")) {
    if (problem.processes.size() >= kMostItems) return;
    problem.processes.push_back(parse_rank(line));
    problem.processes.back().source = {place_, number, ""};
  } else if (problem.text.empty()) {
    problem.text = printable(line);
    problem.source = {place_, number, ""};
    if (problem.kind == "TIMEOUT") {
      const std::string_view count = after(line, "Encountered ");
      if (!count.empty()) current_->timeouts = parse_integer<std::uint32_t>(first_word(count));
    }
  }
}

void RasReader::read_line(std::uint32_t number, std::string_view line) {
  switch (section_) {
    case Section::kSummary:
      return read_counts(line);
    case Section::kGroups:
      return read_group(number, line);
    case Section::kErrors:
    case Section::kWarnings:
      return read_trouble(number, line);
    case Section::kNone:
      break;
  }
}

void RasReader::read(std::uint32_t number, std::string_view line) {
  if (line.size() > kLongestLine) return;
  const std::string_view trimmed = trim(line);
  if (trimmed.empty() || trimmed.starts_with("====")) return;
  if (read_version(number, trimmed) || read_event(number, trimmed)) return;
  if (read_heading(number, trimmed) || !current_) return;
  if (contains(trimmed, "NCCL INFO") || contains(trimmed, "NCCL WARN")) return;
  read_line(number, trimmed);
}

}  // namespace angio::import::nccl_ras
