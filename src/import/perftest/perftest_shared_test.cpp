#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "import/perftest/perftest.hpp"
#include "support/shared_corpus.hpp"

namespace angio::import::perftest {
namespace {

// Every table row of the corpus is read, and none contradicts its own units.
TEST(PerftestCorpus, ReadsEveryTable) {
  ANGIO_SHARED_OR_SKIP(folder, "ib");
  std::size_t files = 0;
  std::size_t rows = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (!entry.is_regular_file()) continue;
    const std::string bytes = test::read_whole_file(entry.path().string());
    if (!looks_like(bytes)) continue;
    std::size_t here = 0;
    for (const auto& run : parse(bytes)) {
      here += run.rows.size();
      EXPECT_EQ(run.damaged_rows, 0U) << entry.path();
      for (const auto& row : run.rows)
        EXPECT_EQ(row.doubt, "") << entry.path() << ":" << row.line;
    }
    ++files;
    rows += here;
    EXPECT_GT(here, 0U) << entry.path();
  }
  EXPECT_GE(files, 8U);
  EXPECT_GE(rows, 80U);
}

}  // namespace
}  // namespace angio::import::perftest
