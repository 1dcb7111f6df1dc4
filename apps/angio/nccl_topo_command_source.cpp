#include "nccl_topo_command_source.hpp"

#include <algorithm>
#include <filesystem>
#include <map>
#include <system_error>

#include "base/format.hpp"
#include "base/text.hpp"
#include "command.hpp"
#include "dryrun/node_design.hpp"
#include "dryrun/topology_sketch.hpp"
#include "knowledge/knowledge.hpp"
#include "knowledge/nccl_topology.hpp"
#include "load_machine.hpp"
#include "nccl/graph_search.hpp"
#include "nccl/topology_check.hpp"
#include "nccl/topology_doubts.hpp"
#include "nccl/topology_edit.hpp"
#include "nccl/topology_generate.hpp"

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

// Words of `angio dryrun --topo`: a node as its phantom would be.
bool is_words(const Options& options) {
  std::error_code error;
  return !options.file.empty() && options.file != "-" && !options.snap &&
         !std::filesystem::exists(options.file, error) && dryrun::looks_like_words(options.file);
}

Result<Source> source_of_words(const Options& options) {
  auto sketch = dryrun::sketch_words(options.file);
  if (!sketch) return std::unexpected(std::move(sketch.error()));
  dryrun::DesignOptions model;
  model.gpu = sketch->gpu;
  auto design = dryrun::design_node(sketch->root, model, nullptr);
  if (!design) return std::unexpected(std::move(design.error()));
  Source source{std::move(design->tree), options.file, "", std::move(sketch->notes)};
  source.notes.insert(source.notes.end(), design->notes.begin(), design->notes.end());
  return source;
}

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

}  // namespace

Result<std::optional<Input>> read_if_named(const Options& options) {
  if (options.file.empty() || is_words(options)) return std::nullopt;
  auto input = read_file(options.file);
  if (!input) return std::unexpected(std::move(input.error()));
  return std::optional<Input>(*std::move(input));
}

Result<model::Machine> machine_of(const Options& options) {
  return load_machine(options.snap.value_or(""));
}

Result<Source> source_of(const Options& options, std::optional<Input>& input) {
  if (is_words(options)) return source_of_words(options);
  return input ? source_of_file(options, *input) : source_of_machine(options);
}

namespace {

Result<nccl::System> make(const Options& options, const Source& source, const nccl::Element& root,
                          bool between_nodes) {
  auto system = nccl::make_system(root, {release(options), between_nodes});
  if (!system) return std::unexpected(std::move(system.error()).with_context(printable(source.subject)));
  return system;
}

// As the ranks see it: each its own GPU alone, from 2.22 on (src/graph/topo.cc).
nccl::Element seen(const Options& options, const nccl::Element& root) {
  return knowledge::compare_versions(release(options), "2.22").value_or(1) >= 0 ? nccl::as_ranks_see(root)
                                                                                : root;
}

}  // namespace

Result<nccl::System> system_of(const Options& options, Source& source) {
  auto system = make(options, source, seen(options, source.root), options.nodes > 1);
  if (!system) return system;
  for (const std::string& text : system->assumptions)
    source.notes.push_back("assumed: " + text);
  for (std::string& note : release_notes(options))
    source.notes.push_back(std::move(note));
  return system;
}

Result<int> searched_nodes(const Options& options, Source& source, nccl::System& system) {
  const auto& gpus = system.all(nccl::NodeKind::kGpu);
  std::map<std::uint32_t, std::vector<std::string>> parts;  // device numbers
  for (std::size_t gpu = 0; gpu < gpus.size(); ++gpu)
    parts[system.domains[gpu]].push_back(std::to_string(system.nodes[gpus[gpu]].device));
  if (parts.size() <= 1) return options.nodes;
  const std::vector<std::string>& first = parts.begin()->second;
  const auto keep = [&](const nccl::Element& element) {
    return element.name == "net" ||
           (element.name == "gpu" && std::ranges::find(first, element.get("dev")) != first.end());
  };
  auto part = make(options, source, nccl::trimmed(seen(options, source.root), keep), true);
  if (!part) return std::unexpected(std::move(part.error()));
  system = std::move(*part);
  std::vector<std::string> named;
  bool alike = true;
  for (const auto& [domain, devices] : parts) {
    named.push_back(join(devices, ","));
    alike = alike && devices.size() == first.size();
  }
  source.notes.push_back("the NICs next to the GPUs are faster than the way between CPUs: for NCCL GPUs " +
                         join(named, " and ") + " are nodes of their own" +
                         (alike ? "" : "; assumed: all of them have as many GPUs as the first"));
  return options.nodes * static_cast<int>(parts.size());
}

void say_beside(const Options& options, const Source& source) {
  if (!source.without_nvlink.empty()) say("angio: not known: NVLinks: " + source.without_nvlink);
  say_newer(options);
}

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

}  // namespace angio::app::nccl_topo
