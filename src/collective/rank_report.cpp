#include "collective/rank_report.hpp"

#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "base/json.hpp"
#include "base/text.hpp"

namespace angio::collective {
namespace {

constexpr char kWell = '+';
constexpr char kFailed = '!';

std::string text_of(const Json& json, std::string_view key) {
  const Json* value = json.find(key);
  const std::string* text = value == nullptr ? nullptr : value->as_string();
  return text == nullptr ? std::string() : *text;
}

double real_of(const Json& value) {
  if (const std::int64_t* whole = value.as_integer()) return static_cast<double>(*whole);
  const double* real = value.as_double();
  return real != nullptr && std::isfinite(*real) ? *real : 0;
}

double real_of(const Json& json, std::string_view key) {
  const Json* value = json.find(key);
  return value == nullptr ? 0 : real_of(*value);
}

template <typename Number>
Number whole_of(const Json& json, std::string_view key) {
  const Json* value = json.find(key);
  const std::int64_t* whole = value == nullptr ? nullptr : value->as_integer();
  return whole != nullptr && std::in_range<Number>(*whole) ? static_cast<Number>(*whole) : Number{};
}

std::optional<Json> object_of(std::string_view text) {
  auto json = parse_json(text);
  if (!json || json->as_object() == nullptr) return std::nullopt;
  return std::move(*json);
}

}  // namespace

Result<std::vector<std::string>> agree(Meeting& meeting, const Result<std::string>& own) {
  if (!own && meeting.give_up(fmt::format("rank {}: {}", meeting.rank(), own.error().message)))
    return std::unexpected(own.error());
  auto texts = meeting.exchange(own ? kWell + *own : kFailed + own.error().message);
  if (!own) return std::unexpected(own.error());
  if (!texts) return texts;
  for (std::size_t rank = 0; rank < texts->size(); ++rank) {
    std::string& text = (*texts)[rank];
    if (text.starts_with(kFailed))
      return fail(ErrorCode::kIo, fmt::format("rank {}: {}", rank, printable(text.substr(1))));
    if (!text.starts_with(kWell))
      return fail(ErrorCode::kIo, fmt::format("rank {} sent what is no message of this program", rank));
    text.erase(0, 1);
  }
  return texts;
}

std::string to_text(const Introduction& introduction) {
  const RankSelf& self = introduction.self;
  return angio::to_text(Json::object({{"local_rank", self.local_rank},
                                      {"host", self.host},
                                      {"pid", self.pid},
                                      {"cpus", self.cpus},
                                      {"began", self.began},
                                      {"here", self.here},
                                      {"init_seconds", self.init_seconds},
                                      {"device", introduction.device},
                                      {"address", introduction.address},
                                      {"wish", introduction.wish}}),
                        -1);
}

std::optional<Introduction> parse_introduction(std::string_view text) {
  const auto json = object_of(text);
  if (!json) return std::nullopt;
  Introduction introduction;
  RankSelf& self = introduction.self;
  self.local_rank = whole_of<std::uint32_t>(*json, "local_rank");
  self.host = text_of(*json, "host");
  self.pid = whole_of<std::uint64_t>(*json, "pid");
  self.cpus = text_of(*json, "cpus");
  self.began = real_of(*json, "began");
  self.here = real_of(*json, "here");
  self.init_seconds = real_of(*json, "init_seconds");
  introduction.device = text_of(*json, "device");
  introduction.address = text_of(*json, "address");
  introduction.wish = text_of(*json, "wish");
  return introduction;
}

std::string to_text(const RowReport& report) {
  Json samples = Json::array();
  for (const double sample : report.samples)
    samples.push_back(sample);
  Json json =
      Json::object({{"batch_us", report.batch_us}, {"samples", std::move(samples)}, {"stop", report.stop}});
  if (report.wrong) json.set("wrong", *report.wrong);
  if (!report.wrong_words.empty()) json.set("words", report.wrong_words);
  return angio::to_text(json, -1);
}

std::optional<RowReport> parse_row_report(std::string_view text) {
  const auto json = object_of(text);
  if (!json) return std::nullopt;
  RowReport report;
  report.batch_us = real_of(*json, "batch_us");
  const Json* samples = json->find("samples");
  if (samples != nullptr && samples->as_array() != nullptr) {
    for (const Json& sample : *samples->as_array())
      report.samples.push_back(real_of(sample));
  }
  const Json* stop = json->find("stop");
  report.stop = stop != nullptr && stop->as_bool() != nullptr && *stop->as_bool();
  if (json->find("wrong") != nullptr) report.wrong = whole_of<std::uint64_t>(*json, "wrong");
  report.wrong_words = text_of(*json, "words");
  return report;
}

std::string to_text(const std::vector<model::CollectivePair>& pairs) {
  Json list = Json::array();
  for (const model::CollectivePair& pair : pairs)
    list.push_back(Json::object(
        {{"from", pair.from}, {"to", pair.to}, {"rate", pair.rate.value}, {"latency_us", pair.latency_us}}));
  return angio::to_text(Json::object({{"pairs", std::move(list)}}), -1);
}

std::optional<std::vector<model::CollectivePair>> parse_pairs(std::string_view text) {
  const auto json = object_of(text);
  const Json* list = json ? json->find("pairs") : nullptr;
  if (list == nullptr || list->as_array() == nullptr) return std::nullopt;
  std::vector<model::CollectivePair> pairs;
  for (const Json& one : *list->as_array()) {
    pairs.push_back({whole_of<std::uint32_t>(one, "from"),
                     whole_of<std::uint32_t>(one, "to"),
                     {real_of(one, "rate")},
                     real_of(one, "latency_us")});
  }
  return pairs;
}

}  // namespace angio::collective
