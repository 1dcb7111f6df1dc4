// `angio ps` in words: for each training process its verdict, GPU, threads, memory by node, NIC and workers;
// then what dead jobs left behind. Judged by diagnose (binding, job, strays); nothing is decided here.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "model/machine.hpp"
#include "model/process_survey.hpp"
#include "report/document.hpp"

namespace angio::views {

struct ProcessReport {
  const model::Machine* machine = nullptr;
  const model::ProcessSurvey* survey = nullptr;  // none: a snapshot
  std::map<std::uint32_t, std::string> users;    // names by number, as far as known
  bool threads = false;                          // a line for each thread
  bool chosen = false;                           // the user named what to show
};

report::Document process_document(const ProcessReport& report);

}  // namespace angio::views
