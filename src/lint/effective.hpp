// What a job sees of each variable after all files, and where it comes from: the process and scripts first,
// then nccl.conf files, then the release's default. Called by lint() only.
#pragma once

#include "lint/lint.hpp"

namespace angio::lint {

std::vector<Effective> effective_of(const std::vector<Script>& scripts, const Context& context);

}  // namespace angio::lint
