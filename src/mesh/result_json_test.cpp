#include "mesh/result_json.hpp"

#include <gtest/gtest.h>

namespace angio::mesh {
namespace {

const std::string kResult =
    R"({"schema": "angio.mesh/1", "subject": "n[0-1]", "captured": "2026-01-02T03:04:05Z",
 "rounds_planned": 1, "rounds_done": 1, "plan": {"tcp": true, "rdma": false, "level": "bw", "seconds": 5},
 "hosts": [{"name": "n0", "tested": true, "tcp": [{"name": "eth0", "bits_per_second": 1e10}]},
           {"name": "n1", "tested": true}],
 "measures": [{"transport": "TCP", "from": "n0", "to": "n1", "state": "done", "bits_per_second": 9.4e9},
              {"transport": "TCP", "from": "n1", "to": "n0", "state": "failed", "trouble": "no data came"}]})";

TEST(ResultJson, IsReadAgain) {
  const auto result = parse_mesh_result(kResult, "m.json");
  ASSERT_TRUE(result.has_value()) << result.error().message;
  EXPECT_EQ(result->name, "n[0-1]");
  EXPECT_EQ(result->plan.level, model::MeshLevel::kBandwidth);
  EXPECT_EQ(result->plan.seconds, 5U);
  ASSERT_EQ(result->measures.size(), 2U);
  EXPECT_EQ(result->measures[0].bandwidth, BitsPerSecond{9.4e9});
  EXPECT_EQ(result->measures[1].trouble, "no data came");
  EXPECT_EQ(result->hosts[0].tcp[0].rate, BitsPerSecond{1e10});
  EXPECT_TRUE(result->notes.empty());
}

TEST(ResultJson, DamagedMeasuresAreCounted) {
  std::string text = kResult;
  text.replace(text.find("\"to\": \"n1\""), 10, "\"to\": \"n9\"");
  const auto result = parse_mesh_result(text, "m.json");
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(result->measures.size(), 1U);
  EXPECT_EQ(result->notes,
            std::vector<std::string>{"1 of 2 measures were damaged or twice there and are left out"});
}

TEST(ResultJson, WhatIsNoneIsRefused) {
  EXPECT_EQ(parse_mesh_result("{}", "m.json").error().message,
            "m.json: no result of angio mesh: it names no schema");
  EXPECT_EQ(parse_mesh_result(R"({"schema": "angio.fabric/1"})", "m.json").error().message,
            "m.json: no result of angio mesh: its schema is \"angio.fabric/1\", expected \"angio.mesh/1\"");
  EXPECT_TRUE(parse_mesh_result("", "m.json").error().message.starts_with("m.json: "));
  EXPECT_EQ(parse_mesh_result(R"({"schema": "angio.mesh/1", "hosts": 3})", "m.json").error().message,
            "m.json: names no hosts");
}

}  // namespace
}  // namespace angio::mesh
