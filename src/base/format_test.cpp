#include "base/format.hpp"

#include <gtest/gtest.h>

namespace angio {
namespace {

TEST(InWords, MemoryIsBinary) {
  EXPECT_EQ(in_words(Bytes{0}), "0 B");
  EXPECT_EQ(in_words(Bytes{12}), "12 B");
  EXPECT_EQ(in_words(Bytes{64ULL << 10U}), "64 KiB");
  EXPECT_EQ(in_words(Bytes{540'635'299'840ULL}), "503.5 GiB");
  EXPECT_EQ(in_words(Bytes{~0ULL}), "16384 PiB");
}

TEST(InWords, RatesAreDecimal) {
  EXPECT_EQ(in_words(BytesPerSecond{25.2e9}), "25.2 GB/s");
  EXPECT_EQ(in_words(BitsPerSecond{400e9}), "400 Gb/s");
  EXPECT_EQ(in_words(to_bytes(BitsPerSecond{400e9})), "50 GB/s");
}

TEST(InWords, RoundingMovesToTheNextUnit) {
  EXPECT_EQ(in_words(Bytes{(1ULL << 20U) - 1}), "1 MiB");
  EXPECT_EQ(in_words(BytesPerSecond{999.96e6}), "1 GB/s");
  EXPECT_EQ(in_words(BytesPerSecond{999.94e6}), "999.9 MB/s");
}

TEST(InWords, OtherUnits) {
  EXPECT_EQ(in_words(TransfersPerSecond{2.5e9}), "2.5 GT/s");
  EXPECT_EQ(in_words(TransfersPerSecond{16e9}), "16 GT/s");
  EXPECT_EQ(in_words(Nanoseconds{96}), "96 ns");
  EXPECT_EQ(in_words(Nanoseconds{1500}), "1.5 us");
  EXPECT_EQ(in_words(Hertz{2.6e9}), "2.6 GHz");
  EXPECT_EQ(in_words(Hertz{1410e6}), "1410 MHz");
  EXPECT_EQ(in_words(Watts{699.6}), "700 W");
  EXPECT_EQ(in_words(Celsius{64.2}), "64 C");
}

TEST(CountOf, KnowsOne) {
  EXPECT_EQ(count_of(0, "GPU"), "0 GPUs");
  EXPECT_EQ(count_of(1, "GPU"), "1 GPU");
  EXPECT_EQ(count_of(8, "GPU"), "8 GPUs");
  EXPECT_EQ(count_of(4, "GPU process"), "4 GPU processes");
  EXPECT_EQ(count_of(1, "GPU process"), "1 GPU process");
}

}  // namespace
}  // namespace angio
