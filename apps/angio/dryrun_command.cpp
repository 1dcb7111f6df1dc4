#include "dryrun_command.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/text.hpp"
#include "command.hpp"
#include "dryrun/against.hpp"
#include "dryrun/compare.hpp"
#include "dryrun/invariants.hpp"
#include "dryrun/node_design.hpp"
#include "dryrun/reasons.hpp"
#include "dryrun/result.hpp"
#include "dryrun_inputs.hpp"
#include "dryrun_log.hpp"
#include "fail_on.hpp"
#include "import/import.hpp"
#include "job_logs.hpp"
#include "model/nccl_world.hpp"
#include "options.hpp"
#include "output_file.hpp"
#include "views/doctor_view.hpp"
#include "views/dryrun_against_view.hpp"
#include "views/dryrun_view.hpp"

namespace angio::app {
namespace {

using dryrun::Options;

volatile std::sig_atomic_t stopped = 0;

// Ctrl-C ends the run and leaves what is finished.
class StopOnSignals {
 public:
  StopOnSignals() {
    struct sigaction action{};
    action.sa_handler = [](int) { stopped = 1; };
    for (std::size_t i = 0; i < kSignals.size(); ++i) {
      sigaction(kSignals[i], &action, &before_[i]);
      if (before_[i].sa_handler == SIG_IGN) sigaction(kSignals[i], &before_[i], nullptr);
    }
  }
  StopOnSignals(const StopOnSignals&) = delete;
  StopOnSignals& operator=(const StopOnSignals&) = delete;
  ~StopOnSignals() {
    for (std::size_t i = 0; i < kSignals.size(); ++i)
      sigaction(kSignals[i], &before_[i], nullptr);
  }

