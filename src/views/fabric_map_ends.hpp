// Where the lines of the map leave a switch, so that they do not all meet in one point: in the order of where
// they lead. Internal to fabric_map.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "views/fabric_map_layout.hpp"

namespace angio::views {

class MapEnds {
 public:
  void add(std::uint32_t node, bool up, double towards, std::size_t trunk) {
    all_[{node, up}].push_back({towards, trunk});
  }
  void sort() {
    for (auto& [where, ends] : all_) {
      std::ranges::sort(ends);
      const auto count = static_cast<double>(ends.size());
      for (std::size_t i = 0; i < ends.size(); ++i)
        place_[{where.first, ends[i].second}] = (static_cast<double>(i) + 0.5) / count;
    }
  }
  [[nodiscard]] double x(const MapRect& box, std::uint32_t node, std::size_t trunk) const {
    constexpr double kInner = 0.86;
    const auto found = place_.find({node, trunk});
    const double place = found == place_.end() ? 0.5 : found->second;
    return box.middle() + (place - 0.5) * box.width * kInner;
  }

 private:
  std::map<std::pair<std::uint32_t, bool>, std::vector<std::pair<double, std::size_t>>> all_;
  std::map<std::pair<std::uint32_t, std::size_t>, double> place_;
};

}  // namespace angio::views
