#include "probe/process/job_probe.hpp"

#include <gtest/gtest.h>

#include <cerrno>

#include "probe/process/process_parts.hpp"

namespace angio::probe {
namespace {

using namespace std::string_literals;

class Jobs : public testing::Test {
 protected:
  void file(const std::string& path, const std::string& text) { all_[path].content = text; }
  void deny(const std::string& path) { all_[path].content = std::unexpected(host::ReadError{EACCES, {}}); }

  // A process with one thread.
  void process(std::uint32_t id, std::uint32_t parent, const std::string& environ, const std::string& maps) {
    const std::string at = "/proc/" + std::to_string(id);
    file(at + "/environ", environ);
    file(at + "/maps", maps);
    file(at + "/cmdline", "python\0train.py\0"s);
    file(at + "/status", "Name:\tpython\nState:\tS (sleeping)\nPPid:\t" + std::to_string(parent) +
                             "\nVmLck:\t 64 kB\nVmPin:\t 8 kB\nMems_allowed_list:\t0-1\n");
    const std::string task = at + "/task/" + std::to_string(id);
    std::string stat = std::to_string(id) + " (pt_main) thr) S";
    for (int field = 4; field < 39; ++field)
      stat += " 0";
    file(task + "/stat", stat + " 5\n");
    file("/@tasks/affinity/" + std::to_string(id), "0-3");
    file("/@tasks/owner/" + std::to_string(id), "1000");
    file(at + "/numa_maps", "7f00 bind:0 anon=2 N0=2 kernelpagesize_kB=4\n");
    all_[at + "/fd"].names = host::Names{};
  }

  model::ProcessSurvey probe(const JobOptions& options = {}) {
    const auto root = host::make_memory_root(all_, host::Scope::kComplete);
    return probe_jobs(*root, options, machine_);
  }

  void gpu(std::uint32_t index, const std::string& address, const std::string& minor) {
    model::Gpu gpu;
    gpu.index = index;
    gpu.library_index = model::Observed<std::uint32_t>::known(index, {});
    gpu.address = model::Observed<PciAddress>::known(*parse_pci_address(address), {});
    machine_.gpus.push_back(gpu);
    file("/proc/driver/nvidia/gpus/" + address + "/information",
         "Model: \t\t H100\nDevice Minor: \t " + minor + "\n");
  }

