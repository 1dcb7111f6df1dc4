#include "probe/sysfs/cpu_topology.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "base/text.hpp"
#include "probe/sysfs/cpu_sets.hpp"

namespace angio::probe {
namespace {

// The files of one level, the newest name first (Documentation/ABI/stable/sysfs-devices-system-cpu).
struct LevelFiles {
  const char* id;
  std::array<const char*, 2> lists;
  std::array<const char*, 2> masks;
};
constexpr LevelFiles kCoreFiles{
    "core_id", {"core_cpus_list", "thread_siblings_list"}, {"core_cpus", "thread_siblings"}};
constexpr LevelFiles kPackageFiles{
    "physical_package_id", {"package_cpus_list", "core_siblings_list"}, {"package_cpus", "core_siblings"}};
constexpr LevelFiles kDieFiles{"die_id", {"die_cpus_list", nullptr}, {"die_cpus", nullptr}};
constexpr LevelFiles kClusterFiles{"cluster_id", {"cluster_cpus_list", nullptr}, {"cluster_cpus", nullptr}};

struct Group {
  std::optional<std::uint32_t> id;
  CpuSet cpus;
};

// The groups of one level, read when a CPU outside all known groups is asked for.
class Level {
 public:
  Level(const Place& directory, const CpuSet& online, const LevelFiles& files)
      : directory_(directory), online_(online), files_(files) {
    if (const auto members = online.members(); !members.empty()) group_of_.resize(members.back() + 1U, kNone);
  }

  // Index in groups(); none when the kernel has no such level.
  std::optional<std::size_t> find(std::uint32_t cpu) {
    if (group_of_[cpu] == kNone && !missing_) read_group(cpu);
    if (group_of_[cpu] == kNone) return std::nullopt;
    return group_of_[cpu];
  }

  [[nodiscard]] const std::vector<Group>& groups() const { return groups_; }

 private:
  static constexpr std::size_t kNone = ~std::size_t{0};

  void read_group(std::uint32_t cpu) {
    const std::string base = directory_.path("cpu" + std::to_string(cpu) + "/topology/");
    std::optional<CpuSet> cpus = read_set(base);
    const host::Read<std::string> id = directory_.root().read(base + files_.id);
    if (!cpus && !id) {
      missing_ = groups_.empty();  // the first CPU asked has no such files: no CPU has
      return;
    }
    if (!cpus) cpus.emplace();
    cpus->insert(cpu);
    *cpus &= online_;
    *cpus -= assigned_;
    assigned_ |= *cpus;
    for (const std::uint32_t member : cpus->members())
      group_of_[member] = groups_.size();
    groups_.push_back({id ? parse_id(trim(*id)) : std::nullopt, std::move(*cpus)});
  }

  std::optional<CpuSet> read_set(const std::string& base) {
    for (; name_ < kNames; ++name_) {  // the first name that works is kept for the other CPUs
      const bool is_list = name_ < files_.lists.size();
      const char* leaf = is_list ? files_.lists[name_] : files_.masks[name_ - files_.lists.size()];
      if (leaf == nullptr) continue;
      const std::string path = base + leaf;
      std::optional<CpuSet> set =
          is_list ? read_cpu_list(directory_.root(), path) : read_cpu_mask(directory_.root(), path);
      if (set || !groups_.empty()) return set;
    }
    return std::nullopt;
  }

  // -1 and 65535 (x86's BAD_APICID as u16) both mean that firmware did not say.
  static std::optional<std::uint32_t> parse_id(std::string_view text) {
    constexpr std::int64_t kBadApicId = 65535;
    const auto id = parse_integer<std::int64_t>(text);
    if (!id || *id < 0 || *id == kBadApicId || *id > INT32_MAX) return std::nullopt;
    return static_cast<std::uint32_t>(*id);
  }

