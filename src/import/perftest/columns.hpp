// The table of perftest: which columns its title line announces, and a row by them.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "model/perftest.hpp"

namespace angio::import::perftest {

enum class Column : std::uint8_t {
  kSize,
  kServiceLevel,
  kIterations,
  kPeak,
  kAverage,
  kMessageRate,
  kOtherRate,  // of one port; the sum is in the columns before
  kCpu,
  kMinimum,
  kMaximum,
  kTypical,
  kMean,
  kDeviation,
  kPercentile99,
  kPercentile999,
  kTransactions,
};

enum class RateUnit : std::uint8_t { kMebibytes, kGigabits };

struct Columns {
  std::vector<Column> list;
  RateUnit unit = RateUnit::kMebibytes;
  bool cycles = false;  // -C: times are CPU cycles, which are no microseconds
};

// Empty list: no title line.
Columns parse_columns(std::string_view line);
enum class RowKind : std::uint8_t { kNone, kRow, kDamaged };
RowKind parse_row(std::string_view line, const Columns& columns, model::PerftestRow& row);

}  // namespace angio::import::perftest
