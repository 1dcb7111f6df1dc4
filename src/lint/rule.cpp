#include "lint/rule.hpp"

#include "knowledge/variables.hpp"

namespace angio::lint {
namespace {

model::Severity severity_of(std::string_view rule) {
  const knowledge::LintRule* words = knowledge::find_lint_rule(rule);
  if (words == nullptr) return model::Severity::kWarning;
  if (words->severity == "error") return model::Severity::kCritical;
  return words->severity == "info" ? model::Severity::kInfo : model::Severity::kWarning;
}

}  // namespace

Complaint complain(std::string_view rule, const Script& script, const Place& place, std::string message,
                   std::string advice) {
  Complaint complaint;
  complaint.rule = std::string(rule);
  complaint.severity = severity_of(rule);
  complaint.file = script.name;
  complaint.place = place;
  complaint.message = std::move(message);
  complaint.advice = std::move(advice);
  return complaint;
}

}  // namespace angio::lint
