#include "import/osu/osu.hpp"

#include <gtest/gtest.h>

namespace angio::import::osu {
namespace {

using model::NcclCollective;
using model::OsuMeasure;

// Written after the form of OSU 7.5 over Open MPI with GPUs; the figures are made up.
constexpr std::string_view kAllreduce =
    "$ mpirun -np 16 -N 8 ./osu_allreduce -d cuda -f -m 8:1073741824\n"
    "[host-a:1234] Rank 0 bound to package[0][core:0]\n"
    "\n"
    "# OSU MPI-CUDA Allreduce Latency Test v7.5\n"
    "# Datatype: MPI_INT.\n"
    "# Size       Avg Latency(us)   Min Latency(us)   Max Latency(us)  Iterations\n"
    "8                      25.10             24.00             26.31        1000\n"
    "1048576               180.52            179.10            182.00         100\n"
    "1073741824          12345.60          12300.10          12400.90         100\n";

TEST(Osu, ReadsACollectiveWithItsRanks) {
  const auto tables = parse(kAllreduce);
  ASSERT_EQ(tables.size(), 1U);
  const model::OsuTable& table = tables[0];
  EXPECT_EQ(table.program, "osu_allreduce");
  EXPECT_EQ(table.version, "7.5");
  EXPECT_EQ(table.library, "MPI-CUDA");
  EXPECT_EQ(table.measure, OsuMeasure::kCollective);
  EXPECT_EQ(table.collective, NcclCollective::kAllReduce);
  EXPECT_TRUE(table.device);
  EXPECT_EQ(table.datatype, "MPI_INT");
  EXPECT_EQ(table.ranks, 16U);
  EXPECT_EQ(table.per_node, 8U);
  ASSERT_EQ(table.rows.size(), 3U);
  EXPECT_EQ(table.rows[2].size.value, 1073741824U);
  EXPECT_DOUBLE_EQ(table.rows[2].average_us.value_or(0), 12345.6);
  EXPECT_DOUBLE_EQ(table.rows[2].maximum_us.value_or(0), 12400.9);
  EXPECT_EQ(table.rows[2].iterations, 100U);
  EXPECT_EQ(table.rows[0].line, 7U);
}

TEST(Osu, ReadsTheOldFormsOfMvapich) {
  const auto tables = parse(
      "MVAPICH2 Version: 2.3.7\n"
      "# OSU MPI-CUDA Latency Test v5.7\n"
      "# Send Buffer on DEVICE (D) and Receive Buffer on DEVICE (D)\n"
      "# Size          Latency (us)\n"
      "0                       1.10\n"
      "8                       5.45\n"
      "# OSU MPI Bandwidth Test v3.6\n"
      "# Send Buffer on HOST (H) and Receive Buffer on HOST (H)\n"
      "# Size        Bandwidth (MB/s)\n"
      "4194304              12105.33\n");
  ASSERT_EQ(tables.size(), 2U);
  EXPECT_EQ(tables[0].measure, OsuMeasure::kLatency);
  EXPECT_TRUE(tables[0].device);
  EXPECT_EQ(tables[0].mpi, "MVAPICH2 Version: 2.3.7");
  EXPECT_FALSE(tables[1].device);
  ASSERT_EQ(tables[1].rows.size(), 1U);
  EXPECT_DOUBLE_EQ(tables[1].rows[0].rate->value, 12105.33e6);  // 10^6 bytes, not 2^20
}

TEST(Osu, ReadsEachKindOfTitle) {
  const auto kind = [](const std::string& title) {
    const auto tables = parse("# OSU " + title + " Test v7.4\n# Size  Avg Latency(us)\n8  1.5\n");
    return tables.empty() ? std::string("none") : tables[0].program;
  };
  EXPECT_EQ(kind("MPI All-to-All Personalized Exchange Latency"), "osu_alltoall");
  EXPECT_EQ(kind("NCCL-CUDA Allgather Latency"), "osu_allgather");
  EXPECT_EQ(kind("MPI Allgatherv Latency"), "osu_allgatherv");
  EXPECT_EQ(kind("MPI Reduce_scatter Latency"), "osu_reduce_scatter");
  EXPECT_EQ(kind("MPI Reduce Latency"), "osu_reduce");
  EXPECT_EQ(kind("MPI Broadcast Latency"), "osu_bcast");
  EXPECT_EQ(kind("MPI Gather Latency"), "osu_gather");
  EXPECT_EQ(kind("MPI Multi Latency"), "osu_multi_lat");
  EXPECT_EQ(kind("MPI Init"), "none");
}

TEST(Osu, ReadsMessageRatesAndValidation) {
  const auto tables = parse(
      "# OSU MPI Multiple Bandwidth / Message Rate Test v7.4\n"
      "# [ pairs: 4 ] [ window size: 64 ]\n"
      "# Size                  MB/s        Messages/s\n"
      "4194304             26903.29           6414.24\n"
      "# OSU MPI-CUDA Bandwidth Test v7.5\n"
      "# Size      Bandwidth (MB/s)        Validation\n"
      "65536                2170.64              Pass\n"
      "131072               2137.95              Fail\n");
  ASSERT_EQ(tables.size(), 2U);
  EXPECT_EQ(tables[0].pairs, 4U);
  EXPECT_EQ(tables[0].window, 64U);
  EXPECT_DOUBLE_EQ(tables[0].rows[0].messages_per_second.value_or(0), 6414.24);
  EXPECT_EQ(tables[1].rows[0].valid, true);
  EXPECT_EQ(tables[1].rows[1].valid, false);
}

TEST(Osu, CountsRanksAsTheLauncherDoes) {
  const auto ranks = [](const std::string& command) {
    const auto tables =
        parse(command + "\n# OSU MPI Allreduce Latency Test v7.4\n# Size  Avg Latency(us)\n8  1.5\n");
    return std::pair(tables.at(0).ranks.value_or(0), tables.at(0).per_node.value_or(0));
  };
  EXPECT_EQ(ranks("srun -N 2 -n 16 osu_allreduce"), std::pair(16U, 8U));
  EXPECT_EQ(ranks("srun --nodes=4 --ntasks-per-node=8 ./osu_allreduce"), std::pair(32U, 8U));
  EXPECT_EQ(ranks("mpirun --np 4 ./osu_allreduce -i 100"), std::pair(4U, 0U));
  EXPECT_EQ(ranks("srun -N 0 -n 16 osu_allreduce"), std::pair(16U, 0U));
  EXPECT_EQ(ranks("echo osu_allreduce"), std::pair(0U, 0U));
}

TEST(Osu, KeepsWhatIsReadableOfDamagedText) {
  const auto tables = parse(
      "# OSU MPI Allreduce Latency Test v7.4\n# Size  Avg Latency(us)\n8  1.5\n16 \n32  x\n64  1.7  trailing "
      "words here too\n"
      "128  1.9\n99999999999999999999  2.0\n256");
  ASSERT_EQ(tables.size(), 1U);
  EXPECT_EQ(tables[0].rows.size(), 2U);
  EXPECT_EQ(tables[0].damaged_rows, 1U);
  EXPECT_TRUE(parse("").empty());
  EXPECT_FALSE(looks_like("nothing of the kind"));
  EXPECT_TRUE(looks_like(kAllreduce));
}

}  // namespace
}  // namespace angio::import::osu
