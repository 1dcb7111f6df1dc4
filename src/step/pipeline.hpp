// The order in which a stage of a pipeline works through its micro-batches: one forward, one backward in turn
// once it is filled (Narayanan et al., 2021, without interleaving), as Megatron-LM sends it. Pure.
#pragma once

#include <cstdint>
#include <vector>

namespace angio::step {

enum class Turn : std::uint8_t {
  kForward,
  kBackward,
  kExchange,  // with one neighbour, both directions in one call
};

struct PipelineTurn {
  Turn turn = Turn::kForward;
  std::uint32_t micro_batch = 0;  // of kForward and kBackward
  // kExchange: what it is about and with whom.
  bool with_next = false;  // else with the stage before
  bool send = false;
  bool receive = false;
};

std::vector<PipelineTurn> pipeline_order(std::uint32_t stages, std::uint32_t stage,
                                         std::uint32_t micro_batches);

// Share of a stage's time in which it has nothing to do if all stages are alike: (p - 1) / (m + p - 1).
double bubble_share(std::uint32_t stages, std::uint32_t micro_batches);

}  // namespace angio::step
