// Finds a reason by the beginning of its question, for the tests of reasons*.cpp.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/text.hpp"
#include "dryrun/reasons.hpp"

namespace angio::dryrun::test {

// The answer to the first question that begins so; empty: not asked.
inline std::string answer(const std::vector<Reason>& reasons, std::string_view question) {
  for (const Reason& reason : reasons)
    if (reason.question.starts_with(question)) return reason.answer;
  return {};
}

inline std::string evidence(const std::vector<Reason>& reasons, std::string_view question) {
  for (const Reason& reason : reasons)
    if (reason.question.starts_with(question)) return join(reason.evidence, "; ");
  return {};
}

}  // namespace angio::dryrun::test
