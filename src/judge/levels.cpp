#include "judge/levels.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/text.hpp"
#include "knowledge/knowledge.hpp"

namespace angio::judge {
namespace {

constexpr std::size_t kRowsKept = 3;
constexpr std::size_t kNextKept = 4;

// Lower is looked at first.
int gravity(LevelState state) {
  switch (state) {
    case LevelState::kImpossible:
      return 0;
    case LevelState::kBelow:
      return 1;
    case LevelState::kHolds:
      return 2;
    case LevelState::kUndecided:
      return 3;
    case LevelState::kNotRun:
      break;
  }
  return 4;
}

LevelState state_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::kNormal:
      return LevelState::kHolds;
    case Verdict::kLow:
      return LevelState::kBelow;
    case Verdict::kImpossible:
    case Verdict::kWrong:
      return LevelState::kImpossible;
    case Verdict::kUndecided:
      break;
  }
  return LevelState::kUndecided;
}

double share_of(const JudgedRow& row) {
  if (row.expected <= 0 || row.measured <= 0) return 1;
  return row.higher_is_better ? row.measured / row.expected : row.expected / row.measured;
}

// Rows of the level's own verdict, those furthest from what is expected first.
std::vector<JudgedRow> evidence_of(const Judgement& judgement) {
  std::vector<JudgedRow> rows;
  for (const JudgedRow& row : judgement.rows)
    if (row.verdict == judgement.verdict) rows.push_back(row);
  std::ranges::stable_sort(rows, {}, share_of);
  if (judgement.verdict == Verdict::kNormal)
    std::ranges::stable_sort(rows, std::ranges::greater{},
                             [](const JudgedRow& row) { return row.size.value; });
  if (rows.size() > kRowsKept) rows.resize(kRowsKept);
  return rows;
}

const LevelResult* find(std::span<const LevelResult> levels, Level level) {
  const auto found = std::ranges::find(levels, level, &LevelResult::level);
  return found == levels.end() ? nullptr : &*found;
}

bool is_bad(const LevelResult& result) {
  return result.state == LevelState::kBelow || result.state == LevelState::kImpossible;
}

std::string named(Level level) {
  return fmt::format("level {}, {}", number_of(level), title_of(level));
}

constexpr std::array kOrder{Level::kMemory, Level::kCollective, Level::kNetwork, Level::kStep};

std::size_t place_of(Level level) {
  return static_cast<std::size_t>(std::ranges::find(kOrder, level) - kOrder.begin());
}

// "level 0, level 1": the cause may be there.
std::string not_measured_below(std::span<const LevelResult> levels, Level first) {
  std::vector<std::string> missing;
  for (const Level level : {Level::kMemory, Level::kCollective}) {
    const LevelResult* result = find(levels, level);
    const bool measured = result != nullptr && result->state != LevelState::kNotRun;
    if (place_of(level) < place_of(first) && !measured)
      missing.push_back(fmt::format("level {}", number_of(level)));
  }
  return join(missing, ", ");
}

}  // namespace

std::string_view title_of(Level level) {
  switch (level) {
    case Level::kMemory:
      return "memory and PCIe";
    case Level::kCollective:
      return "collectives";
    case Level::kStep:
      return "training step";
    case Level::kProfile:
      return "profile of the real job";
    case Level::kNetwork:
      return "network between nodes";
  }
  return "";
}

std::uint32_t number_of(Level level) {
  return static_cast<std::uint32_t>(level);
}

std::string_view word_of(LevelState state) {
  switch (state) {
    case LevelState::kHolds:
      return "holds";
    case LevelState::kBelow:
      return "below";
    case LevelState::kImpossible:
      return "impossible";
    case LevelState::kUndecided:
      return "undecided";
    case LevelState::kNotRun:
      break;
  }
  return "not_run";
}

LevelResult level_of(Level level, const Judgement& judgement) {
  LevelResult result;
  result.level = level;
  result.state = state_of(judgement.verdict);
  result.source = judgement.source;
  const bool names_it = judgement.subject.empty() || contains(judgement.answer, judgement.subject);
  result.answer = (names_it ? "" : judgement.subject + ": ") + judgement.answer;
  result.basis = "expectation of this hardware";
  result.rows = evidence_of(judgement);
  result.several_nodes = judgement.hosts.size() > 1;
  for (const JudgedRow& row : judgement.rows)
    if (row.question && row.question->nodes > 1) result.several_nodes = true;
  if (result.state == LevelState::kUndecided) {
    result.why = judgement.answer;
    result.answer.clear();
  }
  for (const model::Finding& finding : judgement.findings)
    for (const model::Fix& fix : finding.fixes)
      if (const std::string words = fix.text.empty() ? fix.command : fix.text; result.next.size() < kNextKept)
        result.next.push_back(words);
  return result;
}

