#include "probe/amd/amd_gpus.hpp"

#include <gtest/gtest.h>

#include <cerrno>
#include <string>

#include "probe/amd/kfd_topology.hpp"
#include "probe/nvml/gpu_probe.hpp"

namespace angio::probe {
namespace {

void add_card(host::Recording& recording, const std::string& name, const std::string& address) {
  const std::string card = "/sys/class/drm/" + name;
  recording[card + "/device"].link = "../../../" + address;
  recording[card + "/device/vendor"].content = "0x1002\n";
  recording[card + "/device/mem_info_vram_total"].content = "206141652992\n";
  recording[card + "/device/mem_info_vram_used"].content = "297271296\n";
  recording[card + "/device/unique_id"].content = "a1b2c3d4e5f60718\n";
  recording[card + "/device/current_compute_partition"].content = "SPX\n";
}

void add_node(host::Recording& recording, int number, const std::string& properties) {
  recording["/sys/class/kfd/kfd/topology/nodes/" + std::to_string(number) + "/properties"].content =
      properties;
}

void add_link(host::Recording& recording, int from, int number, int type, int to) {
  recording["/sys/class/kfd/kfd/topology/nodes/" + std::to_string(from) + "/io_links/" +
            std::to_string(number) + "/properties"]
      .content = "type " + std::to_string(type) + "\nversion_major 0\nnode_from " + std::to_string(from) +
                 "\nnode_to " + std::to_string(to) + "\nweight 15\n";
}

// Two MI300X of an eight-GPU board: one CPU node, xGMI between the GPUs, PCIe to the CPU.
host::Recording two_gpus() {
  host::Recording recording;
  add_card(recording, "card1", "0000:05:00.0");
  add_card(recording, "card2", "0001:26:00.0");
  recording["/sys/class/drm/card1-DP-1/status"].content = "disconnected\n";
  recording["/sys/class/drm/card0/device/vendor"].content = "0x1a03\n";
  add_node(recording, 0, "cpu_cores_count 96\nsimd_count 0\nlocation_id 0\ndomain 0\n");
  add_node(recording, 1, "cpu_cores_count 0\nsimd_count 1216\nlocation_id 1280\ndomain 0\n");
  add_node(recording, 2, "cpu_cores_count 0\nsimd_count 1216\nlocation_id 9728\ndomain 1\n");
  add_link(recording, 1, 0, 2, 0);
  add_link(recording, 1, 1, 11, 2);
  add_link(recording, 2, 0, 2, 0);
  add_link(recording, 2, 1, 11, 1);
  add_link(recording, 2, 2, 11, 7);  // a node nobody lists
  return recording;
}

TEST(AmdGpus, CardsAndXgmiLinks) {
  model::Machine machine;
  probe_gpus(*host::make_memory_root(two_gpus(), host::Scope::kComplete), machine);
  ASSERT_EQ(machine.gpus.size(), 2U);
  const model::Gpu& gpu = machine.gpus[0];
  EXPECT_EQ(gpu.vendor, model::GpuVendor::kAmd);
  EXPECT_TRUE(gpu.address.is({0, 5, 0, 0}));
  EXPECT_TRUE(gpu.memory.is({206141652992}));
  EXPECT_TRUE(gpu.memory_used.is({297271296}));
  EXPECT_TRUE(gpu.uuid.is("a1b2c3d4e5f60718"));
  EXPECT_TRUE(gpu.partition.is("SPX"));
  EXPECT_TRUE(gpu.name.is_absent());
  ASSERT_EQ(gpu.links.size(), 1U);
  EXPECT_EQ(gpu.links[0].peer_kind, model::PeerKind::kGpu);
  EXPECT_EQ(gpu.links[0].state, model::LinkState::kActive);
  EXPECT_TRUE(gpu.links[0].peer.is({1, 0x26, 0, 0}));
  ASSERT_EQ(machine.gpus[1].links.size(), 1U);
  EXPECT_TRUE(machine.gpus[1].links[0].peer.is({0, 5, 0, 0}));
  EXPECT_EQ(cite(machine, gpu.links[0].peer.source()), "/sys/class/kfd/kfd/topology/nodes/1/io_links");
}

TEST(AmdGpus, AnUnreadableCardLosesNoOther) {
  host::Recording recording = two_gpus();
  for (auto& [path, answers] : recording) {
    if (path.starts_with("/sys/class/drm/card2/device/mem"))
      answers.content = std::unexpected(host::ReadError{EIO, {}});
  }
  model::Machine machine;
  probe_gpus(*host::make_memory_root(std::move(recording), host::Scope::kComplete), machine);
  ASSERT_EQ(machine.gpus.size(), 2U);
  EXPECT_TRUE(machine.gpus[0].memory.is_known());
  EXPECT_EQ(machine.gpus[1].memory.error(), EIO);
}

TEST(KfdTopology, PropertiesAreNamesAndNumbers) {
  const auto properties =
      parse_kfd_properties("simd_count 4\nbroken\nname twice 1\nbig 18446744073709551615\nneg -1\n");
  EXPECT_EQ(properties.size(), 2U);
  EXPECT_EQ(properties.at("simd_count"), 4U);
  EXPECT_EQ(properties.at("big"), 18446744073709551615U);
}

}  // namespace
}  // namespace angio::probe
