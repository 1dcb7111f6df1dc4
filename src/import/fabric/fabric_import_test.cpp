#include "import/fabric/fabric_import.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "import/fabric/fabric_draft.hpp"
#include "import/fabric/json_texts.hpp"
#include "import/fabric/scan_time.hpp"
#include "support/fabric_samples.hpp"

namespace angio::import {
namespace {

using test::cables;
using test::import_fabric_sample;
using test::import_fabric_text;
using test::note_count;
using test::port_of;

constexpr std::string_view kLeaf = "MF0;leaf-1:MQM8700/U1";

FabricText kind_of(const std::string& sample) {
  return recognise_fabric(test::fabric_sample(sample));
}

TEST(FabricImport, RecognisesEachText) {
  for (const char* sample : {"whole.txt", "truncated.txt", "broken.txt", "ports.txt", "net.txt"})
    EXPECT_EQ(kind_of(fmt::format("ibnetdiscover/{}", sample)), FabricText::kIbnetdiscover) << sample;
  for (const char* sample : {"whole.txt", "truncated.txt", "broken.txt", "line.txt"})
    EXPECT_EQ(kind_of(fmt::format("iblinkinfo/{}", sample)), FabricText::kIblinkinfo) << sample;
  for (const char* sample : {"whole.txt", "truncated.txt", "broken.txt", "clean.txt"})
    EXPECT_EQ(kind_of(fmt::format("ibqueryerrors/{}", sample)), FabricText::kIbqueryerrors) << sample;
  for (const char* sample : {"whole.txt", "truncated.txt", "broken.txt", "details.txt"})
    EXPECT_EQ(kind_of(fmt::format("perfquery/{}", sample)), FabricText::kPerfquery) << sample;
  for (const char* sample : {"whole.db_csv", "truncated.db_csv", "broken.db_csv", "whole.lst", "whole.pm"})
    EXPECT_EQ(kind_of(fmt::format("ibdiagnet/{}", sample)), FabricText::kIbdiagnet) << sample;
  for (const char* sample : {"whole.json", "truncated.json", "broken.json", "json0.json", "hosts.txt"})
    EXPECT_EQ(kind_of(fmt::format("lldpctl/{}", sample)), FabricText::kLldpctl) << sample;
  EXPECT_EQ(recognise_fabric(R"({"schema": "angio.fabric/1"})"), FabricText::kAngioFabric);
  EXPECT_EQ(recognise_fabric("good morning"), FabricText::kUnknown);
}

TEST(FabricImport, RefusesWhatIsNoTopologyAndSaysWhatToGive) {
  const auto ibstat = import_fabric("CA 'mlx5_0'\n\tCA type: MT4129\n", "a.txt");
  ASSERT_FALSE(ibstat.has_value());
  EXPECT_EQ(ibstat.error().message, "a.txt: not a text that describes a fabric: it looks like ibstat");
  EXPECT_TRUE(ibstat.error().hint.contains("ibnetdiscover")) << ibstat.error().hint;
  EXPECT_EQ(
      test::refusal("# Port info: Lid 1 port 6\nLinkState:.......................Active\n"),
      "text: not a text that describes a fabric: it looks like smpquery portinfo or ibportstate of one port");
  EXPECT_EQ(
      test::refusal("Ca\t: 0xb8cef60300a00001 ports 1 \"gpu-a mlx5_0\"\n"),
      "text: not a text that describes a fabric: it looks like a list of nodes (ibhosts, ibswitches), which "
      "has no cables");
  EXPECT_EQ(
      test::refusal("{\"a\": 1}"),
      "text: not a text that describes a fabric: it is JSON, but neither angio's fabric nor lldpctl -f json");
  EXPECT_EQ(test::refusal(std::string_view("\x7f"
                                           "ELF\x02\x01",
                                           6)),
            "text: it is a binary file");
}

TEST(FabricImport, EmptySamplesAreRefused) {
  for (const char* format :
       {"ibnetdiscover", "iblinkinfo", "ibqueryerrors", "perfquery", "ibdiagnet", "lldpctl"})
    EXPECT_EQ(test::refusal(test::fabric_sample(fmt::format("{}/empty.txt", format))),
              "text: the file is empty");
}

TEST(FabricImport, LinkStatesAreLaidOverATopology) {
  model::Fabric fabric = import_fabric_sample("ibnetdiscover/whole.txt");
  ASSERT_TRUE(add_to_fabric(fabric, test::fabric_sample("iblinkinfo/whole.txt"), "links.txt").has_value());
  EXPECT_EQ(fabric.nodes.size(), 5U);
  EXPECT_EQ(cables(fabric), 4U);
  EXPECT_EQ(port_of(fabric, kLeaf, 1).state, model::PortState::kActive);
  EXPECT_EQ(port_of(fabric, kLeaf, 3).state, model::PortState::kDown) << "ports that ibnetdiscover left out";
  EXPECT_EQ(port_of(fabric, kLeaf, 2).most_speed, model::LaneSpeedName::kHdr);
  EXPECT_EQ(port_of(fabric, kLeaf, 2).speed, model::LaneSpeedName::kEdr) << "the later text counts";
  EXPECT_EQ(test::peer_of(fabric, kLeaf, 20), "MF0;spine-1:MQM8700/U1 port 1");
}

TEST(FabricImport, ErrorsAreLaidOverATopology) {
  model::Fabric fabric = import_fabric_sample("ibnetdiscover/whole.txt");
  ASSERT_TRUE(
      add_to_fabric(fabric, test::fabric_sample("ibqueryerrors/whole.txt"), "errors.txt").has_value());
  EXPECT_EQ(port_of(fabric, "gpu-a mlx5_0", 1).counters.get(model::FabricCounter::kTransmitWait), 17U);
  EXPECT_EQ(port_of(fabric, kLeaf, 3).counters.get(model::FabricCounter::kLinkDowned), 7U);
  EXPECT_EQ(note_count(fabric, "fabric.no-such-node"), 1U) << "old-a is of another fabric";
  EXPECT_EQ(note_count(fabric, "fabric.no-cables"), 0U);
  EXPECT_EQ(fabric.nodes.size(), 5U);
}

TEST(FabricImport, AnotherFabricsErrorsFitNowhere) {
  model::Fabric fabric = import_fabric_text("Switch\t8 \"S-00000000000000aa\"\t\t# \"elsewhere\"\n");
  ASSERT_TRUE(
      add_to_fabric(fabric, test::fabric_sample("ibqueryerrors/whole.txt"), "errors.txt").has_value());
  EXPECT_EQ(fabric.nodes.size(), 1U);
  EXPECT_EQ(note_count(fabric, "fabric.no-such-node"), 3U);
}

TEST(FabricImport, CablesOfTheLaterTextThatContradictAreTold) {
  model::Fabric fabric = import_fabric_sample("ibnetdiscover/whole.txt");
  ASSERT_TRUE(
      add_to_fabric(
          fabric,
          "Switch: 0xb8cef60300b00010 leaf:\n"
          "  11    9[  ] ==( 4X 53.125 Gbps Active/  LinkUp)==>      21    1[  ] \"gpu-a mlx5_0\" ( )\n",
          "links.txt")
          .has_value());
  EXPECT_EQ(test::peer_of(fabric, kLeaf, 1), "gpu-a mlx5_0 port 1");
  EXPECT_EQ(note_count(fabric, "fabric.ends-contradict"), 1U);
}

TEST(FabricImport, WhatCannotBeReadIsAnErrorThatNamesTheFile) {
  model::Fabric fabric = import_fabric_sample("ibnetdiscover/whole.txt");
  const auto result = add_to_fabric(fabric, "good morning", "letter.txt");
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().message, "letter.txt: not a text that describes a fabric");
  EXPECT_EQ(cables(fabric), 4U);
}

TEST(FabricImport, NamesBecomeUtf8) {
  EXPECT_EQ(fabric::clean_name("gpu-\xE4 "), "gpu-\xC3\xA4");
  EXPECT_EQ(fabric::clean_name("gpu-\xC3\xA4"), "gpu-\xC3\xA4");
  EXPECT_EQ(fabric::clean_name("\xED\xA0\x80"), "\xC3\xAD\xC2\xA0\xC2\x80") << "a surrogate is no UTF-8";
  EXPECT_EQ(fabric::clean_name("\xF0\x9F\x98\x80"), "\xF0\x9F\x98\x80");
}

TEST(FabricImport, TimesOfScans) {
  EXPECT_EQ(fabric::parse_scan_time("Tue Jun  5 14:15:10 2007")->utc, "2007-06-05T14:15:10Z");
  EXPECT_FALSE(fabric::parse_scan_time("Tue Jun  5 14:15:10 2007")->has_zone);
  EXPECT_TRUE(fabric::parse_scan_time("2026-11-30T09:00:00Z")->has_zone);
  EXPECT_FALSE(fabric::parse_scan_time("yesterday").has_value());
  EXPECT_FALSE(fabric::parse_scan_time("Tue Foo  5 14:15:10 2007").has_value());
}

TEST(FabricImport, JsonIsFoundBetweenOtherLines) {
  const auto found = fabric::find_json(
      "[root@gpu-a ~]# one\n{\"a\": [1, 2]}\ntwo\n[{\"b\": \"}\"}]\n{\"c\": 1, \"d\": [2, ");
  ASSERT_EQ(found.size(), 3U);
  EXPECT_EQ(found[0].line, 2U);
  EXPECT_NE(found[0].value.find("a"), nullptr);
  EXPECT_EQ(found[1].before, "\ntwo\n");
  EXPECT_TRUE(found[2].is_cut);
  ASSERT_NE(found[2].value.find("d"), nullptr);
  EXPECT_EQ(found[2].value.find("d")->as_array()->size(), 1U);
}

TEST(FabricImport, AMillionLinesOfNoiseAreOneNote) {
  std::string text = test::fabric_sample("ibnetdiscover/whole.txt");
  for (int i = 0; i < 200000; ++i)
    text += "noise\n";
  const model::Fabric fabric = import_fabric_text(text);
  EXPECT_EQ(cables(fabric), 4U);
  EXPECT_EQ(note_count(fabric, "fabric.unknown-line"), 200000U);
}

}  // namespace
}  // namespace angio::import
