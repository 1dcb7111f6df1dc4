#include <gtest/gtest.h>

#include "diagnose/test_machines.hpp"

namespace angio::test {
namespace {

void set_distances(Machine& machine, std::vector<std::vector<std::uint32_t>> rows) {
  for (std::size_t i = 0; i < rows.size(); ++i)
    set(machine.numa.nodes[i].distances, rows[i]);
}

TEST(NumaMapsOverlap, Fires) {
  Machine machine = dgx_h100();
  machine.numa.discarded = true;
  const auto found = findings_of(machine, "numa.maps.overlap");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].severity, model::Severity::kWarning);
}

TEST(NumaMapsOverlap, Silent) {
  EXPECT_TRUE(held(dgx_h100(), "numa.maps.overlap"));
  EXPECT_TRUE(not_applicable(plain_host(), "numa.maps.overlap"));
}

// no undecided: whoever read the maps says whether they overlap.
TEST(NumaMapsOverlap, UndecidedIsNotApplicableOnOneNode) {
  EXPECT_TRUE(not_applicable(plain_host(), "numa.maps.overlap"));
}

TEST(NumaDistancesUninformative, FiresOnAllTens) {
  Machine machine = dgx_h100();
  set_distances(machine, {{10, 10}, {10, 10}});
  const auto found = findings_of(machine, "numa.distances.uninformative");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].severity, model::Severity::kWarning);
  EXPECT_EQ(found[0].evidence[0].text, "node 0 to node 1: 10; 10 means local");
  set(machine.software.virtual_machine, std::string("KVM"));
  EXPECT_EQ(findings_of(machine, "numa.distances.uninformative").at(0).severity, model::Severity::kInfo);
}

TEST(NumaDistancesUninformative, SilentOnLocalTensAndMemoryOnlyNodes) {
  EXPECT_TRUE(held(dgx_h100(), "numa.distances.uninformative"));
  Machine machine = dgx_h100();
  model::NumaNode hbm = machine.numa.nodes[1];
  hbm.id = NumaId{2};
  hbm.cpus = {};
  hbm.kind = model::NumaKind::kHighBandwidth;
  machine.numa.nodes.push_back(hbm);
  set_distances(machine, {{10, 21, 10}, {21, 10, 10}, {10, 10, 10}});
  EXPECT_TRUE(held(machine, "numa.distances.uninformative"));
  EXPECT_TRUE(not_applicable(plain_host(), "numa.distances.uninformative"));
}

TEST(NumaDistancesUninformative, UndecidedWhenUnread) {
  Machine machine = dgx_h100();
  deny(machine.numa.nodes[0].distances);
  EXPECT_EQ(undecided_of(machine, "numa.distances.uninformative").size(), 1U);
}

TEST(NumaDistancesAsymmetric, FiresOnce) {
  Machine machine = dgx_h100();
  set_distances(machine, {{10, 21}, {31, 10}});
  const auto found = findings_of(machine, "numa.distances.asymmetric");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].title, "NUMA distances differ by direction for 1 pair of nodes");
  EXPECT_EQ(found[0].evidence[1].text, "node 1 to node 0: 31");
}

TEST(NumaDistancesAsymmetric, Silent) {
  EXPECT_TRUE(held(dgx_h100(), "numa.distances.asymmetric"));
}

TEST(NumaDistancesAsymmetric, UndecidedWhenUnread) {
  Machine machine = dgx_h100();
  deny(machine.numa.nodes[1].distances);
  EXPECT_EQ(undecided_of(machine, "numa.distances.asymmetric").size(), 1U);
}

Machine interleaved() {
  Machine machine = dgx_h100();
  machine.numa.nodes[0].cpus = machine.cpus.online;
  machine.numa.nodes.resize(1);
  return machine;
}

TEST(NumaPackagesOneNode, FiresOnInterleavedSockets) {
  const auto found = findings_of(interleaved(), "numa.packages.one-node");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].title, "2 sockets show as one NUMA node");
  ASSERT_EQ(found[0].fixes.size(), 1U);
  EXPECT_NE(found[0].fixes[0].text.find("firmware"), std::string::npos);
  Machine machine = interleaved();
  set(machine.software.kernel_command_line, std::string("ro numa=off"));
  EXPECT_NE(findings_of(machine, "numa.packages.one-node").at(0).fixes.at(0).command.find("grubby"),
            std::string::npos);
}

TEST(NumaPackagesOneNode, SilentOnNodesAndInGuests) {
  EXPECT_TRUE(held(dgx_h100(), "numa.packages.one-node"));
  Machine machine = interleaved();
  set(machine.software.virtual_machine, std::string("KVM"));
  EXPECT_TRUE(not_applicable(machine, "numa.packages.one-node"));
}

TEST(NumaPackagesOneNode, UndecidedWhenItMayBeAGuest) {
  Machine machine = interleaved();
  deny(machine.software.virtual_machine);
  EXPECT_TRUE(findings_of(machine, "numa.packages.one-node").empty());
  EXPECT_EQ(undecided_of(machine, "numa.packages.one-node").size(), 1U);
}

