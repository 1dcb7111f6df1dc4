#include "import/fabric/lldpctl.hpp"

#include <gtest/gtest.h>

#include "import/fabric/lldp_json.hpp"
#include "support/fabric_samples.hpp"

namespace angio::import::fabric {
namespace {

using model::FabricNodeKind;
using test::cables;
using test::import_fabric_sample;
using test::node_named;
using test::note_count;

std::string peer_of_interface(const model::Fabric& fabric, std::string_view host,
                              std::string_view interface) {
  for (const model::FabricPort& port : node_named(fabric, host).ports) {
    if (port.name == interface) return port.peer ? describe(fabric, *port.peer) : "nobody";
  }
  return "no such interface";
}

void expect_the_host(const model::Fabric& fabric) {
  EXPECT_EQ(fabric.kind, model::FabricKind::kEthernet);
  ASSERT_EQ(fabric.nodes.size(), 3U);
  EXPECT_EQ(node_named(fabric, "gpu-a").kind, FabricNodeKind::kAdapter);
  EXPECT_EQ(node_named(fabric, "leaf-1").kind, FabricNodeKind::kSwitch);
  EXPECT_EQ(node_named(fabric, "leaf-1").guid.value, 0xb8cef6000010U);
  EXPECT_EQ(peer_of_interface(fabric, "gpu-a", "ens1f0"), "leaf-1 Ethernet44");
  EXPECT_EQ(peer_of_interface(fabric, "gpu-a", "ens1f1"), "leaf-2 swp7");
  const model::FabricPort& port = node_named(fabric, "gpu-a").ports.at(0);
  ASSERT_TRUE(port.stated_rate.has_value());
  EXPECT_EQ(port.stated_rate->value, 400e9);
}

TEST(Lldpctl, ReadsAHostBehindItsPrompt) {
  const model::Fabric fabric = import_fabric_sample("lldpctl/whole.json");
  expect_the_host(fabric);
  EXPECT_TRUE(fabric.notes.empty());
}

TEST(Lldpctl, Json0SaysTheSame) {
  const model::Fabric fabric = import_fabric_sample("lldpctl/json0.json");
  expect_the_host(fabric);
  EXPECT_EQ(node_named(fabric, "gpu-a").guid.value, 0x0c42a100000aU) << "of lldpcli show chassis";
  EXPECT_TRUE(fabric.notes.empty());
}

TEST(Lldpctl, SeveralOutputsAreOneFabric) {
  const model::Fabric fabric = import_fabric_sample("lldpctl/hosts.txt");
  ASSERT_EQ(fabric.nodes.size(), 3U);
  EXPECT_EQ(cables(fabric), 2U);
  EXPECT_EQ(peer_of_interface(fabric, "leaf-1", "Ethernet8"), "gpu-b ens1f0");
  EXPECT_EQ(node_named(fabric, "gpu-a").guid.value, 0x0c42a100000aU) << "the switch knows its address";
  EXPECT_EQ(node_named(fabric, "leaf-1").kind, FabricNodeKind::kSwitch);
  EXPECT_EQ(note_count(fabric, "fabric.one-sided-link"), 1U) << "leaf-1 does not hear gpu-b";
}

TEST(Lldpctl, ReadsUpToTheCut) {
  const model::Fabric fabric = import_fabric_sample("lldpctl/truncated.json");
  EXPECT_EQ(peer_of_interface(fabric, "gpu-a", "ens1f0"), "leaf-1 Ethernet44");
  EXPECT_EQ(note_count(fabric, "fabric.cut-json"), 1U);
}

TEST(Lldpctl, ReadsWhatIsReadable) {
  const model::Fabric fabric = import_fabric_sample("lldpctl/broken.json");
  EXPECT_EQ(note_count(fabric, "fabric.two-neighbours"), 1U);
  EXPECT_EQ(note_count(fabric, "fabric.named-after-file"), 1U);
  EXPECT_EQ(peer_of_interface(fabric, "broken", "eth0"), "0x0000b8cef6000030 b8:ce:f6:00:00:31");
  EXPECT_EQ(peer_of_interface(fabric, "broken", "eth1"), "leaf-9 ?");
}

TEST(Lldpctl, ObjectsByHostAndArraysAreRead) {
  constexpr std::string_view kOne =
      R"({"lldp":{"interface":{"eth0":{"chassis":{"leaf-1":{"id":{"type":"mac","value":"b8:ce:f6:00:00:10"}}},)"
      R"("port":{"id":{"type":"ifname","value":"swp1"}}}}}})";
  const model::Fabric by_host = test::import_fabric_text("{\"gpu-a\":" + std::string(kOne) + "}");
  EXPECT_EQ(peer_of_interface(by_host, "gpu-a", "eth0"), "leaf-1 swp1");
  const model::Fabric array =
      test::import_fabric_text("[" + std::string(kOne) + "," + std::string(kOne) + "]");
  EXPECT_EQ(note_count(array, "fabric.unnamed-host"), 2U);
  EXPECT_EQ(note_count(array, "fabric.ends-contradict"), 1U) << "two hosts at one port of the switch";
}

TEST(Lldpctl, AMemberOfAReportIsNoHost) {
  const model::Fabric fabric = test::import_fabric_text(
      R"({"lldp_status":{"lldp":{"interface":{"eth0":{"chassis":{"leaf-1":{"id":{"type":"mac","value":"?"}}},)"
      R"("port":{"id":{"type":"ifname","value":"swp1"}}}}}},"mtu":9000})",
      "gpu-a.json");
  EXPECT_EQ(peer_of_interface(fabric, "gpu-a", "eth0"), "leaf-1 swp1");
}

TEST(Lldpctl, FindsTheHostInWhatStandsBefore) {
  EXPECT_EQ(host_in_label("==> gpu-a.json <==\n"), "gpu-a");
  EXPECT_EQ(host_in_label("[root@gpu-a ~]# lldpctl -f json\n"), "gpu-a");
  EXPECT_EQ(host_in_label("$ ssh gpu-b lldpctl -f json\n"), "gpu-b");
  EXPECT_EQ(host_in_label("gpu-c | CHANGED | rc=0 >>\n"), "gpu-c");
  EXPECT_EQ(host_in_label("----------------\ngpu-d\n----------------\n"), "gpu-d");
  EXPECT_EQ(host_in_label("here is what it printed\n"), "");
}

TEST(Lldpctl, MediaNameTheirRate) {
  EXPECT_EQ(rate_of_medium("100GbaseCR4 - whatever")->value, 100e9);
  EXPECT_EQ(rate_of_medium("10GigBaseCX4 - X copper")->value, 10e9);
  EXPECT_EQ(rate_of_medium("1000BaseTFD - Four-pair")->value, 1e9);
  EXPECT_FALSE(rate_of_medium("unknown").has_value());
  EXPECT_FALSE(rate_of_medium("100 whatever").has_value());
}

TEST(Lldpctl, AMacIsSixPairs) {
  EXPECT_EQ(parse_mac("b8:ce:f6:00:00:10"), 0xb8cef6000010U);
  EXPECT_EQ(parse_mac("b8-ce-f6-00-00-10"), 0xb8cef6000010U);
  EXPECT_EQ(parse_mac("b8:ce:f6:00:00:1"), 0U);
  EXPECT_EQ(parse_mac("b8:ce:f6:00:00:zz"), 0U);
}

TEST(Lldpctl, EthernetAndInfiniBandAreNeverOneFabric) {
  model::Fabric fabric = import_fabric_sample("ibnetdiscover/whole.txt");
  const auto result = add_to_fabric(fabric, test::fabric_sample("lldpctl/whole.json"), "whole.json");
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().message,
            "whole.json: one is InfiniBand, the other Ethernet: they are never one fabric");
}

}  // namespace
}  // namespace angio::import::fabric
