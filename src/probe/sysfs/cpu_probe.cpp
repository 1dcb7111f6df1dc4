#include "probe/sysfs/cpu_probe.hpp"

#include <algorithm>
#include <set>
#include <vector>

#include "probe/place.hpp"
#include "probe/sysfs/cpu_allowed.hpp"
#include "probe/sysfs/cpu_cache.hpp"
#include "probe/sysfs/cpu_model.hpp"
#include "probe/sysfs/cpu_sets.hpp"
#include "probe/sysfs/cpu_topology.hpp"

namespace angio::probe {
namespace {

template <typename T>
Observed<T> told(const Observed<std::string>& text, const std::optional<T>& value) {
  if (value) return Observed<T>::known(*value, text.source());
  if (text.is_known() || text.is_absent()) return Observed<T>::absent(text.source());
  return Observed<T>::unreadable(text.reason(), text.source(), text.error());
}

// cpuinfo of a POWER machine does not tell its byte order, and uname's word depends on it.
std::optional<std::string> complete_architecture(const host::Root& root, std::optional<std::string> word) {
  if (word != "ppc64") return word;
  const auto order = root.read("/sys/kernel/cpu_byteorder");
  if (order && trim(*order) == "little") word = "ppc64le";
  return word;
}

CpuInfo read_model(const host::Root& root, model::Machine& machine) {
  const Place proc(root, machine, "/proc");
  const Observed<std::string> text = proc.text("cpuinfo");
  CpuInfo info = parse_cpuinfo(text.value_or(""));
  model::CpuModel& model = machine.cpus.model;
  model.architecture = proc.text("sys/kernel/arch");
  if (!model.architecture.is_known()) {
    model.architecture = told(text, complete_architecture(root, info.architecture));
  }
  model.vendor = told(text, info.vendor);
  model.name = told(text, info.name);
  model.family = told(text, info.family);
  model.model = told(text, info.model);
  model.stepping = told(text, info.stepping);
  return info;
}

// Where the kernel has no "online" file: every cpuN that does not say "online: 0".
CpuSet online_from_directories(const Place& place, const CpuInfo& info) {
  CpuSet online;
  for (const std::string& name : place.names("").value_or({})) {
    const auto number = parse_numbered_name(name, "cpu");
    if (!number) continue;
    const auto state = place.root().read(place.path(name) + "/online");
    if (!state || trim(*state) != "0") online.insert(*number);
  }
  if (!online.empty()) return online;
  for (const CpuInfo::Processor& processor : info.processors)
    online.insert(processor.number);
  return online;
}

// The kernel's "offline" also counts numbers no CPU was ever plugged in for; those are no trouble.
Observed<CpuSet> offline_cpus(const Place& place, const model::Cpus& cpus) {
  const CpuSet* present = cpus.present.get();
  if (present != nullptr) return Observed<CpuSet>::known(*present - cpus.online, place.source("present"));
  return observe_cpu_set(place, "offline");
}

void read_sets(const Place& place, const CpuInfo& info, model::Cpus& cpus) {
  const Observed<CpuSet> online = observe_cpu_set(place, "online");
  cpus.online = online.value_or({});
  if (cpus.online.empty()) cpus.online = online_from_directories(place, info);
  cpus.present = observe_cpu_set(place, "present");
  cpus.offline = offline_cpus(place, cpus);
  cpus.isolated = observe_cpu_set(place, "isolated");
  cpus.nohz_full = observe_cpu_set(place, "nohz_full");
}

// Directories with scaling_governor: one per policy, or one per CPU on kernels before 4.3.
std::vector<std::string> frequency_directories(const Place& place, const host::Names& names,
                                               const CpuSet& online) {
  std::vector<std::string> directories;
  for (const std::string& name : names) {
    if (name.starts_with("policy")) directories.push_back(place.path("cpufreq/" + name));
  }
  if (!directories.empty() || online.empty()) return directories;
  const std::string first = place.path("cpu" + std::to_string(*online.first()) + "/cpufreq");
  if (!place.root().exists(first)) return directories;
  for (const std::uint32_t cpu : online.members()) {
    directories.push_back(place.path("cpu" + std::to_string(cpu) + "/cpufreq"));
  }
  return directories;
}

// "performance", or "performance, powersave" when the directories differ.
std::string governors(const host::Root& root, const std::vector<std::string>& directories,
                      std::string first) {
  std::set<std::string> kinds{std::move(first)};
  for (std::size_t i = 1; i < directories.size(); ++i) {
    const auto governor = root.read(directories[i] + "/scaling_governor");
    if (governor) kinds.emplace(trim(*governor));
  }
  return join(std::vector<std::string>(kinds.begin(), kinds.end()), ", ");
}

void read_frequency(const host::Root& root, const Place& place, model::Machine& machine) {
  model::Cpus& cpus = machine.cpus;
  const Observed<host::Names> names = place.names("cpufreq");
  const std::vector<std::string> directories = frequency_directories(place, names.value_or({}), cpus.online);
  if (directories.empty()) {
    cpus.governor = names.is_unreadable()
                        ? Observed<std::string>::unreadable(names.reason(), names.source(), names.error())
                        : Observed<std::string>::absent(names.source());
    cpus.frequency_driver = cpus.governor;
    return;
  }
  const Place first(root, machine, directories.front());
  cpus.frequency_driver = first.text("scaling_driver");
  cpus.governor = first.text("scaling_governor");
  if (!cpus.governor.is_known()) return;
  cpus.governor = Observed<std::string>::known(governors(root, directories, *cpus.governor.get()),
                                               cpus.governor.source());
}

}  // namespace

void probe_cpus(const host::Root& root, model::Machine& machine) {
  const CpuInfo info = read_model(root, machine);
  const Place place(root, machine, "/sys/devices/system/cpu");
  read_sets(place, info, machine.cpus);
  read_cpu_topology(place, info, machine.cpus);
  read_caches(place, machine);
  read_frequency(root, place, machine);
  read_allowed_cpus(root, machine);
}

}  // namespace angio::probe
