#include <gtest/gtest.h>

#include "lint/rules/rule_testing.hpp"

namespace angio::lint {
namespace {

TEST(Fixes, FirstOfOverlappingEditsWins) {
  Script script = read_script("f", "abcdef", FileKind::kShell);
  Complaint a;
  a.file = "f";
  a.fix = {{1, 3, "X"}};
  Complaint b = a;
  b.fix = {{2, 2, "Y"}, {5, 1, "Z"}};
  EXPECT_EQ(apply_fixes(script, {a, b}), "aXeZ");
  b.file = "other";
  EXPECT_EQ(apply_fixes(script, {b}), "abcdef");
}

TEST(Diff, IsUnifiedWithThreeLines) {
  EXPECT_EQ(diff_text("f", "a\nb\nc\nd\ne\nf\n", "a\nb\nc\nD\ne\nf\n"),
            "--- f\n+++ f\n@@ -1,6 +1,6 @@\n a\n b\n c\n-d\n+D\n e\n f\n");
  EXPECT_EQ(diff_text("f", "a\nb\n", "b\n"), "--- f\n+++ f\n@@ -1,2 +1 @@\n-a\n b\n");
  EXPECT_EQ(diff_text("f", "a\n", "a"), "--- f\n+++ f\n@@ -1 +1 @@\n-a\n+a\n\\ No newline at end of file\n");
  EXPECT_EQ(diff_text("f", "a\n", ""), "--- f\n+++ f\n@@ -1 +0,0 @@\n-a\n");
  EXPECT_EQ(diff_text("f", "a\n", "a\n"), "");
}

TEST(Diff, FarChangesAreHunksOfTheirOwn) {
  std::string before;
  for (int i = 0; i < 20; ++i)
    before += std::to_string(i) + "\n";
  std::string after = before;
  after.replace(after.find("2\n"), 1, "x");
  after.replace(after.rfind("18"), 2, "y");
  const std::string diff = diff_text("f", before, after);
  EXPECT_NE(diff.find("@@ -1,6 +1,6 @@"), std::string::npos);
  EXPECT_NE(diff.find("@@ -16,5 +16,5 @@"), std::string::npos);
}

TEST(Fixes, LeaveNothingToFix) {
  const std::string text =
      "export NCCL_ALGO=Ring,Coll NCCL_BUFFSIZE=8M\nexport NCCL_IB_DISABLE=yes\nexport NCCL_IB_GID_INDEX=-1\n"
      "export NCCL_P2P_LEVEL=pix\nexport NCCL_MAX_NCHANNELS=4K\nif x; then\n  export NCCL_ALGO=Coll\nfi\n"
      "mpirun -x NCCL_ALGO=Coll,Tree,Ring -x NCCL_IB_DISABLE=true ./x\n";
  std::string current = text;
  for (int round = 0; round < 4; ++round)
    current = try_lint(current, nccl("2.28.9")).fixed();
  EXPECT_EQ(try_lint(current, nccl("2.28.9")).fixed(), current);
  EXPECT_EQ(current,
            "export NCCL_ALGO=Ring NCCL_BUFFSIZE=8388608\nexport NCCL_IB_DISABLE=1\n"
            "export NCCL_P2P_LEVEL=PIX\nexport NCCL_MAX_CTAS=4K\nif x; then\n  export NCCL_ALGO=Coll\nfi\n"
            "mpirun -x NCCL_ALGO=Tree,Ring -x NCCL_IB_DISABLE=1 ./x\n");
}

TEST(Effective, EnvironmentGoesBeforeConfFiles) {
  const std::vector<Script> scripts{
      read_script("nccl.conf", "NCCL_DEBUG=INFO\nNCCL_IB_TC=106\n", FileKind::kNcclConf),
      read_script("job.sh", "export NCCL_DEBUG=WARN\nexport NCCL_IB_DISABLE=1\n", FileKind::kShell)};
  const Report report = lint(scripts, nccl("2.28.9"));
  ASSERT_EQ(report.effective.size(), 3U);
  EXPECT_EQ(report.effective[0].name, "NCCL_DEBUG");
  EXPECT_EQ(report.effective[0].value, "WARN");
  EXPECT_EQ(report.effective[0].origin, "job.sh:1");
  EXPECT_EQ(report.effective[2].origin, "nccl.conf:2");
  EXPECT_FALSE(report.effective[2].has_effect);
  EXPECT_EQ(report.effective[2].effect, "no effect: NCCL_IB_DISABLE is set");
}

}  // namespace
}  // namespace angio::lint
