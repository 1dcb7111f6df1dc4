// Every row of the public version tables is read and agrees with data/versions.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "base/text.hpp"
#include "compat/check.hpp"
#include "knowledge/knowledge.hpp"
#include "knowledge/versions.hpp"

namespace angio::compat {
namespace {

using Row = std::vector<std::string>;

// The rows of a table without its heading and remarks; none: there is no shared folder.
std::vector<Row> rows_of(const std::string& name) {
  const char* shared = std::getenv("ANGIO_SHARED");
  std::vector<Row> rows;
  if (shared == nullptr) return rows;
  std::ifstream file(std::string(shared) + "/corpus/versions/" + name);
  std::string line;
  for (bool heading = true; std::getline(file, line); heading = false) {
    if (heading || line.empty() || line.starts_with('#')) continue;
    Row row;
    for (const std::string_view field : split(line, '\t'))
      row.emplace_back(trim(field));
    rows.push_back(std::move(row));
  }
  return rows;
}

#define ROWS_OR_SKIP(rows, name)               \
  const std::vector<Row> rows = rows_of(name); \
  if (rows.empty()) GTEST_SKIP() << "ANGIO_SHARED has no " << (name)

TEST(VersionTables, ToolkitsAndTheirDrivers) {
  ROWS_OR_SKIP(rows, "cuda-toolkit-driver.tsv");
  for (const Row& row : rows) {
    const auto found =
        std::ranges::find(knowledge::cuda_toolkits(), row.at(0), &knowledge::CudaToolkit::name);
    ASSERT_NE(found, knowledge::cuda_toolkits().end()) << row[0];
    EXPECT_EQ(found->driver, row.at(1)) << row[0];
  }
  constexpr std::size_t kAdded = 10;  // 11.2.0 to 11.4.4, which that copy of NVIDIA's table leaves out
  EXPECT_EQ(rows.size() + kAdded, knowledge::cuda_toolkits().size());
}

TEST(VersionTables, MinimumDrivers) {
  ROWS_OR_SKIP(rows, "cuda-minor-version-compat.tsv");
  for (const Row& row : rows) {
    const auto major = parse_integer<std::uint32_t>(row.at(0).substr(0, row.at(0).find('.')));
    ASSERT_TRUE(major);
    const knowledge::CudaFamily* family = knowledge::find_cuda(*major);
    ASSERT_NE(family, nullptr);
    EXPECT_EQ(std::to_string(family->minimum_driver), row.at(1));
  }
}

TEST(VersionTables, ReleasesOfNccl) {
  ROWS_OR_SKIP(rows, "nccl-releases.tsv");
  std::size_t seen = 0;
  for (const Row& row : rows) {
    if (!row.at(0).starts_with("v2.")) continue;  // NCCL 1 is another library
    const std::string version = row[0].substr(1, row[0].find('-') - 1);
    const auto* found = knowledge::find_nccl_release(version);
    ASSERT_NE(found, nullptr) << version;
    EXPECT_LE(found->date, row.at(1)) << version;  // a tag that was made twice keeps its first date
    ++seen;
  }
  EXPECT_GE(seen, knowledge::nccl_releases().size());
}

TEST(VersionTables, BuildsOfNccl) {
  ROWS_OR_SKIP(rows, "nccl-cuda-builds.tsv");
  for (const Row& row : rows) {
    const auto found = std::ranges::find(knowledge::nccl_builds(), row.at(0), &knowledge::NcclBuild::nccl);
    ASSERT_NE(found, knowledge::nccl_builds().end()) << row[0];
    if (!row.at(1).starts_with("1") && !row.at(1).starts_with("9")) continue;  // a sentence, not a version
    const std::string cuda = row[1].substr(0, row[1].find(".x"));
    EXPECT_NE(std::ranges::find(found->cuda, cuda), found->cuda.end()) << row[0] << " " << cuda;
  }
}

TEST(VersionTables, WheelsOfPytorch) {
  ROWS_OR_SKIP(rows, "pytorch-cuda-nccl.tsv");
  std::size_t seen = 0;
  for (const Row& row : rows) {
    // A branch between releases is no release, and an unverified row is no fact.
    if (row.at(0).starts_with("main") || contains(row.at(3), "NOT VERIFIED")) continue;
    const auto same = [&](const knowledge::FrameworkBuild& build) {
      return build.version == row[0] && build.nccl == row[2];
    };
    EXPECT_TRUE(std::ranges::any_of(knowledge::framework_builds(), same)) << row[0];
    const auto stack = parse_words(std::vector<std::string>{"pytorch=" + row[0], "nccl=" + row[2]});
    ASSERT_TRUE(stack);
    const Report report = check(*stack);
    const auto found = std::ranges::find(report.constraints, "pytorch.nccl", &Constraint::id);
    ASSERT_NE(found, report.constraints.end()) << row[0];
    EXPECT_EQ(found->verdict, Verdict::kHolds) << row[0];
    ++seen;
  }
  EXPECT_GE(seen, 10U);
}

TEST(VersionTables, FirmwareOfDoca) {
  ROWS_OR_SKIP(rows, "doca-connectx-firmware.tsv");
  for (const Row& row : rows) {
    const auto found =
        std::ranges::find(knowledge::doca_releases(), row.at(0), &knowledge::DocaRelease::release);
    ASSERT_NE(found, knowledge::doca_releases().end()) << row[0];
    for (std::size_t i = 1; i + 1 < row.size(); ++i) {
      if (row[i].empty()) continue;
      EXPECT_NE(std::ranges::find(found->firmware, row[i], &knowledge::DocaFirmware::firmware),
                found->firmware.end());
      EXPECT_NE(knowledge::find_adapter_of(row[i]), nullptr) << row[i];
    }
  }
}

// Real logs name the stack that ran: it must be read, and nothing in it may be called broken without a cause.
TEST(VersionTables, LogsNameTheirNccl) {
  const char* shared = std::getenv("ANGIO_SHARED");
  if (shared == nullptr) GTEST_SKIP() << "ANGIO_SHARED is not set";
  std::ifstream file(std::string(shared) + "/corpus/nccl-logs/p5-nccl-2.20.3.log");
  if (!file) GTEST_SKIP() << "the log is not there";
  std::stringstream text;
  text << file.rdbuf();
  const ParsedStack parsed = parse_stack(text.str());
  ASSERT_NE(parsed.stack.get(Part::kNccl), nullptr);
  EXPECT_EQ(*parsed.stack.get(Part::kNccl), "2.22.3");
  for (const Constraint& one : check(parsed.stack).constraints)
    EXPECT_NE(one.verdict, Verdict::kFails) << one.title;
}

}  // namespace
}  // namespace angio::compat
