// The tables of a benchmark of collectives; for collective_view.cpp.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "views/collective_view.hpp"

namespace angio::views {

std::vector<model::NcclCollective> collectives_of(const model::CollectiveRun& run);  // as they ran
const judge::JudgedRow* judged_row(const judge::Judgement* judgement, const model::CollectiveRow& row);

void add_sizes(const model::CollectiveRun& run, model::NcclCollective collective,
               const judge::Judgement* judgement, report::Document& document);
void add_iterations(const model::CollectiveRun& run, model::NcclCollective collective,
                    report::Document& document);
// whole: the matrices of any number of ranks.
void add_pairs(const model::CollectiveRun& run, bool whole, report::Document& document);
void add_comparison(const CollectiveReport& report, std::span<const model::NcclCollective> collectives,
                    report::Document& document);

// As nccl-tests prints it: digits that count, never more than seven characters.
std::string time_text(double microseconds);
std::string rate_text(BytesPerSecond rate);  // GB/s, "12.34"

}  // namespace angio::views
