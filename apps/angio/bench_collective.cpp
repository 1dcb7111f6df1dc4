#include "bench_collective.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/text.hpp"
#include "collective_installed.hpp"
#include "collective_start.hpp"
#include "command.hpp"
#include "host/system_roots.hpp"
#include "judge/judge.hpp"
#include "load_machine.hpp"
#include "options.hpp"
#include "output_file.hpp"
#include "own_environment.hpp"
#include "views/collective_json.hpp"
#include "views/collective_view.hpp"

namespace angio::app {
namespace {

using collective::Backend;

struct Options {
  std::vector<std::string> operations;
  std::string least = "8";
  std::string most = "128M";
  std::uint32_t factor = 2;
  std::string step;
  std::string element = "float";
  std::string reduction = "sum";
  std::uint32_t root = 0;
  std::uint32_t iterations = collective::Wish{}.iterations;
  std::uint32_t warm_up = collective::Wish{}.warm_up;
  std::string check = "on";
  std::string place = "both";
  bool no_samples = false;
  bool pairs = false;
  std::string pair_size = "64M";
  std::uint32_t timeout = collective::Wish{}.patience;
  std::optional<std::uint32_t> ranks;
  std::uint32_t nodes = 1;
  std::string with = "local";
  std::string backend = "nccl";
  std::vector<std::string> compare;
  std::vector<std::string> run_options;
  std::vector<std::string> launcher_options;
  std::optional<std::string> hostfile;
  std::string nccl;
  std::string nccl_tests;
  std::string phantom;
  std::string topology;
  std::string format = "terminal";
  std::string out = "-";
};

std::unexpected<Error> wrong(const std::string& option, const std::string& value, const std::string& what,
                             const std::string& hint) {
  return fail(ErrorCode::kInvalidInput, fmt::format("{} \"{}\" is no {}", option, printable(value), what),
              hint);
}

Result<Bytes> size_of_option(const std::string& option, const std::string& value) {
  const auto bytes = parse_byte_count(value);
  if (!bytes) return wrong(option, value, "size", "for example 8, 64K, 1M or 1G");
  return Bytes{*bytes};
}

Result<void> read_sizes(const Options& options, collective::Wish& wish) {
  for (const auto& [option, value, to] :
       {std::tuple{"--begin", &options.least, &wish.least}, std::tuple{"--end", &options.most, &wish.most},
        std::tuple{"--pair-size", &options.pair_size, &wish.pair_size}}) {
    auto size = size_of_option(option, *value);
    if (!size) return std::unexpected(std::move(size.error()));
    *to = *size;
  }
  wish.factor = options.factor;
  if (!options.step.empty()) {
    auto step = size_of_option("--step", options.step);
    if (!step) return std::unexpected(std::move(step.error()));
    wish.step = *step;
  }
  if (wish.pairs && wish.pair_size.value == 0)
    return fail(ErrorCode::kInvalidInput, "--pair-size 0 moves nothing");
  auto sizes = collective::sizes_of(wish);
  if (!sizes) return std::unexpected(std::move(sizes.error()));
  return {};
}

Result<void> read_operations(const Options& options, collective::Wish& wish) {
  if (options.operations.empty()) return {};
  wish.collectives.clear();
  for (const std::string& word : options.operations) {
    auto one = collective::parse_collective(word);
    if (!one) return std::unexpected(std::move(one.error()).with_context("--ops"));
    if (std::ranges::find(wish.collectives, *one) == wish.collectives.end()) wish.collectives.push_back(*one);
  }
  return {};
}

Result<collective::Wish> wish_of(const Options& options) {
  collective::Wish wish;
  if (auto read = read_operations(options, wish); !read) return std::unexpected(std::move(read.error()));
  const auto element = collective::parse_element(options.element);
  if (!element) {
    return wrong("--datatype", options.element, "type",
                 "int8, uint8, int32, uint32, int64, uint64, half, float, double or bfloat16");
  }
  const auto reduction = collective::parse_reduction(options.reduction);
  if (!reduction) return wrong("--redop", options.reduction, "reduction", "sum, prod, min, max or avg");
  wish.element = *element;
  wish.reduction = *reduction;
  wish.root = options.root;
  wish.iterations = options.iterations;
  wish.warm_up = options.warm_up;
  wish.check = options.check == "on";
  wish.out_of_place = options.place != "in";
  wish.in_place = options.place != "out";
  wish.samples = !options.no_samples;
  wish.pairs = options.pairs;
  wish.patience = options.timeout;
  wish.nccl = options.nccl;
  if (auto read = read_sizes(options, wish); !read) return std::unexpected(std::move(read.error()));
  return wish;
}

Result<std::vector<Backend>> backends_of(const Options& options) {
  std::vector<Backend> backends;
  const std::vector<std::string> words =
      options.compare.empty() ? std::vector<std::string>{options.backend} : options.compare;
  for (const std::string& word : words) {
    auto backend = collective::parse_backend(word);
    if (!backend) return std::unexpected(std::move(backend.error()).with_context("--compare"));
    backends.push_back(*backend);
  }
  return backends;
}

// GPUs of this machine; none: it has none, or nobody can say.
std::uint32_t count_gpus() {
  const auto machine = load_machine("");
  return machine ? static_cast<std::uint32_t>(machine->gpus.size()) : 0;
}

// What does not go together; nothing: all does.
Result<void> check_ways(const Options& options, bool inside) {
  const bool phantom = !options.phantom.empty();
  const bool only_nccl =
      options.compare.empty()
          ? options.backend == "nccl"
          : std::ranges::all_of(options.compare, [](const std::string& word) { return word == "nccl"; });
  if (phantom && (!only_nccl || options.with != "local"))
    return fail(ErrorCode::kInvalidInput, "--phantom is for NCCL on this machine",
                "leave --backend, --compare and --with away");
  if (options.hostfile && options.with != "mpi")
    return fail(ErrorCode::kInvalidInput, "--hostfile is for mpirun", "--with mpi");
  if (!inside && options.nodes > 1 && options.with == "local")
    return fail(ErrorCode::kInvalidInput, "ranks on other nodes are started by srun or mpirun, not from here",
                "--with slurm or --with mpi");
  if (!inside) return {};
  if (phantom || !options.nccl_tests.empty())
    return fail(
        ErrorCode::kInvalidInput,
        "this is a rank of a launcher already; --phantom and --use-nccl-tests start their ranks themselves");
  if (options.ranks || options.with != "local" || options.nodes > 1) {
    return fail(ErrorCode::kInvalidInput,
                "this is a rank of a launcher already, which says how many ranks there are",
                "leave --ranks, --nodes and --with away");
  }
  return {};
}

Result<CollectiveStart> start_of(const Options& options, collective::Wish wish) {
  CollectiveStart start;
  start.wish = std::move(wish);
  start.nodes = options.nodes;
  start.with = options.with;
  start.run_options = options.run_options;
  start.launcher_options = options.launcher_options;
  start.hostfile = options.hostfile;
  start.phantom = options.phantom;
  start.watched = isatty(STDERR_FILENO) != 0;
  start.inside = is_rank_of_launcher(host::read_environment());
  if (auto checked = check_ways(options, start.inside); !checked)
    return std::unexpected(std::move(checked.error()));
  start.ranks = options.ranks.value_or(0);
  if (start.ranks == 0 && !start.inside) start.ranks = options.phantom.empty() ? count_gpus() : 2;
  if (start.ranks == 0 && !start.inside) {
    return fail(ErrorCode::kInvalidInput, "no GPU on this machine, so the number of ranks is not clear",
                "--ranks N starts so many; --backend mpi or gloo needs no GPU");
  }
  if (!start.inside && start.wish.root >= start.ranks * std::uint64_t{start.nodes}) {
    return fail(ErrorCode::kInvalidInput,
                fmt::format("--root {} is none of the {} ranks", start.wish.root, start.ranks * start.nodes));
  }
  return start;
}

// A line on a terminal that goes away again.
class Progress {
 public:
  explicit Progress(bool shown) : shown_(shown) {}
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  ~Progress() { put("\r\033[K"); }
  void step(const std::string& what) const { put("\r\033[Kangio: " + printable(what)); }

