// What the steps of all ranks say together: the step that the slowest rank made of it, how its time splits,
// how much of it communication cost, and which rank the others wait for. Pure.
#pragma once

#include <span>
#include <vector>

#include "model/step_run.hpp"
#include "step/rank_log.hpp"

namespace angio::step {

model::StepSpread spread_of(std::vector<double> values);

// members into everything below them in StepRun. Steps that not every rank has are left out.
void summarise(model::StepRun& run);

// What ranks say of themselves, taken over into the run.
void take_logs(std::span<const RankLog> logs, model::StepRun& run);

// Chance that one of `of` alike ranks is first in `steps` of them or more by luck alone.
double luck_of(std::uint32_t ranks, std::uint32_t steps, std::uint32_t of);

// The rank that failed first, in words; empty: none says so.
std::string first_failure(std::span<const RankLog> logs);

}  // namespace angio::step
