// The data that a benchmark of collectives moves, and what has to arrive: whole numbers that depend on the
// rank, the place and the run, so that a value of another rank, another place or an earlier run is noticed,
// and small enough that the type holds every partial result exactly, in whatever order a library adds. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "collective/transport.hpp"
#include "model/nccl_tests.hpp"

namespace angio::collective {

struct Pattern {
  Element element = Element::kFloat;
  std::optional<Reduction> reduction;  // none: the data is moved only
  std::uint32_t ranks = 1;
  std::uint64_t run = 0;  // another one has other data
};

// What `rank` sends, elements [first, first + count).
std::vector<std::byte> sent_by(const Pattern& pattern, std::uint32_t rank, std::uint64_t first,
                               std::uint64_t count);
// The reduction of all ranks' elements at these places.
std::vector<std::byte> reduced(const Pattern& pattern, std::uint64_t first, std::uint64_t count);

// Where the elements that a rank receives come from: pieces of a buffer, each one rank's data or reduced.
struct Piece {
  std::uint64_t at = 0;               // element of the receive buffer
  std::uint64_t count = 0;            // elements
  std::uint64_t first = 0;            // place in the sender's data
  std::optional<std::uint32_t> from;  // none: reduced over all
};
// Of group 0; empty: this rank receives nothing.
std::vector<Piece> expected_pieces(const Call& call, std::uint32_t rank, std::uint32_t ranks);

// Elements of `got` that differ from what is expected at `first` on. Exact; averages of floating point within
// the rounding of the type. `where`: index of the first wrong one.
std::uint64_t count_wrong(const Pattern& pattern, std::span<const std::byte> got, const Piece& piece,
                          std::uint64_t first, std::optional<std::uint64_t>& where);

}  // namespace angio::collective
