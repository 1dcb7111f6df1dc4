#include "views/lint_view.hpp"

#include <gtest/gtest.h>

namespace angio::views {
namespace {

lint::Report one_complaint(std::string file) {
  lint::Complaint complaint;
  complaint.rule = "env.value.suffix";
  complaint.severity = model::Severity::kCritical;
  complaint.file = std::move(file);
  complaint.place = {2, 3, 8, 2};
  complaint.message = "X=8M: reads 8";
  complaint.advice = "write 8388608";
  complaint.fix = {{8, 2, "8388608"}};
  lint::Report report;
  report.complaints.push_back(std::move(complaint));
  report.releases.push_back({"2.28.9", "--nccl", 1});
  return report;
}

TEST(LintView, OneLineAThing) {
  const lint::Report report = one_complaint("job.sh");
  const std::vector<lint::Script> scripts{
      lint::read_script("job.sh", "export\nX=8M\n", lint::FileKind::kShell)};
  EXPECT_EQ(render_terminal(lint_document({report, scripts, false, "angio 1"}), {}),
            "job.sh:2  error    X=8M: reads 8  env.value.suffix\n"
            "                   write 8388608\n"
            "\n"
            "1 error in 1 file; --fix mends 1. NCCL 2.28.9 (--nccl)\n");
}

TEST(LintView, ForeignTextIsPrintable) {
  const lint::Report report = one_complaint("a\x1b[31m.sh");
  EXPECT_EQ(render_terminal(lint_document({report, {}, false, "angio 1"}), {}).find('\x1b'),
            std::string::npos);
}

TEST(LintSarif, CountsCharactersAndEscapesPaths) {
  const lint::Report report = one_complaint("a b.sh");
  const std::vector<lint::Script> scripts{lint::read_script("a b.sh",
                                                            "x\n\xc3\xa9\xc3\xa9\xc3\xa9"
                                                            "8M\n",
                                                            lint::FileKind::kShell)};
  const Json sarif = lint_sarif({report, scripts, false, "angio 1.2.3"});
  const Json& run = sarif.find("runs")->as_array()->front();
  EXPECT_EQ(*run.find("tool")->find("driver")->find("version")->as_string(), "1.2.3");
  const Json& result = run.find("results")->as_array()->front();
  EXPECT_EQ(*result.find("level")->as_string(), "error");
  const Json* physical = result.find("locations")->as_array()->front().find("physicalLocation");
  EXPECT_EQ(*physical->find("artifactLocation")->find("uri")->as_string(), "a%20b.sh");
  EXPECT_EQ(*physical->find("region")->find("startLine")->as_integer(), 2);
  EXPECT_EQ(*physical->find("region")->find("startColumn")->as_integer(), 4);
  EXPECT_EQ(*physical->find("region")->find("endColumn")->as_integer(), 6);
  const auto index = static_cast<std::size_t>(*result.find("ruleIndex")->as_integer());
  EXPECT_EQ(*run.find("tool")->find("driver")->find("rules")->as_array()->at(index).find("id")->as_string(),
            "env.value.suffix");
}

}  // namespace
}  // namespace angio::views
