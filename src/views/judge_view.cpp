#include "views/judge_view.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "base/format.hpp"
#include "base/text.hpp"
#include "views/busbw_plot.hpp"
#include "views/doctor_report.hpp"
#include "views/finding_block.hpp"

namespace angio::views {
namespace {

using judge::JudgedRow;
using judge::Judgement;
using judge::Verdict;
using report::Align;
using report::Document;
using report::Fields;
using report::Line;
using report::Paragraph;
using report::plain;
using report::Tone;
using report::toned;

constexpr double kGigabyte = 1e9;
constexpr std::size_t kHostsShown = 4;
constexpr std::size_t kRowsShown = 48;  // of results that are no curve
constexpr std::size_t kMostPlots = 24;

Tone tone_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::kNormal:
      return Tone::kGood;
    case Verdict::kLow:
      return Tone::kWarning;
    case Verdict::kImpossible:
    case Verdict::kWrong:
      return Tone::kCritical;
    case Verdict::kUndecided:
      break;
  }
  return Tone::kUnknown;
}

std::string figure(double value) {
  if (value <= 0) return "0";
  return fmt::format("{:.{}f}", value, value >= 100 ? 0 : value >= 10 ? 1 : value >= 1 ? 2 : 3);
}

std::string share_of(double measured, double expected) {
  if (expected <= 0 || measured <= 0) return "";
  return fmt::format("{:.0f} %", measured / expected * 100);
}

std::string range_of(const JudgedRow& row) {
  if (row.expected <= 0) return "?";
  if (row.low <= 0 || row.high <= 0) return figure(row.expected);
  return fmt::format("{} ({}-{})", figure(row.expected), figure(row.low), figure(row.high));
}

// Of small sizes the time tells, of large ones the bandwidth.
bool is_timed(const JudgedRow& row) {
  constexpr std::uint64_t kSmall = std::uint64_t{64} << 10U;
  return row.size.value <= kSmall && row.time_us > 0;
}

std::string measured_of(const JudgedRow* row) {
  if (row == nullptr) return "";
  return is_timed(*row) && row->unit != "us" ? figure(row->time_us) + " us" : figure(row->measured);
}

std::string expected_of(const JudgedRow& row) {
  if (!is_timed(row) || row.expected_us <= 0) return range_of(row);
  return fmt::format("{} us ({}-{})", figure(row.expected_us), figure(row.least_us), figure(row.most_us));
}

// Of the speed, also where times are shown.
std::string share_of(const JudgedRow& row) {
  return is_timed(row) && row.expected_us > 0 ? share_of(row.expected_us, row.time_us)
                                              : share_of(row.measured, row.expected);
}

// Both halves of one size.
struct SizeRows {
  const JudgedRow* out = nullptr;
  const JudgedRow* in = nullptr;
  [[nodiscard]] const JudgedRow& any() const { return out != nullptr ? *out : *in; }
};

bool is_curve(const Judgement& judgement) {
  return std::ranges::any_of(judgement.rows, [](const JudgedRow& row) { return row.question.has_value(); });
}

bool in_microseconds(const Judgement& judgement) {
  return std::ranges::all_of(judgement.rows, [](const JudgedRow& row) { return row.unit == "us"; });
}

std::vector<SizeRows> by_size(const Judgement& judgement) {
  std::map<std::pair<int, std::uint64_t>, SizeRows> sizes;
  for (const JudgedRow& row : judgement.rows) {
    if (!row.question) continue;
    SizeRows& both = sizes[{static_cast<int>(row.question->collective), row.size.value}];
    (row.in_place.value_or(false) ? both.in : both.out) = &row;
  }
  std::vector<SizeRows> list;
  for (const auto& [size, both] : sizes)
    list.push_back(both);
  return list;
}

int severity_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::kWrong:
      return 4;
    case Verdict::kImpossible:
      return 3;
    case Verdict::kLow:
      return 2;
    case Verdict::kNormal:
      return 1;
    case Verdict::kUndecided:
      break;
  }
  return 0;
}

const JudgedRow& worse_of(const SizeRows& rows) {
  if (rows.out == nullptr || rows.in == nullptr) return rows.any();
  return severity_of(rows.in->verdict) > severity_of(rows.out->verdict) ? *rows.in : *rows.out;
}

