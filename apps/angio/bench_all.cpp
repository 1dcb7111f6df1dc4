#include "bench_all.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include "base/json.hpp"
#include "base/text.hpp"
#include "bench/child.hpp"
#include "bench/interrupts.hpp"
#include "command.hpp"
#include "history/environment.hpp"
#include "host/clock.hpp"
#include "import/results/results.hpp"
#include "judge/levels.hpp"
#include "load_machine.hpp"
#include "options.hpp"
#include "views/levels_view.hpp"

namespace angio::app {
namespace {

using judge::Level;
using judge::LevelResult;
using judge::LevelState;

struct Options {
  std::vector<std::string> files;
  std::string topology;
  std::optional<std::uint32_t> nodes;
  std::string gpu;
  std::string hosts;
  std::string fail_on;
  double budget = 300;
  bool no_run = false;
  bool everything = false;
  std::string format = "terminal";
  std::string out = "-";
};

struct Context {
  const Options& options;
  std::optional<model::Machine> machine;  // of --topo, else this one; none: unreadable
  bool topology_said = false;
  std::map<Level, std::vector<LevelResult>> given;  // of files
  std::vector<std::string> notes;
  bool measured = false;
};

std::string file_name(const std::string& path) {
  return path == "-" ? "standard input" : printable(std::filesystem::path(path).filename().string());
}

// ---- what a result says of its level

judge::Topology topology_of(const Context& context, const import::results::Results& results) {
  judge::Topology topology;
  // This host says nothing of a file that may come from anywhere.
  if (context.machine && (context.topology_said || results.name == "measured now"))
    topology.machine = &*context.machine;
  topology.nodes = context.options.nodes;
  topology.gpu = context.options.gpu;
  topology.source = results.name;
  if (results.nccl.log) topology.log = &*results.nccl.log;
  topology.collective = results.hint.collective;
  topology.collective_of = results.hint.from;
  return topology;
}

void add_results(const import::results::Results& results, Context& context) {
  const judge::Topology topology = topology_of(context, results);
  const auto add = [&](Level level, const auto& list) {
    for (const auto& one : list)
      context.given[level].push_back(judge::level_of(level, judge::judge(one, topology)));
  };
  add(Level::kMemory, results.memory);
  add(Level::kMemory, results.nvbandwidth);
  for (const model::MemoryBench& bench : results.memory)
    context.given[Level::kMemory].push_back(judge::host_memory_level(bench, results.name));
  add(Level::kCollective, results.nccl.tests);
  add(Level::kCollective, results.collective);
  add(Level::kCollective, results.osu);
  add(Level::kNetwork, results.perftest);
  for (const std::string& note : results.notes)
    context.notes.push_back(results.name + ": " + note);
}

// Angio's own results of levels that judge does not read; none: something else.
std::optional<Result<LevelResult>> own_level(std::string_view bytes, const std::string& name) {
  if (!trim(bytes).starts_with('{')) return std::nullopt;
  const auto json = parse_json(bytes);
  const Json* schema = json ? json->find("schema") : nullptr;
  const std::string* word = schema != nullptr ? schema->as_string() : nullptr;
  if (word == nullptr) return std::nullopt;
  if (word->starts_with("angio.mesh/")) return judge::mesh_level(*json, name);
  if (!word->starts_with("angio.bench-step/")) return std::nullopt;
  const auto figures = judge::parse_step_figures(*json, name);
  if (!figures) return std::unexpected(figures.error());
  return judge::step_level(*figures, name);
}

Result<void> take(std::string_view bytes, const std::string& name, Context& context) {
  if (auto own = own_level(bytes, name)) {
    if (!*own) return std::unexpected(std::move(own->error()));
    context.given[(*own)->level].push_back(std::move(**own));
    return {};
  }
  const auto results = import::results::read(bytes, name);
  if (!results) return std::unexpected(results.error());
  add_results(*results, context);
  return {};
}

// ---- measuring

std::string own_program() {
  std::error_code error;
  const std::filesystem::path path = std::filesystem::read_symlink("/proc/self/exe", error);
  return error ? "angio" : path.string();
}

// What measures a level here; empty: nothing does, and `why` says it.
std::vector<std::string> command_of(Level level, const Context& context, std::string& why) {
  const bool gpus = context.machine && !context.machine->gpus.empty();
  const std::string own = own_program();
  switch (level) {
    case Level::kMemory:
      return {own, "bench", "memory", "--seconds", "0.2", "--format", "json"};
    case Level::kCollective:
      if (gpus)
        return {own,  "bench", "collective", "--ops", "all_reduce", "-b",  "1M",
                "-e", "1G",    "-f",         "4",     "--format",   "json"};
      return {own,  "bench", "collective", "--backend", "gloo", "--ranks", "2",        "--ops", "all_reduce",
              "-b", "64K",   "-e",         "4M",        "-f",   "8",       "--format", "json"};
    case Level::kStep:
      if (gpus) return {own, "bench", "step", "--compare-no-comm", "--format", "json"};
      return {own, "bench",   "step", "--model",           "tiny",     "--ranks",
              "2", "--steps", "10",   "--compare-no-comm", "--format", "json"};
    case Level::kNetwork:
      if (context.options.hosts.empty()) {
        why =
            "Which hosts? --hosts LIST measures between them, or --with a result of angio mesh or perftest.";
        return {};
      }
      return {own, "mesh", "--hosts", context.options.hosts, "--format", "json"};
    case Level::kProfile:
      break;
  }
  why = "It needs the real job.";
  return {};
}

std::string last_line(std::string_view text) {
  std::string last;
  for (const std::string_view line : split_lines(text))
    if (!trim(line).empty()) last = printable(trim(line));
  return last;
}

// Runs this program for one level; what comes out is judged as if it were a file.
LevelResult measure(Level level, double seconds, const bench::Interrupts& interrupts, Context& context) {
  std::string why;
  bench::ChildWish wish;
  wish.argv = command_of(level, context, why);
  if (wish.argv.empty()) return judge::undecided_level(level, why);
  wish.limit_seconds = seconds;
  const auto child = bench::run_child(wish, interrupts);
  if (!child) return judge::undecided_level(level, child.error().message + ".");
  if (child->interrupted || interrupts.pending() != 0)
    return judge::undecided_level(level, "Ended by a signal.");
  if (child->timed_out)
    return judge::undecided_level(level, fmt::format("It did not end within {:.0f} s (--budget).", seconds));
  if (child->exit_code != 0)
    return judge::undecided_level(level, "It could not be measured: " + last_line(child->errors) + ".");
  context.measured = true;
  context.given[level].clear();
  if (auto taken = take(child->output, "measured now", context); !taken)
    return judge::undecided_level(level, taken.error().message + ".");
  if (context.given[level].empty())
    return judge::undecided_level(level, "Its output holds no figure of this level.");
  return judge::merge(context.given[level]);
}

void announce(Level level, double seconds) {
  if (isatty(STDERR_FILENO) != 0)
    say(fmt::format("angio: level {}, {} (at most {:.0f} s)", judge::number_of(level), judge::title_of(level),
                    seconds));
}

// The walk: results that were given first, the others measured while there is time.
std::vector<LevelResult> walk(Context& context, const bench::Interrupts& interrupts) {
  const Options& options = context.options;
  const auto begin = std::chrono::steady_clock::now();
  std::vector<LevelResult> done;
  for (const auto& [level, results] : context.given)
    if (!results.empty()) done.push_back(judge::merge(results));
  const bool several = options.nodes.value_or(1) > 1 || !options.hosts.empty();
  while (const auto level = judge::next_level(done, {several, options.everything})) {
    const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - begin;
    const double left = options.budget - spent.count();
    if (options.no_run) {
      LevelResult missing = judge::undecided_level(*level, "no result given (--with)");
      missing.state = LevelState::kNotRun;
      done.push_back(std::move(missing));
      continue;
    }
    if (interrupts.pending() != 0) break;
    if (left < 1) {
      done.push_back(judge::undecided_level(*level, "The time of --budget was over."));
      continue;
    }
    announce(*level, left);
    done.push_back(measure(*level, left, interrupts, context));
  }
  return done;
}

// ---- the command

void add_missing(std::vector<LevelResult>& levels) {
  for (const Level level :
       {Level::kMemory, Level::kCollective, Level::kStep, Level::kProfile, Level::kNetwork}) {
    if (std::ranges::find(levels, level, &LevelResult::level) != levels.end()) continue;
    LevelResult missing;
    missing.level = level;
    missing.why = level == Level::kProfile   ? "of the real job: angio profile, angio log"
                  : level == Level::kNetwork ? "not needed, or one node"
                                             : "the walk ended before";
    levels.push_back(std::move(missing));
  }
}

int show(const Options& options, const views::LevelsShow& show) {
  const report::TerminalStyle style = options.out == "-" ? terminal_style() : report::TerminalStyle{};
  const std::string text = options.format == "json"
                               ? to_text(views::levels_json(show)) + "\n"
                               : report::render_terminal(views::levels_document(show), style);
  if (options.out == "-") return print(text);
  if (auto done = write_output(options.out, text); !done) return report_error(done.error());
  say("angio: " + show.verdict.answer);
  return kOk;
}

Result<void> prepare(Context& context) {
  const Options& options = context.options;
  context.topology_said = !options.topology.empty();
  if (context.topology_said || !options.no_run) {
    auto machine = load_machine(options.topology);
    if (!machine && context.topology_said) return std::unexpected(std::move(machine.error()));
    if (machine) context.machine = std::move(*machine);
  }
  for (const std::string& file : options.files) {
    const auto bytes = read_input(file);
    if (!bytes) return std::unexpected(bytes.error());
    if (auto taken = take(*bytes, file_name(file), context); !taken) return taken;
  }
  return {};
}

int run(const Options& options) {
  Context context{options, std::nullopt, false, {}, {}, false};
  if (auto ready = prepare(context); !ready) return report_error(ready.error());
  views::LevelsShow answer;
  answer.tool = "angio " ANGIO_VERSION;
  answer.captured = host::utc_text(host::make_system_clock()->now());
  int signal = 0;
  {
    const bench::Interrupts interrupts;
    answer.levels = walk(context, interrupts);
    signal = interrupts.pending();
  }
  answer.verdict = judge::conclude(answer.levels);
  add_missing(answer.levels);
  answer.notes = std::move(context.notes);
  answer.interrupted = signal != 0;
  answer.subject =
      context.machine && !context.machine->name.empty() ? context.machine->name : "results of files";
  if (context.measured && context.machine && !context.topology_said)
    answer.environment =
        history::environment_json(history::environment_of(*context.machine, {{"angio", ANGIO_VERSION}}));
  if (const int shown = show(options, answer); shown != kOk) return shown;
  constexpr int kSignalled = 128;  // as a shell says it
  if (signal != 0) return kSignalled + signal;
  const bool bad = answer.verdict.first.has_value();
  return !options.fail_on.empty() && bad ? kFindings : kOk;
}

}  // namespace

void setup_bench_all(CommandLine& bench, int& exit_code) {
  CommandLine command =
      bench.subcommand("all", "Walk the levels and say which first falls below what it should give");
  const auto options = std::make_shared<Options>();
  command.option("--with", options->files, "A result to judge instead of measuring its level; repeatable")
      .type_name("FILE")
      .one_value();
  command.flag("--no-run", options->no_run, "Measure nothing: only the results given");
  command.flag("--everything", options->everything, "Do not stop at the first level that falls below");
  command.option("--budget", options->budget, "Time for all that is measured, in seconds; else 300")
      .type_name("S")
      .range(1.0, 86400.0);
  command
      .option("--topo", options->topology,
              "What the results are of: a snapshot; else this machine for what is measured")
      .type_name("FILE");
  command.option("--nodes", options->nodes, "How many hosts took part").type_name("N").range(1, 100000);
  command.option("--gpu", options->gpu, "The GPU's name where a result has none").type_name("NAME");
  command.option("--hosts", options->hosts, "Measure the network between these, with angio mesh")
      .type_name("LIST");
  command.option("--fail-on", options->fail_on, "Exit with 1 when a level falls below").one_of({"below"});
  command.option("--format", options->format, "How to show it").one_of({"terminal", "json"});
  command.option("--out", options->out, "Write here, not to standard output").type_name("FILE");
  command.callback([options, &exit_code] { exit_code = run(*options); });
}

}  // namespace angio::app
