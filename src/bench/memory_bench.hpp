// Carries out a plan of memory measurements on this machine and keeps what is finished when an interrupt
// comes. Not the choice of what to measure (memory_plan) and not the words (views).
#pragma once

#include <functional>
#include <string>

#include "bench/interrupts.hpp"
#include "bench/memory_plan.hpp"
#include "host/libraries.hpp"
#include "host/root.hpp"
#include "model/bench_result.hpp"

namespace angio::bench {

struct BenchTools {
  const host::Root& root;  // the live host
  const host::LibraryLoader& libraries;
  const Interrupts& interrupts;
  std::function<void(const std::string&)> progress;  // one short line each
};

model::MemoryBench run_memory_bench(const model::Machine& machine, const MemoryPlan& plan,
                                    const BenchTools& tools);

}  // namespace angio::bench
