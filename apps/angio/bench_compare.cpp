#include "bench_compare.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "base/text.hpp"
#include "bench/child.hpp"
#include "bench/interrupts.hpp"
#include "command.hpp"
#include "experiment/comparison.hpp"
#include "options.hpp"
#include "views/bench_compare_view.hpp"

namespace angio::app {
namespace {

struct Options {
  std::uint32_t runs = experiment::ComparisonWish{}.runs;
  std::uint32_t warm_up = experiment::ComparisonWish{}.warm_up;
  std::optional<std::string> a;
  std::optional<std::string> b;
  std::optional<std::string> before;
  std::optional<std::string> after;
  std::optional<std::string> metric;
  bool last_number = false;
  bool higher = false;
  bool lower = false;
  std::string order = "random";
  std::optional<std::uint64_t> seed;
  double resolve = 1;  // percent
  std::string format = "terminal";
  std::string out = "-";
  std::vector<std::string> command;
};

int usage(const std::string& message, const std::string& hint) {
  (void)report_error({ErrorCode::kInvalidInput, message, hint});
  return kUsage;
}

// The program that runs now, by a name that stays valid; argv[0] may be anything.
std::string own_program() {
  std::error_code error;
  const std::filesystem::path path = std::filesystem::read_symlink("/proc/self/exe", error);
  return error ? "angio" : path.string();
}

// "label: options of angio run"; without options the command is run as it is.
experiment::Arm arm_of(const std::string& text, const std::vector<std::string>& command) {
  const std::size_t colon = text.find(':');
  experiment::Arm arm;
  arm.label = std::string(trim(std::string_view(text).substr(0, colon)));
  const std::string_view rest =
      colon == std::string::npos ? std::string_view{} : std::string_view(text).substr(colon + 1);
  const std::vector<std::string_view> options = split_words(trim(rest));
  if (!options.empty()) {
    arm.command = {own_program(), "run"};
    arm.command.insert(arm.command.end(), options.begin(), options.end());
    arm.command.emplace_back("--");
  }
  arm.command.insert(arm.command.end(), command.begin(), command.end());
  return arm;
}

// What is wrong with the choice of the two; empty: nothing.
std::string wrong_pair(const Options& options) {
  const bool lines = options.before.has_value() || options.after.has_value();
  if (lines && (!options.before || !options.after)) return "--before and --after belong together";
  if (lines && (options.a || options.b || !options.command.empty())) {
    return "--before and --after are whole commands: no --a, no --b and no command besides";
  }
  if (!lines && options.command.empty()) return "no command to compare";
  return "";
}

std::array<experiment::Arm, 2> arms_of(const Options& options) {
  if (options.before) {
    return {experiment::Arm{"before", {"/bin/sh", "-c", *options.before}},
            experiment::Arm{"after", {"/bin/sh", "-c", *options.after}}};
  }
  return {arm_of(options.a.value_or("unbound:"), options.command),
          arm_of(options.b.value_or("bound: --ranks 1"), options.command)};
}

experiment::MetricWish metric_of(const Options& options) {
  experiment::MetricWish wish;
  if (options.last_number) wish.kind = experiment::MetricKind::kLastNumber;
  if (options.metric) {
    wish.kind = experiment::MetricKind::kPattern;
    wish.pattern = *options.metric;
  }
  if (options.higher) wish.better = experiment::Better::kHigher;
  if (options.lower) wish.better = experiment::Better::kLower;
  return wish;
}

experiment::ComparisonWish wish_of(const Options& options) {
  constexpr double kPercent = 100;
  experiment::ComparisonWish wish;
  wish.arms = arms_of(options);
  wish.runs = options.runs;
  wish.warm_up = options.warm_up;
  wish.order = options.order == "random" ? experiment::Order::kRandom : experiment::Order::kAbba;
  wish.seed = options.seed ? *options.seed : std::random_device{}();
  wish.resolve = options.resolve / kPercent;
  return wish;
}

experiment::Comparison conduct(const Options& options, const experiment::Metric& metric, int& signal) {
  const bench::Interrupts interrupts;
  const bool shown = isatty(STDERR_FILENO) != 0;
  const auto clear = [shown](const std::string& text) {
    const std::string line = "\r\033[K" + text;
    if (shown && write(STDERR_FILENO, line.data(), line.size()) < 0) return;
  };
  const auto run = [&](const experiment::Arm& arm) -> Result<experiment::RunOutcome> {
    auto child = bench::run_child(arm.command, interrupts);
    if (!child) return std::unexpected(std::move(child.error()));
    return experiment::RunOutcome{child->seconds, child->exit_code,
                                  child->interrupted || interrupts.pending() != 0, std::move(child->output),
                                  std::move(child->errors)};
  };
  const auto progress = [&](std::size_t number, std::size_t all, const experiment::Arm& arm) {
    clear(fmt::format("angio: run {} of {} ({})", number, all, printable(arm.label)));
  };
  experiment::Comparison comparison = experiment::compare(wish_of(options), metric, run, progress);
  clear("");
  signal = interrupts.pending();
  return comparison;
}

int show(const Options& options, const experiment::Comparison& comparison) {
  const report::TerminalStyle style = options.out == "-" ? terminal_style() : report::TerminalStyle{};
  const std::string text =
      options.format == "json"
          ? to_text(views::comparison_result_json(comparison)) + "\n"
          : report::render_terminal(views::comparison_result_document(comparison), style);
  if (options.out == "-") return print(text);
  if (auto done = write_output(options.out, text); !done) return report_error(done.error());
  say("angio: " + views::verdict_words(comparison));
  return kOk;
}

int exit_of(const experiment::Comparison& comparison, int signal) {
  constexpr int kSignalled = 128;  // as a shell says it
  if (comparison.failure)
    return comparison.failure->exit_code != 0 ? comparison.failure->exit_code : int{kFailed};
  if (signal != 0) return kSignalled + signal;
  return comparison.verdict ? int{kOk} : int{kFailed};
}

int compare(const Options& options) {
  if (const std::string wrong = wrong_pair(options); !wrong.empty()) {
    return usage(wrong,
                 "angio bench compare [OPTIONS] -- COMMAND ..., or --before 'COMMAND A' --after 'COMMAND B'");
  }
  if (options.higher && options.lower)
    return usage("--higher-is-better and --lower-is-better exclude each other", "");
  if (options.metric && options.last_number)
    return usage("--metric and --last-number exclude each other", "");
  if (options.seed && options.order != "random") return usage("--seed has no effect with --order abba", "");
  auto metric = experiment::Metric::make(metric_of(options));
  if (!metric) return usage(metric.error().message, metric.error().hint);
  int signal = 0;
  const experiment::Comparison comparison = conduct(options, *metric, signal);
  const int shown = show(options, comparison);
  return shown != kOk ? shown : exit_of(comparison, signal);
}

void add_metric_options(CommandLine& command, Options& options) {
  command
      .option("--metric", options.metric,
              "Judge by the last match of this pattern's first group; else wall time")
      .type_name("REGEX");
  command.flag("--last-number", options.last_number, "Judge by the last number printed");
  command.flag("--higher-is-better", options.higher, "Say which of the two is better by the metric");
  command.flag("--lower-is-better", options.lower, "Likewise");
}

}  // namespace

void setup_bench_compare(CommandLine& bench, int& exit_code) {
  CommandLine command =
      bench.subcommand("compare", "Run a command bound and unbound in turns and say what that proves");
  const auto options = std::make_shared<Options>();
  command.option("command", options->command, "After --: the command; its standard input is empty")
      .type_name("COMMAND");
  command.option("--runs", options->runs, "Runs of each; else 10").type_name("N").range(2, 100000);
  command.option("--warmup", options->warm_up, "Runs of each before, not counted; else 1")
      .type_name("N")
      .range(0, 1000);
  command.option("--a", options->a, "First way: label and options of angio run; else \"unbound:\"")
      .type_name("'LABEL: OPTIONS'");
  command.option("--b", options->b, "Second way; else \"bound: --ranks 1\"").type_name("'LABEL: OPTIONS'");
  command.option("--before", options->before, "With --after: two shell commands instead")
      .type_name("'COMMAND'");
  command.option("--after", options->after, "See --before").type_name("'COMMAND'");
  add_metric_options(command, *options);
  command.option("--order", options->order, "random within each pair, or abba in fixed turns; else random")
      .one_of({"abba", "random"});
  command.option("--seed", options->seed, "Of the random order; else one by chance, printed").type_name("N");
  command
      .option("--resolve", options->resolve,
              "Say how many runs would tell a difference of so many percent; else 1")
      .type_name("PERCENT")
      .range(0.01, 100.0);
  command.option("--format", options->format, "How to show it; json has every run")
      .one_of({"terminal", "json"});
  command.option("--out", options->out, "Write here, not to standard output").type_name("FILE");
  command.callback([options, &exit_code] { exit_code = compare(*options); });
}

}  // namespace angio::app
