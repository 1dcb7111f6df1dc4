#include <gtest/gtest.h>

#include "diagnose/test_machines.hpp"

namespace angio::test {
namespace {

model::RdmaPort& port(Machine& machine, std::size_t device) {
  return machine.rdma[device].ports[0];
}

Machine roce() {
  Machine machine = dgx_h100();
  for (std::size_t i = 0; i < 8; ++i) {
    model::RdmaPort& one = port(machine, i);
    one.link_layer = model::LinkLayer::kEthernet;
    model::Gid gid;
    gid.index = 3;
    gid.gid = "0000:0000:0000:0000:0000:ffff:0a00:0001";
    gid.type = known<std::string>("RoCE v2", "types/3");
    one.gids = {gid};
    model::NetDevice netdev;
    netdev.name = "rdma" + std::to_string(i);
    netdev.mtu = known(9000U, "mtu");
    machine.rdma[i].netdevs = {netdev.name};
    machine.networks.push_back(netdev);
  }
  return machine;
}

TEST(RdmaGdrPeermemMissing, FiresOnTheClosedModule) {
  Machine machine = dgx_h100();
  set(machine.software.modules, std::vector<std::string>{"mlx5_core", "mlx5_ib", "nvidia"});
  set(machine.software.nvidia_open, false);
  const auto found = findings_of(machine, "rdma.gdr.peermem-missing");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].title, "GPUDirect RDMA is off: nvidia_peermem is not loaded");
  EXPECT_EQ(found[0].cost.text, "8 NICs copy through host memory");
  set(machine.software.nvidia_open, true);
  set(machine.software.kernel, std::string("5.4.0-150"));
  EXPECT_EQ(findings_of(machine, "rdma.gdr.peermem-missing").at(0).evidence[1].text,
            "no DMA-BUF path: kernel 5.4.0-150");
}

TEST(RdmaGdrPeermemMissing, FiresAsInformationOnSlowEthernet) {
  Machine machine = roce();
  set(machine.software.modules, std::vector<std::string>{"mlx5_core", "mlx5_ib", "nvidia"});
  set(machine.software.nvidia_open, false);
  EXPECT_EQ(findings_of(machine, "rdma.gdr.peermem-missing").at(0).severity, model::Severity::kCritical);
  for (auto& device : machine.rdma)
    set(device.ports[0].rate, BitsPerSecond{25e9});
  EXPECT_EQ(findings_of(machine, "rdma.gdr.peermem-missing").at(0).severity, model::Severity::kInfo);
}

TEST(RdmaGdrPeermemMissing, FiresWhenTheJobSwitchesDmabufOff) {
  Machine machine = dgx_h100();
  set(machine.software.modules, std::vector<std::string>{"mlx5_core", "mlx5_ib", "nvidia"});
  model::Process process;
  process.id = 7;
  process.gpus = {0};
  process.settings = {{"NCCL_DMABUF_ENABLE", "0", at("environ")}};
  machine.processes = {process};
  const auto found = findings_of(machine, "rdma.gdr.peermem-missing");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].evidence[1].text, "no DMA-BUF path: NCCL_DMABUF_ENABLE=0 in process 7");
  EXPECT_EQ(found[0].fixes.at(1).text, "Or remove NCCL_DMABUF_ENABLE=0: driver and kernel offer DMA-BUF");
}

TEST(RdmaGdrPeermemMissing, SilentWithPeermemOrDmabufOrGeforce) {
  EXPECT_TRUE(held(dgx_h100(), "rdma.gdr.peermem-missing"));
  Machine machine = dgx_h100();
  set(machine.software.modules, std::vector<std::string>{"mlx5_core", "nvidia"});
  EXPECT_TRUE(held(machine, "rdma.gdr.peermem-missing"));  // open module, 5.15
  for (Gpu& gpu : machine.gpus)
    set(gpu.name, std::string("NVIDIA GeForce RTX 4090"));
  EXPECT_TRUE(not_applicable(machine, "rdma.gdr.peermem-missing"));
}

TEST(RdmaGdrPeermemMissing, UndecidedWithoutTheModules) {
  Machine machine = dgx_h100();
  deny(machine.software.modules);
  EXPECT_EQ(undecided_of(machine, "rdma.gdr.peermem-missing").size(), 1U);
}

TEST(RdmaPortNoSubnetManager, FiresOnInit) {
  Machine machine = dgx_h100();
  set(port(machine, 2).state, std::string("INIT"));
  set(port(machine, 2).sm_lid, Lid{0});
  const auto found = findings_of(machine, "rdma.port.no-subnet-manager");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].title, "mlx5_2 is linked but no subnet manager configured it (INIT)");
  EXPECT_EQ(found[0].evidence[1].text, "SM LID 0");
}

TEST(RdmaPortNoSubnetManager, FiresOnceForPortsAlike) {
  Machine machine = dgx_h100();
  for (std::size_t i = 0; i < 8; ++i)
    set(port(machine, i).state, std::string("INIT"));
  const auto found = findings_of(machine, "rdma.port.no-subnet-manager");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].title,
            "mlx5_0 to mlx5_7 are linked but no subnet manager configured "
            "them (INIT)");
  EXPECT_EQ(found[0].devices.size(), 8U);
  EXPECT_EQ(found[0].evidence[0].text, "mlx5_0: state INIT");
}

