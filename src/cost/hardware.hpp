// What hardware reaches: time and bus bandwidth of a collective on a platform, fitted on measurements, with
// an interval. What NCCL's own model believes is nccl_model.hpp; the two are never mixed. Pure.
#pragma once

#include <vector>

#include "cost/platform.hpp"
#include "model/expectation.hpp"

namespace angio::cost {

// Errors: a collective that has no model, fewer than two ranks, sizes of zero.
Result<model::Expectation> expect(const Platform& platform, const model::CollectiveCase& question);

// Every algorithm that could run there, quickest first; the first is expect()'s unless it rests on something
// that the platform does not tell (CollNet: switches that reduce), which its assumptions say.
Result<std::vector<model::Expectation>> expect_each(const Platform& platform,
                                                    const model::CollectiveCase& question);

}  // namespace angio::cost
