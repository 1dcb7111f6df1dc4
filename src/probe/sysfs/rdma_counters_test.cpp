#include "probe/sysfs/rdma_counters.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>

#include "probe/sysfs/probe_fixture.hpp"

namespace angio::probe::test {
namespace {

using model::LinkLayer;
using model::RdmaCounter;
using model::RdmaCounterPlace;

const Files kPort = {
    {"/sys/class/infiniband/mlx5_0/node_guid", "b83f:d203:0000:1230\n"},
    {"/sys/class/infiniband/mlx5_0/ports/1/state", "4: ACTIVE\n"},
    {"/sys/class/infiniband/mlx5_0/ports/1/phys_state", "5: LinkUp\n"},
    {"/sys/class/infiniband/mlx5_0/ports/1/link_layer", "Ethernet\n"},
    {"/sys/class/infiniband/mlx5_0/ports/1/rate", "400 Gb/sec (4X NDR)\n"},
    {"/sys/class/infiniband/mlx5_0/ports/1/gid_attrs/ndevs/0", "eth0\n"},
    {"/sys/class/infiniband/mlx5_0/ports/1/counters/symbol_error", "3\n"},
    {"/sys/class/infiniband/mlx5_0/ports/1/counters/port_xmit_data", "9000000000000\n"},
    {"/sys/class/infiniband/mlx5_0/ports/1/counters/VL15_dropped", "N/A (no PMA)\n"},
    {"/sys/class/infiniband/mlx5_0/ports/1/hw_counters/lifespan", "10\n"},
    {"/sys/class/infiniband/mlx5_0/ports/1/hw_counters/np_cnp_sent", "18446744073709551615\n"},
    {"/sys/class/net/eth0/statistics/rx_bytes", "77\n"},
    {"/@ethtool/eth0/stats", "rx_prio3_pause: 17\n[odd: name]: 2\nno number\n: 5\nlast: x\n"},
    {"/@clock/mlx5_0/1", "1764496800000000000 123000000000"},
};

model::RdmaReading read(host::Recording recording, const WantedPort& wanted = {}) {
  const auto root = host::make_memory_root(std::move(recording), host::Scope::kComplete);
  return read_rdma_counters(*root, wanted);
}
const RdmaCounter* find(const model::RdmaPortReading& port, std::string_view name) {
  const auto found = std::ranges::find(port.counters, name, &RdmaCounter::name);
  return found == port.counters.end() ? nullptr : &*found;
}

TEST(RdmaCounters, ReadsEachPlace) {
  const model::RdmaReading reading = read(recording_of(kPort));
  ASSERT_EQ(reading.ports.size(), 1U);
  const model::RdmaPortReading& port = reading.ports[0];
  EXPECT_EQ(port.device, "mlx5_0");
  EXPECT_EQ(port.state, "ACTIVE");
  EXPECT_EQ(port.link_layer, LinkLayer::kEthernet);
  EXPECT_DOUBLE_EQ(port.rate->value, 400e9);
  EXPECT_EQ(port.speed_name, "NDR");
  EXPECT_EQ(port.interfaces, std::vector<std::string>{"eth0"});
  EXPECT_EQ(port.moment.wall, 1764496800000000000);
  EXPECT_EQ(port.moment.boot, 123000000000);
  EXPECT_EQ(find(port, "symbol_error")->value, 3U);
  EXPECT_EQ(find(port, "port_xmit_data")->value, 9000000000000U);
  EXPECT_EQ(find(port, "np_cnp_sent")->value, 18446744073709551615U);
  EXPECT_EQ(find(port, "np_cnp_sent")->place, RdmaCounterPlace::kHardware);
  EXPECT_EQ(find(port, "rx_bytes")->interface, "eth0");
  EXPECT_EQ(find(port, "rx_prio3_pause")->value, 17U);
  EXPECT_EQ(find(port, "rx_prio3_pause")->place, RdmaCounterPlace::kEthtool);
  EXPECT_EQ(find(port, "[odd: name]")->value, 2U);
  EXPECT_EQ(find(port, "lifespan"), nullptr);
  EXPECT_FALSE(find(port, "last")->value.has_value());
  EXPECT_GT(reading.files, 12U);
}

TEST(RdmaCounters, OneRefusalLosesNoOther) {
  host::Recording recording = recording_of(kPort);
  recording["/sys/class/infiniband/mlx5_0/ports/1/counters/symbol_error"].content =
      std::unexpected(host::ReadError{EINVAL, {}});
  const model::RdmaReading reading = read(std::move(recording));
  const model::RdmaPortReading& port = reading.ports[0];
  EXPECT_FALSE(find(port, "symbol_error")->value.has_value());
  EXPECT_EQ(find(port, "symbol_error")->why, "Invalid argument (EINVAL)");
  EXPECT_EQ(find(port, "VL15_dropped")->why, "\"N/A (no PMA)\" is no number");
  EXPECT_EQ(find(port, "port_xmit_data")->value, 9000000000000U);
}

TEST(RdmaCounters, InfiniBandAsksNoEthtool) {
  Files files = kPort;
  files["/sys/class/infiniband/mlx5_0/ports/1/link_layer"] = "InfiniBand\n";
  EXPECT_EQ(find(read(recording_of(files)).ports[0], "rx_prio3_pause"), nullptr);
}

TEST(RdmaCounters, InterfacesOfTwoPortsAreKeptApart) {
  Files files = {{"/sys/class/infiniband/mlx4_0/ports/1/state", "4: ACTIVE\n"},
                 {"/sys/class/infiniband/mlx4_0/ports/2/state", "4: ACTIVE\n"},
                 {"/sys/class/infiniband/mlx4_0/device/net/eth0/x", ""},
                 {"/sys/class/infiniband/mlx4_0/device/net/eth1/x", ""},
                 {"/sys/class/net/eth0/dev_port", "0\n"},
                 {"/sys/class/net/eth1/dev_port", "1\n"}};
  const model::RdmaReading reading = read(recording_of(files));
  ASSERT_EQ(reading.ports.size(), 2U);
  EXPECT_EQ(reading.ports[0].interfaces, std::vector<std::string>{"eth0"});
  EXPECT_EQ(reading.ports[1].interfaces, std::vector<std::string>{"eth1"});
}

TEST(RdmaCounters, ANameThatLeadsElsewhereIsNoInterface) {
  Files files = kPort;
  files["/sys/class/infiniband/mlx5_0/ports/1/gid_attrs/ndevs/0"] = "../../../etc\n";
  files["/sys/class/infiniband/mlx5_0/parent"] = "eth0\n";
  EXPECT_EQ(read(recording_of(files)).ports[0].interfaces, std::vector<std::string>{"eth0"});
}

TEST(RdmaCounters, OnlyWhatIsWanted) {
  const model::RdmaReading reading =
      read(recording_of(kPort), [](const std::string&, std::uint32_t port) { return port == 2; });
  EXPECT_TRUE(reading.ports.empty());
  EXPECT_TRUE(reading.problem.empty());
}

TEST(RdmaCounters, WithoutDevicesItSaysWhy) {
  EXPECT_EQ(read({}).problem, "there are no RDMA devices: no /sys/class/infiniband");
  host::Recording denied;
  denied["/sys/class/infiniband"].names = std::unexpected(host::ReadError{EACCES, {}});
  EXPECT_EQ(read(std::move(denied)).problem, "/sys/class/infiniband: Permission denied (EACCES)");
}

}  // namespace
}  // namespace angio::probe::test
