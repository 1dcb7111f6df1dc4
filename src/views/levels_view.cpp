#include "views/levels_view.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"
#include "views/metrics_json.hpp"

namespace angio::views {

using judge::JudgedRow;
using judge::Level;
using judge::LevelResult;
using judge::LevelState;
using report::Align;
using report::Document;
using report::Fields;
using report::Paragraph;
using report::plain;
using report::Table;
using report::Tone;
using report::toned;

namespace {

Tone tone_of(LevelState state) {
  switch (state) {
    case LevelState::kHolds:
      return Tone::kGood;
    case LevelState::kBelow:
      return Tone::kWarning;
    case LevelState::kImpossible:
      return Tone::kCritical;
    case LevelState::kUndecided:
      return Tone::kUnknown;
    case LevelState::kNotRun:
      break;
  }
  return Tone::kQuiet;
}

std::string state_words(LevelState state) {
  return state == LevelState::kNotRun ? "not run" : std::string(judge::word_of(state));
}

std::string from_words(const LevelResult& level) {
  if (level.state == LevelState::kNotRun) return level.why;
  return level.source.empty() ? "-" : level.source;
}

std::string row_words(const JudgedRow& row) {
  std::string words = fmt::format("{}: {:.4g} {}", printable(row.what), row.measured, printable(row.unit));
  if (row.expected > 0) words += fmt::format(", expected {:.4g}", row.expected);
  if (row.low > 0) words += fmt::format(", at least {:.4g}", row.low);
  if (row.expected <= 0 && row.low <= 0 && row.high > 0) words += fmt::format(", at most {:.4g}", row.high);
  if (!row.limit.empty()) words += "; limit: " + printable(row.limit);
  return words;
}

std::vector<const LevelResult*> by_number(const LevelsShow& show) {
  std::vector<const LevelResult*> sorted;
  for (const LevelResult& level : show.levels)
    sorted.push_back(&level);
  std::ranges::stable_sort(sorted, {}, [](const LevelResult* one) { return judge::number_of(one->level); });
  return sorted;
}

Json rows_json(const LevelResult& level) {
  Json rows = Json::array();
  for (const JudgedRow& row : level.rows)
    rows.push_back(Json::object({{"what", row.what},
                                 {"measured", row.measured},
                                 {"expected", row.expected > 0 ? Json(row.expected) : Json()},
                                 {"low", row.low > 0 ? Json(row.low) : Json()},
                                 {"high", row.high > 0 ? Json(row.high) : Json()},
                                 {"unit", row.unit},
                                 {"limit", row.limit}}));
  return rows;
}

Json texts(const std::vector<std::string>& list) {
  Json json = Json::array();
  for (const std::string& text : list)
    json.push_back(text);
  return json;
}

std::vector<model::Metric> metrics_of(const LevelsShow& show) {
  std::vector<model::Metric> metrics;
  for (const LevelResult* level : by_number(show)) {
    const std::string subject = fmt::format("level {}", judge::number_of(level->level));
    metrics.push_back(
        {subject, "state", 0, std::string(judge::word_of(level->state)), "", model::MetricKind::kState});
    for (const JudgedRow& row : level->rows)
      if (std::ranges::none_of(metrics, [&](const model::Metric& one) {
            return one.subject == subject && one.name == row.what;
          }))
        metrics.push_back(
            {subject, row.what, row.measured, "", row.unit,
             row.higher_is_better ? model::MetricKind::kHigherIsBetter : model::MetricKind::kLowerIsBetter});
  }
  return metrics;
}

}  // namespace

Document levels_document(const LevelsShow& show) {
  Document document;
  document.blocks.emplace_back(Paragraph{toned(printable(show.verdict.answer), Tone::kStrong)});
  Table table{{{"level", Align::kRight}, {"what"}, {"state"}, {"from"}}, {}};
  for (const LevelResult* level : by_number(show))
    table.rows.push_back({plain(std::to_string(judge::number_of(level->level))),
                          plain(std::string(judge::title_of(level->level))),
                          toned(state_words(level->state), tone_of(level->state)),
                          toned(printable(from_words(*level)), Tone::kQuiet)});
  document.blocks.emplace_back(std::move(table));
  for (const LevelResult* level : by_number(show)) {
    if (level->state == LevelState::kNotRun) continue;
    Fields fields{{}, 12};
    const std::string words = level->answer.empty() ? level->why : level->answer;
    fields.rows.emplace_back(fmt::format("level {}", judge::number_of(level->level)),
                             plain(printable(words)));
    for (const JudgedRow& row : level->rows)
      fields.rows.emplace_back("seen", plain(row_words(row)));
    if (!level->answer.empty() && !level->why.empty())
      fields.rows.emplace_back("not judged", toned(printable(level->why), Tone::kQuiet));
    if (!level->basis.empty())
      fields.rows.emplace_back("against", toned(printable(level->basis), Tone::kQuiet));
    document.blocks.emplace_back(std::move(fields));
  }
  Fields rest{{}, 12};
  for (const std::string& next : show.verdict.next)
    rest.rows.emplace_back("next", plain(printable(next)));
  for (const std::string& note : show.notes)
    rest.rows.emplace_back("note", toned(printable(note), Tone::kQuiet));
  if (!rest.rows.empty()) document.blocks.emplace_back(std::move(rest));
  return document;
}

Json levels_json(const LevelsShow& show) {
  Json levels = Json::array();
  for (const LevelResult* level : by_number(show))
    levels.push_back(Json::object({{"level", judge::number_of(level->level)},
                                   {"title", judge::title_of(level->level)},
                                   {"state", judge::word_of(level->state)},
                                   {"source", level->source},
                                   {"answer", level->answer},
                                   {"why", level->why},
                                   {"against", level->basis},
                                   {"rows", rows_json(*level)},
                                   {"next", texts(level->next)}}));
  return Json::object(
      {{"schema", "angio.bench-all/1"},
       {"tool", show.tool},
       {"captured", show.captured},
       {"subject", show.subject},
       {"environment", show.environment},
       {"interrupted", show.interrupted},
       {"verdict", Json::object({{"state", judge::word_of(show.verdict.state)},
                                 {"first_level",
                                  show.verdict.first ? Json(judge::number_of(*show.verdict.first)) : Json()},
                                 {"answer", show.verdict.answer},
                                 {"next", texts(show.verdict.next)}})},
       {"levels", std::move(levels)},
       {"notes", texts(show.notes)},
       {"metrics", metrics_json(metrics_of(show))}});
}

}  // namespace angio::views
