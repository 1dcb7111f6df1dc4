#include <gtest/gtest.h>

#include "diagnose/test_machines.hpp"

namespace angio::test {
namespace {

constexpr std::uint64_t kMebibyte = 1ULL << 20U;

TEST(SystemLimitMemlock, FiresOnTheShellAndPrefersTheJob) {
  Machine machine = dgx_h100();
  set(machine.software.memlock, model::Limit{8 * kMebibyte, 8 * kMebibyte});
  EXPECT_EQ(findings_of(machine, "system.limit.memlock").at(0).title, "Locked memory is limited to 8 MiB");
  model::Process process;
  process.id = 7;
  process.gpus = {0};
  process.memlock = known(model::Limit{});
  machine.processes = {process};
  EXPECT_TRUE(held(machine, "system.limit.memlock"));
  set(machine.processes[0].memlock, model::Limit{65536, 65536});
  EXPECT_EQ(findings_of(machine, "system.limit.memlock").at(0).title, "Process 7 may lock only 64 KiB");
}

TEST(SystemLimitMemlock, SilentWhenUnlimitedAndWithoutRdma) {
  EXPECT_TRUE(held(dgx_h100(), "system.limit.memlock"));
  EXPECT_TRUE(not_applicable(plain_host(), "system.limit.memlock"));
}

TEST(SystemLimitMemlock, UndecidedWithoutTheLimit) {
  Machine machine = dgx_h100();
  deny(machine.software.memlock);
  EXPECT_EQ(undecided_of(machine, "system.limit.memlock").size(), 1U);
}

TEST(SystemLimitOpenFiles, FiresOnALowHardLimit) {
  Machine machine = dgx_h100();
  set(machine.software.open_files, model::Limit{1024, 4096});
  EXPECT_EQ(findings_of(machine, "system.limit.open-files").at(0).title, "At most 4096 open files a process");
}

TEST(SystemLimitOpenFiles, SilentOnTheUsualSoftLimit) {
  Machine machine = dgx_h100();
  set(machine.software.open_files, model::Limit{1024, 524288});
  EXPECT_TRUE(held(machine, "system.limit.open-files"));
}

TEST(SystemLimitOpenFiles, UndecidedWithoutTheLimit) {
  Machine machine = dgx_h100();
  deny(machine.software.open_files);
  EXPECT_EQ(undecided_of(machine, "system.limit.open-files").size(), 1U);
}

TEST(SystemShmSmall, FiresOnTheContainersDefault) {
  Machine machine = dgx_h100();
  set(machine.software.shm_size, Bytes{64 * kMebibyte});
  set(machine.software.container, std::string("docker"));
  const auto found = findings_of(machine, "system.shm.small");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].title, "/dev/shm has 64 MiB for 8 GPUs");
  ASSERT_EQ(found[0].fixes.size(), 1U);
  EXPECT_NE(found[0].fixes[0].text.find("--shm-size"), std::string::npos);
}

TEST(SystemShmSmall, SilentOnAHostsHalfOfMemory) {
  EXPECT_TRUE(held(dgx_h100(), "system.shm.small"));
}

TEST(SystemShmSmall, UndecidedWithoutTheSize) {
  Machine machine = dgx_h100();
  deny(machine.software.shm_size);
  EXPECT_EQ(undecided_of(machine, "system.shm.small").size(), 1U);
}

TEST(SystemNumaZoneReclaim, FiresWhenOn) {
  Machine machine = dgx_h100();
  set(machine.numa.zone_reclaim_mode, std::int64_t{1});
  EXPECT_EQ(findings_of(machine, "system.numa.zone-reclaim").at(0).title, "vm.zone_reclaim_mode is 1");
}

TEST(SystemNumaZoneReclaim, SilentOnOneNode) {
  Machine machine = plain_host();
  set(machine.numa.zone_reclaim_mode, std::int64_t{1});
  EXPECT_TRUE(not_applicable(machine, "system.numa.zone-reclaim"));
}

TEST(SystemNumaZoneReclaim, UndecidedWhenUnreadable) {
  Machine machine = dgx_h100();
  deny(machine.numa.zone_reclaim_mode);
  EXPECT_EQ(undecided_of(machine, "system.numa.zone-reclaim").size(), 1U);
}

TEST(SystemNumaBalancing, FiresAsHintAndAsWarningUnderLoad) {
  Machine machine = dgx_h100();
  set(machine.numa.balancing, std::int64_t{1});
  EXPECT_EQ(findings_of(machine, "system.numa.balancing").at(0).severity, model::Severity::kInfo);
  model::Process process;
  process.gpus = {0};
  machine.processes = {process};
  EXPECT_EQ(findings_of(machine, "system.numa.balancing").at(0).severity, model::Severity::kWarning);
}

