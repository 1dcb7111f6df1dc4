#include "probe/sysfs/numa_probe.hpp"

#include <gtest/gtest.h>

#include "probe/sysfs/probe_fixture.hpp"

namespace angio::probe {
namespace {

using model::NumaKind;
using test::Files;
using test::machine_of;

constexpr const char* kNode = "/sys/devices/system/node/node";

void add_node(Files& files, int id, const std::string& cpus, int mebibytes, const std::string& distance) {
  const std::string base = kNode + std::to_string(id) + "/";
  const std::string name = "Node " + std::to_string(id);
  files[base + "cpulist"] = cpus + "\n";
  files[base + "meminfo"] = name + " MemTotal:       " + std::to_string(mebibytes * 1024) + " kB\n" + name +
                            " MemFree:        1024 kB\n";
  files[base + "distance"] = distance + "\n";
}

model::Machine with_cpus(const char* online, std::vector<const char*> packages) {
  model::Machine machine;
  machine.cpus.online = *parse_cpu_list(online);
  for (std::uint32_t i = 0; i < packages.size(); ++i) {
    machine.cpus.packages.push_back({i, *parse_cpu_list(packages[i])});
  }
  return machine;
}

TEST(NumaProbe, SparseNodesInOrderWithDistances) {
  Files files;
  add_node(files, 0, "0-1", 100, "10 40 80");
  add_node(files, 10, "2-3", 100, "80 40 10");
  add_node(files, 2, "", 0, "40 10 40");
  files[std::string(kNode) + "0/hugepages/hugepages-2048kB/nr_hugepages"] = "5\n";
  files[std::string(kNode) + "0/hugepages/hugepages-2048kB/free_hugepages"] = "3\n";
  const model::Machine machine = machine_of(files, probe_numa, with_cpus("0-3", {"0-1", "2-3"}));
  ASSERT_EQ(machine.numa.nodes.size(), 3U);
  EXPECT_EQ(machine.numa.nodes[1].id.value, 2U);
  EXPECT_EQ(machine.numa.nodes[1].kind, NumaKind::kEmpty);
  EXPECT_EQ(machine.numa.nodes[2].kind, NumaKind::kOrdinary);
  EXPECT_TRUE(machine.numa.nodes[2].distances.is({80, 40, 10}));
  EXPECT_TRUE(machine.numa.nodes[0].memory.is(kibibytes(102400)));
  EXPECT_TRUE(machine.numa.nodes[0].memory_free.is(kibibytes(1024)));
  ASSERT_EQ(machine.numa.nodes[0].huge_pages.size(), 1U);
  EXPECT_EQ(machine.numa.nodes[0].huge_pages[0].free, 3U);
  EXPECT_TRUE(machine.numa.nodes_per_package.is(1));
  EXPECT_TRUE(machine.notes.empty());
}

TEST(NumaProbe, RowOfTheWrongLengthIsUnparsableWithANote) {
  Files files;
  add_node(files, 0, "0", 100, "10 21");
  add_node(files, 1, "1", 100, "21");
  const model::Machine machine = machine_of(files, probe_numa, with_cpus("0-1", {"0-1"}));
  EXPECT_TRUE(machine.numa.nodes[0].distances.is_known());
  EXPECT_TRUE(machine.numa.nodes[1].distances.is_unreadable());
  ASSERT_EQ(machine.notes.size(), 1U);
  EXPECT_EQ(machine.notes[0].id, "numa.distances");
  EXPECT_NE(machine.notes[0].text.find("node1/distance"), std::string::npos);
  EXPECT_TRUE(machine.numa.nodes_per_package.is(2));
}

TEST(NumaProbe, OverlappingMapsDiscardNuma) {
  Files files{{"/proc/meminfo", "MemTotal:  2048 kB\nMemFree: 1024 kB\n"}};
  add_node(files, 0, "0-3", 100, "10 20");
  add_node(files, 1, "2-3", 100, "20 10");
  const model::Machine machine = machine_of(files, probe_numa, with_cpus("0-3", {"0-3"}));
  EXPECT_TRUE(machine.numa.discarded);
  ASSERT_EQ(machine.numa.nodes.size(), 1U);
  EXPECT_EQ(to_list(machine.numa.nodes[0].cpus), "0-3");
  EXPECT_TRUE(machine.numa.nodes[0].memory.is(kibibytes(2048)));
  ASSERT_EQ(machine.notes.size(), 1U);
  EXPECT_EQ(machine.notes[0].id, "numa.overlapping-maps");
}

TEST(NumaProbe, KernelWithoutNumaHasOneNode) {
  const model::Machine machine =
      machine_of({{"/proc/meminfo", "MemTotal: 2048 kB\n"}}, probe_numa, with_cpus("0-1", {"0-1"}));
  ASSERT_EQ(machine.numa.nodes.size(), 1U);
  EXPECT_FALSE(machine.numa.discarded);
  EXPECT_TRUE(machine.numa.nodes[0].memory_free.is_unreadable());
}

TEST(NumaProbe, NothingCollectedIsNotOneNode) {
  const auto root = host::make_memory_root({}, host::Scope::kRecorded);
  model::Machine machine;
  probe_numa(*root, machine);
  EXPECT_TRUE(machine.numa.nodes.empty());
  EXPECT_TRUE(machine.numa.balancing.is_unreadable());
}

TEST(NumaProbe, TellsSpecialMemoryApart) {
  Files files;
  add_node(files, 0, "0-1", 100, "10 20 20 20 20");
  for (int id = 1; id < 5; ++id)
    add_node(files, id, "", 100, "20 20 20 20 20");
  const auto bandwidth = [&files](int id, const char* value) {
    files[kNode + std::to_string(id) + "/access0/initiators/read_bandwidth"] = value;
    files[kNode + std::to_string(id) + "/access0/initiators/node0"] = "";
  };
  bandwidth(0, "200000\n");
  bandwidth(2, "800000\n");
  bandwidth(3, "30000\n");
  files["/sys/bus/dax/devices/dax0.0/target_node"] = "2\n";  // HBM can come as specific-purpose memory
  files["/sys/bus/dax/devices/dax1.0/target_node"] = "3\n";
  files["/proc/driver/nvidia/gpus/0009:01:00.0/numa_status"] = "Node:      1\nStatus:    online\n";
  files["/proc/driver/nvidia/gpus/0019:01:00.0/numa_status"] = "Node:      -1\nStatus:    offline\n";
  const model::Machine machine = machine_of(files, probe_numa, with_cpus("0-1", {"0-1"}));
  ASSERT_EQ(machine.numa.nodes.size(), 5U);
  EXPECT_EQ(machine.numa.nodes[1].kind, NumaKind::kGpuMemory);
  EXPECT_EQ(machine.numa.nodes[2].kind, NumaKind::kHighBandwidth);
  EXPECT_EQ(machine.numa.nodes[3].kind, NumaKind::kCxl);
  EXPECT_EQ(machine.numa.nodes[4].kind, NumaKind::kMemoryOnly);
  EXPECT_TRUE(machine.numa.nodes[0].access.read_bandwidth.is(BytesPerSecond{200e9}));
  EXPECT_EQ(to_list(machine.numa.nodes[2].access.initiators.value_or({})), "0");
  EXPECT_TRUE(machine.numa.nodes[4].access.read_latency.is_absent());
}

TEST(NumaProbe, NodeThatSpansPackagesHasNoCountPerPackage) {
  Files files;
  add_node(files, 0, "0-3", 100, "10");
  const model::Machine machine = machine_of(files, probe_numa, with_cpus("0-3", {"0-1", "2-3"}));
  EXPECT_TRUE(machine.numa.nodes_per_package.is_absent());
}

TEST(NumaProbe, Settings) {
  const model::Machine machine =
      machine_of({{"/sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n"},
                  {"/proc/sys/vm/zone_reclaim_mode", "1\n"},
                  {"/proc/sys/kernel/numa_balancing", "x\n"}},
                 probe_numa);
  EXPECT_TRUE(machine.numa.transparent_huge_pages.is("madvise"));
  EXPECT_TRUE(machine.numa.zone_reclaim_mode.is(1));
  EXPECT_EQ(machine.numa.balancing.reason(), model::Reason::kUnparsable);
}

}  // namespace
}  // namespace angio::probe
