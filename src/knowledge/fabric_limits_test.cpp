#include "knowledge/fabric_limits.hpp"

#include <gtest/gtest.h>

namespace angio::knowledge {
namespace {

TEST(FabricLimits, ErrorRatiosBySpeed) {
  const LinkErrorLimit* hdr = find_link_errors("HDR");
  ASSERT_NE(hdr, nullptr);
  EXPECT_DOUBLE_EQ(hdr->normal, 1e-14);
  EXPECT_DOUBLE_EQ(hdr->limit, 1e-13);
  ASSERT_NE(find_link_errors("QDR"), nullptr);
  EXPECT_DOUBLE_EQ(find_link_errors("QDR")->limit, 1e-12);
  EXPECT_EQ(find_link_errors(""), nullptr);
  EXPECT_EQ(find_link_errors("QUICK"), nullptr);
}

TEST(FabricLimits, TicksByChip) {
  const WaitTick* quantum = find_wait_tick(0xd2f0);
  ASSERT_NE(quantum, nullptr);
  EXPECT_EQ(quantum->bytes, 8U);
  EXPECT_FALSE(quantum->per_lane);
  const WaitTick* switch_ib = find_wait_tick(0xcb20);
  ASSERT_NE(switch_ib, nullptr);
  EXPECT_EQ(switch_ib->bytes, 32U);
  EXPECT_TRUE(switch_ib->per_lane);
  EXPECT_EQ(find_wait_tick(0x1021), nullptr) << "an adapter";
}

}  // namespace
}  // namespace angio::knowledge
