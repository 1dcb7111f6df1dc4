// Our reading of real machines' trees against hwloc's reading of the same trees, through its lstopo.
// Every difference is either explained in kExplained below or a failure.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/text.hpp"
#include "fmt/format.h"
#include "host/root.hpp"
#include "probe/sysfs/cpu_probe.hpp"
#include "probe/sysfs/numa_probe.hpp"
#include "probe/sysfs/pci_probe.hpp"
#include "support/recorded_trees.hpp"
#include "support/shared_corpus.hpp"

namespace angio::probe {
namespace {

namespace fs = std::filesystem;

// One statement about a machine: "numa 3 memory" → "17149054976". Both sides are put into this form.
using Facts = std::map<std::string, std::string>;

struct Explained {
  const char* tree;
  const char* fact;  // a prefix of the fact's name
  const char* why;
};
constexpr const char* kNearCpus = "hwloc gives nodes without CPUs the CPUs of the nearest node";
constexpr const char* kDoctored =
    "made by hand: the masks of cpu2's L3 and cpu3's package contradict the lists "
    "beside them; hwloc reads masks and drops what conflicts, Angio reads lists";
constexpr std::array<Explained, 17> kExplained{{
    {"32em64t-2n8c+1mic", "pci 0000:00:11.0", "hwloc drops bridges whose secondary bus is 0: not set up"},
    {"40intel64-4n10c+pci-conflicts", "cache L3 0 2,6,10", kDoctored},
    {"40intel64-4n10c+pci-conflicts", "package 3,7,11", kDoctored},
    {"8em64t-2s2ca2c-buggynuma", "numa 0 memory",
     "both give up NUMA; hwloc keeps node 0's memory, Angio takes the machine's MemTotal"},
    {"nvidiagpunumanodes", "allowed",
     "hwloc reads v1's cpuset.cpus (0-175); Angio cpuset.effective_cpus (0-87), which the kernel applies"},
    {"nvidiagpunumanodes", "numa 250 cpus", kNearCpus},
    {"nvidiagpunumanodes", "numa 251 cpus", kNearCpus},
    {"nvidiagpunumanodes", "numa 252 cpus", kNearCpus},
    {"nvidiagpunumanodes", "numa 253 cpus", kNearCpus},
    {"nvidiagpunumanodes", "numa 254 cpus", kNearCpus},
    {"nvidiagpunumanodes", "numa 255 cpus", kNearCpus},
    {"server", "numa 4 cpus", kNearCpus},
    {"server", "numa 5 cpus", kNearCpus},
    {"fakeheteromemtiers", "numa 4 cpus", kNearCpus},
    {"fakeheteromemtiers", "numa 6 cpus", kNearCpus},
    {"fakeheteromemtiers", "numa 8 cpus", kNearCpus},
    {"fakeheteromemtiers", "numa 9 cpus", kNearCpus},
}};

const Explained* find_explanation(const std::string& tree, const std::string& fact) {
  const auto* const found = std::ranges::find_if(
      kExplained, [&](const Explained& entry) { return tree == entry.tree && fact.starts_with(entry.fact); });
  return found == kExplained.end() ? nullptr : found;
}

std::string run(const std::string& command) {
  std::string output;
  FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return output;
  std::array<char, 65536> buffer{};
  while (const std::size_t count = fread(buffer.data(), 1, buffer.size(), pipe))
    output.append(buffer.data(), count);
  pclose(pipe);
  return output;
}

// hwloc's XML: one element a line, attributes in double quotes. Enough for a program we start ourselves.
std::string attribute(std::string_view line, const std::string& name) {
  const std::string key = " " + name + "=\"";
  const std::size_t start = line.find(key);
  if (start == std::string_view::npos) return {};
  const std::size_t from = start + key.size();
  return std::string(line.substr(from, line.find('"', from) - from));
}

// "0x000000ff,0xff000000,,0x0": 32-bit words, most significant first, zero words may be empty.
CpuSet parse_hwloc_set(const std::string& text) {
  CpuSet set;
  const std::vector<std::string_view> words = split(text, ',');
  for (std::size_t i = 0; i < words.size(); ++i) {
    const auto word = parse_integer<std::uint32_t>(words[words.size() - 1 - i], 16).value_or(0);
    for (std::uint32_t bit = 0; bit < 32; ++bit) {
      if (((word >> bit) & 1U) != 0) set.insert(static_cast<std::uint32_t>(i) * 32 + bit);
    }
  }
  return set;
}

struct HwlocReader {
  Facts facts;
  CpuSet pus;
  std::vector<std::string> distance_nodes;
  std::string distance_values;
  bool in_distances = false;
  bool distances_seen = false;

