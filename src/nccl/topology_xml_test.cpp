#include "nccl/topology_xml.hpp"

#include <gtest/gtest.h>

#include <random>

namespace angio::nccl {
namespace {

struct Read {
  XmlText text;
  std::vector<Remark> remarks;
};

Read read(std::string_view text) {
  Remarks remarks;
  Read result;
  result.text = read_topology_xml(text, remarks);
  result.remarks = remarks.take();
  return result;
}

std::string ids(const Read& read) {
  std::string text;
  for (const Remark& remark : read.remarks)
    text += (text.empty() ? "" : " ") + remark.id + ":" + std::to_string(remark.place.line);
  return text;
}

constexpr std::string_view kGood =
    "<system version=\"1\">\n"
    "  <cpu numaid=\"0\" arch=\"x86_64\">\n"
    "    <nic>\n"
    "      <net name='eth7' dev=\"0\"/>\n"
    "    </nic>\n"
    "  </cpu>\n"
    "</system>\n";

TEST(TopologyXml, ReadsATreeWithPlaces) {
  const Read done = read(kGood);
  EXPECT_EQ(ids(done), "");
  ASSERT_EQ(done.text.roots.size(), 1U);
  EXPECT_EQ(done.text.elements, 4U);
  const Element& net = done.text.roots[0].children[0].children[0].children[0];
  EXPECT_EQ(net.get("name"), "eth7");
  EXPECT_EQ(net.place.line, 4U);
  EXPECT_EQ(net.place.column, 7U);
  EXPECT_EQ(net.find("speed"), nullptr);
}

TEST(TopologyXml, WritesAsNcclDumps) {
  EXPECT_EQ(write_topology_xml(read(kGood).text.roots[0]),
            "<system version=\"1\">\n"
            "  <cpu numaid=\"0\" arch=\"x86_64\">\n"
            "    <nic>\n"
            "      <net name=\"eth7\" dev=\"0\"/>\n"
            "    </nic>\n"
            "  </cpu>\n"
            "</system>\n");
}

TEST(TopologyXml, SaysWhatNcclTripsOver) {
  EXPECT_EQ(ids(read("<?xml version=\"1.0\"?>\n<system version=\"1\"/>\n")), "xml.prolog:1");
  EXPECT_EQ(ids(read("<system version=\"1\">\n\t<cpu/>\n</system>")), "xml.tab:2");
  EXPECT_EQ(ids(read("<system\n version=\"1\"/>")), "xml.line-break:1");
  EXPECT_EQ(ids(read("<system  version=\"1\"/>")), "xml.blanks:1");
  EXPECT_EQ(ids(read("<system version=1/>")), "xml.quotes:1");
  EXPECT_EQ(ids(read("<system version =\"1\"/>")), "xml.equal-sign:1");
  EXPECT_EQ(ids(read("<system version= \"1\"/>")), "xml.equal-sign-behind:1");
  EXPECT_EQ(ids(read("<system version=\"1\">text</system>")), "xml.text:1");
  EXPECT_EQ(ids(read("<system version=\"1\">\n<cpu>\n</system>")), "xml.mismatch:3");
  EXPECT_EQ(ids(read("<system version=\"1\">")), "xml.unterminated:1");
  EXPECT_EQ(ids(read("<system version=\"1\"/><!-- no end")), "xml.comment-open:1");
  EXPECT_EQ(ids(read("<!--a=b--><system version=\"1\"/>")), "xml.comment-word:1");
  EXPECT_EQ(ids(read("<!-- a=b --><system version=\"1\"/>")), "");
  EXPECT_EQ(ids(read("<system name=\"a &amp; b\"/>")), "xml.entity:1");
  EXPECT_EQ(ids(read("<system version=\"1\" version=\"2\"/>")), "xml.twice:1");
  EXPECT_EQ(ids(read("\xef\xbb\xbf<system version=\"1\"/>")), "xml.byte-order-mark:1");
}

TEST(TopologyXml, TheLimitsAreNccls) {
  const auto with = [](std::size_t length) { return "<system name=\"" + std::string(length, 'x') + "\"/>"; };
  EXPECT_EQ(ids(read(with(253))), "");
  EXPECT_EQ(ids(read(with(254))), "xml.length:1");
  std::string many = "<system";
  for (int index = 0; index < 16; ++index)
    many += " a" + std::to_string(index) + "=\"1\"";
  EXPECT_EQ(ids(read(many + "/>")), "");
  EXPECT_EQ(ids(read(many + " b=\"1\"/>")), "xml.attributes:1");
}

TEST(TopologyXml, KeepsWhatIsReadable) {
  const Read done = read("<?xml version=\"1.0\"?>\n<system version=1>\n\t<cpu numaid='3'>\n</system>");
  ASSERT_EQ(done.text.roots.size(), 1U);
  EXPECT_EQ(done.text.roots[0].get("version"), "1");
  ASSERT_EQ(done.text.roots[0].children.size(), 1U);
  EXPECT_EQ(done.text.roots[0].children[0].get("numaid"), "3");
}

TEST(TopologyXml, ManyAlikeAreCounted) {
  std::string text = "<system version=\"1\">";
  for (int line = 0; line < 40; ++line)
    text += "\n\t<cpu/>";
  const Read done = read(text + "\n</system>");
  ASSERT_EQ(done.remarks.size(), 16U);
  EXPECT_EQ(done.remarks[15].count, 25U);
}

TEST(TopologyXml, HostileTextIsBounded) {
  std::string deep;
  for (int level = 0; level < 100000; ++level)
    deep += "<a>";
  EXPECT_FALSE(read(deep).remarks.empty());
  EXPECT_FALSE(read(std::string(100000, '<')).remarks.empty());
  EXPECT_FALSE(read("<a " + std::string(100000, '=')).remarks.empty());
}

// Whatever was read writes to something that reads to the same.
TEST(TopologyXml, RoundTripsAnything) {
  std::mt19937 random(7);  // fixed: the same texts every time
  const std::vector<std::string> parts{"<",   ">",  "/",  "<system", "<cpu ",  "a=\"1\"",   " ",
                                       "'",   "\"", "=",  "/>",      "</cpu>", "</system>", "<!--",
                                       "-->", "\t", "\n", "b='2'",   "x",      "<?xml"};
  for (int round = 0; round < 2000; ++round) {
    std::string text;
    for (int part = 0; part < 24; ++part)
      text += parts[random() % parts.size()];
    for (const Element& root : read(text).text.roots) {
      const std::string once = write_topology_xml(root);
      const Read again = read(once);
      ASSERT_EQ(again.text.roots.size(), 1U) << text << "\n" << once;
      ASSERT_EQ(write_topology_xml(again.text.roots[0]), once) << text;
    }
  }
}

TEST(TopologyXml, AttributesStayInTheirPlace) {
  Element element;
  element.set("a", "1");
  element.set("b", "2");
  element.set("a", "3");
  EXPECT_EQ(element.attributes[0].value, "3");
  EXPECT_TRUE(element.remove("a"));
  EXPECT_FALSE(element.remove("a"));
  EXPECT_FALSE(can_stand_in_attribute("\"'"));
}

// Hostile text: what is dropped is dropped the same way whether it has a value or not.
TEST(TopologyXml, KeepsAsManyAttributesWithoutValueAsWithOne) {
  std::string words = "<cpu";
  std::string values = "<cpu";
  for (int i = 0; i < 300; ++i) {
    words += " a" + std::to_string(i);
    values += " a" + std::to_string(i) + "=\"\"";
  }
  EXPECT_EQ(write_topology_xml(read(words + "/>").text.roots[0]),
            write_topology_xml(read(values + "/>").text.roots[0]));
}

}  // namespace
}  // namespace angio::nccl
