#include "bench_command.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <memory>
#include <optional>
#include <string>

#include "base/text.hpp"
#include "bench/memory_bench.hpp"
#include "bench_all.hpp"
#include "bench_collective.hpp"
#include "bench_compare.hpp"
#include "bench_step.hpp"
#include "command.hpp"
#include "history/environment.hpp"
#include "host/clock.hpp"
#include "host/libraries.hpp"
#include "options.hpp"
#include "probe/live_root.hpp"
#include "probe/machine_probe.hpp"
#include "views/bench_memory_metrics.hpp"
#include "views/bench_memory_view.hpp"
#include "views/metrics_json.hpp"

namespace angio::app {
namespace {

struct Options {
  std::string nodes;
  std::string size;
  std::optional<std::uint32_t> threads;
  double seconds = bench::MemoryWish{}.seconds;
  bool cache_lines = false;
  std::string format = "terminal";
  std::string out = "-";
};

Result<bench::MemoryWish> wish_of(const Options& options) {
  bench::MemoryWish wish;
  if (!options.nodes.empty()) {
    wish.nodes = parse_cpu_list(options.nodes);
    if (!wish.nodes) {
      return fail(ErrorCode::kInvalidInput,
                  "--nodes \"" + printable(options.nodes) + "\" is no list of node numbers",
                  "for example --nodes 0,1 or 0-3");
    }
  }
  if (!options.size.empty()) {
    const auto bytes = parse_byte_count(options.size);
    if (!bytes) {
      return fail(ErrorCode::kInvalidInput, "--size \"" + printable(options.size) + "\" is no size",
                  "for example --size 256MiB");
    }
    wish.size = Bytes{*bytes};
  }
  wish.threads = options.threads;
  wish.seconds = options.seconds;
  wish.cache_lines = options.cache_lines;
  return wish;
}

int usage(const Error& error) {
  (void)report_error(error);
  return kUsage;
}

// A line on a terminal that goes away again.
class Progress {
 public:
  Progress() : shown_(isatty(STDERR_FILENO) != 0) {}
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  ~Progress() { put("\r\033[K"); }
  void announce(const bench::MemoryPlan& plan) const {
    if (!shown_) return;
    say(fmt::format("angio: {} figures, {}; GPUs, if there are any, come on top", plan.figures,
                    bench::duration_in_words(plan.expected_seconds)));
  }
  void step(const std::string& what) const { put("\r\033[Kangio: " + what); }

 private:
  void put(const std::string& text) const {
    if (shown_ && write(STDERR_FILENO, text.data(), text.size()) < 0) return;
  }
  bool shown_;
};

// The result and what `angio history` needs beside it: when, of what, where, and the figures.
Json result_json(const model::MemoryBench& measured, const model::Machine& machine,
                 const std::string& captured) {
  Json json = views::memory_bench_json(measured);
  json.set("captured", captured);
  json.set("subject", measured.machine);
  json.set("environment",
           history::environment_json(history::environment_of(machine, {{"angio", ANGIO_VERSION}})));
  json.set("metrics", views::metrics_json(views::memory_bench_metrics(measured)));
  return json;
}

int show(const Options& options, const model::MemoryBench& measured, const Json& json) {
  report::TerminalStyle style = options.out == "-" ? terminal_style() : report::TerminalStyle{};
  const std::string text = options.format == "json"
                               ? to_text(json) + "\n"
                               : report::render_terminal(views::memory_bench_document(measured), style);
  if (options.out == "-") return print(text);
  if (auto done = write_output(options.out, text); !done) return report_error(done.error());
  return kOk;
}

int measure_memory(const Options& options) {
  const auto wish = wish_of(options);
  if (!wish) return usage(wish.error());
  auto root = probe::make_live_machine_root();
  if (!root) return report_error(root.error());
  const model::Machine machine = probe::probe_machine(**root, {{}, false});
  const auto plan = bench::plan_memory_bench(machine, *wish, bench::read_available(machine.numa, **root));
  if (!plan)
    return plan.error().code == ErrorCode::kInvalidInput ? usage(plan.error()) : report_error(plan.error());
  const std::string captured = host::utc_text(host::make_system_clock()->now());
  const auto libraries = host::make_library_loader();
  model::MemoryBench measured;
  int signal = 0;
  {
    const bench::Interrupts interrupts;
    const Progress progress;
    progress.announce(*plan);
    const auto step = [&progress](const std::string& what) { progress.step(what); };
    measured = bench::run_memory_bench(machine, *plan, {**root, *libraries, interrupts, step});
    signal = interrupts.pending();
  }
  const int shown = show(options, measured, result_json(measured, machine, captured));
  constexpr int kSignalled = 128;  // as a shell says it
  return signal != 0 && shown == kOk ? kSignalled + signal : shown;
}

void setup_memory(CommandLine& bench, int& exit_code) {
  CommandLine command =
      bench.subcommand("memory", "Bandwidth and latency from the CPUs of each node to the memory of each");
  const auto options = std::make_shared<Options>();
  command.option("--nodes", options->nodes, "Only these nodes: 0,1 or 0-3").type_name("LIST");
  command.option("--size", options->size, "Buffer on each node; else beyond the caches, 256 MiB at least")
      .type_name("SIZE");
  command.option("--threads", options->threads, "Threads on each node; else one a core")
      .type_name("N")
      .range(1, 65536);
  command.option("--seconds", options->seconds, "Time for each figure; else 0.4")
      .type_name("S")
      .range(0.001, 3600.0);
  command.flag("--cache-lines", options->cache_lines, "Also hand a cache line between every two cores");
  command.option("--format", options->format, "How to show it").one_of({"terminal", "json"});
  command.option("--out", options->out, "Write here, not to standard output").type_name("FILE");
  command.callback([options, &exit_code] { exit_code = measure_memory(*options); });
}

}  // namespace

void setup_bench(CommandLine& app, int& exit_code) {
  CommandLine command = app.subcommand("bench", "Measure memory, collective, step, all; compare commands");
  command.require_subcommand();
  setup_memory(command, exit_code);
  setup_bench_collective(command, exit_code);
  setup_bench_step(command, exit_code);
  setup_bench_all(command, exit_code);
  setup_bench_compare(command, exit_code);
}

}  // namespace angio::app
