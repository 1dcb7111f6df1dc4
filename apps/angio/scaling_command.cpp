#include "scaling_command.hpp"

#include <fmt/format.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/text.hpp"
#include "command.hpp"
#include "options.hpp"
#include "scaling/read.hpp"
#include "views/scaling_view.hpp"

namespace angio::app {
namespace {

struct Options {
  std::string file;
  std::string mode;
  std::optional<std::uint32_t> baseline;
  std::string metric;
  std::vector<std::string> where;
  std::vector<std::string> by;
  std::string format = "terminal";
  std::string out = "-";
};

int usage(const std::string& message, const std::string& hint) {
  (void)report_error({ErrorCode::kInvalidInput, message, hint});
  return kUsage;
}

Result<scaling::ReadWish> wish_of(const Options& options) {
  scaling::ReadWish wish;
  wish.metric = options.metric;
  wish.by = options.by;
  for (const std::string& pair : options.where) {
    const std::size_t at = pair.find('=');
    if (at == std::string::npos || at == 0)
      return fail(ErrorCode::kInvalidInput, "--where " + printable(pair) + ": expected COLUMN=VALUE",
                  "as --where model=7b");
    wish.where.emplace_back(pair.substr(0, at), pair.substr(at + 1));
  }
  return wish;
}

std::optional<scaling::Mode> mode_of(const Options& options) {
  if (options.mode.empty()) return std::nullopt;
  return options.mode == "strong" ? scaling::Mode::kStrong : scaling::Mode::kWeak;
}

int write(const Options& options, const std::string& text) {
  if (options.out == "-") return print(text);
  if (auto done = write_output(options.out, text); !done) return report_error(done.error());
  return kOk;
}

int show(const Options& options, const views::ScalingShow& show) {
  if (options.format == "json") return write(options, to_text(views::scaling_result_json(show)) + "\n");
  if (options.format == "html") return write(options, report::render_html(views::scaling_page(show)));
  if (options.format == "svg") {
    if (show.answers.size() > 1)
      return usage(fmt::format("{} has {} series, a picture shows one", show.source, show.answers.size()),
                   "--where COLUMN=VALUE picks one, --format html shows all");
    return write(options, report::render_svg(views::scaling_drawing(show.answers.front().scaling)));
  }
  const report::TerminalStyle style = options.out == "-" ? terminal_style() : report::TerminalStyle{};
  return write(options, report::render_terminal(views::scaling_document(show), style));
}

// Nobody says which mode: both readings, and what to add. A guess would be wrong half of the time.
int ask(const Options& options, const std::string& source, const scaling::TableSeries& table) {
  const views::ScalingQuestion question{source, table, options.baseline};
  const bool speedups = table.series.measure == scaling::Measure::kSpeedup;
  const bool bare = speedups && !options.baseline && !scaling::analyse(table.series, scaling::Mode::kStrong);
  const int shown =
      options.format == "json"
          ? print(to_text(views::scaling_question_json(question)) + "\n")
          : print(report::render_terminal(views::scaling_question_document(question), terminal_style()));
  if (shown != kOk) return shown;
  return usage(printable(source) + " does not say whether this is strong or weak scaling" +
                   (bare ? ", nor over how many " + printable(table.series.device) + "s" : ""),
               std::string("Add --mode strong (the work stays the same) or --mode weak (it grows with N)") +
                   (bare ? ", and --baseline N" : ""));
}

void take(const Options& options, const scaling::TableSeries& table, views::ScalingShow& show,
          std::string& failed) {
  const auto wished = mode_of(options);
  const scaling::Mode mode = wished ? *wished : table.said->mode;
  auto scaling = scaling::analyse(table, mode, options.baseline);
  if (scaling) {
    show.answers.push_back(
        {std::move(*scaling), wished ? "as you say" : table.said->why, table.alternatives});
    return;
  }
  const std::string words = (table.series.name.empty() ? "" : table.series.name + ": ") +
                            scaling.error().message +
                            (scaling.error().hint.empty() ? "" : ". " + scaling.error().hint);
  if (failed.empty()) failed = words;
  show.notes.push_back({words, table.line, 1});
}

int run(const Options& options) {
  auto wish = wish_of(options);
  if (!wish) return usage(wish.error().message, wish.error().hint);
  auto content = read_input(options.file);
  if (!content) return report_error(content.error());
  const std::string source = options.file == "-" ? "standard input" : printable(options.file);
  auto reading = scaling::read_results(*content, *wish);
  if (!reading) return report_error(std::move(reading.error()).with_context(source));
  views::ScalingShow answer{source, reading->series.front().form, {}, reading->single,
                            0,      std::move(reading->notes)};
  const scaling::TableSeries* silent = nullptr;
  std::string failed;
  for (const scaling::TableSeries& table : reading->series) {
    if (!mode_of(options) && !table.said) {
      if (silent == nullptr) silent = &table;
      ++answer.silent;
      continue;
    }
    take(options, table, answer, failed);
  }
  if (answer.answers.empty() && silent != nullptr) return ask(options, source, *silent);
  if (answer.answers.empty()) return report_error({ErrorCode::kInvalidInput, source + ": " + failed, ""});
  return show(options, answer);
}

}  // namespace

void setup_scaling(CommandLine& app, int& exit_code) {
  CommandLine command =
      app.subcommand("scaling", "Say what more GPUs brought: efficiency, where it falls off, and why");
  const auto options = std::make_shared<Options>();
  command.option("file", options->file, "Results: CSV, TSV, Markdown, JSON; - is standard input")
      .type_name("FILE")
      .required();
  command.option("--mode", options->mode, "strong: the work stays the same; weak: it grows with N")
      .one_of({"strong", "weak"});
  command.option("--baseline", options->baseline, "The N that counts as 1; else the smallest")
      .type_name("N")
      .range(1, 100000000);
  command.option("--metric", options->metric, "throughput, time or the name of a column").type_name("NAME");
  command.option("--where", options->where, "Only rows with this value; repeatable")
      .type_name("COLUMN=VALUE")
      .one_value();
  command.option("--by", options->by, "This column tells series apart, too; repeatable")
      .type_name("COLUMN")
      .one_value();
  command.option("--format", options->format, "How to show it").one_of({"terminal", "json", "svg", "html"});
  command.option("--out", options->out, "Write here, not to standard output").type_name("FILE");
  command.callback([options, &exit_code] { exit_code = run(*options); });
}

}  // namespace angio::app
