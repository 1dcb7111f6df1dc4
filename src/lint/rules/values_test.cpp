#include <gtest/gtest.h>

#include "lint/rules/rule_testing.hpp"

namespace angio::lint {
namespace {

std::string severity(std::string_view rule, std::string text, const Context& context = nccl("2.28.9")) {
  return try_lint(std::move(text), context).severity(rule);
}

TEST(LintNames, UnknownNameWithNeighbour) {
  const Tried tried = try_lint("export NCCL_IB_GIDINDEX=3\n", nccl("2.28.9"));
  EXPECT_EQ(tried.severity("env.name.unknown"), "warning");
  EXPECT_EQ(tried.advice("env.name.unknown"),
            "did you mean NCCL_IB_GID_INDEX? NCCL never reports unknown names");
  EXPECT_EQ(severity("env.name.unknown", "export NCCL_SOCKET_IFNAMES=eth0\n"), "warning");
  EXPECT_EQ(severity("env.name.unknown", "export NCCL_IB_GID_INDEX=3\n"), "");
  EXPECT_EQ(severity("env.name.unknown", "export MY_NCCL_IB_GIDINDEX=3\nexport UCX_FOO=1\nexport FOO=1\n"),
            "");
}

TEST(LintNames, UnknownNameAlone) {
  EXPECT_EQ(severity("env.name.not-in-catalogue", "export NCCL_QUITE_ANOTHER_THING=3\n"), "info");
  EXPECT_EQ(severity("env.name.not-in-catalogue",
                     "export NCCL_FASTRAK_CTRL_DEV=eth0\nexport NCCL_VERSION=2.27\nNCCL_SOMETHING_ELSE=1\n"),
            "");
}

TEST(LintNames, CaseAndUnread) {
  EXPECT_EQ(severity("env.name.case", "export nccl_debug=INFO\n"), "warning");
  EXPECT_EQ(severity("env.name.case", "nccl_debug=INFO\nexport nccl_tests_dir=x\n"), "");
  EXPECT_EQ(severity("env.name.not-read", "export NCCL_UCX_NET_DEVICES=mlx5_0:1\n"), "warning");
  EXPECT_EQ(severity("env.name.not-read", "export NCCL_HOME=/usr\nexport NCCL_NET=IB\n"), "");
}

TEST(LintNumbers, WordsAreZero) {
  const Tried tried = try_lint("export NCCL_IB_DISABLE=true\n", nccl("2.28.9"));
  EXPECT_EQ(tried.severity("env.value.not-a-number"), "error");
  EXPECT_EQ(tried.fixed(), "export NCCL_IB_DISABLE=1\n");
  EXPECT_EQ(severity("env.value.not-a-number", "export NCCL_IB_DISABLE=false\n"), "info");
  EXPECT_EQ(severity("env.value.not-a-number",
                     "export NCCL_IB_DISABLE=0\nexport NCCL_IB_TIMEOUT=$T\nexport UCX_PROTO_ENABLE=yes\n"),
            "");
}

TEST(LintNumbers, SuffixesAreIgnored) {
  const Tried tried = try_lint("export NCCL_BUFFSIZE='8M'\n", nccl("2.28.9"));
  EXPECT_EQ(tried.severity("env.value.suffix"), "error");
  EXPECT_EQ(tried.message("env.value.suffix"), "NCCL_BUFFSIZE=8M: NCCL reads 8 and ignores \"M\"");
  EXPECT_EQ(tried.fixed(), "export NCCL_BUFFSIZE='8388608'\n");
  EXPECT_EQ(try_lint("export NCCL_IB_TIMEOUT=20s\n").fixed(), "export NCCL_IB_TIMEOUT=20s\n");
  EXPECT_EQ(severity("env.value.suffix", "export NCCL_IB_TIMEOUT=20s\n"), "error");
  EXPECT_EQ(severity("env.value.suffix", "export NCCL_BUFFSIZE=8388608\nexport NCCL_IB_PKEY=0xffff\n"), "");
}

TEST(LintNumbers, OctalRangeDefault) {
  EXPECT_EQ(try_lint("export NCCL_IB_TIMEOUT=022\n").message("env.value.octal"),
            "NCCL_IB_TIMEOUT=022: the leading 0 makes it octal, NCCL reads 18");
  EXPECT_EQ(severity("env.value.octal", "export NCCL_IB_TIMEOUT=07\nexport NCCL_IB_TC=0\n"), "");
  EXPECT_EQ(severity("env.value.range", "export NCCL_IB_TC=300\n"), "warning");
  EXPECT_EQ(
      severity("env.value.range", "export NCCL_IB_TC=-1\nexport NCCL_IB_SL=3\nexport NCCL_BUFFSIZE=-2\n"),
      "");
  EXPECT_EQ(severity("env.value.default", "export NCCL_IB_TIMEOUT=20\n"), "info");
  EXPECT_EQ(severity("env.value.default", "export NCCL_IB_TIMEOUT=20\n", nccl("2.18.3")), "");
  EXPECT_EQ(try_lint("export NCCL_IB_GID_INDEX=-1\nrun\n", nccl("2.28.9")).fixed(), "run\n");
  EXPECT_EQ(try_lint("export NCCL_IB_DISABLE=0\n", nccl("2.28.9")).fixed(), "export NCCL_IB_DISABLE=0\n");
}

TEST(LintWords, UnknownWords) {
  const Tried tried = try_lint("export NCCL_DEBUG=INF\n");
  EXPECT_EQ(tried.severity("env.value.unknown-word"), "warning");
  EXPECT_EQ(tried.advice("env.value.unknown-word"), "did you mean INFO?");
  EXPECT_EQ(severity("env.value.unknown-word", "export NCCL_DEBUG_SUBSYS=INIT,GRPH\n"), "warning");
  EXPECT_EQ(severity("env.value.unknown-word", "export UCX_RNDV_SCHEME=get_am\n"), "warning");
  EXPECT_EQ(severity("env.value.unknown-word",
                     "export NCCL_DEBUG=info\nexport NCCL_DEBUG_SUBSYS=^INIT,NET\nexport "
                     "NCCL_NETDEVS_POLICY=MAX:2\nexport UCX_RNDV_SCHEME=get_zcopy\n"),
            "");
}

TEST(LintWords, WordsOfOtherReleases) {
  EXPECT_EQ(severity("env.value.word-version", "export NCCL_DEBUG_SUBSYS=RAS\n", nccl("2.18.3")), "warning");
  EXPECT_EQ(severity("env.value.word-version", "export NCCL_DEBUG_SUBSYS=RAS\n"), "");
  EXPECT_EQ(severity("env.value.word-version", "export NCCL_P2P_LEVEL=C2C\n", nccl("2.21.5")), "warning");
}

TEST(LintWords, PathClasses) {
  EXPECT_EQ(try_lint("export NCCL_P2P_LEVEL=nvl\n").fixed(), "export NCCL_P2P_LEVEL=NVL\n");
  EXPECT_EQ(severity("env.value.path-class", "export NCCL_P2P_LEVEL=nvlink\n"), "error");
  EXPECT_EQ(severity("env.value.path-class", "export NCCL_P2P_LEVEL=NVL\nexport NCCL_NET_GDR_LEVEL=5\n"), "");
}

TEST(LintAlgorithms, CollIsNoAlgorithm) {
  const Tried strict = try_lint("export NCCL_ALGO=Ring,Tree,Coll\n", nccl("2.28.9"));
  EXPECT_EQ(strict.severity("nccl.algo.unknown-token"), "error");
  EXPECT_EQ(strict.message("nccl.algo.unknown-token"),
            "NCCL_ALGO: \"Coll\" is no algorithm; 2.24 and newer refuse to start");
  EXPECT_EQ(strict.fixed(), "export NCCL_ALGO=Ring,Tree\n");
  const Tried older = try_lint("export NCCL_ALGO=Coll\nrun\n", nccl("2.23.4"));
  EXPECT_EQ(older.severity("nccl.algo.unknown-token"), "warning");
  EXPECT_EQ(older.fixed(), "run\n");
}

TEST(LintAlgorithms, WordsByRelease) {
  EXPECT_EQ(severity("nccl.algo.unknown-token", "export NCCL_ALGO=Ring,PAT\n", nccl("2.21.5")), "warning");
  EXPECT_EQ(severity("nccl.algo.unknown-token", "export NCCL_ALGO=Ring,PAT\n"), "");
  EXPECT_EQ(severity("nccl.algo.unknown-token", "export NCCL_ALGO=Ring,CollNet\n"), "error");
  EXPECT_EQ(severity("nccl.algo.unknown-token", "export NCCL_ALGO=Ring,CollNet\n", nccl("2.12.12")), "");
  EXPECT_EQ(severity("nccl.algo.unknown-token", "export NCCL_ALGO='Ring, Tree'\n"), "error");
  EXPECT_EQ(severity("nccl.algo.unknown-token", "export NCCL_ALGO=ring,tree\n"), "");
  EXPECT_EQ(severity("nccl.proto.unknown-token", "export NCCL_PROTO=LLColl\n"), "error");
  EXPECT_EQ(severity("nccl.proto.unknown-token", "export NCCL_PROTO=^LL128\n"), "");
}

TEST(LintAlgorithms, Grammar) {
  EXPECT_EQ(severity("nccl.algo.grammar", "export NCCL_ALGO='allreduce:tree,ring'\n", nccl("2.21.5")),
            "error");
  EXPECT_EQ(severity("nccl.algo.grammar", "export NCCL_ALGO='allreduce:tree,ring'\n"), "");
  EXPECT_EQ(severity("nccl.algo.grammar", "export NCCL_ALGO='ring;tree'\n"), "error");
  EXPECT_EQ(severity("nccl.algo.grammar", "export NCCL_ALGO='ring;alltoall:tree'\n"), "error");
}

TEST(LintAlgorithms, FunctionsWithoutAlgorithm) {
  const Tried tried = try_lint("export NCCL_ALGO=Tree\n", nccl("2.28.9"));
  EXPECT_EQ(tried.severity("nccl.algo.no-ring"), "error");
  EXPECT_NE(tried.message("nccl.algo.no-ring").find("broadcast, reduce, allgather, reducescatter"),
            std::string::npos);
  EXPECT_EQ(severity("nccl.algo.no-ring", "export NCCL_ALGO=Tree\n", nccl("2.23.4")), "info");
  EXPECT_EQ(severity("nccl.algo.no-ring", "export NCCL_ALGO=^Ring\n"), "error");
  EXPECT_EQ(severity("nccl.algo.no-ring", "export NCCL_ALGO=allreduce:tree\n"), "");
  EXPECT_EQ(severity("nccl.algo.no-ring", "export NCCL_ALGO=Ring,Tree\n"), "");
  EXPECT_EQ(severity("nccl.algo.no-ring", "export NCCL_ALGO=^Tree\n"), "");
}

TEST(LintAlgorithms, ForcedLists) {
  EXPECT_EQ(severity("nccl.algo.forced", "export NCCL_ALGO=Ring\n"), "info");
  EXPECT_EQ(severity("nccl.algo.forced", "export NCCL_ALGO=$ALGO\n"), "");
  EXPECT_EQ(severity("nccl.proto.ll128-forced", "export NCCL_PROTO=Simple,LL,LL128\n"), "error");
  EXPECT_EQ(severity("nccl.proto.ll128-forced", "export NCCL_PROTO='allreduce:ll128'\n"), "error");
  EXPECT_EQ(severity("nccl.proto.ll128-forced", "export NCCL_PROTO=^LL128\n"), "");
  EXPECT_EQ(severity("nccl.proto.forced", "export NCCL_PROTO=Simple\n"), "info");
  EXPECT_EQ(severity("nccl.proto.forced", "export NCCL_PROTO=^LL128\n"), "");
}

TEST(LintVersions, NotYetRemovedDeprecated) {
  EXPECT_EQ(severity("env.version.not-yet", "export NCCL_NETDEVS_POLICY=ALL\n", nccl("2.21.5")), "warning");
  EXPECT_EQ(severity("env.version.not-yet", "export NCCL_NETDEVS_POLICY=ALL\n"), "");
  EXPECT_EQ(severity("env.value.word-version", "export NCCL_NETDEVS_POLICY=ALL\n", nccl("2.21.5")), "");
  EXPECT_EQ(severity("env.version.removed", "export NCCL_TREE_THRESHOLD=0\n"), "warning");
  EXPECT_EQ(severity("env.version.removed", "export NCCL_TREE_THRESHOLD=0\n", nccl("2.4.8")), "");
  EXPECT_EQ(severity("env.version.deprecated", "export NCCL_MAX_NCHANNELS=8\n"), "info");
  EXPECT_EQ(try_lint("export NCCL_MAX_NCHANNELS=8\n", nccl("2.28.9")).fixed(), "export NCCL_MAX_CTAS=8\n");
  EXPECT_EQ(try_lint("export NCCL_MAX_NCHANNELS=8\n", nccl("2.12.12")).fixed(),
            "export NCCL_MAX_NCHANNELS=8\n");
}

TEST(LintVersions, OldNamesOfPytorch) {
  const std::string text = "export NCCL_ASYNC_ERROR_HANDLING=1\n";
  EXPECT_EQ(severity("pytorch.env.old-name", text), "warning");
  EXPECT_EQ(try_lint(text).fixed(), text);
  Context context = nccl("2.28.9");
  context.versions["pytorch"] = "2.7.0";
  EXPECT_EQ(try_lint(text, context).fixed(), "export TORCH_NCCL_ASYNC_ERROR_HANDLING=1\n");
  EXPECT_EQ(severity("pytorch.env.old-name", "export TORCH_NCCL_ASYNC_ERROR_HANDLING=1\n"), "");
}

TEST(LintForm, EmptyTwiceExport) {
  EXPECT_EQ(severity("env.value.empty", "export NCCL_IB_HCA=\n"), "info");
  EXPECT_EQ(severity("env.value.empty", "export NCCL_IB_HCA=$HCA\nunset NCCL_DEBUG\n"), "");
  EXPECT_EQ(severity("env.set.twice", "export NCCL_IB_TC=1\nexport NCCL_IB_TC=2\n"), "warning");
  EXPECT_EQ(severity("env.set.twice", "export NCCL_IB_TC=1\nexport NCCL_IB_TC=1\n"), "info");
  EXPECT_EQ(severity("env.set.twice", "export NCCL_IB_TC=1\nunset NCCL_IB_TC\nexport NCCL_IB_TC=2\n"), "");
  EXPECT_EQ(severity("env.set.twice", "if x; then\nexport NCCL_IB_TC=1\nelse\nexport NCCL_IB_TC=2\nfi\n"),
            "");
  EXPECT_EQ(severity("env.export.missing", "NCCL_DEBUG=INFO\npython t.py\n"), "warning");
  EXPECT_EQ(severity("env.export.missing", "NCCL_DEBUG=INFO\nexport NCCL_DEBUG\n"), "");
  EXPECT_EQ(severity("env.export.missing", "NCCL_DEBUG=INFO\nmpirun -x NCCL_DEBUG=$NCCL_DEBUG ./x\n"), "");
  EXPECT_EQ(severity("env.export.missing", "NCCL_DEBUG=INFO python t.py\n"), "");
}

TEST(LintForm, NcclConf) {
  const auto conf = [](std::string text) {
    return try_lint(std::move(text), nccl("2.28.9"), FileKind::kNcclConf);
  };
  EXPECT_EQ(conf("NCCL_IB_HCA=\"=mlx5_0\"\n").severity("env.value.quoted"), "error");
  EXPECT_EQ(conf("NCCL_IB_HCA=\"=mlx5_0\"\n").fixed(), "NCCL_IB_HCA==mlx5_0\n");
  EXPECT_EQ(conf("NCCL_DEBUG=WARN # quiet\n").severity("env.value.glued-comment"), "error");
  EXPECT_EQ(conf("NCCL_DEBUG=WARN # quiet\n").fixed(), "NCCL_DEBUG=WARN\n");
  EXPECT_EQ(conf("NCCL_DEBUG = WARN\n").severity("env.conf.blanks"), "error");
  EXPECT_EQ(conf("NCCL_DEBUG = WARN\n").fixed(), "NCCL_DEBUG=WARN\n");
  EXPECT_EQ(conf("NCCL_IB_TC=1\nNCCL_IB_TC=2\n").message("env.set.twice"),
            "NCCL_IB_TC=2: line 1 sets 1; in nccl.conf the first line wins");
  EXPECT_EQ(conf("export NCCL_NET=IB\n").fixed(), "NCCL_NET=IB\n");
  EXPECT_EQ(conf("NCCL_IB_HCA==mlx5_0, mlx5_1\n").fixed(), "NCCL_IB_HCA==mlx5_0,mlx5_1\n");
  const Tried clean = conf("# all right\nNCCL_DEBUG=WARN\nNCCL_IB_HCA==mlx5_0,mlx5_1\n");
  EXPECT_TRUE(clean.report.complaints.empty());
}

TEST(LintForm, OtherFormats) {
  const Tried python = try_lint("os.environ['NCCL_IB_DISABLE'] = 1\n", nccl("2.28.9"), FileKind::kPython);
  EXPECT_EQ(python.severity("python.environ.not-a-string"), "error");
  EXPECT_EQ(python.fixed(), "os.environ['NCCL_IB_DISABLE'] = \"1\"\n");
  const std::string pod =
      "apiVersion: v1\nkind: Pod\nspec:\n  containers:\n  - env:\n    - name: NCCL_NVLS_ENABLE\n      value: "
      "1\n";
  const Tried yaml = try_lint(pod, nccl("2.28.9"), FileKind::kYaml);
  EXPECT_EQ(yaml.severity("kubernetes.env.not-a-string"), "error");
  EXPECT_NE(yaml.fixed().find("value: \"1\"\n"), std::string::npos);
  const Tried compose = try_lint("services:\n  a:\n    environment:\n      NCCL_NVLS_ENABLE: 1\n",
                                 nccl("2.28.9"), FileKind::kYaml);
  EXPECT_EQ(compose.severity("kubernetes.env.not-a-string"), "");
  EXPECT_EQ(
      try_lint("RUN export NCCL_DEBUG=WARN\n", {}, FileKind::kDockerfile).severity("docker.run.export-lost"),
      "warning");
  EXPECT_EQ(try_lint("ENV NCCL_DEBUG=WARN\n", {}, FileKind::kDockerfile).severity("docker.run.export-lost"),
            "");
  EXPECT_EQ(try_lint("ENV NCCL_DEBUG WARN # x\n", {}, FileKind::kDockerfile).fixed(),
            "ENV NCCL_DEBUG WARN\n");
}

TEST(LintForm, BlanksAndCommasInLists) {
  EXPECT_EQ(try_lint("export NCCL_IB_HCA=\"=mlx5_0, mlx5_1\"\n").fixed(),
            "export NCCL_IB_HCA=\"=mlx5_0,mlx5_1\"\n");
  EXPECT_EQ(severity("env.value.blank-in-list", "export NCCL_IB_HCA=\"mlx5_0, mlx5_1\"\n"), "error");
  EXPECT_EQ(severity("env.value.blank-in-list", "export NCCL_IB_HCA==mlx5_0,mlx5_1\n"), "");
  EXPECT_EQ(severity("slurm.export.comma", "srun --export=ALL,NCCL_IB_HCA=mlx5_0,mlx5_1 ./x\n"), "error");
  EXPECT_EQ(severity("slurm.export.comma", "srun --export=ALL,NCCL_IB_HCA=mlx5_0,PATH,A=b ./x\n"), "");
}

TEST(LintRelease, ComesFromTheTextElseIsAssumed) {
  const Report stated =
      lint({read_script("f", "pip install nvidia-nccl-cu12==2.21.5\n", FileKind::kShell)}, {});
  ASSERT_EQ(stated.releases.size(), 1U);
  EXPECT_EQ(stated.releases[0].version, "2.21.5");
  EXPECT_EQ(stated.releases[0].source, "f:1");
  const Report assumed = lint({read_script("f", "ls\n", FileKind::kShell)}, {});
  EXPECT_TRUE(assumed.releases[0].source.starts_with("assumed"));
  EXPECT_TRUE(assumed.releases[0].version.starts_with("2.3"))
      << "compared as numbers: 2.30 is newer than 2.9";
  const Report two = lint({read_script("f", "a nccl_2.21.5 b nccl_2.22.3\n", FileKind::kShell)}, {});
  EXPECT_TRUE(two.releases[0].source.starts_with("assumed"));
}

TEST(LintRecipes, HealthyOnesAreQuiet) {
  for (const std::string_view text :
       {"", "#!/bin/bash\ntorchrun --standalone --nproc_per_node=8 train.py\n",
        "export NCCL_IB_HCA==mlx5_0,mlx5_1,mlx5_2,mlx5_3\nexport NCCL_SOCKET_IFNAME==eth0\n",
        "export NCCL_SOCKET_IFNAME=^docker,lo\n", "export NCCL_IB_HCA=^=mlx5_4\nexport NCCL_DEBUG=WARN\n",
        "mpirun -np 8 --bind-to numa -x NCCL_IB_PCI_RELAXED_ORDERING=1 -x UCX_TLS=tcp -x "
        "UCX_NET_DEVICES=eth0 "
        "-x NCCL_SOCKET_IFNAME=eth0 -x NCCL_TOPO_FILE=/opt/topology.xml ./all_reduce_perf -b 1K -e 8G -f 2 "
        "-g 1\n",
        "export FI_PROVIDER=efa\nexport NCCL_NVLS_ENABLE=0\nexport NCCL_TUNER_PLUGIN=ofi\nexport "
        "NCCL_FASTRAK_NUM_FLOWS=2\n"
        "export NCCL_SHIMNET_GUEST_CONFIG_CHECKER_CONFIG_FILE=/opt/guest.txtpb\n"}) {
    for (const Complaint& complaint : try_lint(std::string(text), nccl("2.28.9")).report.complaints) {
      EXPECT_EQ(complaint.severity, model::Severity::kInfo) << complaint.message;
    }
  }
}

}  // namespace
}  // namespace angio::lint
