// --fail-on: whether findings are severe enough to end with exit code 1. Shared by the commands that have it.
#pragma once

#include <string>
#include <vector>

#include "model/finding.hpp"

namespace angio::app {

// Whether a severity is at or above fail_on: "info", "warning", "critical" (which lint calls "error"), or
// empty for never.
bool reaches(model::Severity severity, const std::string& fail_on);
bool fails(const std::vector<model::Finding>& findings, const std::string& fail_on);

}  // namespace angio::app
