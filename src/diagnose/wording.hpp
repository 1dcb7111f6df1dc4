// A draft and the words of its rule to a finding: fills {name} in fixes and in the text to disprove it. For
// the engine, and for judges that look at something else than one machine (src/dryrun/against.cpp).
#pragma once

#include <string>

#include "diagnose/rule.hpp"
#include "knowledge/knowledge.hpp"
#include "model/finding.hpp"

namespace angio::diagnose {

// node: the machine's name, or what else the finding is about. A word nobody filled prints as <word>.
model::Finding make_finding(const knowledge::RuleText& text, const std::string& node, Draft draft);

}  // namespace angio::diagnose
