#include "import/nccl_inspector/nccl_inspector.hpp"

#include <gtest/gtest.h>

#include "base/text.hpp"
#include "support/samples.hpp"

namespace angio::import::nccl_inspector {
namespace {

TEST(NcclInspector, AddsRecordsUpBySizeAndOperation) {
  const std::string text = test::sample("nccl_inspector/four_ranks.jsonl");
  ASSERT_TRUE(looks_like(text));
  RecordReader reader;
  std::uint32_t number = 0;
  for (const std::string_view line : split_lines(text))
    reader.read(1, ++number, line);
  const model::InspectorSummary summary = reader.take();
  EXPECT_EQ(summary.records, 25U);
  EXPECT_EQ(summary.damaged, 1U);
  EXPECT_EQ(summary.first_damaged.line, 26U);
  EXPECT_EQ(summary.format_version, "v4.0");
  EXPECT_EQ(summary.hosts, (std::vector<std::string>{"alpha", "beta"}));
  ASSERT_EQ(summary.aggregates.size(), 3U);
  const auto& large = summary.aggregates[1];
  EXPECT_EQ(large.operation, "AllReduce");
  EXPECT_EQ(large.bucket.value, 1U << 26U);
  EXPECT_EQ(large.records, 12U);
  EXPECT_EQ(large.ranks, 4U);
  EXPECT_EQ(large.slowest_rank, 2U);
  EXPECT_DOUBLE_EQ(large.slowest_us, 6300);
  EXPECT_NEAR(large.highest.value, 143.8e9, 1e8);
  EXPECT_NEAR(large.least.value, 15.98e9, 1e8);
  EXPECT_EQ(large.slowest.line, 16U);
  EXPECT_TRUE(summary.aggregates[2].point_to_point);
  EXPECT_EQ(summary.aggregates[2].bucket.value, 524288U);  // 1,000,000 B lies in it
}

TEST(NcclInspector, OtherJsonIsDamageNotARecord) {
  RecordReader reader;
  reader.read(1, 1, "{\"coll_perf\": 3}");
  reader.read(1, 2, "");
  EXPECT_EQ(reader.take().damaged, 1U);
}

}  // namespace
}  // namespace angio::import::nccl_inspector
