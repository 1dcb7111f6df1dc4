// Real NCCLs load the profiler plugin on phantom GPUs: two nodes of four GPUs and two NICs, AllReduces and a
// ring of SendRecv, with the pump that lets proxies and kernel counters move. Then the rings are read: every
// start has its stop, and there is as much of everything as was enqueued.
//
//   profiler_real_nccl PLUGIN [PART]     (PART: only releases whose folder's name contains it)
//
// ANGIO_NCCL names a folder with unpacked wheels (<version>-cuNN/nvidia/nccl/lib/libnccl.so.2); without it:
// skipped.
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <regex>
#include <string>
#include <vector>

#include "dryrun/node_design.hpp"
#include "dryrun/topology_sketch.hpp"
#include "nccl_run/cluster.hpp"
#include "nccl_run/find_nccl.hpp"
#include "nccl_run/node.hpp"
#include "phantom/stand_ins.hpp"
#include "profile_ring/reader.hpp"
#include "profile_ring/words.hpp"

namespace {

using namespace angio;
using profile_ring::EventKind;
namespace fs = std::filesystem;

constexpr int kSkip = 77;
constexpr std::uint32_t kNodes = 2;
constexpr std::uint32_t kRanks = 4;  // of a node
constexpr std::uint64_t kAllReduces = 3;

struct Problems {
  int count = 0;
  void expect(bool good, const std::string& words) {
    if (good) return;
    ++count;
    std::printf("  PROBLEM %s\n", words.c_str());
  }
};

nccl_run::ClusterRequest request_for(const nccl_run::NcclLibrary& library, const std::string& plugin,
                                     const fs::path& rings) {
  const auto sketch = dryrun::sketch_words("4xh100-sxm+2x400g/1");
  const auto design = dryrun::design_node(sketch->root, {.gpu = sketch->gpu}, nullptr);
  nccl_run::ClusterRequest request;
  request.stand_ins = {phantom::cudart12(), phantom::cudart13(), phantom::nvml(), phantom::net()};
  request.library = library;
  request.environment = {{"NCCL_PROFILER_PLUGIN", plugin},
                         {"ANGIO_PROFILER_DIR", rings.string()},
                         {"ANGIO_PROFILER_EVENTS", "all"}};
  for (std::uint32_t node = 0; node < kNodes; ++node)
    request.nodes.push_back({design->hardware, design->topology, design->devices, {}});
  for (std::uint64_t i = 0; i < kAllReduces; ++i)
    request.operations.push_back({nccl_run::Collective::kAllReduce, 1U << 20U});
  request.operations.push_back({nccl_run::Collective::kSendRecv, 1U << 20U});
  request.estimates = false;
  request.progress = true;
  request.timeout = std::chrono::seconds(50);
  return request;
}

std::vector<profile_ring::RingFile> read_rings(const fs::path& rings, Problems& problems) {
  std::vector<profile_ring::RingFile> files;
  if (!fs::is_directory(rings)) return files;
  for (const auto& entry : fs::directory_iterator(rings)) {
    std::ifstream file(entry.path(), std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(file), {}};
    auto read = profile_ring::read_ring(bytes, entry.path().filename().string());
    problems.expect(read.has_value(), "unreadable ring " + entry.path().string());
    if (read) files.push_back(std::move(*read));
  }
  return files;
}

using Counts = std::map<EventKind, std::pair<std::uint64_t, std::uint64_t>>;  // all, and those still open

// NCCL 2.24 to 2.26, which speak versions 2 and 3, forget the stop of some receive steps (NVIDIA/nccl issue
// 1658, pull request 1682).
bool stop_is_forgotten(const profile_ring::RingFile& file, const profile_ring::Record& record) {
  return (file.header.abi == 2 || file.header.abi == 3) && record.kind == EventKind::kProxyStep &&
         record.times[1] != 0;  // only a receive step of these versions has a flush
}

Counts count_events(const profile_ring::RingFile& file) {
  Counts counts;
  for (const profile_ring::Event& event : file.events) {
    ++counts[event.record.kind].first;
    if (event.record.stop_ns == 0 && !stop_is_forgotten(file, event.record))
      ++counts[event.record.kind].second;
  }
  return counts;
}

// Each operation has as many steps as it announced.
void check_steps(const profile_ring::RingFile& file, Problems& problems) {
  std::map<std::uint64_t, std::uint64_t> steps;
  for (const profile_ring::Event& event : file.events)
    if (event.record.kind == EventKind::kProxyStep) ++steps[event.record.parent];
  for (const profile_ring::Event& event : file.events) {
    if (event.record.kind != EventKind::kProxyOp) continue;
    const std::uint64_t seen = steps[event.reference];
    problems.expect(seen == event.record.steps, file.path + ": an operation of " +
                                                    std::to_string(event.record.steps) + " steps has " +
                                                    std::to_string(seen));
  }
}

void check_file(const profile_ring::RingFile& file, Problems& problems, Counts& sum) {
  const Counts counts = count_events(file);
  for (const auto& [kind, count] : counts) {
    sum[kind].first += count.first;
    sum[kind].second += count.second;
  }
  const auto of = [&](EventKind kind) { return counts.contains(kind) ? counts.at(kind).first : 0; };
  problems.expect(of(EventKind::kCollective) == kAllReduces, file.path + ": collectives");
  problems.expect(of(EventKind::kPointToPoint) == 2, file.path + ": sends and receives");
  problems.expect(of(EventKind::kGroup) >= 1, file.path + ": no group");
  problems.expect(file.header.rank >= 0 && file.header.communicator != 0, file.path + ": whose it is");
  if (file.header.abi >= 3) problems.expect(of(EventKind::kKernel) >= kAllReduces, file.path + ": kernels");
  for (const profile_ring::LaneState& lane : file.lanes)
    problems.expect(lane.dropped + lane.torn + lane.damaged + lane.late == 0, file.path + ": losses");
  check_steps(file, problems);
  for (const auto& [kind, count] : counts)
    problems.expect(count.second == 0, file.path + ": " + std::to_string(count.second) + " of kind " +
                                           std::to_string(static_cast<int>(kind)) + " never stopped");
}

void print_counts(const Counts& sum) {
  constexpr const char* kNames[] = {
      "group",    "coll",    "p2p",    "proxy-op", "proxy-step", "proxy-ctrl", "kernel",     "network",
      "groupApi", "collApi", "p2pApi", "launch",   "copy-coll",  "copy-sync",  "copy-batch", "phase"};
  for (const auto& [kind, count] : sum)
    std::printf(" %s %llu", kNames[static_cast<std::size_t>(kind)],
                static_cast<unsigned long long>(count.first));
  std::printf("\n");
}

int run_library(const std::string& path, const std::string& plugin) {
  Problems problems;
  const auto library = nccl_run::inspect_nccl(path);
  problems.expect(library.has_value(), library ? "" : path + ": " + library.error().message);
  if (!library) return problems.count;
  const fs::path rings = fs::temp_directory_path() / ("angio-profiler-real-" + std::to_string(getpid()));
  fs::remove_all(rings);
  std::string log;
  const auto outcome = nccl_run::run_cluster(
      request_for(*library, plugin, rings), [&log](std::uint32_t, std::string_view lines) { log += lines; },
      [] { return false; });
  problems.expect(outcome.has_value(), outcome ? "" : outcome.error().message);
  if (!outcome) return problems.count;
  const auto& loaded = outcome->nodes[0].reports.loaded;
  const bool has_profiler = loaded && loaded->version >= 22304;
  problems.expect(
      outcome->end == nccl_run::ClusterEnd::kComplete,
      std::string(words_of(outcome->end)) + ": " + outcome->problem + "\n" + outcome->nodes[0].last_lines);
  const auto files = read_rings(rings, problems);
  if (std::getenv("ANGIO_KEEP_RINGS") == nullptr) fs::remove_all(rings);
  std::printf("%s: %zu files", library->version.c_str(), files.size());
  if (!files.empty()) std::printf(", interface %u,", files[0].header.abi);
  problems.expect(files.size() == (has_profiler ? kNodes * kRanks : 0), "a file a rank");
  if (has_profiler && files.empty()) {
    for (std::size_t at = log.find("PROFILER"); at != std::string::npos; at = log.find("PROFILER", at + 8))
      std::printf("  %s\n", log.substr(at, log.find('\n', at) - at).c_str());
  }
  Counts sum;
  for (const profile_ring::RingFile& file : files)
    check_file(file, problems, sum);
  print_counts(sum);
  return problems.count;
}

// (2, 28, 9) of "2.28.9-cu13"; zeros when there is none.
std::array<int, 3> version_of(const std::string& name) {
  static const std::regex kVersion("(\\d+)\\.(\\d+)\\.(\\d+)");
  std::smatch found;
  if (!std::regex_search(name, found, kVersion)) return {};
  return {std::stoi(found[1]), std::stoi(found[2]), std::stoi(found[3])};
}

using Libraries = std::map<std::array<int, 3>, std::string>;

// Those of ANGIO_NCCL by version, oldest first, as tests/dryrun finds them.
Libraries find_libraries(const std::string& part) {
  Libraries found;
  const char* folder = std::getenv("ANGIO_NCCL");
  if (folder == nullptr || !fs::is_directory(folder)) return found;
  for (const auto& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    const fs::path path = entry.path() / "nvidia/nccl/lib/libnccl.so.2";
    if (version_of(name)[0] != 0 && name.find(part) != std::string::npos && fs::exists(path))
      found.emplace(version_of(name), path.string());
  }
  return found;
}

}  // namespace

int main(int count, char** words) {
  if (count >= 4 && std::string_view(words[1]) == "dryrun-node") {
    std::setvbuf(stdout, nullptr, _IOLBF, BUFSIZ);
    std::_Exit(nccl_run::run_node(std::atoi(words[2]), std::atoi(words[3])));
  }
  if (count < 2) return 2;
  const Libraries libraries = find_libraries(count > 2 ? words[2] : "");
  if (libraries.empty()) {
    std::printf(
        "skipped: no real libnccl: ANGIO_NCCL names no folder of unpacked wheels (tools/fetch_nccl.py)\n");
    return kSkip;
  }
  int problems = 0;
  for (const auto& [version, library] : libraries)
    problems += run_library(library, words[1]);
  std::printf("%zu libraries, %d problems\n", libraries.size(), problems);
  return problems == 0 ? 0 : 1;
}
