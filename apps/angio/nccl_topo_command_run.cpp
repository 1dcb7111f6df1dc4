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
#include "nccl_topo_command_source.hpp"
#include "views/nccl_topo_view.hpp"

namespace angio::app::nccl_topo {

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

views::GraphsReport report_of(const Options& options, const Source& source, const nccl::System& system,
                              const nccl::SearchResult& found, int nodes) {
  views::GraphsReport report;
  report.subject = source.subject;
  report.without_nvlink = source.without_nvlink;
  report.notes = source.notes;
  report.version = release(options);
  report.nodes = nodes;
  report.gpus = system.all(nccl::NodeKind::kGpu).size();
  report.graphs = nccl::to_dump(system, found);
  report.expected = nccl::expect(system, found, nodes);
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
  auto system = system_of(options, *source);
  if (!system) return computed_nothing(system.error());
  if (auto checked = check_searchable(options, *source, *system); !checked)
    return report_error(checked.error());
  const auto nodes = searched_nodes(options, *source, *system);
  if (!nodes) return computed_nothing(nodes.error());
  const nccl::SearchResult found = nccl::search_graphs(*system, options.cross_nic);
  const views::GraphsReport report = report_of(options, *source, *system, found, *nodes);
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
