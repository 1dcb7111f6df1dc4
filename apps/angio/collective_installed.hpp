// An installed nccl-tests, run for `angio bench collective --use-nccl-tests` and read.
#pragma once

#include <cstdint>
#include <string>

#include "base/error.hpp"
#include "bench/interrupts.hpp"
#include "collective/wish.hpp"
#include "model/collective_run.hpp"

namespace angio::app {

// place: the folder of the programs, or one of them. One process with `gpus` GPUs (-g), as nccl-tests does it
// alone.
Result<model::CollectiveRun> run_nccl_tests(const std::string& place, const collective::Wish& wish,
                                            std::uint32_t gpus, const bench::Interrupts& interrupts);

}  // namespace angio::app
