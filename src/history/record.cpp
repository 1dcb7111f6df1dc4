#include "history/record.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <set>
#include <utility>

#include "base/fnv.hpp"
#include "base/json.hpp"
#include "base/text.hpp"
#include "base/utc_time.hpp"

namespace angio::history {

using model::Metric;
using model::MetricKind;

namespace {

constexpr std::array<std::pair<std::string_view, MetricKind>, 5> kKinds{
    {{"higher_is_better", MetricKind::kHigherIsBetter},
     {"lower_is_better", MetricKind::kLowerIsBetter},
     {"counter_of_errors", MetricKind::kCounterOfErrors},
     {"counter", MetricKind::kCounter},
     {"state", MetricKind::kState}}};

std::string text_at(const Json& object, std::string_view key) {
  const Json* member = object.find(key);
  const std::string* text = member != nullptr ? member->as_string() : nullptr;
  return text != nullptr ? *text : std::string();
}

std::optional<double> number_of(const Json& value) {
  if (const double* number = value.as_double())
    return std::isfinite(*number) ? std::optional(*number) : std::nullopt;
  if (const std::int64_t* number = value.as_integer()) return static_cast<double>(*number);
  return std::nullopt;
}

std::optional<double> number_at(const Json& object, std::string_view key) {
  const Json* member = object.find(key);
  return member != nullptr ? number_of(*member) : std::nullopt;
}

std::int64_t id_at(const Json& row) {
  const Json* member = row.find("id");
  const std::int64_t* id = member != nullptr ? member->as_integer() : nullptr;
  return id != nullptr ? *id : 0;
}

std::string read_samples(const Json& row, Metric& metric) {
  constexpr std::size_t kMost = 10000;
  const Json* samples = row.find("samples");
  if (samples == nullptr || samples->is_null()) return "";
  if (samples->as_array() == nullptr) return "has \"samples\" that are no list";
  if (samples->as_array()->size() > kMost) return fmt::format("has more than {} samples", kMost);
  for (const Json& sample : *samples->as_array()) {
    const auto value = number_of(sample);
    if (!value) return "has a sample that is no number";
    metric.samples.push_back(*value);
  }
  return "";
}

// What is wrong with one figure, in words; empty: nothing.
std::string read_metric(const Json& row, Metric& metric) {
  metric.subject = text_at(row, "subject");
  metric.name = text_at(row, "name");
  metric.unit = text_at(row, "unit");
  metric.text = text_at(row, "text");
  if (metric.subject.empty() || metric.name.empty()) return "has no subject or no name";
  const std::string word = text_at(row, "kind");
  const std::optional<MetricKind> kind = parse_kind(word);
  if (!kind) return "is of the unknown kind \"" + printable(word) + "\"";
  metric.kind = *kind;
  const std::optional<double> value = number_at(row, "value");
  if (*kind == MetricKind::kState) return metric.text.empty() ? "is a state without a text" : "";
  if (!value) return "has no value that is a number";
  metric.value = *value;
  return read_samples(row, metric);
}

Error no_result(const std::string& name, const std::string& why) {
  return {ErrorCode::kInvalidInput, name + ": " + why,
          "What is kept is the JSON of angio rdma, fabric scan, mesh, bench or judge (--format json)"};
}

}  // namespace

std::string_view kind_word(MetricKind kind) {
  for (const auto& [word, value] : kKinds)
    if (value == kind) return word;
  return "";
}

std::optional<MetricKind> parse_kind(std::string_view word) {
  for (const auto& [name, value] : kKinds)
    if (name == word) return value;
  return std::nullopt;
}

Result<Record> parse_record(std::string_view json, const std::string& name, const std::string& captured) {
  if (trim(json).empty()) return std::unexpected(no_result(name, "is empty"));
  const Result<Json> parsed = parse_json(json);
  if (!parsed) return std::unexpected(no_result(name, parsed.error().message));
  return read_record(*parsed, name, captured);
}

Result<Record> read_record(const Json& json, const std::string& name, const std::string& captured) {
  const Json* metrics = json.find("metrics");
  if (metrics == nullptr || metrics->as_array() == nullptr)
    return std::unexpected(no_result(name, "has no \"metrics\""));
  Record record;
  record.schema = text_at(json, "schema");
  record.subject = text_at(json, "subject");
  record.captured = text_at(json, "captured");
  if (record.captured.empty()) record.captured = captured;
  if (record.schema.empty() || record.subject.empty())
    return std::unexpected(no_result(name, "has no \"schema\" or no \"subject\""));
  if (record.captured.empty())
    return fail(ErrorCode::kInvalidInput, name + ": does not say when it was captured",
                "Say it: --captured 2026-11-30T10:00:00Z");
  if (!parse_utc(record.captured))
    return fail(ErrorCode::kInvalidInput, name + ": \"" + printable(record.captured) + "\" is no time",
                "Times are UTC as in 2026-11-30T10:00:00Z");
  if (const Json* member = json.find("environment")) {
    auto environment = parse_environment(*member);
    if (!environment) return std::unexpected(no_result(name, environment.error().message));
    record.environment = std::move(*environment);
  }
  std::set<std::pair<std::string, std::string>> seen;
  std::size_t number = 0;
  for (const Json& row : *metrics->as_array()) {
    ++number;
    Metric metric;
    if (const std::string wrong = read_metric(row, metric); !wrong.empty())
      return std::unexpected(no_result(name, fmt::format("figure {} of \"metrics\" {}", number, wrong)));
    if (!seen.emplace(metric.subject, metric.name).second) {
      ++record.repeated;
      continue;
    }
    record.metrics.push_back(std::move(metric));
  }
  return record;
}

Result<Export> parse_export(std::string_view json, const std::string& name) {
  const auto wrong = [&](const std::string& why) {
    return fail(ErrorCode::kInvalidInput, name + ": " + why,
                "What is read is the output of angio history export --format json");
  };
  const Result<Json> parsed = parse_json(json);
  if (!parsed) return wrong(parsed.error().message);
  if (text_at(*parsed, "schema") != "angio.history-export/1") return wrong("is no export of a history");
  const Json* records = parsed->find("records");
  if (records == nullptr || records->as_array() == nullptr) return wrong("has no \"records\"");
  Export result;
  for (const Json& row : *records->as_array()) {
    auto record = read_record(row, fmt::format("{}: record {}", name, result.records.size() + 1));
    if (!record) return std::unexpected(std::move(record.error()));
    record->id = id_at(row);
    result.records.push_back(std::move(*record));
  }
  const Json* baselines = parsed->find("baselines");
  if (baselines == nullptr || baselines->as_array() == nullptr) return result;
  for (const Json& row : *baselines->as_array())
    if (const std::int64_t id = id_at(row); id > 0 && !text_at(row, "name").empty())
      result.baselines.emplace_back(text_at(row, "name"), id);
  return result;
}

std::string digest_of(const Record& record) {
  Digest digest;
  for (const std::string& text : {record.schema, record.subject, record.captured})
    digest.add(text);
  for (const Metric& metric : record.metrics) {
    digest.add(metric.subject);
    digest.add(metric.name);
    digest.add(metric.text);
    digest.add(metric.unit);
    digest.add(kind_word(metric.kind));
    digest.add(fmt::format("{}", metric.value));
    for (const double sample : metric.samples)
      digest.add(fmt::format("{}", sample));
  }
  // Nothing of it where there is none: what the first form of the store kept has the same digest today.
  if (record.environment.is_known()) digest.add(fingerprint_of(record.environment));
  return digest.text();
}

}  // namespace angio::history
