// Who is tested with whom, and when: tournaments in which no host plays twice in a round, so that no link is
// shared. Pure. Not how a pair is tested.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace angio::mesh {

using HostPair = std::pair<std::uint32_t, std::uint32_t>;
using Round = std::vector<HostPair>;

// Every host with every other, by the circle method: one host stays, the others go round. An odd number has
// one host without a partner in each round. n - 1 rounds, n of an odd number.
std::vector<Round> full_mesh(std::uint32_t hosts);

// Each host with about `partners` others: distances around the circle that double, so that near hosts (one
// leaf, one rack, as lists of hosts are sorted) and far ones are both met. 3 partners at least; the full mesh
// where that is no more.
std::vector<Round> sampled_mesh(std::uint32_t hosts, std::uint32_t partners);

// Some pairs in as few rounds as a simple rule finds: for what a resumed run still lacks.
std::vector<Round> rounds_of(std::uint32_t hosts, const std::vector<HostPair>& pairs);

// Rounds split so that at most so many pairs are tested at once; 0: no limit.
std::vector<Round> at_most(std::vector<Round> rounds, std::uint32_t pairs_at_once);

}  // namespace angio::mesh
