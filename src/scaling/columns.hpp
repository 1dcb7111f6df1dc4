// What the columns of a table of results mean, by their names and their cells: how many devices, throughput,
// step time, speed-up, settings. A name that is not known is a setting and never a result.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "scaling/scaling.hpp"
#include "scaling/table.hpp"

namespace angio::scaling {

enum class Role : std::uint8_t {
  kCount,
  kPerNode,     // GPUs of a node: a factor of kCount where that counts nodes
  kThroughput,  // of all devices, or of one
  kTime,
  kSpeedup,
  kEfficiency,
  kGlobalBatch,  // work of a step
  kLocalBatch,   // work of a step of one device
  kAccumulation,
  kMode,        // "strong", "weak"
  kMetricName,  // names what kValue is, row by row
  kValue,
  kSetting,  // tells series apart
  kIgnored,  // notes, dates, repeats
};

struct Column {
  std::string name;
  Role role = Role::kSetting;
  std::string unit;         // "ms", "tokens/s"; empty: not said
  std::string device;       // of kCount
  bool per_device = false;  // of kThroughput
  bool inverse = false;     // of kThroughput: steps a second, whose work the mode decides
  double to_seconds = 0;    // of kTime; 0: unit not said
  bool numeric = false;     // most cells are numbers
  int rank = 0;             // of roles that stand more than once: the least is taken first
};

std::vector<Column> recognise_columns(const RawTable& table);
// By a name alone: of a metric that a row names.
Column recognise_name(std::string_view name);

struct Number {
  double value = 0;
  std::string unit;  // what stood behind it: "ms", "%", "x"
};
// "1,234.5", "85 %", "1.8x", "12 ms", "1.2k", "**100**", "100 ± 3". Not: "5-6", "n/a".
std::optional<Number> parse_number(std::string_view cell, bool decimal_comma);
// "8", "8 GPUs", "2x8", "1,024".
std::optional<std::uint32_t> parse_count(std::string_view cell);

}  // namespace angio::scaling
