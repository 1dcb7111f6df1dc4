#include "fail_on.hpp"

#include <algorithm>

namespace angio::app {

bool reaches(model::Severity severity, const std::string& fail_on) {
  if (fail_on.empty()) return false;
  const model::Severity limit = fail_on == "critical" || fail_on == "error" ? model::Severity::kCritical
                                : fail_on == "warning"                      ? model::Severity::kWarning
                                                                            : model::Severity::kInfo;
  return severity >= limit;
}

bool fails(const std::vector<model::Finding>& findings, const std::string& fail_on) {
  return std::ranges::any_of(
      findings, [&](const model::Finding& finding) { return reaches(finding.severity, fail_on); });
}

}  // namespace angio::app
