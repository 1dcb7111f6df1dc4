// Real logs of NCCL on phantom GPUs through LogTaker and make_result, and every real topology file through
// design_node. What is expected of the logs is read from their lines here, not by the parser.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/text.hpp"
#include "dryrun/invariants.hpp"
#include "dryrun/node_design.hpp"
#include "dryrun/result.hpp"
#include "nccl/system_graph.hpp"
#include "support/shared_corpus.hpp"

namespace angio::dryrun {
namespace {

using nccl::Element;

struct Plain {
  std::vector<std::vector<std::uint32_t>> rings;  // by channel
  std::uint32_t ranks = 0;
  std::vector<std::string> choices;  // "AllReduce 8 RING LL 1"
};

std::uint32_t number(std::string_view text) {
  return parse_integer<std::uint32_t>(text.substr(0, text.find_first_not_of("0123456789"))).value_or(0);
}

void take_choice(std::string_view line, Plain& plain) {
  const std::size_t colon = line.rfind(": ", line.find(" Bytes -> Algo "));
  const std::size_t start = line.rfind(' ', colon) + 1;
  const auto words =
      split_words(line.substr(colon + 2));  // 8 Bytes -> Algo RING proto LL channel{Lo..Hi}={0..0}
  const std::string_view channels = words.at(7);
  const std::uint32_t low = number(channels.substr(channels.find("={") + 2));
  const std::uint32_t high = number(channels.substr(channels.rfind("..") + 2));
  std::string text(line.substr(start, colon - start));
  text += " " + std::string(words[0]) + " " + std::string(words[4]) + " " + std::string(words[6]) + " " +
          std::to_string(high - low + 1);
  if (std::ranges::find(plain.choices, text) == plain.choices.end()) plain.choices.push_back(text);
}

Plain read_plain(const std::string& text) {
  Plain plain;
  for (const std::string_view line : split_lines(text)) {
    if (const std::size_t at = line.find("NCCL INFO Channel "); at != std::string_view::npos) {
      const std::string_view rest = line.substr(at + 18);
      const std::size_t colon = rest.find(" : ");
      if (colon != std::string_view::npos && !contains(rest, "->")) {
        std::vector<std::uint32_t> order;
        for (const std::string_view word : split_words(rest.substr(colon + 3)))
          order.push_back(number(word));
        if (number(rest) == plain.rings.size()) plain.rings.push_back(std::move(order));
      }
    }
    if (const std::size_t at = line.find(" nranks "); at != std::string_view::npos)
      plain.ranks = std::max(plain.ranks, number(line.substr(at + 8)));
    if (contains(line, " Bytes -> Algo ")) take_choice(line, plain);
  }
  return plain;
}

std::vector<std::filesystem::path> logs_below(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> found;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder))
    if (entry.path().extension() == ".log" && !contains(entry.path().string(), "cuda_calls") &&
        !contains(entry.path().string(), "soft-roce"))
      found.push_back(entry.path());
  std::ranges::sort(found);
  return found;
}

nccl_run::ClusterRequest request_for(const Plain& plain) {
  nccl_run::ClusterRequest request;
  request.library.version = "2.28.9+cuda13.0";
  nccl_run::NodeRequest node;
  node.devices.resize(plain.ranks);
  request.nodes.push_back(std::move(node));
  for (const std::string& choice : plain.choices) {
    const auto words = split_words(choice);
    request.operations.push_back(
        {*nccl_run::parse_collective(words[0]), *parse_integer<std::uint64_t>(words[1])});
  }
  return request;
}

model::DryRun run_of(const std::string& text, const Plain& plain) {
  const nccl_run::ClusterRequest request = request_for(plain);
  nccl_run::ClusterOutcome outcome;
  outcome.end = nccl_run::ClusterEnd::kTimeout;  // a log may be cut, or of one rank of many
  outcome.nodes.resize(1);
  for (std::uint32_t index = 0; index < request.operations.size(); ++index)
    outcome.nodes[0].reports.operations.push_back({index, std::nullopt, 0, "", 0, 0});
  LogTaker log;
  log.feed(0, text);
  return make_result(request, outcome, std::move(log));
}

