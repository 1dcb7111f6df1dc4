#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <random>

#include "fabric/fabric.hpp"
#include "fabric/same_fabric.hpp"
#include "support/fabric_samples.hpp"
#include "views/fabric_json.hpp"

namespace angio {
namespace {

using test::difference;
using test::import_fabric_sample;
using test::import_fabric_text;

std::string as_json(const model::Fabric& fabric) {
  return to_text(views::fabric_json(fabric, views::fabric_metrics(fabric)), -1);
}

model::Fabric back(const model::Fabric& fabric) {
  return import_fabric_text(as_json(fabric), "file.json");
}

constexpr auto kLastError = static_cast<std::size_t>(model::FabricCounter::kVl15Dropped);

// leaves × hosts adapters; every counter known, no errors.
model::Fabric big_fabric(std::uint32_t leaves, std::uint32_t hosts) {
  model::Fabric fabric;
  fabric.name = "mlx5_0 port 1";
  fabric.origin = "scan from mlx5_0 port 1";
  fabric.captured = "2026-11-30T09:00:00Z";
  fabric.seen_from = {"gpu-0 mlx5_0 port 1"};
  for (std::uint32_t leaf = 0; leaf < leaves; ++leaf) {
    const auto at = static_cast<std::uint32_t>(fabric.nodes.size());
    model::FabricNode node;
    node.kind = model::FabricNodeKind::kSwitch;
    node.guid = {0xb8cef60300b00000U + leaf};
    node.description = "leaf-" + std::to_string(leaf);
    node.stated_ports = hosts;
    for (std::uint32_t port = 1; port <= hosts; ++port)
      node.ports.emplace_back().number = port;
    fabric.nodes.push_back(node);
    for (std::uint32_t host = 0; host < hosts; ++host) {
      model::FabricNode adapter;
      adapter.kind = model::FabricNodeKind::kAdapter;
      adapter.guid = {0xb8cef60300a00000U + leaf * 1000 + host};
      adapter.description = "gpu-" + std::to_string(leaf * 1000 + host) + " mlx5_0";
      adapter.ports.emplace_back().number = 1;
      fabric.nodes.push_back(adapter);
      const model::PortRef down{at, host};
      const model::PortRef up{static_cast<std::uint32_t>(fabric.nodes.size() - 1), 0};
      EXPECT_TRUE(connect(fabric, down, up));
      for (const model::PortRef ref : {down, up}) {
        model::FabricPort& port = fabric.nodes[ref.node].ports[ref.port];
        port.state = model::PortState::kActive;
        port.physical_state = model::PortPhysicalState::kLinkUp;
        port.lanes = 4;
        port.speed = model::LaneSpeedName::kHdr;
        for (std::size_t i = 0; i < model::kFabricCounters; ++i)
          port.counters.set(static_cast<model::FabricCounter>(i), i > kLastError ? i * 1000 + host : 0);
      }
    }
  }
  return fabric;
}

TEST(FabricRoundTrip, EverySampleComesBackFromJsonAsItWas) {
  for (const char* sample : {"ibnetdiscover/whole.txt", "ibnetdiscover/broken.txt", "ibnetdiscover/ports.txt",
                             "ibnetdiscover/net.txt", "iblinkinfo/whole.txt", "iblinkinfo/broken.txt",
                             "ibqueryerrors/whole.txt", "perfquery/whole.txt", "ibdiagnet/whole.db_csv",
                             "ibdiagnet/whole.lst", "lldpctl/whole.json", "lldpctl/broken.json"}) {
    const model::Fabric fabric = import_fabric_sample(sample);
    EXPECT_EQ(difference(fabric, back(fabric)), "") << sample;
  }
}

TEST(FabricRoundTrip, NumbersOf64BitsAreExact) {
  model::Fabric fabric = big_fabric(1, 2);
  fabric.nodes[0].ports[0].counters.set(model::FabricCounter::kTransmitBytes, ~std::uint64_t{0}, true);
  fabric.nodes[0].ports[0].counters.set(model::FabricCounter::kReceiveBytes, (std::uint64_t{1} << 53U) + 1);
  fabric.nodes[0].guid = {~std::uint64_t{0}};
  fabric.nodes[0].ports[1].stated_rate = BitsPerSecond{106.25e9 / 3};
  fabric.nodes[0].ports[1].trouble = "no answer to \"PortInfo\" in 3 tries\n";
  fabric.nodes[0].trouble = "odd";
  EXPECT_EQ(difference(fabric, back(fabric)), "");
}

TEST(FabricRoundTrip, ColumnsThatNobodyUsesAreLeftOut) {
  const std::string text = as_json(import_fabric_sample("iblinkinfo/whole.txt"));
  EXPECT_EQ(text.find("symbol_errors"), std::string::npos);
  EXPECT_EQ(text.find("enabled_lanes"), std::string::npos);
  EXPECT_NE(text.find("\"port_columns\":[\"number\","), std::string::npos);
}

TEST(FabricRoundTrip, SixteenThousandPortsCostLittle) {
  const model::Fabric fabric = big_fabric(40, 200);
  const std::string text = as_json(fabric);
  const auto start = std::chrono::steady_clock::now();
  const model::Fabric again = import_fabric_text(text, "file.json");
  const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
  EXPECT_EQ(difference(fabric, again), "");
  EXPECT_LT(spent.count(), 20.0) << "far above what it takes, also with sanitizers: 0.2 s at -O2";
  RecordProperty("seconds", std::to_string(spent.count()));
}

TEST(FabricRoundTrip, ACutFileIsReadUpToTheCut) {
  const std::string text = as_json(big_fabric(2, 50));
  const model::Fabric fabric = import_fabric_text(text.substr(0, text.size() / 2), "file.json");
  EXPECT_GT(fabric.nodes.size(), 40U);
  EXPECT_EQ(test::note_count(fabric, "fabric.cut-json"), 1U);
}

TEST(FabricRoundTrip, AnotherSchemaIsRefused) {
  EXPECT_EQ(test::refusal(R"({"schema": "angio.fabric/9", "note": "angio.fabric/1"})"),
            "text: schema angio.fabric/9 instead of angio.fabric/1");
}

TEST(FabricRoundTrip, IbnetdiscoverTextKeepsTheTopology) {
  for (const char* sample : {"ibnetdiscover/whole.txt", "ibnetdiscover/broken.txt", "ibnetdiscover/ports.txt",
                             "ibnetdiscover/net.txt", "iblinkinfo/whole.txt", "ibdiagnet/whole.db_csv"}) {
    const model::Fabric fabric = import_fabric_sample(sample);
    const model::Fabric again = import_fabric_text(fabric::render_ibnetdiscover(fabric), "text");
    EXPECT_EQ(test::nodes_of(fabric), test::nodes_of(again)) << sample;
    EXPECT_EQ(test::cables_of(fabric), test::cables_of(again)) << sample;
  }
}

TEST(FabricRoundTrip, IbnetdiscoverTextIsThatOfTheTool) {
  const model::Fabric fabric = import_fabric_sample("ibnetdiscover/whole.txt");
  const std::string text = fabric::render_ibnetdiscover(fabric);
  for (const char* line :
       {"# Topology file: generated on 2026-11-30T09:15:02Z\n",
        "# Initiated from node b8cef60300a00001 port b8cef60300a00001\n",
        "switchguid=0xb8cef60300b00010(b8cef60300b00010)\n",
        "Switch\t41 \"S-b8cef60300b00010\"\t\t# \"MF0;leaf-1:MQM8700/U1\" enhanced port 0 lid 11 lmc 0\n",
        "[1]\t\"H-b8cef60300a00001\"[1](b8cef60300a00001) \t\t# \"gpu-a mlx5_0\" lid 21 4xHDR\n",
        "caguid=0xb8cef60300a00001\nCa\t1 \"H-b8cef60300a00001\"\t\t# \"gpu-a mlx5_0\"\n",
        "[1](b8cef60300a00001) \t\"S-b8cef60300b00010\"[1]\t\t# lid 21 lmc 0 \"MF0;leaf-1:MQM8700/U1\" lid "
        "11 4xHDR\n",
        "Rt\t2 \"R-b8cef60300c00001\"\t\t# \"border\"\n"})
    EXPECT_NE(text.find(line), std::string::npos) << line;
  EXPECT_NE(text.find("12x???\n"), std::string::npos) << "unknown stays unknown";
}

TEST(FabricRoundTrip, WhatIbsimWouldStumbleOverIsMadeHarmless) {
  model::Fabric fabric = big_fabric(1, 2);
  fabric.nodes[1].description = "rack=7 \"gpu\"\n" + std::string(100, 'x');
  fabric.nodes[2].guid = fabric.nodes[1].guid;
  const std::string text = fabric::render_ibnetdiscover(fabric);
  EXPECT_NE(text.find("# \"rack=7 'gpu' xxx"), std::string::npos);
  EXPECT_NE(text.find("# \"rack_7 'gpu' xxx"), std::string::npos) << "behind a port";
  EXPECT_NE(text.find("\"H-0000000000000001\""), std::string::npos)
      << "the second node of a GUID has another";
  std::size_t longest = 0;
  for (std::size_t at = 0; at < text.size(); at = text.find('\n', at) + 1)
    longest = std::max(longest, text.find('\n', at) - at);
  EXPECT_LT(longest, 255U);
}

// Cuts, repeats, swaps and flips, always the same ones.
std::string damaged(std::string text, std::mt19937& random) {
  const std::size_t changes = 1 + random() % 4;
  for (std::size_t i = 0; i < changes && !text.empty(); ++i) {
    const std::size_t at = random() % text.size();
    const std::size_t length = random() % std::min<std::size_t>(text.size() - at, 200);
    switch (random() % 5) {
      case 0:
        text.erase(at, length);
        break;
      case 1:
        text.insert(random() % text.size(), text.substr(at, length));
        break;
      case 2:
        text.resize(at);
        break;
      case 3:
        text[at] = static_cast<char>(random() % 256);
        break;
      default:
        text.insert(at, std::to_string(random()));
    }
  }
  return text;
}

TEST(FabricRoundTrip, DamagedTextsHoldTogether) {
  std::mt19937 random(20261130);  // NOLINT(cert-msc32-c,cert-msc51-cpp): the same damage every time
  std::size_t read = 0;
  for (const char* sample :
       {"ibnetdiscover/whole.txt", "ibnetdiscover/broken.txt", "ibnetdiscover/ports.txt",
        "ibnetdiscover/net.txt", "iblinkinfo/whole.txt", "iblinkinfo/line.txt", "ibqueryerrors/whole.txt",
        "perfquery/whole.txt", "ibdiagnet/whole.db_csv", "ibdiagnet/whole.lst", "ibdiagnet/whole.pm",
        "lldpctl/whole.json", "lldpctl/json0.json", "lldpctl/hosts.txt"}) {
    const std::string whole = test::fabric_sample(sample);
    for (int i = 0; i < 150; ++i) {
      const std::string text = damaged(whole, random);
      const auto fabric = import::import_fabric(text, "text");
      if (!fabric) continue;
      ++read;
      ASSERT_EQ(difference(*fabric, back(*fabric)), "") << sample << "\n" << text;
      const bool by_guid = fabric->kind == model::FabricKind::kInfiniBand &&
                           test::nodes_of(*fabric).size() == fabric->nodes.size() &&
                           !test::nodes_of(*fabric).contains("0x0000000000000000");
      if (!by_guid) continue;
      const auto again = import::import_fabric(fabric::render_ibnetdiscover(*fabric), "text");
      ASSERT_TRUE(again.has_value()) << text;
      ASSERT_EQ(test::nodes_of(*fabric), test::nodes_of(*again)) << sample << "\n" << text;
      ASSERT_EQ(test::cables_of(*fabric), test::cables_of(*again)) << sample << "\n" << text;
    }
  }
  EXPECT_GT(read, 1500U);
}

TEST(FabricRoundTrip, AnEthernetFabricHasNoIbnetdiscoverText) {
  EXPECT_EQ(fabric::render_ibnetdiscover(import_fabric_sample("lldpctl/whole.json")),
            "# An Ethernet fabric: ibnetdiscover's form has no words for it.\n");
}

}  // namespace
}  // namespace angio
