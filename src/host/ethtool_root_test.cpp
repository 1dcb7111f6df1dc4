#include "host/ethtool_root.hpp"

#include <gtest/gtest.h>
#include <net/if.h>

#include <cerrno>
#include <cstdint>
#include <string>

#include "base/text.hpp"

namespace angio::host {
namespace {

TEST(EthtoolRoot, KnowsTheCountersOfSingleRings) {
  for (const char* name : {"rx12_packets", "tx0_bytes", "ch7_poll", "rx-3.bytes", "tx-0.packets",
                           "rx_queue_0_drops", "queue_1_tx_cnt", "[2]: rx_discards", "ptp_tx0_packets"})
    EXPECT_TRUE(is_of_one_ring(name)) << name;
  for (const char* name :
       {"rx_packets", "rx_prio3_pause", "tx_prio0_bytes", "rx_out_of_buffer", "rx_65_to_127_bytes_phy",
        "tx_queue_stopped", "rx_err_lane_0_phy", "ptp_ci", "rx", ""})
    EXPECT_FALSE(is_of_one_ring(name)) << name;
}

TEST(EthtoolRoot, OnlyStatisticsOfAnInterfaceAreThere) {
  const auto root = make_ethtool_root();
  for (const char* path : {"/", "/stats", "//stats", "/eth0", "/eth0/other", "/a/b/stats", "stats", "",
                           "/an-interface-name-that-is-too-long/stats"}) {
    const auto answer = root->read(path);
    ASSERT_FALSE(answer.has_value()) << path;
    EXPECT_EQ(answer.error().error, ENOENT) << path;
  }
  EXPECT_FALSE(root->list("/").has_value());
}

// The loopback device of every Linux has no statistics of a driver, and no interface has this name.
TEST(EthtoolRoot, SaysWhatTheKernelSays) {
  const auto root = make_ethtool_root();
  const auto loopback = root->read("/lo/stats");
  ASSERT_FALSE(loopback.has_value());
  EXPECT_EQ(loopback.error().error, EOPNOTSUPP);
  const auto nobody = root->read("/no-such-device/stats");
  ASSERT_FALSE(nobody.has_value());
  EXPECT_EQ(nobody.error().error, ENODEV);
}

// Whatever interfaces are here: what a driver answers is names and numbers.
TEST(EthtoolRoot, AnswersAreNamesAndNumbers) {
  const auto root = make_ethtool_root();
  struct if_nameindex* interfaces = if_nameindex();
  ASSERT_NE(interfaces, nullptr);
  for (const struct if_nameindex* one = interfaces; one->if_index != 0; ++one) {
    const auto content = root->read(std::string("/") + one->if_name + "/stats");
    if (!content) continue;
    for (const std::string_view line : split_lines(*content)) {
      const std::size_t colon = line.rfind(": ");
      ASSERT_NE(colon, std::string_view::npos) << line;
      EXPECT_TRUE(parse_integer<std::uint64_t>(line.substr(colon + 2)).has_value()) << line;
      EXPECT_FALSE(is_of_one_ring(line.substr(0, colon))) << line;
    }
  }
  if_freenameindex(interfaces);
}

}  // namespace
}  // namespace angio::host
