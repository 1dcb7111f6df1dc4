// What `angio dryrun` shows: one run of a real NCCL on phantom hardware, two runs beside each other, a sweep
// over settings, and the reasons in words. Documents for the terminal and for the page (render_html), and the
// same facts as versioned JSON. How the choices are compared and explained is src/dryrun's; here are words,
// tables and pictures only.
#pragma once

#include <optional>
#include <vector>

#include "base/json.hpp"
#include "dryrun/compare.hpp"
#include "dryrun/reasons.hpp"
#include "model/dryrun.hpp"
#include "model/machine.hpp"
#include "report/document.hpp"

namespace angio::views {

// ---- one run

// Values only; the command fills it.
struct DryRunReport {
  const model::DryRun* run = nullptr;
  const model::Machine* machine =
      nullptr;  // of node 0, its GPUs in CUDA's order, for the page's picture; null: not known
  std::optional<std::vector<dryrun::Reason>> reasons;  // --explain; none: was not asked for
};
report::Document dryrun_document(const DryRunReport& report);
// The same with a title and pictures: rings over the machine, rings and tree over all nodes, choices by size.
report::Document dryrun_page(const DryRunReport& report);
Json dryrun_json(const DryRunReport& report);  // {"schema": "angio.dryrun/1", …}

// ---- two runs beside each other: --set-a, --set-b

struct DryRunComparison {
  const model::DryRun* a = nullptr;
  const model::DryRun* b = nullptr;
  dryrun::Comparison comparison;
};
report::Document dryrun_comparison_document(const DryRunComparison& report);
report::Document dryrun_comparison_page(const DryRunComparison& report);  // with the choices drawn by size
Json dryrun_comparison_json(const DryRunComparison& report);  // {"schema": "angio.dryrun-comparison/1", …}

// ---- a sweep: --vary

// runs[0] is the one as given; rows are dryrun::sweep_rows(runs).
struct DryRunSweep {
  const std::vector<model::DryRun>* runs = nullptr;
  std::vector<dryrun::SweepRow> rows;
};
report::Document dryrun_sweep_document(const DryRunSweep& report);
report::Document dryrun_sweep_page(const DryRunSweep& report);  // with the plot
Json dryrun_sweep_json(const DryRunSweep& report);              // {"schema": "angio.dryrun-sweep/1", …}

// ---- parts, each in a file of its own

// What the choices by size look like: a row for each collective (and variant), segments of one choice each
// over the size, log 2, coloured and labelled. None without a choice.
std::optional<report::Drawing> dryrun_choices_drawing(const model::DryRun& run);
std::optional<report::Drawing> dryrun_sweep_drawing(const std::vector<dryrun::SweepRow>& rows);
// The rings of the log over the machine of node 0: a picture for each different ring, up to four.
std::vector<report::Drawing> dryrun_machine_drawings(const model::DryRun& run, const model::Machine& machine);

void add_dryrun_reasons(const std::vector<dryrun::Reason>& reasons, report::Document& document);
Json dryrun_reasons_json(const std::vector<dryrun::Reason>& reasons);

}  // namespace angio::views
