#include "lint_command.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "base/text.hpp"
#include "command.hpp"
#include "fail_on.hpp"
#include "knowledge/knowledge.hpp"
#include "lint_sources.hpp"
#include "options.hpp"
#include "views/lint_view.hpp"

namespace angio::app {
namespace {

struct Options {
  LintSources sources;
  std::string nccl;
  std::vector<std::string> with;
  std::string format = "terminal";
  bool fix = false;
  bool diff = false;
  bool effective = false;
  bool rules = false;
  std::string fail_on;
};

Error no_version(const std::string& option, const std::string& text) {
  return {ErrorCode::kInvalidInput, option + ": \"" + printable(text) + "\" is no version",
          "Write numbers: 2.28.9"};
}

Result<lint::Context> context_of(const Options& options, const LintInput& input) {
  lint::Context context;
  context.machines = input.machines;
  context.nccl_version = options.nccl.empty() ? input.nccl_version : options.nccl;
  context.nccl_version_source = options.nccl.empty() ? input.nccl_version_source : "--nccl";
  for (const std::string& part : options.with) {
    const std::size_t equals = part.find('=');
    const std::string version = equals == std::string::npos ? "" : part.substr(equals + 1);
    if (equals == 0 || version.empty()) {
      return fail(ErrorCode::kInvalidInput, "--with: \"" + printable(part) + "\" is not COMPONENT=VERSION",
                  "For example --with pytorch=2.7.0");
    }
    if (!knowledge::compare_versions(version, "0")) return std::unexpected(no_version("--with", version));
    context.versions[to_lower(part.substr(0, equals))] = version;
  }
  return context;
}

// Files that could be rewritten: no process, no standard input.
bool is_file(const lint::Script& script) {
  return script.kind != lint::FileKind::kProcess && script.name != "-";
}

// Mends until nothing is left to mend; a fix may uncover another one.
std::string mended(const lint::Script& script, const lint::Context& context) {
  constexpr int kRounds = 8;
  lint::Script current = script;
  for (int round = 0; round < kRounds; ++round) {
    const lint::Report report = lint::lint({current}, context);
    std::string text = lint::apply_fixes(current, report.complaints);
    if (text == current.text) break;
    current = lint::read_script(current.name, std::move(text), current.kind);
  }
  return current.text;
}

struct Mending {
  std::string differences;
  std::size_t files = 0;
};

Result<Mending> mend(const Options& options, LintInput& input, const lint::Context& context) {
  Mending mending;
  for (lint::Script& script : input.scripts) {
    if (script.kind == lint::FileKind::kProcess || (options.fix && !is_file(script))) continue;
    std::string text = mended(script, context);
    if (text == script.text) continue;
    mending.differences += lint::diff_text(script.name, script.text, text);
    ++mending.files;
    if (!options.fix) continue;
    if (auto written = write_output(script.name, text); !written)
      return std::unexpected(std::move(written.error()));
    script = lint::read_script(script.name, std::move(text), script.kind);
  }
  return mending;
}

// A difference holds other people's text: escapes in it must not reach the terminal.
std::string printable_lines(const std::string& text) {
  std::string lines;
  for (const std::string_view line : split_lines(text)) {
    std::string tabs_kept;
    for (const std::string_view part : split(line, '\t'))
      tabs_kept += (tabs_kept.empty() && part.data() == line.data() ? "" : "\t") + printable(part);
    lines += tabs_kept + "\n";
  }
  return lines;
}

std::string render(const Options& options, const views::LintView& view) {
  if (options.format == "json") return to_text(views::lint_json(view)) + "\n";
  if (options.format == "sarif") return to_text(views::lint_sarif(view)) + "\n";
  return render_terminal(views::lint_document(view), terminal_style());
}

bool fails(const lint::Report& report, const std::string& fail_on) {
  return std::ranges::any_of(report.complaints,
                             [&](const lint::Complaint& one) { return reaches(one.severity, fail_on); });
}

int show_rules(const Options& options) {
  if (options.format == "json") return print(to_text(views::lint_rules_json()) + "\n");
  return print(render_terminal(views::lint_rules_document(), terminal_style()));
}

bool nothing_given(const LintSources& sources) {
  return sources.files.empty() && !sources.environment && sources.processes.empty() &&
         sources.snapshots.empty();
}

std::optional<Error> misuse(const Options& options) {
  if (!options.nccl.empty() && !knowledge::compare_versions(options.nccl, "0"))
    return no_version("--nccl", options.nccl);
  if (nothing_given(options.sources) && !options.rules) {
    return Error{ErrorCode::kInvalidInput, "nothing to look at",
                 "Name files, or use --env, --pid or --snap; - is standard input"};
  }
  if (options.fix && options.diff) {
    return Error{ErrorCode::kInvalidInput, "--fix writes and --diff only shows: both together contradict",
                 "First --diff, then --fix; --fix shows what it changed as well"};
  }
  if (options.diff && options.format != "terminal") {
    return Error{ErrorCode::kInvalidInput, "--diff is a text, not " + options.format,
                 "Leave --format away, or --diff"};
  }
  const bool standard_input = std::ranges::count(options.sources.files, "-") > 0;
  if (options.fix && standard_input)
    return Error{ErrorCode::kInvalidInput, "--fix cannot rewrite standard input",
                 "--diff shows what it would change"};
  return std::nullopt;
}

int run_lint(const Options& options) {
  if (const auto wrong = misuse(options)) {
    report_error(*wrong);
    return kUsage;
  }
  if (options.rules) return show_rules(options);
  auto input = read_lint_sources(options.sources);
  if (!input) return report_error(input.error());
  const auto context = context_of(options, *input);
  if (!context) {
    report_error(context.error());
    return kUsage;
  }
  std::string text;
  if (options.fix || options.diff) {
    const auto mending = mend(options, *input, *context);
    if (!mending) return report_error(mending.error());
    if (options.format == "terminal") text = printable_lines(mending->differences);
    if (!options.diff && !text.empty()) text += "\n";
  }
  const lint::Report report = lint::lint(input->scripts, *context);
  if (!options.diff)
    text += render(options, {report, input->scripts, options.effective, "angio " ANGIO_VERSION});
  if (const int code = print(text); code != kOk) return code;
  return fails(report, options.fail_on) ? kFindings : kOk;
}

}  // namespace

void setup_lint(CommandLine& app, int& exit_code) {
  CommandLine command = app.subcommand("lint", "Find what is wrong in job scripts and settings");
  const auto options = std::make_shared<Options>();
  command
      .option("files", options->sources.files,
              "Scripts, env files, nccl.conf, Dockerfiles, YAML, Python, folders; - is standard input")
      .type_name("FILE");
  command.flag("--env", options->sources.environment,
               "The environment that angio itself got, and its nccl.conf");
  command.option("--pid", options->sources.processes, "A running process (repeatable)")
      .type_name("PID")
      .one_value();
  command
      .option("--snap", options->sources.snapshots,
              "A machine of the job, or alone: its settings (repeatable)")
      .type_name("FILE")
      .one_value();
  command.option("--nccl", options->nccl, "Judge by this release of NCCL").type_name("VERSION");
  command.option("--with", options->with, "Version of another component: pytorch=2.7.0 (repeatable)")
      .type_name("NAME=VERSION")
      .one_value();
  command.option("--format", options->format, "How to say it").one_of({"terminal", "json", "sarif"});
  command.flag("--effective", options->effective,
               "Also what the job will see, and where each value comes from");
  command.flag("--fix", options->fix, "Rewrite the files where the cure is certain, and show what changed");
  command.flag("--diff", options->diff, "Only show what --fix would change; writes nothing");
  command.option("--fail-on", options->fail_on, "Exit with 1 from this severity on")
      .one_of({"info", "warning", "error"});
  command.flag("--rules", options->rules, "List the rules");
  command.callback([options, &exit_code] { exit_code = run_lint(*options); });
}

}  // namespace angio::app
