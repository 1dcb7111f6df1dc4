// The ways that NCCL took. Each test breaks a healthy job in one thing.
#include <gtest/gtest.h>

#include "base/text.hpp"
#include "diagnose/rules/nccl_test_logs.hpp"

namespace angio::diagnose {
namespace {

using namespace angio::test;  // NOLINT(google-build-using-namespace)
using model::NcclTransport;

NcclLog on_sockets() {
  NcclLog log = healthy_log();
  for (model::NcclProcess& process : log.processes)
    process.network = "Socket";
  for (model::NcclRank& rank : log.communicators[0].ranks)
    rank.transports[1] = way(NcclTransport::kNet, 61, "Socket", false, 0);
  for (model::NcclNetwork& network : log.networks) {
    network.devices.clear();
    network.none_found = true;
  }
  return log;
}

model::Finding only_one(const Machine& machine, const std::string& rule) {
  const auto found = findings_of(machine, rule);
  EXPECT_EQ(found.size(), 1U) << rule;
  return found.empty() ? model::Finding{} : found[0];
}

TEST(NcclNetworkSocket, FiresAndNamesTheVariableAndWhoSetIt) {
  NcclLog log = on_sockets();
  log.settings.push_back(setting("NCCL_IB_DISABLE", "1"));
  const auto finding = only_one(with_log(log), "nccl.network.socket");
  EXPECT_EQ(finding.severity, model::Severity::kCritical);
  EXPECT_EQ(finding.title, "NCCL_IB_DISABLE=1 switches RDMA off: nodes talk over TCP sockets");
  EXPECT_EQ(finding.evidence[0].text, "NCCL_IB_DISABLE=1, from the environment, 4 processes");
  EXPECT_EQ(finding.fixes[0].command, "unset NCCL_IB_DISABLE");
}
TEST(NcclNetworkSocket, FiresOnForcedSocketsMissingLibraryAndFilter) {
  NcclLog forced = on_sockets();
  forced.settings.push_back(setting("NCCL_NET", "Socket"));
  EXPECT_TRUE(contains(only_one(with_log(forced), "nccl.network.socket").title, "NCCL_NET=Socket"));
  NcclLog library = on_sockets();
  add_event(library, NcclEventKind::kOtherWarning, "Failed to open libibverbs.so[.1]").is_warning = false;
  EXPECT_TRUE(contains(only_one(with_log(library), "nccl.network.socket").title, "library is missing"));
  NcclLog filter = on_sockets();
  filter.settings.push_back(setting("NCCL_IB_HCA", "=mlx5_9"));
  EXPECT_TRUE(
      contains(only_one(with_log(filter), "nccl.network.socket").title, "=mlx5_9 matches no usable adapter"));
}
TEST(NcclNetworkSocket, FiresAsAWarningWhereNothingShowsAnAdapter) {
  EXPECT_EQ(only_one(with_log(on_sockets()), "nccl.network.socket").severity, model::Severity::kWarning);
}
TEST(NcclNetworkSocket, FiresOnAContainerWithoutTheNodesDevices) {
  const auto finding = only_one(with_log(on_sockets(), dgx_h100()), "nccl.network.socket");
  EXPECT_EQ(finding.severity, model::Severity::kCritical);
  EXPECT_TRUE(contains(finding.title, "not in its container"));
  EXPECT_EQ(finding.fixes.size(), 1U);
}
TEST(NcclNetworkSocket, FiresOnAFilterOfPortsThatAreDown) {
  NcclLog log = on_sockets();
  log.settings.push_back(setting("NCCL_IB_HCA", "=mlx5_6"));
  Machine machine = dgx_h100();
  set(machine.rdma[6].ports[0].state, std::string("DOWN"));
  auto finding = only_one(with_log(log, machine), "nccl.network.socket");
  EXPECT_EQ(finding.title,
            "NCCL_IB_HCA==mlx5_6 takes only ports that are not active: TCP sockets between nodes");
  // the filter takes an active port: then it is not to blame
  finding = only_one(with_log(log, dgx_h100()), "nccl.network.socket");
  EXPECT_TRUE(contains(finding.title, "not in its container"));
  EXPECT_TRUE(contains(finding.evidence.back().text, "NCCL_IB_HCA takes active ports of the node"));
}
TEST(NcclNetworkSocket, FiresOnTheHostWithoutAdaptersBesideOneThatHasSome) {
  NcclLog log = healthy_log();
  log.networks[1].devices.clear();
  log.networks[1].none_found = true;
  for (std::size_t rank = 2; rank < 4; ++rank) {
    log.processes[rank].network = "Socket";
    log.communicators[0].ranks[rank].transports[1] = way(NcclTransport::kNet, 61, "Socket", false, 0);
  }
  const auto finding = only_one(with_log(log), "nccl.network.socket");
  EXPECT_EQ(finding.severity, model::Severity::kCritical);
  EXPECT_EQ(finding.title, "NCCL sees no RDMA adapter on node-b, but 2 on node-a: TCP sockets there");
  EXPECT_EQ(finding.evidence[0].text, "NET/IB: no device found on node-b");
  EXPECT_TRUE(contains(finding.fixes[0].text, "Compare that node"));
}
TEST(NcclNetworkSocket, SilentOnOneNodeWhereNoNetworkIsUsed) {
  NcclLog log = on_sockets();
  for (model::NcclProcess& process : log.processes)
    process.host = "node-a";
  log.communicators[0].nodes = 1;
  for (model::NcclRank& rank : log.communicators[0].ranks)
    rank.transports.pop_back();
  EXPECT_TRUE(held(with_log(log), "nccl.network.socket"));
}
TEST(NcclNetworkSocket, UndecidedWhenNoLineNamesTheNetwork) {
  NcclLog log = healthy_log();
  for (model::NcclProcess& process : log.processes)
    process.network.clear();
  for (model::NcclRank& rank : log.communicators[0].ranks)
    rank.transports.clear();
  const auto gaps = undecided_of(with_log(log), "nccl.network.socket");
  ASSERT_EQ(gaps.size(), 1U);
  EXPECT_EQ(gaps[0].collect, "NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,NET,ENV");
}

TEST(NcclBootstrapInterface, FiresOnAFilterThatMatchesNothing) {
  NcclLog log = healthy_log();
  add_event(log, NcclEventKind::kNoInterface, "Bootstrap : no socket interface found");
  log.settings.push_back(setting("NCCL_SOCKET_IFNAME", "eno9"));
  const auto finding = only_one(with_log(log), "nccl.bootstrap.interface");
  EXPECT_EQ(finding.severity, model::Severity::kCritical);
  EXPECT_EQ(finding.title,
            "NCCL_SOCKET_IFNAME=eno9 names no interface that this node has: NCCL cannot start");
}
TEST(NcclBootstrapInterface, FiresOnDocker0BetweenNodes) {
  NcclLog log = healthy_log();
  log.processes[2].bootstrap_interface = "docker0";
  EXPECT_EQ(only_one(with_log(log), "nccl.bootstrap.interface").severity, model::Severity::kWarning);
}
TEST(NcclBootstrapInterface, FiresBeforeTheFailuresThatItCauses) {
  NcclLog log = healthy_log();
  for (model::NcclProcess& process : log.processes) {
    process.bootstrap_interface = "docker0";
    process.bootstrap_address = "172.17.0.1<0>";
  }
  for (model::NcclRank& rank : log.communicators[0].ranks)
    rank.completed = {};
  add_event(log, NcclEventKind::kConnectTimeout, "connect to 172.17.0.1<4001>: retries used up").peer =
      "172.17.0.1<4001>";
  const auto all = diagnose::diagnose(with_log(log)).findings;
  ASSERT_GE(all.size(), 2U);
  EXPECT_EQ(all[0].rule, "nccl.bootstrap.interface");
  EXPECT_EQ(all[0].severity, model::Severity::kCritical);
  EXPECT_EQ(all[1].rule, "nccl.bootstrap.connect");
}
TEST(NcclBootstrapInterface, SilentOnLoopbackOfOneNode) {
  NcclLog log = healthy_log();
  for (model::NcclProcess& process : log.processes) {
    process.host = "node-a";
    process.bootstrap_interface = "lo";
  }
  EXPECT_TRUE(held(with_log(log), "nccl.bootstrap.interface"));
}
TEST(NcclBootstrapInterface, UndecidedNever) {
  // no undecided: NCCL names the interface with every start, or fails
  EXPECT_TRUE(not_applicable(dgx_h100(), "nccl.bootstrap.interface"));
}

TEST(NcclGdrOff, FiresWithTheDistanceThatForbidsIt) {
  NcclLog log = healthy_log();
  for (model::NcclRank& rank : log.communicators[0].ranks)
    rank.transports[1].gdr = false;
  model::NcclGdrPair pair;
  pair.host = "node-a";
  pair.gpu = "0";
  pair.hca = "1";
  pair.distance = 7;
  pair.threshold = 4;
  pair.source = line(33);
  log.gdr.push_back(pair);
  const auto finding = only_one(with_log(log), "nccl.gdr.off");
  EXPECT_TRUE(contains(finding.title, "GPUDirect RDMA is off"));
  EXPECT_EQ(finding.evidence.back().text, "GPU 0 / HCA 1 on node-a: disabled, distance 7 > 4");
  EXPECT_TRUE(contains(finding.fixes[0].text, "one PCIe switch"));
}
TEST(NcclGdrOff, FiresWithTheMissingModule) {
  NcclLog log = healthy_log();
  for (model::NcclRank& rank : log.communicators[0].ranks)
    rank.transports[1].gdr = false;
  log.networks[0].devices[0].gdr = false;
  log.networks[0].devices[0].gdr_source = line(8);
  EXPECT_EQ(only_one(with_log(log), "nccl.gdr.off").fixes[0].command, "modprobe nvidia_peermem");
}
TEST(NcclGdrOff, FiresWithTheMissingModuleOfMergedDevices) {
  NcclLog log = healthy_log();
  for (model::NcclRank& rank : log.communicators[0].ranks)
    rank.transports[1].gdr = false;
  log.networks[0].virtual_devices.push_back(log.networks[0].devices[0]);
  log.networks[0].virtual_devices[0].gdr = false;
  const auto finding = only_one(with_log(log), "nccl.gdr.off");
  EXPECT_EQ(finding.evidence.back().text, "GPU Direct RDMA disabled for mlx5_0");
  EXPECT_EQ(finding.fixes[0].command, "modprobe nvidia_peermem");
}
TEST(NcclGdrOff, FiresAsARemarkOnAdaptersThatCollectivesAreNotMeantFor) {
  NcclLog log = healthy_log();
  for (model::NcclRank& rank : log.communicators[0].ranks)
    rank.transports[1].gdr = false;
  for (model::NcclNetwork& network : log.networks)
    for (model::NcclNetDevice& device : network.devices)
      device.speed_mbps = 10000;
  log.networks[0].devices[0].gdr = false;
  const auto finding = only_one(with_log(log), "nccl.gdr.off");
  EXPECT_EQ(finding.severity, model::Severity::kInfo);
  EXPECT_EQ(finding.evidence.back().text, "no adapter is faster than mlx5_0, 10 Gb/s");
  for (const model::Fix& fix : finding.fixes)
    EXPECT_NE(fix.command, "modprobe nvidia_peermem");
  log.networks[1].devices[1].speed_mbps.reset();  // not told: it may be a fast one
  EXPECT_EQ(only_one(with_log(log), "nccl.gdr.off").severity, model::Severity::kWarning);
}
TEST(NcclGdrOff, SilentOnPairsThatNcclDeclinedAndDoesNotUse) {
  NcclLog log = healthy_log();
  model::NcclGdrPair pair;
  pair.distance = 7;
  pair.threshold = 4;
  log.gdr.push_back(pair);
  EXPECT_TRUE(held(with_log(log), "nccl.gdr.off"));
  EXPECT_TRUE(held(with_log(on_sockets()), "nccl.gdr.off"));
}
TEST(NcclGdrOff, UndecidedWithoutConnections) {
  NcclLog log = healthy_log();
  for (model::NcclRank& rank : log.communicators[0].ranks)
    rank.transports.clear();
  EXPECT_EQ(undecided_of(with_log(log), "nccl.gdr.off").size(), 1U);
}

TEST(NcclNicIdle, FiresOnAnAdapterWithoutConnections) {
  NcclLog log = healthy_log();
  for (model::NcclRank& rank : log.communicators[0].ranks)
    rank.transports[1].net_device = 0;
  const auto finding = only_one(with_log(log), "nccl.nic.idle");
  EXPECT_EQ(finding.title, "1 of 2 adapters on node-a, node-b carry nothing");
  EXPECT_EQ(finding.devices, (std::vector<std::string>{"mlx5_1"}));
}
TEST(NcclNicIdle, SilentWithFewerGpusThanAdapters) {
  NcclLog log = healthy_log();
  log.communicators[0].ranks.erase(log.communicators[0].ranks.begin() + 1);
  log.communicators[0].ranks.pop_back();
  EXPECT_TRUE(held(with_log(log), "nccl.nic.idle"));
}
TEST(NcclNicIdle, UndecidedWhereTheLogEndsBeforeAllConnectionsAreMade) {
  NcclLog log = healthy_log();
  for (model::NcclRank& rank : log.communicators[0].ranks)
    rank.transports[1].net_device = 0;
  log.communicators[0].ranks[1].connected_rings = false;
  log.communicators[0].ranks[3].connected_rings = false;
  EXPECT_TRUE(findings_of(with_log(log), "nccl.nic.idle").empty());
  const auto gaps = undecided_of(with_log(log), "nccl.nic.idle");
  ASSERT_EQ(gaps.size(), 1U);
  EXPECT_EQ(gaps[0].collect, "the whole log, up to the first collective");
  // Connections that stand before the end of the init were all made by then.
  for (const std::size_t rank : {1U, 3U})
    log.communicators[0].ranks[rank].completed = line(90);
  EXPECT_EQ(findings_of(with_log(log), "nccl.nic.idle").size(), 1U);
}
TEST(NcclNicIdle, UndecidedWithoutConnections) {
  NcclLog log = healthy_log();
  for (model::NcclRank& rank : log.communicators[0].ranks)
    rank.transports.clear();
  EXPECT_EQ(undecided_of(with_log(log), "nccl.nic.idle").size(), 1U);
}

TEST(NcclNicMixed, FiresOnAnEthernetPortBesideInfiniBand) {
  NcclLog log = healthy_log();
  for (model::NcclNetwork& network : log.networks) {
    network.devices.push_back(network.devices[0]);
    network.devices.back().name = "mlx5_3";
    network.devices.back().index = 2;
    network.devices.back().link = "RoCE";
    network.devices.back().speed_mbps = 40000;
  }
  log.communicators[0].ranks[0].transports[1].net_device = 2;
  const auto finding = only_one(with_log(log), "nccl.nic.mixed");
  EXPECT_EQ(finding.severity, model::Severity::kWarning);
  EXPECT_EQ(finding.devices, (std::vector<std::string>{"mlx5_3"}));
  EXPECT_EQ(finding.fixes[0].command, "export NCCL_IB_HCA==mlx5_0,mlx5_1");
}
TEST(NcclNicMixed, FiresAsARemarkWhenTheOddOneCarriesNothing) {
  NcclLog log = healthy_log();
  for (model::NcclNetwork& network : log.networks) {
    network.devices.push_back(network.devices[0]);
    network.devices.back().index = 2;
    network.devices.back().link = "RoCE";
  }
  EXPECT_EQ(only_one(with_log(log), "nccl.nic.mixed").severity, model::Severity::kInfo);
}
TEST(NcclNicMixed, SilentOnAdaptersOfOneKind) {
  EXPECT_TRUE(held(with_log(healthy_log()), "nccl.nic.mixed"));
}
TEST(NcclNicMixed, UndecidedNever) {
  // no undecided: the list of devices is printed with every start over RDMA
  EXPECT_TRUE(not_applicable(dgx_h100(), "nccl.nic.mixed"));
}

TEST(NcclPluginUnusable, FiresOnATunerThatRefusesASetting) {
  NcclLog log = healthy_log();
  add_event(log, NcclEventKind::kPlugin,
            "NET/OFI The tuner plugin can not be loaded when explicitly choosing a protocol");
  log.settings.push_back(setting("NCCL_PROTO", "simple"));
  const auto finding = only_one(with_log(log), "nccl.plugin.unusable");
  EXPECT_EQ(finding.title, "A tuner plugin refuses to work while NCCL_PROTO is set");
  EXPECT_EQ(finding.fixes[0].command, "export NCCL_TUNER_PLUGIN=none");
}
TEST(NcclPluginUnusable, FiresAsARemarkOnAPluginOfLongAgo) {
  NcclLog log = healthy_log();
  model::NcclPlugin missing;
  missing.outcome = model::NcclPluginOutcome::kSymbolMissing;
  missing.text = "NET/Plugin: Failed to find ncclNetPlugin_v10 symbol.";
  log.plugins.push_back(missing);
  model::NcclPlugin loaded;
  loaded.outcome = model::NcclPluginOutcome::kLoaded;
  loaded.name = "Old Plugin";
  loaded.version = "v6";
  log.plugins.push_back(loaded);
  const auto finding = only_one(with_log(log), "nccl.plugin.unusable");
  EXPECT_EQ(finding.severity, model::Severity::kInfo);
  EXPECT_TRUE(contains(finding.title, "interface v6, this NCCL v10"));
}
model::NcclPlugin without_symbol(const std::string& symbol) {
  model::NcclPlugin plugin;
  plugin.outcome = model::NcclPluginOutcome::kSymbolMissing;
  plugin.name = symbol;
  plugin.text = "NET/Plugin: Failed to find " + symbol + " symbol.";
  plugin.source = line(12);
  return plugin;
}
TEST(NcclPluginUnusable, FiresOnALibraryWithoutAnyKnownInterface) {
  NcclLog log = healthy_log();
  log.plugins = {without_symbol("ncclNetPlugin_v10"), without_symbol("ncclNetPlugin_v9")};
  const auto finding = only_one(with_log(log), "nccl.plugin.unusable");
  EXPECT_EQ(finding.title,
            "The network plugin has no interface that this NCCL knows: NCCL uses its own network");
  EXPECT_EQ(finding.evidence[0].text, "NET/Plugin: Failed to find ncclNetPlugin_v9 symbol.");
}
TEST(NcclPluginUnusable, SilentOnAnOlderInterfaceThatWasFoundInTheEnd) {
  NcclLog log = healthy_log();
  log.plugins = {without_symbol("ncclNetPlugin_v10"), without_symbol("ncclCollNetPlugin_v10")};
  model::NcclPlugin loaded;
  loaded.outcome = model::NcclPluginOutcome::kLoaded;
  loaded.name = "Fabric Plugin";
  loaded.version = "v9";
  log.plugins.push_back(loaded);
  EXPECT_TRUE(held(with_log(log), "nccl.plugin.unusable"));
}
TEST(NcclPluginUnusable, SilentOnAMissingPlugin) {
  NcclLog log = healthy_log();
  model::NcclPlugin plugin;
  plugin.outcome = model::NcclPluginOutcome::kNotFound;
  plugin.text = "NET/Plugin: Could not find: libnccl-net.so";
  log.plugins.push_back(plugin);
  EXPECT_TRUE(held(with_log(log), "nccl.plugin.unusable"));
}
TEST(NcclPluginUnusable, UndecidedNever) {
  // no undecided: a plugin that fails says so at level WARN
  EXPECT_TRUE(not_applicable(dgx_h100(), "nccl.plugin.unusable"));
}

NcclLog over_host_memory() {
  NcclLog log = healthy_log();
  log.communicators[0].patterns.clear();
  for (model::NcclRank& rank : log.communicators[0].ranks)
    rank.transports[0] = way(NcclTransport::kShm, 60);
  return log;
}
TEST(NcclNvlinkUnused, FiresAndBlamesTheSetting) {
  NcclLog log = over_host_memory();
  log.settings.push_back(setting("NCCL_P2P_DISABLE", "1"));
  const auto finding = only_one(with_log(log), "nccl.nvlink.unused");
  EXPECT_EQ(finding.title, "NCCL_P2P_DISABLE=1 switches NVLink off: GPUs talk through host memory");
  EXPECT_EQ(finding.severity, model::Severity::kCritical);
}
TEST(NcclNvlinkUnused, FiresOnGpusHiddenFromEachOther) {
  const auto finding = only_one(with_log(over_host_memory()), "nccl.nvlink.unused");
  EXPECT_TRUE(contains(finding.fixes[0].text, "--gpus-per-node"));
}
TEST(NcclNvlinkUnused, FiresWithTheSnapshotsLinksWhenTheLogHasNoTopology) {
  NcclLog log = over_host_memory();
  log.systems.clear();
  EXPECT_EQ(only_one(with_log(log, dgx_h100()), "nccl.nvlink.unused").evidence.back().text,
            "GPU 0 has 18 active NVLinks");
}
TEST(NcclNvlinkUnused, FiresWhereTheRingWasPlannedOverNvlink) {
  NcclLog log = healthy_log();
  log.systems.clear();
  log.communicators[0].ranks[1].transports[0] = way(NcclTransport::kShm, 60);
  const auto finding = only_one(with_log(log), "nccl.nvlink.unused");
  EXPECT_EQ(finding.evidence.back().text, "NCCL planned its ring over NVLink (type NVL)");
}
TEST(NcclNvlinkUnused, FiresWhereMulticastShowsThatThereIsNvlink) {
  NcclLog log = over_host_memory();
  log.systems.clear();
  log.communicators[0].ranks[1].nvls = true;
  log.communicators[0].ranks[1].nvls_source = line(55);
  const auto finding = only_one(with_log(log), "nccl.nvlink.unused");
  EXPECT_EQ(finding.severity, model::Severity::kCritical);
  EXPECT_EQ(finding.evidence.back().text, "rank 1 on node-a: NVLS multicast support is available: NVLink");
  EXPECT_EQ(finding.evidence.back().source, "rank0.log:55");
}
TEST(NcclNvlinkUnused, UndecidedWhereMulticastIsOnAnotherHost) {
  NcclLog log = over_host_memory();
  log.systems.clear();
  log.communicators[0].ranks[0].transports[0] = way(NcclTransport::kP2pCumem, 60);
  log.communicators[0].ranks[1].transports[0] = way(NcclTransport::kP2pCumem, 60);
  log.communicators[0].ranks[1].nvls = true;
  EXPECT_TRUE(findings_of(with_log(log), "nccl.nvlink.unused").empty());
  EXPECT_EQ(undecided_of(with_log(log), "nccl.nvlink.unused").size(), 1U);
}
TEST(NcclNvlinkUnused, SilentOnGpusWithoutNvlink) {
  NcclLog log = over_host_memory();
  for (model::NcclSystem& system : log.systems)
    system.nodes[0].link = "PCI";
  EXPECT_TRUE(held(with_log(log), "nccl.nvlink.unused"));
  log.communicators[0].ranks[1].nvls = true;  // the topology says more
  EXPECT_TRUE(held(with_log(log), "nccl.nvlink.unused"));
  EXPECT_TRUE(held(with_log(healthy_log()), "nccl.nvlink.unused"));
}
TEST(NcclNvlinkUnused, SilentOnBridgesThatJoinPairsOnly) {
  NcclLog log = healthy_log();
  for (model::NcclSystem& system : log.systems) {
    system.nodes[0].name = "GPU/0-43000";
    system.paths = {{"GPU/0-1b000", {{"GPU/0-43000", 1, 240, "NVL"}, {"GPU/0-a1000", 3, 12, "SYS"}}}};
  }
  log.communicators[0].patterns[0].type_intra = "SYS";
  EXPECT_TRUE(held(with_log(log), "nccl.nvlink.unused"));
}
TEST(NcclNvlinkUnused, UndecidedWithoutTopology) {
  NcclLog log = over_host_memory();
  log.systems.clear();
  const auto gaps = undecided_of(with_log(log), "nccl.nvlink.unused");
  ASSERT_EQ(gaps.size(), 1U);
  EXPECT_TRUE(contains(gaps[0].collect, "GRAPH"));
}

TEST(NcclP2pOff, FiresWhereNothingShowsNvlink) {
  NcclLog log = over_host_memory();
  log.systems.clear();
  log.settings.push_back(setting("NCCL_P2P_LEVEL", "LOC"));
  EXPECT_EQ(only_one(with_log(log), "nccl.p2p.off").title,
            "NCCL_P2P_LEVEL=LOC sends data between GPUs of a node through host memory");
}
TEST(NcclP2pOff, FiresAsARemarkWhenTheDriverRefusesPeers) {
  NcclLog log = over_host_memory();
  log.systems.clear();
  add_event(log, NcclEventKind::kPeerQuery, "Could not enable P2P between dev 0 and dev 1").is_warning =
      false;
  EXPECT_EQ(only_one(with_log(log), "nccl.p2p.off").severity, model::Severity::kInfo);
  EXPECT_TRUE(findings_of(with_log(log), "nccl.transport.none").empty());
}
TEST(NcclP2pOff, SilentOnALevelThatAllowsNvlink) {
  NcclLog log = healthy_log();
  log.settings.push_back(setting("NCCL_P2P_LEVEL", "NVL"));
  log.settings.push_back(setting("NCCL_P2P_DISABLE", "0"));
  EXPECT_TRUE(held(with_log(log), "nccl.p2p.off"));
}
TEST(NcclP2pOff, UndecidedWithoutConnections) {
  NcclLog log = healthy_log();
  log.systems.clear();
  log.communicators[0].patterns.clear();
  log.settings.push_back(setting("NCCL_P2P_DISABLE", "1"));
  for (model::NcclRank& rank : log.communicators[0].ranks)
    rank.transports.clear();
  EXPECT_EQ(undecided_of(with_log(log), "nccl.p2p.off").size(), 1U);
}

NcclLog with_topology(model::NcclTopologyOutcome what) {
  NcclLog log = healthy_log();
  model::NcclTopologyFile file;
  file.path = "/etc/nccl/topo.xml";
  file.outcome = what;
  file.error = what == model::NcclTopologyOutcome::kFailed ? "No such file or directory" : "";
  file.source = line(15);
  log.topology_files.push_back(std::move(file));
  return log;
}
TEST(NcclTopologyFile, FiresOnAFileThatIsNotRead) {
  const auto finding =
      only_one(with_log(with_topology(model::NcclTopologyOutcome::kFailed)), "nccl.topology.file");
  EXPECT_EQ(finding.evidence[0].text, "/etc/nccl/topo.xml: No such file or directory");
}
TEST(NcclTopologyFile, FiresAsARemarkOnBareMetal) {
  const Machine machine = with_log(with_topology(model::NcclTopologyOutcome::kLoading), dgx_h100());
  EXPECT_EQ(only_one(machine, "nccl.topology.file").severity, model::Severity::kInfo);
}
TEST(NcclTopologyFile, SilentInAVirtualMachine) {
  Machine machine = dgx_h100();
  set(machine.software.virtual_machine, std::string("kvm"));
  EXPECT_TRUE(
      held(with_log(with_topology(model::NcclTopologyOutcome::kLoading), machine), "nccl.topology.file"));
}
TEST(NcclTopologyFile, UndecidedWithoutASnapshot) {
  EXPECT_EQ(undecided_of(with_log(with_topology(model::NcclTopologyOutcome::kLoading)), "nccl.topology.file")
                .size(),
            1U);
}

}  // namespace
}  // namespace angio::diagnose
