#include "dryrun/against.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "base/text.hpp"
#include "dryrun/against_rules.hpp"
#include "dryrun/compare_test_runs.hpp"
#include "knowledge/knowledge.hpp"

namespace angio::dryrun::test {
namespace {

using model::Diagnosis;
using model::Finding;
using model::NcclEvidence;

// A job whose log shows what the healthy run's does.
NcclEvidence job() {
  NcclEvidence evidence;
  evidence.log = healthy_log();
  return evidence;
}
model::NcclCommunicator& world_in(NcclEvidence& evidence) {
  return evidence.log->communicators.front();
}

Diagnosis judge(const NcclEvidence& evidence) {
  return judge_against(healthy_run(), evidence);
}
const Finding* find(const Diagnosis& diagnosis, std::string_view rule) {
  const auto found = std::ranges::find(diagnosis.findings, rule, &Finding::rule);
  return found == diagnosis.findings.end() ? nullptr : &*found;
}
std::string gap(const Diagnosis& diagnosis, std::string_view rule) {
  const auto found = std::ranges::find(diagnosis.undecided, rule, &model::Undecided::rule);
  return found == diagnosis.undecided.end() ? std::string() : found->missing;
}
std::string list(const Diagnosis& diagnosis) {
  std::string text;
  for (const Finding& finding : diagnosis.findings)
    text += finding.rule + ": " + finding.title + "\n";
  return text;
}
// No finding, and the rule did look.
bool held(const Diagnosis& diagnosis, std::string_view rule) {
  return std::ranges::find(diagnosis.held, rule) != diagnosis.held.end();
}
bool holds_evidence(const Finding& finding, std::string_view text) {
  return std::ranges::any_of(finding.evidence, [&](const auto& one) { return contains(one.text, text); });
}

void job_sets(NcclEvidence& evidence, const std::string& name, const std::string& value) {
  model::NcclSetting setting;
  setting.name = name;
  setting.value = value;
  setting.source = line(4);
  setting.processes = {0, 1, 2, 3};
  evidence.log->settings.push_back(std::move(setting));
}

TEST(Against, EachRuleHasWordsAndEachWordsARule) {
  std::set<std::string_view> in_code;
  for (const AgainstRule& rule : against_rules()) {
    EXPECT_TRUE(in_code.insert(rule.id).second) << rule.id << " twice";
    EXPECT_NE(knowledge::find_rule(rule.id), nullptr) << rule.id << " has no entry in data/rules";
  }
  for (const knowledge::RuleText& text : knowledge::rules())
    EXPECT_TRUE(!text.id.starts_with("dryrun.") || in_code.contains(text.id)) << text.id << " has no check";
}

TEST(Against, EqualLogsGiveNothing) {
  DryRun run = healthy_run();
  run.operations.clear();
  const Diagnosis diagnosis = judge_against(run, job());
  EXPECT_EQ(list(diagnosis), "");
  EXPECT_TRUE(diagnosis.undecided.empty()) << diagnosis.undecided.front().missing;
  EXPECT_EQ(diagnosis.held.size() + diagnosis.not_applicable.size(), against_rules().size());
}

TEST(Against, AJobWithoutALogIsUndecided) {
  const Diagnosis diagnosis = judge(NcclEvidence{});
  EXPECT_EQ(list(diagnosis), "");
  ASSERT_EQ(diagnosis.undecided.size(), 1U);
  EXPECT_TRUE(contains(diagnosis.undecided[0].missing, "no lines of NCCL's debug log"));
}

TEST(Against, AnotherShapeIsUndecided) {
  NcclEvidence other = job();
  world_in(other).nranks = 8;
  EXPECT_EQ(gap(judge(other), "dryrun"), "the job's largest communicator has 8 ranks, the dry run 4");
  NcclEvidence nodes = job();
  for (std::uint32_t process = 0; process < 4; ++process)
    nodes.log->processes[process].host = "node-" + std::to_string(process);
  EXPECT_EQ(gap(judge(nodes), "dryrun"), "the job's 4 ranks are on 4 nodes, the dry run's on 2 nodes");
  EXPECT_EQ(list(judge(nodes)), "");
  DryRun failed = healthy_run();
  failed.evidence.log = NcclLog{};
  EXPECT_EQ(gap(judge_against(failed, job()), "dryrun"), "the dry run itself made no communicator");
}

TEST(Against, AnotherReleaseMakesFindingsUndecided) {
  NcclEvidence other = job();
  other.log->systems[0].nodes[2].bandwidth = 350.2;
  other.log->versions[0].version = "2.27.7";
  const Diagnosis diagnosis = judge(other);
  EXPECT_EQ(list(diagnosis), "");
  EXPECT_TRUE(
      contains(gap(diagnosis, "dryrun.nvlink.missing"), "but the job ran NCCL 2.27.7, the dry run 2.28.9"));
  other.log->versions.clear();
  EXPECT_TRUE(contains(gap(judge(other), "dryrun.nvlink.missing"), "does not name its NCCL"));
}

// A log with NCCL_DEBUG=INFO alone has no graphs, no topology and no tuning.
TEST(Against, ALogOfLessDetailAccusesNobody) {
  NcclEvidence plain = job();
  plain.log->systems.clear();
  model::NcclCommunicator& world = world_in(plain);
  world.patterns.clear();
  world.tuning.clear();
  world.rings.clear();
  for (model::NcclRank& rank : world.ranks) {
    rank.connections.clear();
    rank.transports.clear();
    rank.connected_rings = false;
    rank.nvls = std::nullopt;
    rank.nvls_channels = rank.coll_channels = std::nullopt;
  }
  for (model::NcclProcess& process : plain.log->processes)
    process.network.clear();
  const Diagnosis diagnosis = judge(plain);
  EXPECT_EQ(list(diagnosis), "");
  EXPECT_EQ(diagnosis.undecided.size(), against_rules().size());
}

// ---- NVLink

TEST(DryrunNvlinkMissing, FiresForOneLinkLess) {
  NcclEvidence evidence = job();
  evidence.log->systems[0].nodes[2].bandwidth = 350.2;
  const Diagnosis diagnosis = judge(evidence);
  const Finding* finding = find(diagnosis, "dryrun.nvlink.missing");
  ASSERT_NE(finding, nullptr) << list(diagnosis);
  EXPECT_EQ(finding->title, "GPU/0-1b000 on node-a has less NVLink than healthy hardware");
  EXPECT_EQ(finding->severity, model::Severity::kCritical);
  EXPECT_EQ(finding->node, "node-a");
  EXPECT_TRUE(holds_evidence(*finding, "NVLink of 350.2 GB/s, 370.8 GB/s in the dry run"));
  EXPECT_EQ(finding->evidence[0].source, "node0.log:20");
  ASSERT_EQ(finding->fixes.size(), 1U);
  EXPECT_EQ(finding->disprove, "nvidia-smi nvlink -s on node-a: every link of the GPU is active");
}
TEST(DryrunNvlinkMissing, SilentWhenAllAreThere) {
  EXPECT_TRUE(held(judge(job()), "dryrun.nvlink.missing"));
}
TEST(DryrunNvlinkMissing, UndecidedWithoutTopologyOrWithOtherGpus) {
  NcclEvidence evidence = job();
  evidence.log->systems[0].nodes.resize(3);
  EXPECT_EQ(gap(judge(evidence), "dryrun.nvlink.missing"),
            "NVLink of node-a: NCCL saw 1 GPU there, 2 in the dry run");
  evidence.log->systems.clear();
  EXPECT_FALSE(gap(judge(evidence), "dryrun.nvlink.missing").empty());
}

// ---- graphs

TEST(DryrunGraphWeaker, FiresForLessBandwidth) {
  NcclEvidence evidence = job();
  world_in(evidence).patterns[0].bw_intra = world_in(evidence).patterns[0].bw_inter = 20;
  const Diagnosis diagnosis = judge(evidence);
  const Finding* finding = find(diagnosis, "dryrun.graph.weaker");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->title, "The ring graph has 50 % less bandwidth than on healthy hardware");
  EXPECT_TRUE(holds_evidence(*finding, "ring: 8 channels of 20 GB/s, between nodes 20 GB/s, paths NVL/PIX"));
  EXPECT_EQ(finding->cost.text, "160 of 320 GB/s, all channels of the ring graph within a node");
}
TEST(DryrunGraphWeaker, SilentForMoreChannelsOfLess) {
  NcclEvidence evidence = job();
  world_in(evidence).patterns[0].channels = 16;
  world_in(evidence).patterns[0].bw_intra = world_in(evidence).patterns[0].bw_inter = 20;
  EXPECT_TRUE(held(judge(evidence), "dryrun.graph.weaker"));
}
TEST(DryrunGraphWeaker, UndecidedWithoutPatternLines) {
  NcclEvidence evidence = job();
  world_in(evidence).patterns.clear();
  EXPECT_EQ(gap(judge(evidence), "dryrun.graph.weaker"),
            "the job's rings and trees: its log has no Pattern lines");
}

// ---- channels

TEST(DryrunChannelsFewer, FiresAndNamesTheSettingThatLimits) {
  NcclEvidence evidence = job();
  for (model::NcclRank& rank : world_in(evidence).ranks)
    rank.coll_channels = 4;
  const Diagnosis bare = judge(evidence);
  const Finding* finding = find(bare, "dryrun.channels.fewer");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->title, "The communicator has 4 channels, on healthy hardware 16");
  EXPECT_EQ(finding->severity, model::Severity::kWarning);
  job_sets(evidence, "NCCL_MAX_NCHANNELS", "4");
  const Diagnosis set = judge(evidence);
  finding = find(set, "dryrun.channels.fewer");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->severity, model::Severity::kInfo);
  EXPECT_TRUE(finding->title.ends_with("; NCCL_MAX_NCHANNELS of the job can do this")) << finding->title;
  EXPECT_TRUE(holds_evidence(*finding, "the job sets NCCL_MAX_NCHANNELS=4, the dry run does not"));
}
TEST(DryrunChannelsFewer, SilentWhereTheGraphIsTheCause) {
  NcclEvidence evidence = job();
  for (model::NcclRank& rank : world_in(evidence).ranks)
    rank.coll_channels = 8;
  world_in(evidence).patterns[0].channels = world_in(evidence).patterns[1].channels = 4;
  EXPECT_TRUE(held(judge(evidence), "dryrun.channels.fewer"));
  EXPECT_NE(find(judge(evidence), "dryrun.graph.weaker"), nullptr);
}
TEST(DryrunChannelsFewer, UndecidedWithoutTheLine) {
  NcclEvidence evidence = job();
  for (model::NcclRank& rank : world_in(evidence).ranks)
    rank.coll_channels = std::nullopt;
  EXPECT_FALSE(gap(judge(evidence), "dryrun.channels.fewer").empty());
}

