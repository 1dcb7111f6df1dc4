#include <gtest/gtest.h>

#include "diagnose/test_machines.hpp"

namespace angio::test {
namespace {

constexpr std::uint64_t kGiB = 1ULL << 30U;

Machine without_memory_on_node_1() {
  Machine machine = dgx_h100();
  machine.numa.nodes[1].kind = model::NumaKind::kCpuOnly;
  set(machine.numa.nodes[1].memory, Bytes{0});
  return machine;
}

TEST(NumaNodeNoMemory, Fires) {
  const auto found = findings_of(without_memory_on_node_1(), "numa.node.no-memory");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].severity, model::Severity::kWarning);
  EXPECT_EQ(found[0].evidence[0].text,
            "node 1 has CPUs 56-111 and no memory; GPU 4, GPU 5, GPU 6, GPU 7 hang off it");
  Machine machine = without_memory_on_node_1();
  machine.gpus.clear();
  machine.rdma.clear();
  EXPECT_EQ(findings_of(machine, "numa.node.no-memory").at(0).severity, model::Severity::kInfo);
}

TEST(NumaNodeNoMemory, SilentOnMemoryOnlyNodes) {
  Machine machine = dgx_h100();
  model::NumaNode node = machine.numa.nodes[1];
  node.id = NumaId{2};
  node.cpus = {};
  node.kind = model::NumaKind::kGpuMemory;
  machine.numa.nodes.push_back(node);
  EXPECT_TRUE(held(machine, "numa.node.no-memory"));
  EXPECT_TRUE(not_applicable(plain_host(), "numa.node.no-memory"));
}

TEST(NumaNodeNoMemory, UndecidedWhenUnread) {
  Machine machine = dgx_h100();
  deny(machine.numa.nodes[1].memory);
  EXPECT_EQ(undecided_of(machine, "numa.node.no-memory").size(), 1U);
}

TEST(NumaMemoryUneven, Fires) {
  Machine machine = dgx_h100();
  set(machine.numa.nodes[1].memory, Bytes{128 * kGiB});
  const auto found = findings_of(machine, "numa.memory.uneven");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].title, "NUMA node 1 has far less memory than the largest node (512 GiB)");
  EXPECT_DOUBLE_EQ(found[0].rank, 0.75);
  EXPECT_EQ(found[0].evidence.size(), 2U);
}

TEST(NumaMemoryUneven, SilentOnSmallDifferences) {
  Machine machine = dgx_h100();
  set(machine.numa.nodes[0].memory, Bytes{503 * kGiB});
  set(machine.numa.nodes[1].memory, Bytes{504 * kGiB});
  EXPECT_TRUE(held(machine, "numa.memory.uneven"));
  EXPECT_TRUE(not_applicable(plain_host(), "numa.memory.uneven"));
}

TEST(NumaMemoryUneven, UndecidedWhenUnread) {
  Machine machine = dgx_h100();
  deny(machine.numa.nodes[1].memory);
  EXPECT_EQ(undecided_of(machine, "numa.memory.uneven").size(), 1U);
}

TEST(NumaMemoryExhausted, FiresAsInfo) {
  Machine machine = dgx_h100();
  set(machine.numa.nodes[0].memory_free, Bytes{3 * kGiB});
  const auto found = findings_of(machine, "numa.memory.exhausted");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].severity, model::Severity::kInfo);
  EXPECT_EQ(found[0].evidence[0].text,
            "node 0: 3 GiB free of 512 GiB; nearest to GPU 0, GPU 1, GPU 2, GPU 3");
}

TEST(NumaMemoryExhausted, SilentWhenAllNodesAreFull) {
  Machine machine = dgx_h100();
  for (auto& node : machine.numa.nodes)
    set(node.memory_free, Bytes{3 * kGiB});
  EXPECT_TRUE(held(machine, "numa.memory.exhausted"));
  EXPECT_TRUE(not_applicable(plain_host(), "numa.memory.exhausted"));
}

TEST(NumaMemoryExhausted, UndecidedWhenUnread) {
  Machine machine = dgx_h100();
  deny(machine.numa.nodes[1].memory_free);
  EXPECT_EQ(undecided_of(machine, "numa.memory.exhausted").size(), 1U);
}

TEST(NumaHugepagesOneSided, FiresAsInfo) {
  Machine machine = dgx_h100();
  machine.numa.nodes[0].huge_pages = {{Bytes{2 << 20U}, 4096, 4096}};
  machine.numa.nodes[1].huge_pages = {{Bytes{2 << 20U}, 0, 0}};
  const auto found = findings_of(machine, "numa.hugepages.one-sided");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].title, "Huge pages are reserved on 1 of 2 NUMA nodes");
  EXPECT_EQ(found[0].evidence[0].text, "node 0: 4096 pages of 2 MiB");
}

TEST(NumaHugepagesOneSided, SilentOnBothAndOnNone) {
  Machine machine = dgx_h100();
  EXPECT_TRUE(not_applicable(machine, "numa.hugepages.one-sided"));
  for (auto& node : machine.numa.nodes)
    node.huge_pages = {{Bytes{2 << 20U}, 512, 512}};
  EXPECT_TRUE(held(machine, "numa.hugepages.one-sided"));
}

// no undecided: a node that shows no huge pages has none.
TEST(NumaHugepagesOneSided, UndecidedIsNotApplicableWithoutHugePages) {
  EXPECT_TRUE(not_applicable(dgx_h100(), "numa.hugepages.one-sided"));
}

Machine grace() {
  Machine machine = dgx_h100();
  model::NumaNode node;
  node.id = NumaId{4};
  node.kind = model::NumaKind::kGpuMemory;
  node.memory = known(Bytes{96 * kGiB}, "MemTotal");
  node.distances = known(std::vector<std::uint32_t>{80, 80, 10}, "distance");
  machine.numa.nodes.push_back(node);
  model::Process process;
  process.id = 4711;
  process.command = "python train.py";
  process.bytes_per_node = known(std::map<std::uint32_t, std::uint64_t>{{0, 9 * kGiB}}, "numa_maps");
  machine.processes.push_back(process);
  return machine;
}

TEST(NumaGpuMemoryHostPages, FiresAsInfo) {
  Machine machine = grace();
  set(machine.processes[0].bytes_per_node, std::map<std::uint32_t, std::uint64_t>{{0, kGiB}, {4, 2 * kGiB}});
  const auto found = findings_of(machine, "numa.gpu-memory.host-pages");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].title, "process 4711 (python train.py) has 2 GiB of ordinary pages in GPU memory");
}

TEST(NumaGpuMemoryHostPages, Silent) {
  EXPECT_TRUE(held(grace(), "numa.gpu-memory.host-pages"));
  EXPECT_TRUE(not_applicable(dgx_h100(), "numa.gpu-memory.host-pages"));
}

TEST(NumaGpuMemoryHostPages, UndecidedWhenUnread) {
  Machine machine = grace();
  deny(machine.processes[0].bytes_per_node);
  EXPECT_EQ(undecided_of(machine, "numa.gpu-memory.host-pages").size(), 1U);
}

}  // namespace
}  // namespace angio::test
