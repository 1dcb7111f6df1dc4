#include "plan/memory.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "model/synthetic.hpp"

namespace angio::plan {
namespace {

using model::Machine;
using model::MemoryPolicy;
using model::NumaKind;

constexpr Bytes gibibytes(std::uint64_t count) {
  return {count << 30U};
}

template <typename T>
model::Observed<T> known(T value) {
  return model::Observed<T>::known(std::move(value), {});
}

Result<model::Placement> plan(const Machine& machine, MemoryPolicy policy, const char* allowed = nullptr) {
  PlanRequest request;
  request.memory = policy;
  if (allowed != nullptr) request.allowed_memory = parse_cpu_list(allowed);
  return make_placement(machine, request);
}

// "0 1": each rank's memory nodes.
std::string nodes(const Result<model::Placement>& placement) {
  if (!placement) return "error: " + placement.error().message;
  std::string text;
  for (const model::RankPlacement& rank : placement->ranks)
    text += (text.empty() ? "" : " ") +
            (rank.memory_nodes.empty() ? std::string("-") : to_list(rank.memory_nodes));
  return text;
}

std::string note(const Result<model::Placement>& placement, std::string_view id) {
  if (!placement) return {};
  const auto found = std::ranges::find(placement->notes, id, &model::Note::id);
  return found == placement->notes.end() ? "" : found->text;
}

TEST(Memory, EachPolicyHasItsNodes) {
  const Machine machine = *model::topology("2 package { 2 numa cores:4 { gpu } }");
  EXPECT_EQ(nodes(plan(machine, MemoryPolicy::kPreferred)), "0 1 2 3");
  EXPECT_EQ(nodes(plan(machine, MemoryPolicy::kBind)), "0 1 2 3");
  EXPECT_EQ(nodes(plan(machine, MemoryPolicy::kInterleave)), "0-1 0-1 2-3 2-3");
  EXPECT_EQ(nodes(plan(machine, MemoryPolicy::kLocal)), "- - - -");
  EXPECT_EQ(nodes(plan(machine, MemoryPolicy::kNone)), "- - - -");
  EXPECT_EQ(plan(machine, MemoryPolicy::kLocal)->ranks[0].memory, MemoryPolicy::kLocal);
}

TEST(Memory, GpuAndCxlMemoryIsNeverChosen) {
  Machine machine = *model::topology("package { numa cores:4 { gpu c2c }; numa cores:0; numa cores:0 }");
  machine.numa.nodes[1].kind = NumaKind::kGpuMemory;
  machine.numa.nodes[2].kind = NumaKind::kCxl;
  EXPECT_EQ(nodes(plan(machine, MemoryPolicy::kPreferred)), "0");
  EXPECT_EQ(nodes(plan(machine, MemoryPolicy::kInterleave)), "0");
  machine.numa.nodes[0].kind = NumaKind::kCpuOnly;
  machine.numa.nodes[0].memory = known(Bytes{0});
  const auto placement = plan(machine, MemoryPolicy::kPreferred);
  EXPECT_EQ(nodes(placement), "-");
  EXPECT_EQ(placement->ranks[0].memory, MemoryPolicy::kNone);
  EXPECT_EQ(nodes(plan(machine, MemoryPolicy::kBind)),
            "error: rank 0: strict memory, but no node with host memory is known");
}

TEST(Memory, ANodeOfCpusTakesTheNearestMemory) {
  Machine machine = *model::topology("2 package { 2 numa cores:4 { gpu } }");
  machine.numa.nodes[0].kind = NumaKind::kCpuOnly;
  machine.numa.nodes[0].memory = known(Bytes{0});
  const auto placement = plan(machine, MemoryPolicy::kPreferred);
  EXPECT_EQ(nodes(placement), "1 1 2 3");
  EXPECT_EQ(
      placement->ranks[0].why[2].text,
      "node 0 has CPUs but no memory of its own for them; node 1 is the nearest that has (distance 12); "
      "preferred: when it is full, the kernel takes the next node");
  machine.numa.nodes[0].distances = known(std::vector<std::uint32_t>{10, 32, 20, 20});
  EXPECT_EQ(nodes(plan(machine, MemoryPolicy::kPreferred)), "2 1 2 3");
}

TEST(Memory, StaysInsideTheMemoryMask) {
  const Machine machine = *model::topology("2 numa cores:4 { gpu }");
  const auto placement = plan(machine, MemoryPolicy::kPreferred, "1");
  EXPECT_EQ(nodes(placement), "1 1");
  EXPECT_NE(placement->ranks[0].why[2].text.find("node 0 is not in the memory mask 1"), std::string::npos);
  EXPECT_EQ(nodes(plan(machine, MemoryPolicy::kBind, "7")),
            "error: rank 0: strict memory, but no node with host memory is in the memory mask 7");
}

TEST(Memory, StrictPoliciesAreChecked) {
  Machine machine = *model::topology("2 numa cores:4 mem:64GiB { 2 gpu }");
  EXPECT_NE(note(plan(machine, MemoryPolicy::kBind), "plan.memory.free-unknown").find("not checked"),
            std::string::npos);
  machine.numa.nodes[0].memory_free = known(gibibytes(32));
  machine.numa.nodes[1].memory_free = known(gibibytes(5));
  const auto placement = plan(machine, MemoryPolicy::kBind);
  EXPECT_EQ(nodes(placement), "0 0 1 1");
  EXPECT_EQ(note(placement, "plan.memory.tight"),
            "strict memory on node 1 for 2 ranks: 5 GiB of 64 GiB free (page cache, which the kernel gives "
            "back, not "
            "counted); below 8 GiB allocations may fail though other nodes have room");
  EXPECT_EQ(note(plan(machine, MemoryPolicy::kPreferred), "plan.memory.tight"), "");
  machine.numa.nodes[1].memory_free = known(Bytes{1 << 20});
  EXPECT_EQ(
      nodes(plan(machine, MemoryPolicy::kBind)),
      "error: strict memory on node 1 for 2 ranks: 1 MiB of 64 GiB free, less than the 32 MiB that their own "
      "pages take");
}

TEST(Memory, MissingHugePagesAreSaid) {
  Machine machine = *model::topology("2 numa cores:4 { gpu }");
  for (model::NumaNode& node : machine.numa.nodes) {
    node.memory_free = known(gibibytes(32));
    node.huge_pages.push_back({Bytes{2 << 20}, 0, 0});
  }
  EXPECT_EQ(note(plan(machine, MemoryPolicy::kBind), "plan.memory.huge-pages"), "");
  machine.numa.nodes[0].huge_pages[0] = {Bytes{2 << 20}, 1024, 1000};
  EXPECT_EQ(
      note(plan(machine, MemoryPolicy::kBind), "plan.memory.huge-pages"),
      "node 1 has 0 of 0 huge pages of 2 MiB free (1024 on all nodes); under a strict policy a program that "
      "maps them there ends with SIGBUS");
}

}  // namespace
}  // namespace angio::plan
