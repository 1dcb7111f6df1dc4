#include "plan/advice.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.hpp"

namespace angio::plan {
namespace {

JobShape cluster(std::uint32_t gpus) {
  JobShape job;
  job.gpus = gpus;
  job.gpus_per_node = 8;
  job.gpu = "NVIDIA H100 80GB HBM3";
  job.link = IntraLink::kNvswitch;
  job.network = Network::kInfiniBand;
  job.adapters = 8;
  job.adapter_gbits = 400;
  job.parameters = 7e9;
  job.nccl = "2.28.9";
  return job;
}

bool says(const Advice& advice, std::string_view id) {
  return std::ranges::any_of(advice.lines, [&](const AdviceLine& line) { return line.text->id == id; });
}

TEST(Traffic, GradientsTravelInBuckets) {
  const auto traffic = traffic_of(cluster(8));
  ASSERT_EQ(traffic.size(), 1U);
  EXPECT_EQ(traffic[0].collective, "AllReduce");
  EXPECT_EQ(traffic[0].bytes, 26214400U);
  EXPECT_EQ(traffic[0].calls, 535U);  // 14e9 B / 26214400 B, rounded up
  EXPECT_FALSE(traffic[0].across_nodes);
  // Ring LL on 8 ranks: 6.6 + 14 x 0.6; the tree is 6.8 + 2 x 7 x 0.6.
  EXPECT_NEAR(*traffic[0].latency_us, 15.0, 0.01);
  // 2 x 7/8 x 26.2 MB at 18 x 20.6 GB/s.
  EXPECT_NEAR(*traffic[0].transfer_us, 123.7, 0.1);
  EXPECT_EQ(traffic[0].regime, Regime::kBandwidth);
}

TEST(Traffic, TwoNodesCostAsNcclsOwnTable) {
  JobShape job = cluster(16);
  job.message = 8;
  const auto traffic = traffic_of(job);
  EXPECT_NEAR(*traffic[0].latency_us, 25.2, 0.01);  // Tree LL; Ring LL is 40.0
  EXPECT_EQ(traffic[0].regime, Regime::kLatency);
  EXPECT_TRUE(traffic[0].across_nodes);
}

TEST(Traffic, TensorParallelDividesTheGradients) {
  JobShape job = cluster(64);
  job.tensor = 8;
  job.parameters = 70e9;
  const auto traffic = traffic_of(job);
  ASSERT_EQ(traffic.size(), 2U);
  EXPECT_EQ(traffic[0].group, 8U);
  EXPECT_TRUE(traffic[0].across_nodes);
  EXPECT_EQ(traffic[0].calls, 668U);  // 17.5e9 B in buckets
  EXPECT_FALSE(traffic[1].bytes.has_value());
  EXPECT_EQ(traffic[1].arithmetic, "needs --hidden and --seq");
  EXPECT_FALSE(traffic[1].across_nodes);
}

TEST(Traffic, DecodingSendsOneTokenOfEachSequence) {
  JobShape job = cluster(8);
  job.inference = true;
  job.tensor = 8;
  job.hidden = 8192;
  job.layers = 80;
  job.micro_batch = 4;
  const auto traffic = traffic_of(job);
  ASSERT_EQ(traffic.size(), 1U);
  EXPECT_EQ(traffic[0].bytes, 65536U);  // 4 x 8192 x 2
  EXPECT_EQ(traffic[0].calls, 160U);
  EXPECT_EQ(traffic[0].regime, Regime::kLatency);
}

TEST(Traffic, ShardedLayersNeedTheirNumber) {
  JobShape job = cluster(16);
  job.sharding = Sharding::kFsdp;
  EXPECT_EQ(traffic_of(job)[0].arithmetic, "needs --params and --layers");
  job.layers = 32;
  const auto traffic = traffic_of(job);
  EXPECT_EQ(traffic[0].collective, "AllGather");
  EXPECT_EQ(traffic[0].bytes, 437500000U);
  EXPECT_EQ(traffic[0].calls, 64U);
  EXPECT_EQ(traffic[1].calls, 32U);
}

TEST(Traffic, WithoutHardwareNothingIsClaimed) {
  JobShape job;
  job.gpus = 32;
  job.gpus_per_node = 8;
  job.parameters = 7e9;
  const auto traffic = traffic_of(job);
  EXPECT_EQ(traffic[0].regime, Regime::kUnknown);
  EXPECT_FALSE(traffic[0].latency_us.has_value());
  EXPECT_EQ(traffic[0].grounds, "needs --link or --gpu, and --network across nodes");
}

TEST(Traffic, HugeNumbersAreNoSize) {
  JobShape job = cluster(8);
  job.tensor = 8;
  job.hidden = 1U << 20;
  job.sequence = 1U << 28;
  job.micro_batch = 1U << 20;
  EXPECT_FALSE(traffic_of(job)[0].bytes.has_value());
}

TEST(Advice, LeavesUnsetByDefault) {
  const auto advice = advise(cluster(8));
  ASSERT_TRUE(advice);
  for (const std::string_view id : {"bind.per-rank", "algo.unset", "proto.unset", "p2p.unset", "topo.unset"})
    EXPECT_TRUE(says(*advice, id)) << id;
  for (const std::string_view id : {"net.rdma", "net.hca", "topo.vm", "algo.moe", "inference.latency"})
    EXPECT_FALSE(says(*advice, id)) << id;
}

TEST(Advice, GidDependsOnTheReleaseAndTheNetwork) {
  JobShape job = cluster(16);
  job.network = Network::kRoce;
  EXPECT_TRUE(says(*advise(job), "net.gid-auto"));
  EXPECT_FALSE(says(*advise(job), "net.gid-old"));
  job.nccl = "2.20.5";
  EXPECT_FALSE(says(*advise(job), "net.gid-auto"));
  EXPECT_TRUE(says(*advise(job), "net.gid-old"));
  job.nccl.clear();
  const auto open = advise(job);
  EXPECT_TRUE(says(*open, "net.gid-auto"));
  EXPECT_TRUE(says(*open, "net.gid-old"));
  const auto line =
      std::ranges::find_if(open->lines, [](const auto& one) { return one.text->id == "net.gid-old"; });
  EXPECT_TRUE(line->version_open);
  job.network = Network::kInfiniBand;
  EXPECT_TRUE(says(*advise(job), "net.gid-ib"));
}

TEST(Advice, ExpertsAcrossNodesAreNamed) {
  JobShape job = cluster(64);
  job.expert = 8;
  EXPECT_FALSE(says(*advise(job), "moe.in-node"));
  EXPECT_TRUE(says(*advise(job), "algo.moe"));
  job.expert = 16;
  EXPECT_TRUE(says(*advise(job), "moe.in-node"));
  job.virtual_machine = true;
  EXPECT_TRUE(says(*advise(job), "topo.vm"));
}

TEST(Advice, NumbersThatDoNotDivideAreRefused) {
  JobShape job = cluster(8);
  job.tensor = 3;
  EXPECT_EQ(advise(job).error().message,
            "8 GPUs do not divide into 3 tensor-parallel x 1 pipeline-parallel ranks");
  job.tensor = 4;
  job.expert = 3;
  EXPECT_EQ(advise(job).error().message, "2 data-parallel ranks do not divide into expert groups of 3");
}

TEST(Advice, ParametersAreRead) {
  EXPECT_EQ(parse_parameters("7B"), 7e9);
  EXPECT_EQ(parse_parameters("1.5t"), 1.5e12);
  EXPECT_EQ(parse_parameters("350M"), 3.5e8);
  EXPECT_EQ(parse_parameters("70e9"), 70e9);
  EXPECT_FALSE(parse_parameters("").has_value());
  EXPECT_FALSE(parse_parameters("-7B").has_value());
  EXPECT_FALSE(parse_parameters("big").has_value());
  EXPECT_FALSE(parse_parameters("1e30").has_value());
}

TEST(Advice, EveryCellHasAScenarioAndAStatus) {
  for (const auto& cell : knowledge::scenario_cells()) {
    EXPECT_TRUE(std::ranges::any_of(knowledge::scenarios(),
                                    [&](const auto& one) { return one.id == cell.scenario; }));
    EXPECT_TRUE(cell.status == "measured" || cell.status == "documented" || cell.status == "heuristic")
        << cell.topic;
  }
  for (const auto& text : knowledge::advice_texts())
    EXPECT_TRUE(text.status == "measured" || text.status == "documented" || text.status == "heuristic")
        << text.id;
}

TEST(Advice, ConditionsAreWordsOfJobs) {
  const std::vector<std::string_view> known = {
      "training", "inference", "single-node", "multi-node", "two-nodes", "pcie",
      "nvlink",   "nvswitch",  "ib",          "rdma",       "roce",      "ethernet",
      "efa",      "tp",        "moe",         "tp-across",  "ep-across", "vm"};
  for (const auto& text : knowledge::advice_texts())
    for (std::string_view word : split_words(text.when)) {
      if (word.starts_with('!')) word.remove_prefix(1);
      EXPECT_NE(std::ranges::find(known, word), known.end()) << text.id << " asks for " << word;
    }
}

TEST(GpuNamed, FindsTheOnlyModelThatFits) {
  const auto match = [](std::string_view name) {
    const auto model = gpu_named(name);
    return model ? std::string((*model)->match) : model.error().message;
  };
  EXPECT_EQ(match("H100"), "H100");
  EXPECT_EQ(match("RTX 4090"), "GeForce RTX 4090");
  EXPECT_EQ(match("A10"), "NVIDIA A10");
  EXPECT_EQ(match("L40S"), "NVIDIA L40");
  EXPECT_EQ(match("t4"), "Tesla T4");
  EXPECT_EQ(match("A100"), "--gpu \"A100\" may be several models: A100 80GB PCIe, A100-PCI, A100-SXM");
  EXPECT_EQ(match("V100"), "--gpu \"V100\" may be several models: V100-PCIE, V100-SXM2, V100-SXM3");
  EXPECT_EQ(match("K9"), "--gpu \"K9\" is no GPU of the table");
  EXPECT_EQ(match(""), "--gpu \"\" is no GPU of the table");
}

TEST(Advice, HardwareComesFromASnapshot) {
  const auto known = [](auto value) { return model::Observed<decltype(value)>::known(value, {}); };
  model::Machine machine;
  for (int i = 0; i < 4; ++i) {
    model::Gpu& gpu = machine.gpus.emplace_back();
    gpu.name = known(std::string("NVIDIA A100-SXM4-80GB"));
    gpu.links.push_back({.index = 0,
                         .state = model::LinkState::kActive,
                         .version = {},
                         .peer_kind = model::PeerKind::kSwitch,
                         .peer = {},
                         .crc_errors = {},
                         .replays = {},
                         .recoveries = {}});
  }
  for (const double rate : {200e9, 200e9, 25e9}) {
    model::RdmaPort port;
    port.state = known(std::string("ACTIVE"));
    port.rate = known(BitsPerSecond{rate});
    port.link_layer = model::LinkLayer::kInfiniBand;
    machine.rdma.emplace_back().ports.push_back(std::move(port));
  }
  machine.software.libraries = {{"libnccl.so.2", "/usr/lib/libnccl.so.2.20.5", "2.20.5", {}}};
  JobShape job;
  describe_hardware(machine, job);
  EXPECT_EQ(job.nccl, "2.20.5");
  EXPECT_EQ(job.gpus_per_node, 4U);
  EXPECT_EQ(job.link, IntraLink::kNvswitch);
  EXPECT_EQ(job.adapters, 2U);  // the slow port is for something else
  EXPECT_EQ(job.adapter_gbits, 200);
  EXPECT_EQ(job.network, Network::kInfiniBand);
}

}  // namespace
}  // namespace angio::plan
