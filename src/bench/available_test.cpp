#include "bench/available.hpp"

#include <gtest/gtest.h>

#include <memory>

namespace angio::bench {
namespace {

using Files = std::vector<std::pair<std::string, std::string>>;

std::unique_ptr<host::Root> root_of(const Files& files) {
  host::Recording recording;
  for (const auto& [path, text] : files)
    recording[path].content = text;
  return host::make_memory_root(std::move(recording), host::Scope::kComplete);
}

TEST(AvailableOnNode, FreeAndHalfOfTheInactiveCache) {
  EXPECT_EQ(
      available_on_node("Node 0 MemTotal: 1000 kB\nNode 0 MemFree: 100 kB\nNode 0 Inactive(file): 50 kB\n"),
      kibibytes(125));
  EXPECT_EQ(available_on_node("MemFree: 100 kB\n"), kibibytes(100));
  EXPECT_FALSE(available_on_node("Node 0 MemTotal: 1000 kB\n"));
  EXPECT_FALSE(available_on_node("Node 0 MemFree: -3 kB\n"));
}

TEST(LeftInCgroups, LeastOfAllLevelsOfV2) {
  const auto root = root_of({{"/proc/self/cgroup", "0::/a/b\n"},
                             {"/sys/fs/cgroup/a/b/memory.max", "max\n"},
                             {"/sys/fs/cgroup/a/b/memory.current", "10\n"},
                             {"/sys/fs/cgroup/a/memory.max", "1000\n"},
                             {"/sys/fs/cgroup/a/memory.current", "400\n"}});
  EXPECT_EQ(left_in_cgroups(*root), Bytes{600});
}

TEST(LeftInCgroups, AContainersOwnTop) {
  EXPECT_EQ(left_in_cgroups(*root_of({{"/proc/self/cgroup", "0::/\n"},
                                      {"/sys/fs/cgroup/memory.max", "500\n"},
                                      {"/sys/fs/cgroup/memory.current", "900\n"}})),
            Bytes{0});
}

TEST(LeftInCgroups, V1) {
  EXPECT_EQ(left_in_cgroups(*root_of({{"/proc/self/cgroup", "5:cpuset:/x\n3:memory:/job\n0::/x\n"},
                                      {"/sys/fs/cgroup/memory/job/memory.limit_in_bytes", "500\n"},
                                      {"/sys/fs/cgroup/memory/job/memory.usage_in_bytes", "100\n"}})),
            Bytes{400});
}

TEST(LeftInCgroups, NoneAndDamaged) {
  EXPECT_FALSE(left_in_cgroups(*root_of({})));
  EXPECT_FALSE(left_in_cgroups(*root_of({{"/proc/self/cgroup", "0::/\n"}})));
  EXPECT_FALSE(left_in_cgroups(*root_of({{"/proc/self/cgroup", "nonsense\n:::\n0:\n"}})));
}

TEST(ReadAvailable, EachNodesOwnFile) {
  model::Numa numa;
  numa.nodes.resize(2);
  numa.nodes[1].id = NumaId{3};
  const auto root = root_of({{"/sys/devices/system/node/node3/meminfo", "Node 3 MemFree: 64 kB\n"}});
  const Available available = read_available(numa, *root);
  ASSERT_EQ(available.on_node.size(), 1U);
  EXPECT_EQ(available.on_node.at(3), kibibytes(64));
  EXPECT_FALSE(available.of_cgroup);
}

TEST(ReadAvailable, WithoutNodesTheMachines) {
  const auto root = root_of({{"/proc/meminfo", "MemTotal: 9 kB\nMemFree: 7 kB\n"}});
  EXPECT_EQ(read_available({}, *root).on_node.at(0), kibibytes(7));
}

}  // namespace
}  // namespace angio::bench
