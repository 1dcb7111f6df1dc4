#include <gtest/gtest.h>

#include <cmath>

#include "views/bench_compare_view.hpp"
#include "views/bench_memory_view.hpp"

namespace angio::views {
namespace {

experiment::Comparison comparison_with(double estimate, double low, double high) {
  experiment::Comparison comparison;
  comparison.wish.arms = {experiment::Arm{"unbound", {"./train"}},
                          experiment::Arm{"bound", {"angio", "run"}}};
  experiment::Verdict verdict;
  verdict.ratio = {estimate, low, high};
  verdict.shown = low > 1 || high < 1;
  verdict.pairs = 10;
  comparison.verdict = verdict;
  return comparison;
}

TEST(BenchCompareView, TimeThatIsLess) {
  EXPECT_EQ(verdict_words(comparison_with(0.96, 0.949, 0.968)),
            "bound needs 3.2 % to 5.1 % less time than unbound (95 % confidence, 10 runs each)");
}

TEST(BenchCompareView, TimeThatIsMore) {
  EXPECT_EQ(verdict_words(comparison_with(1.2, 1.05, 1.5)),
            "bound needs 5.0 % to 50 % more time than unbound (95 % confidence, 10 runs each)");
}

TEST(BenchCompareView, NoDifferenceShown) {
  EXPECT_EQ(verdict_words(comparison_with(1.0, 0.99, 1.014)),
            "no difference shown: bound's time is between 1.0 % less and 1.4 % more than unbound's (95 % "
            "confidence, "
            "10 runs each)");
}

TEST(BenchCompareView, AMetricIsBetterOnlyWhenTheUserSaidWhichWay) {
  experiment::Comparison comparison = comparison_with(1.2, 1.1, 1.3);
  comparison.metric.kind = experiment::MetricKind::kLastNumber;
  EXPECT_EQ(verdict_words(comparison),
            "bound is 10 % to 30 % higher than unbound (95 % confidence, 10 runs each)");
  comparison.metric.better = experiment::Better::kLower;
  EXPECT_EQ(verdict_words(comparison),
            "bound is 10 % to 30 % higher than unbound, which is worse (95 % confidence, 10 runs each)");
  comparison.metric.better = experiment::Better::kHigher;
  EXPECT_EQ(verdict_words(comparison),
            "bound is 10 % to 30 % higher than unbound, which is better (95 % confidence, 10 runs each)");
}

TEST(BenchCompareView, WithoutAVerdictItSaysWhy) {
  experiment::Comparison comparison;
  comparison.no_verdict = "1 pair finished: at least 2 are needed to know a spread";
  EXPECT_EQ(verdict_words(comparison), "no answer: 1 pair finished: at least 2 are needed to know a spread");
}

model::MemoryBench two_nodes() {
  model::MemoryBench bench;
  bench.machine = "n1";
  bench.instructions = "AVX2";
  bench.cpu_nodes = {NumaId{0}, NumaId{1}};
  bench.memory_nodes = {NumaId{0}};
  const model::BenchFigure rate{model::Spread{25.25e9, 24e9, 25.5e9, 5}, {}};
  const model::BenchFigure time{model::Spread{96.04, 95, 120, 5}, {}};
  bench.cells.push_back(
      {NumaId{0}, NumaId{0}, 4, rate, rate, rate, time, {Bytes{1U << 28U}, "4 KiB", 0, 8, 8, {}}});
  model::MemoryCell none;
  none.cpus = NumaId{1};
  none.threads = 4;
  none.read = none.copy = none.write = none.latency = {{}, "CPU 9 is not allowed for this process"};
  bench.cells.push_back(none);
  bench.gpu_note = "no CUDA driver: libcuda.so.1: cannot open";
  return bench;
}

TEST(BenchMemoryView, FiguresUnitsPlaceAndReasons) {
  const std::string text = report::render_terminal(memory_bench_document(two_nodes()), {300, false, true});
  EXPECT_NE(text.find("Read, GB/s"), std::string::npos) << text;
  EXPECT_NE(text.find("25.2 (24.0-25.5)"), std::string::npos) << text;
  EXPECT_NE(text.find("96.0 (95.0-120)"), std::string::npos) << text;
  EXPECT_NE(text.find("256 MiB on each node, pages of 4 KiB, on the right node by move_pages"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("CPU 9 is not allowed for this process"), std::string::npos) << text;
  EXPECT_NE(text.find("no CUDA driver"), std::string::npos) << text;
  EXPECT_EQ(text.find("interrupted"), std::string::npos) << text;
}

TEST(BenchMemoryView, JsonHasUnitsAndReasons) {
  const Json json = memory_bench_json(two_nodes());
  const Json& cells = *json.find("cells");
  const Json& first = (*cells.as_array())[0];
  EXPECT_EQ(*first.find("read")->find("median")->as_double(), 25.25e9);
  EXPECT_EQ(*first.find("read")->find("unit")->as_string(), "B/s");
  EXPECT_EQ(*(*cells.as_array())[1].find("latency")->find("missing")->as_string(),
            "CPU 9 is not allowed for this process");
  EXPECT_EQ(*json.find("schema")->as_string(), "angio.bench-memory/1");
}

}  // namespace
}  // namespace angio::views
