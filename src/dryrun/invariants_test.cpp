#include "dryrun/invariants.hpp"

#include <gtest/gtest.h>

namespace angio::dryrun {
namespace {

using model::NcclConnection;
using model::NcclTransport;
using Broken = std::vector<std::string>;

// Two nodes of two ranks, as a healthy run shows them.
model::DryRun healthy() {
  model::DryRun run;
  run.nccl = "2.28.9+cuda13.0";
  run.nodes = 2;
  run.ranks_per_node = {2, 2};
  model::NcclLog log;
  model::NcclCommunicator world;
  world.nranks = 4;
  world.rings = {{0, {0, 1, 2, 3}, {}}, {1, {3, 1, 0, 2}, {}}};
  for (std::uint32_t rank = 0; rank < 4; ++rank) {
    model::NcclRank one;
    one.rank = rank;
    one.state = model::NcclRankState::kComplete;
    one.coll_channels = 2;
    one.gpu = PciAddress{0, static_cast<std::uint8_t>(rank % 2 == 0 ? 0x10 : 0x20), 0, 0};
    one.trees = {{0,
                  {static_cast<int>(rank) + 1 < 4 ? static_cast<int>(rank) + 1 : -1, -1, -1},
                  static_cast<int>(rank),
                  static_cast<int>(rank) - 1}};
    world.ranks.push_back(std::move(one));
  }
  world.choices.resize(1);
  world.choices[0].function = "AllReduce";
  world.choices[0].bytes = 8;
  world.choices[0].channel_low = 0;
  world.choices[0].channel_high = 1;
  log.communicators.push_back(std::move(world));
  run.evidence.log = std::move(log);
  return run;
}

model::NcclCommunicator& world_of(model::DryRun& run) {
  return run.evidence.log->communicators[0];
}

NcclConnection connection(NcclTransport transport, std::uint32_t from, std::uint32_t to, std::string text) {
  NcclConnection made;
  made.transport = transport;
  made.from = from;
  made.to = to;
  made.text = std::move(text);
  return made;
}

nccl::Element tree(std::string_view links) {
  const auto gpu = [&](std::string_view bus, std::string_view number, std::string_view other) {
    std::string text = "<pci busid=\"0000:" + std::string(bus) + ":00.0\" class=\"0x030200\"><gpu dev=\"" +
                       std::string(number) + "\" sm=\"90\">";
    if (!links.empty())
      text += "<nvlink target=\"0000:" + std::string(other) + ":00.0\" count=\"" + std::string(links) +
              "\" tclass=\"0x030200\"/>";
    return text + "</gpu></pci>";
  };
  nccl::Remarks remarks;
  return nccl::read_topology_xml(
             "<system version=\"1\"><cpu numaid=\"0\" arch=\"x86_64\" vendor=\"GenuineIntel\">" +
                 gpu("10", "0", "20") + gpu("20", "1", "10") + "</cpu></system>",
             remarks)
      .roots.at(0);
}

TEST(Invariants, HoldForAHealthyRun) {
  EXPECT_EQ(broken_invariants(healthy(), {}), Broken{});
  model::DryRun nothing;
  EXPECT_EQ(broken_invariants(nothing, {}), Broken{});
}

TEST(Invariants, RingsArePermutations) {
  model::DryRun run = healthy();
  world_of(run).rings[1].order = {3, 1, 1, 2};
  EXPECT_EQ(broken_invariants(run, {}),
            Broken{"The ring of channel 1 does not go through each of the 4 ranks once"});
  world_of(run).rings[1].order = {3, 1, 2};
  EXPECT_EQ(broken_invariants(run, {}).size(), 1U);
  world_of(run).rings[1].order = {3, 1, 2, 4};
  EXPECT_EQ(broken_invariants(run, {}).size(), 1U);
}

TEST(Invariants, TreesHoldAllRanksBelowOneRoot) {
  const Broken broken{"The tree of channel 0 does not hold all 4 ranks below one root"};
  model::DryRun run = healthy();
  world_of(run).ranks[3].trees[0].up = -1;  // two roots
  EXPECT_EQ(broken_invariants(run, {}), broken);
  world_of(run).ranks[3].trees[0].up = 3;  // a circle
  EXPECT_EQ(broken_invariants(run, {}), broken);
  world_of(run).ranks[3].trees[0].up = 9;  // nobody
  EXPECT_EQ(broken_invariants(run, {}), broken);
  world_of(run).ranks[3].trees.clear();  // not shown
  EXPECT_EQ(broken_invariants(run, {}), Broken{});
}

TEST(Invariants, ChannelsKeepToTheLimitOfTheRelease) {
  model::DryRun run = healthy();
  for (auto& rank : world_of(run).ranks)
    rank.coll_channels = 33;
  EXPECT_EQ(broken_invariants(run, {}), Broken{});
  run.nccl = "2.24.3+cuda12.4";
  EXPECT_EQ(broken_invariants(run, {}), Broken{"Rank 0 has 33 channels; NCCL 2.24.3 has at most 32"});
  run = healthy();
  world_of(run).rings[1].channel = 2;
  EXPECT_EQ(broken_invariants(run, {}), Broken{"A ring of channel 2 with 2 channels"});
  run = healthy();
  world_of(run).choices[0].channel_high = 64;
  EXPECT_EQ(broken_invariants(run, {}), Broken{"AllReduce of 8 bytes on channels 0 to 64"});
}

TEST(Invariants, OnlyTheNetworkCrossesNodes) {
  model::DryRun run = healthy();
  world_of(run).ranks[0].connections = {connection(NcclTransport::kP2pCumem, 0, 1, "P2P/CUMEM"),
                                        connection(NcclTransport::kNet, 1, 2, "NET/X/0"),
                                        connection(NcclTransport::kShm, 0, 9, "SHM")};
  EXPECT_EQ(broken_invariants(run, {}), Broken{});
  world_of(run).ranks[0].connections = {connection(NcclTransport::kP2pCumem, 1, 2, "P2P/CUMEM"),
                                        connection(NcclTransport::kShm, 0, 3, "SHM/direct/direct")};
  EXPECT_EQ(broken_invariants(run, {}),
            (Broken{"Rank 1 to 2 goes via P2P/CUMEM, on different nodes",
                    "Rank 0 to 3 goes via SHM/direct/direct, on different nodes"}));
}

TEST(Invariants, PeerToPeerGoesUpToItsLevelOnly) {
  model::DryRun run = healthy();
  world_of(run).ranks[0].connections = {connection(NcclTransport::kP2pCumem, 0, 1, "P2P/CUMEM")};
  const std::vector<nccl::Element> linked{tree("4")};
  const std::vector<nccl::Element> apart{tree("")};
  EXPECT_EQ(broken_invariants(run, linked), Broken{});
  EXPECT_EQ(broken_invariants(run, apart),
            Broken{"Rank 0 to 1 goes via P2P/CUMEM, though their path is PHB and P2P goes up to PXB"});
  run.settings = {{"NCCL_P2P_LEVEL", "SYS"}};
  EXPECT_EQ(broken_invariants(run, apart), Broken{});
  run.settings = {{"NCCL_P2P_LEVEL", "3"}};  // PHB
  EXPECT_EQ(broken_invariants(run, apart), Broken{});
  run.settings = {{"NCCL_P2P_DISABLE", "1"}};
  EXPECT_EQ(broken_invariants(run, linked),
            Broken{"Rank 0 to 1 goes via P2P/CUMEM, though their path is NVL and P2P goes up to LOC"});
}

TEST(Invariants, NvLinkIsNotLeftForTheNetwork) {
  model::DryRun run = healthy();
  world_of(run).ranks[0].connections = {connection(NcclTransport::kNet, 0, 1, "NET/X/0")};
  EXPECT_EQ(broken_invariants(run, std::vector{tree("4")}),
            Broken{"Rank 0 to 1 goes via NET/X/0, though they have NVLink"});
  EXPECT_EQ(broken_invariants(run, std::vector{tree("")}), Broken{});
  run.settings = {{"NCCL_P2P_DISABLE", "1"}};
  EXPECT_EQ(broken_invariants(run, std::vector{tree("4")}), Broken{});
}

TEST(Invariants, ACompleteRunHasAllRanks) {
  model::DryRun run = healthy();
  world_of(run).ranks[2].state = model::NcclRankState::kStarted;
  EXPECT_EQ(broken_invariants(run, {}),
            Broken{"Only 3 of 4 ranks say that their initialization is complete"});
  run.end = model::DryRunEnd::kCrashed;
  EXPECT_EQ(broken_invariants(run, {}), Broken{});
  run = healthy();
  run.ranks_per_node = {2, 2, 2};
  EXPECT_EQ(broken_invariants(run, {}), Broken{"No communicator of all 6 ranks in the log"});
}

TEST(Invariants, AFloodOfBreachesStaysShort) {
  model::DryRun run = healthy();
  for (std::uint32_t channel = 0; channel < 1000; ++channel)
    world_of(run).rings.push_back({0, {0}, {}});
  EXPECT_EQ(broken_invariants(run, {}).size(), 16U);
}

}  // namespace
}  // namespace angio::dryrun
