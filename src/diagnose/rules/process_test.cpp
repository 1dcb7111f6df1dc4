#include <gtest/gtest.h>

#include "diagnose/rules/process_test_jobs.hpp"

namespace angio::test {
namespace {

TEST(ProcessAffinityRemote, FiresWhenAllRanksAreOnNodeZero) {
  Machine machine = training();
  for (auto& process : machine.processes)
    set(process.threads[0].allowed, cpu_range(0, 56));
  const auto found = findings_of(machine, "process.affinity.remote");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].title, "4 of 8 GPU processes may only run away from their GPU");
  EXPECT_EQ(found[0].evidence[0].text,
            "process 1004 (python) may use CPUs 0-55, GPU 4 is on node 1 (56-111)");
  EXPECT_NEAR(found[0].rank, 0.5, 1e-9);
}

TEST(ProcessAffinityRemote, SilentWhenBoundRightOrNotAtAll) {
  EXPECT_TRUE(held(training(), "process.affinity.remote"));
  Machine machine = training();
  for (auto& process : machine.processes)
    set(process.threads[0].allowed, cpu_range(0, 112));
  EXPECT_TRUE(held(machine, "process.affinity.remote"));
  EXPECT_TRUE(not_applicable(dgx_h100(), "process.affinity.remote"));
}

TEST(ProcessAffinityRemote, UndecidedWithoutTheMask) {
  Machine machine = training();
  deny(machine.processes[0].threads[0].allowed);
  EXPECT_EQ(undecided_of(machine, "process.affinity.remote").size(), 1U);
}

TEST(ProcessAffinityCrowded, FiresWhenRanksShareOneCpu) {
  Machine machine = training();
  for (auto& process : machine.processes)
    set(process.threads[0].allowed, cpu_range(0, 1));
  EXPECT_EQ(title_of(machine, "process.affinity.crowded"), "8 GPU processes share 1 CPU (0)");
}

TEST(ProcessAffinityCrowded, SilentOnAWholeNodeShared) {
  Machine machine = training();
  for (auto& process : machine.processes)
    set(process.threads[0].allowed, cpu_range(0, 56));
  EXPECT_TRUE(held(machine, "process.affinity.crowded"));
}

TEST(ProcessAffinityCrowded, UndecidedWithoutTheMask) {
  Machine machine = training();
  deny(machine.processes[0].threads[0].allowed);
  EXPECT_EQ(undecided_of(machine, "process.affinity.crowded").size(), 1U);
}

TEST(ProcessAffinityUnused, FiresWhenRanksAreCutShort) {
  Machine machine = training();
  for (auto& process : machine.processes) {
    for (auto& thread : process.threads)
      set(thread.allowed, cpu_range(0, 4));
  }
  const auto found = findings_of(machine, "process.affinity.unused");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].title, "The job's processes may use 4 of 112 cores");
  EXPECT_EQ(found[0].severity, model::Severity::kInfo);
}

TEST(ProcessAffinityUnused, SilentOnTheWholeMachineAndOnASmallerJob) {
  EXPECT_TRUE(held(training(), "process.affinity.unused"));
  Machine machine = training();
  machine.processes.resize(2);
  for (auto& process : machine.processes)
    set(process.threads[0].allowed, cpu_range(0, 4));
  EXPECT_TRUE(findings_of(machine, "process.affinity.unused").empty());
}

TEST(ProcessAffinityUnused, UndecidedWithoutTheMask) {
  Machine machine = training();
  deny(machine.processes[0].threads[0].allowed);
  EXPECT_EQ(undecided_of(machine, "process.affinity.unused").size(), 1U);
}

TEST(ProcessMemoryRemote, FiresWithShareAndCure) {
  Machine machine = training();
  set(machine.processes[5].bytes_per_node,
      std::map<std::uint32_t, std::uint64_t>{{0, 6ULL << 30U}, {1, 2ULL << 30U}});
  const auto found = findings_of(machine, "process.memory.remote");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].title, "75 % of the memory of process 1005 (python) is away from GPU 5");
  EXPECT_EQ(found[0].fixes[1].command, "migratepages 1005 0 1");
}

TEST(ProcessMemoryRemote, SilentOnLibrariesOnly) {
  Machine machine = training();
  set(machine.processes[5].bytes_per_node,
      std::map<std::uint32_t, std::uint64_t>{{0, 1ULL << 28U}, {1, 1ULL << 28U}});
  EXPECT_TRUE(held(machine, "process.memory.remote"));
}

// Two nodes a socket: 0 and 1 are one socket, 2 and 3 the other.
Machine nps2() {
  Machine machine = training();
  auto& nodes = machine.numa.nodes;
  nodes.clear();
  for (std::uint32_t id = 0; id < 4; ++id) {
    model::NumaNode node;
    node.id = {id};
    node.cpus = cpu_range(id * 28, 28);
    nodes.push_back(node);
  }
  for (std::size_t i = 0; i < 8; ++i) {
    set(machine.gpus[i].numa, NumaId{static_cast<std::uint32_t>(i / 2)});
    set(machine.processes[i].threads[0].allowed, cpu_range(i < 4 ? 0 : 56, 28));
    set(machine.processes[i].bytes_per_node,
        std::map<std::uint32_t, std::uint64_t>{{i < 4 ? 0U : 2U, 8ULL << 30U}});
  }
  return machine;
}

