#include "base/text.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <string>

namespace angio {
namespace {

using namespace std::string_view_literals;
using Parts = std::vector<std::string_view>;

TEST(Text, TrimTakesBlanksNewlinesAndNul) {
  EXPECT_EQ(trim(" \t a b\r\n\0"sv), "a b");
  EXPECT_EQ(trim("\n"), "");
  EXPECT_EQ(trim(""), "");
}

TEST(Text, SplitKeepsEmptyParts) {
  EXPECT_EQ(split("a,,b,", ','), (Parts{"a", "", "b", ""}));
  EXPECT_EQ(split("", ','), (Parts{""}));
}

TEST(Text, SplitWordsDropsBlanks) {
  EXPECT_EQ(split_words("  node 0:\t10  21\n"), (Parts{"node", "0:", "10", "21"}));
  EXPECT_TRUE(split_words(" \n").empty());
}

TEST(Text, SplitLinesKnowsBothEndings) {
  EXPECT_EQ(split_lines("a\r\nb\n\nc"), (Parts{"a", "b", "", "c"}));
  EXPECT_EQ(split_lines("a\n"), (Parts{"a"}));
  EXPECT_TRUE(split_lines("").empty());
  EXPECT_TRUE(split_lines("\n").empty());
}

TEST(Text, LowerLeavesOtherBytesAlone) {
  EXPECT_EQ(to_lower("NODE Ä"), "node Ä");
}

TEST(Text, JoinsWithSeparator) {
  const std::array<std::string, 3> parts{"a", "", "c"};
  EXPECT_EQ(join(parts, ", "), "a, , c");
  EXPECT_EQ(join({}, ", "), "");
}

TEST(Numbers, WholeTextOrNothing) {
  EXPECT_EQ(parse_integer<int>("42"), 42);
  EXPECT_EQ(parse_integer<int>("-1"), -1);
  EXPECT_EQ(parse_integer<std::uint32_t>("0x10de", 16), 0x10deU);
  for (const char* text : {"", "12abc", " 1", "1 ", "+1", "0x", "1.0", "99999999999999999999"}) {
    EXPECT_EQ(parse_integer<int>(text), std::nullopt) << text;
  }
  EXPECT_EQ(parse_integer<std::uint8_t>("256"), std::nullopt);
  EXPECT_EQ(parse_integer<std::uint8_t>("-1"), std::nullopt);
  EXPECT_EQ(parse_integer<std::uint32_t>("0x", 16), std::nullopt);
}

TEST(Numbers, DoublesAreFinite) {
  EXPECT_EQ(parse_double("2.5"), 2.5);
  EXPECT_EQ(parse_double("1e3"), 1000.0);
  for (const char* text : {"", "2.5 GT/s", "nan", "inf", "-inf", "1e999", "1,5"}) {
    EXPECT_EQ(parse_double(text), std::nullopt) << text;
  }
}

TEST(Numbers, ByteCountsArePowersOf1024) {
  EXPECT_EQ(parse_byte_count("1024"), 1024ULL);
  EXPECT_EQ(parse_byte_count("512 kB"), 512ULL << 10U);
  EXPECT_EQ(parse_byte_count("8 GiB"), 8ULL << 30U);
  EXPECT_EQ(parse_byte_count("32K"), 32ULL << 10U);
  EXPECT_EQ(parse_byte_count(" 1.5 GiB"), std::nullopt);
  EXPECT_EQ(parse_byte_count("GiB"), std::nullopt);
  EXPECT_EQ(parse_byte_count("8 bananas"), std::nullopt);
  EXPECT_EQ(parse_byte_count("18446744073709551615 kB"), std::nullopt);
}

TEST(DidYouMean, FindsTheNearWord) {
  constexpr std::array<std::string_view, 3> kWords{"Ring", "Tree", "CollnetDirect"};
  EXPECT_EQ(did_you_mean("rign", kWords), std::nullopt);  // two edits of four letters: too far
  EXPECT_EQ(did_you_mean("Rin", kWords), "Ring");
  EXPECT_EQ(did_you_mean("TREE", kWords), "Tree");
  EXPECT_EQ(did_you_mean("collnetdirekt", kWords), "CollnetDirect");
  EXPECT_EQ(did_you_mean("", kWords), std::nullopt);
  EXPECT_EQ(did_you_mean(std::string(10'000'000, 'a'), kWords), std::nullopt);
}

TEST(Printable, EscapesWhatMovesATerminal) {
  EXPECT_EQ(printable("plain\ttext\n"), "plain\\x09text\\x0a");
  EXPECT_EQ(printable("\x1b[31mred"), "\\x1b[31mred");
  EXPECT_EQ(printable("\xc2\x9b"
                      "31m"),
            "\\xc2\\x9b31m");
  EXPECT_EQ(printable("a\0b"sv), "a\\x00b");
  EXPECT_EQ(printable("\x7f"), "\\x7f");
}

TEST(Printable, KeepsValidUtf8AndEscapesTheRest) {
  EXPECT_EQ(printable("NUMA-Knoten für GPU 3"), "NUMA-Knoten für GPU 3");
  EXPECT_EQ(printable("\xe2\x82\xac \xf0\x9f\x90\x8c"), "\xe2\x82\xac \xf0\x9f\x90\x8c");
  EXPECT_EQ(printable("\xe2\x82"), "\\xe2\\x82");  // cut off
  EXPECT_EQ(printable("\xc0\xaf"), "\\xc0\\xaf");  // overlong "/"
  EXPECT_EQ(printable("\xff\xfe"), "\\xff\\xfe");  // never UTF-8
}

}  // namespace
}  // namespace angio
