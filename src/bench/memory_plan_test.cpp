#include "bench/memory_plan.hpp"

#include <gtest/gtest.h>

#include "model/synthetic.hpp"

namespace angio::bench {
namespace {

constexpr std::uint64_t kMiB = 1U << 20U;

model::Machine machine(std::string_view text) {
  auto made = model::topology(text);
  EXPECT_TRUE(made) << (made ? "" : made.error().message);
  return made ? *made : model::Machine{};
}

Available plenty(std::uint32_t nodes) {
  Available available;
  for (std::uint32_t node = 0; node < nodes; ++node)
    available.on_node[node] = Bytes{100000 * kMiB};
  return available;
}

CpuSet set(std::string_view text) {
  return parse_cpu_list(text).value_or(CpuSet{});
}

TEST(MemoryPlan, EveryNodeOnEveryMemory) {
  const auto plan = plan_memory_bench(machine("2 numa cores:4 mem:64GiB"), {}, plenty(2));
  ASSERT_TRUE(plan) << plan.error().message;
  ASSERT_EQ(plan->cpu_sides.size(), 2U);
  EXPECT_EQ(plan->memory_nodes.size(), 2U);
  EXPECT_FALSE(plan->one_memory);
  EXPECT_EQ(plan->cpu_sides[1].cpus.size(), 4U);
  EXPECT_EQ(plan->figures, 16U);
  EXPECT_TRUE(plan->left_out.empty());
  EXPECT_LE(plan->expected_seconds, 10);
}

TEST(MemoryPlan, OneThreadACoreThenSiblings) {
  model::Machine one = machine("1 numa cores:2 mem:64GiB");
  one.cpus.cores[0].cpus = set("0,2");
  one.cpus.cores[1].cpus = set("1,3");
  one.cpus.online = one.numa.nodes[0].cpus = set("0-3");
  const auto plan = plan_memory_bench(one, {}, plenty(1));
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->cpu_sides[0].cpus, (std::vector<std::uint32_t>{0, 1}));
  EXPECT_TRUE(plan->one_memory);
  MemoryWish wish;
  wish.threads = 4;
  EXPECT_EQ(plan_memory_bench(one, wish, plenty(1))->cpu_sides[0].cpus,
            (std::vector<std::uint32_t>{0, 1, 2, 3}));
  wish.threads = 5;
  const auto refused = plan_memory_bench(one, wish, plenty(1));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message, "--threads 5: node 0 has 4 CPUs that this process may use");
}

TEST(MemoryPlan, OnlyAllowedCpus) {
  model::Machine two = machine("2 numa cores:4 mem:64GiB");
  two.cpus.allowed = model::Observed<CpuSet>::known(set("1-2"), {});
  const auto plan = plan_memory_bench(two, {}, plenty(2));
  ASSERT_TRUE(plan);
  ASSERT_EQ(plan->cpu_sides.size(), 1U);
  EXPECT_EQ(plan->cpu_sides[0].cpus, (std::vector<std::uint32_t>{1, 2}));
  ASSERT_EQ(plan->left_out.size(), 1U);
  EXPECT_EQ(plan->left_out[0], "node 1's CPUs are not allowed for this process: only its memory is measured");
}

TEST(MemoryPlan, NodesWithoutMemoryOrCpus) {
  model::Machine three = machine("3 numa cores:2 mem:64GiB");
  three.numa.nodes[1].memory = model::Observed<Bytes>::known(Bytes{0}, {});
  three.numa.nodes[2].cpus = {};
  const auto plan = plan_memory_bench(three, {}, plenty(3));
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->cpu_sides.size(), 2U);
  EXPECT_EQ(plan->memory_nodes.size(), 2U);
  EXPECT_EQ(plan->memory_nodes[1].id.value, 2U);
  EXPECT_EQ(plan->left_out, (std::vector<std::string>{"node 2 has no CPUs: only its memory is measured",
                                                      "node 1 has no memory: only its CPUs are measured"}));
}

