// What NCCL 2.28.9 itself printed for real and synthetic topologies, against what is computed here: the
// system graph and every path line for line, every graph line for line, and the number of channels.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "base/text.hpp"
#include "nccl/graph_dump.hpp"
#include "nccl/graph_search.hpp"
#include "nccl/topology_edit.hpp"
#include "support/shared_corpus.hpp"

namespace angio::nccl {
namespace {

struct Captured {
  std::vector<std::string> lines;  // of the first rank in the log, without the prefix
  int channels = 0;                // "Channel 00/24"
};

// rank: the number in brackets of a log that holds several.
Captured read_log(const std::string& path, std::string_view rank) {
  const std::string text = test::read_whole_file(path);
  const std::string mark = " [" + std::string(rank) + "] NCCL INFO ";
  Captured captured;
  for (const std::string_view line : split_lines(text)) {
    const std::size_t at = line.find(mark);
    if (at == std::string_view::npos) continue;
    const std::string_view rest = line.substr(at + mark.size());
    captured.lines.emplace_back(rest);
    if (rest.starts_with("Channel 00/") && captured.channels == 0)
      captured.channels = parse_integer<int>(rest.substr(11, 2)).value_or(-1);
  }
  return captured;
}

// The lines from the one that begins so, up to the last one of the block.
std::vector<std::string> block(const Captured& captured, std::string_view begin, std::size_t count) {
  const auto first =
      std::ranges::find_if(captured.lines, [&](const std::string& line) { return line.starts_with(begin); });
  std::vector<std::string> lines;
  for (auto at = first; at != captured.lines.end() && lines.size() < count; ++at)
    lines.push_back(*at);
  return lines;
}

std::optional<Element> read_file(const std::string& path) {
  Remarks remarks;
  XmlText text = read_topology_xml(test::read_whole_file(path), remarks);
  if (text.roots.size() != 1) return std::nullopt;
  return std::move(text.roots[0]);
}

// The machine that ran NCCL had one socket interface and none of the files' NICs.
void keep_only_eth0(Element& element) {
  for (Element& child : element.children)
    keep_only_eth0(child);
  std::erase_if(element.children, [](const Element& child) {
    return (child.name == "net" && child.get("name") != "eth0") ||
           (child.name == "nic" && child.children.empty());
  });
}

bool has_net(const Element& element) {
  return element.name == "net" || std::ranges::any_of(element.children, has_net);
}

void add_eth0(Element& root) {
  keep_only_eth0(root);
  if (has_net(root)) return;
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

void number_ranks(Element& element, int first) {
  if (element.name == "gpu")
    element.set("rank", std::to_string(parse_integer<int>(element.get("dev")).value_or(0) + first));
  for (Element& child : element.children)
    number_ranks(child, first);
}

struct Case {
  const char* topology;
  const char* log;
  const char* rank;
  bool sockets;  // none of the file's NICs was there
  int nodes;
  int channels;
  bool nvls;
  int first_rank;
};

// clang-format off
constexpr std::array kCases{
    Case{"nccl-dryrun/h100.xml", "nccl-dryrun/nccl2289_1node_8xH100_nvls_on.log", "0", true, 1, 24, true, 0},
    Case{"nccl-dryrun/h100.xml", "nccl-dryrun/nccl2289_1node_8xH100_nvls_off.log", "0", true, 1, 24, false, 0},
    Case{"nccl-dryrun/h100nic.xml", "nccl-dryrun/nccl2289_2node_rank0.log", "0", false, 2, 16, false, 0},
    Case{"nccl-dryrun/h100nic.xml", "nccl-dryrun/nccl2289_2node_rank9.log", "1", false, 2, 16, false, 8},
    Case{"nccl-topo/aws-p5.48xl-topo.xml", "nccl-dryrun/topologies/aws-p5.48xl-topo.log", "0", true, 1, 2, true, 0},
    Case{"nccl-topo/azure-ncv4-topo.xml", "nccl-dryrun/topologies/azure-ncv4-topo.log", "0", true, 1, 2, true, 0},
    Case{"nccl-topo/azurehpc-nc48v4-topo.xml", "nccl-dryrun/topologies/azurehpc-nc48v4-topo.log", "0", true, 1, 24, true, 0},
    Case{"nccl-topo/issue256-h200-baremetal-node0.xml", "nccl-dryrun/topologies/issue256-h200-baremetal-node0.log", "0", true, 1, 24, true, 0},
    Case{"nccl-topo/oci-H100-topology.xml", "nccl-dryrun/topologies/oci-H100-topology.log", "0", true, 1, 24, true, 0},
};
// clang-format on

// The machine that ran it has a PCI device 0000:00:00.0 of its own, and NCCL read that one's ids from /sys.
std::string without_foreign_ids(std::string line) {
  const std::size_t at = line.find("PCI/0-0 (");
  return at == std::string::npos ? line : line.substr(0, at + 7);
}

void compare(const Captured& captured, const std::vector<std::string>& ours, std::string_view begin) {
  const std::vector<std::string> theirs = block(captured, begin, ours.size());
  ASSERT_EQ(theirs.size(), ours.size()) << begin;
  for (std::size_t index = 0; index < ours.size(); ++index)
    EXPECT_EQ(without_foreign_ids(ours[index]), without_foreign_ids(theirs[index])) << "line " << index;
}

class Dryrun : public testing::TestWithParam<Case> {};

TEST_P(Dryrun, PrintsWhatNcclPrinted) {
  const Case& given = GetParam();
  ANGIO_SHARED_OR_SKIP(topology, given.topology);
  ANGIO_SHARED_OR_SKIP(log, given.log);
  auto root = read_file(topology);
  ASSERT_TRUE(root);
  if (given.sockets) add_eth0(*root);
  if (given.first_rank > 0) number_ranks(*root, given.first_rank);
  const auto system = make_system(as_ranks_see(*root), {"2.28.9", given.nodes > 1});
  ASSERT_TRUE(system) << system.error().message;
  const Captured captured = read_log(log, given.rank);
  compare(captured, nccl_lines(*system), "=== System");

  const SearchResult found = search_graphs(*system);
  compare(captured, nccl_lines(*system, found.ring), "Pattern 4");
  compare(captured, nccl_lines(*system, found.tree),
          "Pattern " + std::to_string(static_cast<int>(found.tree.pattern)));
  if (given.nvls && found.nvls.channels > 0) compare(captured, nccl_lines(*system, found.nvls), "Pattern 5");
  EXPECT_EQ(expect(*system, found, given.nodes).channels, given.channels);
  EXPECT_EQ(captured.channels, given.first_rank == 0 ? given.channels : -1);  // only rank 0 logs it
}

INSTANTIATE_TEST_SUITE_P(Captured, Dryrun, testing::ValuesIn(kCases));

// The dumps of the same runs: what NCCL_GRAPH_DUMP_FILE holds is what to_dump makes.
TEST(Dumps, AreTheOnesNcclWrote) {
  constexpr std::array<std::pair<const char*, const char*>, 6> kPairs{{
      {"nccl-dryrun/h100.xml", "nccl-dryrun/graph_1node_nvls.xml"},
      {"nccl-topo/aws-p5.48xl-topo.xml", "nccl-dryrun/topologies/aws-p5.48xl-topo.graph.xml"},
      {"nccl-topo/azure-ncv4-topo.xml", "nccl-dryrun/topologies/azure-ncv4-topo.graph.xml"},
      {"nccl-topo/azurehpc-nc48v4-topo.xml", "nccl-dryrun/topologies/azurehpc-nc48v4-topo.graph.xml"},
      {"nccl-topo/issue256-h200-baremetal-node0.xml",
       "nccl-dryrun/topologies/issue256-h200-baremetal-node0.graph.xml"},
      {"nccl-topo/oci-H100-topology.xml", "nccl-dryrun/topologies/oci-H100-topology.graph.xml"},
  }};
  for (const auto& [topology_name, dump_name] : kPairs) {
    SCOPED_TRACE(dump_name);
    ANGIO_SHARED_OR_SKIP(topology, topology_name);
    ANGIO_SHARED_OR_SKIP(dump, dump_name);
    auto root = read_file(topology);
    const auto captured = read_file(dump);
    ASSERT_TRUE(root && captured);
    add_eth0(*root);
    const auto system = make_system(as_ranks_see(*root), {"2.28.9", false});
    ASSERT_TRUE(system) << system.error().message;
    const Element ours = to_element(to_dump(*system, search_graphs(*system)));
    for (const Element& graph : ours.children) {
      const auto theirs = std::ranges::find_if(
          captured->children, [&](const Element& each) { return each.get("id") == graph.get("id"); });
      ASSERT_NE(theirs, captured->children.end());
      EXPECT_EQ(write_topology_xml(graph), write_topology_xml(*theirs));
    }
  }
}

}  // namespace
}  // namespace angio::nccl
