// The patterns of log lines against logs of real jobs.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "base/text.hpp"
#include "knowledge/glossary.hpp"

namespace angio::knowledge {
namespace {

std::vector<std::string> lines_with(const std::string& folder, std::string_view part) {
  std::vector<std::string> lines;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (!entry.is_regular_file()) continue;
    std::ifstream file(entry.path());
    for (std::string line; std::getline(file, line);) {
      if (contains(line, part)) lines.push_back(line);
    }
  }
  return lines;
}

TEST(GlossaryShared, EveryWarningOfRealLogsIsExplained) {
  const char* shared = std::getenv("ANGIO_SHARED");
  if (shared == nullptr) GTEST_SKIP() << "ANGIO_SHARED is not set";
  std::size_t explained = 0;
  for (const char* folder : {"/corpus/nccl-logs", "/corpus/nccl-dryrun"}) {
    for (const std::string& line : lines_with(std::string(shared) + folder, "NCCL WARN ")) {
      EXPECT_FALSE(look_up(line).empty()) << printable(line);
      ++explained;
    }
  }
  EXPECT_GT(explained, 20U);
}

TEST(GlossaryShared, ConnectionsAreToldApart) {
  const char* shared = std::getenv("ANGIO_SHARED");
  if (shared == nullptr) GTEST_SKIP() << "ANGIO_SHARED is not set";
  std::size_t direct = 0;
  for (const std::string& line : lines_with(std::string(shared) + "/corpus/nccl-logs", " via NET/IB/")) {
    const Meanings meanings = look_up(line);
    ASSERT_FALSE(meanings.log_lines.empty()) << printable(line);
    EXPECT_EQ(contains(meanings.log_lines.front()->pattern, "GDRDMA"), contains(line, "GDRDMA"))
        << printable(line);
    if (contains(line, "GDRDMA")) ++direct;
  }
  EXPECT_GT(direct, 0U);
}

}  // namespace
}  // namespace angio::knowledge
