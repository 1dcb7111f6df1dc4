#include "log_command.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "base/format.hpp"
#include "base/text.hpp"
#include "command.hpp"
#include "diagnose/doctor.hpp"
#include "fail_on.hpp"
#include "import/job_evidence/job_evidence.hpp"
#include "import/nccl_log/missing.hpp"
#include "job_logs.hpp"
#include "load_machine.hpp"
#include "model/nccl_evidence.hpp"
#include "options.hpp"
#include "views/doctor_view.hpp"
#include "views/nccl_log_view.hpp"
#include "views/nccl_rings_picture.hpp"

namespace angio::app {
namespace {

struct Options {
  std::vector<std::string> files;
  std::string format = "terminal";
  std::string snapshot;
  std::optional<std::uint32_t> rank;
  bool facts = false;
  bool findings = false;
  bool undecided = false;
  std::string fail_on;
  std::string out = "-";
};

std::string in_words(const std::string& file) {
  return file == "-" ? "standard input" : printable(file);
}

// A file that is named again is read once: two answers of RAS must be two answers.
std::vector<std::string> distinct(const std::vector<std::string>& files) {
  std::vector<std::string> kept;
  std::set<std::string> seen;
  for (const std::string& file : files) {
    std::error_code error;
    const std::filesystem::path real = std::filesystem::canonical(file, error);
    if (seen.insert(error ? file : real.string()).second) {
      kept.push_back(file);
    } else {
      say("angio: " + in_words(file) + " was given more than once; it is read once");
    }
  }
  return kept;
}

std::string plural(std::uint64_t count, const char* one, const char* many) {
  return fmt::format("{} {}", count, count == 1 ? one : many);
}

views::LogReport::File describe(const import::job_evidence::FileSummary& file) {
  views::LogReport::File shown{file.name, {}, file.trouble};
  if (file.log_lines != 0) shown.holds.push_back(plural(file.log_lines, "line of NCCL's", "lines of NCCL's"));
  if (file.tables != 0)
    shown.holds.push_back(plural(file.tables, "table of nccl-tests", "tables of nccl-tests"));
  if (file.reports != 0) shown.holds.push_back(plural(file.reports, "answer of RAS", "answers of RAS"));
  if (file.records != 0)
    shown.holds.push_back(plural(file.records, "record of the Inspector", "records of the Inspector"));
  if (file.watchdog_lines != 0)
    shown.holds.push_back(
        plural(file.watchdog_lines, "line of PyTorch's process groups", "lines of PyTorch's process groups"));
  return shown;
}

// Everything that was read, and what the rules say of it.
struct Read {
  model::Machine machine;
  std::vector<import::job_evidence::FileSummary> files;
  std::shared_ptr<const model::NcclEvidence> evidence;
};

Result<Read> read_all(const Options& options) {
  Read read;
  if (!options.snapshot.empty()) {
    auto machine = load_machine(options.snapshot);
    if (!machine) return std::unexpected(std::move(machine.error()));
    read.machine = std::move(*machine);
    read.machine.logs.clear();  // those of the snapshot are of another run
  } else {
    read.machine.name = "job";
    read.machine.origin = "logs";
    read.machine.imported = true;
  }
  JobLogs logs;
  for (const std::string& file : distinct(options.files)) {
    if (auto added = logs.add_file(file); !added) return std::unexpected(std::move(added.error()));
  }
  JobLogs::Read found = logs.finish(read.machine);
  read.files = std::move(found.files);
  read.evidence = std::move(found.evidence);
  if (!read.evidence) {
    const auto trouble =
        std::ranges::find_if(read.files, [](const auto& file) { return !file.trouble.empty(); });
    if (trouble != read.files.end())
      return fail(ErrorCode::kInvalidInput, printable(trouble->name) + ": " + trouble->trouble);
    if (!read.machine.logs.empty() && options.snapshot.empty())
      return fail(
          ErrorCode::kInvalidInput, "no line of NCCL in " + in_words(options.files.front()),
          "It tells of memory that could not be had: angio doctor " + printable(options.files.front()));
    return fail(
        ErrorCode::kInvalidInput,
        "nothing of NCCL in " + (options.files.size() == 1 ? in_words(options.files.front()) : "these files"),
        "A log has lines with NCCL INFO: run the job with NCCL_DEBUG=INFO NCCL_DEBUG_FILE=nccl.%h.%p.log. "
        "Also read: "
        "output of nccl-tests and ncclras, records of the Inspector, lines of PyTorch's watchdog");
  }
  return read;
}

bool is_of_logs(const std::string& rule) {
  return rule.starts_with("nccl.") || rule.starts_with("memory.");
}

// The rules over the logs; what the snapshot alone shows is the doctor's.
model::Diagnosis diagnose_logs(const model::Machine& machine) {
  model::Diagnosis diagnosis = diagnose::diagnose(machine);
  std::erase_if(diagnosis.findings, [](const model::Finding& finding) { return !is_of_logs(finding.rule); });
  std::erase_if(diagnosis.undecided, [](const model::Undecided& gap) { return !is_of_logs(gap.rule); });
  std::erase_if(diagnosis.held, [](const std::string& rule) { return !is_of_logs(rule); });
  return diagnosis;
}

views::LogReport report_of(const Options& options, const Read& read, model::Diagnosis diagnosis) {
  views::LogReport report;
  for (const import::job_evidence::FileSummary& file : read.files)
    report.files.push_back(describe(file));
  report.evidence = read.evidence.get();
  if (read.evidence->log) {
    for (const auto& gap : import::nccl_log::missing_facts(*read.evidence->log))
      report.missing.push_back({gap.what, gap.remedy});
  }
  report.findings.tool = "angio " ANGIO_VERSION;
  report.findings.show_undecided = options.undecided;
  report.findings.findings = std::move(diagnosis.findings);
  report.findings.undecided = std::move(diagnosis.undecided);
  for (const std::string& rule : diagnosis.held)
    report.findings.held[rule] = {read.machine.name};
  report.show_facts = options.facts || !options.findings;
  report.show_findings = options.findings || !options.facts;
  report.rank = options.rank;
  return report;
}

Result<std::string> render(const Options& options, const Read& read, const views::LogReport& report) {
  if (options.format == "json") return to_text(views::log_json(report)) + "\n";
  const model::NcclLog* log = read.evidence->log ? &*read.evidence->log : nullptr;
  if (options.format == "svg") {
    const auto drawing = log != nullptr ? views::graphs_drawing(*log) : std::nullopt;
    if (drawing) return report::render_svg(*drawing);
    return fail(ErrorCode::kNotFound, "no rings and no trees are in these logs",
                "NCCL prints them with NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,GRAPH");
  }
  report::Document document = views::log_document(report);
  if (options.format == "html") {
    document.title = "angio log";  // a page has a title, a terminal has the command above
    std::vector<report::Block> pictures;
    if (log != nullptr && report.show_facts) {
      if (auto rings = views::rings_drawing(*log)) pictures.emplace_back(std::move(*rings));
      if (auto tree = views::tree_drawing(*log)) pictures.emplace_back(std::move(*tree));
    }
    if (!pictures.empty()) {
      document.blocks.emplace_back(report::Heading{"Rings and trees", 2});
      for (report::Block& picture : pictures)
        document.blocks.push_back(std::move(picture));
    }
    return render_html(document);
  }
  return render_terminal(document, options.out == "-" ? terminal_style() : report::TerminalStyle{});
}

Result<void> check_rank(const Options& options, const Read& read) {
  if (!options.rank) return {};
  if (read.evidence->log) {
    for (const model::NcclCommunicator& communicator : read.evidence->log->communicators)
      for (const model::NcclRank& rank : communicator.ranks)
        if (rank.rank == options.rank) return {};
  }
  return fail(ErrorCode::kNotFound, fmt::format("no line of rank {} is in these files", *options.rank),
              "Ranks are known from NCCL's lines of init: NCCL_DEBUG=INFO");
}

int run(const Options& options) {
  const Result<Read> read = read_all(options);
  if (!read) return report_error(read.error());
  if (auto known = check_rank(options, *read); !known) return report_error(known.error());
  const views::LogReport report = report_of(options, *read, diagnose_logs(read->machine));
  const Result<std::string> text = render(options, *read, report);
  if (!text) return report_error(text.error());
  if (options.out == "-") {
    if (const int code = print(*text); code != kOk) return code;
  } else if (auto written = write_output(options.out, *text); !written) {
    return report_error(written.error());
  }
  return fails(report.findings.findings, options.fail_on) ? kFindings : kOk;
}

}  // namespace

void setup_log(CommandLine& app, int& exit_code) {
  CommandLine command = app.subcommand("log", "Say what the logs of a job tell of NCCL");
  const auto options = std::make_shared<Options>();
  command
      .option("files", options->files,
              "Logs of one job: NCCL's, nccl-tests, ncclras, the Inspector, PyTorch; gzip too, - is "
              "standard input")
      .type_name("FILE")
      .required();
  command.option("--format", options->format, "How to show it; svg is the picture of rings and trees")
      .one_of({"terminal", "json", "svg", "html"});
  command.option("--snap", options->snapshot, "Snapshot of a node of that job: its hardware beside the log")
      .type_name("FILE");
  command.option("--rank", options->rank, "Only what this rank did").type_name("N");
  command.flag("--facts", options->facts, "Only the facts");
  command.flag("--findings", options->findings, "Only the findings");
  command.flag("--undecided", options->undecided, "Also what could not be decided, and why");
  command.option("--fail-on", options->fail_on, "Exit with 1 from this severity on")
      .one_of({"info", "warning", "critical"});
  command.option("--out", options->out, "Write here, not to standard output").type_name("FILE");
  command.callback([options, &exit_code] { exit_code = run(*options); });
}

}  // namespace angio::app
