#include "profile/statistics.hpp"

#include <algorithm>
#include <cmath>

namespace angio::profile {

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return (*std::max_element(values.begin(), middle) + *middle) / 2;
}

double spread(const std::vector<double>& values) {
  constexpr double kNormal = 1.4826;  // 1 / the 0.75 quantile of the standard normal distribution
  const double middle = median(values);
  std::vector<double> distances;
  distances.reserve(values.size());
  for (const double value : values)
    distances.push_back(std::abs(value - middle));
  return kNormal * median(std::move(distances));
}

}  // namespace angio::profile
