#include "probe/nvml/gpu_probe.hpp"

#include <gtest/gtest.h>

#include <cerrno>
#include <string>
#include <utility>
#include <vector>

#include "probe/place.hpp"

namespace angio::probe {
namespace {

using Files = std::vector<std::pair<std::string, std::string>>;

host::Recording recording_of(const Files& files) {
  host::Recording recording;
  for (const auto& [path, content] : files)
    recording[path].content = content;
  return recording;
}

void probe(const Files& files, model::Machine& machine) {
  probe_gpus(*host::make_memory_root(recording_of(files), host::Scope::kComplete), machine);
}

std::uint32_t add_pci(model::Machine& machine, const char* address, std::uint16_t vendor,
                      std::uint32_t class_code) {
  model::PciDevice device;
  device.address = *parse_pci_address(address);
  device.vendor = vendor;
  device.class_code = class_code;
  machine.pci.devices.push_back(device);
  return static_cast<std::uint32_t>(machine.pci.devices.size() - 1);
}

TEST(GpuProbe, PciAloneShowsGpusWithoutADriver) {
  model::Machine machine;
  add_pci(machine, "0000:03:00.0", 0x1a03, 0x030000);  // ASPEED: a management controller's console
  const auto nvidia = add_pci(machine, "0000:1b:00.0", 0x10de, 0x030200);
  add_pci(machine, "0000:1c:00.0", 0x10de, 0x068000);  // NVSwitch
  const auto amd = add_pci(machine, "0000:2b:00.0", 0x1002, 0x120000);
  add_pci(machine, "0000:2c:00.0", 0x15b3, 0x020700);
  const auto intel = add_pci(machine, "0000:3b:00.0", 0x8086, 0x038000);
  probe({}, machine);
  ASSERT_EQ(machine.gpus.size(), 3U);
  EXPECT_EQ(machine.gpus[0].vendor, model::GpuVendor::kNvidia);
  EXPECT_EQ(machine.gpus[0].pci, nvidia);
  EXPECT_EQ(machine.gpus[1].vendor, model::GpuVendor::kAmd);
  EXPECT_EQ(machine.gpus[1].pci, amd);
  EXPECT_EQ(machine.gpus[2].vendor, model::GpuVendor::kIntel);
  EXPECT_EQ(machine.gpus[2].pci, intel);
  EXPECT_EQ(machine.gpus[2].index, 2U);
  EXPECT_TRUE(machine.gpus[0].name.is_unreadable());
  EXPECT_EQ(machine.gpus[0].name.reason(), model::Reason::kNotCollected);
  EXPECT_EQ(cite(machine, machine.gpus[0].address.source()), "/sys/bus/pci/devices/0000:1b:00.0");
}

TEST(GpuProbe, MoreGpusThanAnyNodeHasAreLeftOutWithANote) {
  model::Machine machine;
  constexpr std::size_t kMost = 1024;
  for (std::uint32_t i = 0; i < kMost + 2; ++i) {
    model::PciDevice device;
    device.address = {i / 32, 0, static_cast<std::uint8_t>(i % 32), 0};
    device.vendor = 0x10de;
    device.class_code = 0x030200;
    machine.pci.devices.push_back(device);
  }
  probe({}, machine);
  EXPECT_EQ(machine.gpus.size(), kMost);
  ASSERT_EQ(machine.notes.size(), 1U);
  EXPECT_EQ(machine.notes[0].id, "gpu.too-many");
  EXPECT_EQ(machine.notes[0].text, "more than 1024 GPUs, which no node has; the rest is left out");
}

TEST(GpuProbe, OrderIsByAddressNotNvmls) {
  model::Machine machine;
  add_pci(machine, "0000:1b:00.0", 0x10de, 0x030200);
  add_pci(machine, "0000:43:00.0", 0x10de, 0x030200);
  probe({{"/@nvml/init", "0\n"},
         {"/@nvml/gpu/0/pci", "00000000:43:00.0"},
         {"/@nvml/gpu/0/name", "second"},
         {"/@nvml/gpu/0/p2p/1", "1"},
         {"/@nvml/gpu/1/pci", "00000000:1B:00.0"},
         {"/@nvml/gpu/1/name", "first"},
         {"/@nvml/gpu/1/p2p/0", "5"}},
        machine);
  ASSERT_EQ(machine.gpus.size(), 2U);
  EXPECT_TRUE(machine.gpus[0].name.is("first"));
  EXPECT_TRUE(machine.gpus[0].library_index.is(1));
  EXPECT_TRUE(machine.gpus[0].p2p.at(1).is(model::P2pStatus::kNotSupported));
  EXPECT_TRUE(machine.gpus[1].p2p.at(0).is(model::P2pStatus::kChipsetNotSupported));
  EXPECT_EQ(machine.gpus[1].pci, 1U);
}

TEST(GpuProbe, NumaFromTheDeviceThenTheBridgesThenNvml) {
  model::Machine machine;
  const auto bridge = add_pci(machine, "0000:00:01.0", 0x8086, 0x060400);
  const auto own = add_pci(machine, "0000:1b:00.0", 0x10de, 0x030200);
  const auto below = add_pci(machine, "0000:43:00.0", 0x10de, 0x030200);
  const auto alone = add_pci(machine, "0000:52:00.0", 0x10de, 0x030200);
  std::vector<model::PciDevice>& devices = machine.pci.devices;
  devices[bridge].numa = Observed<NumaId>::known({1}, {machine.places.add("/bridge"), 0, "numa_node"});
  devices[own].numa = Observed<NumaId>::known({3}, {});
  devices[below].numa = Observed<NumaId>::absent({});
  devices[below].parent = bridge;
  devices[alone].numa = Observed<NumaId>::absent({});
  probe({{"/@nvml/init", "0"},
         {"/@nvml/gpu/0/pci", "0000:1b:00.0"},
         {"/@nvml/gpu/0/memory_affinity", "0"},
         {"/@nvml/gpu/1/pci", "0000:43:00.0"},
         {"/@nvml/gpu/1/memory_affinity", "0"},
         {"/@nvml/gpu/2/pci", "0000:52:00.0"},
         {"/@nvml/gpu/2/memory_affinity", "2"}},
        machine);
  EXPECT_TRUE(machine.gpus.at(0).numa.is({3}));
  EXPECT_TRUE(machine.gpus.at(1).numa.is({1}));
  EXPECT_EQ(cite(machine, machine.gpus[1].numa.source()), "/bridge/numa_node");
  EXPECT_TRUE(machine.gpus.at(2).numa.is({2}));
  EXPECT_EQ(cite(machine, machine.gpus[2].numa.source()), "NVML GPU 2, nvmlDeviceGetMemoryAffinity");
}

TEST(GpuProbe, NoNodeAnywhereIsAbsent) {
  model::Machine machine;
  const auto gpu = add_pci(machine, "0000:1b:00.0", 0x10de, 0x030200);
  machine.pci.devices[gpu].numa = Observed<NumaId>::absent({});
  machine.pci.devices[gpu].parent = gpu;  // a broken tree must not hang
  probe({{"/@nvml/init", "0"}, {"/@nvml/gpu/0/pci", "0000:1b:00.0"}, {"/@nvml/gpu/0/memory_affinity", "0-1"}},
        machine);
  EXPECT_TRUE(machine.gpus.at(0).numa.is_absent());
}

TEST(GpuProbe, GraceHopperHasCoherentMemory) {
  model::Machine machine;
  probe({{"/@nvml/init", "0"},
         {"/@nvml/gpu/0/pci", "00000009:01:00.0"},
         {"/@nvml/gpu/0/c2c_mode", "1"},
         {"/@nvml/gpu/0/numa_node_id", "1"},
         {"/@nvml/gpu/0/fabric", "0 0 00000000-0000-0000-0000-000000000000 0 Success"},
         {"/@nvml/gpu/1/pci", "00000019:01:00.0"},
         {"/@nvml/gpu/1/numa_node_id", "-1"}},
        machine);
  ASSERT_EQ(machine.gpus.size(), 2U);
  EXPECT_TRUE(machine.gpus[0].coherent_link.is(true));
  EXPECT_TRUE(machine.gpus[0].memory_numa.is({1}));
  EXPECT_EQ(machine.gpus[0].fabric.get()->state, "not supported");
  EXPECT_TRUE(machine.gpus[1].memory_numa.is_absent());
}

TEST(GpuProbe, TheDriverNamesGpusWhenNvmlCannot) {
  model::Machine machine;
  add_pci(machine, "0000:1b:00.0", 0x10de, 0x030200);
  probe({{"/@nvml/init", "18 Driver/library version mismatch"},
         {"/@nvml/gpu/0/pci", "0000:99:00.0"},
         {"/proc/driver/nvidia/gpus/0000:1b:00.0/information",
          "Model: \t\t NVIDIA H100 80GB HBM3\nIRQ:   \t\t 18\nGPU UUID: \t GPU-1234\nVideo BIOS: \t "
          "96.00.61.00.01\n"},
         {"/proc/driver/nvidia/gpus/0000:43:00.0/information",
          "Model: \t\t NVIDIA H100\nGPU UUID: \t GPU-" + std::string(8, '?') + "-0000\nIRQ: 1\n"}},
        machine);
  ASSERT_EQ(machine.gpus.size(), 2U);
  EXPECT_TRUE(machine.gpus[0].name.is("NVIDIA H100 80GB HBM3"));
  EXPECT_TRUE(machine.gpus[0].uuid.is("GPU-1234"));
  EXPECT_EQ(machine.gpus[0].pci, 0U);
  EXPECT_TRUE(machine.gpus[1].name.is("NVIDIA H100"));
  EXPECT_TRUE(machine.gpus[1].uuid.is_absent());
  EXPECT_EQ(cite(machine, machine.gpus[0].name.source()),
            "/proc/driver/nvidia/gpus/0000:1b:00.0/information");
}

TEST(GpuProbe, NonsenseIsUnparsableNeverAGuess) {
  model::Machine machine;
  Files files{
      {"/@nvml/init", "0"}, {"/@nvml/gpu/0/pci", "0000:1b:00.0"}, {"/@nvml/gpu/x/pci", "0000:1c:00.0"}};
  for (const char* leaf :
       {"memory", "compute_capability", "mig", "ecc_mode", "remapped_rows", "pstate", "power_mw",
        "compute_mode", "fabric", "c2c_mode", "throttle_reasons", "utilization", "pcie_width"}) {
    files.emplace_back(std::string("/@nvml/gpu/0/") + leaf, "-7 ?");
  }
  files.emplace_back("/@nvml/gpu/0/link/0/state", "9");
  files.emplace_back("/@nvml/gpu/0/link/0/version", "99");
  files.emplace_back("/@nvml/gpu/0/link/0/remote_type", "255");
  files.emplace_back("/@nvml/gpu/0/link/0/remote_pci", "nowhere");
  probe(files, machine);
  ASSERT_EQ(machine.gpus.size(), 1U);
  const model::Gpu& gpu = machine.gpus[0];
  const auto unparsable = [](const auto& observed) {
    return observed.is_unreadable() && observed.reason() == model::Reason::kUnparsable;
  };
  EXPECT_TRUE(unparsable(gpu.memory));
  EXPECT_TRUE(unparsable(gpu.compute_capability));
  EXPECT_TRUE(unparsable(gpu.mig));
  EXPECT_TRUE(unparsable(gpu.remap_pending));
  EXPECT_TRUE(unparsable(gpu.performance_state));
  EXPECT_TRUE(unparsable(gpu.power));
  EXPECT_TRUE(unparsable(gpu.compute_mode));
  EXPECT_TRUE(unparsable(gpu.fabric));
  EXPECT_TRUE(unparsable(gpu.throttle_reasons));
  EXPECT_TRUE(unparsable(gpu.pcie_width));
  ASSERT_EQ(gpu.links.size(), 1U);
  EXPECT_EQ(gpu.links[0].state, model::LinkState::kUnknown);
  EXPECT_EQ(gpu.links[0].peer_kind, model::PeerKind::kUnknown);
  EXPECT_TRUE(unparsable(gpu.links[0].version));
  EXPECT_TRUE(unparsable(gpu.links[0].peer));
}

}  // namespace
}  // namespace angio::probe
