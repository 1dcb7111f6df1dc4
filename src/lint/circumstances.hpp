// What a file says about where it will run: the NCCL release it installs, whether the job has several nodes.
// Only what is certain; the context that the caller knows wins.
#pragma once

#include "lint/lint.hpp"

namespace angio::lint {

// Whether this command starts ranks on several nodes; none when its words do not say.
std::optional<bool> several_nodes_of(const Command& command);

// The context with what this script adds: version, several nodes, versions of others.
Context circumstances_of(const Script& script, const Context& context);

}  // namespace angio::lint
