#include "bench/timing.hpp"

#include <gtest/gtest.h>

#include "bench/numa_calls.hpp"

namespace angio::bench {
namespace {

struct alignas(4096) Page {
  std::byte bytes[4096];
};

class Timing : public testing::Test {
 protected:
  std::span<std::byte> buffer() { return {pages_.data()->bytes, pages_.size() * sizeof(Page)}; }
  std::vector<std::uint32_t> allowed() { return affinity_of_this_thread().value_or(CpuSet{}).members(); }
  const Interrupts interrupts_;

 private:
  std::vector<Page> pages_{std::vector<Page>(256)};
};

TEST_F(Timing, FigureIsMedianAndEnds) {
  const model::BenchFigure figure = figure_of({4, 1, 3, 2});
  ASSERT_TRUE(figure.value);
  EXPECT_DOUBLE_EQ(figure.value->median, 2.5);
  EXPECT_DOUBLE_EQ(figure.value->least, 1);
  EXPECT_DOUBLE_EQ(figure.value->most, 4);
  EXPECT_EQ(figure.value->repeats, 4U);
  EXPECT_EQ(figure_of({}).missing, "interrupted");
}

TEST_F(Timing, TransfersRepeatAtLeastAsOftenAsAsked) {
  const std::vector<std::uint32_t> cpus = allowed();
  ASSERT_FALSE(cpus.empty());
  for (const Transfer transfer : {Transfer::kRead, Transfer::kCopy, Transfer::kWrite}) {
    const auto rates = time_transfer(transfer, usable_kernels().front(), buffer(), cpus, {0, 4}, interrupts_);
    ASSERT_TRUE(rates) << rates.error().message;
    EXPECT_EQ(rates->size(), 4U);
    for (const double rate : *rates)
      EXPECT_GT(rate, 0);
  }
}

TEST_F(Timing, TheCallersCpusStayAsTheyWere) {
  const CpuSet before = affinity_of_this_thread().value_or(CpuSet{});
  ASSERT_TRUE(time_transfer(Transfer::kRead, usable_kernels().front(), buffer(),
                            std::vector{before.members().back()}, {0, 1}, interrupts_));
  EXPECT_EQ(affinity_of_this_thread().value_or(CpuSet{}), before);
}

TEST_F(Timing, ACpuThatDoesNotExistIsAnError) {
  const std::vector<std::uint32_t> cpus{allowed().front(), CpuSet::kMaxCpu - 1};
  const auto rates =
      time_transfer(Transfer::kRead, usable_kernels().front(), buffer(), cpus, {0, 1}, interrupts_);
  ASSERT_FALSE(rates);
  EXPECT_EQ(rates.error().message, "CPU 65534 is not allowed for this process");
  const auto lines = time_cache_line(allowed().front(), CpuSet::kMaxCpu - 1, {0, 1}, interrupts_);
  ASSERT_FALSE(lines);
  EXPECT_EQ(lines.error().message, "CPU 65534 is not allowed for this process");
}

TEST_F(Timing, TooManyThreadsForTheBuffer) {
  const std::vector<std::uint32_t> cpus(2000, 0);
  EXPECT_FALSE(time_transfer(Transfer::kRead, usable_kernels().front(), buffer(), cpus, {0, 1}, interrupts_));
}

TEST_F(Timing, ChainsHaveALatency) {
  std::vector<ChainLine> lines(4096);
  make_chain(lines, 3);
  const auto samples = time_chain(lines, allowed().front(), {0.001, 3}, interrupts_);
  ASSERT_TRUE(samples) << samples.error().message;
  EXPECT_GE(samples->size(), 3U);
  for (const double sample : *samples)
    EXPECT_GT(sample, 0);
}

TEST_F(Timing, CacheLinesGoToAndFro) {
  const std::vector<std::uint32_t> cpus = allowed();
  if (cpus.size() < 2) GTEST_SKIP() << "one CPU only";
  const auto samples = time_cache_line(cpus[0], cpus[1], {0.001, 2}, interrupts_);
  ASSERT_TRUE(samples) << samples.error().message;
  EXPECT_GE(samples->size(), 2U);
}

TEST_F(Timing, AnInterruptEndsThemAll) {
  raise(SIGTERM);
  EXPECT_EQ(interrupts_.pending(), SIGTERM);
  const auto rates =
      time_transfer(Transfer::kRead, usable_kernels().front(), buffer(), allowed(), {3600, 1}, interrupts_);
  ASSERT_TRUE(rates);
  EXPECT_TRUE(rates->empty());
}

}  // namespace
}  // namespace angio::bench