// Pairs of neighbours are one core: 0 and 1, 2 and 3 …
Machine with_smt() {
  Machine machine = dgx_h100();
  machine.cpus.cores.clear();
  for (std::uint32_t core = 0; core < 56; ++core)
    machine.cpus.cores.push_back({core / 28, core, {}, {}, cpu_range(core * 2, 2)});
  return machine;
}

TEST(NumaCellsCutCores, FiresOnSplitThreads) {
  Machine machine = with_smt();
  // As a guest whose cells count all first threads before the second ones.
  machine.numa.nodes[0].cpus = {};
  machine.numa.nodes[1].cpus = {};
  for (std::uint32_t cpu = 0; cpu < 112; ++cpu)
    machine.numa.nodes[cpu % 2].cpus.insert(cpu);
  const auto found = findings_of(machine, "numa.cells.cut-cores");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].title,
            "NUMA nodes split the threads of cores: nodes and CPU numbers do not fit together");
  EXPECT_EQ(found[0].evidence[1].text, "threads 0-1 are one core");
}

TEST(NumaCellsCutCores, FiresOnCutSockets) {
  Machine machine = dgx_h100();
  machine.numa.nodes[0].cpus = cpu_range(0, 60);
  machine.numa.nodes[1].cpus = cpu_range(60, 52);
  ASSERT_EQ(findings_of(machine, "numa.cells.cut-cores").size(), 1U);
}

TEST(NumaCellsCutCores, SilentOnWholeCoresAndOfflineThreads) {
  EXPECT_TRUE(held(with_smt(), "numa.cells.cut-cores"));
  Machine machine = with_smt();
  machine.cpus.online.erase(1);
  machine.numa.nodes[0].cpus.erase(1);
  EXPECT_TRUE(held(machine, "numa.cells.cut-cores"));
  EXPECT_TRUE(not_applicable(plain_host(), "numa.cells.cut-cores"));
}

// no undecided: without cores the rule has nothing to compare.
TEST(NumaCellsCutCores, UndecidedIsNotApplicableWithoutCores) {
  Machine machine = dgx_h100();
  machine.cpus.cores.clear();
  EXPECT_TRUE(not_applicable(machine, "numa.cells.cut-cores"));
}

TEST(NumaCellsCutCores, FiresWithTheHostsOrTheGuestsFix) {
  Machine machine = dgx_h100();
  machine.numa.nodes[0].cpus = cpu_range(0, 60);
  machine.numa.nodes[1].cpus = cpu_range(60, 52);
  auto found = findings_of(machine, "numa.cells.cut-cores");
  ASSERT_EQ(found.at(0).fixes.size(), 1U);
  EXPECT_NE(found[0].fixes[0].text.find("firmware"), std::string::npos);
  set(machine.software.virtual_machine, std::string("KVM"));
  found = findings_of(machine, "numa.cells.cut-cores");
  ASSERT_EQ(found.at(0).fixes.size(), 1U);
  EXPECT_NE(found[0].fixes[0].text.find("virtual machine's definition"), std::string::npos);
}

TEST(NumaNodeFineGrained, FiresAsInfo) {
  Machine machine = dgx_h100();
  set(machine.numa.nodes_per_package, 4U);
  const auto found = findings_of(machine, "numa.node.fine-grained");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].severity, model::Severity::kInfo);
  EXPECT_EQ(found[0].evidence.size(), 9U);
}

TEST(NumaNodeFineGrained, Silent) {
  EXPECT_TRUE(held(dgx_h100(), "numa.node.fine-grained"));
  EXPECT_TRUE(not_applicable(plain_host(), "numa.node.fine-grained"));
}

TEST(NumaNodeFineGrained, UndecidedWhenUnread) {
  Machine machine = dgx_h100();
  deny(machine.numa.nodes_per_package);
  EXPECT_EQ(undecided_of(machine, "numa.node.fine-grained").size(), 1U);
}

TEST(NumaCpusOffline, Fires) {
  Machine machine = dgx_h100();
  machine.cpus.online.erase(7);
  machine.cpus.online.erase(9);
  const auto found = findings_of(machine, "numa.cpus.offline");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].title, "2 CPUs are offline: 7,9");
  EXPECT_EQ(found[0].severity, model::Severity::kWarning);
  EXPECT_NE(found[0].fixes.at(0).command.find("for 7,9"), std::string::npos);
}

TEST(NumaCpusOffline, SilentWithSmtOffAndOnNumbersNobodyHas) {
  Machine machine = dgx_h100();
  set(machine.cpus.present, cpu_range(0, 224));
  EXPECT_TRUE(held(machine, "numa.cpus.offline"));
  machine = dgx_h100();
  set(machine.cpus.offline, cpu_range(112, 400));
  EXPECT_TRUE(held(machine, "numa.cpus.offline"));
  EXPECT_TRUE(not_applicable(plain_host(), "numa.cpus.offline"));
}

TEST(NumaCpusOffline, UndecidedWhenUnread) {
  Machine machine = dgx_h100();
  deny(machine.cpus.present);
  EXPECT_EQ(undecided_of(machine, "numa.cpus.offline").size(), 1U);
}

}  // namespace
}  // namespace angio::test
