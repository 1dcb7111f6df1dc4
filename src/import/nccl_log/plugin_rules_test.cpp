// What plugins say of themselves.
#include <gtest/gtest.h>

#include <string>

#include "import/nccl_log/nccl_log.hpp"

namespace angio::import::nccl_log {
namespace {

TEST(NcclLogPlugins, TheLinesOfAngiosTunerAreKept) {
  std::string text;
  for (const char* rank : {"0", "1"})
    text += std::string("n0:10:1") + rank + " [" + rank +
            "] NCCL INFO TUNER/Angio: line 9: allreduce of 64 B -> tree ll\n";
  text += "n0:10:10 [0] NCCL INFO TUNER/Angio: 3 of 12 rows for 2 nodes, 16 ranks, none Loaded or failed\n";
  const model::NcclLog log = parse_log(text, "job.log");
  ASSERT_EQ(log.plugins.size(), 2U);
  EXPECT_EQ(log.plugins[0].kind, model::NcclPluginKind::kTuner);
  EXPECT_EQ(log.plugins[0].outcome, model::NcclPluginOutcome::kMentioned);
  EXPECT_EQ(log.plugins[0].text, "TUNER/Angio: line 9: allreduce of 64 B -> tree ll");
  EXPECT_EQ(log.plugins[0].count, 2U);
  EXPECT_EQ(log.plugins[0].source.line, 1U);
  EXPECT_EQ(log.plugins[1].outcome, model::NcclPluginOutcome::kMentioned);
}

}  // namespace
}  // namespace angio::import::nccl_log
