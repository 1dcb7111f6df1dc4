#include "dryrun/reasons.hpp"

#include <gtest/gtest.h>

#include "base/text.hpp"
#include "dryrun/compare_test_runs.hpp"
#include "dryrun/reasons_case.hpp"
#include "dryrun/reasons_test_answers.hpp"
#include "nccl/system_graph.hpp"

namespace angio::dryrun::test {
namespace {

// One node whose ring's channels are named, so that they can be laid over the topology.
DryRun one_node(std::uint32_t channels, double bandwidth, const std::string& type = "NVL") {
  DryRun run = healthy_run();
  run.nodes = 1;
  run.ranks_per_node = {2};
  world_in(run).nodes = 1;
  world_in(run).nranks = 2;
  world_in(run).ranks.resize(2);
  for (model::NcclRank& rank : world_in(run).ranks) {
    rank.connections.resize(1);
    rank.transports.resize(1);
  }
  model::NcclPattern& ring = world_in(run).patterns[0];
  ring.channels = channels;
  ring.bw_intra = ring.bw_inter = bandwidth;
  ring.type_intra = type;
  for (std::uint32_t channel = 0; channel < channels; ++channel)
    ring.chains.push_back(std::to_string(channel) + " : GPU/0-1b000 GPU/0-43000");
  return run;
}

TEST(Reasons, NamesTheLinkThatTheChannelsFill) {
  const auto reasons = explain(one_node(12, 30), topology());
  EXPECT_EQ(answer(reasons, "Why 12 channels of 30 GB/s in the ring?"),
            "Bound by NVLink: the busiest link, GPU 0 to NVSwitch, carries 360 of the 370.8 GB/s that NCCL "
            "counts for "
            "it; another channel of 30 does not fit. The next higher speed that NCCL tries is 40 GB/s.");
  EXPECT_EQ(evidence(reasons, "Why 12 channels of 30"),
            "node0.log:30: ring: 12 channels of 30 GB/s, paths NVL; topology: GPU/0-1b000 - NVS/0-0 370.8 "
            "GB/s (NVL)");
}

TEST(Reasons, PciIsTheBoundWithoutNvlink) {
  // Through the host bridge of an Intel CPU 40 GB/s take 48 of the PCIe link.
  const auto reasons = explain(one_node(1, 40, "PHB"), topology("90", false));
  const std::string said = answer(reasons, "Why 1 channel of 40 GB/s");
  EXPECT_TRUE(said.starts_with("Bound by PCIe: ")) << said;
  EXPECT_TRUE(contains(said, "carries 48 of the 48 GB/s")) << said;
}

TEST(Reasons, PathsThatASettingChangedAreNotOurs) {
  const std::string said = answer(explain(one_node(1, 20, "PHB"), topology()), "Why 1 channel of 20 GB/s");
  EXPECT_TRUE(said.starts_with(
      "Cannot be told from this run: NCCL took paths PHB where the topology of node 0 alone gives NVL"))
      << said;
}

// Up to 2.21.
TEST(Reasons, ChannelsMayNameRanks) {
  DryRun run = one_node(12, 30);
  run.nccl = "2.18.3";
  for (std::string& chain : world_in(run).patterns[0].chains)
    chain = "GPU/8 GPU/9";
  const std::string said = answer(explain(run, topology()), "Why 12 channels of 30");
  EXPECT_TRUE(
      said.starts_with("Bound by NVLink: the busiest link, GPU 0 to NVSwitch, carries 360 of the 360 GB/s"))
      << said;
}

TEST(Reasons, NoFullLinkIsNoReason) {
  const auto reasons = explain(one_node(2, 30), topology());
  EXPECT_TRUE(answer(reasons, "Why 2 channels of 30").starts_with("Cannot be told from this run: no link"))
      << answer(reasons, "Why 2 channels of 30");
}

TEST(Reasons, ChannelsOfAnotherTopologyAreNotLaidOverThisOne) {
  DryRun run = one_node(1, 30);
  world_in(run).patterns[0].chains = {"0 : GPU/0-99000 GPU/0-43000"};
  EXPECT_TRUE(contains(answer(explain(run, topology()), "Why 1 channel"), "does not name the GPUs"))
      << answer(explain(run, topology()), "Why 1 channel");
}

TEST(Reasons, ChannelsAreDoubledOrLimited) {
  EXPECT_EQ(answer(explain(healthy_run(), topology()), "Why 16 channels in the communicator?"),
            "The smaller of the ring's 8 and the tree's 8, doubled, as NCCL does with every graph.");
  DryRun run = healthy_run();
  for (model::NcclRank& rank : world_in(run).ranks)
    rank.coll_channels = 4;
  set(run, "NCCL_MAX_NCHANNELS", "4");
  EXPECT_EQ(answer(explain(run, topology()), "Why 4 channels in"), "NCCL_MAX_NCHANNELS says so.");
  EXPECT_EQ(evidence(explain(run, topology()), "Why 4 channels in"),
            "node0.log:58: 4 coll channels; node0.log:5: NCCL_MAX_NCHANNELS set to 4");
}

TEST(Reasons, NvlsIsOffForTheReasonThatComesFirst) {
  DryRun run = healthy_run();
  for (model::NcclRank& rank : world_in(run).ranks) {
    rank.nvls = std::nullopt;
    rank.nvls_channels = 0;
  }
  const auto why = [](const DryRun& one, const nccl::Element& root) {
    return answer(explain(one, root), "Why no NVLS?");
  };
  EXPECT_TRUE(contains(why(run, topology("80")), "compute capability 8.0"));
  EXPECT_TRUE(contains(why(run, topology("90", false)), "no NVSwitch"));
  DryRun old = run;
  old.nccl = "2.16.5";
  EXPECT_EQ(why(old, topology()), "NCCL 2.16.5 does not have it: NVLS came with 2.17.1.");
  DryRun single = run;
  single.ranks_per_node = {1, 1, 1, 1};
  EXPECT_TRUE(contains(why(single, topology()), "one rank on a node"));
  DryRun apart = run;  // as without P2P and shared memory: 2 were asked for, NCCL counts 1
  world_in(apart).local_ranks = 1;
  EXPECT_TRUE(why(apart, topology()).starts_with("NCCL counts one rank on a node"));
  DryRun off = run;
  set(off, "NCCL_NVLS_ENABLE", "0");
  EXPECT_EQ(why(off, topology()), "NCCL_NVLS_ENABLE=0 switches it off.");
  DryRun no_cumem = run;
  set(no_cumem, "NCCL_CUMEM_ENABLE", "0");
  EXPECT_TRUE(contains(why(no_cumem, topology()), "NCCL_CUMEM_ENABLE=0"));
  EXPECT_TRUE(why(run, topology()).starts_with("Cannot be told from this run")) << why(run, topology());
  for (model::NcclRank& rank : world_in(run).ranks)
    rank.nvls = false;
  EXPECT_TRUE(contains(why(run, topology()), "no multicast"));
}

TEST(Reasons, NvlsListsItsConditionsWithTheirEvidence) {
  const auto reasons = explain(healthy_run(), topology());
  EXPECT_EQ(answer(reasons, "Why NVLS?"),
            "Its conditions hold: the release has it (from 2.17.1 on), no setting switches it off, the GPUs "
            "have compute capability 9.0, there is an NVSwitch, a node has 2 ranks, the driver offers "
            "multicast. It has 16 channels. NCCL chose another algorithm for all 3 operations.");
  EXPECT_EQ(evidence(reasons, "Why NVLS?"),
            "NCCL 2.28.9+cuda13.0; settings: neither NCCL_NVLS_ENABLE nor NCCL_CUMEM_ENABLE; topology: <gpu "
            "sm=\"90\">; topology: <nvlink> with tclass 0x068000; 2 ranks on a node; node0.log:12: NVLS "
            "multicast support is available");
}

TEST(Reasons, NvlsSaysWhetherItWasChosenAndOnlyWhatIsShown) {
  const auto use = [](const DryRun& run) {
    const std::string said = answer(explain(run, topology()), "Why NVLS?");
    return said.substr(said.find("channels. ") + 10);
  };
  DryRun run = healthy_run();
  run.operations[2].algorithm = "NVLS_TREE";
  EXPECT_EQ(use(run), "NCCL chose it for 1 of 3 operations.");
  run = healthy_run();
  world_in(run).tuning.push_back({"AllReduce", "NVLSTree", "Simple", 60, 100});
  EXPECT_EQ(use(run),
            "NCCL chose another algorithm for all 3 operations. For AllReduce of 1 GiB its table has Ring "
            "Simple 204.8 GB/s, NVLSTree 100.0.");
  DryRun algorithms = run;
  set(algorithms, "NCCL_ALGO", "Ring,Tree");
  EXPECT_EQ(use(algorithms), "It was chosen for none of 3 operations: NCCL_ALGO leaves it out.");
  DryRun protocols = run;
  set(protocols, "NCCL_PROTO", "LL,LL128");
  EXPECT_EQ(use(protocols),
            "It was chosen for none of 3 operations: NCCL_PROTO leaves out Simple, its only protocol.");
  for (model::DryRunOperation& operation : run.operations)
    operation.algorithm.clear();
  DryRun old = run;
  old.nccl = "2.19.3+cuda12.3";
  EXPECT_EQ(use(old), "Whether it was chosen is not told: NCCL prints its choices from 2.20 on.");
  EXPECT_EQ(use(run), "Whether it was chosen is not told: the log names no choice.");
  for (model::DryRunOperation& operation : run.operations)
    operation.collective = "AllToAll";
  EXPECT_EQ(use(run), "The operations tried are sends and receives, which have no algorithm.");
  run.operations.clear();
  EXPECT_EQ(use(run), "No operation was tried.");
}

DryRun with_shm(DryRun run) {
  for (model::NcclRank& rank : world_in(run).ranks)
    rank.connections[0] = shm(rank.connections[0].from, rank.connections[0].to);
  return run;
}

TEST(Reasons, APairThroughHostMemoryHasItsReason) {
  const std::string question = "Why do 4 pairs go through host memory (SHM)?";
  EXPECT_TRUE(contains(answer(explain(with_shm(healthy_run()), topology("90", false)), question),
                       "path class is PHB, beyond PXB (NCCL's own limit)"));
  DryRun off = with_shm(healthy_run());
  set(off, "NCCL_P2P_DISABLE", "1");
  EXPECT_EQ(answer(explain(off, topology()), question),
            "NCCL_P2P_DISABLE switches the direct way off, NVLink included.");
  DryRun level = with_shm(healthy_run());
  set(level, "NCCL_P2P_LEVEL", "LOC");
  EXPECT_TRUE(contains(answer(explain(level, topology()), question), "beyond LOC (NCCL_P2P_LEVEL=LOC)"));
  EXPECT_TRUE(answer(explain(with_shm(healthy_run()), topology()), question).starts_with("Cannot be told"))
      << answer(explain(with_shm(healthy_run()), topology()), question);
  EXPECT_EQ(answer(explain(healthy_run(), topology()), "Why do"), "");
}

TEST(Reasons, NodesThatDifferShareTheLeast) {
  DryRun run = healthy_run();
  world_in(run).patterns.push_back({4, 0, 6, 48, 20, "NVL", "PXN", true, {}, line(35), 2});
  run.notes = {"made up", "node 1 is without mlx5_1"};
  const auto reasons = explain(run, topology());
  EXPECT_TRUE(answer(reasons, "Why 6 channels of 40 GB/s, 20 between nodes, in the ring?")
                  .starts_with("The nodes differ: their ranks found 2 rings, and NCCL takes the least"));
  EXPECT_EQ(evidence(reasons, "Why 6 channels of"),
            "node0.log:30: ring: 8 channels of 40 GB/s, between nodes 40 GB/s, paths NVL/PIX; node0.log:35: "
            "ring: 6 channels of 48 GB/s, between nodes 20 GB/s, paths NVL/PXN; node 1 is without mlx5_1");
}

TEST(Reasons, WithoutSettingsNoSettingChangedAPath) {
  DryRun run = one_node(1, 20, "PHB");
  EXPECT_TRUE(contains(answer(explain(run, topology()), "Why 1 channel of 20"), "this run has no settings"));
  set(run, "NCCL_P2P_DISABLE", "1");
  EXPECT_TRUE(contains(answer(explain(run, topology()), "Why 1 channel of 20"), "a setting or the driver"));
}

TEST(Reasons, AGraphWithoutAPathIsTheCause) {
  DryRun run = healthy_run();
  world_in(run).patterns[1] = {1, 0, 1, 0.1, 0.1, "SYS", "SYS", true, {}, line(41), 4};
  for (model::NcclRank& rank : world_in(run).ranks)
    rank.coll_channels = 2;
  const std::string question = "Why 2 channels in the communicator?";
  EXPECT_EQ(
      answer(explain(run, topology()), question),
      "The smaller of the ring's 8 and the tree's 1, doubled, as NCCL does with every graph. The tree has "
      "1 channel because NCCL found no path for it and took the ranks in order.");
  EXPECT_TRUE(contains(evidence(explain(run, topology()), question), "node0.log:41: Pattern 1: 1 channel"));
  log_of(run).files.emplace_back().unknown = {
      {"Could not find a path for pattern 1, falling back to simple order", line(39)}};
  EXPECT_TRUE(contains(evidence(explain(run, topology()), question),
                       "node0.log:39: Could not find a path for pattern 1, falling back"));
}

TEST(Reasons, ACpuOfNoNumaNodeHasNoNumber) {
  nccl::SystemNode cpu;
  cpu.kind = nccl::NodeKind::kCpu;
  cpu.id = 1;
  EXPECT_EQ(in_words(cpu), "CPU 1");
  cpu.id = 0xffffffffffffff;
  EXPECT_EQ(in_words(cpu), "a CPU of no NUMA node");
}

TEST(Reasons, NothingOfNothing) {
  EXPECT_TRUE(explain(DryRun{}, nccl::Element{}).empty());
  EXPECT_TRUE(explain(DryRun{}, topology()).empty());
  DryRun run = healthy_run();
  for (const Reason& reason : explain(run, nccl::Element{}))
    EXPECT_FALSE(reason.answer.empty()) << reason.question;
}

}  // namespace
}  // namespace angio::dryrun::test
