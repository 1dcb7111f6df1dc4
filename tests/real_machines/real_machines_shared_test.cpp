// The doctor over every real machine of the shared corpus. Healthy machines get no warning; the others
// are listed with the rules that must fire, and why. docs/healthy-machines.md says the same in words.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "diagnose/doctor.hpp"
#include "host/root.hpp"
#include "import/import.hpp"
#include "probe/machine_probe.hpp"
#include "support/recorded_trees.hpp"
#include "support/shared_corpus.hpp"

namespace angio {
namespace {

namespace fs = std::filesystem;
using Rules = std::set<std::string>;

struct NotHealthy {
  Rules rules;
  const char* why;
};

// Machines that are not healthy. Everything else must be silent.
const std::map<std::string, NotHealthy>& not_healthy() {
  static const std::map<std::string, NotHealthy> kMachines{
      {"8em64t-2s2ca2c-buggynuma",
       {{"numa.maps.overlap"}, "both nodes claim all CPUs; kept by hwloc as a test of just that"}},
      {"v100-8gpu-all-one-socket-nics-other-socket.txt",
       {{"pcie.nic.far-from-gpu"}, "eight GPUs on one socket, both cards on the other"}},
      {"gooxi-as4110g-8x4090-unbalanced-before.txt",
       {{"pcie.nic.far-from-gpu"}, "five of eight GPUs far from the card; its owner re-cabled it"}},
      {"topo_3p_pcie.xml",
       {{"pcie.nic.far-from-gpu"}, "one card beside one of three GPUs, the other two on the other socket"}},
      {"xml-irregulargroups-disallowed.xml",
       {{"numa.allowed.excludes-gpu"}, "its CPU set leaves out the nodes of both GPUs"}},
      {"gpud-nvidia-smi-query.535.129.03.out.0.valid.a10.txt",
       {{"gpu.memory.row-remap"}, "nvidia-smi says a row remapping is pending"}},
      {"gpud-nvidia-smi-query.535.161.08.out.0.valid.txt",
       {{"gpu.clock.throttled"}, "nvidia-smi says the hardware power brake is active"}},
  };
  return kMachines;
}

std::vector<std::string> files_in(const std::string& directory, const std::vector<std::string>& endings) {
  std::vector<std::string> files;
  for (const auto& entry : fs::recursive_directory_iterator(directory)) {
    const std::string path = entry.path().string();
    const auto ends = [&](const std::string& ending) { return path.ends_with(ending); };
    if (entry.is_regular_file() && std::ranges::any_of(endings, ends)) files.push_back(path);
  }
  std::ranges::sort(files);
  return files;
}

// One line a machine for the reader of the log; the rules at warning and above for the test.
Rules examine(const model::Machine& machine, const std::string& name) {
  Rules warnings;
  Rules notes;
  for (const model::Finding& finding : diagnose::diagnose(machine).findings) {
    const bool loud = finding.severity >= model::Severity::kWarning;
    (loud ? warnings : notes).insert(finding.rule);
    if (loud || std::getenv("ANGIO_ALL_FINDINGS") != nullptr) {
      std::cout << name << ": " << (loud ? "WARNING " : "info ") << finding.rule << ": " << finding.title
                << std::endl;
    }
  }
  return warnings;
}

void judge(const model::Machine& machine, const std::string& name) {
  SCOPED_TRACE(name);
  const auto entry = not_healthy().find(name);
  const Rules expected = entry != not_healthy().end() ? entry->second.rules : Rules{};
  EXPECT_EQ(examine(machine, name), expected)
      << (expected.empty() ? "counts as healthy" : "not healthy: " + std::string(entry->second.why));
}

// Trees of /sys and /proc, as hwloc-gather-topology and lscpu's tests keep them.
std::size_t judge_archive(const std::string& archive) {
  const test::TemporaryDirectory directory;
  const std::string command =
      "tar xf '" + archive + "' -C '" + directory.path() +
      "' --exclude='*/system/memory/*' --exclude='*/memory[0-9]*' --exclude='*/power/*' 2>/dev/null";
  [[maybe_unused]] const int ignored = std::system(command.c_str());  // broken links make tar complain
  const std::vector<std::string> trees = test::find_trees(directory.path());
  EXPECT_FALSE(trees.empty()) << archive << " holds no tree with a sys directory";
  for (const std::string& tree : trees) {
    const auto root = host::open_directory_root(tree);
    if (!root) {
      ADD_FAILURE() << tree << " cannot be opened";
      continue;
    }
    judge(probe::probe_machine(**root, {.processes = {}, .with_processes = false}),
          fs::path(tree).filename().string());
  }
  return trees.size();
}

TEST(RealMachines, NoWarningOnHealthyTrees) {
  ANGIO_SHARED_OR_SKIP(hwloc, "hwloc");
  ANGIO_SHARED_OR_SKIP(lscpu, "numactl-lscpu");
  std::size_t machines = 0;
  for (const std::string& directory : {hwloc, lscpu}) {
    for (const std::string& archive : files_in(directory, {".tar.bz2", ".tar.gz"}))
      machines += judge_archive(archive);
  }
  EXPECT_GE(machines, 25U);
}

TEST(RealMachines, NoWarningOnHealthyForeignFiles) {
  std::size_t machines = 0;
  for (const char* kind : {"smi-topo", "nccl-topo", "hwloc", "numactl-lscpu", "host"}) {
    ANGIO_SHARED_OR_SKIP(directory, kind);
    for (const std::string& file : files_in(directory, {".txt", ".xml"})) {
      const std::string bytes = test::read_whole_file(file);
      if (import::recognise(bytes) == import::ForeignKind::kUnknown) continue;
      const std::string name = fs::path(file).filename().string();
      const auto machine = import::import_machine(bytes, name);
      if (!machine) {
        std::cout << name << ": not imported: " << machine.error().message << '\n';
        continue;
      }
      judge(*machine, name);
      ++machines;
    }
  }
  EXPECT_GE(machines, 100U);
}

// The list of sick machines must not outlive its files.
TEST(RealMachines, EveryMachineOfTheListIsThere) {
  ANGIO_SHARED_OR_SKIP(corpus, "");
  for (const auto& [name, entry] : not_healthy()) {
    const auto found = std::ranges::any_of(fs::recursive_directory_iterator(corpus), [&](const auto& file) {
      return file.path().filename().string().starts_with(name);
    });
    EXPECT_TRUE(found) << name;
  }
}

}  // namespace
}  // namespace angio
