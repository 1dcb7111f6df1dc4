#include <gtest/gtest.h>

#include "base/text.hpp"
#include "dryrun/compare_test_runs.hpp"
#include "dryrun/reasons.hpp"
#include "dryrun/reasons_case.hpp"
#include "dryrun/reasons_test_answers.hpp"

namespace angio::dryrun::test {
namespace {

TEST(Reasons, AProtocolIsOffBySettingOrByCondition) {
  DryRun run = healthy_run();
  for (model::NcclTuningCell& cell : world_in(run).tuning)
    if (cell.protocol == "LL128") cell.bandwidth = 0;
  EXPECT_TRUE(answer(explain(run, topology()), "Why is LL128 off?").starts_with("Cannot be told"));
  DryRun pci = run;
  world_in(pci).patterns[0].type_intra = "PHB";
  EXPECT_TRUE(contains(answer(explain(pci, topology()), "Why is LL128 off?"), "paths of class PHB"));
  DryRun far = run;
  world_in(far).patterns[0].type_inter = "SYS";
  EXPECT_TRUE(contains(answer(explain(far, topology()), "Why is LL128 off?"), "class SYS, beyond PXN"));
  EXPECT_TRUE(contains(answer(explain(run, topology("60")), "Why is LL128 off?"), "7.0 or newer"));
  set(run, "NCCL_PROTO", "^LL128");
  EXPECT_EQ(answer(explain(run, topology()), "Why is LL128 off?"), "NCCL_PROTO leaves it out.");
  EXPECT_EQ(answer(explain(healthy_run(), topology()), "Why is LL"), "");
}

TEST(Reasons, AChoiceIsExplainedByTheTableWhereThatSuffices) {
  const auto reasons = explain(healthy_run(), topology());
  EXPECT_EQ(answer(reasons, "Why TREE LL for AllReduce of 1 KiB?"),
            "The least latency in NCCL's table: Tree LL 25.2 us, next Ring LL 40.0 us.");
  EXPECT_EQ(answer(reasons, "Why RING SIMPLE for AllReduce of 1 GiB?"),
            "The most bandwidth in NCCL's table: Ring Simple 204.8 GB/s, next Ring LL128 156.6 GB/s.");
  DryRun run = healthy_run();
  run.operations[0].algorithm = "RING";
  EXPECT_TRUE(
      contains(answer(explain(run, topology()), "Why RING LL for"), "the table alone does not give it"));
}

TEST(Reasons, NamesOfAlgorithmsAreComparedAsWords) {
  DryRun run = healthy_run();
  run.operations[2].algorithm = "NVLS_TREE";
  world_in(run).tuning.push_back({"AllReduce", "NVLSTree", "Simple", 60, 300});
  EXPECT_EQ(answer(explain(run, topology()), "Why NVLS_TREE SIMPLE for AllReduce of 1 GiB?"),
            "The most bandwidth in NCCL's table: NVLSTree Simple 300.0 GB/s, next Ring Simple 204.8 GB/s.");
}

// As NCCL 2.32 prints what is off.
TEST(Reasons, CellsBelowZeroAreOff) {
  DryRun run = healthy_run();
  world_in(run).tuning.push_back({"AllReduce", "PAT", "Simple", -1, -1});
  EXPECT_EQ(answer(explain(run, topology()), "Why TREE LL for AllReduce of 1 KiB?"),
            "The least latency in NCCL's table: Tree LL 25.2 us, next Ring LL 40.0 us.");
  for (model::NcclTuningCell& cell : world_in(run).tuning)
    if (cell.protocol == "LL") cell = {cell.function, cell.algorithm, "LL", -1, -1};
  EXPECT_EQ(answer(explain(run, topology()), "Why TREE LL for"), "");
  EXPECT_FALSE(answer(explain(run, topology()), "Why is LL off?").empty());
}

TEST(Reasons, WhatASettingLeavesOutIsNoRival) {
  DryRun run = healthy_run();
  run.operations[2].protocol = "LL";
  set(run, "NCCL_PROTO", "LL");
  const std::string question = "Why RING LL for AllReduce of 1 GiB?";
  EXPECT_EQ(answer(explain(run, topology()), question),
            "The most bandwidth in NCCL's table of what NCCL_PROTO leaves: Ring LL 20.8 GB/s, next Tree LL "
            "16.6 GB/s.");
  set(run, "NCCL_ALGO", "Ring");
  EXPECT_TRUE(contains(answer(explain(run, topology()), question), "leaves no other that is enabled"));
}

TEST(Reasons, AnOwnTunerIsCited) {
  DryRun run = healthy_run();
  run.operations[0].algorithm = "RING";
  model::NcclPlugin said;
  said.kind = model::NcclPluginKind::kTuner;
  said.text = "TUNER/Angio: line 9: allreduce of 1024 B -> ring ll, channels 2";
  said.source = line(90);
  log_of(run).plugins = {said};
  const std::string question = "Why RING LL for AllReduce of 1 KiB?";
  EXPECT_EQ(
      answer(explain(run, topology()), question),
      "Angio's tuner says so, by line 9 of its table. NCCL's own table has Ring LL 40.0 us, but Tree LL "
      "25.2 us.");
  EXPECT_EQ(evidence(explain(run, topology()), question),
            "node0.log:90: TUNER/Angio: line 9: allreduce of 1024 B -> ring ll, channels 2; node0.log:70: "
            "tuning table");
  log_of(run).plugins[0].text = "TUNER/Angio: line 9: allreduce of 64 B -> ring ll";
  EXPECT_TRUE(contains(answer(explain(run, topology()), question), "at another size"));
  log_of(run).plugins[0].text += ": NCCL marks it as not available here, NCCL's own choice stands";
  EXPECT_TRUE(answer(explain(run, topology()), question).starts_with("Cannot be told"));
}

TEST(Reasons, ASettingThatWasNotHandedOnWasNotRead) {
  DryRun run = healthy_run();
  set(run, "NCCL_SOCKET_IFNAME", "eth9");
  log_of(run).settings[0].value = "=lo";
  EXPECT_EQ(answer(explain(run, topology()), "What did NCCL_SOCKET_IFNAME=eth9 do?"),
            "Nothing: NCCL read another value, NCCL_SOCKET_IFNAME==lo.");
  run.notes = {"NCCL_SOCKET_IFNAME=eth9 is not handed on: the nodes talk over lo"};
  EXPECT_EQ(answer(explain(run, topology()), "What did NCCL_SOCKET_IFNAME=eth9 do?"),
            "It was not handed on: the nodes talk over lo.");
  set(run, "NCCL_BUFFSIZE", "0x10");
  log_of(run).settings[1].value = "16";
  EXPECT_TRUE(answer(explain(run, topology()), "What did NCCL_BUFFSIZE=").starts_with("NCCL read it."));
}

TEST(Reasons, OwnVariablesAndOlderPluginLinesAreKnown) {
  DryRun run = healthy_run();
  run.settings = {{"ANGIO_TUNER_TABLE", "t.toml"}, {"NCCL_TUNER_PLUGIN", "angio"}, {"ANGIO_OTHER", "1"}};
  model::NcclPlugin table;
  table.text = "TUNER/Angio: table t.toml, hash 1f, 2 rows";
  table.source = line(80);
  model::NcclPlugin named;
  named.text = "TUNER/Plugin: NCCL_TUNER_PLUGIN set to angio";
  named.source = line(79);
  log_of(run).plugins = {table, named};
  const auto reasons = explain(run, topology());
  EXPECT_EQ(answer(reasons, "What did ANGIO_TUNER_TABLE=t.toml do?"),
            "It is Angio's own: its tuner plugin reads it, not NCCL.");
  EXPECT_EQ(evidence(reasons, "What did ANGIO_TUNER_TABLE=t.toml do?"),
            "node0.log:80: TUNER/Angio: table t.toml, hash 1f, 2 rows");
  EXPECT_TRUE(answer(reasons, "What did NCCL_TUNER_PLUGIN=angio do?").starts_with("NCCL read it."));
  EXPECT_EQ(answer(reasons, "What did ANGIO_OTHER=1 do?"), "It is Angio's own, not NCCL's.");
}

TEST(Reasons, EachSettingHasItsFate) {
  DryRun run = healthy_run();
  set(run, "NCCL_CROSS_NIC", "1");
  run.settings.emplace_back("NCCL_NO_SUCH_THING", "1");
  run.settings.emplace_back("NCCL_RAS_ENABLE", "0");
  run.settings.emplace_back("NCCL_IB_HCA", "mlx5_0");
  run.nccl = "2.19.3";
  const auto reasons = explain(run, topology());
  EXPECT_TRUE(answer(reasons, "What did NCCL_CROSS_NIC=1 do?").starts_with("NCCL read it."));
  EXPECT_TRUE(contains(answer(reasons, "What did NCCL_NO_SUCH_THING=1 do?"), "No release of NCCL"));
  EXPECT_TRUE(contains(answer(reasons, "What did NCCL_RAS_ENABLE=0 do?"), "does not know it"));
  EXPECT_EQ(answer(reasons, "What did NCCL_IB_HCA=mlx5_0 do?"),
            "The phantom network keeps to it: NCCL was offered mlx5_0 mlx5_1.");
  run.net = "ib";
  EXPECT_TRUE(
      answer(explain(run, topology()), "What did NCCL_IB_HCA=mlx5_0 do?").starts_with("Cannot be told"));
}

}  // namespace
}  // namespace angio::dryrun::test
