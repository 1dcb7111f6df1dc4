// What holds for any machine and any request.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

#include "model/synthetic.hpp"
#include "plan/plan.hpp"

namespace angio::plan {
namespace {

using model::Machine;

class Dice {
 public:
  explicit Dice(std::uint32_t seed) : random_(seed) {}
  // 0 to most, both included.
  std::uint32_t roll(std::uint32_t most) {
    return static_cast<std::uint32_t>(random_() % (most + std::uint64_t{1}));
  }
  bool chance(std::uint32_t in) { return roll(in - 1) == 0; }

 private:
  std::mt19937 random_;
};

Machine random_machine(Dice& dice) {
  std::string text;
  const std::uint32_t packages = 1 + dice.roll(3);
  for (std::uint32_t i = 0; i < packages; ++i) {
    text += "package { ";
    const std::uint32_t nodes = 1 + dice.roll(3);
    for (std::uint32_t j = 0; j < nodes; ++j) {
      const std::uint32_t cores = i == 0 && j == 0 ? 1 + dice.roll(15) : dice.roll(15);
      text += fmt::format("numa cores:{} {{ ", cores);
      for (std::uint32_t gpus = dice.roll(3); gpus > 0; --gpus)
        text += "gpu; ";
      for (std::uint32_t cards = dice.roll(2); cards > 0; --cards)
        text += "hca; ";
      text += "nvme }; ";
    }
    text += "}; ";
  }
  Machine machine = *model::topology(text);
  for (model::NumaNode& node : machine.numa.nodes) {
    if (dice.chance(6)) node.kind = dice.chance(2) ? model::NumaKind::kCxl : model::NumaKind::kGpuMemory;
    if (dice.chance(8)) node.memory = model::Observed<Bytes>::known({0}, {});
    if (dice.chance(8)) node.distances = {};
  }
  for (model::Gpu& gpu : machine.gpus) {
    if (!dice.chance(8)) continue;
    gpu.numa = model::Observed<NumaId>::absent({});
    machine.pci.devices[*gpu.pci].numa = gpu.numa;
  }
  for (std::uint32_t i = 0; i < machine.cpus.cores.size(); i += 4) {
    model::Cache cache;
    cache.level = 3;
    for (std::uint32_t j = i; j < std::min<std::size_t>(i + 4, machine.cpus.cores.size()); ++j)
      cache.cpus |= machine.cpus.cores[j].cpus;
    machine.cpus.caches.push_back(cache);
  }
  if (dice.chance(4)) machine.cpus.online.erase(dice.roll(8));
  return machine;
}

PlanRequest random_request(Dice& dice, const Machine& machine) {
  PlanRequest request;
  if (dice.chance(2)) request.ranks = 1 + dice.roll(15);
  request.cpus = static_cast<CpuPolicy>(dice.roll(5));
  request.memory = static_cast<model::MemoryPolicy>(dice.roll(4));
  request.smt = dice.chance(2) ? Smt::kOne : Smt::kAll;
  request.system_cores = dice.roll(2);
  if (dice.chance(3)) {
    CpuSet mask;
    for (const std::uint32_t cpu : machine.cpus.online.members())
      if (dice.chance(2)) mask.insert(cpu);
    request.allowed_cpus = mask;
  }
  return request;
}

bool divides(CpuPolicy policy) {
  return policy == CpuPolicy::kExclusive || policy == CpuPolicy::kL3 || policy == CpuPolicy::kCore;
}

void check_cpus(const Machine& machine, const PlanRequest& request, const model::Placement& placement) {
  const CpuSet allowed = request.allowed_cpus.value_or(machine.cpus.online) & machine.cpus.online;
  const bool too_few = std::ranges::any_of(
      placement.notes, [](const model::Note& note) { return note.id == "plan.cpus.oversubscribed"; });
  CpuSet taken;
  std::map<std::uint32_t, std::pair<std::uint32_t, std::uint32_t>> sizes;
  for (const model::RankPlacement& rank : placement.ranks) {
    EXPECT_TRUE(rank.cpus.is_subset_of(allowed));
    EXPECT_FALSE(rank.cpus.intersects(placement.system_cpus));
    EXPECT_EQ(rank.cpus.empty(), request.cpus == CpuPolicy::kNone || !rank.node);
    if (!divides(request.cpus) || !rank.node) continue;
    EXPECT_TRUE(too_few || !rank.cpus.intersects(taken));
    taken |= rank.cpus;
    EXPECT_EQ(rank.cpus.size(), rank.cores);  // one thread a core here
    EXPECT_GE(rank.threads, 1U);
    auto [entry, is_new] = sizes.try_emplace(rank.node->value, rank.cores, rank.cores);
    entry->second.first = std::min(entry->second.first, rank.cores);
    entry->second.second = std::max(entry->second.second, rank.cores);
  }
  if (request.cpus == CpuPolicy::kL3) return;  // whole caches may differ by a cache
  for (const auto& [node, size] : sizes)
    EXPECT_LE(size.second - size.first, 1U) << "node " << node;
}

void check_memory(const Machine& machine, const model::Placement& placement) {
  for (const model::RankPlacement& rank : placement.ranks) {
    for (const model::NumaNode& node : machine.numa.nodes) {
      if (!rank.memory_nodes.contains(node.id.value)) continue;
      EXPECT_FALSE(node.memory.is(Bytes{0}));
      EXPECT_NE(node.kind, model::NumaKind::kGpuMemory);
      EXPECT_NE(node.kind, model::NumaKind::kCxl);
    }
  }
}

TEST(PlacementProperties, HoldForRandomMachinesAndRequests) {
  int planned = 0;
  for (std::uint32_t seed = 0; seed < 500; ++seed) {
    SCOPED_TRACE(seed);
    Dice dice(seed);
    const Machine machine = random_machine(dice);
    const PlanRequest request = random_request(dice, machine);
    const auto placement = make_placement(machine, request);
    if (!placement) {
      EXPECT_NE(placement.error().code, ErrorCode::kBug);
      EXPECT_FALSE(placement.error().message.empty());
      continue;
    }
    ++planned;
    EXPECT_TRUE(!request.ranks || placement->ranks.size() == *request.ranks);
    check_cpus(machine, request, *placement);
    check_memory(machine, *placement);
  }
  EXPECT_GT(planned, 400);
}

TEST(PlacementProperties, WrappersThatKnowNothingOfEachOtherDoNotMeet) {
  for (std::uint32_t seed = 0; seed < 150; ++seed) {
    SCOPED_TRACE(seed);
    Dice dice(seed);
    const Machine machine = random_machine(dice);
    const auto gpus = static_cast<std::uint32_t>(machine.gpus.size());
    if (gpus == 0) continue;
    CpuSet taken;
    bool too_few = false;
    for (std::uint32_t i = 0; i < gpus; ++i) {
      RankRequest request;
      request.local_rank = i;
      request.plan.ranks = gpus;
      request.plan.visible.cuda = std::to_string((i + 1) % gpus);
      const auto placement = make_rank_placement(machine, request);
      ASSERT_TRUE(placement.has_value());
      too_few = too_few || std::ranges::any_of(placement->notes, [](const model::Note& note) {
                  return note.id == "plan.cpus.oversubscribed";
                });
      EXPECT_TRUE(too_few || !placement->ranks[0].cpus.intersects(taken));
      taken |= placement->ranks[0].cpus;
    }
  }
}

}  // namespace
}  // namespace angio::plan
