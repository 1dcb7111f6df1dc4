#include "step/rank_log.hpp"

#include <fmt/format.h>

#include <cmath>
#include <optional>

#include "base/json.hpp"
#include "base/text.hpp"

namespace angio::step {
namespace {

using model::StepTime;

constexpr const char* kMark = "angio_step_rank";

Json list_of(const std::vector<std::string>& texts) {
  Json list = Json::array();
  for (const std::string& text : texts)
    list.push_back(text);
  return list;
}

std::optional<double> number_in(const Json& json, const char* key) {
  const Json* found = json.find(key);
  if (found == nullptr) return std::nullopt;
  if (const double* value = found->as_double(); value != nullptr && std::isfinite(*value)) return *value;
  if (const std::int64_t* value = found->as_integer(); value != nullptr) return static_cast<double>(*value);
  return std::nullopt;
}

std::string text_in(const Json& json, const char* key) {
  const Json* found = json.find(key);
  return found != nullptr && found->as_string() != nullptr ? *found->as_string() : std::string();
}

std::uint64_t count_in(const Json& json, const char* key) {
  const Json* found = json.find(key);
  const std::int64_t* value = found == nullptr ? nullptr : found->as_integer();
  return value == nullptr || *value < 0 ? 0 : static_cast<std::uint64_t>(*value);
}

std::uint32_t small_in(const Json& json, const char* key) {
  const std::uint64_t value = count_in(json, key);
  return value > 0xffffffffULL ? 0 : static_cast<std::uint32_t>(value);
}

void read_first(const Json& json, RankLog& log) {
  log.rank.rank = small_in(json, "rank");
  log.rank.local_rank = small_in(json, "local_rank");
  log.rank.host = text_in(json, "host");
  log.rank.pid = count_in(json, "pid");
  log.rank.device = text_in(json, "device");
  log.rank.sent = count_in(json, "sent");
  log.rank.start_seconds = number_in(json, "start_seconds").value_or(0);
  log.ranks = small_in(json, "ranks");
  log.framework = text_in(json, "framework");
  log.implementation = text_in(json, "implementation");
  log.version = text_in(json, "version");
  log.backend = text_in(json, "backend");
  log.parameters = count_in(json, "parameters");
  if (const Json* phantom = json.find("phantom"); phantom != nullptr && phantom->as_bool() != nullptr)
    log.phantom = *phantom->as_bool();
  const auto list = [&json](const char* key) {
    const Json* found = json.find(key);
    return found == nullptr || found->as_array() == nullptr ? Json::Array{} : *found->as_array();
  };
  for (const Json& bucket : list("buckets")) {
    if (const std::int64_t* size = bucket.as_integer(); size != nullptr && *size >= 0)
      log.buckets.push_back(static_cast<std::uint64_t>(*size));
  }
  for (const Json& note : list("notes")) {
    if (note.as_string() != nullptr) log.notes.push_back(*note.as_string());
  }
}

// None: a figure is missing, or one that cannot be.
std::optional<StepTime> step_of(const Json& json) {
  StepTime time;
  const Json* communication = json.find("communication");
  if (communication == nullptr || communication->as_bool() == nullptr) return std::nullopt;
  time.communication = *communication->as_bool();
  struct Part {
    const char* key;
    double StepTime::* to;
  };
  constexpr Part kParts[] = {{"step_ms", &StepTime::step},
                             {"input_ms", &StepTime::input},
                             {"forward_ms", &StepTime::forward},
                             {"backward_ms", &StepTime::backward},
                             {"optimizer_ms", &StepTime::optimizer}};
  for (const Part& part : kParts) {
    const auto value = number_in(json, part.key);
    if (!value || *value < 0) return std::nullopt;
    time.*part.to = *value;
  }
  if (time.step <= 0) return std::nullopt;
  time.exposed = number_in(json, "exposed_ms");
  if (time.exposed && *time.exposed < 0) return std::nullopt;
  return time;
}

void read_last(const Json& json, RankLog& log) {
  log.rank.finished = true;
  if (const auto memory = count_in(json, "memory_bytes"); memory > 0) log.rank.memory = Bytes{memory};
  if (const auto sent = count_in(json, "sent"); sent > 0) log.rank.sent = sent;
}

class Reader {
 public:
  void take(std::string_view line) {
    if (trim(line).empty()) return;
    const auto json = parse_json(line);
    if (!json || json->as_object() == nullptr) {
      ++damaged_;
      return;
    }
    if (json->find(kMark) != nullptr) {
      finish();
      logs_.emplace_back();
      read_first(*json, logs_.back());
    } else if (!logs_.empty()) {
      take_of(*json, logs_.back());
    }
  }
  std::vector<RankLog> take_all() {
    finish();
    return std::move(logs_);
  }

