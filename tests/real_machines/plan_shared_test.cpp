// The planner over every real machine of the shared corpus and over the example cluster: whatever the
// source tells or leaves out, shares do not meet, stay in the mask and take memory from nodes that have it.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <string>
#include <vector>

#include "host/root.hpp"
#include "import/import.hpp"
#include "plan/plan.hpp"
#include "probe/machine_probe.hpp"
#include "probe/snapshot/snapshot.hpp"
#include "support/recorded_trees.hpp"
#include "support/shared_corpus.hpp"

namespace angio {
namespace {

namespace fs = std::filesystem;

// "node 0: 0-7,64-71": where the rank is.
std::string where(const model::RankPlacement& rank) {
  return rank.node ? "node " + std::to_string(rank.node->value) + ": " + to_list(rank.cpus) : "unknown";
}

bool shares_cores(const model::Placement& placement) {
  return std::ranges::any_of(placement.notes,
                             [](const model::Note& note) { return note.id == "plan.cpus.oversubscribed"; });
}

void check(const model::Machine& machine, const model::Placement& placement) {
  CpuSet taken;
  for (const model::RankPlacement& rank : placement.ranks) {
    EXPECT_EQ(rank.cpus.empty(), !rank.node.has_value());
    EXPECT_TRUE(rank.cpus.is_subset_of(machine.cpus.allowed.value_or(rank.cpus)));
    EXPECT_TRUE(shares_cores(placement) || !rank.cpus.intersects(taken)) << where(rank);
    taken |= rank.cpus;
    for (const model::NumaNode& node : machine.numa.nodes) {
      if (!rank.memory_nodes.contains(node.id.value)) continue;
      EXPECT_NE(node.kind, model::NumaKind::kGpuMemory);
      EXPECT_NE(node.kind, model::NumaKind::kCxl);
      EXPECT_FALSE(node.memory.is(Bytes{0}));
    }
  }
}

void plan_all(const model::Machine& machine, const std::string& name) {
  SCOPED_TRACE(name);
  for (const auto policy : {plan::CpuPolicy::kExclusive, plan::CpuPolicy::kL3, plan::CpuPolicy::kCore}) {
    plan::PlanRequest request;
    request.cpus = policy;
    const auto placement = plan::make_placement(machine, request);
    ASSERT_TRUE(placement.has_value()) << placement.error().message;
    check(machine, *placement);
    if (policy != plan::CpuPolicy::kExclusive || std::getenv("ANGIO_SHOW_PLANS") == nullptr) continue;
    std::cout << name << '\n';
    for (const model::RankPlacement& rank : placement->ranks)
      std::cout << "  " << rank.local_rank << " gpu " << rank.device << " " << where(rank) << '\n';
    for (const model::Note& note : placement->notes)
      std::cout << "  note " << note.id << ": " << note.text << '\n';
  }
}

std::vector<std::string> files_in(const std::string& directory, const std::string& ending) {
  std::vector<std::string> files;
  for (const auto& entry : fs::recursive_directory_iterator(directory)) {
    if (entry.is_regular_file() && entry.path().string().ends_with(ending))
      files.push_back(entry.path().string());
  }
  std::ranges::sort(files);
  return files;
}

// The machines of an archive, by the names of their trees.
std::vector<std::pair<std::string, model::Machine>> machines_in(const std::string& archive) {
  const test::TemporaryDirectory directory;
  const std::string command =
      "tar xf '" + archive + "' -C '" + directory.path() +
      "' --exclude='*/system/memory/*' --exclude='*/memory[0-9]*' --exclude='*/power/*' 2>/dev/null";
  [[maybe_unused]] const int ignored = std::system(command.c_str());  // broken links make tar complain
  std::vector<std::pair<std::string, model::Machine>> machines;
  for (const std::string& tree : test::find_trees(directory.path())) {
    const auto root = host::open_directory_root(tree);
    if (!root) continue;
    machines.emplace_back(fs::path(tree).filename().string(),
                          probe::probe_machine(**root, {.processes = {}, .with_processes = false}));
  }
  return machines;
}

TEST(PlanShared, RecordedTrees) {
  ANGIO_SHARED_OR_SKIP(hwloc, "hwloc");
  std::size_t planned = 0;
  for (const std::string& archive : files_in(hwloc, ".tar.bz2")) {
    for (const auto& [name, machine] : machines_in(archive)) {
      plan_all(machine, name);
      ++planned;
    }
  }
  EXPECT_GE(planned, 15U);
}

TEST(PlanShared, ForeignFiles) {
  std::size_t planned = 0;
  for (const char* kind : {"smi-topo", "nccl-topo", "hwloc", "numactl-lscpu"}) {
    ANGIO_SHARED_OR_SKIP(directory, kind);
    for (const char* ending : {".txt", ".xml"}) {
      for (const std::string& file : files_in(directory, ending)) {
        const std::string bytes = test::read_whole_file(file);
        if (import::recognise(bytes) == import::ForeignKind::kUnknown) continue;
        const std::string name = fs::path(file).filename().string();
        const auto machine = import::import_machine(bytes, name);
        if (!machine) continue;
        plan_all(*machine, name);
        ++planned;
      }
    }
  }
  EXPECT_GE(planned, 80U);
}

// Power9 with GPU memory as NUMA nodes 250 to 255.
TEST(PlanShared, GpuMemoryNodesStayTheGpus) {
  ANGIO_SHARED_OR_SKIP(archive, "hwloc/nvidiagpunumanodes.tar.bz2");
  const auto machines = machines_in(archive);
  ASSERT_EQ(machines.size(), 1U);
  plan::PlanRequest request;
  request.memory = model::MemoryPolicy::kInterleave;
  const auto placement = plan::make_placement(machines.front().second, request);
  ASSERT_TRUE(placement.has_value()) << placement.error().message;
  for (const model::RankPlacement& rank : placement->ranks)
    EXPECT_TRUE(rank.memory_nodes.is_subset_of(*parse_cpu_list("0,8"))) << to_list(rank.memory_nodes);
}

TEST(PlanShared, TheExampleCluster) {
  for (const char* node : {"gpu-a", "gpu-b", "gpu-c", "gpu-d", "gpu-e", "gpu-f"}) {
    const std::string path = std::string(ANGIO_EXAMPLE) + "/" + node + ".snap";
    auto snapshot = probe::parse_snapshot(test::read_whole_file(path), node);
    ASSERT_TRUE(snapshot.has_value()) << snapshot.error().message;
    const model::Machine machine = probe::machine_of(std::move(*snapshot), node);
    plan_all(machine, node);
    const auto begin = std::chrono::steady_clock::now();
    const auto placement = plan::make_placement(machine, {});
    const auto took = std::chrono::steady_clock::now() - begin;
    std::cout << node << ": planned in "
              << std::chrono::duration_cast<std::chrono::microseconds>(took).count() << " us\n";
    ASSERT_TRUE(placement.has_value());
    ASSERT_EQ(placement->ranks.size(), 8U);
    if (std::string(node) != "gpu-a") continue;
    const std::array<const char*, 8> cpus{"0-7,64-71",    "8-15,72-79",    "16-23,80-87",   "24-31,88-95",
                                          "32-39,96-103", "40-47,104-111", "48-55,112-119", "56-63,120-127"};
    for (std::uint32_t i = 0; i < 8; ++i) {
      EXPECT_EQ(to_list(placement->ranks[i].cpus), cpus[i]);
      EXPECT_EQ(placement->ranks[i].node, NumaId{i / 4});
      ASSERT_EQ(placement->ranks[i].rdma.size(), 1U);
      EXPECT_EQ(machine.rdma[placement->ranks[i].rdma[0]].name, "mlx5_" + std::to_string(i));
      EXPECT_EQ(placement->ranks[i].rdma_path.kind, model::PathClass::kPix);
    }
    EXPECT_TRUE(placement->notes.empty()) << placement->notes.front().text;
  }
}

}  // namespace
}  // namespace angio
