// Test helper: complaints of a text as short lines. Not for the product.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "lint/lint.hpp"

namespace angio::lint {

struct Tried {
  Script script;
  Report report;

  // Whether the rule complains, and how severely: "", "info", "warning", "error".
  std::string severity(std::string_view rule) const {
    for (const Complaint& complaint : report.complaints) {
      if (complaint.rule != rule) continue;
      if (complaint.severity == model::Severity::kCritical) return "error";
      return complaint.severity == model::Severity::kWarning ? "warning" : "info";
    }
    return {};
  }
  std::string message(std::string_view rule) const {
    const auto found = std::ranges::find(report.complaints, rule, &Complaint::rule);
    return found == report.complaints.end() ? std::string() : found->message;
  }
  std::string advice(std::string_view rule) const {
    const auto found = std::ranges::find(report.complaints, rule, &Complaint::rule);
    return found == report.complaints.end() ? std::string() : found->advice;
  }
  std::string fixed() const { return apply_fixes(script, report.complaints); }
};

inline Tried try_lint(std::string text, const Context& context = {}, FileKind kind = FileKind::kShell) {
  Tried tried{read_script("file", std::move(text), kind), {}};
  tried.report = lint({tried.script}, context);
  return tried;
}

inline Context nccl(std::string version) {
  Context context;
  context.nccl_version = std::move(version);
  context.nccl_version_source = "test";
  return context;
}

}  // namespace angio::lint
