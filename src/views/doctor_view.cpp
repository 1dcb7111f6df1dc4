#include "views/doctor_view.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <span>
#include <tuple>

#include "base/format.hpp"
#include "base/text.hpp"
#include "views/notes.hpp"

namespace angio::views {

using report::Document;
using report::Fields;
using report::Line;
using report::Paragraph;
using report::plain;
using report::Span;
using report::Tone;
using report::toned;

namespace {

// What a reader takes in at a glance; JSON has all.
constexpr std::size_t kNamesShown = 4;
constexpr std::size_t kDifferencesShown = 4;  // of a group
constexpr std::size_t kRowsShown = 16;

std::string names(const std::vector<std::string>& nodes) {
  if (nodes.size() <= kNamesShown) return join(nodes, " ");
  const std::vector<std::string> first(nodes.begin(), nodes.begin() + kNamesShown - 1);
  return fmt::format("{} and {} more", join(first, " "), nodes.size() - first.size());
}

Tone tone_of(model::Severity severity) {
  return severity == model::Severity::kCritical  ? Tone::kCritical
         : severity == model::Severity::kWarning ? Tone::kWarning
                                                 : Tone::kQuiet;
}

std::string comparison_line(const DoctorReport& report) {
  if (report.nodes.size() == 1) {
    const DoctorReport::Node& node = report.nodes.front();
    return node.description.empty() ? node.name : node.name + ": " + node.description;
  }
  const std::vector<diagnose::NodeGroup>& groups = report.groups;
  const std::size_t all = report.nodes.size();
  const std::string line = count_of(all, "node") + ": ";
  if (groups.size() == all) return line + "no two alike; compared with " + groups.front().nodes.front();
  if (groups.size() == 1) return line + names(groups.front().nodes) + " alike";
  const std::size_t others = all - groups.front().nodes.size();
  const bool one_group = groups.size() == 2;
  return line +
         fmt::format("{} alike, {} {}", names(groups.front().nodes),
                     one_group ? names(groups[1].nodes) : count_of(others, "other"),
                     others == 1 ? "differs" : "differ") +
         (one_group ? " in " + count_of(groups[1].differences.size(), "thing") : std::string());
}

// A row for each thing in which a group differs from the first one.
void add_differences(const DoctorReport& report, Document& document) {
  if (report.groups.size() < 2) return;
  report::Table table{{{"node"}, {"differs in"}, {"here"}, {report.groups.front().nodes.front()}}, {}};
  std::size_t left_out = 0;
  for (std::size_t i = 1; i < report.groups.size(); ++i) {
    const diagnose::NodeGroup& group = report.groups[i];
    for (std::size_t row = 0; row < group.differences.size(); ++row) {
      if (row >= kDifferencesShown || table.rows.size() >= kRowsShown) {
        left_out += group.differences.size() - row;
        break;
      }
      const diagnose::NodeGroup::Difference& difference = group.differences[row];
      table.rows.push_back({row == 0 ? toned(names(group.nodes), Tone::kStrong) : Line{},
                            plain(printable(difference.trait)), plain(printable(difference.here)),
                            toned(printable(difference.majority), Tone::kQuiet)});
    }
  }
  document.blocks.emplace_back(std::move(table));
  if (left_out == 0) return;
  document.blocks.emplace_back(
      Paragraph{toned(count_of(left_out, "difference") + " more in --format json", Tone::kQuiet)});
}

// Fifty nodes with the same trouble are one entry.
struct Entry {
  const model::Finding* finding = nullptr;
  std::vector<std::string> nodes;
};

std::vector<Entry> merge(const std::vector<model::Finding>& findings) {
  std::vector<Entry> entries;
  std::map<std::pair<std::string_view, std::string_view>, std::size_t> places;
  for (const model::Finding& finding : findings) {
    const auto [place, is_new] = places.try_emplace({finding.rule, finding.title}, entries.size());
    if (is_new) entries.push_back({&finding, {}});
    std::vector<std::string>& nodes = entries[place->second].nodes;
    if (nodes.empty() || nodes.back() != finding.node) nodes.push_back(finding.node);
  }
  return entries;
}

std::string risk_of(const model::Fix& fix) {
  std::vector<std::string> parts;
  if (fix.needs_root) parts.emplace_back("needs root");
  if (fix.needs_reboot) parts.emplace_back("needs a reboot");
  if (!fix.risk.empty()) parts.push_back(fix.risk);
  return join(parts, "; ");
}

// The command stands alone, to be copied as it is.
void add_fix(const model::Fix& fix, const char* label, Fields& fields) {
  fields.rows.emplace_back(label, plain(fix.text));
  if (!fix.command.empty()) fields.rows.emplace_back("", report::command(fix.command));
  if (const std::string risk = risk_of(fix); !risk.empty())
    fields.rows.emplace_back("risk", toned(risk, Tone::kQuiet));
}

void add_evidence(const Entry& entry, const DoctorReport& report, Fields& fields) {
  constexpr std::size_t kShown = 5;  // the JSON form has them all
  const std::vector<model::Evidence>& evidence = entry.finding->evidence;
  const std::size_t shown = evidence.size() > kShown + 1 ? kShown : evidence.size();
  const char* label = "seen";
  for (const model::Evidence& seen : std::span(evidence).first(shown)) {
    Line line = plain(printable(seen.text));
    if (!seen.source.empty()) line.push_back({"  " + printable(seen.source), Tone::kQuiet});
    fields.rows.emplace_back(label, std::move(line));
    label = "";
  }
  if (shown < evidence.size()) {
    fields.rows.emplace_back(
        "", toned(fmt::format("and {} more like these", evidence.size() - shown), Tone::kQuiet));
  }
  const auto held = report.held.find(entry.finding->rule);
  if (held != report.held.end() && report.nodes.size() > 1) {
    fields.rows.emplace_back(label, plain("not so on " + names(held->second)));
  }
}

void add_finding(const Entry& entry, const DoctorReport& report, Document& document) {
  const model::Finding& finding = *entry.finding;
  Line head{{fmt::format("{:<10}", upper(in_words(finding.severity))), tone_of(finding.severity)}};
  if (report.nodes.size() > 1) head.push_back({names(entry.nodes) + "  ", Tone::kStrong});
  head.push_back({printable(finding.title), Tone::kStrong});
  document.blocks.emplace_back(Paragraph{std::move(head)});

  Fields fields;
  add_evidence(entry, report, fields);
  if (finding.cost.known()) {
    Line cost = plain(finding.cost.text);
    if (!finding.cost.formula.empty()) {
      cost.push_back({"  estimated, formula " + finding.cost.formula, Tone::kQuiet});
    }
    fields.rows.emplace_back("costs", std::move(cost));
  } else {
    fields.rows.emplace_back("costs", toned("unknown", Tone::kUnknown));
  }
  const char* label = "fix";
  for (const model::Fix& fix : finding.fixes) {
    add_fix(fix, label, fields);
    label = "or";
  }
  if (!finding.disprove.empty()) fields.rows.emplace_back("test", plain(finding.disprove));
  fields.rows.emplace_back("source",
                           plain(join(finding.sources, "; ") + " (" + in_words(finding.confidence) + ")"));
  fields.rows.emplace_back("rule", toned(finding.rule, Tone::kQuiet));
  document.blocks.emplace_back(std::move(fields));
}

void add_notes(const DoctorReport::Node& node, Document& document) {
  for (const model::Note& note : node.notes) {
    document.blocks.emplace_back(Paragraph{{{"NOTE      ", Tone::kUnknown},
                                            {node.name + "  ", Tone::kStrong},
                                            {note_text(note), Tone::kPlain}}});
  }
}

void add_past(const DoctorReport::Past& past, Document& document) {
  if (past.changes.empty() && past.gone.empty()) {
    document.blocks.emplace_back(Paragraph{plain(past.node + ": nothing changed since " + past.file)});
    return;
  }
  document.blocks.emplace_back(Paragraph{toned(past.node + " since " + past.file, Tone::kStrong)});
  Fields fields;
  for (const auto& change : past.changes) {
    fields.rows.emplace_back(change.trait,
                             plain("was " + printable(change.majority) + ", is " + printable(change.here)));
  }
  for (const model::Finding& finding : past.gone)
    fields.rows.emplace_back("gone", plain(printable(finding.title)));
  document.blocks.emplace_back(std::move(fields));
}

// The same gap on fifty nodes is one entry.
struct OpenEntry {
  const model::Undecided* gap = nullptr;
  std::vector<std::string> nodes;
};

std::vector<OpenEntry> merge(const std::vector<model::Undecided>& gaps) {
  using Key = std::tuple<std::string_view, std::string_view, std::string_view>;
  std::vector<OpenEntry> entries;
  std::map<Key, std::size_t> places;
  for (const model::Undecided& gap : gaps) {
    const auto [place, is_new] = places.try_emplace({gap.rule, gap.missing, gap.collect}, entries.size());
    if (is_new) entries.push_back({&gap, {}});
    std::vector<std::string>& nodes = entries[place->second].nodes;
    if (nodes.empty() || nodes.back() != gap.node) nodes.push_back(gap.node);
  }
  return entries;
}

void add_undecided(const DoctorReport& report, Document& document) {
  for (const OpenEntry& entry : merge(report.undecided)) {
    Line head{{"UNDECIDED ", Tone::kUnknown}};
    if (report.nodes.size() > 1) head.push_back({names(entry.nodes) + "  ", Tone::kStrong});
    head.push_back({printable(entry.gap->missing), Tone::kPlain});
    document.blocks.emplace_back(Paragraph{std::move(head)});
    Fields fields;
    fields.rows.emplace_back("collect", plain(printable(entry.gap->collect)));
    fields.rows.emplace_back("rule", toned(entry.gap->rule, Tone::kQuiet));
    document.blocks.emplace_back(std::move(fields));
  }
}

// Counts what stands on the page, so that a reader who counts comes to the same.
std::string closing_line(const DoctorReport& report) {
  const std::size_t open = merge(report.undecided).size();
  std::string line =
      report.findings.empty() ? "no findings; " : count_of(merge(report.findings).size(), "finding") + ", ";
  const std::string undecided = std::to_string(open) + " undecided" +
                                (open > 0 && !report.show_undecided ? " (angio doctor --undecided)" : "");
  const std::string held = count_of(rules_held(report), "rule") + " held";
  line += report.findings.empty() ? held + ", " + undecided : undecided + ", " + held;
  return line + fmt::format(". {:.2f} s", report.seconds);
}

}  // namespace

std::string provenance(const DoctorReport& report) {
  std::set<std::string_view> times;
  for (const DoctorReport::Node& node : report.nodes) {
    if (!node.captured.empty()) times.insert(node.captured);
  }
  const auto unknown =
      std::ranges::count_if(report.nodes, [](const auto& node) { return node.captured.empty(); });
  std::vector<std::string> parts;
  if (!report.tool.empty()) parts.push_back(report.tool);
  if (times.size() == 1) parts.push_back("captured " + printable(*times.begin()));
  if (times.size() > 1)
    parts.push_back(fmt::format("captured {} to {}", printable(*times.begin()), printable(*times.rbegin())));
  if (unknown > 0 && !times.empty())
    parts.push_back(count_of(static_cast<std::size_t>(unknown), "node") + " without a time of capture");
  if (times.empty() && !report.nodes.empty()) parts.emplace_back("time of capture not in the source");
  return join(parts, "; ");
}

Document doctor_document(const DoctorReport& report) {
  Document document;
  if (!report.nodes.empty())
    document.blocks.emplace_back(Paragraph{plain(printable(comparison_line(report)))});
  add_differences(report, document);
  for (const DoctorReport::Unreadable& file : report.unreadable) {
    document.blocks.emplace_back(
        Paragraph{{{"UNREADABLE", Tone::kUnknown}, {" " + printable(file.reason), Tone::kPlain}}});
  }
  for (const std::string& remark : report.remarks) {
    document.blocks.emplace_back(
        Paragraph{{{"NOTE      ", Tone::kUnknown}, {printable(remark), Tone::kPlain}}});
  }
  for (const DoctorReport::Node& node : report.nodes)
    add_notes(node, document);
  for (const Entry& entry : merge(report.findings))
    add_finding(entry, report, document);
  for (const DoctorReport::Past& past : report.past)
    add_past(past, document);
  if (report.show_undecided) add_undecided(report, document);
  document.blocks.emplace_back(Paragraph{plain(closing_line(report))});
  return document;
}

}  // namespace angio::views