 private:
  void take_of(const Json& json, RankLog& log) {
    if (json.find("end") != nullptr) {
      read_last(json, log);
    } else if (json.find("failure") != nullptr) {
      log.failure = text_in(json, "failure");
      log.failed_at = number_in(json, "time").value_or(0);
    } else if (json.find("note") != nullptr) {
      log.notes.push_back(text_in(json, "note"));
    } else if (const auto time = step_of(json); time && log.rank.steps.size() < kMostSteps) {
      log.rank.steps.push_back(*time);
    } else {
      ++damaged_;
    }
  }
  void finish() {
    if (damaged_ > 0 && !logs_.empty())
      logs_.back().notes.push_back(
          fmt::format("rank {}: {} lines of its log cannot be read", logs_.back().rank.rank, damaged_));
    damaged_ = 0;
  }
  std::vector<RankLog> logs_;
  std::size_t damaged_ = 0;
};

}  // namespace

std::string first_line(const RankLog& log) {
  Json buckets = Json::array();
  for (const std::uint64_t bucket : log.buckets)
    buckets.push_back(bucket);
  Json json = Json::object({{kMark, 1},
                            {"rank", log.rank.rank},
                            {"local_rank", log.rank.local_rank},
                            {"ranks", log.ranks},
                            {"host", log.rank.host},
                            {"pid", log.rank.pid},
                            {"device", log.rank.device},
                            {"sent", log.rank.sent},
                            {"start_seconds", log.rank.start_seconds},
                            {"framework", log.framework},
                            {"implementation", log.implementation},
                            {"version", log.version},
                            {"backend", log.backend},
                            {"parameters", log.parameters},
                            {"phantom", log.phantom},
                            {"buckets", std::move(buckets)},
                            {"notes", list_of(log.notes)}});
  return to_text(json, -1) + "\n";
}

std::string step_line(const StepTime& time) {
  Json json = Json::object({{"communication", time.communication},
                            {"step_ms", time.step},
                            {"input_ms", time.input},
                            {"forward_ms", time.forward},
                            {"backward_ms", time.backward},
                            {"optimizer_ms", time.optimizer}});
  if (time.exposed) json.set("exposed_ms", *time.exposed);
  return to_text(json, -1) + "\n";
}

std::string last_line(const model::StepRank& rank) {
  Json json = Json::object({{"end", true}, {"sent", rank.sent}});
  if (rank.memory) json.set("memory_bytes", rank.memory->value);
  return to_text(json, -1) + "\n";
}

std::string failure_line(const std::string& words, double seconds) {
  return to_text(Json::object({{"failure", words}, {"time", seconds}}), -1) + "\n";
}

std::vector<RankLog> parse_rank_logs(std::string_view text) {
  Reader reader;
  for (const std::string_view line : split_lines(text))
    reader.take(line);
  return reader.take_all();
}

Result<RankLog> parse_rank_log(std::string_view text) {
  std::vector<RankLog> logs = parse_rank_logs(text);
  if (logs.empty()) return fail(ErrorCode::kInvalidInput, "no line says which rank this is");
  return std::move(logs.front());
}

}  // namespace angio::step
