#include "mesh_command.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/format.hpp"
#include "base/text.hpp"
#include "bench/interrupts.hpp"
#include "command.hpp"
#include "fail_on.hpp"
#include "mesh/analysis.hpp"
#include "mesh/controller.hpp"
#include "mesh/estimate.hpp"
#include "mesh/facts.hpp"
#include "mesh/perftest_files.hpp"
#include "mesh/result_json.hpp"
#include "mesh/schedule.hpp"
#include "mesh_options.hpp"
#include "options.hpp"
#include "output_file.hpp"
#include "views/mesh_json.hpp"
#include "views/mesh_view.hpp"

namespace angio::app {
namespace {

std::string json_text(model::MeshResult& result) {
  const model::MeshReport report = mesh::analyse(result);
  return to_text(views::mesh_json(result, report)) + "\n";
}

int show(const MeshShowOptions& options, model::MeshResult& result) {
  const model::MeshReport report = mesh::analyse(result);
  std::string text;
  if (options.format == "json") {
    text = to_text(views::mesh_json(result, report)) + "\n";
  } else if (options.format == "html") {
    text = report::render_html(views::mesh_page(result, report));
  } else if (options.format == "svg") {
    text = report::render_svg(views::mesh_drawing(result, report));
  } else {
    text = report::render_terminal(views::mesh_document(result, report, options.undecided), terminal_style());
  }
  const int shown = print(text);
  return shown == kOk && fails(report.findings, options.fail_on) ? static_cast<int>(kFindings) : shown;
}

int refuse(const Error& error) {
  (void)report_error(error);
  return error.code == ErrorCode::kInvalidInput ? kUsage : kFailed;
}

// A line that goes away again on a terminal; nothing in a pipe.
class Progress {
 public:
  Progress() : shown_(isatty(STDERR_FILENO) != 0) {}
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  ~Progress() { put("\r\033[K"); }
  void step(const std::string& what) const { put("\r\033[Kangio: " + what); }

