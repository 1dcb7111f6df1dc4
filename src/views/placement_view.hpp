// A placement as a table with its grounds, and as versioned JSON {"schema": "angio.placement/1", …}.
// Used by `angio plan` and `angio run --dry-run`.
#pragma once

#include <string>

#include "base/json.hpp"
#include "model/machine.hpp"
#include "model/placement.hpp"
#include "report/document.hpp"

namespace angio::views {

report::Document placement_document(const model::Machine& machine, const model::Placement& placement,
                                    bool with_why);
Json placement_json(const model::Machine& machine, const model::Placement& placement);

// "prefer node 0", "only nodes 0-1", "local"; "-" where the policy is left alone.
std::string memory_words(const model::RankPlacement& rank);

// "rank 3: GPU 3 (b7:00.0), CPUs 42-55, memory prefers node 0".
std::string rank_sentence(const model::Machine& machine, const model::RankPlacement& rank);

}  // namespace angio::views
