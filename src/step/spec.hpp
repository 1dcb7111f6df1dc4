// What is asked of one run of training steps: shape, layout, how often, where results go. The same text, as
// JSON, goes to the ranks in PyTorch and to those in C++. Values only.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "base/units.hpp"
#include "model/step_run.hpp"

namespace angio::step {

enum class Compute : std::uint8_t {
  kWork,  // arithmetic on the CPU of the rank: it competes with what moves the data
  kIdle,  // waits that long, as though a GPU worked
};

struct Loader {
  double ms = 0;  // to load a batch, of one worker
  std::uint32_t workers = 0;
  std::uint32_t prefetch = 2;  // batches a worker may be ahead
};

struct StepSpec {
  model::StepShape shape;
  model::StepLayout layout;
  std::uint32_t batch = 8;  // samples of a replica in a step
  std::uint32_t steps = 20;
  std::uint32_t warm_up = 3;
  bool compare = false;  // every step again with communication left out
  std::string backend;   // "gloo", "nccl", "mpi"; empty: the rank chooses
  std::string type = "float";
  Bytes bucket{std::uint64_t{25} << 20U};       // DDP's bucket_cap_mb
  Bytes first_bucket{std::uint64_t{1} << 20U};  // its first one
  std::uint32_t experts_a_token = 2;            // each token goes to so many experts
  std::optional<double> compute_ms;             // of a layer's forward, the batch of a replica
  double flops_per_second = 20e9;               // where compute_ms is not said; traffic only
  std::optional<Compute> compute;               // none: kIdle with NCCL, else kWork
  Loader loader;
  std::optional<std::uint32_t> slow_rank;
  double slow_factor = 1;
  std::string folder;  // where ranks put rank-N.jsonl; of rank 0 alone if not shared
  bool shared = true;  // all ranks see that folder
};

std::uint32_t ranks_of(const model::StepLayout& layout);

// Names and what they stand for; errors name the nearest.
Result<model::StepShape> shape_by_name(std::string_view name);
std::vector<std::string> shape_names();

// What does not fit together: heads and tensor groups, layers and stages, batch and micro-batches ...
Result<void> check_spec(const StepSpec& spec);

std::string spec_text(const StepSpec& spec);  // one line
Result<StepSpec> parse_spec(std::string_view text);

}  // namespace angio::step
