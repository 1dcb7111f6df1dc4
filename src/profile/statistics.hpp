// Robust figures over small samples: median, and the spread that one wild value does not move.
#pragma once

#include <vector>

namespace angio::profile {

double median(std::vector<double> values);  // 0 for none
// 1.4826 times the median distance from the median: a standard deviation for normal values.
double spread(const std::vector<double>& values);

}  // namespace angio::profile
