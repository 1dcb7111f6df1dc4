#include "diagnose/peers.hpp"

#include <gtest/gtest.h>

#include "diagnose/test_machines.hpp"

namespace angio::test {
namespace {

using diagnose::judge_peers;
using diagnose::peer_facts_of;
using diagnose::PeerFacts;

std::vector<Machine> roce_nodes(std::uint32_t count) {
  std::vector<Machine> nodes;
  for (std::uint32_t i = 0; i < count; ++i)
    nodes.push_back(dgx_roce("gpu-" + std::to_string(i), 5 + i));
  return nodes;
}

std::vector<Machine> infiniband_nodes(std::uint32_t count) {
  std::vector<Machine> nodes;
  for (std::uint32_t i = 0; i < count; ++i)
    nodes.push_back(dgx_h100("gpu-" + std::to_string(i)));
  return nodes;
}

std::vector<model::Finding> judge(const std::vector<Machine>& nodes, const std::string& rule = {}) {
  std::vector<PeerFacts> facts;
  for (const Machine& node : nodes)
    facts.push_back(peer_facts_of(node));
  std::vector<model::Finding> found = judge_peers(facts);
  std::erase_if(found, [&](const model::Finding& finding) { return !rule.empty() && finding.rule != rule; });
  return found;
}

void lose(Machine& machine, std::size_t device) {
  machine.rdma.erase(machine.rdma.begin() + static_cast<std::ptrdiff_t>(device));
  add_rdma_host(machine);
}

TEST(Peers, AlikeNodesAreSilentAndASingleOneIsNoCluster) {
  EXPECT_TRUE(judge(roce_nodes(4)).empty());
  EXPECT_TRUE(judge(infiniband_nodes(4)).empty());
  EXPECT_TRUE(not_applicable(dgx_h100(), "cluster.adapter.missing"));
}

TEST(ClusterAdapterMissing, FiresOnTheNodeThatLostOne) {
  auto nodes = infiniband_nodes(4);
  lose(nodes[2], 6);
  const auto found = judge(nodes);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].rule, "cluster.adapter.missing");
  EXPECT_EQ(found[0].node, "gpu-2");
  EXPECT_EQ(found[0].title, "mlx5_6 (0000:c4:00.0) is missing; most peers have it");
  EXPECT_EQ(found[0].evidence.at(0).text, "7 RDMA ports here, 8 on most of 4 nodes of this kind");
  EXPECT_EQ(found[0].fixes.at(0).command, "lspci -s 0000:c4:00.0 -k; sudo dmesg | grep -i mlx5");
}

TEST(ClusterAdapterMissing, SilentInOtherSlotsAndOnOtherKinds) {
  auto nodes = infiniband_nodes(4);
  set(nodes[2].rdma[6].address, pci("0000:97:00.0"));  // as many, one in another slot
  EXPECT_TRUE(judge(nodes).empty());
  lose(nodes[3], 6);
  set(nodes[3].software.product, std::string("another machine"));
  EXPECT_TRUE(judge(nodes).empty());
}

TEST(ClusterAdapterMissing, UndecidedIsNothingHere) {
  // no undecided: where a source shows no adapters at all (another tool's text), the node is left out
  auto nodes = infiniband_nodes(4);
  nodes[1].rdma.clear();
  nodes[1].imported = true;
  EXPECT_TRUE(judge(nodes).empty());
}

TEST(ClusterAdapterRenamed, FiresOnSwappedNames) {
  auto nodes = infiniband_nodes(4);
  std::swap(nodes[1].rdma[2].name, nodes[1].rdma[3].name);
  const auto found = judge(nodes);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].rule, "cluster.adapter.renamed");
  EXPECT_EQ(found[0].title, "mlx5_2, mlx5_3 are in each other's slots, compared with most peers");
  EXPECT_EQ(found[0].evidence.at(0).text,
            "mlx5_3 is at 0000:54:00.0, where 3 of 4 nodes of this kind have mlx5_2");
}

TEST(ClusterAdapterRenamed, FiresOnOneOfTwoHalves) {
  auto nodes = infiniband_nodes(4);
  for (const std::size_t node : {2U, 3U})
    std::swap(nodes[node].rdma[2].name, nodes[node].rdma[3].name);
  const auto found = judge(nodes);
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].node, "gpu-2");
  EXPECT_EQ(found[0].title, "mlx5_2, mlx5_3 are in each other's slots, compared with half of the nodes");
  EXPECT_EQ(found[0].evidence.size(), 2U);
}

