#include "import/lscpu/lscpu.hpp"

#include <gtest/gtest.h>

#include "support/samples.hpp"

namespace angio::import {
namespace {

using test::import_sample;
using test::note_count;

TEST(Lscpu, ReadsTheNewForm) {
  const model::Machine machine = import_sample("lscpu/whole.txt");
  EXPECT_TRUE(machine.cpus.model.architecture.is("x86_64"));
  EXPECT_TRUE(machine.cpus.model.vendor.is("GenuineIntel"));
  EXPECT_TRUE(machine.cpus.model.family.is(6));
  EXPECT_TRUE(machine.cpus.model.model.is(143));
  EXPECT_TRUE(machine.cpus.threads_per_core.is(2));
  EXPECT_EQ(to_list(machine.cpus.online), "0-7");
  EXPECT_EQ(to_list(machine.cpus.offline.value_or({})), "8-9");
  EXPECT_TRUE(machine.software.virtual_machine.is("KVM"));
  ASSERT_EQ(machine.numa.nodes.size(), 2U);
  EXPECT_EQ(machine.numa.nodes[1].id, NumaId{4});
  EXPECT_EQ(to_list(machine.numa.nodes[1].cpus), "2-3,6-7");
  EXPECT_TRUE(machine.notes.empty());
}

TEST(Lscpu, SumsAreSharedOutOverInstances) {
  const model::Machine machine = import_sample("lscpu/whole.txt");
  ASSERT_EQ(machine.cpus.caches.size(), 6U);
  EXPECT_TRUE(machine.cpus.caches[0].size.is(kibibytes(48)));
  EXPECT_EQ(machine.cpus.caches[0].kind, model::CacheKind::kData);
  EXPECT_TRUE(machine.cpus.caches[5].size.is(kibibytes(1536)));
  EXPECT_EQ(machine.cpus.caches[5].level, 3U);
}

TEST(Lscpu, TheTableGivesCoresAndSharing) {
  const model::Machine machine = import_sample("lscpu/table.txt");
  EXPECT_EQ(to_list(machine.cpus.online), "0-7");
  ASSERT_EQ(machine.cpus.packages.size(), 2U);
  EXPECT_EQ(to_list(machine.cpus.packages[1].cpus), "2-3,6-7");
  ASSERT_EQ(machine.cpus.cores.size(), 4U);
  EXPECT_EQ(to_list(machine.cpus.cores[1].cpus), "1,5");
  EXPECT_EQ(machine.cpus.caches.size(), 4U + 4U + 4U + 2U);
  EXPECT_EQ(to_list(machine.cpus.caches.back().cpus), "2-3,6-7");
  EXPECT_EQ(machine.numa.nodes.size(), 2U);
}

TEST(Lscpu, OldFormsAndMemoryOnlyNodes) {
  const model::Machine machine = import_sample("lscpu/old.txt");
  EXPECT_EQ(to_list(machine.cpus.online), "0-3");
  EXPECT_FALSE(machine.cpus.model.model.is_known());  // POWER prints words there
  ASSERT_EQ(machine.numa.nodes.size(), 2U);
  EXPECT_EQ(machine.numa.nodes[1].kind, model::NumaKind::kMemoryOnly);
  EXPECT_TRUE(machine.notes.empty());
}

TEST(Lscpu, Json) {
  const model::Machine machine = import_sample("lscpu/json.txt");
  EXPECT_TRUE(machine.cpus.model.architecture.is("aarch64"));
  EXPECT_EQ(to_list(machine.numa.nodes.at(0).cpus), "0-3");
  EXPECT_TRUE(machine.notes.empty());
}

TEST(Lscpu, CutText) {
  const model::Machine machine = import_sample("lscpu/truncated.txt");
  EXPECT_TRUE(machine.cpus.model.vendor.is("GenuineIntel"));
  EXPECT_EQ(note_count(machine, "lscpu.unknown-line"), 1U);
  EXPECT_EQ(note_count(machine, "lscpu.online-missing"), 1U);
}

TEST(Lscpu, BrokenValues) {
  const model::Machine machine = import_sample("lscpu/broken.txt");
  EXPECT_TRUE(machine.cpus.threads_per_core.is_unreadable());
  EXPECT_EQ(to_list(machine.numa.nodes.at(0).cpus), "0-3");
  EXPECT_EQ(note_count(machine, "lscpu.value-unreadable"), 3U);
  EXPECT_EQ(note_count(machine, "lscpu.node-twice"), 1U);
  EXPECT_EQ(note_count(machine, "lscpu.row-short"), 1U);
  EXPECT_EQ(note_count(machine, "lscpu.unknown-line"), 1U);
}

TEST(Lscpu, HostileTablesAndNodesStayBounded) {
  const model::Machine table =
      test::import_text("# CPU,Core,Socket,Node\n0,0,0,0\n0,1,1,0\n1,1,0,0\n9000,2,0,0\n");
  EXPECT_EQ(to_list(table.cpus.online), "0-1");
  EXPECT_EQ(table.cpus.packages.size(), 1U);
  EXPECT_EQ(note_count(table, "lscpu.cpu-twice"), 1U);
  EXPECT_EQ(note_count(table, "lscpu.cpu-number"), 1U);
  const model::Machine nodes =
      test::import_text("Vendor ID: x\nByte Order: y\nNUMA node1023 CPU(s): 1\nNUMA node1024 CPU(s): 2\n");
  EXPECT_EQ(nodes.numa.nodes.size(), 1U);
  EXPECT_EQ(note_count(nodes, "lscpu.value-unreadable"), 1U);
}

}  // namespace
}  // namespace angio::import
