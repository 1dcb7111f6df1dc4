#include <gtest/gtest.h>

#include "diagnose/test_machines.hpp"

namespace angio::test {
namespace {

using model::MemoryEvent;
using model::MemoryTrouble;
using model::OomConstraint;

MemoryEvent event(MemoryTrouble kind, OomConstraint constraint = OomConstraint::kUnknown) {
  MemoryEvent made;
  made.kind = kind;
  made.constraint = constraint;
  made.text = "\"the line\"";
  made.source = {1, 7, ""};
  return made;
}

Machine with(MemoryEvent event) {
  Machine machine = dgx_h100();
  machine.logs.push_back({"job.log", {std::move(event)}, {}});
  return machine;
}

// Exactly one of the memory rules speaks, and it is this one.
void expect_only(const Machine& machine, std::string_view rule) {
  std::vector<std::string> fired;
  for (const model::Finding& finding : diagnose::diagnose(machine).findings)
    if (finding.rule.starts_with("memory.")) fired.push_back(finding.rule);
  EXPECT_EQ(fired, std::vector<std::string>{std::string(rule)});
}

void expect_undecided(const Machine& machine, const char* rule) {
  EXPECT_TRUE(findings_of(machine, rule).empty());
  EXPECT_EQ(undecided_of(machine, rule).size(), 1U) << rule;
}

TEST(MemoryDeviceExhausted, Fires) {
  const Machine machine = with(event(MemoryTrouble::kDevice));
  expect_only(machine, "memory.device.exhausted");
  const auto found = findings_of(machine, "memory.device.exhausted").at(0);
  EXPECT_EQ(found.severity, model::Severity::kCritical);
  EXPECT_EQ(found.evidence.at(0).text, "\"the line\"");
}
TEST(MemoryDeviceExhausted, SilentWithoutALog) {
  EXPECT_TRUE(not_applicable(dgx_h100(), "memory.device.exhausted"));
}
TEST(MemoryDeviceExhausted, UndecidedOnABareCudaError) {
  expect_undecided(with(event(MemoryTrouble::kCudaEither)), "memory.device.exhausted");
}

TEST(MemoryPinnedRefused, FiresAndShowsTheFreeMemoryOfTheNodes) {
  Machine machine = with(event(MemoryTrouble::kPinned));
  set(machine.numa.nodes[0].memory_free, Bytes{1ULL << 20U});
  expect_only(machine, "memory.pinned.refused");
  const auto found = findings_of(machine, "memory.pinned.refused").at(0);
  EXPECT_TRUE(found.evidence.at(1).text.starts_with("node 0: 1 MiB free of ")) << found.evidence.at(1).text;
}
TEST(MemoryPinnedRefused, SilentOnTroubleOfAnotherKind) {
  EXPECT_TRUE(held(with(event(MemoryTrouble::kDevice)), "memory.pinned.refused"));
}
TEST(MemoryPinnedRefused, UndecidedOnABareCudaError) {
  expect_undecided(with(event(MemoryTrouble::kCudaEither)), "memory.pinned.refused");
}

TEST(MemoryPolicyStrict, FiresWithTheNodesOfThePolicy) {
  MemoryEvent killed = event(MemoryTrouble::kKernel, OomConstraint::kMemoryPolicy);
  killed.process = "python";
  killed.policy_nodes = cpu_range(1, 1);
  const Machine machine = with(killed);
  expect_only(machine, "memory.policy.strict");
  EXPECT_EQ(findings_of(machine, "memory.policy.strict").at(0).title,
            "The kernel killed python because its strict memory policy left it only NUMA node 1, and they "
            "were full");
}
TEST(MemoryPolicyStrict, SilentWhenTheWholeMachineWasFull) {
  const Machine machine = with(event(MemoryTrouble::kKernel, OomConstraint::kNone));
  EXPECT_TRUE(held(machine, "memory.policy.strict"));
  expect_only(machine, "memory.host.exhausted");
}
TEST(MemoryPolicyStrict, UndecidedWithoutTheConstraint) {
  expect_undecided(with(event(MemoryTrouble::kKernel, OomConstraint::kUnknown)), "memory.policy.strict");
}

TEST(MemoryCgroupLimit, Fires) {
  expect_only(with(event(MemoryTrouble::kKernel, OomConstraint::kCgroup)), "memory.cgroup.limit");
}
TEST(MemoryCgroupLimit, SilentOnOtherKills) {
  EXPECT_TRUE(held(with(event(MemoryTrouble::kKernel, OomConstraint::kNone)), "memory.cgroup.limit"));
}
// no undecided: a kill that names no constraint is left to memory.policy.strict
TEST(MemoryCgroupLimit, UndecidedIsLeftToThePolicyRule) {
  EXPECT_TRUE(held(with(event(MemoryTrouble::kKernel, OomConstraint::kUnknown)), "memory.cgroup.limit"));
}

TEST(MemoryHostExhausted, Fires) {
  expect_only(with(event(MemoryTrouble::kHost)), "memory.host.exhausted");
}
TEST(MemoryHostExhausted, SilentOnTheGpusMemory) {
  EXPECT_TRUE(held(with(event(MemoryTrouble::kDevice)), "memory.host.exhausted"));
}
TEST(MemoryHostExhausted, UndecidedWhenNobodySaysWhoKilled) {
  expect_undecided(with(event(MemoryTrouble::kKilled)), "memory.host.exhausted");
}

TEST(MemoryShmExhausted, Fires) {
  expect_only(with(event(MemoryTrouble::kShared)), "memory.shm.exhausted");
}
TEST(MemoryShmExhausted, SilentOnOtherTrouble) {
  EXPECT_TRUE(held(with(event(MemoryTrouble::kHost)), "memory.shm.exhausted"));
}
// no undecided: the loader's message names /dev/shm or it does not
TEST(MemoryShmExhausted, UndecidedNever) {
  EXPECT_TRUE(not_applicable(dgx_h100(), "memory.shm.exhausted"));
}

}  // namespace
}  // namespace angio::test
