// The tables of a dry run: choices by size, ways between ranks, kernels, and NCCL's own model.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/format.hpp"
#include "base/text.hpp"
#include "views/dryrun_facts.hpp"
#include "views/dryrun_parts.hpp"
#include "views/nccl_log_words.hpp"

namespace angio::views {
namespace {

using model::DryRun;
using model::DryRunOperation;
using report::Align;
using report::Document;
using report::Heading;
using report::Line;
using report::Paragraph;
using report::plain;
using report::Tone;
using report::toned;

constexpr std::size_t kMostKernels = 12;

// One row of the first and the last operation of a range.
std::vector<Line> choice_row(const DryRun& run, const DryRunChoice& choice, std::uint32_t ranks) {
  const DryRunOperation& first = run.operations[choice.first];
  const DryRunOperation& last = run.operations[choice.last];
  const auto time = [](const DryRunOperation& each) {
    return each.estimate_us ? microseconds_words(*each.estimate_us) : std::string("-");
  };
  const auto bus = [&](const DryRunOperation& each) {
    const auto rate = each.estimate_us ? bus_gigabytes(each.collective, each.bytes, *each.estimate_us, ranks)
                                       : std::nullopt;
    return rate ? gigabytes_words(*rate) : std::string("-");
  };
  const bool named = first.reached && !first.algorithm.empty();
  return {plain("  " + size_words(first.bytes, last.bytes)),
          toned(algorithm_words(first), named ? Tone::kPlain : Tone::kUnknown),
          plain(first.protocol.empty() ? "-" : printable(first.protocol)),
          plain(first.channels ? std::to_string(*first.channels) : "-"),
          plain(range_words(time(first), time(last))),
          plain(range_words(bus(first), bus(last)))};
}

std::string choice_remark(const DryRun& run) {
  std::string remark;
  if (std::ranges::any_of(run.operations,
                          [](const auto& each) { return algorithm_words(each) == kPointToPoint; }))
    remark = "p2p: point to point. ";
  if (std::ranges::any_of(run.operations, [](const auto& each) { return each.estimate_us.has_value(); }))
    return remark +
           "Times are NCCL's own estimate, without congestion and overlap; GB/s is the bus bandwidth that it "
           "implies, by nccl-tests' factors. Nothing was measured.";
  if (std::ranges::any_of(run.operations, &DryRunOperation::reached))
    return remark +
           "No estimate of times: NCCL gives none before 2.22, for point to point, and where a tuner "
           "decides.";
  return remark;
}

}  // namespace

void add_dryrun_ways(const DryRun& run, Document& document) {
  if (!run.evidence.log) return;
  const std::vector<DryRunWay> ways = ways_of(*run.evidence.log, NodeOfRank(run.ranks_per_node));
  if (ways.empty()) return;
  report::Table table{{{"pairs of ranks"}, {"way"}, {"pairs", Align::kRight}, {"channels"}, {"adapters"}},
                      {}};
  for (const DryRunWay& way : ways) {
    std::set<std::uint32_t> channels;
    for (std::uint32_t channel = 0; channel < 64; ++channel)
      if ((way.channels >> channel & 1U) != 0) channels.insert(channel);
    table.rows.push_back({plain(way.pairs),
                          toned(printable(way.way), way.slow ? Tone::kWarning : Tone::kPlain),
                          plain(std::to_string(way.ranks.size())), plain(rank_list(channels)),
                          plain(printable(name_ranges(way.adapters)))});
  }
  document.blocks.emplace_back(Heading{"Ways between ranks", 2});
  document.blocks.emplace_back(std::move(table));
  // Ranks are threads of one process for each node; the jobs that people run have a process for each GPU.
  if (std::ranges::any_of(ways, [](const DryRunWay& way) { return contains(way.way, "direct pointer"); }))
    document.blocks.emplace_back(Paragraph{toned(
        "Ranks of a node are threads of one process here: P2P/direct pointer stands for the P2P/CUMEM or "
        "P2P/IPC of a job with a process for each GPU.",
        Tone::kQuiet)});
  if (const std::uint64_t lines = ways_left_out(*run.evidence.log); lines != 0)
    document.blocks.emplace_back(Paragraph{
        toned(fmt::format("{} connections more are counted, not told apart by pair", lines), Tone::kQuiet)});
}

void add_dryrun_choices(const DryRun& run, Document& document) {
  if (run.operations.empty()) return;
  report::Table table{{{"size"},
                       {"algorithm"},
                       {"protocol"},
                       {"channels", Align::kRight},
                       {"estimated us", Align::kRight},
                       {"bus GB/s", Align::kRight}},
                      {}};
  const std::string* before = nullptr;
  for (const DryRunChoice& choice : folded_choices(run.operations)) {
    const DryRunOperation& first = run.operations[choice.first];
    if (before == nullptr || *before != first.collective)
      table.rows.push_back({toned(printable(first.collective), Tone::kStrong)});
    before = &first.collective;
    table.rows.push_back(choice_row(run, choice, ranks_of(run)));
  }
  document.blocks.emplace_back(Heading{"Choices by size", 2});
  document.blocks.emplace_back(std::move(table));
  if (const std::string remark = choice_remark(run); !remark.empty())
    document.blocks.emplace_back(Paragraph{toned(remark, Tone::kQuiet)});
}

void add_dryrun_kernels(const DryRun& run, Document& document) {
  const std::vector<DryRunKernel> kernels = kernels_of(run);
  if (kernels.empty()) return;
  const auto range = [](const std::set<std::uint32_t>& values) {
    return range_words(std::to_string(*values.begin()), std::to_string(*values.rbegin()));
  };
  report::Table table{
      {{"kernel"}, {"blocks", Align::kRight}, {"threads", Align::kRight}, {"operations", Align::kRight}}, {}};
  for (const DryRunKernel& kernel : kernels) {
    if (table.rows.size() >= kMostKernels) break;
    table.rows.push_back({plain(printable(kernel.name)), plain(range(kernel.grids)),
                          plain(range(kernel.blocks)), plain(std::to_string(kernel.operations))});
  }
  document.blocks.emplace_back(Heading{"Kernels", 2});
  document.blocks.emplace_back(std::move(table));
  std::string remark = "A kernel serves its whole family: its name does not tell the algorithm.";
  if (kernels.size() > kMostKernels)
    remark = fmt::format("and {} more. ", kernels.size() - kMostKernels) + remark;
  document.blocks.emplace_back(Paragraph{toned(remark, Tone::kQuiet)});
}

// A row for each algorithm that is possible, a column for each protocol.
void add_tuning_table(const std::vector<model::NcclTuningCell>& tuning, Document& document) {
  std::vector<std::string> protocols;
  std::vector<std::pair<std::string, std::string>> rows;
  std::map<std::pair<std::pair<std::string, std::string>, std::string>, std::string> cells;
  for (const model::NcclTuningCell& cell : tuning) {
    if (!(cell.bandwidth > 0)) continue;
    const std::pair row(cell.function, cell.algorithm);
    if (std::ranges::find(rows, row) == rows.end()) rows.push_back(row);
    if (std::ranges::find(protocols, cell.protocol) == protocols.end()) protocols.push_back(cell.protocol);
    cells[{row, cell.protocol}] =
        fmt::format("{} / {}", microseconds_words(cell.latency_us), gigabytes_words(cell.bandwidth));
  }
  if (rows.empty()) return;
  std::map<std::string, std::size_t> order;  // of the collectives, by their first row
  for (const auto& [function, algorithm] : rows)
    order.emplace(function, order.size());
  std::ranges::stable_sort(rows, {}, [&](const auto& row) { return order.at(row.first); });
  report::Table table{{{"collective"}, {"algorithm"}}, {}};
  for (const std::string& protocol : protocols)
    table.columns.push_back({printable(protocol), Align::kRight});
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const bool fresh = i == 0 || rows[i].first != rows[i - 1].first;
    std::vector<Line> row{plain(fresh ? printable(rows[i].first) : ""), plain(printable(rows[i].second))};
    for (const std::string& protocol : protocols) {
      const auto found = cells.find({rows[i], protocol});
      row.push_back(found == cells.end() ? toned("-", Tone::kQuiet) : plain(found->second));
    }
    table.rows.push_back(std::move(row));
  }
  document.blocks.emplace_back(Heading{"NCCL's model: latency us / algorithm GB/s", 2});
  document.blocks.emplace_back(std::move(table));
}

void add_dryrun_tuning(const DryRun& run, Document& document) {
  const model::NcclCommunicator* world = run.evidence.log ? world_of(*run.evidence.log) : nullptr;
  if (world != nullptr) add_tuning_table(world->tuning, document);
}

}  // namespace angio::views
