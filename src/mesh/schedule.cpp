#include "mesh/schedule.hpp"

#include <algorithm>
#include <set>

namespace angio::mesh {
namespace {

HostPair ordered(std::uint32_t a, std::uint32_t b) {
  return {std::min(a, b), std::max(a, b)};
}

// Distances 1, 2, 4 … below half the circle, then those between them, until there are enough.
std::vector<std::uint32_t> distances(std::uint32_t hosts, std::uint32_t partners) {
  const std::uint32_t half = hosts / 2;
  const std::uint32_t wanted = (partners + 1) / 2;  // one distance gives two partners
  std::set<std::uint32_t> chosen;
  // The farthest first: it crosses the most of the fabric.
  if (half >= 1) chosen.insert(half);
  for (std::uint32_t distance = 1; distance <= half && chosen.size() < wanted; distance *= 2)
    chosen.insert(distance);
  for (std::uint32_t distance = 3; distance < half && chosen.size() < wanted; distance += 2)
    chosen.insert(distance);
  for (std::uint32_t distance = 1; distance < half && chosen.size() < wanted; ++distance)
    chosen.insert(distance);
  return {chosen.begin(), chosen.end()};
}

}  // namespace

std::vector<Round> full_mesh(std::uint32_t hosts) {
  if (hosts < 2) return {};
  const std::uint32_t seats = hosts + hosts % 2;  // the last seat of an odd number is empty
  const std::uint32_t around = seats - 1;
  std::vector<Round> rounds;
  for (std::uint32_t turn = 0; turn < around; ++turn) {
    Round round;
    const auto seated = [&](std::uint32_t seat) { return (turn + seat) % around; };
    // Of an odd number the host that would meet the empty seat rests.
    if (seats - 1 < hosts) round.push_back(ordered(seats - 1, seated(0)));
    for (std::uint32_t seat = 1; seat < seats / 2; ++seat) {
      const std::uint32_t a = seated(seat);
      const std::uint32_t b = seated(around - seat);
      round.push_back(ordered(a, b));
    }
    std::ranges::sort(round);
    rounds.push_back(std::move(round));
  }
  return rounds;
}

std::vector<Round> sampled_mesh(std::uint32_t hosts, std::uint32_t partners) {
  constexpr std::uint32_t kLeast = 3;  // fewer cannot tell a slow host from a slow path
  partners = std::max(partners, kLeast);
  if (hosts < 2 || partners + 1 >= hosts) return full_mesh(hosts);
  std::vector<HostPair> pairs;
  for (const std::uint32_t distance : distances(hosts, partners)) {
    for (std::uint32_t host = 0; host < hosts; ++host)
      pairs.push_back(ordered(host, (host + distance) % hosts));
  }
  std::ranges::sort(pairs);
  const auto doubles = std::ranges::unique(pairs);
  pairs.erase(doubles.begin(), doubles.end());
  return rounds_of(hosts, pairs);
}

std::vector<Round> rounds_of(std::uint32_t hosts, const std::vector<HostPair>& pairs) {
  // The first round in which both are free. The word of each host has a bit for each round it plays in.
  std::vector<std::vector<std::uint64_t>> busy(hosts);
  constexpr std::uint32_t kBits = 64;
  std::vector<Round> rounds;
  for (const HostPair& pair : pairs) {
    auto& a = busy[pair.first];
    auto& b = busy[pair.second];
    std::uint32_t round = 0;
    for (std::uint32_t word = 0;; ++word) {
      const std::uint64_t taken = (word < a.size() ? a[word] : 0) | (word < b.size() ? b[word] : 0);
      if (taken == ~std::uint64_t{0}) continue;
      const auto bit = static_cast<std::uint32_t>(__builtin_ctzll(~taken));
      round = word * kBits + bit;
      for (auto* one : {&a, &b}) {
        if (one->size() <= word) one->resize(word + 1);
        (*one)[word] |= std::uint64_t{1} << bit;
      }
      break;
    }
    if (rounds.size() <= round) rounds.resize(round + 1);
    rounds[round].push_back(pair);
  }
  return rounds;
}

std::vector<Round> at_most(std::vector<Round> rounds, std::uint32_t pairs_at_once) {
  if (pairs_at_once == 0) return rounds;
  std::vector<Round> split;
  for (const Round& round : rounds) {
    for (std::size_t first = 0; first < round.size(); first += pairs_at_once) {
      const std::size_t end = std::min<std::size_t>(round.size(), first + pairs_at_once);
      split.emplace_back(round.begin() + static_cast<std::ptrdiff_t>(first),
                         round.begin() + static_cast<std::ptrdiff_t>(end));
    }
  }
  return split;
}

}  // namespace angio::mesh
