#include "views/collective_view.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <span>
#include <utility>

#include "base/format.hpp"
#include "base/text.hpp"
#include "views/busbw_plot.hpp"
#include "views/collective_tables.hpp"

namespace angio::views {

using model::CollectiveRow;
using model::CollectiveRun;
using model::NcclCollective;
using report::Align;
using report::Document;
using report::Heading;
using report::Line;
using report::Paragraph;
using report::plain;
using report::Table;
using report::Tone;
using report::toned;

namespace {

constexpr std::size_t kMostPlots = 24;

std::string devices_of(const CollectiveRun& run) {
  std::map<std::string, std::size_t> names;
  for (const model::CollectiveRank& rank : run.members)
    ++names[rank.device];
  std::string words;
  for (const auto& [name, count] : names) {
    if (!words.empty()) words += ", ";
    words += name.empty() ? "host memory" : fmt::format("{} x {}", count, printable(name));
  }
  return words;
}

void add_head(const CollectiveRun& run, Document& document) {
  document.blocks.emplace_back(Paragraph{
      plain(fmt::format("{} {}: {} on {}, {}", printable(run.backend), printable(run.version),
                        count_of(run.ranks, "rank"), count_of(run.nodes, "node"), devices_of(run)))});
  if (run.phantom) {
    document.blocks.emplace_back(Paragraph{
        toned("These GPUs are not there: the path was walked, the times mean nothing", Tone::kWarning)});
  }
  if (run.interrupted) {
    document.blocks.emplace_back(
        Paragraph{toned("Interrupted: what is shown was finished before", Tone::kWarning)});
  }
}

std::uint64_t wrong_of(const CollectiveRun& run) {
  std::uint64_t wrong = 0;
  for (const CollectiveRow& row : run.rows)
    wrong += row.wrong.value_or(0);
  return wrong;
}

void add_data_words(const CollectiveRun& run, const std::string& who, Document& document) {
  if (run.rows.empty()) return;
  const bool all =
      std::ranges::all_of(run.rows, [](const CollectiveRow& row) { return row.wrong.has_value(); });
  const std::uint64_t wrong = wrong_of(run);
  if (wrong == 0) {
    const char* words = all ? "every element was right" : "not checked, or not everywhere";
    document.blocks.emplace_back(Paragraph{plain(fmt::format("Data{}: {}", who, words))});
    return;
  }
  document.blocks.emplace_back(
      Paragraph{toned(fmt::format("Data{}: {} arrived. No figure of a library that does this counts", who,
                                  count_of(wrong, "wrong element")),
                      Tone::kCritical)});
}

// Nothing is known of the start of somebody else's program.
void add_start(const CollectiveRun& run, Document& document) {
  if (run.launch_seconds + run.init_seconds + run.first_seconds <= 0) return;
  document.blocks.emplace_back(Paragraph{plain(fmt::format(
      "Start: {:.3f} s until the last rank was there, {:.3f} s for its communicator, {:.3f} s for the "
      "first collective (the slowest rank each)",
      run.launch_seconds, run.init_seconds, run.first_seconds))});
}

void add_end(const CollectiveRun& run, Document& document) {
  add_data_words(run, "", document);
  add_start(run, document);
  for (const std::string& note : run.notes)
    document.blocks.emplace_back(Paragraph{toned("Note: " + printable(note), Tone::kQuiet)});
}

const judge::Judgement* judgement_of(const CollectiveReport& report, std::size_t run) {
  return run < report.judgements.size() && report.judgements[run] ? &*report.judgements[run] : nullptr;
}

void add_answer(const judge::Judgement* judgement, Document& document) {
  if (judgement == nullptr || judgement->answer.empty()) return;
  document.blocks.emplace_back(Paragraph{toned(printable(judgement->answer), Tone::kStrong)});
}

BusbwPoint point_of(const CollectiveRow& row, const judge::Judgement* judgement) {
  BusbwPoint point{row.size, row.bus, Tone::kPlain, {}};
  if (row.wrong.value_or(0) > 0) point.tone = Tone::kCritical;
  const judge::JudgedRow* judged = judged_row(judgement, row);
  if (judged != nullptr && judged->verdict == judge::Verdict::kLow) point.tone = Tone::kWarning;
  if (judged != nullptr && judged->verdict == judge::Verdict::kImpossible) point.tone = Tone::kCritical;
  return point;
}

void add_series(const CollectiveReport& report, std::size_t index, NcclCollective collective, bool in_place,
                BusbwPlot& plot) {
  const CollectiveRun& run = report.runs[index];
  BusbwSeries series;
  series.name = report.runs.size() > 1 ? run.backend : model::name_of(collective);
  series.name += in_place ? ", in place" : ", out of place";
  series.dashed = in_place;
  for (const CollectiveRow& row : run.rows) {
    if (row.collective == collective && row.in_place == in_place)
      series.points.push_back(point_of(row, judgement_of(report, index)));
  }
  if (!series.points.empty()) plot.series.push_back(std::move(series));
}

void add_band(const CollectiveReport& report, NcclCollective collective, BusbwPlot& plot) {
  constexpr double kGigabyte = 1e9;
  for (std::size_t index = 0; index < report.runs.size(); ++index) {
    const judge::Judgement* judgement = judgement_of(report, index);
    if (judgement == nullptr || !plot.band.empty()) continue;
    for (const CollectiveRow& row : report.runs[index].rows) {
      const judge::JudgedRow* judged = judged_row(judgement, row);
      if (row.collective != collective || row.in_place || judged == nullptr || judged->unit != "GB/s")
        continue;
      if (judged->low <= 0 || judged->high <= 0) continue;
      plot.band.push_back(
          {row.size, {judged->low * kGigabyte}, {judged->expected * kGigabyte}, {judged->high * kGigabyte}});
    }
  }
}

report::Drawing drawing_of(const CollectiveReport& report, NcclCollective collective) {
  BusbwPlot plot;
  const CollectiveRun& run = report.runs.front();
  plot.title = fmt::format("{}, {} on {}", model::name_of(collective), count_of(run.ranks, "rank"),
                           count_of(run.nodes, "node"));
  for (std::size_t index = 0; index < report.runs.size(); ++index) {
    add_series(report, index, collective, false, plot);
    if (report.runs.size() == 1) add_series(report, index, collective, true, plot);
  }
  if (report.runs.size() > 1 && plot.series.empty()) {
    for (std::size_t index = 0; index < report.runs.size(); ++index)
      add_series(report, index, collective, true, plot);
  }
  add_band(report, collective, plot);
  return busbw_drawing(plot);
}

std::vector<NcclCollective> all_collectives(const CollectiveReport& report) {
  std::vector<NcclCollective> all;
  for (const CollectiveRun& run : report.runs) {
    for (const NcclCollective one : collectives_of(run)) {
      if (std::ranges::find(all, one) == all.end()) all.push_back(one);
    }
  }
  return all;
}

void add_run(const CollectiveReport& report, std::size_t index, bool whole,
             std::span<const report::Block> plots, Document& document) {
  const CollectiveRun& run = report.runs[index];
  const judge::Judgement* judgement = judgement_of(report, index);
  add_head(run, document);
  add_answer(judgement, document);
  document.blocks.insert(document.blocks.end(), plots.begin(), plots.end());
  for (const NcclCollective collective : collectives_of(run)) {
    add_sizes(run, collective, judgement, document);
    add_iterations(run, collective, document);
  }
  add_pairs(run, whole, document);
  add_end(run, document);
}

std::vector<report::Block> plots_of(const CollectiveReport& report) {
  std::vector<report::Block> plots;
  for (const NcclCollective collective : all_collectives(report)) {
    report::Drawing drawing = drawing_of(report, collective);
    if (drawing.width > 0 && plots.size() < kMostPlots) plots.emplace_back(std::move(drawing));
  }
  return plots;
}

// The same work by several: what differs first, then, on a page, each by itself.
void add_all(const CollectiveReport& report, bool whole, std::span<const report::Block> plots,
             Document& document) {
  add_comparison(report, all_collectives(report), document);
  document.blocks.insert(document.blocks.end(), plots.begin(), plots.end());
  for (std::size_t index = 0; index < report.runs.size(); ++index) {
    const CollectiveRun& run = report.runs[index];
    if (whole) {
      add_run(report, index, whole, {}, document);
      continue;
    }
    const std::string backend = printable(run.backend);
    add_data_words(run, " of " + backend, document);
    for (const std::string& note : run.notes)
      document.blocks.emplace_back(
          Paragraph{toned(fmt::format("Note ({}): {}", backend, printable(note)), Tone::kQuiet)});
  }
}

Document build(const CollectiveReport& report, bool whole) {
  Document document;
  document.title = "Collectives";
  if (report.runs.empty()) return document;
  const std::vector<report::Block> plots = whole ? plots_of(report) : std::vector<report::Block>{};
  if (report.runs.size() > 1)
    add_all(report, whole, plots, document);
  else
    add_run(report, 0, whole, plots, document);
  return document;
}

}  // namespace

Document collective_document(const CollectiveReport& report) {
  return build(report, false);
}

Document collective_page(const CollectiveReport& report) {
  return build(report, true);
}

report::Drawing collective_drawing(const CollectiveReport& report) {
  const auto all = all_collectives(report);
  return report.runs.empty() || all.empty() ? report::Drawing{} : drawing_of(report, all.front());
}

}  // namespace angio::views