LevelResult host_memory_level(const model::MemoryBench& bench, const std::string& source) {
  constexpr double kGigabyte = 1e9;
  LevelResult result;
  result.level = Level::kMemory;
  result.source = source;
  result.basis = "heuristic: the nodes of one machine are alike";
  const model::MemoryCell* best = nullptr;
  const model::MemoryCell* worst = nullptr;
  for (const model::MemoryCell& cell : bench.cells) {
    if (cell.cpus != cell.memory || !cell.read.value) continue;
    if (best == nullptr || cell.read.value->median > best->read.value->median) best = &cell;
    if (worst == nullptr || cell.read.value->median < worst->read.value->median) worst = &cell;
  }
  result.state = LevelState::kUndecided;
  if (best == nullptr) {
    result.why = "No node's own memory was measured.";
    return result;
  }
  if (best == worst || best->threads != worst->threads) {
    result.why = fmt::format(
        "Node {} reads its own memory with {:.3g} GB/s; how many memory channels it has is not known, so "
        "nothing says whether that is all.",
        best->cpus.value, best->read.value->median / kGigabyte);
    return result;
  }
  const double share = worst->read.value->median / best->read.value->median;
  JudgedRow row;
  row.what = fmt::format("node {} reads its own memory", worst->cpus.value);
  row.measured = worst->read.value->median / kGigabyte;
  row.expected = best->read.value->median / kGigabyte;
  row.low = row.expected * knowledge::threshold("levels.nodes-alike");
  row.unit = "GB/s";
  row.limit = fmt::format("node {} of the same machine", best->cpus.value);
  if (share >= knowledge::threshold("levels.nodes-alike")) {
    result.why = fmt::format(
        "The nodes read their own memory alike, {:.3g} to {:.3g} GB/s; how many channels they have is not "
        "known, so nothing says whether that is all.",
        row.measured, row.expected);
    return result;
  }
  result.state = LevelState::kBelow;
  row.verdict = Verdict::kLow;
  result.answer = fmt::format("Node {} reads its own memory with {:.3g} GB/s, node {} with {:.3g} GB/s.",
                              worst->cpus.value, row.measured, best->cpus.value, row.expected);
  result.rows.push_back(std::move(row));
  result.next.push_back("are memory modules missing or slower on that node? dmidecode -t memory (root)");
  return result;
}

LevelResult undecided_level(Level level, std::string why) {
  LevelResult result;
  result.level = level;
  result.state = LevelState::kUndecided;
  result.why = std::move(why);
  return result;
}

LevelResult merge(std::span<const LevelResult> results) {
  LevelResult merged;
  if (results.empty()) return merged;
  const LevelResult* worst = &results.front();
  for (const LevelResult& result : results)
    if (gravity(result.state) < gravity(worst->state)) worst = &result;
  merged = *worst;
  for (const LevelResult& result : results) {
    merged.several_nodes = merged.several_nodes || result.several_nodes;
    if (&result == worst || result.why.empty()) continue;
    if (!merged.why.empty()) merged.why += " ";
    merged.why += result.why;
  }
  return merged;
}

std::optional<Level> next_level(std::span<const LevelResult> done, const WalkWish& wish) {
  const bool several = wish.several_nodes ||
                       std::ranges::any_of(done, [](const LevelResult& one) { return one.several_nodes; });
  // What lies below a level that is bad may be its cause; what lies above tells nothing then.
  std::size_t stop = kOrder.size();
  for (const LevelResult& result : done)
    if (is_bad(result) && !wish.everything) stop = std::min(stop, place_of(result.level));
  for (std::size_t at = 0; at < kOrder.size(); ++at) {
    const Level level = kOrder[at];
    if (find(done, level) != nullptr) continue;
    if (level != Level::kNetwork) {
      if (at < stop) return level;
      continue;
    }
    // The network by itself is worth its time where collectives over it fall below, or could not be judged.
    const LevelResult* collective = find(done, Level::kCollective);
    const bool holds = collective != nullptr && collective->state == LevelState::kHolds;
    const bool branches =
        collective != nullptr && is_bad(*collective) && stop == place_of(Level::kCollective);
    if (several && (wish.everything || branches || (at < stop && !holds))) return level;
  }
  return std::nullopt;
}

WalkVerdict conclude(std::span<const LevelResult> levels) {
  WalkVerdict verdict;
  std::vector<std::string> held;
  std::vector<std::string> unknown;
  const LevelResult* first = nullptr;
  // The network explains a collective that falls below, so it is asked before.
  for (const Level level : {Level::kMemory, Level::kNetwork, Level::kCollective, Level::kStep}) {
    const LevelResult* result = find(levels, level);
    if (result == nullptr) continue;
    if (result->state == LevelState::kHolds) held.push_back(std::to_string(number_of(level)));
    if (result->state == LevelState::kUndecided) unknown.push_back(named(level) + ": " + result->why);
    if (first == nullptr && is_bad(*result)) first = result;
  }
  if (first != nullptr) {
    verdict.state = first->state;
    verdict.first = first->level;
    verdict.next = first->next;
    verdict.answer =
        first->state == LevelState::kBelow
            ? fmt::format("The first to fall below expectation is {}: {}", named(first->level), first->answer)
            : fmt::format("The figures of {} cannot be: {} Before they are right no level above counts.",
                          named(first->level), first->answer);
    if (const std::string missing = not_measured_below(levels, first->level); !missing.empty())
      verdict.answer += " Not measured below it: " + missing + ".";
    if (!unknown.empty()) verdict.answer += fmt::format(" Not judged: {}", join(unknown, " "));
    return verdict;
  }
  if (held.empty()) {
    verdict.answer =
        unknown.empty() ? "No level was measured." : "No level could be judged. " + join(unknown, " ");
    return verdict;
  }
  verdict.state = unknown.empty() ? LevelState::kHolds : LevelState::kUndecided;
  verdict.answer = fmt::format("No level that could be judged falls below expectation (level{} {}).",
                               held.size() > 1 ? "s" : "", join(held, ", "));
  if (!unknown.empty()) verdict.answer += " Not judged: " + join(unknown, " ");
  if (const LevelResult* step = find(levels, Level::kStep);
      step != nullptr && step->state == LevelState::kHolds)
    verdict.next.push_back(
        "a job that is slow all the same: its profile (level 3), angio profile and angio log");
  return verdict;
}

}  // namespace angio::judge
