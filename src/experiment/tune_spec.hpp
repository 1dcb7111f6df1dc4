// What a campaign is to try, as its description in TOML says it (docs/tune.md), checked: every name known,
// every level meant, nothing that needs root. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "experiment/campaign.hpp"
#include "experiment/figure.hpp"
#include "experiment/metric.hpp"

namespace angio::experiment {

// A figure of a run: by pattern, last number or time, or out of JSON.
struct MeasureWish {
  MetricWish metric;
  std::optional<FigureWish> figure;
  std::string name;  // in words: "tokens/s"
  std::string unit;
};

enum class FactorKind { kEnvironment, kRunOption, kLauncherOption, kArgument };

struct Level {
  bool given = true;  // false: the variable is unset, the option left out
  std::string value;  // of an option without value: empty
  bool bare = false;  // an option without value
};

struct Factor {
  std::string name;
  FactorKind kind = FactorKind::kEnvironment;
  std::string target;  // the variable, the option with its dashes, the placeholder's name
  std::vector<Level> levels;
  std::size_t baseline = 0;
};

// One level of each factor.
struct ArmSetting {
  std::string name;
  std::vector<std::size_t> levels;
};

struct TuneSpec {
  std::string hypothesis;
  std::vector<std::string> command;  // with {placeholders}
  bool shell = false;                // command is one line for /bin/sh
  std::vector<std::string> launcher;
  std::vector<std::string> run_options;  // of angio run, for every arm
  bool behind_run = false;               // some arm wants angio run
  std::vector<Factor> factors;
  std::vector<ArmSetting> combinations;  // empty: one factor at a time
  MeasureWish measure;
  std::vector<MeasureWish> watched;  // as in wish.watches
  std::optional<double> run_limit_seconds;
  bool seed_given = false;
  CampaignWish wish;  // its arms are filled in
};

std::string in_words(const Level& level);  // "8", "not set"

// Errors name file and line. wish.seed stays 0 where none is given.
Result<TuneSpec> parse_tune_spec(std::string_view text, const std::string& name);

}  // namespace angio::experiment
