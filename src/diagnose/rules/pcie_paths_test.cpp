#include <gtest/gtest.h>

#include <span>

#include "diagnose/test_machines.hpp"

namespace angio::test {
namespace {

constexpr std::uint32_t kHcaPort = 3, kHca = 5;

// Moves the HCA of a group to a root port of its own on another node.
void move_hca(Machine& machine, std::uint32_t group, std::uint32_t node, const std::string& root) {
  PciDevice& card = machine.pci.devices[group * 6 + kHca];
  card.parent.reset();
  card.root_complex = root;
  set(card.numa, NumaId{node});
  set(machine.rdma[group].numa, NumaId{node});
}

Machine all_hcas_on_node_0() {
  Machine machine = dgx_h100();
  for (std::uint32_t i = 4; i < 8; ++i)
    move_hca(machine, i, 0, "pci0000:0" + std::to_string(i));
  return machine;
}

// A matrix as nvidia-smi prints it: GPUs, then cards; same gives the class for each GPU and card.
void state(Machine& machine, std::span<const model::PathClass> nearest) {
  model::StatedPaths stated;
  for (const auto& gpu : machine.gpus)
    stated.devices.push_back({model::DeviceKind::kGpu, gpu.index});
  const std::size_t gpus = machine.gpus.size();
  for (std::uint32_t i = 0; i < machine.rdma.size(); ++i)
    stated.devices.push_back({model::DeviceKind::kRdma, i});
  const std::size_t size = stated.devices.size();
  stated.cells.assign(size * size, {model::PathClass::kPix, 0, {}});
  for (std::size_t i = 0; i < gpus; ++i) {
    for (std::size_t j = gpus; j < size; ++j)
      stated.cells[i * size + j] = stated.cells[j * size + i] = model::Path{nearest[i], 0, {}};
  }
  stated.source = at("topo.txt");
  machine.stated_paths = std::move(stated);
  machine.pci.devices.clear();
  for (auto& gpu : machine.gpus)
    gpu.pci.reset();
  for (auto& nic : machine.rdma)
    nic.pci.reset();
  for (auto& nic : machine.rdma)
    nic.numa = {};
  machine.software.virtual_machine = {};
}

TEST(PcieNicFarFromGpu, FiresWhenAllCardsAreOnOneSocket) {
  const auto found = findings_of(all_hcas_on_node_0(), "pcie.nic.far-from-gpu");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].severity, model::Severity::kWarning);
  EXPECT_EQ(found[0].title,
            "GPU 4, GPU 5, GPU 6, GPU 7 reach an RDMA card only over the link between the sockets");
  EXPECT_EQ(found[0].evidence[0].text, "GPU 4 on node 1, nearest card mlx5_0 on node 0: SYS");
  EXPECT_DOUBLE_EQ(found[0].rank, 0.5);
  ASSERT_EQ(found[0].fixes.size(), 1U);
  EXPECT_TRUE(found[0].fixes[0].needs_reboot);
}

TEST(PcieNicFarFromGpu, FiresWithNcclsFigureForTheSockets) {
  Machine machine = all_hcas_on_node_0();
  set(machine.cpus.model.family, 6U);
  set(machine.cpus.model.model, 143U);
  const auto found = findings_of(machine, "pcie.nic.far-from-gpu");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].cost.text,
            "at most 22 GB/s between the sockets, as NCCL counts it, for 50 GB/s of network");
}

TEST(PcieNicFarFromGpu, FiresOnAStatedMatrix) {
  Machine machine = dgx_h100();
  machine.rdma.resize(2);
  for (auto& gpu : machine.gpus)
    set(gpu.numa, NumaId{0});
  state(machine, std::vector<model::PathClass>(8, model::PathClass::kSys));
  const auto found = findings_of(machine, "pcie.nic.far-from-gpu");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].severity, model::Severity::kWarning);
  EXPECT_EQ(found[0].title, "Every GPU reaches its nearest RDMA card only over the link between the sockets");
}

TEST(PcieNicFarFromGpu, FiresAsInfoForOneCardBetweenTwoSockets) {
  Machine machine = dgx_h100();
  machine.rdma.resize(1);
  const auto found = findings_of(machine, "pcie.nic.far-from-gpu");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].severity, model::Severity::kInfo);
  EXPECT_EQ(found[0].devices.size(), 4U);
}

TEST(PcieNicFarFromGpu, FiresAsInfoWhereSysMayBeWithinOneSocket) {
  Machine machine = all_hcas_on_node_0();
  machine.cpus.packages.clear();
  machine.numa.nodes.push_back(machine.numa.nodes[1]);
  machine.numa.nodes.back().id = NumaId{2};
  const auto found = findings_of(machine, "pcie.nic.far-from-gpu");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].severity, model::Severity::kInfo);
  EXPECT_EQ(found[0].title, "GPU 4, GPU 5, GPU 6, GPU 7 reach an RDMA card only on another NUMA node");
}

TEST(PcieNicFarFromGpu, SilentBetweenNodesOfOneSocket) {
  Machine machine = all_hcas_on_node_0();
  machine.cpus.packages = {{0, machine.cpus.online}};
  EXPECT_TRUE(held(machine, "pcie.nic.far-from-gpu"));
}