  void take_object(std::string_view line) {
    const std::string type = attribute(line, "type");
    const std::string set = to_list(parse_hwloc_set(attribute(line, "cpuset")));
    const std::string index = attribute(line, "os_index");
    if (type == "Machine") facts["allowed"] = to_list(parse_hwloc_set(attribute(line, "allowed_cpuset")));
    if (type == "PU") pus.insert(parse_integer<std::uint32_t>(index).value_or(0));
    if (type == "Package") facts["package " + set] = "there";
    if (type == "Core") facts["core " + set] = "there";
    if (type == "NUMANode") {
      facts["numa " + index + " cpus"] = set;
      facts["numa " + index + " memory"] = attribute(line, "local_memory");
    }
    if (type.ends_with("Cache") && type != "MemCache") {
      facts[fmt::format("cache L{} {} {}", attribute(line, "depth"), attribute(line, "cache_type"), set)] =
          attribute(line, "cache_size");
    }
    // "0604 [8086:3c02] [1028:0518] 07 "
    const std::string pci = attribute(line, "pci_type");
    if (pci.size() > 15) facts["pci " + attribute(line, "pci_busid")] = pci.substr(0, 16);
  }

  void take(std::string_view line) {
    if (contains(line, "<object ")) take_object(line);
    if (contains(line, "<distances2 ") && !distances_seen)
      in_distances = contains(line, "name=\"NUMALatency\"");
    if (in_distances && contains(line, "<indexes")) append_text(line, distance_nodes);
    if (in_distances && contains(line, "<u64values")) {
      std::vector<std::string> words;
      append_text(line, words);
      for (const std::string& word : words)
        distance_values += word + " ";
    }
    if (contains(line, "</distances2")) distances_seen |= std::exchange(in_distances, false);
  }

  static void append_text(std::string_view line, std::vector<std::string>& words) {
    const std::size_t start = line.find('>') + 1;
    for (const std::string_view word : split_words(line.substr(start, line.rfind('<') - start)))
      words.emplace_back(word);
  }

