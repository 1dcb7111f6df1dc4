// Student's t distribution: what every interval and every test on means needs. Pure.
#pragma once

namespace angio {

// The value that a fraction p of the distribution stays below. degrees >= 1, 0 < p < 1.
double student_t_quantile(double p, double degrees);
// P(T <= t).
double student_t_distribution(double t, double degrees);

}  // namespace angio
