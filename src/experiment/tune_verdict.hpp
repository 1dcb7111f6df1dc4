// What a campaign has shown: each setting's effect with its interval, what it costs besides, the order of
// them, and the one that may be kept. Pure; the same campaign gives the same verdict.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "experiment/campaign.hpp"

namespace angio::experiment {

struct WatchVerdict {
  std::optional<double> median;
  std::optional<double> worst;
  std::optional<double> baseline;  // median of the baseline
  std::string objection;           // "up to 85 GiB, more than the limit of 80 GiB"; empty: none
};

struct ArmVerdict {
  std::uint32_t arm = 0;
  ArmState state = ArmState::kUndecided;
  std::uint32_t pairs = 0;
  std::uint32_t failures = 0;
  std::optional<double> gain;            // relative, above 0 is better: 0.034. The estimate
  std::optional<Interval> gain_between;  // valid at any stop, each setting's own
  double chance = 1;                     // p value that holds at any stop, before Holm
  std::vector<double> values;            // of the figure, that count
  std::vector<WatchVerdict> watches;
  std::string objection;  // why it is not kept although better: a watch, a failure; empty: none
};

struct TuneVerdict {
  std::vector<ArmVerdict> arms;  // in the campaign's order, the baseline first
  std::vector<std::uint32_t>
      ranking;             // of all but the baseline: kept one, better, unknown, alike, worse, failed
  std::uint32_t kept = 0;  // 0: the baseline stays
};

TuneVerdict judge_campaign(const Campaign& campaign);

}  // namespace angio::experiment
