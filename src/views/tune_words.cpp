#include "views/tune_words.hpp"

#include <fmt/format.h>

#include <cmath>

#include "base/format.hpp"
#include "base/text.hpp"

namespace angio::views {

using experiment::ArmState;
using experiment::ArmVerdict;
using experiment::CampaignEnd;

std::string tune_percent(double part) {
  const double value = std::abs(part) * 100;
  if (value >= 99.5) return fmt::format("{:.3g} %", value);
  return fmt::format("{:.{}f} %", value, value >= 9.95 ? 0 : value >= 0.995 ? 1 : 2);
}

std::string signed_percent(double part) {
  return (part < 0 ? "-" : "+") + tune_percent(part);
}

std::string between_words(const experiment::Interval& interval) {
  return signed_percent(interval.low) + " to " + signed_percent(interval.high);
}

const char* tune_state_word(ArmState state) {
  switch (state) {
    case ArmState::kUndecided:
      return "undecided";
    case ArmState::kBetter:
      return "better";
    case ArmState::kWorse:
      return "worse";
    case ArmState::kAlike:
      return "no_difference_worth_knowing";
    case ArmState::kFailed:
      return "failed";
  }
  return "";
}

std::string tune_state_words(const TuneReport& report, std::uint32_t arm) {
  const ArmVerdict& verdict = report.verdict.arms[arm];
  if (verdict.state == ArmState::kAlike)
    return fmt::format("no difference of {:g} %", report.spec->wish.worthwhile * 100);
  if (verdict.state != ArmState::kBetter) return tune_state_word(verdict.state);
  if (arm == report.verdict.kept) return "better, kept";
  return verdict.objection.empty() ? "better" : "better, not kept";
}

std::string tune_end_words(const TuneReport& report) {
  switch (report.campaign->end()) {
    case CampaignEnd::kRunning:
      return "interrupted";
    case CampaignEnd::kDecided:
      return "every setting is decided";
    case CampaignEnd::kRunsSpent:
      return fmt::format("the budget of {} is spent", count_of(report.spec->wish.most_runs, "run"));
    case CampaignEnd::kTimeSpent:
      return fmt::format("the budget of {:g} s is spent", report.spec->wish.most_seconds.value_or(0));
    case CampaignEnd::kNoBaseline:
      return "the baseline fails";
  }
  return "";
}

std::string tune_measure_words(const experiment::TuneSpec& spec) {
  return fmt::format("{}{}, {} is better", printable(spec.measure.name),
                     spec.measure.unit.empty() ? "" : " (" + printable(spec.measure.unit) + ")",
                     spec.wish.better == experiment::Better::kLower ? "lower" : "higher");
}

report::Tone tune_tone(const TuneReport& report, std::uint32_t arm) {
  switch (report.verdict.arms[arm].state) {
    case ArmState::kBetter:
      return report.verdict.arms[arm].objection.empty() ? report::Tone::kGood : report::Tone::kWarning;
    case ArmState::kWorse:
    case ArmState::kFailed:
      return report::Tone::kCritical;
    case ArmState::kAlike:
      return report::Tone::kQuiet;
    case ArmState::kUndecided:
      return report::Tone::kUnknown;
  }
  return report::Tone::kPlain;
}

}  // namespace angio::views
