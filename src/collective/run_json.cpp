#include "collective/run_json.hpp"

#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "base/text.hpp"
#include "collective/wish.hpp"

namespace angio::collective {
namespace {

using model::CollectiveRun;

Json outliers_json(const model::CollectiveRow& row) {
  Json list = Json::array();
  for (const model::CollectiveOutlier& one : row.outliers)
    list.push_back(
        Json::object({{"iteration", one.iteration}, {"rank", one.rank}, {"time_us", one.time_us}}));
  return list;
}

Json row_json(const model::CollectiveRow& row) {
  Json json = Json::object({{"collective", model::name_of(row.collective)},
                            {"bytes", row.size.value},
                            {"count", row.count},
                            {"type", row.type}});
  if (!row.reduction.empty()) json.set("reduction", row.reduction);
  if (row.root) json.set("root", *row.root);
  json.set("in_place", row.in_place);
  json.set("warm_up", row.warm_up);
  json.set("iterations", row.iterations);
  json.set("time_us", row.time_us);
  json.set("algorithm_bytes_per_second", row.algorithm.value);
  json.set("bus_bytes_per_second", row.bus.value);
  if (row.maximum_us > 0) {
    json.set("single", Json::object({{"minimum_us", row.minimum_us},
                                     {"median_us", row.median_us},
                                     {"p95_us", row.p95_us},
                                     {"p99_us", row.p99_us},
                                     {"maximum_us", row.maximum_us}}));
  }
  if (row.wrong) json.set("wrong", *row.wrong);
  if (!row.outliers.empty()) json.set("outliers", outliers_json(row));
  return json;
}

Json member_json(const model::CollectiveRank& rank) {
  Json json = Json::object(
      {{"rank", rank.rank}, {"local_rank", rank.local_rank}, {"host", rank.host}, {"pid", rank.pid}});
  if (!rank.device.empty()) json.set("device", rank.device);
  if (!rank.address.empty()) json.set("address", rank.address);
  if (!rank.cpus.empty()) json.set("cpus", rank.cpus);
  json.set("init_seconds", rank.init_seconds);
  return json;
}

// Members of an object; a missing one keeps what is there, one of another type is remembered.
class Reader {
 public:
  Reader(const Json& json, std::string& wrong) : json_(json), wrong_(wrong) {}

  void text(std::string_view key, std::string& to) {
    const Json* value = json_.find(key);
    if (value == nullptr) return;
    if (const std::string* text = value->as_string())
      to = *text;
    else
      blame(key);
  }
  template <typename Number>
  void number(std::string_view key, Number& to) {
    const Json* value = json_.find(key);
    if (value == nullptr) return;
    const std::int64_t* whole = value->as_integer();
    if (whole != nullptr && std::in_range<Number>(*whole))
      to = static_cast<Number>(*whole);
    else
      blame(key);
  }
  void real(std::string_view key, double& to) {
    const Json* value = json_.find(key);
    if (value == nullptr) return;
    if (const std::int64_t* whole = value->as_integer())
      to = static_cast<double>(*whole);
    else if (const double* number = value->as_double(); number != nullptr && std::isfinite(*number))
      to = *number;
    else
      blame(key);
  }
  void truth(std::string_view key, bool& to) {
    const Json* value = json_.find(key);
    if (value == nullptr) return;
    if (const bool* truth = value->as_bool())
      to = *truth;
    else
      blame(key);
  }
  template <typename Use>
  void each(std::string_view key, const Use& use) {
    const Json* value = json_.find(key);
    if (value == nullptr) return;
    if (value->as_array() == nullptr) return blame(key);
    for (const Json& item : *value->as_array()) {
      if (item.as_object() == nullptr) return blame(key);
      use(item);
    }
  }
  void blame(std::string_view key) {
    if (wrong_.empty()) wrong_ = key;
  }
  [[nodiscard]] const Json* find(std::string_view key) const { return json_.find(key); }

