#include "mesh/facts.hpp"

#include <gtest/gtest.h>

#include "mesh/expectation.hpp"
#include "mesh/perftest_tool.hpp"

namespace angio::mesh {
namespace {

using model::MeshHost;
using model::MeshNic;
using model::Observed;

template <typename T>
Observed<T> known(T value) {
  return Observed<T>::known(std::move(value), {});
}

model::RdmaDevice device(const char* name, const char* address, const char* state) {
  model::RdmaDevice one;
  one.name = name;
  one.address = known(*parse_pci_address(address));
  model::RdmaPort port;
  port.state = known(std::string(state));
  port.rate = known(BitsPerSecond{200e9});
  port.lanes = known(4U);
  port.speed_name = known(std::string("HDR"));
  port.link_layer = model::LinkLayer::kInfiniBand;
  port.active_mtu = known(Bytes{4096});
  one.ports.push_back(port);
  return one;
}

TEST(Facts, ActivePortsInTheOrderOfTheBus) {
  model::Machine machine;
  machine.rdma = {device("mlx5_1", "0000:9a:00.0", "ACTIVE"), device("mlx5_2", "0000:1b:00.0", "DOWN"),
                  device("mlx5_0", "0000:18:00.0", "ACTIVE")};
  machine.pci.devices.emplace_back();
  machine.pci.devices[0].link = known(model::PciLink{{16e9}, 16});
  machine.rdma[0].pci = 0;
  model::NetDevice eth;
  eth.name = "eth0";
  eth.addresses = {"fe80::1/64", "10.1.2.3/24"};
  machine.networks.push_back(eth);
  model::NetDevice idle;
  idle.name = "eth1";
  machine.networks.push_back(idle);
  const MeshHost host = nics_of(machine);
  ASSERT_EQ(host.rdma.size(), 2U);
  EXPECT_EQ(host.rdma[0].name, "mlx5_0");
  EXPECT_EQ(host.rdma[0].rate_name, "4x HDR");
  EXPECT_EQ(host.rdma[1].pcie_words, "16 GT/s x16");
  ASSERT_EQ(host.tcp.size(), 1U);
  EXPECT_EQ(host.tcp[0].address, "10.1.2.3");
}

// veth says 10 Gb/s, tun 10 Mb/s, rxe what it likes: neither is what a wire carries.
TEST(Facts, RatesOfSoftwareAreNone) {
  model::Machine machine;
  for (const char* kind : {"virtual", "bridge", "physical", "bond"}) {
    model::NetDevice one;
    one.name = kind;
    one.kind = known(std::string(kind));
    one.speed = known(BitsPerSecond{10e9});
    one.addresses = {"10.1.2.3/24"};
    machine.networks.push_back(one);
  }
  machine.rdma = {device("rxe0", "0000:18:00.0", "ACTIVE"), device("mlx5_0", "0000:19:00.0", "ACTIVE")};
  const MeshHost host = nics_of(machine);
  ASSERT_EQ(host.tcp.size(), 4U);
  for (const MeshNic& nic : host.tcp)
    EXPECT_EQ(nic.rate.has_value(), nic.name == "physical" || nic.name == "bond") << nic.name;
  ASSERT_EQ(host.rdma.size(), 2U);
  EXPECT_FALSE(host.rdma[0].rate.has_value());
  EXPECT_TRUE(host.rdma[1].rate.has_value());
}

MeshHost two_of_each() {
  MeshHost host;
  host.name = "n0";
  host.tcp = {{.name = "eth0", .address = "10.1.0.5"}, {.name = "ib0", .address = "10.2.0.5"}};
  host.rdma = {{.name = "mlx5_0", .port = 1}, {.name = "mlx5_0", .port = 2}, {.name = "mlx5_1", .port = 1}};
  return host;
}

TEST(SelectNics, ByNamesAndNetworks) {
  std::vector<std::string> notes;
  MeshHost host = two_of_each();
  select_nics({{"mlx5_1", "mlx5_0:2"}, {"10.2.0.0/16", "eth0"}, ""}, host, notes);
  ASSERT_EQ(host.rdma.size(), 2U);
  EXPECT_EQ(host.rdma[0].name, "mlx5_1");
  EXPECT_EQ(host.rdma[1].port, 2U);
  ASSERT_EQ(host.tcp.size(), 2U);
  EXPECT_EQ(host.tcp[0].name, "ib0");
  EXPECT_TRUE(notes.empty());
}

TEST(SelectNics, OfOneHostAlone) {
  std::vector<std::string> notes;
  MeshHost host = two_of_each();
  select_nics({{"n0=mlx5_1", "n1=mlx5_0"}, {"n1=eth0", "n0=ib0"}, ""}, host, notes);
  ASSERT_EQ(host.rdma.size(), 1U);
  EXPECT_EQ(host.rdma[0].name, "mlx5_1");
  ASSERT_EQ(host.tcp.size(), 1U);
  EXPECT_EQ(host.tcp[0].name, "ib0");
  EXPECT_TRUE(notes.empty());
}

TEST(SelectNics, WhatIsLackingKeepsItsPlace) {
  std::vector<std::string> notes;
  MeshHost host = two_of_each();
  select_nics({{"mlx5_7", "mlx5_1"}, {"10.9."}, ""}, host, notes);
  ASSERT_EQ(host.rdma.size(), 2U);
  EXPECT_EQ(host.rdma[0].name, "");
  EXPECT_TRUE(host.tcp.empty());
  EXPECT_EQ(notes,
            (std::vector<std::string>{"n0 has no active RDMA port mlx5_7", "n0 has no interface 10.9."}));
}

TEST(SelectNics, TheControlsInterfaceWithoutAWish) {
  std::vector<std::string> notes;
  MeshHost host = two_of_each();
  select_nics({{}, {}, "10.2.0.5"}, host, notes);
  ASSERT_EQ(host.tcp.size(), 1U);
  EXPECT_EQ(host.tcp[0].name, "ib0");
  MeshHost other = two_of_each();
  select_nics({{}, {}, "192.168.0.1"}, other, notes);
  ASSERT_EQ(other.tcp.size(), 1U);
  EXPECT_EQ(other.tcp[0].address, "192.168.0.1");
  EXPECT_EQ(other.tcp[0].name, "");
}

TEST(SelectNics, FactsOfASnapshotKeepTheAddress) {
  MeshHost host = two_of_each();
  MeshHost snapshot = two_of_each();
  snapshot.facts = "snapshot n0.snap";
  snapshot.tcp[0].address = "10.1.0.99";
  snapshot.tcp[0].rate = BitsPerSecond{25e9};
  take_facts(snapshot, host);
  EXPECT_EQ(host.tcp[0].rate, BitsPerSecond{25e9});
  EXPECT_EQ(host.tcp[0].address, "10.1.0.5");
  EXPECT_EQ(host.facts, "snapshot n0.snap");
}

MeshNic nic(double rate, const char* name, const char* layer) {
  MeshNic one;
  one.name = "mlx5_0";
  one.rate = BitsPerSecond{rate};
  one.rate_name = name;
  one.link_layer = layer;
  one.path_mtu = Bytes{4096};
  return one;
}

double expected(const MeshNic& a, const MeshNic& b) {
  MeshHost from;
  from.name = "a";
  MeshHost to;
  to.name = "b";
  return expect(from, a, to, b, model::MeshTransport::kRdma)->payload.value;
}

TEST(Expectation, IsTheLeastOfPortCodeHeadersAndPcie) {
  const MeshNic hdr = nic(200e9, "4x HDR", "InfiniBand");
  EXPECT_NEAR(expected(hdr, hdr), 200e9 * 4096 / (4096 + 26), 1e6);
  const MeshNic roce = nic(200e9, "", "Ethernet");
  EXPECT_NEAR(expected(roce, roce), 200e9 * 4096 / (4096 + 82), 1e6);
  const MeshNic qdr = nic(40e9, "4x QDR", "InfiniBand");
  EXPECT_NEAR(expected(hdr, qdr), 32e9 * 4096 / (4096 + 26), 1e6);
  // 40 Gb/s Ethernet goes by the name of QDR in sysfs, and is a data rate.
  const MeshNic ethernet = nic(40e9, "4x QDR", "Ethernet");
  EXPECT_NEAR(expected(ethernet, ethernet), 40e9 * 4096 / (4096 + 82), 1e6);
  const MeshNic fdr = nic(56e9, "4x FDR", "InfiniBand");
  EXPECT_NEAR(expected(fdr, fdr), 56e9 * 64 / 66 * 4096 / (4096 + 26), 2e6);
  const MeshNic fdr10 = nic(40e9, "4x FDR10", "InfiniBand");
  EXPECT_NEAR(expected(fdr10, fdr10), 40e9 * 4096 / (4096 + 26), 1e6);
  MeshNic narrow = hdr;
  narrow.pcie = BytesPerSecond{7.88e9};
  narrow.pcie_words = "8 GT/s x8";
  EXPECT_NEAR(expected(hdr, narrow), 7.88e9 * 8 * 0.91, 1e6);
  MeshHost from;
  from.name = "a";
  MeshHost to;
  to.name = "b";
  EXPECT_EQ(expect(from, hdr, to, narrow, model::MeshTransport::kRdma)->limit,
            "PCIe of b mlx5_0: 8 GT/s x8, 7.9 GB/s");
  EXPECT_NEAR(expect(from, hdr, to, narrow, model::MeshTransport::kTcp)->payload.value, 200e9, 1e6);
  EXPECT_FALSE(expect(from, {}, to, {}, model::MeshTransport::kRdma).has_value());
}

TEST(Expectation, VerdictsOfAPair) {
  model::MeshResult result;
  for (const char* name : {"a", "b"}) {
    MeshHost& host = result.hosts.emplace_back();
    host.name = host.host_name = name;
    host.rdma.push_back(nic(100e9, "4x EDR", "InfiniBand"));
  }
  const auto verdict = [&](double rate) {
    model::MeshMeasure measure;
    measure.transport = model::MeshTransport::kRdma;
    measure.to = 1;
    measure.bandwidth = BitsPerSecond{rate};
    result.measures = {measure};
    judge_measures(result);
    return result.measures[0].verdict;
  };
  EXPECT_EQ(verdict(97e9), model::MeshVerdict::kNormal);
  EXPECT_EQ(verdict(60e9), model::MeshVerdict::kLow);
  EXPECT_EQ(verdict(776e9), model::MeshVerdict::kImpossible);
}

TEST(PerftestWords, AreOfOneTest) {
  Order order;
  order.tool = Tool::kWriteBandwidth;
  order.device = "mlx5_0";
  order.size = 1048576;
  order.seconds = 2;
  order.listens = true;
  using Words = std::vector<std::string>;
  EXPECT_EQ(perftest_words(order, 40123), (Words{"ib_write_bw", "-d", "mlx5_0", "-i", "1", "-p", "40123",
                                                 "-F", "-s", "1048576", "--report_gbits", "-D", "2"}));
  order.listens = false;
  order.tool = Tool::kWriteLatency;
  order.address = "10.0.0.2";
  order.gid_index = 3;
  order.cuda = 1;
  order.size = 8;
  EXPECT_EQ(perftest_words(order, 40123),
            (Words{"ib_write_lat", "-d", "mlx5_0", "-i", "1", "-p", "40123", "-F", "-s", "8", "-n", "1000",
                   "-x", "3", "--use_cuda=1", "10.0.0.2"}));
}

}  // namespace
}  // namespace angio::mesh