// ---- host memory

TEST(DryrunTransportShm, FiresForPairsThatWereDirect) {
  NcclEvidence evidence = job();
  for (std::uint32_t rank : {0U, 1U})
    world_in(evidence).ranks[rank].connections[0] = shm(rank, rank ^ 1U);
  const Diagnosis diagnosis = judge(evidence);
  const Finding* finding = find(diagnosis, "dryrun.transport.shm");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->title, "2 pairs of GPUs go through host memory that healthy hardware connects directly");
  EXPECT_TRUE(holds_evidence(*finding, "rank 0 to rank 1: P2P, path class NVL"));
  EXPECT_DOUBLE_EQ(finding->rank, 0.5);
}
TEST(DryrunTransportShm, SilentForPairsThatHealthyHardwareJoinsSo) {
  DryRun run = healthy_run();
  NcclEvidence evidence = job();
  for (std::uint32_t rank : {0U, 1U}) {
    test::world_in(run).ranks[rank].connections[0] = shm(rank, rank ^ 1U);
    world_in(evidence).ranks[rank].connections[0] = shm(rank, rank ^ 1U);
  }
  EXPECT_TRUE(held(judge_against(run, evidence), "dryrun.transport.shm"));
}
// A setting that the job has and the dry run has not is named, and is no fault.
TEST(DryrunTransportShm, SilentAboutFaultsWhenTheJobSaysSo) {
  NcclEvidence evidence = job();
  world_in(evidence).ranks[0].connections[0] = shm(0, 1);
  job_sets(evidence, "NCCL_P2P_DISABLE", "1");
  const Diagnosis diagnosis = judge(evidence);
  EXPECT_EQ(find(diagnosis, "dryrun.transport.shm")->severity, model::Severity::kInfo);
  EXPECT_TRUE(contains(find(diagnosis, "dryrun.transport.shm")->fixes.at(0).text, "NCCL_P2P_DISABLE"));
  evidence.log->settings[0].value = "0";
  EXPECT_EQ(find(judge(evidence), "dryrun.transport.shm")->severity, model::Severity::kCritical);
}
TEST(DryrunTransportShm, UndecidedWithoutConnections) {
  NcclEvidence evidence = job();
  for (model::NcclRank& rank : world_in(evidence).ranks)
    rank.connections.clear();
  EXPECT_FALSE(gap(judge(evidence), "dryrun.transport.shm").empty());
}

