#include "fabric_command.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/format.hpp"
#include "base/text.hpp"
#include "command.hpp"
#include "fabric/fabric.hpp"
#include "fabric_inputs.hpp"
#include "fabric_scan.hpp"
#include "fail_on.hpp"
#include "load_machine.hpp"
#include "options.hpp"
#include "output_file.hpp"
#include "views/fabric_json.hpp"
#include "views/fabric_metrics.hpp"
#include "views/fabric_view.hpp"

namespace angio::app {
namespace {

// What show, scan and diff have in common.
struct Output {
  std::string format = "text";
  std::string out = "-";
  std::string fail_on;
  std::string level = "info";
  bool all = false;
};

int usage(std::string message, std::string hint) {
  (void)report_error({ErrorCode::kInvalidInput, std::move(message), std::move(hint)});
  return kUsage;
}

model::Severity severity_of(const std::string& word) {
  if (word == "critical") return model::Severity::kCritical;
  return word == "warning" ? model::Severity::kWarning : model::Severity::kInfo;
}

int write(const Output& output, const std::string& text) {
  if (output.out == "-") return print(text);
  if (auto done = write_output(output.out, text); !done) return report_error(done.error());
  return kOk;
}

report::TerminalStyle style_of(const Output& output) {
  return output.out == "-" ? terminal_style() : report::TerminalStyle{};  // a file is no terminal
}

std::string scan_text(const model::Fabric& fabric) {
  return to_text(views::fabric_json(fabric, views::fabric_metrics(fabric)), -1) + "\n";
}

// ---- show

struct ShowOptions {
  std::vector<std::string> files;
  std::vector<std::string> hosts;
  std::string jobs;
  std::string expect;
  Output output;
};

// What is known beside the fabric; lives as long as the analysis.
struct Beside {
  std::vector<model::Machine> machines;
  std::optional<model::Fabric> expected;
  JobsByHost jobs;
};

Result<Beside> load_beside(const ShowOptions& options, std::vector<std::string>& remarks) {
  Beside beside;
  // A fabric that is made of hosts has them beside it already.
  const bool of_hosts = !options.files.empty() && std::ranges::all_of(options.files, is_snapshot_file);
  auto machines = load_hosts(of_hosts ? options.files : options.hosts);
  if (!machines) return std::unexpected(std::move(machines.error()));
  beside.machines = *std::move(machines);
  if (!options.jobs.empty()) {
    auto jobs = load_jobs(options.jobs, remarks);
    if (!jobs) return std::unexpected(std::move(jobs.error()));
    beside.jobs = *std::move(jobs);
  }
  if (!options.expect.empty()) {
    auto expected = load_fabric({options.expect}, remarks);
    if (!expected) return std::unexpected(std::move(expected.error()));
    beside.expected = *std::move(expected);
  }
  return beside;
}

model::FabricReport analyse(const model::Fabric& fabric, const Beside& beside) {
  fabric::Surroundings surroundings;
  if (!beside.machines.empty()) surroundings.machines = &beside.machines;
  surroundings.jobs = beside.jobs;
  if (beside.expected) surroundings.expected = &*beside.expected;
  return fabric::analyse(fabric, surroundings);
}

// Jobs on hosts that the fabric does not have: another name for them, or another fabric.
void remark_on_jobs(const JobsByHost& jobs, const model::FabricReport& report,
                    std::vector<std::string>& remarks) {
  std::vector<std::string> strange;
  for (const auto& [host, ids] : jobs) {
    if (std::ranges::find(report.hosts, host, &model::FabricHost::name) == report.hosts.end())
      strange.push_back(host);
  }
  if (!strange.empty())
    remarks.push_back(fmt::format("hosts with jobs that are not in this fabric: {} of {}, for example {}",
                                  strange.size(), jobs.size(), strange.front()));
}

bool fails(const model::FabricReport& report, const std::string& fail_on) {
  return std::ranges::any_of(report.findings, [&](const model::FabricFinding& one) {
    return reaches(one.finding.severity, fail_on);
  });
}

std::string render(const views::FabricShow& show, const Output& output) {
  if (output.format == "json") return to_text(views::fabric_report_json(show)) + "\n";
  if (output.format == "svg") return render_svg(views::fabric_drawing(*show.fabric, *show.report));
  if (output.format == "html") return render_html(views::fabric_page(show));
  return render_terminal(views::fabric_document(show), style_of(output));
}

int show_fabric(const model::Fabric& fabric, const Beside& beside, std::vector<std::string> remarks,
                const Output& output, std::string cost = {}) {
  const model::FabricReport report = analyse(fabric, beside);
  remark_on_jobs(beside.jobs, report, remarks);
  views::FabricShow show{&fabric, &report, "angio " ANGIO_VERSION, std::move(remarks), std::move(cost)};
  show.least = severity_of(output.level);
  show.all = output.all;
  if (const int code = write(output, render(show, output)); code != kOk) return code;
  return fails(report, output.fail_on) ? kFindings : kOk;
}

int show(const ShowOptions& options) {
  if (options.files.empty())
    return usage(
        "show needs a FILE",
        "The output of ibnetdiscover, iblinkinfo or ibdiagnet, or a scan of angio fabric scan --out FILE");
  std::vector<std::string> remarks;
  auto fabric = load_fabric(options.files, remarks);
  if (!fabric) return report_error(fabric.error());
  auto beside = load_beside(options, remarks);
  if (!beside) return report_error(beside.error());
  return show_fabric(*fabric, *beside, std::move(remarks), options.output);
}

// ---- scan

struct ScanCommand {
  FabricScanOptions scan;
  Output output;
};

int scan(const ScanCommand& options) {
  // Before minutes are spent on what cannot be kept.
  if (auto writable = check_output(options.output.out); !writable) return report_error(writable.error());
  auto scan = scan_subnets(options.scan);
  if (!scan) return report_error(scan.error());
  const bool json = options.output.format == "json";
  if (json || options.output.out != "-") {
    if (const int code = write(options.output, scan_text(scan->fabric)); code != kOk) return code;
  }
  int code = kOk;
  if (!json) {
    Output terminal = options.output;
    terminal.out = "-";
    code = show_fabric(scan->fabric, {}, scan->remarks, terminal, scan->cost);
  } else if (!options.output.fail_on.empty()) {
    code = fails(analyse(scan->fabric, {}), options.output.fail_on) ? kFindings : kOk;
  }
  if (!scan->stopped) return code;
  say("angio: stopped: the scan is not whole");
  return kFailed;
}

// ---- diff

struct DiffOptions {
  std::vector<std::string> files;
  Output output;
};

std::string render(const views::FabricDiffShow& show, const Output& output) {
  if (output.format == "json") return to_text(views::fabric_diff_json(*show.diff)) + "\n";
  if (output.format == "html") return render_html(views::fabric_diff_page(show));
  return render_terminal(views::fabric_diff_document(show), style_of(output));
}

int diff(const DiffOptions& options) {
  if (options.files.size() != 2)
    return usage("diff needs two files, the earlier and the later one", "angio fabric diff BEFORE AFTER");
  std::vector<model::Fabric> both;
  std::vector<std::string> remarks;
  for (const std::string& file : options.files) {
    auto fabric = load_fabric({file}, remarks);
    if (!fabric) return report_error(fabric.error());
    both.push_back(*std::move(fabric));
  }
  if (both[0].kind != both[1].kind)
    return report_error(
        {ErrorCode::kInvalidInput,
         fmt::format("{} and {} are no two states of one fabric: one is InfiniBand, the other Ethernet",
                     printable(options.files[0]), printable(options.files[1])),
         {}});
  for (const std::string& remark : remarks)
    say("angio: " + printable(remark));
  for (const model::Fabric& fabric : both)
    if (const auto why = fabric::why_not_whole(fabric)) say("angio: not whole: " + printable(*why));
  const model::FabricDiff diff = fabric::compare(both[0], both[1]);
  if (diff.nodes_alike == 0 && !diff.changes.empty())
    say("angio: no node is the same in both: are they of one fabric?");
  const views::FabricDiffShow show{&diff, severity_of(options.output.level), options.output.all};
  if (const int code = write(options.output, render(show, options.output)); code != kOk) return code;
  const bool bad = std::ranges::any_of(diff.changes, [&](const model::FabricChange& change) {
    return reaches(change.severity, options.output.fail_on);
  });
  return bad ? kFindings : kOk;
}

// ---- export

struct ExportOptions {
  std::vector<std::string> files;
  std::vector<std::string> hosts;
  std::string from;
  std::string form;
  Output output;
};

Result<std::string> export_text(const model::Fabric& fabric, const std::vector<model::Machine>& machines,
                                const std::string& form) {
  if (form == "json") return scan_text(fabric);
  if (form == "ibnetdiscover") {
    if (fabric.kind == model::FabricKind::kEthernet)
      return fail(ErrorCode::kUnsupported, "an Ethernet fabric has no form of ibnetdiscover",
                  "--as json or svg");
    return fabric::render_ibnetdiscover(fabric);
  }
  Beside beside;
  beside.machines = machines;
  const model::FabricReport report = analyse(fabric, beside);
  if (form == "slurm") return fabric::render_slurm_topology(fabric, report);
  return render_svg(views::fabric_drawing(fabric, report));
}

Result<model::Fabric> exported_fabric(const ExportOptions& options) {
  std::vector<std::string> remarks;
  if (options.from.empty()) {
    auto fabric = load_fabric(options.files, remarks);
    for (const std::string& remark : remarks)
      say("angio: " + printable(remark));
    return fabric;
  }
  FabricScanOptions wish;
  wish.from = options.from;
  wish.no_counters = options.form != "json";
  auto scan = scan_subnets(wish);
  if (!scan) return std::unexpected(std::move(scan.error()));
  if (scan->stopped) return fail(ErrorCode::kIo, "stopped: nothing is written of a scan that is not whole");
  return std::move(scan->fabric);
}

int export_fabric(const ExportOptions& options) {
  if (options.form.empty())
    return usage("export needs --as", "the forms are ibnetdiscover, slurm, json and svg");
  if (options.files.empty() == options.from.empty())
    return usage(options.from.empty() ? "export needs a FILE, or --from DEVICE:PORT to scan now"
                                      : "a FILE and --from exclude each other",
                 "");
  if (auto writable = check_output(options.output.out); !writable) return report_error(writable.error());
  auto fabric = exported_fabric(options);
  if (!fabric) return report_error(fabric.error());
  auto machines = load_hosts(options.hosts);
  if (!machines) return report_error(machines.error());
  const auto text = export_text(*fabric, *machines, options.form);
  if (!text) return report_error(text.error());
  return write(options.output, *text);
}

// ---- options

void add_output(CommandLine& command, Output& output, const std::vector<std::string>& formats) {
  command.option("--format", output.format, "How to show it").one_of(formats);
  command.option("--fail-on", output.fail_on, "Exit with 1 from this severity on")
      .one_of({"info", "warning", "critical"});
}

void add_level(CommandLine& command, Output& output) {
  command.option("--level", output.level, "Show from this severity on")
      .one_of({"info", "warning", "critical"});
  command.flag("--all", output.all, "Every row, and what could not be decided");
  command.option("--out", output.out, "Write here, not to standard output").type_name("FILE");
}

CommandLine setup_scan(CommandLine& fabric, int& exit_code) {
  CommandLine command =
      fabric.subcommand("scan", "Read the whole InfiniBand subnet of this host: links and counters");
  const auto options = std::make_shared<ScanCommand>();
  constexpr int kMostInFlight = 4096;
  constexpr int kMostMilliseconds = 60000;
  constexpr int kMostSeconds = 86400;
  command.option("--from", options->scan.from, "Start here; else at the first active port")
      .type_name("DEVICE:PORT");
  command.flag("--all", options->scan.all_ports, "From every active port of this host, each subnet once");
  command.flag("--no-counters", options->scan.no_counters, "Links and states only");
  command.option("--in-flight", options->scan.in_flight, "Questions that wait for an answer at once")
      .type_name("N")
      .range(1, kMostInFlight);
  command.option("--timeout", options->scan.timeout_ms, "Wait so long for one answer before asking again")
      .type_name("MS")
      .range(1, kMostMilliseconds);
  command.option("--limit", options->scan.limit_s, "End the scan after so long, with what is there")
      .type_name("SECONDS")
      .range(1, kMostSeconds);
  command.option("--out", options->output.out, "Keep the scan here, as JSON").type_name("FILE");
  add_output(command, options->output, {"text", "json"});
  command.callback([options, &exit_code] { exit_code = scan(*options); });
  return command;
}

CommandLine setup_show(CommandLine& fabric, int& exit_code) {
  CommandLine command = fabric.subcommand("show", "Say what a fabric looks like and what is wrong with it");
  const auto options = std::make_shared<ShowOptions>();
  command.option("files", options->files, "Scans and texts of fabric tools, together one fabric")
      .type_name("FILE");
  command.option("--hosts", options->hosts, "Snapshots of hosts: names, GPUs and rails of adapters")
      .type_name("SNAP");
  command.option("--jobs", options->jobs, "Who runs where: squeue -h -o \"%i %N\"").type_name("FILE");
  command.option("--expect", options->expect, "A plan, or an earlier scan that was good").type_name("FILE");
  add_output(command, options->output, {"text", "json", "svg", "html"});
  add_level(command, options->output);
  command.callback([options, &exit_code] { exit_code = show(*options); });
  return command;
}

CommandLine setup_diff(CommandLine& fabric, int& exit_code) {
  CommandLine command = fabric.subcommand("diff", "Say what changed between two scans");
  const auto options = std::make_shared<DiffOptions>();
  command.option("files", options->files, "The earlier and the later one").type_name("BEFORE AFTER");
  add_output(command, options->output, {"text", "json", "html"});
  add_level(command, options->output);
  command.callback([options, &exit_code] { exit_code = diff(*options); });
  return command;
}

CommandLine setup_export(CommandLine& fabric, int& exit_code) {
  CommandLine command = fabric.subcommand("export", "Write a fabric in the form of another tool");
  const auto options = std::make_shared<ExportOptions>();
  command.option("files", options->files, "Scans and texts of fabric tools, together one fabric")
      .type_name("FILE");
  command.option("--as", options->form, "The form").one_of({"ibnetdiscover", "slurm", "json", "svg"});
  command.option("--from", options->from, "Scan now, from this port").type_name("DEVICE:PORT");
  command.option("--hosts", options->hosts, "Snapshots of hosts, for their names").type_name("SNAP");
  command.option("--out", options->output.out, "Write here, not to standard output").type_name("FILE");
  command.callback([options, &exit_code] { exit_code = export_fabric(*options); });
  return command;
}

int refuse_verb(const std::vector<std::string>& words) {
  static constexpr std::array<std::string_view, 4> kVerbs = {"scan", "show", "diff", "export"};
  constexpr const char* kKnown = "They are scan, show, diff and export";
  if (words.empty()) return usage("angio fabric needs a verb", kKnown);
  const auto near = did_you_mean(words.front(), kVerbs);
  return usage(fmt::format("\"{}\" is no verb of angio fabric", printable(words.front())),
               near ? "Did you mean angio fabric " + *near + "?" : kKnown);
}

}  // namespace

void setup_fabric(CommandLine& app, int& exit_code) {
  CommandLine command =
      app.subcommand("fabric", "Scan, show, compare and export the switches and cables of a cluster");
  const auto words = std::make_shared<std::vector<std::string>>();
  command.option("verb", *words, "One of those below").type_name("");
  const std::vector<CommandLine> verbs{setup_scan(command, exit_code), setup_show(command, exit_code),
                                       setup_diff(command, exit_code), setup_export(command, exit_code)};
  command.callback([words, verbs, &exit_code] {
    if (std::ranges::none_of(verbs, &CommandLine::chosen)) exit_code = refuse_verb(*words);
  });
}

}  // namespace angio::app