 private:
  void put(const std::string& text) const {
    if (shown_ && write(STDERR_FILENO, text.data(), text.size()) < 0) return;
  }
  bool shown_;
};

int dry_run(const mesh::MeshRequest& request) {
  mesh::LaunchRequest launch = request.launch;
  launch.hosts = request.hosts;
  launch.controllers = {request.control + ":PORT"};
  std::string text;
  const auto commands = mesh::launch_commands(launch);
  constexpr std::size_t kShown = 4;
  for (std::size_t i = 0; i < std::min(commands.size(), kShown); ++i)
    text += "would run: " + launch::shell_quoted(commands[i].argv) + "\n";
  if (commands.size() > kShown) text += fmt::format("and {} more like these\n", commands.size() - kShown);
  const auto count = static_cast<std::uint32_t>(request.hosts.size());
  const std::uint32_t partners = request.plan.partners;
  auto rounds = partners == 0 ? mesh::full_mesh(count) : mesh::sampled_mesh(count, partners);
  if (request.plan.rounds > 0 && rounds.size() > request.plan.rounds) rounds.resize(request.plan.rounds);
  std::size_t pairs = 0;
  for (const mesh::Round& round : rounds)
    pairs += round.size();
  const std::size_t played = mesh::at_most(rounds, request.pairs_at_once).size();
  const auto time = [played](const model::MeshPlan& plan) {
    return mesh::time_words(mesh::estimate(plan, played, 1, 1).seconds);
  };
  model::MeshPlan tcp = request.plan;
  tcp.rdma = false;
  text += fmt::format("{}, {} in {}: with one NIC each about {}\n", count_of(count, "host"),
                      count_of(pairs, "pair"), count_of(played, "round"),
                      request.choose_transports
                          ? time(tcp) + " over TCP, " + time(request.plan) + " with RDMA beside it"
                          : time(request.plan));
  return print(text);
}

Result<model::MeshResult> read_result(const std::string& file) {
  const auto bytes = read_input(file);
  if (!bytes) return std::unexpected(bytes.error());
  return mesh::parse_mesh_result(*bytes, printable(file));
}

int run(const MeshOptions& options) {
  model::MeshResult earlier;
  if (!options.resume.empty()) {
    auto read = read_result(options.resume);
    if (!read) return report_error(read.error());
    earlier = std::move(*read);
  }
  auto request = mesh_request(options, std::move(earlier));
  if (!request) return refuse(request.error());
  if (options.dry_run) return dry_run(*request);
  if (!options.out.empty()) {
    if (auto checked = check_output(options.out); !checked) return report_error(checked.error());
  }
  const auto keep = [&options](model::MeshResult result) -> Result<void> {
    if (options.out.empty()) return {};
    return write_output(options.out, json_text(result));
  };
  // A result of hundreds of hosts takes seconds to write, and the hosts wait meanwhile.
  using Clock = std::chrono::steady_clock;
  static constexpr int kShare = 20;  // of the time, one part in so many
  const auto keep_now_and_then =
      [&keep, next = Clock::time_point{}](const model::MeshResult& result) mutable -> Result<void> {
    const auto start = Clock::now();
    if (start < next) return {};
    auto kept = keep(result);
    next = Clock::now() + kShare * (Clock::now() - start);
    return kept;
  };
  int signal = 0;
  Result<model::MeshResult> result = fail(ErrorCode::kBug, "not run");
  {
    const bench::Interrupts interrupts;
    const Progress progress;
    mesh::MeshEvents events;
    events.plan = [](const std::vector<std::string>& lines) {
      for (const std::string& line : lines)
        say("angio: " + printable(line));
      return true;
    };
    events.progress = [&progress](const std::string& line) { progress.step(line); };
    events.round_done = keep_now_and_then;
    events.stop = [&interrupts] { return interrupts.pending() != 0; };
    result = mesh::run_mesh(*request, events);
    signal = interrupts.pending();
  }
  if (!result) return report_error(result.error());
  if (auto kept = keep(*result); !kept) return report_error(kept.error());
  const int shown = show(options, *result);
  const bool unfinished =
      std::ranges::find(result->notes, "the launcher ended before the mesh was done") != result->notes.end();
  if ((signal != 0 || unfinished) && !options.out.empty())
    say("angio: not finished; go on with --resume " + printable(options.out) + " --out " +
        printable(options.out));
  constexpr int kSignalled = 128;  // as a shell says it
  if (signal != 0) return kSignalled + signal;
  return unfinished ? kFailed : shown;
}

int run_show(const MeshShowOptions& options, const std::string& file) {
  auto result = read_result(file);
  if (!result) return report_error(result.error());
  const auto known = known_hosts(options.snapshots);
  if (!known) return report_error(known.error());
  for (model::MeshHost& host : result->hosts) {
    for (const model::MeshHost& one : *known) {
      if (one.name == host.name || one.name == host.host_name) mesh::take_facts(one, host);
    }
  }
  return show(options, *result);
}

int run_judge(const MeshShowOptions& options, const std::vector<std::string>& files) {
  std::vector<mesh::PerftestFile> read;
  for (const std::string& file : files) {
    auto bytes = read_input(file);
    if (!bytes) return report_error(bytes.error());
    read.push_back({file, std::move(*bytes)});
  }
  model::MeshResult result = mesh::mesh_of_files(read);
  result.tool = "angio " ANGIO_VERSION;
  if (!result.measures.empty()) return show(options, result);
  for (const std::string& note : result.notes)
    say("angio: " + printable(note));
  return report_error({ErrorCode::kInvalidInput,
                       "no result of perftest between two hosts in " + count_of(files.size(), "file"),
                       "name them CLIENT-to-SERVER.txt, or keep the prompt and the command in the text"});
}

}  // namespace

void setup_mesh(CommandLine& app, int& exit_code) {
  CommandLine command =
      app.subcommand("mesh", "Test every pair of hosts, and name the slow host, NIC, rail or path");
  const auto options = std::make_shared<MeshOptions>();
  add_mesh_options(command, *options);

  const auto file = std::make_shared<std::string>();
  const auto shown = std::make_shared<MeshShowOptions>();
  CommandLine again = command.subcommand("show", "Read a result again that --out kept");
  again.option("file", *file, "Result of angio mesh, or - for standard input").type_name("FILE").required();
  add_show_options(again, *shown);
  again.callback([file, shown, &exit_code] { exit_code = run_show(*shown, *file); });

  const auto files = std::make_shared<std::vector<std::string>>();
  const auto judged = std::make_shared<MeshShowOptions>();
  CommandLine judge =
      command.subcommand("judge", "Make a mesh of texts of perftest that were collected by hand");
  judge.option("files", *files, "Texts of ib_write_bw and the like, named CLIENT-to-SERVER.txt")
      .type_name("FILE")
      .required();
  add_show_options(judge, *judged);
  judge.callback([files, judged, &exit_code] { exit_code = run_judge(*judged, *files); });

  command.callback([options, again, judge, &exit_code] {
    if (!again.chosen() && !judge.chosen()) exit_code = run(*options);
  });
}

}  // namespace angio::app
