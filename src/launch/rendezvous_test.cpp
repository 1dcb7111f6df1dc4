#include "launch/rendezvous.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace angio::launch {
namespace {

using Words = std::vector<std::string>;

TEST(Rendezvous, EnvironmentOfARank) {
  const RankNumbers numbers{11, 3, 16, 8, 1};
  EXPECT_EQ(rendezvous_environment(numbers, {"node-1", 29500}),
            (Words{"RANK=11", "LOCAL_RANK=3", "WORLD_SIZE=16", "LOCAL_WORLD_SIZE=8", "NODE_RANK=1",
                   "GROUP_RANK=1", "MASTER_ADDR=node-1", "MASTER_PORT=29500"}));
}

TEST(Rendezvous, ParsesAddresses) {
  EXPECT_EQ(parse_master("node-1:29500"), (Rendezvous{"node-1", 29500}));
  EXPECT_EQ(parse_master("10.0.0.1:65535"), (Rendezvous{"10.0.0.1", 65535}));
  EXPECT_EQ(parse_master("[2001:db8::1]:29500"), (Rendezvous{"2001:db8::1", 29500}));
  EXPECT_EQ(parse_master("2001:db8::1"), (Rendezvous{"2001:db8::1", 0}));
  EXPECT_EQ(parse_master("gpu_3.example.org"), (Rendezvous{"gpu_3.example.org", 0}));
}

TEST(Rendezvous, RefusesWhatIsNoAddress) {
  for (const char* text : {"", ":29500", "node:", "node:0", "node:65536", "node:-1", "node:29500x", "a b:1",
                           "[::1", "[::1]29500", "[node]:1", "1:2:3", "-x:1", "n\033[m:1", "tcp://n:1"}) {
    EXPECT_FALSE(parse_master(text).has_value()) << text;
  }
  EXPECT_EQ(parse_master("node:0").error().message,
            "master address \"node:0\": the port \"0\" is no number from 1 to 65535");
}

TEST(Rendezvous, SlurmGivesHostAndPort) {
  const Words environment{"SLURM_PROCID=9", "SLURM_JOB_NODELIST=gpu[3-4]", "SLURM_JOB_ID=1234",
                          "SLURM_STEP_ID=2"};
  const auto found = derive_rendezvous(environment);
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(*found, (Rendezvous{"gpu3", 27746}));
  const Words step{"SLURM_PROCID=0", "SLURM_JOB_NODELIST=gpu[3-4]", "SLURM_STEP_NODELIST=gpu4",
                   "SLURM_JOB_ID=1"};
  EXPECT_EQ(*derive_rendezvous(step), (Rendezvous{"127.0.0.1", 20016}));
}

TEST(Rendezvous, WhatIsSetStays) {
  const Words environment{"MASTER_ADDR=a", "SLURM_PROCID=9", "SLURM_JOB_NODELIST=gpu[3-4]"};
  EXPECT_EQ(*derive_rendezvous(environment), std::nullopt);
  EXPECT_EQ(*derive_rendezvous(Words{}), std::nullopt);
}

TEST(Rendezvous, ABrokenNodeListIsAnError) {
  EXPECT_FALSE(derive_rendezvous(Words{"SLURM_PROCID=9", "SLURM_JOB_NODELIST=gpu[3-"}).has_value());
}

TEST(Rendezvous, MpirunOnOneNodeOnly) {
  Words environment{"OMPI_COMM_WORLD_SIZE=4", "OMPI_COMM_WORLD_LOCAL_SIZE=4", "PMIX_NAMESPACE=1234501633"};
  const auto found = derive_rendezvous(environment);
  ASSERT_TRUE(found.has_value() && found->has_value());
  EXPECT_EQ((*found)->address, "127.0.0.1");
  EXPECT_GE((*found)->port, 20000);
  EXPECT_LT((*found)->port, 32768);
  environment[1] = "OMPI_COMM_WORLD_LOCAL_SIZE=2";
  EXPECT_EQ(*derive_rendezvous(environment), std::nullopt);
}

TEST(Rendezvous, TheWrapperAddsWhatSrunLeavesOut) {
  const LocalRank rank{1, 8, 9, 16, "SLURM_LOCALID"};
  const Words environment{"SLURM_PROCID=9", "SLURM_NODEID=1", "SLURM_JOB_NODELIST=gpu[3-4]",
                          "SLURM_JOB_ID=1234", "WORLD_SIZE=16"};
  const auto added = missing_rendezvous(rank, environment);
  ASSERT_TRUE(added.has_value());
  EXPECT_EQ(*added, (Words{"RANK=9", "LOCAL_RANK=1", "LOCAL_WORLD_SIZE=8", "NODE_RANK=1", "GROUP_RANK=1",
                           "MASTER_ADDR=gpu3", "MASTER_PORT=27744"}));
}

TEST(Rendezvous, TheWrapperAddsNothingBelowTorchrun) {
  const LocalRank rank{1, 2, 3, 4, "LOCAL_RANK"};
  Words environment = rendezvous_environment({3, 1, 4, 2, 1}, {"a", 1});
  EXPECT_EQ(missing_rendezvous(rank, environment).value_or(Words{"error"}), Words{});
  const LocalRank lone{1, std::nullopt, std::nullopt, std::nullopt, "--rank"};
  EXPECT_EQ(missing_rendezvous(lone, Words{}).value_or(Words{"error"}), Words{});
}

host::Recording sockets() {
  host::Recording recording;
  recording["/proc/net/tcp"].content =
      "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
      "   0: 0100007F:733C 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 4711 1 x\n"
      "   1: 0100007F:733D 0100007F:0050 01 00000000:00000000 00:00000000 00000000     0        0 4712 1 x\n";
  recording["/proc/net/tcp6"].content =
      "  sl  local_address                         remote_address                        st\n"
      "   0: 00000000000000000000000001000000:7444 00000000000000000000000000000000:0000 0A 0:0 0:0 0 1000 0 "
      "4713 1 x\n"
      "garbage : 0A\n";
  recording["/proc/12/fd"].names = host::Names{"0", "3"};
  recording["/proc/12/fd/0"].link = "/dev/null";
  recording["/proc/12/fd/3"].link = "socket:[4711]";
  recording["/proc/12/comm"].content = "python3\n";
  recording["/proc"].names = host::Names{"12", "net", "self"};
  return recording;
}

TEST(PortHolder, NamesTheProcess) {
  const auto root = host::make_memory_root(sockets(), host::Scope::kComplete);
  const auto holder = find_port_holder(*root, 29500);
  ASSERT_TRUE(holder.has_value());
  EXPECT_EQ(holder->address, "127.0.0.1");
  EXPECT_EQ(holder->pid, 12);
  EXPECT_EQ(holder->name, "python3");
}

TEST(PortHolder, AnotherUsersProcessStaysUnnamed) {
  const auto root = host::make_memory_root(sockets(), host::Scope::kComplete);
  const auto holder = find_port_holder(*root, 29764);
  ASSERT_TRUE(holder.has_value());
  EXPECT_EQ(holder->address, "::1");
  EXPECT_FALSE(holder->pid.has_value());
  EXPECT_FALSE(find_port_holder(*root, 29501).has_value());  // connected, not listening
}

}  // namespace
}  // namespace angio::launch
