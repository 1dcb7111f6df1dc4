#include "collective/backends.hpp"

#include <gtest/gtest.h>

#include <set>

namespace angio::collective {
namespace {

using Words = std::vector<std::string>;

BackendPlaces places(std::set<std::string> programs) {
  return {"/opt/angio/bin/angio", "/usr/bin::rel:/opt/tools",
          [programs = std::move(programs)](const std::string& path) { return programs.contains(path); }};
}

TEST(FindProgram, BesideAngioComesFirst) {
  EXPECT_EQ(find_program(Backend::kMpi, places({"/opt/angio/bin/angio-mpi", "/usr/bin/angio-mpi"})),
            "/opt/angio/bin/angio-mpi");
  EXPECT_EQ(find_program(Backend::kMpi,
                         places({"/opt/tools/angio-mpi", "/opt/angio/bin/../libexec/angio/angio-mpi"})),
            "/opt/tools/angio-mpi");
  EXPECT_EQ(find_program(Backend::kGloo, places({"/opt/angio/bin/../libexec/angio/angio-gloo"})),
            "/opt/angio/bin/../libexec/angio/angio-gloo");
  EXPECT_EQ(find_program(Backend::kGloo, places({"/opt/angio/bin/../angio_gloo/angio-gloo"})),
            "/opt/angio/bin/../angio_gloo/angio-gloo");
  EXPECT_EQ(find_program(Backend::kNccl, places({})), "/opt/angio/bin/angio");
}

TEST(FindProgram, SaysHowToGetIt) {
  // A relative entry of PATH is never looked at.
  const auto none = find_program(Backend::kMpi, places({"rel/angio-mpi", "/angio-mpi"}));
  ASSERT_FALSE(none.has_value());
  EXPECT_EQ(none.error().code, ErrorCode::kNotFound);
  EXPECT_EQ(none.error().message,
            "there is no angio-mpi, which MPI needs: not in /opt/angio/bin, not in PATH, not in "
            "/opt/angio/bin/../libexec/angio");
  EXPECT_NE(none.error().hint.find("apt install libopenmpi-dev"), std::string::npos);
}

TEST(ParseBackend, Words) {
  EXPECT_EQ(parse_backend("gloo"), Backend::kGloo);
  EXPECT_EQ(parse_backend("ucc").error().hint, "nccl, mpi or gloo");
  EXPECT_EQ(label(Backend::kNccl), "nccl");
  EXPECT_EQ(program_name(Backend::kGloo), "angio-gloo");
}

RankStart start_of(Backend backend, RankLauncher launcher, std::uint32_t nodes, std::uint32_t ranks) {
  RankStart start;
  start.backend = backend;
  start.launcher = launcher;
  start.program = "/bin/" + std::string(program_name(backend));
  start.words = {"collective-rank", "{}"};
  start.where.nodes = nodes;
  start.where.ranks_per_node = ranks;
  start.where.label_output = false;
  start.where.run_options = {"--memory", "bind"};
  return start;
}

std::string line(const RankStart& start, const Words& environment = {}) {
  const auto command = rank_command_line(start, environment);
  return command ? launch::shell_quoted(command->argv) : "error: " + command.error().message;
}

TEST(RankCommandLine, Here) {
  EXPECT_EQ(line(start_of(Backend::kGloo, RankLauncher::kHere, 1, 4)),
            "angio run --ranks 4 --memory bind -- /bin/angio-gloo collective-rank '{}'");
  EXPECT_EQ(line(start_of(Backend::kNccl, RankLauncher::kHere, 1, 8)),
            "angio run --ranks 8 --memory bind -- /bin/angio collective-rank '{}'");
  EXPECT_EQ(line(start_of(Backend::kGloo, RankLauncher::kHere, 2, 4)),
            "error: ranks on 2 nodes are started by srun or mpirun, not from here");
}

TEST(RankCommandLine, MpiHereIsMpirun) {
  RankStart start = start_of(Backend::kMpi, RankLauncher::kHere, 1, 4);
  start.cpus = 4;
  EXPECT_EQ(line(start),
            "mpirun -np 4 --map-by ppr:4:node --bind-to none -x MASTER_ADDR=127.0.0.1 -x MASTER_PORT=29500 "
            "angio run "
            "--rendezvous --memory bind -- /bin/angio-mpi collective-rank '{}'");
  EXPECT_TRUE(rank_command_line(start, {})->environment.empty());
  start.cpus = 2;
  start.as_root = true;
  EXPECT_NE(line(start).find(" --oversubscribe angio run "), std::string::npos);
  EXPECT_EQ(rank_command_line(start, {})->environment,
            (Words{"OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1"}));
  start.mpi = launch::MpiKind::kHydra;
  EXPECT_EQ(line(start).find("--oversubscribe"), std::string::npos);
  EXPECT_TRUE(rank_command_line(start, {})->environment.empty());
}

TEST(RankCommandLine, Srun) {
  const Words job{"SLURM_JOB_ID=7", "SLURM_JOB_NODELIST=n[0-1]"};
  const std::string gloo = line(start_of(Backend::kGloo, RankLauncher::kSrun, 2, 2), job);
  EXPECT_TRUE(gloo.starts_with("srun --nodes=2 --ntasks=4 --ntasks-per-node=2 ")) << gloo;
  EXPECT_TRUE(gloo.ends_with("angio run --rendezvous --memory bind -- /bin/angio-gloo collective-rank '{}'"))
      << gloo;
  EXPECT_EQ(gloo.find("--mpi="), std::string::npos);
  RankStart mpi = start_of(Backend::kMpi, RankLauncher::kSrun, 2, 2);
  mpi.srun_mpi = "MPI plugin types are...\n\tpmi2\n\tcray_shasta\n\tpmix\n\tnone\n";
  EXPECT_NE(line(mpi, job).find(" --mpi=pmix angio run "), std::string::npos);
  mpi.srun_mpi = "srun: MPI types are...\nsrun: pmi2\nsrun: none\n";
  EXPECT_NE(line(mpi, job).find(" --mpi=pmi2 angio run "), std::string::npos);
  mpi.srun_mpi = "none\n";
  EXPECT_TRUE(line(mpi, job).starts_with("error: srun --mpi=list offers neither"));
  EXPECT_TRUE(line(mpi).starts_with("error: srun --mpi=list offers neither"));
  EXPECT_TRUE(line(start_of(Backend::kGloo, RankLauncher::kSrun, 2, 2))
                  .starts_with("error: this is not inside an allocation"));
}

}  // namespace
}  // namespace angio::collective