TEST(RdmaPortNoSubnetManager, SilentOnActiveAndOnRoce) {
  EXPECT_TRUE(held(dgx_h100(), "rdma.port.no-subnet-manager"));
  EXPECT_TRUE(not_applicable(roce(), "rdma.port.no-subnet-manager"));
}

TEST(RdmaPortNoSubnetManager, UndecidedWithoutTheState) {
  Machine machine = dgx_h100();
  deny(port(machine, 2).state);
  EXPECT_EQ(undecided_of(machine, "rdma.port.no-subnet-manager").size(), 1U);
}

TEST(RdmaPortDown, FiresOnTheOneAmongItsLikes) {
  Machine machine = dgx_h100();
  set(port(machine, 6).state, std::string("DOWN"));
  set(port(machine, 6).physical_state, std::string("Polling"));
  const auto found = findings_of(machine, "rdma.port.down");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].title, "mlx5_6 is down, 7 of 8 like ports are active");
  EXPECT_EQ(found[0].evidence[1].text, "physical state Polling");
}

TEST(RdmaPortDown, FiresAsInformationWhereSomebodyDisabledIt) {
  Machine machine = dgx_h100();
  set(port(machine, 6).state, std::string("DOWN"));
  set(port(machine, 6).physical_state, std::string("Disabled"));
  auto found = findings_of(machine, "rdma.port.down");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].severity, model::Severity::kInfo);
  EXPECT_EQ(found[0].title, "mlx5_6 is disabled, 7 of 8 like ports are active");
  ASSERT_EQ(found[0].fixes.size(), 1U);
  EXPECT_EQ(found[0].fixes[0].command, "sudo mlxlink -d mlx5_6 --port_state UP");
  Machine ethernet = roce();
  set(port(ethernet, 6).state, std::string("DOWN"));
  set(port(ethernet, 6).physical_state, std::string("Disabled"));
  found = findings_of(ethernet, "rdma.port.down");
  EXPECT_EQ(found.at(0).fixes.at(0).command, "sudo ip link set dev rdma6 up");
}

TEST(RdmaPortDown, FiresOnceForTwoAlike) {
  Machine machine = dgx_h100();
  for (const std::size_t i : {5U, 6U})
    set(port(machine, i).state, std::string("DOWN"));
  const auto found = findings_of(machine, "rdma.port.down");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].title, "mlx5_5, mlx5_6 are down, 6 of 8 like ports are active");
  EXPECT_EQ(found[0].cost.text, "2 of 8 ports");
  EXPECT_NEAR(found[0].rank, 0.25, 1e-9);
}

TEST(RdmaPortDown, SilentOnAdaptersLeftUncabled) {
  Machine machine = dgx_h100();
  set(port(machine, 6).state, std::string("DOWN"));
  set(machine.rdma[6].board_id, std::string("MT_0000000437"));  // another board: storage, unused
  EXPECT_TRUE(held(machine, "rdma.port.down"));
}

TEST(RdmaPortDown, UndecidedWithoutTheState) {
  Machine machine = dgx_h100();
  deny(port(machine, 6).state);
  EXPECT_EQ(undecided_of(machine, "rdma.port.down").size(), 1U);
}

TEST(RdmaPortSlow, FiresAgainstALikePortWithTheRateLost) {
  Machine machine = dgx_h100();
  set(port(machine, 3).rate, BitsPerSecond{200e9});
  const auto found = findings_of(machine, "rdma.port.slow");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].title, "mlx5_3 runs at 200 Gb/s, a like port at 400 Gb/s");
  EXPECT_EQ(found[0].cost.text, "25 GB/s of 50 GB/s a port");
  EXPECT_NEAR(found[0].rank, 0.5, 1e-9);
}

TEST(RdmaPortSlow, FiresOnOneLaneAlone) {
  Machine machine = dgx_h100();
  set(port(machine, 3).rate, BitsPerSecond{100e9});
  set(port(machine, 3).lanes, 1U);
  const auto found = findings_of(machine, "rdma.port.slow");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].title, "mlx5_3 runs on one lane, 100 Gb/s");
}

TEST(RdmaPortSlow, SilentOnAnotherBoardsSpeed) {
  Machine machine = dgx_h100();
  set(port(machine, 3).rate, BitsPerSecond{200e9});
  set(machine.rdma[3].board_id, std::string("MT_0000000437"));
  EXPECT_TRUE(held(machine, "rdma.port.slow"));
}

TEST(RdmaPortSlow, UndecidedWithoutTheRate) {
  Machine machine = dgx_h100();
  deny(port(machine, 3).rate);
  EXPECT_EQ(undecided_of(machine, "rdma.port.slow").size(), 1U);
}

