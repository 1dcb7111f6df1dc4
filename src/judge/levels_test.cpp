#include "judge/levels.hpp"

#include <gtest/gtest.h>

#include "base/text.hpp"

namespace angio::judge {
namespace {

LevelResult result(Level level, LevelState state, bool several_nodes = false) {
  LevelResult one;
  one.level = level;
  one.state = state;
  one.answer = "Answer of " + std::string(title_of(level)) + ".";
  if (state == LevelState::kUndecided) one.why = "Why of " + std::string(title_of(level)) + ".";
  one.several_nodes = several_nodes;
  return one;
}

// The walk with these states, level by level; what it came to.
std::vector<Level> walked(std::vector<std::pair<Level, LevelState>> states, WalkWish wish = {}) {
  std::vector<LevelResult> done;
  std::vector<Level> levels;
  while (const auto level = next_level(done, wish)) {
    levels.push_back(*level);
    LevelState state = LevelState::kHolds;
    for (const auto& [one, found] : states)
      if (one == *level) state = found;
    done.push_back(result(*level, state));
  }
  return levels;
}

using enum Level;
using enum LevelState;

TEST(Levels, TheWalkGoesUpAndStops) {
  EXPECT_EQ(walked({}), (std::vector{kMemory, kCollective, kStep}));
  EXPECT_EQ(walked({{kMemory, kBelow}}), (std::vector{kMemory}));
  EXPECT_EQ(walked({{kCollective, kBelow}}), (std::vector{kMemory, kCollective}));
  EXPECT_EQ(walked({{kMemory, kUndecided}}), (std::vector{kMemory, kCollective, kStep}));
  EXPECT_EQ(walked({{kMemory, kBelow}}, {false, true}), (std::vector{kMemory, kCollective, kStep}));
}

TEST(Levels, BranchesToTheNetworkWhereItCouldBeTheCause) {
  EXPECT_EQ(walked({}, {true, false}), (std::vector{kMemory, kCollective, kStep}));
  EXPECT_EQ(walked({{kCollective, kBelow}}, {true, false}), (std::vector{kMemory, kCollective, kNetwork}));
  EXPECT_EQ(walked({{kCollective, kUndecided}}, {true, false}),
            (std::vector{kMemory, kCollective, kNetwork, kStep}));
  EXPECT_EQ(walked({{kMemory, kImpossible}}, {true, false}), (std::vector{kMemory}));
  // A step that was given and is bad: what lies below it may be the cause.
  const std::vector<LevelResult> given{result(kStep, kBelow)};
  EXPECT_EQ(next_level(given, {}), kMemory);
  const std::vector<LevelResult> more{result(kStep, kBelow), result(kMemory, kHolds),
                                      result(kCollective, kHolds)};
  EXPECT_EQ(next_level(more, {true, false}), std::nullopt);
  // That several nodes took part, a result may say itself.
  const std::vector<LevelResult> done{result(kMemory, kHolds), result(kCollective, kBelow, true)};
  EXPECT_EQ(next_level(done, {}), kNetwork);
}

TEST(Levels, OneVerdict) {
  const auto verdict = [](std::vector<LevelResult> levels) { return conclude(levels); };
  EXPECT_EQ(verdict({}).state, kUndecided);
  EXPECT_EQ(verdict({result(kMemory, kHolds), result(kStep, kHolds)}).state, kHolds);
  const auto memory = verdict({result(kStep, kBelow), result(kMemory, kBelow)});
  EXPECT_EQ(memory.first, kMemory);
  // The network explains the collective.
  const auto network = verdict({result(kCollective, kBelow), result(kNetwork, kBelow)});
  EXPECT_EQ(network.first, kNetwork);
  EXPECT_TRUE(contains(network.answer, "Not measured below it: level 0."));
  const auto alone = verdict({result(kCollective, kBelow), result(kNetwork, kHolds)});
  EXPECT_EQ(alone.first, kCollective);
  const auto gap = verdict({result(kMemory, kUndecided), result(kCollective, kBelow)});
  EXPECT_EQ(gap.first, kCollective);
  EXPECT_TRUE(contains(gap.answer, "Not judged: level 0, memory and PCIe: Why"));
  const auto none = verdict({result(kMemory, kUndecided), result(kCollective, kHolds)});
  EXPECT_EQ(none.state, kUndecided);
  EXPECT_TRUE(contains(none.answer, "(level 1)"));
  EXPECT_TRUE(contains(verdict({result(kCollective, kImpossible)}).answer, "cannot be"));
}

TEST(Levels, MergeTakesTheWorstThatCouldBeJudged) {
  const std::vector<LevelResult> mixed{result(kMemory, kUndecided), result(kMemory, kHolds)};
  EXPECT_EQ(merge(mixed).state, kHolds);
  EXPECT_TRUE(contains(merge(mixed).why, "Why of memory"));
  const std::vector<LevelResult> bad{result(kMemory, kHolds), result(kMemory, kBelow),
                                     result(kMemory, kUndecided)};
  EXPECT_EQ(merge(bad).state, kBelow);
}

model::MemoryBench bench_of(std::vector<double> reads) {
  model::MemoryBench bench;
  for (std::uint32_t node = 0; node < reads.size(); ++node) {
    model::MemoryCell cell;
    cell.cpus = cell.memory = NumaId{node};
    cell.threads = 8;
    cell.read.value = model::Spread{reads[node] * 1e9, reads[node] * 1e9, reads[node] * 1e9, 3};
    bench.cells.push_back(cell);
  }
  return bench;
}

TEST(Levels, NodesOfAMachineAgainstEachOther) {
  EXPECT_EQ(host_memory_level(bench_of({200, 195}), "x").state, kUndecided);
  EXPECT_EQ(host_memory_level(bench_of({200}), "x").state, kUndecided);
  EXPECT_EQ(host_memory_level(bench_of({}), "x").state, kUndecided);
  const LevelResult half = host_memory_level(bench_of({200, 101}), "x");
  EXPECT_EQ(half.state, kBelow);
  EXPECT_TRUE(contains(half.answer, "Node 1 reads its own memory with 101 GB/s, node 0 with 200 GB/s"));
}

LevelResult step(const std::string& members) {
  const auto json = parse_json(
      R"({"schema": "angio.bench-step/1", "ranks": 4, "backend": "gloo", "step": {"median_ms": 100},)"
      R"("by_rank": [{"host": "a", "input_ms": 2}, {"host": "a", "input_ms": 3}])" +
      members + "}");
  const auto figures = parse_step_figures(json.value(), "step.json");
  EXPECT_TRUE(figures.has_value());
  return step_level(*figures, "step.json");
}

TEST(Levels, AStepByItsShares) {
  EXPECT_EQ(step(R"(, "exposed_share": 0.1)").state, kHolds);
  EXPECT_EQ(step(R"(, "exposed_share": 0.25)").state, kUndecided);
  EXPECT_EQ(step(R"(, "exposed_share": 0.5)").state, kBelow);
  EXPECT_TRUE(contains(step("").why, "--compare-no-comm"));
  EXPECT_EQ(step(R"(, "exposed_share": 0.5, "phantom": true)").state, kUndecided);
  EXPECT_EQ(step(R"(, "slow_rank": {"rank": 3, "by": "compute", "own_ms": 90, "usual_ms": 50})").state,
            kBelow);
  const auto hungry =
      parse_json(R"({"schema": "angio.bench-step/1", "step": {"median_ms": 100}, "exposed_share": 0.5,)"
                 R"("by_rank": [{"host": "a", "input_ms": 40}]})");
  EXPECT_TRUE(
      contains(step_level(parse_step_figures(hungry.value(), "x").value(), "x").answer, "the loader"));
  for (const char* wrong :
       {"{}", R"({"schema": "angio.bench-step/1"})", R"({"schema": "other/1", "step": {"median_ms": 1}})",
        R"({"schema": "angio.bench-step/1", "step": {"median_ms": -1}})"})
    EXPECT_FALSE(parse_step_figures(parse_json(wrong).value(), "x").has_value()) << wrong;
}

TEST(Levels, AMeshByItsFindings) {
  const auto of = [](const char* text) { return mesh_level(parse_json(text).value(), "mesh.json"); };
  EXPECT_EQ(of(R"({"schema": "angio.mesh/1", "measures": [{}], "findings": []})")->state, kHolds);
  EXPECT_EQ(of(R"({"schema": "angio.mesh/1", "measures": []})")->state, kUndecided);
  const auto slow = of(
      R"({"schema": "angio.mesh/1", "measures": [{}], "findings": [{"severity": "info", "title": "x"}, {"severity": "warning", "title": "n3 is slow"}]})");
  EXPECT_EQ(slow->state, kBelow);
  EXPECT_EQ(slow->answer, "n3 is slow.");
  EXPECT_FALSE(of("{}").has_value());
}

}  // namespace
}  // namespace angio::judge