  static constexpr std::size_t kNames = 4;
  const Place& directory_;
  const CpuSet& online_;
  LevelFiles files_;
  std::vector<Group> groups_;
  std::vector<std::size_t> group_of_;
  CpuSet assigned_;
  std::size_t name_ = 0;
  bool missing_ = false;
};

// A number for each group: its id, or the smallest unused one where there is none. Equal ids are one
// package.
std::vector<std::uint32_t> number_packages(const std::vector<Group>& groups) {
  CpuSet used;
  for (const Group& group : groups) {
    if (group.id) used.insert(*group.id);
  }
  std::vector<std::uint32_t> numbers;
  std::uint32_t next = 0;
  for (const Group& group : groups) {
    while (!group.id && used.contains(next))
      ++next;
    numbers.push_back(group.id ? *group.id : next++);
  }
  return numbers;
}

std::vector<model::Package> make_packages(const std::vector<Group>& groups,
                                          const std::vector<std::uint32_t>& numbers) {
  std::map<std::uint32_t, CpuSet> by_number;
  for (std::size_t i = 0; i < groups.size(); ++i)
    by_number[numbers[i]] |= groups[i].cpus;
  std::vector<model::Package> packages;
  for (auto& [number, set] : by_number)
    packages.push_back({number, std::move(set)});
  return packages;
}

// Old kernels and some sources have a package's number but not its CPUs; then only one CPU of each core
// was asked, and its siblings are in the same package.
// `packages` are sorted by number.
void add_siblings(const std::vector<model::Core>& cores, std::vector<model::Package>& packages) {
  for (const model::Core& core : cores) {
    const auto package = std::ranges::lower_bound(packages, core.package, {}, &model::Package::id);
    if (package == packages.end() || package->id != core.package) continue;
    if (core.cpus.intersects(package->cpus)) package->cpus |= core.cpus;
  }
}

std::optional<std::uint32_t> id_at(Level& level, std::uint32_t cpu) {
  const auto group = level.find(cpu);
  return group ? level.groups()[*group].id : std::nullopt;
}

// False when sysfs has no topology at all.
bool read_from_sysfs(const Place& directory, model::Cpus& cpus) {
  Level cores(directory, cpus.online, kCoreFiles);
  Level packages(directory, cpus.online, kPackageFiles);
  Level dies(directory, cpus.online, kDieFiles);
  Level clusters(directory, cpus.online, kClusterFiles);
  std::vector<std::optional<std::size_t>> package_of_core;
  for (const std::uint32_t cpu : cpus.online.members()) {
    const std::size_t known = cores.groups().size();
    const auto core = cores.find(cpu);
    if (!core || *core < known) continue;  // no topology, or a sibling spoke for it
    const Group& group = cores.groups()[*core];
    package_of_core.push_back(packages.find(cpu));
    cpus.cores.push_back({0, group.id.value_or(cpu), id_at(dies, cpu), id_at(clusters, cpu), group.cpus});
  }
  const std::vector<std::uint32_t> numbers = number_packages(packages.groups());
  cpus.packages = make_packages(packages.groups(), numbers);
  for (std::size_t i = 0; i < cpus.cores.size(); ++i) {
    if (package_of_core[i]) cpus.cores[i].package = numbers[*package_of_core[i]];
  }
  add_siblings(cpus.cores, cpus.packages);
  return !cpus.cores.empty();
}

void read_from_cpuinfo(const CpuInfo& info, model::Cpus& cpus) {
  std::map<std::uint32_t, CpuSet> packages;
  std::map<std::pair<std::uint32_t, std::uint32_t>, CpuSet> cores;
  for (const CpuInfo::Processor& processor : info.processors) {
    if (!processor.package || !processor.core || !cpus.online.contains(processor.number)) continue;
    packages[*processor.package].insert(processor.number);
    cores[{*processor.package, *processor.core}].insert(processor.number);
  }
  for (auto& [number, set] : packages)
    cpus.packages.push_back({number, std::move(set)});
  for (auto& [key, set] : cores)
    cpus.cores.push_back({key.first, key.second, {}, {}, std::move(set)});
  std::ranges::sort(cpus.cores, {}, [](const model::Core& core) { return core.cpus.first(); });
}

}  // namespace

void read_cpu_topology(const Place& cpu_directory, const CpuInfo& info, model::Cpus& cpus) {
  if (!read_from_sysfs(cpu_directory, cpus)) read_from_cpuinfo(info, cpus);
  std::uint32_t threads = 0;
  for (const model::Core& core : cpus.cores) {
    threads = std::max(threads, static_cast<std::uint32_t>(core.cpus.size()));
  }
  const model::Source source = cpu_directory.source("cpu*/topology");
  cpus.threads_per_core =
      threads > 0 ? Observed<std::uint32_t>::known(threads, source) : Observed<std::uint32_t>::absent(source);
}

}  // namespace angio::probe
