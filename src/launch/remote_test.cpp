#include "launch/remote.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace angio::launch {
namespace {

using Words = std::vector<std::string>;

Words hosts(std::string_view text) {
  return expand_hostlist(text).value_or(Words{"error"});
}

TEST(Hostlist, Expands) {
  EXPECT_EQ(hosts("n[0-3,7],x1"), (Words{"n0", "n1", "n2", "n3", "n7", "x1"}));
  EXPECT_EQ(hosts("gpu[008-011]"), (Words{"gpu008", "gpu009", "gpu010", "gpu011"}));
  EXPECT_EQ(hosts("r[1-2]n[0,3]-ib"), (Words{"r1n0-ib", "r1n3-ib", "r2n0-ib", "r2n3-ib"}));
  EXPECT_EQ(hosts("single.example.org\n"), (Words{"single.example.org"}));
  EXPECT_EQ(hosts("n[9-10]"), (Words{"n9", "n10"}));
}

TEST(Hostlist, RefusesWhatItIsNot) {
  for (const char* text : {"", " ", "n[", "n]", "n[0-3", "n[]", "n[3-1]", "n[a-b]", "n[0-]", "a,,b", "a,",
                           "n[0-99999999]", "n[0-300]x[0-300]", "n[0[1]]", "n[-3]"}) {
    EXPECT_FALSE(expand_hostlist(text).has_value()) << text;
  }
  const auto error = expand_hostlist("n[0-3");
  EXPECT_EQ(error.error().message, "host list \"n[0-3\": \"n[0-3\" is no host or range of hosts");
}

TEST(Hostlist, IsBounded) {
  EXPECT_EQ(hosts("n[1-65536]").size(), kMaxHosts);
  EXPECT_FALSE(expand_hostlist("n[1-65536],m").has_value());
  std::string long_name(1000, 'x');
  EXPECT_FALSE(expand_hostlist(long_name + "[1-60000]").has_value());  // 60 MB of names
}

TEST(Hostfile, TakesTheFormsOfMpi) {
  EXPECT_EQ(parse_hostfile("# a\nnode1 slots=8\nnode2 slots=8 # b\n\n node3:4\n").value_or(Words{}),
            (Words{"node1", "node2", "node3"}));
  EXPECT_EQ(parse_hostfile("a\na\nb\nb\n").value_or(Words{}), (Words{"a", "b"}));
  EXPECT_FALSE(parse_hostfile("# nothing\n").has_value());
}

TEST(Quoting, ASingleQuoteComesThrough) {
  EXPECT_EQ(shell_quoted(Words{"python", "-c", "print('a b')", "", "--x=1"}),
            R"(python -c 'print('\''a b'\'')' '' --x=1)");
}

RemoteRequest two_nodes() {
  RemoteRequest request;
  request.nodes = 2;
  request.ranks_per_node = 8;
  request.gpus_per_node = 8;
  request.angio = "/opt/angio";
  request.run_options = {"--memory", "bind"};
  request.command = {"python", "train.py"};
  return request;
}

TEST(Slurm, BuildsTheStep) {
  const Words environment{"SLURM_JOB_ID=1234", "SLURM_JOB_NODELIST=gpu[3-4]"};
  const auto words = slurm_command(two_nodes(), environment);
  ASSERT_TRUE(words.has_value()) << words.error().message;
  EXPECT_EQ(
      shell_quoted(*words),
      "srun --nodes=2 --ntasks=16 --ntasks-per-node=8 --gpus-per-node=8 --distribution=block --cpu-bind=none "
      "--kill-on-bad-exit=1 --label --export=ALL,MASTER_ADDR=gpu3,MASTER_PORT=27744 /opt/angio run --memory "
      "bind "
      "-- python train.py");
}

TEST(Slurm, NeverPerTask) {
  const Words environment{"SLURM_JOB_ID=1", "SLURM_JOB_NODELIST=a,b", "SLURM_GPUS_PER_TASK=1",
                          "SLURM_CPU_BIND=cores"};
  RemoteRequest request = two_nodes();
  request.gpus_per_node = 0;
  request.label_output = false;
  request.master = Rendezvous{"10.0.0.1", 4000};
  const auto words = slurm_command(request, environment);
  ASSERT_TRUE(words.has_value());
  EXPECT_EQ(
      shell_quoted(*words),
      "env -u SLURM_GPUS_PER_TASK -u SLURM_CPU_BIND srun --nodes=2 --ntasks=16 --ntasks-per-node=8 "
      "--distribution=block --cpu-bind=none --kill-on-bad-exit=1 "
      "--export=ALL,MASTER_ADDR=10.0.0.1,MASTER_PORT=4000 /opt/angio run --memory bind -- python train.py");
}

TEST(Slurm, OutsideAnAllocationSaysHowToGetOne) {
  const auto words = slurm_command(two_nodes(), Words{});
  ASSERT_FALSE(words.has_value());
  EXPECT_EQ(words.error().message, "this is not inside an allocation of Slurm: SLURM_JOB_ID is not set");
  EXPECT_EQ(
      words.error().hint,
      "Get one, then run the same again: salloc --nodes=2 --ntasks-per-node=8 --gpus-per-node=8 --exclusive");
}

TEST(Slurm, TooSmallAnAllocation) {
  const auto words = slurm_command(two_nodes(), Words{"SLURM_JOB_ID=7", "SLURM_JOB_NODELIST=a"});
  ASSERT_FALSE(words.has_value());
  EXPECT_EQ(words.error().message, "job 7 has 1 node, 2 are asked for");
}

TEST(Slurm, NonsenseIsRefused) {
  const Words environment{"SLURM_JOB_ID=7", "SLURM_JOB_NODELIST=a[,b"};
  EXPECT_TRUE(
      slurm_command(two_nodes(), environment).error().message.starts_with("SLURM_JOB_NODELIST: host list"));
  RemoteRequest request = two_nodes();
  request.command.clear();
  EXPECT_FALSE(slurm_command(request, environment).has_value());
  request = two_nodes();
  request.ranks_per_node = 0;
  EXPECT_FALSE(slurm_command(request, environment).has_value());
}

TEST(Mpi, OpenMpiPassesVariablesOn) {
  RemoteRequest request = two_nodes();
  request.hostfile = "hosts";
  request.hostfile_text = "a slots=8\nb slots=8\n";
  const Words environment{"NCCL_DEBUG=INFO", "HOME=/h", "PATH=/bin", "OMP_NUM_THREADS=4"};
  const auto words = mpi_command(request, MpiKind::kOpenMpi, environment);
  ASSERT_TRUE(words.has_value()) << words.error().message;
  EXPECT_EQ(
      shell_quoted(*words),
      "mpirun -np 16 --map-by ppr:8:node --bind-to none --hostfile hosts --tag-output -x MASTER_ADDR=a "
      "-x MASTER_PORT=29500 -x NCCL_DEBUG -x OMP_NUM_THREADS -x PATH /opt/angio run --memory bind -- python "
      "train.py");
}

TEST(Mpi, Hydra) {
  RemoteRequest request = two_nodes();
  request.label_output = false;
  const auto words =
      mpi_command(request, MpiKind::kHydra, Words{"SLURM_JOB_ID=1234", "SLURM_JOB_NODELIST=gpu[3-4]"});
  ASSERT_TRUE(words.has_value()) << words.error().message;
  EXPECT_EQ(
      shell_quoted(*words),
      "mpirun -n 16 -ppn 8 -bind-to none -genv I_MPI_PIN 0 -genv MASTER_ADDR gpu3 -genv MASTER_PORT 27744 "
      "/opt/angio run --memory bind -- python train.py");
}

TEST(Mpi, OneNodeNeedsNoHosts) {
  RemoteRequest request = two_nodes();
  EXPECT_FALSE(mpi_command(request, MpiKind::kOpenMpi, Words{}).has_value());
  request.nodes = 1;
  request.launcher_options = {"--oversubscribe"};
  const auto words = mpi_command(request, MpiKind::kOpenMpi, Words{});
  ASSERT_TRUE(words.has_value()) << words.error().message;
  EXPECT_EQ(shell_quoted(*words),
            "mpirun -np 8 --map-by ppr:8:node --bind-to none --tag-output -x MASTER_ADDR=127.0.0.1 -x "
            "MASTER_PORT=29500 --oversubscribe /opt/angio run --memory bind -- python train.py");
}

TEST(Mpi, RecognisesTheThree) {
  EXPECT_EQ(recognise_mpirun("mpirun (Open MPI) 4.1.4\n"), MpiKind::kOpenMpi);
  EXPECT_EQ(recognise_mpirun("HYDRA build details:\n    Version: 4.0.2\n"), MpiKind::kHydra);
  EXPECT_EQ(recognise_mpirun("Intel(R) MPI Library for Linux* OS, Version 2021.9"), MpiKind::kHydra);
  EXPECT_FALSE(recognise_mpirun("bash: mpirun: command not found").has_value());
}

TEST(Launcher, NeverSsh) {
  EXPECT_EQ(parse_remote_launcher("slurm"), RemoteLauncher::kSlurm);
  EXPECT_EQ(parse_remote_launcher("mpi"), RemoteLauncher::kMpi);
  EXPECT_FALSE(parse_remote_launcher("ssh").has_value());
}

}  // namespace
}  // namespace angio::launch
