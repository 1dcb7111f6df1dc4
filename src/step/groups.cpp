#include "step/groups.hpp"

#include <functional>

namespace angio::step {
namespace {

using model::StepLayout;
using Ranks = std::vector<std::uint32_t>;

void add(std::vector<RankGroup>& groups, GroupKind kind, Ranks ranks) {
  if (ranks.size() > 1) groups.push_back({kind, std::move(ranks)});
}

void add_data_groups(const StepLayout& layout, std::vector<RankGroup>& groups) {
  for (std::uint32_t stage = 0; stage < layout.pipeline; ++stage) {
    for (std::uint32_t share = 0; share < layout.tensor; ++share) {
      Ranks all;
      for (std::uint32_t data = 0; data < layout.data; ++data)
        all.push_back(rank_at(layout, {data, share, stage}));
      const std::uint32_t experts = layout.expert;
      for (std::uint32_t first = 0; experts > 1 && first < layout.data; first += experts)
        add(groups, GroupKind::kExpert, Ranks(all.begin() + first, all.begin() + first + experts));
      for (std::uint32_t expert = 0; experts > 1 && expert < experts; ++expert) {
        Ranks same;
        for (std::uint32_t data = expert; data < layout.data; data += experts)
          same.push_back(all[data]);
        add(groups, GroupKind::kExpertData, std::move(same));
      }
      add(groups, GroupKind::kData, std::move(all));
    }
  }
}

}  // namespace

Place place_of(const StepLayout& layout, std::uint32_t rank) {
  return {rank / layout.tensor % layout.data, rank % layout.tensor, rank / (layout.tensor * layout.data)};
}

std::uint32_t rank_at(const StepLayout& layout, const Place& place) {
  return (place.pipeline * layout.data + place.data) * layout.tensor + place.tensor;
}

std::vector<RankGroup> groups_of(const StepLayout& layout) {
  std::vector<RankGroup> groups;
  add_data_groups(layout, groups);
  for (std::uint32_t stage = 0; stage < layout.pipeline; ++stage) {
    for (std::uint32_t data = 0; data < layout.data; ++data) {
      Ranks shares;
      for (std::uint32_t share = 0; share < layout.tensor; ++share)
        shares.push_back(rank_at(layout, {data, share, stage}));
      add(groups, GroupKind::kTensor, std::move(shares));
    }
  }
  return groups;
}

}  // namespace angio::step
