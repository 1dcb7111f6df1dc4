#include "probe/sysfs/cpu_allowed.hpp"

#include <algorithm>
#include <vector>

#include "base/text.hpp"
#include "probe/sysfs/cpu_sets.hpp"

namespace angio::probe {
namespace {

struct Mount {
  std::string point;
  std::string root = "/";  // the part of the hierarchy that is mounted here (mountinfo field 4)
  std::string type;        // "cgroup", "cgroup2", "cpuset"
  std::string options;     // of the super block
};

// cgroup(7): hierarchy-id:controllers:path; v2 is "0::path".
struct Membership {
  std::optional<std::string> cpuset_v1;  // path in the v1 cpuset hierarchy
  std::optional<std::string> unified;    // path in v2
  bool any_v1 = false;
};

bool has_word(std::string_view list, std::string_view word) {
  const std::vector<std::string_view> words = split(list, ',');
  return std::ranges::find(words, word) != words.end();
}

Membership parse_membership(std::string_view text) {
  Membership membership;
  for (const std::string_view line : split_lines(text)) {
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first + 1);
    if (first == std::string_view::npos || second == std::string_view::npos) continue;
    const std::string_view controllers = line.substr(first + 1, second - first - 1);
    const std::string path(line.substr(second + 1));
    if (line.substr(0, first) == "0" && controllers.empty()) {
      membership.unified = path;
      continue;
    }
    membership.any_v1 = true;
    if (has_word(controllers, "cpuset")) membership.cpuset_v1 = path;
  }
  return membership;
}

bool is_cgroup_type(std::string_view type) {
  return type == "cgroup" || type == "cgroup2" || type == "cpuset";
}

// proc(5): "36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw,errors=continue".
std::vector<Mount> parse_mountinfo(std::string_view text) {
  std::vector<Mount> mounts;
  for (const std::string_view line : split_lines(text)) {
    const std::vector<std::string_view> words = split_words(line);
    const auto dash = std::ranges::find(words, "-");
    if (words.size() < 6 || words.end() - dash < 4 || !is_cgroup_type(dash[1])) continue;
    mounts.push_back(
        {std::string(words[4]), std::string(words[3]), std::string(dash[1]), std::string(dash[3])});
  }
  return mounts;
}

// fstab(5) form: "cgroup /sys/fs/cgroup/cpuset cgroup rw,cpuset 0 0".
std::vector<Mount> parse_mounts(std::string_view text) {
  std::vector<Mount> mounts;
  for (const std::string_view line : split_lines(text)) {
    const std::vector<std::string_view> words = split_words(line);
    if (words.size() < 4 || !is_cgroup_type(words[2])) continue;
    mounts.push_back({std::string(words[1]), "/", std::string(words[2]), std::string(words[3])});
  }
  return mounts;
}

std::vector<Mount> read_mounts(const host::Root& root) {
  if (const auto text = root.read("/proc/self/mountinfo")) return parse_mountinfo(*text);
  if (const auto text = root.read("/proc/mounts")) return parse_mounts(*text);
  return {};
}

// The cgroup's directory under a mount. A container sees its own part mounted ("/docker/ab" on
// /sys/fs/cgroup/cpuset), or paths above its namespace ("/../..").
std::string directory_of(const Mount& mount, std::string path) {
  if (mount.root != "/" && path.starts_with(mount.root))
    path.erase(0, mount.root.size());
  else if (mount.root != "/" || path.starts_with("/.."))
    path.clear();
  return path == "/" ? mount.point : mount.point + path;
}

// The nearest cgroup at or above directory that has one of these files with CPUs in it.
std::optional<CpuSet> find_cpus(const host::Root& root, const Mount& mount, std::string directory,
                                const std::vector<std::string_view>& leaves) {
  constexpr int kMaxDepth = 64;
  for (int depth = 0; depth < kMaxDepth; ++depth) {
    for (const std::string_view leaf : leaves) {
      const auto cpus = read_cpu_list(root, directory + "/" + std::string(leaf));
      if (cpus && !cpus->empty()) return cpus;
    }
    if (directory.size() <= mount.point.size()) return std::nullopt;
    directory.erase(directory.rfind('/'));
  }
  return std::nullopt;
}

// The first mount where the process's cgroup has CPUs. In hybrid set-ups only one hierarchy carries the
// cpuset controller; the other has no such files.
std::optional<CpuSet> cgroup_cpus(const host::Root& root, const Membership& membership,
                                  const std::vector<Mount>& mounts) {
  for (const Mount& mount : mounts) {
    const bool unified = mount.type == "cgroup2";
    const bool legacy = mount.type == "cpuset" || (!unified && has_word(mount.options, "cpuset"));
    const std::optional<std::string>& path = unified ? membership.unified : membership.cpuset_v1;
    if (!path || (!unified && !legacy)) continue;
    // The effective files hold what the kernel applies; v1's cpuset.cpus may name more.
    const std::vector<std::string_view> leaves =
        unified
            ? std::vector<std::string_view>{"cpuset.cpus.effective", "cpuset.cpus"}
            : std::vector<std::string_view>{"cpuset.effective_cpus", "cpuset.cpus", "effective_cpus", "cpus"};
    if (auto cpus = find_cpus(root, mount, directory_of(mount, *path), leaves)) return cpus;
  }
  return std::nullopt;
}

Observed<std::string> version_of(const Membership& membership, model::Source source) {
  if (!membership.any_v1 && !membership.unified) return Observed<std::string>::absent(source);
  const char* version = "v1";
  if (membership.unified) version = membership.any_v1 ? "hybrid" : "v2";
  return Observed<std::string>::known(version, source);
}

Observed<CpuSet> affinity(const Place& self) {
  return self.parsed("status", [](std::string_view text) -> std::optional<CpuSet> {
    constexpr std::string_view kKey = "Cpus_allowed_list:";
    for (const std::string_view line : split_lines(text)) {
      if (line.starts_with(kKey)) return parse_cpu_list(line.substr(kKey.size()));
    }
    return std::nullopt;
  });
}

}  // namespace

void read_allowed_cpus(const host::Root& root, model::Machine& machine) {
  const Place self(root, machine, "/proc/self");
  model::Cpus& cpus = machine.cpus;
  const Observed<std::string> groups = self.text("cgroup");
  Membership membership = parse_membership(groups.value_or(""));
  cpus.cgroup = groups.is_known() ? version_of(membership, groups.source()) : groups;
  // Captures without /proc/self/cgroup may have this older file: the path in whichever hierarchy has
  // the cpuset controller.
  if (!membership.cpuset_v1 && !membership.unified) {
    if (const auto path = root.read("/proc/self/cpuset")) {
      membership.cpuset_v1 = std::string(trim(*path));
      membership.unified = membership.cpuset_v1;
    }
  }
  std::optional<CpuSet> limit;
  if (membership.cpuset_v1 || membership.unified) limit = cgroup_cpus(root, membership, read_mounts(root));
  cpus.allowed = affinity(self);
  if (!cpus.allowed.is_known() && !limit) return;
  CpuSet allowed = cpus.allowed.value_or(cpus.online) & cpus.online;
  if (limit) allowed &= *limit;
  const bool by_mask = cpus.allowed.is_known();
  cpus.allowed = Observed<CpuSet>::known(std::move(allowed), self.source(by_mask ? "status" : "cgroup"));
}

}  // namespace angio::probe