 private:
  const Json& json_;
  std::string& wrong_;
};

model::CollectiveOutlier outlier_of(const Json& json, std::string& wrong) {
  model::CollectiveOutlier one;
  Reader reader(json, wrong);
  reader.number("iteration", one.iteration);
  reader.number("rank", one.rank);
  reader.real("time_us", one.time_us);
  return one;
}

model::CollectiveRow row_of(const Json& json, std::string& wrong) {
  model::CollectiveRow row;
  Reader reader(json, wrong);
  std::string word;
  reader.text("collective", word);
  if (const auto collective = parse_collective(word))
    row.collective = *collective;
  else
    reader.blame("collective");
  reader.number("bytes", row.size.value);
  reader.number("count", row.count);
  reader.text("type", row.type);
  reader.text("reduction", row.reduction);
  if (json.find("root") != nullptr) reader.number("root", row.root.emplace());
  reader.truth("in_place", row.in_place);
  reader.number("warm_up", row.warm_up);
  reader.number("iterations", row.iterations);
  reader.real("time_us", row.time_us);
  reader.real("algorithm_bytes_per_second", row.algorithm.value);
  reader.real("bus_bytes_per_second", row.bus.value);
  if (const Json* single = json.find("single")) {
    Reader times(*single, wrong);
    times.real("minimum_us", row.minimum_us);
    times.real("median_us", row.median_us);
    times.real("p95_us", row.p95_us);
    times.real("p99_us", row.p99_us);
    times.real("maximum_us", row.maximum_us);
  }
  if (json.find("wrong") != nullptr) reader.number("wrong", row.wrong.emplace());
  reader.each("outliers", [&](const Json& item) { row.outliers.push_back(outlier_of(item, wrong)); });
  return row;
}

model::CollectiveRank member_of(const Json& json, std::string& wrong) {
  model::CollectiveRank rank;
  Reader reader(json, wrong);
  reader.number("rank", rank.rank);
  reader.number("local_rank", rank.local_rank);
  reader.text("host", rank.host);
  reader.number("pid", rank.pid);
  reader.text("device", rank.device);
  reader.text("address", rank.address);
  reader.text("cpus", rank.cpus);
  reader.real("init_seconds", rank.init_seconds);
  return rank;
}

model::CollectivePair pair_of(const Json& json, std::string& wrong) {
  model::CollectivePair pair;
  Reader reader(json, wrong);
  reader.number("from", pair.from);
  reader.number("to", pair.to);
  reader.real("bytes_per_second", pair.rate.value);
  reader.real("latency_us", pair.latency_us);
  return pair;
}

void read_start(Reader& reader, CollectiveRun& run, std::string& wrong) {
  const Json* start = reader.find("start");
  if (start == nullptr) return;
  Reader times(*start, wrong);
  times.real("launch_seconds", run.launch_seconds);
  times.real("init_seconds", run.init_seconds);
  times.real("first_collective_seconds", run.first_seconds);
}

void read_notes(Reader& reader, CollectiveRun& run) {
  const Json* notes = reader.find("notes");
  if (notes == nullptr) return;
  if (notes->as_array() == nullptr) return reader.blame("notes");
  for (const Json& note : *notes->as_array()) {
    if (note.as_string() == nullptr) return reader.blame("notes");
    run.notes.push_back(*note.as_string());
  }
}

}  // namespace

Json to_json(const CollectiveRun& run) {
  Json json = Json::object({{"schema", kRunSchema},
                            {"backend", run.backend},
                            {"version", run.version},
                            {"library", run.library},
                            {"started", run.started},
                            {"ranks", run.ranks},
                            {"nodes", run.nodes},
                            {"phantom", run.phantom},
                            {"interrupted", run.interrupted},
                            {"start", Json::object({{"launch_seconds", run.launch_seconds},
                                                    {"init_seconds", run.init_seconds},
                                                    {"first_collective_seconds", run.first_seconds}})}});
  Json notes = Json::array();
  for (const std::string& note : run.notes)
    notes.push_back(note);
  json.set("notes", std::move(notes));
  Json members = Json::array();
  for (const model::CollectiveRank& rank : run.members)
    members.push_back(member_json(rank));
  json.set("members", std::move(members));
  Json rows = Json::array();
  for (const model::CollectiveRow& row : run.rows)
    rows.push_back(row_json(row));
  json.set("rows", std::move(rows));
  if (run.pairs.empty()) return json;
  Json pairs = Json::array();
  for (const model::CollectivePair& pair : run.pairs)
    pairs.push_back(Json::object({{"from", pair.from},
                                  {"to", pair.to},
                                  {"bytes_per_second", pair.rate.value},
                                  {"latency_us", pair.latency_us}}));
  json.set("pairs", std::move(pairs));
  return json;
}

Result<CollectiveRun> run_of(const Json& json) {
  const Json* schema = json.find("schema");
  const std::string* said = schema == nullptr ? nullptr : schema->as_string();
  if (said == nullptr || *said != kRunSchema) {
    return fail(ErrorCode::kInvalidInput,
                fmt::format("no result of angio bench collective: schema {} expected, {} found", kRunSchema,
                            said == nullptr ? "none" : "\"" + printable(*said) + "\""));
  }
  CollectiveRun run;
  std::string wrong;
  Reader reader(json, wrong);
  reader.text("backend", run.backend);
  reader.text("version", run.version);
  reader.text("library", run.library);
  reader.text("started", run.started);
  reader.number("ranks", run.ranks);
  reader.number("nodes", run.nodes);
  reader.truth("phantom", run.phantom);
  reader.truth("interrupted", run.interrupted);
  read_start(reader, run, wrong);
  read_notes(reader, run);
  reader.each("members", [&](const Json& item) { run.members.push_back(member_of(item, wrong)); });
  reader.each("rows", [&](const Json& item) { run.rows.push_back(row_of(item, wrong)); });
  reader.each("pairs", [&](const Json& item) { run.pairs.push_back(pair_of(item, wrong)); });
  if (wrong.empty()) return run;
  return fail(ErrorCode::kInvalidInput,
              fmt::format("a result of angio bench collective whose \"{}\" is not what it should be", wrong));
}

Result<CollectiveRun> parse_run(std::string_view text) {
  auto json = parse_json(text);
  if (!json) return std::unexpected(std::move(json.error()));
  return run_of(*json);
}

}  // namespace angio::collective
