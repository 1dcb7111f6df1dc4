// The words of `angio dryrun` over runs that a test writes down.
#include "views/dryrun_view.hpp"

#include <gtest/gtest.h>

#include <chrono>

#include "base/text.hpp"
#include "views/dryrun_example.hpp"
#include "views/dryrun_facts.hpp"

namespace angio::views {
namespace {

using example::operation;
using example::ring_run;

std::string text_of(const report::Document& document, std::uint32_t width = 80) {
  report::TerminalStyle style;
  style.width = width;
  return report::render_terminal(document, style);
}

std::string text_of(const model::DryRun& run, std::uint32_t width = 80) {
  return text_of(dryrun_document({&run, nullptr, std::nullopt}), width);
}

std::size_t widest_line(const std::string& text) {
  std::size_t widest = 0;
  for (const std::string_view line : split_lines(text)) {
    std::size_t columns = 0;
    for (const char c : line)
      columns += (static_cast<unsigned char>(c) & 0xC0U) != 0x80U ? 1 : 0;
    widest = std::max(widest, columns);
  }
  return widest;
}

TEST(DryRunView, HeadNamesVersionShapeAndEnd) {
  const std::string text = text_of(ring_run(2, 8));
  EXPECT_TRUE(contains(text, "NCCL 2.28.9+cuda13.0, 2 nodes × 8 ranks on phantom GPUs: complete in 2.5 s\n"))
      << text;
  EXPECT_LE(widest_line(text), 80U) << text;
}

TEST(DryRunView, NamesUnevenNodes) {
  model::DryRun run = ring_run(2, 4);
  run.ranks_per_node = {5, 3};
  EXPECT_EQ(shape_words(run), "2 nodes, 8 ranks (5, 3)");
  EXPECT_EQ(shape_words(ring_run(1, 1)), "1 node × 1 rank");
}

TEST(DryRunView, FoldsSizesWithTheSameChoice) {
  model::DryRun run = ring_run(1, 8);
  run.operations = {operation("AllReduce", 8, "TREE", "LL", 8, 20.0),
                    operation("AllReduce", 1024, "TREE", "LL", 8, 22.5),
                    operation("AllReduce", 1 << 30, "RING", "SIMPLE", 24, 5275.6)};
  EXPECT_EQ(folded_choices(run.operations).size(), 2U);
  const std::string text = text_of(run);
  EXPECT_TRUE(contains(text, "AllReduce\n  8 B to 1 KiB  TREE       LL               8  20.0 to 22.5"))
      << text;
  // 2^30 B / 5275.6 us * 2 * 7/8 = 356 GB/s.
  EXPECT_TRUE(contains(text, "  1 GiB         RING       SIMPLE          24          5276")) << text;
  EXPECT_TRUE(contains(text, " 356\n")) << text;
}

TEST(DryRunView, DoesNotFoldAcrossCollectivesOrChannels) {
  const std::vector<model::DryRunOperation> operations = {operation("AllReduce", 8, "TREE", "LL", 1, 1),
                                                          operation("AllReduce", 16, "TREE", "LL", 2, 1),
                                                          operation("AllGather", 16, "TREE", "LL", 2, 1)};
  EXPECT_EQ(folded_choices(operations).size(), 3U);
}

TEST(DryRunView, TellsPointToPointFromNotReached) {
  model::DryRun run = ring_run(1, 2);
  run.operations = {operation("AlltoAll", 1024, "", "", std::nullopt, std::nullopt),
                    operation("AllReduce", 1024, "", "", std::nullopt, std::nullopt)};
  run.operations[1].reached = false;
  const std::string text = text_of(run);
  EXPECT_TRUE(contains(text, "  1 KiB    p2p          -")) << text;
  EXPECT_TRUE(contains(text, "not reached")) << text;
  EXPECT_TRUE(contains(text, "No estimate of times")) << text;
}

TEST(DryRunView, BusBandwidthIsThatOfNcclTests) {
  EXPECT_NEAR(*bus_gigabytes("AllReduce", 1000000, 10, 8), 175, 1e-9);
  EXPECT_NEAR(*bus_gigabytes("AllGather", 1000000, 10, 8), 87.5, 1e-9);
  EXPECT_NEAR(*bus_gigabytes("AllToAll", 1000000, 10, 4), 75, 1e-9);
  EXPECT_NEAR(*bus_gigabytes("Broadcast", 1000000, 10, 4), 100, 1e-9);
  EXPECT_FALSE(bus_gigabytes("AllReduce", 1000000, 0, 4).has_value());
  EXPECT_FALSE(bus_gigabytes("Frobnicate", 1000000, 10, 4).has_value());
}

TEST(DryRunView, WaysAreToldApartByClassOfPair) {
  const model::DryRun run = ring_run(2, 8);
  const NodeOfRank nodes(run.ranks_per_node);
  const auto ways = ways_of(*run.evidence.log, nodes);
  ASSERT_EQ(ways.size(), 2U);
  EXPECT_EQ(ways[0].pairs, "within a node, NVL");
  EXPECT_EQ(ways[0].way, "P2P/CUMEM");
  EXPECT_EQ(ways[0].ranks.size(), 14U);
  EXPECT_EQ(ways[1].pairs, "between nodes");
  EXPECT_EQ(ways[1].way, "NET/IB, GPUDirect");
  EXPECT_EQ(ways[1].ranks.size(), 2U);
  EXPECT_EQ(ways[1].adapters, (std::set<std::string>{"mlx5_0", "mlx5_7"}));
}

TEST(DryRunView, APairIsOneWayAlthoughOnlyItsSenderTellsOfThePxn) {
  model::DryRun run = ring_run(2, 8);
  for (model::NcclRank& rank : run.evidence.log->communicators[0].ranks)
    for (model::NcclConnection& each : rank.connections)
      if (each.transport == model::NcclTransport::kNet) {
        each.direction = model::NcclDirection::kSend;
        if (rank.rank != each.from) each.direction = model::NcclDirection::kReceive;
        if (rank.rank == each.from) each.proxy_rank = 0;
      }
  const auto ways = ways_of(*run.evidence.log, NodeOfRank(run.ranks_per_node));
  ASSERT_EQ(ways.size(), 2U);
  EXPECT_EQ(ways[1].way, "NET/IB, GPUDirect, PXN");
  EXPECT_EQ(ways[1].ranks.size(), 2U);
}

TEST(DryRunView, NamesTheAdaptersOfEachChannel) {
  const model::DryRun run = ring_run(2, 8);
  const auto adapters = adapters_of(*run.evidence.log, NodeOfRank(run.ranks_per_node), DryRunGraph::kRing);
  ASSERT_EQ(adapters.size(), 2U);
  EXPECT_EQ(adapter_words(adapters.at(0)), "0-1: mlx5_0 in, mlx5_7 out");
  EXPECT_TRUE(contains(text_of(run), "ring NICs  channels 0-1: mlx5_0 in, mlx5_7 out\n")) << text_of(run);
}

TEST(DryRunView, ARingOfWhichOnlySomeHopsAreConnectedNamesNoAdapters) {
  model::DryRun run = ring_run(2, 8);
  model::NcclRank& first = run.evidence.log->communicators[0].ranks[0];
  std::erase_if(first.connections, [](const auto& each) { return each.to == 0; });
  const NodeOfRank nodes(run.ranks_per_node);
  EXPECT_TRUE(adapters_of(*run.evidence.log, nodes, DryRunGraph::kRing).empty());
  EXPECT_TRUE(contains(text_of(run), "ring NICs  not connected as a whole")) << text_of(run);
  // The tree of the example goes both ways, its connections only one.
  EXPECT_TRUE(adapters_of(*run.evidence.log, nodes, DryRunGraph::kTree).empty());
  EXPECT_FALSE(contains(text_of(ring_run(1, 8)), "NICs  "));
}

TEST(DryRunView, MemoryIsARangeOverTheRanks) {
  model::DryRun run = ring_run(1, 2);
  run.memory = {{0, 500ULL << 20U, 600ULL << 20U, 8ULL << 20U},
                {1, 502ULL << 20U, 600ULL << 20U, 8ULL << 20U}};
  EXPECT_TRUE(contains(text_of(run), "500 MiB to 502 MiB a GPU after init, 600 MiB at most; 8 MiB"))
      << text_of(run);
}

TEST(DryRunView, AFailedRunGivesTheReasonFirst) {
  model::DryRun run = ring_run(2, 2);
  run.end = model::DryRunEnd::kFailed;
  run.problem = "ncclCommInitRank failed on node 1: invalid usage";
  run.failed_call = "ncclCommInitRank";
  run.result = 5;
  run.culprit = 1;
  run.last_lines =
      "node-1:1:1 [0] NCCL WARN Invalid value for NCCL_ALGO\nnode-1:1:1 [0] NCCL INFO init.cc:1 -> 5\n";
  const std::string text = text_of(run);
  EXPECT_FALSE(contains(text, "first"));
  const std::size_t why = text.find("invalid usage");
  const std::size_t line = text.find("Invalid value for NCCL_ALGO");
  const std::size_t known = text.find("What was known until then");
  ASSERT_NE(why, std::string::npos);
  ASSERT_NE(line, std::string::npos);
  EXPECT_TRUE(why < line && line < known && known < text.find("rings")) << text;
  EXPECT_TRUE(contains(text, "failed after 2.5 s")) << text;
  EXPECT_TRUE(contains(text, "ncclCommInitRank returned 5 (ncclInvalidUsage) on node 1")) << text;
  const Json json = dryrun_json({&run, nullptr, std::nullopt});
  EXPECT_EQ(*json.find("end")->find("state")->as_string(), "failed");
  EXPECT_EQ(*json.find("end")->find("nccl_result")->as_integer(), 5);
  EXPECT_EQ(json.find("end")->find("last_lines")->as_array()->size(), 2U);
}

TEST(DryRunView, ACrashWithoutAnyLogSaysSo) {
  model::DryRun run;
  run.end = model::DryRunEnd::kCrashed;
  run.problem = "node 0 was ended by signal 11 (SIGSEGV)";
  run.operations = {operation("AllReduce", 8, "", "", std::nullopt, std::nullopt)};
  run.operations[0].reached = false;
  run.operations[0].kernel.clear();
  run.ranks_per_node = {8};
  const std::string text = text_of(run);
  EXPECT_TRUE(contains(text, "an NCCL that did not say its version, 1 node × 8 ranks")) << text;
  EXPECT_TRUE(contains(text, "crashed")) << text;
  EXPECT_TRUE(contains(text, "SIGSEGV")) << text;
  EXPECT_TRUE(contains(text, "not reached")) << text;
  EXPECT_FALSE(contains(text, "estimate of times")) << text;
  EXPECT_TRUE(contains(text, "nothing that NCCL printed was understood")) << text;
  EXPECT_TRUE(dryrun_json({&run, nullptr, std::nullopt}).find("log")->is_null());
}

TEST(DryRunView, AnEmptyReportIsEmptyAndAnEmptyRunIsNot) {
  EXPECT_TRUE(dryrun_document({}).blocks.empty());
  EXPECT_EQ(*dryrun_json({}).find("schema")->as_string(), "angio.dryrun/1");
  const model::DryRun run;
  EXPECT_FALSE(text_of(run).empty());
  EXPECT_FALSE(dryrun_choices_drawing(run).has_value());
  EXPECT_TRUE(dryrun_machine_drawings(run, {}).empty());
}

TEST(DryRunView, HostileTextIsPrintedSafely) {
  model::DryRun run = ring_run(1, 2);
  const std::string evil = "\x1b[2J</pre><script>alert(1)</script>\xff";
  run.problem = run.library = run.topology = run.last_lines = run.failed_call = evil;
  run.nccl = run.net = evil;
  run.end = model::DryRunEnd::kCrashed;
  run.notes = {evil};
  run.settings = {{evil, evil}};
  run.operations = {operation(evil, 8, evil, evil, 1, 1)};
  run.operations[0].kernel = evil;
  run.evidence.log->networks[0].devices[0].name = evil;
  const DryRunReport report{&run, nullptr, std::vector<dryrun::Reason>{{evil, evil, {evil}}}};
  const std::string text = text_of(dryrun_document(report));
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  EXPECT_EQ(text.find('\xff'), std::string::npos);
  const std::string page = report::render_html(dryrun_page(report));
  EXPECT_FALSE(contains(page, "<script>"));
  EXPECT_EQ(page.find('\x1b'), std::string::npos);
  EXPECT_TRUE(parse_json(to_text(dryrun_json(report))).has_value());
}

TEST(DryRunView, FiveHundredRanksStayReadableAndFast) {
  const model::DryRun run = ring_run(64, 8, 32);
  const auto start = std::chrono::steady_clock::now();
  const std::string text = text_of(run);
  const std::string page = report::render_html(dryrun_page({&run, nullptr, std::nullopt}));
  const std::string json = to_text(dryrun_json({&run, nullptr, std::nullopt}));
  const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
  EXPECT_LT(time.count(), 5);  // generous: sanitizers and busy machines
  EXPECT_LT(split_lines(text).size(), 80U) << text;
  EXPECT_LE(widest_line(text), 80U) << text;
  EXPECT_TRUE(contains(text, "rings      channels 0-31: 0-511\n")) << text;
  EXPECT_TRUE(contains(page, "all 512 ranks are not drawn"));
  EXPECT_TRUE(parse_json(json).has_value());
}

TEST(DryRunView, NarrowTerminalsHold) {
  for (const std::uint32_t width : {60U, 80U, 120U})
    EXPECT_LE(widest_line(text_of(ring_run(2, 8), width)), width) << text_of(ring_run(2, 8), width);
}

TEST(DryRunView, JsonIsCompleteAndUnfolded) {
  const model::DryRun run = ring_run(2, 8);
  const Json json =
      dryrun_json({&run, nullptr, std::vector<dryrun::Reason>{{"Why?", "Because.", {"a line"}}}});
  EXPECT_EQ(*json.find("schema")->as_string(), "angio.dryrun/1");
  EXPECT_EQ(*json.find("ranks_total")->as_integer(), 16);
  const Json& first = json.find("operations")->as_array()->at(0);
  EXPECT_EQ(json.find("operations")->as_array()->size(), run.operations.size());
  EXPECT_EQ(*first.find("algorithm")->as_string(), "TREE");
  EXPECT_GT(*first.find("estimated_bus_gigabytes_per_second")->as_double(), 0);
  EXPECT_EQ(json.find("graphs")->find("rings")->as_array()->size(), 1U);
  EXPECT_EQ(json.find("graphs")->find("trees")->as_array()->size(), 1U);
  EXPECT_EQ(json.find("memory")->as_array()->size(), 16U);
  EXPECT_EQ(json.find("ways")->as_array()->size(), 2U);
  EXPECT_EQ(json.find("ring_adapters")->as_array()->size(), 4U);
  EXPECT_EQ(*json.find("reasons")->as_array()->at(0).find("answer")->as_string(), "Because.");
  EXPECT_FALSE(json.find("log")->is_null());
}

TEST(DryRunView, ReasonsNameQuestionAnswerAndEvidence) {
  report::Document document;
  add_dryrun_reasons({{"Why 12 channels?", "The links of a GPU carry no more.", {"line one", "line two"}}},
                     document);
  const std::string text = text_of(document);
  EXPECT_TRUE(contains(text, "Why 12 channels?\n")) << text;
  EXPECT_TRUE(contains(text, "because  The links of a GPU carry no more.\n")) << text;
  EXPECT_TRUE(contains(text, "seen     line one\n")) << text;
}

}  // namespace
}  // namespace angio::views
