#include "bench_step.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/text.hpp"
#include "bench_step_options.hpp"
#include "collective/nccl_transport.hpp"
#include "collective/worker.hpp"
#include "command.hpp"
#include "host/system_roots.hpp"
#include "options.hpp"
#include "output_file.hpp"
#include "own_environment.hpp"
#include "scaling/scaling.hpp"
#include "step/worker.hpp"
#include "views/step_json.hpp"
#include "views/step_view.hpp"

namespace angio::app {
namespace {

struct Measured {
  std::optional<model::StepRun> run;
  int signal = 0;
};

// A line on a terminal that goes away again.
class Progress {
 public:
  Progress() : shown_(isatty(STDERR_FILENO) != 0) {}
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  ~Progress() { put("\r\033[K"); }
  void begin(const step::RunRequest& request) const {
    const auto& spec = request.spec;
    put(fmt::format("\r\033[Kangio: {} ranks, {} steps and {} before them", step::ranks_of(spec.layout),
                    spec.steps, spec.warm_up));
  }

 private:
  void put(const std::string& text) const {
    if (shown_ && write(STDERR_FILENO, text.data(), text.size()) < 0) return;
  }
  bool shown_;
};

model::StepScale scale_row(const model::StepRun& run) {
  return {run.ranks, run.batch, run.step.median, run.samples_per_second, run.exposed_ms};
}

// What is there when a signal comes is kept.
Result<Measured> measure(const StepPlan& plan) {
  const Progress progress;
  Measured measured;
  std::vector<model::StepScale> scale;
  for (const step::RunRequest& request : plan.runs) {
    progress.begin(request);
    auto outcome = step::run_steps(request);
    if (!outcome) {
      const std::string where = fmt::format("{} ranks", step::ranks_of(request.spec.layout));
      return std::unexpected(plan.runs.size() > 1 ? std::move(outcome.error()).with_context(where)
                                                  : outcome.error());
    }
    measured.signal = outcome->signal;
    const bool empty = !outcome->run || outcome->run->step.count == 0;
    if (!empty) scale.push_back(scale_row(*outcome->run));
    if (!empty || !measured.run) measured.run = std::move(outcome->run);
    if (measured.signal != 0) break;
  }
  if (plan.runs.size() > 1 && measured.run) measured.run->scale = std::move(scale);
  return measured;
}

std::optional<scaling::Scaling> scaling_of(const StepOptions& options, model::StepRun& run) {
  if (run.scale.size() < 2 || run.phantom) return std::nullopt;
  scaling::Series series;
  series.metric = "throughput";
  series.unit = "samples/s";
  series.measure = scaling::Measure::kThroughput;
  for (const model::StepScale& row : run.scale)
    series.points.push_back({row.ranks, {row.samples_per_second}, {}});
  auto result =
      scaling::analyse(series, options.scaling == "weak" ? scaling::Mode::kWeak : scaling::Mode::kStrong);
  if (result) return *std::move(result);
  run.notes.push_back("no scaling: " + result.error().message);
  return std::nullopt;
}

int show(const StepOptions& options, model::StepRun& run) {
  if (!run.scale.empty()) run.scaling = options.scaling;
  const auto scaling = scaling_of(options, run);
  const scaling::Scaling* found = scaling ? &*scaling : nullptr;
  std::string text;
  if (options.format == "json") {
    text = to_text(with_environment(views::step_json(run), {{run.framework, run.version}})) + "\n";
  } else if (options.format == "html") {
    text = report::render_html(views::step_page(run, found));
  } else if (options.format == "svg") {
    text = report::render_svg(views::step_drawing(run));
  } else {
    const report::TerminalStyle style = options.out == "-" ? terminal_style() : report::TerminalStyle{};
    text = report::render_terminal(views::step_document(run, found), style);
  }
  if (options.out == "-") return print(text);
  if (auto done = write_output(options.out, text); !done) return report_error(done.error());
  return kOk;
}

void add_assumptions(const StepPlan& plan, const StepOptions& options, model::StepRun& run) {
  const step::StepSpec& spec = plan.runs.back().spec;
  if (options.framework != "traffic" || options.compute_ms) return;
  run.notes.push_back(
      fmt::format("compute is played, at {:g} TFLOP/s a rank{}", spec.flops_per_second / 1e12,
                  options.teraflops ? "" : ", which is assumed: --tflops or --compute-ms says it"));
}

int bench_step(const StepOptions& options) {
  const auto refuse = [](const Error& error) {
    (void)report_error(error);
    return error.code == ErrorCode::kInvalidInput ? kUsage : kFailed;
  };
  if (options.out != "-") {
    if (auto checked = check_output(options.out); !checked) return report_error(checked.error());
  }
  const auto plan = step_plan(options);
  if (!plan) return refuse(plan.error());
  auto measured = measure(*plan);
  if (!measured) return report_error(measured.error());
  constexpr int kSignalled = 128;  // as a shell says it
  const int exit = measured->signal != 0 ? kSignalled + measured->signal : int{kOk};
  if (!measured->run) return exit;
  add_assumptions(*plan, options, *measured->run);
  const int shown = show(options, *measured->run);
  return shown == kOk ? exit : shown;
}

Result<void> run_nccl_rank(const std::string& spec) {
  const auto environment = host::read_environment();
  auto process = collective::rank_process(environment);
  if (!process) return std::unexpected(process.error());
  auto meeting = collective::meet_over_tcp(process->place);
  if (!meeting) return std::unexpected(meeting.error());
  auto transport = collective::make_nccl_transport({"", process->local_rank, environment}, **meeting);
  if (!transport) return std::unexpected(transport.error());
  return step::run_step_rank(spec, **transport, **meeting);
}

}  // namespace

int run_step_rank_words(int argc, char** argv) {
  if (argc != 2) {
    (void)report_error(
        {ErrorCode::kInvalidInput, "angio step-rank is a part of angio bench step", "run angio bench step"});
    return kUsage;
  }
  const auto done = run_nccl_rank(argv[1]);
  return done ? int{kOk} : report_error(done.error());
}

void setup_bench_step(CommandLine& bench, int& exit_code) {
  CommandLine command =
      bench.subcommand("step", "Training steps over many ranks: where their time goes, and how they scale");
  const auto options = std::make_shared<StepOptions>();
  add_step_options(command, *options);
  command.callback([options, &exit_code] { exit_code = bench_step(*options); });
}

}  // namespace angio::app
