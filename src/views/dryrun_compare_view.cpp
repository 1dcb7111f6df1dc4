// Two dry runs beside each other: the facts that differ, the choices that differ folded over sizes.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/format.hpp"
#include "base/text.hpp"
#include "views/dryrun_facts.hpp"
#include "views/dryrun_parts.hpp"
#include "views/dryrun_view.hpp"

namespace angio::views {
namespace {

using dryrun::ChoiceDifference;
using model::DryRun;
using report::Align;
using report::Document;
using report::Heading;
using report::Line;
using report::Paragraph;
using report::plain;
using report::Tone;
using report::toned;

// "A" alone, or with what the user called it: "A  NCCL_ALGO=Ring".
std::string title_of(const DryRun& run, const std::string& letter) {
  return run.label.empty() || run.label == letter ? letter : letter + "  " + printable(run.label);
}

void add_runs(const DryRunComparison& report, Document& document) {
  report::Fields fields;
  fields.indent = 0;
  for (const auto& [letter, run] : {std::pair("A", report.a), std::pair("B", report.b)}) {
    const bool named = !run->label.empty() && run->label != letter;
    const bool complete = run->end == model::DryRunEnd::kComplete;
    const std::string settings = settings_words(*run);
    if (named) fields.rows.emplace_back(letter, toned(printable(run->label), Tone::kStrong));
    fields.rows.emplace_back(named ? "" : letter,
                             Line{{run_words(*run) + ": ", Tone::kPlain},
                                  {end_words(*run), complete ? Tone::kPlain : Tone::kCritical}});
    if (!run->problem.empty()) fields.rows.emplace_back("", toned(printable(run->problem), Tone::kCritical));
    if (settings != printable(run->label))
      fields.rows.emplace_back("", toned(settings.empty() ? "no settings" : settings, Tone::kQuiet));
  }
  document.blocks.emplace_back(std::move(fields));
}

// "tuning: AllReduce Ring LL" stands in a table of its own: there are dozens.
constexpr std::string_view kTuning = "tuning: ";

// What all names of kernels begin with says nothing.
std::string fact_words(const std::string& text) {
  constexpr std::string_view kKernel = "ncclDevKernel_";
  return printable(text.starts_with(kKernel) ? text.substr(kKernel.size()) : text);
}

Line value_line(const char* letter, const std::string& value) {
  return Line{{std::string(letter) + "  ", Tone::kQuiet}, {fact_words(value), Tone::kPlain}};
}

// The two values of a fact stand below each other: beside each other they would not fit 80 columns, and be
// torn apart.
void add_facts(const DryRunComparison& report, Document& document) {
  report::Fields facts;
  facts.indent = 0;
  for (const dryrun::Difference& fact : report.comparison.facts) {
    if (fact.what == "end" || fact.what.starts_with(kTuning)) continue;  // "end": in the lines of the runs
    std::vector<Line> lines;
    if (!fact.a.empty() || !fact.b.empty()) lines = {value_line("A", fact.a), value_line("B", fact.b)};
    if (!fact.meaning.empty()) lines.push_back(toned(printable(fact.meaning), Tone::kQuiet));
    for (std::size_t i = 0; i < lines.size(); ++i)
      facts.rows.emplace_back(i == 0 ? printable(fact.what) : "", std::move(lines[i]));
  }
  if (facts.rows.empty()) return;
  document.blocks.emplace_back(Heading{"What differs", 2});
  document.blocks.emplace_back(std::move(facts));
}

void add_tuning(const DryRunComparison& report, Document& document) {
  report::Table table{{{"algorithm"}, {"A"}, {"B"}}, {}};
  std::vector<std::string> remarks;
  for (const dryrun::Difference& fact : report.comparison.facts) {
    if (!fact.what.starts_with(kTuning)) continue;
    if (!fact.a.empty() || !fact.b.empty())
      table.rows.push_back({plain(printable(fact.what.substr(kTuning.size()))), plain(printable(fact.a)),
                            plain(printable(fact.b))});
    if (!fact.meaning.empty()) remarks.push_back(printable(fact.meaning));
  }
  if (table.rows.empty()) return;
  document.blocks.emplace_back(Heading{"NCCL's model: latency us, algorithm GB/s", 2});
  document.blocks.emplace_back(std::move(table));
  for (std::string& remark : remarks)
    document.blocks.emplace_back(Paragraph{toned(std::move(remark), Tone::kQuiet)});
}

// Differences at sizes that follow each other among those tried, with the same choices: first and last.
using Fold = std::pair<const ChoiceDifference*, const ChoiceDifference*>;

std::vector<Fold> folds_of(const DryRunComparison& report) {
  // Places of the sizes among those that were tried, or a range would cover sizes that are equal.
  std::map<std::pair<std::string, std::uint64_t>, std::size_t> place;
  for (const model::DryRunOperation& operation : report.a->operations)
    place.emplace(std::pair(operation.collective, operation.bytes), place.size());
  const auto place_of = [&](const ChoiceDifference& choice) {
    const auto found = place.find({choice.collective, choice.bytes});
    return found == place.end() ? std::size_t{0} : found->second;
  };
  std::vector<Fold> folds;
  for (const ChoiceDifference& choice : report.comparison.choices) {
    if (!folds.empty()) {
      const ChoiceDifference& last = *folds.back().second;
      if (last.collective == choice.collective && last.a == choice.a && last.b == choice.b &&
          place_of(choice) == place_of(last) + 1) {
        folds.back().second = &choice;
        continue;
      }
    }
    folds.emplace_back(&choice, &choice);
  }
  return folds;
}

// "0.52", "0.52 to 1.3": B's time over A's over the sizes of a fold.
Line ratio_line(const Fold& fold) {
  double least = 0;
  double most = 0;
  for (const ChoiceDifference* each = fold.first; each <= fold.second; ++each) {
    if (!(each->estimate_ratio > 0)) continue;
    least = least > 0 ? std::min(least, each->estimate_ratio) : each->estimate_ratio;
    most = std::max(most, each->estimate_ratio);
  }
  if (!(most > 0)) return toned("-", Tone::kUnknown);
  const std::string words = range_words(fmt::format("{:.2f}", least), fmt::format("{:.2f}", most));
  return toned(words, most < 1 ? Tone::kGood : least > 1 ? Tone::kWarning : Tone::kPlain);
}

void add_choices(const DryRunComparison& report, Document& document) {
  const dryrun::Comparison& comparison = report.comparison;
  if (comparison.choices.empty()) return;
  const bool timed = std::ranges::any_of(
      comparison.choices, [](const ChoiceDifference& choice) { return choice.estimate_ratio > 0; });
  report::Table table{{{"size"}, {"A"}, {"B"}}, {}};
  if (timed) table.columns.push_back({"B / A", Align::kRight});
  const std::string* before = nullptr;
  for (const Fold& fold : folds_of(report)) {
    const ChoiceDifference& first = *fold.first;
    if (before == nullptr || *before != first.collective)
      table.rows.push_back({toned(printable(first.collective), Tone::kStrong)});
    before = &first.collective;
    table.rows.push_back({plain("  " + size_words(first.bytes, fold.second->bytes)),
                          plain(printable(brief_choice(first.collective, first.a))),
                          plain(printable(brief_choice(first.collective, first.b))), ratio_line(fold)});
  }
  document.blocks.emplace_back(Heading{"Choices that differ", 2});
  document.blocks.emplace_back(std::move(table));
  const std::string_view remark =
      timed ? "ch: channels; B / A: the time of B over that of A by NCCL's own estimate, nothing was measured"
            : "ch: channels; no estimate of times of both";
  document.blocks.emplace_back(Paragraph{toned(std::string(remark), Tone::kQuiet)});
}

void add_counts(const DryRunComparison& report, Document& document) {
  const dryrun::Comparison& comparison = report.comparison;
  const std::size_t choices = comparison.choices.size();
  document.blocks.emplace_back(Paragraph{
      plain(fmt::format("choices: {} differ, {} are the same; facts: {} differ, {} are the same", choices,
                        comparison.equal_choices, comparison.facts.size(), comparison.equal_facts))});
}

Document show(const DryRunComparison& report, bool page) {
  Document document;
  if (report.a == nullptr || report.b == nullptr) return document;
  add_runs(report, document);
  if (page) {
    std::vector<DryRun> runs{*report.a, *report.b};
    runs[0].label = title_of(*report.a, "A");
    runs[1].label = title_of(*report.b, "B");
    if (auto plot = dryrun_sweep_drawing(dryrun::sweep_rows(runs))) {
      document.blocks.emplace_back(Heading{"All choices by size", 2});
      document.blocks.emplace_back(std::move(*plot));
    }
  }
  add_choices(report, document);
  add_facts(report, document);
  add_tuning(report, document);
  add_counts(report, document);
  return document;
}

}  // namespace

Document dryrun_comparison_document(const DryRunComparison& report) {
  return show(report, false);
}

Document dryrun_comparison_page(const DryRunComparison& report) {
  Document document = show(report, true);
  document.title = "angio dryrun: two runs beside each other";
  return document;
}

Json dryrun_comparison_json(const DryRunComparison& report) {
  Json facts = Json::array();
  for (const dryrun::Difference& fact : report.comparison.facts)
    facts.push_back(Json::object({{"what", fact.what},
                                  {"a", fact.a},
                                  {"b", fact.b},
                                  {"meaning", fact.meaning.empty() ? Json() : Json(fact.meaning)}}));
  Json choices = Json::array();
  for (const ChoiceDifference& choice : report.comparison.choices)
    choices.push_back(Json::object(
        {{"collective", choice.collective},
         {"size_bytes", choice.bytes},
         {"a", choice.a},
         {"b", choice.b},
         {"estimated_time_ratio", choice.estimate_ratio > 0 ? Json(choice.estimate_ratio) : Json()}}));
  return Json::object({{"schema", "angio.dryrun-comparison/1"},
                       {"facts", std::move(facts)},
                       {"choices", std::move(choices)},
                       {"equal_facts", report.comparison.equal_facts},
                       {"equal_choices", report.comparison.equal_choices},
                       {"a", report.a != nullptr ? dryrun_run_json(*report.a) : Json()},
                       {"b", report.b != nullptr ? dryrun_run_json(*report.b) : Json()}});
}

}  // namespace angio::views
