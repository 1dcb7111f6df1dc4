#include "views/history_view.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "base/format.hpp"
#include "base/text.hpp"

namespace angio::views {

using history::Change;
using history::Comparison;
using history::Judgement;
using model::MetricKind;
using report::Align;
using report::Document;
using report::Fields;
using report::Line;
using report::Paragraph;
using report::plain;
using report::Table;
using report::Tone;
using report::toned;

namespace {

constexpr std::size_t kRowsShown = 40;  // of one kind; JSON has all

std::string figure(double value, const std::string& unit) {
  return fmt::format("{:.6g}{}{}", value, unit.empty() ? "" : " ", printable(unit));
}

std::string day_of(const std::string& time) {
  return printable(time);
}

// "mlx5_0 port 1" of "gpu-a mlx5_0 port 1" where all of it is about gpu-a.
std::string without_owner(const std::string& subject, const std::string& owner) {
  const bool inside =
      subject.size() > owner.size() + 1 && subject.starts_with(owner) && subject[owner.size()] == ' ';
  return printable(inside ? subject.substr(owner.size() + 1) : subject);
}

std::string_view judgement_word(Judgement judgement) {
  switch (judgement) {
    case Judgement::kSame:
      return "same";
    case Judgement::kBetter:
      return "better";
    case Judgement::kWorse:
      return "worse";
    case Judgement::kGrew:
      return "grew";
    case Judgement::kChanged:
      return "changed";
    case Judgement::kTooFew:
      return "too_few";
    case Judgement::kNew:
      return "new";
    case Judgement::kGone:
      return "gone";
  }
  return "";
}

Tone tone_of(Judgement judgement) {
  switch (judgement) {
    case Judgement::kWorse:
    case Judgement::kGone:
      return Tone::kWarning;
    case Judgement::kChanged:
    case Judgement::kGrew:
      return Tone::kStrong;
    case Judgement::kBetter:
      return Tone::kGood;
    default:
      return Tone::kQuiet;
  }
}

bool is_counter(MetricKind kind) {
  return kind == MetricKind::kCounter || kind == MetricKind::kCounterOfErrors;
}

// "371 to 372 Gb/s, median 371 of 8 records": what it was held against.
std::string past_words(const Change& change) {
  const history::Past& past = change.past;
  const std::string& unit = change.metric.unit;
  return fmt::format("median {}, {:.6g} to {} in {}; a drift is beyond {:.3g}", figure(past.median, unit),
                     past.least, figure(past.most, unit), count_of(past.records, "record"), change.limit);
}

std::string share_words(double ratio) {
  constexpr double kPercent = 100;
  return fmt::format("{:+.1f} %", (ratio - 1) * kPercent);
}

std::string too_few_words(const Change& change) {
  std::string words = fmt::format("{}; {} before", figure(change.metric.value, change.metric.unit),
                                  count_of(change.past.records, "record"));
  if (change.past.median != 0)
    words += fmt::format(": {}, {}", figure(change.past.median, change.metric.unit),
                         share_words(change.metric.value / change.past.median));
  return words;
}

std::string repeats_words(const Change& change) {
  return fmt::format("{}; {} before, {}: chance {:.2g} by {} repeats",
                     figure(change.metric.value, change.metric.unit),
                     figure(change.past.median, change.metric.unit), share_words(change.repeats->ratio),
                     change.repeats->chance, change.metric.samples.size());
}

std::string change_words(const Change& change) {
  const model::Metric& metric = change.metric;
  switch (change.judgement) {
    case Judgement::kGone:
      return (metric.kind == MetricKind::kState ? printable(metric.text)
                                                : figure(metric.value, metric.unit)) +
             " on " + day_of(change.last) + ", not there today";
    case Judgement::kChanged:
      return fmt::format("{}; it was {} on {}", printable(metric.text), printable(change.last_text),
                         day_of(change.last));
    case Judgement::kNew:
      return metric.kind == MetricKind::kState ? printable(metric.text) : figure(metric.value, metric.unit);
    case Judgement::kTooFew:
      return too_few_words(change);
    default:
      break;
  }
  if (metric.kind == MetricKind::kState) return printable(metric.text);
  if (change.repeats) return repeats_words(change);
  if (!is_counter(metric.kind)) return figure(metric.value, metric.unit) + "; " + past_words(change);
  std::string words = fmt::format("{}, {}{:.6g} since {}", figure(metric.value, metric.unit),
                                  change.was_reset ? "set back meanwhile, at least +" : "+",
                                  change.growth.value_or(0), day_of(change.last));
  if (change.judgement == Judgement::kWorse)
    words += fmt::format("; at most {:.3g} a day before", change.past.most);
  return words;
}

std::string section_title(Judgement judgement, std::size_t count) {
  switch (judgement) {
    case Judgement::kWorse:
      return count_of(count, "figure") + " worse than before";
    case Judgement::kGone:
      return count_of(count, "figure") + " not there any more";
    case Judgement::kChanged:
      return count_of(count, "state") + " changed";
    case Judgement::kGrew:
      return count_of(count, "error counter") + " grew";
    case Judgement::kBetter:
      return count_of(count, "figure") + " better than before";
    case Judgement::kNew:
      return count_of(count, "figure") + " not seen before";
    case Judgement::kTooFew:
      return count_of(count, "figure") + " with too few records to judge (5 are needed)";
    case Judgement::kSame:
      break;
  }
  return count_of(count, "figure") + " as before";
}

void add_section(const Comparison& comparison, Judgement judgement, Document& document) {
  std::vector<const Change*> changes;
  for (const Change& change : comparison.changes)
    if (change.judgement == judgement) changes.push_back(&change);
  if (changes.empty()) return;
  document.blocks.emplace_back(
      Paragraph{toned(section_title(judgement, changes.size()), tone_of(judgement))});
  Table table{{{"what"}, {"figure"}, {"today"}}, {}};
  for (const Change* change : changes) {
    if (table.rows.size() >= kRowsShown) break;
    table.rows.push_back({plain(without_owner(change->metric.subject, comparison.now.subject)),
                          plain(printable(change->metric.name)), plain(change_words(*change))});
  }
  document.blocks.emplace_back(std::move(table));
  if (changes.size() > kRowsShown)
    document.blocks.emplace_back(Paragraph{
        toned(fmt::format("and {} more (--format json)", changes.size() - kRowsShown), Tone::kQuiet)});
}

std::size_t count(const Comparison& comparison, Judgement judgement) {
  return static_cast<std::size_t>(std::ranges::count(comparison.changes, judgement, &Change::judgement));
}

std::string earlier_words(const Comparison& comparison) {
  if (!comparison.baseline.empty())
    return fmt::format("baseline {} of {}", printable(comparison.baseline), day_of(comparison.last));
  if (comparison.records == 0) return "no earlier record";
  if (comparison.records == 1) return "1 earlier record of " + day_of(comparison.last);
  return fmt::format("{} earlier records of {} to {}", comparison.records, day_of(comparison.first),
                     day_of(comparison.last));
}

// An old result, or a clock that was set: what is kept of later times is no past.
std::string span_words(const Comparison& comparison) {
  if (comparison.later == 0) return earlier_words(comparison);
  return earlier_words(comparison) + fmt::format("; {} later than this result {} left out",
                                                 count_of(comparison.later, "record"),
                                                 comparison.later == 1 ? "is" : "are");
}

// What else is another than it was, beside figures that are.
void add_environment(const Comparison& comparison, Document& document) {
  const history::EnvironmentChange& change = comparison.environment;
  Fields fields{{}, 13};
  if (!change.facts.empty()) {
    std::vector<std::string> words;
    for (const history::FactChange& fact : change.facts)
      words.push_back(history::in_words(fact));
    fields.rows.emplace_back("environment",
                             toned("since " + day_of(change.than) + ": " + join(words, "; "), Tone::kStrong));
  }
  if (change.left_out > 0)
    fields.rows.emplace_back(
        "left out", toned(fmt::format("{} of another environment, or that does not say (--any-environment)",
                                      count_of(change.left_out, "record")),
                          Tone::kQuiet));
  if (std::ranges::any_of(comparison.changes, [](const Change& one) { return one.repeats.has_value(); }))
    fields.rows.emplace_back("judged by",
                             toned("the repeats of two results; how much two runs differ by themselves they "
                                   "cannot tell. From 5 records on their spread decides",
                                   Tone::kQuiet));
  if (!fields.rows.empty()) document.blocks.emplace_back(std::move(fields));
}

std::string closing(const Comparison& comparison) {
  std::vector<std::string> parts;
  for (const auto& [judgement, word] :
       {std::pair{Judgement::kWorse, "worse"}, std::pair{Judgement::kGone, "gone"},
        std::pair{Judgement::kChanged, "changed"}, std::pair{Judgement::kGrew, "grew"},
        std::pair{Judgement::kBetter, "better"}, std::pair{Judgement::kNew, "new"},
        std::pair{Judgement::kTooFew, "too few records"}, std::pair{Judgement::kSame, "as before"}})
    if (const std::size_t number = count(comparison, judgement); number > 0)
      parts.push_back(fmt::format("{} {}", number, word));
  return parts.empty() ? "no figures" : join(parts, ", ");
}

}  // namespace

Document history_list_document(const std::vector<history::Entry>& entries, const std::string& store) {
  struct Group {
    std::size_t records = 0;
    std::uint32_t metrics = 0;
    std::string first, last;
  };
  std::map<std::pair<std::string, std::string>, Group> groups;
  for (const history::Entry& entry : entries) {
    Group& group = groups[{entry.subject, entry.schema}];
    if (group.records++ == 0) group.first = entry.captured;
    group.last = entry.captured;
    group.metrics = entry.metrics;
  }
  Document document;
  document.blocks.emplace_back(
      Paragraph{plain(fmt::format("{}: {} of {}", printable(store), count_of(entries.size(), "record"),
                                  count_of(groups.size(), "subject")))});
  if (groups.empty()) return document;
  Table table{
      {{"subject"}, {"result"}, {"records", Align::kRight}, {"first"}, {"last"}, {"figures", Align::kRight}},
      {}};
  for (const auto& [key, group] : groups)
    table.rows.push_back({toned(printable(key.first), Tone::kStrong), plain(printable(key.second)),
                          plain(std::to_string(group.records)), plain(day_of(group.first)),
                          plain(day_of(group.last)), plain(std::to_string(group.metrics))});
  document.blocks.emplace_back(std::move(table));
  return document;
}

Document history_records_document(const std::vector<history::Entry>& entries, const std::string& store) {
  Document document;
  document.blocks.emplace_back(
      Paragraph{plain(fmt::format("{}: {}", printable(store), count_of(entries.size(), "record")))});
  Table table{{{"id", Align::kRight},
               {"subject"},
               {"result"},
               {"captured"},
               {"figures", Align::kRight},
               {"environment"}},
              {}};
  for (const history::Entry& entry : entries)
    table.rows.push_back({plain(std::to_string(entry.id)), toned(printable(entry.subject), Tone::kStrong),
                          plain(printable(entry.schema)), plain(day_of(entry.captured)),
                          plain(std::to_string(entry.metrics)),
                          toned(entry.fingerprint.empty() ? "-" : entry.fingerprint, Tone::kQuiet)});
  document.blocks.emplace_back(std::move(table));
  return document;
}

Document history_baselines_document(const std::vector<history::Baseline>& baselines,
                                    const std::vector<history::Record>& records) {
  Document document;
  for (std::size_t at = 0; at < baselines.size(); ++at) {
    const history::Entry& entry = baselines[at].entry;
    document.blocks.emplace_back(Paragraph{
        {{printable(baselines[at].name), Tone::kStrong},
         {fmt::format(": record {}, {} {} of {}, {}", entry.id, printable(entry.subject),
                      printable(entry.schema), day_of(entry.captured), count_of(entry.metrics, "figure")),
          Tone::kPlain}}});
    if (at >= records.size() || !records[at].environment.is_known()) continue;
    Fields fields{{}, 20};
    for (const history::Fact& fact : records[at].environment.facts)
      fields.rows.emplace_back(printable(fact.name), plain(printable(fact.value)));
    document.blocks.emplace_back(std::move(fields));
  }
  return document;
}

Json history_baselines_json(const std::vector<history::Baseline>& baselines,
                            const std::vector<history::Record>& records) {
  Json rows = Json::array();
  for (std::size_t at = 0; at < baselines.size(); ++at)
    rows.push_back(
        Json::object({{"name", baselines[at].name},
                      {"id", baselines[at].entry.id},
                      {"result", baselines[at].entry.schema},
                      {"subject", baselines[at].entry.subject},
                      {"captured", baselines[at].entry.captured},
                      {"environment",
                       at < records.size() ? history::environment_json(records[at].environment) : Json()}}));
  return Json::object({{"schema", "angio.history/1"}, {"what", "baselines"}, {"baselines", std::move(rows)}});
}

Json history_list_json(const std::vector<history::Entry>& entries) {
  Json rows = Json::array();
  for (const history::Entry& entry : entries)
    rows.push_back(
        Json::object({{"result", entry.schema},
                      {"subject", entry.subject},
                      {"captured", entry.captured},
                      {"figures", entry.metrics},
                      {"id", entry.id},
                      {"environment", entry.fingerprint.empty() ? Json() : Json(entry.fingerprint)}}));
  return Json::object({{"schema", "angio.history/1"}, {"what", "list"}, {"records", std::move(rows)}});
}

namespace {

std::string span_of(const history::Series& series) {
  if (series.kind == MetricKind::kState) {
    std::size_t changes = 0;
    for (std::size_t at = 1; at < series.samples.size(); ++at)
      if (series.samples[at].text != series.samples[at - 1].text) ++changes;
    return changes == 0 ? "always so" : count_of(changes, "change");
  }
  std::vector<double> values;
  for (const history::Sample& sample : series.samples)
    values.push_back(sample.value);
  const history::Past past = history::past_of(values);
  if (is_counter(series.kind)) return fmt::format("{:.6g} to {:.6g}", past.least, past.most);
  return fmt::format("median {:.6g}, {:.6g} to {:.6g}", past.median, past.least, past.most);
}

}  // namespace

Document history_series_document(const std::vector<history::Series>& series) {
  Document document;
  Table table{{{"what"}, {"figure"}, {"last"}, {"records", Align::kRight}, {"over time"}}, {}};
  for (const history::Series& one : series) {
    if (one.samples.empty()) continue;
    const history::Sample& last = one.samples.back();
    table.rows.push_back(
        {plain(without_owner(one.subject, one.owner)), plain(printable(one.name)),
         plain(one.kind == MetricKind::kState ? printable(last.text) : figure(last.value, one.unit)),
         plain(std::to_string(one.samples.size())), toned(span_of(one), Tone::kQuiet)});
  }
  if (!series.empty() && !series.front().samples.empty())
    document.blocks.emplace_back(Paragraph{
        plain(fmt::format("{} of {}", count_of(series.size(), "figure"), printable(series.front().owner)))});
  document.blocks.emplace_back(std::move(table));
  return document;
}

Json history_series_json(const std::vector<history::Series>& series) {
  Json rows = Json::array();
  for (const history::Series& one : series) {
    Json samples = Json::array();
    for (const history::Sample& sample : one.samples) {
      Json row = Json::object({{"captured", sample.captured}});
      row.set(one.kind == MetricKind::kState ? "text" : "value",
              one.kind == MetricKind::kState ? Json(sample.text) : Json(sample.value));
      samples.push_back(std::move(row));
    }
    rows.push_back(Json::object({{"result", one.schema},
                                 {"of", one.owner},
                                 {"subject", one.subject},
                                 {"name", one.name},
                                 {"unit", one.unit},
                                 {"kind", history::kind_word(one.kind)},
                                 {"samples", std::move(samples)}}));
  }
  return Json::object({{"schema", "angio.history/1"}, {"what", "show"}, {"series", std::move(rows)}});
}

Document history_compare_document(const Comparison& comparison, bool all) {
  Document document;
  document.blocks.emplace_back(
      Paragraph{plain(fmt::format("{} of {} against {}", printable(comparison.now.subject),
                                  day_of(comparison.now.captured), span_words(comparison)))});
  for (const Judgement judgement :
       {Judgement::kWorse, Judgement::kGone, Judgement::kChanged, Judgement::kGrew, Judgement::kBetter})
    add_section(comparison, judgement, document);
  for (const Judgement judgement : {Judgement::kNew, Judgement::kTooFew, Judgement::kSame})
    if (all || (judgement == Judgement::kTooFew && !comparison.baseline.empty()))
      add_section(comparison, judgement, document);
  add_environment(comparison, document);
  document.blocks.emplace_back(Paragraph{plain(closing(comparison))});
  return document;
}

namespace {

Json facts_json(const std::vector<history::FactChange>& changes) {
  Json facts = Json::array();
  for (const history::FactChange& change : changes)
    facts.push_back(Json::object({{"group", change.group},
                                  {"name", change.name},
                                  {"before", change.before.empty() ? Json() : Json(change.before)},
                                  {"after", change.after.empty() ? Json() : Json(change.after)}}));
  return facts;
}

Json environment_changes_json(const history::EnvironmentChange& change) {
  return Json::object({{"since", change.than.empty() ? Json() : Json(change.than)},
                       {"facts", facts_json(change.facts)},
                       {"records_left_out", change.left_out}});
}

}  // namespace

Json history_compare_json(const Comparison& comparison) {
  Json rows = Json::array();
  for (const Change& change : comparison.changes) {
    const bool state = change.metric.kind == MetricKind::kState;
    Json row = Json::object({{"subject", change.metric.subject},
                             {"name", change.metric.name},
                             {"unit", change.metric.unit},
                             {"kind", history::kind_word(change.metric.kind)},
                             {"judgement", judgement_word(change.judgement)}});
    row.set("today", change.judgement == Judgement::kGone ? Json()
                     : state                              ? Json(change.metric.text)
                                                          : Json(change.metric.value));
    row.set("last_record", change.last.empty() ? Json() : Json(change.last));
    if (state) row.set("last", change.last_text.empty() ? Json() : Json(change.last_text));
    if (change.growth) row.set("growth", *change.growth);
    if (change.was_reset) row.set("was_reset", true);
    if (!state && change.past.records > 0)
      row.set("past", Json::object({{"of", is_counter(change.metric.kind) ? "growth a day" : "value"},
                                    {"count", change.past.records},
                                    {"median", change.past.median},
                                    {"spread", change.past.spread},
                                    {"least", change.past.least},
                                    {"most", change.past.most}}));
    if (change.limit > 0) row.set("limit", change.limit);
    if (change.repeats)
      row.set("repeats",
              Json::object({{"ratio", change.repeats->ratio}, {"chance", change.repeats->chance}}));
    rows.push_back(std::move(row));
  }
  return Json::object({{"schema", "angio.history/1"},
                       {"what", "compare"},
                       {"result", comparison.now.schema},
                       {"subject", comparison.now.subject},
                       {"captured", comparison.now.captured},
                       {"environment", history::environment_json(comparison.now.environment)},
                       {"environment_changes", environment_changes_json(comparison.environment)},
                       {"baseline", comparison.baseline.empty() ? Json() : Json(comparison.baseline)},
                       {"earlier_records", comparison.records},
                       {"later_records", comparison.later},
                       {"first", comparison.first.empty() ? Json() : Json(comparison.first)},
                       {"last", comparison.last.empty() ? Json() : Json(comparison.last)},
                       {"changes", std::move(rows)}});
}

Document history_since_document(const std::vector<history::Since>& answers) {
  Document document;
  for (const history::Since& since : answers) {
    const std::string what = printable(since.series.subject) + ", " + printable(since.series.name);
    if (!since.found) {
      document.blocks.emplace_back(
          Paragraph{{{what + ": ", Tone::kStrong}, {printable(since.words), Tone::kPlain}}});
      continue;
    }
    document.blocks.emplace_back(Paragraph{{{what, Tone::kStrong}}});
    Fields fields{{}, 2};
    fields.rows.emplace_back("was", plain(printable(since.before) + ", last on " + day_of(since.good)));
    fields.rows.emplace_back("is", plain(printable(since.after) + ", first on " + day_of(since.bad)));
    if (!since.environment.empty()) {
      std::vector<std::string> words;
      for (const history::FactChange& change : since.environment)
        words.push_back(history::in_words(change));
      fields.rows.emplace_back("changed with it", plain(join(words, "; ")));
    }
    document.blocks.emplace_back(std::move(fields));
  }
  return document;
}

Json history_since_json(const std::vector<history::Since>& answers) {
  Json rows = Json::array();
  for (const history::Since& since : answers) {
    Json row = Json::object({{"of", since.series.owner},
                             {"subject", since.series.subject},
                             {"name", since.series.name},
                             {"found", since.found}});
    if (since.found) {
      row.set("last_good", since.good);
      row.set("first_bad", since.bad);
      row.set("was", since.before);
      row.set("is", since.after);
      row.set("environment_changes", facts_json(since.environment));
    } else {
      row.set("why", since.words);
    }
    rows.push_back(std::move(row));
  }
  return Json::object({{"schema", "angio.history/1"}, {"what", "since"}, {"answers", std::move(rows)}});
}

}  // namespace angio::views
