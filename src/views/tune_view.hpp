// A campaign of angio tune as a document (with a drawing of the intervals), one line of words and JSON
// "angio.tune/1".
#pragma once

#include <string>
#include <vector>

#include "base/json.hpp"
#include "experiment/campaign.hpp"
#include "experiment/tune_arms.hpp"
#include "experiment/tune_spec.hpp"
#include "experiment/tune_verdict.hpp"
#include "report/document.hpp"

namespace angio::views {

struct TuneReport {
  const experiment::TuneSpec* spec = nullptr;
  const experiment::Campaign* campaign = nullptr;
  experiment::TuneVerdict verdict;
  std::vector<experiment::ArmSetting> arms;
  std::string captured;  // when the campaign began, UTC
  std::string host;
  std::string ledger;  // its file; empty: none was kept
};

// "channels=8 is kept: 3.2 % better than the baseline (2.1 to 4.4 %)", "the baseline stays: …".
std::string tune_words(const TuneReport& report);
report::Document tune_document(const TuneReport& report);
Json tune_json(const TuneReport& report);

// Before anything runs: what would be started.
report::Document tune_plan_document(const experiment::TuneSpec& spec,
                                    const std::vector<experiment::ArmSetting>& arms);

}  // namespace angio::views
