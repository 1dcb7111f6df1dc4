#include "probe/process/process_limits.hpp"

#include <algorithm>

#include "probe/place.hpp"
#include "probe/process/process_parts.hpp"

namespace angio::probe::process {
namespace {

constexpr int kMaxDepth = 32;
constexpr const char* kEventsV2 = "memory.events";

// Calls look(directory) for the group and every one above it, up to the mount.
template <typename Look>
void climb(const std::string& mount, std::string group, Look look) {
  if (contains(group, "..")) group = "/";  // outside this control group namespace
  for (int depth = 0; depth < kMaxDepth; ++depth) {
    while (group.ends_with('/'))
      group.pop_back();
    look(mount + group);
    if (group.empty()) return;
    group.erase(group.rfind('/'));
  }
}

// "oom 2" of a file of "name number" lines; 0 when it is not there.
std::uint64_t event_count(std::string_view events, std::string_view name) {
  for (const std::string_view line : split_lines(events)) {
    const auto words = split_words(line);
    if (words.size() == 2 && words[0] == name) return parse_integer<std::uint64_t>(words[1]).value_or(0);
  }
  return 0;
}

template <typename T>
void tighten(Observed<T>& limit, const T& value, model::Source source) {
  if (!limit.is_known() || value < *limit.get()) limit = Observed<T>::known(value, source);
}

class GroupLimits {
 public:
  GroupLimits(const host::Root& root, model::Machine& machine, model::Process& process)
      : root_(root), machine_(machine), process_(process) {}

  // leaf: the limit's file; events: the one that counts kills.
  void memory(const std::string& directory, const char* leaf, const char* events) {
    // v1 prints PAGE_COUNTER_MAX, about 2^63, for no limit: include/linux/page_counter.h.
    constexpr std::uint64_t kNoLimit = std::uint64_t{1} << 62U;
    const auto bytes = parse_integer<std::uint64_t>(trim(root_.read(directory + "/" + leaf).value_or("max")));
    if (!bytes || *bytes >= kNoLimit) return;
    tighten(process_.memory_limit, Bytes{*bytes}, source(directory, leaf));
    note_kills(directory, events);
  }

  void cpu_v2(const std::string& directory) {
    const auto cpus = parse_cpu_max(root_.read(directory + "/cpu.max").value_or(""));
    if (cpus && *cpus) tighten(process_.cpu_limit, **cpus, source(directory, "cpu.max"));
  }

  void cpu_v1(const std::string& directory) {
    const std::string quota = root_.read(directory + "/cpu.cfs_quota_us").value_or("");
    const std::string period = root_.read(directory + "/cpu.cfs_period_us").value_or("");
    const auto cpus = parse_cpu_max(quota + " " + period);
    if (cpus && *cpus) tighten(process_.cpu_limit, **cpus, source(directory, "cpu.cfs_quota_us"));
  }

 private:
  // Kills that this group's own limit caused. v2 counts in memory.events how often the limit was hit ("oom")
  // and how many were killed by whatever killer ("oom_kill"): both must be there. v1 counts kills only (Linux
  // Documentation/admin-guide/cgroup-v2.rst, cgroup-v1/memory.rst).
  void note_kills(const std::string& directory, const char* leaf) {
    const std::string name = directory + "/" + leaf;
    const std::string events = root_.read(name).value_or("");
    const std::uint64_t kills = event_count(events, "oom_kill");
    const bool by_limit = std::string_view(leaf) != kEventsV2 || event_count(events, "oom") > 0;
    if (kills == 0 || !by_limit ||
        std::ranges::find(machine_.logs, name, &model::JobLog::name) != machine_.logs.end())
      return;
    model::MemoryEvent event;
    event.kind = model::MemoryTrouble::kKernel;
    event.constraint = model::OomConstraint::kCgroup;
    event.text = "oom_kill " + std::to_string(kills) + " since the group was made";
    event.source = source(directory, leaf);
    machine_.logs.push_back({name, {std::move(event)}});
  }

  model::Source source(const std::string& directory, const char* leaf) {
    return {machine_.places.add(directory), 0, leaf};
  }
  const host::Root& root_;
  model::Machine& machine_;
  model::Process& process_;
};

}  // namespace

void probe_group_limits(const host::Root& root, model::Machine& machine, model::Process& process) {
  const Place place(root, machine, "/proc/" + std::to_string(process.id));
  const host::Read<std::string> groups = root.read(place.path("cgroup"));
  if (!groups) {
    process.memory_limit = place.missing<Bytes>("cgroup", groups.error());
    process.cpu_limit = place.missing<double>("cgroup", groups.error());
    return;
  }
  process.memory_limit = Observed<Bytes>::absent(place.source("cgroup"));
  process.cpu_limit = Observed<double>::absent(place.source("cgroup"));
  GroupLimits limits(root, machine, process);
  if (const auto group = group_of(*groups, "memory")) {
    climb("/sys/fs/cgroup/memory", *group,
          [&](const std::string& at) { limits.memory(at, "memory.limit_in_bytes", "memory.oom_control"); });
  }
  if (const auto group = group_of(*groups, "cpu")) {
    climb("/sys/fs/cgroup/cpu", *group, [&](const std::string& at) { limits.cpu_v1(at); });
  }
  if (const auto group = group_of(*groups, "")) {
    const std::string mount =
        root.exists("/sys/fs/cgroup/unified") ? "/sys/fs/cgroup/unified" : "/sys/fs/cgroup";
    climb(mount, *group, [&](const std::string& at) {
      limits.memory(at, "memory.max", kEventsV2);
      limits.cpu_v2(at);
    });
  }
}

}  // namespace angio::probe::process
