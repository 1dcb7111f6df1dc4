// Texts of the OSU micro-benchmarks 3 to 7 over MPI, NCCL and others: one table or many, with shells,
// launchers and other programs around and between them. Never fails: what is no line of OSU's is passed over,
// what is damaged is counted.
#pragma once

#include <string_view>
#include <vector>

#include "model/osu.hpp"

namespace angio::import::osu {

std::vector<model::OsuTable> parse(std::string_view bytes);

// True for a text with at least one of its titles in it.
bool looks_like(std::string_view bytes);

}  // namespace angio::import::osu
