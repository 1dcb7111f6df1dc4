#include "views/rdma_view.hpp"

#include <gtest/gtest.h>

#include "base/text.hpp"

namespace angio::views {
namespace {

RdmaReport report_of() {
  RdmaReport report;
  report.subject = "gpu-a";
  report.captured = "2026-11-30T10:00:10Z";
  report.rates.host = "gpu-a";
  report.rates.readings = 2;
  model::RdmaPortRates port;
  port.device = "mlx5_0";
  port.link_layer = model::LinkLayer::kInfiniBand;
  port.state = "ACTIVE";
  port.states = {"ACTIVE"};
  port.rate = BitsPerSecond{400e9};
  port.seconds = 10;
  port.traffic = model::RdmaTraffic{};
  port.traffic->sent = BitsPerSecond{350e9};
  port.traffic->received = BitsPerSecond{340e9};
  port.changes.push_back(
      {model::RdmaCounterPlace::kPort, "", "symbol_error", 1, 41, 40, model::RdmaChangeKind::kCounted, ""});
  port.changes.push_back(
      {model::RdmaCounterPlace::kPort, "", "port_xmit_data", 1, 9, 8, model::RdmaChangeKind::kCounted, ""});
  report.rates.ports.push_back(port);
  return report;
}
std::string text_of(const RdmaReport& report) {
  return report::render_terminal(rdma_document(report), {.width = 80, .colour = false, .ascii = true});
}

TEST(RdmaView, SaysTrafficGrowthAndMeaning) {
  const std::string text = text_of(report_of());
  EXPECT_TRUE(contains(text, "gpu-a: 1 RDMA port (1 InfiniBand), 10 s, 2 readings")) << text;
  EXPECT_TRUE(contains(text, "350 Gb/s  340 Gb/s     88 %")) << text;
  EXPECT_TRUE(contains(text, "symbol_error")) << text;
  EXPECT_TRUE(contains(text, "symbols that could not be decoded")) << text;
  EXPECT_FALSE(contains(text, "port_xmit_data")) << text;  // traffic stands in the table above
  EXPECT_TRUE(contains(text, "no findings, 0 undecided, 0 rules held")) << text;
}

TEST(RdmaView, ForeignTextIsPrintedSafely) {
  RdmaReport report = report_of();
  report.rates.host = "gpu\x1b[31m";
  report.rates.ports[0].device = "mlx\x07";
  report.rates.ports[0].state = "AC\x1bTIVE";
  report.rates.ports[0].states.clear();
  report.rates.ports[0].changes[0].why = "\x1b]0;x";
  report.rates.ports[0].changes[0].kind = model::RdmaChangeKind::kUnread;
  report.rates.remarks.push_back("\x1b[2J");
  report.command = "\x1b[1mx";
  EXPECT_EQ(text_of(report).find('\x1b'), std::string::npos);
  EXPECT_EQ(text_of(report).find('\x07'), std::string::npos);
}

TEST(RdmaView, WithoutPortsItSaysWhy) {
  RdmaReport report;
  report.rates.host = "gpu-a";
  report.rates.problem = "there are no RDMA devices: no /sys/class/infiniband";
  EXPECT_EQ(text_of(report), "gpu-a: there are no RDMA devices: no /sys/class/infiniband\n");
}

TEST(RdmaView, JsonHasWhatHistoryKeeps) {
  RdmaReport report = report_of();
  report.metrics.push_back(
      {"gpu-a mlx5_0 port 1", "symbol_error", 41, "", "symbols", model::MetricKind::kCounterOfErrors});
  const Json json = rdma_json(report);
  EXPECT_EQ(*json.find("schema")->as_string(), "angio.rdma/1");
  EXPECT_EQ(*json.find("subject")->as_string(), "gpu-a");
  EXPECT_EQ(json.find("metrics")->as_array()->size(), 1U);
  const Json& port = json.find("ports")->as_array()->front();
  EXPECT_DOUBLE_EQ(*port.find("traffic")->find("sent_bits_per_second")->as_double(), 350e9);
  const Json& counter = port.find("counters")->as_array()->front();
  EXPECT_EQ(*counter.find("growth")->as_integer(), 40);
  EXPECT_DOUBLE_EQ(*counter.find("per_second")->as_double(), 4);
}

}  // namespace
}  // namespace angio::views
