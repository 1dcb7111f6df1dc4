#include "import/perftest/columns.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/text.hpp"

namespace angio::import::perftest {
namespace {

// perftest's own: "Report Max/Average BW of test in Gbit/sec (instead of MiB/sec)", MiB = 2^20 byte
// (ib_write_bw --help). Its table says MB/sec, newer releases MiB/sec.
constexpr double kMebibyte = 1048576;
constexpr double kGigabit = 1e9;
constexpr double kMillion = 1e6;

struct Title {
  std::string_view text;
  Column column;
};
// Longer names before those that begin them.
constexpr std::array kTitles{
    Title{"#bytes", Column::kSize},
    Title{"#sl", Column::kServiceLevel},
    Title{"#iterations", Column::kIterations},
    Title{"BW peak", Column::kPeak},
    Title{"BW average", Column::kAverage},
    Title{"MsgRate[", Column::kMessageRate},
    Title{"BW Port1", Column::kOtherRate},
    Title{"MsgRate Port1", Column::kOtherRate},
    Title{"BW Port2", Column::kOtherRate},
    Title{"MsgRate Port2", Column::kOtherRate},
    Title{"CPU_Util", Column::kCpu},
    Title{"t_min", Column::kMinimum},
    Title{"t_max", Column::kMaximum},
    Title{"t_typical", Column::kTypical},
    Title{"t_avg", Column::kMean},
    Title{"t_stdev", Column::kDeviation},
    Title{"99% percentile", Column::kPercentile99},
    Title{"99.9% percentile", Column::kPercentile999},
    Title{"tps average", Column::kTransactions},
};

void put(Column column, double value, const Columns& columns, model::PerftestRow& row) {
  const double rate = columns.unit == RateUnit::kGigabits ? kGigabit : kMebibyte * 8;
  const auto time = columns.cycles ? std::optional<double>() : std::optional(value);
  switch (column) {
    case Column::kPeak:
      if (value > 0) row.peak = BitsPerSecond{value * rate};
      break;
    case Column::kAverage:
      row.average = BitsPerSecond{value * rate};
      break;
    case Column::kMessageRate:
      row.messages_per_second = value * kMillion;
      break;
    case Column::kCpu:
      row.cpu_percent = value;
      break;
    case Column::kMinimum:
      row.minimum_us = time;
      break;
    case Column::kMaximum:
      row.maximum_us = time;
      break;
    case Column::kTypical:
      row.typical_us = time;
      break;
    case Column::kMean:
      row.average_us = time;
      break;
    case Column::kDeviation:
      row.deviation_us = time;
      break;
    case Column::kPercentile99:
      row.percentile_99_us = time;
      break;
    case Column::kPercentile999:
      row.percentile_999_us = time;
      break;
    case Column::kTransactions:
      row.transactions_per_second = value;
      break;
    default:
      break;
  }
}

// The message rate says which unit the bandwidth is in: a text that lost its title, or was edited, shows.
std::string doubt_of(const model::PerftestRow& row, RateUnit unit) {
  constexpr double kLeastRate = 1000;  // printed with six decimals of a million
  if (!row.average || !row.messages_per_second || *row.messages_per_second < kLeastRate) return {};
  const double expected = *row.messages_per_second * static_cast<double>(row.size.value) * 8;
  constexpr double kSlack = 0.02;
  const double digits = 0.01 * (unit == RateUnit::kGigabits ? kGigabit : kMebibyte * 8);  // two decimals
  if (std::abs(expected - row.average->value) <= kSlack * expected + digits) return {};
  // With both directions at once some releases count the messages of one side.
  if (std::abs(2 * expected - row.average->value) <= kSlack * 2 * expected + digits) return {};
  return fmt::format("{:.6g} messages a second of {} bytes are {:.4g} Gb/s, the table says {:.4g} Gb/s",
                     *row.messages_per_second, row.size.value, expected / kGigabit,
                     row.average->value / kGigabit);
}

}  // namespace

Columns parse_columns(std::string_view line) {
  Columns columns;
  if (!contains(line, "#bytes") || (!contains(line, "BW average") && !contains(line, "t_avg")))
    return columns;
  std::vector<std::pair<std::size_t, Column>> found;
  for (const Title& title : kTitles) {
    const std::size_t at = line.find(title.text);
    if (at != std::string_view::npos) found.emplace_back(at, title.column);
  }
  std::ranges::sort(found, {}, &std::pair<std::size_t, Column>::first);
  for (const auto& [at, column] : found)
    columns.list.push_back(column);
  columns.unit = contains(line, "average[Gb/sec]") ? RateUnit::kGigabits : RateUnit::kMebibytes;
  columns.cycles = contains(line, "[cycles]");
  return columns;
}

RowKind parse_row(std::string_view line, const Columns& columns, model::PerftestRow& row) {
  const std::vector<std::string_view> words = split_words(line);
  if (words.size() < 2 || columns.list.empty()) return RowKind::kNone;
  const auto size = parse_integer<std::uint64_t>(words[0]);
  if (!size) return RowKind::kNone;
  // The CPU column is announced by a title of its own; a row may have it or not.
  std::size_t count = columns.list.size();
  if (words.size() + 1 == count && columns.list.back() == Column::kCpu) --count;
  if (words.size() != count) return RowKind::kDamaged;
  row.size = Bytes{*size};
  for (std::size_t i = 1; i < count; ++i) {
    const Column column = columns.list[i];
    if (column == Column::kIterations) {
      const auto iterations = parse_integer<std::uint64_t>(words[i]);
      if (!iterations) return RowKind::kDamaged;
      row.iterations = *iterations;
      continue;
    }
    const auto value = parse_double(words[i]);
    if (!value || *value < 0) return RowKind::kDamaged;
    put(column, *value, columns, row);
  }
  row.doubt = doubt_of(row, columns.unit);
  return RowKind::kRow;
}

}  // namespace angio::import::perftest
