// Which ranks form the data, tensor, expert and pipeline groups of a layout. Pure.
#pragma once

#include <cstdint>
#include <vector>

#include "model/step_run.hpp"

namespace angio::step {

struct Place {
  std::uint32_t data = 0;
  std::uint32_t tensor = 0;
  std::uint32_t pipeline = 0;  // stage
  bool operator==(const Place&) const = default;
};
Place place_of(const model::StepLayout& layout, std::uint32_t rank);
std::uint32_t rank_at(const model::StepLayout& layout, const Place& place);

enum class GroupKind : std::uint8_t {
  kData,        // same share of the same stage: gradients
  kTensor,      // shares of the same layers
  kExpert,      // neighbours of a data group: tokens go to experts
  kExpertData,  // the same expert in the groups of experts: its gradients
};

struct RankGroup {
  GroupKind kind = GroupKind::kData;
  std::vector<std::uint32_t> ranks;
};

// All groups of two ranks and more, in the order in which every rank makes them.
std::vector<RankGroup> groups_of(const model::StepLayout& layout);

}  // namespace angio::step
