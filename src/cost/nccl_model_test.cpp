// The tuner's table on graphs that are stated here, against figures that NCCL printed for the same graphs,
// the grammar of its settings, and what must hold for any size.
#include "cost/nccl_model.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace angio::cost {
namespace {

using nccl::PathType;
using tuner::Algorithm;
using tuner::Collective;
using tuner::Protocol;

NcclGraph graph(int channels, float intra, float inter, bool chain = false) {
  return {channels, intra, inter, 0, PathType::kNvl, PathType::kPix, true, chain};
}

// Eight H100 behind NVSwitch, as NCCL 2.28.9 found them.
NcclJob one_node(const char* version = "2.28.9") {
  NcclJob job;
  job.version = version;
  job.ranks = 8;
  job.capability_least = job.capability_most = 90;
  job.cpu = NcclCpu::kIntel;
  job.ring = graph(12, 30, 30);
  job.tree = graph(12, 30, 30);
  job.nvls = graph(8, 40, 60);
  job.channels = 24;
  job.nvls_channels = 16;
  return job;
}

NcclJob nodes(int count, const char* version = "2.28.9") {
  NcclJob job = one_node(version);
  job.nodes = count;
  job.ranks = 8 * count;
  job.ring = graph(8, 48, 48);
  job.ring.same_channels = false;
  job.tree = graph(8, 48, 48, true);
  job.nvls = graph(8, 40, 48);
  job.channels = 16;
  return job;
}

NcclTable table_of(const NcclJob& job) {
  auto table = nccl_table(job);
  EXPECT_TRUE(table) << (table ? "" : table.error().message);
  return table ? *table : NcclTable{};
}

// As NCCL prints: one digit behind the point.
void expect_cell(const NcclTable& table, Collective collective, Algorithm algorithm, Protocol protocol,
                 double latency, double bandwidth) {
  const NcclCell& cell = table.at(collective, algorithm, protocol);
  EXPECT_NEAR(static_cast<double>(cell.latency_us), latency, 0.051);
  EXPECT_NEAR(static_cast<double>(cell.bandwidth), bandwidth, 0.051);
  EXPECT_EQ(cell.enabled, bandwidth > 0);
}

TEST(NcclModel, IsTheTableOfOneNode) {
  const NcclTable table = table_of(one_node());
  constexpr auto kAllReduce = Collective::kAllReduce;
  expect_cell(table, kAllReduce, Algorithm::kTree, Protocol::kLl, 15.2, 43.6);
  expect_cell(table, kAllReduce, Algorithm::kTree, Protocol::kLl128, 31.5, 128.8);
  expect_cell(table, kAllReduce, Algorithm::kTree, Protocol::kSimple, 64.4, 165.6);
  expect_cell(table, kAllReduce, Algorithm::kRing, Protocol::kLl, 15.0, 80.6);
  expect_cell(table, kAllReduce, Algorithm::kRing, Protocol::kLl128, 40.6, 189.3);
  expect_cell(table, kAllReduce, Algorithm::kRing, Protocol::kSimple, 56.0, 205.7);
  expect_cell(table, kAllReduce, Algorithm::kNvls, Protocol::kSimple, 25.0, 272.0);
  expect_cell(table, kAllReduce, Algorithm::kNvlsTree, Protocol::kSimple, 25.0, 0);
  expect_cell(table, kAllReduce, Algorithm::kCollNetChain, Protocol::kSimple, 69.2, 0);
  expect_cell(table, Collective::kAllGather, Algorithm::kRing, Protocol::kSimple, 32.2, 411.4);
  expect_cell(table, Collective::kAllGather, Algorithm::kNvls, Protocol::kSimple, 25.0, 208.2);
  expect_cell(table, Collective::kBroadcast, Algorithm::kRing, Protocol::kLl, 7.2, 141.0);
  EXPECT_EQ(table.threads[1][2], 512);
  EXPECT_EQ(table.thresholds[1][0], 64);
  EXPECT_EQ(nccl_cells(table).size(), 105U);
}

TEST(NcclModel, IsTheTableOfSeveralNodes) {
  const NcclTable two = table_of(nodes(2));
  expect_cell(two, Collective::kAllReduce, Algorithm::kTree, Protocol::kSimple, 92.4, 140.8);
  expect_cell(two, Collective::kAllReduce, Algorithm::kRing, Protocol::kLl, 40.0, 20.8);
  expect_cell(two, Collective::kAllReduce, Algorithm::kNvlsTree, Protocol::kSimple, 66.8, 246.2);
  expect_cell(two, Collective::kAllGather, Algorithm::kRing, Protocol::kLl128, 44.6, 313.2);
  expect_cell(two, Collective::kBroadcast, Algorithm::kRing, Protocol::kSimple, 232.4, 384.0);
}

// The same graphs, by release: what changed, where NCCL printed it.
TEST(NcclModel, ChangesWithTheRelease) {
  const auto tree = [](const char* version) {
    return table_of(one_node(version))
        .at(Collective::kAllReduce, Algorithm::kTree, Protocol::kSimple)
        .latency_us;
  };
  EXPECT_FLOAT_EQ(tree("2.18.3"), 56.0F);
  EXPECT_FLOAT_EQ(tree("2.21.5"), 392.0F);
  EXPECT_FLOAT_EQ(tree("2.23.4"), 64.4F);
  const auto gather = [](const char* version) {
    return table_of(one_node(version))
        .at(Collective::kAllGather, Algorithm::kNvls, Protocol::kSimple)
        .bandwidth;
  };
  EXPECT_FLOAT_EQ(gather("2.18.3"), 0);
  EXPECT_NEAR(gather("2.22.3"), 266.7F, 0.05F);
  EXPECT_FLOAT_EQ(gather("2.23.4"), 320.0F);
  EXPECT_FLOAT_EQ(gather("2.27.7"), 280.0F);
  EXPECT_EQ(table_of(one_node("2.22.3")).algorithms, 6);
  EXPECT_EQ(nccl_cells(table_of(one_node("2.22.3"))).size(), 90U);
}

TEST(NcclModel, RefusesWhatItDoesNotKnow) {
  EXPECT_EQ(nccl_table(one_node("2.17.1")).error().code, ErrorCode::kUnsupported);
  EXPECT_EQ(nccl_table(one_node("new")).error().code, ErrorCode::kInvalidInput);
  NcclJob job = one_node();
  job.ranks = 0;
  EXPECT_FALSE(nccl_table(job));
  job = one_node();
  job.ring.channels = 0;
  EXPECT_FALSE(nccl_table(job));
  job.ranks = 1;
  const NcclTable alone = table_of(job);
  EXPECT_EQ(nccl_pick(alone, Collective::kAllReduce, {1U << 20U}), NcclPick{});
}

TEST(NcclModel, ForbidsLl128WhereNcclDoes) {
  const auto ll128 = [](const NcclJob& job) {
    return table_of(job).at(Collective::kAllReduce, Algorithm::kRing, Protocol::kLl128).enabled;
  };
  NcclJob job = nodes(2);
  EXPECT_TRUE(ll128(job));
  job.ring.type_inter = PathType::kPxn;
  EXPECT_TRUE(ll128(job));
  job.settings = {{"NCCL_LL128_C2C", "0"}};
  EXPECT_FALSE(ll128(job));
  job.settings = {{"NCCL_PROTO", "LL128"}};
  EXPECT_TRUE(ll128(job));
  job = nodes(2);
  job.ring.type_intra = PathType::kSys;
  EXPECT_FALSE(ll128(job));
  job = nodes(2, "2.26.5");
  job.capability_least = job.capability_most = 75;
  EXPECT_FALSE(ll128(job));
  job.version = "2.27.7";
  EXPECT_TRUE(ll128(job));
}

std::string pick_of(const NcclJob& job, Collective collective, std::uint64_t bytes) {
  const auto pick = nccl_pick(table_of(job), collective, {bytes});
  return pick ? std::string(nccl_name(pick->algorithm)) + "/" + std::string(nccl_name(pick->protocol))
              : "none";
}

TEST(NcclSettings, ListsByFunctionAreKnownFrom224On) {
  NcclJob job = one_node();
  job.settings = {{"NCCL_ALGO", "Ring;allreduce:tree"}, {"NCCL_PROTO", "^LL,LL128"}};
  EXPECT_EQ(pick_of(job, Collective::kAllReduce, 8), "Tree/Simple");
  EXPECT_EQ(pick_of(job, Collective::kAllGather, 8), "Ring/Simple");
  job.settings = {{"NCCL_ALGO", "Tree"}};
  EXPECT_EQ(pick_of(job, Collective::kAllGather, 8), "none");
  job.version = "2.22.3";
  EXPECT_EQ(pick_of(job, Collective::kAllGather, 8), "Ring/LL");
}

TEST(NcclSettings, WrongWordsStopNcclFrom224On) {
  NcclJob job = one_node();
  job.settings = {{"NCCL_ALGO", "Rnig"}};
  const auto refused = nccl_table(job);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().hint.find("ring"), std::string::npos);
  for (const char* text : {"Ring;Tree", "alreduce:Ring", "allreduce:Ring,Coll"}) {
    job.settings = {{"NCCL_ALGO", text}};
    EXPECT_FALSE(nccl_table(job)) << text;
  }
  job.version = "2.23.4";
  job.settings = {{"NCCL_ALGO", "Rnig"}};
  const NcclTable passed = table_of(job);
  EXPECT_TRUE(nccl_pick(passed, Collective::kAllReduce, {8}));
  EXPECT_FALSE(passed.notes.empty());
}

