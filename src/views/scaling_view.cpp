#include "views/scaling_view.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/format.hpp"
#include "base/text.hpp"
#include "views/metrics_json.hpp"

namespace angio::views {

using report::Align;
using report::Block;
using report::Document;
using report::Fields;
using report::Paragraph;
using report::plain;
using report::Table;
using report::Tone;
using report::toned;
using scaling::Measure;
using scaling::Mode;
using scaling::RemarkKind;
using scaling::ScaledPoint;
using scaling::Scaling;
using scaling::Term;

namespace {

constexpr std::size_t kSeriesShown = 4;  // in full; more are listed

std::string percent(double share) {
  constexpr double kPercent = 100;
  return fmt::format("{:.3g} %", share * kPercent);
}

std::string range_words(const scaling::Interval& range) {
  return percent(range.low) + " to " + percent(range.high);
}

// "87.1-110 %", for a table.
std::string short_range(const scaling::Interval& range) {
  constexpr double kPercent = 100;
  return fmt::format("{:.3g}-{:.3g} %", range.low * kPercent, range.high * kPercent);
}

std::string devices(const Scaling& scaling, std::uint32_t count) {
  return count_of(count, printable(scaling.series.device));
}

std::string value_words(const Scaling& scaling, double value) {
  if (scaling.series.measure == Measure::kTime && scaling.series.unit == "s")
    return value < 1 ? fmt::format("{:.4g} ms", value * 1e3) : fmt::format("{:.4g} s", value);
  return fmt::format("{:.5g}", value);
}

std::string value_title(const Scaling& scaling) {
  if (scaling.series.measure == Measure::kTime && scaling.series.unit == "s")
    return printable(scaling.series.metric);
  const std::string unit = printable(scaling.series.unit);
  const std::string metric = printable(scaling.series.metric);
  return unit.empty() || contains(metric, unit) ? metric : metric + ", " + unit;
}

Table point_table(const Scaling& scaling) {
  const bool repeated =
      std::ranges::any_of(scaling.points, [](const ScaledPoint& p) { return p.repeats > 1; });
  Table table{{{printable(scaling.series.device) + "s", Align::kRight}}, {}};
  if (repeated) table.columns.push_back({"repeats", Align::kRight});
  table.columns.push_back({value_title(scaling), Align::kRight});
  table.columns.push_back({"speed-up", Align::kRight});
  table.columns.push_back({"ideal", Align::kRight});
  table.columns.push_back({"efficiency", Align::kRight});
  if (repeated) table.columns.push_back({"95 %", Align::kRight});
  table.columns.push_back({"of the added", Align::kRight});
  for (const ScaledPoint& point : scaling.points) {
    const bool base = point.count == scaling.baseline;
    const bool beyond = scaling.knee && point.count > scaling.knee->after;
    std::vector<report::Line> row{plain(std::to_string(point.count))};
    if (repeated) row.push_back(plain(std::to_string(point.repeats)));
    row.push_back(plain(value_words(scaling, point.value)));
    row.push_back(plain(fmt::format("{:.4g}", point.speedup)));
    row.push_back(toned(fmt::format("{:.4g}", point.ideal), Tone::kQuiet));
    row.push_back(
        toned(base ? "baseline" : percent(point.efficiency), beyond ? Tone::kWarning : Tone::kStrong));
    if (repeated) row.push_back(toned(point.range ? short_range(*point.range) : "", Tone::kQuiet));
    row.push_back(plain(point.gained ? percent(*point.gained) : ""));
    table.rows.push_back(std::move(row));
  }
  return table;
}

std::string_view law_name(Mode mode) {
  return mode == Mode::kStrong ? "Amdahl" : "Gustafson";
}

// A share below what the figures can tell is none.
constexpr double kNoShare = 1e-6;

std::string split_words(const Scaling& scaling) {
  if (!scaling.split) return scaling.no_split;
  const scaling::Split& split = *scaling.split;
  const std::string share = percent(split.serial < kNoShare ? 0 : split.serial);
  std::string words = scaling.mode == Mode::kStrong
                          ? fmt::format("{} of the time at {} does not get shorter (Amdahl", share,
                                        devices(scaling, scaling.baseline))
                          : fmt::format("{} of the work of {} does not grow with N (Gustafson", share,
                                        devices(scaling, scaling.baseline));
  words += split.range ? "; 95 %: " + range_words(*split.range) + ")" : "; two N: no interval)";
  if (scaling.mode == Mode::kStrong && split.serial > kNoShare)
    words += fmt::format(": never more than {:.3g} times as fast", 1 / split.serial);
  if (!split.fits)
    words += fmt::format(". The law does not describe these results: a point lies {} from it",
                         percent(split.worst));
  return words;
}

std::string_view term_words(Term term) {
  switch (term) {
    case Term::kPerDevice:
      return "work that is divided among the devices";
    case Term::kConstant:
      return "the same at every N";
    case Term::kLogarithm:
      return "grows with log N, as trees and handshakes do";
    case Term::kLinear:
      return "grows with N, as rings over many steps and stragglers do";
  }
  return "";
}
std::string_view term_name(Term term) {
  switch (term) {
    case Term::kPerDevice:
      return "1/N";
    case Term::kConstant:
      return "constant";
    case Term::kLogarithm:
      return "log N";
    case Term::kLinear:
      return "N";
  }
  return "";
}

std::string growth_words(const Scaling& scaling) {
  std::vector<std::string> parts;
  for (const scaling::GrowthTerm& term : scaling.growth->terms)
    if (term.at_most > 0) parts.push_back(percent(term.at_most) + " " + std::string(term_words(term.term)));
  std::string words = fmt::format("at {}, {} of the time: {}", devices(scaling, scaling.points.back().count),
                                  parts.size() > 1 ? "shares" : "share", join(parts, "; "));
  if (scaling.growth->ambiguous) words += ". Another form fits as well: take it as a hint";
  return words;
}

std::string_view remark_label(RemarkKind kind) {
  switch (kind) {
    case RemarkKind::kSuperLinear:
      return "suspicious";
    case RemarkKind::kContradictory:
      return "conflict";
    case RemarkKind::kSpread:
      return "spread";
    case RemarkKind::kNoRepeats:
    case RemarkKind::kBaseline:
      break;
  }
  return "note";
}
std::string_view remark_word(RemarkKind kind) {
  switch (kind) {
    case RemarkKind::kSuperLinear:
      return "super_linear";
    case RemarkKind::kContradictory:
      return "contradictory";
    case RemarkKind::kSpread:
      return "spread";
    case RemarkKind::kNoRepeats:
      return "no_repeats";
    case RemarkKind::kBaseline:
      break;
  }
  return "baseline";
}

Fields finding_fields(const ScalingAnswer& answer) {
  const Scaling& scaling = answer.scaling;
  Fields fields{{}, 12};
  fields.rows.emplace_back("serial", plain(split_words(scaling)));
  if (scaling.growth) fields.rows.emplace_back("growth", plain(growth_words(scaling)));
  if (!scaling.growth && scaling.points.size() > 2)
    fields.rows.emplace_back("growth", toned("not told: " + scaling.no_growth, Tone::kQuiet));
  if (scaling.noise)
    fields.rows.emplace_back("noise", plain(percent(*scaling.noise) + " of one result, from the repeats"));
  for (const scaling::Remark& remark : scaling.remarks)
    fields.rows.emplace_back(
        std::string(remark_label(remark.kind)),
        toned(remark.words, remark.kind == RemarkKind::kNoRepeats ? Tone::kQuiet : Tone::kWarning));
  if (!answer.alternatives.empty()) {
    std::vector<std::string> names;
    for (const std::string& name : answer.alternatives)
      if (names.size() < 6) names.push_back(printable(name));
    fields.rows.emplace_back("also", toned(join(names, ", ") + " (--metric NAME)", Tone::kQuiet));
  }
  return fields;
}

std::string headline(const ScalingAnswer& answer) {
  const Scaling& scaling = answer.scaling;
  return fmt::format("{}{} scaling of {} over {} ({})",
                     scaling.series.name.empty() ? "" : printable(scaling.series.name) + ": ",
                     scaling::word_of(scaling.mode), printable(scaling.series.metric),
                     devices(scaling, scaling.baseline), answer.mode_from);
}

Table overview(const ScalingShow& show) {
  Table table{{{"series"},
               {"mode"},
               {"N", Align::kRight},
               {"efficiency", Align::kRight},
               {"falls off beyond", Align::kRight}},
              {}};
  for (const ScalingAnswer& answer : show.answers) {
    const Scaling& scaling = answer.scaling;
    table.rows.push_back({plain(scaling.series.name.empty() ? printable(scaling.series.metric)
                                                            : printable(scaling.series.name)),
                          plain(std::string(scaling::word_of(scaling.mode))),
                          plain(fmt::format("{} to {}", scaling.baseline, scaling.points.back().count)),
                          toned(percent(scaling.points.back().efficiency), Tone::kStrong),
                          plain(scaling.knee ? std::to_string(scaling.knee->after) : "-")});
  }
  return table;
}

void add_notes(const ScalingShow& show, Document& document) {
  Fields fields{{}, 12};
  if (show.single > 0)
    fields.rows.emplace_back(
        "left out", toned(fmt::format("{} series with results at one N only", show.single), Tone::kQuiet));
  if (show.silent > 0)
    fields.rows.emplace_back(
        "undecided",
        toned(
            fmt::format("{} series without a word whether it is strong or weak scaling: --mode", show.silent),
            Tone::kQuiet));
  constexpr std::size_t kNotes = 8;
  for (std::size_t at = 0; at < show.notes.size(); ++at) {
    if (at == kNotes) {
      fields.rows.emplace_back("",
                               toned(fmt::format("and {} more", show.notes.size() - kNotes), Tone::kQuiet));
      break;
    }
    const scaling::Note& note = show.notes[at];
    std::string words = printable(note.words);
    if (note.count > 1)
      words += fmt::format(" ({} times, first in line {})", note.count, note.line);
    else if (note.line > 0)
      words += fmt::format(" (line {})", note.line);
    fields.rows.emplace_back("not read", toned(words, Tone::kQuiet));
  }
  if (!fields.rows.empty()) document.blocks.emplace_back(std::move(fields));
}

Json interval_json(const std::optional<scaling::Interval>& range) {
  if (!range) return {};
  return Json::object({{"low", range->low}, {"high", range->high}, {"confidence", scaling::kConfidence}});
}

Json knee_json(const Scaling& scaling) {
  if (!scaling.knee) return {};
  const scaling::Knee& knee = *scaling.knee;
  const char* certainty = knee.certainty == scaling::Certainty::kClear       ? "clear"
                          : knee.certainty == scaling::Certainty::kUncertain ? "uncertain"
                                                                             : "unknown";
  Json json = Json::object(
      {{"after", knee.after}, {"next", knee.next}, {"gained", knee.gained}, {"certainty", certainty}});
  if (!knee.why.empty()) json.set("why", knee.why);
  return json;
}

Json split_json(const Scaling& scaling) {
  if (!scaling.split) return {};
  return Json::object({{"law", to_lower(law_name(scaling.mode))},
                       {"serial", scaling.split->serial},
                       {"range", interval_json(scaling.split->range)},
                       {"worst_distance", scaling.split->worst},
                       {"fits", scaling.split->fits}});
}

Json growth_json(const Scaling& scaling) {
  if (!scaling.growth) return {};
  Json terms = Json::array();
  for (const scaling::GrowthTerm& term : scaling.growth->terms)
    terms.push_back(Json::object({{"term", term_name(term.term)}, {"share_at_largest", term.at_most}}));
  return Json::object({{"terms", std::move(terms)},
                       {"ambiguous", scaling.growth->ambiguous},
                       {"worst_distance", scaling.growth->worst}});
}

}  // namespace

std::vector<Block> scaling_blocks(const ScalingAnswer& answer) {
  std::vector<Block> blocks;
  blocks.emplace_back(Paragraph{plain(headline(answer))});
  blocks.emplace_back(Paragraph{toned(answer.scaling.answer, Tone::kStrong)});
  blocks.emplace_back(point_table(answer.scaling));
  blocks.emplace_back(finding_fields(answer));
  return blocks;
}

Json scaling_json(const ScalingAnswer& answer) {
  const Scaling& scaling = answer.scaling;
  const scaling::Series& series = scaling.series;
  Json points = Json::array();
  for (const ScaledPoint& point : scaling.points)
    points.push_back(Json::object({{"count", point.count},
                                   {"repeats", point.repeats},
                                   {"value", point.value},
                                   {"speedup", point.speedup},
                                   {"ideal", point.ideal},
                                   {"efficiency", point.efficiency},
                                   {"efficiency_range", interval_json(point.range)},
                                   {"gained", point.gained ? Json(*point.gained) : Json()}}));
  Json remarks = Json::array();
  for (const scaling::Remark& remark : scaling.remarks) {
    Json lines = Json::array();
    for (const std::uint32_t line : remark.lines)
      lines.push_back(line);
    remarks.push_back(Json::object(
        {{"kind", remark_word(remark.kind)}, {"words", remark.words}, {"lines", std::move(lines)}}));
  }
  return Json::object({{"series", series.name},
                       {"metric", series.metric},
                       {"unit", series.unit},
                       {"device", series.device},
                       {"mode", scaling::word_of(scaling.mode)},
                       {"mode_from", answer.mode_from},
                       {"baseline", scaling.baseline},
                       {"answer", scaling.answer},
                       {"points", std::move(points)},
                       {"noise", scaling.noise ? Json(*scaling.noise) : Json()},
                       {"knee", knee_json(scaling)},
                       {"split", split_json(scaling)},
                       {"growth", growth_json(scaling)},
                       {"remarks", std::move(remarks)}});
}

Document scaling_document(const ScalingShow& show) {
  Document document;
  if (show.answers.size() > kSeriesShown) {
    document.blocks.emplace_back(
        Paragraph{plain(fmt::format("{}: {} series (--where COLUMN=VALUE shows one in full)",
                                    printable(show.source), show.answers.size()))});
    document.blocks.emplace_back(overview(show));
  } else {
    for (const ScalingAnswer& answer : show.answers)
      for (Block& block : scaling_blocks(answer))
        document.blocks.push_back(std::move(block));
  }
  add_notes(show, document);
  return document;
}

Document scaling_page(const ScalingShow& show) {
  Document document;
  document.title = "Scaling: " + printable(show.source);
  if (show.answers.size() > 1) document.blocks.emplace_back(overview(show));
  for (const ScalingAnswer& answer : show.answers) {
    std::vector<Block> blocks = scaling_blocks(answer);
    blocks.insert(blocks.begin() + 2, scaling_drawing(answer.scaling));
    for (Block& block : blocks)
      document.blocks.push_back(std::move(block));
  }
  add_notes(show, document);
  return document;
}

Json scaling_result_json(const ScalingShow& show) {
  Json series = Json::array();
  std::vector<model::Metric> metrics;
  for (const ScalingAnswer& answer : show.answers) {
    series.push_back(scaling_json(answer));
    const Scaling& scaling = answer.scaling;
    const std::string subject = scaling.series.name.empty() ? scaling.series.metric : scaling.series.name;
    for (const ScaledPoint& point : scaling.points)
      if (point.count != scaling.baseline)
        metrics.push_back({subject, fmt::format("efficiency at {}", point.count), point.efficiency, "", "",
                           model::MetricKind::kHigherIsBetter});
  }
  Json notes = Json::array();
  for (const scaling::Note& note : show.notes)
    notes.push_back(Json::object({{"words", note.words}, {"line", note.line}, {"count", note.count}}));
  return Json::object({{"schema", "angio.scaling/1"},
                       {"subject", show.source},
                       {"form", show.form},
                       {"series", std::move(series)},
                       {"left_out", show.single},
                       {"undecided", show.silent},
                       {"notes", std::move(notes)},
                       {"metrics", metrics_json(metrics)}});
}

// ---- the question

namespace {

struct Reading {
  std::uint32_t baseline = 0;
  std::optional<Scaling> strong, weak;
};

std::optional<Scaling> read_as(const scaling::TableSeries& table, Mode mode,
                               std::optional<std::uint32_t> baseline) {
  auto result = scaling::analyse(table, mode, baseline);
  if (!result) return std::nullopt;
  return std::move(*result);
}

// Of speed-ups over nobody knows what: over one device, one node of eight, and half of them.
std::vector<Reading> readings(const ScalingQuestion& question) {
  std::vector<std::uint32_t> baselines;
  const auto direct = scaling::analyse(question.table.series, Mode::kStrong, question.baseline);
  if (direct) {
    baselines = {direct->baseline};
  } else if (question.table.series.measure == Measure::kSpeedup) {
    std::uint32_t least = ~0U;
    for (const scaling::Point& point : question.table.series.points)
      least = std::min(least, point.count);
    for (const std::uint32_t baseline : {1U, 8U, least / 2})
      if (baseline > 0 && baseline < least && std::ranges::find(baselines, baseline) == baselines.end())
        baselines.push_back(baseline);
  }
  std::vector<Reading> all;
  for (const std::uint32_t baseline : baselines)
    all.push_back({baseline, read_as(question.table, Mode::kStrong, baseline),
                   read_as(question.table, Mode::kWeak, baseline)});
  std::erase_if(all, [](const Reading& reading) { return !reading.strong || !reading.weak; });
  return all;
}

std::string serial_words(const Scaling& scaling) {
  if (!scaling.split) return "-";
  return percent(scaling.split->serial < kNoShare ? 0 : scaling.split->serial);
}

}  // namespace

Document scaling_question_document(const ScalingQuestion& question) {
  Document document;
  const scaling::Series& series = question.table.series;
  document.blocks.emplace_back(Paragraph{plain(fmt::format(
      "{}{}: {} for each number of {}s. Was the work of a step the same at every N, or did it grow with N?",
      printable(question.source), series.name.empty() ? "" : ", " + printable(series.name),
      printable(series.metric), printable(series.device)))});
  Table table{{{"over", Align::kRight},
               {printable(series.device) + "s", Align::kRight},
               {"efficiency if strong", Align::kRight},
               {"if weak", Align::kRight}},
              {}};
  std::string serial;
  for (const Reading& reading : readings(question)) {
    for (std::size_t at = 0; at < reading.strong->points.size(); ++at) {
      const ScaledPoint& strong = reading.strong->points[at];
      if (strong.count == reading.baseline) continue;
      table.rows.push_back({plain(std::to_string(reading.baseline)), plain(std::to_string(strong.count)),
                            plain(percent(strong.efficiency)),
                            plain(percent(reading.weak->points[at].efficiency))});
    }
    serial +=
        fmt::format("{}over {}: {} if strong (Amdahl), {} if weak (Gustafson)", serial.empty() ? "" : "; ",
                    reading.baseline, serial_words(*reading.strong), serial_words(*reading.weak));
  }
  if (table.rows.empty()) return document;
  document.blocks.emplace_back(std::move(table));
  document.blocks.emplace_back(Fields{{{"serial", plain(serial)}}, 12});
  return document;
}

Json scaling_question_json(const ScalingQuestion& question) {
  Json all = Json::array();
  for (const Reading& reading : readings(question))
    for (const Scaling* scaling : {&*reading.strong, &*reading.weak})
      all.push_back(scaling_json({*scaling, "not said: one of the readings", {}}));
  return Json::object({{"schema", "angio.scaling/1"},
                       {"subject", question.source},
                       {"question", "strong or weak"},
                       {"readings", std::move(all)}});
}

}  // namespace angio::views
