// The JSON lines of script.hpp. Strict: a member that is missing or of another type is an error, for both
// ends are this program.
#include <fmt/format.h>

#include <array>
#include <limits>

#include "base/json.hpp"
#include "base/text.hpp"
#include "nccl_run/script.hpp"

namespace angio::nccl_run {
namespace {

constexpr int kOneLine = -1;

// Takes members out of one object and remembers the first that is wrong.
class Members {
 public:
  explicit Members(const Json& object) : object_(object) {}

  template <typename Number>
  void take(std::string_view name, Number& to) {
    const Json* found = wanted(name);
    if (found == nullptr) return;
    const std::int64_t* value = found->as_integer();
    if (value == nullptr || !std::in_range<Number>(*value)) return refuse(name);
    to = static_cast<Number>(*value);
  }
  void take(std::string_view name, std::string& to) {
    const Json* found = wanted(name);
    if (found == nullptr) return;
    if (found->as_string() == nullptr) return refuse(name);
    to = *found->as_string();
  }
  void take(std::string_view name, bool& to) {
    const Json* found = wanted(name);
    if (found == nullptr) return;
    if (found->as_bool() == nullptr) return refuse(name);
    to = *found->as_bool();
  }
  void take(std::string_view name, double& to) {
    const Json* found = wanted(name);
    if (found == nullptr) return;
    const std::int64_t* whole = found->as_integer();
    if (found->as_double() == nullptr && whole == nullptr) return refuse(name);
    to = whole != nullptr ? static_cast<double>(*whole) : *found->as_double();
  }
  const Json::Array* list(std::string_view name) {
    const Json* found = wanted(name);
    if (found == nullptr) return nullptr;
    if (found->as_array() == nullptr) refuse(name);
    return found->as_array();
  }
  [[nodiscard]] bool has(std::string_view name) const { return object_.find(name) != nullptr; }
  void refuse(std::string_view name) {
    if (wrong_.empty()) wrong_ = name;
  }
  [[nodiscard]] Result<void> done(std::string_view what) const {
    if (wrong_.empty()) return {};
    return fail(ErrorCode::kBug, fmt::format("{}: \"{}\" is missing or not of its type", what, wrong_));
  }

 private:
  const Json* wanted(std::string_view name) {
    const Json* found = object_.find(name);
    if (found == nullptr) refuse(name);
    return found;
  }

