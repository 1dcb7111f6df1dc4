#include "experiment/tune_ledger.hpp"

#include <fmt/format.h>

#include "base/json.hpp"
#include "base/text.hpp"

namespace angio::experiment {
namespace {

constexpr const char* kSchema = "angio.tune-ledger/1";

std::string text_of(const Json& json, std::string_view key) {
  const Json* value = json.find(key);
  const std::string* text = value == nullptr ? nullptr : value->as_string();
  return text == nullptr ? std::string() : *text;
}

std::optional<double> number_of(const Json* value) {
  if (value == nullptr) return std::nullopt;
  if (const auto* whole = value->as_integer()) return static_cast<double>(*whole);
  if (const auto* number = value->as_double()) return *number;
  return std::nullopt;
}

std::optional<std::uint32_t> count_in(const Json& json, std::string_view key) {
  const Json* value = json.find(key);
  const auto* whole = value == nullptr ? nullptr : value->as_integer();
  if (whole == nullptr || *whole < 0 || *whole > UINT32_MAX) return std::nullopt;
  return static_cast<std::uint32_t>(*whole);
}

Json or_null(const std::optional<double>& value) {
  return value ? Json(*value) : Json();
}

std::unexpected<Error> wrong(const std::string& name, std::size_t line, const std::string& words) {
  return fail(ErrorCode::kInvalidInput, fmt::format("{}:{}: {}", printable(name), line, words),
              "it is no ledger of angio tune, or somebody changed it");
}

Result<LedgerHead> parse_head(std::string_view line, const std::string& name) {
  const auto json = parse_json(line);
  if (!json || text_of(*json, "ledger") != kSchema)
    return wrong(name, 1, fmt::format("expected the head of a ledger ({})", kSchema));
  LedgerHead head{text_of(*json, "description_name"),
                  text_of(*json, "description"),
                  0,
                  text_of(*json, "started"),
                  text_of(*json, "host"),
                  text_of(*json, "angio"),
                  {}};
  const auto seed = parse_integer<std::uint64_t>(text_of(*json, "seed"));
  if (!seed) return wrong(name, 1, "no seed");
  head.seed = *seed;
  const Json* environment = json->find("environment");
  if (environment != nullptr && environment->as_object() != nullptr) {
    for (const auto& [key, value] : *environment->as_object()) {
      if (value.as_string() != nullptr) head.environment.emplace_back(key, *value.as_string());
    }
  }
  return head;
}

std::optional<LedgerRun> parse_run(std::string_view line) {
  const auto json = parse_json(line);
  if (!json) return std::nullopt;
  const auto number = count_in(*json, "run");
  const auto block = count_in(*json, "block");
  const auto arm = count_in(*json, "setting");
  const auto seconds = number_of(json->find("seconds"));
  const Json* warm_up = json->find("warm_up");
  if (!number || !block || !arm || !seconds || warm_up == nullptr || warm_up->as_bool() == nullptr)
    return std::nullopt;
  LedgerRun run;
  run.run.plan = {*number, *block, *arm, *warm_up->as_bool()};
  run.arm = text_of(*json, "setting_name");
  run.started = text_of(*json, "started");
  RunResult& result = run.run.result;
  result.seconds = *seconds;
  result.value = number_of(json->find("value"));
  result.exit_code = static_cast<int>(number_of(json->find("exit_code")).value_or(0));
  result.failure = text_of(*json, "failure");
  result.last_lines = text_of(*json, "last_lines");
  const Json* watches = json->find("watches");
  if (watches != nullptr && watches->as_array() != nullptr) {
    for (const Json& value : *watches->as_array())
      result.watches.push_back(number_of(&value));
  }
  return run;
}

}  // namespace

std::string head_line(const LedgerHead& head) {
  Json environment = Json::object();
  for (const auto& [name, value] : head.environment)
    environment.set(name, value);
  return to_text(Json::object({{"ledger", kSchema},
                               {"angio", head.angio},
                               {"started", head.started},
                               {"host", head.host},
                               {"seed", fmt::format("{}", head.seed)},
                               {"description_name", head.spec_name},
                               {"description", head.spec_text},
                               {"environment", std::move(environment)}}),
                 -1) +
         "\n";
}

std::string run_line(const LedgerRun& run) {
  const RunResult& result = run.run.result;
  Json watches = Json::array();
  for (const auto& value : result.watches)
    watches.push_back(or_null(value));
  Json json = Json::object({{"run", run.run.plan.number},
                            {"block", run.run.plan.block},
                            {"setting", run.run.plan.arm},
                            {"setting_name", run.arm},
                            {"warm_up", run.run.plan.warm_up},
                            {"started", run.started},
                            {"seconds", result.seconds},
                            {"value", or_null(result.value)},
                            {"watches", std::move(watches)},
                            {"exit_code", result.exit_code}});
  if (!result.value) {
    json.set("failure", result.failure);
    json.set("last_lines", result.last_lines);
  }
  return to_text(json, -1) + "\n";
}

Result<Ledger> parse_ledger(std::string_view text, const std::string& name) {
  Ledger ledger;
  std::size_t line = 0;
  while (ledger.whole_bytes < text.size()) {
    const std::string_view rest = text.substr(ledger.whole_bytes);
    const std::size_t end = rest.find('\n');
    if (end == std::string_view::npos) break;
    ++line;
    const std::string_view content = rest.substr(0, end);
    if (line == 1) {
      auto head = parse_head(content, name);
      if (!head) return std::unexpected(std::move(head.error()));
      ledger.head = std::move(*head);
    } else {
      auto run = parse_run(content);
      const bool last = end + 1 == rest.size();
      if (!run && last) break;  // a crash of the machine may leave blocks of zeros
      if (!run) return wrong(name, line, "no run");
      ledger.runs.push_back(std::move(*run));
    }
    ledger.whole_bytes += end + 1;
  }
  if (line == 0) return wrong(name, 1, "it has no whole line");
  ledger.cut = ledger.whole_bytes < text.size();
  return ledger;
}

Result<void> replay(const Ledger& ledger, Campaign& campaign, const std::string& name) {
  for (std::size_t at = 0; at < ledger.runs.size(); ++at) {
    const LedgerRun& run = ledger.runs[at];
    const auto plan = campaign.next();
    if (!plan) return wrong(name, at + 2, "a run after the end of the campaign");
    const PlannedRun& had = run.run.plan;
    if (had.number != plan->number || had.block != plan->block || had.arm != plan->arm ||
        had.warm_up != plan->warm_up || run.run.result.watches.size() > campaign.wish().watches.size()) {
      return wrong(name, at + 2,
                   fmt::format("run {} of setting {} in block {}, expected run {} of setting {} in block {}",
                               had.number, had.arm, had.block, plan->number, plan->arm, plan->block));
    }
    campaign.add(run.run.result);
  }
  return {};
}

}  // namespace angio::experiment
