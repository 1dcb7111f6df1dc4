#include "import/nccl_inspector/nccl_inspector.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <optional>
#include <utility>

#include "base/json.hpp"
#include "base/text.hpp"

namespace angio::import::nccl_inspector {
namespace {

constexpr std::size_t kHead = 1U << 16U;
constexpr std::size_t kLongestRecord = 1U << 20U;  // verbose records hold an event a channel
constexpr std::size_t kMostAggregates = 65'536;
constexpr std::size_t kMostHosts = 65'536;
constexpr double kGigabyte = 1e9;

std::optional<double> number(const Json& object, std::string_view key) {
  const Json* value = object.find(key);
  if (value == nullptr) return std::nullopt;
  if (const auto* real = value->as_double())
    return std::isfinite(*real) && *real >= 0 ? std::optional(*real) : std::nullopt;
  if (const auto* whole = value->as_integer())
    return *whole >= 0 ? std::optional(static_cast<double>(*whole)) : std::nullopt;
  return std::nullopt;
}

std::uint32_t small(const Json* object, std::string_view key) {
  const Json* value = object != nullptr ? object->find(key) : nullptr;
  if (value == nullptr || value->as_integer() == nullptr ||
      !std::in_range<std::uint32_t>(*value->as_integer()))
    return 0;
  return static_cast<std::uint32_t>(*value->as_integer());
}

std::string text(const Json* object, std::string_view key) {
  const Json* value = object != nullptr ? object->find(key) : nullptr;
  return value != nullptr && value->as_string() != nullptr ? printable(*value->as_string()) : std::string();
}

// The same figures under two sets of names.
struct Record {
  std::string operation;
  bool point_to_point = false;
  std::uint64_t bytes = 0;
  double time_us = 0;
  double bus = 0;
  bool cpu = false;
};

std::optional<Record> read_record(const Json& root) {
  const Json* body = root.find("coll_perf");
  const bool point_to_point = body == nullptr;
  if (point_to_point) body = root.find("p2p_perf");
  if (body == nullptr || body->as_object() == nullptr) return std::nullopt;
  const std::string prefix = point_to_point ? "p2p" : "coll";
  Record record;
  record.point_to_point = point_to_point;
  record.operation = text(body, prefix);
  const auto bytes = number(*body, prefix + "_msg_size_bytes");
  const auto time = number(*body, prefix + "_exec_time_us");
  const auto bus = number(*body, prefix + "_busbw_gbs");
  if (record.operation.empty() || !bytes || *bytes > 1e18 || !time || !bus) return std::nullopt;
  record.bytes = static_cast<std::uint64_t>(*bytes);
  record.time_us = *time;
  record.bus = *bus * kGigabyte;
  const std::string source = text(body, prefix + "_timing_source");
  record.cpu = !source.empty() && source != "kernel_gpu";
  return record;
}

}  // namespace

bool looks_like(std::string_view bytes) {
  const std::string_view head = trim(bytes.substr(0, kHead));
  return head.starts_with("{") && (contains(head, "\"coll_perf\"") || contains(head, "\"p2p_perf\""));
}

void RecordReader::damaged(const model::Source& source) {
  if (summary_.damaged++ == 0) summary_.first_damaged = source;
}

void RecordReader::read(std::uint32_t place, std::uint32_t number, std::string_view line) {
  line = trim(line);
  if (line.empty()) return;
  const model::Source source{place, number, ""};
  if (line.size() > kLongestRecord) return damaged(source);
  const auto root = parse_json(line);
  const auto record = root ? read_record(*root) : std::nullopt;
  if (!record) return damaged(source);
  if (summary_.records++ == 0) summary_.source = source;
  const Json* header = root->find("header");
  const Json* metadata = root->find("metadata");
  if (summary_.format_version.empty())
    summary_.format_version = text(metadata, "inspector_output_format_version");
  if (std::string host = text(metadata, "hostname"); !host.empty() && hosts_.size() < kMostHosts)
    hosts_.insert(std::move(host));

  Key key{text(header, "id"), record->operation, std::bit_floor(record->bytes)};
  auto found = aggregates_.find(key);
  if (found == aggregates_.end()) {
    if (aggregates_.size() >= kMostAggregates) {
      ++summary_.left_out;
      return;
    }
    model::InspectorAggregate fresh;
    fresh.communicator = std::get<0>(key);
    fresh.name = text(header, "comm_name");
    fresh.ranks = small(header, "n_ranks");
    fresh.nodes = small(header, "nnodes");
    fresh.operation = record->operation;
    fresh.point_to_point = record->point_to_point;
    fresh.bucket = {std::bit_floor(record->bytes)};
    fresh.least = fresh.highest = {record->bus};
    found = aggregates_.emplace(std::move(key), std::move(fresh)).first;
  }
  model::InspectorAggregate& sum = found->second;
  ++sum.records;
  sum.time_us += record->time_us;
  sum.bus += record->bus;
  sum.cpu_timed += record->cpu ? 1 : 0;
  sum.least.value = std::min(sum.least.value, record->bus);
  sum.highest.value = std::max(sum.highest.value, record->bus);
  if (record->time_us >= sum.slowest_us) {
    sum.slowest_us = record->time_us;
    sum.slowest_rank = small(header, "rank");
    sum.slowest = source;
  }
}

model::InspectorSummary RecordReader::take() {
  summary_.hosts.assign(hosts_.begin(), hosts_.end());
  for (auto& [key, aggregate] : aggregates_)
    summary_.aggregates.push_back(std::move(aggregate));
  aggregates_.clear();
  return std::move(summary_);
}

}  // namespace angio::import::nccl_inspector
