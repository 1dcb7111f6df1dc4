// A file of results to series that can be analysed: which column counts, which is the result, which rows
// belong together, and what the table itself says of strong or weak. What is not said is left open: see Said.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "scaling/scaling.hpp"
#include "scaling/table.hpp"

namespace angio::scaling {

// A mode that the table states, and by what.
struct Said {
  Mode mode = Mode::kStrong;
  std::string why;  // "the global batch is 1024 at every N"
};

// A speed-up or an efficiency that a row states beside its result.
struct Stated {
  std::uint32_t count = 0;
  std::uint32_t line = 0;
  bool efficiency = false;
  double value = 0;  // 0.9, not 90 %
};

struct TableSeries {
  Series series;
  std::optional<Said> said;
  std::vector<Stated> stated;
  std::vector<std::pair<std::uint32_t, std::string>>
      differences;      // at an N: columns in which its rows differ
  std::string changes;  // settings that are not the same at every N: "MicroBatchSize, GradAccum"
  std::string form;
  std::uint32_t line = 0;                 // of the table
  std::vector<std::string> alternatives;  // other columns that could be the result
};

struct Reading {
  std::vector<TableSeries> series;  // with results at two N or more, or speed-ups
  std::uint32_t single = 0;         // left out: results at one N only
  std::vector<Note> notes;
};

struct ReadWish {
  std::string metric;  // "throughput", "time", the name of a column; empty: what there is, throughput first
  std::vector<std::pair<std::string, std::string>> where;  // only rows with this value in this column
  std::vector<std::string> by;                             // these columns tell series apart, too
};

// Fails when there is no table at all, no column of counts or results, or a wish names what is not there.
Result<Reading> read_results(std::string_view text, const ReadWish& wish);

// analyse() and what the table knows beyond the series: modes, stated efficiencies, columns that differ.
Result<Scaling> analyse(const TableSeries& table, Mode mode, std::optional<std::uint32_t> baseline);

}  // namespace angio::scaling
