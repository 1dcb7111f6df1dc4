#include "nccl_topo_command_run.hpp"

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
#include "nccl/topology_edit.hpp"
#include "nccl/topology_generate.hpp"
#include "nccl/topology_hardware.hpp"
#include "views/nccl_topo_view.hpp"

namespace angio::app::nccl_topo {
namespace {

constexpr std::string_view kOldest = "2.12";  // the first release the figures cover

std::string release(const Options& options) {
  return options.nccl.value_or(std::string(knowledge::newest_nccl_topology()));
}

Result<void> check_release(const Options& options) {
  if (!options.nccl) return {};
  const auto order = knowledge::compare_versions(*options.nccl, kOldest);
  if (!order || !contains(*options.nccl, "."))
    return fail(ErrorCode::kInvalidInput, "--nccl \"" + printable(*options.nccl) + "\" is no version",
                "e.g. --nccl 2.28.9");
  if (*order < 0)
    return fail(ErrorCode::kUnsupported, "NCCL " + *options.nccl + " is not known",
                "releases from " + std::string(kOldest) + " on are");
  return {};
}

// What a reader must know about the release that was asked for.
std::vector<std::string> release_notes(const Options& options, bool searched) {
  std::vector<std::string> notes;
  const std::string version = release(options);
  const std::string newest(knowledge::newest_nccl_topology());
  if (knowledge::compare_versions(version, newest).value_or(0) > 0)
    notes.push_back("NCCL " + version + " is newer than " + newest +
                    ", the newest one known here: computed as that");
  if (searched) {
    const std::string checked(knowledge::checked_nccl_topology());
    notes.push_back("the computation follows NCCL's source and was compared with the graph dumps of NCCL " +
                    checked + "; other releases differ by the figures of theirs that are known");
  }
  return notes;
}

int fail_with(const Error& error) {
  report_error(error);
  return error.code == ErrorCode::kInvalidInput ? kUsage : kFailed;
}

// Of the words of the command line.
int usage(const Error& error) {
  report_error(error);
  return kUsage;
}

int write(const Options& options, const std::string& text) {
  if (options.out == "-") return print(text);
  if (auto done = write_output(options.out, text); !done) return report_error(done.error());
  return kOk;
}

report::TerminalStyle style(const Options& options) {
  return options.out == "-" ? terminal_style() : report::TerminalStyle{};
}

int show(const Options& options, const report::Document& document, const Json& json) {
  if (options.format == "json") return write(options, to_text(json) + "\n");
  return write(options, report::render_terminal(document, style(options)));
}

// The file's fault, not the caller's.
int computed_nothing(const Error& error) {
  report_error(error);
  return kFailed;
}

struct Input {
  nccl::XmlText text;
  nccl::Remarks remarks;
  nccl::Element* root = nullptr;
};

Result<Input> read_file(const std::string& path) {
  auto bytes = read_input(path);
  if (!bytes) return std::unexpected(std::move(bytes.error()));
  Input input;
  input.text = nccl::read_topology_xml(*bytes, input.remarks);
  for (nccl::Element& root : input.text.roots)
    if (input.root == nullptr && (root.name == "system" || root.name == "graphs")) input.root = &root;
  return input;
}

Error no_root(const std::string& path) {
  return {ErrorCode::kUnsupported, path + ": neither <system> nor <graphs> in it",
          "a topology file begins with <system version=\"1\">, a graph file with <graphs version=\"1\">"};
}

// Files that NCCL would not take are read tolerantly here; say so once.
void say_if_broken(const std::string& path, const Input& input) {
  std::size_t errors = 0;
  for (const nccl::Remark& remark : input.remarks.all())
    if (remark.weight == nccl::Weight::kError) errors += remark.count;
  if (errors > 0)
    say("angio: " + path + ": NCCL would stop at it (" + count_of(errors, "error") +
        "): angio nccl-topo validate");
}

// A graph file is none.
Result<void> check_topology_root(const std::string& path, const Input& input) {
  if (input.root == nullptr) return std::unexpected(no_root(path));
  say_if_broken(path, input);
  if (input.root->name == "system") return {};
  return fail(ErrorCode::kUnsupported, path + ": a graph file, not a topology file",
              "angio nccl-topo graph shows it");
}

Result<Input> read_topology(const std::string& path) {
  auto input = read_file(path);
  if (!input) return input;
  if (auto checked = check_topology_root(path, *input); !checked)
    return std::unexpected(std::move(checked.error()));
  return input;
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
  return write(options, nccl::write_topology_xml(made->root));
}

int validate(const Options& options) {
  if (auto checked = check_release(options); !checked) return usage(checked.error());
  auto input = read_file(options.file);
  if (!input) return report_error(input.error());
  views::TopologyReport report;
  report.file = options.file;
  report.version = release(options);
  report.kind = nccl::kind_of(input->text);
  if (report.kind == nccl::FileKind::kTopology) {
    nccl::check_topology(input->text, report.version, input->remarks);
    report.rccl = nccl::is_rccl(*input->root);
    report.counts = nccl::count(*input->root);
    if (options.snap || options.live) {
      auto machine = machine_of(options);
      if (!machine) return report_error(machine.error());
      nccl::check_hardware(*input->root, *machine, input->remarks);
      report.machine = machine->name;
    }
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
                         "formats for one: terminal, json"});
  }
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
  say_if_broken(options.file, *input);
  return show(options, views::topology_file_document(*input->root, release(options)),
              views::topology_file_json(options.file, *input->root));
}

