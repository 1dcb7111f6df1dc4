#include <gtest/gtest.h>

#include <set>

#include "diagnose/rule.hpp"
#include "diagnose/test_machines.hpp"
#include "knowledge/knowledge.hpp"

namespace angio::test {
namespace {

TEST(Engine, EachRuleHasWordsAndEachWordsARule) {
  std::set<std::string_view> in_code;
  for (const diagnose::Rule& rule : diagnose::all_rules()) {
    EXPECT_TRUE(in_code.insert(rule.id).second) << rule.id << " twice";
    EXPECT_NE(knowledge::find_rule(rule.id), nullptr) << rule.id << " has no entry in data/rules";
  }
  for (const knowledge::RuleText& text : knowledge::rules()) {
    if (text.id.starts_with("dryrun."))
      continue;  // over two runs: src/dryrun/against.cpp, with a test of its own
    if (text.id.starts_with("rdma.rate."))
      continue;  // over two readings: src/rdma/judge.cpp, with a test of its own
    if (text.id.starts_with("fabric.")) continue;  // over a fabric: src/fabric, with tests of its own
    if (text.id.starts_with("mesh.")) continue;    // over measurements: src/mesh, with tests of its own
    if (text.id.starts_with("judge.")) continue;   // over results: src/judge, with tests of its own
    EXPECT_TRUE(in_code.contains(text.id)) << text.id << " has no check";
  }
}

std::string list(const model::Diagnosis& diagnosis) {
  std::string text;
  for (const model::Finding& finding : diagnosis.findings)
    text += finding.rule + ": " + finding.title + "\n";
  for (const model::Undecided& gap : diagnosis.undecided)
    text += gap.rule + "? " + gap.missing + "\n";
  return text;
}

TEST(Engine, HealthyMachinesGiveNothing) {
  EXPECT_EQ(list(diagnose::diagnose(dgx_h100())), "");
  EXPECT_EQ(list(diagnose::diagnose(plain_host())), "");
}

TEST(Engine, EveryRuleSaysWhatBecameOfIt) {
  const model::Diagnosis diagnosis = diagnose::diagnose(dgx_h100());
  EXPECT_EQ(diagnosis.held.size() + diagnosis.not_applicable.size(), diagnose::all_rules().size());
}

// A machine nobody looked at: nothing is claimed.
TEST(Engine, NothingIsConcludedFromNothing) {
  EXPECT_TRUE(diagnose::diagnose(Machine{}).findings.empty());
}

TEST(Engine, FillsNodeAndDeviceAndJoinsTheWords) {
  Machine machine = dgx_h100("gpu-x");
  set(machine.gpus[3].pcie_replays, std::uint64_t{52000});
  const model::Finding finding = findings_of(machine, "gpu.pcie.replays-high").at(0);
  const knowledge::RuleText& text = *knowledge::find_rule("gpu.pcie.replays-high");
  EXPECT_EQ(finding.node, "gpu-x");
  EXPECT_EQ(finding.severity, text.severity);
  EXPECT_EQ(finding.confidence, text.confidence);
  EXPECT_EQ(finding.layer, text.layer);
  EXPECT_EQ(finding.fixes.size(), text.fixes.size());
  EXPECT_EQ(finding.sources.size(), text.sources.size());
}

TEST(Engine, RanksBySeverityThenShareLostThenRule) {
  std::vector<model::Finding> findings(4);
  findings[0].rule = "b";
  findings[0].severity = model::Severity::kInfo;
  findings[1].rule = "c";
  findings[2].rule = "a";
  findings[3].rule = "d";
  findings[3].rank = 0.5;
  diagnose::rank(findings);
  EXPECT_EQ(findings[0].rule, "d");
  EXPECT_EQ(findings[1].rule, "a");
  EXPECT_EQ(findings[2].rule, "c");
  EXPECT_EQ(findings[3].rule, "b");
}

}  // namespace
}  // namespace angio::test
