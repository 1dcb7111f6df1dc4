// The network of real machines: the RDMA devices of an H100 node as gpud captured them, and procfs's
// fixtures.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "base/text.hpp"
#include "host/root.hpp"
#include "probe/nvml/gpu_probe.hpp"
#include "probe/sysfs/network_probe.hpp"
#include "support/recorded_trees.hpp"
#include "support/shared_corpus.hpp"

namespace angio::probe {
namespace {

// The text archive of prometheus/procfs: "Path: p", "Lines: n" or "SymlinkTo: t", then n lines; NULLBYTE and
// EOF (no newline at the end) stand for themselves.
host::Recording read_ttar(const std::string& text, const std::string& prefix) {
  host::Recording recording;
  const std::vector<std::string_view> lines = split_lines(text);
  std::string path;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (lines[i].starts_with("Path: ")) path = lines[i].substr(6);
    const bool wanted = path.starts_with(prefix);
    const std::string key = wanted ? path.substr(prefix.size()) : std::string();
    if (lines[i].starts_with("SymlinkTo: ") && wanted) recording[key].link = std::string(lines[i].substr(11));
    if (!lines[i].starts_with("Lines: ")) continue;
    const auto count = parse_integer<std::size_t>(lines[i].substr(7)).value_or(0);
    std::string content;
    for (std::size_t line = 0; line < count && i + 1 < lines.size(); ++line)
      content.append(lines[++i]).append("\n");
    if (wanted) recording[key].content = content;
  }
  return recording;
}

TEST(NetworkShared, H100NodeOfGpud) {
  ANGIO_SHARED_OR_SKIP(archive, "ib/gpud-sys-class-infiniband-h100.tar.gz");
  const test::TemporaryDirectory directory;
  ASSERT_EQ(std::system(("tar xzf '" + archive + "' -C '" + directory.path() + "'").c_str()), 0);
  const auto root = host::open_directory_root(directory.path());
  ASSERT_TRUE(root.has_value());
  model::Machine machine;
  probe_network(**root, machine);
  ASSERT_EQ(machine.rdma.size(), 9U);
  for (const model::RdmaDevice& device : machine.rdma) {
    ASSERT_EQ(device.ports.size(), 1U) << device.name;
    const model::RdmaPort& port = device.ports[0];
    EXPECT_TRUE(port.state.is("ACTIVE"));
    EXPECT_TRUE(port.physical_state.is("LinkUp"));
    EXPECT_TRUE(port.speed_name.is("NDR"));
    EXPECT_EQ(device.bond, device.name == "mlx5_bond_0");
    EXPECT_TRUE(port.rate.is({device.bond ? 200e9 : 400e9}));
    EXPECT_TRUE(port.lanes.is(device.bond ? 2 : 4));
    EXPECT_EQ(port.link_layer, device.bond ? model::LinkLayer::kEthernet : model::LinkLayer::kInfiniBand);
    EXPECT_TRUE(device.hca_type.is(device.bond ? "MT41692" : "MT4129"));
    EXPECT_TRUE(port.counters.at("link_downed").is(device.name == "mlx5_1" ? 255 : 0)) << device.name;
    EXPECT_TRUE(port.counters.at("port_xmit_data").is_known());
    EXPECT_FALSE(port.hw_counters.contains("lifespan"));
    EXPECT_TRUE(port.hw_counters.at("out_of_sequence").is_known());
    EXPECT_TRUE(port.lid.is_absent());  // not captured
    EXPECT_TRUE(port.active_mtu.is_absent());
  }
  EXPECT_TRUE(machine.rdma[0].firmware.is("28.41.1000"));
  EXPECT_TRUE(machine.rdma[0].board_id.is("MT_0000000838"));
}

TEST(NetworkShared, ProcfsFixtures) {
  ANGIO_SHARED_OR_SKIP(path, "ib/procfs-fixtures.ttar");
  host::Recording recording = read_ttar(test::read_whole_file(path), "fixtures");
  ASSERT_GT(recording.size(), 1000U);
  const auto root = host::make_memory_root(std::move(recording), host::Scope::kComplete);
  model::Machine machine;
  probe_network(*root, machine);
  ASSERT_EQ(machine.rdma.size(), 3U);
  const model::RdmaDevice& omni_path = machine.rdma[0];
  EXPECT_EQ(omni_path.name, "hfi1_0");
  EXPECT_TRUE(omni_path.ports.at(0).rate.is({100e9}));
  EXPECT_TRUE(omni_path.ports[0].counters.at("VL15_dropped").is(0));
  const model::RdmaDevice& connectx3 = machine.rdma[1];
  EXPECT_TRUE(connectx3.hca_type.is("MT4099"));
  ASSERT_EQ(connectx3.ports.size(), 2U);
  EXPECT_TRUE(connectx3.ports[0].speed_name.is("QDR"));
  EXPECT_TRUE(connectx3.ports[0].counters.at("port_rcv_data").is(2221223609));
  const auto refused = std::ranges::count_if(connectx3.ports[0].counters,
                                             [](const auto& entry) { return entry.second.is_unreadable(); });
  EXPECT_LT(static_cast<std::size_t>(refused), connectx3.ports[0].counters.size());
  EXPECT_EQ(machine.rdma[2].name, "mlx5_0");
  EXPECT_TRUE(machine.rdma[2].node_guid.is_known());
  ASSERT_FALSE(machine.networks.empty());
  EXPECT_EQ(machine.networks[0].name, "eth0");
  EXPECT_TRUE(machine.networks[0].address.is({0, 0, 0x1f, 6}));
  EXPECT_TRUE(machine.networks[0].speed.is({1e9}));
}

TEST(NetworkShared, ProcfsFixturesHoldAnAmdGpu) {
  ANGIO_SHARED_OR_SKIP(path, "ib/procfs-fixtures.ttar");
  const auto root =
      host::make_memory_root(read_ttar(test::read_whole_file(path), "fixtures"), host::Scope::kComplete);
  model::Machine machine;
  probe_gpus(*root, machine);
  ASSERT_EQ(machine.gpus.size(), 1U);
  EXPECT_EQ(machine.gpus[0].vendor, model::GpuVendor::kAmd);
  EXPECT_TRUE(machine.gpus[0].memory.is({8573157376}));
  EXPECT_TRUE(machine.gpus[0].memory_used.is({1490378752}));
  EXPECT_TRUE(machine.gpus[0].uuid.is("0123456789abcdef"));
  EXPECT_TRUE(machine.gpus[0].utilization.is(4));
  EXPECT_TRUE(machine.gpus[0].pcie_replays.is(0));
  EXPECT_TRUE(machine.gpus[0].numa.is_absent());
}

}  // namespace
}  // namespace angio::probe
