#include "import/perftest/perftest.hpp"

#include <gtest/gtest.h>

#include <string>

namespace angio::import::perftest {
namespace {

// Titles, rulers and columns as perftest prints them; the figures are made up.
const std::string kRuler(87, '-');

std::string settings(const std::string& device) {
  return " Dual-port       : OFF\t\tDevice         : " + device +
         "\n Number of qps   : 4\t\tTransport type : IB\n Connection type : RC\t\tUsing SRQ      : OFF\n"
         " TX depth        : 128\n CQ Moderation   : 100\n Mtu             : 4096[B]\n"
         " Link type       : Ethernet\n GID index       : 3\n Max inline data : 0[B]\n rdma_cm QPs\t : OFF\n"
         " Data ex. method : Ethernet\n" +
         kRuler +
         "\n local address: LID 0000 QPN 0x0201 PSN 0x11ab22 RKey 0x00370e VAddr 0x007f0000000000\n"
         " GID: 00:00:00:00:00:00:00:00:00:00:255:255:10:07:00:01\n"
         " remote address: LID 0000 QPN 0x0202 PSN 0x22cd33 RKey 0x002c23 VAddr 0x007f0000100000\n"
         " GID: 00:00:00:00:00:00:00:00:00:00:255:255:10:07:00:02\n" +
         kRuler + "\n";
}

const std::string kGigabits =
    kRuler + "\n                    RDMA_Write BW Test\n" + settings("mlx5_3") +
    " #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]\n"
    " 65536      5000             97.80              97.62  \t\t   0.186195\n" +
    kRuler + "\n";

TEST(Perftest, ReadsAWholeRun) {
  const auto runs = parse("$ ib_write_bw -d mlx5_3 --report_gbits 10.7.0.2\n" + kGigabits);
  ASSERT_EQ(runs.size(), 1U);
  const auto& run = runs[0];
  EXPECT_EQ(run.program, "ib_write_bw");
  EXPECT_EQ(run.device, "mlx5_3");
  EXPECT_EQ(run.link_layer, "Ethernet");
  EXPECT_EQ(run.connection, "RC");
  EXPECT_EQ(run.queue_pairs, 4U);
  EXPECT_EQ(run.gid_index, 3U);
  EXPECT_EQ(run.mtu, Bytes{4096});
  EXPECT_EQ(run.side, model::PerftestSide::kClient);
  EXPECT_FALSE(run.binary_megabytes);
  EXPECT_EQ(run.local.substr(0, 21), "LID 0000 QPN 0x0201 P");
  EXPECT_NE(run.remote.find("255:255:10:07:00:02"), std::string::npos);
  ASSERT_EQ(run.rows.size(), 1U);
  EXPECT_EQ(run.rows[0].size, Bytes{65536});
  EXPECT_EQ(run.rows[0].iterations, 5000U);
  EXPECT_DOUBLE_EQ(run.rows[0].average->value, 97.62e9);
  EXPECT_DOUBLE_EQ(*run.rows[0].messages_per_second, 186195);
  EXPECT_EQ(run.rows[0].doubt, "");
  EXPECT_TRUE(run.errors.empty());
}

TEST(Perftest, MegabytesAreBinary) {
  for (const std::string unit : {"MB", "MiB"}) {
    const auto runs =
        parse("                    RDMA_Read BW Test\n #bytes     #iterations    BW peak[" + unit +
              "/sec]    BW average[" + unit +
              "/sec]   MsgRate[Mpps]\n 65536      1000             11700.10            11650.40\t\t   "
              "0.186406\n");
    ASSERT_EQ(runs.size(), 1U);
    EXPECT_EQ(runs[0].program, "ib_read_bw");
    EXPECT_TRUE(runs[0].binary_megabytes);
    ASSERT_EQ(runs[0].rows.size(), 1U);
    EXPECT_DOUBLE_EQ(runs[0].rows[0].average->value, 11650.40 * 1048576 * 8);
    EXPECT_EQ(runs[0].rows[0].doubt, "");
  }
}

TEST(Perftest, DoubtsARowWhoseUnitsDoNotFit) {
  const auto runs = parse(
      "                    RDMA_Write BW Test\n #bytes     #iterations    BW peak[Gb/sec]    BW "
      "average[Gb/sec]   "
      "MsgRate[Mpps]\n 65536      1000             11700.10            11650.40\t\t   0.186406\n");
  ASSERT_EQ(runs.size(), 1U);
  EXPECT_EQ(runs[0].rows[0].doubt,
            "186406 messages a second of 65536 bytes are 97.73 Gb/s, the table says 1.165e+04 Gb/s");
}

TEST(Perftest, ReadsLatency) {
  const auto runs = parse(
      "                    RDMA_Write Latency Test\n" + settings("rxe0") +
      " #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]    t_stdev[usec]   "
      "99% "
      "percentile[usec]   99.9% percentile[usec] \n"
      " 2       1000          1.81           9.42         1.88     \t       1.90        \t0.10   \t\t2.21    "
      "\t\t9.42   \n");
  ASSERT_EQ(runs.size(), 1U);
  EXPECT_EQ(runs[0].program, "ib_write_lat");
  EXPECT_TRUE(runs[0].latency);
  ASSERT_EQ(runs[0].rows.size(), 1U);
  EXPECT_DOUBLE_EQ(*runs[0].rows[0].typical_us, 1.88);
  EXPECT_DOUBLE_EQ(*runs[0].rows[0].percentile_99_us, 2.21);
  EXPECT_DOUBLE_EQ(*runs[0].rows[0].percentile_999_us, 9.42);
  EXPECT_FALSE(runs[0].rows[0].average.has_value());
}

TEST(Perftest, DurationModeHasNoPeakAndLatencyOnlyAnAverage) {
  const auto bandwidth = parse(
      "                    Send BW Test\n #bytes     #iterations    BW peak[MB/sec]    BW average[MB/sec]   "
      "MsgRate[Mpps]    CPU_Util[%]\n 65536      40000            0.00               250.00\t\t   0.004000\t "
      "   12.50\n");
  ASSERT_EQ(bandwidth.size(), 1U);
  EXPECT_EQ(bandwidth[0].program, "ib_send_bw");
  EXPECT_FALSE(bandwidth[0].rows[0].peak.has_value());
  EXPECT_DOUBLE_EQ(*bandwidth[0].rows[0].cpu_percent, 12.5);
  const auto latency = parse(
      "                    Send Latency Test\n #bytes        #iterations       t_avg[usec]    tps average\n"
      " 2             150000            3.25           153846.15\n");
  ASSERT_EQ(latency.size(), 1U);
  EXPECT_DOUBLE_EQ(*latency[0].rows[0].average_us, 3.25);
  EXPECT_DOUBLE_EQ(*latency[0].rows[0].transactions_per_second, 153846.15);
  EXPECT_FALSE(latency[0].rows[0].typical_us.has_value());
}

TEST(Perftest, CyclesAreNoMicroseconds) {
  const auto runs = parse(
      "                    Send Latency Test\n #bytes #iterations    t_min[cycles]    t_max[cycles]  "
      "t_typical[cycles]    t_avg[cycles]    t_stdev[cycles]   99% percentile[cycles]   99.9% "
      "percentile[cycles] \n"
      " 2       1000          4000.00        9000.00      4200.00     4300.00     80.00      5000.00      "
      "9000.00\n");
  ASSERT_EQ(runs.size(), 1U);
  ASSERT_EQ(runs[0].rows.size(), 1U);
  EXPECT_FALSE(runs[0].rows[0].typical_us.has_value());
}

TEST(Perftest, ServerAndClientInOneText) {
  const std::string waiting =
      "\n************************************\n* Waiting for client to connect... *\n"
      "************************************\n";
  const std::string table =
      " #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]\n"
      " 65536      5000             97.80              97.62  \t\t   0.186195\n";
  const std::string title = "                    RDMA_Write BW Test\n";
  const auto runs = parse(waiting + title + title + settings("mlx5_0") + settings("mlx5_0") + table + table);
  ASSERT_EQ(runs.size(), 1U);
  EXPECT_TRUE(runs[0].two_sides);
  EXPECT_EQ(runs[0].rows.size(), 1U);
  EXPECT_EQ(runs[0].side, model::PerftestSide::kServer);
  const auto two = parse(waiting + title + settings("mlx5_0") + table + title + settings("mlx5_1") + table);
  ASSERT_EQ(two.size(), 2U);
  EXPECT_EQ(two[0].side, model::PerftestSide::kServer);
  EXPECT_EQ(two[1].side, model::PerftestSide::kClient);
  EXPECT_EQ(two[1].device, "mlx5_1");
}

TEST(Perftest, KeepsTheWordsOfFailures) {
  const auto runs = parse(
      "Couldn't connect to 10.7.0.2:18515\nUnable to open file descriptor for socket connection "
      "Unable to init the socket connection\n");
  ASSERT_EQ(runs.size(), 1U);
  EXPECT_EQ(runs[0].errors, (std::vector<std::string>{
                                "Couldn't connect to 10.7.0.2:18515",
                                "Unable to open file descriptor for socket connection Unable to init the "
                                "socket connection"}));
  const auto retry = parse("                    RDMA_Write BW Test\n" + settings("mlx5_0") +
                           " Completion with error at client\n Failed status 12: wr_id 0 syndrom 0x81\n");
  ASSERT_EQ(retry.size(), 1U);
  EXPECT_EQ(retry[0].errors[1],
            "Failed status 12: wr_id 0 syndrom 0x81 (transport retry counter exceeded: the other side did "
            "not answer)");
}

TEST(Perftest, DamagedAndForeignLines) {
  const auto runs = parse(
      "                    RDMA_Write BW Test\n #bytes     #iterations    BW peak[Gb/sec]    BW "
      "average[Gb/sec]   "
      "MsgRate[Mpps]\n 65536      5000             97.80\n"
      "Conflicting CPU frequency values detected: 1200.5 != 1251.3. CPU Frequency is not max.\n"
      " 65536      5000             97.80              97.62  \t\t   0.186195\n"
      " 131072     50x0             97.80              97.62  \t\t   0.186195\n"
      "[1] 4242 done\n");
  ASSERT_EQ(runs.size(), 1U);
  EXPECT_EQ(runs[0].rows.size(), 1U);
  EXPECT_EQ(runs[0].damaged_rows, 2U);
  EXPECT_TRUE(runs[0].errors.empty());
  EXPECT_TRUE(parse("").empty());
  EXPECT_TRUE(parse("all is well\n").empty());
  EXPECT_TRUE(looks_like(kGigabits));
  EXPECT_FALSE(looks_like("#bytes of something\n"));
}

}  // namespace
}  // namespace angio::import::perftest
