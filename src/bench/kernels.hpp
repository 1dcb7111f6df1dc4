// The loops that bench times: sequential read, copy, non-temporal write with the widest vectors of this CPU,
// and a chain of dependent loads. Compiled with optimisation in every build. Nothing here reads a clock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace angio::bench {

// Sizes are multiples of kStride, addresses are aligned to it.
inline constexpr std::size_t kStride = 512;

struct Kernels {
  const char* name;                                                // "AVX-512"
  std::uint64_t (*read)(const std::byte* from, std::size_t size);  // a value that depends on every byte
  // Stores around the caches, as memcpy does for large blocks: no line is read to be written.
  void (*copy)(std::byte* to, const std::byte* from, std::size_t size);
  void (*write)(std::byte* to, std::size_t size);  // around the caches; null: this CPU has no such store
};

// Those that this CPU can run, widest first; the last runs everywhere.
std::span<const Kernels> usable_kernels();

// One cache line of a chain.
inline constexpr std::size_t kLine = 64;
struct alignas(kLine) ChainLine {
  const ChainLine* next = nullptr;
};

// Links all lines of the buffer into one ring in an order that no prefetcher foresees.
void make_chain(std::span<ChainLine> lines, std::uint64_t seed);
// Where `steps` dependent loads end.
const ChainLine* follow_chain(const ChainLine* start, std::size_t steps);

// The k-th of a permutation of 0 … count-1: a mixing of k's bits, repeated until it falls inside.
std::uint64_t shuffled(std::uint64_t index, std::uint64_t count, std::uint64_t seed);

}  // namespace angio::bench
