#include "dryrun_inputs.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <span>
#include <system_error>
#include <unordered_map>
#include <unordered_set>

#include "base/text.hpp"
#include "command.hpp"
#include "dryrun/net_settings.hpp"
#include "dryrun/node_design.hpp"
#include "dryrun/sizes.hpp"
#include "dryrun/topology_sketch.hpp"
#include "host/root.hpp"
#include "import/import.hpp"
#include "lint/lint.hpp"
#include "load_machine.hpp"
#include "nccl/topology_check.hpp"
#include "nccl/topology_generate.hpp"
#include "nccl_run/find_nccl.hpp"
#include "phantom/stand_ins.hpp"

namespace angio::app::dryrun {
namespace {

constexpr std::uint32_t kUsualNic = 200;  // Gb/s, where a matrix tells none; said in a note

// ---------------------------------------------------------------- topology

bool is_file(const std::string& path) {
  std::error_code error;
  return path == "-" || std::filesystem::exists(path, error);
}

Result<void> take_words(const Options& options, Inputs& inputs) {
  auto sketch = angio::dryrun::sketch_words(options.topology);
  if (!sketch) return std::unexpected(std::move(sketch.error()));
  inputs.topology = std::move(sketch->root);
  inputs.gpu = sketch->gpu;
  inputs.is_words = true;
  inputs.notes = std::move(sketch->notes);
  return {};
}

Result<void> take_matrix(const Options& options, Inputs& inputs) {
  auto sketch = angio::dryrun::sketch_matrix(*inputs.machine, options.gpu,
                                             options.nic_speed != 0 ? options.nic_speed : kUsualNic);
  if (!sketch) return std::unexpected(std::move(sketch.error()));
  inputs.topology = std::move(sketch->root);
  inputs.is_matrix = true;
  inputs.notes = std::move(sketch->notes);
  return {};
}

Result<void> take_machine(const Options& options, Inputs& inputs) {
  auto machine = load_machine(options.topology);
  if (!machine) return std::unexpected(std::move(machine.error()));
  inputs.machine = std::make_shared<model::Machine>(std::move(*machine));
  auto made = nccl::generate_topology(*inputs.machine);
  if (!made) {
    if (inputs.machine->stated_paths) return take_matrix(options, inputs);
    return std::unexpected(std::move(made.error()));
  }
  inputs.topology = std::move(made->root);
  inputs.notes = std::move(made->notes);
  for (const std::string& text : made->unknown)
    inputs.notes.push_back("not in " + printable(options.topology) + ": " + text);
  return {};
}

// False: it is no topology file of NCCL's.
Result<bool> take_xml(const std::string& bytes, const Options& options, Inputs& inputs) {
  if (import::recognise(bytes) != import::ForeignKind::kNcclTopology) {
    if (import::recognise(bytes) == import::ForeignKind::kNcclGraph)
      return fail(ErrorCode::kInvalidInput, printable(options.topology) + " is a graph file, not a topology",
                  "NCCL reads it with --env NCCL_GRAPH_FILE=…; --topo needs the <system> file");
    return false;
  }
  nccl::Remarks remarks;
  nccl::XmlText text = nccl::read_topology_xml(bytes, remarks);
  const nccl::Element* root = nccl::root_of(text);
  if (root == nullptr)
    return fail(ErrorCode::kInvalidInput, "no <system> in " + printable(options.topology),
                "angio nccl-topo validate says what is there");
  nccl::check_topology(text, "", remarks);
  const auto errors = std::ranges::count_if(
      remarks.all(), [](const nccl::Remark& remark) { return remark.weight == nccl::Weight::kError; });
  if (errors != 0)
    inputs.notes.push_back(fmt::format("angio nccl-topo validate finds {} error{} in {}", errors,
                                       errors == 1 ? "" : "s", printable(options.topology)));
  inputs.topology = *root;
  return true;
}

Result<void> take_topology(const Options& options, Inputs& inputs) {
  if (!options.topology.empty() && !is_file(options.topology) &&
      angio::dryrun::looks_like_words(options.topology))
    return take_words(options, inputs);
  std::error_code error;
  if (options.topology.empty() || std::filesystem::is_directory(options.topology, error))
    return take_machine(options, inputs);
  auto bytes = read_input(options.topology);
  if (!bytes) return std::unexpected(std::move(bytes.error()));
  const auto is_xml = take_xml(*bytes, options, inputs);
  if (!is_xml) return std::unexpected(is_xml.error());
  if (*is_xml) return {};
  if (options.topology == "-")
    return fail(ErrorCode::kInvalidInput, "standard input is no topology file of NCCL's",
                "Snapshots and other texts are read from files: --topo FILE");
  return take_machine(options, inputs);
}

// Options that would do nothing are a mistake.
Result<void> check_topology_options(const Options& options, const Inputs& inputs) {
  if (inputs.is_words && !options.gpu.empty())
    return fail(ErrorCode::kInvalidInput, "--gpu: the words of --topo name the GPUs already",
                "Write the model there: --topo 8xh100-sxm");
  if (options.nic_speed == 0 || inputs.is_matrix) return {};
  return fail(ErrorCode::kInvalidInput,
              "--nic-speed: the topology has its own speeds; only nvidia-smi topo -m text tells none",
              inputs.is_words ? "Write the speed there: --topo 8xh100-sxm+8x400g"
                              : "--node 0:slow=NAME:SPEED changes one NIC");
}

// ---------------------------------------------------------------- settings

bool is_job_setting(std::string_view name) {
  return name.starts_with("NCCL_") || name.starts_with("CUDA_VISIBLE_DEVICES") ||
         name.starts_with("CUDA_DEVICE_ORDER");
}

// The last one counts, and stands where it was set last.
class SettingList {
 public:
  SettingList() = default;
  explicit SettingList(const Settings& settings) {
    for (const auto& [name, value] : settings)
      set(name, value);
  }
  void set(const std::string& name, const std::string& value) {
    unset(name);
    places_.emplace(name, settings_.size());
    settings_.emplace_back(name, value);
  }
  void unset(const std::string& name) {
    const auto place = places_.find(name);
    if (place == places_.end()) return;
    settings_[place->second].first.clear();
    places_.erase(place);
  }
  [[nodiscard]] bool has(const std::string& name) const { return places_.contains(name); }
  Settings take() {
    std::erase_if(settings_, [](const auto& setting) { return setting.first.empty(); });
    return std::move(settings_);
  }

