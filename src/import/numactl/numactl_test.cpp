#include "import/numactl/numactl.hpp"

#include <gtest/gtest.h>

#include "support/samples.hpp"

namespace angio::import {
namespace {

using Distances = std::vector<std::uint32_t>;
using test::import_sample;
using test::note_count;

TEST(Numactl, ReadsSparseNodesOfEveryKind) {
  const model::Machine machine = import_sample("numactl/whole.txt");
  const auto& nodes = machine.numa.nodes;
  ASSERT_EQ(nodes.size(), 4U);
  EXPECT_EQ(nodes[0].kind, model::NumaKind::kOrdinary);
  EXPECT_EQ(nodes[1].kind, model::NumaKind::kCpuOnly);
  EXPECT_EQ(nodes[2].kind, model::NumaKind::kMemoryOnly);
  EXPECT_EQ(nodes[3].kind, model::NumaKind::kEmpty);
  EXPECT_EQ(nodes[2].id, NumaId{8});
  EXPECT_TRUE(nodes[2].memory.is(Bytes{97280ULL << 20U}));
  EXPECT_TRUE(nodes[0].memory_free.is(Bytes{100ULL << 20U}));
  EXPECT_TRUE(nodes[3].distances.is(Distances{41, 42, 80, 10}));
  EXPECT_EQ(cite(machine, nodes[3].distances.source()), "whole.txt:20");
  EXPECT_EQ(to_list(machine.cpus.online), "0-7");
  EXPECT_TRUE(machine.notes.empty());
}

TEST(Numactl, WrappedListsAndNoDistances) {
  const model::Machine machine = import_sample("numactl/no_distances.txt");
  EXPECT_EQ(to_list(machine.numa.nodes.at(0).cpus), "0-4");
  EXPECT_TRUE(machine.numa.nodes[0].distances.is_absent());
  EXPECT_EQ(machine.numa.nodes[0].memory_free.reason(), model::Reason::kUnsupported);
  EXPECT_EQ(note_count(machine, "numactl.wrapped"), 1U);
}

TEST(Numactl, CutTable) {
  const model::Machine machine = import_sample("numactl/truncated.txt");
  ASSERT_EQ(machine.numa.nodes.size(), 2U);
  EXPECT_TRUE(machine.numa.nodes[0].distances.is(Distances{10, 20}));
  EXPECT_TRUE(machine.numa.nodes[1].distances.is_unreadable());
  EXPECT_EQ(note_count(machine, "numactl.distances-incomplete"), 1U);
  EXPECT_EQ(note_count(machine, "numactl.nodes-missing"), 1U);
  EXPECT_EQ(note_count(machine, "numactl.table-incomplete"), 1U);
}

TEST(Numactl, BrokenLines) {
  const model::Machine machine = import_sample("numactl/broken.txt");
  EXPECT_EQ(to_list(machine.cpus.online), "0-1,3");
  EXPECT_EQ(note_count(machine, "numactl.cpus-unreadable"), 1U);
  EXPECT_EQ(note_count(machine, "numactl.size-unreadable"), 1U);
  EXPECT_EQ(note_count(machine, "numactl.node-twice"), 1U);
  EXPECT_EQ(note_count(machine, "numactl.unknown-line"), 3U);
}

}  // namespace
}  // namespace angio::import