const model::NcclCommunicator* largest(const model::DryRun& run) {
  if (!run.evidence.log || run.evidence.log->communicators.empty()) return nullptr;
  return &*std::ranges::max_element(run.evidence.log->communicators, {}, &model::NcclCommunicator::nranks);
}

TEST(DryRunLogs, SayTheSameAsTheirLines) {
  ANGIO_SHARED_OR_SKIP(folder, "nccl-dryrun");
  std::size_t rings = 0;
  std::size_t choices = 0;
  for (const auto& path : logs_below(folder)) {
    const std::string text = test::read_whole_file(path.string());
    const Plain plain = read_plain(text);
    if (plain.ranks == 0) continue;
    SCOPED_TRACE(path.filename().string());
    const model::DryRun run = run_of(text, plain);
    const model::NcclCommunicator* world = largest(run);
    ASSERT_NE(world, nullptr);
    EXPECT_EQ(world->nranks, plain.ranks);
    ASSERT_EQ(world->rings.size(), plain.rings.size());
    for (std::size_t channel = 0; channel < plain.rings.size(); ++channel)
      EXPECT_EQ(world->rings[channel].order, plain.rings[channel]);
    ASSERT_EQ(run.operations.size(), plain.choices.size());
    for (std::size_t index = 0; index < plain.choices.size(); ++index) {
      const model::DryRunOperation& each = run.operations[index];
      EXPECT_EQ(each.collective + " " + std::to_string(each.bytes) + " " + each.algorithm + " " +
                    each.protocol + " " + std::to_string(each.channels.value_or(0)),
                plain.choices[index]);
    }
    EXPECT_EQ(broken_invariants(run, {}), std::vector<std::string>{});
    rings += plain.rings.size();
    choices += plain.choices.size();
  }
  EXPECT_GT(rings, 100U);
  EXPECT_GT(choices, 20U);
}

std::optional<Element> read_file(const std::filesystem::path& path) {
  nccl::Remarks remarks;
  auto text = nccl::read_topology_xml(test::read_whole_file(path.string()), remarks);
  if (text.roots.size() != 1) return std::nullopt;
  return std::move(text.roots[0]);
}

void remove_links(Element& element) {
  std::erase_if(element.children, [](const Element& child) { return child.name == "nvlink"; });
  for (Element& child : element.children)
    remove_links(child);
}

// The same topologies as those logs: every connection within its path class, and none of them without NVLink.
TEST(DryRunLogs, KeepToThePathsOfTheirTopology) {
  ANGIO_SHARED_OR_SKIP(folder, "nccl-dryrun/topologies");
  ANGIO_SHARED_OR_SKIP(topologies, "nccl-topo");
  std::size_t linked = 0;
  for (const auto& path : logs_below(folder)) {
    SCOPED_TRACE(path.filename().string());
    const auto root = read_file(std::filesystem::path(topologies) / (path.stem().string() + ".xml"));
    ASSERT_TRUE(root);
    auto design = design_node(*root, {}, nullptr);
    ASSERT_TRUE(design) << design.error().message;
    const std::string text = test::read_whole_file(path.string());
    const model::DryRun run = run_of(text, read_plain(text));
    EXPECT_EQ(broken_invariants(run, std::vector{design->tree}), std::vector<std::string>{});
    remove_links(design->tree);
    linked += broken_invariants(run, std::vector{design->tree}).empty() ? 0U : 1U;
  }
  EXPECT_EQ(linked,
            2U);  // OCI and the H200 node; the A100 pair is two GPUs of an AMD host, which may use P2P
}

// ---- topologies

