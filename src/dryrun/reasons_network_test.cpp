#include <gtest/gtest.h>

#include <set>

#include "base/text.hpp"
#include "dryrun/compare_test_runs.hpp"
#include "dryrun/reasons.hpp"
#include "dryrun/reasons_case.hpp"
#include "dryrun/reasons_test_answers.hpp"

namespace angio::dryrun::test {
namespace {

DryRun without_gdr() {
  DryRun run = healthy_run();
  for (model::NcclRank& rank : world_in(run).ranks)
    for (model::NcclConnection& connection : rank.connections)
      connection.gdr = false;
  return run;
}

// What NCCL says of a rank's GPU and the NIC of its connections.
model::NcclGdrPair gdr_pair(std::uint32_t rank, int distance, int threshold) {
  model::NcclGdrPair pair;
  pair.host = rank < 2 ? "node-a" : "node-b";
  pair.gpu = std::to_string(rank);
  pair.hca = std::to_string(rank % 2);
  pair.distance = distance;
  pair.threshold = threshold;
  pair.enabled = distance <= threshold;
  pair.source = line(33 + rank);
  return pair;
}

TEST(Reasons, GdrIsOffByDistanceDeviceOrTopology) {
  const std::string question = "Why no GPUDirect RDMA for 32 of 32 network connections between nodes?";
  DryRun far = without_gdr();
  for (std::uint32_t rank = 0; rank < 4; ++rank)
    log_of(far).gdr.push_back(gdr_pair(rank, 9, 5));
  EXPECT_EQ(answer(explain(far, topology()), question),
            "GPU and NIC are of path class SYS, beyond PXB (NCCL's own limit).");
  EXPECT_EQ(evidence(explain(far, topology()), question), "node0.log:33: GPU 0 / HCA 0: distance 9 > 5");
  far.nccl = "2.19.3";  // without C2C and P2C the numbers are smaller, and GPUs go by their bus id
  for (std::uint32_t rank = 0; rank < 4; ++rank) {
    log_of(far).gdr[rank] = gdr_pair(rank, 7, 4);
    log_of(far).gdr[rank].gpu = rank % 2 == 0 ? "1b000" : "43000";
  }
  EXPECT_TRUE(contains(answer(explain(far, topology()), question), "path class SYS, beyond PXB"));
  DryRun device = without_gdr();
  log_of(device).networks[0].devices[0].gdr = false;
  EXPECT_EQ(answer(explain(device, topology()), question),
            "For 8 of them: The network plugin reports that mlx5_0 cannot reach GPU memory. For 24 of them "
            "neither log nor topology says why.");
  EXPECT_TRUE(contains(answer(explain(without_gdr(), topology("90", true, "0")), question),
                       "topology says that its GPUs"));
  EXPECT_TRUE(answer(explain(without_gdr(), topology()), question).starts_with("Cannot be told"));
  EXPECT_EQ(answer(explain(healthy_run(), topology()), question), "");
}

TEST(Reasons, GdrCountsConnectionsAndTellsNodesApart) {
  EXPECT_EQ(answer(explain(healthy_run(), topology()), "Why GPUDirect RDMA?"),
            "All 32 network connections between nodes use it: GPU and NIC of each are near enough, and both "
            "can.");
  DryRun run = healthy_run();
  for (model::NcclRank& rank : world_in(run).ranks) {
    rank.connections[1].direction = model::NcclDirection::kSend;
    rank.connections[2].direction = model::NcclDirection::kReceive;
  }
  EXPECT_TRUE(
      contains(answer(explain(run, topology()), "Why GPUDirect RDMA?"), "(16 sending, 16 receiving)"));
  connect(world_in(run).ranks[0], net(0, 1, 0));
  EXPECT_EQ(answer(explain(run, topology()), "Why GPUDirect RDMA?").substr(0, 44),
            "All 32 network connections between nodes (16");
  world_in(run).ranks[0].connections[3].gdr = false;
  log_of(run).gdr = {gdr_pair(1, 9, 5)};  // of another GPU
  EXPECT_TRUE(
      answer(explain(run, topology()), "Why no GPUDirect RDMA for 4 of 4 network connections within a node?")
          .starts_with("Cannot be told"));
  DryRun reads = run;
  log_of(reads).gdr.clear();
  for (model::NcclRank& rank : world_in(reads).ranks)
    rank.connections[1].gdr = false;
  set(reads, "NCCL_NET_GDR_READ", "0");
  EXPECT_EQ(
      answer(explain(reads, topology()), "Why no GPUDirect RDMA for 16 of 32 network connections between"),
      "NCCL_NET_GDR_READ=0 switches it off for sends.");
}

// All connections of a node over its first NIC.
void use_first_nic(DryRun& run, const std::set<std::uint32_t>& ranks) {
  for (model::NcclRank& rank : world_in(run).ranks)
    if (ranks.contains(*rank.rank))
      for (model::NcclConnection& connection : rank.connections)
        if (connection.net_device) connection.net_device = 0;
}

TEST(Reasons, AnIdleNicHasItsReason) {
  DryRun run = healthy_run();
  use_first_nic(run, {0, 1, 2, 3});
  EXPECT_TRUE(answer(explain(run, topology()), "Why is a NIC idle: mlx5_1?").starts_with("Cannot be told"));
  for (model::NcclNetwork& network : log_of(run).networks)
    network.devices.pop_back();
  EXPECT_TRUE(contains(answer(explain(run, topology()), "Why is a NIC idle on node 0"),
                       "plugin does not report such a NIC"));
  set(run, "NCCL_IB_HCA", "=mlx5_0");
  EXPECT_TRUE(
      contains(answer(explain(run, topology()), "Why is a NIC idle: mlx5_1?"), "NCCL_IB_HCA chooses"));
  EXPECT_EQ(answer(explain(healthy_run(), topology()), "Why is a NIC"), "");
}

// The plugin counts what it reports: its number 0 is the topology's second NIC here.
TEST(Reasons, IdleNicsAreNamedByTheListOfTheirNode) {
  DryRun run = healthy_run();
  use_first_nic(run, {0, 1, 2, 3});
  for (model::NcclNetwork& network : log_of(run).networks) {
    network.devices.erase(network.devices.begin());
    network.devices[0].index = 0;
  }
  set(run, "NCCL_IB_HCA", "mlx5_1:1");
  const auto reasons = explain(run, topology());
  EXPECT_EQ(answer(reasons, "Why is a NIC idle: mlx5_0?"),
            "Not offered to NCCL: NCCL_IB_HCA chooses the NICs.");
  EXPECT_EQ(answer(reasons, "Why is a NIC idle: mlx5_1?"), "");
}

TEST(Reasons, IdleNicsAreTheirNodes) {
  DryRun run = healthy_run();
  use_first_nic(run, {2, 3});
  EXPECT_FALSE(answer(explain(run, topology()), "Why is a NIC idle on node 1: mlx5_1?").empty());
  // Node 1 is without the second one: nothing is idle.
  log_of(run).networks[1].devices.pop_back();
  EXPECT_EQ(answer(explain(run, topology()), "Why is a NIC idle"), "");
}

TEST(Reasons, ANicIsIdleWithFewerChannelsOrWithoutARankBesideIt) {
  DryRun few = healthy_run();
  use_first_nic(few, {0, 1, 2, 3});
  world_in(few).patterns[1].channels = 1;
  EXPECT_EQ(
      answer(explain(few, topology()), "Why is a NIC idle: mlx5_1?"),
      "There is 1 channel (and copies of them, 16 in all) for 2 NICs: a channel has one NIC at each end.");
  DryRun ranks = healthy_run();
  ranks.ranks_per_node = {1, 1};
  auto& all = world_in(ranks).ranks;
  all.erase(all.begin() + 3);
  all.erase(all.begin() + 1);
  all[1].rank = 1;
  world_in(ranks).nranks = 2;
  EXPECT_EQ(answer(explain(ranks, topology()), "Why is a NIC idle on node 0: mlx5_1?"),
            "The nearest GPUs have no rank: 1 GPU of the node has one.");
}

TEST(Reasons, TheNearestNicIsTheLogs) {
  DryRun run = healthy_run();
  use_first_nic(run, {0, 1, 2, 3});
  log_of(run).systems[0].host = "node-b";
  for (model::NcclPathRow& row : log_of(run).systems[0].paths) {
    row.cells.push_back({"NET/0-0", 3, 48, "PXB"});
    row.cells.push_back({"NET/0-1", 3, 12.5, "PIX"});
  }
  EXPECT_TRUE(answer(explain(run, topology()), "Why is a NIC idle on node 1: mlx5_1?")
                  .starts_with("Not the nearest NIC of any GPU in this run"));
  EXPECT_EQ(evidence(explain(run, topology()), "Why is a NIC idle on node 1: mlx5_1?"),
            "node0.log:20: paths from GPUs to NICs as NCCL sees them");
}

}  // namespace
}  // namespace angio::dryrun::test
