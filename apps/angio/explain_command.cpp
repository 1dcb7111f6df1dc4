#include "explain_command.hpp"

#include <CLI/CLI.hpp>

#include <memory>
#include <vector>

#include "base/text.hpp"
#include "knowledge/knowledge.hpp"
#include "views/doctor_view.hpp"

namespace angio::app {

namespace {

Error unknown_rule(const std::string& id) {
  std::vector<std::string_view> ids;
  for (const knowledge::RuleText& rule : knowledge::rules())
    ids.push_back(rule.id);
  std::vector<std::string> holding;
  for (const std::string_view known : ids) {
    if (contains(known, id)) holding.emplace_back(known);
  }
  const auto near = did_you_mean(id, ids);
  return {ErrorCode::kNotFound, "there is no rule \"" + printable(id) + "\"",
          !holding.empty() ? "Did you mean " + join(holding, ", ") + "?"
          : near           ? "Did you mean " + *near + "?"
                           : std::string("angio explain lists all rules")};
}

int explain(const std::string& id) {
  const report::Document document = id.empty() ? views::rules_document() : views::rule_document(id);
  if (document.blocks.empty()) {
    report_error(unknown_rule(id));
    return kUsage;
  }
  return print(render_terminal(document, terminal_style()));
}

}  // namespace

void setup_explain(CLI::App& app, int& exit_code) {
  CLI::App* command = app.add_subcommand("explain", "Say what a rule of the doctor looks at and why");
  const auto rule = std::make_shared<std::string>();
  command->add_option("rule", *rule, "As doctor prints it; none: all")->type_name("RULE");
  command->callback([rule, &exit_code] { exit_code = explain(*rule); });
}

}  // namespace angio::app
