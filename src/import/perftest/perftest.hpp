// Texts of perftest's programs, old forms and new: one run or many, with the shell, the launcher and both
// sides around and between them. Never fails: what is no line of perftest is passed over, what is damaged is
// counted.
#pragma once

#include <string_view>
#include <vector>

#include "model/perftest.hpp"

namespace angio::import::perftest {

std::vector<model::PerftestRun> parse(std::string_view bytes);

// True for a text with at least a title or a table of perftest in it.
bool looks_like(std::string_view bytes);

}  // namespace angio::import::perftest
