// One training step of one rank as a list of things to do: load, compute so long, begin a collective, wait
// for a group, in the order in which the frameworks do them. Pure: who does it is worker.hpp.
#pragma once

#include <cstdint>
#include <vector>

#include "base/error.hpp"
#include "model/nccl_tests.hpp"
#include "step/spec.hpp"

namespace angio::step {

enum class OpKind : std::uint8_t { kInput, kCompute, kStart, kWait };
enum class Phase : std::uint8_t { kForward, kBackward, kOptimizer };

inline constexpr std::uint32_t kNobody = 0xffffffffU;

struct StepOp {
  OpKind kind = OpKind::kCompute;
  Phase phase = Phase::kForward;
  double ms = 0;  // kCompute
  model::NcclCollective collective = model::NcclCollective::kUnknown;
  std::uint32_t group = 0;       // in Schedule::groups; kStart, kWait
  std::uint64_t count = 0;       // elements, as collective::Call counts
  std::uint32_t peer = kNobody;  // ranks of the group, SendRecv
  std::uint32_t source = kNobody;
  std::uint32_t send = 0;  // in Schedule::buffers
  std::uint32_t receive = 0;
};

struct Schedule {
  // The first is all ranks; the others are made by all ranks in this order, of two ranks and more each.
  std::vector<std::vector<std::uint32_t>> groups;
  std::vector<std::uint64_t> buffers;  // elements
  std::vector<StepOp> ops;
  std::vector<std::uint64_t> buckets;  // bytes, in the order they become ready
  std::uint64_t sent = 0;              // bytes handed to collectives
};

// Errors: a spec that does not hold together, more things to do than fit.
Result<Schedule> make_schedule(const StepSpec& spec, std::uint32_t rank);

}  // namespace angio::step
