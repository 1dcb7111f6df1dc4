// What the files of the dry run's views share of each other: lines that name a run, and the JSON of one run
// inside that of several. Only for src/views/dryrun_* and nccl_tuning_view.cpp.
#pragma once

#include <string>
#include <vector>

#include "base/json.hpp"
#include "model/dryrun.hpp"
#include "model/nccl_log.hpp"
#include "report/document.hpp"

namespace angio::views {

std::string run_words(const model::DryRun& run);  // "NCCL 2.28.9+cuda13.0, 2 nodes × 8 ranks on phantom GPUs"
std::string end_words(const model::DryRun& run);  // "complete in 2.1 s"
Json dryrun_run_json(const model::DryRun& run);   // everything but the schema

void add_dryrun_choices(const model::DryRun& run, report::Document& document);
void add_dryrun_ways(const model::DryRun& run, report::Document& document);
void add_dryrun_kernels(const model::DryRun& run, report::Document& document);
void add_dryrun_tuning(const model::DryRun& run, report::Document& document);
// NCCL's model as a table.
void add_tuning_table(const std::vector<model::NcclTuningCell>& tuning, report::Document& document);

}  // namespace angio::views
