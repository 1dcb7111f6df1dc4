#include "mesh/perftest_files.hpp"

#include <gtest/gtest.h>

namespace angio::mesh {
namespace {

std::string table(double gigabits) {
  const std::string rate = std::to_string(gigabits).substr(0, 6);
  return " #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]\n 65536      5000 "
         "           " +
         rate + "             " + rate + "             " + std::to_string(gigabits * 1e9 / 8 / 65536 / 1e6) +
         "\n";
}

const std::string kTitle = "                    RDMA_Write BW Test\n";
const std::string kWaiting = "* Waiting for client to connect... *\n";

TEST(PerftestFiles, EndsOfAName) {
  using Pair = std::pair<std::string, std::string>;
  EXPECT_EQ(ends_of_name("results/gpu-a-to-gpu-b.txt"), (Pair{"gpu-a", "gpu-b"}));
  EXPECT_EQ(ends_of_name("n0_to_n1.log"), (Pair{"n0", "n1"}));
  EXPECT_EQ(ends_of_name("n0__n1"), (Pair{"n0", "n1"}));
  EXPECT_EQ(ends_of_name("bw.txt"), Pair{});
}

TEST(PerftestFiles, ClientsSendAndServersReceive) {
  const auto client = mesh_of_files({{"a-to-b.txt", kTitle + table(98)}});
  ASSERT_EQ(client.measures.size(), 1U);
  EXPECT_EQ(client.hosts[client.measures[0].from].name, "a");
  const auto server = mesh_of_files({{"a-to-b.txt", kWaiting + kTitle + table(98)}});
  ASSERT_EQ(server.measures.size(), 1U);
  EXPECT_EQ(server.hosts[server.measures[0].from].name, "a");
  const auto read = mesh_of_files({{"a-to-b.txt", "                    RDMA_Read BW Test\n" + table(98)}});
  ASSERT_EQ(read.measures.size(), 1U);
  EXPECT_EQ(read.hosts[read.measures[0].from].name, "b");
}

TEST(PerftestFiles, ThePromptAndTheCommandName) {
  const auto result =
      mesh_of_files({{"bw.txt", "[root@gpu-a ~]# ib_write_bw -d mlx5_0 -F --report_gbits -q 2 gpu-b\n" +
                                    kTitle + table(98)}});
  ASSERT_EQ(result.measures.size(), 1U) << (result.notes.empty() ? "" : result.notes[0]);
  EXPECT_EQ(result.hosts[result.measures[0].from].name, "gpu-a");
  EXPECT_EQ(result.hosts[result.measures[0].to].name, "gpu-b");
}

TEST(PerftestFiles, AddressesNameWhereNothingElseDoes) {
  const auto result =
      mesh_of_files({{"bw.txt", kTitle +
                                    " local address: LID 0x12 QPN 0x0137 PSN 0x1\n remote address: LID "
                                    "0x15 QPN 0x0136 PSN 0x2\n" +
                                    table(98)}});
  ASSERT_EQ(result.measures.size(), 1U);
  EXPECT_EQ(result.hosts[0].name, "LID 0x12");
  EXPECT_EQ(result.hosts[1].name, "LID 0x15");
}

// A small message that happens to be a little faster says nothing about bytes.
TEST(PerftestFiles, OfManySizesALargeOneCounts) {
  const std::string rows =
      " #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]\n"
      " 4096      5000       98.10             98.10      2.993774\n"
      " 65536      5000       97.62             97.62      0.186195\n"
      " 1048576      5000       97.61             97.61      0.011636\n";
  const auto result = mesh_of_files({{"a-to-b.txt", kTitle + rows}});
  ASSERT_EQ(result.measures.size(), 1U);
  EXPECT_EQ(result.measures[0].message, Bytes{65536});
  EXPECT_DOUBLE_EQ(result.measures[0].bandwidth->value, 97.62e9);
}

// A figure whose unit is in doubt would be a slow path, or an impossible one.
TEST(PerftestFiles, DoubtedFiguresAreLeftOut) {
  const std::string megabytes =
      " #bytes     #iterations    BW peak[MB/sec]    BW average[MB/sec]   MsgRate[Mpps]\n 65536      5000    "
      "   97.90 "
      "            97.62      0.186195\n";
  const auto result = mesh_of_files({{"a-to-b.txt", kTitle + megabytes}, {"b-to-a.txt", kTitle + table(98)}});
  ASSERT_EQ(result.measures.size(), 1U);
  EXPECT_EQ(result.hosts[result.measures[0].from].name, "b");
  ASSERT_EQ(result.notes.size(), 1U);
  EXPECT_EQ(result.notes[0],
            "a-to-b.txt:3: 186195 messages a second of 65536 bytes are 97.62 Gb/s, the table says 0.8189 "
            "Gb/s: left "
            "out");
}

TEST(PerftestFiles, FailuresAndWhatCannotBeTold) {
  const auto result = mesh_of_files(
      {{"a-to-b.txt", "Couldn't connect to b:18515\n"}, {"bw.txt", kTitle + table(98)}, {"empty.txt", ""}});
  ASSERT_EQ(result.measures.size(), 1U);
  EXPECT_EQ(result.measures[0].state, model::MeshState::kFailed);
  EXPECT_EQ(result.measures[0].trouble, "Couldn't connect to b:18515");
  EXPECT_EQ(result.notes, (std::vector<std::string>{"bw.txt: which hosts it is of cannot be told: name it "
                                                    "CLIENT-to-SERVER.txt",
                                                    "empty.txt: no text of perftest"}));
}

}  // namespace
}  // namespace angio::mesh
