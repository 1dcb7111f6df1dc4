#include "import/nccl_tests/check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

namespace angio::import::nccl_tests {
namespace {

using model::NcclCollective;
using model::NcclTestsRow;
using model::NcclTestsTable;
using model::NcclTestsTiming;

constexpr double kGigabyte = 1e9;
// nccl-tests prints bandwidths with two decimals of GB/s, times with four digits or more; the rest is slack
// for averages over ranks.
constexpr double kHalfUnit = 0.005 * kGigabyte;
constexpr double kSlack = 0.01;
// Below this a printed bandwidth has too few digits to say what the ratio is.
constexpr double kTelling = 1.0 * kGigabyte;

const std::optional<NcclTestsTiming>& half(const NcclTestsRow& row, bool first) {
  return first ? row.out_of_place : row.in_place;
}

// Median of busbw / algbw over the halves that have digits enough.
std::optional<double> usual_ratio(const NcclTestsTable& table) {
  std::vector<double> ratios;
  for (const NcclTestsRow& row : table.rows) {
    for (const bool first : {true, false}) {
      const auto& timing = half(row, first);
      if (timing && timing->algorithm.value >= kTelling)
        ratios.push_back(timing->bus.value / timing->algorithm.value);
    }
  }
  if (ratios.empty()) return std::nullopt;
  const auto middle = ratios.begin() + static_cast<std::ptrdiff_t>(ratios.size() / 2);
  std::ranges::nth_element(ratios, middle);
  return *middle;
}

bool near(double a, double b) {
  return std::abs(a - b) <= kSlack * std::max(a, b);
}

// Only what the ratio proves: 2(n-1)/n is AllReduce's alone once it is above 1; with a reduction and no root
// it is AllReduce or ReduceScatter, and the number of ranks tells which.
NcclCollective infer(const NcclTestsTable& table, double ratio) {
  if (ratio > 1 + kSlack) return NcclCollective::kAllReduce;
  if (table.rows.empty()) return NcclCollective::kUnknown;
  const NcclTestsRow& row = table.rows.back();
  if (row.reduction.empty() || row.root.value_or(-1) >= 0) return NcclCollective::kUnknown;
  const std::uint32_t ranks = model::ranks_of(table);
  for (const NcclCollective candidate : {NcclCollective::kAllReduce, NcclCollective::kReduceScatter}) {
    const auto factor = model::bus_factor(candidate, ranks);
    if (factor && near(*factor, ratio)) return candidate;
  }
  return NcclCollective::kUnknown;
}

std::string doubt_of(const NcclTestsRow& row, const NcclTestsTiming& timing, std::optional<double> factor,
                     bool check_time) {
  if (factor) {
    const double expected = timing.algorithm.value * *factor;
    const double room = kHalfUnit * (1 + *factor) + kSlack * expected;
    if (std::abs(timing.bus.value - expected) > room)
      return fmt::format("busbw {:.2f} GB/s is not algbw {:.2f} GB/s x {:.3f}", timing.bus.value / kGigabyte,
                         timing.algorithm.value / kGigabyte, *factor);
  }
  if (!check_time || timing.time_us < 1 || timing.algorithm.value < kTelling) return {};
  const double expected = static_cast<double>(row.size.value) / (timing.time_us * 1e-6);
  // A time of a second and more may be printed as 1.2e+06: two digits.
  const double slack = timing.time_us >= 1e5 ? 0.05 : kSlack;
  if (std::abs(timing.algorithm.value - expected) <= kHalfUnit + slack * expected) return {};
  return fmt::format("algbw {:.2f} GB/s is not {} bytes in {:.6g} us, which is {:.2f} GB/s",
                     timing.algorithm.value / kGigabyte, row.size.value, timing.time_us,
                     expected / kGigabyte);
}

}  // namespace

NcclCollective collective_of(std::string_view program) {
  using enum NcclCollective;
  if (program.ends_with("_mpi")) program.remove_suffix(4);  // forks build both
  if (program.ends_with("_perf")) program.remove_suffix(5);
  static constexpr std::pair<std::string_view, NcclCollective> kNames[] = {
      {"all_reduce", kAllReduce}, {"all_gather", kAllGather}, {"reduce_scatter", kReduceScatter},
      {"alltoall", kAllToAll},    {"all_to_all", kAllToAll},  {"alltoallv", kAllToAllV},
      {"scatter", kScatter},      {"gather", kGather},        {"broadcast", kBroadcast},
      {"reduce", kReduce},        {"sendrecv", kSendRecv},    {"hypercube", kHyperCube}};
  for (const auto& [name, collective] : kNames)
    if (program == name) return collective;
  return kUnknown;
}

void check_table(NcclTestsTable& table) {
  table.collective = collective_of(table.program);
  const std::optional<double> ratio = usual_ratio(table);
  if (table.collective == NcclCollective::kUnknown && ratio) {
    table.collective = infer(table, *ratio);
    table.inferred = table.collective != NcclCollective::kUnknown;
  }
  // A shortened list of devices gives a wrong factor: then the table's own usual ratio is the measure.
  std::optional<double> factor = model::bus_factor(table.collective, model::ranks_of(table));
  if (ratio && (!factor || !near(*factor, *ratio))) factor = ratio;
  const bool sized = table.collective != NcclCollective::kHyperCube &&
                     table.collective != NcclCollective::kAllToAllV &&
                     table.collective != NcclCollective::kUnknown;
  for (NcclTestsRow& row : table.rows) {
    for (const bool first : {true, false}) {
      const auto& timing = half(row, first);
      if (timing && row.doubt.empty())
        row.doubt = doubt_of(row, *timing, ratio ? factor : std::nullopt, sized);
    }
  }
}

}  // namespace angio::import::nccl_tests