TEST(PcieNicFarFromGpu, SilentOnHealthyAndCoherentMachines) {
  EXPECT_TRUE(held(dgx_h100(), "pcie.nic.far-from-gpu"));
  EXPECT_TRUE(not_applicable(plain_host(), "pcie.nic.far-from-gpu"));
  Machine machine = all_hcas_on_node_0();
  for (auto& gpu : machine.gpus)
    set(gpu.coherent_link, true);
  EXPECT_TRUE(not_applicable(machine, "pcie.nic.far-from-gpu"));
}

TEST(PcieNicFarFromGpu, UndecidedWhenTheCardIsFarFromEverySocket) {
  Machine machine = dgx_h100();
  machine.rdma.resize(1);
  state(machine, std::vector<model::PathClass>(8, model::PathClass::kSys));
  EXPECT_TRUE(findings_of(machine, "pcie.nic.far-from-gpu").empty());
  EXPECT_EQ(undecided_of(machine, "pcie.nic.far-from-gpu").size(), 1U);
}

TEST(PcieNicFarFromGpu, UndecidedWithoutNodes) {
  Machine machine = all_hcas_on_node_0();
  for (auto& each : machine.pci.devices)
    deny(each.numa);
  for (auto& nic : machine.rdma)
    deny(nic.numa);
  for (auto& gpu : machine.gpus)
    deny(gpu.numa);
  EXPECT_TRUE(findings_of(machine, "pcie.nic.far-from-gpu").empty());
  EXPECT_EQ(undecided_of(machine, "pcie.nic.far-from-gpu").size(), 1U);
}

TEST(PcieNicNoCommonSwitch, FiresAsInfo) {
  Machine machine = dgx_h100();
  move_hca(machine, 0, 0, "pci0000:10");  // beside the switch, below the same host bridge
  machine.rdma.erase(machine.rdma.begin() + 1, machine.rdma.end());
  machine.gpus.resize(1);
  const auto found = findings_of(machine, "pcie.nic.no-common-switch");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].severity, model::Severity::kInfo);
  EXPECT_EQ(found[0].title, "GPU 0 shares no PCIe switch with an RDMA card");
  EXPECT_EQ(found[0].evidence[0].text, "GPU 0 to mlx5_0: PHB");
}

TEST(PcieNicNoCommonSwitch, FiresAsWarningOnTheOddOneOut) {
  Machine machine = dgx_h100();
  move_hca(machine, 0, 0, "pci0000:10");
  const auto found = findings_of(machine, "pcie.nic.no-common-switch");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].severity, model::Severity::kWarning);
  EXPECT_EQ(found[0].title, "GPU 0 shares no PCIe switch with an RDMA card; the other 7 GPUs do");
}

TEST(PcieNicNoCommonSwitch, SilentBelowASwitch) {
  EXPECT_TRUE(held(dgx_h100(), "pcie.nic.no-common-switch"));
  EXPECT_TRUE(not_applicable(plain_host(), "pcie.nic.no-common-switch"));
}

TEST(PcieNicNoCommonSwitch, UndecidedWithoutATree) {
  Machine machine = dgx_h100();
  for (auto& gpu : machine.gpus)
    gpu.pci.reset();
  EXPECT_EQ(undecided_of(machine, "pcie.nic.no-common-switch").size(), 1U);
}

TEST(PcieGpuUnbalanced, FiresOnFiveAndThree) {
  Machine machine = dgx_h100();
  set(machine.gpus[4].numa, NumaId{0});
  const auto found = findings_of(machine, "pcie.gpu.unbalanced");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].severity, model::Severity::kInfo);
  EXPECT_EQ(found[0].title, "GPUs are spread unevenly: 5 on socket 0, 3 on socket 1");
  EXPECT_DOUBLE_EQ(found[0].rank, 0.25);
}

TEST(PcieGpuUnbalanced, SilentOnFourAndFourAndOnAllTogether) {
  EXPECT_TRUE(held(dgx_h100(), "pcie.gpu.unbalanced"));
  Machine machine = dgx_h100();
  for (auto& gpu : machine.gpus)
    set(gpu.numa, NumaId{0});
  EXPECT_TRUE(held(machine, "pcie.gpu.unbalanced"));
  EXPECT_TRUE(not_applicable(plain_host(), "pcie.gpu.unbalanced"));
}

TEST(PcieGpuUnbalanced, UndecidedWhenNodesMayShareASocket) {
  Machine machine = dgx_h100();
  machine.cpus.packages.clear();
  machine.numa.nodes.push_back(machine.numa.nodes[1]);
  machine.numa.nodes[2].id = NumaId{2};
  machine.numa.nodes[2].cpus = cpu_range(112, 8);
  set(machine.gpus[7].numa, NumaId{2});
  for (auto& each : machine.pci.devices)
    deny(each.numa);
  EXPECT_TRUE(findings_of(machine, "pcie.gpu.unbalanced").empty());
  EXPECT_EQ(undecided_of(machine, "pcie.gpu.unbalanced").size(), 1U);
}

TEST(PcieGpuUnbalanced, UndecidedWhenANodeIsNotKnown) {
  Machine machine = dgx_h100();
  for (auto& each : machine.pci.devices)
    deny(each.numa);
  deny(machine.gpus[7].numa);
  EXPECT_EQ(undecided_of(machine, "pcie.gpu.unbalanced").size(), 1U);
}

}  // namespace
}  // namespace angio::test
