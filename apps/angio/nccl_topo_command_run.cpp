#include "nccl_topo_command_run.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "base/format.hpp"
#include "base/text.hpp"
#include "command.hpp"
#include "knowledge/knowledge.hpp"
#include "knowledge/nccl_topology.hpp"
#include "load_machine.hpp"
#include "nccl/graph_dump.hpp"
#include "nccl/topology_check.hpp"
#include "nccl/topology_doubts.hpp"
#include "nccl/topology_generate.hpp"
#include "nccl/topology_hardware.hpp"
#include "nccl_topo_command_input.hpp"
#include "views/nccl_topo_view.hpp"

namespace angio::app::nccl_topo {
namespace {

// What a reader must know about the release that was asked for.
std::vector<std::string> release_notes(const Options& options) {
  std::vector<std::string> notes;
  if (std::string note = newer_note(options); !note.empty()) notes.push_back(std::move(note));
  notes.push_back("the computation follows NCCL's source and was compared with the graph dumps of NCCL " +
                  std::string(knowledge::checked_nccl_topology()) +
                  "; other releases differ by the figures of theirs that are known");
  return notes;
}

Result<std::optional<Input>> read_if_named(const Options& options) {
  if (options.file.empty()) return std::nullopt;
  auto input = read_file(options.file);
  if (!input) return std::unexpected(std::move(input.error()));
  return std::optional<Input>(*std::move(input));
}

Result<model::Machine> machine_of(const Options& options) {
  return load_machine(options.snap.value_or(""));
}

}  // namespace

int generate(const Options& options) {
  auto machine = machine_of(options);
  if (!machine) return report_error(machine.error());
  auto made = nccl::generate_topology(*machine);
  if (!made) return report_error(made.error());
  for (const std::string& text : made->unknown)
    say("angio: left out: " + text);
  for (const std::string& text : made->notes)
    say("angio: " + text);
  return write(options, nccl::write_topology_xml(made->root));
}

namespace {

Result<void> validate_topology(const Options& options, Input& input, views::TopologyReport& report) {
  nccl::check_topology(input.text, report.version, input.remarks);
  report.rccl = nccl::is_rccl(*input.root);
  report.counts = nccl::count(*input.root);
  if (!options.snap && !options.live) {
    nccl::check_nvlinks(*input.root, nullptr, input.remarks);
    return {};
  }
  auto machine = machine_of(options);
  if (!machine) return std::unexpected(std::move(machine.error()));
  nccl::check_nvlinks(*input.root, &*machine, input.remarks);
  nccl::check_hardware(*input.root, *machine, input.remarks);
  report.machine = machine->name;
  return {};
}

}  // namespace

int validate(const Options& options) {
  if (auto checked = check_release(options); !checked) return usage(checked.error());
  auto input = read_file(options.file);
  if (!input) return report_error(input.error());
  say_newer(options);
  views::TopologyReport report;
  report.file = options.file;
  report.version = release(options);
  report.kind = nccl::kind_of(input->text);
  if (report.kind == nccl::FileKind::kTopology) {
    if (auto checked = validate_topology(options, *input, report); !checked)
      return report_error(checked.error());
  } else if (report.kind == nccl::FileKind::kGraphs) {
    report.graphs = nccl::read_graphs(*input->root, report.version, input->remarks).size();
  } else {
    input->remarks.add({nccl::Weight::kError,
                        "xml.no-root",
                        {},
                        "there is no <system> in the file",
                        "detects everything itself, as without the file",
                        "begin with <system version=\"1\">"});
  }
  report.remarks = input->remarks.take();
  const int written =
      show(options, views::topology_report_document(report), views::topology_report_json(report));
  if (written != kOk) return written;
  return views::remarks_of(report, nccl::Weight::kError) + views::remarks_of(report, nccl::Weight::kWarning) >
                 0
             ? kFindings
             : kOk;
}

namespace {

// A dump is shown as it is.
int show_graphs(const Options& options, Input& input) {
  if (options.format == "nccl" || options.format == "xml") {
    return report_error({ErrorCode::kUnsupported, options.file + ": a graph file already",
                         "Formats for one: terminal, json"});
  }
  say_newer(options);
  views::GraphsReport report;
  report.subject = options.file;
  report.version = release(options);
  report.captured = true;
  report.graphs = nccl::read_graphs(*input.root, report.version, input.remarks);
  say_if_broken(options.file, input);
  return show(options, views::nccl_graphs_document(report), views::nccl_graphs_json(report));
}

}  // namespace

int show_file(const Options& options) {
  if (auto checked = check_release(options); !checked) return usage(checked.error());
  auto input = read_file(options.file);
  if (!input) return report_error(input.error());
  if (input->root == nullptr) return report_error(no_root(options.file));
  if (input->root->name == "graphs") return show_graphs(options, *input);
  say_newer(options);
  say_if_broken(options.file, *input);
  return show(options, views::topology_file_document(*input->root, release(options)),
              views::topology_file_json(options.file, *input->root));
}

namespace {

// The tree to compute on, and what is to be said with the figures.
struct Source {
  nccl::Element root;
  std::string subject;         // the file or machine
  std::string without_nvlink;  // as in the reports
  std::vector<std::string> notes;
};

// NCCL refuses the file, and finds nothing in it.
Result<void> check_taken(const Options& options, Input& input) {
  if (auto checked = check_topology_root(options.file, input); !checked) return checked;
  if (nccl::is_rccl(*input.root))
    return fail(ErrorCode::kUnsupported,
                options.file + ": a file of RCCL, whose paths and search are other ones",
                "Validate and show work on it");
  nccl::check_topology(input.text, release(options), input.remarks);
  const auto& remarks = input.remarks.all();
  const auto found = std::ranges::find_if(remarks, nccl::refuses);
  if (found == remarks.end()) return {};
  const std::string line = found->place.line > 0 ? "line " + std::to_string(found->place.line) + ", " : "";
  return fail(ErrorCode::kUnsupported,
              options.file + ": NCCL refuses this file, nothing is computed: " + line + found->text +
                  " (NCCL: " + found->nccl + ")",
              "All that is wrong with it: angio nccl-topo validate");
}

// Which GPUs' NVLinks neither the file nor the machine tells.
std::string links_not_known(const nccl::Element& root, const model::Machine* machine, bool file) {
  std::vector<std::string> gpus = nccl::gpus_of_unknown_links(root, machine);
  if (gpus.empty()) return {};
  constexpr std::size_t kNamed = 8;
  const std::size_t count = gpus.size();
  gpus.resize(std::min(count, kNamed));
  const std::string named =
      join(gpus, ", ") + (count > kNamed ? " and " + std::to_string(count - kNamed) + " more" : "");
  const std::string has = file ? "the file has none" : printable(machine->name) + " tells none";
  const std::string more = file && machine == nullptr ? "; add --snap"
                           : file                     ? ", and " + printable(machine->name) + " tells none"
                                                      : "";
  return has + " for GPU " + named + ", NCCL asks NVML" + more;
}

Result<Source> source_of_machine(const Options& options) {
  auto machine = machine_of(options);
  if (!machine) return std::unexpected(std::move(machine.error()));
  auto made = nccl::generate_topology(*machine);
  if (!made) return std::unexpected(std::move(made.error()));
  Source source{std::move(made->root), machine->name, "", std::move(made->notes)};
  source.without_nvlink = links_not_known(source.root, &*machine, false);
  for (const std::string& text : made->unknown)
    if (!text.starts_with("GPUDirect")) source.notes.push_back("not known: " + text);  // said as assumption
  return source;
}

// A file, completed by the machine if one is named.
Result<Source> source_of_file(const Options& options, Input& input) {
  if (auto checked = check_taken(options, input); !checked)
    return std::unexpected(std::move(checked.error()));
  Source source{std::move(*input.root), options.file, "", {}};
  if (!options.snap) {
    source.without_nvlink = links_not_known(source.root, nullptr, true);
    return source;
  }
  auto machine = machine_of(options);
  if (!machine) return std::unexpected(std::move(machine.error()));
  auto made = nccl::generate_topology(*machine);
  if (!made) return std::unexpected(std::move(made.error()));
  const std::size_t links = nccl::complete_links(source.root, made->root);
  const std::size_t added = nccl::complete(source.root, made->root);
  if (added > 0)
    source.notes.push_back(count_of(added, "device") + " of " + machine->name +
                           " added, as NCCL adds what it detects");
  if (links > 0)
    source.notes.push_back("links of " + count_of(links, "GPU") + " taken from " + machine->name +
                           ", as NCCL asks NVML for them");
  source.without_nvlink = links_not_known(source.root, &*machine, true);
  return source;
}

Result<Source> source_of(const Options& options, std::optional<Input>& input) {
  return input ? source_of_file(options, *input) : source_of_machine(options);
}

Result<nccl::System> system_of(const Options& options, Source& source) {
  const std::string version = release(options);
  const bool own_gpu_only =
      knowledge::compare_versions(version, "2.22").value_or(1) >= 0;  // src/graph/topo.cc
  auto system = nccl::make_system(own_gpu_only ? nccl::as_ranks_see(source.root) : source.root,
                                  {version, options.nodes > 1});
  if (!system) return std::unexpected(std::move(system.error()).with_context(printable(source.subject)));
  for (const std::string& text : system->assumptions)
    source.notes.push_back("assumed: " + text);
  for (std::string& note : release_notes(options))
    source.notes.push_back(std::move(note));
  return system;
}

// Formats without room for remarks.
void say_beside(const Options& options, const Source& source) {
  if (!source.without_nvlink.empty()) say("angio: not known: NVLinks: " + source.without_nvlink);
  say_newer(options);
}

}  // namespace

int paths(const Options& options) {
  if (auto checked = check_release(options); !checked) return usage(checked.error());
  auto input = read_if_named(options);
  if (!input) return report_error(input.error());
  auto source = source_of(options, *input);
  if (!source) return computed_nothing(source.error());
  const auto system = system_of(options, *source);
  if (!system) return computed_nothing(system.error());
  if (options.format != "nccl") {
    const views::SystemReport report{source->subject, options.nodes, source->without_nvlink, source->notes};
    return show(options, views::nccl_paths_document(*system, report),
                views::nccl_paths_json(*system, report));
  }
  say_beside(options, *source);
  std::string text;
  for (const std::string& line : nccl::nccl_lines(*system))
    text += line + "\n";
  return write(options, text);
}

namespace {

Result<void> check_searchable(const Options& options, const Source& source, const nccl::System& system) {
  const std::string subject = printable(source.subject);
  if (options.nodes > 1 && system.all(nccl::NodeKind::kNet).empty())
    return fail(ErrorCode::kNotFound, subject + ": no NIC, and --nodes " + std::to_string(options.nodes),
                "Between nodes NCCL needs one");
  if (system.all(nccl::NodeKind::kGpu).size() > nccl::kMostSearched)
    return fail(ErrorCode::kUnsupported,
                subject + ": more than " + std::to_string(nccl::kMostSearched) + " GPUs",
                "The search is computed for one NVLink domain at most; paths works");
  return {};
}

views::GraphsReport report_of(const Options& options, const Source& source, const nccl::System& system,
                              const nccl::SearchResult& found) {
  views::GraphsReport report;
  report.subject = source.subject;
  report.without_nvlink = source.without_nvlink;
  report.notes = source.notes;
  report.version = release(options);
  report.nodes = options.nodes;
  report.gpus = system.all(nccl::NodeKind::kGpu).size();
  report.graphs = nccl::to_dump(system, found);
  report.expected = nccl::expect(system, found, options.nodes);
  if (found.ring.simple_order || found.tree.simple_order)
    report.notes.insert(report.notes.begin(),
                        "nothing fits: NCCL falls back to rank order with 0.1 GB/s a channel");
  return report;
}

}  // namespace

int graph(const Options& options) {
  if (auto checked = check_release(options); !checked) return usage(checked.error());
  auto input = read_if_named(options);
  if (!input) return report_error(input.error());
  if (*input && (*input)->root != nullptr && (*input)->root->name == "graphs")
    return show_graphs(options, **input);
  auto source = source_of(options, *input);
  if (!source) return computed_nothing(source.error());
  const auto system = system_of(options, *source);
  if (!system) return computed_nothing(system.error());
  if (auto checked = check_searchable(options, *source, *system); !checked)
    return report_error(checked.error());
  const nccl::SearchResult found = nccl::search_graphs(*system, options.cross_nic);
  const views::GraphsReport report = report_of(options, *source, *system, found);
  if (options.format == "terminal" || options.format == "json")
    return show(options, views::nccl_graphs_document(report), views::nccl_graphs_json(report));
  say_beside(options, *source);
  if (options.format == "xml")
    return write(options, nccl::write_topology_xml(nccl::to_element(report.graphs)));
  std::string text;
  for (const nccl::ChannelGraph* each : {&found.ring, &found.tree, &found.nvls})
    if (each->channels > 0)
      for (const std::string& line : nccl::nccl_lines(*system, *each))
        text += line + "\n";
  return write(options, text);
}

}  // namespace angio::app::nccl_topo
