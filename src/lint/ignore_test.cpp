#include "lint/ignore.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "lint/rule.hpp"

namespace angio::lint {
namespace {

// Lines of "rule" complaints that are left of one on each line of the text.
std::vector<std::uint32_t> left(std::string text, std::string_view rule = "launch.torch.split-group") {
  const auto lines = static_cast<std::uint32_t>(std::ranges::count(text, '\n'));
  const std::vector<Script> scripts{read_script("job.sh", std::move(text), FileKind::kShell)};
  std::vector<Complaint> complaints;
  for (std::uint32_t line = 1; line <= lines; ++line)
    complaints.push_back(complain(rule, scripts[0], Place{line, 1, 0, 0}, "m"));
  apply_ignores(scripts, complaints);
  std::vector<std::uint32_t> found;
  for (const auto& complaint : complaints)
    if (complaint.rule == rule) found.push_back(complaint.place.line);
  return found;
}

using Lines = std::vector<std::uint32_t>;

TEST(Ignore, SameLineAndLineAbove) {
  EXPECT_EQ(left("a\nb  # angio: ignore launch.torch.split-group\nc\n"), (Lines{1, 3}));
  EXPECT_EQ(left("a\n# angio: ignore launch.torch.split-group\nb\nc\n"), (Lines{1, 2, 4}));
  EXPECT_EQ(left("# angio: ignore launch.torch.split-group\n# why\n\nb\nc\n"), (Lines{1, 2, 3, 5}));
}

TEST(Ignore, AContinuedLineIsOne) {
  EXPECT_EQ(left("# angio: ignore launch.torch.split-group\na \\\n  b \\\n  c\nd\n"), (Lines{1, 5}));
  EXPECT_EQ(left("a \\\n  b  # angio: ignore launch.torch.split-group\nc\n"), (Lines{3}));
}

TEST(Ignore, OnlyTheNamedRules) {
  EXPECT_EQ(left("a # angio: ignore tools.pgrep.list\n"), (Lines{1}));
  EXPECT_EQ(left("a # angio: ignore tools.pgrep.list, launch.torch.split-group two sweeps\n"), Lines{});
  EXPECT_EQ(left("a # angio: ignored launch.torch.split-group\n"), (Lines{1}));
  EXPECT_EQ(left("echo 'angio: ignore launch.torch.split-group'\n"), (Lines{1}));
}

TEST(Ignore, AWholeFile) {
  EXPECT_EQ(left("a\nb\n# angio: ignore-file launch.torch.split-group\nc\n"), Lines{});
}

TEST(Ignore, AnUnknownNameIsSaid) {
  const std::vector<Script> scripts{
      read_script("job.sh", "a\nb # angio: ignore launch.torch.split-grup\n", FileKind::kShell)};
  std::vector<Complaint> complaints;
  apply_ignores(scripts, complaints);
  ASSERT_EQ(complaints.size(), 1U);
  EXPECT_EQ(complaints[0].rule, "lint.ignore.unknown-rule");
  EXPECT_EQ(complaints[0].place.line, 2U);
  EXPECT_EQ(complaints[0].place.column, 19U);
  EXPECT_EQ(complaints[0].advice, "did you mean launch.torch.split-group?");
}

}  // namespace
}  // namespace angio::lint