struct Expected {
  std::string gpu;       // --gpu
  std::size_t gpus = 0;  // 0: an error
  std::size_t nets = 0;
  std::size_t links = 0;  // of the first GPU
  std::string error;      // its beginning
};

const std::map<std::string, Expected>& expected_designs() {
  static const std::map<std::string, Expected> all{
      {"aws-g5.48xl-topo.xml", {"a10g", 0, 0, 0, "no GPU in the topology"}},
      {"aws-p4d-24xl-topo.xml", {"", 8, 4, 12, ""}},
      {"aws-p5.48xl-topo.xml", {"h100-sxm", 8, 32, 18, ""}},
      {"azure-ncv4-graph.xml", {"", 0, 0, 0, "<graphs> is no topology"}},
      {"azure-ncv4-topo.xml", {"", 4, 1, 12, ""}},
      {"azure-ndv2-topo.xml", {"v100-sxm2", 8, 1, 6, ""}},
      {"azure-ndv4-topo.xml", {"a100-sxm-40", 8, 8, 12, ""}},
      {"azure-ndv5-topo.xml", {"h100-sxm", 8, 8, 18, ""}},
      {"azurehpc-nc48v4-graph.xml", {"", 0, 0, 0, "<graphs> is no topology"}},
      {"azurehpc-nc48v4-topo.xml", {"", 2, 1, 12, ""}},
      {"issue256-h200-baremetal-node0.xml", {"", 3, 3, 18, ""}},
      {"issue256-h200-kvm-flat-partial.xml", {"", 1, 1, 18, ""}},
      {"oci-H100-topology.xml", {"", 8, 16, 18, ""}},
      {"oci-topo-flattened-b4.xml", {"a100-sxm-40", 8, 8, 12, ""}},
      {"oci-topo-flattened.xml", {"a100-sxm-40", 8, 8, 12, ""}},
      {"superbench-ndv5-topo.xml", {"h100-sxm", 8, 8, 18, ""}},
  };
  return all;
}

TEST(DryRunDesigns, EveryRealTopologyIsDesignedOrRefused) {
  ANGIO_SHARED_OR_SKIP(folder, "nccl-topo");
  for (const auto& [name, expected] : expected_designs()) {
    SCOPED_TRACE(name);
    const auto root = read_file(std::filesystem::path(folder) / name);
    ASSERT_TRUE(root);
    DesignOptions options;
    options.gpu = expected.gpu;
    const auto design = design_node(*root, options, nullptr);
    if (expected.gpus == 0) {
      ASSERT_FALSE(design);
      EXPECT_TRUE(design.error().message.starts_with(expected.error)) << design.error().message;
      EXPECT_FALSE(design.error().hint.empty());
      continue;
    }
    ASSERT_TRUE(design) << design.error().message;
    EXPECT_EQ(design->hardware.gpus.size(), expected.gpus);
    EXPECT_EQ(design->hardware.nets.size(), expected.nets);
    EXPECT_EQ(design->hardware.gpus[0].links.size(), expected.links);
    const auto system = nccl::make_system(design->tree, {"2.28.9", false});
    ASSERT_TRUE(system) << system.error().message;
    EXPECT_EQ(system->all(nccl::NodeKind::kGpu).size(), expected.gpus);
    phantom::Hardware read;
    EXPECT_EQ(phantom::parse_hardware(phantom::write_hardware(design->hardware), read), "");
  }
}

TEST(DryRunDesigns, FilesOfRcclAreRefused) {
  ANGIO_SHARED_OR_SKIP(folder, "nccl-topo/rccl");
  std::size_t refused = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const auto root = read_file(entry.path());
    if (!root) continue;
    SCOPED_TRACE(entry.path().filename().string());
    const auto design = design_node(*root, {}, nullptr);
    ASSERT_FALSE(design);
    EXPECT_EQ(design.error().code, ErrorCode::kUnsupported) << design.error().message;
    ++refused;
  }
  EXPECT_GT(refused, 30U);
}

}  // namespace
}  // namespace angio::dryrun