TEST(ClusterAdapterRenamed, SilentOnAnotherSchemeOfNames) {
  auto nodes = infiniband_nodes(4);
  for (std::size_t i = 0; i < 8; ++i)
    nodes[1].rdma[i].name = "ibp" + std::to_string(i) + "s0";
  EXPECT_TRUE(judge(nodes).empty());
}

TEST(ClusterAdapterRenamed, UndecidedIsNothingHere) {
  // no undecided: without addresses there are no slots to compare
  auto nodes = infiniband_nodes(4);
  for (auto& device : nodes[1].rdma)
    deny(device.address);
  EXPECT_TRUE(judge(nodes, "cluster.adapter.renamed").empty());
}

TEST(ClusterPortBehind, FiresOnANodeWhoseEveryPortIsSlow) {
  auto nodes = infiniband_nodes(4);
  for (auto& device : nodes[3].rdma)
    set(device.ports[0].rate, BitsPerSecond{200e9});
  const auto found = judge(nodes);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].title, "mlx5_0 to mlx5_7 run at 200 Gb/s; on most peers 400 Gb/s");
  EXPECT_NEAR(found[0].rank, 0.5, 1e-9);
}

TEST(ClusterPortBehind, FiresOnASinglePortThatIsDown) {
  auto nodes = infiniband_nodes(4);
  for (auto& node : nodes)
    set(node.rdma[7].board_id, std::string("MT_0000000437"));  // one storage adapter, no like port at home
  set(nodes[0].rdma[7].ports[0].state, std::string("DOWN"));
  const auto found = judge(nodes);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].title, "mlx5_7 is DOWN; on most peers ACTIVE");
}

TEST(ClusterPortBehind, SilentWhereTheNodeTellsItselfAndOnUnusedPorts) {
  auto nodes = infiniband_nodes(4);
  set(nodes[0].rdma[7].ports[0].state, std::string("DOWN"));
  set(nodes[1].rdma[7].ports[0].rate, BitsPerSecond{200e9});
  EXPECT_TRUE(judge(nodes).empty());  // rdma.port.down, rdma.port.slow
  auto unused = infiniband_nodes(4);
  for (auto& node : unused)
    set(node.rdma[7].ports[0].state, std::string("DOWN"));
  set(unused[0].rdma[7].ports[0].state, std::string("INIT"));
  EXPECT_TRUE(judge(unused).empty());
  auto waiting = infiniband_nodes(4);  // rdma.port.no-subnet-manager
  for (auto& device : waiting[2].rdma)
    set(device.ports[0].state, std::string("INIT"));
  EXPECT_TRUE(judge(waiting).empty());
  auto named = infiniband_nodes(4);  // rdma.port.down, because the job names them
  for (std::size_t i = 0; i < 5; ++i)
    set(named[2].rdma[i].ports[0].state, std::string("DOWN"));
  named[2].software.settings = {{"NCCL_IB_HCA", "=mlx5_0,mlx5_1,mlx5_2,mlx5_3,mlx5_4", at("nccl.conf")}};
  EXPECT_TRUE(judge(named).empty());
  auto faster = infiniband_nodes(4);
  for (auto& device : faster[3].rdma)
    set(device.ports[0].rate, BitsPerSecond{800e9});
  EXPECT_TRUE(judge(faster).empty());
}

TEST(ClusterPortBehind, UndecidedIsNothingHere) {
  // no undecided: the node's own rules say that its rate could not be read
  auto nodes = infiniband_nodes(4);
  for (auto& device : nodes[3].rdma)
    deny(device.ports[0].rate);
  EXPECT_TRUE(judge(nodes).empty());
}

TEST(ClusterRailSubnet, FiresOnCrossedRailsAndAMissingAddress) {
  auto nodes = roce_nodes(4);
  std::swap(nodes[1].networks[2].addresses, nodes[1].networks[5].addresses);
  auto found = judge(nodes);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].title, "mlx5_2, mlx5_5 are in the subnet of another rail, compared with most peers");
  EXPECT_EQ(found[0].evidence.at(0).text,
            "rdma2 is in 10.5.0.0/24, which is mlx5_5's on 3 of 4 nodes of this kind; its own there is "
            "10.2.0.0/24");
  auto bare = roce_nodes(4);
  bare[2].networks[4].addresses.clear();
  found = judge(bare);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].title, "mlx5_4 has no IPv4 address; on most peers it has");
}

TEST(ClusterRailSubnet, SilentWhereTheNodeTellsItself) {
  auto nodes = roce_nodes(4);
  nodes[2].networks[4].addresses.clear();
  nodes[2].rdma[4].ports[0].gids.resize(2);  // link-local alone: rdma.roce.no-v2-gid
  EXPECT_TRUE(judge(nodes).empty());
}