namespace {

// The tree to compute on: a file, completed by the machine if one is named, or the machine alone.
Result<nccl::Element> tree_of(const Options& options, std::optional<Input> input, std::string& subject,
                              std::vector<std::string>& notes) {
  std::optional<nccl::Element> detected;
  if (options.snap || !input) {
    auto machine = machine_of(options);
    if (!machine) return std::unexpected(std::move(machine.error()));
    auto made = nccl::generate_topology(*machine);
    if (!made) return std::unexpected(std::move(made.error()));
    subject = machine->name;
    detected = std::move(made->root);
    if (!input)
      for (const std::string& text : made->unknown)
        if (!text.starts_with("GPUDirect")) notes.push_back("not known: " + text);  // said as an assumption
  }
  if (!input) return std::move(*detected);
  if (auto checked = check_topology_root(options.file, *input); !checked)
    return std::unexpected(std::move(checked.error()));
  if (nccl::is_rccl(*input->root))
    return fail(ErrorCode::kUnsupported,
                options.file + ": a file of RCCL, whose paths and search are other ones",
                "validate and show work on it");
  if (detected) {
    const std::size_t added = nccl::complete(*input->root, *detected);
    if (added > 0)
      notes.push_back(count_of(added, "device") + " of " + subject + " added, as NCCL adds what it detects");
  }
  subject = options.file;
  return std::move(*input->root);
}

Result<nccl::System> system_of(const Options& options, std::optional<Input> input, std::string& subject,
                               std::vector<std::string>& notes) {
  auto tree = tree_of(options, std::move(input), subject, notes);
  if (!tree) return std::unexpected(std::move(tree.error()));
  const std::string version = release(options);
  const bool own_gpu_only =
      knowledge::compare_versions(version, "2.22").value_or(1) >= 0;  // src/graph/topo.cc
  auto system =
      nccl::make_system(own_gpu_only ? nccl::as_ranks_see(*tree) : *tree, {version, options.nodes > 1});
  if (!system) return std::unexpected(std::move(system.error()).with_context(printable(subject)));
  for (const std::string& text : system->assumptions)
    notes.push_back("assumed: " + text);
  return system;
}

}  // namespace

int paths(const Options& options) {
  if (auto checked = check_release(options); !checked) return usage(checked.error());
  auto input = read_if_named(options);
  if (!input) return report_error(input.error());
  views::SystemReport report;
  report.nodes = options.nodes;
  auto system = system_of(options, *std::move(input), report.subject, report.notes);
  if (!system) return computed_nothing(system.error());
  for (std::string& note : release_notes(options, true))
    report.notes.push_back(std::move(note));
  if (options.format != "nccl")
    return show(options, views::nccl_paths_document(*system, report),
                views::nccl_paths_json(*system, report));
  std::string text;
  for (const std::string& line : nccl::nccl_lines(*system))
    text += line + "\n";
  return write(options, text);
}

