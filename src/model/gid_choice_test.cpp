#include "model/gid_choice.hpp"

#include <gtest/gtest.h>

#include <map>

namespace angio::model {
namespace {

constexpr const char* kLocal = "fe80:0000:0000:0000:ba59:9fff:fe00:0001";
constexpr const char* kIpv4 = "0000:0000:0000:0000:0000:ffff:0a00:0005";
constexpr const char* kOther = "0000:0000:0000:0000:0000:ffff:0a01:0007";
constexpr const char* kIpv6 = "fd00:0000:0000:0001:0000:0000:0000:0005";

Gid entry(std::uint32_t index, const char* gid, const char* type) {
  Gid one;
  one.index = index;
  one.gid = gid;
  one.type = type != nullptr ? Observed<std::string>::known(type, {})
                             : Observed<std::string>::unreadable(Reason::kFailed, {}, 22);  // EINVAL
  return one;
}

RdmaPort roce(std::vector<Gid> gids) {
  RdmaPort port;
  port.link_layer = LinkLayer::kEthernet;
  port.gids = std::move(gids);
  return port;
}

RdmaPort mlx5() {
  return roce({entry(0, kLocal, "IB/RoCE v1"), entry(1, kLocal, "RoCE v2"), entry(2, kIpv4, "IB/RoCE v1"),
               entry(3, kIpv4, "RoCE v2")});
}

TEST(GidChoice, TheTableOfMlx5EndsAtThree) {
  const RdmaPort port = mlx5();  // the choice points into it
  const GidChoice choice = choose_gid(port, {});
  EXPECT_EQ(choice.index, 3U);
  ASSERT_NE(choice.entry, nullptr);
  EXPECT_EQ(meaning_of(*choice.entry), "RoCE v2, IPv4");
  EXPECT_EQ(choice.steps,
            (std::vector<std::string>{"index 0: where the search begins", "index 2: the first IPv4 entry",
                                      "index 3: of the RoCE version that is wanted"}));
}

// Soft-RoCE has two entries, both of version 2; the real libnccl takes the second (its log says GID 1).
TEST(GidChoice, SoftRoceEndsAtItsIpv4Entry) {
  const RdmaPort port = roce({entry(0, kLocal, "RoCE v2"), entry(1, kIpv4, "RoCE v2")});
  EXPECT_EQ(choose_gid(port, {}).index, 1U);
}

TEST(GidChoice, Version2BeforeVersion1IsKept) {
  const RdmaPort port = roce({entry(0, kLocal, "RoCE v2"), entry(1, kIpv4, "RoCE v2"),
                              entry(2, kIpv4, "IB/RoCE v1"), entry(3, kOther, "RoCE v2")});
  EXPECT_EQ(choose_gid(port, {}).index, 1U);  // an equal version replaces nothing
}

TEST(GidChoice, Ipv6AloneStaysAtZeroUnlessAskedFor) {
  const RdmaPort port = roce({entry(0, kLocal, "IB/RoCE v1"), entry(1, kLocal, "RoCE v2"),
                              entry(2, kIpv6, "IB/RoCE v1"), entry(3, kIpv6, "RoCE v2")});
  EXPECT_EQ(choose_gid(port, {}).index, 0U);
  GidWish wish;
  wish.family = GidFamily::kIpv6;
  EXPECT_EQ(choose_gid(port, wish).index, 3U);
}

// Asked for IPv6 on a table whose first entry is IPv4, NCCL takes an empty slot: it counts as IPv6.
TEST(GidChoice, AnEmptySlotCountsAsIpv6) {
  const RdmaPort port = roce({entry(0, kIpv4, "IB/RoCE v1"), entry(1, kIpv4, "RoCE v2")});
  GidWish wish;
  wish.family = GidFamily::kIpv6;
  EXPECT_EQ(choose_gid(port, wish).index, 0U);  // no slot is known beyond the table
  const GidChoice choice = choose_gid(port, wish, 16);
  EXPECT_EQ(choice.index, 2U);
  EXPECT_EQ(choice.entry, nullptr);
}

TEST(GidChoice, TheRangeFilters) {
  RdmaPort port = mlx5();
  port.gids.push_back(entry(4, kOther, "IB/RoCE v1"));
  port.gids.push_back(entry(5, kOther, "RoCE v2"));
  GidWish wish;
  wish.range = parse_range("10.1.0.0/16", GidFamily::kIpv4);
  ASSERT_TRUE(wish.range.has_value());
  EXPECT_EQ(choose_gid(port, wish).index, 5U);
  wish.range = parse_range("192.168.0.0/16", GidFamily::kIpv4);
  EXPECT_EQ(choose_gid(port, wish).index, 0U);
}

TEST(GidChoice, TheWantedVersion) {
  GidWish wish;
  wish.roce_version = 1;
  EXPECT_EQ(choose_gid(mlx5(), wish).index, 2U);
}

TEST(GidChoice, AnIndexAndOldReleasesDoNotSearch) {
  GidWish wish;
  wish.index = 5;
  EXPECT_EQ(choose_gid(mlx5(), wish).index, 5U);
  EXPECT_EQ(choose_gid(mlx5(), wish).entry, nullptr);
  wish = {};
  wish.scans = false;
  EXPECT_EQ(choose_gid(mlx5(), wish).index, 0U);
}

// A pod sees the entries of the others, but not their types.
TEST(GidChoice, EntriesOfOtherPods) {
  const RdmaPort port = roce({entry(2, kOther, nullptr), entry(3, kOther, nullptr),
                              entry(6, kIpv4, "IB/RoCE v1"), entry(7, kIpv4, "RoCE v2")});
  EXPECT_EQ(choose_gid(port, {}).index, 7U);
  GidWish old;
  old.survives_gaps = false;
  const GidChoice choice = choose_gid(port, old);
  EXPECT_TRUE(choice.fails);
  EXPECT_EQ(choice.steps.back(), "index 2: its RoCE version cannot be read");
  EXPECT_EQ(meaning_of(port.gids[0]), "another namespace's");
}

TEST(GidChoice, InfiniBandTakesTheFirstUnlessARouterIsThere) {
  RdmaPort port = roce({entry(0, "fe80:0000:0000:0000:b83f:d203:00a1:b2c4", nullptr)});
  port.link_layer = LinkLayer::kInfiniBand;
  GidWish wish;
  wish.index = 3;  // NCCL ignores it there
  EXPECT_EQ(choose_gid(port, wish).index, 0U);
  port.gids.push_back(entry(1, "fec0:0000:0011:0001:b83f:d203:00a1:b2c4", nullptr));
  EXPECT_EQ(choose_gid(port, {}).index, 1U);
}

TEST(GidChoice, BrokenTextIsAnEmptyEntry) {
  const RdmaPort port =
      roce({entry(0, "", "RoCE v2"), entry(1, "nonsense", "RoCE v2"), entry(2, kIpv4, "RoCE v2")});
  EXPECT_EQ(choose_gid(port, {}).index, 2U);
  EXPECT_EQ(choose_gid(roce({}), {}).index, 0U);
  EXPECT_EQ(choose_gid(roce({entry(4294967295U, kIpv4, "RoCE v2")}), {}, 0).index, 0U);
}

TEST(ParseGid, FormsAndRanges) {
  EXPECT_EQ(address_of(parse_gid(kIpv4).value()), "10.0.0.5");
  EXPECT_EQ(address_of(parse_gid(kIpv6).value()), kIpv6);
  EXPECT_TRUE(is_link_local(parse_gid(kLocal).value()));
  EXPECT_TRUE(is_zero(parse_gid("0000:0000:0000:0000:0000:0000:0000:0000").value()));
  EXPECT_FALSE(parse_gid("0000:0000").has_value());
  EXPECT_FALSE(parse_gid("00000:0:0:0:0:0:0:0").has_value());
  EXPECT_TRUE(parse_range("fd00::/64", GidFamily::kIpv6).has_value());
  EXPECT_FALSE(parse_range("10.0.0.0", GidFamily::kIpv4).has_value());  // NCCL ignores a range without a mask
  EXPECT_FALSE(parse_range("10.0.0.0/33", GidFamily::kIpv4).has_value());
  EXPECT_FALSE(parse_range("10.0.0.0/8", GidFamily::kIpv6).has_value());
}

TEST(GidWish, FromTheSettings) {
  const std::map<std::string, std::string, std::less<>> values = {{"NCCL_IB_GID_INDEX", " 5 "},
                                                                  {"NCCL_IB_ADDR_FAMILY", "AF_INET6"},
                                                                  {"NCCL_IB_ADDR_RANGE", "fd00::/16"},
                                                                  {"NCCL_IB_ROCE_VERSION_NUM", "1"}};
  const auto wish = wish_of([&](std::string_view name) {
    const auto found = values.find(name);
    return found != values.end() ? &found->second : nullptr;
  });
  EXPECT_EQ(wish.index, 5U);
  EXPECT_EQ(wish.family, GidFamily::kIpv6);
  ASSERT_TRUE(wish.range.has_value());
  EXPECT_EQ(wish.range->bits, 16U);
  EXPECT_EQ(wish.roce_version, 1U);
  const auto none = wish_of([](std::string_view) { return nullptr; });
  EXPECT_FALSE(none.index || none.range);
  EXPECT_EQ(none.roce_version, 2U);
}

}  // namespace
}  // namespace angio::model