// ---- network

NcclEvidence over_sockets() {
  NcclEvidence evidence = job();
  for (model::NcclProcess& process : evidence.log->processes)
    process.network = "Socket";
  for (model::NcclRank& rank : world_in(evidence).ranks)
    for (model::NcclConnection& connection : rank.connections)
      if (connection.net_device) connection = net(connection.from, connection.to, 0, false, "Socket");
  return evidence;
}
TEST(DryrunNetworkSocket, FiresOnceForTheFallback) {
  const Diagnosis diagnosis = judge(over_sockets());
  const Finding* finding = find(diagnosis, "dryrun.network.socket");
  ASSERT_NE(finding, nullptr) << list(diagnosis);
  EXPECT_EQ(finding->severity, model::Severity::kCritical);
  EXPECT_TRUE(holds_evidence(*finding, "2 adapters carry connections"));
  EXPECT_EQ(find(diagnosis, "dryrun.gdr.off"), nullptr);
  EXPECT_EQ(find(diagnosis, "dryrun.nic.idle"), nullptr);
}
TEST(DryrunNetworkSocket, SilentWhenTheDryRunUsesSocketsToo) {
  DryRun run = healthy_run();
  run.evidence = over_sockets();
  EXPECT_EQ(list(judge_against(run, over_sockets())), "");
}
TEST(DryrunNetworkSocket, UndecidedWhenNoLineNamesTheNetwork) {
  NcclEvidence evidence = job();
  for (model::NcclProcess& process : evidence.log->processes)
    process.network.clear();
  for (model::NcclRank& rank : world_in(evidence).ranks)
    rank.connections.clear();
  EXPECT_FALSE(gap(judge(evidence), "dryrun.network.socket").empty());
}

