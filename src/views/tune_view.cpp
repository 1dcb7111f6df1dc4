#include "views/tune_view.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/format.hpp"
#include "base/text.hpp"
#include "views/tune_words.hpp"

namespace angio::views {
namespace {

using experiment::ArmState;
using experiment::ArmVerdict;
using report::Align;
using report::Document;
using report::Line;
using report::Paragraph;
using report::plain;
using report::Tone;
using report::toned;

std::string with_unit(double value, const std::string& unit) {
  return fmt::format("{:.4g}{}{}", value, unit.empty() ? "" : " ", printable(unit));
}

std::string gain_words(const ArmVerdict& arm) {
  if (!arm.gain) return "";
  const std::string words = fmt::format("{} {}", tune_percent(*arm.gain), *arm.gain < 0 ? "worse" : "better");
  if (!arm.gain_between) return words;
  return fmt::format("{} ({})", words, between_words(*arm.gain_between));
}

void add_table(Document& document, const TuneReport& report) {
  report::Table table;
  table.columns = {{"setting", Align::kLeft},
                   {"effect", Align::kRight},
                   {fmt::format("{:g} % interval", report.spec->wish.confidence * 100), Align::kRight},
                   {"runs", Align::kRight},
                   {"verdict", Align::kLeft}};
  for (const std::uint32_t number : report.verdict.ranking) {
    const ArmVerdict& arm = report.verdict.arms[number];
    table.rows.push_back({plain(printable(report.arms[number].name)),
                          plain(arm.gain ? signed_percent(*arm.gain) : "-"),
                          plain(arm.gain_between ? between_words(*arm.gain_between) : "-"),
                          plain(fmt::format("{}", arm.values.size())),
                          toned(tune_state_words(report, number), tune_tone(report, number))});
  }
  document.blocks.emplace_back(std::move(table));
}

void add_objections(report::Fields& fields, const TuneReport& report) {
  for (const std::uint32_t number : report.verdict.ranking) {
    const ArmVerdict& arm = report.verdict.arms[number];
    const bool proven = arm.state == ArmState::kBetter;
    for (const experiment::WatchVerdict& watch : arm.watches) {
      if (watch.objection.empty()) continue;
      fields.rows.emplace_back("costs", toned(fmt::format("{}: {}{}", printable(report.arms[number].name),
                                                          watch.objection, proven ? "; not kept" : ""),
                                              Tone::kWarning));
    }
    if (proven && arm.failures > 0)
      fields.rows.emplace_back("costs",
                               toned(fmt::format("{}: {} failed", printable(report.arms[number].name),
                                                 count_of(arm.failures, "run")),
                                     Tone::kWarning));
  }
}

void add_failures(Document& document, const TuneReport& report) {
  for (std::size_t number = 0; number < report.arms.size(); ++number) {
    const auto& progress = report.campaign->arms()[number];
    if (!progress.last_failure) continue;
    const experiment::TuneRun& run = report.campaign->runs()[*progress.last_failure];
    document.blocks.emplace_back(Paragraph{
        toned(fmt::format("{} failed in {}, at last in run {}: {}", printable(report.arms[number].name),
                          count_of(progress.failures, "run"), run.plan.number, printable(run.result.failure)),
              Tone::kCritical)});
    report::Preformatted lines;
    for (const std::string_view line : split_lines(run.result.last_lines)) {
      if (!line.empty()) lines.lines.push_back(plain("  " + printable(line)));
    }
    if (!lines.lines.empty()) document.blocks.emplace_back(std::move(lines));
  }
}

std::string baseline_words(const TuneReport& report) {
  std::vector<std::string> words;
  for (const experiment::Factor& factor : report.spec->factors)
    words.push_back(printable(factor.name) + "=" + in_words(factor.levels[factor.baseline]));
  const std::vector<double>& values = report.verdict.arms[0].values;
  std::string text = join(words, ", ");
  if (!values.empty())
    text += fmt::format("; median {}, {}", with_unit(experiment::median(values), report.spec->measure.unit),
                        count_of(values.size(), "run"));
  return text;
}

void add_grounds(report::Fields& fields, const TuneReport& report) {
  const experiment::CampaignWish& wish = report.spec->wish;
  const auto quiet = [&](const char* label, const std::string& text) {
    fields.rows.emplace_back(label, toned(text, Tone::kQuiet));
  };
  quiet("judged",
        fmt::format("by {}; bets on the signs of log ratios within blocks, valid at any stop; Holm over {}: "
                    "at most {:g} % that any setting without effect is called better or worse; "
                    "intervals are each setting's own",
                    tune_measure_words(*report.spec), count_of(report.arms.size() - 1, "setting"),
                    (1 - wish.confidence) * 100));
  quiet("order", fmt::format("by chance within each block, seed {}; {} of warm-up", wish.seed,
                             count_of(wish.warm_up, "block")));
  quiet("ended", fmt::format("{}: {}, {:.4g} s of runs", tune_end_words(report),
                             count_of(report.campaign->runs().size(), "run"), report.campaign->seconds()));
  if (!report.ledger.empty()) quiet("ledger", printable(report.ledger));
}

std::string shell_line(const experiment::Start& start) {
  std::string line;
  for (const auto& [name, value] : start.environment)
    line += value ? name + "=" + experiment::shell_word(*value) + " " : "env -u " + name + " ";
  for (const std::string& word : start.command)
    line += experiment::shell_word(word) + " ";
  return printable(trim(line));
}

std::size_t better_ones(const TuneReport& report) {
  return static_cast<std::size_t>(
      std::ranges::count(report.verdict.arms, ArmState::kBetter, &ArmVerdict::state));
}

}  // namespace

std::string tune_words(const TuneReport& report) {
  const std::uint32_t kept = report.verdict.kept;
  if (kept != 0) {
    return fmt::format("{} is kept: {}", printable(report.arms[kept].name),
                       gain_words(report.verdict.arms[kept]));
  }
  if (report.campaign->end() == experiment::CampaignEnd::kNoBaseline)
    return "no answer: the baseline does not run";
  if (better_ones(report) == 0) return "the baseline stays: no setting is proven better";
  return "the baseline stays: what is proven better costs more than is allowed";
}

Document tune_document(const TuneReport& report) {
  Document document;
  document.title =
      report.spec->hypothesis.empty() ? "angio tune" : "angio tune: " + printable(report.spec->hypothesis);
  document.blocks.emplace_back(Paragraph{toned(tune_words(report), Tone::kStrong)});
  add_table(document, report);
  document.blocks.emplace_back(tune_picture(report));
  report::Fields fields;
  add_objections(fields, report);
  fields.rows.emplace_back("baseline", plain(baseline_words(report)));
  fields.rows.emplace_back(
      "keep",
      plain(shell_line(experiment::build_start(*report.spec, report.arms[report.verdict.kept], "angio"))));
  if (report.spec->combinations.empty() && better_ones(report) > 1)
    fields.rows.emplace_back("not known", plain("what the better settings do together: a campaign with "
                                                "design = \"combinations\" tells"));
  add_grounds(fields, report);
  document.blocks.emplace_back(std::move(fields));
  add_failures(document, report);
  return document;
}

Document tune_plan_document(const experiment::TuneSpec& spec,
                            const std::vector<experiment::ArmSetting>& arms) {
  Document document;
  document.blocks.emplace_back(Paragraph{
      toned(fmt::format("{} against the baseline, {} at most{}; nothing was started",
                        count_of(arms.size() - 1, "setting"), count_of(spec.wish.most_runs, "run"),
                        spec.wish.most_seconds ? fmt::format(", {:g} s", *spec.wish.most_seconds) : ""),
            Tone::kStrong)});
  report::Fields fields;
  for (const experiment::ArmSetting& arm : arms)
    fields.rows.emplace_back(printable(arm.name),
                             plain(shell_line(experiment::build_start(spec, arm, "angio"))));
  fields.rows.emplace_back("judged", toned("by " + tune_measure_words(spec), Tone::kQuiet));
  document.blocks.emplace_back(std::move(fields));
  return document;
}

}  // namespace angio::views
