#include "nccl_run/memory_guard.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include "nccl_run/shared_folder.hpp"

namespace angio::nccl_run {
namespace {

std::unique_ptr<host::Root> root_of(const std::vector<std::pair<std::string, std::string>>& files) {
  host::Recording recording;
  for (const auto& [path, content] : files)
    recording[path].content = content;
  return host::make_memory_root(recording, host::Scope::kComplete);
}

// A thousand pages resident, of which the kernel says that half are shared.
std::unique_ptr<host::Root> two_processes() {
  return root_of({{"/proc/1/statm", "9000 1000 10 1 0 10 0\n"},
                  {"/proc/2/statm", "9000 1000 10 1 0 10 0\n"},
                  {"/proc/1/smaps_rollup", "0-1 ---p 0 0:0 0 [rollup]\nRss: 4000 kB\nPss:      2000 kB\n"},
                  {"/proc/2/smaps_rollup", "0-1 ---p 0 0:0 0 [rollup]\nRss: 4000 kB\nPss:      2400 kB\n"}});
}

TEST(MemoryGuard, CountsSharedPagesOnce) {
  const auto root = two_processes();
  MemoryGuard guard(*root, std::uint64_t{4401} << 10U);
  const std::vector<int> processes{1, 2};
  EXPECT_FALSE(guard.is_beyond(processes));
  EXPECT_EQ(guard.peak(), std::uint64_t{4400} << 10U);
  EXPECT_EQ(guard.largest(), 1U);
  MemoryGuard tight(*root, std::uint64_t{4399} << 10U);
  EXPECT_TRUE(tight.is_beyond(processes));
}

TEST(MemoryGuard, TakesResidentPagesWhereTheKernelSaysNoMore) {
  const auto root = root_of({{"/proc/1/statm", "9000 1000 10 1 0 10 0\n"}});
  const std::uint64_t held = 1000 * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  MemoryGuard guard(*root, held);
  const std::vector<int> processes{1, 7};
  EXPECT_FALSE(guard.is_beyond(processes));
  EXPECT_EQ(guard.peak(), held);
}

TEST(AvailableMemory, IsWhatTheHostSays) {
  EXPECT_EQ(available_memory(*root_of({{"/proc/meminfo", "MemTotal: 9 kB\nMemAvailable:   1024 kB\n"}})),
            std::uint64_t{1} << 20U);
  EXPECT_FALSE(available_memory(*root_of({})));
}

TEST(AvailableMemory, IsBoundByTheGroupAndThoseAboveIt) {
  const auto root = root_of({{"/proc/meminfo", "MemAvailable: 1000000 kB\n"},
                             {"/proc/self/cgroup", "0::/user.slice/job\n"},
                             {"/sys/fs/cgroup/user.slice/memory.max", "5000\n"},
                             {"/sys/fs/cgroup/user.slice/memory.current", "4500\n"},
                             {"/sys/fs/cgroup/user.slice/memory.stat", "anon 1\ninactive_file 500\n"},
                             {"/sys/fs/cgroup/user.slice/job/memory.max", "max\n"},
                             {"/sys/fs/cgroup/user.slice/job/memory.current", "100\n"}});
  EXPECT_EQ(available_memory(*root), 1000U);
}

TEST(AvailableMemory, OldGroupsToo) {
  const auto root = root_of({{"/proc/meminfo", "MemAvailable: 1000000 kB\n"},
                             {"/proc/self/cgroup", "3:cpu:/x\n2:memory:/job\n"},
                             {"/sys/fs/cgroup/memory/job/memory.limit_in_bytes", "9000\n"},
                             {"/sys/fs/cgroup/memory/job/memory.usage_in_bytes", "10000\n"}});
  EXPECT_EQ(available_memory(*root), 0U);
}

TEST(SharedFolder, NamesSayWhoseTheyAre) {
  const FolderOwner owner{4711, 123456, 4026531836};
  EXPECT_EQ(folder_name(owner), "angio-dryrun.4711.123456.4026531836");
  EXPECT_EQ(parse_folder_name("angio-dryrun.4711.123456.4026531836"), owner);
  EXPECT_EQ(parse_folder_name("angio-dryrun.4711.123456.4026531836.2"), owner);
  for (const char* other :
       {"nccl-4711.1.1", "angio-dryrun.", "angio-dryrun.1", "angio-dryrun.1.1", "angio-dryrun.x.1.1",
        "angio-dryrun.0.1.1", "angio-dryrun.1.1.x", "angio-dryrun.1.1.1.x", "angio-dryrun.1.1.1.1.1"}) {
    EXPECT_FALSE(parse_folder_name(other)) << other;
  }
}

TEST(SharedFolder, JudgesOnlyItsOwnPidNamespace) {
  host::Recording recording;
  recording["/proc/7/stat"].content = "7 (angio) S 1 7 7 0 -1 0 1 0 0 0 0 0 0 0 20 0 1 0 500 0\n";
  recording["/proc/self/ns/pid"].link = "pid:[11]";
  const auto root = host::make_memory_root(recording, host::Scope::kComplete);
  ASSERT_EQ(own_pid_namespace(*root), 11U);
  EXPECT_FALSE(is_left_over(*root, 11, "angio-dryrun.7.500.11"));  // it runs
  EXPECT_TRUE(is_left_over(*root, 11, "angio-dryrun.7.400.11"));   // its number was used again
  EXPECT_TRUE(is_left_over(*root, 11, "angio-dryrun.8.500.11.3"));
  EXPECT_FALSE(is_left_over(*root, 11, "angio-dryrun.8.500.12"));  // of another container
  EXPECT_FALSE(is_left_over(*root, 11, "angio-dryrun.8.500"));
  EXPECT_FALSE(own_pid_namespace(*root_of({})));
}

TEST(SharedFolder, StartTimeStandsBehindAnyName) {
  const auto root = root_of(
      {{"/proc/7/stat",
        "7 (a) b (c)) S 1 7 7 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 98765 0 0 18446744073709551615\n"},
       {"/proc/8/stat", "8 (short) S 1\n"}});
  EXPECT_EQ(start_time(*root, 7), 98765U);
  EXPECT_FALSE(start_time(*root, 8));
  EXPECT_FALSE(start_time(*root, 9));
}

}  // namespace
}  // namespace angio::nccl_run