 private:
  Settings settings_;
  std::unordered_map<std::string, std::size_t> places_;
};

Settings merged(const Settings& settings, const Settings& over) {
  SettingList list(settings);
  for (const auto& [name, value] : over)
    list.set(name, value);
  return list.take();
}

// "NAME=value"; false: it has no such form.
bool take_assignment(const std::string& text, SettingList& settings) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0) return false;
  const std::string name = text.substr(0, equals);
  if (name.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_") !=
      std::string::npos)
    return false;
  settings.set(name, text.substr(equals + 1));
  return true;
}

// NCCL keeps the blanks of nccl.conf: with one around its name, a setting is none that NCCL reads.
bool has_blanks(const lint::Script& script, const lint::Place& name) {
  const std::size_t end = name.offset + name.length;
  const bool before = name.offset != 0 && script.text[name.offset - 1] != '\n';
  return before || (end < script.text.size() && script.text[end] != '=');
}

// What of nccl.conf counts: the first line of a name, and what the environment has goes before it.
bool counts(const lint::Script& script, const lint::Setting& setting, const SettingList& settings,
            Inputs& inputs) {
  if (script.kind != lint::FileKind::kNcclConf) return true;
  const bool blanks = has_blanks(script, setting.name_place);
  if (!blanks && !settings.has(setting.name)) return true;
  inputs.notes.push_back(fmt::format("{}:{}: {} does not count: {}", printable(script.name),
                                     setting.name_place.line, setting.name,
                                     blanks ? "nccl.conf keeps blanks, so its name has one"
                                            : "it is set already, and nccl.conf does not overwrite"));
  return false;
}

Result<void> take_job_file(const std::string& path, SettingList& settings, Inputs& inputs) {
  auto bytes = read_input(path);
  if (!bytes) return std::unexpected(std::move(bytes.error()));
  const lint::FileKind kind = lint::recognise(path, *bytes);
  const lint::Script script = lint::read_script(path, std::move(*bytes), kind);
  std::size_t taken = 0;
  for (const lint::Setting& setting : script.settings) {
    if (!is_job_setting(setting.name) || !setting.exported) continue;
    ++taken;
    if (!counts(script, setting, settings, inputs)) continue;
    if (setting.unset) {
      settings.unset(setting.name);
    } else if (setting.dynamic) {
      inputs.notes.push_back(fmt::format("{}:{}: {} is known only when the job runs; left out",
                                         printable(path), setting.name_place.line, setting.name));
    } else {
      settings.set(setting.name, setting.value);
    }
  }
  if (taken == 0) inputs.notes.push_back(printable(path) + " sets nothing that NCCL reads");
  return {};
}

