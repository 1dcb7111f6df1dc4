#include "diagnose/binding.hpp"

#include <gtest/gtest.h>

#include "diagnose/job.hpp"
#include "diagnose/strays.hpp"
#include "model/synthetic.hpp"

namespace angio::diagnose {
namespace {

using model::Machine;
using model::Observed;
using model::Process;

constexpr std::uint64_t kGib = std::uint64_t{1} << 30U;

template <typename T>
Observed<T> known(T value) {
  return Observed<T>::known(std::move(value), {});
}

Machine two_nodes() {
  return model::topology("2 numa cores:4 { 2 gpu; 1 hca }").value();
}

Process on(const std::string& cpus, std::vector<std::uint32_t> gpus, std::uint32_t threads = 1) {
  Process process;
  process.id = 10;
  process.gpus = std::move(gpus);
  for (std::uint32_t i = 0; i < threads; ++i) {
    model::Thread thread;
    thread.id = 10 + i;
    thread.allowed = known(*parse_cpu_list(cpus));
    thread.last_cpu = known(*parse_cpu_list(cpus)->first());
    process.threads.push_back(thread);
  }
  return process;
}

void pages(Process& process, std::map<std::uint32_t, std::uint64_t> bytes) {
  process.bytes_per_node = known(std::move(bytes));
}

std::string list_of_node(const Machine& machine, std::size_t node) {
  return to_list(machine.numa.nodes.at(node).cpus);
}

TEST(Binding, BoundNear) {
  const Machine machine = two_nodes();
  Process process = on(list_of_node(machine, 0), {0});
  pages(process, {{0, 98 * kGib}, {1, 2 * kGib}});
  const BindingVerdict verdict = judge_binding(machine, process);
  EXPECT_EQ(verdict.bound, Bound::kNear);
  EXPECT_EQ(verdict.text, "bound: 4 CPUs of node 0, GPU 0 is on node 0, 98 % of pages local");
  EXPECT_TRUE(verdict.remarks.empty());
  EXPECT_FALSE(verdict.trouble);
}

TEST(Binding, BoundAway) {
  const Machine machine = two_nodes();
  const BindingVerdict verdict = judge_binding(machine, on(list_of_node(machine, 0), {3}));
  EXPECT_EQ(verdict.bound, Bound::kAway);
  EXPECT_EQ(verdict.text, "bound to node 0, GPU 3 is on node 1");
  ASSERT_EQ(verdict.remarks.size(), 1U);
  EXPECT_EQ(verdict.remarks[0], "1 of 1 thread last ran away from node 1");
  EXPECT_TRUE(verdict.trouble);
}

TEST(Binding, NotBound) {
  const Machine machine = two_nodes();
  const BindingVerdict verdict = judge_binding(machine, on("0-7", {2}));
  EXPECT_EQ(verdict.bound, Bound::kNotBound);
  EXPECT_EQ(verdict.text, "not bound: 8 CPUs of all 2 nodes, GPU 2 is on node 1");
  EXPECT_TRUE(verdict.trouble);
}

// One CPU of each node is as little bound as all of them.
TEST(Binding, OneCpuOfEachNodeIsNotBound) {
  const BindingVerdict verdict = judge_binding(two_nodes(), on("0,4", {}));
  EXPECT_EQ(verdict.text, "not bound: 2 CPUs of all 2 nodes");
}

TEST(Binding, RemotePages) {
  const Machine machine = two_nodes();
  Process process = on(list_of_node(machine, 0), {0});
  pages(process, {{0, 145 * kGib / 10}, {1, 41 * kGib / 10}});
  const BindingVerdict verdict = judge_binding(machine, process);
  EXPECT_EQ(verdict.text, "bound: 4 CPUs of node 0, GPU 0 is on node 0, 78 % of pages local");
  ASSERT_EQ(verdict.remarks.size(), 1U);
  EXPECT_EQ(verdict.remarks[0], "22 % of pages remote (4.1 GiB of 18.6 GiB on node 1)");
  EXPECT_TRUE(verdict.trouble);
}

TEST(Binding, AFewRemotePagesAreNoTrouble) {
  const Machine machine = two_nodes();
  Process process = on(list_of_node(machine, 0), {0});
  pages(process, {{0, 1U << 20U}, {1, 1U << 20U}});
  const BindingVerdict verdict = judge_binding(machine, process);
  EXPECT_EQ(verdict.remarks.size(), 1U);
  EXPECT_FALSE(verdict.trouble);
}

TEST(Binding, ThreadsStartedBeforeBinding) {
  const Machine machine = two_nodes();
  Process process = on(list_of_node(machine, 0), {0}, 52);
  for (std::size_t i = 10; i < 13; ++i)
    process.threads[i].allowed = known(*parse_cpu_list("0-7"));
  const BindingVerdict verdict = judge_binding(machine, process);
  EXPECT_EQ(verdict.bound, Bound::kNear);
  EXPECT_EQ(verdict.free_threads, 3U);
  ASSERT_EQ(verdict.remarks.size(), 1U);
  EXPECT_EQ(verdict.remarks[0], "threads started before binding: 3 of 52 may run anywhere");
  ASSERT_EQ(verdict.groups.size(), 2U);
  EXPECT_EQ(verdict.groups[0].threads, 49U);
}

TEST(Binding, OneNode) {
  const Machine machine = model::topology("1 numa cores:4 { 1 gpu }").value();
  EXPECT_EQ(judge_binding(machine, on("0-3", {0})).text, "one NUMA node: nothing to bind");
  EXPECT_EQ(judge_binding(machine, on("0-1", {0})).text,
            "one NUMA node: nothing to bind; may use 2 of 4 CPUs");
}

TEST(Binding, DeniedAndUnknown) {
  const Machine machine = two_nodes();
  Process process = on("0-3", {0});
  process.threads[0].allowed = Observed<CpuSet>::unreadable(model::Reason::kDenied, {});
  process.bytes_per_node =
      Observed<std::map<std::uint32_t, std::uint64_t>>::unreadable(model::Reason::kDenied, {});
  const BindingVerdict verdict = judge_binding(machine, process);
  EXPECT_EQ(verdict.bound, Bound::kUnknown);
  EXPECT_EQ(verdict.text, "allowed CPUs unknown, GPU 0 is on node 0");
  ASSERT_EQ(verdict.remarks.size(), 1U);
  EXPECT_EQ(verdict.remarks[0], "where its pages lie is unknown: numa_maps denied; sudo angio ps");
  EXPECT_EQ(judge_binding(Machine{}, Process{}).text, "the machine's NUMA nodes are unknown");
  EXPECT_EQ(judge_binding(machine, on(list_of_node(machine, 0), {77})).text,
            "bound: 4 CPUs of node 0, GPU 77 is on an unknown node");
}

TEST(Binding, NicOfTheOtherNode) {
  const Machine machine = two_nodes();
  Process process = on(list_of_node(machine, 0), {0});
  process.rdma = known(std::vector<std::uint32_t>{1, 9});
  const BindingVerdict verdict = judge_binding(machine, process);
  ASSERT_EQ(verdict.remarks.size(), 1U);
  EXPECT_EQ(verdict.remarks[0], "NIC " + machine.rdma[1].name + " is on node 1");
}

Process member(std::uint32_t id, std::uint32_t parent,
               std::vector<std::pair<std::string, std::string>> settings,
               const std::string& command = "python train.py") {
  Process process;
  process.id = id;
  process.parent = known(parent);
  process.command = command;
  for (auto& [name, value] : settings)
    process.settings.push_back({name, value, {}});
  return process;
}

TEST(Job, LauncherRanksWorkersAndShells) {
  Machine machine;
  machine.processes = {
      member(5, 1, {{"SLURM_PROCID", "0"}}, "torchrun train.py"),
      member(10, 5, {{"RANK", "0"}, {"LOCAL_RANK", "0"}, {"SLURM_PROCID", "0"}}),
      member(11, 5, {{"RANK", "1"}, {"LOCAL_RANK", "1"}}, "/bin/sh"),
      member(12, 11, {{"RANK", "1"}, {"LOCAL_RANK", "1"}}),
      member(13, 10, {{"RANK", "0"}, {"LOCAL_RANK", "0"}, {"SLURM_PROCID", "0"}}),
      member(14, 13, {{"RANK", "0"}, {"LOCAL_RANK", "0"}, {"SLURM_PROCID", "0"}}),
  };
  const std::vector<JobMember> members = job_members(machine);
  ASSERT_EQ(members.size(), 6U);
  EXPECT_EQ(members[0].process, 1U);
  EXPECT_EQ(members[0].role, Role::kRank);
  EXPECT_EQ(members[0].workers, (std::vector<std::size_t>{4, 5}));
  const auto role = [&](std::size_t process) {
    return std::ranges::find(members, process, &JobMember::process)->role;
  };
  EXPECT_EQ(role(0), Role::kLauncher);
  EXPECT_EQ(role(2), Role::kWrapper);
  EXPECT_EQ(role(3), Role::kRank);
  EXPECT_EQ(role(5), Role::kWorker);
}

TEST(Job, AChildWithItsOwnGpuIsNoWorker) {
  Machine machine;
  machine.processes = {member(10, 1, {}), member(11, 10, {}), member(12, 10, {})};
  machine.processes[1].gpus = {1};
  const std::vector<JobMember> members = job_members(machine);
  EXPECT_EQ(members[0].workers, std::vector<std::size_t>{2});
  EXPECT_EQ(members[1].role, Role::kProcess);
}

// A snapshot may claim anything, a circle of parents too.
TEST(Job, ACircleOfParentsEnds) {
  Machine machine;
  machine.processes = {member(1, 2, {}), member(2, 1, {}), member(3, 3, {})};
  EXPECT_EQ(job_members(machine).size(), 3U);
}

TEST(Job, ThreadNames) {
  EXPECT_EQ(thread_purpose("NCCL Progress 0"), "NCCL proxy");
  EXPECT_EQ(thread_purpose("NCCL RAS"), "NCCL helper");
  EXPECT_EQ(thread_purpose("cuda-EvtHandlr"), "CUDA events");
  EXPECT_EQ(thread_purpose("pt_autograd_3"), "PyTorch autograd");
  EXPECT_EQ(thread_purpose("python3"), "");
}

Machine ranks_on(std::vector<std::vector<std::uint32_t>> gpus) {
  Machine machine = model::topology("2 numa { 2 gpu }").value();
  for (std::uint32_t i = 0; i < gpus.size(); ++i) {
    machine.processes.push_back(
        member(10 + i, 5, {{"LOCAL_RANK", std::to_string(i)}, {"RANK", std::to_string(i)}}));
    machine.processes.back().gpus = gpus[i];
  }
  return machine;
}

TEST(Strays, ContextsOnGpuZero) {
  const std::vector<Stray> strays = find_strays(ranks_on({{0}, {0, 1}, {0, 2}}), {});
  ASSERT_EQ(strays.size(), 1U);
  EXPECT_EQ(strays[0].kind, "gpu-0-context");
  EXPECT_EQ(strays[0].text, "GPU 0 holds a context of 2 processes that work on another GPU: 11, 12");
  EXPECT_TRUE(find_strays(ranks_on({{0}, {1}, {2}}), {}).empty());
}

TEST(Strays, AllRanksOnOneGpu) {
  const std::vector<Stray> strays = find_strays(ranks_on({{0}, {0}}), {});
  ASSERT_EQ(strays.size(), 1U);
  EXPECT_EQ(strays[0].text, "GPU 0 is shared by 2 ranks that hold no other: 10, 11");
}

TEST(Strays, OrphanWithItsPort) {
  Machine machine;
  machine.processes = {member(10, 1, {{"MASTER_PORT", "29500"}, {"RANK", "0"}})};
  machine.processes[0].listening = {29500};
  model::ProcessSurvey survey;
  survey.parents[1] = {"systemd", known(false)};
  std::vector<Stray> strays = find_strays(machine, survey);
  ASSERT_EQ(strays.size(), 1U);
  EXPECT_EQ(
      strays[0].text,
      "rank 0 (process 10) has lost its launcher: its parent is 1 (systemd); it holds MASTER_PORT 29500");
  EXPECT_EQ(strays[0].command, "kill 10");
  survey.parents[1].has_rank = known(true);  // a container whose environment has the rank
  EXPECT_TRUE(find_strays(machine, survey).empty());
  survey.parents[1] = {"torchrun", known(false)};  // the launcher is process 1 itself
  EXPECT_TRUE(find_strays(machine, survey).empty());
}

TEST(Strays, ZombiesOfTheJobOnly) {
  Machine machine;
  machine.processes = {member(10, 5, {{"RANK", "0"}})};
  model::ProcessSurvey survey;
  survey.parents[5] = {"torchrun", known(false)};
  survey.zombies = {member(11, 5, {}, "trainer"), member(12, 7, {}, "sshd")};
  const std::vector<Stray> strays = find_strays(machine, survey);
  ASSERT_EQ(strays.size(), 1U);
  EXPECT_EQ(strays[0].text, "process 11 (trainer) ended and its parent 5 (torchrun) does not reap it");
}

TEST(Strays, SegmentsThatNobodyHas) {
  model::ProcessSurvey survey;
  survey.segments = {{"nccl-a", known(Bytes{kGib}), known(1000U), known(false)},
                     {"nccl-b", known(Bytes{kGib}), known(1000U), known(true)},
                     {"nccl-'; reboot", known(Bytes{kGib}), known(1000U), known(false)},
                     {"torch_1", known(Bytes{kGib}), known(1000U), {}}};
  const std::vector<Stray> strays = find_strays({}, survey);
  ASSERT_EQ(strays.size(), 1U);
  EXPECT_EQ(strays[0].text, "2 segments in /dev/shm that no process here has open: 2 GiB of user 1000");
  EXPECT_EQ(strays[0].command, "rm -- /dev/shm/nccl-a '/dev/shm/nccl-'\\''; reboot'");
}

}  // namespace
}  // namespace angio::diagnose
