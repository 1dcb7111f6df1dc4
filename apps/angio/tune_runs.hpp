// The runs of a campaign: each started as its setting says, measured, written to the ledger, and told to the
// campaign. Used by tune_command.
#pragma once

#include <vector>

#include "base/error.hpp"
#include "experiment/campaign.hpp"
#include "experiment/tune_arms.hpp"
#include "experiment/tune_spec.hpp"
#include "tune_ledger_file.hpp"

namespace angio::app {

// Until the campaign has ended or a signal came; answers the signal, 0: none. A run that a signal ended does
// not count.
Result<int> run_campaign(const experiment::TuneSpec& spec, const std::vector<experiment::ArmSetting>& arms,
                         experiment::Campaign& campaign, LedgerFile& ledger);

}  // namespace angio::app
