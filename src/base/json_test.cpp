#include "base/json.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <string>

namespace angio {
namespace {

std::string again(const std::string& text) {
  const Result<Json> json = parse_json(text);
  return json ? to_text(*json, -1) : "error: " + json.error().message;
}

TEST(Json, RoundTripsEveryKind) {
  const std::string text =
      R"({"z":null,"a":[true,false,-1,0,9223372036854775807,1.5,"\"\\\u0001"],"o":{},"e":[]})";
  EXPECT_EQ(again(text), text);
}

TEST(Json, KeepsTheOrderOfKeys) {
  Json json = Json::object({{"zebra", 1}, {"ant", "x"}});
  json.set("middle", Json::array({Json(1.25), Json()}));
  EXPECT_EQ(to_text(json, -1), R"({"zebra":1,"ant":"x","middle":[1.25,null]})");
}

TEST(Json, IndentsForPeople) {
  const Json json = Json::object({{"a", Json::array({1, 2})}, {"b", Json::object()}});
  EXPECT_EQ(to_text(json), "{\n  \"a\": [\n    1,\n    2\n  ],\n  \"b\": {}\n}");
}

TEST(Json, ReplacesInvalidUtf8AndNonNumbers) {
  EXPECT_EQ(to_text(Json("a\xff"), -1), "\"a\xef\xbf\xbd\"");
  EXPECT_EQ(to_text(Json(std::numeric_limits<double>::quiet_NaN()), -1), "null");
}

TEST(Json, LargeUnsignedBecomesDouble) {
  EXPECT_NE(Json(std::uint64_t{1} << 62U).as_integer(), nullptr);
  EXPECT_NE(Json(std::numeric_limits<std::uint64_t>::max()).as_double(), nullptr);
}

TEST(Json, FindsMembers) {
  const Json json = parse_json(R"({"a":{"b":7}})").value_or(Json());
  ASSERT_NE(json.find("a"), nullptr);
  ASSERT_NE(json.find("a")->find("b"), nullptr);
  EXPECT_EQ(*json.find("a")->find("b")->as_integer(), 7);
  EXPECT_EQ(json.find("c"), nullptr);
  EXPECT_EQ(Json(3).find("a"), nullptr);
}

TEST(JsonErrors, NameLineAndColumn) {
  EXPECT_EQ(again("{\n  \"a\": ]\n}"), "error: line 2, column 8: not valid JSON here");
  EXPECT_EQ(again(""), "error: line 1, column 1: not valid JSON here");
  EXPECT_EQ(again("{} x").substr(0, 21), "error: line 1, column");
}

TEST(JsonErrors, DepthIsBounded) {
  const std::string deepest = std::string(256, '[') + std::string(256, ']');
  EXPECT_EQ(again(deepest), deepest);
  EXPECT_EQ(again(std::string(257, '[')), "error: JSON nests deeper than 256 levels");
  EXPECT_EQ(again(std::string(10'000'000, '[')), "error: JSON nests deeper than 256 levels");
  std::string objects;
  for (int i = 0; i < 300; ++i)
    objects += "{\"a\":";
  EXPECT_EQ(again(objects), "error: JSON nests deeper than 256 levels");
}

TEST(JsonErrors, BracketsInTextAreNoDepth) {
  const std::string text = '"' + std::string(1000, '[') + "\\\"" + std::string(1000, '{') + '"';
  EXPECT_EQ(again(text), text);
}

TEST(Json, ManyKeysStayLinear) {
  std::string text = "{\"k\":0";
  for (int i = 0; i < 300'000; ++i)
    text += ",\"k" + std::to_string(i) + "\":1";
  EXPECT_EQ(again(text + "}").size(), text.size() + 1);
}

}  // namespace
}  // namespace angio