TEST(ProcessAffinityRemote, SilentOnANodeOfTheSameSocket) {
  EXPECT_TRUE(held(nps2(), "process.affinity.remote"));
  Machine machine = nps2();
  set(machine.processes[7].threads[0].allowed, cpu_range(28, 28));
  EXPECT_EQ(findings_of(machine, "process.affinity.remote").size(), 1U);
}

TEST(ProcessMemoryRemote, SilentOnANodeOfTheSameSocket) {
  EXPECT_TRUE(held(nps2(), "process.memory.remote"));
  Machine machine = nps2();
  set(machine.processes[7].bytes_per_node, std::map<std::uint32_t, std::uint64_t>{{1, 8ULL << 30U}});
  EXPECT_EQ(findings_of(machine, "process.memory.remote").size(), 1U);
}

TEST(ProcessMemoryRemote, FiresOnAMaskWithoutTheGpusNode) {
  Machine machine = training();
  for (auto& process : machine.processes)
    process.allowed_memory = known(cpu_range(1, 1), "Mems_allowed_list");
  const auto found = findings_of(machine, "process.memory.remote");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].title, "4 of 8 GPU processes may only take memory away from their GPU");
  EXPECT_EQ(found[0].evidence[0].text,
            "process 1000 (python) may take memory of nodes 1, GPU 0 is on node 0");
  ASSERT_EQ(found[0].fixes.size(), 2U);  // no pages to move yet
  EXPECT_EQ(found[0].fixes[1].command, "");
}

TEST(ProcessMemoryRemote, UndecidedWithoutNumaMaps) {
  Machine machine = training();
  deny(machine.processes[5].bytes_per_node);
  EXPECT_EQ(undecided_of(machine, "process.memory.remote").size(), 1U);
}

Machine with_group(const std::string& name, const std::string& value) {
  Machine machine = with(name, value);
  for (model::Process& process : machine.processes)
    process.settings.push_back({"WORLD_SIZE", "8", at("environ")});
  return machine;
}

TEST(ProcessGpuHiddenPeers, FiresUnderGpusPerTask) {
  const auto found = findings_of(with_group("SLURM_GPUS_PER_TASK", "1"), "process.gpu.hidden-peers");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].title, "8 GPU processes are shown one GPU each: NCCL may not see the peers");
}

TEST(ProcessGpuHiddenPeers, FiresWhenEveryRankCallsItsGpuNumberZero) {
  EXPECT_EQ(findings_of(with_group("CUDA_VISIBLE_DEVICES", "0"), "process.gpu.hidden-peers").size(), 1U);
}

TEST(ProcessGpuHiddenPeers, SilentOnSeparateJobsAndOnNone) {
  EXPECT_TRUE(not_applicable(with("CUDA_VISIBLE_DEVICES", "0"), "process.gpu.hidden-peers"));
  EXPECT_TRUE(not_applicable(with("SLURM_GPUS_PER_TASK", "1"), "process.gpu.hidden-peers"));
  EXPECT_TRUE(held(with_group("SLURM_GPU_BIND", "none"), "process.gpu.hidden-peers"));
}

TEST(ProcessGpuHiddenPeers, SilentWithoutBindingAndOnSeveralGpusATask) {
  Machine unbound = with_group("SLURM_GPUS_PER_TASK", "1");
  for (model::Process& process : unbound.processes)
    process.settings.push_back({"SLURM_GPU_BIND", "none", at("environ")});
  EXPECT_TRUE(held(unbound, "process.gpu.hidden-peers"));
  Machine four = with_group("SLURM_GPUS_PER_TASK", "4");
  EXPECT_TRUE(held(four, "process.gpu.hidden-peers"));
  Machine several = with_group("SLURM_GPUS_PER_TASK", "1");
  for (model::Process& process : several.processes)
    process.gpus = {0, 1, 2, 3};
  EXPECT_TRUE(held(several, "process.gpu.hidden-peers"));
  EXPECT_EQ(findings_of(with_group("SLURM_GPUS_PER_TASK", "h100:1"), "process.gpu.hidden-peers").size(), 1U);
}

// no undecided: without processes there is nothing to judge
TEST(ProcessGpuHiddenPeers, UndecidedIsNotApplicableWithoutProcesses) {
  EXPECT_TRUE(not_applicable(dgx_h100(), "process.gpu.hidden-peers"));
}

TEST(ProcessSettingOmpThreads, FiresWhenThereAreFewerCpus) {
  EXPECT_EQ(title_of(with("OMP_NUM_THREADS", "56"), "process.setting.omp-threads"),
            "OMP_NUM_THREADS=56 on 14 CPUs");
}

TEST(ProcessSettingOmpThreads, SilentWhenTheyFit) {
  EXPECT_TRUE(held(with("OMP_NUM_THREADS", "8"), "process.setting.omp-threads"));
}

TEST(ProcessSettingOmpThreads, UndecidedWithoutTheMask) {
  Machine machine = with("OMP_NUM_THREADS", "8");
  deny(machine.processes[0].threads[0].allowed);
  EXPECT_EQ(undecided_of(machine, "process.setting.omp-threads").size(), 1U);
}

}  // namespace
}  // namespace angio::test
