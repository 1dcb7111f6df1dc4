#include <gtest/gtest.h>

#include "diagnose/rules/process_test_jobs.hpp"

namespace angio::test {
namespace {

TEST(ProcessSettingP2pDisabled, FiresCriticalWithNvlinkOnce) {
  const auto found = findings_of(with("NCCL_P2P_DISABLE", "1"), "process.setting.p2p-disabled");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].severity, model::Severity::kCritical);
  EXPECT_EQ(found[0].evidence[0].text, "NCCL_P2P_DISABLE=1 in process 1000 (python)");
}

TEST(ProcessSettingP2pDisabled, FiresOnTheLevelThatMeansTheSame) {
  EXPECT_EQ(title_of(with("NCCL_P2P_LEVEL", "LOC"), "process.setting.p2p-disabled"),
            "NCCL_P2P_LEVEL=LOC takes NVLink away from NCCL");
  EXPECT_TRUE(held(with("NCCL_P2P_LEVEL", "NVL"), "process.setting.p2p-disabled"));
}

// NCCL compares with 1: other numbers and words do not disable.
TEST(ProcessSettingP2pDisabled, SilentOnZeroAndOnWords) {
  EXPECT_TRUE(held(with("NCCL_P2P_DISABLE", "true"), "process.setting.p2p-disabled"));
  EXPECT_TRUE(held(with("NCCL_P2P_DISABLE", "0"), "process.setting.p2p-disabled"));
}

TEST(ProcessSettingP2pDisabled, UndecidedWithoutLinkStates) {
  Machine machine = with("NCCL_P2P_DISABLE", "1");
  for (Gpu& gpu : machine.gpus)
    gpu.links.clear();
  EXPECT_EQ(undecided_of(machine, "process.setting.p2p-disabled").size(), 1U);
}

TEST(ProcessSettingIbDisabled, FiresWithActivePorts) {
  EXPECT_EQ(title_of(with("NCCL_IB_DISABLE", "1"), "process.setting.ib-disabled"),
            "NCCL_IB_DISABLE=1 with 8 active RDMA ports");
}

TEST(ProcessSettingIbDisabled, FiresOnTheNetworkNamedSocket) {
  EXPECT_EQ(title_of(with("NCCL_NET", "Socket"), "process.setting.ib-disabled"),
            "NCCL_NET=Socket with 8 active RDMA ports");
  EXPECT_TRUE(held(with("NCCL_NET", "IB"), "process.setting.ib-disabled"));
}

TEST(ProcessSettingIbDisabled, SilentWithoutActivePorts) {
  Machine machine = with("NCCL_IB_DISABLE", "1");
  for (auto& device : machine.rdma)
    set(device.ports[0].state, std::string("DOWN"));
  EXPECT_TRUE(held(machine, "process.setting.ib-disabled"));
}

TEST(ProcessSettingIbDisabled, UndecidedWithoutPortStates) {
  Machine machine = with("NCCL_IB_DISABLE", "1");
  for (auto& device : machine.rdma)
    deny(device.ports[0].state);
  EXPECT_EQ(undecided_of(machine, "process.setting.ib-disabled").size(), 1U);
}

Machine with_interface(const std::string& value) {
  Machine machine = with("NCCL_SOCKET_IFNAME", value);
  model::NetDevice device;
  device.name = "eth0";
  machine.networks = {device};
  return machine;
}

TEST(ProcessSettingSocketIfname, FiresWhenNothingMatches) {
  EXPECT_EQ(title_of(with_interface("ib0"), "process.setting.socket-ifname"),
            "NCCL_SOCKET_IFNAME=ib0 matches no interface");
  EXPECT_EQ(title_of(with_interface("=eth"), "process.setting.socket-ifname"),
            "NCCL_SOCKET_IFNAME=\"=eth\" matches no interface");
  EXPECT_EQ(findings_of(with_interface("^eth"), "process.setting.socket-ifname").size(), 1U);
}

TEST(ProcessSettingSocketIfname, FiresWhenWhatItMatchesIsDown) {
  Machine machine = with_interface("docker0");
  model::NetDevice bridge;
  bridge.name = "docker0";
  bridge.state = known<std::string>("down", "operstate");
  machine.networks.push_back(bridge);
  const auto found = findings_of(machine, "process.setting.socket-ifname");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].title, "NCCL_SOCKET_IFNAME=docker0 matches only interfaces that are down");
  EXPECT_EQ(found[0].fixes[0].text, "Name one of the interfaces with an address: eth0");
}

TEST(ProcessSettingSocketIfname, SilentOnPrefixExactAndExclusion) {
  for (const char* value : {"eth", "=eth0", "^docker,lo", "bond,eth"}) {
    EXPECT_TRUE(held(with_interface(value), "process.setting.socket-ifname")) << value;
  }
}

TEST(ProcessSettingSocketIfname, UndecidedWithoutInterfaces) {
  EXPECT_EQ(undecided_of(with("NCCL_SOCKET_IFNAME", "eth0"), "process.setting.socket-ifname").size(), 1U);
}

TEST(ProcessSettingShmDisabled, FiresOnMachinesWithoutNvlink) {
  Machine machine = with("NCCL_SHM_DISABLE", "1");
  EXPECT_EQ(findings_of(machine, "process.setting.shm-disabled").at(0).severity, model::Severity::kInfo);
  for (Gpu& gpu : machine.gpus)
    gpu.links.clear();
  const auto found = findings_of(machine, "process.setting.shm-disabled");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].severity, model::Severity::kWarning);
  EXPECT_EQ(found[0].title, "NCCL_SHM_DISABLE=1 leaves GPUs without peer access to the network");
}

