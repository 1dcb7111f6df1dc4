#include "probe/process/process_probe.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "probe/place.hpp"
#include "probe/process/process_facts.hpp"
#include "probe/process/process_limits.hpp"
#include "probe/process/process_parts.hpp"
#include "probe/process/wheels.hpp"
#include "probe/procfs/software_parts.hpp"

namespace angio::probe {
namespace {

constexpr std::size_t kMaxProcesses = 1024;
constexpr std::size_t kMaxThreads = 4096;  // of one process

void add_note(model::Machine& machine, std::string_view id, std::string text, std::string_view remedy) {
  for (model::Note& note : machine.notes) {
    if (note.id == id) return void(++note.count);
  }
  machine.notes.push_back({std::string(id), std::move(text), 1, std::string(remedy)});
}

class ProcessProbe {
 public:
  ProcessProbe(const host::Root& root, model::Machine& machine, std::uint32_t id)
      : root_(root), machine_(machine), place_(root, machine, "/proc/" + std::to_string(id)) {
    process_.id = id;
  }

  std::optional<model::Process> run(std::vector<std::uint32_t> gpus) {
    process_.gpus = std::move(gpus);
    const host::Read<std::string> status = root_.read(place_.path("status"));
    // Asked in any case: a snapshot's reader finds the probed processes by it.
    const host::Read<std::string> maps = root_.read(place_.path("maps"));
    if (!status) return gone(status.error());
    command();
    process::take_status(place_, status, process_);
    threads();
    process::take_memory(place_, process_);
    libraries(maps);
    process::probe_group_limits(root_, machine_, process_);
    process_.memlock = place_.parsed("limits", process::parse_memlock);
    settings();
    return std::move(process_);
  }

 private:
  std::optional<model::Process> gone(const host::ReadError& error) {
    const std::string what = "process " + std::to_string(process_.id);
    if (error.error == host::kNotCollected) {
      add_note(machine_, "process.not-collected", what + " was not collected", "angio collect --pid");
    } else {
      add_note(machine_, "process.gone", what + " is not to be seen here: " + errno_text(error.error),
               "it ended, or runs in another container: collect on the host itself");
    }
    return std::nullopt;
  }

  void command() {
    process_.command = process::command_of(root_.read(place_.path("cmdline")).value_or(""));
    if (process_.command.empty()) process_.command = trim(root_.read(place_.path("comm")).value_or(""));
  }

  void threads() {
    host::Read<host::Names> ids = root_.list(place_.path("task"));
    if (!ids) return;
    const std::size_t all = ids->size();
    if (all > kMaxThreads) {
      ids->resize(kMaxThreads);
      add_note(machine_, "process.threads",
               "process " + std::to_string(process_.id) + " has " + std::to_string(all) + " threads; " +
                   std::to_string(kMaxThreads) + " were read",
               "");
    }
    for (const std::string& name : *ids) {
      const auto id = parse_integer<std::uint32_t>(name);
      if (id) process_.threads.push_back(thread(*id, name));
    }
    std::ranges::sort(process_.threads, {}, &model::Thread::id);
  }

  model::Thread thread(std::uint32_t id, const std::string& name) {
    model::Thread thread;
    thread.id = id;
    const std::string directory = place_.path("task") + "/" + name;
    const host::Read<std::string> status = root_.read(directory + "/status");
    const std::string status_text = status.value_or("");
    const auto list = process::status_field(status_text, "Cpus_allowed_list");
    const auto allowed = list ? parse_cpu_list(*list) : std::nullopt;
    thread.name = process::status_field(status_text, "Name").value_or("");
    thread.allowed = process::value_or_reason(place_, "task", allowed, status);
    const host::Read<std::string> stat = root_.read(directory + "/stat");
    thread.last_cpu = process::value_or_reason(place_, "task", process::last_cpu(stat.value_or("")), stat);
    return thread;
  }

  void libraries(const host::Read<std::string>& maps) {
    for (const std::string& path : process::mapped_libraries(maps.value_or(""))) {
      model::LibraryFile library;
      library.name = path.substr(path.rfind('/') + 1);
      library.path = path;
      library.version = software::library_version(library.name);
      if (library.version.empty()) {
        // A process in a container names files of its own root.
        const std::string inside = place_.path("root") + path;
        library.version =
            software::library_version(software::resolve_library(root_, root_.exists(path) ? path : inside));
      }
      library.source = place_.source("maps");
      wheel(library);
      process_.libraries.push_back(std::move(library));
    }
  }

  // The NCCL wheel beside a mapped library of the same Python: its version, mapped or not.
  void wheel(model::LibraryFile& library) {
    const std::string folder(process::packages_folder(library.path));
    if (folder.empty()) return;
    const std::string file = folder + "/nvidia/nccl/lib/libnccl.so.2";
    const bool known =
        std::ranges::any_of(machine_.software.libraries,
                            [&](const model::LibraryFile& installed) { return installed.path == file; });
    if (known && library.path != file) return;
    const std::optional<std::string> version = process::nccl_wheel_version(root_, folder);
    if (!version) return;
    if (library.path == file) library.version = *version;
    if (!known) machine_.software.libraries.push_back({"libnccl.so.2", file, *version, library.source});
  }

  void settings() {
    const std::string environ = root_.read(place_.path("environ")).value_or("");
    for (const std::string_view entry : split(environ, '\0')) {
      const std::size_t equals = entry.find('=');
      if (equals == entry.npos || equals == 0) continue;
      process_.settings.push_back({std::string(entry.substr(0, equals)),
                                   std::string(entry.substr(equals + 1)), place_.source("environ")});
    }
    std::ranges::sort(process_.settings, {}, &model::Setting::name);
  }

  const host::Root& root_;
  model::Machine& machine_;
  Place place_;
  model::Process process_;
};

}  // namespace

void probe_processes(const host::Root& root, const std::vector<std::uint32_t>& named,
                     model::Machine& machine) {
  process::GpusByProcess all = process::gpu_users(root, machine);
  for (const std::uint32_t id : named)
    all.try_emplace(id);
  std::size_t taken = 0;
  for (auto& [id, gpus] : all) {
    if (++taken > kMaxProcesses) {
      add_note(machine, "process.many",
               "more than " + std::to_string(kMaxProcesses) + " processes use a GPU; the rest was left out",
               "");
      return;
    }
    std::optional<model::Process> process = ProcessProbe(root, machine, id).run(std::move(gpus));
    if (process) machine.processes.push_back(std::move(*process));
  }
}

}  // namespace angio::probe