 private:
  static constexpr std::array<int, 3> kSignals{SIGINT, SIGTERM, SIGHUP};
  std::array<struct sigaction, 3> before_{};
};

// ---------------------------------------------------------------- one run

struct Run {
  model::DryRun result;
  std::vector<nccl::Element> topologies;  // of each node: what NCCL arrives at
};

// Said once a command: whose entries are redirected, and whose licence counts.
void announce(const Options& options, const nccl_run::NcclLibrary& library) {
  if (options.redirect != "auto" || library.runtime != nccl_run::Runtime::kInside) return;
  say("angio: " + printable(library.path) +
      " has the CUDA runtime inside. In the processes of this run its public entries are redirected to a "
      "stand-in; "
      "the file stays as it is. Whether its licence allows that is yours to check. --redirect yes: not said "
      "again");
}

Result<Run> run_once(const Options& options, dryrun::Prepared prepared, const std::string& label,
                     dryrun::RunLogs& logs) {
  angio::dryrun::LogTaker taker;
  auto outcome = nccl_run::run_cluster(
      prepared.request,
      [&](std::uint32_t node, std::string_view lines) {
        taker.feed(node, lines);
        logs.feed(lines);
      },
      [] { return stopped != 0; });
  if (!outcome) return std::unexpected(std::move(outcome.error()));
  Run run;
  run.result = angio::dryrun::make_result(prepared.request, *outcome, std::move(taker));
  run.result.label = label;
  run.result.topology = options.topology;
  run.result.notes.insert(run.result.notes.begin(), prepared.notes.begin(), prepared.notes.end());
  run.topologies = std::move(prepared.trees);
  for (const std::string& broken : angio::dryrun::broken_invariants(run.result, run.topologies))
    run.result.notes.push_back("unexpected: " + broken);
  return run;
}

// ---------------------------------------------------------------- what is shown

int emit(const Options& options, const report::Document& document, const report::Document& page,
         const Json& json) {
  std::string text =
      options.format == "json" ? to_text(json) + "\n"
      : options.format == "html"
          ? render_html(page)
          : render_terminal(document, options.out == "-" ? terminal_style() : report::TerminalStyle{});
  if (options.out == "-") return print(text);
  if (auto written = write_output(options.out, text); !written) return report_error(written.error());
  return kOk;
}

bool complete(const model::DryRun& run) {
  return run.end == model::DryRunEnd::kComplete;
}

// Node 0 for the page's picture: the snapshot, or what NCCL arrived at.
std::shared_ptr<const model::Machine> machine_of(const dryrun::Inputs& inputs, const Run& run) {
  if (inputs.machine && !inputs.machine->stated_paths) return inputs.machine;
  auto machine = import::import_machine(nccl::write_topology_xml(run.topologies.front()), "node 0");
  return machine ? std::make_shared<const model::Machine>(std::move(*machine)) : nullptr;
}

int show_one(const Options& options, const dryrun::Inputs& inputs, const Run& run) {
  const auto machine = machine_of(inputs, run);
  views::DryRunReport report{&run.result, machine.get(), {}};
  if (options.explain) report.reasons = angio::dryrun::explain(run.result, run.topologies.front());
  const int code =
      emit(options, views::dryrun_document(report), views::dryrun_page(report), views::dryrun_json(report));
  return code != kOk || complete(run.result) ? code : kFindings;
}

int show_pair(const Options& options, const std::vector<Run>& runs) {
  const views::DryRunComparison report{&runs[0].result, &runs[1].result,
                                       angio::dryrun::compare(runs[0].result, runs[1].result)};
  const int code = emit(options, views::dryrun_comparison_document(report),
                        views::dryrun_comparison_page(report), views::dryrun_comparison_json(report));
  return code != kOk || (complete(runs[0].result) && complete(runs[1].result)) ? code : kFindings;
}

int show_sweep(const Options& options, std::vector<Run> runs) {
  std::vector<model::DryRun> results;
  for (Run& run : runs)
    results.push_back(std::move(run.result));
  const views::DryRunSweep report{&results, angio::dryrun::sweep_rows(results)};
  const int code = emit(options, views::dryrun_sweep_document(report), views::dryrun_sweep_page(report),
                        views::dryrun_sweep_json(report));
  return code != kOk || std::ranges::all_of(results, complete) ? code : kFindings;
}

// ---------------------------------------------------------------- against a job

Result<JobLogs::Read> read_job(const std::vector<std::string>& files) {
  JobLogs logs;
  for (const std::string& file : files)
    if (auto added = logs.add_file(file); !added) return std::unexpected(std::move(added.error()));
  model::Machine machine;
  JobLogs::Read read = logs.finish(machine);
  if (!read.evidence || !read.evidence->log || read.evidence->log->communicators.empty())
    return fail(ErrorCode::kInvalidInput, "no communicator of NCCL's in " + printable(files.front()),
                "Run the job with NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,GRAPH,TUNING,NET,ENV");
  return read;
}

// Nodes and ranks of the job's largest communicator, where the user named none.
Result<void> take_shape(const model::NcclLog& log, bool nodes_given, Options& options) {
  std::uint32_t nodes = 0;  // 0: not told
  if (const auto shape = angio::dryrun::shape_of(log)) {
    nodes = shape->nodes;
    if (!options.ranks && shape->ranks > 0) options.ranks = shape->ranks;
  } else {
    const model::NcclCommunicator* world = model::world_of(log);
    nodes = world->nodes.value_or(0);
    if (!options.ranks && world->local_ranks) options.ranks = world->local_ranks;
  }
  if (nodes_given || nodes == 0) return {};
  if (nodes > dryrun::kMostNodes)
    return fail(ErrorCode::kUnsupported,
                fmt::format("the job of --against ran on {} nodes; a dry run has at most {}", nodes,
                            dryrun::kMostNodes),
                "Give logs of a smaller job");
  options.nodes = nodes;
  return {};
}

int show_against(const Options& options, const Run& run, const JobLogs::Read& job) {
  model::Diagnosis diagnosis = angio::dryrun::judge_against(run.result, *job.evidence);
  views::DoctorReport report;
  report.tool = "angio " ANGIO_VERSION;
  report.findings = std::move(diagnosis.findings);
  report.undecided = std::move(diagnosis.undecided);
  report.show_undecided = true;
  for (const std::string& rule : diagnosis.held)
    report.held[rule] = {"job"};
  report::Document document = views::dryrun_against_document(run.result, report);
  report::Document page = document;
  page.title = "angio dryrun --against";
  const int code = emit(options, document, page, views::dryrun_against_json(run.result, report));
  if (code != kOk) return code;
  if (!complete(run.result)) return kFindings;
  return fails(report.findings, options.fail_on) ? kFindings : kOk;
}

// ---------------------------------------------------------------- the command

Result<std::vector<dryrun::Variation>> variations_of(const Options& options, bool is_pair) {
  std::vector<dryrun::Variation> variations;
  if (is_pair) {
    for (const auto& [option, text] :
         {std::pair{"--set-a", options.set_a}, std::pair{"--set-b", options.set_b}}) {
      auto variation = dryrun::parse_variation(option, text);
      if (!variation) return std::unexpected(std::move(variation.error()));
      variations.push_back(std::move(*variation));
    }
    return variations;
  }
  auto variants = angio::dryrun::parse_variants(options.vary);
  if (!variants) return std::unexpected(std::move(variants.error()));
  for (angio::dryrun::Variant& variant : *variants)
    variations.push_back({std::move(variant.label), std::move(variant.settings), {}});
  return variations;
}

// What can go wrong before a run goes wrong before the first one: the variants of a sweep differ in settings
// only, the two of a pair perhaps in the library.
Result<std::vector<dryrun::Prepared>> prepare_first(const Options& options, const dryrun::Inputs& inputs,
                                                    const std::vector<dryrun::Variation>& variations) {
  constexpr std::size_t kPair = 2;
  std::vector<dryrun::Prepared> ready;
  for (const dryrun::Variation& variation : std::span(variations).first(std::min(variations.size(), kPair))) {
    auto prepared = dryrun::prepare(options, inputs, variation);
    if (!prepared) return std::unexpected(std::move(prepared.error()));
    if (ready.empty() || ready.front().request.library.path != prepared->request.library.path)
      announce(options, prepared->request.library);
    ready.push_back(std::move(*prepared));
  }
  return ready;
}

// Those that could be run: a later one that cannot takes nothing from the earlier.
Result<std::vector<Run>> run_all(const Options& options, const dryrun::Inputs& inputs,
                                 const std::vector<dryrun::Variation>& variations,
                                 std::vector<dryrun::Prepared> ready, dryrun::RunLogs& logs) {
  const bool tells = variations.size() > 1 && isatty(STDERR_FILENO) != 0;
  std::vector<Run> runs;
  for (std::size_t i = 0; i < variations.size() && (i == 0 || stopped == 0); ++i) {
    if (tells) say(fmt::format("angio: run {} of {}: {}", i + 1, variations.size(), variations[i].label));
    auto prepared = i < ready.size() ? Result<dryrun::Prepared>(std::move(ready[i]))
                                     : dryrun::prepare(options, inputs, variations[i]);
    if (prepared) logs.begin(i);
    auto run = prepared ? run_once(options, std::move(*prepared), variations[i].label, logs)
                        : Result<Run>(std::unexpected(std::move(prepared.error())));
    logs.finish();
    if (!run && runs.empty()) return std::unexpected(std::move(run.error()));
    if (!run) {
      (void)report_error(run.error());
      break;
    }
    runs.push_back(std::move(*run));
  }
  return runs;
}

// What the command line says is the user's to mend, and so is a file that is none of those known.
int fail_with(const Error& error) {
  const int code = report_error(error);
  return error.code == ErrorCode::kInvalidInput ? kUsage : code;
}

// Options that would do nothing are a mistake.
std::optional<Error> misuse(const Options& options, bool is_pair) {
  if (options.explain && (is_pair || !options.vary.empty() || !options.against.empty()))
    return Error{ErrorCode::kInvalidInput,
                 "--explain is about one run, not with --set-a, --set-b, --vary or --against",
                 "Run the one that puzzles alone, with its settings in --env"};
  if (!options.fail_on.empty() && options.against.empty())
    return Error{ErrorCode::kInvalidInput, "--fail-on judges the findings of --against, which is not given",
                 "A run that fails exits with 1 in any case"};
  if (options.log == "-" && options.out == "-")
    return Error{ErrorCode::kInvalidInput, "--log - and the result would both go to standard output",
                 "--out FILE for the result, or --log FILE"};
  if (options.log != "-" && options.log == options.out)
    return Error{ErrorCode::kInvalidInput, "--log and --out are the same file", "Name two"};
  return std::nullopt;
}

int show(const Options& options, const dryrun::Inputs& inputs, std::vector<Run> runs, bool is_pair,
         const std::optional<JobLogs::Read>& job) {
  if (job) return show_against(options, runs.front(), *job);
  if (is_pair && runs.size() == 2) return show_pair(options, runs);
  if (!options.vary.empty()) return show_sweep(options, std::move(runs));
  return show_one(options, inputs, runs.front());
}

int run_with(const Options& options, bool is_pair, const std::optional<JobLogs::Read>& job) {
  const auto inputs = dryrun::read_inputs(options);
  if (!inputs) return fail_with(inputs.error());
  const auto variations = variations_of(options, is_pair);
  if (!variations) return fail_with(variations.error());
  dryrun::RunLogs logs(options.log, variations->size());
  for (const auto& writable : {check_output(options.out), logs.check()})
    if (!writable) return fail_with(writable.error());
  auto ready = prepare_first(options, *inputs, *variations);
  if (!ready) return fail_with(ready.error());
  const StopOnSignals stop;
  auto runs = run_all(options, *inputs, *variations, std::move(*ready), logs);
  if (!runs) return fail_with(runs.error());
  const int code = show(options, *inputs, std::move(*runs), is_pair, job);
  if (!logs.problem()) return code;
  const int log_code = report_error(*logs.problem());
  return code == kOk ? log_code : code;
}

int run(Options options, bool nodes_given, bool is_pair) {
  if (const auto wrong = misuse(options, is_pair)) return fail_with(*wrong);
  std::optional<JobLogs::Read> job;
  if (!options.against.empty()) {
    auto read = read_job(options.against);
    if (!read) return fail_with(read.error());
    job = std::move(*read);
    if (auto taken = take_shape(*job->evidence->log, nodes_given, options); !taken)
      return fail_with(taken.error());
  }
  return run_with(options, is_pair, job);
}

void add_hardware_options(CommandLine& command, Options& options) {
  command.option("--topo", options.topology, "NCCL XML, snapshot, topo -m text, words: 8xh100-sxm+8x400g")
      .type_name("FILE|WORDS")
      .required();
  command.option("--gpu", options.gpu, "Model of GPUs the file does not describe: h100-sxm")
      .type_name("MODEL");
  command.option("--nic-speed", options.nic_speed, "Speed of each NIC where a matrix tells none")
      .type_name("Gb/s")
      .range(1, 3200);
  command.option("--node", options.node_changes, "What is different on a node: 1:without=mlx5_3;ranks=4")
      .type_name("N:CHANGE")
      .one_value();
  command.option("--ranks", options.ranks, "Ranks on each node; else one for each GPU")
      .type_name("N")
      .range(1, static_cast<int>(angio::dryrun::kMostGpus));
  command.option("--driver", options.driver, "CUDA version of the nodes' driver: 12.8").type_name("VERSION");
  command.option("--net", options.net, "The phantom's NICs, this host's RDMA, or sockets")
      .one_of({"phantom", "ib", "socket"});
}

void add_job_options(CommandLine& command, Options& options) {
  command.option("--nccl", options.nccl, "libnccl.so, its folder, or pid:N; else what is found")
      .type_name("PATH");
  command.option("--env", options.environment, "Settings of the job: a file, or NAME=VALUE")
      .type_name("FILE|K=V")
      .one_value();
  command.option("--collectives", options.collectives, "allreduce,alltoall …, or all").type_name("LIST");
  command.option("--sizes", options.sizes, "8,64K,1M, or 8:1G, or 8:1G:4").type_name("LIST|FROM:TO[:TIMES]");
  command.option("--redirect", options.redirect, "Redirect the CUDA runtime inside the libnccl")
      .one_of({"auto", "yes", "no"});
  command.flag("--progress", options.progress, "Also let network transfers finish, without data");
  command.option("--timeout", options.timeout, "Seconds for one run")
      .type_name("SECONDS")
      .range(1.0, 86400.0);
  command.option("--memory-limit", options.memory, "Memory of one run here; else half of what is free")
      .type_name("SIZE");
}

void add_output_options(CommandLine& command, Options& options) {
  command.flag("--explain", options.explain, "Also say why");
  command.option("--format", options.format, "How to show it").one_of({"terminal", "json", "html"});
  command.option("--log", options.log, "Keep NCCL's own log here").type_name("FILE");
  command.option("--out", options.out, "Write here, not to standard output").type_name("FILE");
  command.option("--fail-on", options.fail_on, "With --against: exit with 1 from this severity on")
      .one_of({"info", "warning", "critical"});
}

}  // namespace

void setup_dryrun(CommandLine& app, int& exit_code) {
  CommandLine command =
      app.subcommand("dryrun", "Say what the real NCCL decides on hardware that is not here");
  const auto options = std::make_shared<Options>();
  add_hardware_options(command, *options);
  const Option nodes =
      command.option("--nodes", options->nodes, "Equal nodes").type_name("N").range(1, dryrun::kMostNodes);
  add_job_options(command, *options);
  const Option set_a =
      command.option("--set-a", options->set_a, "Compare: the first settings").type_name("WORDS");
  const Option set_b =
      command.option("--set-b", options->set_b, "Compare: NAME=VALUE …, nccl=PATH").type_name("WORDS");
  Option vary =
      command.option("--vary", options->vary, "Sweep: NAME=VALUE,VALUE …").type_name("WORDS").one_value();
  Option against =
      command.option("--against", options->against, "Logs of a job to hold against this").type_name("FILE");
  vary.excludes(set_a).excludes(set_b).excludes(against);
  against.excludes(set_a).excludes(set_b);
  add_output_options(command, *options);
  command.callback([options, nodes, set_a, set_b, &exit_code] {
    exit_code = run(*options, nodes.given(), set_a.given() || set_b.given());
  });
}

}  // namespace angio::app