 private:
  void put(const std::string& text) const {
    if (shown_ && write(STDERR_FILENO, text.data(), text.size()) < 0) return;
  }
  bool shown_;
};

// Whether the first rank's GPU is one of this machine. nccl-tests prints addresses without the function.
bool is_here(const model::CollectiveRun& run, const model::Machine& machine) {
  if (run.phantom || run.members.empty() || run.members.front().address.empty()) return false;
  return std::ranges::any_of(machine.gpus, [&](const model::Gpu& gpu) {
    const PciAddress* address = gpu.address.get();
    return address != nullptr && to_string(*address).starts_with(run.members.front().address);
  });
}

// The expectation stands beside what was measured where a topology is known: the one that was named, or this
// machine's for GPUs of this machine.
Result<std::optional<model::Machine>> topology_of(const Options& options,
                                                  const std::vector<model::CollectiveRun>& runs) {
  const auto names_gpus = [](const model::CollectiveRun& run) {
    return !run.phantom && !run.members.empty() && !run.members.front().address.empty();
  };
  if (options.topology.empty() && std::ranges::none_of(runs, names_gpus)) return std::nullopt;
  auto machine = load_machine(options.topology);
  if (!machine && !options.topology.empty()) return std::unexpected(std::move(machine.error()));
  const bool fits = machine && (!options.topology.empty() || std::ranges::any_of(runs, [&](const auto& run) {
                      return is_here(run, *machine);
                    }));
  if (!fits) return std::nullopt;
  return std::move(*machine);
}

judge::Judgement judge_run(const model::Machine& machine, const model::CollectiveRun& run) {
  judge::Topology topology{};
  topology.machine = &machine;
  topology.nodes = run.nodes;
  topology.gpus_of_node = run.ranks / std::max(run.nodes, 1U);
  return judge::judge(run, topology);
}

Result<views::CollectiveReport> report_of(const Options& options, std::vector<model::CollectiveRun> runs) {
  views::CollectiveReport report;
  const auto machine = topology_of(options, runs);
  if (!machine) return std::unexpected(machine.error());
  for (const model::CollectiveRun& run : runs) {
    std::optional<judge::Judgement> judgement;
    const bool on_gpus = !run.members.empty() && !run.members.front().device.empty();
    if (*machine && !run.phantom && on_gpus && !run.rows.empty()) judgement = judge_run(**machine, run);
    report.judgements.push_back(std::move(judgement));
  }
  report.runs = std::move(runs);
  return report;
}

// One run on real hardware is worth keeping: with where it was made.
Json kept_json(const views::CollectiveReport& report) {
  Json json = views::collective_json(report);
  if (report.runs.size() != 1 || report.runs.front().phantom) return json;
  return with_environment(std::move(json), {{report.runs.front().backend, report.runs.front().version}});
}

Result<std::string> text_of(const Options& options, const views::CollectiveReport& report) {
  if (options.format == "json") return to_text(kept_json(report)) + "\n";
  if (options.format == "nccl-tests-json") {
    auto json = views::collective_nccl_tests_json(report);
    if (!json) return std::unexpected(std::move(json.error()));
    return to_text(*json) + "\n";
  }
  if (options.format == "html") return report::render_html(views::collective_page(report));
  if (options.format == "svg") return report::render_svg(views::collective_drawing(report));
  return report::render_terminal(views::collective_document(report),
                                 options.out == "-" ? terminal_style() : report::TerminalStyle{});
}

bool all_right(const views::CollectiveReport& report) {
  return std::ranges::all_of(report.runs, [](const model::CollectiveRun& run) {
    return std::ranges::all_of(run.rows, [](const auto& row) { return row.wrong.value_or(0) == 0; });
  });
}

int show(const Options& options, std::vector<model::CollectiveRun> runs) {
  const auto report = report_of(options, std::move(runs));
  if (!report) return report_error(report.error());
  const auto text = text_of(options, *report);
  if (!text) return report_error(text.error());
  if (options.out == "-") {
    if (const int printed = print(*text); printed != kOk) return printed;
  } else if (auto written = write_output(options.out, *text); !written) {
    return report_error(written.error());
  }
  return all_right(*report) ? kOk : kFindings;
}

int refuse(const Error& error) {
  (void)report_error(error);
  return error.code == ErrorCode::kInvalidInput ? kUsage : kFailed;
}

struct Measured {
  std::vector<model::CollectiveRun> runs;
  bool failed = false;  // a back end gave nothing, others did
  int signal = 0;
};

Result<Measured> measure_all(const CollectiveStart& start, const std::vector<Backend>& backends) {
  Measured measured;
  const bench::Interrupts interrupts;
  for (const Backend backend : backends) {
    Result<CollectiveOutcome> outcome = fail(ErrorCode::kBug, "not run");
    {
      const Progress progress(start.watched);
      progress.step(fmt::format("starting the ranks of {}", collective::label(backend)));
      outcome = run_backend(start, backend, interrupts, [&](const std::string& what) {
        progress.step(fmt::format("{}: {}", collective::label(backend), what));
      });
    }
    if (!outcome) {
      // What other back ends gave is shown all the same.
      measured.signal = interrupts.pending();
      if (backends.size() == 1 && measured.signal == 0) return std::unexpected(std::move(outcome.error()));
      (void)report_error(outcome.error());
      measured.failed = true;
      if (measured.signal != 0) break;
      continue;
    }
    if (!outcome->said.empty()) say(outcome->said);
    if (outcome->run) measured.runs.push_back(std::move(*outcome->run));
    measured.signal = outcome->signal;
    if (measured.signal != 0) break;
  }
  return measured;
}

int measure(const Options& options) {
  auto wish = wish_of(options);
  if (!wish) return refuse(wish.error());
  const auto backends = backends_of(options);
  if (!backends) return refuse(backends.error());
  const bool one_file = options.format == "nccl-tests-json";
  if (one_file && (wish->collectives.size() > 1 || backends->size() > 1)) {
    return refuse({ErrorCode::kInvalidInput, "a file of nccl-tests holds one collective of one library",
                   "--ops with one collective and no --compare, or --format json"});
  }
  if (options.out != "-") {
    if (auto checked = check_output(options.out); !checked) return report_error(checked.error());
  }
  const auto start = start_of(options, std::move(*wish));
  if (!start) return refuse(start.error());
  if (!options.nccl_tests.empty()) {
    const bench::Interrupts interrupts;
    auto run = run_nccl_tests(options.nccl_tests, start->wish, start->ranks, interrupts);
    return run ? show(options, {std::move(*run)}) : refuse(run.error());
  }
  auto measured = measure_all(*start, *backends);
  if (!measured) return report_error(measured.error());
  constexpr int kSignalled = 128;  // as a shell says it
  const int shown = measured->runs.empty() ? static_cast<int>(kOk) : show(options, std::move(measured->runs));
  if (measured->signal != 0 && shown == kOk) return kSignalled + measured->signal;
  return measured->failed && shown == kOk ? static_cast<int>(kFailed) : shown;
}

void add_work(CommandLine& command, Options& options) {
  command.option("--ops", options.operations, "Collectives, named as the programs of nccl-tests")
      .type_name("LIST")
      .one_value()
      .delimiter(',');
  command.option("-b,--begin", options.least, "Least size").type_name("SIZE");
  command.option("-e,--end", options.most, "Largest size").type_name("SIZE");
  command.option("-f,--factor", options.factor, "From one size to the next").type_name("N").range(2, 1 << 20);
  command.option("-i,--step", options.step, "Bytes from one size to the next, instead of a factor")
      .type_name("SIZE");
  command.option("-d,--datatype", options.element, "Type of the elements").type_name("TYPE");
  command.option("-o,--redop", options.reduction, "sum, prod, min, max or avg").type_name("OP");
  command.option("-r,--root", options.root, "Root of broadcast, reduce, gather and scatter")
      .type_name("RANK");
  command.option("-n,--iters", options.iterations, "Iterations of each size")
      .type_name("N")
      .range(1, 1000000);
  command.option("-w,--warmup", options.warm_up, "Iterations before, not counted")
      .type_name("N")
      .range(0, 1000000);
  command.option("--check", options.check, "Check the data that arrived").one_of({"on", "off"});
  command.option("--place", options.place, "Out of place, in place, or both").one_of({"both", "out", "in"});
  command.flag("--no-samples", options.no_samples, "Do not time each iteration by itself, too");
  command.flag("--pairs", options.pairs, "Also every rank to every other: rate and latency");
  command.option("--pair-size", options.pair_size, "Bytes of a message of --pairs").type_name("SIZE");
}

void add_ranks(CommandLine& command, Options& options) {
  command.option("--ranks", options.ranks, "Ranks of a node; else one a GPU").type_name("N").range(1, 65536);
  command.option("--nodes", options.nodes, "Nodes, with --with slurm or mpi").type_name("N").range(1, 65536);
  command.option("--with", options.with, "Who starts the ranks").one_of({"local", "slurm", "mpi"});
  command.option("--run-option", options.run_options, "Handed to angio run, which binds; may be repeated")
      .type_name("WORD")
      .one_value();
  command.option("--launcher-option", options.launcher_options, "Handed to srun or mpirun; may be repeated")
      .type_name("WORD")
      .one_value();
  command.option("--hostfile", options.hostfile, "Hosts for mpirun, one a line").type_name("FILE");
  command.option("--timeout", options.timeout, "Patience with ranks that do not come or fall silent")
      .type_name("SECONDS")
      .range(1, 86400);
  command.option("--backend", options.backend, "What moves the data").one_of({"nccl", "mpi", "gloo"});
  command.option("--compare", options.compare, "Several back ends on the same work, side by side")
      .type_name("LIST")
      .one_value()
      .delimiter(',');
  command.option("--nccl", options.nccl, "libnccl, a folder with one, or pid:N; else searched")
      .type_name("PATH");
  command
      .option("--phantom", options.phantom,
              "Ranks on GPUs that are not there, a node for each, as\n"
              "angio dryrun takes them: times mean nothing")
      .type_name("TOPOLOGY");
  command
      .option("--use-nccl-tests", options.nccl_tests,
              "Run an installed nccl-tests: its folder, or one program")
      .type_name("PATH");
}

}  // namespace

void setup_bench_collective(CommandLine& bench, int& exit_code) {
  CommandLine command = bench.subcommand("collective", "Collectives over NCCL, MPI or gloo, one rank a GPU");
  const auto options = std::make_shared<Options>();
  add_work(command, *options);
  add_ranks(command, *options);
  command
      .option("--topo", options->topology, "Snapshot whose hardware says what to expect;\nelse this machine")
      .type_name("FILE");
  command.option("--format", options->format, "How to show it")
      .one_of({"terminal", "json", "nccl-tests-json", "html", "svg"});
  command.option("--out", options->out, "Write here, not to standard output").type_name("FILE");
  command.callback([options, &exit_code] { exit_code = measure(*options); });
}

}  // namespace angio::app
