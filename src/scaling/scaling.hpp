// What more ranks or GPUs brought: speed-up and efficiency against a named baseline, where efficiency falls
// off, and how the time splits. Pure: points and a mode in, a Scaling out. Whether the work grows with N
// (weak) or stays (strong) is said by the caller, never guessed here: see series.hpp for what a table says.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"

namespace angio::scaling {

enum class Mode : std::uint8_t {
  kStrong,  // the work of a step is the same at every N
  kWeak,    // it grows with N: a fixed batch for each rank
};
std::string_view word_of(Mode mode);  // "strong", "weak"

enum class Measure : std::uint8_t {
  kThroughput,  // work a second
  kTime,        // seconds of a step or of a whole run
  kSpeedup,     // over a baseline that the table need not have
};

// All results at one N; several are repeats of one measurement.
struct Point {
  std::uint32_t count = 0;
  std::vector<double> values;
  std::vector<std::uint32_t> lines;  // of the input, beside values; may be empty
};

struct Series {
  std::string name;    // what tells it from the others in the table: "Model 7b, SeqLen 2048"; may be empty
  std::string metric;  // as the table calls it: "Throughput (T/s/GPU)"
  std::string unit;    // "samples/s", "s"; empty: not said
  std::string device = "rank";  // what N counts: "rank", "GPU", "node"
  Measure measure = Measure::kThroughput;
  bool per_device = false;    // throughput of one GPU, or a share of its peak (MFU)
  std::vector<Point> points;  // in any order
};

struct Interval {
  double estimate = 0;
  double low = 0;
  double high = 0;
};
inline constexpr double kConfidence = 0.95;

struct ScaledPoint {
  std::uint32_t count = 0;
  std::uint32_t repeats = 0;
  double value = 0;    // geometric mean of the repeats, as in the table
  double speedup = 1;  // over the baseline; in weak mode of the work done in the same time
  double ideal = 1;    // N / baseline
  double efficiency = 1;
  std::optional<Interval> range;  // of the efficiency; none without repeats
  // Of the devices added since the N before, the share that arrived as speed: 1 is ideal, below 0 is slower.
  std::optional<double> gained;
  std::optional<Interval> gained_range;
};

enum class Certainty : std::uint8_t {
  kClear,      // the interval does not hold the limit
  kUncertain,  // it does, or a later step gains more again
  kUnknown,    // no repeats: nothing says how much is noise
};

// The last N after which less than half of what is added arrives (data: scaling.knee).
struct Knee {
  std::uint32_t after = 0;
  std::uint32_t next = 0;  // the N that showed it
  double gained = 0;
  Certainty certainty = Certainty::kUnknown;
  std::string why;  // of a certainty that is not clear
};

// The share of the time at the baseline that does not get shorter (Amdahl: the time at n times as many
// devices is serial + (1 - serial) / n), or of the work that does not grow (Gustafson: the work done is n -
// serial (n - 1)). Of the baseline, not of one device: a run that was made, not one that nobody saw.
struct Split {
  double serial = 0;
  std::optional<Interval> range;  // none with two N: two points are met exactly
  double worst = 0;               // largest relative distance of a point from the curve
  bool fits = true;               // worst is within data: scaling.split-fits
};

// Time of a step as a sum of terms that grow in their own way, of the time at the baseline.
enum class Term : std::uint8_t { kPerDevice, kConstant, kLogarithm, kLinear };  // 1/N, 1, log2 N, N
struct GrowthTerm {
  Term term = Term::kConstant;
  double at_most = 0;  // share of the time at the largest N
  double coefficient = 0;
};
struct Growth {
  std::vector<GrowthTerm> terms;
  bool ambiguous = false;  // another form is as likely
  double worst = 0;        // largest relative distance of a point from the curve
};

enum class RemarkKind : std::uint8_t {
  kSuperLinear,    // faster than ideal: the baseline is suspect
  kContradictory,  // rows that cannot both be true
  kSpread,         // repeats of one N that are far apart
  kNoRepeats,
  kBaseline,  // what the baseline is, where it matters
};
struct Remark {
  RemarkKind kind = RemarkKind::kNoRepeats;
  std::string words;
  std::vector<std::uint32_t> lines;
};

struct Scaling {
  Series series;  // points by count
  Mode mode = Mode::kStrong;
  std::uint32_t baseline = 0;
  std::vector<ScaledPoint> points;  // by count
  std::optional<double> noise;      // relative standard deviation of one result, from the repeats
  std::optional<Knee> knee;
  std::optional<Split> split;
  std::string no_split;  // why there is none
  std::optional<Growth> growth;
  std::string no_growth;
  std::vector<Remark> remarks;
  std::string answer;  // one or two sentences
};

// baseline: the N that counts as 1; none: the smallest. Of a series of speed-ups it must be said unless a row
// has the speed-up 1. Fails on fewer than two N and on values that are not above 0.
Result<Scaling> analyse(const Series& series, Mode mode, std::optional<std::uint32_t> baseline = {});

}  // namespace angio::scaling