Result<void> take_settings(const Options& options, Inputs& inputs) {
  SettingList settings;
  for (const std::string& word : options.environment) {
    if (is_file(word)) {
      if (auto taken = take_job_file(word, settings, inputs); !taken) return taken;
    } else if (!take_assignment(word, settings)) {
      return fail(ErrorCode::kInvalidInput,
                  "--env \"" + printable(word) + "\" is neither a file nor NAME=VALUE",
                  "For example --env job.sh or --env NCCL_ALGO=Ring");
    }
  }
  inputs.settings = settings.take();
  return {};
}

// ---------------------------------------------------------------- one run

Result<std::uint32_t> cuda_driver(const std::string& text) {
  if (text.empty()) return 0U;
  const std::size_t dot = text.find('.');
  const auto major = parse_integer<std::uint32_t>(std::string_view(text).substr(0, dot));
  const auto minor = dot == std::string::npos
                         ? std::optional<std::uint32_t>(0)
                         : parse_integer<std::uint32_t>(std::string_view(text).substr(dot + 1));
  if (!major || !minor || *major < 11 || *major > 99 || *minor > 9)
    return fail(ErrorCode::kInvalidInput, "--driver \"" + printable(text) + "\" is no CUDA version",
                "The newest CUDA that the nodes' driver runs, as nvidia-smi prints it: 12.8");
  return *major * 1000 + *minor * 10;  // as cudaDriverGetVersion counts
}

Result<std::uint64_t> memory_limit(const std::string& text) {
  if (text.empty()) return 0U;
  if (const auto bytes = parse_byte_count(text); bytes && *bytes != 0) return *bytes;
  return fail(ErrorCode::kInvalidInput, "--memory-limit \"" + printable(text) + "\" is no size",
              "For example 8 GiB");
}

std::vector<std::string> own_environment() {
  std::vector<std::string> entries;
  for (char** entry = environ; *entry != nullptr; ++entry)
    entries.emplace_back(*entry);
  return entries;
}

Result<nccl_run::NcclLibrary> library_of(const Options& options, const std::string& nccl) {
  const auto root = host::open_directory_root("/");
  if (!root) return std::unexpected(root.error());
  auto library = nccl_run::find_nccl(**root, nccl, own_environment());
  if (!library) return library;
  if (library->runtime == nccl_run::Runtime::kStripped)
    return fail(ErrorCode::kUnsupported,
                printable(library->path) + " has the CUDA runtime inside and no symbol table",
                "Use the library of NVIDIA's wheel (nvidia-nccl-cu12), which has one: --nccl PATH");
  if (library->runtime == nccl_run::Runtime::kInside && options.redirect == "no")
    return fail(
        ErrorCode::kUnsupported,
        printable(library->path) + " has the CUDA runtime inside: without --redirect it cannot be run",
        "Use a libnccl that is linked to libcudart.so, or drop --redirect no");
  return library;
}

Result<std::vector<angio::dryrun::NodeChange>> changes_of(const Options& options) {
  std::vector<angio::dryrun::NodeChange> changes;
  for (const std::string& text : options.node_changes) {
    auto change = angio::dryrun::parse_node_change(text);
    if (!change) return std::unexpected(std::move(change.error()));
    if (change->node >= options.nodes)
      return fail(
          ErrorCode::kInvalidInput,
          fmt::format("--node {}: there {} {} node{}, counted from 0", change->node,
                      options.nodes == 1 ? "is" : "are", options.nodes, options.nodes == 1 ? "" : "s"),
          "Raise --nodes");
    if (std::ranges::any_of(changes, [&](const auto& known) { return known.node == change->node; }))
      return fail(ErrorCode::kInvalidInput, fmt::format("--node {} is given twice", change->node),
                  "Join its parts with ';': --node '1:without=mlx5_0;order=1,0'");
    changes.push_back(std::move(*change));
  }
  return changes;
}

// NET/IB without adapters gives way to sockets, as it does when the job switches it off.
void choose_network(bool has_adapters, Prepared& prepared) {
  nccl_run::ClusterRequest& request = prepared.request;
  if (request.net != nccl_run::NetKind::kPhantom) return;
  const bool wanted = angio::dryrun::wants_sockets(request.environment);
  if (has_adapters && !wanted) return;
  request.net = nccl_run::NetKind::kSocket;
  if (request.nodes.size() > 1)
    prepared.notes.emplace_back(wanted
                                    ? "the job's settings choose sockets between nodes"
                                    : "no adapter: NCCL uses sockets between nodes, of this host's lo here");
}

