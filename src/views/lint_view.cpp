#include "views/lint_view.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "base/text.hpp"
#include "knowledge/variables.hpp"

namespace angio::views {

using report::Document;
using report::Fields;
using report::Line;
using report::Paragraph;
using report::plain;
using report::Tone;
using report::toned;

std::string_view lint_severity(model::Severity severity) {
  if (severity == model::Severity::kCritical) return "error";
  return severity == model::Severity::kWarning ? "warning" : "info";
}

namespace {

// Beyond it the file's name stands on a line of its own.
constexpr std::size_t kLongLabel = 24;

Tone tone_of(model::Severity severity) {
  if (severity == model::Severity::kCritical) return Tone::kCritical;
  return severity == model::Severity::kWarning ? Tone::kWarning : Tone::kPlain;
}

std::string where(const lint::Complaint& complaint) {
  if (complaint.place.line == 0) return printable(complaint.file);
  return fmt::format("{}:{}", printable(complaint.file), complaint.place.line);
}

bool long_labels(const lint::Report& report) {
  return std::ranges::any_of(report.complaints,
                             [](const lint::Complaint& one) { return where(one).size() > kLongLabel; });
}

void add_complaint(Fields& fields, const lint::Complaint& complaint, const std::string& place) {
  const std::string label = fmt::format("{}  {:<7}", place, lint_severity(complaint.severity));
  Line line = toned(printable(complaint.message), tone_of(complaint.severity));
  line.push_back({"  " + complaint.rule, Tone::kQuiet});
  fields.rows.emplace_back(label, std::move(line));
  if (!complaint.advice.empty()) fields.rows.emplace_back("", plain(printable(complaint.advice)));
}

std::size_t widest_place(const lint::Report& report, bool own_line) {
  std::size_t widest = 0;
  for (const lint::Complaint& one : report.complaints) {
    const std::size_t size = own_line ? fmt::format("{}", one.place.line).size() : where(one).size();
    widest = std::max(widest, size);
  }
  return widest;
}

void add_complaints(const lint::Report& report, Document& document) {
  const bool own_line = long_labels(report);
  const std::size_t width = widest_place(report, own_line);
  Fields fields;
  fields.indent = own_line ? 2 : 0;
  std::string file;
  for (const lint::Complaint& complaint : report.complaints) {
    if (own_line && complaint.file != file) {
      if (!fields.rows.empty()) document.blocks.emplace_back(fields);
      fields.rows.clear();
      document.blocks.emplace_back(Paragraph{toned(printable(complaint.file), Tone::kStrong)});
    }
    file = complaint.file;
    const std::string place = own_line ? fmt::format("{:>{}}", complaint.place.line, width)
                                       : fmt::format("{:<{}}", where(complaint), width);
    add_complaint(fields, complaint, place);
  }
  if (!fields.rows.empty()) document.blocks.emplace_back(fields);
}

std::string counted(std::size_t count, std::string_view one, std::string_view many) {
  return fmt::format("{} {}", count, count == 1 ? one : many);
}

std::string releases_text(const lint::Report& report) {
  std::vector<std::string> parts;
  for (const lint::Release& release : report.releases) {
    if (release.version.empty()) continue;
    std::string part = fmt::format("NCCL {} ({})", printable(release.version), printable(release.source));
    if (std::ranges::find(parts, part) == parts.end()) parts.push_back(std::move(part));
  }
  constexpr std::size_t kMost = 3;
  const std::size_t more = parts.size() > kMost ? parts.size() - kMost : 0;
  parts.resize(parts.size() - more);
  return join(parts, "; ") + (more > 0 ? fmt::format("; {} more releases", more) : "");
}

std::string summary(const LintView& view) {
  std::array<std::size_t, 3> counts{};
  std::size_t fixable = 0;
  for (const lint::Complaint& complaint : view.report.complaints) {
    ++counts[static_cast<std::size_t>(complaint.severity)];
    if (!complaint.fix.empty()) ++fixable;
  }
  std::vector<std::string> parts;
  if (counts[2] > 0) parts.push_back(counted(counts[2], "error", "errors"));
  if (counts[1] > 0) parts.push_back(counted(counts[1], "warning", "warnings"));
  if (counts[0] > 0) parts.push_back(counted(counts[0], "info", "infos"));
  std::string text = parts.empty() ? "no complaints" : join(parts, ", ");
  text += fmt::format(" in {}", counted(view.scripts.size(), "file", "files"));
  if (fixable > 0) text += fmt::format("; --fix mends {}", fixable);
  const std::string releases = releases_text(view.report);
  return releases.empty() ? text : text + ". " + releases;
}

void add_notes(const LintView& view, Document& document) {
  Fields fields;
  fields.indent = 0;
  for (const lint::Script& script : view.scripts) {
    for (const std::string& note : script.notes) {
      fields.rows.emplace_back(printable(script.name) + ":", toned(printable(note), Tone::kQuiet));
    }
  }
  if (!fields.rows.empty()) document.blocks.emplace_back(std::move(fields));
}

void add_effective(const lint::Report& report, Document& document) {
  if (report.effective.empty()) {
    document.blocks.emplace_back(Paragraph{plain("no variable that the catalogue knows is set")});
    return;
  }
  report::Table table;
  table.columns = {{"variable"}, {"value"}, {"from"}, {"effect"}};
  for (const lint::Effective& line : report.effective) {
    const Tone tone = line.has_effect ? Tone::kPlain : Tone::kQuiet;
    table.rows.push_back({toned(printable(line.name), tone), toned(printable(line.value), tone),
                          toned(printable(line.origin), tone), toned(printable(line.effect), tone)});
  }
  document.blocks.emplace_back(std::move(table));
}

Json edits_json(const lint::Complaint& complaint) {
  Json edits = Json::array();
  for (const lint::Edit& edit : complaint.fix) {
    edits.push_back(Json::object({{"offset", std::uint64_t{edit.offset}},
                                  {"length", std::uint64_t{edit.length}},
                                  {"replacement", edit.replacement}}));
  }
  return edits;
}

Json complaint_json(const lint::Complaint& complaint) {
  return Json::object({{"rule", complaint.rule},
                       {"severity", lint_severity(complaint.severity)},
                       {"file", complaint.file},
                       {"line", complaint.place.line},
                       {"column", complaint.place.column},
                       {"offset", std::uint64_t{complaint.place.offset}},
                       {"length", std::uint64_t{complaint.place.length}},
                       {"message", complaint.message},
                       {"advice", complaint.advice},
                       {"fix", edits_json(complaint)}});
}

Json effective_json(const lint::Effective& line) {
  return Json::object({{"name", line.name},
                       {"value", line.value},
                       {"from", line.origin},
                       {"effect", line.effect},
                       {"has_effect", line.has_effect}});
}

Json file_json(const lint::Script& script) {
  Json notes = Json::array();
  for (const std::string& note : script.notes)
    notes.push_back(note);
  return Json::object(
      {{"file", script.name}, {"kind", lint::name_of(script.kind)}, {"notes", std::move(notes)}});
}

}  // namespace

Document lint_document(const LintView& view) {
  Document document;
  add_complaints(view.report, document);
  if (view.effective) add_effective(view.report, document);
  add_notes(view, document);
  document.blocks.emplace_back(Paragraph{plain(summary(view))});
  return document;
}

Json lint_json(const LintView& view) {
  Json files = Json::array();
  for (const lint::Script& script : view.scripts)
    files.push_back(file_json(script));
  Json releases = Json::array();
  for (const lint::Release& release : view.report.releases) {
    releases.push_back(Json::object(
        {{"nccl", release.version}, {"source", release.source}, {"files", std::uint64_t{release.files}}}));
  }
  Json complaints = Json::array();
  for (const lint::Complaint& complaint : view.report.complaints)
    complaints.push_back(complaint_json(complaint));
  Json effective = Json::array();
  for (const lint::Effective& line : view.report.effective)
    effective.push_back(effective_json(line));
  return Json::object({{"schema", "angio.lint/1"},
                       {"tool", view.tool},
                       {"files", std::move(files)},
                       {"releases", std::move(releases)},
                       {"complaints", std::move(complaints)},
                       {"effective", std::move(effective)}});
}

Document lint_rules_document() {
  Document document;
  Fields fields;
  fields.indent = 0;
  for (const knowledge::LintRule& rule : knowledge::lint_rules()) {
    fields.rows.emplace_back(fmt::format("{:<7}  {}", rule.severity, rule.id),
                             plain(std::string(rule.summary)));
  }
  document.blocks.emplace_back(std::move(fields));
  document.blocks.emplace_back(Paragraph{
      plain(fmt::format("{} rules. angio explain RULE tells more", knowledge::lint_rules().size()))});
  return document;
}

Json lint_rules_json() {
  Json rules = Json::array();
  for (const knowledge::LintRule& rule : knowledge::lint_rules()) {
    Json sources = Json::array();
    for (const std::string_view source : rule.sources)
      sources.push_back(source);
    rules.push_back(Json::object({{"id", rule.id},
                                  {"summary", rule.summary},
                                  {"severity", rule.severity},
                                  {"basis", rule.documented ? "documented" : "heuristic"},
                                  {"explain", rule.explain},
                                  {"sources", std::move(sources)}}));
  }
  return Json::object({{"schema", "angio.lint-rules/1"}, {"rules", std::move(rules)}});
}

}  // namespace angio::views
