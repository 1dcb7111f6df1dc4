// The ledger of a campaign: JSON lines, the first with the whole description and where it runs, then one for
// each run. Enough to come to the same verdict again without running, and to go on after a crash: a last line
// that is cut off is left out. Pure text work; who appends and syncs it is in apps.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "experiment/campaign.hpp"

namespace angio::experiment {

struct LedgerHead {
  std::string spec_name;
  std::string spec_text;
  std::uint64_t seed = 0;
  std::string started;  // UTC
  std::string host;
  std::string angio;                                             // version
  std::vector<std::pair<std::string, std::string>> environment;  // only what an allow-list lets through
};

struct LedgerRun {
  TuneRun run;
  std::string arm;
  std::string started;
};

struct Ledger {
  LedgerHead head;
  std::vector<LedgerRun> runs;
  std::size_t whole_bytes = 0;  // up to the end of the last line that is whole
  bool cut = false;             // something stood behind that
};

std::string head_line(const LedgerHead& head);  // with its line end
std::string run_line(const LedgerRun& run);

Result<Ledger> parse_ledger(std::string_view text, const std::string& name);

// The runs into the campaign. Fails where one is not what the description would have started.
Result<void> replay(const Ledger& ledger, Campaign& campaign, const std::string& name);

}  // namespace angio::experiment