TEST(SystemNumaBalancing, SilentWithoutGpus) {
  Machine machine = plain_host();
  set(machine.numa.balancing, std::int64_t{1});
  EXPECT_TRUE(not_applicable(machine, "system.numa.balancing"));
  EXPECT_TRUE(held(dgx_h100(), "system.numa.balancing"));
}

TEST(SystemNumaBalancing, SilentOnMemoryTieringAlone) {
  Machine machine = dgx_h100();
  set(machine.numa.balancing, std::int64_t{2});
  EXPECT_TRUE(held(machine, "system.numa.balancing"));
  set(machine.numa.balancing, std::int64_t{3});
  EXPECT_EQ(findings_of(machine, "system.numa.balancing").size(), 1U);
}

TEST(SystemNumaBalancing, UndecidedWhenUnreadable) {
  Machine machine = dgx_h100();
  deny(machine.numa.balancing);
  EXPECT_EQ(undecided_of(machine, "system.numa.balancing").size(), 1U);
}

TEST(SystemIommuTranslated, FiresOnBareMetal) {
  Machine machine = dgx_h100();
  set(machine.pci.iommu, model::IommuMode::kTranslated);
  set(machine.software.kernel_command_line, std::string("quiet"));
  const auto found = findings_of(machine, "system.iommu.translated");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].evidence[1].text, "no iommu=pt");
}

TEST(SystemIommuTranslated, SilentInGuestsOnGraceAndInPassthrough) {
  EXPECT_TRUE(held(dgx_h100(), "system.iommu.translated"));
  Machine machine = dgx_h100();
  set(machine.pci.iommu, model::IommuMode::kTranslated);
  set(machine.software.virtual_machine, std::string("KVM"));
  EXPECT_TRUE(not_applicable(machine, "system.iommu.translated"));
  Machine grace = dgx_h100();
  set(grace.pci.iommu, model::IommuMode::kTranslated);
  for (Gpu& gpu : grace.gpus)
    set(gpu.name, std::string("NVIDIA GB200"));
  EXPECT_TRUE(not_applicable(grace, "system.iommu.translated"));
}

TEST(SystemIommuTranslated, UndecidedWhenUnreadable) {
  Machine machine = dgx_h100();
  deny(machine.pci.iommu);
  EXPECT_EQ(undecided_of(machine, "system.iommu.translated").size(), 1U);
}

TEST(SystemCpuGovernor, FiresAsWarningOnlyWhereItPinsTheLowest) {
  Machine machine = dgx_h100();
  set(machine.cpus.governor, std::string("powersave"));
  EXPECT_EQ(findings_of(machine, "system.cpu.governor").at(0).severity, model::Severity::kInfo);
  set(machine.cpus.frequency_driver, std::string("acpi-cpufreq"));
  EXPECT_EQ(findings_of(machine, "system.cpu.governor").at(0).severity, model::Severity::kWarning);
}

TEST(SystemCpuGovernor, SilentWithoutOne) {
  Machine machine = dgx_h100();
  forget(machine.cpus.governor);
  EXPECT_TRUE(held(machine, "system.cpu.governor"));
}

TEST(SystemCpuGovernor, UndecidedWhenUnreadable) {
  Machine machine = dgx_h100();
  deny(machine.cpus.governor);
  EXPECT_EQ(undecided_of(machine, "system.cpu.governor").size(), 1U);
}

TEST(SystemClockSlowSource, FiresOnHpet) {
  Machine machine = dgx_h100();
  set(machine.software.clock_source, std::string("hpet"));
  EXPECT_EQ(findings_of(machine, "system.clock.slow-source").at(0).title,
            "The kernel's clock is hpet, not tsc");
}

TEST(SystemClockSlowSource, SilentOnTheHypervisorsClock) {
  Machine machine = dgx_h100();
  set(machine.software.clock_source, std::string("kvm-clock"));
  EXPECT_TRUE(held(machine, "system.clock.slow-source"));
}

TEST(SystemClockSlowSource, UndecidedWhenUnreadable) {
  Machine machine = dgx_h100();
  deny(machine.software.clock_source);
  EXPECT_EQ(undecided_of(machine, "system.clock.slow-source").size(), 1U);
}

TEST(SystemCpuIsolated, FiresWhenHalfOfAGpusNodeIsGone) {
  Machine machine = dgx_h100();
  set(machine.cpus.isolated, cpu_range(0, 40));
  EXPECT_EQ(findings_of(machine, "system.cpu.isolated").at(0).title, "40 of 56 CPUs of node 0 are isolated");
}

TEST(SystemCpuIsolated, SilentOnAFew) {
  Machine machine = dgx_h100();
  set(machine.cpus.isolated, cpu_range(0, 4));
  EXPECT_TRUE(held(machine, "system.cpu.isolated"));
}

