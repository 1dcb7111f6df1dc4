// One kept result: what was looked at, when, and its figures. Made of the JSON of `angio rdma`, `angio
// fabric`, `angio mesh` and whatever else has "schema", "captured", "subject" and "metrics"; "environment"
// where the result says where it was measured.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "history/environment.hpp"
#include "model/metric.hpp"

namespace angio::history {

struct Record {
  std::int64_t id = 0;   // in the store; 0: not in one
  std::string schema;    // "angio.rdma/1"
  std::string subject;   // "gpu-a"
  std::string captured;  // RFC 3339, UTC
  Environment environment;
  std::vector<model::Metric> metrics;
  std::uint32_t repeated = 0;  // figures that stood twice; the first counts
};

// captured: stands where the result has none (states of directories do not know their time).
Result<Record> parse_record(std::string_view json, const std::string& name, const std::string& captured = {});

// The same of JSON that was read already.
Result<Record> read_record(const Json& json, const std::string& name, const std::string& captured = {});

// Everything of a store as `angio history export` writes it.
struct Export {
  std::vector<Record> records;  // ids are those of the store it came from
  std::vector<std::pair<std::string, std::int64_t>> baselines;
};
Result<Export> parse_export(std::string_view json, const std::string& name);

// Tells contents apart: FNV-1a over schema, subject, time and figures. No protection against intent.
std::string digest_of(const Record& record);

std::string_view kind_word(model::MetricKind kind);  // "counter_of_errors", as in the JSON
std::optional<model::MetricKind> parse_kind(std::string_view word);

}  // namespace angio::history
