#include "diagnose/subnet.hpp"

#include <gtest/gtest.h>

namespace angio::diagnose {
namespace {

TEST(Subnet, OfAnInterface) {
  model::NetDevice netdev;
  netdev.addresses = {"10.1.2.3/16", "fe80::1/64",   "169.254.3.4/16", "10.9.9.9/32",
                      "10.0.0.1",    "10.0.0.300/8", "10.4.4.5/31"};
  const auto subnets = subnets_of(netdev);
  ASSERT_EQ(subnets.size(), 2U);
  EXPECT_EQ(subnets[0].text(), "10.1.0.0/16");
  EXPECT_TRUE(subnets[0].holds(*parse_ipv4("10.1.255.1")));
  EXPECT_FALSE(subnets[0].holds(*parse_ipv4("10.2.0.1")));
  EXPECT_EQ(subnets[1].text(), "10.4.4.4/31");
}

}  // namespace
}  // namespace angio::diagnose
