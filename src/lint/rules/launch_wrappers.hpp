// Which program of a command line starts which: the options of the wrappers between srun and the training
// script, and the cut of a line into its programs. Used by launch_line only.
#pragma once

#include <string_view>
#include <vector>

#include "lint/rules/launch_line.hpp"

namespace angio::lint {

std::vector<Stage> stages_of(const std::vector<Word>& words);
bool listed(std::string_view list, std::string_view word);  // one of words separated by blanks
std::string spelled(std::string_view name);                 // --nproc_per_node as --nproc-per-node

}  // namespace angio::lint