Result<void> add_nodes(const Options& options, const Inputs& inputs, Prepared& prepared) {
  const auto changes = changes_of(options);
  if (!changes) return std::unexpected(changes.error());
  const auto driver = cuda_driver(options.driver);
  if (!driver) return std::unexpected(driver.error());
  angio::dryrun::DesignOptions design{options.gpu.empty() ? inputs.gpu : options.gpu, *driver, options.ranks};
  bool has_adapters = false;
  std::unordered_set<std::string> noted(prepared.notes.begin(), prepared.notes.end());
  for (std::uint32_t node = 0; node < options.nodes; ++node) {
    design.node = node;
    const auto change = std::ranges::find(*changes, node, &angio::dryrun::NodeChange::node);
    auto made =
        angio::dryrun::design_node(inputs.topology, design, change != changes->end() ? &*change : nullptr);
    if (!made) return std::unexpected(std::move(made.error()));
    const Settings& all = prepared.request.environment;
    angio::dryrun::take_adapters(change != changes->end() ? merged(all, change->environment) : all, *made);
    if (!options.gpu.empty() && !made->needs_model)
      made->notes.push_back(fmt::format(
          "--gpu {}: the topology describes its GPUs; only name, memory, PCIe and whether NVLS works are "
          "taken from the model",
          printable(options.gpu)));
    has_adapters = has_adapters || !made->hardware.nets.empty();
    for (std::string& note : made->notes)
      if (noted.insert(note).second) prepared.notes.push_back(std::move(note));
    prepared.trees.push_back(std::move(made->tree));
    prepared.request.nodes.push_back({std::move(made->hardware), std::move(made->topology),
                                      std::move(made->devices),
                                      change != changes->end() ? change->environment : Settings{}});
  }
  choose_network(has_adapters, prepared);
  return {};
}

}  // namespace

Result<Inputs> read_inputs(const Options& options) {
  Inputs inputs;
  if (auto taken = take_topology(options, inputs); !taken) return std::unexpected(std::move(taken.error()));
  if (auto useful = check_topology_options(options, inputs); !useful)
    return std::unexpected(std::move(useful.error()));
  if (auto taken = take_settings(options, inputs); !taken) return std::unexpected(std::move(taken.error()));
  return inputs;
}

Result<Variation> parse_variation(const std::string& option, const std::string& text) {
  Variation variation;
  variation.label = text.empty() ? "as given" : text;
  SettingList settings;
  for (const std::string_view word : split_words(text)) {
    if (word.starts_with("nccl=")) {
      variation.nccl = word.substr(5);
    } else if (!take_assignment(std::string(word), settings)) {
      return fail(
          ErrorCode::kInvalidInput, option + ": \"" + printable(word) + "\" is not NAME=VALUE",
          "For example " + option + " \"NCCL_ALGO=Ring NCCL_PROTO=LL\", or nccl=PATH for another library");
    }
  }
  variation.settings = settings.take();
  return variation;
}

Result<Prepared> prepare(const Options& options, const Inputs& inputs, const Variation& variation) {
  Prepared prepared;
  prepared.notes = inputs.notes;
  nccl_run::ClusterRequest& request = prepared.request;
  const auto collectives = angio::dryrun::parse_collectives(options.collectives);
  if (!collectives) return std::unexpected(collectives.error());
  const auto sizes = angio::dryrun::parse_sizes(options.sizes);
  if (!sizes) return std::unexpected(sizes.error());
  const auto limit = memory_limit(options.memory);
  if (!limit) return std::unexpected(limit.error());
  request.memory_limit = *limit;
  request.operations = angio::dryrun::make_operations(*collectives, *sizes);
  request.environment = merged(inputs.settings, variation.settings);
  request.net = options.net == "ib"       ? nccl_run::NetKind::kIb
                : options.net == "socket" ? nccl_run::NetKind::kSocket
                                          : nccl_run::NetKind::kPhantom;
  request.progress = options.progress;
  request.timeout = std::chrono::milliseconds(static_cast<std::int64_t>(options.timeout * 1000));
  if (auto added = add_nodes(options, inputs, prepared); !added)
    return std::unexpected(std::move(added.error()));
  auto library = library_of(options, variation.nccl.empty() ? options.nccl : variation.nccl);
  if (!library) return std::unexpected(std::move(library.error()));
  request.library = std::move(*library);
  request.stand_ins = {phantom::cudart12(), phantom::cudart13(), phantom::nvml(), phantom::net()};
  return prepared;
}

}  // namespace angio::app::dryrun
