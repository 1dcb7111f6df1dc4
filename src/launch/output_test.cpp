#include "launch/output.hpp"

#include <gtest/gtest.h>

#include <random>
#include <string>

namespace angio::launch {
namespace {

// What a reader does who wants the bytes of one rank back.
std::string bytes_of(std::string_view text, const std::string& label) {
  const std::string first = "[" + label + "] ";
  const std::string again = "[" + label + "]+";
  std::string bytes;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    std::string line(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (line.starts_with(again)) {
      bytes.pop_back();  // the line feed that interrupted the line
    } else if (!line.starts_with(first)) {
      continue;
    }
    line.erase(0, first.size());
    for (std::size_t at = line.find("\r" + first); at != std::string::npos;
         at = line.find("\r" + first, at + 1))
      line.erase(at + 1, first.size());
    bytes += line + "\n";
  }
  return bytes;
}

struct Two {
  LineMerger merger;
  std::size_t a = merger.add_stream("0");
  std::size_t b = merger.add_stream("10");
};

TEST(LineMerger, PrefixesEachLine) {
  Two two;
  two.merger.add(two.a, "one\ntwo\n");
  two.merger.add(two.b, "\n");
  EXPECT_EQ(two.merger.ready(), "[0] one\n[0] two\n[10] \n");
}

TEST(LineMerger, HoldsALineUntilItIsWhole) {
  Two two;
  two.merger.add(two.a, "on");
  two.merger.add(two.b, "b\n");
  EXPECT_EQ(two.merger.ready(), "[10] b\n");
  EXPECT_TRUE(two.merger.holds(two.a));
  two.merger.add(two.a, "e\ntw");
  two.merger.end(two.a);
  EXPECT_EQ(two.merger.ready(), "[10] b\n[0] one\n[0] tw\n");
  EXPECT_FALSE(two.merger.holds(two.a));
}

TEST(LineMerger, ALineShownEarlyGoesOnWhereItStopped) {
  Two two;
  two.merger.add(two.a, "50 %");
  two.merger.flush(two.a);
  EXPECT_EQ(two.merger.ready(), "[0] 50 %");
  two.merger.add(two.a, " done\n");
  EXPECT_EQ(two.merger.ready(), "[0] 50 % done\n");
}

TEST(LineMerger, AnInterruptedLineSaysThatItGoesOn) {
  Two two;
  two.merger.add(two.a, "50 %");
  two.merger.flush(two.a);
  two.merger.add(two.b, "b\n");
  two.merger.add(two.a, " done\n");
  EXPECT_EQ(two.merger.ready(), "[0] 50 %\n[10] b\n[0]+ done\n");
}

TEST(LineMerger, CarriageReturnsAreFollowedByThePrefix) {
  Two two;
  two.merger.add(two.a, "1 %\r2 %\r\nend\r");
  two.merger.flush(two.a);
  two.merger.add(two.a, "\nnext\r");
  two.merger.flush(two.a);
  two.merger.add(two.a, "over\n");
  EXPECT_EQ(two.merger.ready(), "[0] 1 %\r[0] 2 %\r\n[0] end\r\n[0] next\r[0] over\n");
}

TEST(LineMerger, ALineWithoutEndIsShownInPieces) {
  Two two;
  const std::string piece(LineMerger::kLongestLine, 'x');
  two.merger.add(two.a, piece);
  EXPECT_EQ(two.merger.ready(), "[0] " + piece);
  two.merger.add(two.a, piece + "\n");
  EXPECT_EQ(two.merger.ready(), "[0] " + piece + piece + "\n");
  EXPECT_FALSE(two.merger.holds(two.a));
}

TEST(LineMerger, EndFinishesAnOpenLineOnce) {
  Two two;
  two.merger.add(two.a, "x");
  two.merger.flush(two.a);
  two.merger.end(two.a);
  two.merger.end(two.b);
  EXPECT_EQ(two.merger.ready(), "[0] x\n");
}

TEST(LineMerger, AnyBytesComeBackAsTheyWere) {
  std::mt19937 random(7);
  const std::string letters("ab\n\r\0\xff\n", 7);
  for (int round = 0; round < 300; ++round) {
    Two two;
    std::string sent[2];
    for (int i = 0; i < 40; ++i) {
      const std::size_t who = random() % 2;
      std::string bytes;
      for (std::size_t n = random() % 9; n > 0; --n)
        bytes += letters[random() % letters.size()];
      sent[who] += bytes;
      two.merger.add(who, bytes);
      if (random() % 3 == 0) two.merger.flush(who);
    }
    for (const std::size_t who : {two.a, two.b}) {
      if (!sent[who].ends_with('\n')) two.merger.add(who, "\n"), sent[who] += '\n';
      two.merger.end(who);
    }
    ASSERT_EQ(bytes_of(two.merger.ready(), "0"), sent[0]) << round;
    ASSERT_EQ(bytes_of(two.merger.ready(), "10"), sent[1]) << round;
  }
}

TEST(LastWords, KeepsTheLastLines) {
  LastWords words;
  for (int i = 0; i < 100; ++i)
    words.add("line " + std::to_string(i) + "\n");
  words.add("no end");
  EXPECT_TRUE(words.text().starts_with("line 89\n")) << words.text();
  EXPECT_TRUE(words.text().ends_with("line 99\nno end\n"));
}

TEST(LastWords, IsBounded) {
  LastWords words;
  for (int i = 0; i < 100; ++i)
    words.add(std::string(1000, 'x'));
  EXPECT_EQ(words.text().size(), LastWords::kMostBytes + 1);
  words.add(std::string(100'000, 'y'));
  EXPECT_EQ(words.text(), std::string(LastWords::kMostBytes, 'y') + "\n");
}

TEST(LastWords, ProgressBarsAreLines) {
  LastWords words;
  words.add("\r 1 %\r 2 %\r\nKilled\n");
  EXPECT_EQ(words.text(), " 1 %\n 2 %\nKilled\n");
}

}  // namespace
}  // namespace angio::launch
