#include "judge_command.hpp"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/format.hpp"
#include "base/text.hpp"
#include "command.hpp"
#include "host/clock.hpp"
#include "import/results/results.hpp"
#include "judge/judge.hpp"
#include "load_machine.hpp"
#include "options.hpp"
#include "views/judge_json.hpp"
#include "views/judge_view.hpp"

namespace angio::app {
namespace {

struct Options {
  std::vector<std::string> files;
  std::string topology;
  std::string gpu;
  std::string collective;
  std::optional<std::uint32_t> nodes;
  std::optional<std::uint32_t> gpus_of_node;
  std::string format = "terminal";
  bool explain = false;
  std::string fail_on;
  std::string out = "-";
};

std::string short_name(const std::string& path) {
  return path == "-" ? "standard input" : std::filesystem::path(path).filename().string();
}

// A run of several collectives is a curve each.
std::vector<model::CollectiveRun> split(const model::CollectiveRun& run) {
  std::vector<model::CollectiveRun> parts;
  for (const model::CollectiveRow& row : run.rows) {
    auto part = std::ranges::find_if(parts, [&row](const model::CollectiveRun& one) {
      return one.rows.front().collective == row.collective;
    });
    if (part == parts.end()) {
      parts.push_back(run);
      parts.back().rows.clear();
      part = parts.end() - 1;
    }
    part->rows.push_back(row);
  }
  return parts;
}

void judge_file(const import::results::Results& results, judge::Topology topology,
                views::JudgeReport& report) {
  topology.source = results.name;
  if (results.nccl.log) topology.log = &*results.nccl.log;
  if (topology.collective == model::NcclCollective::kUnknown) {
    topology.collective = results.hint.collective;
    topology.collective_of = results.hint.from;
  }
  const auto add = [&](const auto& one) { report.judgements.push_back(judge::judge(one, topology)); };
  std::ranges::for_each(results.nccl.tests, add);
  std::ranges::for_each(results.osu, add);
  std::ranges::for_each(results.perftest, add);
  std::ranges::for_each(results.nvbandwidth, add);
  for (const model::CollectiveRun& run : results.collective)
    std::ranges::for_each(split(run), add);
  std::ranges::for_each(results.memory, add);
  std::ranges::for_each(results.dcgm, add);
  for (const std::string& note : results.notes)
    report.notes.push_back(results.name + ": " + note);
}

bool fails(const views::JudgeReport& report, const std::string& fail_on) {
  if (fail_on.empty()) return false;
  return std::ranges::any_of(report.judgements, [&fail_on](const judge::Judgement& judgement) {
    const bool worse =
        judgement.verdict == judge::Verdict::kImpossible || judgement.verdict == judge::Verdict::kWrong;
    return worse || (fail_on == "low" && judgement.verdict == judge::Verdict::kLow);
  });
}

Result<views::JudgeReport> judge_all(const Options& options, judge::Topology topology) {
  views::JudgeReport report;
  report.explain = options.explain;
  for (const std::string& file : options.files) {
    const auto bytes = read_input(file);
    if (!bytes) return std::unexpected(bytes.error());
    const auto results = import::results::read(*bytes, printable(short_name(file)));
    if (!results && options.files.size() > 1) {  // the others count all the same
      report.notes.push_back(results.error().message + ".");
      continue;
    }
    if (!results) return std::unexpected(results.error());
    judge_file(*results, topology, report);
  }
  if (report.judgements.empty())
    return fail(ErrorCode::kInvalidInput,
                "no result of a benchmark in " + count_of(options.files.size(), "file"),
                report.notes.empty() ? std::string() : report.notes.front());
  return report;
}

int run(const Options& options) {
  std::optional<model::Machine> machine;
  judge::Topology topology;
  if (!options.topology.empty()) {
    auto loaded = load_machine(options.topology);
    if (!loaded) return report_error(loaded.error());
    machine = std::move(*loaded);
    topology.machine = &*machine;
  }
  topology.nodes = options.nodes;
  topology.gpus_of_node = options.gpus_of_node;
  topology.gpu = options.gpu;
  if (!options.collective.empty()) {
    topology.collective = import::results::collective_named(options.collective);
    topology.collective_of = "--collective";
    if (topology.collective == model::NcclCollective::kUnknown)
      return report_error({ErrorCode::kInvalidInput,
                           "--collective " + printable(options.collective) + ": no collective",
                           "all_reduce, all_gather, reduce_scatter, alltoall, broadcast, reduce, sendrecv"});
  }
  const auto report = judge_all(options, std::move(topology));
  if (!report) return report_error(report.error());
  std::string text;
  if (options.format == "json") {
    const std::string now = host::utc_text(host::make_system_clock()->now());
    text = to_text(views::judge_json(*report, "angio " ANGIO_VERSION, now)) + "\n";
  } else if (options.format == "html") {
    text = report::render_html(views::judge_page(*report));
  } else {
    text = report::render_terminal(views::judge_document(*report),
                                   options.out == "-" ? terminal_style() : report::TerminalStyle{});
  }
  if (options.out == "-") {
    if (const int code = print(text); code != kOk) return code;
  } else if (auto written = write_output(options.out, text); !written) {
    return report_error(written.error());
  }
  return fails(*report, options.fail_on) ? kFindings : kOk;
}

}  // namespace

void setup_judge(CommandLine& app, int& exit_code) {
  CommandLine command =
      app.subcommand("judge", "Say whether the results of a benchmark are what the hardware should give");
  const auto options = std::make_shared<Options>();
  command
      .option("files", options->files,
              "Results: nccl-tests, OSU, perftest, nvbandwidth, angio bench; gzip too, - is standard input")
      .type_name("FILE")
      .required();
  command
      .option("--topo", options->topology,
              "What it ran on, one of the nodes: a snapshot, NCCL's topology file, text of nvidia-smi")
      .type_name("FILE");
  command.option("--gpu", options->gpu, "The GPU's name where the result has none: H100, A100-SXM4-40GB")
      .type_name("NAME");
  command
      .option("--collective", options->collective,
              "Which one, where the result does not say it: all_reduce, alltoall")
      .type_name("NAME");
  command.option("--nodes", options->nodes, "How many hosts took part").type_name("N");
  command.option("--gpus-per-node", options->gpus_of_node, "GPUs of a host that took part").type_name("N");
  command.flag("--explain", options->explain, "Also each row's limit and what could not be decided");
  command.option("--format", options->format, "How to show it").one_of({"terminal", "json", "html"});
  command.option("--fail-on", options->fail_on, "Exit with 1 from this verdict on")
      .one_of({"low", "impossible"});
  command.option("--out", options->out, "Write here, not to standard output").type_name("FILE");
  command.callback([options, &exit_code] { exit_code = run(*options); });
}

}  // namespace angio::app