int graph(const Options& options) {
  if (auto checked = check_release(options); !checked) return usage(checked.error());
  auto input = read_if_named(options);
  if (!input) return report_error(input.error());
  if (*input && (*input)->root != nullptr && (*input)->root->name == "graphs")
    return show_graphs(options, **input);
  views::GraphsReport report;
  auto system = system_of(options, *std::move(input), report.subject, report.notes);
  if (!system) return computed_nothing(system.error());
  if (options.nodes > 1 && system->all(nccl::NodeKind::kNet).empty()) {
    return report_error({ErrorCode::kNotFound,
                         printable(report.subject) + ": no NIC, and --nodes " + std::to_string(options.nodes),
                         "between nodes NCCL needs one"});
  }
  if (system->all(nccl::NodeKind::kGpu).size() > nccl::kMostSearched) {
    return report_error(
        {ErrorCode::kUnsupported,
         printable(report.subject) + ": more than " + std::to_string(nccl::kMostSearched) + " GPUs",
         "the search is computed for one NVLink domain at most; paths works"});
  }
  const nccl::SearchResult found = nccl::search_graphs(*system, options.cross_nic);
  report.version = release(options);
  report.nodes = options.nodes;
  report.gpus = system->all(nccl::NodeKind::kGpu).size();
  report.graphs = nccl::to_dump(*system, found);
  report.expected = nccl::expect(*system, found, options.nodes);
  if (found.ring.simple_order || found.tree.simple_order)
    report.notes.emplace_back("nothing fits: NCCL falls back to rank order with 0.1 GB/s a channel");
  for (std::string& note : release_notes(options, true))
    report.notes.push_back(std::move(note));
  if (options.format == "xml")
    return write(options, nccl::write_topology_xml(nccl::to_element(report.graphs)));
  if (options.format != "nccl")
    return show(options, views::nccl_graphs_document(report), views::nccl_graphs_json(report));
  std::string text;
  for (const nccl::ChannelGraph* each : {&found.ring, &found.tree, &found.nvls})
    if (each->channels > 0)
      for (const std::string& line : nccl::nccl_lines(*system, *each))
        text += line + "\n";
  return write(options, text);
}

// [CHILD] NAME=VALUE… : the first word without "=" names an element below.
int set(const Options& options) {
  nccl::Change change{options.selector, "", {}};
  for (const std::string& word : options.words) {
    const std::size_t at = word.find('=');
    if (at != std::string::npos) {
      change.values.emplace_back(word.substr(0, at), word.substr(at + 1));
    } else if (change.child.empty() && change.values.empty()) {
      change.child = word;
    } else {
      return usage(
          {ErrorCode::kInvalidInput, "\"" + printable(word) + "\" has no \"=\"", "write NAME=VALUE"});
    }
  }
  if (change.values.empty())
    return usage({ErrorCode::kInvalidInput, "nothing to set", "write NAME=VALUE, e.g. link_width=8"});
  auto input = read_topology(options.file);
  if (!input) return report_error(input.error());
  const auto changed = nccl::apply(*input->root, change);
  if (!changed) return fail_with(changed.error());
  say("angio: " + count_of(*changed, "element") + " changed");
  return write(options, nccl::write_topology_xml(*input->root));
}

int remove(const Options& options) {
  auto input = read_topology(options.file);
  if (!input) return report_error(input.error());
  std::string child;
  std::vector<std::string> attributes;
  for (const std::string& word : options.words) {
    const bool element = nccl::parse_child(word).has_value();
    if (element && child.empty()) {
      child = word;
    } else {
      attributes.push_back(word);
    }
  }
  if (!child.empty() && !attributes.empty())
    return usage(
        {ErrorCode::kInvalidInput, "either elements or attributes", "remove them one after the other"});
  const auto removed = nccl::remove_from(*input->root, options.selector, child, attributes);
  if (!removed) return fail_with(removed.error());
  say("angio: " + count_of(*removed, attributes.empty() ? "element" : "attribute") + " removed");
  return write(options, nccl::write_topology_xml(*input->root));
}

int diff(const Options& options) {
  auto left = read_topology(options.files[0]);
  if (!left) return report_error(left.error());
  auto right = read_topology(options.files[1]);
  if (!right) return report_error(right.error());
  const auto differences = nccl::compare_trees(*left->root, *right->root);
  const int written =
      show(options, views::topology_differences_document(differences, options.files[0], options.files[1]),
           views::topology_differences_json(differences, options.files[0], options.files[1]));
  if (written != kOk) return written;
  return differences.empty() ? kOk : kFindings;
}

int merge(const Options& options) {
  constexpr std::size_t kMost = 20000;  // elements; one host has some hundreds
  std::optional<nccl::Element> joined;
  for (const std::string& file : options.files) {
    auto input = read_topology(file);
    if (!input) return report_error(input.error());
    if (nccl::count_elements(*input->root) > kMost)
      return report_error(
          {ErrorCode::kUnsupported, file + ": more than 20000 elements", "no host has that many"});
    if (joined) {
      nccl::fuse(*joined, *input->root);
    } else {
      joined = std::move(*input->root);
    }
  }
  const std::size_t counted = nccl::count_elements(*joined);
  const double most = knowledge::nccl_topology_value("xml-elements", release(options));
  if (static_cast<double>(counted) > most)
    say("angio: " + count_of(counted, "element") + ": NCCL reads " + std::to_string(static_cast<int>(most)) +
        " from one file");
  return write(options, nccl::write_topology_xml(*joined));
}

}  // namespace angio::app::nccl_topo