TEST(SystemCpuIsolated, UndecidedWhenUnreadable) {
  Machine machine = dgx_h100();
  deny(machine.cpus.isolated);
  EXPECT_EQ(undecided_of(machine, "system.cpu.isolated").size(), 1U);
}

Machine guest() {
  Machine machine = dgx_h100();
  set(machine.software.virtual_machine, std::string("Hyper-V"));
  for (Gpu& gpu : machine.gpus)
    forget(gpu.numa);
  return machine;
}

TEST(SystemVmTopologyHidden, FiresInAGuestWithoutNodes) {
  EXPECT_EQ(findings_of(guest(), "system.vm.topology-hidden").at(0).title,
            "Hyper-V guest: no NUMA node for any GPU, NCCL_TOPO_FILE not set");
  Machine lonely = guest();
  lonely.rdma.clear();
  EXPECT_EQ(findings_of(lonely, "system.vm.topology-hidden").at(0).severity, model::Severity::kInfo);
}

TEST(SystemVmTopologyHidden, FiresAsInfoWhereTheProvidersPluginBringsIt) {
  Machine machine = guest();
  for (PciDevice& device : machine.pci.devices) {
    if (device.vendor == 0x15b3) set(device.driver, std::string("efa"));
  }
  const auto found = findings_of(machine, "system.vm.topology-hidden");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].severity, model::Severity::kInfo);
  ASSERT_EQ(found[0].fixes.size(), 1U);
  EXPECT_NE(found[0].fixes[0].text.find("aws-ofi-nccl"), std::string::npos);
}

TEST(SystemVmTopologyHidden, SilentWithATopologyFileAndOnBareMetal) {
  Machine machine = guest();
  machine.software.settings.push_back({"NCCL_TOPO_FILE", "/opt/topo.xml", at("environment")});
  EXPECT_TRUE(held(machine, "system.vm.topology-hidden"));
  EXPECT_TRUE(not_applicable(dgx_h100(), "system.vm.topology-hidden"));
}

TEST(SystemVmTopologyHidden, UndecidedWhenItMayBeAGuest) {
  Machine machine = guest();
  deny(machine.software.virtual_machine);
  EXPECT_EQ(undecided_of(machine, "system.vm.topology-hidden").size(), 1U);
}

TEST(SystemGvisorGpus, FiresUnderGvisor) {
  Machine machine = dgx_h100();
  set(machine.software.virtual_machine, std::string("gVisor"));
  EXPECT_EQ(findings_of(machine, "system.gvisor.gpus").size(), 1U);
}

TEST(SystemGvisorGpus, SilentElsewhere) {
  Machine machine = dgx_h100();
  set(machine.software.virtual_machine, std::string("KVM"));
  EXPECT_TRUE(held(machine, "system.gvisor.gpus"));
}

TEST(SystemGvisorGpus, UndecidedWhenUnreadable) {
  Machine machine = dgx_h100();
  deny(machine.software.virtual_machine);
  EXPECT_EQ(undecided_of(machine, "system.gvisor.gpus").size(), 1U);
}

TEST(SystemRdmaNotVisible, FiresOnAnAdapterWithoutDevice) {
  Machine machine = dgx_h100();
  machine.rdma.clear();
  const auto found = findings_of(machine, "system.rdma.not-visible");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].severity, model::Severity::kWarning);
}

TEST(SystemRdmaNotVisible, FiresWithTheModuleOnlyWhereItIsMissing) {
  Machine machine = dgx_h100();
  machine.rdma.clear();
  EXPECT_EQ(findings_of(machine, "system.rdma.not-visible").at(0).fixes.at(0).command,
            "sudo dmesg | grep -i mlx");
  set(machine.software.modules, std::vector<std::string>{"mlx5_core"});
  const auto found = findings_of(machine, "system.rdma.not-visible");
  ASSERT_EQ(found.at(0).fixes.size(), 1U);
  EXPECT_EQ(found[0].fixes[0].command, "sudo modprobe mlx5_ib");
}

TEST(SystemRdmaNotVisible, SilentWithDevicesAndOnPlainEthernet) {
  EXPECT_TRUE(not_applicable(dgx_h100(), "system.rdma.not-visible"));
  Machine machine = dgx_h100();
  machine.rdma.clear();
  for (PciDevice& device : machine.pci.devices) {
    if (device.class_code == 0x020700) device.class_code = 0x020000;
  }
  EXPECT_TRUE(not_applicable(machine, "system.rdma.not-visible"));
}

TEST(SystemRdmaNotVisible, UndecidedWithoutTheAdaptersDriver) {
  Machine machine = dgx_h100();
  machine.rdma.clear();
  for (PciDevice& device : machine.pci.devices) {
    if (device.class_code == 0x020700) deny(device.driver);
  }
  EXPECT_EQ(undecided_of(machine, "system.rdma.not-visible").size(), 1U);
}

}  // namespace
}  // namespace angio::test