TEST(ClusterRailSubnet, SilentWhereEachLinkHasItsOwnSubnet) {
  auto nodes = roce_nodes(4);
  for (std::size_t node = 0; node < 4; ++node) {
    for (std::size_t i = 0; i < 8; ++i)
      nodes[node].networks[i].addresses = {"10." + std::to_string(node) + "." + std::to_string(i) + ".1/31"};
  }
  EXPECT_TRUE(judge(nodes).empty());
  auto flat = roce_nodes(4);
  for (std::size_t node = 0; node < 4; ++node) {
    for (std::size_t i = 0; i < 8; ++i)
      flat[node].networks[i].addresses = {"10.7." + std::to_string(node) + "." + std::to_string(i + 1) +
                                          "/16"};
  }
  EXPECT_TRUE(judge(flat).empty());
}

TEST(ClusterRailSubnet, UndecidedIsNothingHere) {
  // no undecided: stand-ins of two snapshots have nothing in common
  auto nodes = roce_nodes(4);
  std::swap(nodes[1].networks[2].addresses, nodes[1].networks[5].addresses);
  for (auto& node : nodes)
    node.scrubbed = true;
  EXPECT_TRUE(judge(nodes).empty());
}

std::vector<Machine> with_index(std::vector<Machine> nodes, const std::string& index) {
  for (Machine& node : nodes)
    node.software.settings.push_back({"NCCL_IB_GID_INDEX", index, at("nccl.conf")});
  return nodes;
}

TEST(ClusterGidMeaning, FiresWhereTheIndexMeansAnotherFamily) {
  auto nodes = with_index(roce_nodes(4), "3");
  for (auto& device : nodes[2].rdma)
    device.ports[0].gids[3].gid = "fd00:0000:0000:0001:0000:0000:0000:0005";  // IPv6 came up before IPv4
  const auto found = judge(nodes);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].node, "gpu-2");
  EXPECT_EQ(found[0].title, "GID 3 of mlx5_0 to mlx5_7 means something else than on most peers");
  EXPECT_EQ(found[0].evidence.at(0).text,
            "mlx5_0 to mlx5_7: GID 3 is RoCE v2, IPv6; RoCE v2, IPv4 on 3 of 4 nodes of this kind");
}

TEST(ClusterGidMeaning, FiresOnTheNodeWithoutAJobToo) {
  auto nodes = roce_nodes(4);
  nodes[0].software.settings.push_back({"NCCL_IB_GID_INDEX", "3", at("nccl.conf")});
  nodes[3].rdma[1].ports[0].gids[3].gid = "fd00:0000:0000:0001:0000:0000:0000:0005";
  const auto found = judge(nodes, "cluster.gid.meaning");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].evidence.back().text, "NCCL_IB_GID_INDEX=3 on gpu-0");
}

// Two of seven have an entry 5: "most" have none, and only the job that names it is in trouble.
TEST(ClusterGidMeaning, FiresOnTheJobWhoseIndexMostTablesLack) {
  auto nodes = roce_nodes(7);
  for (const std::size_t node : {0U, 1U}) {
    auto& gids = nodes[node].rdma[1].ports[0].gids;
    gids.push_back(gids[3]);
    gids.back().index = 5;
  }
  nodes[0].software.settings.push_back({"NCCL_IB_GID_INDEX", "5", at("nccl.conf")});
  const auto found = judge(nodes, "cluster.gid.meaning");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].node, "gpu-0");
  EXPECT_EQ(found[0].evidence.at(0).text,
            "mlx5_1: GID 5 is RoCE v2, IPv4; empty on 5 of 7 nodes of this kind");
}

TEST(ClusterGidMeaning, SilentWhereNobodyNamesAnIndexOrTheNodeTellsItself) {
  auto nodes = roce_nodes(4);
  nodes[3].rdma[1].ports[0].gids[3].type = known<std::string>("IB/RoCE v1", "types");
  EXPECT_TRUE(judge(nodes).empty());
  EXPECT_TRUE(judge(with_index(nodes, "3")).empty());  // process.setting.gid-index
}

TEST(ClusterGidMeaning, UndecidedIsNothingHere) {
  // no undecided: a table that was not read is the node's own rule's gap
  auto nodes = with_index(roce_nodes(4), "3");
  nodes[1].rdma[0].ports[0].gids.clear();
  EXPECT_TRUE(judge(nodes).empty());
}

