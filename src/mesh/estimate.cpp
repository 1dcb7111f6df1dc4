#include "mesh/estimate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/format.hpp"

namespace angio::mesh {
namespace {

std::uint32_t rails(const model::MeshResult& result, bool rdma) {
  std::size_t most = 0;
  for (const model::MeshHost& host : result.hosts)
    most = std::max(most, rdma ? host.rdma.size() : host.tcp.size());
  return static_cast<std::uint32_t>(most);
}

}  // namespace

MeshSize estimate(const model::MeshPlan& plan, std::size_t rounds, std::uint32_t tcp_rails,
                  std::uint32_t rdma_rails) {
  // Setting up: sockets at once, perftest's memory and queue pairs about a second.
  constexpr double kTcpStart = 0.1;
  constexpr double kRdmaStart = 1.2;
  const double seconds = plan.seconds;
  const bool latency = plan.level != model::MeshLevel::kBandwidth;
  const bool bandwidth = plan.level != model::MeshLevel::kLatency;
  MeshSize size;
  double pair = 0;
  const auto add = [&](std::uint32_t rails, double start, double of_latency, double warm) {
    const std::uint32_t lanes = plan.all_nics ? rails * rails : rails;
    size.tests += lanes * ((latency ? 1U : 0U) + (bandwidth ? 2U : 0U));
    pair += lanes * ((latency ? start + of_latency : 0) + (bandwidth ? 2 * (start + seconds + warm) : 0));
  };
  if (plan.tcp) add(std::max(1U, tcp_rails), kTcpStart, std::min(seconds, 1.0), 0.5);
  if (plan.rdma) add(std::max(1U, rdma_rails), kRdmaStart, 0.1, 0);
  size.seconds = pair * static_cast<double>(rounds);
  return size;
}

std::string size_line(const model::MeshResult& result, const std::vector<Round>& rounds,
                      std::uint32_t pairs_at_once) {
  const auto guess = [&](std::size_t count) {
    return estimate(result.plan, count, rails(result, false), rails(result, true));
  };
  const MeshSize size = guess(rounds.size());
  std::size_t most = 0;
  for (const Round& round : rounds)
    most = std::max(most, round.size());
  std::string line =
      fmt::format("{} of at most {} at once, {} a pair: about {}", count_of(rounds.size(), "round"),
                  count_of(most, "pair"), count_of(size.tests, "test"), time_words(size.seconds));
  constexpr double kLong = 1800;  // s
  if (size.seconds <= kLong || result.plan.partners > 0) return line;
  constexpr std::uint32_t kSample = 6;
  const auto hosts = static_cast<std::uint32_t>(result.hosts.size());
  const std::size_t fewer = at_most(sampled_mesh(hosts, kSample), pairs_at_once).size();
  return line + fmt::format("; --sample {} takes about {}", kSample, time_words(guess(fewer).seconds));
}

std::string time_words(double seconds) {
  if (seconds < 100) return fmt::format("{:.0f} s", std::ceil(seconds));
  if (seconds < 100 * 60) return fmt::format("{:.0f} min", std::ceil(seconds / 60));
  return fmt::format("{:.1f} h", seconds / 3600);
}

}  // namespace angio::mesh
