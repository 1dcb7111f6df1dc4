// The table in NCCL's own words.
#include <fmt/format.h>

#include <array>

#include "cost/nccl_model.hpp"

namespace angio::cost {
namespace {

using std::string_view_literals::operator""sv;

constexpr std::array kCollectives{"Broadcast"sv, "Reduce"sv, "AllGather"sv, "ReduceScatter"sv, "AllReduce"sv};
constexpr std::array kAlgorithms{"Tree"sv,     "Ring"sv, "CollNetDirect"sv, "CollNetChain"sv, "NVLS"sv,
                                 "NVLSTree"sv, "PAT"sv};
constexpr std::array kProtocols{"LL"sv, "LL128"sv, "Simple"sv};
constexpr std::size_t kBlock = 3;  // algorithms of one block of lines

std::string row_of(const NcclTable& table, std::size_t collective, std::size_t from, std::size_t to) {
  std::string line = fmt::format("{:>13} |", kCollectives.at(collective));
  for (std::size_t algorithm = from; algorithm < to; ++algorithm)
    for (const NcclCell& cell : table.cells.at(collective).at(algorithm))
      line += fmt::format("{:8.1f}/{:6.1f} |", cell.latency_us, cell.bandwidth);
  return line;
}

void add_head(const NcclTable& table, std::size_t from, std::size_t to, std::vector<std::string>& lines) {
  std::string names = "  Algorithm   |", protocols = "  Protocol    |", threads = " Max NThreads |";
  for (std::size_t algorithm = from; algorithm < to; ++algorithm) {
    names += fmt::format(" {:>14}   {:>14}   {:>14} |", "", kAlgorithms.at(algorithm), "");
    for (std::size_t protocol = 0; protocol < kNcclProtocols; ++protocol) {
      protocols += fmt::format(" {:>14} |", kProtocols.at(protocol));
      threads += fmt::format(" {:>14} |", table.threads.at(algorithm).at(protocol));
    }
  }
  lines.insert(lines.end(), {names, protocols, threads});
}

}  // namespace

std::string_view nccl_name(tuner::Collective collective) {
  return kCollectives.at(static_cast<std::size_t>(collective));
}
std::string_view nccl_name(tuner::Algorithm algorithm) {
  return kAlgorithms.at(static_cast<std::size_t>(algorithm));
}
std::string_view nccl_name(tuner::Protocol protocol) {
  return kProtocols.at(static_cast<std::size_t>(protocol));
}

std::vector<model::NcclTuningCell> nccl_cells(const NcclTable& table) {
  std::vector<model::NcclTuningCell> cells;
  for (std::size_t collective = 0; collective < tuner::kCollectives; ++collective)
    for (std::size_t algorithm = 0; algorithm < static_cast<std::size_t>(table.algorithms); ++algorithm)
      for (std::size_t protocol = 0; protocol < kNcclProtocols; ++protocol) {
        const NcclCell& cell = table.cells[collective][algorithm][protocol];
        cells.push_back({std::string(kCollectives.at(collective)), std::string(kAlgorithms.at(algorithm)),
                         std::string(kProtocols.at(protocol)), static_cast<double>(cell.latency_us),
                         static_cast<double>(cell.bandwidth)});
      }
  return cells;
}

std::vector<std::string> nccl_lines(const NcclTable& table) {
  std::vector<std::string> lines;
  const auto count = static_cast<std::size_t>(table.algorithms);
  for (std::size_t from = 0; from < count; from += kBlock) {
    const std::size_t to = std::min(count, from + kBlock);
    add_head(table, from, to, lines);
    for (std::size_t collective = 0; collective < tuner::kCollectives; ++collective)
      lines.push_back(row_of(table, collective, from, to));
  }
  return lines;
}

}  // namespace angio::cost
