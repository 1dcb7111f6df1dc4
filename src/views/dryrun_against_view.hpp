// A job's log held against a dry run of healthy hardware: what the run was, then the findings as the doctor
// words them. JSON: {"schema": "angio.dryrun-against/1", …}.
#pragma once

#include "base/json.hpp"
#include "model/dryrun.hpp"
#include "report/document.hpp"
#include "views/doctor_report.hpp"

namespace angio::views {

report::Document dryrun_against_document(const model::DryRun& healthy, const DoctorReport& job);
Json dryrun_against_json(const model::DryRun& healthy, const DoctorReport& job);

}  // namespace angio::views
