#include "mesh/messages.hpp"

#include <gtest/gtest.h>

namespace angio::mesh {
namespace {

Order usual_order() {
  Order order;
  order.test = 7;
  order.tool = Tool::kWriteBandwidth;
  order.own_address = "10.0.0.1";
  order.address = "fe80::1%eth0";
  order.tcp_port = 40000;
  order.ticket = "00ff";
  order.size = 65536;
  order.device = "mlx5_0";
  order.gid_index = 3;
  return order;
}

TEST(Messages, ComeBackAsTheyWere) {
  const auto message = parse_message(to_line(usual_order()));
  ASSERT_TRUE(message.has_value()) << message.error().message;
  const auto* order = std::get_if<Order>(&*message);
  ASSERT_NE(order, nullptr);
  EXPECT_EQ(order->test, 7U);
  EXPECT_EQ(order->tool, Tool::kWriteBandwidth);
  EXPECT_EQ(order->tcp_port, 40000);
  EXPECT_EQ(order->device, "mlx5_0");
  EXPECT_EQ(order->gid_index, 3U);
  EXPECT_FALSE(order->cuda.has_value());
  Hello hello;
  hello.name = "n3";
  hello.rank = 3;
  hello.programs = {"ib_write_bw"};
  hello.host.rdma.push_back(
      {.name = "mlx5_0", .port = 2, .rate = BitsPerSecond{4e11}, .path_mtu = Bytes{4096}});
  const auto back = parse_message(to_line(hello));
  ASSERT_TRUE(back.has_value());
  const auto* read = std::get_if<Hello>(&*back);
  ASSERT_NE(read, nullptr);
  EXPECT_EQ(read->rank, 3U);
  EXPECT_EQ(read->programs, hello.programs);
  ASSERT_EQ(read->host.rdma.size(), 1U);
  EXPECT_EQ(read->host.rdma[0].port, 2U);
  EXPECT_EQ(read->host.rdma[0].rate, BitsPerSecond{4e11});
  EXPECT_EQ(read->host.rdma[0].path_mtu, Bytes{4096});
}

TEST(Messages, AnAgentRunsNothingButTests) {
  const auto refused = [](auto change) {
    Order order = usual_order();
    change(order);
    return !parse_message(to_line(order)).has_value();
  };
  EXPECT_TRUE(refused([](Order& order) { order.device = "-h"; }));
  EXPECT_TRUE(refused([](Order& order) { order.device = "mlx5_0;id"; }));
  EXPECT_TRUE(refused([](Order& order) { order.device = ""; }));
  EXPECT_TRUE(refused([](Order& order) { order.address = "host name"; }));
  EXPECT_TRUE(refused([](Order& order) { order.ticket = "../x"; }));
  EXPECT_TRUE(refused([](Order& order) { order.seconds = 0; }));
  EXPECT_TRUE(refused([](Order& order) { order.limit = 1; }));
  EXPECT_TRUE(refused([](Order& order) { order.size = std::uint64_t{1} << 40U; }));
  EXPECT_TRUE(refused([](Order& order) { order.streams = 100000; }));
  EXPECT_FALSE(refused([](Order&) {}));
}

TEST(Messages, WhatIsNoneIsRefused) {
  for (const char* line :
       {"", "{}", "[]", "{\"say\":\"format\"}", "hello", "{\"say\":\"test\",\"tool\":\"rm\"}"})
    EXPECT_FALSE(parse_message(line).has_value()) << line;
}

TEST(Messages, DeviceNames) {
  EXPECT_TRUE(is_device_name("mlx5_bond_0"));
  EXPECT_TRUE(is_device_name("rxe0"));
  EXPECT_FALSE(is_device_name("a b"));
  EXPECT_FALSE(is_device_name("../x"));
  EXPECT_FALSE(is_device_name(std::string(65, 'a')));
}

}  // namespace
}  // namespace angio::mesh
