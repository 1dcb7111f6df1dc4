// What a table of nccl-tests says of itself: the collective behind the ratio of its bandwidths, and rows that
// do not fit. Shared by the text and the JSON reader.
#pragma once

#include <string_view>

#include "model/nccl_tests.hpp"

namespace angio::import::nccl_tests {

model::NcclCollective collective_of(std::string_view program);  // "all_reduce_perf", "all_reduce"

// Fills collective and inferred, and the doubt of rows whose numbers contradict each other.
void check_table(model::NcclTestsTable& table);

}  // namespace angio::import::nccl_tests
