#include "views/doctor_view.hpp"

#include <gtest/gtest.h>

#include "knowledge/knowledge.hpp"
#include "views/findings_json.hpp"

namespace angio::views {
namespace {

model::Finding peermem(const std::string& node) {
  model::Finding finding;
  finding.rule = "rdma.gdr.peermem-missing";
  finding.severity = model::Severity::kCritical;
  finding.node = node;
  finding.title = "GPUDirect RDMA is off: nvidia_peermem is not loaded";
  finding.evidence = {{"/proc/modules has no nvidia_peermem", "/proc/modules"}};
  finding.cost = {"8 NICs copy through host memory", ""};
  finding.fixes = {{"Load it", "sudo modprobe nvidia_peermem", "safe while no job runs", true, false}};
  finding.disprove = "lsmod | grep nvidia_peermem";
  finding.sources = {"NCCL user guide 2.30, GPU Direct"};
  return finding;
}

DoctorReport three_nodes() {
  DoctorReport report;
  for (const char* name : {"gpu-a", "gpu-b"}) {
    model::Diagnosis healthy;
    healthy.held = {"rdma.gdr.peermem-missing", "system.shm.small"};
    add_node(report, {name, "test", ""}, healthy);
  }
  model::Diagnosis ill;
  ill.findings = {peermem("gpu-c")};
  ill.held = {"system.shm.small"};
  ill.undecided = {{"pcie.acs.redirect", "gpu-c", "ACS state: permission denied", "sudo angio collect"}};
  add_node(report, {"gpu-c", "test", ""}, ill);
  report.groups = {{{"gpu-a", "gpu-b"}, {}},
                   {{"gpu-c"}, {{"module nvidia_peermem", "not loaded", "loaded"}}}};
  report.seconds = 0.03;
  return report;
}

TEST(DoctorView, SaysHowNodesCompareThenFindingsThenCounts) {
  EXPECT_EQ(render_terminal(doctor_document(three_nodes()), {}),
            R"(3 nodes: gpu-a gpu-b alike, gpu-c differs in 1 thing

node   differs in             here        gpu-a
gpu-c  module nvidia_peermem  not loaded  loaded

CRITICAL  gpu-c  GPUDirect RDMA is off: nvidia_peermem is not loaded
          seen    /proc/modules has no nvidia_peermem  /proc/modules
                  not so on gpu-a gpu-b
          costs   8 NICs copy through host memory
          fix     Load it
                  sudo modprobe nvidia_peermem
          risk    needs root; safe while no job runs
          test    lsmod | grep nvidia_peermem
          source  NCCL user guide 2.30, GPU Direct (documented)
          rule    rdma.gdr.peermem-missing

1 finding, 1 undecided (angio doctor --undecided), 1 rule held. 0.03 s
)");
}

TEST(DoctorView, IsOneLineMoreWhenThereIsNothing) {
  DoctorReport report;
  model::Diagnosis healthy;
  healthy.held = {"system.shm.small", "gpu.mode.mig"};
  add_node(report, {"desk", "live", "1 NUMA node, 8 CPUs"}, healthy);
  report.groups = {{{"desk"}, {}}};
  EXPECT_EQ(render_terminal(doctor_document(report), {}), R"(desk: 1 NUMA node, 8 CPUs

no findings; 2 rules held, 0 undecided. 0.00 s
)");
}

TEST(DoctorView, UndecidedComesWhenAskedFor) {
  DoctorReport report = three_nodes();
  report.show_undecided = true;
  const std::string text = render_terminal(doctor_document(report), {});
  EXPECT_NE(text.find("UNDECIDED gpu-c  ACS state: permission denied"), std::string::npos);
  EXPECT_NE(text.find("collect  sudo angio collect"), std::string::npos);
  EXPECT_EQ(text.find("(angio doctor --undecided)"), std::string::npos);
}

TEST(DoctorView, TheSameTroubleOnManyNodesIsOneEntry) {
  DoctorReport report;
  for (int i = 0; i < 50; ++i) {
    model::Diagnosis ill;
    ill.findings = {peermem("n" + std::to_string(i))};
    add_node(report, {"n" + std::to_string(i), "test", ""}, ill);
  }
  report.groups = {{{"n0"}, {}}};
  const std::string text = render_terminal(doctor_document(report), {});
  EXPECT_NE(text.find("CRITICAL  n0 n1 n2 and 47 more  GPUDirect RDMA is off"), std::string::npos);
  EXPECT_EQ(text.find("CRITICAL"), text.rfind("CRITICAL"));
}

TEST(DoctorView, TheSameGapOnManyNodesIsOneEntryAndCountsAsOne) {
  DoctorReport report;
  report.show_undecided = true;
  for (int i = 0; i < 5; ++i) {
    const std::string name = "n" + std::to_string(i);
    model::Diagnosis open;
    open.undecided = {
        {"pcie.acs.redirect", name, "ACS state: permission denied", "sudo angio collect"},
        {"pcie.payload.small", name, "max payload of n" + std::to_string(i % 2), "angio collect"}};
    open.findings = {peermem(name)};
    add_node(report, {name, "test", ""}, open);
  }
  report.groups = {{{"n0", "n1", "n2", "n3", "n4"}, {}}};
  const std::string text = render_terminal(doctor_document(report), {});
  EXPECT_NE(text.find("UNDECIDED n0 n1 n2 and 2 more  ACS state: permission denied"), std::string::npos);
  EXPECT_EQ(text.find("ACS state"), text.rfind("ACS state"));
  EXPECT_NE(text.find("UNDECIDED n0 n2 n4  max payload of n0"), std::string::npos);
  EXPECT_NE(text.find("1 finding, 3 undecided, 0 rules held"), std::string::npos) << text;
}

TEST(DoctorView, ACommandLongerThanTheTerminalCanBeCopied) {
  DoctorReport report;
  model::Diagnosis ill;
  ill.findings = {peermem("x")};
  ill.findings[0].fixes[0].command =
      "echo <node> | sudo tee /sys/bus/pci/devices/0000:18:00.0/numa_node; cat /proc/modules";
  add_node(report, {"x", "test", ""}, ill);
  const std::string text = render_terminal(doctor_document(report), {});
  EXPECT_NE(text.find("                  echo <node> | sudo tee \\\n"
                      "                  /sys/bus/pci/devices/0000:18:00.0/numa_node; cat /proc/modules\n"),
            std::string::npos)
      << text;
}

TEST(DoctorView, ProvenanceSaysWhoLookedAndWhenTheNodesWereCaptured) {
  DoctorReport report = three_nodes();
  EXPECT_EQ(provenance(report), "time of capture not in the source");
  report.tool = "angio 1.2.3";
  report.nodes[0].captured = "2026-11-01T08:00:00Z";
  report.nodes[1].captured = "2026-11-02T08:00:00Z";
  EXPECT_EQ(
      provenance(report),
      "angio 1.2.3; captured 2026-11-01T08:00:00Z to 2026-11-02T08:00:00Z; 1 node without a time of capture");
  report.nodes.resize(1);
  EXPECT_EQ(provenance(report), "angio 1.2.3; captured 2026-11-01T08:00:00Z");
  EXPECT_EQ(*findings_json(report).find("tool")->as_string(), "angio 1.2.3");
  EXPECT_EQ(*findings_json(report).find("nodes")->as_array()->at(0).find("captured")->as_string(),
            "2026-11-01T08:00:00Z");
}

TEST(DoctorView, RemarksOnWhatWasGivenComeBeforeTheFindings) {
  DoctorReport report = three_nodes();
  report.remarks = {"a.snap was given 2 times; it is read once"};
  const std::string text = render_terminal(doctor_document(report), {});
  const std::size_t at = text.find("NOTE      a.snap was given 2 times; it is read once");
  ASSERT_NE(at, std::string::npos);
  EXPECT_LT(at, text.find("CRITICAL"));
}

TEST(DoctorView, HostileTextDoesNotReachTheTerminal) {
  DoctorReport report;
  model::Diagnosis ill;
  ill.findings = {peermem("x")};
  ill.findings[0].title = "evil\x1b[31m";
  ill.findings[0].evidence = {{"a\x07", "b\x1b]0;"}};
  add_node(report, {"x", "test", ""}, ill);
  report.groups = {{{"x"}, {}}};
  const std::string text = render_terminal(doctor_document(report), {});
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  EXPECT_EQ(text.find('\x07'), std::string::npos);
}

TEST(DoctorView, PastSaysWhatChangedAndWhatIsGone) {
  DoctorReport report = three_nodes();
  report.past = {{"gpu-c", "old.snap", {{"GPUs", "7", "8"}}, {peermem("gpu-c")}}};
  const std::string text = render_terminal(doctor_document(report), {});
  EXPECT_NE(text.find("gpu-c since old.snap"), std::string::npos);
  EXPECT_NE(text.find("was 8, is 7"), std::string::npos);
}

TEST(FindingsJson, IsVersionedAndKeepsEveryMember) {
  const Json json = findings_json(three_nodes());
  EXPECT_EQ(*json.find("schema")->as_string(), "angio.findings/1");
  EXPECT_EQ(json.find("nodes")->as_array()->size(), 3U);
  const Json& finding = json.find("findings")->as_array()->at(0);
  EXPECT_EQ(*finding.find("severity")->as_string(), "critical");
  EXPECT_EQ(*finding.find("fixes")->as_array()->at(0).find("needs_root")->as_bool(), true);
  EXPECT_TRUE(finding.find("cost")->find("formula")->is_null());
  EXPECT_EQ(*json.find("groups")
                 ->as_array()
                 ->at(1)
                 .find("differences")
                 ->as_array()
                 ->at(0)
                 .find("here")
                 ->as_string(),
            "not loaded");
  EXPECT_EQ(*json.find("undecided")->as_array()->at(0).find("collect")->as_string(), "sudo angio collect");
}

TEST(RulesView, ListsEachRuleAndTellsOne) {
  const std::string list = render_terminal(rules_document(), {});
  for (const knowledge::RuleText& rule : knowledge::rules()) {
    EXPECT_NE(list.find(rule.id), std::string::npos) << rule.id;
    const std::string one = render_terminal(rule_document(rule.id), {});
    EXPECT_NE(one.find("severity"), std::string::npos) << rule.id;
    EXPECT_NE(one.find("source"), std::string::npos) << rule.id;
  }
  EXPECT_TRUE(rule_document("no.such.rule").blocks.empty());
}

}  // namespace
}  // namespace angio::views
