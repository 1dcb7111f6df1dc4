// The number that a run is judged by: its wall time, a number in its output that a pattern finds, or the last
// number it printed. Pure text work; patterns are ECMAScript regular expressions, applied line by line.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.hpp"

namespace angio::experiment {

enum class MetricKind { kWallTime, kPattern, kLastNumber };
enum class Better { kUnstated, kHigher, kLower };

struct MetricWish {
  MetricKind kind = MetricKind::kWallTime;
  std::string pattern;  // its first group is the number
  Better better = Better::kUnstated;
};

// A wish made ready: the pattern is compiled once.
class Metric {
 public:
  static Result<Metric> make(MetricWish wish);
  Metric(Metric&&) noexcept;
  Metric& operator=(Metric&&) noexcept;
  ~Metric();

  [[nodiscard]] const MetricWish& wish() const { return wish_; }
  // The value of one run. An error says what was looked for and where.
  [[nodiscard]] Result<double> read(double seconds, std::string_view output) const;

 private:
  struct Pattern;
  explicit Metric(MetricWish wish);
  MetricWish wish_;
  std::unique_ptr<Pattern> pattern_;
};

// The last number of a text; digits inside words ("x86", "v2.1") are none.
std::optional<double> last_number(std::string_view text);

}  // namespace angio::experiment
