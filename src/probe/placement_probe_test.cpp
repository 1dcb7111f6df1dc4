#include "probe/placement_probe.hpp"

#include <gtest/gtest.h>

#include <cerrno>

#include "probe/sysfs/probe_fixture.hpp"

namespace angio::probe {
namespace {

using test::Files;

// Two packages of four cores with two threads, one node each; GPUs at 1b:00.0 and bd:00.0.
Files two_nodes() {
  Files files{
      {"/sys/devices/system/cpu/online", "0-15\n"},
      {"/sys/devices/system/cpu/isolated", "\n"},
      {"/sys/devices/system/cpu/smt/active", "1\n"},
      {"/proc/self/status",
       "Name:\tangio\nCpus_allowed:\tff0f\nCpus_allowed_list:\t0-3,8-15\nMems_allowed_list:\t0-1\n"},
      {"/sys/devices/system/node/online", "0-1\n"},
      {"/sys/devices/system/node/has_memory", "0-1\n"},
      {"/sys/devices/system/node/node0/cpulist", "0-3,8-11\n"},
      {"/sys/devices/system/node/node1/cpulist", "4-7,12-15\n"},
      {"/sys/devices/system/node/node0/distance", "10 21\n"},
      {"/sys/devices/system/node/node1/distance", "21 10\n"},
      {"/proc/driver/nvidia/gpus/0000:1b:00.0/information",
       "Model: \t\t NVIDIA H100\nGPU UUID: \t GPU-1b1b\nDevice Minor: \t 0\n"},
      {"/proc/driver/nvidia/gpus/0000:bd:00.0/information",
       "Model: \t\t NVIDIA H100\nGPU UUID: \t GPU-????????\nDevice Minor: \t 1\n"},
      {"/@access/dev/nvidia0", "rw"},
      {"/@access/dev/nvidia1", "rw"},
      {"/sys/bus/pci/devices/0000:1b:00.0/uevent", "PCI_CLASS=30200\nPCI_ID=10DE:2330\n"},
      {"/sys/bus/pci/devices/0000:1b:00.0/numa_node", "0\n"},
      {"/sys/bus/pci/devices/0000:bd:00.0/uevent", "PCI_CLASS=30200\nPCI_ID=10DE:2330\n"},
      {"/sys/bus/pci/devices/0000:bd:00.0/numa_node", "1\n"},
  };
  for (int cpu = 0; cpu < 16; ++cpu) {
    files["/sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/topology/core_cpus_list"] =
        std::to_string(cpu % 8) + "," + std::to_string(cpu % 8 + 8) + "\n";
  }
  return files;
}

model::Machine machine_of(host::Recording recording, const PlacementQuestion& question = {}) {
  const auto root = host::make_memory_root(std::move(recording), host::Scope::kComplete);
  return probe_placement(*root, question);
}

model::Machine machine_of(const Files& files, const PlacementQuestion& question = {}) {
  return machine_of(test::recording_of(files), question);
}

TEST(PlacementProbe, ReadsMasksCoresAndNodes) {
  const model::Machine machine = machine_of(two_nodes());
  EXPECT_EQ(to_list(machine.cpus.online), "0-15");
  ASSERT_TRUE(machine.cpus.allowed.is_known());
  EXPECT_EQ(to_list(*machine.cpus.allowed.get()), "0-3,8-15");
  ASSERT_EQ(machine.cpus.cores.size(), 8U);
  EXPECT_EQ(to_list(machine.cpus.cores[3].cpus), "3,11");
  ASSERT_EQ(machine.numa.nodes.size(), 2U);
  EXPECT_EQ(to_list(machine.numa.nodes[1].cpus), "4-7,12-15");
  EXPECT_EQ(machine.numa.nodes[0].distances.value_or({}), (std::vector<std::uint32_t>{10, 21}));
  EXPECT_EQ(machine.numa.nodes[0].kind, model::NumaKind::kOrdinary);
}

TEST(PlacementProbe, GpusKnowTheirNodesAndNumbers) {
  const model::Machine machine = machine_of(two_nodes(), {.uuids = true});
  ASSERT_EQ(machine.gpus.size(), 2U);
  EXPECT_EQ(machine.gpus[0].vendor, model::GpuVendor::kNvidia);
  EXPECT_EQ(machine.gpus[0].numa.value_or({9}).value, 0U);
  EXPECT_EQ(machine.gpus[1].numa.value_or({9}).value, 1U);
  EXPECT_EQ(machine.gpus[1].library_index.value_or(9), 1U);
  EXPECT_EQ(machine.gpus[0].uuid.value_or(""), "GPU-1b1b");
  EXPECT_FALSE(machine.gpus[1].uuid.is_known());  // the driver has not woken it up
}

TEST(PlacementProbe, AGpuThatMayNotBeOpenedIsNotCounted) {
  host::Recording recording = test::recording_of(two_nodes());
  recording["/@access/dev/nvidia0"].content = std::unexpected(host::ReadError{EPERM, {}});
  const model::Machine machine = machine_of(std::move(recording));
  ASSERT_EQ(machine.gpus.size(), 2U);
  EXPECT_FALSE(machine.gpus[0].library_index.is_known());
  EXPECT_EQ(machine.gpus[1].library_index.value_or(9), 0U);  // CUDA's device 0 is the second GPU
}

TEST(PlacementProbe, ANodeThatTheDeviceDoesNotKnowComesFromTheBridgeAbove) {
  host::Recording recording = test::recording_of(two_nodes());
  const std::string devices = "/sys/bus/pci/devices/";
  recording[devices + "0000:bd:00.0/numa_node"].content = "-1\n";
  recording[devices + "0000:bd:00.0"].link = "../../../devices/pci0000:b9/0000:b9:01.0/0000:bd:00.0";
  recording[devices + "0000:b9:01.0/numa_node"].content = "1\n";
  recording[devices + "0000:b9:01.0/uevent"].content = "PCI_CLASS=60400\nPCI_ID=8086:352A\n";
  recording[devices + "0000:b9:01.0"].link = "../../../devices/pci0000:b9/0000:b9:01.0";
  const model::Machine machine = machine_of(std::move(recording));
  ASSERT_EQ(machine.gpus.size(), 2U);
  EXPECT_EQ(machine.gpus[1].numa.value_or({9}).value, 1U);
  EXPECT_EQ(machine.pci.devices.size(), 3U);
  EXPECT_FALSE(needs_nvml(machine, {}));
}

TEST(PlacementProbe, NvmlIsNeededOnlyForWhatNothingElseTells) {
  const model::Machine known = machine_of(two_nodes(), {.uuids = true});
  EXPECT_FALSE(needs_nvml(known, {"0,1"}));
  EXPECT_TRUE(needs_nvml(known, {"GPU-1b1b"}));  // the other GPU's UUID is not known
  EXPECT_TRUE(needs_nvml(known, {"MIG-5c89"}));
  Files files = two_nodes();
  files["/sys/bus/pci/devices/0000:bd:00.0/numa_node"] = "-1\n";
  EXPECT_TRUE(needs_nvml(machine_of(files), {"0,1"}));
  EXPECT_FALSE(needs_nvml(model::Machine{}, {"GPU-1b1b"}));
}

TEST(PlacementProbe, WithoutSmtNoCoreIsRead) {
  Files files = two_nodes();
  files["/sys/devices/system/cpu/smt/active"] = "0\n";
  const auto memory = host::make_memory_root(test::recording_of(files), host::Scope::kComplete);
  const host::RecordingRoot root(*memory);
  EXPECT_EQ(probe_placement(root, {}).cpus.cores.size(), 16U);
  EXPECT_FALSE(root.recording().contains("/sys/devices/system/cpu/cpu0/topology/core_cpus_list"));
}

TEST(PlacementProbe, OneReadForEachCoreAndNoNetwork) {
  const auto memory = host::make_memory_root(test::recording_of(two_nodes()), host::Scope::kComplete);
  const host::RecordingRoot root(*memory);
  (void)probe_placement(root, {});
  for (const auto& [path, answers] : root.recording()) {
    EXPECT_FALSE(path.starts_with("/sys/class/")) << path;
    EXPECT_FALSE(path.starts_with("/@nvml")) << path;
  }
  EXPECT_LE(root.recording().size(), 35U);
}

TEST(PlacementProbe, AmdGpusComeFromTheDriversList) {
  Files files = two_nodes();
  std::erase_if(files, [](const auto& file) {
    return file.first.starts_with("/proc/driver") || file.first.starts_with("/sys/bus/pci");
  });
  host::Recording recording = test::recording_of(files);
  recording["/sys/bus/pci/drivers/amdgpu"].names = host::Names{"0000:c1:00.0", "bind", "module"};
  recording["/sys/bus/pci/devices/0000:c1:00.0/numa_node"].content = "1\n";
  recording["/sys/bus/pci/devices/0000:c1:00.0/unique_id"].content = "5c88007dce2b9ff1\n";
  const model::Machine machine = machine_of(std::move(recording), {.uuids = true});
  ASSERT_EQ(machine.gpus.size(), 1U);
  EXPECT_EQ(machine.gpus[0].vendor, model::GpuVendor::kAmd);
  EXPECT_EQ(machine.gpus[0].numa.value_or({9}).value, 1U);
  EXPECT_EQ(machine.gpus[0].uuid.value_or(""), "5c88007dce2b9ff1");
}

TEST(PlacementProbe, WithoutADriverTheDisplaysOfPciAreTaken) {
  Files files = two_nodes();
  std::erase_if(files, [](const auto& file) { return file.first.starts_with("/proc/driver"); });
  host::Recording recording = test::recording_of(files);
  const std::string device = "/sys/bus/pci/devices/0000:1b:00.0";
  recording["/sys/bus/pci/devices"].names = host::Names{"0000:1b:00.0"};
  recording[device + "/class"].content = "0x030200\n";
  recording[device + "/vendor"].content = "0x10de\n";
  EXPECT_EQ(machine_of(recording).gpus.size(), 1U);
  recording["/proc/bus/pci/devices"].content = "1b00\t10de2330\t10\n";
  EXPECT_EQ(machine_of(recording).gpus.size(), 1U);
  recording["/proc/bus/pci/devices"].content = "1b00\t1af41041\t10\n";  // and so the class is not asked for
  EXPECT_TRUE(machine_of(recording).gpus.empty());
}

TEST(PlacementProbe, OverlappingNodesAreLeftToTheFullProbe) {
  Files files = two_nodes();
  files["/sys/devices/system/node/node1/cpulist"] = "0-15\n";
  const model::Machine machine = machine_of(files);
  EXPECT_TRUE(machine.numa.discarded);
  EXPECT_EQ(machine.numa.nodes.size(), 1U);
}

TEST(PlacementProbe, AnEmptyMachineIsNoTrouble) {
  const model::Machine machine = machine_of(Files{});
  EXPECT_TRUE(machine.gpus.empty());
  EXPECT_TRUE(machine.cpus.cores.empty());
}

}  // namespace
}  // namespace angio::probe
