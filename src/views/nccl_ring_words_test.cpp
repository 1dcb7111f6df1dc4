#include "views/nccl_ring_words.hpp"

#include <gtest/gtest.h>

#include <array>

namespace angio::views {
namespace {

TEST(NcclRingWords, RunsUpAndDownBecomeRanges) {
  const std::array<std::uint32_t, 16> order{0, 7, 6, 5, 4, 3, 2, 1, 9, 10, 11, 12, 13, 14, 15, 8};
  EXPECT_EQ(sequence_words(order), "0 7-1 9-15 8");
  EXPECT_EQ(sequence_words(std::array<std::uint32_t, 2>{0, 1}), "0 1");
  EXPECT_EQ(sequence_words({}), "");
}

TEST(NcclRingWords, EvenStridesAreNamedByTheirEnds) {
  EXPECT_EQ(stride_words({0, 2, 4, 6}), "0,2 to 6");
  EXPECT_EQ(stride_words({0, 1, 2, 3, 8}), "0-3,8");
  EXPECT_EQ(stride_words({}), "");
}

TEST(NcclRingWords, RanksAreOnTheirNodes) {
  const std::array<std::uint32_t, 3> uneven{4, 0, 2};
  const NodeOfRank nodes(uneven);
  EXPECT_EQ(nodes.node(3), 0U);
  EXPECT_EQ(nodes.node(4), 2U);
  EXPECT_EQ(nodes.local(5), 1U);
  EXPECT_EQ(nodes.node(1000), 2U);
  EXPECT_EQ(NodeOfRank().node(7), 0U);
}

// Nodes that alternate in the direction in which the ring runs through them, as NCCL pairs NICs.
DistinctRing alternating(std::uint32_t nodes) {
  DistinctRing ring;
  for (std::uint32_t node = 0; node < nodes; ++node)
    for (std::uint32_t gpu = 0; gpu < 8; ++gpu)
      ring.order.push_back(8 * node + (node % 2 == 0 ? (8 - gpu) % 8 : (gpu + 1) % 8));
  ring.channels = {0, 8};
  return ring;
}

TEST(NcclRingWords, ALongRingIsToldByNodes) {
  const std::vector<std::uint32_t> ranks(32, 8);
  EXPECT_EQ(ring_words(alternating(32), NodeOfRank(ranks), 256),
            "nodes 0-31; ranks of each: 0 7-1 on nodes 0,2 to 30 and 1-7 0 on nodes 1,3 to 31");
  const std::vector<std::uint32_t> two(2, 8);
  EXPECT_EQ(ring_words(alternating(2), NodeOfRank(two), 16), "0 7-1 9-15 8");
}

TEST(NcclRingWords, ARingThatTheLogCutsSaysSo) {
  const DistinctRing ring{{0, 7, 6, 5, 9}, {0}};
  EXPECT_EQ(ring_words(ring, NodeOfRank(std::vector<std::uint32_t>(16, 8)), 128),
            "0 7-5 9; the log names 5 of 128 ranks");
}

TEST(NcclRingWords, ARingThatEntersNodesTwiceIsCounted) {
  DistinctRing ring;
  for (std::uint32_t i = 0; i < 32; ++i)
    ring.order.push_back(i % 2 == 0 ? i / 2 : 16 + i / 2);
  EXPECT_EQ(ring_words(ring, NodeOfRank(std::vector<std::uint32_t>{16, 16}), 32),
            "32 ranks, 32 visits to 2 nodes");
}

TEST(NcclRingWords, ATreeIsAChainWithinANode) {
  DistinctTree tree{{-1, 0, 1, 2}, {0}};
  const NodeOfRank nodes(std::vector<std::uint32_t>{4});
  EXPECT_EQ(tree_lines({tree}, nodes), (std::vector<std::string>{"channel 0: 0-3"}));
  tree.up = {-1, 0, 0, 2};
  EXPECT_EQ(tree_lines({tree}, nodes), (std::vector<std::string>{"channel 0: 0 1, 0 > 2 3"}));
}

TEST(NcclRingWords, TreesOverNodesAreToldOnceForTheNodesAndOnceWithinThem) {
  DistinctTree tree;
  for (std::uint32_t node = 0; node < 4; ++node)
    for (int gpu = 0; gpu < 3; ++gpu)
      tree.up.push_back(gpu > 0 ? static_cast<int>(3 * node) + gpu - 1 : node == 0 ? -1 : 0);
  tree.channels = {0, 8};
  DistinctTree turned;  // the same nodes, from the second rank of each
  for (std::uint32_t node = 0; node < 4; ++node) {
    const int first = static_cast<int>(3 * node);
    turned.up.insert(turned.up.end(), {first + 2, node == 0 ? -1 : 1, first + 1});
  }
  turned.channels = {1, 9};
  EXPECT_EQ(tree_lines({tree, turned}, NodeOfRank(std::vector<std::uint32_t>(4, 3))),
            (std::vector<std::string>{"channels 0-1,8-9: root on node 0, nodes 0 > 1-3",
                                      "channels 0,8: 0-2; 1,9: 1 2 0, within a node"}));
}

TEST(NcclRingWords, ATreeOverManyNodesNamesRootAndDepth) {
  DistinctTree wide{{-1}, {0}};
  for (std::uint32_t node = 1; node < 64; ++node)
    wide.up.push_back(static_cast<int>((node - 1) / 2));
  EXPECT_EQ(tree_lines({wide}, NodeOfRank(std::vector<std::uint32_t>(64, 1))).front(),
            "channel 0: 64 nodes, root on node 0, 6 hops deep");
}

TEST(NcclRingWords, ATreeThatTheLogTellsInPartIsNotTold) {
  model::NcclCommunicator communicator;
  communicator.nranks = 4;
  communicator.ranks.resize(1);
  communicator.ranks[0].trees = {{0, {1, 2, -1}, 0, -1}, {1, {99, -1, -1}, 0, -7}};
  const auto trees = distinct_trees(communicator);
  ASSERT_EQ(trees.size(), 2U);
  EXPECT_EQ(trees[0].up, (std::vector<int>{-1, 0, 0, kNotInLog}));
  EXPECT_EQ(trees[1].up, (std::vector<int>{-1, kNotInLog, kNotInLog, kNotInLog}));
  EXPECT_EQ(tree_lines(trees, NodeOfRank()).front(), "channel 0: the log tells the parents of 3 of 4 ranks");
}

TEST(NcclRingWords, ATreeWithALoopOrAParentOutsideEnds) {
  const NodeOfRank nodes(std::vector<std::uint32_t>{3});
  EXPECT_EQ(tree_lines({{{1, 0, -1}, {0}}}, nodes).size(), 1U);
  EXPECT_EQ(tree_lines({{{99, -1, 1}, {0}}}, nodes).size(), 1U);
}

}  // namespace
}  // namespace angio::views
