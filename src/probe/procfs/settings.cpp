#include <algorithm>
#include <set>

#include "probe/procfs/software_parts.hpp"

namespace angio::probe::software {
namespace {

std::optional<std::optional<std::uint64_t>> parse_bound(std::string_view word) {
  if (word == "unlimited") return std::optional<std::uint64_t>();
  const auto number = parse_integer<std::uint64_t>(word);
  if (!number) return std::nullopt;
  return std::optional(number);
}

void probe_limits(const host::Root& root, model::Machine& machine) {
  const Place limits(root, machine, "/@limits");
  machine.software.memlock = limits.parsed("memlock", parse_limit);
  machine.software.open_files = limits.parsed("nofile", parse_limit);
}

void probe_shared_memory(const host::Root& root, model::Machine& machine) {
  const Place sizes(root, machine, "/@statfs");
  const auto part = [&](std::size_t index) {
    return sizes.parsed("dev/shm", [index](std::string_view text) -> std::optional<Bytes> {
      const std::vector<std::string_view> words = split_words(text);
      const auto number = words.size() == 2 ? parse_integer<std::uint64_t>(words[index]) : std::nullopt;
      return number ? std::optional(Bytes{*number}) : std::nullopt;
    });
  };
  machine.software.shm_size = part(0);
  machine.software.shm_free = part(1);
}

void probe_environment(const host::Root& root, model::Machine& machine) {
  const Place env(root, machine, "/@env");
  const auto names = env.names("");
  if (!names.is_known()) return;
  for (const std::string& name : *names.get()) {
    const host::Read<std::string> value = root.read(env.path(name));
    if (value) machine.software.settings.push_back({name, *value, env.source("")});
  }
}

const model::Setting* find_setting(const model::Software& software, std::string_view name) {
  const auto found = std::ranges::find(software.settings, name, &model::Setting::name);
  return found == software.settings.end() ? nullptr : &*found;
}

// KEY=VALUE a line, "#" begins a comment line: nccl/src/misc/param.cc. What the environment set, stays.
void probe_nccl_file(const host::Root& root, model::Machine& machine, const std::string& path) {
  const host::Read<std::string> content = root.read(path);
  if (!content) return;
  const std::uint32_t place = machine.places.add(name_of_path(path));
  std::uint32_t number = 0;
  for (const std::string_view line : split_lines(*content)) {
    ++number;
    const std::size_t equals = line.find('=');
    if (line.starts_with('#') || equals == line.npos) continue;
    const std::string_view name = trim(line.substr(0, equals));
    if (!name.starts_with("NCCL_") || find_setting(machine.software, name) != nullptr) continue;
    machine.software.settings.push_back(
        {std::string(name), std::string(trim(line.substr(equals + 1))), {place, number, ""}});
  }
}

}  // namespace

std::optional<model::Limit> parse_limit(std::string_view text) {
  const std::vector<std::string_view> words = split_words(text);
  if (words.size() < 2) return std::nullopt;
  const auto soft = parse_bound(words[0]);
  const auto hard = parse_bound(words[1]);
  if (!soft || !hard) return std::nullopt;
  return model::Limit{*soft, *hard};
}

void probe_settings(const host::Root& root, model::Machine& machine) {
  probe_limits(root, machine);
  probe_shared_memory(root, machine);
  probe_environment(root, machine);
  // NCCL's order: the environment, then $NCCL_CONF_FILE or else ~/.nccl.conf, then /etc/nccl.conf.
  const model::Setting* file = find_setting(machine.software, "NCCL_CONF_FILE");
  const bool named = file != nullptr && file->value.starts_with('/');
  probe_nccl_file(root, machine, named ? file->value : "/@home/.nccl.conf");
  probe_nccl_file(root, machine, "/etc/nccl.conf");
}

void probe_fabric_manager(const host::Root& root, model::Machine& machine) {
  Observed<bool>& running = machine.software.fabric_manager_running;
  const Place top(root, machine, "");  // leaves are whole paths
  // The service's control group lists its processes: systemd, cgroup v2 and v1.
  for (const char* group : {"sys/fs/cgroup/system.slice/nvidia-fabricmanager.service/cgroup.procs",
                            "sys/fs/cgroup/systemd/system.slice/nvidia-fabricmanager.service/cgroup.procs"}) {
    const auto processes = top.text(group);
    if (!processes.value_or("").empty()) {
      running = Observed<bool>::known(true, processes.source());
      return;
    }
  }
  const Place proc(root, machine, "/proc");
  const bool has_switches =
      root.exists("/proc/driver/nvidia-nvswitch") || root.exists("/dev/nvidia-nvswitchctl");
  if (!has_switches) {
    running = Observed<bool>::absent(proc.source("driver/nvidia-nvswitch"));
    return;
  }
  const auto names = proc.names("");
  if (!names.is_known()) {
    running = Observed<bool>::unreadable(names.reason(), names.source(), names.error());
    return;
  }
  constexpr std::string_view kName = "nv-fabricmanager";
  constexpr std::size_t kCommLength = 15;  // TASK_COMM_LEN - 1
  for (const std::string& name : *names.get()) {
    if (!parse_integer<std::uint32_t>(name)) continue;
    const host::Read<std::string> comm = root.read("/proc/" + name + "/comm");
    if (comm && trim(*comm) == kName.substr(0, kCommLength)) {
      running = Observed<bool>::known(true, proc.source(""));
      return;
    }
  }
  // A container sees only its own processes.
  const bool whole = machine.software.container.is_absent();
  running = whole ? Observed<bool>::known(false, proc.source(""))
                  : Observed<bool>::unreadable(model::Reason::kUnsupported, proc.source(""));
}

}  // namespace angio::probe::software
