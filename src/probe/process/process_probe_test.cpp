#include "probe/process/process_probe.hpp"

#include <gtest/gtest.h>

#include <cerrno>

#include "probe/process/process_parts.hpp"

namespace angio::probe {
namespace {

using namespace std::string_literals;

model::Machine machine_with_gpus(std::uint32_t count) {
  model::Machine machine;
  for (std::uint32_t i = 0; i < count; ++i) {
    model::Gpu gpu;
    gpu.index = i;
    gpu.library_index =
        model::Observed<std::uint32_t>::known(count - 1 - i, {});  // NVML counts the other way round
    machine.gpus.push_back(gpu);
  }
  return machine;
}

host::Recording training_process() {
  host::Recording all;
  const auto file = [&](const std::string& path, const std::string& text) { all[path].content = text; };
  file("/@nvml/gpu/0/processes", "77 1048576\n78 -\n");
  file("/@nvml/gpu/1/processes", "77 2048\nx\n");
  file("/proc/77/status", "Name:\tpython3\nMems_allowed:\t3\nMems_allowed_list:\t0-1\n");
  file("/proc/77/cmdline",
       "/usr/bin/python3\0-u\0train.py\0--lr\0"
       "0.1\0"s);
  all["/proc/77/task"].names = host::Names{"77", "79"};
  file("/proc/77/task/77/status", "Name:\tpython3\nCpus_allowed_list:\t0-3,8\n");
  std::string stat = "77 (py) (x) S";
  for (int field = 4; field < 39; ++field)
    stat += " 0";
  file("/proc/77/task/77/stat", stat + " 8\n");
  all["/proc/77/task/79/status"].content = std::unexpected(host::ReadError{ENOENT, {}});
  file("/proc/77/numa_maps",
       "7f00 default anon=3 N0=2 N1=1 kernelpagesize_kB=4\n7f10 bind:1 anon=1 N1=1 kernelpagesize_kB=2048\n");
  file("/proc/77/maps",
       "7f00-7f10 r-xp 0 08:01 5 /opt/lib/libnccl.so.2\n7f10-7f20 r-xp 0 08:01 5 /opt/lib/libnccl.so.2\n"
       "7f20-7f30 r-xp 0 08:01 6 /usr/lib/libcuda.so.570.86.15 (deleted)\n7f30-7f40 r-xp 0 08:01 7 "
       "/usr/lib/libc.so.6\n");
  all["/opt/lib/libnccl.so.2"].link = "libnccl.so.2.21.5";
  file("/proc/77/cgroup", "0::/job/step\n");
  file("/sys/fs/cgroup/job/step/memory.max", "max\n");
  file("/sys/fs/cgroup/job/memory.max", "1073741824\n");
  file("/sys/fs/cgroup/job/step/cpu.max", "400000 100000\n");
  file("/sys/fs/cgroup/job/cpu.max", "800000 100000\n");
  file("/proc/77/limits",
       "Limit  Soft Limit  Hard Limit  Units\nMax locked memory         65536                unlimited       "
       "     bytes\n");
  file("/proc/77/environ", "NCCL_DEBUG=INFO\0CUDA_VISIBLE_DEVICES=0,1\0"s);
  return all;
}

TEST(Processes, WhoUsesAGpuAndHow) {
  const auto root = host::make_memory_root(training_process(), host::Scope::kComplete);
  model::Machine machine = machine_with_gpus(2);
  probe_processes(*root, {}, machine);
  ASSERT_EQ(machine.processes.size(), 1U);
  const model::Process& process = machine.processes[0];
  EXPECT_EQ(process.id, 77U);
  EXPECT_EQ(process.command, "/usr/bin/python3 train.py");
  EXPECT_EQ(process.gpus, (std::vector<std::uint32_t>{0, 1}));
  EXPECT_EQ(to_list(*process.allowed_memory.get()), "0-1");
  ASSERT_EQ(process.threads.size(), 2U);
  EXPECT_EQ(to_list(*process.threads[0].allowed.get()), "0-3,8");
  EXPECT_TRUE(process.threads[0].last_cpu.is(8));
  EXPECT_TRUE(process.threads[1].allowed.is_absent());  // ended meanwhile
  EXPECT_EQ(process.bytes_per_node.get()->at(0), 8192U);
  EXPECT_EQ(process.bytes_per_node.get()->at(1), 4096U + (2U << 20U));
  EXPECT_EQ(process.policies.get()->at("bind:1"), 1U);
  ASSERT_EQ(process.libraries.size(), 2U);
  EXPECT_EQ(process.libraries[0].version, "2.21.5");
  EXPECT_EQ(process.libraries[1].version, "570.86.15");
  EXPECT_TRUE(process.memory_limit.is(Bytes{1U << 30U}));
  EXPECT_TRUE(process.cpu_limit.is(4.0));
  EXPECT_EQ(process.memlock.get()->soft, 65536U);
  ASSERT_EQ(process.settings.size(), 2U);
  EXPECT_EQ(process.settings[0].name, "CUDA_VISIBLE_DEVICES");
  ASSERT_EQ(machine.notes.size(), 1U);  // 78 is gone: a note, not an error
  EXPECT_EQ(machine.notes[0].id, "process.gone");
}

TEST(Processes, DeniedIsUnreadableWithItsReason) {
  host::Recording all;
  all["/proc/5/status"].content = "Name:\tx\n";
  for (const char* leaf : {"maps", "numa_maps", "environ"})
    all["/proc/5/"s + leaf].content = std::unexpected(host::ReadError{EACCES, {}});
  const auto root = host::make_memory_root(std::move(all), host::Scope::kComplete);
  model::Machine machine;
  probe_processes(*root, {5}, machine);
  ASSERT_EQ(machine.processes.size(), 1U);
  EXPECT_EQ(machine.processes[0].bytes_per_node.reason(), model::Reason::kDenied);
  EXPECT_TRUE(machine.processes[0].libraries.empty());
}

TEST(Processes, ThreadsAreBounded) {
  host::Recording all;
  all["/proc/5/status"].content = "Name:\tx\n";
  host::Names names;
  for (int i = 10000; i < 15000; ++i)
    names.push_back(std::to_string(i));
  all["/proc/5/task"].names = names;
  const auto root = host::make_memory_root(std::move(all), host::Scope::kComplete);
  model::Machine machine;
  probe_processes(*root, {5}, machine);
  EXPECT_EQ(machine.processes.at(0).threads.size(), 4096U);
  EXPECT_EQ(machine.notes.at(0).text, "process 5 has 5000 threads; 4096 were read");
}

TEST(ProcessParts, ControlGroupsV1) {
  host::Recording all;
  all["/proc/5/status"].content = "Name:\tx\n";
  all["/proc/5/cgroup"].content = "4:memory:/a\n3:cpu,cpuacct:/a/b\n0::/c\n";
  all["/sys/fs/cgroup/memory/a/memory.limit_in_bytes"].content = "9223372036854771712\n";
  all["/sys/fs/cgroup/memory/a/memory.oom_control"].content = "oom_kill_disable 0\nunder_oom 0\noom_kill 4\n";
  all["/sys/fs/cgroup/cpu/a/b/cpu.cfs_quota_us"].content = "-1\n";
  all["/sys/fs/cgroup/cpu/a/b/cpu.cfs_period_us"].content = "100000\n";
  all["/sys/fs/cgroup/cpu/a/cpu.cfs_quota_us"].content = "150000\n";
  all["/sys/fs/cgroup/cpu/a/cpu.cfs_period_us"].content = "100000\n";
  const auto root = host::make_memory_root(std::move(all), host::Scope::kComplete);
  model::Machine machine;
  probe_processes(*root, {5}, machine);
  EXPECT_TRUE(machine.processes.at(0).memory_limit.is_absent());
  EXPECT_TRUE(machine.logs.empty());  // without a limit it killed nobody
  EXPECT_TRUE(machine.processes.at(0).cpu_limit.is(1.5));
}

// The machine's logs after a look at process 5 in a group with this limit and these events.
std::vector<model::JobLog> kills(const std::string& limit, const std::string& events) {
  host::Recording all;
  all["/proc/5/status"].content = "Name:\tx\n";
  all["/proc/6/status"].content = "Name:\ty\n";
  for (const char* process : {"5", "6"})
    all["/proc/" + std::string(process) + "/cgroup"].content = "0::/job\n";
  all["/sys/fs/cgroup/job/memory.max"].content = limit;
  all["/sys/fs/cgroup/job/memory.events"].content = events;
  const auto root = host::make_memory_root(std::move(all), host::Scope::kComplete);
  model::Machine machine;
  probe_processes(*root, {5, 6}, machine);
  return machine.logs;
}

TEST(ProcessParts, KillsByAGroupsLimitAreToldOnce) {
  const auto logs = kills("1073741824\n", "low 0\nhigh 0\nmax 9\noom 2\noom_kill 3\n");
  ASSERT_EQ(logs.size(), 1U);  // of two processes in the group
  EXPECT_EQ(logs[0].name, "/sys/fs/cgroup/job/memory.events");
  ASSERT_EQ(logs[0].memory.size(), 1U);
  EXPECT_EQ(logs[0].memory[0].constraint, model::OomConstraint::kCgroup);
  EXPECT_EQ(logs[0].memory[0].text, "oom_kill 3 since the group was made");
}

TEST(ProcessParts, KillsThatNoLimitOfTheGroupCausedAreNotItsOwn) {
  EXPECT_TRUE(kills("max\n", "oom 2\noom_kill 3\n").empty());
  EXPECT_TRUE(kills("1073741824\n", "oom 0\noom_kill 3\n").empty());  // the host ran full
  EXPECT_TRUE(kills("1073741824\n", "oom 2\noom_kill 0\n").empty());
  EXPECT_TRUE(kills("1073741824\n", "oom_kill many\n\x01").empty());
}

TEST(ProcessParts, ReducedAndRawNumaMapsAgree) {
  const auto raw =
      process::parse_numa_maps("1 default N0=1 kernelpagesize_kB=4\n2 default N0=2 kernelpagesize_kB=4\n");
  const auto sum = process::parse_numa_maps("0 default N0=3 mappings=2 kernelpagesize_kB=4\n");
  EXPECT_EQ(raw.bytes_per_node, sum.bytes_per_node);
  EXPECT_EQ(raw.policies, sum.policies);
  EXPECT_EQ(raw.policies.at("default"), 2U);
  EXPECT_TRUE(process::parse_numa_maps("x default N0=99999999999999999999 N1=-1\n").bytes_per_node.empty());
}

TEST(ProcessParts, OddTexts) {
  EXPECT_FALSE(process::last_cpu("77 (x) S 1").has_value());
  EXPECT_FALSE(process::last_cpu("").has_value());
  EXPECT_EQ(process::status_field("XName:\ty\nName:\tz\n", "Name"), "z");
  EXPECT_FALSE(process::status_field("Name", "Name").has_value());
  EXPECT_EQ(process::command_of("python\0-m\0torch.run\0--x\0"s), "python -m torch.run");
  EXPECT_EQ(process::command_of(""), "");
  EXPECT_FALSE(process::parse_cpu_max("max").has_value());
  EXPECT_FALSE(process::parse_cpu_max("1 0").has_value());
}

}  // namespace
}  // namespace angio::probe
