#include "tune_command.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>

#include "base/text.hpp"
#include "command.hpp"
#include "experiment/tune_arms.hpp"
#include "experiment/tune_ledger.hpp"
#include "experiment/tune_spec.hpp"
#include "experiment/tune_verdict.hpp"
#include "host/clock.hpp"
#include "host/discreet.hpp"
#include "host/system_roots.hpp"
#include "options.hpp"
#include "output_file.hpp"
#include "tune_ledger_file.hpp"
#include "tune_runs.hpp"
#include "views/tune_view.hpp"

namespace angio::app {
namespace {

using experiment::Campaign;
using experiment::Ledger;
using experiment::TuneSpec;

struct Options {
  std::string spec;
  std::optional<std::string> ledger;
  std::optional<std::string> resume;
  std::optional<std::string> replay;
  std::optional<std::uint64_t> seed;
  std::optional<std::string> settings;
  bool dry_run = false;
  std::string format = "terminal";
  std::string out = "-";
};

int usage(const std::string& message, const std::string& hint) {
  (void)report_error({ErrorCode::kInvalidInput, message, hint});
  return kUsage;
}

std::string wrong_choice(const Options& options) {
  const int sources = (options.spec.empty() ? 0 : 1) + (options.resume ? 1 : 0) + (options.replay ? 1 : 0);
  if (sources == 0) return "no description of a campaign";
  if (sources > 1) return "SPEC, --resume and --replay exclude each other: a ledger holds its description";
  if (options.spec.empty() && (options.ledger || options.seed || options.dry_run))
    return "--ledger, --seed and --dry-run belong to a SPEC";
  return "";
}

std::string name_of_host() {
  constexpr std::size_t kMost = 256;
  std::array<char, kMost> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? printable(name.data()) : "unknown";
}

experiment::LedgerHead head_of(const std::string& path, std::string text, const TuneSpec& spec) {
  experiment::LedgerHead head;
  head.spec_name = path;
  head.spec_text = std::move(text);
  head.seed = spec.wish.seed;
  head.started = host::utc_text(std::chrono::system_clock::now());
  head.host = name_of_host();
  head.angio = ANGIO_VERSION;
  for (const std::string& variable : host::read_environment()) {
    const std::size_t equals = variable.find('=');
    const std::string name = variable.substr(0, equals);
    if (equals != std::string::npos && host::is_shareable_setting(name))
      head.environment.emplace_back(name, host::shareable_value(variable.substr(equals + 1)));
  }
  return head;
}

std::string rendered(const std::string& format, const report::Document& document, bool to_terminal) {
  if (format == "html") return report::render_html(document);
  return report::render_terminal(document, to_terminal ? terminal_style() : report::TerminalStyle{});
}

int show(const Options& options, const views::TuneReport& report) {
  const std::string text = options.format == "json"
                               ? to_text(views::tune_json(report)) + "\n"
                               : rendered(options.format, views::tune_document(report), options.out == "-");
  if (options.settings) {
    const std::string file =
        experiment::settings_file(*report.spec, report.arms[report.verdict.kept], views::tune_words(report));
    if (auto done = write_output(*options.settings, file); !done) return report_error(done.error());
  }
  if (options.out == "-") return print(text);
  if (auto done = write_output(options.out, text); !done) return report_error(done.error());
  say("angio: " + views::tune_words(report));
  return kOk;
}

int conclude(const Options& options, const TuneSpec& spec, const Campaign& campaign,
             const experiment::LedgerHead& head, const std::string& ledger, int signal) {
  constexpr int kSignalled = 128;  // as a shell says it
  const views::TuneReport report{
      &spec, &campaign, experiment::judge_campaign(campaign), arms_of(spec), head.started, head.host, ledger};
  const int shown = show(options, report);
  if (shown != kOk) return shown;
  if (signal != 0) {
    say(fmt::format("angio: interrupted; angio tune --resume {} goes on", printable(ledger)));
    return kSignalled + signal;
  }
  return campaign.end() == experiment::CampaignEnd::kNoBaseline ? int{kFailed} : int{kOk};
}

int run_on(const Options& options, const TuneSpec& spec, Campaign& campaign, LedgerFile& file,
           const experiment::LedgerHead& head, const std::string& ledger) {
  const auto signal = run_campaign(spec, arms_of(spec), campaign, file);
  if (!signal) return report_error(signal.error());
  return conclude(options, spec, campaign, head, ledger, *signal);
}

Result<void> check_outputs(const Options& options) {
  if (auto fits = check_output(options.out); !fits) return fits;
  return options.settings ? check_output(*options.settings) : Result<void>{};
}

int begin(const Options& options) {
  auto text = read_input(options.spec);
  if (!text) return report_error(text.error());
  const std::string shown = options.spec == "-" ? "standard input" : options.spec;
  auto spec = experiment::parse_tune_spec(*text, shown);
  if (!spec) return report_error(spec.error());
  if (options.seed) spec->wish.seed = *options.seed;
  if (!options.seed && !spec->seed_given) spec->wish.seed = std::random_device{}();
  if (options.dry_run)
    return print(rendered(options.format == "json" ? "terminal" : options.format,
                          views::tune_plan_document(*spec, arms_of(*spec)), true));
  const std::string stem = options.spec == "-" ? "tune" : std::filesystem::path(options.spec).stem().string();
  const std::string path = options.ledger.value_or(stem + ".ledger.jsonl");
  const experiment::LedgerHead head = head_of(shown, std::move(*text), *spec);
  auto file = LedgerFile::create(path);
  if (!file) return report_error(file.error());
  if (auto kept = file->append(experiment::head_line(head)); !kept) {
    file->remove();  // nothing could go on with it
    kept.error().hint.clear();
    return report_error(kept.error());
  }
  Campaign campaign(spec->wish);
  return run_on(options, *spec, campaign, *file, head, path);
}

int from_ledger(const Options& options, const std::string& path, bool go_on) {
  const auto text = read_input(path);
  if (!text) return report_error(text.error());
  const auto ledger = experiment::parse_ledger(*text, path);
  if (!ledger) return report_error(ledger.error());
  auto spec = experiment::parse_tune_spec(ledger->head.spec_text, ledger->head.spec_name);
  if (!spec) return report_error(std::move(spec.error()).with_context(printable(path)));
  spec->wish.seed = ledger->head.seed;
  Campaign campaign(spec->wish);
  if (auto done = experiment::replay(*ledger, campaign, path); !done) return report_error(done.error());
  if (ledger->cut) say("angio: " + printable(path) + ": its last line is cut off and does not count");
  if (!go_on) return conclude(options, *spec, campaign, ledger->head, path, 0);
  if (path == "-") return usage("--resume needs a file: the ledger is written to", "");
  auto file = LedgerFile::go_on(path, ledger->whole_bytes, text->size());
  if (!file) return report_error(file.error());
  return run_on(options, *spec, campaign, *file, ledger->head, path);
}

int tune(const Options& options) {
  if (const std::string wrong = wrong_choice(options); !wrong.empty())
    return usage(wrong, "angio tune SPEC, or angio tune --resume LEDGER, or angio tune --replay LEDGER");
  if (auto fits = check_outputs(options); !fits) return report_error(fits.error());
  if (options.replay) return from_ledger(options, *options.replay, false);
  if (options.resume) return from_ledger(options, *options.resume, true);
  return begin(options);
}

}  // namespace

void setup_tune(CommandLine& app, int& exit_code) {
  CommandLine command =
      app.subcommand("tune", "Try settings against a baseline and say which one is proven better");
  const auto options = std::make_shared<Options>();
  command.option("spec", options->spec, "The campaign's description in TOML").type_name("SPEC");
  command.option("--ledger", options->ledger, "Where runs are kept; else SPEC's name + .ledger.jsonl")
      .type_name("FILE");
  command.option("--resume", options->resume, "Go on with the campaign of this ledger").type_name("LEDGER");
  command.option("--replay", options->replay, "Reach this ledger's verdict again; runs nothing")
      .type_name("LEDGER");
  command.option("--seed", options->seed, "Of the order; else SPEC's, or by chance and printed")
      .type_name("N");
  command.option("--settings", options->settings, "Write what is kept here, as variables for a shell")
      .type_name("FILE");
  command.flag("--dry-run", options->dry_run, "Show what would be started; start nothing");
  command.option("--format", options->format, "How to show it").one_of({"terminal", "json", "html"});
  command.option("--out", options->out, "Write here, not to standard output").type_name("FILE");
  command.callback([options, &exit_code] { exit_code = tune(*options); });
}

}  // namespace angio::app