TEST(RdmaPortMixed, FiresOnSlowRoceBesideInfiniBand) {
  Machine machine = dgx_h100();
  port(machine, 3).link_layer = model::LinkLayer::kEthernet;
  set(port(machine, 3).rate, BitsPerSecond{40e9});
  const auto found = findings_of(machine, "rdma.port.mixed");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].severity, model::Severity::kWarning);
  EXPECT_EQ(found[0].fixes[0].text,
            "Name the fast ports, exactly: "
            "NCCL_IB_HCA=\"=mlx5_0,mlx5_1,mlx5_2,mlx5_4,mlx5_5,mlx5_6,mlx5_7\"");
}

TEST(RdmaPortMixed, SilentWhenChosen) {
  Machine machine = dgx_h100();
  port(machine, 3).link_layer = model::LinkLayer::kEthernet;
  machine.software.settings.push_back({"NCCL_IB_HCA", "=mlx5_0", at("environment")});
  EXPECT_TRUE(held(machine, "rdma.port.mixed"));
  EXPECT_TRUE(held(dgx_h100(), "rdma.port.mixed"));
}

TEST(RdmaPortMixed, UndecidedWithoutTheRate) {
  Machine machine = dgx_h100();
  deny(port(machine, 3).rate);
  EXPECT_EQ(undecided_of(machine, "rdma.port.mixed").size(), 1U);
}

TEST(RdmaPortMtuLow, FiresWithTheHeadersShare) {
  Machine machine = dgx_h100();
  set(port(machine, 0).active_mtu, Bytes{2048});
  const auto found = findings_of(machine, "rdma.port.mtu-low");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].title, "mlx5_0 uses an MTU of 2048, it can 4096");
  EXPECT_EQ(found[0].cost.text, "1.3 % of the line for headers instead of 0.6 %");
}

TEST(RdmaPortMtuLow, SilentAtTheMaximum) {
  EXPECT_TRUE(held(dgx_h100(), "rdma.port.mtu-low"));
}

TEST(RdmaPortMtuLow, UndecidedWithoutTheMtu) {
  Machine machine = dgx_h100();
  deny(port(machine, 0).active_mtu);
  EXPECT_EQ(undecided_of(machine, "rdma.port.mtu-low").size(), 1U);
}

TEST(RdmaRoceMtuLow, FiresWithTheInterface) {
  Machine machine = roce();
  set(port(machine, 0).active_mtu, Bytes{1024});
  set(machine.networks[0].mtu, 1500U);
  const auto found = findings_of(machine, "rdma.roce.mtu-low");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].severity, model::Severity::kWarning);
  EXPECT_EQ(found[0].evidence[1].text, "rdma0 has an MTU of 1500");
  EXPECT_EQ(found[0].fixes[0].command, "sudo ip link set dev rdma0 mtu 9000");
}

TEST(RdmaRoceMtuLow, FiresOnceForAllPortsAndAsInformationOnSlowOnes) {
  Machine machine = roce();
  for (std::size_t i = 0; i < 8; ++i)
    set(port(machine, i).active_mtu, Bytes{1024});
  auto found = findings_of(machine, "rdma.roce.mtu-low");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].severity, model::Severity::kWarning);
  EXPECT_EQ(found[0].devices.size(), 8U);
  for (std::size_t i = 0; i < 8; ++i)
    set(port(machine, i).rate, BitsPerSecond{25e9});
  found = findings_of(machine, "rdma.roce.mtu-low");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].severity, model::Severity::kInfo);
}

TEST(RdmaRoceMtuLow, SilentAt4096AndWithoutRoce) {
  EXPECT_TRUE(held(roce(), "rdma.roce.mtu-low"));
  EXPECT_TRUE(not_applicable(dgx_h100(), "rdma.roce.mtu-low"));
}

TEST(RdmaRoceMtuLow, UndecidedWithoutTheMtu) {
  Machine machine = roce();
  deny(port(machine, 0).max_mtu);
  EXPECT_EQ(undecided_of(machine, "rdma.roce.mtu-low").size(), 1U);
}

TEST(RdmaRoceNoV2Gid, FiresOnLinkLocalOnly) {
  Machine machine = roce();
  port(machine, 1).gids[0].gid = "fe80:0000:0000:0000:ba59:9fff:fe00:0001";
  EXPECT_EQ(findings_of(machine, "rdma.roce.no-v2-gid").at(0).title, "mlx5_1 has no routable RoCE v2 GID");
}

TEST(RdmaRoceNoV2Gid, SilentWithAnIpv4Gid) {
  EXPECT_TRUE(held(roce(), "rdma.roce.no-v2-gid"));
}

TEST(RdmaRoceNoV2Gid, SilentOnAPortThatNoJobTakes) {
  Machine machine = roce();
  port(machine, 1).gids[0].gid = "fe80:0000:0000:0000:ba59:9fff:fe00:0001";
  machine.software.settings = {{"NCCL_IB_HCA", "=mlx5_0", at("nccl.conf")}};
  EXPECT_TRUE(held(machine, "rdma.roce.no-v2-gid"));
}

TEST(RdmaRoceNoV2Gid, UndecidedWithoutTheTable) {
  Machine machine = roce();
  port(machine, 1).gids.clear();
  EXPECT_EQ(undecided_of(machine, "rdma.roce.no-v2-gid").size(), 1U);
}

}  // namespace
}  // namespace angio::test
