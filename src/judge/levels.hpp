// The walk of `angio bench all`: levels from the memory upwards, each held against what it should give, which
// comes next, and which first falls below. Pure: judgements and figures in, a verdict with evidence out; who
// measures is the command.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "base/json.hpp"
#include "judge/judge.hpp"
#include "model/bench_result.hpp"

namespace angio::judge {

enum class Level : std::uint8_t { kMemory, kCollective, kStep, kProfile, kNetwork };
std::string_view title_of(Level level);  // "memory and PCIe"
std::uint32_t number_of(Level level);    // 0 to 4

enum class LevelState : std::uint8_t {
  kHolds,
  kBelow,
  kImpossible,  // figures that the hardware cannot give, or wrong data
  kUndecided,   // measured or not, nothing can be said: see why
  kNotRun,      // the walk did not come to it, or it is only pointed to
};
std::string_view word_of(LevelState state);  // "holds", "below", "impossible", "undecided", "not_run"

struct LevelResult {
  Level level = Level::kMemory;
  LevelState state = LevelState::kNotRun;
  std::string source;             // file, or "measured now"
  std::string answer;             // a sentence
  std::string why;                // of kUndecided and kNotRun
  std::string basis;              // "expectation of this hardware", "heuristic": what it was held against
  std::vector<JudgedRow> rows;    // evidence: what is worst, else the best
  std::vector<std::string> next;  // what to check or run
  bool several_nodes = false;
};

// ---- one level out of one result

LevelResult level_of(Level level, const Judgement& judgement);
// The nodes' own memory against each other: how many channels a node has is not known, so nothing absolute.
LevelResult host_memory_level(const model::MemoryBench& bench, const std::string& source);

struct StepFigures {
  double step_ms = 0;
  std::optional<double> exposed_share;
  double input_share = 0;  // of the rank that waits longest
  std::uint32_t ranks = 0;
  std::uint32_t hosts = 0;
  std::string backend;
  bool phantom = false;
  std::string slow;  // "rank 3 computes 40 % longer"; empty: none
};
// Of the JSON of `angio bench step`.
Result<StepFigures> parse_step_figures(const Json& json, const std::string& name);
LevelResult step_level(const StepFigures& figures, const std::string& source);
// Of the JSON of `angio mesh`: its findings.
Result<LevelResult> mesh_level(const Json& json, const std::string& source);

LevelResult undecided_level(Level level, std::string why);
// Several results of one level: the worst decides, and what could be judged before what could not.
LevelResult merge(std::span<const LevelResult> results);

// ---- the walk

struct WalkWish {
  bool several_nodes = false;  // the network between nodes takes part
  bool everything = false;     // do not stop at the first that falls below
};
// What to judge next; none: the walk is at its end. done: one for each level that was judged, in the order of
// the walk.
std::optional<Level> next_level(std::span<const LevelResult> done, const WalkWish& wish);

struct WalkVerdict {
  LevelState state = LevelState::kUndecided;
  std::optional<Level> first;  // that falls below, or whose figures cannot be
  std::string answer;          // one or two sentences
  std::vector<std::string> next;
};
// Every level once, in any order; those that are missing were not run.
WalkVerdict conclude(std::span<const LevelResult> levels);

}  // namespace angio::judge
