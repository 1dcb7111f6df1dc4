#include "mesh/launcher.hpp"

#include <gtest/gtest.h>

namespace angio::mesh {
namespace {

using Hosts = std::vector<std::string>;

std::string line_of(const LaunchRequest& request, std::size_t index = 0) {
  return launch::shell_quoted(launch_commands(request)[index].argv);
}

TEST(Launcher, SrunStartsOneAgentAHostAndLosesNoneWithAnother) {
  const LaunchRequest request{Launcher::kSrun, {"n0", "n1"}, "/opt/angio", {"10.0.0.9:4000"}, {"--mem=0"}};
  EXPECT_EQ(line_of(request),
            "srun --nodes=2 --ntasks=2 --ntasks-per-node=1 '--nodelist=n[0-1]' --cpu-bind=none "
            "--kill-on-bad-exit=0 "
            "--no-kill --wait=0 --input=none --export=ALL --mem=0 /opt/angio mesh-node 10.0.0.9:4000");
}

TEST(Launcher, MpirunHandsTheTokenOnByName) {
  LaunchRequest request{Launcher::kMpirun, {"n0", "n1"}, "angio", {"10.0.0.9:4000"}, {}};
  EXPECT_EQ(line_of(request),
            "mpirun -np 2 --host n0:1,n1:1 --map-by ppr:1:node --bind-to none -x ANGIO_MESH_TOKEN --mca "
            "orte_abort_on_non_zero_status 0 angio mesh-node 10.0.0.9:4000");
  request.mpi = launch::MpiKind::kHydra;
  EXPECT_EQ(line_of(request),
            "mpirun -n 2 -ppn 1 -hosts n0,n1 -bind-to none -genvlist ANGIO_MESH_TOKEN angio mesh-node "
            "10.0.0.9:4000");
}

TEST(Launcher, SshGetsTheTokenByInput) {
  const LaunchRequest request{
      Launcher::kSsh, {"n0", "n 1"}, "/opt/my angio", {"10.0.0.9:4000"}, {"-p", "2222"}};
  const auto commands = launch_commands(request);
  ASSERT_EQ(commands.size(), 2U);
  EXPECT_TRUE(commands[0].token_by_input);
  EXPECT_EQ(commands[0].argv,
            (Hosts{"ssh", "-o", "BatchMode=yes", "-p", "2222", "n0",
                   "'/opt/my angio' mesh-node 10.0.0.9:4000 --token-from-input --name n0"}));
  EXPECT_NE(commands[1].argv.back().find("--name 'n 1'"), std::string::npos);
}

TEST(Launcher, LocalStartsEachItself) {
  const LaunchRequest request{Launcher::kLocal, {"a", "b"}, "angio", {"127.0.0.1:4000"}, {}};
  EXPECT_EQ(line_of(request, 1), "angio mesh-node 127.0.0.1:4000 --name b");
}

TEST(Launcher, KnowsAnAgentByItsNames) {
  const Hosts hosts{"gpu-a", "gpu-b.cluster", "10.0.0.3"};
  const std::vector<bool> none(3);
  EXPECT_EQ(find_host(hosts, none, {"gpu-b.cluster", "", {}}), 1U);
  EXPECT_EQ(find_host(hosts, none, {"", "gpu-a.cluster", {}}), 0U);
  EXPECT_EQ(find_host(hosts, none, {"", "gpu-b", {}}), 1U);
  EXPECT_EQ(find_host(hosts, none, {"", "elsewhere", 2}), 2U);
  EXPECT_EQ(find_host(hosts, none, {"", "elsewhere", {}}), std::nullopt);
  EXPECT_EQ(find_host(hosts, {true, false, false}, {"gpu-a", "gpu-a", {}}), std::nullopt);
  EXPECT_EQ(find_host(hosts, {false, false, true}, {"", "elsewhere", 2}), std::nullopt);
  EXPECT_EQ(find_host(hosts, none, {"", "elsewhere", 7}), std::nullopt);
}

TEST(Launcher, FoldsNamesOfHosts) {
  EXPECT_EQ(fold_hosts({"n0", "n1", "n2", "n7"}), "n[0-2,7]");
  EXPECT_EQ(fold_hosts({"gpu-08", "gpu-09", "gpu-10", "login"}), "gpu-[08-10],login");
  EXPECT_EQ(fold_hosts({"a", "b"}), "a,b");
  EXPECT_EQ(fold_hosts({"n9", "n10"}), "n[9,10]");
  EXPECT_EQ(fold_hosts({"n1"}), "n1");
  EXPECT_EQ(fold_hosts({}), "");
}

}  // namespace
}  // namespace angio::mesh