  Facts finish() && {
    facts["pus"] = to_list(pus);
    std::vector<std::string_view> values = split_words(distance_values);
    const std::size_t count = distance_nodes.size();
    for (std::size_t row = 0; row < count && values.size() == count * count; ++row) {
      for (std::size_t column = 0; column < count; ++column) {
        facts[fmt::format("distance {}-{}", distance_nodes[row], distance_nodes[column])] =
            values[row * count + column];
      }
    }
    return std::move(facts);
  }
};

Facts read_by_hwloc(const std::string& tree) {
  // Only the linux component: it must not ask this machine's CPU. GPU memory nodes are hidden by default.
  const std::string output = run("HWLOC_FSROOT='" + tree +
                                 "' HWLOC_KEEP_NVIDIA_GPU_NUMA_NODES=1 HWLOC_THISSYSTEM=0 "
                                 "HWLOC_COMPONENTS=linux,stop HWLOC_HIDE_ERRORS=2 "
                                 "lstopo-no-graphics --of xml --disallowed --filter all:all - 2>/dev/null");
  HwlocReader reader;
  for (const std::string_view line : split_lines(output))
    reader.take(line);
  return std::move(reader).finish();
}

void add_cpus(const model::Cpus& cpus, Facts& facts) {
  facts["pus"] = to_list(cpus.online);
  facts["allowed"] = to_list(cpus.allowed.value_or(cpus.online));
  for (const model::Package& package : cpus.packages)
    facts["package " + to_list(package.cpus)] = "there";
  for (const model::Core& core : cpus.cores)
    facts["core " + to_list(core.cpus)] = "there";
  for (const model::Cache& cache : cpus.caches) {
    // hwloc: 0 unified, 1 data, 2 instruction
    const int kind = cache.kind == model::CacheKind::kUnified ? 0
                     : cache.kind == model::CacheKind::kData  ? 1
                                                              : 2;
    const Bytes* size = cache.size.get();
    facts[fmt::format("cache L{} {} {}", cache.level, kind, to_list(cache.cpus))] =
        std::to_string(size != nullptr ? size->value : 0);
  }
}

void add_numa(const model::Numa& numa, Facts& facts) {
  for (const model::NumaNode& node : numa.nodes) {
    const std::string name = "numa " + std::to_string(node.id.value);
    facts[name + " cpus"] = to_list(node.cpus);
    facts[name + " memory"] = node.memory.is_known() ? std::to_string(node.memory.get()->value) : "";
    const std::vector<std::uint32_t>* distances = node.distances.get();
    if (distances == nullptr || numa.nodes.size() < 2) continue;
    for (std::size_t i = 0; i < distances->size(); ++i) {
      facts[fmt::format("distance {}-{}", node.id.value, numa.nodes[i].id.value)] =
          std::to_string((*distances)[i]);
    }
  }
}

void add_pci(const model::Pci& pci, Facts& facts) {
  for (const model::PciDevice& device : pci.devices) {
    facts["pci " + to_string(device.address)] =
        fmt::format("{:04x} [{:04x}:{:04x}]", device.class_code >> 8U, device.vendor, device.device);
  }
}

Facts read_by_angio(const std::string& tree) {
  const auto root = host::open_directory_root(tree);
  if (!root) return {};
  model::Machine machine;
  probe_cpus(**root, machine);
  probe_numa(**root, machine);
  probe_pci(**root, machine);
  Facts facts;
  add_cpus(machine.cpus, facts);
  add_numa(machine.numa, facts);
  add_pci(machine.pci, facts);
  return facts;
}

// Also an explanation that explains nothing any more: the table must stay true.
std::vector<std::string> differences(const std::string& tree, const Facts& ours, const Facts& theirs) {
  std::vector<std::string> unexplained;
  std::set<const Explained*> unused;
  for (const Explained& entry : kExplained) {
    if (tree == entry.tree) unused.insert(&entry);
  }
  Facts all = ours;
  all.insert(theirs.begin(), theirs.end());
  const auto value = [](const Facts& facts, const std::string& name) {
    const auto found = facts.find(name);
    return found == facts.end() ? std::string("(nothing)") : found->second;
  };
  for (const auto& [name, ignored] : all) {
    const std::string a = value(ours, name);
    const std::string b = value(theirs, name);
    if (a == b) continue;
    const Explained* why = find_explanation(tree, name);
    if (why != nullptr)
      unused.erase(why);
    else
      unexplained.push_back(name + ": angio " + a + ", hwloc " + b);
  }
  for (const Explained* entry : unused)
    unexplained.push_back(std::string(entry->fact) + ": no difference now");
  return unexplained;
}

std::vector<std::string> archives_in(const std::string& directory) {
  std::vector<std::string> archives;
  for (const auto& entry : fs::directory_iterator(directory)) {
    const std::string name = entry.path().filename().string();
    if (name.ends_with(".tar.bz2") || name.ends_with(".tar.gz")) archives.push_back(entry.path().string());
  }
  std::ranges::sort(archives);
  return archives;
}

void compare_archive(const std::string& archive) {
  const test::TemporaryDirectory directory;
  // Without the memory blocks and power files, which are most of the archives and which nobody reads here.
  run("tar xf '" + archive + "' -C '" + directory.path() +
      "' --exclude='*/system/memory/*' --exclude='*/memory[0-9]*' --exclude='*/power/*' 2>/dev/null");
  const std::vector<std::string> trees = test::find_trees(directory.path());
  EXPECT_FALSE(trees.empty()) << archive << ": no tree with a sys directory";
  for (const std::string& tree : trees) {
    const std::string name = fs::path(tree).filename().string();
    SCOPED_TRACE(name);
    const Facts theirs = read_by_hwloc(tree);
    ASSERT_GT(theirs.size(), 3U) << "hwloc read nothing";
    const std::vector<std::string> unexplained = differences(name, read_by_angio(tree), theirs);
    for (std::size_t i = 0; i < std::min<std::size_t>(unexplained.size(), 20); ++i)
      ADD_FAILURE() << unexplained[i];
    EXPECT_EQ(unexplained.size(), 0U);
  }
}

bool have_lstopo() {
  return contains(run("lstopo-no-graphics --version 2>&1"), "lstopo-no-graphics 2.");
}

TEST(HwlocDifferential, HwlocTrees) {
  ANGIO_SHARED_OR_SKIP(directory, "hwloc");
  if (!have_lstopo()) GTEST_SKIP() << "needs lstopo-no-graphics 2.x (package hwloc)";
  const std::vector<std::string> archives = archives_in(directory);
  EXPECT_GE(archives.size(), 15U);
  for (const std::string& archive : archives)
    compare_archive(archive);
}

TEST(HwlocDifferential, LscpuTrees) {
  ANGIO_SHARED_OR_SKIP(directory, "numactl-lscpu");
  if (!have_lstopo()) GTEST_SKIP() << "needs lstopo-no-graphics 2.x (package hwloc)";
  const std::vector<std::string> archives = archives_in(directory);
  EXPECT_GE(archives.size(), 7U);
  for (const std::string& archive : archives)
    compare_archive(archive);
}

}  // namespace
}  // namespace angio::probe
