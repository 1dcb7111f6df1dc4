#include "import/job_evidence/job_evidence.hpp"

#include <gtest/gtest.h>

#include "base/text.hpp"
#include "support/samples.hpp"

namespace angio::import::job_evidence {
namespace {

// "hello gzip\n" and its compressed form, RFC 1952.
constexpr unsigned char kNothing[] = {0x1f, 0x8b, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x03,
                                      0x03, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00};

TEST(JobEvidence, OnePassFeedsEveryReader) {
  Reader reader;
  reader.add("host-a:1:1 [0] NCCL INFO NCCL version 2.28.9+cuda13.0\n" +
                 test::sample("nccl_tests/one_node.txt") + test::sample("watchdog/system_error.log") +
                 test::sample("nccl_ras/ahead.txt"),
             "mixture.log");
  reader.add(test::sample("nccl_inspector/four_ranks.jsonl"), "inspector.log");
  reader.add(test::sample("nccl_tests/reduce_scatter.json"), "table.json");
  reader.add("nothing of interest\n", "other.txt");
  const Evidence evidence = reader.take();
  ASSERT_EQ(evidence.files.size(), 4U);
  EXPECT_EQ(evidence.files[0].log_lines, 1U);
  EXPECT_EQ(evidence.files[0].tables, 1U);
  EXPECT_EQ(evidence.files[0].reports, 1U);
  EXPECT_GT(evidence.files[0].watchdog_lines, 0U);
  EXPECT_EQ(evidence.files[1].records, 26U);
  EXPECT_TRUE(evidence.files[3].holds_nothing());
  ASSERT_TRUE(evidence.facts.log.has_value());
  EXPECT_EQ(evidence.facts.tests.size(), 2U);
  EXPECT_EQ(evidence.facts.ras.size(), 1U);
  EXPECT_EQ(evidence.facts.inspector->records, 25U);
  EXPECT_EQ(evidence.facts.watchdog->errors.size(), 1U);
  EXPECT_EQ(evidence.facts.places.text(evidence.facts.tests[0].source), "mixture.log:2");
  EXPECT_TRUE(reader.take().empty());
}

TEST(JobEvidence, KeepsTheLinesOfAFileWithoutFinalLineBreak) {
  Reader reader;
  reader.add("[2026-01-02 03:04:05] PEER_DEAD: Process 77 on node 192.0.2.9 managing GPU 3", "monitor.txt");
  EXPECT_EQ(reader.take().facts.ras.size(), 1U);
}

TEST(JobEvidence, SaysWhichJsonAndWhichCompressionIsDamaged) {
  Reader reader;
  const std::string json = test::sample("nccl_tests/reduce_scatter.json");
  reader.add(json.substr(0, json.size() / 2), "half.json");
  reader.add("\x1f\x8b\x08 and no more", "cut.gz");
  reader.add({reinterpret_cast<const char*>(kNothing), sizeof(kNothing)}, "empty.gz");
  const Evidence evidence = reader.take();
  EXPECT_TRUE(evidence.files[0].trouble.starts_with("half.json: "));
  EXPECT_TRUE(contains(evidence.files[1].trouble, "cut off or damaged"));
  EXPECT_EQ(evidence.files[2].trouble, "");
  EXPECT_TRUE(evidence.empty());
}

}  // namespace
}  // namespace angio::import::job_evidence