TEST(DryrunGdrOff, FiresForPairsWithout) {
  NcclEvidence evidence = job();
  for (model::NcclConnection& connection : world_in(evidence).ranks[0].connections)
    connection.gdr = false;
  for (model::NcclConnection& connection : world_in(evidence).ranks[2].connections)
    connection.gdr = false;
  const Diagnosis diagnosis = judge(evidence);
  const Finding* finding = find(diagnosis, "dryrun.gdr.off");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->title, "2 of 4 pairs between nodes have no GPUDirect RDMA");
  job_sets(evidence, "NCCL_NET_GDR_LEVEL", "SYS");
  EXPECT_EQ(find(judge(evidence), "dryrun.gdr.off")->severity, model::Severity::kWarning);
  evidence.log->settings[0].value = "LOC";
  EXPECT_EQ(find(judge(evidence), "dryrun.gdr.off")->severity, model::Severity::kInfo);
}
TEST(DryrunGdrOff, SilentWhenAllHaveIt) {
  EXPECT_TRUE(held(judge(job()), "dryrun.gdr.off"));
}
TEST(DryrunGdrOff, UndecidedWithoutConnections) {
  NcclEvidence evidence = job();
  for (model::NcclRank& rank : world_in(evidence).ranks)
    rank.connections.resize(1);
  EXPECT_FALSE(gap(judge(evidence), "dryrun.gdr.off").empty());
}

