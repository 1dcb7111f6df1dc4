#include "nccl_run/cluster.hpp"

#include <fmt/format.h>

#include <numeric>
#include <optional>

#include "base/text.hpp"
#include "host/root.hpp"
#include "nccl_run/environment.hpp"
#include "nccl_run/memory_file.hpp"
#include "nccl_run/shared_folder.hpp"
#include "nccl_run/watch.hpp"
#include "nccl_run/working_folder.hpp"

namespace angio::nccl_run {
namespace {

constexpr std::uint64_t kUnknownMemory = std::uint64_t{4} << 30U;  // where /proc/meminfo does not say

// What all nodes share.
struct Shared {
  std::vector<host::Descriptor> files;
  NodeFiles paths;
  Settings settings;
};

Result<void> check(const ClusterRequest& request) {
  const NcclLibrary& library = request.library;
  if (library.runtime == Runtime::kStripped) {
    return fail(ErrorCode::kUnsupported,
                fmt::format("{}: its CUDA runtime is linked in and it has no symbol table, so the runtime "
                            "cannot be replaced",
                            printable(library.path)),
                "The libnccl of the Python wheel nvidia-nccl-cu12 or -cu13 has one");
  }
  if (library.cuda_major != 12 && library.cuda_major != 13) {
    return fail(
        ErrorCode::kUnsupported,
        fmt::format("{}: built for CUDA {}; the stand-ins serve 12 and 13", printable(library.path),
                    library.cuda_major == 0 ? "of an unknown version" : std::to_string(library.cuda_major)));
  }
  if (request.nodes.empty()) return fail(ErrorCode::kBug, "a cluster of no nodes");
  for (const NodeRequest& node : request.nodes) {
    if (node.devices.empty()) return fail(ErrorCode::kBug, "a node without ranks");
  }
  return {};
}

Result<void> add_preload(Shared& shared, const char* name, std::span<const unsigned char> library) {
  if (library.empty()) return fail(ErrorCode::kBug, fmt::format("no stand-in {} in this program", name));
  Result<host::Descriptor> file = make_memory_file(name, library);
  if (!file) return std::unexpected(file.error());
  shared.paths.preload.push_back(path_of(*file));
  shared.files.push_back(std::move(*file));
  return {};
}

Result<Shared> make_shared_files(const ClusterRequest& request) {
  Shared shared;
  const StandIns& all = request.stand_ins;
  const bool is_13 = request.library.cuda_major == 13;
  Result<void> added = add_preload(shared, "cudart", is_13 ? all.cudart13 : all.cudart12);
  if (added) added = add_preload(shared, "nvml", all.nvml);
  if (added && request.net == NetKind::kPhantom) added = add_preload(shared, "net", all.net);
  if (!added) return std::unexpected(added.error());
  return shared;
}

std::uint32_t world_size(const ClusterRequest& request) {
  return std::accumulate(request.nodes.begin(), request.nodes.end(), 0U,
                         [](std::uint32_t sum, const NodeRequest& node) {
                           return sum + static_cast<std::uint32_t>(node.devices.size());
                         });
}

NodeScript make_script(const ClusterRequest& request, std::uint32_t number) {
  NodeScript script;
  script.library = request.library.path;
  script.redirect = request.library.runtime == Runtime::kInside;
  script.node = number;
  script.nodes = static_cast<std::uint32_t>(request.nodes.size());
  for (std::uint32_t i = 0; i < number; ++i)
    script.first_rank += static_cast<std::uint32_t>(request.nodes[i].devices.size());
  script.devices = request.nodes[number].devices;
  script.ranks = static_cast<std::uint32_t>(script.devices.size());
  script.world = world_size(request);
  script.operations = request.operations;
  script.estimates = request.estimates;
  script.progress = request.progress;
  return script;
}

// The descriptors of a node's own files close here as soon as the node has them.
Result<NodeProcess> start(const ClusterRequest& request, const Shared& shared, std::uint32_t number) {
  const NodeRequest& node = request.nodes[number];
  Result<host::Descriptor> topology = make_memory_file("topology", node.topology);
  Result<host::Descriptor> hardware = make_memory_file("hardware", phantom::write_hardware(node.hardware));
  if (!topology) return std::unexpected(topology.error());
  if (!hardware) return std::unexpected(hardware.error());
  NodeFiles files = shared.paths;
  files.topology = path_of(*topology);
  files.hardware = path_of(*hardware);
  NodeStart how;
  how.program = request.program.empty() ? "/proc/self/exe" : request.program;
  how.environment = node_environment(number, request.net, files, shared.settings, node.environment);
  for (const host::Descriptor& file : shared.files)
    how.inherited.push_back(file.get());
  how.inherited.push_back(topology->get());
  how.inherited.push_back(hardware->get());
  Result<NodeProcess> process = start_node(how);
  if (!process) return process;
  process->to_send = write_script(make_script(request, number)) + "\n";
  send_some(*process);
  return process;
}

// Settings of one node alone go the same way as those of all.
void hand_all_on(ClusterRequest& request, Shared& shared, const host::Root& root,
                 std::vector<std::string>& notes) {
  const auto find = [&root](const std::string& path) {
    const std::string whole = path_from_here(path);
    return !whole.empty() && root.exists(whole) ? std::optional(whole) : std::nullopt;
  };
  HandedOn all = hand_on(request.environment, request.net, find);
  shared.settings = std::move(all.settings);
  notes = std::move(all.notes);
  for (std::size_t i = 0; i < request.nodes.size(); ++i) {
    HandedOn own = hand_on(request.nodes[i].environment, request.net, find);
    request.nodes[i].environment = std::move(own.settings);
    for (const std::string& note : own.notes)
      notes.push_back(fmt::format("node {}: {}", i, note));
  }
  if (root.exists("/etc/nccl.conf"))
    notes.emplace_back("/etc/nccl.conf of this machine is read by NCCL and may differ from the job's");
}

}  // namespace

Result<ClusterOutcome> run_cluster(const ClusterRequest& request,
                                   const std::function<void(std::uint32_t node, std::string_view lines)>& log,
                                   const std::function<bool()>& stop) {
  if (const Result<void> checked = check(request); !checked) return std::unexpected(checked.error());
  const auto root = host::open_directory_root("/");
  if (!root) return std::unexpected(root.error());
  const MoreFiles more_files;
  const KeptEnds kept_ends;
  Result<SharedFolder> folder = SharedFolder::make(**root);
  if (!folder) return std::unexpected(folder.error());
  Result<Shared> shared = make_shared_files(request);
  if (!shared) return std::unexpected(shared.error());
  shared->paths.shared_memory = folder->path();
  ClusterRequest cleaned = request;
  std::vector<std::string> notes;
  hand_all_on(cleaned, *shared, **root, notes);
  const std::uint64_t limit = request.memory_limit != 0
                                  ? request.memory_limit
                                  : available_memory(**root).value_or(kUnknownMemory) / 2;
  Watch watch(cleaned, **root, limit, log, stop);
  for (std::uint32_t i = 0; i < cleaned.nodes.size() && !watch.is_over(); ++i) {
    Result<NodeProcess> node = start(cleaned, *shared, i);
    if (!node) return std::unexpected(node.error());
    watch.add(std::move(*node));
    watch.turn(std::chrono::milliseconds(0));
  }
  watch.run();
  ClusterOutcome outcome = watch.take_outcome();
  outcome.notes = std::move(notes);
  return outcome;
}

}  // namespace angio::nccl_run