  const Json& object_;
  std::string wrong_;
};

Json operations_json(const std::vector<Operation>& operations) {
  Json list = Json::array();
  for (const Operation& operation : operations)
    list.push_back(Json::object({{"collective", label(operation.collective)}, {"bytes", operation.bytes}}));
  return list;
}

void take_operations(Members& members, std::vector<Operation>& to) {
  const Json::Array* list = members.list("operations");
  if (list == nullptr) return;
  for (const Json& item : *list) {
    Members parts(item);
    std::string word;
    Operation operation;
    parts.take("collective", word);
    parts.take("bytes", operation.bytes);
    const Result<Collective> collective = parse_collective(word);
    if (!parts.done("") || !collective) return members.refuse("operations");
    operation.collective = *collective;
    to.push_back(operation);
  }
}

void take_devices(Members& members, std::vector<std::uint32_t>& to) {
  const Json::Array* list = members.list("devices");
  if (list == nullptr) return;
  for (const Json& item : *list) {
    const std::int64_t* value = item.as_integer();
    if (value == nullptr || !std::in_range<std::uint32_t>(*value)) return members.refuse("devices");
    to.push_back(static_cast<std::uint32_t>(*value));
  }
}

Result<void> check_script(const NodeScript& script) {
  const std::uint64_t last = std::uint64_t{script.first_rank} + script.ranks;
  const bool whole = script.devices.size() == script.ranks && script.ranks > 0 && last <= script.world &&
                     script.node < script.nodes;
  if (whole) return {};
  return fail(
      ErrorCode::kBug,
      fmt::format("script of a node: ranks {} to {} of {} on {} devices, node {} of {}", script.first_rank,
                  last, script.world, script.devices.size(), script.node, script.nodes));
}

Json report(std::string_view kind) {
  return Json::object({{"report", kind}});
}

Result<void> add_loaded(Members& members, NodeReports& reports) {
  LoadedReport loaded;
  members.take("version", loaded.version);
  members.take("redirect_ms", loaded.redirect_ms);
  members.take("provided", loaded.provided);
  members.take("refused", loaded.refused);
  members.take("progress", loaded.progress);
  if (Result<void> done = members.done("loaded"); !done) return done;
  reports.loaded = loaded;
  return {};
}

Result<void> add_id(Members& members, NodeReports& reports) {
  std::string id;
  members.take("id", id);
  if (Result<void> done = members.done("id"); !done) return done;
  reports.id = std::move(id);
  return {};
}

Result<void> add_init(Members& members, NodeReports& reports) {
  InitReport init;
  members.take("seconds", init.seconds);
  if (Result<void> done = members.done("init"); !done) return done;
  reports.init = init;
  return {};
}

Result<void> add_operation(Members& members, NodeReports& reports) {
  OperationReport operation;
  members.take("index", operation.index);
  if (members.has("estimate_us")) members.take("estimate_us", operation.estimate_us.emplace());
  members.take("enqueue_ms", operation.enqueue_ms);
  members.take("kernel", operation.kernel);
  members.take("grid", operation.grid);
  members.take("block", operation.block);
  if (Result<void> done = members.done("operation"); !done) return done;
  reports.operations.push_back(std::move(operation));
  return {};
}

Result<void> add_memory(Members& members, NodeReports& reports) {
  MemoryReport memory;
  members.take("device", memory.device);
  members.take("after_init", memory.after_init);
  members.take("peak", memory.peak);
  members.take("host", memory.host);
  if (Result<void> done = members.done("memory"); !done) return done;
  reports.memory.push_back(memory);
  return {};
}

Result<void> add_failed(Members& members, NodeReports& reports) {
  FailedReport failed;
  members.take("call", failed.call);
  if (members.has("result")) members.take("result", failed.result.emplace());
  members.take("text", failed.text);
  if (Result<void> done = members.done("failed"); !done) return done;
  reports.failed = std::move(failed);
  return {};
}

Result<void> add_refused(Members& members, NodeReports& reports) {
  std::string call;
  members.take("call", call);
  if (Result<void> done = members.done("refused"); !done) return done;
  reports.refused_calls.push_back(std::move(call));
  return {};
}

Result<void> add_done(Members& members, NodeReports& reports) {
  DoneReport finished;
  members.take("rss", finished.rss);
  if (Result<void> done = members.done("done"); !done) return done;
  reports.done = finished;
  return {};
}

struct ReportKind {
  std::string_view name;
  Result<void> (*add)(Members&, NodeReports&);
};
constexpr std::array<ReportKind, 8> kReports{{
    {"loaded", add_loaded},
    {"id", add_id},
    {"init", add_init},
    {"operation", add_operation},
    {"memory", add_memory},
    {"failed", add_failed},
    {"refused", add_refused},
    {"done", add_done},
}};

}  // namespace

std::string write_script(const NodeScript& script) {
  Json devices = Json::array();
  for (const std::uint32_t device : script.devices)
    devices.push_back(device);
  return to_text(Json::object({{"library", script.library},
                               {"redirect", script.redirect},
                               {"node", script.node},
                               {"nodes", script.nodes},
                               {"first_rank", script.first_rank},
                               {"ranks", script.ranks},
                               {"world", script.world},
                               {"devices", std::move(devices)},
                               {"operations", operations_json(script.operations)},
                               {"estimates", script.estimates},
                               {"progress", script.progress}}),
                 kOneLine);
}

Result<NodeScript> parse_script(std::string_view text) {
  const Result<Json> json = parse_json(text);
  if (!json) return std::unexpected(Error(json.error()).with_context("script of a node"));
  NodeScript script;
  Members members(*json);
  members.take("library", script.library);
  members.take("redirect", script.redirect);
  members.take("node", script.node);
  members.take("nodes", script.nodes);
  members.take("first_rank", script.first_rank);
  members.take("ranks", script.ranks);
  members.take("world", script.world);
  members.take("estimates", script.estimates);
  members.take("progress", script.progress);
  take_devices(members, script.devices);
  take_operations(members, script.operations);
  if (const Result<void> done = members.done("script of a node"); !done) return std::unexpected(done.error());
  if (const Result<void> whole = check_script(script); !whole) return std::unexpected(whole.error());
  return script;
}

Result<void> add_report(std::string_view line, NodeReports& reports) {
  const Result<Json> json = parse_json(line);
  if (!json) return std::unexpected(Error(json.error()).with_context("report of a node"));
  Members members(*json);
  std::string name;
  members.take("report", name);
  for (const ReportKind& kind : kReports) {
    if (kind.name == name) return kind.add(members, reports);
  }
  return fail(ErrorCode::kBug, fmt::format("a node reported \"{}\", which is no report", printable(name)));
}

std::string write_loaded(const LoadedReport& loaded) {
  Json json = report("loaded");
  json.set("version", loaded.version);
  json.set("redirect_ms", loaded.redirect_ms);
  json.set("provided", loaded.provided);
  json.set("refused", loaded.refused);
  json.set("progress", loaded.progress);
  return to_text(json, kOneLine);
}

std::string write_id(std::string_view hexadecimal) {
  Json json = report("id");
  json.set("id", hexadecimal);
  return to_text(json, kOneLine);
}

std::string write_init(const InitReport& init) {
  Json json = report("init");
  json.set("seconds", init.seconds);
  return to_text(json, kOneLine);
}

std::string write_operation(const OperationReport& operation) {
  Json json = report("operation");
  json.set("index", operation.index);
  if (operation.estimate_us) json.set("estimate_us", *operation.estimate_us);
  json.set("enqueue_ms", operation.enqueue_ms);
  json.set("kernel", operation.kernel);
  json.set("grid", operation.grid);
  json.set("block", operation.block);
  return to_text(json, kOneLine);
}

std::string write_memory(const MemoryReport& memory) {
  Json json = report("memory");
  json.set("device", memory.device);
  json.set("after_init", memory.after_init);
  json.set("peak", memory.peak);
  json.set("host", memory.host);
  return to_text(json, kOneLine);
}

std::string write_failed(const FailedReport& failed) {
  Json json = report("failed");
  json.set("call", failed.call);
  if (failed.result) json.set("result", *failed.result);
  json.set("text", failed.text);
  return to_text(json, kOneLine);
}

std::string write_refused(std::string_view call) {
  Json json = report("refused");
  json.set("call", call);
  return to_text(json, kOneLine);
}

std::string write_done(const DoneReport& done) {
  Json json = report("done");
  json.set("rss", done.rss);
  return to_text(json, kOneLine);
}

}  // namespace angio::nccl_run
