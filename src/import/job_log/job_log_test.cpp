#include "import/job_log/job_log.hpp"

#include <gtest/gtest.h>

#include "import/import.hpp"

namespace angio::import::job_log {
namespace {

using model::MemoryEvent;
using model::MemoryTrouble;
using model::OomConstraint;

std::vector<MemoryEvent> events_of(std::string_view text) {
  const std::string cleaned = clean_terminal(text);
  MemoryReader reader(0);
  for (const Line& line : number_lines(cleaned))
    reader.read(line.number, line.text);
  return reader.take();
}

TEST(JobLog, TellsTheGpusMemoryFromPinnedMemory) {
  const auto device = events_of(
      "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of "
      "79.15 GiB of which 1.2 GiB is free.\n");
  ASSERT_EQ(device.size(), 1U);
  EXPECT_EQ(device[0].kind, MemoryTrouble::kDevice);
  EXPECT_EQ(device[0].source.line, 1U);
  const auto pinned = events_of("node-3:12:34 [0] NCCL WARN Failed to CUDA host alloc 8388608 bytes\n");
  ASSERT_EQ(pinned.size(), 1U);
  EXPECT_EQ(pinned[0].kind, MemoryTrouble::kPinned);
}

TEST(JobLog, ABareCudaErrorIsPinnedMemoryOnlyUnderATracebackThatSaysSo) {
  constexpr std::string_view kError = "RuntimeError: CUDA error: out of memory\n";
  ASSERT_EQ(events_of(kError).size(), 1U);
  EXPECT_EQ(events_of(kError)[0].kind, MemoryTrouble::kCudaEither);
  const std::string traceback =
      "  File \"torch/utils/data/_utils/pin_memory.py\", line 57, in pin_memory\n" + std::string(kError);
  EXPECT_EQ(events_of(traceback)[0].kind, MemoryTrouble::kPinned);
  const std::string far = "pin_memory=True\n" + std::string(100, '\n') + std::string(kError);
  EXPECT_EQ(events_of(far)[0].kind, MemoryTrouble::kCudaEither);
}

TEST(JobLog, ReadsTheKernelsConstraintAndNodes) {
  const auto events = events_of(
      "[ 812.1] python invoked oom-killer: gfp_mask=0x140cca(GFP_HIGHUSER_MOVABLE|__GFP_COMP), order=0\n"
      "[ 812.2] "
      "oom-kill:constraint=CONSTRAINT_MEMORY_POLICY,nodemask=0,2-3,cpuset=user.slice,mems_allowed=0-3,"
      "task_memcg=/user.slice,task=python,pid=4711,uid=1000\n"
      "[ 812.3] Out of memory: Killed process 4711 (python) total-vm:9kB, anon-rss:7kB\n");
  ASSERT_EQ(events.size(), 1U);  // the last line is the same kill
  EXPECT_EQ(events[0].kind, MemoryTrouble::kKernel);
  EXPECT_EQ(events[0].constraint, OomConstraint::kMemoryPolicy);
  EXPECT_EQ(to_list(*events[0].policy_nodes), "0,2-3");
  EXPECT_EQ(to_list(*events[0].cpuset_nodes), "0-3");
  EXPECT_EQ(events[0].process, "python");
  EXPECT_EQ(events[0].pid, 4711U);
}

TEST(JobLog, KnowsCgroupKillsOfKernelSlurmAndContainers) {
  for (const std::string_view line : {"Memory cgroup out of memory: Killed process 77 (python3) total-vm:1kB",
                                      "slurmstepd: error: Detected 1 oom_kill event in StepId=12.0. Some of "
                                      "the step tasks have been OOM Killed.",
                                      "    Reason:       OOMKilled"}) {
    const auto events = events_of(line);
    ASSERT_EQ(events.size(), 1U) << line;
    EXPECT_EQ(events[0].constraint, OomConstraint::kCgroup) << line;
  }
}

TEST(JobLog, NamingACallOrASettingIsNoTrouble) {
  EXPECT_TRUE(
      events_of("cudaHostAlloc 3.2 ms\npin_memory=True\nOut of memory is not what happened\n").empty());
  EXPECT_TRUE(events_of("NCCL INFO Using network IB\n").empty());
}

TEST(JobLog, SharedMemoryHostMemoryAndKills) {
  EXPECT_EQ(events_of("RuntimeError: DataLoader worker (pid 88) is killed by signal: Killed.")[0].kind,
            MemoryTrouble::kKilled);
  EXPECT_EQ(events_of("RuntimeError: DataLoader worker (pid 88) is killed by signal: Killed.")[0].pid, 88U);
  EXPECT_EQ(
      events_of("ERROR: Unexpected bus error encountered in worker. This might be caused by insufficient "
                "shared memory (shm).")[0]
          .kind,
      MemoryTrouble::kShared);
  EXPECT_EQ(events_of("OSError: [Errno 12] Cannot allocate memory")[0].kind, MemoryTrouble::kHost);
}

TEST(JobLog, CountsRepetitionsAndSurvivesDamage) {
  std::string many;
  for (int i = 0; i < 1000; ++i)
    many += "CUDA out of memory. Tried to allocate 1 GiB\n";
  ASSERT_EQ(events_of(many).size(), 1U);
  EXPECT_EQ(events_of(many)[0].count, 1000U);
  EXPECT_TRUE(events_of("").empty());
  EXPECT_EQ(events_of("oom-kill:constraint=").size(), 1U);
  EXPECT_EQ(events_of("oom-kill:constraint=")[0].constraint, OomConstraint::kUnknown);
}

TEST(JobLog, IsAForeignFileOfItsOwn) {
  constexpr std::string_view kLog = "step 12\nCUDA out of memory. Tried to allocate 1 GiB\n";
  EXPECT_EQ(recognise(kLog), ForeignKind::kJobLog);
  const auto machine = import_machine(kLog, "job.log");
  ASSERT_TRUE(machine.has_value());
  ASSERT_EQ(machine->logs.size(), 1U);
  EXPECT_EQ(machine->logs[0].name, "job.log");
  EXPECT_EQ(model::cite(*machine, machine->logs[0].memory[0].source), "job.log:2");
}

}  // namespace
}  // namespace angio::import::job_log
