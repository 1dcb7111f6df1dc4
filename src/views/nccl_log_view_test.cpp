// The words and pictures of `angio log` over facts that a test writes down.
#include "views/nccl_log_view.hpp"

#include <gtest/gtest.h>

#include "base/text.hpp"
#include "views/nccl_hops.hpp"
#include "views/nccl_log_words.hpp"
#include "views/nccl_rings_picture.hpp"

namespace angio::views {
namespace {

model::NcclConnection via(model::NcclTransport transport, std::uint32_t from, std::uint32_t to,
                          std::string net = {}, bool gdr = false) {
  model::NcclConnection way;
  way.transport = transport;
  way.from = from;
  way.to = to;
  way.net = std::move(net);
  way.gdr = gdr;
  way.count = 1;
  way.source = {1, 9, ""};
  return way;
}

// Ranks of `nodes` nodes in one ring; hops within a node over P2P, between nodes over IB.
model::NcclLog ring_of(std::uint32_t nodes, std::uint32_t gpus) {
  using enum model::NcclTransport;
  model::NcclLog log;
  log.places.add("rank0.log");
  model::NcclCommunicator world;
  world.nranks = nodes * gpus;
  world.nodes = nodes;
  world.patterns.push_back({4, 0, 2, 48, 48, "NVL", "PIX", true, {}, {1, 5, ""}, 1});
  model::NcclRing ring;
  for (std::uint32_t rank = 0; rank < world.nranks; ++rank) {
    model::NcclProcess process;
    process.host = "node-" + std::to_string(rank / gpus);
    process.version = "2.28.9";
    log.processes.push_back(process);
    model::NcclRank one;
    one.rank = rank;
    one.process = rank;
    one.nvml_device = static_cast<int>(rank % gpus);
    const std::uint32_t next = (rank + 1) % world.nranks;
    const bool within = rank / gpus == next / gpus;
    one.connections.push_back(within ? via(kP2pCumem, rank, next) : via(kNet, rank, next, "IB", true));
    one.trees.push_back({0, {-1, -1, -1}, static_cast<int>(rank), static_cast<int>(rank) - 1});
    world.ranks.push_back(std::move(one));
    ring.order.push_back(rank);
  }
  world.rings = {ring, ring};
  world.rings[1].channel = 1;
  log.communicators.push_back(std::move(world));
  return log;
}

std::string text_of(const report::Document& document) {
  return report::render_terminal(document, {});
}

TEST(NcclLogView, NamesTheRankOfWhichThereIsNoLine) {
  model::NcclLog log = ring_of(2, 4);
  log.communicators[0].ranks.erase(log.communicators[0].ranks.begin() + 5);
  report::Document document;
  add_log_facts(log, document);
  EXPECT_TRUE(contains(text_of(document), "no line of rank 5")) << text_of(document);
}

TEST(NcclLogView, ShowsTheVersionThatABareLineNames) {
  model::NcclLog log = ring_of(1, 2);
  for (model::NcclProcess& process : log.processes)
    process.version.clear();
  log.versions.push_back({"2.21.5", "cuda12.4", false, model::kNoNcclIndex, {1, 2, ""}, 1});
  report::Document document;
  add_log_facts(log, document);
  EXPECT_TRUE(contains(text_of(document), "NCCL 2.21.5+cuda12.4")) << text_of(document);
}

TEST(NcclLogView, ListsOfDevicesThatACutLogGivesAreNotShownBesideTheWholeOne) {
  model::NcclLog log = ring_of(1, 2);
  model::NcclNetwork whole;
  whole.plugin = "IB";
  whole.host = "node-0";
  whole.devices.resize(2);
  whole.devices[0].name = "mlx5_0";
  whole.devices[1].name = "mlx5_1";
  model::NcclNetwork part = whole;
  part.plugin.clear();
  std::swap(part.devices[0], part.devices[1]);
  log.networks = {part, whole};
  report::Document document;
  add_log_facts(log, document);
  EXPECT_TRUE(contains(text_of(document), "IB: mlx5_0, mlx5_1\n")) << text_of(document);
  EXPECT_FALSE(contains(text_of(document), "mlx5_1, mlx5_0"));
}

TEST(NcclLogView, SaysWhatRanInOneLine) {
  report::Document document;
  add_log_facts(ring_of(2, 4), document);
  EXPECT_TRUE(contains(text_of(document), "NCCL 2.28.9 8 ranks on 2 nodes (node-0, node-1)"));
}

TEST(NcclLogView, JsonHasStableKeysWithUnits) {
  model::NcclEvidence evidence;
  evidence.log = ring_of(1, 2);
  LogReport report;
  report.evidence = &evidence;
  const Json json = log_json(report);
  EXPECT_EQ(*json.find("schema")->as_string(), "angio.log/1");
  const Json* communicators = json.find("nccl")->find("communicators");
  ASSERT_NE(communicators, nullptr);
  const Json& world = communicators->as_array()->at(0);
  EXPECT_EQ(*world.find("ranks_total")->as_integer(), 2);
  EXPECT_EQ(world.find("rings")->as_array()->size(), 2U);
  EXPECT_DOUBLE_EQ(*world.find("graphs")->as_array()->at(0).find("intra_gigabytes_per_second")->as_double(),
                   48);
}

TEST(NcclHops, TellsHealthyDegradedAndUnknownHopsApart) {
  model::NcclLog log = ring_of(2, 2);
  log.communicators[0].ranks[0].connections[0] = via(model::NcclTransport::kShm, 0, 1);
  log.communicators[0].ranks[1].connections[0] = via(model::NcclTransport::kNet, 1, 2, "Socket");
  const Hops hops(log, log.communicators[0]);
  EXPECT_EQ(hops.between(0, 1).kind, HopKind::kHostMemory);
  EXPECT_TRUE(hops.between(0, 1).degraded);  // the pattern says NVLink
  EXPECT_EQ(hops.between(1, 2).kind, HopKind::kSocket);
  EXPECT_EQ(hops.between(2, 3).kind, HopKind::kNvlink);
  EXPECT_FALSE(hops.between(2, 3).degraded);
  EXPECT_EQ(hops.between(3, 0).kind, HopKind::kNetwork);
  EXPECT_EQ(hops.between(0, 3).kind, HopKind::kUnknown);
  const report::Connector line = connector_of(hops.between(0, 1));
  EXPECT_TRUE(line.dashed);
  EXPECT_EQ(line.tone, report::Tone::kCritical);
}

std::size_t gpus_in(const report::Drawing& drawing) {
  std::size_t count = 0;
  for (const report::Shape& shape : drawing.shapes)
    if (const auto* box = std::get_if<report::Box>(&shape)) count += box->kind == "gpu" ? 1 : 0;
  return count;
}

TEST(NcclRingsPicture, DrawsEqualRingsOnceAndEveryGpuInside) {
  for (const auto& [nodes, gpus] : {std::pair{1U, 8U}, std::pair{8U, 8U}, std::pair{3U, 5U}}) {
    const auto drawing = rings_drawing(ring_of(nodes, gpus));
    ASSERT_TRUE(drawing.has_value());
    EXPECT_EQ(gpus_in(*drawing), std::size_t{nodes} * gpus);
    for (const report::Shape& shape : drawing->shapes) {
      if (const auto* box = std::get_if<report::Box>(&shape)) {
        EXPECT_LE(box->x + box->width, drawing->width);
        EXPECT_LE(box->y + box->height, drawing->height);
      } else if (const auto* line = std::get_if<report::Connector>(&shape)) {
        for (const auto& [x, y] : line->points)
          EXPECT_TRUE(x >= 0 && x <= drawing->width && y >= 0 && y <= drawing->height);
      }
    }
  }
}

TEST(NcclRingsPicture, DoesNotCloseARingThatTheLogNamesInPart) {
  model::NcclLog log = ring_of(2, 4);
  for (model::NcclRing& ring : log.communicators[0].rings)
    ring.order.resize(5);
  const auto drawing = rings_drawing(log);
  ASSERT_TRUE(drawing.has_value());
  for (const report::Shape& shape : drawing->shapes) {
    const auto* line = std::get_if<report::Connector>(&shape);
    EXPECT_FALSE(line != nullptr && contains(line->tooltip, "rank 4 to rank 0"));
  }
  EXPECT_TRUE(contains(report::render_svg(*drawing), "channels 0-1 of 2: 5 of the ring"));
}

TEST(NcclRingsPicture, DrawsTheTreeAndNothingWithoutFacts) {
  const auto tree = tree_drawing(ring_of(4, 2));
  ASSERT_TRUE(tree.has_value());
  EXPECT_EQ(gpus_in(*tree), 8U);
  EXPECT_FALSE(graphs_drawing({}).has_value());
}

// A log that lies: ranks beyond any communicator, a tree with a loop.
TEST(NcclRingsPicture, SurvivesContradictions) {
  model::NcclLog log = ring_of(2, 2);
  log.communicators[0].rings[0].order = {7, 7, 9, 7};
  log.communicators[0].ranks[0].trees[0].up = 1;
  log.communicators[0].ranks[1].trees[0].up = 0;
  const auto drawing = graphs_drawing(log);
  ASSERT_TRUE(drawing.has_value());
  EXPECT_GT(report::render_svg(*drawing).size(), 100U);
}

}  // namespace
}  // namespace angio::views