void add_curve(const Judgement& judgement, bool explain, Document& document) {
  const std::vector<SizeRows> sizes = by_size(judgement);
  const bool halves = std::ranges::any_of(sizes, [](const SizeRows& rows) { return rows.in != nullptr; });
  report::Table table{{{"size", Align::kRight}}, {}};
  table.columns.push_back({halves                       ? "out of place"
                           : in_microseconds(judgement) ? "us"
                                                        : "GB/s",
                           Align::kRight});
  if (halves) table.columns.push_back({"in place", Align::kRight});
  table.columns.push_back({"expected", Align::kRight});
  table.columns.push_back({"of it", Align::kRight});
  table.columns.push_back({"verdict"});
  if (explain) table.columns.push_back({"limit"});
  for (const SizeRows& rows : sizes) {
    const JudgedRow& row = worse_of(rows);
    std::vector<Line> cells{plain(in_words(row.size))};
    cells.push_back(plain(measured_of(rows.out)));
    if (halves) cells.push_back(plain(measured_of(rows.in)));
    cells.push_back(plain(expected_of(row)));
    cells.push_back(plain(share_of(row)));
    cells.push_back(toned(judge::name_of(row.verdict), tone_of(row.verdict)));
    if (explain) cells.push_back(toned(printable(row.limit.empty() ? row.why : row.limit), Tone::kQuiet));
    table.rows.push_back(std::move(cells));
  }
  document.blocks.emplace_back(std::move(table));
}

void add_rows(const Judgement& judgement, Document& document) {
  report::Table table{{{"what"},
                       {"measured", Align::kRight},
                       {"expected", Align::kRight},
                       {"of it", Align::kRight},
                       {"verdict"}},
                      {}};
  for (std::size_t i = 0; i < std::min(judgement.rows.size(), kRowsShown); ++i) {
    const JudgedRow& row = judgement.rows[i];
    table.rows.push_back({plain(printable(row.what)), plain(figure(row.measured) + " " + row.unit),
                          plain(row.expected > 0 ? figure(row.expected) : "?"),
                          plain(share_of(row.measured, row.expected)),
                          toned(judge::name_of(row.verdict), tone_of(row.verdict))});
  }
  document.blocks.emplace_back(std::move(table));
  if (judgement.rows.size() > kRowsShown)
    document.blocks.emplace_back(Paragraph{
        toned(fmt::format("{} more rows: --format json", judgement.rows.size() - kRowsShown), Tone::kQuiet)});
}

std::string hosts_words(const Judgement& judgement) {
  if (judgement.hosts.empty()) return {};
  std::vector<std::string> shown;
  for (std::size_t i = 0; i < std::min(judgement.hosts.size(), kHostsShown); ++i)
    shown.push_back(printable(judgement.hosts[i]));
  std::string text = " (" + join(shown, ", ");
  if (judgement.hosts.size() > shown.size())
    text += fmt::format(" and {} more", judgement.hosts.size() - shown.size());
  return text + ")";
}

void add_notes(const Judgement& judgement, Document& document) {
  Fields fields;
  for (const std::string& sentence : judgement.assumptions)
    fields.rows.emplace_back(fields.rows.empty() ? "assumed" : "", toned(printable(sentence), Tone::kQuiet));
  const char* label = "not read";
  for (const std::string& sentence : judgement.refused) {
    fields.rows.emplace_back(label, plain(printable(sentence)));
    label = "";
  }
  if (!fields.rows.empty()) document.blocks.emplace_back(std::move(fields));
}

void add_undecided(const Judgement& judgement, Document& document) {
  for (const model::Undecided& gap : judgement.undecided) {
    document.blocks.emplace_back(
        Paragraph{{{"UNDECIDED ", Tone::kUnknown}, {printable(gap.missing), Tone::kPlain}}});
    Fields fields;
    fields.rows.emplace_back("collect", plain(printable(gap.collect)));
    fields.rows.emplace_back("rule", toned(gap.rule, Tone::kQuiet));
    document.blocks.emplace_back(std::move(fields));
  }
}

void add_judgement(const Judgement& judgement, bool rows, bool explain, bool with_plot, Document& document) {
  document.blocks.emplace_back(
      Paragraph{{{printable(judgement.source) + ": ", Tone::kStrong},
                 {printable(judgement.input), Tone::kPlain},
                 {contains(judgement.input, judgement.subject) ? "" : ", " + printable(judgement.subject),
                  Tone::kPlain},
                 {hosts_words(judgement), Tone::kQuiet}}});
  document.blocks.emplace_back(Paragraph{toned(printable(judgement.answer), tone_of(judgement.verdict))});
  add_notes(judgement, document);
  if (with_plot) {
    report::Drawing drawing = judge_drawing(judgement);
    if (drawing.width > 0) document.blocks.emplace_back(std::move(drawing));
  }
  if (rows && !judgement.rows.empty()) {
    if (is_curve(judgement)) {
      add_curve(judgement, explain, document);
    } else {
      add_rows(judgement, document);
    }
  }
  for (const model::Finding& finding : judgement.findings) {
    const bool said = finding.rule == "judge.average.quoted" && !explain;  // among the notes
    if (!said) add_finding(finding, "", document);
  }
  if (explain) add_undecided(judgement, document);
}

// The row that stands for a judgement: the largest size with the most telling verdict.
const JudgedRow* headline(const Judgement& judgement) {
  const JudgedRow* best = nullptr;
  for (const JudgedRow& row : judgement.rows) {
    if (row.measured <= 0) continue;
    const auto rank = [](const JudgedRow& one) {
      return std::tuple(one.expected > 0, one.size.value, one.measured);
    };
    if (best == nullptr || rank(row) > rank(*best)) best = &row;
  }
  return best;
}

