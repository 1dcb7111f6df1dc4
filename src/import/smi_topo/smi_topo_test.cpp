#include "import/smi_topo/smi_topo.hpp"

#include <gtest/gtest.h>

#include "support/samples.hpp"

namespace angio::import {
namespace {

using model::PathClass;
using test::import_sample;
using test::import_text;
using test::note_count;

std::string cell(const model::Machine& machine, std::size_t row, std::size_t column) {
  const model::StatedPaths& paths = *machine.stated_paths;
  return label(paths.cells[row * paths.devices.size() + column]);
}

TEST(SmiTopo, ReadsATableFromARealTerminal) {
  const model::Machine machine = import_sample("smi_topo/whole.txt");
  EXPECT_EQ(machine.origin, "nvidia-smi topo -m whole.txt");
  ASSERT_EQ(machine.gpus.size(), 4U);
  ASSERT_EQ(machine.rdma.size(), 2U);
  EXPECT_EQ(machine.rdma[0].name, "mlx5_0");
  EXPECT_EQ(machine.rdma[1].name, "mlx5_bond_0");
  EXPECT_TRUE(machine.notes.empty());
  EXPECT_EQ(cell(machine, 0, 0), "X");
  EXPECT_EQ(cell(machine, 0, 1), "NV12");
  EXPECT_EQ(cell(machine, 1, 4), "PXB");
  EXPECT_EQ(cell(machine, 2, 5), "PHB");
  EXPECT_EQ(cell(machine, 3, 5), "NODE");
  EXPECT_EQ(cell(machine, 5, 0), "SYS");
}

TEST(SmiTopo, ReadsAffinityWithItsLine) {
  const model::Machine machine = import_sample("smi_topo/whole.txt");
  EXPECT_EQ(to_list(machine.cpus.online), "0-63");
  ASSERT_EQ(machine.numa.nodes.size(), 2U);
  EXPECT_EQ(to_list(machine.numa.nodes[1].cpus), "16-31,48-63");
  EXPECT_TRUE(machine.gpus[3].numa.is(NumaId{1}));
  EXPECT_TRUE(machine.gpus[3].memory_numa.is_absent());
  EXPECT_EQ(cite(machine, machine.gpus[3].numa.source()), "whole.txt:6");
  EXPECT_TRUE(machine.gpus[2].library_index.is(2));
}

TEST(SmiTopo, AnswersPathsFromTheTable) {
  const model::Machine machine = import_sample("smi_topo/whole.txt");
  const model::Path path = path_between(machine, {model::DeviceKind::kGpu, 0}, {model::DeviceKind::kGpu, 1});
  EXPECT_EQ(path.kind, PathClass::kNvLink);
  EXPECT_EQ(path.links, 12U);
}

TEST(SmiTopo, OldSocIsSys) {
  const model::Machine machine = import_sample("smi_topo/old_soc.txt");
  EXPECT_EQ(cell(machine, 0, 2), "SYS");
  EXPECT_EQ(machine.rdma.at(0).name, "mlx4_0");
  EXPECT_EQ(to_list(machine.cpus.online), "0-15");
}

TEST(SmiTopo, CutRowIsMirroredAndTold) {
  const model::Machine machine = import_sample("smi_topo/truncated.txt");
  EXPECT_EQ(machine.gpus.size(), 4U);
  EXPECT_EQ(cell(machine, 3, 0), "NV4");  // from GPU0's row
  EXPECT_EQ(cell(machine, 2, 3), "?");    // nobody says
  EXPECT_EQ(note_count(machine, "smi-topo.row-short"), 1U);
  EXPECT_EQ(note_count(machine, "smi-topo.row-missing"), 1U);
  EXPECT_EQ(note_count(machine, "smi-topo.path-missing"), 1U);
  EXPECT_FALSE(machine.gpus[2].numa.is_known());
}

TEST(SmiTopo, WrappedLinesAreJoined) {
  const model::Machine machine = import_sample("smi_topo/wrapped.txt");
  EXPECT_EQ(cell(machine, 0, 3), "NV4");
  EXPECT_TRUE(machine.gpus[1].numa.is(NumaId{0}));
  EXPECT_TRUE(machine.gpus[3].numa.is(NumaId{1}));
  EXPECT_EQ(to_list(machine.cpus.online), "0-31");
  EXPECT_EQ(note_count(machine, "smi-topo.wrapped"), 3U);
}

TEST(SmiTopo, DamageIsCountedWithTheFirstLine) {
  const model::Machine machine = import_sample("smi_topo/broken.txt");
  EXPECT_EQ(machine.gpus.size(), 2U);
  EXPECT_EQ(cell(machine, 1, 0), "PIX");
  EXPECT_EQ(cell(machine, 0, 1), "PIX");
  EXPECT_EQ(note_count(machine, "smi-topo.unknown-class"), 1U);
  EXPECT_EQ(note_count(machine, "smi-topo.affinity-unreadable"), 1U);
  EXPECT_EQ(note_count(machine, "smi-topo.node-unreadable"), 1U);
  EXPECT_EQ(note_count(machine, "smi-topo.further-table"), 1U);
  EXPECT_EQ(note_count(machine, "smi-topo.unknown-line"), 1U);
  EXPECT_EQ(machine.notes.front().text, "broken.txt:3: GPU0, column GPU1: \"QQ7\" is no class of nvidia-smi");
}

TEST(SmiTopo, SeveralNearestNodesStayUnreadable) {
  const model::Machine machine = import_text(
      "GPU0 GPU1 CPU Affinity NUMA Affinity GPU NUMA ID\n"
      "GPU0 X NV6 0-71 0,5-11 4\n"
      "GPU1 NV6 X 72-143 1 12\n");
  EXPECT_TRUE(machine.gpus[0].numa.is_unreadable());
  EXPECT_EQ(machine.gpus[0].numa.reason(), model::Reason::kUnparsable);
  EXPECT_TRUE(machine.gpus[0].memory_numa.is(NumaId{4}));
  EXPECT_TRUE(machine.gpus[1].numa.is(NumaId{1}));
  EXPECT_EQ(note_count(machine, "smi-topo.several-nodes"), 1U);
}

TEST(SmiTopo, PrefixedLinesOfClusterShells) {
  const model::Machine machine = import_text(
      "node-3: \tGPU0\tGPU1\tCPU Affinity\n"
      "node-3: GPU0\t X \tPHB\t0-3\n"
      "node-3: GPU1\tPHB\t X \t0-3\n");
  EXPECT_EQ(cell(machine, 0, 1), "PHB");
  EXPECT_TRUE(machine.notes.empty());
}

TEST(SmiTopo, GluedHeaderAndColourCodesWithoutEscape) {
  const model::Machine machine = import_text(
      "[4mGPU0GPU1NIC0CPU AffinityNUMA AffinityGPU NUMA ID[0m   \n"
      "GPU0  X  SYS PHB 0-13,28-41 0  N/A\n"
      "GPU1 SYS  X  SYS 14-27 1  N/A\n"
      "NIC0 PHB SYS  X\n");
  EXPECT_EQ(cell(machine, 0, 2), "PHB");
  EXPECT_EQ(machine.rdma.at(0).name, "NIC0");
  EXPECT_EQ(note_count(machine, "smi-topo.nic-legend-missing"), 1U);
}

TEST(SmiTopo, ContradictionsAreTold) {
  const model::Machine machine = import_text(
      "GPU0 GPU1 CPU Affinity NUMA Affinity\n"
      "GPU0 X PIX 0-3 0\n"
      "GPU1 SYS X 0-7 0\n");
  EXPECT_EQ(cell(machine, 0, 1), "PIX");
  EXPECT_EQ(cell(machine, 1, 0), "SYS");
  EXPECT_EQ(note_count(machine, "smi-topo.asymmetric"), 1U);
  EXPECT_EQ(note_count(machine, "smi-topo.affinity-differs"), 1U);
}

TEST(SmiTopo, HugeGarbageReturnsQuickly) {
  std::string text = "GPU0 GPU1 CPU Affinity\n";
  for (int i = 0; i < 200000; ++i)
    text += "GPU0 X PIX NV18 SYS 0-3 garbage\n";
  const model::Machine machine = import_text(text);
  EXPECT_EQ(machine.gpus.size(), 2U);
  EXPECT_EQ(note_count(machine, "smi-topo.row-twice"), 199999U);
}

}  // namespace
}  // namespace angio::import
