#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "base/format.hpp"
#include "base/text.hpp"
#include "judge/levels.hpp"
#include "knowledge/knowledge.hpp"

namespace angio::judge {
namespace {

constexpr double kPercent = 100;

std::optional<double> number_at(const Json& json, std::string_view key) {
  const Json* member = json.find(key);
  if (member == nullptr) return std::nullopt;
  if (const double* value = member->as_double())
    return std::isfinite(*value) ? std::optional(*value) : std::nullopt;
  if (const std::int64_t* value = member->as_integer()) return static_cast<double>(*value);
  return std::nullopt;
}

std::string text_at(const Json& json, std::string_view key) {
  const Json* member = json.find(key);
  const std::string* text = member != nullptr ? member->as_string() : nullptr;
  return text != nullptr ? *text : std::string();
}

JudgedRow share_row(const char* what, double share, double limit) {
  JudgedRow row;
  row.what = what;
  row.measured = share * kPercent;
  row.high = limit * kPercent;
  row.unit = "% of a step";
  row.higher_is_better = false;
  row.verdict = share > limit ? Verdict::kLow : Verdict::kNormal;
  return row;
}

}  // namespace

Result<StepFigures> parse_step_figures(const Json& json, const std::string& name) {
  const auto wrong = [&](const char* why) {
    return fail(ErrorCode::kInvalidInput, name + ": " + why, "It reads the JSON of angio bench step");
  };
  if (!text_at(json, "schema").starts_with("angio.bench-step/"))
    return wrong("is no result of angio bench step");
  StepFigures figures;
  const Json* step = json.find("step");
  const auto median = step != nullptr ? number_at(*step, "median_ms") : std::nullopt;
  const auto plain = step != nullptr ? number_at(*step, "median") : std::nullopt;
  figures.step_ms = median ? *median : plain.value_or(0);
  if (figures.step_ms <= 0) return wrong("has no step time");
  figures.exposed_share = number_at(json, "exposed_share");
  figures.ranks = static_cast<std::uint32_t>(std::clamp(number_at(json, "ranks").value_or(0), 0.0, 1e9));
  figures.backend = text_at(json, "backend");
  if (const Json* phantom = json.find("phantom"); phantom != nullptr && phantom->as_bool() != nullptr)
    figures.phantom = *phantom->as_bool();
  std::set<std::string> hosts;
  if (const Json* ranks = json.find("by_rank"); ranks != nullptr && ranks->as_array() != nullptr)
    for (const Json& rank : *ranks->as_array()) {
      hosts.insert(text_at(rank, "host"));
      figures.input_share =
          std::max(figures.input_share, number_at(rank, "input_ms").value_or(0) / figures.step_ms);
    }
  figures.hosts = static_cast<std::uint32_t>(hosts.size());
  if (const Json* slow = json.find("slow_rank"); slow != nullptr && slow->as_object() != nullptr)
    figures.slow = fmt::format("rank {:g} takes {:.3g} ms for {}, the others {:.3g} ms",
                               number_at(*slow, "rank").value_or(0), number_at(*slow, "own_ms").value_or(0),
                               printable(text_at(*slow, "by")), number_at(*slow, "usual_ms").value_or(0));
  return figures;
}

LevelResult step_level(const StepFigures& figures, const std::string& source) {
  LevelResult result;
  result.level = Level::kStep;
  result.source = source;
  result.basis = "heuristic: shares of a step";
  result.several_nodes = figures.hosts > 1;
  result.state = LevelState::kUndecided;
  if (figures.phantom) {
    result.why = "The GPUs are phantoms: times mean nothing.";
    return result;
  }
  const double input_alarm = knowledge::threshold("levels.input-alarm");
  if (figures.input_share > input_alarm) {
    result.state = LevelState::kBelow;
    result.rows.push_back(
        share_row("waiting for input, the rank that waits longest", figures.input_share, input_alarm));
    result.answer =
        fmt::format("A step of {:.3g} ms waits {:.0f} % of it for input: the loader, not the network.",
                    figures.step_ms, figures.input_share * kPercent);
    result.next.push_back("more loader workers or prefetch; is the storage shared?");
    return result;
  }
  if (!figures.slow.empty()) {
    result.state = LevelState::kBelow;
    result.answer = fmt::format("One rank keeps the others waiting: {}.", figures.slow);
    result.next.push_back("the GPU of that rank: clocks, throttling, PCIe link (angio doctor)");
    return result;
  }
  if (!figures.exposed_share) {
    result.why = fmt::format(
        "Exposed communication of a step with {} cannot be seen from outside; angio bench step "
        "--compare-no-comm measures it.",
        figures.backend.empty() ? "this library" : printable(figures.backend));
    return result;
  }
  const double goal = knowledge::threshold("levels.exposed-goal");
  const double alarm = knowledge::threshold("levels.exposed-alarm");
  const double share = *figures.exposed_share;
  result.rows.push_back(share_row("exposed communication", share, alarm));
  const std::string words = fmt::format("A step of {:.3g} ms over {} waits {:.0f} % of it for communication",
                                        figures.step_ms, count_of(figures.ranks, "rank"), share * kPercent);
  if (share > alarm) {
    result.state = LevelState::kBelow;
    result.answer = fmt::format("{}; more than {:.0f} %.", words, alarm * kPercent);
    result.next.push_back(
        "larger batch or buckets, overlap with backward; then the profile of the job (level 3)");
  } else if (share <= goal) {
    result.state = LevelState::kHolds;
    result.answer = words + ".";
  } else {
    result.why = fmt::format("{}: between the goal of {:.0f} % and the alarm of {:.0f} %.", words,
                             goal * kPercent, alarm * kPercent);
  }
  return result;
}

Result<LevelResult> mesh_level(const Json& json, const std::string& source) {
  if (!text_at(json, "schema").starts_with("angio.mesh/"))
    return fail(ErrorCode::kInvalidInput, source + ": is no result of angio mesh", "");
  LevelResult result;
  result.level = Level::kNetwork;
  result.source = source;
  result.basis = "the pairs against each other and their ports";
  result.several_nodes = true;
  const Json* findings = json.find("findings");
  const Json* measures = json.find("measures");
  if (measures == nullptr || measures->as_array() == nullptr || measures->as_array()->empty()) {
    result.state = LevelState::kUndecided;
    result.why = "The mesh has no figure.";
    return result;
  }
  std::size_t bad = 0;
  std::string first;
  if (findings != nullptr && findings->as_array() != nullptr)
    for (const Json& finding : *findings->as_array()) {
      const std::string severity = text_at(finding, "severity");
      if (severity != "warning" && severity != "critical") continue;
      if (bad++ == 0) first = text_at(finding, "title");
      result.next.push_back(text_at(finding, "title"));
    }
  result.state = bad > 0 ? LevelState::kBelow : LevelState::kHolds;
  result.answer = bad > 0 ? printable(first) +
                                (bad > 1 ? fmt::format(", and {} more.", count_of(bad - 1, "finding")) : ".")
                          : count_of(measures->as_array()->size(), "pair") + " are as they should be.";
  return result;
}

}  // namespace angio::judge