  host::Recording all_;
  model::Machine machine_;
};

const std::string kCuda = "0-0 r-xp 0 00:00 0 /usr/lib/libcuda.so.1\n";
const std::string kPlain = "0-0 r-xp 0 00:00 0 /usr/lib/libc.so.6\n";

TEST_F(Jobs, RanksAndCudaProcessesAreFoundOthersNot) {
  process(10, 1, "RANK=3\0LOCAL_RANK=1\0"s, kPlain);
  process(11, 1, "", kCuda);
  process(12, 1, "RANKLE=3\0NCCL_DEBUG=INFO\0"s, kPlain);
  const model::ProcessSurvey survey = probe();
  ASSERT_EQ(machine_.processes.size(), 2U);
  const model::Process& rank = machine_.processes[0];
  EXPECT_EQ(rank.id, 10U);
  EXPECT_EQ(rank.command, "python train.py");
  EXPECT_TRUE(rank.parent.is(1));
  EXPECT_TRUE(rank.user.is(1000));
  EXPECT_TRUE(rank.locked.is(Bytes{65536}));
  EXPECT_TRUE(rank.pinned.is(Bytes{8192}));
  ASSERT_EQ(rank.threads.size(), 1U);
  EXPECT_EQ(rank.threads[0].name, "pt_main) thr");
  EXPECT_EQ(to_list(*rank.threads[0].allowed.get()), "0-3");
  EXPECT_TRUE(rank.threads[0].last_cpu.is(5));
  EXPECT_EQ(rank.memory.get()->at(0).anonymous, 8192U);
  EXPECT_EQ(rank.policies.get()->at("bind:0"), 1U);
  EXPECT_EQ(machine_.processes[1].libraries.at(0).name, "libcuda.so.1");
  EXPECT_EQ(survey.looked_at, 3U);
  EXPECT_EQ(survey.hidden, 0U);
}

TEST_F(Jobs, AllTakesEveryProcessWithMemory) {
  process(12, 1, "", kPlain);
  process(2, 0, "", "");
  file("/proc/2/cmdline", "");
  JobOptions options;
  options.all = true;
  (void)probe(options);
  ASSERT_EQ(machine_.processes.size(), 1U);
  EXPECT_EQ(machine_.processes[0].id, 12U);
}

TEST_F(Jobs, ANamedProcessComesWithItsChildren) {
  process(10, 1, "", kPlain);
  process(20, 10, "", kPlain);
  process(30, 1, "", kPlain);
  JobOptions options;
  options.named = {10, 99};
  const model::ProcessSurvey survey = probe(options);
  ASSERT_EQ(machine_.processes.size(), 2U);
  EXPECT_EQ(machine_.processes[1].id, 20U);
  ASSERT_EQ(machine_.notes.size(), 1U);
  EXPECT_EQ(machine_.notes[0].text, "process 99 is not to be seen here");
}

TEST_F(Jobs, AUserIsChosenByTheOwner) {
  process(10, 1, "", kPlain);
  process(11, 1, "", kPlain);
  file("/@tasks/owner/11", "0");
  JobOptions options;
  options.user = 1000;
  (void)probe(options);
  ASSERT_EQ(machine_.processes.size(), 1U);
  EXPECT_EQ(machine_.processes[0].id, 10U);
}

TEST_F(Jobs, OpenDevicesGiveGpuAndNicAndPorts) {
  gpu(0, "0000:1b:00.0", "0");
  gpu(1, "0000:43:00.0", "1");
  machine_.rdma.push_back({});
  machine_.rdma[0].name = "mlx5_0";
  file("/sys/class/infiniband_verbs/uverbs3/ibdev", "mlx5_0\n");
  file("/proc/net/tcp",
       "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
       "   0: 00000000:733C 00000000:0000 0A 00000000:00000000 00:00000000 00000000  0 0 777 1\n"
       "   1: 00000000:0050 00000000:0000 01 00000000:00000000 00:00000000 00000000  0 0 778 1\n");
  process(10, 1, "RANK=0\0"s, kPlain);
  all_["/proc/10/fd"].names = host::Names{"3", "4", "5", "6"};
  all_["/proc/10/fd/3"].link = "/dev/nvidia1";
  all_["/proc/10/fd/4"].link = "/dev/infiniband/uverbs3";
  all_["/proc/10/fd/5"].link = "socket:[777]";
  all_["/proc/10/fd/6"].link = "socket:[778]";
  (void)probe();
  ASSERT_EQ(machine_.processes.size(), 1U);
  EXPECT_EQ(machine_.processes[0].gpus, std::vector<std::uint32_t>{1});
  EXPECT_TRUE(machine_.processes[0].rdma.is({0}));
  EXPECT_EQ(machine_.processes[0].listening, std::vector<std::uint16_t>{29500});
}

TEST_F(Jobs, AllDeviceFilesOpenTellNoGpu) {
  gpu(0, "0000:1b:00.0", "0");
  gpu(1, "0000:43:00.0", "1");
  process(10, 1, "RANK=0\0"s, kCuda);
  all_["/proc/10/fd"].names = host::Names{"3", "4"};
  all_["/proc/10/fd/3"].link = "/dev/nvidia0";
  all_["/proc/10/fd/4"].link = "/dev/nvidia1";
  (void)probe();
  EXPECT_TRUE(machine_.processes.at(0).gpus.empty());
  EXPECT_TRUE(machine_.processes[0].opened_gpus.is({0, 1}));
}

TEST_F(Jobs, AProcessNumberOfAnotherContainerIsNotBelieved) {
  gpu(0, "0000:1b:00.0", "0");
  file("/@nvml/gpu/0/processes", "10 4096\n");
  process(10, 1, "", kPlain);  // nothing of a GPU open: NVML meant somebody else
  (void)probe();
  ASSERT_EQ(machine_.processes.size(), 1U);
  EXPECT_TRUE(machine_.processes[0].gpus.empty());
}

TEST_F(Jobs, ZombiesParentsAndHiddenProcesses) {
  process(10, 4, "RANK=0\0"s, kPlain);
  file("/proc/4/comm", "torchrun\n");
  file("/proc/4/environ", "PATH=/\0"s);
  file("/proc/4/maps", kPlain);
  file("/proc/20/environ", "");
  file("/proc/20/maps", "");
  file("/proc/20/status", "Name:\tpython\nState:\tZ (zombie)\nPPid:\t4\n");
  file("/proc/2/environ", "");
  file("/proc/2/maps", "");
  file("/proc/2/status", "Name:\tkthreadd\nState:\tS (sleeping)\nPPid:\t0\n");
  deny("/proc/30/environ");
  deny("/proc/30/maps");
  file("/proc/30/cmdline", "secret\0"s);
  const model::ProcessSurvey survey = probe();
  ASSERT_EQ(survey.zombies.size(), 1U);
  EXPECT_EQ(survey.zombies[0].id, 20U);
  EXPECT_EQ(survey.zombies[0].command, "python");
  EXPECT_EQ(survey.hidden, 1U);
  ASSERT_TRUE(survey.parents.contains(4));
  EXPECT_EQ(survey.parents.at(4).name, "torchrun");
  EXPECT_TRUE(survey.parents.at(4).has_rank.is(false));
}

TEST_F(Jobs, SegmentsAreUsedUnusedOrUnknown) {
  all_["/@tasks/shm"].names = host::Names{"nccl-a", "nccl-b", "torch_1"};
  for (const char* name : {"nccl-a", "nccl-b", "torch_1"})
    file("/@tasks/shm/"s + name, "4096 1000");
  process(10, 1, "", "0-0 r-xp 0 00:00 0 /dev/shm/nccl-a\n");
  all_["/proc/10/fd"].names = host::Names{"3"};
  all_["/proc/10/fd/3"].link = "/dev/shm/torch_1";
  model::ProcessSurvey survey = probe();
  ASSERT_EQ(survey.segments.size(), 3U);
  EXPECT_TRUE(survey.segments[0].used.is(true));
  EXPECT_TRUE(survey.segments[1].used.is(false));
  EXPECT_TRUE(survey.segments[1].size.is(Bytes{4096}));
  EXPECT_TRUE(survey.segments[2].used.is(true));
  deny("/proc/30/environ");
  deny("/proc/30/maps");
  file("/proc/30/cmdline", "other\0"s);
  file("/@tasks/owner/30", "1001");  // could not have the segment of 1000
  survey = probe();
  EXPECT_TRUE(survey.segments[1].used.is(false));
  file("/@tasks/owner/30", "1000");
  survey = probe();
  EXPECT_TRUE(survey.segments[1].used.is_unreadable());
}

TEST_F(Jobs, SeveralReadersSeeTheSame) {
  for (std::uint32_t id = 100; id < 200; ++id)
    process(id, 1, "RANK=" + std::to_string(id) + "\0"s, kPlain);
  JobOptions options;
  options.workers = 4;
  (void)probe(options);
  ASSERT_EQ(machine_.processes.size(), 100U);
  for (std::uint32_t i = 0; i < 100; ++i)
    EXPECT_EQ(machine_.processes[i].id, 100 + i);
}

TEST(ProcessParts, ListeningSockets) {
  const auto ports = process::parse_listening(
      "   0: 0000000000000000FFFF00000100007F:1F90 00000000000000000000000000000000:0000 0A 0:0 0:0 0 0 0 "
      "42\nbroken\n");
  ASSERT_EQ(ports.size(), 1U);
  EXPECT_EQ(ports.at(42), 8080);
}

TEST(ProcessParts, StatusBytes) {
  EXPECT_EQ(process::status_bytes("VmPin:\t      12 kB\n", "VmPin")->value, 12288U);
  EXPECT_FALSE(process::status_bytes("VmPin:\t 99999999999999999 kB\n", "VmPin").has_value());
  EXPECT_FALSE(process::status_bytes("VmPin:\t 12\n", "VmPin").has_value());
  EXPECT_EQ(process::stat_name("1 (a (b)) S 0"), "a (b)");
  EXPECT_FALSE(process::stat_name(")(").has_value());
}

}  // namespace
}  // namespace angio::probe
