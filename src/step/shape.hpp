// The layers of a shape, each with its parameters in the order a framework defines them, its arithmetic and
// what it hands on; and the buckets that DDP makes of gradients. Pure.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/units.hpp"
#include "model/step_run.hpp"

namespace angio::step {

// Of one tensor of parameters.
enum class Split : std::uint8_t {
  kWhole,   // every rank of a tensor group has all of it
  kTensor,  // each rank of the group has its share
  kExpert,  // belongs to one expert
};

struct Parameter {
  std::uint64_t elements = 0;
  Split split = Split::kWhole;
};

struct Layer {
  std::string name;  // "block 3", "embedding", "head"
  std::vector<Parameter> parameters;
  double forward_flops = 0;     // of one sample; backward is twice that
  std::uint64_t handed_on = 0;  // elements of the activation of one sample at its end
  bool block = false;           // of a transformer: it has the collectives of tensor and expert groups
};

// In the order of forward. The embedding of a transformer is also its head, as GPT-2's.
std::vector<Layer> layers_of(const model::StepShape& shape);

// Of a shape without experts beyond the first of each block.
std::uint64_t parameters_of(std::span<const Layer> layers);

// Sizes in bytes. As torch's compute_bucket_assignment_by_size over gradients in the order they become ready:
// a bucket is closed once it has reached its limit, the first limit for the first bucket.
std::vector<std::uint64_t> buckets_of(std::span<const std::uint64_t> gradients, Bytes first, Bytes limit);

// Which bucket each gradient is in, in the same order.
std::vector<std::uint32_t> bucket_numbers(std::span<const std::uint64_t> gradients, Bytes first, Bytes limit);

}  // namespace angio::step