NcclEvidence one_adapter_less() {
  NcclEvidence evidence = job();
  for (std::uint32_t rank : {2U, 3U})
    for (model::NcclConnection& way : world_in(evidence).ranks[rank].connections)
      if (way.net_device) way.net_device = 0;
  return evidence;
}
TEST(DryrunNicIdle, FiresForTheNodeThatUsesFewer) {
  const Diagnosis diagnosis = judge(one_adapter_less());
  const Finding* finding = find(diagnosis, "dryrun.nic.idle");
  ASSERT_NE(finding, nullptr) << list(diagnosis);
  EXPECT_EQ(finding->title, "node-b uses 1 of 2 adapters that healthy hardware would use");
  EXPECT_EQ(finding->node, "node-b");
  EXPECT_TRUE(holds_evidence(*finding, "connections of the job over mlx5_0"));
}
TEST(DryrunNicIdle, SilentWhenAllAreUsed) {
  EXPECT_TRUE(held(judge(job()), "dryrun.nic.idle"));
}
TEST(DryrunNicIdle, UndecidedBeforeTheRingsAreConnected) {
  NcclEvidence evidence = one_adapter_less();
  world_in(evidence).ranks[3].connected_rings = false;
  EXPECT_TRUE(contains(gap(judge(evidence), "dryrun.nic.idle"), "not every rank's log"));
}
// Ranks of one host name are told apart by who talks without a network.
TEST(DryrunNicIdle, FiresWhenNodesAreToldByTheirPairs) {
  NcclEvidence evidence = one_adapter_less();
  for (model::NcclProcess& process : evidence.log->processes)
    process.host = "vm";
  const Diagnosis diagnosis = judge(evidence);
  ASSERT_NE(find(diagnosis, "dryrun.nic.idle"), nullptr);
  for (model::NcclRank& rank : world_in(evidence).ranks)
    rank.connections.erase(rank.connections.begin());
  EXPECT_TRUE(contains(gap(judge(evidence), "dryrun.nic.idle"), "which ranks share a node"));
}

TEST(DryrunNicIdle, FiresForAnAdapterThatIsNotThere) {
  NcclEvidence evidence = job();
  evidence.log->networks[1].devices.pop_back();
  for (model::NcclRank& rank : world_in(evidence).ranks)
    rank.connected_rings = false;
  const Diagnosis diagnosis = judge(evidence);
  const Finding* finding = find(diagnosis, "dryrun.nic.idle");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->title, "NCCL on node-b was offered 1 of 2 adapters that healthy hardware has");
  EXPECT_EQ(finding->devices, std::vector<std::string>{"mlx5_1"});
  job_sets(evidence, "NCCL_IB_HCA", "=mlx5_0");
  EXPECT_EQ(find(judge(evidence), "dryrun.nic.idle")->severity, model::Severity::kInfo);
}

// The phantom network prints no list: the adapters in use are the measure, and the node that has too few is
// named before those that use fewer because of it.
TEST(DryrunNicIdle, NamesTheNodeThatLacksAdaptersWhereTheDryRunListsNone) {
  DryRun run = healthy_run();
  run.evidence.log->networks.clear();
  NcclEvidence evidence = job();
  evidence.log->networks[1].devices.pop_back();
  for (model::NcclRank& rank : world_in(evidence).ranks)
    for (model::NcclConnection& way : rank.connections)
      if (way.net_device) way.net_device = 0;
  const Diagnosis diagnosis = judge_against(run, evidence);
  const Finding* finding = find(diagnosis, "dryrun.nic.idle");
  ASSERT_NE(finding, nullptr) << list(diagnosis);
  EXPECT_EQ(finding->title, "NCCL on node-b was offered 1 of 2 adapters that healthy hardware uses");
  EXPECT_EQ(finding->node, "node-b");
  EXPECT_EQ(finding->devices, std::vector<std::string>{"mlx5_1"});
  EXPECT_TRUE(holds_evidence(*finding, "every node's connections use 2 adapters"));
  world_in(evidence).patterns[0].bw_intra = world_in(evidence).patterns[0].bw_inter = 20;
  EXPECT_EQ(judge_against(run, evidence).findings.at(0).rule, "dryrun.nic.idle");
  evidence.log->networks[0].devices.pop_back();
  EXPECT_TRUE(find(judge_against(run, evidence), "dryrun.nic.idle")
                  ->title.ends_with("; 1 other node too few as well"));
}

// NCCL counts more nodes than there are machines when ranks reach each other by the network only.
TEST(Against, MachinesAreCountedByHostAndGpu) {
  NcclEvidence evidence = job();
  const auto two = shape_of(*evidence.log);
  ASSERT_TRUE(two);
  EXPECT_EQ(two->nodes, 2U);
  EXPECT_EQ(two->ranks, 2U);
  world_in(evidence).nodes = 4;
  EXPECT_EQ(gap(judge(evidence), "dryrun"), "");
  for (model::NcclProcess& process : evidence.log->processes)
    process.host = "vm";
  EXPECT_EQ(shape_of(*evidence.log)->nodes, 2U);
  world_in(evidence).ranks.pop_back();
  EXPECT_FALSE(shape_of(*evidence.log));
}

