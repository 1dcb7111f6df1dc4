// What `angio log` shows: first what ran and which ways NCCL took, then the results and answers that the
// files hold, then findings, at last what is missing and how to get it. The same facts as versioned JSON:
// {"schema": "angio.log/1", …}.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/json.hpp"
#include "model/nccl_evidence.hpp"
#include "report/document.hpp"
#include "views/doctor_report.hpp"

namespace angio::views {

// Values only; the command fills it.
struct LogReport {
  struct File {
    std::string name;
    std::vector<std::string>
        holds;  // "1204 lines of NCCL's", "2 tables of nccl-tests"; empty: nothing of them
    std::string trouble;
  };
  struct Missing {
    std::string what;
    std::string remedy;
  };
  std::vector<File> files;
  const model::NcclEvidence* evidence = nullptr;
  std::vector<Missing> missing;
  DoctorReport findings;  // without nodes
  bool show_facts = true;
  bool show_findings = true;
  std::optional<std::uint32_t> rank;  // only what this rank did
};

report::Document log_document(const LogReport& report);
Json log_json(const LogReport& report);

// ---- parts, each in a file of its own
void add_log_facts(const model::NcclLog& log, report::Document& document);
void add_rank_facts(const model::NcclLog& log, std::uint32_t rank, report::Document& document);
void add_log_events(const model::NcclLog& log, report::Document& document);  // warnings, causes first
void add_ras(const model::NcclEvidence& evidence, report::Document& document);
void add_watchdog(const model::NcclEvidence& evidence, report::Document& document);
void add_inspector(const model::NcclEvidence& evidence, report::Document& document);
Json log_facts_json(const model::NcclLog& log);
Json ras_json(const model::NcclEvidence& evidence);
Json watchdog_json(const model::NcclEvidence& evidence);
Json inspector_json(const model::NcclEvidence& evidence);

}  // namespace angio::views
