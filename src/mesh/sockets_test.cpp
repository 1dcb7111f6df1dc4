#include "mesh/sockets.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <array>

namespace angio::mesh {
namespace {

struct Ends {
  LineChannel own;
  host::Descriptor other;
};

Ends make_ends(std::size_t longest) {
  std::array<int, 2> pair{-1, -1};
  EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair.data()), 0);
  return {LineChannel(host::Descriptor(pair[0]), longest), host::Descriptor(pair[1])};
}

void put(const Ends& ends, const std::string& text) {
  EXPECT_EQ(send(ends.other.get(), text.data(), text.size(), MSG_NOSIGNAL),
            static_cast<ssize_t>(text.size()));
}

TEST(LineChannel, WholeLinesAndTheEnd) {
  Ends ends = make_ends(100);
  put(ends, "one\ntwo\nthr");
  EXPECT_EQ(ends.own.read_lines(), (std::vector<std::string>{"one", "two"}));
  put(ends, "ee\n");
  ends.other = host::Descriptor();
  EXPECT_EQ(ends.own.read_lines(), std::vector<std::string>{"three"});
  EXPECT_FALSE(ends.own.is_open());
  EXPECT_EQ(ends.own.trouble(), "the connection was closed");
}

TEST(LineChannel, ALineThatIsTooLongClosesIt) {
  Ends ends = make_ends(100);
  put(ends, std::string(101, 'x'));
  EXPECT_TRUE(ends.own.read_lines().empty());
  EXPECT_FALSE(ends.own.is_open());
  EXPECT_EQ(ends.own.trouble(), "it sent a line that is no message");
}

// One who never stops sending short lines takes neither all memory nor all time.
TEST(LineChannel, ManyShortLinesAreTakenInPieces) {
  Ends ends = make_ends(1000);
  constexpr std::size_t kLines = 70000;
  put(ends, std::string(kLines, '\n'));
  const std::size_t first = ends.own.read_lines().size();
  EXPECT_GT(first, 1000U);
  EXPECT_LT(first, kLines);
  EXPECT_EQ(first + ends.own.read_lines().size(), kLines);
  EXPECT_TRUE(ends.own.is_open());
}

}  // namespace
}  // namespace angio::mesh
