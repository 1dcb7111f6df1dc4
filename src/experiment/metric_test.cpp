#include "experiment/metric.hpp"

#include <gtest/gtest.h>

namespace angio::experiment {
namespace {

Result<double> found(const std::string& pattern, std::string_view output) {
  const auto metric = Metric::make({MetricKind::kPattern, pattern, Better::kUnstated});
  if (!metric) return std::unexpected(metric.error());
  return metric->read(1, output);
}

TEST(Metric, WallTimeIgnoresTheOutput) {
  EXPECT_EQ(Metric::make({})->read(2.5, "9"), 2.5);
}

TEST(Metric, FirstGroupOfTheLastMatch) {
  EXPECT_EQ(found("tokens/s: ([0-9.]+)", "tokens/s: 10.5\nloss 3\ntokens/s: 12.25 (rank 0)\nend\n"), 12.25);
  EXPECT_EQ(found("time=(\\S+)", "time=1.5e-3s"), 1.5e-3);
  EXPECT_EQ(found("gain (.*)", "gain -4 %"), -4);
  EXPECT_EQ(found("gain (.*)", "gain +4 %"), 4);
}

TEST(Metric, ErrorsSayWhatWasLookedFor) {
  EXPECT_EQ(found("rate ([0-9]+)", "nothing\n").error().message,
            "\"rate ([0-9]+)\" matches no line of the command's standard output");
  EXPECT_EQ(found("rate (.*)", "rate high\n").error().message,
            "what \"rate (.*)\" found in the command's standard output is no number");
  EXPECT_EQ(found("rate [0-9]+", "").error().message, "--metric \"rate [0-9]+\" has no group");
  EXPECT_TRUE(found("rate ([0-9", "")
                  .error()
                  .message.starts_with("--metric \"rate ([0-9\" is no regular expression"));
  EXPECT_EQ(Metric::make({MetricKind::kLastNumber, "", {}})->read(1, "none\n").error().message,
            "no number in the command's standard output");
}

TEST(Metric, VeryLongLinesAreNoTrouble) {
  const std::string line = "speed 7 " + std::string(5000000, 'x');
  EXPECT_EQ(found("speed ([0-9]+)(x| )*", line), 7);
}

TEST(LastNumber, NotInsideWords) {
  EXPECT_EQ(last_number("step 3 took 12.5ms"), 12.5);
  EXPECT_EQ(last_number("12 x86 v2.1"), 12);
  EXPECT_EQ(last_number("delta -0.5\n"), -0.5);
  EXPECT_EQ(last_number("a 1e3"), 1000);
  EXPECT_EQ(last_number("at .25"), 0.25);
  EXPECT_EQ(last_number("7 gpt-4 "), 4);
  EXPECT_EQ(last_number("0x10 5"), 5);
  EXPECT_FALSE(last_number("none"));
  EXPECT_FALSE(last_number(""));
}

}  // namespace
}  // namespace angio::experiment
