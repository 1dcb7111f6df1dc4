#include "probe/procfs/software_probe.hpp"

#include <gtest/gtest.h>

#include <cerrno>

#include "probe/procfs/software_parts.hpp"

namespace angio::probe {
namespace {

using host::Recording;
using host::Scope;

model::Machine probe(Recording recording, Scope scope = Scope::kComplete) {
  const auto root = host::make_memory_root(std::move(recording), scope);
  model::Machine machine;
  probe_software(*root, machine);
  return machine;
}

void file(Recording& all, const std::string& path, const std::string& text) {
  all[path].content = text;
}

TEST(Software, KernelDistributionAndFirmware) {
  Recording all;
  file(all, "/proc/sys/kernel/hostname", "gpu-a\n");
  file(all, "/proc/sys/kernel/osrelease", "5.15.0-1053-oracle\n");
  file(all, "/proc/cmdline", "ro iommu=pt\n");
  file(all, "/proc/modules", "nvidia 1 2 - Live 0x0\nib_core 1 0 - Live 0x0\n");
  file(all, "/etc/os-release", "NAME=\"Ubuntu\"\nPRETTY_NAME=\"Ubuntu 22.04.4 LTS\"\n");
  file(all, "/sys/class/dmi/id/sys_vendor", "NVIDIA\n");
  file(all, "/sys/class/dmi/id/product_name", "DGXH100\n");
  file(all, "/sys/class/dmi/id/bios_version", "1.1.3\n");
  file(all, "/sys/devices/system/clocksource/clocksource0/current_clocksource", "tsc\n");
  const model::Machine machine = probe(all);
  const model::Software& software = machine.software;
  EXPECT_EQ(machine.name, "gpu-a");
  EXPECT_TRUE(software.kernel.is("5.15.0-1053-oracle"));
  EXPECT_TRUE(software.kernel_command_line.is("ro iommu=pt"));
  EXPECT_EQ(*software.modules.get(), (std::vector<std::string>{"ib_core", "nvidia"}));
  EXPECT_TRUE(software.distribution.is("Ubuntu 22.04.4 LTS"));
  EXPECT_TRUE(software.product.is("NVIDIA DGXH100"));
  EXPECT_TRUE(software.bios_version.is("1.1.3"));
  EXPECT_TRUE(software.clock_source.is("tsc"));
  EXPECT_EQ(cite(machine, software.clock_source.source()),
            "/sys/devices/system/clocksource/clocksource0/current_clocksource");
}

TEST(Software, NothingCollectedIsUnknownNotAbsent) {
  const model::Software software = probe({}, Scope::kRecorded).software;
  EXPECT_TRUE(software.kernel.is_unreadable());
  EXPECT_TRUE(software.nvidia_loaded.is_unreadable());
  EXPECT_TRUE(software.virtual_machine.is_unreadable());
  EXPECT_TRUE(software.container.is_unreadable());
  EXPECT_TRUE(software.nvml_error.is_unreadable());
  EXPECT_TRUE(software.memlock.is_unreadable());
}

TEST(Driver, BothFormsOfTheVersionFile) {
  const auto closed = software::parse_loaded_driver(
      "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.129.03  Thu Oct 19 18:56:32 UTC 2023\nGCC "
      "version:  gcc version 12.2.0\n");
  ASSERT_TRUE(closed.has_value());
  EXPECT_EQ(closed->version, "535.129.03");
  EXPECT_FALSE(closed->open);
  const auto open = software::parse_loaded_driver(
      "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  570.86.15  Release Build  (dvs-builder@U16)  "
      "Fri Jan 24\n");
  ASSERT_TRUE(open.has_value());
  EXPECT_EQ(open->version, "570.86.15");
  EXPECT_TRUE(open->open);
  EXPECT_FALSE(software::parse_loaded_driver("GCC version 12.2.0").has_value());
  EXPECT_FALSE(software::parse_loaded_driver("").has_value());
}

TEST(Driver, LoadedAndOnDiskDiffer) {
  Recording all;
  file(all, "/proc/sys/kernel/osrelease", "5.15.0\n");
  file(all, "/proc/driver/nvidia/version",
       "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.129.03  Thu\n");
  all["/var/lib/dkms/nvidia"].names = host::Names{"535.129.03", "550.54.15", "kernel-5.15.0-x86_64"};
  all["/var/lib/dkms/nvidia/550.54.15/5.15.0"].exists = true;
  file(all, "/@nvml/init", "18 Driver/library version mismatch");
  const model::Software software = probe(all).software;
  EXPECT_TRUE(software.nvidia_loaded.is("535.129.03"));
  EXPECT_TRUE(software.nvidia_open.is(false));
  EXPECT_TRUE(software.nvidia_on_disk.is("550.54.15"));
  EXPECT_TRUE(software.nvml_error.is("Driver/library version mismatch"));
}

TEST(Driver, AModuleOfUnknownVersionIsUnreadableNoneIsAbsent) {
  Recording all;
  file(all, "/proc/sys/kernel/osrelease", "5.15.0\n");
  all["/lib/modules/5.15.0/kernel"].names = host::Names{"drivers", "nvidia-535"};
  EXPECT_TRUE(probe(all).software.nvidia_on_disk.is_absent());
  all["/lib/modules/5.15.0/kernel/nvidia-535"].names = host::Names{"nvidia.ko"};
  EXPECT_TRUE(probe(all).software.nvidia_on_disk.is_unreadable());
}

TEST(Driver, NvmlSaysFineOrNothing) {
  Recording all;
  file(all, "/@nvml/init", "0");
  file(all, "/@nvml/driver_version", "570.86.15");
  file(all, "/@nvml/cuda_driver_version", "12080");
  const model::Software software = probe(all).software;
  EXPECT_TRUE(software.nvml_error.is_absent());
  EXPECT_TRUE(software.nvml_driver.is("570.86.15"));
  EXPECT_TRUE(software.cuda_driver.is(12080));
}

TEST(Ofed, ItsFlavours) {
  Recording all;
  file(all, "/usr/bin/ofed_info", "echo MLNX_OFED_LINUX-5.8-1.0.1.1:\n");
  EXPECT_TRUE(probe(all).software.ofed.is("MLNX_OFED_LINUX-5.8-1.0.1.1"));
  file(all, "/usr/bin/ofed_info", "echo OFED-internal-24.10-0.7.0:\n");
  EXPECT_TRUE(probe(all).software.ofed.is("OFED-internal-24.10-0.7.0"));
  all.clear();
  file(all, "/sys/module/mlx5_core/version", "24.10-0.7.0\n");
  EXPECT_TRUE(probe(all).software.ofed.is("MLNX_OFED or DOCA 24.10-0.7.0"));
  file(all, "/sys/module/mlx5_core/version", "5.0-0\n");
  EXPECT_TRUE(probe(all).software.ofed.is("inbox"));
  all.clear();
  file(all, "/sys/module/mlx5_core/refcnt", "1\n");
  EXPECT_TRUE(probe(all).software.ofed.is("inbox"));
  EXPECT_TRUE(probe({}).software.ofed.is_absent());
}

TEST(Libraries, LinksLeadToVersions) {
  Recording all;
  const std::string lib = "/usr/lib/x86_64-linux-gnu";
  all[lib].names = host::Names{"libc.so.6",       "libcuda.so",
                               "libcuda.so.1",    "libcuda.so.570.86.15",
                               "libibverbs.so.1", "libibverbs.so.1.14.44.0",
                               "libnccl.so.2",    "libnccl.so.2.21.5"};
  all[lib + "/libcuda.so"].link = "libcuda.so.1";
  all[lib + "/libcuda.so.1"].link = "libcuda.so.570.86.15";
  all[lib + "/libibverbs.so.1"].link = "./libibverbs.so.1.14.44.0";
  all[lib + "/libnccl.so.2"].link = "../../../opt/nccl/libnccl.so.2.21.5";
  const model::Software software = probe(all).software;
  ASSERT_EQ(software.libraries.size(), 4U);  // the file libnccl.so.2.21.5 here, too, is one nobody links to
  EXPECT_EQ(software.libraries[0].path, "/opt/nccl/libnccl.so.2.21.5");
  EXPECT_EQ(software.libraries[1].name, "libcuda.so.1");
  EXPECT_EQ(software.libraries[1].version, "570.86.15");
  EXPECT_EQ(software.libraries[1].path, lib + "/libcuda.so.570.86.15");
  EXPECT_TRUE(software.rdma_core.is("1.14.44.0"));
}

TEST(Libraries, LinksInACircleEnd) {
  Recording all;
  all["/usr/lib64"].names = host::Names{"libcuda.so.1"};
  all["/usr/lib64/libcuda.so.1"].link = "libcuda.so.1";
  EXPECT_EQ(probe(all).software.libraries.size(), 1U);
  EXPECT_EQ(software::library_version("libcuda.so.1"), "");
  EXPECT_EQ(software::library_version("/x/libnccl.so.2.21.5"), "2.21.5");
  EXPECT_EQ(software::library_version("libcuda.so.1.backup"), "");
}

TEST(Libraries, LdLibraryPathIsLookedAlong) {
  Recording all;
  all["/@env"].names = host::Names{"LD_LIBRARY_PATH"};
  file(all, "/@env/LD_LIBRARY_PATH", "relative:/opt/x/../nccl/lib");
  all["/opt/nccl/lib"].names = host::Names{"libnccl.so.2.30.7"};
  const model::Software software = probe(all).software;
  ASSERT_EQ(software.libraries.size(), 1U);
  EXPECT_EQ(software.libraries[0].version, "2.30.7");
}

std::string virtual_machine(Recording all) {
  const model::Software software = probe(std::move(all)).software;
  return software.virtual_machine.is_absent() ? "absent" : software.virtual_machine.value_or("unknown");
}

TEST(Virtualization, Products) {
  const auto dmi = [](const std::string& vendor, const std::string& product, const std::string& flags) {
    Recording all;
    file(all, "/sys/class/dmi/id/sys_vendor", vendor + "\n");
    file(all, "/sys/class/dmi/id/product_name", product + "\n");
    if (!flags.empty()) file(all, "/proc/cpuinfo", "processor\t: 0\nflags\t\t: " + flags + "\n");
    return all;
  };
  EXPECT_EQ(virtual_machine(dmi("Amazon EC2", "p5.48xlarge", "fpu hypervisor")), "Nitro");
  EXPECT_EQ(virtual_machine(dmi("Amazon EC2", "g4dn.metal", "fpu")), "absent");
  EXPECT_EQ(virtual_machine(dmi("Microsoft Corporation", "Virtual Machine", "fpu hypervisor")), "Hyper-V");
  EXPECT_EQ(virtual_machine(dmi("QEMU", "Standard PC (Q35 + ICH9, 2009)", "fpu hypervisor")), "KVM");
  EXPECT_EQ(virtual_machine(dmi("Google", "Google Compute Engine", "fpu hypervisor")), "KVM");
  EXPECT_EQ(virtual_machine(dmi("Google", "Google Compute Engine", "fpu")),
            "absent");  // bare metal of the same cloud
  EXPECT_EQ(virtual_machine(dmi("VMware, Inc.", "VMware7,1", "fpu hypervisor")), "VMware");
  EXPECT_EQ(virtual_machine(dmi("NVIDIA", "DGXH100", "fpu")), "absent");
  EXPECT_EQ(virtual_machine(dmi("NVIDIA", "Grace", "")), "absent");
  EXPECT_EQ(virtual_machine(dmi("Unheard", "Of", "fpu hypervisor")), "unknown hypervisor");
}

TEST(Virtualization, WithoutDmi) {
  Recording all;
  file(all, "/proc/cpuinfo", "processor\t: 0\nflags\t\t: fpu hypervisor\n");
  file(all, "/sys/devices/system/clocksource/clocksource0/available_clocksource", "kvm-clock tsc\n");
  EXPECT_EQ(virtual_machine(all), "KVM");
  all.clear();
  file(all, "/proc/version", "Linux version 4.4.0 #1 SMP Sun Jan 10 15:06:54 PST 2016\n");
  EXPECT_EQ(virtual_machine(all), "gVisor");
}

std::string container(Recording all) {
  const model::Software software = probe(std::move(all)).software;
  return software.container.is_absent() ? "absent" : software.container.value_or("unknown");
}

TEST(Virtualization, Containers) {
  Recording all;
  file(all, "/proc/1/cgroup", "0::/init.scope\n");
  EXPECT_EQ(container(all), "absent");
  file(all, "/proc/1/cgroup", "0::/kubepods/besteffort/pod1\n");
  EXPECT_EQ(container(all), "kubernetes");
  file(all, "/proc/1/cgroup", "0::/\n");
  file(all, "/proc/self/mountinfo",
       "9 1 0:1 / / rw - overlay overlay rw,lowerdir=/var/lib/docker/overlay2/l/X\n");
  EXPECT_EQ(container(all), "docker");
  all["/run/.containerenv"].content = "";
  EXPECT_EQ(container(all), "podman");
  all["/.dockerenv"].content = "";
  EXPECT_EQ(container(all), "docker");
  all["/@env/KUBERNETES_SERVICE_HOST"].content = "set";
  EXPECT_EQ(container(all), "kubernetes");
}

TEST(Settings, OriginAndPrecedence) {
  Recording all;
  all["/@env"].names = host::Names{"NCCL_DEBUG"};
  file(all, "/@env/NCCL_DEBUG", "INFO");
  file(all, "/@home/.nccl.conf", "# mine\nNCCL_DEBUG=WARN\nNCCL_ALGO=Ring\n");
  file(all, "/etc/nccl.conf", "NCCL_ALGO=Tree\n\nNCCL_IB_HCA = mlx5 \nOTHER=1\n");
  const model::Machine machine = probe(all);
  ASSERT_EQ(machine.software.settings.size(), 3U);
  EXPECT_EQ(machine.software.settings[0].value, "INFO");
  EXPECT_EQ(machine.software.settings[1].value, "Ring");
  EXPECT_EQ(cite(machine, machine.software.settings[1].source), "~/.nccl.conf:3");
  EXPECT_EQ(machine.software.settings[2].name, "NCCL_IB_HCA");
  EXPECT_EQ(cite(machine, machine.software.settings[2].source), "/etc/nccl.conf:3");
}

TEST(Settings, LimitsAndSharedMemory) {
  Recording all;
  file(all, "/@limits/memlock", "8388608 unlimited");
  file(all, "/@limits/nofile", "1024 x");
  file(all, "/@statfs/dev/shm", "67108864 1000");
  const model::Software software = probe(all).software;
  EXPECT_EQ(software.memlock.get()->soft, 8388608U);
  EXPECT_FALSE(software.memlock.get()->hard.has_value());
  EXPECT_EQ(software.open_files.reason(), model::Reason::kUnparsable);
  EXPECT_TRUE(software.shm_size.is(Bytes{67108864}));
  EXPECT_TRUE(software.shm_free.is(Bytes{1000}));
}

TEST(FabricManager, ServiceProcessOrNotNeeded) {
  Recording all;
  EXPECT_TRUE(probe(all).software.fabric_manager_running.is_absent());
  all["/proc/driver/nvidia-nvswitch"].exists = true;
  file(all, "/proc/1/cgroup", "0::/init.scope\n");
  all["/proc"].names = host::Names{"1", "200", "cpuinfo"};
  file(all, "/proc/1/comm", "systemd\n");
  file(all, "/proc/200/comm", "nv-fabricmanage\n");
  EXPECT_TRUE(probe(all).software.fabric_manager_running.is(true));
  file(all, "/proc/200/comm", "sh\n");
  EXPECT_TRUE(probe(all).software.fabric_manager_running.is(false));
  file(all, "/sys/fs/cgroup/system.slice/nvidia-fabricmanager.service/cgroup.procs", "812\n");
  EXPECT_TRUE(probe(all).software.fabric_manager_running.is(true));
}

TEST(FabricManager, AContainerCannotSeeItIsMissing) {
  Recording all;
  all["/proc/driver/nvidia-nvswitch"].exists = true;
  all["/.dockerenv"].content = "";
  all["/proc"].names = host::Names{"1"};
  EXPECT_TRUE(probe(all).software.fabric_manager_running.is_unreadable());
}

}  // namespace
}  // namespace angio::probe