void add_summary(const JudgeReport& report, Document& document) {
  report::Table table{{{"file"},
                       {"what"},
                       {"measured", Align::kRight},
                       {"expected", Align::kRight},
                       {"of it", Align::kRight},
                       {"verdict"}},
                      {}};
  constexpr std::size_t kName = 24;
  for (const Judgement& judgement : report.judgements) {
    const JudgedRow* row = headline(judgement);
    std::string file = printable(judgement.source);
    if (file.size() > kName) file = "..." + file.substr(file.size() - kName + 3);
    table.rows.push_back({plain(std::move(file)), plain(printable(judgement.subject)),
                          plain(row != nullptr ? figure(row->measured) + " " + row->unit : ""),
                          plain(row != nullptr && row->expected > 0 ? figure(row->expected) : "?"),
                          plain(row != nullptr ? share_of(row->measured, row->expected) : ""),
                          toned(judge::name_of(judgement.verdict), tone_of(judgement.verdict))});
  }
  document.blocks.emplace_back(std::move(table));
}

std::string count_line(const JudgeReport& report) {
  std::map<Verdict, std::size_t> verdicts;
  std::size_t undecided = 0;
  for (const Judgement& judgement : report.judgements) {
    ++verdicts[judgement.verdict];
    undecided += judgement.undecided.size();
  }
  std::vector<std::string> parts;
  for (const Verdict verdict :
       {Verdict::kWrong, Verdict::kImpossible, Verdict::kLow, Verdict::kNormal, Verdict::kUndecided})
    if (verdicts[verdict] > 0)
      parts.push_back(fmt::format("{} {}", verdicts[verdict], judge::name_of(verdict)));
  std::string text = count_of(report.judgements.size(), "result") + ": " + join(parts, ", ");
  if (undecided > 0 && !report.explain)
    text += fmt::format("; {} undecided (--explain)", count_of(undecided, "question"));
  return text;
}

Document document_of(const JudgeReport& report, bool page) {
  Document document;
  const bool many = report.judgements.size() > 1;
  if (page)  // a terminal has the command above
    document.title = many || report.judgements.empty()
                         ? "angio judge: " + count_of(report.judgements.size(), "result")
                         : "angio judge: " + printable(report.judgements.front().subject);
  if (many) add_summary(report, document);
  std::size_t plots = 0;
  for (const Judgement& judgement : report.judgements) {
    const bool whole = page || report.explain || !many;
    // Of many the ones that are as they should be stand in the table above.
    if (!whole && judgement.findings.empty() && judgement.verdict == Verdict::kNormal) continue;
    if (page && many)
      document.blocks.emplace_back(
          report::Heading{printable(judgement.source + ": " + judgement.subject), 2});
    add_judgement(judgement, whole, page || report.explain, page && ++plots <= kMostPlots, document);
  }
  for (const std::string& note : report.notes)
    document.blocks.emplace_back(
        Paragraph{{{"NOTE      ", Tone::kUnknown}, {printable(note), Tone::kPlain}}});
  document.blocks.emplace_back(Paragraph{plain(count_line(report))});
  return document;
}

BytesPerSecond rate(double gigabytes) {
  return BytesPerSecond{gigabytes * kGigabyte};
}

}  // namespace

report::Drawing judge_drawing(const Judgement& judgement) {
  if (!is_curve(judgement) || in_microseconds(judgement)) return {};
  BusbwPlot plot;
  plot.title = judgement.subject;
  plot.description = judgement.answer;
  BusbwSeries out{"out of place", {}, false};
  BusbwSeries in{"in place", {}, true};
  for (const JudgedRow& row : judgement.rows) {
    if (!row.question || row.unit != "GB/s") continue;
    BusbwPoint point;
    point.size = row.size;
    point.bus = rate(row.measured);
    point.tone = row.verdict == Verdict::kNormal || row.verdict == Verdict::kUndecided ? Tone::kPlain
                                                                                       : tone_of(row.verdict);
    point.tooltip = fmt::format("{}: {} GB/s, expected {}: {}", row.what, figure(row.measured), range_of(row),
                                judge::name_of(row.verdict));
    (row.in_place.value_or(false) ? in : out).points.push_back(std::move(point));
    const bool fresh = std::ranges::find(plot.band, row.size, &BusbwBand::size) == plot.band.end();
    if (fresh && row.expected > 0)
      plot.band.push_back({row.size, rate(row.low), rate(row.expected), rate(row.high)});
  }
  if (in.points.empty()) out.name = "measured";
  for (BusbwSeries* series : {&out, &in})
    if (!series->points.empty()) plot.series.push_back(std::move(*series));
  return busbw_drawing(plot);
}

Document judge_document(const JudgeReport& report) {
  return document_of(report, false);
}

Document judge_page(const JudgeReport& report) {
  return document_of(report, true);
}

}  // namespace angio::views
