// NVML from the loader to the model, over stand-in libraries, live and replayed.
#include <gtest/gtest.h>

#include <cerrno>
#include <cstdlib>
#include <memory>
#include <string>

#include "host/libraries.hpp"
#include "host/root.hpp"
#include "model/machine.hpp"
#include "probe/nvml/gpu_probe.hpp"
#include "probe/nvml/nvml_root.hpp"

namespace angio::probe {
namespace {

using namespace std::chrono_literals;

class Mood {
 public:
  explicit Mood(const char* mood) { setenv("ANGIO_NVML_STANDIN", mood, 1); }
  Mood(const Mood&) = delete;
  Mood& operator=(const Mood&) = delete;
  ~Mood() { unsetenv("ANGIO_NVML_STANDIN"); }
};

std::unique_ptr<host::Root> nvml(const std::string& directory, std::chrono::milliseconds patience = 5000ms) {
  return make_nvml_root(*host::make_library_loader(std::string(ANGIO_PEERS) + "/" + directory), patience);
}

std::unique_ptr<host::Root> mounted(std::unique_ptr<host::Root> library) {
  auto root = std::make_unique<host::MountedRoot>(host::make_memory_root({}, host::Scope::kComplete));
  root->mount("/@nvml", std::move(library));
  return root;
}

TEST(NvmlPeer, AnswersAsFiles) {
  const auto root = nvml("nvml");
  EXPECT_EQ(root->read("/init"), "0");
  EXPECT_EQ(root->read("/driver_version"), "550.54.15");
  EXPECT_EQ(root->read("/nvml_version"), "12.550.54.15");
  EXPECT_EQ(root->read("/cuda_driver_version"), "12040");
  EXPECT_EQ(root->list("/gpu"), (host::Names{"0", "1", "2", "3", "4", "5", "6", "7"}));
  EXPECT_EQ(root->read("/gpu/0/pci"), "00000000:1B:00.0");
  EXPECT_EQ(root->read("/gpu/0/memory"), "85899345920 563085312 85336260608");
  EXPECT_EQ(root->read("/gpu/0/throttle_reasons"), "0x1");
  EXPECT_EQ(root->read("/gpu/2/remapped_rows"), "1 2 1 0");
  EXPECT_EQ(root->read("/gpu/5/memory_affinity"), "1");
  EXPECT_EQ(root->read("/gpu/0/clock/sm_max"), "1980");
  EXPECT_EQ(root->read("/gpu/4/link/7/crc"), "1234");
  EXPECT_EQ(root->read("/gpu/0/fabric"), "3 0 ab000000-0000-0000-0000-000000000001 7 Success");
  EXPECT_EQ(root->read("/gpu/0/p2p/1"), "0");
  EXPECT_EQ(root->list("/gpu/0/link")->size(), 18U);
  EXPECT_EQ(root->list("/gpu/0/p2p")->size(), 7U);
  EXPECT_EQ(root->list("/gpu/0/clock"), (host::Names{"sm", "sm_max"}));
}

TEST(NvmlPeer, RefusalsKeepTheirReason) {
  const auto root = nvml("nvml");
  EXPECT_EQ(root->read("/gpu/0/serial").error(), (host::ReadError{EACCES, "Insufficient Permissions"}));
  EXPECT_EQ(root->read("/gpu/0/numa_node_id").error(), (host::ReadError{EOPNOTSUPP, "Not Supported"}));
  for (const char* path :
       {"/nothing", "/gpu/8/name", "/gpu/0/nothing", "/gpu/x/name", "/gpu/0/p2p/0", "/gpu/0/p2p/8",
        "/gpu/0/link/36/state", "/gpu/0/clock", "/gpu/0", "/gpu/0/a/b/c/d"}) {
    EXPECT_EQ(root->read(path).error().error, ENOENT) << path;
  }
  EXPECT_TRUE(root->exists("/gpu/0/name"));
  EXPECT_TRUE(root->exists("/gpu/0"));
  EXPECT_TRUE(root->exists("/gpu/0/serial"));
  EXPECT_FALSE(root->exists("/gpu/8"));
}

TEST(NvmlPeer, ListsGrowWithTheBuffer) {
  const std::string processes = nvml("nvml")->read("/gpu/1/processes").value_or("");
  EXPECT_TRUE(processes.starts_with("4000 -\n4001 1048576\n"));
  EXPECT_TRUE(processes.ends_with("4099 1048576\n"));
}

TEST(NvmlPeer, FillsTheModel) {
  const auto root = mounted(nvml("nvml"));
  model::Machine machine;
  probe_gpus(*root, machine);
  ASSERT_EQ(machine.gpus.size(), 8U);
  const model::Gpu& gpu = machine.gpus[2];
  EXPECT_EQ(gpu.vendor, model::GpuVendor::kNvidia);
  EXPECT_TRUE(gpu.address.is({0, 0x52, 0, 0}));
  EXPECT_TRUE(gpu.library_index.is(2));
  EXPECT_TRUE(gpu.name.is("NVIDIA H100 80GB HBM3"));
  EXPECT_TRUE(gpu.uuid.is("GPU-00000000-0000-0000-0000-000000000002"));
  EXPECT_TRUE(gpu.serial.is_unreadable());
  EXPECT_EQ(gpu.serial.reason(), model::Reason::kDenied);
  EXPECT_TRUE(gpu.compute_capability.is({9, 0}));
  EXPECT_TRUE(gpu.memory.is({85899345920}));
  EXPECT_TRUE(gpu.memory_used.is({563085312}));
  EXPECT_TRUE(gpu.mig.is(false));
  EXPECT_TRUE(gpu.ecc.is(true));
  EXPECT_TRUE(gpu.ecc_uncorrected.is(4));
  EXPECT_TRUE(gpu.remapped_rows.is(2));
  EXPECT_TRUE(gpu.remap_pending.is(true));
  EXPECT_TRUE(gpu.remap_failed.is(false));
  EXPECT_TRUE(gpu.sm_clock_max.is({1980e6}));
  EXPECT_TRUE(gpu.power.is({71.5}));
  EXPECT_TRUE(gpu.power_limit.is({700}));
  EXPECT_TRUE(gpu.temperature.is({31}));
  EXPECT_TRUE(gpu.performance_state.is("P8"));
  EXPECT_TRUE(gpu.utilization.is(0));
  EXPECT_TRUE(gpu.pcie_generation.is(1));
  EXPECT_TRUE(gpu.pcie_generation_max.is(5));
  EXPECT_TRUE(machine.gpus[6].pcie_width.is(8));
  EXPECT_TRUE(gpu.compute_mode.is("default"));
  EXPECT_TRUE(gpu.numa.is({0}));
  EXPECT_TRUE(machine.gpus[7].numa.is({1}));
  EXPECT_EQ(gpu.memory_numa.reason(), model::Reason::kUnsupported);
  EXPECT_TRUE(gpu.coherent_link.is(false));
  ASSERT_TRUE(gpu.fabric.is_known());
  EXPECT_EQ(gpu.fabric.get()->state, "completed");
  EXPECT_EQ(gpu.fabric.get()->status, "Success");
  EXPECT_EQ(gpu.fabric.get()->cluster, "ab000000-0000-0000-0000-000000000001");
  EXPECT_EQ(gpu.fabric.get()->clique, 7U);
  EXPECT_EQ(cite(machine, gpu.name.source()), "NVML GPU 2, nvmlDeviceGetName");
}

TEST(NvmlPeer, FillsLinksAndPeers) {
  const auto root = mounted(nvml("nvml"));
  model::Machine machine;
  probe_gpus(*root, machine);
  const model::Gpu& gpu = machine.gpus.at(4);
  ASSERT_EQ(gpu.links.size(), 18U);
  EXPECT_EQ(gpu.links[10].index, 10U);
  EXPECT_EQ(gpu.links[0].state, model::LinkState::kActive);
  EXPECT_EQ(gpu.links[7].state, model::LinkState::kInactive);
  EXPECT_TRUE(gpu.links[7].crc_errors.is(1234));
  EXPECT_TRUE(gpu.links[7].replays.is(0));
  EXPECT_TRUE(gpu.links[0].version.is(4));
  EXPECT_EQ(gpu.links[0].peer_kind, model::PeerKind::kSwitch);
  EXPECT_TRUE(gpu.links[1].peer.is({0, 6, 0, 0}));
  ASSERT_EQ(gpu.p2p.size(), 8U);
  EXPECT_TRUE(gpu.p2p[0].is(model::P2pStatus::kOk));
  EXPECT_TRUE(gpu.p2p[4].is_absent());
}

TEST(NvmlPeer, WhatWasRecordedReplaysAlike) {
  const auto root = mounted(nvml("nvml"));
  const host::RecordingRoot recorder(*root);
  model::Machine live;
  probe_gpus(recorder, live);
  const auto replay = host::make_memory_root(recorder.recording(), host::Scope::kRecorded);
  model::Machine again;
  probe_gpus(*replay, again);
  ASSERT_EQ(again.gpus.size(), live.gpus.size());
  for (std::size_t i = 0; i < live.gpus.size(); ++i) {
    EXPECT_EQ(again.gpus[i].uuid.value_or(""), live.gpus[i].uuid.value_or("-"));
    EXPECT_EQ(again.gpus[i].links.size(), live.gpus[i].links.size());
    EXPECT_EQ(again.gpus[i].serial.reason(), live.gpus[i].serial.reason());
    EXPECT_EQ(again.gpus[i].numa.value_or(NumaId{9}), live.gpus[i].numa.value_or(NumaId{8}));
  }
}

TEST(NvmlPeer, InitFailureIsSaidInNvmlsWords) {
  const Mood mood("init-fails");
  const auto root = nvml("nvml");
  EXPECT_EQ(root->read("/init"), "18 Driver/library version mismatch");
  EXPECT_EQ(root->read("/gpu/0/name").error(), (host::ReadError{EIO, "18 Driver/library version mismatch"}));
  EXPECT_EQ(root->list("/gpu").error().error, EIO);
}

TEST(NvmlPeer, MissingLibraryIsAbsence) {
  const auto root = nvml("no-such-directory");
  EXPECT_EQ(root->read("/init").error().error, ENOENT);
  EXPECT_FALSE(root->exists("/gpu"));
  model::Machine machine;
  probe_gpus(*mounted(nvml("no-such-directory")), machine);
  EXPECT_TRUE(machine.gpus.empty());
}

TEST(NvmlPeer, OldLibraryLacksOnlyWhatItLacks) {
  const auto root = mounted(nvml("nvml-old"));
  EXPECT_EQ(root->read("/@nvml/gpu/0/c2c_mode").error().error, ENOSYS);
  EXPECT_EQ(root->read("/@nvml/gpu/0/throttle_reasons"), "0x1");
  EXPECT_EQ(root->read("/@nvml/gpu/0/processes"), "");
  model::Machine machine;
  probe_gpus(*root, machine);
  ASSERT_EQ(machine.gpus.size(), 8U);
  EXPECT_TRUE(machine.gpus[0].name.is("NVIDIA H100 80GB HBM3"));
  EXPECT_EQ(machine.gpus[0].fabric.reason(), model::Reason::kUnsupported);
  EXPECT_EQ(machine.gpus[0].coherent_link.reason(), model::Reason::kUnsupported);
}

TEST(NvmlPeer, ALostGpuLosesNoOther) {
  const Mood mood("lost:3");
  const auto root = mounted(nvml("nvml"));
  model::Machine machine;
  probe_gpus(*root, machine);
  ASSERT_EQ(machine.gpus.size(), 8U);
  EXPECT_TRUE(machine.gpus[2].name.is_known());
  EXPECT_TRUE(machine.gpus[6].name.is_known());
  const model::Gpu& lost = machine.gpus[7];  // it does not even tell its address
  EXPECT_TRUE(lost.address.is_unreadable());
  EXPECT_TRUE(lost.library_index.is(3));
  EXPECT_EQ(lost.name.error(), EIO);
  EXPECT_EQ(root->read("/@nvml/gpu/3/name").error().detail, "GPU is lost");
}

TEST(NvmlPeer, ALostGpuIsFoundAgainInPci) {
  const Mood mood("lost:3");
  const auto root = mounted(nvml("nvml"));
  model::Machine machine;
  for (const int bus : {0x1b, 0x43, 0x52, 0x61, 0x9d, 0xc3, 0xd1, 0xdf}) {
    model::PciDevice device;
    device.address = {0, static_cast<std::uint8_t>(bus), 0, 0};
    device.vendor = 0x10de;
    device.class_code = 0x030200;
    machine.pci.devices.push_back(device);
  }
  probe_gpus(*root, machine);
  ASSERT_EQ(machine.gpus.size(), 8U);
  EXPECT_TRUE(machine.gpus[3].address.is({0, 0x61, 0, 0}));
  EXPECT_TRUE(machine.gpus[3].library_index.is(3));
  EXPECT_TRUE(machine.gpus[3].name.is_unreadable());
  EXPECT_TRUE(machine.gpus[4].name.is_known());
  EXPECT_EQ(machine.gpus[4].pci, 4U);
}

TEST(NvmlPeer, AHangingGpuIsGivenUp) {
  const Mood mood("hangs:5");
  const auto root = mounted(nvml("nvml", 200ms));
  model::Machine machine;
  probe_gpus(*root, machine);
  ASSERT_EQ(machine.gpus.size(), 8U);
  EXPECT_TRUE(machine.gpus[0].name.is_known());
  EXPECT_TRUE(machine.gpus[6].uuid.is("GPU-00000000-0000-0000-0000-000000000007"));
  EXPECT_EQ(root->read("/@nvml/gpu/5/name").error(),
            (host::ReadError{ETIMEDOUT, "GPU 5 gave no answer within 200 ms"}));
}

}  // namespace
}  // namespace angio::probe