TEST(NcclSettings, NumbersCount) {
  NcclJob job = one_node();
  job.settings = {{"NCCL_NTHREADS", "256"}, {"NCCL_THREAD_THRESHOLDS", "1 2 3 4 x"}};
  const NcclTable table = table_of(job);
  EXPECT_EQ(table.threads[1][2], 256);
  EXPECT_EQ(table.thresholds[0][2], 3);
  EXPECT_EQ(table.thresholds[1][0], 4);
  EXPECT_EQ(table.thresholds[1][1], 8);
  job = nodes(2);
  job.settings = {{"NCCL_NET_OVERHEAD", "5000"}};
  EXPECT_GT(table_of(job).at(Collective::kAllReduce, Algorithm::kRing, Protocol::kSimple).latency_us, 300);
  job.settings = {{"NCCL_NET_OVERHEAD", "much"}};
  EXPECT_FALSE(table_of(job).notes.empty());
}

// Spans follow each other without a gap, and what they say is what a size alone gets.
TEST(NcclSpans, CoverAllSizesOnce) {
  for (const NcclJob& job :
       {one_node(), nodes(2), nodes(4), nodes(1024), one_node("2.18.3"), nodes(3, "2.32.3")}) {
    const NcclTable table = table_of(job);
    for (std::size_t at = 0; at < tuner::kCollectives; ++at) {
      const auto collective = static_cast<Collective>(at);
      std::uint64_t next = 8;
      for (const NcclSpan& span : nccl_spans(table, collective, {8}, {1ULL << 34U})) {
        EXPECT_EQ(span.first.value, next);
        EXPECT_LE(span.first.value, span.last.value);
        for (const Bytes size : {span.first, span.last}) {
          const auto pick = nccl_pick(table, collective, size);
          ASSERT_TRUE(pick);
          EXPECT_EQ(pick->algorithm, span.pick.algorithm);
          EXPECT_EQ(pick->protocol, span.pick.protocol);
          EXPECT_GE(pick->channels, 1);
          EXPECT_GE(pick->threads, 96);
        }
        next = span.last.value + 1;
      }
      EXPECT_EQ(next, (1ULL << 34U) + 1);
    }
  }
}

