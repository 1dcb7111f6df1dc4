// Planted faults are found and named, and healthy meshes are silent: 1,000 of them.
#include "mesh/analysis.hpp"

#include <gtest/gtest.h>

#include "mesh/test_mesh.hpp"

namespace angio::mesh {
namespace {

using model::MeshResult;
using model::MeshTransport;
using test::Fault;
using test::has_held;
using test::is_undecided;
using test::make_mesh;
using test::MeshSpec;
using test::only_title;
using test::rules_of;

model::MeshReport judge(MeshResult result) {
  return analyse(result);
}

Fault slow_host(std::uint32_t host, double factor) {
  return [=](auto from, auto, auto to, auto) { return from == host || to == host ? factor : 1.0; };
}

TEST(HealthyMeshes, AreSilentAThousandTimes) {
  std::uint32_t meshes = 0;
  for (std::uint32_t seed = 1; meshes < 1000; ++seed) {
    for (const std::uint32_t hosts : {2U, 3U, 4U, 5U, 8U, 13U, 24U}) {
      MeshSpec spec;
      spec.hosts = hosts;
      spec.seed = seed * 31 + hosts;
      spec.rails = seed % 3 == 0 ? 2 : 1;
      spec.partners = hosts > 12 && seed % 2 == 0 ? 4 : 0;
      spec.transport = seed % 2 == 0 ? MeshTransport::kTcp : MeshTransport::kRdma;
      const auto report = judge(make_mesh(spec));
      EXPECT_EQ(only_title(report), "") << hosts << " hosts, seed " << seed;
      ++meshes;
    }
  }
}

// Neighbours on one host share their CPUs: a noisy mesh has wide limits, not many findings.
TEST(HealthyMeshes, AreSilentWhereTheyScatterWidely) {
  for (std::uint32_t seed = 1; seed <= 200; ++seed) {
    MeshSpec spec;
    spec.hosts = 6 + seed % 12;
    spec.noise = 0.2;
    spec.seed = seed;
    spec.transport = MeshTransport::kTcp;
    spec.reached = 0.3;
    EXPECT_EQ(only_title(judge(make_mesh(spec))), "") << seed;
  }
}

TEST(PlantedFaults, EverySlowHostIsNamedAndNobodyElse) {
  for (std::uint32_t seed = 1; seed <= 100; ++seed) {
    MeshSpec spec;
    spec.hosts = 4 + seed % 29;
    spec.seed = seed;
    const std::uint32_t slow = seed % spec.hosts;
    const auto report = judge(make_mesh(spec, slow_host(slow, 0.6)));
    ASSERT_EQ(rules_of(report), std::set<std::string>{"mesh.host.slow"}) << seed << "\n"
                                                                         << only_title(report);
    ASSERT_EQ(report.findings.size(), 1U);
    EXPECT_EQ(report.findings[0].devices, std::vector<std::string>{"n" + std::to_string(slow)});
    EXPECT_NE(report.findings[0].title.find("sending and receiving"), std::string::npos);
  }
}

TEST(PlantedFaults, TwoSlowHostsAndASlowPathTogether) {
  MeshSpec spec;
  spec.hosts = 16;
  const auto report = judge(make_mesh(spec, [](auto from, auto, auto to, auto) {
    if (from == 2 || to == 2) return 0.5;
    if (from == 9) return 0.7;
    return (from == 4 && to == 5) || (from == 5 && to == 4) ? 0.3 : 1.0;
  }));
  EXPECT_EQ(rules_of(report), (std::set<std::string>{"mesh.host.slow", "mesh.path.slow"}));
  ASSERT_EQ(report.findings.size(), 3U) << only_title(report);
  EXPECT_TRUE(report.findings[0].title.ends_with("is slow over RDMA: 29 % of what both reach with others"));
  EXPECT_EQ(report.findings[0].devices.size(), 2U);
}

TEST(PlantedFaults, ASampleOfPartnersIsEnough) {
  for (std::uint32_t seed = 1; seed <= 20; ++seed) {
    MeshSpec spec;
    spec.hosts = 200;
    spec.partners = 6;
    spec.seed = seed;
    const auto report = judge(make_mesh(spec, slow_host(seed * 7, 0.5)));
    ASSERT_EQ(report.findings.size(), 1U) << only_title(report);
    EXPECT_EQ(report.findings[0].devices, std::vector<std::string>{"n" + std::to_string(seed * 7)});
  }
}

TEST(PlantedFaults, SlowerPortsAreNoFaultWhereTheyAreKnown) {
  MeshSpec spec;
  spec.hosts = 8;
  MeshResult result = make_mesh(spec, slow_host(3, 0.5));
  result.hosts[3].rdma[0].rate = BitsPerSecond{100e9};
  EXPECT_EQ(only_title(judge(result)), "");
}

// CPUs bound TCP long before a fast port does: half of the hosts at 40 of 100 Gb/s are not slower than the
// others at 9.4 of 10.
TEST(HealthyMeshes, AreSilentWhereTcpFillsTheSlowPortsAlone) {
  for (const std::uint32_t fast : {4U, 7U}) {
    MeshSpec spec;
    spec.transport = MeshTransport::kTcp;
    spec.rate = 100e9;
    spec.reached = 0.4;
    MeshResult result = make_mesh(spec);
    for (std::uint32_t host = fast; host < spec.hosts; ++host)
      result.hosts[host].tcp[0].rate = BitsPerSecond{10e9};
    for (auto& measure : result.measures) {
      if (measure.from >= fast || measure.to >= fast) measure.bandwidth = BitsPerSecond{9.4e9};
    }
    EXPECT_EQ(only_title(judge(result)), "") << fast;
  }
}

// One pair in seven meets a burst of somebody else's, of any size.
TEST(HealthyMeshes, NameNoPathWhereOtherTrafficPasses) {
  std::uint32_t named = 0;
  std::uint32_t undecided = 0;
  for (std::uint32_t seed = 1; seed <= 100; ++seed) {
    MeshSpec spec;
    spec.hosts = 12 + seed % 10;
    spec.seed = seed;
    spec.rates = false;
    spec.transport = MeshTransport::kTcp;
    MeshResult result = make_mesh(spec);
    std::mt19937 random(seed);
    for (auto& measure : result.measures) {
      const double burst = static_cast<double>(random() % 1000) / 1000;
      if (random() % 7 == 0) measure.bandwidth = *measure.bandwidth * (1 - 0.7 * burst);
    }
    const auto report = judge(result);
    named += rules_of(report).empty() ? 0U : 1U;
    undecided += is_undecided(report, "mesh.path.slow") ? 1U : 0U;
  }
  EXPECT_LE(named, 3U);
  EXPECT_GE(undecided, 97U);
}

// Of three hosts each has two partners: neither noise nor one direction names one of them.
TEST(HealthyMeshes, OfThreeHostsAreSilentIfNoisy) {
  std::uint32_t named = 0;
  for (std::uint32_t seed = 1; seed <= 200; ++seed) {
    MeshSpec spec;
    spec.hosts = 3;
    spec.noise = 0.1;
    spec.seed = seed;
    spec.transport = MeshTransport::kTcp;
    spec.rates = false;
    named += rules_of(judge(make_mesh(spec))).empty() ? 0U : 1U;
  }
  EXPECT_EQ(named, 0U);
}

TEST(PlantedFaults, SmallMessagesAreNoFault) {
  MeshSpec spec;
  spec.reached = 0.05;
  MeshResult result = make_mesh(spec);
  for (auto& measure : result.measures)
    measure.message = Bytes{512};
  EXPECT_EQ(only_title(judge(result)), "");
  EXPECT_TRUE(is_undecided(judge(result), "mesh.bandwidth.below-hardware"));
  // One pair alone was tested with small ones.
  result = make_mesh({}, [](auto from, auto, auto to, auto) { return from == 0 && to == 1 ? 0.02 : 1.0; });
  for (auto& measure : result.measures)
    measure.message = Bytes{measure.from == 0 && measure.to == 1 ? 64U : 1048576U};
  EXPECT_EQ(only_title(judge(result)), "");
}

// ---- one suite for each rule

TEST(MeshHostLost, FiresForEachHostThatWent) {
  MeshResult result = make_mesh({});
  result.hosts[3].trouble = "it vanished: the connection was closed";
  result.hosts[5].tested = false;
  result.hosts[5].trouble = "it did not come";
  const auto report = judge(result);
  ASSERT_EQ(report.findings.size(), 2U);
  EXPECT_EQ(report.findings[0].title, "n3 is not usable: it vanished: the connection was closed");
  EXPECT_EQ(report.findings[0].severity, model::Severity::kCritical);
  EXPECT_EQ(report.findings[1].evidence[0].text, "it never took part");
}

TEST(MeshHostLost, SilentForHostsOfAnotherRun) {
  MeshResult result = make_mesh({});
  result.hosts[3].trouble = "it is not among the hosts of this run";
  EXPECT_EQ(only_title(judge(result)), "");
  EXPECT_TRUE(has_held(judge(result), "mesh.host.lost"));
}

// no undecided: whether a host answered is always known
TEST(MeshHostLost, UndecidedNeverHoldsForAHealthyMesh) {
  EXPECT_FALSE(is_undecided(judge(make_mesh({})), "mesh.host.lost"));
}

void fail(model::MeshMeasure& measure, const std::string& trouble) {
  measure.state = model::MeshState::kFailed;
  measure.trouble = trouble;
  measure.bandwidth.reset();
  measure.latency_us.reset();
}

TEST(MeshPairFailed, FiresOnceForTheSameWords) {
  MeshResult result = make_mesh({});
  for (auto& measure : result.measures) {
    if (measure.from == 2 || measure.to == 2)
      fail(measure, "Couldn't connect to 10.0.0." + std::to_string(measure.from));
  }
  const auto report = judge(result);
  ASSERT_EQ(report.findings.size(), 1U) << only_title(report);
  EXPECT_EQ(report.findings[0].title, "14 of 56 directions over RDMA failed, all with n2");
}

TEST(MeshPairFailed, FiresForOnePair) {
  MeshResult result = make_mesh({});
  for (auto& measure : result.measures) {
    if (measure.from == 2 && measure.to == 6) fail(measure, "no data came");
  }
  EXPECT_EQ(only_title(judge(result)), "1 of 56 directions over RDMA failed, n2 to n6");
}

TEST(MeshPairFailed, SilentForPairsOfALostHost) {
  MeshResult result = make_mesh({});
  result.hosts[2].trouble = "it vanished";
  for (auto& measure : result.measures) {
    if (measure.from == 2 || measure.to == 2) fail(measure, "n2: it vanished");
  }
  EXPECT_EQ(rules_of(judge(result)), std::set<std::string>{"mesh.host.lost"});
}

// no undecided: what was not tried has not failed
TEST(MeshPairFailed, UndecidedNeverMissingPairsAreNoFailures) {
  MeshResult result = make_mesh({});
  for (auto& measure : result.measures) {
    if (measure.from == 2) measure = {};
  }
  EXPECT_FALSE(is_undecided(judge(result), "mesh.pair.failed"));
  EXPECT_TRUE(has_held(judge(result), "mesh.pair.failed"));
}

TEST(MeshHostSlow, FiresForOneDirection) {
  const auto sends = judge(make_mesh({}, [](auto from, auto, auto, auto) { return from == 3 ? 0.5 : 1.0; }));
  ASSERT_EQ(sends.findings.size(), 1U) << only_title(sends);
  EXPECT_NE(sends.findings[0].title.find("n3 is slow sending over RDMA: 5"), std::string::npos)
      << sends.findings[0].title;
  const auto receives = judge(make_mesh({}, [](auto, auto, auto to, auto) { return to == 3 ? 0.5 : 1.0; }));
  ASSERT_EQ(receives.findings.size(), 1U) << only_title(receives);
  EXPECT_NE(receives.findings[0].title.find("n3 is slow receiving over RDMA"), std::string::npos);
}

TEST(MeshHostSlow, FiresWithThreeHosts) {
  MeshSpec spec;
  spec.hosts = 3;
  const auto report = judge(make_mesh(spec, slow_host(2, 0.5)));
  ASSERT_EQ(report.findings.size(), 1U) << only_title(report);
  EXPECT_EQ(report.findings[0].devices, std::vector<std::string>{"n2"});
}

TEST(MeshHostSlow, FiresForTheHostWhenAllItsNicsAreSlow) {
  MeshSpec spec;
  spec.rails = 4;
  const auto report = judge(make_mesh(spec, slow_host(6, 0.6)));
  ASSERT_EQ(report.findings.size(), 1U) << only_title(report);
  EXPECT_EQ(report.findings[0].rule, "mesh.host.slow");
  EXPECT_EQ(report.findings[0].devices, std::vector<std::string>{"n6"});
}

TEST(MeshHostSlow, SilentJustAboveTheLimit) {
  EXPECT_EQ(only_title(judge(make_mesh({}, slow_host(3, 0.92)))), "");
}

TEST(MeshHostSlow, UndecidedBetweenTwoHosts) {
  MeshSpec spec;
  spec.hosts = 2;
  EXPECT_TRUE(is_undecided(judge(make_mesh(spec)), "mesh.host.slow"));
}

TEST(MeshNicSlow, FiresForTheOneOfSeveral) {
  MeshSpec spec;
  spec.rails = 4;
  const auto report = judge(make_mesh(spec, [](auto from, auto nic, auto to, auto) {
    return nic == 2 && (from == 5 || to == 5) ? 0.5 : 1.0;
  }));
  ASSERT_EQ(report.findings.size(), 1U) << only_title(report);
  EXPECT_EQ(report.findings[0].rule, "mesh.nic.slow");
  EXPECT_EQ(report.findings[0].devices, std::vector<std::string>{"n5 mlx5_2"});
}

TEST(MeshNicSlow, SilentOnAHealthyMeshOfFourRails) {
  MeshSpec spec;
  spec.rails = 4;
  EXPECT_TRUE(has_held(judge(make_mesh(spec)), "mesh.nic.slow"));
}

TEST(MeshNicSlow, UndecidedBetweenTwoHosts) {
  MeshSpec spec;
  spec.hosts = 2;
  spec.rails = 2;
  EXPECT_TRUE(is_undecided(judge(make_mesh(spec)), "mesh.nic.slow"));
}

Fault slow_rail(std::uint32_t rail) {
  return [=](auto, auto nic, auto, auto) { return nic == rail ? 0.5 : 1.0; };
}

TEST(MeshRailSlow, FiresForTheRailAndNotItsHosts) {
  MeshSpec spec;
  spec.rails = 2;
  const auto report = judge(make_mesh(spec, slow_rail(1)));
  ASSERT_EQ(report.findings.size(), 1U) << only_title(report);
  EXPECT_EQ(report.findings[0].rule, "mesh.rail.slow");
  EXPECT_NE(report.findings[0].title.find("Rail 1 is slow on all hosts over RDMA"), std::string::npos);
}

// A leaf of the rail, not the rail: as many paths as it has are said to be slow.
TEST(MeshRailSlow, SaysHowManyPathsOfIt) {
  MeshSpec spec;
  spec.hosts = 16;
  spec.rails = 2;
  const auto report = judge(make_mesh(
      spec, [](auto from, auto nic, auto to, auto) { return nic == 1 && (from < 8 || to < 8) ? 0.5 : 1.0; }));
  ASSERT_EQ(report.findings.size(), 1U) << only_title(report);
  EXPECT_NE(report.findings[0].title.find("Rail 1 is slow on 184 of 240 paths over RDMA"), std::string::npos)
      << report.findings[0].title;
}

TEST(MeshRailSlow, SilentOnAHealthyMesh) {
  MeshSpec spec;
  spec.rails = 2;
  EXPECT_TRUE(has_held(judge(make_mesh(spec)), "mesh.rail.slow"));
}

TEST(MeshRailSlow, UndecidedWhereRatesAreUnknown) {
  MeshSpec spec;
  spec.rails = 2;
  spec.rates = false;
  const auto report = judge(make_mesh(spec, slow_rail(1)));
  EXPECT_TRUE(is_undecided(report, "mesh.rail.slow"));
  EXPECT_EQ(only_title(report), "");
}

TEST(MeshPathSlow, FiresForOneDirection) {
  const auto report =
      judge(make_mesh({}, [](auto from, auto, auto to, auto) { return from == 1 && to == 6 ? 0.4 : 1.0; }));
  ASSERT_EQ(report.findings.size(), 1U) << only_title(report);
  EXPECT_EQ(report.findings[0].rule, "mesh.path.slow");
  EXPECT_NE(report.findings[0].title.find("The path from n1 to n6 is slow"), std::string::npos);
}

TEST(MeshPathSlow, SilentForTheWholeHost) {
  EXPECT_TRUE(has_held(judge(make_mesh({}, slow_host(1, 0.4))), "mesh.path.slow"));
}

TEST(MeshPathSlow, UndecidedBetweenTwoHosts) {
  MeshSpec spec;
  spec.hosts = 2;
  EXPECT_TRUE(is_undecided(judge(make_mesh(spec)), "mesh.path.slow"));
}

TEST(MeshTrunkSlow, FiresForGroups) {
  for (const std::uint32_t group : {2U, 4U, 8U}) {
    MeshSpec spec;
    spec.hosts = 16;
    const auto report = judge(make_mesh(
        spec, [=](auto from, auto, auto to, auto) { return from / group == to / group ? 1.0 : 0.5; }));
    ASSERT_EQ(report.findings.size(), 1U) << group << "\n" << only_title(report);
    EXPECT_EQ(report.findings[0].rule, "mesh.trunk.slow");
    EXPECT_EQ(report.findings[0].devices.size(), 16 / group);
  }
}

TEST(MeshTrunkSlow, FiresForOneDirection) {
  const auto report =
      judge(make_mesh({}, [](auto from, auto, auto to, auto) { return from < 4 && to >= 4 ? 0.5 : 1.0; }));
  ASSERT_EQ(report.findings.size(), 1U) << only_title(report);
  EXPECT_EQ(report.findings[0].rule, "mesh.trunk.slow");
  EXPECT_TRUE(report.findings[0].title.starts_with("n[0-3] reaches the other hosts at "))
      << report.findings[0].title;
  EXPECT_TRUE(report.findings[0].title.ends_with("over RDMA; the way back is as usual"));
}

TEST(MeshPathSlow, TwoPathsOfSixHostsAreNamed) {
  MeshSpec spec;
  spec.hosts = 6;
  const auto report = judge(make_mesh(spec, [](auto from, auto, auto to, auto) {
    const auto is = [&](auto a, auto b) { return (from == a && to == b) || (from == b && to == a); };
    return is(0U, 1U) || is(2U, 5U) ? 0.4 : 1.0;
  }));
  EXPECT_EQ(rules_of(report), std::set<std::string>{"mesh.path.slow"});
  EXPECT_EQ(report.findings.size(), 2U) << only_title(report);
}

TEST(MeshTrunkSlow, FiresForUnequalGroupsBesideASlowHost) {
  MeshSpec spec;
  spec.hosts = 14;
  const auto report = judge(make_mesh(spec, [](auto from, auto, auto to, auto) {
    const double trunk = (from < 4) == (to < 4) ? 1.0 : 0.6;
    return from == 9 || to == 9 ? 0.4 : trunk;
  }));
  EXPECT_EQ(rules_of(report), (std::set<std::string>{"mesh.trunk.slow", "mesh.host.slow"}))
      << only_title(report);
}

TEST(MeshTrunkSlow, SilentForSlowHosts) {
  const auto report =
      judge(make_mesh({}, [](auto from, auto, auto to, auto) { return from < 2 || to < 2 ? 0.5 : 1.0; }));
  EXPECT_EQ(rules_of(report), std::set<std::string>{"mesh.host.slow"}) << only_title(report);
}

TEST(MeshTrunkSlow, UndecidedBetweenTwoHosts) {
  MeshSpec spec;
  spec.hosts = 2;
  EXPECT_TRUE(is_undecided(judge(make_mesh(spec)), "mesh.trunk.slow"));
}

TEST(MeshLatencyHigh, FiresForTheHost) {
  const auto report = judge(
      make_mesh({}, {}, [](auto from, auto, auto to, auto) { return from == 4 || to == 4 ? 3.0 : 1.0; }));
  ASSERT_EQ(report.findings.size(), 1U) << only_title(report);
  EXPECT_EQ(report.findings[0].rule, "mesh.latency.high");
  EXPECT_EQ(report.findings[0].devices, std::vector<std::string>{"n4"});
}

// Two switch levels more are no fault of a pair.
TEST(MeshLatencyHigh, SilentForFarPairs) {
  const auto report = judge(
      make_mesh({}, {}, [](auto from, auto, auto to, auto) { return (from < 4) == (to < 4) ? 1.0 : 2.2; }));
  EXPECT_EQ(only_title(report), "");
}

TEST(MeshLatencyHigh, UndecidedBetweenTwoHosts) {
  MeshSpec spec;
  spec.hosts = 2;
  EXPECT_TRUE(is_undecided(judge(make_mesh(spec)), "mesh.latency.high"));
}

TEST(MeshBandwidthBelowHardware, FiresForTheWholeMesh) {
  MeshSpec spec;
  spec.reached = 0.5;
  const auto report = judge(make_mesh(spec));
  ASSERT_EQ(report.findings.size(), 1U) << only_title(report);
  EXPECT_EQ(report.findings[0].rule, "mesh.bandwidth.below-hardware");
  EXPECT_NE(report.findings[0].evidence[2].text.find("limit: port of n"), std::string::npos);
}

TEST(MeshBandwidthBelowHardware, SilentAtWhatPortsGive) {
  EXPECT_TRUE(has_held(judge(make_mesh({})), "mesh.bandwidth.below-hardware"));
}

TEST(MeshBandwidthBelowHardware, UndecidedWithoutRates) {
  MeshSpec spec;
  spec.rates = false;
  EXPECT_TRUE(is_undecided(judge(make_mesh(spec)), "mesh.bandwidth.below-hardware"));
}

TEST(MeshBandwidthImpossible, FiresForAnErrorOfUnits) {
  MeshSpec spec;
  spec.reached = 7.6;
  const auto report = judge(make_mesh(spec));
  ASSERT_FALSE(report.findings.empty());
  EXPECT_EQ(rules_of(report), std::set<std::string>{"mesh.bandwidth.impossible"}) << only_title(report);
  EXPECT_NE(report.findings[0].title.find("cannot go through a port of 200 Gb/s"), std::string::npos)
      << report.findings[0].title;
}

// What limits may be PCIe: the port is named all the same.
TEST(MeshBandwidthImpossible, NamesThePortAndNotPcie) {
  MeshSpec spec;
  spec.reached = 7.6;
  MeshResult result = make_mesh(spec);
  for (auto& host : result.hosts) {
    host.rdma[0].pcie = BytesPerSecond{15.754e9};
    host.rdma[0].pcie_words = "8 GT/s x16";
  }
  const auto report = judge(result);
  ASSERT_FALSE(report.findings.empty());
  EXPECT_TRUE(report.findings[0].title.ends_with("cannot go through a port of 200 Gb/s"))
      << report.findings[0].title;
}

TEST(MeshBandwidthImpossible, SilentAtTheLineAndForTwoNamesOfOneHost) {
  EXPECT_TRUE(has_held(judge(make_mesh({})), "mesh.bandwidth.impossible"));
  MeshSpec spec;
  spec.transport = MeshTransport::kTcp;
  spec.reached = 5;
  MeshResult result = make_mesh(spec);
  for (auto& host : result.hosts)
    host.host_name = "one";
  EXPECT_EQ(only_title(judge(result)), "");
}

TEST(MeshBandwidthImpossible, UndecidedWithoutRates) {
  MeshSpec spec;
  spec.rates = false;
  EXPECT_TRUE(is_undecided(judge(make_mesh(spec)), "mesh.bandwidth.impossible"));
}

MeshResult with_tcp(double rate) {
  MeshResult result = make_mesh({});
  result.plan.tcp = true;
  const auto measures = result.measures;
  for (model::MeshMeasure measure : measures) {
    measure.transport = MeshTransport::kTcp;
    measure.bandwidth = BitsPerSecond{rate};
    measure.latency_us = 20;
    result.measures.push_back(measure);
  }
  return result;
}

TEST(MeshRdmaSlowerThanTcp, FiresForSoftwareRdma) {
  const auto report = judge(with_tcp(400e9));
  EXPECT_TRUE(rules_of(report).contains("mesh.rdma.slower-than-tcp")) << only_title(report);
}

TEST(MeshRdmaSlowerThanTcp, SilentWhereRdmaIsFaster) {
  const auto report = judge(with_tcp(40e9));
  EXPECT_EQ(only_title(report), "");
  EXPECT_TRUE(has_held(report, "mesh.rdma.slower-than-tcp"));
}

TEST(MeshRdmaSlowerThanTcp, UndecidedWithoutAPairOfBoth) {
  MeshResult result = make_mesh({});
  result.plan.tcp = true;
  EXPECT_TRUE(is_undecided(judge(result), "mesh.rdma.slower-than-tcp"));
}

}  // namespace
}  // namespace angio::mesh
