// Time to read a machine's topology from a recorded tree: Angio's probes against libhwloc on the same tree
// in the same process, alternating, so that both see the same page cache and clock.
//
//   topology_load_benchmark [Google Benchmark options] TREE...
//
// TREE is a directory with "sys" and "proc" in it; or an archive of one (tar), which is extracted first.
// Without TREE: three archives below $ANGIO_SHARED/corpus/hwloc.
// The counters "ratio" (wall) and
// "cpu_ratio" are Angio / hwloc, least time of all runs.
#include <benchmark/benchmark.h>
#include <hwloc.h>
#include <time.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "host/root.hpp"
#include "probe/sysfs/cpu_probe.hpp"
#include "probe/sysfs/numa_probe.hpp"
#include "probe/sysfs/pci_probe.hpp"

namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

// What was read, so that a fast answer with less in it shows.
struct Counts {
  std::size_t cpus = 0;
  std::size_t nodes = 0;
  std::size_t pci = 0;
};

Counts load_with_angio(const std::string& tree) {
  const auto root = angio::host::open_directory_root(tree);
  if (!root) return {};
  angio::model::Machine machine;
  angio::probe::probe_cpus(**root, machine);
  angio::probe::probe_numa(**root, machine);
  angio::probe::probe_pci(**root, machine);
  return {machine.cpus.online.size(), machine.numa.nodes.size(), machine.pci.devices.size()};
}

Counts load_with_hwloc() {
  hwloc_topology_t topology = nullptr;
  hwloc_topology_init(&topology);
  hwloc_topology_set_io_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_ALL);
  hwloc_topology_set_flags(topology, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED);
  Counts counts;
  if (hwloc_topology_load(topology) == 0) {
    const auto count = [topology](hwloc_obj_type_t type) {
      return static_cast<std::size_t>(std::max(0, hwloc_get_nbobjs_by_type(topology, type)));
    };
    counts = {count(HWLOC_OBJ_PU), count(HWLOC_OBJ_NUMANODE),
              count(HWLOC_OBJ_PCI_DEVICE) + count(HWLOC_OBJ_BRIDGE)};
  }
  hwloc_topology_destroy(topology);
  return counts;
}

// CPU time of this thread and time on the wall.
struct Times {
  double cpu = 0;
  double wall = 0;
};

double thread_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

template <typename Load>
Times time_of(Load load) {
  const auto wall = Clock::now();
  const double cpu = thread_seconds();
  benchmark::DoNotOptimize(load());
  return {thread_seconds() - cpu, std::chrono::duration<double>(Clock::now() - wall).count()};
}

// The least of all runs: other programs on the machine can only add.
void keep_least(Times& least, const Times& times) {
  least.cpu = least.cpu == 0 ? times.cpu : std::min(least.cpu, times.cpu);
  least.wall = least.wall == 0 ? times.wall : std::min(least.wall, times.wall);
}

// The time reported is Angio's; hwloc's and the ratios are counters.
void topology_load(benchmark::State& state, const std::string& tree) {
  setenv("HWLOC_FSROOT", tree.c_str(), 1);
  const Counts ours = load_with_angio(tree);
  const Counts theirs = load_with_hwloc();
  Times angio_least;
  Times hwloc_least;
  for (auto step : state) {
    static_cast<void>(step);
    const Times angio_times = time_of([&] { return load_with_angio(tree); });
    keep_least(angio_least, angio_times);
    keep_least(hwloc_least, time_of([] { return load_with_hwloc(); }));
    state.SetIterationTime(angio_times.wall);
  }
  state.counters["angio_ms"] = angio_least.wall * 1e3;
  state.counters["hwloc_ms"] = hwloc_least.wall * 1e3;
  state.counters["ratio"] = angio_least.wall / hwloc_least.wall;
  state.counters["cpu_ratio"] = angio_least.cpu / hwloc_least.cpu;
  state.counters["cpus"] = static_cast<double>(ours.cpus);
  state.counters["nodes"] = static_cast<double>(ours.nodes);
  state.counters["pci"] = static_cast<double>(ours.pci);
  if (ours.cpus < theirs.cpus || ours.nodes < theirs.nodes) state.SkipWithError("Angio read less than hwloc");
}

std::string make_scratch() {
  std::string pattern = (fs::temp_directory_path() / "angio-benchmark-XXXXXX").string();
  const char* made = mkdtemp(pattern.data());
  return made != nullptr ? made : "";
}

// A directory with "sys" at or directly below path; empty when there is none.
std::string find_tree(const std::string& path) {
  if (fs::is_directory(path + "/sys")) return path;
  for (const auto& entry : fs::directory_iterator(path)) {
    if (fs::is_directory(entry.path() / "sys")) return entry.path().string();
  }
  return {};
}

std::string prepare(const std::string& path, const std::string& scratch) {
  if (fs::is_directory(path)) return find_tree(path);
  const std::string target = scratch + "/" + fs::path(path).filename().string();
  fs::create_directory(target);
  const std::string command = "tar xf '" + path + "' -C '" + target + "' 2>/dev/null";
  return std::system(command.c_str()) == 0 ? find_tree(target) : std::string();
}

std::vector<std::string> default_inputs() {
  const char* shared = std::getenv("ANGIO_SHARED");
  if (shared == nullptr) return {};
  const std::string directory = std::string(shared) + "/corpus/hwloc/";
  return {directory + "32em64t-2n8c_dax_nvme_mic_dimms.tar.bz2",
          directory + "40intel64-2g2n4c_pcilocality.tar.bz2", directory + "96em64t-4no4pa3ca2co.tar.bz2"};
}

}  // namespace

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  std::vector<std::string> inputs(argv + 1, argv + argc);
  if (inputs.empty()) inputs = default_inputs();
  if (inputs.empty()) {
    std::fputs("name a tree, or set ANGIO_SHARED\n", stderr);
    return 2;
  }
  setenv("HWLOC_THISSYSTEM", "0", 1);
  setenv("HWLOC_COMPONENTS", "linux,stop", 1);
  setenv("HWLOC_HIDE_ERRORS", "2", 1);
  const std::string scratch = make_scratch();
  for (const std::string& input : inputs) {
    const std::string tree = prepare(input, scratch);
    if (tree.empty()) {
      std::fprintf(stderr, "%s: no directory with \"sys\" in it\n", input.c_str());
      continue;
    }
    const std::string name = "topology_load/" + fs::path(tree).filename().string();
    benchmark::RegisterBenchmark(name.c_str(),
                                 [tree](benchmark::State& state) { topology_load(state, tree); })
        ->UseManualTime()
        ->Unit(benchmark::kMillisecond)
        ->Iterations(30);
  }
  benchmark::RunSpecifiedBenchmarks();
  std::error_code ignored;
  fs::remove_all(scratch, ignored);
  return 0;
}
