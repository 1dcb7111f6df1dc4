// Tables of collectives as curves: nccl-tests, angio bench collective, OSU.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "base/format.hpp"
#include "judge/case.hpp"

namespace angio::judge {
namespace {

using model::NcclCollective;
using model::NcclTestsTable;

constexpr std::uint32_t kMostGuessed = 64;  // beyond, two decimals of a ratio tell no number of ranks

std::vector<std::string> kinds_of(const std::vector<std::string>& names) {
  std::set<std::string> seen;
  std::vector<std::string> kinds;
  for (const std::string& name : names)
    if (!name.empty() && seen.insert(name).second) kinds.push_back(name);
  return kinds;
}

std::string words_of(std::uint32_t ranks, std::uint32_t nodes, const char* unit) {
  if (ranks == 0) return "of an unknown number of ranks";
  return fmt::format("{} on {}", count_of(ranks, unit), count_of(nodes, "host"));
}

// busbw / algbw of the rows with most digits, where no list of devices says how many ranks there were.
std::uint32_t ranks_of_ratio(const NcclTestsTable& table) {
  double algorithm = 0;
  double bus = 0;
  for (const model::NcclTestsRow& row : table.rows) {
    for (const auto* half : {&row.out_of_place, &row.in_place}) {
      if (!half->has_value() || (*half)->algorithm.value <= algorithm) continue;
      algorithm = (*half)->algorithm.value;
      bus = (*half)->bus.value;
    }
  }
  if (algorithm < 10e9) return 0;  // too few digits
  const double ratio = bus / algorithm;
  double share = 0;  // (n - 1) / n
  if (table.collective == NcclCollective::kAllReduce) {
    share = ratio / 2;
  } else if (model::bus_factor(table.collective, 2).value_or(1) < 1) {
    share = ratio;
  }
  if (share < 0.4 || share >= 1) return 0;
  const double ranks = 1 / (1 - share);
  const double whole = std::round(ranks);
  const bool exact = std::abs(ranks - whole) < 0.02 * whole && whole <= kMostGuessed;
  return exact ? static_cast<std::uint32_t>(whole) : 0;
}

void add_half(const NcclTestsTable& table, const model::NcclTestsRow& row, bool in_place,
              const Topology& topology, std::vector<Point>& points) {
  const auto& half = in_place ? row.in_place : row.out_of_place;
  if (!half) return;
  Point point;
  point.collective = table.collective;
  point.size = row.size;
  point.in_place = in_place;
  point.time_us = half->time_us;
  point.algorithm = half->algorithm;
  point.bus = half->bus;
  point.wrong = half->wrong;
  point.doubt = row.doubt;
  point.counts = !table.cpu_time;
  point.place =
      row.source.line > 0 ? fmt::format("{}:{}", topology.source, row.source.line) : topology.source;
  points.push_back(std::move(point));
}

void take_log(const model::NcclLog* log, Said& said) {
  if (log == nullptr) return;
  for (const model::NcclCommunicator& communicator : log->communicators) {
    if (communicator.nranks < said.ranks) continue;
    if (said.ranks == 0) said.ranks = communicator.nranks;
    if (said.nodes == 0) said.nodes = communicator.nodes.value_or(0);
  }
}

// Bandwidths of a program that prints times alone: by the definitions of nccl-tests.
bool add_bandwidth(std::uint32_t ranks, Point& point) {
  const auto factor = model::bus_factor(point.collective, ranks);
  if (!factor || point.time_us <= 0) return false;
  point.algorithm = BytesPerSecond{static_cast<double>(point.size.value) / (point.time_us * 1e-6)};
  point.bus = point.algorithm * *factor;
  return true;
}

// OSU counts the bytes that a rank sends to each other one; nccl-tests the larger buffer of a rank.
Bytes size_of(NcclCollective collective, Bytes osu, std::uint32_t ranks) {
  const bool each = collective == NcclCollective::kAllGather || collective == NcclCollective::kAllToAll ||
                    collective == NcclCollective::kGather || collective == NcclCollective::kScatter;
  constexpr std::uint64_t kMost = std::uint64_t{1} << 50U;
  if (!each || ranks == 0 || osu.value > kMost / ranks) return osu;
  return Bytes{osu.value * ranks};
}

// The collective that the file's name or its text tells, if the rows do not contradict it.
NcclCollective collective_of(const NcclTestsTable& table, const Topology& topology, std::uint32_t ranks) {
  if (table.collective != NcclCollective::kUnknown) return table.collective;
  const auto factor = model::bus_factor(topology.collective, ranks);
  const model::NcclTestsPeak peak = peak_of(table);
  if (!factor || peak.row == nullptr) return NcclCollective::kUnknown;
  const auto& half = peak.row->out_of_place ? peak.row->out_of_place : peak.row->in_place;
  if (half->algorithm.value <= 0) return NcclCollective::kUnknown;
  constexpr double kSlack = 0.02;
  return std::abs(half->bus / half->algorithm / *factor - 1) < kSlack ? topology.collective
                                                                      : NcclCollective::kUnknown;
}

}  // namespace

Judgement judge(const NcclTestsTable& given, const Topology& topology) {
  NcclTestsTable table = given;
  Judgement judgement;
  judgement.input = table.json ? "nccl-tests JSON" : "nccl-tests table";
  judgement.source = topology.source;
  judgement.hosts = hosts_of(table);
  Said said;
  said.ranks = ranks_of(table);
  said.nodes = static_cast<std::uint32_t>(judgement.hosts.size());
  std::vector<std::string> names;
  for (const model::NcclTestsDevice& device : table.devices)
    names.push_back(device.name);
  said.devices = kinds_of(names);
  // A list that was shortened names fewer ranks than ran.
  const std::uint32_t of_ratio = ranks_of_ratio(table);
  if (of_ratio > said.ranks || (said.ranks > 0 && table.devices.size() < said.ranks)) {
    if (of_ratio > 0) said.ranks = of_ratio;
    said.nodes = 0;
  }
  take_log(topology.log, said);
  Setting setting = setting_of(said, topology);
  if (const NcclCollective told = collective_of(table, topology, setting.ranks); told != table.collective) {
    table.collective = told;
    setting.assumptions.push_back(
        fmt::format("The collective is {}: {} says so.", model::name_of(told), topology.collective_of));
  }
  if (table.devices.empty() && of_ratio > 0 && setting.ranks == of_ratio)
    setting.assumptions.insert(setting.assumptions.begin(),
                               fmt::format("{} ranks: busbw / algbw says so, no list of devices.", of_ratio));
  if (table.inferred)
    setting.assumptions.push_back(fmt::format(
        "The collective is {}: busbw / algbw says so, no line names it.", model::name_of(table.collective)));
  if (table.cpu_time)
    setting.assumptions.emplace_back(
        "The times are the CPU's (-C), not those of the collective: no verdict on them.");
  Case facts;
  facts.subject =
      fmt::format("{}, {}", model::name_of(table.collective), words_of(setting.ranks, setting.nodes, "GPU"));
  facts.source = topology.source;
  facts.ranks = setting.ranks;
  facts.nodes = setting.nodes;
  facts.log = topology.log;
  facts.platform = setting.platform;
  facts.average = table.average;
  facts.average_place = fmt::format("{}:{}", topology.source, table.average_source.line);
  for (const model::NcclTestsRow& row : table.rows) {
    add_half(table, row, false, topology, facts.points);
    add_half(table, row, true, topology, facts.points);
  }
  for (Point& point : facts.points) {
    constexpr double kPrinted = 1e9;  // below, two decimals of GB/s are hardly a figure
    if (point.bus.value < kPrinted && point.doubt.empty()) (void)add_bandwidth(setting.ranks, point);
  }
  expect_points(setting, facts.points);
  if (table.collective == NcclCollective::kUnknown) {
    for (Point& point : facts.points)
      point.no_expectation = "the result does not say which collective it is (--collective says)";
  }
  for (const model::NcclTestsError& error : table.errors)
    facts.failed.push_back({"nccl-tests", error.text, false});
  facts.has_tests = !facts.failed.empty();
  judgement.assumptions = std::move(setting.assumptions);
  judgement.platform = std::move(setting.platform);
  return conclude(std::move(facts), std::move(judgement));
}

Judgement judge(const model::CollectiveRun& run, const Topology& topology) {
  Judgement judgement;
  judgement.input = "angio bench collective, " + run.backend;
  judgement.source = topology.source;
  std::vector<std::string> names;
  std::vector<std::string> hosts;
  for (const model::CollectiveRank& rank : run.members) {
    names.push_back(rank.device);
    hosts.push_back(rank.host);
  }
  judgement.hosts = kinds_of(hosts);
  Said said;
  said.ranks = run.ranks;
  said.nodes = run.nodes;
  said.devices = kinds_of(names);
  said.host_memory = said.devices.empty();
  Setting setting = setting_of(said, topology);
  const bool foreign = run.backend != "nccl";
  if (foreign && setting.platform)
    setting.assumptions.push_back("The expectation is of NCCL: what " + run.backend +
                                  " reaches by its own algorithms is not known, so nothing is called low.");
  if (run.phantom)
    setting.assumptions.emplace_back("The GPUs are not there (phantom): the times mean nothing.");
  if (run.interrupted)
    setting.assumptions.emplace_back("The run was interrupted: what is missing was not measured.");
  std::set<NcclCollective> collectives;
  Case facts;
  for (const model::CollectiveRow& row : run.rows) {
    Point point;
    point.collective = row.collective;
    point.size = row.size;
    point.in_place = row.in_place;
    point.time_us = row.time_us;
    point.algorithm = row.algorithm;
    point.bus = row.bus;
    point.wrong = row.wrong;
    point.counts = !run.phantom;
    point.place = topology.source;
    collectives.insert(row.collective);
    facts.points.push_back(std::move(point));
  }
  expect_points(setting, facts.points);
  for (Point& point : facts.points)
    if (foreign && point.expectation) point.expectation->basis = model::ExpectationBasis::kBound;
  const std::string what = collectives.size() == 1 ? model::name_of(*collectives.begin())
                                                   : count_of(collectives.size(), "collective");
  facts.subject =
      fmt::format("{}, {}", what, words_of(setting.ranks, setting.nodes, said.host_memory ? "rank" : "GPU"));
  facts.source = topology.source;
  facts.ranks = setting.ranks;
  facts.nodes = setting.nodes;
  facts.log = topology.log;
  facts.platform = setting.platform;
  facts.phantom = run.phantom;
  judgement.assumptions = std::move(setting.assumptions);
  judgement.platform = std::move(setting.platform);
  return conclude(std::move(facts), std::move(judgement));
}

Judgement judge_osu_collective(const model::OsuTable& table, const Topology& topology) {
  Judgement judgement;
  judgement.input = "OSU " + table.program;
  judgement.source = topology.source;
  Said said;
  said.ranks = table.ranks.value_or(0);
  if (table.ranks && table.per_node) said.nodes = (*table.ranks + *table.per_node - 1) / *table.per_node;
  said.host_memory = !table.device;
  Topology seen = topology;
  if (said.host_memory) {
    seen.machine = nullptr;  // its GPUs took no part
    seen.gpu.clear();
  }
  Setting setting = setting_of(said, seen);
  const bool nccl = table.library.starts_with("NCCL");
  if (!nccl && setting.platform)
    setting.assumptions.emplace_back(
        "The expectation is of NCCL: what this MPI reaches by its own algorithms is not known, so nothing is "
        "called "
        "low.");
  if (table.vector)
    setting.assumptions.emplace_back("Sizes of the vector form count as those of the plain one.");
  if (setting.ranks > 0 && table.ranks)
    setting.assumptions.insert(setting.assumptions.begin(),
                               fmt::format("{} ranks: the command line in the text says so.", setting.ranks));
  Case facts;
  for (const model::OsuRow& row : table.rows) {
    Point point;
    point.collective = table.collective;
    point.size = size_of(table.collective, row.size, setting.ranks);
    point.time_us = row.average_us.value_or(0);
    if (row.valid) point.wrong = *row.valid ? 0 : 1;
    point.place = fmt::format("{}:{}", topology.source, row.line);
    (void)add_bandwidth(setting.ranks, point);
    facts.points.push_back(std::move(point));
  }
  expect_points(setting, facts.points);
  for (Point& point : facts.points)
    if (!nccl && point.expectation) point.expectation->basis = model::ExpectationBasis::kBound;
  facts.subject = fmt::format("{}, {}", table.program, words_of(setting.ranks, setting.nodes, "rank"));
  facts.source = topology.source;
  facts.ranks = setting.ranks;
  facts.nodes = setting.nodes;
  facts.log = topology.log;
  facts.platform = setting.platform;
  judgement.assumptions = std::move(setting.assumptions);
  judgement.platform = std::move(setting.platform);
  return conclude(std::move(facts), std::move(judgement));
}

}  // namespace angio::judge
