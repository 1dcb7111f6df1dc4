// Results of nccl-tests: what the table alone proves, and what it proves beside the GPUs it names or the
// snapshot. The average over all sizes is never taken for a speed.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>

#include "base/format.hpp"
#include "base/text.hpp"
#include "diagnose/rules/nccl.hpp"
#include "diagnose/rules/support.hpp"
#include "knowledge/knowledge.hpp"

namespace angio::diagnose::nccl {
namespace {

using model::Machine;
using model::NcclEvidence;
using model::NcclTestsRow;
using model::NcclTestsTable;

constexpr std::size_t kMostEvidence = 6;

std::string title_of(const NcclTestsTable& table) {
  const std::string name = table.program.empty() ? model::name_of(table.collective) : table.program;
  const std::uint32_t ranks = model::ranks_of(table);
  const std::size_t hosts = model::hosts_of(table).size();
  if (ranks == 0) return name;
  return fmt::format("{} over {} on {}", name, count_of(ranks, "GPU"), count_of(hosts, "node"));
}

// Every table; not applicable without one.
template <typename Check>
void each_table(const Machine& machine, Outcome& outcome, const Check& check) {
  bool any = false;
  for (const NcclEvidence* evidence : evidence_of(machine)) {
    for (const NcclTestsTable& table : evidence->tests) {
      any = true;
      check(*evidence, table);
    }
  }
  if (!any) outcome.not_applicable();
}

model::Evidence row_evidence(const NcclEvidence& evidence, const NcclTestsRow& row) {
  std::string text = in_words(row.size);
  for (const auto& [half, name] :
       {std::pair{&row.out_of_place, "out of place"}, std::pair{&row.in_place, "in place"}})
    if (*half) text += fmt::format(", {} busbw {}", name, in_words((*half)->bus));
  return seen(evidence, row.source, std::move(text));
}

double large_bytes() {
  return knowledge::threshold("nccl.tests.large-size");
}

bool is_large(const NcclTestsRow& row) {
  return static_cast<double>(row.size.value) >= large_bytes();
}

// The best of the rows that are large enough to be about bandwidth; null when the sweep has none.
model::NcclTestsPeak large_peak(const NcclTestsTable& table) {
  model::NcclTestsPeak peak;
  for (const NcclTestsRow& row : table.rows) {
    if (!is_large(row)) continue;
    for (const auto* half : {&row.out_of_place, &row.in_place})
      if (*half && (peak.row == nullptr || (*half)->bus.value > peak.bus.value)) peak = {&row, (*half)->bus};
  }
  return peak;
}

}  // namespace

void tests_wrong(const Machine& machine, Outcome& outcome) {
  each_table(machine, outcome, [&](const NcclEvidence& evidence, const NcclTestsTable& table) {
    std::vector<const NcclTestsRow*> wrong;
    bool checked = false;
    for (const NcclTestsRow& row : table.rows) {
      std::uint64_t count = 0;
      for (const auto* half : {&row.out_of_place, &row.in_place}) {
        if (!*half) continue;
        checked = checked || (*half)->wrong || (*half)->deviation;
        count += (*half)->wrong.value_or(0);
      }
      if (count != 0) wrong.push_back(&row);
    }
    if (wrong.empty() && table.out_of_bounds.value_or(0) == 0) {
      if (!checked && !table.rows.empty())
        outcome.undecided(
            "whether the results of " + title_of(table) + " are right: it ran without validation",
            "nccl-tests -c 1");
      return;
    }
    Draft draft;
    draft.title = title_of(table) + " computed wrong values";
    draft.rank = 1;
    for (std::size_t i = 0; i < std::min(wrong.size(), kMostEvidence); ++i) {
      std::uint64_t count = 0;
      for (const auto* half : {&wrong[i]->out_of_place, &wrong[i]->in_place})
        if (*half) count += (*half)->wrong.value_or(0);
      draft.evidence.push_back(seen(evidence, wrong[i]->source,
                                    fmt::format("{}: {} wrong elements", in_words(wrong[i]->size), count)));
    }
    if (wrong.empty())
      draft.evidence.push_back(seen(evidence, table.average_source,
                                    fmt::format("Out of bounds values: {}", *table.out_of_bounds)));
    outcome.fire(std::move(draft));
  });
}

namespace {

struct Failed {
  std::vector<std::pair<const NcclEvidence*, const NcclTestsTable*>> tables;
  std::map<std::string, std::size_t> hosts;  // in how many of them
  std::size_t all = 0;
};

// Many runs between pairs: the node that is in every one that failed.
std::string common_host(const Failed& failed) {
  std::string found;
  for (const auto& [host, count] : failed.hosts) {
    if (count != failed.tables.size()) continue;
    if (!found.empty()) return {};
    found = host;
  }
  return found;
}

}  // namespace

void tests_failed(const Machine& machine, Outcome& outcome) {
  Failed failed;
  each_table(machine, outcome, [&](const NcclEvidence& evidence, const NcclTestsTable& table) {
    ++failed.all;
    if (!table.errors.empty()) {
      failed.tables.emplace_back(&evidence, &table);
      for (const std::string& host : model::hosts_of(table))
        ++failed.hosts[host];
    } else if (table.rows.empty() && !table.average) {
      outcome.undecided("how " + title_of(table) + " ended: it has no rows and no error", "the whole output");
    }
  });
  if (failed.tables.empty()) return;
  Draft draft;
  draft.title = title_of(*failed.tables.front().second) + " ended in an error";
  if (failed.tables.size() > 1) {
    draft.title =
        fmt::format("{} of {} runs of nccl-tests ended in an error", failed.tables.size(), failed.all);
    if (const std::string host = common_host(failed); !host.empty())
      draft.title += "; " + host + " is in every one";
  }
  draft.rank = 0.8;
  for (const auto& [evidence, table] : failed.tables)
    if (draft.evidence.size() < kMostEvidence)
      draft.evidence.push_back(seen(*evidence, table->errors.front().source, table->errors.front().text));
  const auto hosts = model::hosts_of(*failed.tables.front().second);
  if (!hosts.empty()) draft.words["hosts"] = join(hosts, ", ");
  outcome.fire(std::move(draft));
}

namespace {

// The GPU that all ranks have, when it is one kind.
const knowledge::GpuModel* common_gpu(const NcclTestsTable& table) {
  if (table.devices.empty()) return nullptr;
  for (const model::NcclTestsDevice& device : table.devices)
    if (device.name != table.devices.front().name) return nullptr;
  return knowledge::find_gpu(table.devices.front().name);
}

}  // namespace

// One node, GPUs that have NVLink by design, and no more bandwidth than PCIe could carry.
void tests_below_nvlink(const Machine& machine, Outcome& outcome) {
  each_table(machine, outcome, [&](const NcclEvidence& evidence, const NcclTestsTable& table) {
    const std::size_t hosts = model::hosts_of(table).size();
    const std::uint32_t ranks = model::ranks_of(table);
    if (hosts != 1 || ranks < 2 || table.rows.empty()) return;
    const knowledge::GpuModel* gpu = common_gpu(table);
    if (gpu == nullptr || gpu->nvlinks == 0 || gpu->nvlink_optional || gpu->pcie_generation == 0) return;
    const model::NcclTestsPeak peak = large_peak(table);
    if (peak.row == nullptr) {
      outcome.undecided("whether " + title_of(table) + " used NVLink: no size is large enough to tell",
                        "nccl-tests -b 8 -e 8G -f 2");
      return;
    }
    const auto speed = knowledge::pcie_speed(gpu->pcie_generation);
    const auto pcie =
        speed ? knowledge::pcie_rate({*speed, gpu->pcie_width == 0 ? 16 : gpu->pcie_width}) : std::nullopt;
    if (!pcie || peak.bus.value > pcie->value) return;
    Draft draft;
    draft.title = fmt::format("{} reach {} bus bandwidth: no more than PCIe carries, so NVLink is not used",
                              title_of(table), in_words(peak.bus));
    draft.rank = 0.9;
    draft.evidence.push_back(row_evidence(evidence, *peak.row));
    draft.evidence.push_back(
        {fmt::format("{}: {} NVLinks by design; PCIe {}.0 x{} carries {}", gpu->match, gpu->nvlinks,
                     gpu->pcie_generation, gpu->pcie_width == 0 ? 16 : gpu->pcie_width, in_words(*pcie)),
         std::string(gpu->source)});
    outcome.fire(std::move(draft));
  });
}

// Several nodes, and the snapshot of one of them tells how fast its adapters are.
void tests_below_network(const Machine& machine, Outcome& outcome) {
  const double share = knowledge::threshold("nccl.tests.network-share");
  each_table(machine, outcome, [&](const NcclEvidence& evidence, const NcclTestsTable& table) {
    const std::size_t hosts = model::hosts_of(table).size();
    if (hosts < 2) return;
    const model::NcclTestsPeak peak = large_peak(table);
    if (peak.row == nullptr) return;
    double fastest = 0;
    for (const model::RdmaDevice& device : machine.rdma)
      for (const model::RdmaPort& port : device.ports)
        if (port.state.is("ACTIVE") && port.rate.is_known())
          fastest = std::max(fastest, port.rate.get()->value);
    if (fastest == 0) {
      outcome.undecided(
          fmt::format("whether {} between {} nodes is what their network can do: the table does not say "
                      "what the network is",
                      in_words(peak.bus), hosts),
          "angio collect on a node, then angio log --snap NODE.snap FILE");
      return;
    }
    constexpr double kBitsPerByte = 8;
    const double port = fastest / kBitsPerByte;
    if (peak.bus.value >= share * port) return;
    Draft draft;
    draft.title = fmt::format("{} reaches {}: less than {} of one adapter's port", title_of(table),
                              in_words(peak.bus), percent(share));
    draft.rank = 1 - peak.bus.value / port;
    draft.evidence.push_back(row_evidence(evidence, *peak.row));
    draft.evidence.push_back(
        {"fastest active port: " + in_words(BitsPerSecond{fastest}) + " = " + in_words(BytesPerSecond{port}),
         "snapshot of " + machine.name});
    outcome.fire(std::move(draft));
  });
}

void tests_average(const Machine& machine, Outcome& outcome) {
  const double factor = knowledge::threshold("nccl.tests.average-factor");
  each_table(machine, outcome, [&](const NcclEvidence& evidence, const NcclTestsTable& table) {
    if (!table.average) {
      // no undecided: a table without the line quotes no average
      return;
    }
    const model::NcclTestsPeak peak = model::peak_of(table);
    if (peak.row == nullptr || !(peak.bus.value > factor * table.average->value)) return;
    Draft draft;
    draft.title = fmt::format("The average of {} is no speed: {} peaks at {} at {}", in_words(*table.average),
                              title_of(table), in_words(peak.bus), in_words(peak.row->size));
    draft.evidence.push_back(
        seen(evidence, table.average_source,
             fmt::format("Avg bus bandwidth {} over {} sizes from {}", in_words(*table.average),
                         table.rows.size(), in_words(table.rows.front().size))));
    outcome.fire(std::move(draft));
  });
}

void tests_half_gap(const Machine& machine, Outcome& outcome) {
  const double gap = knowledge::threshold("nccl.tests.half-gap");
  each_table(machine, outcome, [&](const NcclEvidence& evidence, const NcclTestsTable& table) {
    std::vector<double> ratios;
    const NcclTestsRow* example = nullptr;
    for (const NcclTestsRow& row : table.rows) {
      if (!is_large(row) || !row.out_of_place || !row.in_place || row.out_of_place->bus.value <= 0) continue;
      ratios.push_back(row.in_place->bus.value / row.out_of_place->bus.value);
      example = &row;
    }
    if (ratios.empty()) {
      if (!table.rows.empty())
        outcome.undecided(
            "whether in place and out of place differ in " + title_of(table) + ": no large size has both",
            "nccl-tests -b 8 -e 8G -f 2");
      return;
    }
    const auto middle = ratios.begin() + static_cast<std::ptrdiff_t>(ratios.size() / 2);
    std::ranges::nth_element(ratios, middle);
    if (std::abs(*middle - 1) <= gap) return;
    Draft draft;
    draft.title = fmt::format("{}: in place runs at {} of out of place", title_of(table), percent(*middle));
    draft.evidence.push_back(row_evidence(evidence, *example));
    outcome.fire(std::move(draft));
  });
}

// A size that is much slower than both of its neighbours: a switch of algorithm, or something that happened
// meanwhile.
void tests_row_outlier(const Machine& machine, Outcome& outcome) {
  const double dip = knowledge::threshold("nccl.tests.dip-share");
  each_table(machine, outcome, [&](const NcclEvidence& evidence, const NcclTestsTable& table) {
    const auto& rows = table.rows;
    if (rows.size() < 3) {
      if (!rows.empty())
        outcome.undecided(
            "whether a size of " + title_of(table) + " is slower than its neighbours: too few sizes",
            "nccl-tests -b 8 -e 8G -f 2");
      return;
    }
    Draft draft;
    for (std::size_t i = 1; i + 1 < rows.size() && draft.evidence.size() < kMostEvidence; ++i) {
      // One sweep only: sizes rise, and type and reduction stay.
      const bool sweep = rows[i - 1].size.value < rows[i].size.value &&
                         rows[i].size.value < rows[i + 1].size.value && rows[i - 1].type == rows[i + 1].type;
      if (!sweep || static_cast<double>(rows[i].size.value) < knowledge::threshold("nccl.tests.dip-size"))
        continue;
      bool low = true;
      for (const auto half : {&NcclTestsRow::out_of_place, &NcclTestsRow::in_place}) {
        if (!(rows[i - 1].*half) || !(rows[i].*half) || !(rows[i + 1].*half)) {
          low = false;
          continue;
        }
        const double least = std::min((rows[i - 1].*half)->bus.value, (rows[i + 1].*half)->bus.value);
        low = low && (rows[i].*half)->bus.value < dip * least;
      }
      if (low) draft.evidence.push_back(row_evidence(evidence, rows[i]));
    }
    if (draft.evidence.empty()) return;
    draft.title = fmt::format("{}: {} much slower than smaller and larger ones", title_of(table),
                              draft.evidence.size() == 1 ? "one size is" : "some sizes are");
    outcome.fire(std::move(draft));
  });
}

void tests_row_doubtful(const Machine& machine, Outcome& outcome) {
  each_table(machine, outcome, [&](const NcclEvidence& evidence, const NcclTestsTable& table) {
    Draft draft;
    std::size_t doubtful = 0;
    for (const NcclTestsRow& row : table.rows) {
      if (row.doubt.empty() || doubtful++ >= kMostEvidence) continue;
      draft.evidence.push_back(seen(evidence, row.source, in_words(row.size) + ": " + row.doubt));
    }
    if (doubtful == 0) {
      if (table.damaged_rows != 0)
        outcome.undecided(
            fmt::format("{} of {} cannot be read", count_of(table.damaged_rows, "row"), title_of(table)),
            "the output as nccl-tests printed it");
      return;
    }
    draft.title = fmt::format("{} of {} contradict themselves: the figures were edited, mixed or cut",
                              count_of(doubtful, "row"), title_of(table));
    outcome.fire(std::move(draft));
  });
}

namespace {

struct Pair {
  std::string a, b;
  double bus = 0;
  const NcclEvidence* evidence = nullptr;
  const NcclTestsRow* row = nullptr;
};

double median(std::vector<double> values) {
  if (values.empty()) return std::nan("");
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

// Two-node runs of the same program and number of GPUs.
std::map<std::string, std::vector<Pair>> pairs_of(const Machine& machine) {
  std::map<std::string, std::vector<Pair>> groups;
  for (const NcclEvidence* evidence : evidence_of(machine)) {
    for (const NcclTestsTable& table : evidence->tests) {
      const auto hosts = model::hosts_of(table);
      const model::NcclTestsPeak peak = large_peak(table);
      if (hosts.size() != 2 || peak.row == nullptr || table.program.empty()) continue;
      groups[fmt::format("{} over {} GPUs", table.program, model::ranks_of(table))].push_back(
          {hosts[0], hosts[1], peak.bus.value, evidence, peak.row});
    }
  }
  return groups;
}

}  // namespace

// Many runs between pairs of nodes: the node whose pairs are slow whoever is at the other end.
void tests_pair_outlier(const Machine& machine, Outcome& outcome) {
  const double low = knowledge::threshold("nccl.tests.pair-share");
  constexpr std::size_t kFewestPairs = 4;  // a median of fewer says nothing
  const auto groups = pairs_of(machine);
  if (groups.empty()) return outcome.not_applicable();
  for (const auto& [name, pairs] : groups) {
    std::map<std::string, std::vector<double>> by_host;
    std::vector<double> all;
    for (const Pair& pair : pairs) {
      by_host[pair.a].push_back(pair.bus);
      by_host[pair.b].push_back(pair.bus);
      all.push_back(pair.bus);
    }
    if (pairs.size() < kFewestPairs || by_host.size() < 3) {
      if (pairs.size() > 1)
        outcome.undecided("whether a node slows its pairs in " + name + ": too few pairs to compare",
                          "the same test between more pairs of nodes");
      continue;
    }
    const double usual = median(all);
    std::set<std::string> slow;
    for (const auto& [host, values] : by_host)
      if (values.size() > 1 && median(values) < low * usual) slow.insert(host);
    Draft draft;
    std::size_t shown = 0;
    std::size_t slow_pairs = 0;
    for (const Pair& pair : pairs) {
      if (!(pair.bus < low * usual)) continue;
      ++slow_pairs;
      const bool named = slow.empty() || slow.contains(pair.a) || slow.contains(pair.b);
      if (named && shown++ < kMostEvidence)
        draft.evidence.push_back(seen(
            *pair.evidence, pair.row->source,
            fmt::format("{} with {}: {}, median of {} pairs {}", pair.a, pair.b,
                        in_words(BytesPerSecond{pair.bus}), pairs.size(), in_words(BytesPerSecond{usual}))));
    }
    if (slow_pairs == 0) continue;
    const std::vector<std::string> names(slow.begin(), slow.end());
    draft.devices = names;
    draft.title = slow.empty() ? fmt::format("{} of {} pairs are slow in {}; no single node explains them",
                                             slow_pairs, pairs.size(), name)
                               : fmt::format("{} slow{} every pair in {}", join(names, ", "),
                                             slow.size() == 1 ? "s" : "", name);
    draft.rank = 0.7;
    outcome.fire(std::move(draft));
  }
}

std::span<const Rule> result_rules() {
  static constexpr std::array kRules{
      Rule{"nccl.tests.wrong-values", tests_wrong},
      Rule{"nccl.tests.failed", tests_failed},
      Rule{"nccl.tests.below-nvlink", tests_below_nvlink},
      Rule{"nccl.tests.below-network", tests_below_network},
      Rule{"nccl.tests.average", tests_average},
      Rule{"nccl.tests.in-place-gap", tests_half_gap},
      Rule{"nccl.tests.slow-size", tests_row_outlier},
      Rule{"nccl.tests.doubtful-row", tests_row_doubtful},
      Rule{"nccl.tests.slow-pair", tests_pair_outlier},
      Rule{"nccl.ras.mismatch", ras_mismatch},
      Rule{"nccl.ras.missing", ras_missing},
      Rule{"nccl.ras.error", ras_error},
      Rule{"nccl.watchdog.timeout", watchdog_timeout},
      Rule{"nccl.watchdog.mismatch", watchdog_mismatch},
      Rule{"nccl.watchdog.error", watchdog_error},
      Rule{"nccl.watchdog.stuck", watchdog_stuck},
      Rule{"nccl.ranks.unjoined", ranks_unjoined},
      Rule{"nccl.ranks.killed", ranks_killed},
      Rule{"nccl.inspector.straggler", inspector_straggler},
  };
  return kRules;
}

}  // namespace angio::diagnose::nccl
