// What `angio bench step` measured: training steps of a shape, over ranks laid out in groups, each step's
// time split by what the rank did. Values only: step makes them, views show them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/units.hpp"

namespace angio::model {

// A model as far as its traffic and its arithmetic go.
struct StepShape {
  std::string name;         // "gpt2-small", "resnet50", "custom"
  bool transformer = true;  // false: ResNet-50, whose figures below are 0
  std::uint32_t layers = 0;
  std::uint32_t hidden = 0;
  std::uint32_t heads = 0;
  std::uint32_t vocabulary = 0;
  std::uint32_t sequence = 0;    // tokens of a sample
  std::uint32_t image = 0;       // pixels of a side of a sample, ResNet-50
  std::uint64_t parameters = 0;  // of the whole model, without experts beyond the first
};

// Ranks = data x tensor x pipeline; ranks of a tensor group are neighbours, those of a pipeline furthest
// apart. The ranks of an expert group are neighbours within a data group.
struct StepLayout {
  std::uint32_t data = 1;
  std::uint32_t tensor = 1;
  std::uint32_t pipeline = 1;
  std::uint32_t expert = 1;
  bool sharded = false;  // the data dimension is FSDP's, not DDP's
  std::uint32_t micro_batches = 1;
};

// One step of one rank, milliseconds. step = input + forward + backward + optimizer + exposed + other.
struct StepTime {
  bool communication = true;  // false: the same step with communication left out
  double step = 0;
  double input = 0;    // waited for the loader
  double forward = 0;  // without waits for communication inside it, and the next two too
  double backward = 0;
  double optimizer = 0;
  std::optional<double> exposed;  // waited for communication; none: cannot be seen from outside the library
};

struct StepSpread {
  std::uint32_t count = 0;
  double minimum = 0, median = 0, p95 = 0, p99 = 0, maximum = 0;
};

struct StepRank {
  std::uint32_t rank = 0;
  std::uint32_t local_rank = 0;
  std::string host;
  std::uint64_t pid = 0;
  std::string device;           // "NVIDIA H100 80GB HBM3"; empty: the CPU
  std::vector<StepTime> steps;  // as they ran, warm-up left out
  std::optional<Bytes> memory;  // most that it held: of the GPU, or resident in host memory
  std::uint64_t sent = 0;       // bytes that it handed to collectives in a step; 0: not counted
  double start_seconds = 0;     // from its start to the first step
  bool finished = false;        // it came to its end
};

// Medians over the steps of one rank, milliseconds.
struct StepSplit {
  std::uint32_t rank = 0;
  double step = 0, input = 0, forward = 0, backward = 0, optimizer = 0, other = 0;
  std::optional<double> exposed;     // by waits
  std::optional<double> without;     // the step with communication left out
  std::optional<double> difference;  // step - without
  [[nodiscard]] double compute() const { return forward + backward + optimizer; }
  [[nodiscard]] double busy() const { return compute() + input + other; }  // what others wait for
};

enum class StepCulprit : std::uint8_t { kCompute, kInput };

// A rank that the others wait for: it is busy longest in more steps than chance explains.
struct StepSlowRank {
  std::uint32_t rank = 0;
  StepCulprit culprit = StepCulprit::kCompute;
  double own = 0;           // ms of that in a step, median
  double usual = 0;         // of the median rank
  std::uint32_t steps = 0;  // in which it was the longest
  std::uint32_t of = 0;
};

// One number of ranks of --scale.
struct StepScale {
  std::uint32_t ranks = 0;
  std::uint32_t batch = 0;  // samples of a replica in a step
  double step_ms = 0;
  double samples_per_second = 0;
  std::optional<double> exposed_ms;
};

struct StepRun {
  std::string framework;       // "torch", "traffic"
  std::string implementation;  // "DistributedDataParallel", "own buckets"
  std::string version;         // "torch 1.13.0"
  std::string backend;         // "gloo", "nccl", "mpi"
  std::string launcher;        // "torchrun", "angio run", "the launcher around it"
  std::string started;         // RFC 3339, UTC
  std::string subject;         // host, or the first of several and how many more
  std::uint32_t ranks = 0;
  std::uint32_t warm_up = 0;
  std::uint32_t batch = 0;  // samples of a replica in a step
  StepShape shape;
  StepLayout layout;
  std::vector<StepRank> members;  // by rank
  // Made of the members' steps (step/summary.hpp).
  StepSpread step;                      // of the slowest rank in each step
  double samples_per_second = 0;        // over all replicas
  std::optional<double> exposed_ms;     // median over the steps of the mean over ranks, by waits
  std::optional<double> exposed_share;  // of the step
  std::optional<double> without_ms;     // median step with communication left out
  std::optional<double> difference_ms;  // the median step less that
  std::optional<double> bubble_share;   // of the compute time, by the shape of the pipeline; not measured
  std::vector<StepSplit> splits;        // by rank
  std::optional<StepSlowRank> slow;
  std::vector<std::uint64_t> buckets;  // bytes, in the order they become ready; rank 0
  std::string scaling;                 // "strong", "weak"; empty: one number of ranks
  std::vector<StepScale> scale;
  bool phantom = false;  // GPUs that are not there: times mean nothing
  std::vector<std::string> notes;
  bool interrupted = false;
};

}  // namespace angio::model