TEST(ClusterRoceClasses, FiresOnAnotherTrust) {
  auto nodes = roce_nodes(4);
  for (auto& netdev : nodes[1].networks)
    netdev.qos["qos/trust"] = "pcp";
  const auto found = judge(nodes, "cluster.roce.classes");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].title, "mlx5_0 to mlx5_7 sort packets into classes differently from most peers");
  EXPECT_EQ(found[0].evidence.at(0).text,
            "rdma0 to rdma7: pfc 0,0,0,1,0,0,0,0, trust pcp; 3 of 4 nodes of this kind: pfc 0,0,0,1,0,0,0,0, "
            "trust dscp");
  EXPECT_EQ(found[0].evidence.back().text,
            "so mlx5_0 to mlx5_7 carry NCCL's traffic in priority 0, PFC is on for 3 only");
  ASSERT_EQ(found[0].fixes.size(), 1U);
  EXPECT_EQ(found[0].fixes[0].command, "sudo mlnx_qos -i rdma0 --trust dscp --pfc 0,0,0,1,0,0,0,0");
}

TEST(ClusterRoceClasses, TakesThePlaceOfTheNodesOwnFinding) {
  auto nodes = roce_nodes(4);
  for (auto& netdev : nodes[1].networks)
    netdev.qos["qos/trust"] = "pcp";
  std::vector<model::Finding> findings = diagnose::diagnose(nodes[1]).findings;
  const auto own = findings.size();
  diagnose::drop_explained(findings);
  EXPECT_EQ(findings.size(), own);  // alone it stays
  for (const model::Finding& finding : judge(nodes))
    findings.push_back(finding);
  diagnose::drop_explained(findings);
  ASSERT_EQ(findings.size(), own);
  EXPECT_EQ(findings.back().rule, "cluster.roce.classes");
}

TEST(ClusterRoceClasses, SilentOnTheOneThatIsRight) {
  auto nodes = roce_nodes(4);
  for (std::size_t node = 1; node < 4; ++node) {
    for (auto& netdev : nodes[node].networks)
      netdev.qos["qos/trust"] = "pcp";
  }
  EXPECT_TRUE(judge(nodes, "cluster.roce.classes").empty());
}

TEST(ClusterRoceClasses, SilentWhereAllAreAlike) {
  auto nodes = roce_nodes(4);
  for (auto& node : nodes) {
    for (auto& netdev : node.networks)
      netdev.qos["qos/trust"] = "pcp";
  }
  EXPECT_TRUE(judge(nodes, "cluster.roce.classes").empty());
}

TEST(ClusterRoceClasses, UndecidedIsNothingHere) {
  // no undecided: unknown is no difference
  auto nodes = roce_nodes(4);
  for (auto& netdev : nodes[1].networks)
    netdev.qos.clear();
  EXPECT_TRUE(judge(nodes, "cluster.roce.classes").empty());
}

TEST(ClusterFirmwareMixed, FiresOnTheNodeThatDiffers) {
  auto nodes = infiniband_nodes(3);
  for (auto& device : nodes[0].rdma)
    set(device.firmware, std::string("28.36.1010"));
  const auto found = judge(nodes);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].title,
            "Adapters of board MT_0000000838 run firmware 28.36.1010; most on the peers run 28.43.2026");
  EXPECT_EQ(found[0].severity, model::Severity::kInfo);
}

TEST(ClusterFirmwareMixed, SilentWhereTheNodeItselfIsMixed) {
  auto nodes = infiniband_nodes(3);
  set(nodes[0].rdma[2].firmware, std::string("28.36.1010"));  // rdma.firmware.mixed
  EXPECT_TRUE(judge(nodes).empty());
}

TEST(ClusterFirmwareMixed, SilentWithoutAMajority) {
  auto nodes = infiniband_nodes(4);
  for (const std::size_t node : {0U, 1U}) {
    for (auto& device : nodes[node].rdma)
      set(device.firmware, std::string("28.36.1010"));
  }
  EXPECT_TRUE(judge(nodes).empty());
}

TEST(ClusterFirmwareMixed, UndecidedIsNothingHere) {
  // no undecided: rdma.firmware.mixed says that it could not be read
  auto nodes = infiniband_nodes(3);
  for (auto& device : nodes[0].rdma)
    deny(device.firmware);
  EXPECT_TRUE(judge(nodes).empty());
}

TEST(Peers, AThousandNodes) {
  std::vector<PeerFacts> facts;
  const PeerFacts sample = peer_facts_of(dgx_roce());
  for (int i = 0; i < 1000; ++i) {
    facts.push_back(sample);
    facts.back().node = "n" + std::to_string(i);
  }
  EXPECT_TRUE(judge_peers(facts).empty());
  for (auto& rail : facts[500].rails)
    rail.rate = 200e9;
  ASSERT_EQ(judge_peers(facts).size(), 1U);
  EXPECT_EQ(judge_peers(facts)[0].node, "n500");
}

}  // namespace
}  // namespace angio::test
