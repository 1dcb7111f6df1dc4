#include "probe/sysfs/cpu_probe.hpp"

#include <gtest/gtest.h>

#include <cerrno>

#include "probe/sysfs/cpu_model.hpp"
#include "probe/sysfs/cpu_sets.hpp"
#include "probe/sysfs/probe_fixture.hpp"

namespace angio::probe {
namespace {

using test::Files;
using test::machine_of;

constexpr const char* kCpu = "/sys/devices/system/cpu/";

void add_core(Files& files, const std::string& cpu, const std::string& siblings, const std::string& core,
              const std::string& package, const std::string& package_cpus) {
  const std::string base = kCpu + cpu + "/topology/";
  files[base + "core_cpus_list"] = siblings + "\n";
  files[base + "core_id"] = core + "\n";
  files[base + "physical_package_id"] = package + "\n";
  files[base + "package_cpus_list"] = package_cpus + "\n";
}

// Two packages of one core with two threads each.
Files two_packages() {
  Files files{{std::string(kCpu) + "online", "0-3\n"}};
  add_core(files, "cpu0", "0,2", "0", "0", "0,2");
  add_core(files, "cpu1", "1,3", "0", "1", "1,3");
  return files;
}

TEST(CpuProbe, OneSiblingSpeaksForTheCore) {
  const model::Machine machine = machine_of(two_packages(), probe_cpus);  // cpu2 and cpu3 have no files
  ASSERT_EQ(machine.cpus.packages.size(), 2U);
  EXPECT_EQ(to_list(machine.cpus.packages[1].cpus), "1,3");
  ASSERT_EQ(machine.cpus.cores.size(), 2U);
  EXPECT_EQ(to_list(machine.cpus.cores[0].cpus), "0,2");
  EXPECT_EQ(machine.cpus.cores[1].package, 1U);
  EXPECT_TRUE(machine.cpus.threads_per_core.is(2));
  EXPECT_FALSE(machine.cpus.cores[0].die.has_value());
}

TEST(CpuProbe, MasksServeWhereListsAreMissing) {
  const model::Machine machine =
      machine_of({{std::string(kCpu) + "online", "0-1\n"},
                  {std::string(kCpu) + "cpu0/topology/thread_siblings", "00000003\n"},
                  {std::string(kCpu) + "cpu0/topology/core_siblings", "00000003\n"},
                  {std::string(kCpu) + "cpu0/topology/core_id", "7\n"},
                  {std::string(kCpu) + "cpu0/topology/physical_package_id", "-1\n"}},
                 probe_cpus);
  ASSERT_EQ(machine.cpus.cores.size(), 1U);
  EXPECT_EQ(machine.cpus.cores[0].id, 7U);
  EXPECT_EQ(to_list(machine.cpus.cores[0].cpus), "0-1");
  ASSERT_EQ(machine.cpus.packages.size(), 1U);
  EXPECT_EQ(machine.cpus.packages[0].id, 0U);  // -1: firmware did not say
}

TEST(CpuProbe, PackageHasAllThreadsWhenOnlyItsNumberIsThere) {
  Files files = two_packages();
  for (const char* cpu : {"cpu0", "cpu1"})
    files.erase(std::string(kCpu) + cpu + "/topology/package_cpus_list");
  const model::Machine machine = machine_of(files, probe_cpus);
  ASSERT_EQ(machine.cpus.packages.size(), 2U);
  EXPECT_EQ(to_list(machine.cpus.packages[0].cpus), "0,2");
  EXPECT_EQ(to_list(machine.cpus.packages[1].cpus), "1,3");
}

TEST(CpuProbe, CpuinfoServesWithoutTopologyDirectories) {
  const model::Machine machine =
      machine_of({{"/proc/cpuinfo",
                   "processor\t: 0\nphysical id\t: 0\ncore id\t: 3\n\nprocessor\t: 1\nphysical id\t: 1\n"
                   "core id\t: 3\n"}},
                 probe_cpus);
  EXPECT_EQ(to_list(machine.cpus.online), "0-1");
  ASSERT_EQ(machine.cpus.packages.size(), 2U);
  ASSERT_EQ(machine.cpus.cores.size(), 2U);
  EXPECT_EQ(machine.cpus.cores[1].package, 1U);
}

TEST(CpuProbe, OfflineCountsOnlyCpusThatArePresent) {
  Files files = two_packages();
  files[std::string(kCpu) + "present"] = "0-5\n";
  files[std::string(kCpu) + "offline"] = "4-255\n";
  files[std::string(kCpu) + "isolated"] = "2-3\n";
  files[std::string(kCpu) + "nohz_full"] = "  (null)\n";
  const model::Machine machine = machine_of(files, probe_cpus);
  ASSERT_TRUE(machine.cpus.offline.is_known());
  EXPECT_EQ(to_list(*machine.cpus.offline.get()), "4-5");
  EXPECT_EQ(to_list(machine.cpus.isolated.value_or({})), "2-3");
  EXPECT_TRUE(machine.cpus.nohz_full.is(CpuSet{}));
}

TEST(CpuProbe, SharedCacheIsReadOnceAndHybridCoresKeepTheirSizes) {
  Files files{{std::string(kCpu) + "online", "0-2\n"}};
  const auto add = [&files](const std::string& at, const char* level, const char* type, const char* size,
                            const char* cpus) {
    files[kCpu + at + "/level"] = level;
    files[kCpu + at + "/type"] = type;
    files[kCpu + at + "/size"] = size;
    files[kCpu + at + "/shared_cpu_list"] = cpus;
  };
  add("cpu0/cache/index0", "1\n", "Data\n", "48K\n", "0\n");
  add("cpu0/cache/index1", "3\n", "Unified\n", "30720K\n", "0-2\n");
  add("cpu1/cache/index0", "1\n", "Data\n", "48K\n", "1\n");
  add("cpu2/cache/index0", "1\n", "Data\n", "32K\n", "2\n");
  const model::Machine machine = machine_of(files, probe_cpus);
  ASSERT_EQ(machine.cpus.caches.size(), 4U);
  EXPECT_TRUE(machine.cpus.caches[0].size.is(kibibytes(48)));
  EXPECT_TRUE(machine.cpus.caches[2].size.is(kibibytes(32)));
  EXPECT_EQ(machine.cpus.caches[3].level, 3U);
  EXPECT_EQ(to_list(machine.cpus.caches[3].cpus), "0-2");
}

TEST(CpuProbe, GovernorsThatDifferAreAllTold) {
  Files files = two_packages();
  files[std::string(kCpu) + "cpufreq/policy0/scaling_governor"] = "powersave\n";
  files[std::string(kCpu) + "cpufreq/policy1/scaling_governor"] = "performance\n";
  files[std::string(kCpu) + "cpufreq/policy0/scaling_driver"] = "intel_pstate\n";
  const model::Machine machine = machine_of(files, probe_cpus);
  EXPECT_TRUE(machine.cpus.governor.is("performance, powersave"));
  EXPECT_TRUE(machine.cpus.frequency_driver.is("intel_pstate"));
  EXPECT_TRUE(machine_of(two_packages(), probe_cpus).cpus.governor.is_absent());
}

TEST(CpuProbe, WithoutAnyAnswerNothingIsClaimed) {
  const auto root = host::make_memory_root({}, host::Scope::kRecorded);
  model::Machine machine;
  probe_cpus(*root, machine);
  EXPECT_TRUE(machine.cpus.online.empty());
  EXPECT_TRUE(machine.cpus.governor.is_unreadable());
  EXPECT_TRUE(machine.cpus.allowed.is_unreadable());
  EXPECT_EQ(machine.cpus.allowed.reason(), model::Reason::kNotCollected);
  EXPECT_TRUE(machine.cpus.model.name.is_unreadable());
}

TEST(CpuAllowed, CgroupTwoLimitsTheAffinityMask) {
  Files files = two_packages();
  files["/proc/self/status"] = "Name:\tx\nCpus_allowed_list:\t0-63\n";
  files["/proc/self/cgroup"] = "0::/job/step\n";
  files["/proc/self/mountinfo"] = "29 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n";
  files["/sys/fs/cgroup/job/cpuset.cpus.effective"] = "1-3\n";  // step has no cpuset controller
  const model::Machine machine = machine_of(files, probe_cpus);
  ASSERT_TRUE(machine.cpus.allowed.is_known());
  EXPECT_EQ(to_list(*machine.cpus.allowed.get()), "1-3");
  EXPECT_TRUE(machine.cpus.cgroup.is("v2"));
}

TEST(CpuAllowed, ContainerSeesItsPartOfAVersionOneHierarchyMounted) {
  Files files = two_packages();
  files["/proc/self/cgroup"] = "5:cpuset:/docker/ab\n1:name=systemd:/docker/ab\n0::/x\n";
  files["/proc/self/mountinfo"] =
      "31 30 0:27 /docker/ab /sys/fs/cgroup/cpuset ro shared:9 - cgroup cgroup rw,cpuset\n";
  files["/sys/fs/cgroup/cpuset/cpuset.cpus"] = "0-3\n";
  files["/sys/fs/cgroup/cpuset/cpuset.effective_cpus"] = "2\n";
  const model::Machine machine = machine_of(files, probe_cpus);
  EXPECT_EQ(to_list(machine.cpus.allowed.value_or({})), "2");
  EXPECT_TRUE(machine.cpus.cgroup.is("hybrid"));
}

TEST(CpuInfoText, NamesArmCoresOfSeveralKinds) {
  const CpuInfo info = parse_cpuinfo(
      "processor : 0\nCPU implementer : 0x41\nCPU architecture: 8\nCPU variant : 0x0\nCPU part : 0xd85\n"
      "CPU revision : 1\n\nprocessor : 1\nCPU implementer : 0x41\nCPU part : 0xd87\n");
  EXPECT_EQ(info.name, "Cortex-X925 + Cortex-A725");
  EXPECT_EQ(info.vendor, "ARM");
  EXPECT_EQ(info.architecture, "aarch64");
  EXPECT_EQ(info.model, 0xd85U);
  EXPECT_EQ(info.stepping, 1U);
}

TEST(CpuInfoText, KnowsTheOtherArchitectures) {
  EXPECT_EQ(parse_cpuinfo("processor : 0\ncpu : POWER9, altivec supported\n").name, "POWER9");
  EXPECT_EQ(parse_cpuinfo("processor : 0\nisa : rv64imafdc\n").architecture, "riscv64");
  EXPECT_EQ(parse_cpuinfo("system type : x\n\nprocessor : 0\nCPU Family : Loongson-64bit\n").architecture,
            "loongarch64");
  EXPECT_EQ(parse_cpuinfo("processor : 0\nflags : fpu lm sse\n").architecture, "x86_64");
  EXPECT_FALSE(parse_cpuinfo("no colon\n:\n: :\nprocessor : x\n").name.has_value());
}

TEST(CpuSetsText, NumberedNamesAreStrict) {
  EXPECT_EQ(parse_numbered_name("cpu12", "cpu"), 12U);
  EXPECT_FALSE(parse_numbered_name("cpufreq", "cpu").has_value());
  EXPECT_FALSE(parse_numbered_name("cpu99999999", "cpu").has_value());
}

}  // namespace
}  // namespace angio::probe
