// Whether a result is another than those before, and since when: medians and median absolute deviations of
// the past, growth of counters, changed states. Pure; no store, no clock. Noise must not alarm: see
// data/history.toml.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "history/record.hpp"
#include "history/samples.hpp"
#include "history/store.hpp"

namespace angio::history {

enum class Judgement : std::uint8_t {
  kSame,     // within what it used to be
  kBetter,   // beyond it, on the good side
  kWorse,    // beyond it, on the bad side; an error counter that grows faster than ever
  kGrew,     // an error counter that grew as it used to, or whose past is too short to tell
  kChanged,  // a state that is another than last time
  kTooFew,   // no spread to hold it against
  kNew,      // not there before
  kGone,     // a state or bandwidth that was there last time
};

struct Past {
  std::uint32_t records = 0;
  double median = 0;
  double spread = 0;  // 1.4826 times the median absolute deviation: a standard deviation, were it normal
  double least = 0;
  double most = 0;
};

struct Change {
  model::Metric metric;  // of today; of the last time where it is gone
  Judgement judgement = Judgement::kSame;
  Past past;
  std::string last;                   // time of the last record that it is compared with
  std::string last_text;              // state then
  std::optional<double> growth;       // of a counter, since then
  bool was_reset = false;             // it fell: growth is what stands there now
  double limit = 0;                   // beyond it, it is a drift
  std::optional<TwoSamples> repeats;  // of the last record and of today, where few records say nothing
};

// What of the environment is another than in an earlier record.
struct EnvironmentChange {
  std::string than;  // time of that record
  std::vector<FactChange> facts;
  std::uint32_t left_out = 0;  // earlier records of other environments that were not held against
};

struct Comparison {
  Record now;
  std::uint32_t records = 0;    // earlier ones it was held against
  std::uint32_t later = 0;      // that the store has: the result is an old one, or a clock was set
  std::string first, last;      // their times
  std::vector<Change> changes;  // worst first
  std::string baseline;         // the name or number it was held against; empty: the earlier records
  EnvironmentChange environment;
};

Past past_of(std::span<const double> values);
// How far from the median a value must be to be a drift; none: too few records.
std::optional<double> drift_limit(const Past& past);

// past: earlier results of the same schema and subject, oldest first.
Comparison compare(const Record& now, std::span<const Record> past);

void sort_by_urgency(Comparison& comparison);

// Figures that too few records say nothing about, by the repeats of the one they are held against and of
// today: worse or better if the repeats differ (Mann and Whitney, with Holm's care for many figures) by more
// than history.least-share. Repeats of one run know nothing of the difference between runs: said where it is
// shown.
void judge_repeats(const Record& earlier, Comparison& comparison);

// The moment between two records at which a figure got worse, or a state became what it is.
struct Since {
  Series series;
  bool found = false;
  std::string good;                     // last record before
  std::string bad;                      // first record after
  std::string before, after;            // values or states, with their unit
  std::string words;                    // why there is none
  std::vector<FactChange> environment;  // what changed between the two, as far as both say
};
Since since_when(const Series& series, std::span<const std::string> times);

}  // namespace angio::history
