// How a stack of versions fits: the verdicts worst first, each with its grounds, and what its NCCL brings;
// and the same as versioned JSON {"schema": "angio.compat/1", …}. Used by `angio compat`.
#pragma once

#include <string>
#include <vector>

#include "base/json.hpp"
#include "compat/check.hpp"
#include "report/document.hpp"

namespace angio::views {

struct CompatStack {
  compat::Stack stack;
  compat::Report report;
  std::string subject;  // "this host", "gpu-a.snap", "as given"
  std::string remark;   // what could not be read of the input; empty: nothing to say
};

// Several stacks: what differs between them first, then each kind of stack once.
report::Document compat_document(const std::vector<CompatStack>& stacks, bool with_features);
// One stack is an object, several are "stacks" of one.
Json compat_json(const std::vector<CompatStack>& stacks);
// The words that stand for parts, for `--parts`.
report::Document compat_parts_document();

}  // namespace angio::views
