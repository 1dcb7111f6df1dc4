#include "lint/rules/environments.hpp"

#include <gtest/gtest.h>

#include "lint/rules/rule_testing.hpp"

namespace angio::lint {
namespace {

std::string severity(std::string_view rule, std::string text, const Context& context = nccl("2.28.9")) {
  return try_lint(std::move(text), context).severity(rule);
}

TEST(LintEnvironments, PluginComesBeforeInfiniBand) {
  const std::string two = "#SBATCH --nodes=2\nexport NCCL_IB_DISABLE=1\nexport NCCL_IB_TC=106\n";
  EXPECT_EQ(severity("nccl.ib.disabled", two), "error");
  EXPECT_EQ(severity("nccl.ib.no-effect", two), "info");
  for (const std::string_view sign :
       {"FI_PROVIDER=efa", "FI_PROVIDER=cxi", "FI_EFA_USE_DEVICE_RDMA=1", "NCCL_NET=\"AWS Libfabric\"",
        "NCCL_NET_PLUGIN=aws-ofi", "NCCL_NET_PLUGIN=$P", "NCCL_FASTRAK_CTRL_DEV=eth0"}) {
    const std::string text = two + "export " + std::string(sign) + "\n";
    EXPECT_EQ(severity("nccl.ib.disabled", text), "info") << sign;
    EXPECT_EQ(severity("nccl.ib.no-effect", text), "") << sign;
  }
  for (const std::string_view own : {"NCCL_NET_PLUGIN=none", "NCCL_NET=Socket", "FI_PROVIDER=verbs"})
    EXPECT_EQ(severity("nccl.ib.disabled", two + "export " + std::string(own) + "\n"), "error") << own;
}

TEST(LintEnvironments, CommandSaysItsOwnNodes) {
  const std::string head = "#SBATCH --nodes=2\n";
  EXPECT_EQ(severity("nccl.ib.disabled", head + "NCCL_IB_DISABLE=1 torchrun --nproc_per_node=8 t.py\n"),
            "info");
  EXPECT_EQ(
      severity("nccl.ib.disabled", head + "NCCL_IB_DISABLE=1 torchrun --nproc_per_node=8 --nnodes=2 t.py\n"),
      "error");
  EXPECT_EQ(severity("nccl.ib.disabled", head + "NCCL_IB_DISABLE=1 srun torchrun --nproc_per_node=8 t.py\n"),
            "error");
  EXPECT_EQ(
      severity("nccl.ib.disabled",
               "torchrun --nnodes=2 t.py\ndocker run -e NCCL_IB_DISABLE=1 i torchrun --nnodes=1 t.py\n"),
      "info");
  EXPECT_EQ(severity("nccl.ib.disabled", "mpirun -N 8 -x NCCL_IB_DISABLE=1 ./x\n"), "warning");
  EXPECT_EQ(severity("nccl.ib.disabled", "export NCCL_IB_DISABLE=1\nnumactl -N 1 ./x\n"), "warning");
}

TEST(LintEnvironments, NoEffectOnlyWhereBothAreSeen) {
  const std::string off = "export NCCL_IB_DISABLE=1\n";
  const std::string use = "export NCCL_IB_TC=106\n";
  EXPECT_EQ(severity("nccl.ib.no-effect", off + use), "info");
  EXPECT_EQ(severity("nccl.ib.no-effect", off + "NCCL_IB_TC=106 ./x\n"), "info");
  EXPECT_EQ(severity("nccl.ib.no-effect", "NCCL_IB_TC=106 NCCL_IB_DISABLE=1 ./x\n"), "info");
  EXPECT_EQ(severity("nccl.ib.no-effect", "if true; then\n" + off + "fi\n" + use), "");
  EXPECT_EQ(severity("nccl.ib.no-effect", "if true; then\nexport NCCL_IB_DISABLE=1 A_B=1\nfi\n" + use), "");
  EXPECT_EQ(severity("nccl.ib.no-effect", "NCCL_IB_DISABLE=1 ./x\n" + use), "");
  EXPECT_EQ(severity("nccl.ib.no-effect", use + "./x\n" + off), "");
  EXPECT_EQ(severity("nccl.ib.no-effect", off + "NCCL_IB_DISABLE=0 NCCL_IB_TC=106 ./x\n"), "");
  EXPECT_EQ(severity("nccl.net.contradiction", "NCCL_NET=IB ./x\nNCCL_IB_DISABLE=1 ./x\n"), "");
  EXPECT_EQ(severity("nccl.net.contradiction", "NCCL_NET=IB NCCL_IB_DISABLE=1 ./x\n"), "error");
  EXPECT_EQ(try_lint("NCCL_IB_TC=106\nNCCL_IB_DISABLE=1\n", nccl("2.28.9"), FileKind::kNcclConf)
                .severity("nccl.ib.no-effect"),
            "info");
}

TEST(LintEnvironments, SweepsAreNoRepeats) {
  EXPECT_EQ(severity("env.set.twice", "NCCL_ALGO=Ring ./x\nNCCL_ALGO=Tree ./x\n"), "");
  EXPECT_EQ(severity("env.set.twice", "mpirun -x NCCL_ALGO=Ring ./x\nmpirun -x NCCL_ALGO=Tree ./x\n"), "");
  EXPECT_EQ(severity("env.set.twice", "mpirun -genv NCCL_ALGO Ring ./x\nmpirun -genv NCCL_ALGO Tree ./x\n"),
            "");
  EXPECT_EQ(severity("env.set.twice", "srun --export=NCCL_ALGO=Ring ./x\nsrun --export=NCCL_ALGO=Tree ./x\n"),
            "");
  EXPECT_EQ(severity("env.set.twice", "export NCCL_ALGO=Ring\n./x\nexport NCCL_ALGO=Tree\n./x\n"), "");
  EXPECT_EQ(severity("env.set.twice", "export NCCL_ALGO=Ring\necho a\nexport NCCL_ALGO=Tree\n./x\n"),
            "warning");
}

TEST(LintEnvironments, BenchmarkCallsOneFunction) {
  EXPECT_EQ(severity("nccl.algo.no-ring", "NCCL_ALGO=Tree ./all_reduce_perf -g 8\n"), "");
  EXPECT_EQ(severity("nccl.algo.no-ring", "mpirun -x NCCL_ALGO=Tree build/all_reduce_perf\n"), "");
  EXPECT_EQ(severity("nccl.algo.no-ring", "NCCL_ALGO=Tree ./alltoall_perf\n"), "");
  const Tried gather = try_lint("NCCL_ALGO=Tree ./all_gather_perf\n", nccl("2.28.9"));
  EXPECT_EQ(gather.message("nccl.algo.no-ring"),
            "NCCL_ALGO=Tree leaves allgather without an algorithm; from 2.24 on that call fails");
  EXPECT_EQ(severity("nccl.algo.no-ring", "export NCCL_ALGO=Tree\n./all_reduce_perf\n"), "error");
}

TEST(LintEnvironments, RenamesOnlyWhatNothingElseNames) {
  const auto fixed = [](std::string text, const Context& context = nccl("2.28.9")) {
    return try_lint(std::move(text), context).fixed();
  };
  EXPECT_EQ(fixed("export NCCL_MIN_NCHANNELS=8\n"), "export NCCL_MIN_CTAS=8\n");
  for (const std::string_view other :
       {"mpirun -x NCCL_MIN_NCHANNELS ./x\n", "echo $NCCL_MIN_NCHANNELS\n",
        "srun --export=PATH,NCCL_MIN_NCHANNELS ./x\n", "docker run -e NCCL_MIN_NCHANNELS i ./x\n",
        "export NCCL_MIN_CTAS=4\n"}) {
    const std::string text = "export NCCL_MIN_NCHANNELS=8\n" + std::string(other);
    EXPECT_EQ(fixed(text), text);
  }
  const std::string alone = "export NCCL_MIN_NCHANNELS=8\n";
  EXPECT_EQ(fixed(alone, Context{}), alone);  // the release is assumed
  EXPECT_EQ(fixed(alone, nccl("2.14.3")), alone);
  const std::string removed = "export NCCL_IB_GID_INDEX=-1\nmpirun -x NCCL_IB_GID_INDEX ./x\n";
  EXPECT_EQ(fixed(removed), removed);
}

TEST(LintEnvironments, ConfFileOfNccl) {
  EXPECT_EQ(recognise("cluster.conf", "# site\nNCCL_DEBUG=WARN\n\nNCCL_IB_HCA = mlx5\n"),
            FileKind::kNcclConf);
  EXPECT_EQ(recognise("cluster.conf", "NCCL_DEBUG=WARN\nexport X=1\n"), FileKind::kShell);
  EXPECT_EQ(recognise("app.conf", "ClusterName=a\n"), FileKind::kShell);
  EXPECT_EQ(recognise("x.conf", "\xEF\xBB\xBFNCCL_DEBUG=WARN\n"), FileKind::kNcclConf);
}

}  // namespace
}  // namespace angio::lint
