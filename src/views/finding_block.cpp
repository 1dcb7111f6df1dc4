#include "views/finding_block.hpp"

#include <fmt/format.h>

#include "base/text.hpp"
#include "views/doctor_report.hpp"

namespace angio::views {

using report::Document;
using report::Fields;
using report::Line;
using report::Paragraph;
using report::plain;
using report::Tone;
using report::toned;

namespace {

Tone tone_of(model::Severity severity) {
  return severity == model::Severity::kCritical  ? Tone::kCritical
         : severity == model::Severity::kWarning ? Tone::kWarning
                                                 : Tone::kQuiet;
}

}  // namespace

void add_finding(const model::Finding& finding, std::string_view own_source, Document& document) {
  document.blocks.emplace_back(
      Paragraph{{{fmt::format("{:<10}", upper(in_words(finding.severity))), tone_of(finding.severity)},
                 {printable(finding.title), Tone::kStrong}}});
  Fields fields;
  const char* label = "seen";
  for (const model::Evidence& seen : finding.evidence) {
    Line line = plain(printable(seen.text));
    if (!seen.source.empty() && seen.source != own_source)
      line.push_back({"  " + printable(seen.source), Tone::kQuiet});
    fields.rows.emplace_back(label, std::move(line));
    label = "";
  }
  if (finding.cost.known()) {
    Line cost = plain(printable(finding.cost.text));
    if (!finding.cost.formula.empty())
      cost.push_back({"  estimated, formula " + finding.cost.formula, Tone::kQuiet});
    fields.rows.emplace_back("costs", std::move(cost));
  }
  label = "fix";
  for (const model::Fix& fix : finding.fixes) {
    fields.rows.emplace_back(label, plain(printable(fix.text)));
    if (!fix.command.empty()) fields.rows.emplace_back("", report::command(printable(fix.command)));
    label = "or";
  }
  if (!finding.disprove.empty()) fields.rows.emplace_back("test", plain(printable(finding.disprove)));
  fields.rows.emplace_back("rule", toned(finding.rule, Tone::kQuiet));
  document.blocks.emplace_back(std::move(fields));
}

}  // namespace angio::views
