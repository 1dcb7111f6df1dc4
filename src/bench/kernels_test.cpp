#include "bench/kernels.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <vector>

namespace angio::bench {
namespace {

struct alignas(kStride) Block {
  std::byte bytes[kStride];
};

std::span<std::byte> bytes_of(std::vector<Block>& blocks) {
  return {blocks.data()->bytes, blocks.size() * sizeof(Block)};
}

TEST(Kernels, AtLeastOneRunsHere) {
  ASSERT_FALSE(usable_kernels().empty());
  EXPECT_NE(usable_kernels().back().read, nullptr);
}

TEST(Kernels, ReadSeesEveryByte) {
  for (const Kernels& kernels : usable_kernels()) {
    std::vector<Block> blocks(3);
    const std::span<std::byte> bytes = bytes_of(blocks);
    std::ranges::fill(bytes, std::byte{0});
    EXPECT_EQ(kernels.read(bytes.data(), bytes.size()), 0U) << kernels.name;
    for (std::size_t at = 0; at < bytes.size(); ++at) {
      bytes[at] = std::byte{0x40};
      EXPECT_NE(kernels.read(bytes.data(), bytes.size()), 0U) << kernels.name << " byte " << at;
      bytes[at] = std::byte{0};
    }
  }
}

TEST(Kernels, CopyCopiesAllAndNoMore) {
  for (const Kernels& kernels : usable_kernels()) {
    std::vector<Block> from(2);
    std::vector<Block> to(3);
    for (std::size_t at = 0; at < 2 * kStride; ++at)
      bytes_of(from)[at] = static_cast<std::byte>(at * 7 + 1);
    std::ranges::fill(bytes_of(to), std::byte{0xee});
    kernels.copy(bytes_of(to).data(), bytes_of(from).data(), 2 * kStride);
    EXPECT_TRUE(std::ranges::equal(bytes_of(from), bytes_of(to).first(2 * kStride))) << kernels.name;
    EXPECT_TRUE(std::ranges::all_of(bytes_of(to).last(kStride), [](std::byte b) {
      return b == std::byte{0xee};
    })) << kernels.name;
  }
}

TEST(Kernels, WriteWritesAllAndNoMore) {
  for (const Kernels& kernels : usable_kernels()) {
    if (kernels.write == nullptr) continue;
    std::vector<Block> to(3);
    std::ranges::fill(bytes_of(to), std::byte{0xee});
    kernels.write(bytes_of(to).data(), 2 * kStride);
    for (std::size_t at = 0; at < 2 * kStride; at += 8)
      ASSERT_EQ(bytes_of(to)[at], std::byte{1}) << kernels.name << " byte " << at;
    EXPECT_TRUE(std::ranges::all_of(bytes_of(to).last(kStride), [](std::byte b) {
      return b == std::byte{0xee};
    })) << kernels.name;
  }
}

TEST(Shuffled, IsAPermutationForEveryCount) {
  for (const std::uint64_t count : {1U, 2U, 3U, 64U, 65U, 1000U, 4096U}) {
    std::set<std::uint64_t> seen;
    for (std::uint64_t index = 0; index < count; ++index)
      seen.insert(shuffled(index, count, 42));
    EXPECT_EQ(seen.size(), count);
    EXPECT_EQ(*seen.rbegin(), count - 1);
  }
}

TEST(Chain, IsOneRingThroughAllLines) {
  std::vector<ChainLine> lines(777);
  make_chain(lines, 5);
  std::set<const ChainLine*> seen;
  const ChainLine* at = lines.data();
  for (std::size_t step = 0; step < lines.size(); ++step) {
    seen.insert(at);
    at = follow_chain(at, 1);
  }
  EXPECT_EQ(seen.size(), lines.size());
  EXPECT_EQ(at, lines.data());
  EXPECT_EQ(follow_chain(lines.data(), lines.size() + 13), follow_chain(lines.data(), 13));
}

// A prefetcher follows steady strides: the same distance must hardly ever come twice in a row.
TEST(Chain, HasNoStride) {
  std::vector<ChainLine> lines(1U << 14U);
  make_chain(lines, 1);
  const ChainLine* at = lines.data();
  std::ptrdiff_t last = 0;
  std::size_t repeated = 0;
  std::size_t near = 0;
  for (std::size_t step = 0; step < lines.size(); ++step) {
    const std::ptrdiff_t distance = at->next - at;
    if (distance == last) ++repeated;
    if (std::abs(distance) <= 2) ++near;
    last = distance;
    at = at->next;
  }
  EXPECT_LT(repeated, lines.size() / 500);
  EXPECT_LT(near, lines.size() / 500);
}

}  // namespace
}  // namespace angio::bench
