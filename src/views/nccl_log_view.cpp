#include "views/nccl_log_view.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/format.hpp"
#include "base/text.hpp"
#include "views/doctor_view.hpp"
#include "views/nccl_log_words.hpp"
#include "views/nccl_tests_view.hpp"

namespace angio::views {
namespace {

using report::Document;
using report::Paragraph;
using report::plain;
using report::Tone;
using report::toned;

constexpr std::size_t kMostFiles = 6;

// Files that hold nothing, or could not be read to their end; the others are only counted when there are
// many.
void add_files(const LogReport& report, Document& document) {
  std::size_t shown = 0;
  for (const LogReport::File& file : report.files) {
    const bool nothing = file.holds.empty();
    if (!nothing && file.trouble.empty()) continue;
    if (shown++ >= kMostFiles) continue;
    const std::string text =
        file.trouble.empty()
            ? file.name + ": no line of NCCL, nccl-tests, RAS, Inspector or PyTorch's process groups"
            : file.name + ": " + file.trouble;
    document.blocks.emplace_back(
        Paragraph{{{"NOTE      ", Tone::kUnknown}, {printable(text), Tone::kPlain}}});
  }
  if (shown > kMostFiles)
    document.blocks.emplace_back(
        Paragraph{{{"NOTE      ", Tone::kUnknown},
                   {fmt::format("and {} files more, see --format json", shown - kMostFiles), Tone::kPlain}}});
}

void add_missing(const LogReport& report, Document& document) {
  if (report.missing.empty()) return;
  report::Fields fields;
  for (const LogReport::Missing& gap : report.missing) {
    fields.rows.emplace_back(fields.rows.empty() ? "not told" : "", plain(printable(gap.what)));
    fields.rows.emplace_back("", toned(printable(gap.remedy), Tone::kStrong));
  }
  document.blocks.emplace_back(std::move(fields));
}

std::string closing_line(const DoctorReport& report) {
  const std::size_t open = report.undecided.size();
  std::string line = report.findings.empty() ? "no findings" : count_of(report.findings.size(), "finding");
  line += fmt::format(", {} undecided{}, {} held", open,
                      open > 0 && !report.show_undecided ? " (--undecided)" : "",
                      count_of(report.held.size(), "rule"));
  return line;
}

void add_findings(const LogReport& report, Document& document) {
  Document findings = doctor_document(report.findings);
  if (!findings.blocks.empty()) findings.blocks.pop_back();  // its closing line speaks of the doctor
  for (auto& block : findings.blocks)
    document.blocks.push_back(std::move(block));
  document.blocks.emplace_back(Paragraph{plain(closing_line(report.findings))});
}

}  // namespace

Document log_document(const LogReport& report) {
  Document document;
  add_files(report, document);
  if (report.show_facts && report.evidence != nullptr) {
    const model::NcclEvidence& evidence = *report.evidence;
    if (evidence.log) {
      if (report.rank) {
        add_rank_facts(*evidence.log, *report.rank, document);
      } else {
        add_log_facts(*evidence.log, document);
      }
    }
    if (!report.rank) {
      add_nccl_tests(evidence, document);
      add_ras(evidence, document);
      add_watchdog(evidence, document);
      add_inspector(evidence, document);
    }
  }
  if (report.show_findings) add_findings(report, document);
  if (report.show_facts) add_missing(report, document);
  return document;
}

}  // namespace angio::views
