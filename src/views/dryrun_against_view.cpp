#include "views/dryrun_against_view.hpp"

#include "base/text.hpp"
#include "views/doctor_view.hpp"
#include "views/dryrun_parts.hpp"
#include "views/findings_json.hpp"

namespace angio::views {

report::Document dryrun_against_document(const model::DryRun& healthy, const DoctorReport& job) {
  report::Document document = doctor_document(job);
  std::vector<report::Block> head;
  head.emplace_back(report::Paragraph{
      report::plain("The job beside " + run_words(healthy) + " as they should be: " + end_words(healthy))});
  if (!healthy.problem.empty())
    head.emplace_back(report::Paragraph{report::toned(printable(healthy.problem), report::Tone::kCritical)});
  document.blocks.insert(document.blocks.begin(), std::make_move_iterator(head.begin()),
                         std::make_move_iterator(head.end()));
  return document;
}

Json dryrun_against_json(const model::DryRun& healthy, const DoctorReport& job) {
  return Json::object({{"schema", "angio.dryrun-against/1"},
                       {"healthy", dryrun_run_json(healthy)},
                       {"job", findings_json(job)}});
}

}  // namespace angio::views
