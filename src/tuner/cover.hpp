// Which sizes earlier rows have taken. Rows are added in order; what a row adds are the gaps that were left.
// Segments that a row runs into melt into one, so adding n rows costs n log n in all, whatever they are.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>

#include "tuner/table.hpp"

namespace angio::tuner {

class Cover {
 public:
  [[nodiscard]] bool meets(const Range& range) const {
    const auto next = taken_.upper_bound(range.high);
    return next != taken_.begin() && std::prev(next)->second >= range.low;
  }

  // Calls visit(Range) for each part of range that was free, lowest first.
  template <typename Visit>
  void add(const Range& range, Visit visit) {
    Range whole = range;
    std::uint64_t position = range.low;
    bool done = false;
    auto at = taken_.upper_bound(range.low);
    if (at != taken_.begin() && std::prev(at)->second >= range.low) --at;
    while (at != taken_.end() && at->first <= range.high) {
      if (!done && at->first > position) visit(Range{position, at->first - 1});
      done = at->second >= range.high;
      if (!done) position = at->second + 1;
      whole = {std::min(whole.low, at->first), std::max(whole.high, at->second)};
      at = taken_.erase(at);
    }
    if (!done) visit(Range{position, range.high});
    taken_.emplace(whole.low, whole.high);
  }

 private:
  std::map<std::uint64_t, std::uint64_t> taken_;  // low to high, apart from each other
};

}  // namespace angio::tuner