TEST(MemoryPlan, MemoryOfGpusOnlyWhenNamed) {
  model::Machine two = machine("2 numa cores:2 mem:64GiB");
  two.numa.nodes[1].kind = model::NumaKind::kGpuMemory;
  EXPECT_EQ(plan_memory_bench(two, {}, plenty(2))->memory_nodes.size(), 1U);
  MemoryWish wish;
  wish.nodes = set("0-1");
  EXPECT_EQ(plan_memory_bench(two, wish, plenty(2))->memory_nodes.size(), 2U);
}

TEST(MemoryPlan, UnknownNodeIsNamed) {
  MemoryWish wish;
  wish.nodes = set("0,5");
  const auto plan = plan_memory_bench(machine("2 numa cores:2 mem:64GiB"), wish, plenty(2));
  ASSERT_FALSE(plan);
  EXPECT_EQ(plan.error().message, "--nodes 0,5: this machine has node 0-1");
}

TEST(MemoryPlan, TwiceTheLastLevelCaches) {
  model::Machine one = machine("1 numa cores:4 mem:64GiB");
  const auto cache = [](std::uint32_t level, std::uint64_t mebibytes, std::string_view cpus) {
    return model::Cache{level, model::CacheKind::kUnified,
                        model::Observed<Bytes>::known(Bytes{mebibytes * kMiB}, {}), set(cpus)};
  };
  one.cpus.caches = {cache(2, 2, "0"), cache(3, 200, "0-1"), cache(3, 200, "2-3")};
  EXPECT_EQ(plan_memory_bench(one, {}, plenty(1))->size, Bytes{800 * kMiB});
  MemoryWish wish;
  wish.size = Bytes{300 * kMiB};
  const auto small = plan_memory_bench(one, wish, plenty(1));
  ASSERT_TRUE(small);
  EXPECT_EQ(small->size, Bytes{300 * kMiB});
  ASSERT_EQ(small->doubts.size(), 1U);
  EXPECT_EQ(small->doubts[0],
            "the buffer of 300 MiB is less than twice the last-level cache (400 MiB): figures may be the "
            "cache's in "
            "part");
}

TEST(MemoryPlan, RefusesWhatIsNotFree) {
  MemoryWish wish;
  wish.size = Bytes{512 * kMiB};
  Available available = plenty(2);
  available.on_node[1] = Bytes{400 * kMiB};
  const model::Machine two = machine("2 numa cores:2 mem:64GiB");
  const auto refused = plan_memory_bench(two, wish, available);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message,
            "node 1 has too little free memory for a buffer of 512 MiB: at most 300 MiB may be taken without "
            "pushing "
            "others out");
  // The size of its own choice shrinks instead, to what every node has.
  available.on_node[1] = Bytes{200 * kMiB};
  const auto plan = plan_memory_bench(two, {}, available);
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->size, Bytes{150 * kMiB});
}

TEST(MemoryPlan, RespectsTheCgroupLimit) {
  const model::Machine one = machine("1 numa cores:2 mem:64GiB");
  Available available = plenty(1);
  available.of_cgroup = Bytes{128 * kMiB};
  EXPECT_EQ(plan_memory_bench(one, {}, available)->size, Bytes{96 * kMiB});
  available.of_cgroup = Bytes{32 * kMiB};
  EXPECT_FALSE(plan_memory_bench(one, {}, available));
}

TEST(MemoryPlan, MachineWithoutNumaIsOneNode) {
  model::Machine bare;
  bare.cpus.online = set("0-3");
  const auto plan = plan_memory_bench(bare, {}, {});
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_EQ(plan->cpu_sides[0].cpus.size(), 4U);
  EXPECT_TRUE(plan->one_memory);
}

TEST(MemoryPlan, CacheLinesBetweenCores) {
  MemoryWish wish;
  wish.cache_lines = true;
  const auto plan = plan_memory_bench(machine("2 numa cores:2 mem:64GiB"), wish, plenty(2));
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->cache_line_cpus.size(), 4U);
  EXPECT_EQ(plan->figures, 16U + 6U);
}

TEST(MemoryPlan, DurationInWords) {
  EXPECT_EQ(duration_in_words(0.1), "about 1 s");
  EXPECT_EQ(duration_in_words(7.2), "about 8 s");
  EXPECT_EQ(duration_in_words(170), "about 3 min");
}

}  // namespace
}  // namespace angio::bench
