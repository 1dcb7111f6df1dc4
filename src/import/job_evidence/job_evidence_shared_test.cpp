// Every real table, log and answer of the corpus reads; what it holds was counted in the files by hand.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <string>

#include "import/job_evidence/job_evidence.hpp"
#include "support/shared_corpus.hpp"

namespace angio::import::job_evidence {
namespace {

struct Table {
  const char* file;
  std::size_t index;       // of the file's tables
  const char* collective;  // "": the file does not tell
  std::uint32_t ranks;     // 0: no list of devices
  std::size_t hosts;
  std::size_t rows;
  std::uint64_t first_size;
  std::uint64_t last_size;
  double peak;     // GB/s, bus bandwidth
  double average;  // GB/s; 0: the file has no such line
  const char* device;
};

// clang-format off
constexpr std::array kTables{
    Table{"issue256-h200-2node-baremetal-good.txt", 0, "AllReduce", 16, 2, 3, 1073741824, 9663676416, 488.81, 475.782, "NVIDIA H200"},
    Table{"issue309-hgx-h100-2node-good.txt", 0, "AllReduce", 16, 2, 13, 8, 17179869184, 469.21, 139.56, "NVIDIA H100 80GB HBM3"},
    Table{"cscs-docs-sarus-suite-index-L55.txt", 0, "AllReduce", 2, 2, 8, 1048576, 134217728, 22.88, 14.9966, "NVIDIA GH200 120GB"},
    Table{"cscs-docs-communication-nccl-L210.txt", 0, "AllReduce", 8, 2, 25, 8, 134217728, 6.07, 1.58767, "NVIDIA GH200 120GB"},
    Table{"dranet-user-gke-rdma-L342.txt", 0, "", 16, 2, 24, 1024, 8589934592, 268.59, 59.3638, "NVIDIA B200"},
    Table{"p3dn-2p3dn.2GPUs.log", 0, "AllReduce", 2, 2, 17, 8192, 536870912, 4.63, 2.39703, "Tesla V100-SXM2-32GB"},
    Table{"superbench-nccl_allreduce.log", 0, "AllReduce", 8, 1, 34, 0, 8589934592, 235.26, 68.4048, "A100-SXM4-40GB"},
    Table{"superbench-nccl_alltoall.log", 0, "", 8, 1, 34, 0, 8589934592, 226.16, 58.6481, "A100-SXM4-40GB"},
    Table{"awsome-distributed-training-aws-batch-README-L27.txt", 0, "AllReduce", 0, 0, 32, 8, 17179869184, 483.35, 156.742, ""},
    Table{"xxrjun-c01-nccl_N10_G1.log", 0, "AllReduce", 10, 10, 10, 33554432, 17179869184, 48.89, 47.8165, "NVIDIA H100 80GB HBM3"},
    Table{"xxrjun-c01-nccl_N10_G1.log", 1, "AllGather", 10, 10, 10, 33554400, 17179869120, 48.71, 46.7949, "NVIDIA H100 80GB HBM3"},
    Table{"xxrjun-c00-nccl_N2_G1_cnode2-003_cnode2-008.log", 0, "AlltoAll", 2, 2, 10, 33554432, 17179869184, 13.61, 13.4796, "NVIDIA H100 80GB HBM3"},
    Table{"system-acceptance-docs-common-rccl-benchmarking-L104.txt", 0, "AllReduce", 2, 1, 2, 8, 8589934592, 367.51, 111.827, "AMD Instinct MI350X"},
};
// clang-format on

Evidence read_file(const std::string& path) {
  Reader reader;
  reader.add(test::read_whole_file(path), std::filesystem::path(path).filename().string());
  return reader.take();
}

TEST(JobEvidenceShared, TablesHoldWhatWasCountedByHand) {
  ANGIO_SHARED_OR_SKIP(folder, "nccl-tests");
  for (const Table& expected : kTables) {
    SCOPED_TRACE(expected.file);
    const Evidence evidence = read_file(folder + "/" + expected.file);
    ASSERT_LT(expected.index, evidence.facts.tests.size());
    const model::NcclTestsTable& table = evidence.facts.tests[expected.index];
    EXPECT_EQ(table.collective == model::NcclCollective::kUnknown, *expected.collective == '\0');
    if (*expected.collective != '\0') {
      EXPECT_STREQ(model::name_of(table.collective), expected.collective);
    }
    EXPECT_EQ(model::ranks_of(table), expected.ranks);
    EXPECT_EQ(model::hosts_of(table).size(), expected.hosts);
    ASSERT_EQ(table.rows.size(), expected.rows);
    EXPECT_EQ(table.rows.front().size.value, expected.first_size);
    EXPECT_EQ(table.rows.back().size.value, expected.last_size);
    EXPECT_NEAR(model::peak_of(table).bus.value / 1e9, expected.peak, 0.001);
    EXPECT_NEAR(table.average.value_or(BytesPerSecond{0}).value / 1e9, expected.average, 0.001);
    if (*expected.device != '\0') {
      EXPECT_EQ(table.devices.front().name, expected.device);
    }
    for (const model::NcclTestsRow& row : table.rows)
      EXPECT_EQ(row.doubt, "") << row.source.line;
  }
}

TEST(JobEvidenceShared, EveryTableOfTheCorpusReadsAndFitsItself) {
  ANGIO_SHARED_OR_SKIP(folder, "nccl-tests");
  std::size_t tables = 0;
  std::size_t rows = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() == ".gz") continue;
    SCOPED_TRACE(entry.path().filename().string());
    const Evidence evidence = read_file(entry.path().string());
    for (const model::NcclTestsTable& table : evidence.facts.tests) {
      ++tables;
      rows += table.rows.size();
      for (const model::NcclTestsRow& row : table.rows)
        EXPECT_EQ(row.doubt, "") << row.source.line;
    }
  }
  EXPECT_GT(tables, 45U);
  EXPECT_GT(rows, 900U);
}

TEST(JobEvidenceShared, EveryLogAndAnswerOfTheCorpusReads) {
  ANGIO_SHARED_OR_SKIP(folder, "nccl-logs");
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (!entry.is_regular_file() || entry.path().filename() == "ml-engineering-debug-README-L250.txt")
      continue;
    SCOPED_TRACE(entry.path().filename().string());
    EXPECT_FALSE(read_file(entry.path().string()).empty());
  }
  const Evidence degraded = read_file(folder + "/ras/rccl_v2283_text_degraded.txt");
  ASSERT_EQ(degraded.facts.ras.size(), 1U);
  EXPECT_EQ(degraded.facts.ras[0].library, "RCCL");
  EXPECT_EQ(degraded.facts.ras[0].problems.at(0).processes.at(0).pid, 3467978U);
  EXPECT_EQ(degraded.facts.ras[0].communicators.at(0).missing.at(0).rank, 6U);
  const Evidence json = read_file(folder + "/ras/rccl_v2289_json_degraded.json");
  EXPECT_EQ(json.facts.ras.at(0).communicators.at(0).ranks.at(6).async_error, 5);
  const Evidence torch = read_file(folder + "/fail-ib-err5-vendor244-p2p.log");
  ASSERT_TRUE(torch.facts.watchdog.has_value());
  EXPECT_EQ(torch.facts.watchdog->errors.at(0).rank, 9U);
  EXPECT_EQ(torch.facts.watchdog->errors.at(0).result, "ncclRemoteError");
}

}  // namespace
}  // namespace angio::import::job_evidence
