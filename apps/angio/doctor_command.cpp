#include "doctor_command.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <exception>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <system_error>
#include <thread>
#include <vector>

#include "base/text.hpp"
#include "diagnose/doctor.hpp"
#include "diagnose/identity.hpp"
#include "diagnose/peers.hpp"
#include "fail_on.hpp"
#include "host/clock.hpp"
#include "knowledge/knowledge.hpp"
#include "load_machine.hpp"
#include "options.hpp"
#include "views/doctor_view.hpp"
#include "views/findings_json.hpp"

namespace angio::app {

namespace {

struct Options {
  std::vector<std::string> files;
  std::string format = "terminal";
  std::string fail_on;
  std::vector<std::string> rules;
  bool undecided = false;
  std::vector<std::string> logs;
  std::string since;
  std::string out = "-";
};

// What is left of a machine after its diagnosis; a thousand of them fit in memory.
struct Examined {
  std::string file;
  bool scrubbed = false;
  diagnose::Identity identity;
  views::DoctorReport::Node node;
  model::Diagnosis diagnosis;
  diagnose::Traits traits;
  diagnose::PeerFacts peers;
};

// The same text for every name of one file; "-" and "" (this host) stay what they are.
std::string real_path(const std::string& file) {
  if (file.empty() || file == "-") return file;
  std::error_code error;
  const std::filesystem::path real = std::filesystem::canonical(file, error);
  return error ? file : real.string();
}

Result<Examined> examine(const std::string& path, const std::vector<std::string>& logs) {
  Result<model::Machine> machine = load_machine(path);
  if (!machine) return std::unexpected(machine.error());
  if (auto added = add_logs(logs, *machine); !added) return std::unexpected(added.error());
  Examined examined;
  examined.file = path;
  examined.scrubbed = machine->scrubbed;
  examined.identity = diagnose::identity_of(*machine);
  examined.node = {
      machine->name, machine->origin, views::describe(*machine), machine->notes,
      machine->live ? host::utc_text(host::make_system_clock()->now()) : machine->captured.value_or({})};
  examined.diagnosis = diagnose::diagnose(*machine);
  examined.traits = diagnose::traits_of(*machine);
  examined.peers = diagnose::peer_facts_of(*machine);
  return examined;
}

// Own code throws nothing; a thread's entry is where what others threw ends.
Result<Examined> examine_safely(const std::string& path, const std::vector<std::string>& logs = {}) {
  try {
    return examine(path, logs);
  } catch (const std::exception& exception) {
    return fail(ErrorCode::kBug, path + ": " + exception.what());
  }
}

std::vector<std::optional<Result<Examined>>> examine_all(const std::vector<std::string>& files,
                                                         const std::vector<std::string>& logs) {
  std::vector<std::optional<Result<Examined>>> results(files.size());
  std::atomic<std::size_t> next{0};
  const auto work = [&] {
    for (std::size_t i = next++; i < files.size(); i = next++)
      results[i] = examine_safely(files[i], logs);
  };
  const std::size_t wanted = std::max(1U, std::thread::hardware_concurrency());
  std::vector<std::jthread> helpers;
  for (std::size_t i = 1; i < std::min(wanted, files.size()); ++i)
    helpers.emplace_back(work);
  work();
  helpers.clear();  // joins
  return results;
}

std::string in_words(const std::string& file) {
  return file == "-" ? "standard input" : file.empty() ? "this host" : file;
}

// A file that is named again is read once.
std::vector<std::string> distinct(const std::vector<std::string>& files, views::DoctorReport& report) {
  std::map<std::string, std::size_t> times;
  std::vector<std::string> kept;
  for (const std::string& file : files) {
    if (++times[real_path(file)] == 1) kept.push_back(file);
  }
  for (const std::string& file : kept) {
    const std::size_t count = times[real_path(file)];
    if (count > 1)
      report.remarks.push_back(fmt::format("{} was given {} times; it is read once", in_words(file), count));
  }
  return kept;
}

void rename(Examined& one, const std::string& name) {
  one.node.name = one.traits.node = one.peers.node = name;
  for (model::Finding& finding : one.diagnosis.findings)
    finding.node = name;
  for (model::Undecided& gap : one.diagnosis.undecided)
    gap.node = name;
}

std::string named(const Examined& one) {
  return in_words(one.file) + (one.node.captured.empty() ? "" : " (" + one.node.captured + ")");
}

// No node is compared with itself: of two snapshots of one node the later one counts. Nodes that only share
// a name are told apart by their files.
std::vector<Examined> one_of_each(std::vector<Examined> all, views::DoctorReport& report) {
  std::vector<Examined> kept;
  std::map<std::string, std::vector<std::size_t>> by_name;
  for (Examined& one : all) {
    std::vector<std::size_t>& namesakes = by_name[one.node.name];
    const auto same = std::ranges::find_if(namesakes, [&](std::size_t place) {
      return diagnose::compare(kept[place].identity, one.identity) == diagnose::Kinship::kSame;
    });
    if (same == namesakes.end()) {
      if (!namesakes.empty()) rename(one, one.node.name + " (" + in_words(one.file) + ")");
      namesakes.push_back(kept.size());
      kept.push_back(std::move(one));
      continue;
    }
    Examined& other = kept[*same];
    const std::string name = other.node.name;
    if (one.node.captured > other.node.captured) std::swap(one, other);
    rename(other, name);
    std::string remark = fmt::format("{} and {} are of the same node, {}: only {} counts here", named(one),
                                     named(other), name, in_words(other.file));
    if (one.file != "-" && other.file != "-")
      remark += fmt::format("; what changed: angio doctor --since {} {}", one.file, other.file);
    report.remarks.push_back(std::move(remark));
  }
  return kept;
}

bool same_finding(const model::Finding& a, const model::Finding& b) {
  return a.rule == b.rule && a.devices == b.devices;
}

void mark_new(std::vector<model::Finding>& now, const std::vector<model::Finding>& then,
              const std::string& file) {
  for (model::Finding& finding : now) {
    if (std::ranges::none_of(then, [&](const model::Finding& old) { return same_finding(old, finding); })) {
      finding.evidence.push_back({"new: not found in the earlier snapshot", file});
    }
  }
}

views::DoctorReport::Past compare_with_past(Examined& now, Examined then, const std::string& file) {
  const std::string of = then.node.name == now.node.name ? "" : " (a snapshot of " + then.node.name + ")";
  views::DoctorReport::Past past{
      now.node.name, in_words(file) + of, diagnose::changes(then.traits, now.traits), {}};
  mark_new(now.diagnosis.findings, then.diagnosis.findings, in_words(file));
  for (model::Finding& old : then.diagnosis.findings) {
    const auto same = [&](const model::Finding& finding) { return same_finding(old, finding); };
    const auto open = [&](const model::Undecided& gap) { return gap.rule == old.rule; };
    if (std::ranges::none_of(now.diagnosis.findings, same) &&
        std::ranges::none_of(now.diagnosis.undecided, open)) {
      past.gone.push_back(std::move(old));
    }
  }
  return past;
}

// Two host names are two hosts, unless one is a stand-in.
bool is_of_another_host(const Examined& now, const Examined& then) {
  const std::string& a = now.identity.host;
  const std::string& b = then.identity.host;
  return !a.empty() && !b.empty() && a != b && !now.scrubbed && !then.scrubbed;
}

// The node the old snapshot belongs to: the only one, or the one of the same name.
Result<void> add_past(const std::string& file, std::vector<Examined>& nodes, views::DoctorReport& report) {
  for (const Examined& node : nodes) {
    if (real_path(node.file) == real_path(file))
      return fail(ErrorCode::kInvalidInput, file + " is given as the earlier and as the later state",
                  "Give an earlier snapshot of the node behind --since");
  }
  Result<Examined> then = examine_safely(file);
  if (!then) return std::unexpected(then.error());
  const auto now = nodes.size() == 1 ? nodes.begin()
                                     : std::ranges::find(nodes, then->node.name,
                                                         [](const Examined& one) { return one.node.name; });
  if (now == nodes.end()) {
    return fail(ErrorCode::kNotFound,
                file + " is of node " + printable(then->node.name) + ", which is not among the nodes given",
                "Give the newer snapshot of the same node");
  }
  if (is_of_another_host(*now, *then)) {
    return fail(
        ErrorCode::kInvalidInput,
        fmt::format("{} is a snapshot of {}, not of {}", in_words(file), printable(then->node.name),
                    printable(now->node.name)),
        fmt::format("Give an earlier snapshot of {}; to compare two nodes give both: angio doctor {} {}",
                    printable(now->node.name), file, now->file.empty() ? "THIS_HOST.snap" : now->file));
  }
  if (!now->node.captured.empty() && then->node.captured > now->node.captured)
    report.remarks.push_back(fmt::format("{} is not the earlier one: it was captured {}, the other {}",
                                         in_words(file), then->node.captured, now->node.captured));
  report.past.push_back(compare_with_past(*now, std::move(*then), file));
  return {};
}

// What only several nodes show together.
void add_peer_findings(std::vector<Examined>& nodes) {
  std::vector<diagnose::PeerFacts> peers;
  std::map<std::string, std::size_t> places;
  for (Examined& node : nodes) {
    places.emplace(node.node.name, peers.size());
    peers.push_back(std::move(node.peers));
  }
  for (model::Finding& finding : diagnose::judge_peers(peers))
    nodes[places.at(finding.node)].diagnosis.findings.push_back(std::move(finding));
}

void keep_rules(const std::vector<std::string>& rules, model::Diagnosis& diagnosis) {
  if (rules.empty()) return;
  const auto unwanted = [&](const std::string& id) { return std::ranges::find(rules, id) == rules.end(); };
  std::erase_if(diagnosis.findings, [&](const model::Finding& finding) { return unwanted(finding.rule); });
  std::erase_if(diagnosis.undecided, [&](const model::Undecided& gap) { return unwanted(gap.rule); });
  std::erase_if(diagnosis.held, unwanted);
}

Result<views::DoctorReport> make_report(const Options& options) {
  const auto start = std::chrono::steady_clock::now();
  views::DoctorReport report;
  report.tool = "angio " ANGIO_VERSION;
  const std::vector<std::string> files =
      options.files.empty() ? std::vector<std::string>{""} : distinct(options.files, report);
  report.show_undecided = options.undecided;
  if (!options.logs.empty() && files.size() > 1) {
    return fail(ErrorCode::kInvalidInput,
                "--log belongs to one node, and " + std::to_string(files.size()) + " are given",
                "name the node's snapshot alone, or the log as a FILE of its own");
  }
  std::vector<Examined> nodes;
  for (auto& result : examine_all(files, options.logs)) {
    const std::size_t place = nodes.size() + report.unreadable.size();
    if (*result) {
      nodes.push_back(std::move(**result));
    } else if (files.size() == 1) {
      return std::unexpected(std::move(result->error()));
    } else {
      const Error& error = result->error();
      report.unreadable.push_back(
          {files[place], error.hint.empty() ? error.message : error.message + ". " + error.hint});
    }
  }
  if (nodes.empty())
    return fail(ErrorCode::kInvalidInput,
                "none of " + std::to_string(files.size()) +
                    " files is readable; the first: " + report.unreadable.front().reason);
  nodes = one_of_each(std::move(nodes), report);
  if (!options.since.empty()) {
    if (auto past = add_past(options.since, nodes, report); !past) return std::unexpected(past.error());
  }
  add_peer_findings(nodes);  // an earlier state had no peers to compare with
  std::vector<diagnose::Traits> traits;
  for (Examined& node : nodes) {
    keep_rules(options.rules, node.diagnosis);
    diagnose::drop_explained(node.diagnosis.findings);
    traits.push_back(std::move(node.traits));
    add_node(report, std::move(node.node), std::move(node.diagnosis));
  }
  diagnose::rank(report.findings);
  report.groups = diagnose::group_nodes(traits);
  report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return report;
}

std::string render(const views::DoctorReport& report, const Options& options) {
  if (options.format == "json") return to_text(views::findings_json(report)) + "\n";
  report::Document document = views::doctor_document(report);
  if (options.format == "html") {
    document.title = "angio doctor";  // a page has a title, a terminal has the command above
    document.blocks.insert(document.blocks.begin(),
                           report::Paragraph{report::toned(views::provenance(report), report::Tone::kQuiet)});
    return render_html(document);
  }
  report::TerminalStyle style = terminal_style();
  if (options.out != "-") style = {};  // a file is no terminal
  return render_terminal(document, style);
}

// Rules that other commands ask.
struct Elsewhere {
  const char* prefix;
  const char* subject;
  const char* command;
};
constexpr std::array kElsewhere = {Elsewhere{"dryrun.", "a job beside a dry run", "angio dryrun --against"},
                                   Elsewhere{"rdma.rate.", "counters over a while", "angio rdma"},
                                   Elsewhere{"fabric.", "a fabric", "angio fabric"},
                                   Elsewhere{"mesh.", "measurements between hosts", "angio mesh"}};

Result<void> check_rules(const std::vector<std::string>& rules) {
  std::vector<std::string_view> ids;
  for (const knowledge::RuleText& rule : knowledge::rules())
    ids.push_back(rule.id);
  for (const std::string& rule : rules) {
    const bool known = std::ranges::find(ids, rule) != ids.end();
    for (const Elsewhere& other : kElsewhere) {
      if (known && rule.starts_with(other.prefix))
        return fail(ErrorCode::kInvalidInput, rule + " looks at " + other.subject + ", not at a machine",
                    std::string(other.command) + " judges it");
    }
    if (known) continue;
    const auto near = did_you_mean(rule, ids);
    return fail(ErrorCode::kNotFound, "there is no rule \"" + printable(rule) + "\"",
                near ? "Did you mean " + *near + "?" : std::string("angio explain lists all rules"));
  }
  return {};
}

int doctor(const Options& options) {
  if (auto known = check_rules(options.rules); !known) {
    report_error(known.error());
    return kUsage;
  }
  const Result<views::DoctorReport> report = make_report(options);
  if (!report) return report_error(report.error());
  const std::string text = render(*report, options);
  if (options.out == "-") {
    if (const int code = print(text); code != kOk) return code;
  } else if (auto written = write_output(options.out, text); !written) {
    return report_error(written.error());
  }
  if (fails(report->findings, options.fail_on)) return kFindings;
  return report->unreadable.empty() ? kOk : kFailed;
}

}  // namespace

void setup_doctor(CommandLine& app, int& exit_code) {
  CommandLine command = app.subcommand("doctor", "Say what narrows a machine and how to cure it");
  const auto options = std::make_shared<Options>();
  command.option("files", options->files, "Snapshots, trees, foreign text; none: this host")
      .type_name("FILE");
  command.option("--format", options->format, "How to show it").one_of({"terminal", "json", "html"});
  command.option("--fail-on", options->fail_on, "Exit with 1 from this severity on")
      .one_of({"info", "warning", "critical"});
  command.option("--rule", options->rules, "Only this rule; may be given again")
      .type_name("RULE")
      .one_value()  // what follows are files
      .take_all();
  command.flag("--undecided", options->undecided, "Also what could not be decided, and why");
  command.option("--log", options->logs, "A log of the job or of the kernel of that node (repeatable)")
      .type_name("FILE")
      .one_value();
  command.option("--since", options->since, "Say what changed since this snapshot").type_name("FILE");
  command.option("--out", options->out, "Write here, not to standard output").type_name("FILE");
  command.callback([options, &exit_code] { exit_code = doctor(*options); });
}

}  // namespace angio::app
