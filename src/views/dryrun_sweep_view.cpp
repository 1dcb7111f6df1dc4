// A sweep: for each collective the choices of each variant by size, and where NCCL's own model says that
// another variant would be faster.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/format.hpp"
#include "base/text.hpp"
#include "views/dryrun_facts.hpp"
#include "views/dryrun_parts.hpp"
#include "views/dryrun_view.hpp"

namespace angio::views {
namespace {

using dryrun::ChoiceRange;
using dryrun::SweepRow;
using model::DryRun;
using report::Align;
using report::Document;
using report::Heading;
using report::Line;
using report::Paragraph;
using report::plain;
using report::Tone;
using report::toned;

// Below this the model's figures do not tell two variants apart in the digits that are shown.
constexpr double kAlike = 0.005;

bool same_ranges(const SweepRow& a, const SweepRow& b) {
  return std::ranges::equal(a.ranges, b.ranges, [](const ChoiceRange& x, const ChoiceRange& y) {
    return x.from == y.from && x.to == y.to && x.choice == y.choice;
  });
}

// ratio: the best of the others over this one.
Line against_others(double ratio) {
  if (!(ratio > 0)) return toned("-", Tone::kUnknown);
  if (ratio < 1 - kAlike) return toned(fmt::format("{:.2f} x", 1 / ratio), Tone::kWarning);
  return ratio > 1 + kAlike ? toned("fastest", Tone::kGood) : plain("as best");
}

void add_row(const SweepRow& row, const SweepRow* base, report::Table& table) {
  const bool same = base != nullptr && base != &row && same_ranges(row, *base);
  for (std::size_t i = 0; i < row.ranges.size(); ++i) {
    const ChoiceRange& range = row.ranges[i];
    const Line name = i == 0 ? toned(printable(row.variant), Tone::kStrong) : Line{};
    if (same) {
      table.rows.push_back({name, toned("every size", Tone::kQuiet), toned("same choices", Tone::kQuiet)});
      return;
    }
    const bool reached = range.choice != "not reached";
    table.rows.push_back({name, plain(size_words(range.from, range.to)),
                          toned(printable(brief_choice(row.collective, range.choice)),
                                reached ? Tone::kPlain : Tone::kUnknown),
                          against_others(range.best_ratio)});
  }
}

// Variants of which no operation was reached: they are named as failed, and their rows would all say the
// same.
std::set<std::string> without_choices(const std::vector<SweepRow>& rows) {
  std::set<std::string> none;
  std::set<std::string> some;
  for (const SweepRow& row : rows)
    for (const ChoiceRange& range : row.ranges)
      (range.choice == "not reached" ? none : some).insert(row.variant);
  std::erase_if(none, [&](const std::string& variant) { return some.contains(variant); });
  return none;
}

void add_collectives(const DryRunSweep& report, Document& document) {
  const std::set<std::string> none = without_choices(report.rows);
  std::vector<std::string> order;
  std::map<std::string, std::vector<const SweepRow*>> groups;
  for (const SweepRow& row : report.rows) {
    if (row.ranges.empty() || none.contains(row.variant)) continue;
    std::vector<const SweepRow*>& rows = groups[row.collective];
    if (rows.empty()) order.push_back(row.collective);
    rows.push_back(&row);
  }
  for (const std::string& collective : order) {
    const auto& rows = groups[collective];
    const std::string base_label = report.runs->empty() ? "" : report.runs->front().label;
    const SweepRow* base = rows.front()->variant == base_label ? rows.front() : nullptr;
    const bool timed = std::ranges::any_of(rows, [](const SweepRow* row) {
      return std::ranges::any_of(row->ranges, [](const ChoiceRange& range) { return range.best_ratio > 0; });
    });
    report::Table table{{{"variant"}, {"sizes"}, {"choice"}}, {}};
    if (timed) table.columns.push_back({"time"});
    for (const SweepRow* row : rows)
      add_row(*row, base, table);
    document.blocks.emplace_back(Heading{printable(collective), 2});
    document.blocks.emplace_back(std::move(table));
  }
}

void add_failures(const DryRunSweep& report, Document& document) {
  report::Fields fields;
  fields.indent = 0;
  for (const DryRun& run : *report.runs)
    if (run.end != model::DryRunEnd::kComplete)
      fields.rows.emplace_back(
          printable(run.label),
          Line{{std::string(words_of(run.end)), Tone::kCritical},
               {run.problem.empty() ? "" : ": " + printable(run.problem), Tone::kPlain}});
  if (fields.rows.empty()) return;
  document.blocks.emplace_back(Heading{"Variants that did not come to their end", 2});
  document.blocks.emplace_back(std::move(fields));
}

Document show(const DryRunSweep& report, bool page) {
  Document document;
  if (report.runs == nullptr || report.runs->empty()) return document;
  const DryRun& base = report.runs->front();
  document.blocks.emplace_back(Paragraph{toned(
      fmt::format("{}: {}", run_words(base), count_of(report.runs->size(), "variant")), Tone::kStrong)});
  add_failures(report, document);
  if (page)
    if (auto plot = dryrun_sweep_drawing(report.rows)) document.blocks.emplace_back(std::move(*plot));
  add_collectives(report, document);
  const bool timed = std::ranges::any_of(report.rows, [](const SweepRow& row) {
    return std::ranges::any_of(row.ranges, [](const ChoiceRange& range) { return range.best_ratio > 0; });
  });
  if (timed)
    document.blocks.emplace_back(Paragraph{
        toned("ch: channels; time 1.50 x: at some size of the range NCCL's own model gives this variant "
              "1.5 times the time of the fastest other. Nothing was measured.",
              Tone::kQuiet)});
  return document;
}

}  // namespace

Document dryrun_sweep_document(const DryRunSweep& report) {
  return show(report, false);
}

Document dryrun_sweep_page(const DryRunSweep& report) {
  Document document = show(report, true);
  document.title = "angio dryrun: a sweep";
  return document;
}

Json dryrun_sweep_json(const DryRunSweep& report) {
  Json runs = Json::array();
  if (report.runs != nullptr)
    for (const DryRun& run : *report.runs)
      runs.push_back(dryrun_run_json(run));
  Json rows = Json::array();
  for (const SweepRow& row : report.rows) {
    Json ranges = Json::array();
    for (const ChoiceRange& range : row.ranges)
      ranges.push_back(
          Json::object({{"from_bytes", range.from},
                        {"to_bytes", range.to},
                        {"choice", range.choice},
                        {"best_other_time_ratio", range.best_ratio > 0 ? Json(range.best_ratio) : Json()}}));
    rows.push_back(Json::object(
        {{"variant", row.variant}, {"collective", row.collective}, {"ranges", std::move(ranges)}}));
  }
  return Json::object(
      {{"schema", "angio.dryrun-sweep/1"}, {"rows", std::move(rows)}, {"runs", std::move(runs)}});
}

}  // namespace angio::views