TEST(NcclJobOfLog, TakesTheLeastOfItsPatterns) {
  model::NcclCommunicator logged;
  logged.nodes = 2;
  logged.nranks = 16;
  const auto pattern = [](int number, std::uint32_t channels, double bandwidth, const char* inter) {
    model::NcclPattern made;
    made.pattern = number;
    made.channels = channels;
    made.bw_intra = made.bw_inter = bandwidth;
    made.type_intra = "NVL";
    made.type_inter = inter;
    return made;
  };
  logged.patterns = {pattern(4, 8, 48, "PIX"), pattern(4, 8, 24, "PXN"), pattern(3, 8, 48, "PIX")};
  NcclJob job = one_node();
  job.ring = job.tree = job.nvls = {};
  take_log(logged, job);
  EXPECT_EQ(job.ranks, 16);
  EXPECT_EQ(job.ring.channels, 8);
  EXPECT_FLOAT_EQ(job.ring.intra, 24);
  EXPECT_EQ(job.ring.type_inter, PathType::kPxn);
  EXPECT_TRUE(job.tree.chain);
}

TEST(NcclBus, HasTheFactorsOfNcclTests) {
  EXPECT_NEAR(nccl_bus(Collective::kAllReduce, 8, {1'000'000'000}, 1e6), 1.75, 1e-9);
  EXPECT_NEAR(nccl_bus(Collective::kAllGather, 8, {1'000'000'000}, 1e6), 0.875, 1e-9);
  EXPECT_NEAR(nccl_bus(Collective::kBroadcast, 8, {1'000'000'000}, 1e6), 1.0, 1e-9);
}

}  // namespace
}  // namespace angio::cost
