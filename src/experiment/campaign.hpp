// One campaign: settings against a baseline in randomised blocks, each block every setting once, until all
// are decided or the budget is spent. It says which run is next and takes what that run gave: live runs, a
// simulation and a ledger feed it alike, and the same runs always lead to the same verdict. Pure: it starts
// nothing and looks at no clock.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "experiment/metric.hpp"
#include "experiment/sequential.hpp"

namespace angio::experiment {

// A second figure that a better setting must not spoil.
struct WatchRule {
  std::string name;  // "memory"
  std::string unit;
  Better better = Better::kLower;
  std::optional<double> limit;   // no run may be beyond
  std::optional<double> budget;  // the median at most this part worse than the baseline's: 0.05
};

struct CampaignWish {
  std::vector<std::string> arms;  // the first is the baseline
  Better better = Better::kHigher;
  double confidence = 0.95;   // 1 - chance that any setting without effect is called better or worse
  double worthwhile = 0.01;   // the smallest relative effect worth knowing
  std::uint32_t warm_up = 1;  // blocks before, not counted
  std::uint64_t seed = 0;
  std::uint32_t most_runs = 1000;      // warm-up included
  std::optional<double> most_seconds;  // of all runs together
  std::vector<WatchRule> watches;
};

struct PlannedRun {
  std::uint32_t number = 1;  // 1, 2, … over all
  std::uint32_t block = 1;   // 1, 2, …, warm-up included
  std::uint32_t arm = 0;
  bool warm_up = false;
};

// What one run gave. Without a value it failed.
struct RunResult {
  double seconds = 0;
  std::optional<double> value;
  std::vector<std::optional<double>> watches;  // as in the wish; none where it was not in the output
  int exit_code = 0;
  std::string failure;     // "exit code 3", "no end within 60 s"
  std::string last_lines;  // of its output, when it failed
};

struct TuneRun {
  PlannedRun plan;
  RunResult result;
};

enum class ArmState { kUndecided, kBetter, kWorse, kAlike, kFailed };
enum class CampaignEnd { kRunning, kDecided, kRunsSpent, kTimeSpent, kNoBaseline };

struct ArmProgress {
  ArmState state = ArmState::kUndecided;
  std::vector<double> gains;  // logarithms, above 0 is better than the baseline in the same block
  SymmetryTest nothing;       // against no effect
  SymmetryTest gain;          // against a gain of the worthwhile size
  SymmetryTest loss;          // against a loss of that size
  std::uint32_t runs = 0;     // counted ones that ended well
  std::uint32_t failures = 0;
  std::optional<std::size_t> last_failure;  // index into runs()
};

class Campaign {
 public:
  explicit Campaign(CampaignWish wish);

  // None: the campaign has ended.
  [[nodiscard]] std::optional<PlannedRun> next() const;
  // Of the run that next() named.
  void add(RunResult result);

  [[nodiscard]] const CampaignWish& wish() const { return wish_; }
  [[nodiscard]] const std::vector<TuneRun>& runs() const { return runs_; }
  [[nodiscard]] const std::vector<ArmProgress>& arms() const { return arms_; }
  [[nodiscard]] CampaignEnd end() const { return end_; }
  [[nodiscard]] double seconds() const { return seconds_; }

 private:
  void begin_block();
  void end_block();
  void decide();
  void note_failure(std::uint32_t arm);

  CampaignWish wish_;
  std::vector<TuneRun> runs_;
  std::vector<ArmProgress> arms_;
  std::vector<std::uint32_t> order_;  // of the block under way
  std::size_t at_ = 0;                // in the order
  std::size_t block_start_ = 0;       // in runs_
  std::uint32_t block_ = 0;
  std::uint32_t baseline_failures_in_turn_ = 0;
  double seconds_ = 0;
  CampaignEnd end_ = CampaignEnd::kRunning;
};

}  // namespace angio::experiment
