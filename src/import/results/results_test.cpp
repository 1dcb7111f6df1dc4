#include "import/results/results.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "import/gzip.hpp"

namespace angio::import::results {
namespace {

std::string sample(const std::string& name) {
  std::ifstream file(std::string(ANGIO_SAMPLES) + "/judge/" + name, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

Results read_sample(const std::string& name) {
  auto results = read(sample(name), name);
  EXPECT_TRUE(results) << name << ": " << results.error().message;
  return results ? std::move(*results) : Results{};
}

TEST(Results, RecognisesByContent) {
  EXPECT_EQ(read_sample("one_node.log").nccl.tests.size(), 1U);
  EXPECT_EQ(read_sample("osu_point_to_point.txt").osu.size(), 2U);
  EXPECT_EQ(read_sample("perftest_write_bw.txt").perftest.size(), 1U);
  EXPECT_EQ(read_sample("nvbandwidth.txt").nvbandwidth.size(), 1U);
  EXPECT_EQ(read_sample("nvbandwidth.json").nvbandwidth.size(), 1U);
  EXPECT_EQ(read_sample("memory.json").memory.size(), 1U);
  EXPECT_EQ(read_sample("bench_collective.json").collective.size(), 1U);
}

TEST(Results, KeepsTheLinesOfNcclBesideTheTable) {
  const Results results = read_sample("two_nodes_sockets.log");
  ASSERT_EQ(results.nccl.tests.size(), 1U);
  ASSERT_TRUE(results.nccl.log);
  EXPECT_EQ(results.nccl.log->processes.at(0).network, "Socket");
}

TEST(Results, ReadsSeveralKindsInOneText) {
  const auto results = read(sample("one_node.log") + sample("osu_nccl_allreduce.txt") +
                                sample("nvbandwidth.txt") + sample("perftest_write_bw.txt"),
                            "all.log");
  ASSERT_TRUE(results) << results.error().message;
  EXPECT_EQ(results->nccl.tests.size(), 1U);
  EXPECT_EQ(results->osu.size(), 1U);
  EXPECT_EQ(results->nvbandwidth.size(), 1U);
  EXPECT_EQ(results->perftest.size(), 1U);
}

TEST(Results, ReadsAnAverageWithoutItsTable) {
  const Results results = read_sample("average_only.log");
  ASSERT_EQ(results.nccl.tests.size(), 1U);
  EXPECT_TRUE(results.nccl.tests[0].rows.empty());
  EXPECT_DOUBLE_EQ(results.nccl.tests[0].average->value, 230.167e9);
}

TEST(Results, ReadsWhatAngioMeasuredItself) {
  const model::MemoryBench bench = read_sample("memory.json").memory.at(0);
  EXPECT_EQ(bench.machine, "gpu-a");
  ASSERT_EQ(bench.gpu_copies.size(), 3U);
  EXPECT_DOUBLE_EQ(bench.gpu_copies[1].rate.value->median, 5.51e10);
  EXPECT_EQ(bench.gpu_copies[1].node.value, 1U);
  EXPECT_FALSE(bench.gpu_copies[2].pinned);
  const model::CollectiveRun run = read_sample("bench_collective.json").collective.at(0);
  EXPECT_EQ(run.backend, "nccl");
  EXPECT_EQ(run.ranks, 8U);
  ASSERT_EQ(run.rows.size(), 12U);
  EXPECT_EQ(run.rows[0].collective, model::NcclCollective::kAllReduce);
  EXPECT_EQ(run.rows[11].collective, model::NcclCollective::kAllGather);
  EXPECT_EQ(run.rows[5].size.value, 1U << 30U);
  EXPECT_EQ(run.rows[5].wrong, 0U);
}

TEST(Results, SaysWhatIsKnownOfAnUnknownText) {
  for (const std::string text :
       {"", "nothing of the kind", "{\"a\": 1}", "{\"schema\": \"angio.bench-memory/9\"}"}) {
    const auto results = read(text, "x");
    ASSERT_FALSE(results) << text;
    EXPECT_FALSE(results.error().message.empty());
    EXPECT_FALSE(results.error().hint.empty());
  }
}

TEST(Results, TakesTheCollectiveFromNamesOnlyWhereOneIsNamed) {
  using enum model::NcclCollective;
  EXPECT_EQ(collective_hint("", "nccl_alltoall.log").collective, kAllToAll);
  EXPECT_EQ(collective_hint("", "Reduce_Scatter-16.log").collective, kReduceScatter);
  EXPECT_EQ(collective_hint("run.sh -t all_gather -b 8", "run.log").collective, kAllGather);
  EXPECT_EQ(collective_hint("all_gather, then all_reduce", "run.log").collective, kUnknown);
  EXPECT_EQ(collective_hint("nothing", "run.log").collective, kUnknown);
}

TEST(Gzip, UnpacksAndKeepsWhatIsReadable) {
  constexpr unsigned char kPacked[] = {
      0x1f, 0x8b, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0x03, 0x53, 0x56, 0xf0, 0x0f, 0x0e, 0x55, 0xf0,
      0x0d, 0xf0, 0x54, 0xf0, 0x49, 0x2c, 0x49, 0xcd, 0x4b, 0xae, 0x54, 0x08, 0x49, 0x2d, 0x2e, 0x51, 0x28,
      0x33, 0xd7, 0x33, 0xe5, 0x52, 0x56, 0x08, 0xce, 0xac, 0x4a, 0x85, 0x4b, 0x68, 0x94, 0x16, 0x6b, 0x72,
      0x59, 0x28, 0x18, 0x02, 0x65, 0x00, 0xd0, 0x0e, 0x3f, 0xc6, 0x36, 0x00, 0x00, 0x00};
  const std::string packed(reinterpret_cast<const char*>(kPacked), sizeof kPacked);
  EXPECT_TRUE(is_gzip(packed));
  const Unpacked whole = gunzip(packed, 1000);
  EXPECT_EQ(whole.text, "# OSU MPI Latency Test v7.5\n# Size Latency (us)\n8 1.5\n");
  EXPECT_FALSE(whole.cut || whole.full);
  const Unpacked twice = gunzip(packed + packed, 1000);
  EXPECT_EQ(twice.text, whole.text + whole.text);
  EXPECT_TRUE(gunzip(packed.substr(0, packed.size() / 2), 1000).cut);
  const Unpacked little = gunzip(packed, 5);
  EXPECT_EQ(little.text, "# OSU");
  EXPECT_TRUE(little.full);
  EXPECT_TRUE(gunzip("\x1f\x8bnonsense", 1000).cut);
  const auto results = read(packed, "osu.txt.gz");
  ASSERT_TRUE(results);
  EXPECT_EQ(results->osu.size(), 1U);
}

}  // namespace
}  // namespace angio::import::results
