#include "collective/layout.hpp"

#include <algorithm>

namespace angio::collective {

using model::NcclCollective;

Layout layout_of(NcclCollective collective, Bytes size, Element element, std::uint32_t ranks) {
  constexpr std::uint64_t kUnit = 16;  // bytes
  const std::uint64_t width = size_of(element);
  const std::uint64_t all = size.value / width;
  const std::uint64_t part = all / ranks & ~(kUnit / width - 1);
  Layout layout;
  switch (collective) {
    case NcclCollective::kAllGather:
    case NcclCollective::kGather:
      layout = {part, part, part * ranks, part, 0, {}};
      break;
    case NcclCollective::kReduceScatter:
    case NcclCollective::kScatter:
      layout = {part, part * ranks, part, 0, part, {}};
      break;
    case NcclCollective::kAllToAll:
      layout = {part, part * ranks, part * ranks, 0, 0, {}};
      break;
    default:
      layout = {all, all, all, 0, 0, {}};
      break;
  }
  layout.size = Bytes{std::max(layout.send, layout.receive) * width};
  return layout;
}

bool has_parts(NcclCollective collective) {
  return collective == NcclCollective::kAllGather || collective == NcclCollective::kGather ||
         collective == NcclCollective::kReduceScatter || collective == NcclCollective::kScatter ||
         collective == NcclCollective::kAllToAll;
}

bool can_be_in_place(NcclCollective collective) {
  return collective != NcclCollective::kAllToAll && collective != NcclCollective::kSendRecv;
}

}  // namespace angio::collective
