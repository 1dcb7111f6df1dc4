#include <gtest/gtest.h>

#include "diagnose/test_machines.hpp"

namespace angio::test {
namespace {

Machine without_nodes() {
  Machine machine = dgx_h100();
  for (auto& device : machine.pci.devices)
    forget(device.numa);
  for (auto& gpu : machine.gpus)
    forget(gpu.numa);
  for (auto& nic : machine.rdma)
    forget(nic.numa);
  return machine;
}

TEST(NumaDeviceNodeUnknown, FiresOnBareMetal) {
  const auto found = findings_of(without_nodes(), "numa.device.node-unknown");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].severity, model::Severity::kWarning);
  EXPECT_EQ(found[0].devices.size(), 16U);
  EXPECT_EQ(found[0].evidence[0].text, "GPU 0: the kernel knows no node (-1)");
  ASSERT_EQ(found[0].fixes.size(), 1U);
  EXPECT_TRUE(found[0].fixes[0].needs_root);
}

TEST(NumaDeviceNodeUnknown, InAFileOfAnotherToolNobodyAskedTheKernel) {
  Machine machine = without_nodes();
  const std::uint32_t file = machine.places.add("topology.xml");
  for (model::PciDevice& device : machine.pci.devices)
    device.numa = model::Observed<NumaId>::absent({file, 7, ""});
  const auto found = findings_of(machine, "numa.device.node-unknown");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].evidence[0].text, "GPU 0: the file names no NUMA node for it");
  EXPECT_EQ(found[0].evidence[0].source, "topology.xml:7");
}

TEST(NumaDeviceNodeUnknown, FiresAsInfoInAGuestWithTheTopologyFile) {
  Machine machine = without_nodes();
  set(machine.software.virtual_machine, std::string("KVM"));
  const auto found = findings_of(machine, "numa.device.node-unknown");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].severity, model::Severity::kInfo);
  EXPECT_EQ(found[0].fixes.at(0).command, "export NCCL_TOPO_FILE=<file of the provider>");
}

TEST(NumaDeviceNodeUnknown, FiresEvenWhenNvmlKnows) {
  Machine machine = dgx_h100();
  forget(machine.pci.devices[*machine.gpus[2].pci].numa);
  EXPECT_EQ(findings_of(machine, "numa.device.node-unknown").at(0).devices,
            std::vector<std::string>{"GPU 2"});
}

TEST(NumaDeviceNodeUnknown, SilentOnOneNodeAndOnSoftwareDevices) {
  Machine machine = dgx_h100();
  model::RdmaDevice soft;
  soft.name = "rxe0";
  forget(soft.address);
  forget(soft.numa);
  machine.rdma.push_back(soft);
  EXPECT_TRUE(held(machine, "numa.device.node-unknown"));
  machine = without_nodes();
  machine.numa.nodes.resize(1);
  EXPECT_TRUE(not_applicable(machine, "numa.device.node-unknown"));
}

TEST(NumaDeviceNodeUnknown, UndecidedWhenUnread) {
  Machine machine = dgx_h100();
  deny(machine.pci.devices[*machine.gpus[2].pci].numa);
  EXPECT_EQ(undecided_of(machine, "numa.device.node-unknown").size(), 1U);
}

Machine at_work() {
  Machine machine = dgx_h100();
  model::Process process;
  process.gpus = {0};
  machine.processes = {process};
  return machine;
}

TEST(NumaGpuOrder, FiresOnReversedOrder) {
  Machine machine = at_work();
  for (std::uint32_t i = 0; i < 8; ++i)
    set(machine.gpus[i].numa, NumaId{i < 4 ? 1U : 0U});
  const auto found = findings_of(machine, "numa.gpu.order");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].severity, model::Severity::kInfo);
  EXPECT_EQ(found[0].devices.size(), 8U);
  EXPECT_EQ(found[0].evidence[0].text, "GPU 0 is on node 1; counting through would give node 0");
}

TEST(NumaGpuOrder, Silent) {
  EXPECT_TRUE(held(at_work(), "numa.gpu.order"));
  EXPECT_TRUE(not_applicable(dgx_h100(), "numa.gpu.order"));
  EXPECT_TRUE(not_applicable(plain_host(), "numa.gpu.order"));
}

TEST(NumaGpuOrder, UndecidedWhenUnread) {
  Machine machine = at_work();
  deny(machine.gpus[1].numa);
  EXPECT_EQ(undecided_of(machine, "numa.gpu.order").size(), 1U);
}

TEST(NumaAllowedExcludesGpu, FiresWhenBoundToOneNode) {
  Machine machine = dgx_h100();
  set(machine.cpus.allowed, cpu_range(0, 56));
  const auto found = findings_of(machine, "numa.allowed.excludes-gpu");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].severity, model::Severity::kWarning);
  EXPECT_EQ(found[0].title, "CPUs allowed here leave out NUMA node 1, where GPU 4, GPU 5, GPU 6, GPU 7 hang");
  EXPECT_EQ(found[0].evidence[0].text, "CPUs allowed here: 0-55");
}

TEST(NumaAllowedExcludesGpu, SilentWithAFewCpusOnEachNode) {
  Machine machine = dgx_h100();
  set(machine.cpus.allowed, cpu_range(50, 10));
  EXPECT_TRUE(held(machine, "numa.allowed.excludes-gpu"));
  EXPECT_TRUE(not_applicable(plain_host(), "numa.allowed.excludes-gpu"));
}

// NPS2: each socket has two nodes, the GPUs are on nodes 1 and 3.
TEST(NumaAllowedExcludesGpu, SilentOnAnotherNodeOfTheSameSocket) {
  Machine machine = dgx_h100();
  machine.numa.nodes[0].cpus = cpu_range(0, 28);
  machine.numa.nodes[1].cpus = cpu_range(28, 28);
  for (std::uint32_t id : {2U, 3U}) {
    model::NumaNode node = machine.numa.nodes[0];
    node.id = NumaId{id};
    node.cpus = cpu_range(id * 28, 28);
    machine.numa.nodes.push_back(node);
  }
  for (Gpu& gpu : machine.gpus)
    set(gpu.numa, NumaId{gpu.index < 4 ? 1U : 3U});
  for (auto& each : machine.pci.devices)
    deny(each.numa);
  CpuSet allowed = cpu_range(0, 28);
  allowed |= cpu_range(56, 28);
  set(machine.cpus.allowed, allowed);
  EXPECT_TRUE(held(machine, "numa.allowed.excludes-gpu"));
  set(machine.cpus.allowed, cpu_range(0, 28));
  EXPECT_EQ(findings_of(machine, "numa.allowed.excludes-gpu").at(0).title,
            "CPUs allowed here leave out NUMA node 3, where GPU 4, GPU 5, GPU 6, GPU 7 hang");
}

TEST(NumaAllowedExcludesGpu, UndecidedWhenUnread) {
  Machine machine = dgx_h100();
  deny(machine.cpus.allowed);
  EXPECT_EQ(undecided_of(machine, "numa.allowed.excludes-gpu").size(), 1U);
}

}  // namespace
}  // namespace angio::test
