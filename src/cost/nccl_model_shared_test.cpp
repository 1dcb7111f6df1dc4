// Every tuning table, choice and estimate that NCCL 2.28.9 left in the captured dry runs, against what
// follows from the topology file alone: our own system graph, our own search, the tuner's model. Cells equal
// within 1 % of what is printed (or the last digit), choices and channels equal, estimates within 1 %.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <map>
#include <optional>

#include "base/text.hpp"
#include "cost/nccl_model.hpp"
#include "nccl/graph_dump.hpp"
#include "nccl/topology_edit.hpp"
#include "support/shared_corpus.hpp"

namespace angio::cost {
namespace {

using nccl::Element;

std::optional<Element> read_file(const std::string& path) {
  nccl::Remarks remarks;
  nccl::XmlText text = nccl::read_topology_xml(test::read_whole_file(path), remarks);
  if (text.roots.size() != 1) return std::nullopt;
  return std::move(text.roots[0]);
}

// ---------------------------------------------------------------- the machine that ran it

void keep_only_eth0(Element& element) {
  for (Element& child : element.children)
    keep_only_eth0(child);
  std::erase_if(element.children, [](const Element& child) {
    return (child.name == "net" && child.get("name") != "eth0") ||
           (child.name == "nic" && child.children.empty());
  });
}

// It had one socket interface and none of the files' NICs.
void add_eth0(Element& root) {
  keep_only_eth0(root);
  Element net;
  net.name = "net";
  for (const auto& [name, value] : std::vector<std::pair<std::string, std::string>>{
           {"name", "eth0"}, {"dev", "0"}, {"speed", "10000"}, {"port", "0"}, {"guid", "0x0"}, {"gdr", "0"}})
    net.set(name, value);
  Element nic;
  nic.name = "nic";
  nic.children.push_back(std::move(net));
  root.children.front().children.push_back(std::move(nic));
}

// ---------------------------------------------------------------- what it printed

struct Captured {
  std::map<std::string, std::pair<double, double>> cells;  // "AllReduce Ring LL"
  std::vector<std::array<std::string, 5>> choices;         // collective, bytes, algorithm, protocol, channels
};

std::vector<std::string> cells_of(std::string_view line) {
  std::vector<std::string> cells;
  const auto parts = split(line, '|');
  for (std::size_t i = 1; i < parts.size(); ++i)
    if (const auto cell = trim(parts[i]); !cell.empty()) cells.emplace_back(cell);
  return cells;
}

void take_choice(std::string_view line, Captured& captured) {
  const std::vector<std::string_view> words = split_words(line);
  // "AllReduce: 8 Bytes -> Algo RING proto LL channel{Lo..Hi}={0..0}"
  if (words.size() < 9 || words[2] != "Bytes" || words[4] != "Algo") return;
  const std::string_view last = words[8].substr(words[8].rfind('.') + 1);
  captured.choices.push_back({std::string(words[0].substr(0, words[0].size() - 1)), std::string(words[1]),
                              to_lower(words[5]), to_lower(words[7]),
                              std::string(last.substr(0, last.size() - 1))});
}

Captured read_log(const std::string& path) {
  const std::string text = test::read_whole_file(path);
  constexpr std::string_view kMark = " NCCL INFO ";
  Captured captured;
  std::vector<std::string> algorithms;
  for (const std::string_view line : split_lines(text)) {
    const std::size_t at = line.find(kMark);
    if (at == std::string_view::npos) continue;
    const std::string_view rest = line.substr(at + kMark.size());
    const std::string title(trim(rest.substr(0, rest.find('|'))));
    const bool row = title == "Broadcast" || title == "Reduce" || title == "AllGather" ||
                     title == "ReduceScatter" || title == "AllReduce";
    if (title == "Algorithm") algorithms = cells_of(rest);
    if (contains(rest, " Bytes -> Algo ")) take_choice(rest, captured);
    if (!row || algorithms.empty()) continue;
    const auto cells = cells_of(rest);
    for (std::size_t i = 0; i < cells.size() && i / kNcclProtocols < algorithms.size(); ++i) {
      const auto sides = split(cells[i], '/');
      const auto name = nccl_name(static_cast<tuner::Protocol>(i % kNcclProtocols));
      captured.cells[title + " " + algorithms[i / kNcclProtocols] + " " + std::string(name)] = {
          parse_double(trim(sides.front())).value_or(-1), parse_double(trim(sides.back())).value_or(-1)};
    }
  }
  return captured;
}

bool is_close(double printed, double ours) {
  return std::abs(printed - ours) <= std::max(0.051, 0.01 * std::abs(printed));
}

// ---------------------------------------------------------------- cases

struct Case {
  const char* topology;
  const char* log;
  bool sockets;
  int nodes;
  const char* settings;  // NAME=VALUE or nothing
};

// clang-format off
constexpr std::array kCases{
    Case{"nccl-dryrun/h100.xml", "nccl-dryrun/nccl2289_1node_8xH100_nvls_on.log", true, 1, ""},
    Case{"nccl-dryrun/h100.xml", "nccl-dryrun/nccl2289_1node_8xH100_nvls_off.log", true, 1, "NCCL_NVLS_ENABLE=0"},
    Case{"nccl-dryrun/h100nic.xml", "nccl-dryrun/nccl2289_2node_rank0.log", false, 2, "NCCL_NVLS_ENABLE=0"},
    Case{"nccl-topo/aws-p5.48xl-topo.xml", "nccl-dryrun/topologies/aws-p5.48xl-topo.log", true, 1, ""},
    Case{"nccl-topo/azure-ncv4-topo.xml", "nccl-dryrun/topologies/azure-ncv4-topo.log", true, 1, ""},
    Case{"nccl-topo/azurehpc-nc48v4-topo.xml", "nccl-dryrun/topologies/azurehpc-nc48v4-topo.log", true, 1, ""},
    Case{"nccl-topo/issue256-h200-baremetal-node0.xml", "nccl-dryrun/topologies/issue256-h200-baremetal-node0.log", true, 1, ""},
    Case{"nccl-topo/oci-H100-topology.xml", "nccl-dryrun/topologies/oci-H100-topology.log", true, 1, ""},
};
// clang-format on

std::optional<NcclTable> table_of(const std::string& path, bool sockets, int nodes,
                                  std::string_view setting) {
  auto root = read_file(path);
  if (!root) return std::nullopt;
  if (sockets) add_eth0(*root);
  const auto system = nccl::make_system(nccl::as_ranks_see(*root), {"2.28.9", nodes > 1});
  if (!system) return std::nullopt;
  NcclSettings settings;
  if (const std::size_t at = setting.find('='); at != std::string_view::npos)
    settings.emplace_back(setting.substr(0, at), setting.substr(at + 1));
  const auto job = nccl_job(*system, nccl::search_graphs(*system), nodes, settings);
  if (!job) return std::nullopt;
  const auto table = nccl_table(*job);
  return table ? std::optional(*table) : std::nullopt;
}

class Captures : public testing::TestWithParam<Case> {};

TEST_P(Captures, AreWhatTheModelSays) {
  const Case& given = GetParam();
  ANGIO_SHARED_OR_SKIP(topology, given.topology);
  ANGIO_SHARED_OR_SKIP(log, given.log);
  const auto table = table_of(topology, given.sockets, given.nodes, given.settings);
  ASSERT_TRUE(table);
  const Captured captured = read_log(log);
  ASSERT_EQ(captured.cells.size(), 105U);
  for (const model::NcclTuningCell& cell : nccl_cells(*table)) {
    const std::string name = cell.function + " " + cell.algorithm + " " + cell.protocol;
    ASSERT_TRUE(captured.cells.contains(name)) << name;
    const auto [latency, bandwidth] = captured.cells.at(name);
    EXPECT_TRUE(is_close(latency, cell.latency_us))
        << name << ": " << latency << " us, ours " << cell.latency_us;
    EXPECT_TRUE(is_close(bandwidth, cell.bandwidth))
        << name << ": " << bandwidth << ", ours " << cell.bandwidth;
  }
  for (const auto& [collective, bytes, algorithm, protocol, channels] : captured.choices) {
    const auto pick =
        nccl_pick(*table, tuner::parse_collective(collective).value_or(tuner::Collective::kReduce),
                  {parse_integer<std::uint64_t>(bytes).value_or(0)});
    ASSERT_TRUE(pick) << collective << " " << bytes;
    EXPECT_EQ(pick->algorithm, tuner::parse_algorithm(algorithm)) << collective << " " << bytes;
    EXPECT_EQ(pick->protocol, tuner::parse_protocol(protocol)) << collective << " " << bytes;
    EXPECT_EQ(std::to_string(pick->channels - 1), channels) << collective << " " << bytes;
  }
}

INSTANTIATE_TEST_SUITE_P(Captured, Captures, testing::ValuesIn(kCases));

// "sim size 1024 r=0 est=35.331234 us busbw 0.1", of ncclGroupSimulateEnd on four nodes.
TEST(Estimates, OfFourNodesAreTheModels) {
  ANGIO_SHARED_OR_SKIP(topology, "nccl-dryrun/h100nic.xml");
  ANGIO_SHARED_OR_SKIP(log, "nccl-dryrun/nccl2289_4node_est.log");
  const auto table = table_of(topology, false, 4, "NCCL_NVLS_ENABLE=0");
  ASSERT_TRUE(table);
  std::size_t compared = 0;
  const std::string text = test::read_whole_file(log);
  for (const std::string_view line : split_lines(text)) {
    const auto words = split_words(line);
    if (words.size() < 5 || words[0] != "sim") continue;
    const auto bytes = parse_integer<std::uint64_t>(words[2]).value_or(0);
    const double estimate = parse_double(words[4].substr(4)).value_or(-1);
    const auto pick = nccl_pick(*table, tuner::Collective::kAllReduce, {bytes});
    ASSERT_TRUE(pick);
    EXPECT_NEAR(static_cast<double>(pick->time_us), estimate, estimate * 0.01) << bytes;
    ++compared;
  }
  EXPECT_EQ(compared, 8U);
}

// nccl::expect computes the bounds of AllReduce by itself, on a lower floor: the same figures, the same
// outcome.
TEST(Bounds, OfTheLowerFloorAreTheTables) {
  for (const auto& [name, nodes] :
       {std::pair{"nccl-dryrun/h100.xml", 1}, std::pair{"nccl-dryrun/h100nic.xml", 4}}) {
    ANGIO_SHARED_OR_SKIP(topology, name);
    const auto root = read_file(topology);
    ASSERT_TRUE(root);
    const auto system = nccl::make_system(nccl::as_ranks_see(*root), {"2.28.9", nodes > 1});
    ASSERT_TRUE(system);
    const nccl::SearchResult found = nccl::search_graphs(*system);
    const nccl::Expectation expected = nccl::expect(*system, found, nodes);
    const auto job = nccl_job(*system, found, nodes, {});
    ASSERT_TRUE(job);
    const auto table = nccl_table(*job);
    ASSERT_TRUE(table);
    const double factor = 2.0 * (job->ranks - 1) / job->ranks;
    const auto bus = [&](tuner::Algorithm algorithm) {
      return factor *
             static_cast<double>(
                 table->at(tuner::Collective::kAllReduce, algorithm, tuner::Protocol::kSimple).bandwidth);
    };
    EXPECT_NEAR(expected.ring_bus, bus(tuner::Algorithm::kRing), 0.01);
    EXPECT_NEAR(expected.tree_bus, bus(tuner::Algorithm::kTree), 0.01);
    EXPECT_NEAR(expected.nvls_bus, bus(tuner::Algorithm::kNvls), 0.01);
  }
}

// A dump says the same graphs as the search that it is compared with elsewhere: the tables are equal.
TEST(Dumps, GiveTheSameTable) {
  ANGIO_SHARED_OR_SKIP(topology, "nccl-dryrun/h100.xml");
  ANGIO_SHARED_OR_SKIP(dump, "nccl-dryrun/graph_1node_nvls.xml");
  const auto table = table_of(topology, true, 1, "");
  const auto root = read_file(dump);
  ASSERT_TRUE(table && root);
  nccl::Remarks remarks;
  NcclJob job = table->job;
  job.ring = job.tree = job.nvls = {};
  take_graphs(nccl::read_graphs(*root, "2.28.9", remarks), job);
  const auto again = nccl_table(job);
  ASSERT_TRUE(again);
  const auto ours = nccl_cells(*table);
  const auto theirs = nccl_cells(*again);
  ASSERT_EQ(ours.size(), theirs.size());
  for (std::size_t i = 0; i < ours.size(); ++i)
    EXPECT_DOUBLE_EQ(ours[i].bandwidth, theirs[i].bandwidth) << ours[i].function << ours[i].algorithm;
}

}  // namespace
}  // namespace angio::cost
