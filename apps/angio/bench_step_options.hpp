// What `angio bench step` is told, and what that asks of the ranks: shape, layout, who starts them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "step/run.hpp"

namespace angio::app {

class CommandLine;

struct StepOptions {
  std::string framework = "torch";
  std::string backend;
  std::optional<std::uint32_t> ranks;
  std::string strategy;
  std::optional<std::uint32_t> data, tensor, pipeline, expert, micro_batches;
  std::string model;
  std::optional<std::uint32_t> layers, hidden, heads, vocabulary, sequence, image;
  std::optional<std::uint32_t> batch;
  std::uint32_t steps = step::StepSpec{}.steps;
  std::uint32_t warm_up = step::StepSpec{}.warm_up;
  bool compare = false;
  std::string type = "float";
  double bucket_mib = 25;
  std::uint32_t experts_a_token = 2;
  std::optional<double> compute_ms;
  std::optional<double> teraflops;
  std::string compute;
  double loader_ms = 0;
  std::uint32_t loader_workers = 0;
  std::uint32_t prefetch = 2;
  std::string slow;
  std::vector<std::uint32_t> scale;
  std::string scaling = "strong";
  std::string launcher;
  std::string python;
  std::string program;
  std::string format = "terminal";
  std::string out = "-";
};

void add_step_options(CommandLine& command, StepOptions& options);

// One number of ranks to run.
struct StepPlan {
  std::vector<step::RunRequest> runs;  // one, or one for each of --scale
  bool around = false;                 // this process is one rank of a launcher's
};
Result<StepPlan> step_plan(const StepOptions& options);

}  // namespace angio::app
