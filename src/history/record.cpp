#include "history/record.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <set>
#include <utility>

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

std::optional<double> number_at(const Json& object, std::string_view key) {
  const Json* member = object.find(key);
  if (member == nullptr) return std::nullopt;
  if (const double* value = member->as_double())
    return std::isfinite(*value) ? std::optional(*value) : std::nullopt;
  if (const std::int64_t* value = member->as_integer()) return static_cast<double>(*value);
  return std::nullopt;
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
  return "";
}

Error no_result(const std::string& name, const std::string& why) {
  return {ErrorCode::kInvalidInput, name + ": " + why,
          "What is kept is the JSON of angio rdma, angio fabric scan or angio mesh (--format json)"};
}

// FNV-1a, 64 bits: http://www.isthe.com/chongo/tech/comp/fnv
class Digest {
 public:
  void add(std::string_view text) {
    for (const char c : text)
      add(static_cast<unsigned char>(c));
    add(0);  // "ab" "c" is not "a" "bc"
  }
  [[nodiscard]] std::string text() const { return fmt::format("{:016x}", state_); }

 private:
  void add(unsigned char byte) {
    state_ ^= byte;
    state_ *= 1099511628211ULL;
  }
  std::uint64_t state_ = 14695981039346656037ULL;
};

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
  const Json* metrics = parsed->find("metrics");
  if (metrics == nullptr || metrics->as_array() == nullptr)
    return std::unexpected(no_result(name, "has no \"metrics\""));
  Record record;
  record.schema = text_at(*parsed, "schema");
  record.subject = text_at(*parsed, "subject");
  record.captured = text_at(*parsed, "captured");
  if (record.captured.empty()) record.captured = captured;
  if (record.schema.empty() || record.subject.empty())
    return std::unexpected(no_result(name, "has no \"schema\" or no \"subject\""));
  if (record.captured.empty())
    return fail(ErrorCode::kInvalidInput, name + ": does not say when it was captured",
                "Say it: --captured 2026-11-30T10:00:00Z");
  if (!parse_utc(record.captured))
    return fail(ErrorCode::kInvalidInput, name + ": \"" + printable(record.captured) + "\" is no time",
                "Times are UTC as in 2026-11-30T10:00:00Z");
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
  }
  return digest.text();
}

}  // namespace angio::history
