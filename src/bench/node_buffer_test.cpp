#include "bench/node_buffer.hpp"

#include <gtest/gtest.h>

namespace angio::bench {
namespace {

constexpr std::string_view kSmaps =
    "7f0000000000-7f0040000000 rw-p 00000000 00:00 0 \n"
    "Size:            1048576 kB\nKernelPageSize:        4 kB\nRss:             1048576 kB\n"
    "AnonHugePages:    524288 kB\nPrivate_Hugetlb:       0 kB\nVmFlags: rd wr mr mw me ac hg\n"
    "7f0040000000-7f0040400000 rw-p 00000000 00:0f 123   /anon_hugepage (deleted)\n"
    "Size:               4096 kB\nKernelPageSize:     2048 kB\nRss:                   0 kB\n"
    "AnonHugePages:         0 kB\nPrivate_Hugetlb:    4096 kB\n";

TEST(PageShare, OfTheMappingThatHoldsTheAddress) {
  const auto share = find_page_share(kSmaps, 0x7f0000001000);
  ASSERT_TRUE(share);
  EXPECT_EQ(share->resident, kibibytes(1048576));
  EXPECT_EQ(share->transparent_huge, kibibytes(524288));
  EXPECT_EQ(share->page_size, kibibytes(4));
  EXPECT_EQ(pages_in_words(*share, kibibytes(2048), false), "2 MiB (transparent) 50 %, else 4 KiB");
}

TEST(PageShare, OfAHugetlbMapping) {
  const auto share = find_page_share(kSmaps, 0x7f0040000000);
  ASSERT_TRUE(share);
  EXPECT_EQ(share->resident, kibibytes(4096));
  EXPECT_EQ(pages_in_words(*share, kibibytes(2048), true), "2 MiB (hugetlb)");
}

TEST(PageShare, Words) {
  EXPECT_EQ(pages_in_words({kibibytes(64), kibibytes(0), kibibytes(4)}, kibibytes(2048), false), "4 KiB");
  EXPECT_EQ(pages_in_words({kibibytes(2048), kibibytes(2048), kibibytes(4)}, kibibytes(2048), false),
            "2 MiB (transparent)");
  EXPECT_EQ(pages_in_words({}, {}, false), "0 B");
}

TEST(PageShare, DamagedTextGivesNothing) {
  EXPECT_FALSE(find_page_share("", 1));
  EXPECT_FALSE(find_page_share("Rss: 4 kB\n", 1));
  EXPECT_FALSE(find_page_share("zz-yy rw-p\nRss: 4 kB\n", 1));
  const auto share = find_page_share("0-1000 rw-p\nRss:\nRss: many kB\nRss: 99999999999999999999 kB\n", 16);
  ASSERT_TRUE(share);
  EXPECT_EQ(share->resident, Bytes{0});
}

}  // namespace
}  // namespace angio::bench
