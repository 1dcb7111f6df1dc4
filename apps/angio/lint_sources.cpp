#include "lint_sources.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>
#include <system_error>

#include "base/text.hpp"
#include "command.hpp"
#include "host/root.hpp"
#include "load_machine.hpp"
#include "probe/live_root.hpp"

namespace angio::app {
namespace {

namespace fs = std::filesystem;

// Larger files of a folder are no scripts.
constexpr std::uintmax_t kLargest = std::uintmax_t{8} << 20U;

bool has_ending(const std::string& name) {
  constexpr std::array<std::string_view, 17> kEndings{
      ".sh",         ".bash",    ".sbatch", ".slurm", ".job", ".env", ".yaml", ".yml",     ".py",
      ".dockerfile", ".envfile", ".pbs",    ".csh",   ".ksh", ".zsh", ".ipy",  "nccl.conf"};
  return std::ranges::any_of(kEndings, [&](std::string_view ending) { return name.ends_with(ending); });
}

bool is_script_name(const std::string& file_name) {
  const std::string name = to_lower(file_name);
  return has_ending(name) || name == "dockerfile" || name == "containerfile" ||
         name.starts_with("dockerfile.") || name == ".env";
}

// Files of a folder that lint can read, sorted; hidden folders are left out.
Result<std::vector<std::string>> walk(const std::string& folder) {
  std::vector<std::string> files;
  std::error_code error;
  fs::recursive_directory_iterator at(folder, fs::directory_options::skip_permission_denied, error);
  if (error) return fail(ErrorCode::kIo, folder + ": " + error.message());
  for (; at != fs::recursive_directory_iterator(); at.increment(error)) {
    if (error) break;
    const std::string name = at->path().filename().string();
    std::error_code ignored;
    if (at->is_directory(ignored)) {
      if (name.starts_with('.') || name == "node_modules") at.disable_recursion_pending();
    } else if (at->is_regular_file(ignored) && is_script_name(name) && at->file_size(ignored) <= kLargest) {
      files.push_back(at->path().string());
    }
  }
  std::ranges::sort(files);
  return files;
}

Result<void> add_file(const std::string& path, LintInput& input) {
  auto text = read_input(path);
  if (!text) return std::unexpected(std::move(text.error()));
  if (text->find('\0') != std::string::npos) {
    return fail(ErrorCode::kInvalidInput, printable(path) + " is no text: it holds NUL bytes",
                "Name a script, env file, nccl.conf, Dockerfile, YAML or Python file");
  }
  const lint::FileKind kind = lint::recognise(path, *text);
  input.scripts.push_back(lint::read_script(path, std::move(*text), kind));
  return {};
}

Result<void> add_path(const std::string& path, LintInput& input) {
  std::error_code ignored;
  if (path == "-" || !fs::is_directory(path, ignored)) return add_file(path, input);
  const auto files = walk(path);
  if (!files) return std::unexpected(files.error());
  if (files->empty()) {
    return fail(ErrorCode::kNotFound,
                printable(path) + ": no script, env file, nccl.conf, Dockerfile, YAML or Python file in it");
  }
  for (const std::string& file : *files) {
    // A binary with such a name among many files is passed over, not the end.
    if (auto added = add_file(file, input); !added && files->size() == 1) return added;
  }
  return {};
}

void add_conf(const host::Root& root, const std::string& path, const std::string& name, LintInput& input) {
  if (auto text = root.read(path))
    input.scripts.push_back(lint::read_script(name, std::move(*text), lint::FileKind::kNcclConf));
}

using Variables = std::vector<std::pair<std::string, std::string>>;

std::string value_of(const Variables& variables, std::string_view name) {
  for (const auto& [key, value] : variables) {
    if (key == name) return value;
  }
  return {};
}

Variables split_environment(std::string_view environ) {
  Variables variables;
  for (const std::string_view entry : split(environ, '\0')) {
    const std::size_t equals = entry.find('=');
    if (equals != std::string_view::npos && equals > 0)
      variables.emplace_back(entry.substr(0, equals), entry.substr(equals + 1));
  }
  std::ranges::sort(variables);
  return variables;
}

// "2.21.5" of the library that a process has mapped.
std::string mapped_nccl(const host::Root& root, const std::string& process) {
  const auto maps = root.read(process + "/maps");
  if (!maps) return {};
  const std::size_t at = maps->find("/libnccl.so.2");
  if (at == std::string::npos) return {};
  const std::size_t begin = maps->rfind(' ', at) + 1;
  const std::string path = maps->substr(begin, maps->find('\n', at) - begin);
  const std::string target = root.read_link(path).value_or(path);
  const std::size_t version = target.rfind("libnccl.so.");
  const std::string number = version == std::string::npos ? "" : target.substr(version + 11);
  return std::ranges::count(number, '.') == 2 ? number : "";
}

void note_version(const std::string& version, const std::string& source, LintInput& input) {
  if (version.empty() || !input.nccl_version.empty()) return;
  input.nccl_version = version;
  input.nccl_version_source = source;
}

Result<void> add_process(const host::Root& root, std::uint32_t number, LintInput& input) {
  const std::string folder = fmt::format("/proc/{}", number);
  const auto environ = root.read(folder + "/environ");
  if (!environ && !root.exists(folder))
    return fail(ErrorCode::kNotFound, fmt::format("there is no process {}", number));
  if (!environ) {
    return fail(ErrorCode::kDenied,
                fmt::format("environment of process {}: {}", number, errno_text(environ.error().error)),
                "Run it as the user of the process, or as root");
  }
  const Variables variables = split_environment(*environ);
  const std::string name = fmt::format("process {}", number);
  input.scripts.push_back(lint::script_of_environment(name, variables));
  note_version(mapped_nccl(root, folder), fmt::format("libnccl mapped by process {}", number), input);
  const std::string own = value_of(variables, "NCCL_CONF_FILE");
  const std::string home = value_of(variables, "HOME");
  if (!own.empty()) {
    add_conf(root, folder + "/root" + own, own, input);
  } else if (!home.empty()) {
    add_conf(root, folder + "/root" + home + "/.nccl.conf", home + "/.nccl.conf", input);
  }
  add_conf(root, folder + "/root/etc/nccl.conf", "/etc/nccl.conf", input);
  return {};
}

void add_environment(const host::Root& root, LintInput& input) {
  Variables variables;
  for (const std::string& name : root.list("/@env").value_or(host::Names())) {
    if (auto value = root.read("/@env/" + name)) variables.emplace_back(name, *value);
  }
  const std::string own = value_of(variables, "NCCL_CONF_FILE");
  input.scripts.push_back(lint::script_of_environment("environment", variables));
  if (own.empty()) {
    add_conf(root, "/@home/.nccl.conf", "~/.nccl.conf", input);
  } else {
    add_conf(root, own, own, input);
  }
  add_conf(root, "/etc/nccl.conf", "/etc/nccl.conf", input);
}

Result<void> add_live(const LintSources& sources, LintInput& input) {
  if (!sources.environment && sources.processes.empty()) return {};
  auto root = probe::make_live_machine_root();
  if (!root) return std::unexpected(std::move(root.error()));
  if (sources.environment) add_environment(**root, input);
  for (const std::uint32_t process : sources.processes) {
    if (auto added = add_process(**root, process, input); !added) return added;
  }
  auto machine = load_machine("");
  if (machine) input.machines.push_back(std::move(*machine));
  return {};
}

Variables settings_of(const std::vector<model::Setting>& settings) {
  Variables variables;
  for (const model::Setting& setting : settings)
    variables.emplace_back(setting.name, setting.value);
  return variables;
}

std::string nccl_of(const std::vector<model::LibraryFile>& libraries) {
  for (const model::LibraryFile& library : libraries) {
    if (library.name.starts_with("libnccl.so") && std::ranges::count(library.version, '.') == 2)
      return library.version;
  }
  return {};
}

// The settings that a snapshot holds: of each process that has some, else of the machine.
void add_settings(const model::Machine& machine, LintInput& input) {
  bool any = false;
  for (const model::Process& process : machine.processes) {
    if (process.settings.empty()) continue;
    input.scripts.push_back(lint::script_of_environment(
        fmt::format("{} process {}", machine.name, process.id), settings_of(process.settings)));
    any = true;
  }
  if (!any)
    input.scripts.push_back(
        lint::script_of_environment(machine.name, settings_of(machine.software.settings)));
}

Result<void> add_snapshots(const LintSources& sources, LintInput& input) {
  const bool alone = sources.files.empty() && !sources.environment && sources.processes.empty();
  for (const std::string& path : sources.snapshots) {
    auto machine = load_machine(path);
    if (!machine) return std::unexpected(std::move(machine.error()).with_context("--snap"));
    for (const model::Process& process : machine->processes) {
      note_version(nccl_of(process.libraries),
                   fmt::format("libnccl mapped by process {} of {}", process.id, machine->name), input);
    }
    note_version(nccl_of(machine->software.libraries), "libnccl of " + machine->name, input);
    if (alone) add_settings(*machine, input);
    input.machines.push_back(std::move(*machine));
  }
  return {};
}

}  // namespace

Result<LintInput> read_lint_sources(const LintSources& sources) {
  LintInput input;
  if (auto added = add_live(sources, input); !added) return std::unexpected(std::move(added.error()));
  if (auto added = add_snapshots(sources, input); !added) return std::unexpected(std::move(added.error()));
  for (const std::string& path : sources.files) {
    if (auto added = add_path(path, input); !added) return std::unexpected(std::move(added.error()));
  }
  return input;
}

}  // namespace angio::app
