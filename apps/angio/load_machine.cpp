#include "load_machine.hpp"

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "base/text.hpp"
#include "command.hpp"
#include "host/root.hpp"
#include "import/import.hpp"
#include "job_logs.hpp"
#include "probe/live_root.hpp"
#include "probe/machine_probe.hpp"
#include "probe/snapshot/snapshot.hpp"

namespace angio::app {
namespace {

// The first line of every snapshot, whatever its version: the reader words what is wrong with it.
constexpr std::string_view kSnapshotStart = "angio snapshot";

Result<model::Machine> load_live() {
  auto root = probe::make_live_machine_root();
  if (!root) return std::unexpected(std::move(root.error()));
  model::Machine machine = probe::probe_machine(**root, {});
  if (machine.origin.empty()) machine.origin = "live";
  return machine;
}

Result<model::Machine> load_directory(const std::string& path) {
  auto root = host::open_directory_root(path);
  if (!root) return std::unexpected(std::move(root.error()));
  // Such trees have one directory above the files: hwloc-gather-topology packs them so.
  if (!(*root)->exists("/sys") && !(*root)->exists("/proc")) {
    return fail(
        ErrorCode::kInvalidInput, printable(path) + ": no /sys and no /proc in this directory",
        "Name the directory that holds sys and proc, or the snapshots in it: " + printable(path) + "/*.snap");
  }
  model::Machine machine = probe::probe_machine(**root, {});
  machine.live = false;
  const std::string name = std::filesystem::path(path).lexically_normal().filename().string();
  if (machine.name.empty()) machine.name = name.empty() || name == "." ? "captured tree" : name;
  if (machine.origin.empty() || machine.origin == "live") machine.origin = "directory " + path;
  return machine;
}

struct Artefact {
  std::string name;
  std::string content;
};

// Text of another tool, or a log of a job alone.
Result<model::Machine> import_text(std::string_view bytes, const std::string& name) {
  const import::ForeignKind kind = import::recognise(bytes);
  if (kind != import::ForeignKind::kUnknown && kind != import::ForeignKind::kJobLog)
    return import::import_machine(bytes, name);
  model::Machine machine;
  machine.name = name;
  machine.origin = "log " + name;
  machine.imported = true;
  JobLogs logs;
  logs.add(bytes, name);
  if (logs.finish(machine).evidence) return machine;
  return import::import_machine(bytes, name);  // words the error, or has the lines about memory
}

// Files of the job that `angio collect --job` put into the snapshot.
std::vector<Artefact> take_artefacts(const host::Recording& recording) {
  constexpr std::string_view kPlace = "/@job/";
  std::vector<Artefact> artefacts;
  for (auto at = recording.lower_bound(kPlace); at != recording.end() && at->first.starts_with(kPlace);
       ++at) {
    const auto& content = at->second.content;
    if (content && *content) artefacts.push_back({at->first.substr(kPlace.size()), **content});
  }
  return artefacts;
}

}  // namespace

Result<model::Machine> load_machine(const std::string& path) {
  if (path.empty()) return load_live();
  std::error_code ignored;
  if (path != "-" && std::filesystem::is_directory(path, ignored)) return load_directory(path);
  auto bytes = read_input(path);
  if (!bytes) return std::unexpected(std::move(bytes.error()));
  const std::string name = path == "-" ? "standard input" : std::filesystem::path(path).filename().string();
  if (!bytes->starts_with(kSnapshotStart)) return import_text(*bytes, name);
  auto snapshot = probe::parse_snapshot(*bytes, name);
  if (!snapshot) return std::unexpected(std::move(snapshot.error()));
  const std::vector<Artefact> artefacts = take_artefacts(snapshot->recording);
  model::Machine machine = probe::machine_of(std::move(*snapshot), name);
  JobLogs logs;
  for (const Artefact& artefact : artefacts)
    logs.add(artefact.content, artefact.name);
  logs.finish(machine);
  return machine;
}

bool is_snapshot_file(const std::string& path) {
  std::string start(kSnapshotStart.size(), '\0');
  std::ifstream file(path);
  return path != "-" && file.read(start.data(), static_cast<std::streamsize>(start.size())) &&
         start == kSnapshotStart;
}

Result<void> add_logs(const std::vector<std::string>& files, model::Machine& machine) {
  JobLogs logs;
  for (const std::string& file : files) {
    if (auto added = logs.add_file(file); !added) return added;
  }
  logs.finish(machine);
  return {};
}

}  // namespace angio::app
