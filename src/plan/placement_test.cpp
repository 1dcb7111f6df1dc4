#include <gtest/gtest.h>

#include <algorithm>

#include "model/synthetic.hpp"
#include "plan/plan.hpp"

namespace angio::plan {
namespace {

using model::Machine;
using model::Placement;

template <typename T>
model::Observed<T> known(T value) {
  return model::Observed<T>::known(std::move(value), {});
}

CpuSet list(std::string_view text) {
  return *parse_cpu_list(text);
}

Placement plan(const Machine& machine, const PlanRequest& request = {}) {
  auto placement = make_placement(machine, request);
  EXPECT_TRUE(placement.has_value()) << (placement ? "" : placement.error().message);
  return placement ? std::move(*placement) : Placement{};
}

std::string error_of(const Machine& machine, const PlanRequest& request) {
  const auto placement = make_placement(machine, request);
  return placement ? "no error" : placement.error().message;
}

// "0-3 4-7": each rank's CPUs.
std::string cpus(const Placement& placement) {
  std::string text;
  for (const model::RankPlacement& rank : placement.ranks)
    text += (text.empty() ? "" : " ") + (rank.cpus.empty() ? std::string("-") : to_list(rank.cpus));
  return text;
}

std::string text_of(const Placement& placement, std::string_view id) {
  const auto found = std::ranges::find(placement.notes, id, &model::Note::id);
  return found == placement.notes.end() ? "" : found->text;
}

std::string why(const Placement& placement, std::size_t rank, std::string_view what) {
  for (const model::Why& each : placement.ranks[rank].why) {
    if (each.what == what) return each.text;
  }
  return {};
}

// Two threads a core: core i has CPUs i and i + cores, as most x86 servers number them.
Machine with_siblings(Machine machine) {
  const auto count = static_cast<std::uint32_t>(machine.cpus.cores.size());
  for (model::Core& core : machine.cpus.cores) {
    const std::uint32_t sibling = *core.cpus.first() + count;
    for (model::NumaNode& node : machine.numa.nodes) {
      if (node.cpus.contains(*core.cpus.first())) node.cpus.insert(sibling);
    }
    machine.cpus.packages[core.package].cpus.insert(sibling);
    machine.cpus.online.insert(sibling);
    core.cpus.insert(sibling);
  }
  return machine;
}

TEST(Placement, SharesOfTheNodeInOrder) {
  const Placement placement = plan(*model::topology("2 numa cores:8 { 2 gpu }"));
  EXPECT_EQ(cpus(placement), "0-3 4-7 8-11 12-15");
  for (std::uint32_t i = 0; i < 4; ++i) {
    EXPECT_EQ(placement.ranks[i].gpu, i);
    EXPECT_EQ(placement.ranks[i].node, NumaId{i / 2});
    EXPECT_EQ(placement.ranks[i].cores, 4U);
    EXPECT_EQ(placement.ranks[i].kept_cores, 1U);
    EXPECT_EQ(placement.ranks[i].threads, 3U);
    EXPECT_EQ(placement.ranks[i].loader_workers, 2U);
    EXPECT_EQ(placement.ranks[i].memory, model::MemoryPolicy::kPreferred);
    EXPECT_EQ(to_list(placement.ranks[i].memory_nodes), std::to_string(i / 2));
  }
  EXPECT_EQ(why(placement, 3, "cpus"), "node 1's 8 cores are shared by ranks 2-3");
  EXPECT_EQ(
      why(placement, 3, "threads"),
      "3 threads of 4 cores, 1 kept for NCCL's proxy and CUDA's threads; hardware threads of a core do not "
      "count twice");
  EXPECT_TRUE(placement.notes.empty());
}

TEST(Placement, TheRemainderIsSpread) {
  EXPECT_EQ(cpus(plan(*model::topology("numa cores:11 { 4 gpu }"))), "0-2 3-5 6-8 9-10");
}

TEST(Placement, SiblingsStayTogether) {
  const Machine machine = with_siblings(*model::topology("2 numa cores:4 { 2 gpu }"));
  EXPECT_EQ(cpus(plan(machine)), "0-1,8-9 2-3,10-11 4-5,12-13 6-7,14-15");
  PlanRequest request;
  request.smt = Smt::kOne;
  const Placement placement = plan(machine, request);
  EXPECT_EQ(cpus(placement), "0-1 2-3 4-5 6-7");
  EXPECT_EQ(placement.ranks[0].cores, 2U);
  EXPECT_EQ(why(placement, 0, "cpus"),
            "node 0's 4 cores are shared by ranks 0-1, one hardware thread of each");
}

TEST(Placement, LocalRankIsNoGpuNumber) {
  PlanRequest request;
  request.visible.cuda = "3,0";
  const Placement placement = plan(*model::topology("2 numa cores:4 { 2 gpu }"), request);
  EXPECT_EQ(placement.ranks[0].gpu, 3U);
  EXPECT_EQ(placement.ranks[1].gpu, 0U);
  EXPECT_EQ(cpus(placement), "4-7 0-3");
  EXPECT_EQ(placement.ranks[0].device, "3");
  EXPECT_NE(why(placement, 0, "gpu").find("CUDA_VISIBLE_DEVICES names it as \"3\", number 0 of 2"),
            std::string::npos);
}

TEST(Placement, OfflineAndIsolatedCpusAreLeftOut) {
  Machine machine = *model::topology("numa cores:8 { 2 gpu }");
  machine.cpus.online = list("0-6");
  machine.cpus.isolated = known(list("1-2"));
  const Placement placement = plan(machine);
  EXPECT_EQ(cpus(placement), "0,3-4 5-6");
  EXPECT_EQ(text_of(placement, "plan.cpus.isolated"), "isolated CPUs are left out: 1-2 (isolcpus)");
  PlanRequest request;
  request.allowed_cpus = list("1-2");
  EXPECT_EQ(cpus(plan(machine, request)), "1 2");
}

TEST(Placement, PoliciesOfANode) {
  const Machine machine = *model::topology("2 package { 2 numa cores:4 { gpu } }");
  PlanRequest request;
  request.cpus = CpuPolicy::kNode;
  request.ranks = 8;
  Placement placement = plan(machine, request);
  EXPECT_EQ(placement.ranks[0].cpus, list("0-3"));
  EXPECT_EQ(placement.ranks[4].cpus, list("0-3"));
  EXPECT_EQ(placement.ranks[0].threads, 2U);
  request.ranks.reset();
  request.cpus = CpuPolicy::kPackage;
  placement = plan(machine, request);
  EXPECT_EQ(cpus(placement), "0-7 0-7 8-15 8-15");
  EXPECT_EQ(placement.ranks[1].node, NumaId{1});
  EXPECT_EQ(placement.ranks[1].threads, 3U);
  EXPECT_EQ(to_list(placement.ranks[1].memory_nodes), "1");
  request.cpus = CpuPolicy::kCore;
  EXPECT_EQ(cpus(plan(machine, request)), "0 4 8 12");
  request.cpus = CpuPolicy::kNone;
  placement = plan(machine, request);
  EXPECT_EQ(cpus(placement), "- - - -");
  EXPECT_EQ(placement.ranks[2].node, NumaId{2});
  EXPECT_EQ(to_list(placement.ranks[2].memory_nodes), "2");
  EXPECT_EQ(placement.ranks[2].threads, 0U);
}

Machine with_caches(Machine machine, std::uint32_t cores_each) {
  for (std::uint32_t i = 0; i < machine.cpus.cores.size(); i += cores_each) {
    model::Cache cache;
    cache.level = 3;
    for (std::uint32_t j = i; j < i + cores_each; ++j)
      cache.cpus |= machine.cpus.cores[j].cpus;
    machine.cpus.caches.push_back(cache);
  }
  return machine;
}

TEST(Placement, WholeCachesAreNotCut) {
  PlanRequest request;
  request.cpus = CpuPolicy::kL3;
  // 10 cores in five caches for two ranks: 6 and 4, where the plain shares would cut a cache.
  const Machine machine = with_caches(*model::topology("numa cores:10 { 2 gpu }"), 2);
  EXPECT_EQ(cpus(plan(machine, request)), "0-5 6-9");
  const Placement placement = plan(with_caches(*model::topology("numa cores:8 { 4 gpu }"), 4), request);
  EXPECT_EQ(cpus(placement), "0-1 2-3 4-5 6-7");
  EXPECT_NE(text_of(placement, "plan.cpus.caches").find("fewer last-level caches than ranks (4)"),
            std::string::npos);
}

TEST(Placement, SystemCoresStayFree) {
  PlanRequest request;
  request.system_cores = 2;
  const Placement placement = plan(*model::topology("2 numa cores:8 { 2 gpu }"), request);
  EXPECT_EQ(cpus(placement), "2-4 5-7 10-12 13-15");
  EXPECT_EQ(placement.system_cpus, list("0-1,8-9"));
  request.system_cores = 8;
  const Placement all = plan(*model::topology("2 numa cores:8 { 2 gpu }"), request);
  EXPECT_EQ(cpus(all), "0-3 4-7 8-11 12-15");
  EXPECT_TRUE(all.system_cpus.empty());
  EXPECT_FALSE(text_of(all, "plan.cpus.system-cores").empty());
}

TEST(Placement, UnknownNodeIsNotNodeZero) {
  Machine machine = *model::topology("2 numa cores:4 { 2 gpu }");
  machine.gpus[1].numa = model::Observed<NumaId>::absent({});
  for (model::PciDevice& device : machine.pci.devices)
    if (device.numa.is(NumaId{0})) device.numa = model::Observed<NumaId>::absent({});
  const Placement placement = plan(machine);
  EXPECT_EQ(cpus(placement), "0-3 - 4-5 6-7");
  EXPECT_FALSE(placement.ranks[1].node.has_value());
  EXPECT_EQ(placement.ranks[1].memory, model::MemoryPolicy::kNone);
  EXPECT_TRUE(placement.ranks[1].memory_nodes.empty());
  EXPECT_EQ(placement.ranks[1].threads, 0U);
  EXPECT_EQ(
      text_of(placement, "plan.node.unknown"),
      "rank 1: the NUMA node is not known (sysfs says -1, the bridges above say no more, and NVML did not "
      "say); CPUs and memory are left as they are");
}

TEST(Placement, ABridgeAboveTellsTheNode) {
  Machine machine = *model::topology("2 numa cores:4 { switch { gpu } }");
  machine.gpus[1].numa = model::Observed<NumaId>::absent({});
  machine.pci.devices[*machine.gpus[1].pci].numa = model::Observed<NumaId>::absent({});
  const std::uint32_t bridge = *machine.pci.devices[*machine.gpus[1].pci].parent;
  model::Source source;
  source.place = machine.places.add("/sys/bus/pci/devices/0000:07:00.0");
  source.leaf = "numa_node";
  machine.pci.devices[bridge].numa = model::Observed<NumaId>::known(NumaId{1}, source);
  const Placement placement = plan(machine);
  EXPECT_EQ(cpus(placement), "0-3 4-7");
  EXPECT_EQ(why(placement, 1, "gpu"), "GPU 1 hangs off node 1 (sysfs numa_node of 0000:07:00.0)");
}

TEST(Placement, ANodeWithoutCpusGivesToTheNearestThatHasThem) {
  Machine machine = *model::topology("2 package { numa cores:4 }; package { numa cores:0 { 2 gpu } }");
  machine.numa.nodes[2].distances = known(std::vector<std::uint32_t>{28, 17, 10});
  const Placement placement = plan(machine);
  EXPECT_EQ(cpus(placement), "4-5 6-7");
  EXPECT_EQ(placement.ranks[0].node, NumaId{1});
  EXPECT_NE(why(placement, 0, "gpu").find("which has no CPUs; node 1 is the nearest that has"),
            std::string::npos);
  machine.numa.nodes[2].distances = {};
  EXPECT_EQ(cpus(plan(machine)), "- -");
}

TEST(Placement, StaysInsideTheMask) {
  PlanRequest request;
  request.allowed_cpus = list("2-3,8-9");
  const Machine machine = *model::topology("2 numa cores:8 { 2 gpu }");
  EXPECT_EQ(cpus(plan(machine, request)), "2 3 8 9");
  request.allowed_cpus = list("0-3");
  const Placement placement = plan(machine, request);
  EXPECT_EQ(cpus(placement), "0 1 2 3");
  EXPECT_EQ(placement.ranks[3].node, NumaId{0});
  EXPECT_EQ(to_list(placement.ranks[3].memory_nodes), "0");
  EXPECT_EQ(
      text_of(placement, "plan.cpus.mask-misses-node"),
      "ranks 2-3: the CPU mask leaves no core of node 1, where the GPU hangs; bound to node 0 (distance 21, "
      "local is 10) inside the mask. Every copy between GPU and host memory crosses the CPUs' interconnect");
}

TEST(Placement, TheMachinesOwnMaskCounts) {
  Machine machine = *model::topology("2 numa cores:8 { 2 gpu }");
  machine.cpus.allowed = known(list("0-1,8-15"));
  EXPECT_EQ(cpus(plan(machine)), "0 1 8-11 12-15");
  PlanRequest request;
  request.allowed_cpus = list("4-5,8-9");
  EXPECT_EQ(cpus(plan(machine, request)), "4 5 8 9");
}

TEST(Placement, MasksThatLeaveNothing) {
  PlanRequest request;
  request.allowed_cpus = CpuSet{};
  const Machine machine = *model::topology("2 numa cores:8 { 2 gpu }");
  EXPECT_EQ(error_of(machine, request), "the CPU mask is empty: no rank could run");
  request.allowed_cpus = list("64-71");
  EXPECT_EQ(error_of(machine, request), "the CPU mask 64-71 holds none of the CPUs that are online (0-15)");
  request = {};
  request.allowed_memory = CpuSet{};
  EXPECT_EQ(error_of(machine, request), "the memory mask is empty: no page could be allocated");
  request = {};
  request.ranks = 0;
  EXPECT_EQ(error_of(machine, request), "0 ranks: expected 1 to 65536");
}

TEST(Placement, RanksWithoutGpusSpreadOverTheNodes) {
  const Machine machine = *model::topology("4 numa cores:4");
  EXPECT_EQ(cpus(plan(machine)), "0-3 4-7 8-11 12-15");
  PlanRequest request;
  request.ranks = 6;
  EXPECT_EQ(cpus(plan(machine, request)), "0-1 2-3 4-7 8-9 10-11 12-15");
  request.ranks = 2;
  EXPECT_EQ(cpus(plan(machine, request)), "0-3 8-11");
  EXPECT_EQ(plan(machine, request).ranks[0].kept_cores, 0U);
  EXPECT_EQ(plan(machine, request).ranks[0].threads, 4U);
}

TEST(Placement, MoreRanksThanGpus) {
  PlanRequest request;
  request.ranks = 8;
  const Placement placement = plan(*model::topology("2 numa cores:8 { 2 gpu }"), request);
  EXPECT_EQ(cpus(placement), "0-1 2-3 8-9 10-11 4-5 6-7 12-13 14-15");
  EXPECT_EQ(placement.ranks[5].gpu, 1U);
  EXPECT_NE(text_of(placement, "plan.gpu.oversubscribed").find("8 ranks on 4 GPUs"), std::string::npos);
}

TEST(Placement, MoreRanksThanCores) {
  PlanRequest request;
  request.ranks = 5;
  const Placement placement = plan(*model::topology("numa cores:2"), request);
  EXPECT_EQ(cpus(placement), "0 1 0 1 0");
  EXPECT_NE(text_of(placement, "plan.cpus.oversubscribed").find("node 0 has 2 cores for 5 ranks"),
            std::string::npos);
  EXPECT_EQ(placement.ranks[0].threads, 1U);
}

TEST(Placement, FewerRanksThanGpusLeaveANodeIdle) {
  PlanRequest request;
  request.ranks = 2;
  const Placement placement = plan(*model::topology("2 numa cores:8 { 2 gpu }"), request);
  EXPECT_EQ(cpus(placement), "0-3 4-7");
  EXPECT_EQ(text_of(placement, "plan.gpu.unused"), "2 ranks for 4 visible GPUs: GPUs 2, 3 without a rank");
  EXPECT_NE(text_of(placement, "plan.node.idle").find("node 1 is without a rank"), std::string::npos);
}

TEST(Placement, AllGpusOnOneNode) {
  const Machine machine = *model::topology("numa cores:8 { 4 gpu }; numa cores:8");
  const Placement placement = plan(machine);
  EXPECT_EQ(cpus(placement), "0-1 2-3 4-5 6-7");
  EXPECT_EQ(text_of(placement, "plan.node.idle"),
            "node 1 is without a rank, since no rank's GPU hangs off there: 8 cores idle; ranks of other "
            "nodes would "
            "find memory remote there (distance 21, local is 10)");
  const Machine clusters = *model::topology("package { numa cores:8 { 4 gpu }; numa cores:8 }");
  const Placement near = plan(clusters);
  const auto note = std::ranges::find(near.notes, "plan.node.idle", &model::Note::id);
  ASSERT_NE(note, near.notes.end());
  EXPECT_EQ(note->remedy, "--cpus package adds the nodes of the same package");
  PlanRequest request;
  request.cpus = CpuPolicy::kPackage;
  EXPECT_EQ(text_of(plan(clusters, request), "plan.node.idle"), "");
}

TEST(Placement, AMachineWithoutNodesIsLeftAlone) {
  Machine machine = *model::topology("numa cores:8 { 2 gpu }");
  machine.numa.nodes.clear();
  machine.gpus[0].numa = {};
  machine.gpus[1].numa = {};
  for (model::PciDevice& device : machine.pci.devices)
    device.numa = {};
  const Placement placement = plan(machine);
  ASSERT_EQ(placement.ranks.size(), 2U);
  EXPECT_EQ(cpus(placement), "- -");
  EXPECT_EQ(plan(Machine{}).ranks.size(), 1U);
}

TEST(Placement, CpusCountAsCoresWhereTheSourceHasNone) {
  Machine machine = *model::topology("2 numa cores:4 { gpu }");
  machine.cpus.cores.clear();
  machine.cpus.online = {};
  const Placement placement = plan(machine);
  EXPECT_EQ(cpus(placement), "0-3 4-7");
  EXPECT_FALSE(text_of(placement, "plan.cpus.cores-unknown").empty());
}

// nvidia-smi's matrix gives "0-3,8-11": most likely threads 0 and 8 share a core, and no two ranks may have
// them.
TEST(Placement, LikelySiblingsAreNotSplitWhereTheSourceHasNoCores) {
  Machine machine = *model::topology("2 numa cores:8 { 2 gpu }");
  machine.cpus.cores.clear();
  machine.numa.nodes[0].cpus = list("0-3,8-11");
  machine.numa.nodes[1].cpus = list("4-7,12-15");
  const Placement placement = plan(machine);
  EXPECT_EQ(cpus(placement), "0-1,8-9 2-3,10-11 4-5,12-13 6-7,14-15");
  EXPECT_EQ(placement.ranks[0].cores, 2U);
  EXPECT_NE(text_of(placement, "plan.cpus.cores-unknown").find("taken for one core"), std::string::npos);
}

}  // namespace
}  // namespace angio::plan
