#include "import/nccl_log/nccl_log.hpp"

#include <gtest/gtest.h>
#include <zlib.h>

#include <string>
#include <string_view>

#include "import/nccl_log/missing.hpp"

namespace angio::import::nccl_log {
namespace {

using model::NcclRankState;
using model::NcclTransport;

model::NcclLog parse(std::string_view text) {
  return parse_log(text, "job.log");
}

// "node-a:100:101 [0] NCCL INFO <message>"
std::string info(std::string_view message, std::string_view at = "node-a:100:101 [0]") {
  return fmt::format("{} NCCL INFO {}\n", at, message);
}
std::string warn(std::string_view message,
                 std::string_view at = "node-a:100:101 [0] transport/net_ib.cc:812") {
  return fmt::format("{} NCCL WARN {}\n", at, message);
}

// ---------------------------------------------------------------- envelopes

struct Prefixed {
  const char* line;
  const char* host;
  std::uint32_t pid;
  int launcher_rank;  // -1: none
  bool timed;
};

class NcclLogEnvelope : public testing::TestWithParam<Prefixed> {};

TEST_P(NcclLogEnvelope, IsReadBehindAnyPrefix) {
  const auto& wanted = GetParam();
  const auto log = parse(std::string(wanted.line) + "\n");
  ASSERT_EQ(log.processes.size(), 1U);
  const auto& process = log.processes[0];
  EXPECT_EQ(process.host, wanted.host);
  EXPECT_EQ(process.pid, wanted.pid);
  EXPECT_EQ(process.network, "Socket");
  EXPECT_EQ(process.launcher_rank ? static_cast<int>(*process.launcher_rank) : -1, wanted.launcher_rank);
  EXPECT_EQ(process.first_time_us.has_value(), wanted.timed);
  EXPECT_EQ(log.files[0].unknown_lines, 0U);
}

INSTANTIATE_TEST_SUITE_P(
    Prefixes, NcclLogEnvelope,
    testing::Values(
        Prefixed{"n1:7:8 [3] NCCL INFO Using network Socket", "n1", 7, -1, false},
        Prefixed{"[2025-03-01 12:34:56] n1:7:8 [3] NCCL INFO Using network Socket", "n1", 7, -1, true},
        Prefixed{"[1,13]<stdout>:n1:7:8 [3] NCCL INFO Using network Socket", "n1", 7, 13, false},
        Prefixed{" 3: n1:7:8 [3] NCCL INFO Using network Socket", "n1", 7, 3, false},
        Prefixed{"[rank12]: n1:7:8 [3] NCCL INFO Using network Socket", "n1", 7, 12, false},
        Prefixed{"(Worker pid=4, ip=10.0.0.4) n1:7:8 [3] NCCL INFO Using network Socket", "n1", 7, -1, false},
        Prefixed{"2025-03-01T12:34:56.789012Z stdout F n1:7:8 [3] NCCL INFO Using network Socket", "n1", 7,
                 -1, true},
        Prefixed{"\x1b[36m(pid=9)\x1b[0m n1:7:8 [3] NCCL INFO Using network Socket", "n1", 7, -1, false},
        Prefixed{"50%|###  | 3/6\rn1:7:8 [3] NCCL INFO Using network Socket", "n1", 7, -1, false},
        Prefixed{"(none):7:8 [0] NCCL INFO Using network Socket", "(none)", 7, -1, false},
        Prefixed{"n1:7:8 [-1] NCCL INFO Using network Socket\r", "n1", 7, -1, false},
        Prefixed{"n1:7:8 NCCL INFO Using network Socket", "n1", 7, -1, false},
        Prefixed{R"({"log":"n1:7:8 [3] NCCL INFO Using network Socket\n","stream":"stdout"})", "n1", 7, -1,
                 false}));

TEST(NcclLogEnvelope, TimesAreMicrosecondsSince1970) {
  const auto log = parse(
      "[2025-03-01 12:34:56] n1:7:8 [0] NCCL INFO Using network IB\n"
      "[2025-03-01 12:35:01] n1:7:8 [0] NCCL INFO Using network IB\n");
  ASSERT_EQ(log.processes.size(), 1U);
  EXPECT_EQ(log.processes[0].first_time_us, 1740832496000000);
  EXPECT_EQ(log.processes[0].last_time_us, 1740832501000000);
}

TEST(NcclLogEnvelope, JsonEscapesOfContainersAreUndone) {
  const auto log = parse(R"({"log":"n1:7:8 [0] NCCL INFO Channel 00/0 : 0[0] -\u003e 1[1] via P2P/IPC\n"})"
                         "\n");
  ASSERT_EQ(log.communicators.size(), 1U);
  EXPECT_EQ(log.communicators[0].ranks[0].transports[0].transport, NcclTransport::kP2pIpc);
}

TEST(NcclLogEnvelope, TwoLinesOnOneAreTwo) {
  const auto log =
      parse(info("Using network IB", "node-a:1:1 [0]") + info("Using network IB", "node-b:2:2 [0]") +
            "node-a:1:1 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P/CUnode-b:2:2 [0] NCCL INFO Using "
            "network Socket\n");
  EXPECT_EQ(log.files[0].glued_lines, 1U);
  EXPECT_EQ(log.files[0].nccl_lines, 4U);
  ASSERT_EQ(log.processes.size(), 2U);
  EXPECT_EQ(log.processes[1].network, "Socket");
}

TEST(NcclLogEnvelope, AHalfWrittenLineInFrontDoesNotMakeAnotherHost) {
  const auto log = parse(info("Using network IB", "node-a:1:1 [0]") +
                         "  sum  -1node-a:1:5 [0] NCCL INFO Using network IB\n");
  ASSERT_EQ(log.processes.size(), 1U);
  EXPECT_EQ(log.processes[0].lines, 2U);
}

TEST(NcclLogEnvelope, ProseIsNoLog) {
  EXPECT_FALSE(looks_like("run it with \"NCCL INFO\" and grep 'NCCL WARN '\n"));
  EXPECT_FALSE(looks_like("Memory use: NCCL buffers\n"));
  EXPECT_TRUE(looks_like("hello\nn1:7:8 [3] NCCL INFO Using network Socket\n"));
  EXPECT_TRUE(looks_like("NCCL version 2.28.9+cuda13.0\n"));
  EXPECT_TRUE(looks_like("NCCL WARN Call to ibv_reg_mr failed\n"));
  EXPECT_EQ(parse("grep \"NCCL INFO Broadcast\" log.txt\n").files[0].nccl_lines, 0U);
}

TEST(NcclLogEnvelope, HugeLinesAndNulsAreSurvived) {
  std::string text = "n1:7:8 [3] NCCL INFO " + std::string(300000, 'x') + "\n" + std::string(5, '\0') + "\n";
  text += std::string("n1:7:8 [3] NCCL INFO Using network IB\0\0\n", 40);
  const auto log = parse(text);
  EXPECT_EQ(log.files[0].nccl_lines, 2U);
  EXPECT_EQ(log.files[0].damaged_lines, 1U);
  EXPECT_EQ(log.processes[0].network, "IB");
}

// ---------------------------------------------------------------- identities

TEST(NcclLogRanks, OfOneHashAreOneCommunicator) {
  std::string text;
  for (int rank = 0; rank < 2; ++rank) {
    const auto at = fmt::format("node-{}:100:101 [0]", rank);
    const auto who = fmt::format(
        "comm 0x5{}00 rank {} nranks 2 cudaDev 0 nvmlDev 4 busId 10001b000 commId 0xabc", rank, rank);
    text += info("[Rank 0] ncclCommInitRankConfig " + who + " - Init START", at);
    text += info(
        fmt::format("comm 0x5{}00 rank {} nRanks 2 nNodes 2 localRanks 1 localRank 0 MNNVL 1", rank, rank),
        at);
    text += info("ncclCommInitRankConfig " + who + " - Init COMPLETE", at);
    text += info(fmt::format("Init timings - ncclCommInitRankConfig: rank {} nranks 2 total 1.50 (kernels "
                             "0.25, alloc 0.50, rest 0.75)",
                             rank),
                 at);
  }
  text +=
      info("comm 0x5100 rank 1 nranks 2 cudaDev 0 busId 10001b000 - Destroy COMPLETE", "node-1:100:100 [0]");
  const auto log = parse(text);
  ASSERT_EQ(log.communicators.size(), 1U);
  const auto& communicator = log.communicators[0];
  EXPECT_EQ(communicator.id, "0xabc");
  EXPECT_FALSE(communicator.guessed);
  EXPECT_EQ(communicator.nodes, 2U);
  EXPECT_EQ(communicator.mnnvl, true);
  ASSERT_EQ(communicator.ranks.size(), 2U);
  const auto& rank = communicator.ranks[1];
  EXPECT_EQ(rank.function, "ncclCommInitRankConfig");
  EXPECT_EQ(rank.nvml_device, 4);
  EXPECT_EQ(rank.gpu, (PciAddress{0x1000, 0x1b, 0, 0}));
  EXPECT_EQ(rank.state, NcclRankState::kDestroyed);
  EXPECT_EQ(communicator.ranks[0].state, NcclRankState::kComplete);
  EXPECT_DOUBLE_EQ(rank.init_seconds.value_or(0), 1.5);
  ASSERT_EQ(rank.init_parts.size(), 3U);
  EXPECT_EQ(rank.init_parts[1].name, "alloc");
  EXPECT_EQ(log.places.text(rank.started), "job.log:5");
}

TEST(NcclLogRanks, BeforeTwoEighteenAreMatchedByHostAndNumber) {
  // 2.12: facts first, identity last, no hash; two jobs of two ranks each on two hosts.
  std::string text;
  for (const auto* host : {"node-a", "node-b"}) {
    for (int rank = 0; rank < 2; ++rank) {
      const auto at = fmt::format("{}:{}:{} [{}]", host, 100 + rank, 200 + rank, rank);
      if (rank == 0) text += info("Channel 00/02 :    0   1", at);
      text += info(fmt::format("Trees [0] -1/-1/-1->{}->0", rank), at);
      text += info("2 coll channels, 2 p2p channels, 1 p2p channels per peer", at);
      text += info(
          fmt::format("comm 0x7{} rank {} nranks 2 cudaDev {} busId 1b000 - Init COMPLETE", rank, rank, rank),
          at);
    }
  }
  const auto log = parse(text);
  ASSERT_EQ(log.communicators.size(), 2U);
  for (const auto& communicator : log.communicators) {
    EXPECT_TRUE(communicator.guessed);
    ASSERT_EQ(communicator.ranks.size(), 2U);
    EXPECT_EQ(log.processes[communicator.ranks[0].process].host,
              log.processes[communicator.ranks[1].process].host);
    ASSERT_EQ(communicator.rings.size(), 1U);
    EXPECT_EQ(communicator.rings[0].order, (std::vector<std::uint32_t>{0, 1}));
    EXPECT_EQ(communicator.ranks[0].coll_channels, 2U);
    EXPECT_FALSE(communicator.ranks[0].nvls_channels.has_value());
    EXPECT_EQ(communicator.ranks[0].p2p_channels_per_peer, 1U);
  }
}

TEST(NcclLogRanks, SplitsKeepParentAndColor) {
  const auto log = parse(
      info("ncclCommSplit comm 0x20 rank 0 nranks 4 cudaDev 0 nvmlDev 0 busId 1b000 parent 0x10 childCount 1 "
           "color 7 key 3 commId 0xdef - Init START"));
  ASSERT_EQ(log.communicators.size(), 1U);
  EXPECT_EQ(log.communicators[0].parent, "0x10");
  EXPECT_EQ(log.communicators[0].color, 7);
  EXPECT_EQ(log.communicators[0].key, 3);
  EXPECT_EQ(log.communicators[0].ranks[0].state, NcclRankState::kStarted);
}

TEST(NcclLogVersions, AreThoseOfTheProcessThatPrints) {
  const auto log =
      parse(" 0: NCCL version 2.18.3+cuda12.2\n" + info("cudaDriverVersion 12020", " 0: n:1:1 [0]") +
            info("NCCL version 2.28.9+cuda13.0", " 1: n:2:2 [1]") +
            info("NCCL git version master 0a1b2c3", " 1: n:2:2 [1]"));
  ASSERT_EQ(log.versions.size(), 2U);
  EXPECT_EQ(log.processes[0].version, "2.18.3");
  EXPECT_EQ(log.processes[0].cuda_driver, 12020U);
  EXPECT_EQ(log.processes[1].version, "2.28.9");
  EXPECT_EQ(log.processes[1].built_for, "cuda13.0");
  EXPECT_EQ(log.processes[1].git, "master 0a1b2c3");
}

TEST(NcclLogVersions, RcclSaysItsOwn) {
  const auto log = parse("RCCL version : 2.22.3-main:62b6c1a\n" + info("Using network IB"));
  ASSERT_EQ(log.versions.size(), 1U);
  EXPECT_TRUE(log.versions[0].is_rccl);
  EXPECT_EQ(log.versions[0].version, "2.22.3");
  EXPECT_TRUE(log.processes[0].is_rccl);
}

TEST(NcclLogSettings, DifferingValuesKeepTheirProcesses) {
  const auto log = parse(info("NCCL_IB_HCA set by environment to mlx5_0", "n:1:1 [0]") +
                         info("NCCL_IB_HCA set by environment to mlx5_0", "n:1:2 [0]") +
                         info("NCCL_IB_HCA set by environment to mlx5_1", "n:2:2 [1]") +
                         info("NCCL_BUFFSIZE set by environment to 8388608.", "n:1:1 [0]"));
  ASSERT_EQ(log.settings.size(), 3U);
  EXPECT_EQ(log.settings[0].count, 2U);
  EXPECT_EQ(log.settings[0].processes, (std::vector<std::uint32_t>{0}));
  EXPECT_EQ(log.settings[1].value, "mlx5_1");
  EXPECT_EQ(log.settings[1].processes, (std::vector<std::uint32_t>{1}));
  EXPECT_EQ(log.settings[2].value, "8388608");
  EXPECT_EQ(log.settings[2].origin, "environment");
}

// ---------------------------------------------------------------- networks

TEST(NcclLogNetworks, ListsDevicesOfEachHostOnce) {
  const auto line = [](const char* host, int pid) {
    return info("NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_3:2/RoCE:4:1 [RO]; OOB eth0:10.0.0.1<0>",
                fmt::format("{}:{}:{} [0]", host, pid, pid));
  };
  const auto log = parse(line("a", 1) + line("a", 2) + line("b", 3));
  ASSERT_EQ(log.networks.size(), 2U);
  const auto& network = log.networks[0];
  EXPECT_EQ(network.processes, 2U);
  EXPECT_EQ(network.relaxed_ordering, true);
  EXPECT_EQ(network.oob_interface, "eth0");
  EXPECT_EQ(network.oob_address, "10.0.0.1<0>");
  ASSERT_EQ(network.devices.size(), 2U);
  EXPECT_EQ(network.devices[0].link, "IB");
  EXPECT_EQ(network.devices[1].port, 2U);
  EXPECT_EQ(network.devices[1].link, "RoCE");
  EXPECT_EQ(network.devices[1].rail, 4U);
  EXPECT_EQ(network.devices[1].plane, 1U);
  EXPECT_EQ(log.processes[2].networks, (std::vector<std::uint32_t>{1}));
}

TEST(NcclLogNetworks, DetailsOfDevicesComeFromTheirOwnLines) {
  const auto log = parse(info("NET/IB: [0] mlx5_0:uverbs0:1/IB provider=Mlx5 speed=400000 context=0x1 "
                              "pciPath=/sys/devices/pci0 ar=1") +
                         info("NET/IB : Made virtual device [0] name=mlx5_0+mlx5_1 speed=800000 ndevs=2") +
                         info("NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_1:1/IB ; OOB eth0:10.0.0.1<0>") +
                         info("NET/IB : GPU Direct RDMA Disabled for HCA 1 'mlx5_1'"));
  ASSERT_EQ(log.networks.size(), 1U);
  const auto& network = log.networks[0];
  EXPECT_EQ(network.relaxed_ordering, false);
  EXPECT_DOUBLE_EQ(network.devices[0].speed_mbps.value_or(0), 400000);
  EXPECT_EQ(network.devices[0].provider, "Mlx5");
  EXPECT_EQ(network.devices[0].adaptive_routing, true);
  EXPECT_FALSE(network.devices[0].gdr.has_value());
  EXPECT_EQ(network.devices[1].gdr, false);
  ASSERT_EQ(network.virtual_devices.size(), 1U);
  EXPECT_EQ(network.virtual_devices[0].merged, 2U);
}

TEST(NcclLogNetworks, NoDeviceIsSaidOnce) {
  const auto log =
      parse(info("NET/IB : No device found.") + info("NET/IB : Using [RO]; OOB eth0:10.0.0.1<0>") +
            info("transport/net_ib.cc:852 -> 3") + info("Failed to initialize NET plugin IB") +
            info("NET/Socket : Using [0]eth0:10.0.0.1<0>[1]eth1:10.0.1.1<0>") + info("Using network Socket"));
  ASSERT_EQ(log.networks.size(), 2U);
  EXPECT_TRUE(log.networks[0].none_found);
  EXPECT_EQ(log.networks[0].oob_interface, "eth0");
  ASSERT_EQ(log.networks[1].devices.size(), 2U);
  EXPECT_EQ(log.networks[1].devices[1].address, "10.0.1.1<0>");
  EXPECT_EQ(model::find_earliest_failure(log), nullptr) << "it goes on with sockets";
}

TEST(NcclLogGdr, PairsOfAllVersions) {
  const auto log =
      parse(info("GPU Direct RDMA Enabled for GPU 0 / HCA 1 (distance 4 <= 5), read 1 mode Default") +
            info("GPU Direct RDMA Enabled for GPU 0 / HCA 1 (distance 4 <= 5), read 1 mode Default") +
            info("NET/IB : GPU Direct RDMA Disabled for GPU 1b000 / HCA 0 (distance 6 > 4)") +
            info("NET/IB : GPU Direct RDMA Disabled for GPU 2[2] / HCA 3 'mlx4_0' (no module)"));
  ASSERT_EQ(log.gdr.size(), 3U);
  EXPECT_TRUE(log.gdr[0].enabled);
  EXPECT_EQ(log.gdr[0].count, 2U);
  EXPECT_EQ(log.gdr[0].distance, 4);
  EXPECT_EQ(log.gdr[0].threshold, 5);
  EXPECT_EQ(log.gdr[0].read, true);
  EXPECT_EQ(log.gdr[1].gpu, "1b000");
  EXPECT_EQ(log.gdr[1].distance, 6);
  EXPECT_FALSE(log.gdr[1].enabled);
  EXPECT_EQ(log.gdr[2].hca, "mlx4_0");
  EXPECT_EQ(log.gdr[2].reason, "no module");
}

TEST(NcclLogPlugins, OutcomesAreTold) {
  using Outcome = model::NcclPluginOutcome;
  const auto log =
      parse(info("NET/Plugin: Could not find: libnccl-net.so") +
            info("NET/Plugin : No plugin found (libnccl-net.so), using internal implementation") +
            info("NET/Plugin: Failed to find ncclCollNetPlugin_v8 symbol.") +
            info("NET/Plugin: Loaded net plugin AWS Libfabric (v9)") +
            info("TUNER/Plugin: Could not find: libnccl-tuner.so") +
            info("Failed to initialize NET plugin IB") + info("Assigned NET plugin gIB to comm"));
  ASSERT_EQ(log.plugins.size(), 6U);
  EXPECT_EQ(log.plugins[0].outcome, Outcome::kNotFound);
  EXPECT_EQ(log.plugins[0].count, 2U);
  EXPECT_EQ(log.plugins[1].kind, model::NcclPluginKind::kCollNet);
  EXPECT_EQ(log.plugins[1].outcome, Outcome::kSymbolMissing);
  EXPECT_EQ(log.plugins[2].name, "AWS Libfabric");
  EXPECT_EQ(log.plugins[2].version, "v9");
  EXPECT_EQ(log.plugins[3].kind, model::NcclPluginKind::kTuner);
  EXPECT_EQ(log.plugins[4].outcome, Outcome::kFailed);
  EXPECT_EQ(log.plugins[5].name, "gIB");
}

// ---------------------------------------------------------------- graphs

TEST(NcclLogGraphs, PatternsTreesAndTheSystem) {
  const auto log = parse(
      info("=== System : maxBw 48.0 totalBw 450.0 ===") + info("CPU/0-0 (1/1/2)") +
      info("+ PCI[24.0] - GPU/0-1b000 (0)") + info("              + NVL[450.0] - NVS/0") +
      info("==========================================") +
      info("GPU/0-1b000 :GPU/0-1b000 (0/5000.0/LOC) NET/0-0 (3/48.0/PXB) ") +
      info("Pattern 4, crossNic 0, nChannels 16, bw 45.000000/24.000000, type NVL/PXN, sameChannels 1") +
      info(" 0 : NET/0-0 GPU/0-1b000 NET/0-0") +
      info("Pattern 4, crossNic 0, nChannels 2, speed 21.000000/12.000000, type PHB/SYS, sameChannels 0") +
      info("Trees [0] 1/8/-1->0->-1 [1] -1/-1/-1->0->3|3->0->1/-1/-1 [2] 5->0->2/9/-1"));
  ASSERT_EQ(log.systems.size(), 1U);
  EXPECT_DOUBLE_EQ(log.systems[0].total_bw, 450);
  ASSERT_EQ(log.systems[0].nodes.size(), 3U);
  EXPECT_EQ(log.systems[0].nodes[2].link, "NVL");
  ASSERT_EQ(log.systems[0].paths.size(), 1U);
  EXPECT_EQ(log.systems[0].paths[0].cells[1].type, "PXB");
  const auto& communicator = log.communicators.at(0);
  ASSERT_EQ(communicator.patterns.size(), 2U);
  EXPECT_EQ(communicator.patterns[0].type_inter, "PXN");
  EXPECT_EQ(communicator.patterns[0].chains.size(), 1U);
  EXPECT_DOUBLE_EQ(communicator.patterns[1].bw_intra, 21);
  const auto& trees = communicator.ranks.at(0).trees;
  ASSERT_EQ(trees.size(), 3U);
  EXPECT_EQ(trees[0].down, (std::array<int, 3>{1, 8, -1}));
  EXPECT_EQ(trees[1].up, 3);
  EXPECT_EQ(trees[2].up, 5) << "2.4 prints the parent first";
  EXPECT_EQ(trees[2].down, (std::array<int, 3>{2, 9, -1}));
}

// ---------------------------------------------------------------- connections

struct Way {
  const char* text;
  NcclTransport transport;
  const char* net;
  int device;
  bool gdr;
  int proxy;
};

class NcclLogWays : public testing::TestWithParam<Way> {};

TEST_P(NcclLogWays, AreRead) {
  const auto& wanted = GetParam();
  const auto log = parse(info(fmt::format("Channel 03/0 : 7[e3000] -> 8[1b000] via {}", wanted.text)));
  ASSERT_EQ(log.communicators.size(), 1U);
  ASSERT_EQ(log.communicators[0].ranks[0].connections.size(), 1U);
  const auto& connection = log.communicators[0].ranks[0].connections[0];
  EXPECT_EQ(connection.transport, wanted.transport);
  EXPECT_EQ(connection.net, wanted.net);
  EXPECT_EQ(connection.net_device ? static_cast<int>(*connection.net_device) : -1, wanted.device);
  EXPECT_EQ(connection.gdr, wanted.gdr);
  EXPECT_EQ(connection.proxy_rank ? static_cast<int>(*connection.proxy_rank) : -1, wanted.proxy);
  EXPECT_EQ(connection.channel_mask, 8U);
}

INSTANTIATE_TEST_SUITE_P(
    All, NcclLogWays,
    testing::Values(Way{"P2P/IPC", NcclTransport::kP2pIpc, "", -1, false, -1},
                    Way{"P2P/CUMEM/read", NcclTransport::kP2pCumem, "", -1, false, -1},
                    Way{"P2P/direct pointer", NcclTransport::kP2pDirect, "", -1, false, -1},
                    Way{"P2P/indirect/4[88000]", NcclTransport::kP2pIndirect, "", -1, false, -1},
                    Way{"P2P/MNNVL", NcclTransport::kP2pMnnvl, "", -1, false, -1},
                    Way{"direct shared memory", NcclTransport::kShm, "", -1, false, -1},
                    Way{"SHM/direct/direct", NcclTransport::kShm, "", -1, false, -1},
                    Way{"NET/IB/0", NcclTransport::kNet, "IB", 0, false, -1},
                    Way{"NET/IB/3(5)/GDRDMA/Shared", NcclTransport::kNet, "IB", 3, true, 5},
                    Way{"NET/AWS Libfabric/11/GDRDMA(PCI)", NcclTransport::kNet, "AWS Libfabric", 11, true,
                        -1},
                    Way{"NET/Socket/0", NcclTransport::kNet, "Socket", 0, false, -1},
                    Way{"something new", NcclTransport::kUnknown, "", -1, false, -1}));

TEST(NcclLogConnections, ChannelsOfOnePairAreOne) {
  std::string text;
  for (int channel = 0; channel < 16; ++channel) {
    text += info(fmt::format("Channel {:02d}/0 : 3[3] -> 4[4] via P2P/CUMEM", channel));
    text += info(fmt::format("Channel {:02d}/0 : 9[1] -> 3[3] [receive] via NET/IB/2/GDRDMA", channel));
  }
  const auto log = parse(text);
  const auto& rank = log.communicators.at(0).ranks.at(0);
  EXPECT_EQ(rank.rank, 3U);
  ASSERT_EQ(rank.connections.size(), 2U);
  EXPECT_EQ(rank.connections[0].count, 16U);
  EXPECT_EQ(rank.connections[0].channel_mask, 0xffffU);
  EXPECT_EQ(rank.connections[1].direction, model::NcclDirection::kReceive);
  ASSERT_EQ(rank.transports.size(), 2U);
  EXPECT_EQ(rank.transports[1].count, 16U);
}

TEST(NcclLogConnections, ManyPeersAreCountedBeyondTheLimit) {
  std::string text;
  for (int peer = 0; peer < 1000; ++peer)
    text += info(fmt::format("Channel 00/1 : 5000[0] -> {}[0] [send] via NET/IB/0/GDRDMA/Shared", peer));
  const auto log = parse(text);
  const auto& rank = log.communicators.at(0).ranks.at(0);
  EXPECT_EQ(rank.connections.size(), 256U);
  EXPECT_EQ(rank.connections_left_out, 744U);
  ASSERT_EQ(rank.transports.size(), 1U);
  EXPECT_EQ(rank.transports[0].count, 1000U);
  EXPECT_TRUE(rank.transports[0].shared);
}

// ---------------------------------------------------------------- tuning and calls

TEST(NcclLogTuning, TablesOfBothForms) {
  const auto log =
      parse(info("  Algorithm   |        Tree        |       Ring       |") +
            info("  Protocol    |    LL |  Simple |    LL |  Simple |") +
            info(" Max NThreads |   512 |     640 |   512 |     640 |") +
            info("    AllReduce |   15.2/  43.6 |   64.4/ 165.6 |   15.0/  80.6 |   56.0/ 205.7 |"));
  const auto& facts = log.communicators.at(0);
  ASSERT_EQ(facts.tuning.size(), 4U);
  EXPECT_EQ(facts.tuning[3].algorithm, "Ring");
  EXPECT_EQ(facts.tuning[3].protocol, "Simple");
  EXPECT_DOUBLE_EQ(facts.tuning[3].bandwidth, 205.7);
  EXPECT_EQ(facts.max_threads.at(3), (std::pair<std::string, std::uint32_t>{"Ring/Simple", 640}));
  const auto old = parse(info("Latency/AlgBw |    Tree/    LL |    Ring/ LL128 |") +
                         info("    Broadcast |    7.2/ 141.0 |   14.5/   0.0 |"));
  ASSERT_EQ(old.communicators.at(0).tuning.size(), 2U);
  EXPECT_EQ(old.communicators[0].tuning[1].protocol, "LL128");
  EXPECT_DOUBLE_EQ(old.communicators[0].tuning[0].latency_us, 7.2);
}

TEST(NcclLogTuning, ChoicesOfAllVersions) {
  const auto log = parse(
      info("1024 Bytes -> Algo 1 proto 2 time 123.4") +
      info("AllReduce: 1048576 Bytes -> Algo NVLS proto SIMPLE channel{Lo..Hi}={0..15}") +
      info("AllReduce: 1048576 Bytes -> Algo NVLS proto SIMPLE channel{Lo..Hi}={0..15}") +
      info("AllReduce [Symmetric]: 64 Bytes -> Kernel AllReduce_AGxLL nchannels 1 nthreads 512 nWorks 1"));
  const auto& choices = log.communicators.at(0).choices;
  ASSERT_EQ(choices.size(), 3U);
  EXPECT_EQ(choices[0].algorithm, "RING");
  EXPECT_EQ(choices[0].protocol, "SIMPLE");
  EXPECT_DOUBLE_EQ(choices[0].time_us.value_or(0), 123.4);
  EXPECT_EQ(choices[1].function, "AllReduce");
  EXPECT_EQ(choices[1].count, 2U);
  EXPECT_EQ(choices[1].channel_high, 15U);
  EXPECT_TRUE(choices[2].symmetric);
  EXPECT_EQ(choices[2].kernel, "AllReduce_AGxLL");
}

// The calls of two ranks; rank 1 differs at call `wrong`.
model::NcclLog calls_of_two(int count, int wrong) {
  std::string text;
  for (int rank = 0; rank < 2; ++rank) {
    const auto at = fmt::format("n:{}:{} [{}]", rank + 1, rank + 1, rank);
    text += info(fmt::format("ncclCommInitRank comm 0x{}0 rank {} nranks 2 cudaDev {} nvmlDev {} busId 1000 "
                             "commId 0x9 - Init START",
                             rank + 1, rank, rank, rank),
                 at);
    for (int call = 0; call < count; ++call) {
      const int elements = rank == 1 && call == wrong ? 512 : 1024;
      text += info(fmt::format("AllReduce: opCount {:x} sendbuff 0x1 recvbuff 0x2 count {} datatype 7 op 0 "
                               "root 0 comm 0x{}0 [nranks=2] stream 0x5",
                               call, elements, rank + 1),
                   at);
    }
  }
  return parse(text);
}

TEST(NcclLogCalls, EqualRanksHaveNoMismatch) {
  const auto log = calls_of_two(5000, -1);
  ASSERT_EQ(log.communicators.size(), 1U);
  EXPECT_EQ(log.communicators[0].ranks[0].calls.collectives, 5000U);
  EXPECT_LE(log.communicators[0].ranks[0].calls.blocks.size(), 129U);
  EXPECT_FALSE(model::find_mismatch(log, 0).has_value());
  EXPECT_TRUE(model::find_laggards(log, 0).empty());
}

TEST(NcclLogCalls, AMismatchAtEitherEndIsExact) {
  for (const int wrong : {3, 4990}) {
    const auto log = calls_of_two(5000, wrong);
    const auto found = model::find_mismatch(log, 0);
    ASSERT_TRUE(found.has_value());
    EXPECT_TRUE(found->exact);
    EXPECT_EQ(found->first_op, static_cast<std::uint64_t>(wrong));
    EXPECT_EQ(found->a.count, 1024U);
    EXPECT_EQ(found->b.count, 512U);
  }
}

TEST(NcclLogCalls, AMismatchInTheMiddleIsNarrowedToABlock) {
  const auto log = calls_of_two(5000, 2500);
  const auto found = model::find_mismatch(log, 0);
  ASSERT_TRUE(found.has_value());
  EXPECT_FALSE(found->exact);
  EXPECT_LE(found->first_op, 2500U);
  EXPECT_GE(found->last_op, 2500U);
  EXPECT_LE(found->last_op - found->first_op, 64U);
}

// ---------------------------------------------------------------- files

std::string compress(std::string_view text) {
  z_stream stream{};
  EXPECT_EQ(deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
  std::string out(text.size() + 1000, '\0');
  std::string in(text);
  stream.next_in = reinterpret_cast<Bytef*>(in.data());
  stream.avail_in = static_cast<uInt>(in.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  out.resize(out.size() - stream.avail_out);
  deflateEnd(&stream);
  return out;
}

TEST(NcclLogFiles, GzipOfSeveralMembersIsRead) {
  const auto packed =
      compress(info("Using network IB", "a:1:1 [0]")) + compress(info("Using network Socket", "b:2:2 [0]"));
  Log reader;
  reader.begin("log.gz");
  for (std::size_t at = 0; at < packed.size(); at += 5)
    reader.feed(std::string_view(packed).substr(at, 5));
  const auto log = reader.take();
  ASSERT_EQ(log.processes.size(), 2U);
  EXPECT_TRUE(log.files[0].gzip);
  EXPECT_FALSE(log.files[0].gzip_cut);
  EXPECT_EQ(log.processes[1].network, "Socket");
}

TEST(NcclLogFiles, CutGzipGivesWhatWasReadable) {
  std::string text;
  for (int i = 0; i < 2000; ++i)
    text += info(fmt::format("NCCL_X{} set by environment to {}", i, i * 7919 % 1000));
  const auto packed = compress(text);
  const auto log = parse_log(std::string_view(packed).substr(0, packed.size() / 2), "log.gz");
  EXPECT_TRUE(log.files[0].gzip_cut);
  EXPECT_GT(log.settings.size(), 500U);
  EXPECT_LT(log.settings.size(), 2000U);
}

TEST(NcclLogFiles, OfOneJobAreMerged) {
  Log reader;
  reader.add(
      info("ncclCommInitRank comm 0x1 rank 0 nranks 2 cudaDev 0 nvmlDev 0 busId 1000 commId 0x5 - Init START",
           "a:1:1 [0]"),
      "a.log");
  reader.add(
      info("ncclCommInitRank comm 0x1 rank 1 nranks 2 cudaDev 0 nvmlDev 0 busId 1000 commId 0x5 - Init START",
           "b:1:1 [0]"),
      "b.log");
  const auto log = reader.take();
  ASSERT_EQ(log.communicators.size(), 1U);
  ASSERT_EQ(log.communicators[0].ranks.size(), 2U);
  EXPECT_EQ(log.places.text(log.communicators[0].ranks[1].started), "b.log:1");
  EXPECT_EQ(log.processes[1].file, 1U);
}

TEST(NcclLogFiles, EmptyAndForeignTextGiveNothing) {
  EXPECT_TRUE(parse("").processes.empty());
  const auto log = parse("hello\nworld\n");
  EXPECT_EQ(log.files[0].lines, 2U);
  EXPECT_EQ(log.files[0].nccl_lines, 0U);
  EXPECT_TRUE(log.communicators.empty());
}

TEST(NcclLogFiles, NewLinesAreCountedAsUnknown) {
  const auto log = parse(info("Quantum entangler engaged at 7 THz") + info("Using network IB"));
  EXPECT_EQ(log.files[0].unknown_lines, 1U);
  ASSERT_EQ(log.files[0].unknown.size(), 1U);
  EXPECT_EQ(log.files[0].unknown[0].text, "Quantum entangler engaged at 7 THz");
}

TEST(NcclLogMissing, SaysWhatToSet) {
  const auto only_warnings = missing_facts(parse(warn("Call to ibv_reg_mr failed")));
  ASSERT_EQ(only_warnings.size(), 1U);
  EXPECT_EQ(only_warnings[0].remedy, "NCCL_DEBUG=INFO");
  const auto facts = missing_facts(parse(info("ncclCommInitRank comm 0x1 rank 0 nranks 2 cudaDev 0 nvmlDev 0 "
                                              "busId 1000 commId 0x5 - Init START") +
                                         info("Using network IB")));
  const auto has = [&](MissingFact fact) {
    return std::any_of(facts.begin(), facts.end(), [&](const auto& missing) { return missing.fact == fact; });
  };
  EXPECT_TRUE(has(MissingFact::kTuning));
  EXPECT_TRUE(has(MissingFact::kOtherRanks));
  EXPECT_FALSE(has(MissingFact::kNetwork));
  EXPECT_FALSE(has(MissingFact::kIdentity));
}

}  // namespace
}  // namespace angio::import::nccl_log