TEST(ProcessSettingShmDisabled, SilentOnZero) {
  EXPECT_TRUE(held(with("NCCL_SHM_DISABLE", "0"), "process.setting.shm-disabled"));
}

// no undecided: the rule looks at the setting alone
TEST(ProcessSettingShmDisabled, UndecidedIsNotApplicableWithoutGpus) {
  EXPECT_TRUE(not_applicable(plain_host(), "process.setting.shm-disabled"));
}

TEST(ProcessSettingGdrLevel, FiresOnLoc) {
  EXPECT_EQ(title_of(with("NCCL_NET_GDR_LEVEL", "LOC"), "process.setting.gdr-level"),
            "NCCL_NET_GDR_LEVEL=LOC switches GPUDirect RDMA off");
}

TEST(ProcessSettingGdrLevel, SilentOnOtherLevels) {
  EXPECT_TRUE(held(with("NCCL_NET_GDR_LEVEL", "SYS"), "process.setting.gdr-level"));
}

// no undecided: the rule looks at the setting alone
TEST(ProcessSettingGdrLevel, UndecidedIsNotApplicableWithoutAdapters) {
  Machine machine = with("NCCL_NET_GDR_LEVEL", "LOC");
  machine.rdma.clear();
  EXPECT_TRUE(not_applicable(machine, "process.setting.gdr-level"));
}

TEST(ProcessSettingLl128Forced, FiresWhenNamed) {
  EXPECT_EQ(title_of(with("NCCL_PROTO", "Simple,LL128"), "process.setting.ll128-forced"),
            "NCCL_PROTO=Simple,LL128 forces LL128");
  EXPECT_EQ(
      findings_of(with("NCCL_PROTO", "allreduce:ll128;broadcast:simple"), "process.setting.ll128-forced")
          .size(),
      1U);
}

TEST(ProcessSettingLl128Forced, SilentWhenExcluded) {
  EXPECT_TRUE(held(with("NCCL_PROTO", "^LL128"), "process.setting.ll128-forced"));
  EXPECT_TRUE(held(with("NCCL_PROTO", "Simple"), "process.setting.ll128-forced"));
}

// no undecided: the rule looks at the setting alone
TEST(ProcessSettingLl128Forced, UndecidedIsNotApplicableWithoutTheSetting) {
  EXPECT_TRUE(not_applicable(training(), "process.setting.ll128-forced"));
}

TEST(ProcessSettingAlgoUnknown, FiresOnAWrongWord) {
  EXPECT_EQ(title_of(with("NCCL_ALGO", "Ring,Tree,Coll"), "process.setting.algo-unknown"),
            "NCCL_ALGO: \"coll\" is no algorithm");
}

TEST(ProcessSettingAlgoUnknown, SilentOnTheGrammar) {
  for (const char* value : {"Ring", "^Tree", "allreduce:tree,collnetchain;broadcast:ring", "NVLS,PAT"}) {
    EXPECT_TRUE(held(with("NCCL_ALGO", value), "process.setting.algo-unknown")) << value;
  }
}

// no undecided: the rule looks at the setting alone
TEST(ProcessSettingAlgoUnknown, UndecidedIsNotApplicableWithoutTheSetting) {
  EXPECT_TRUE(not_applicable(training(), "process.setting.algo-unknown"));
}

TEST(ProcessSettingAlgoNarrow, FiresOnTreeAlone) {
  Machine machine = with("NCCL_ALGO", "Tree");
  map_nccl(machine, "2.24.3");
  const auto found = findings_of(machine, "process.setting.algo-narrow");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].title, "NCCL_ALGO=Tree leaves AllGather and ReduceScatter without an algorithm");
  EXPECT_EQ(found[0].severity, model::Severity::kWarning);
  map_nccl(machine, "2.23.4");
  EXPECT_EQ(findings_of(machine, "process.setting.algo-narrow").at(0).severity, model::Severity::kInfo);
}

TEST(ProcessSettingAlgoNarrow, SilentOnMoreAndOnOneFunction) {
  for (const char* value : {"Ring,Tree", "^Tree", "allreduce:tree", "Ring"}) {
    EXPECT_TRUE(held(with("NCCL_ALGO", value), "process.setting.algo-narrow")) << value;
  }
}

TEST(ProcessSettingAlgoNarrow, UndecidedWithoutTheVersion) {
  Machine machine = with("NCCL_ALGO", "Tree");
  machine.software.libraries.clear();
  EXPECT_EQ(undecided_of(machine, "process.setting.algo-narrow").size(), 1U);
}

TEST(ProcessSettingTopoFile, FiresOnBareMetal) {
  const auto found = findings_of(with("NCCL_TOPO_FILE", "/etc/topo.xml"), "process.setting.topo-file");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].evidence[0].text, "NCCL_TOPO_FILE=/etc/topo.xml in process 1000 (python)");
}

TEST(ProcessSettingTopoFile, SilentInAVirtualMachine) {
  Machine machine = with("NCCL_TOPO_FILE", "/etc/topo.xml");
  set(machine.software.virtual_machine, std::string("Hyper-V"));
  EXPECT_TRUE(not_applicable(machine, "process.setting.topo-file"));
}

TEST(ProcessSettingTopoFile, UndecidedWhenThatIsNotKnown) {
  Machine machine = with("NCCL_TOPO_FILE", "/etc/topo.xml");
  deny(machine.software.virtual_machine);
  EXPECT_EQ(undecided_of(machine, "process.setting.topo-file").size(), 1U);
}

}  // namespace
}  // namespace angio::test