// ---- NVLS

TEST(DryrunNvlsAbsent, FiresWhenTheDriverRefuses) {
  NcclEvidence evidence = job();
  for (model::NcclRank& rank : world_in(evidence).ranks) {
    rank.nvls = false;
    rank.nvls_channels = 0;
  }
  const Diagnosis diagnosis = judge(evidence);
  const Finding* finding = find(diagnosis, "dryrun.nvls.absent");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->title, "NVLS is off in the job; healthy hardware gives it 16 channels");
  job_sets(evidence, "NCCL_NVLS_ENABLE", "0");
  EXPECT_EQ(find(judge(evidence), "dryrun.nvls.absent")->severity, model::Severity::kInfo);
}
TEST(DryrunNvlsAbsent, SilentWhereTheDryRunHasNone) {
  DryRun run = healthy_run();
  for (model::NcclRank& rank : test::world_in(run).ranks)
    rank.nvls_channels = 0;
  EXPECT_EQ(find(judge_against(run, job()), "dryrun.nvls.absent"), nullptr);
}
TEST(DryrunNvlsAbsent, UndecidedWhenTheLogSaysNothing) {
  NcclEvidence evidence = job();
  for (model::NcclRank& rank : world_in(evidence).ranks) {
    rank.nvls = std::nullopt;
    rank.nvls_channels = std::nullopt;
  }
  EXPECT_FALSE(gap(judge(evidence), "dryrun.nvls.absent").empty());
}

// ---- rings

TEST(DryrunRingCrossings, FiresForMoreCrossings) {
  NcclEvidence evidence = job();
  for (model::NcclRing& ring : world_in(evidence).rings)
    ring.order = {0, 2, 1, 3};
  const Diagnosis diagnosis = judge(evidence);
  const Finding* finding = find(diagnosis, "dryrun.ring.crossings");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->title, "A ring crosses between nodes 4 times, on healthy hardware 2");
  EXPECT_DOUBLE_EQ(finding->rank, 0.5);
}
TEST(DryrunRingCrossings, SilentForAnotherOrderWithinTheNode) {
  NcclEvidence evidence = job();
  world_in(evidence).rings[0].order = {1, 0, 3, 2};
  EXPECT_TRUE(held(judge(evidence), "dryrun.ring.crossings"));
}
TEST(DryrunRingCrossings, UndecidedWithoutRings) {
  NcclEvidence evidence = job();
  world_in(evidence).rings.clear();
  EXPECT_FALSE(gap(judge(evidence), "dryrun.ring.crossings").empty());
}

// ---- choices

model::NcclChoice choice(std::uint64_t bytes, std::string algorithm, std::string protocol) {
  model::NcclChoice one;
  one.function = "AllReduce";
  one.bytes = bytes;
  one.algorithm = std::move(algorithm);
  one.protocol = std::move(protocol);
  one.source = line(90);
  return one;
}
TEST(DryrunChoiceOther, FiresAsARemark) {
  NcclEvidence evidence = job();
  world_in(evidence).choices = {choice(1024, "RING", "LL"), choice(1ULL << 30U, "RING", "SIMPLE")};
  const Diagnosis diagnosis = judge(evidence);
  const Finding* finding = find(diagnosis, "dryrun.choice.other");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->title, "AllReduce of 1 KiB: RING LL, on healthy hardware TREE LL");
  EXPECT_EQ(finding->severity, model::Severity::kInfo);
  EXPECT_DOUBLE_EQ(finding->rank, 0.5);
}
TEST(DryrunChoiceOther, SilentWhenOneOfSeveralAgrees) {
  NcclEvidence evidence = job();
  world_in(evidence).choices = {choice(1024, "RING", "LL"), choice(1024, "Tree", "LL")};
  EXPECT_TRUE(held(judge(evidence), "dryrun.choice.other"));
}
TEST(DryrunChoiceOther, UndecidedWithoutACommonSize) {
  NcclEvidence evidence = job();
  EXPECT_TRUE(contains(gap(judge(evidence), "dryrun.choice.other"), "names no collective"));
  world_in(evidence).choices = {choice(77, "RING", "LL")};
  EXPECT_TRUE(contains(gap(judge(evidence), "dryrun.choice.other"), "no size of the job"));
}

}  // namespace
}  // namespace angio::dryrun::test
