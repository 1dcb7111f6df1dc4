#include "scaling/read.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>

#include "base/format.hpp"
#include "base/text.hpp"
#include "knowledge/knowledge.hpp"
#include "scaling/columns.hpp"

namespace angio::scaling {
namespace {

constexpr std::size_t kNone = static_cast<std::size_t>(-1);
constexpr std::size_t kNamesShown = 12;

// One result of the table.
struct Found {
  const RawRow* row = nullptr;
  std::uint32_t count = 0;
  double value = 0;
  std::string metric;    // of a table that names it row by row
  bool seconds = false;  // of a time: its unit was said
};

// Words that stand for themselves: "tweaked" is not "weak", and of "strong or weak?", "not strong" nothing
// follows.
std::optional<Mode> mode_in_words(std::string_view text) {
  std::string letters = to_lower(text);
  bool denied = contains(letters, "?") || contains(letters, "n't");
  std::ranges::replace_if(letters, [](char c) { return c < 'a' || c > 'z'; }, ' ');
  bool strong = false;
  bool weak = false;
  for (const std::string_view word : split_words(letters)) {
    strong = strong || word == "strong" || word == "strongscaling";
    weak = weak || word == "weak" || word == "weakscaling";
    for (const std::string_view no : {"not", "no", "nor", "neither", "unknown", "without", "unlike"})
      denied = denied || word == no;
  }
  if (denied || strong == weak) return std::nullopt;
  return strong ? Mode::kStrong : Mode::kWeak;
}

std::string plain_key(std::string_view name) {
  std::string key;
  for (const char c : to_lower(name))
    if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9')) key += c;
  return key;
}

std::string names_of(const RawTable& table) {
  std::vector<std::string> names;
  for (const std::string& name : table.header)
    if (names.size() < kNamesShown) names.push_back(printable(name));
  return join(names, ", ") + (table.header.size() > kNamesShown ? " …" : "");
}

const std::string& cell_at(const RawRow& row, std::size_t column) {
  static const std::string kEmpty;
  return column < row.cells.size() ? row.cells[column] : kEmpty;
}

bool same(double a, double b) {
  return std::abs(a - b) <= knowledge::threshold("scaling.same-work") * std::max(std::abs(a), std::abs(b));
}

// Lower is taken first; kNone: cannot be the result.
std::size_t preference(const Column& column, const std::string& metric) {
  const auto rank = static_cast<std::size_t>(column.rank);
  switch (column.role) {
    case Role::kThroughput:
      if (metric == "time") return kNone;
      return rank + (column.rank >= 2 ? 20 : 0);
    case Role::kTime:
      if (metric == "throughput") return kNone;
      return rank + 10;
    case Role::kSpeedup:
      return metric == "time" ? kNone : 40;
    case Role::kEfficiency:
      return metric == "time" ? kNone : 50;
    case Role::kValue:
      return 60;
    default:
      return kNone;
  }
}

// Beyond these limits nothing was measured, and squares of logarithms and ratios lose their sense.
bool is_result(double value) {
  constexpr double kLeast = 1e-15;
  constexpr double kMost = 1e24;
  return value >= kLeast && value <= kMost;
}

class TableReader {
 public:
  TableReader(const RawTable& table, const ReadWish& wish, Reading& reading)
      : table_(table), wish_(wish), reading_(reading), columns_(recognise_columns(table)) {}

  // False: it is no table of results over N; a note says why.
  bool read() {
    if (!choose_count() || !choose_value()) return false;
    collect();
    if (found_.empty()) {
      add_note("no row has both a number of devices and a result");
      return false;
    }
    choose_keys();
    choose_names();
    group();
    return true;
  }

 private:
  void add_note(const std::string& words, std::uint32_t line = 0) {
    for (Note& one : reading_.notes)
      if (one.words == words) {
        ++one.count;
        return;
      }
    reading_.notes.push_back({words, line == 0 ? table_.line : line, 1});
  }

  [[nodiscard]] std::size_t find_role(Role role) const {
    for (std::size_t at = 0; at < columns_.size(); ++at)
      if (columns_[at].role == role) return at;
    return kNone;
  }

  bool choose_count() {
    for (std::size_t at = 0; at < columns_.size(); ++at)
      if (columns_[at].role == Role::kCount && (count_ == kNone || columns_[at].rank < columns_[count_].rank))
        count_ = at;
    if (count_ == kNone) {
      add_note("no column says how many GPUs or ranks (there are: " + names_of(table_) + ")");
      return false;
    }
    // "nodes, gpus": GPUs of a node, if they are the same at every number of nodes.
    for (std::size_t at = 0; at < columns_.size(); ++at)
      if (at != count_ && columns_[at].role == Role::kCount && distinct(count_) == 1 && distinct(at) > 1) {
        add_note(fmt::format("{} is the same in every row: taken as that of one {}",
                             printable(columns_[count_].name), columns_[at].device));
        count_ = at;
        break;
      }
    if (columns_[count_].device == "node") per_node_ = find_role(Role::kPerNode);
    return true;
  }

  [[nodiscard]] std::size_t distinct(std::size_t column) const {
    std::set<std::string_view> values;
    for (const RawRow& row : table_.rows)
      if (const std::string& cell = cell_at(row, column); !cell.empty()) values.insert(cell);
    return values.size();
  }

  bool choose_value() {
    const bool by_role = wish_.metric.empty() || wish_.metric == "throughput" || wish_.metric == "time";
    std::size_t least = kNone;
    for (std::size_t at = 0; at < columns_.size(); ++at) {
      if (!by_role) {
        if (at != count_ && plain_key(columns_[at].name) == plain_key(wish_.metric)) value_ = at;
        continue;
      }
      const std::size_t rank = preference(columns_[at], wish_.metric);
      if (rank == kNone || (columns_[at].role == Role::kValue && find_role(Role::kMetricName) == kNone))
        continue;
      if (rank < least) {
        least = rank;
        value_ = at;
      }
    }
    if (value_ == kNone) {
      add_note(fmt::format("no column is a {} (there are: {})",
                           by_role
                               ? (wish_.metric.empty() ? "throughput, step time or speed-up" : wish_.metric)
                               : "result called " + printable(wish_.metric),
                           names_of(table_)));
      return false;
    }
    if (columns_[value_].role == Role::kSetting || columns_[value_].role == Role::kIgnored)
      columns_[value_].role = Role::kThroughput;  // named by the user
    if (columns_[value_].role == Role::kValue) metric_name_ = find_role(Role::kMetricName);
    return true;
  }

  [[nodiscard]] bool wanted(const RawRow& row) const {
    return std::ranges::all_of(wish_.where, [&](const auto& pair) {
      for (std::size_t at = 0; at < columns_.size(); ++at)
        if (plain_key(columns_[at].name) == plain_key(pair.first)) return cell_at(row, at) == pair.second;
      return false;
    });
  }

  void collect() {
    for (const RawRow& row : table_.rows)
      if (wanted(row)) collect(row);
  }

  void collect(const RawRow& row) {
    const std::string& count = cell_at(row, count_);
    const std::string& value = cell_at(row, value_);
    if (count.empty() || value.empty()) {
      add_note("row without a number of devices or without a result", row.line);
      return;
    }
    Column column = columns_[value_];
    std::string metric;
    if (metric_name_ != kNone) {
      metric = cell_at(row, metric_name_);
      column = recognise_name(metric);
      if (preference(column, wish_.metric) == kNone || column.role == Role::kValue) {
        add_note("row of a metric that is no throughput and no time: " + printable(metric), row.line);
        return;
      }
    }
    const auto single = parse_count(count);
    if (single && add(row, *single, value, column, metric)) return;
    if (!single && add_packed(row, count, value, column, metric)) return;
    add_note(single ? "result that is no number above 0: " + printable(value.substr(0, 40))
                    : "number of devices that cannot be read: " + printable(count.substr(0, 40)),
             row.line);
  }

  bool add(const RawRow& row, std::uint32_t count, std::string_view cell, const Column& column,
           const std::string& metric) {
    const auto number = parse_number(cell, table_.decimal_comma);
    if (!number || !is_result(number->value)) return false;
    double value = number->value;
    bool seconds_said = false;
    if (column.role == Role::kTime) {
      const Column unit = number->unit.empty() ? Column{} : recognise_name("time (" + number->unit + ")");
      const double seconds = unit.to_seconds > 0 ? unit.to_seconds : column.to_seconds;
      if (seconds > 0) value *= seconds;
      seconds_said = seconds > 0;
      if (column.inverse) value = 1 / number->value;
    }
    if (!is_result(value)) return false;
    if (per_node_ != kNone) {
      const auto each = parse_count(cell_at(row, per_node_));
      constexpr std::uint32_t kMost = 100000000;
      if (!each || count > kMost / *each) return false;
      count *= *each;
    }
    if (columns_[count_].device == "device") hear_device(row);
    found_.push_back({&row, count, value, metric, seconds_said});
    return true;
  }

  // "8 GPUs" in a column that does not say what it counts.
  void hear_device(const RawRow& row) {
    const std::string cell = to_lower(cell_at(row, count_));
    for (const auto& [word, device] :
         {std::pair{"gpu", "GPU"}, std::pair{"node", "node"}, std::pair{"rank", "rank"}})
      if (contains(cell, word)) columns_[count_].device = device;
  }

  // "1 / 4 / 8 GPUs" beside "23.3 / 73.4 / 111.7"; "96 -> 4608" beside "47 -> 42".
  bool add_packed(const RawRow& row, const std::string& count, const std::string& value, const Column& column,
                  const std::string& metric) {
    for (const std::string_view separator : {"/", "->", "→"}) {
      const std::vector<std::string_view> counts = parts_of(count, separator);
      const std::vector<std::string_view> values = parts_of(value, separator);
      if (counts.size() < 2 || counts.size() != values.size()) continue;
      const std::size_t before = found_.size();
      bool whole = true;
      for (std::size_t at = 0; whole && at < counts.size(); ++at) {
        const auto number = parse_count(counts[at]);
        whole = number && add(row, *number, values[at], column, metric);
      }
      if (whole) return true;
      found_.resize(before);
    }
    return false;
  }

  static std::vector<std::string_view> parts_of(std::string_view text, std::string_view separator) {
    std::vector<std::string_view> parts;
    for (std::size_t at = text.find(separator); at != std::string_view::npos; at = text.find(separator)) {
      parts.push_back(trim(text.substr(0, at)));
      text.remove_prefix(at + separator.size());
    }
    parts.push_back(trim(text));
    return parts;
  }

  // ---- which rows belong together

  [[nodiscard]] std::string key_of(const Found& found) const {
    std::string key = found.metric + '\x1f';
    for (const std::size_t at : keys_)
      key += cell_at(*found.row, at) + '\x1f';
    return key;
  }

  [[nodiscard]] bool leaves_a_series() const {
    std::map<std::string, std::set<std::uint32_t>> counts;
    for (const Found& found : found_) {
      std::set<std::uint32_t>& seen = counts[key_of(found)];
      seen.insert(found.count);
      if (seen.size() > 1) return true;
    }
    return false;
  }

  [[nodiscard]] bool tells_apart(std::size_t at) const {
    static constexpr auto kNumeric = std::to_array<std::string_view>({"seqlen",
                                                                      "seqlent",
                                                                      "sequencelength",
                                                                      "contextlength",
                                                                      "seq",
                                                                      "tp",
                                                                      "pp",
                                                                      "cp",
                                                                      "ep",
                                                                      "vp",
                                                                      "layers",
                                                                      "hidden",
                                                                      "hiddensize",
                                                                      "params",
                                                                      "parameters",
                                                                      "numparams",
                                                                      "bits",
                                                                      "heads",
                                                                      "modelsize",
                                                                      "experts"});
    const Column& column = columns_[at];
    if (column.role == Role::kMode) return true;
    if (column.role != Role::kSetting || at == value_ || at == count_) return false;
    return !column.numeric || std::ranges::find(kNumeric, plain_key(column.name)) != kNumeric.end();
  }

  void choose_keys() {
    const bool together = leaves_a_series();
    for (const std::string& name : wish_.by)
      for (std::size_t at = 0; at < columns_.size(); ++at)
        if (plain_key(columns_[at].name) == plain_key(name)) keys_.push_back(at);
    for (std::size_t at = 0; at < columns_.size(); ++at) {
      if (!tells_apart(at) || std::ranges::find(keys_, at) != keys_.end()) continue;
      keys_.push_back(at);
      if (together && !leaves_a_series()) {
        keys_.pop_back();
        add_note(fmt::format("{} differs from N to N: not used to tell series apart",
                             printable(columns_[at].name)));
      }
    }
  }

  [[nodiscard]] std::string name_of(const Found& found) const {
    std::vector<std::string> parts;
    for (const std::size_t at : named_)
      if (!cell_at(*found.row, at).empty())
        parts.push_back(printable(columns_[at].name) + " " + printable(cell_at(*found.row, at)));
    return join(parts, ", ");
  }

  // The columns that are enough to tell the series apart: not the number of parameters of a model that is
  // named.
  void choose_names() {
    const auto kinds = [&] {
      std::set<std::string> seen;
      for (const Found& found : found_) {
        std::string key;
        for (const std::size_t at : named_)
          key += cell_at(*found.row, at) + '\x1f';
        seen.insert(key);
      }
      return seen.size();
    };
    for (const std::size_t at : keys_) {
      const std::size_t before = kinds();
      named_.push_back(at);
      if (kinds() == before) named_.pop_back();
    }
  }

  void group() {
    std::vector<std::string> order;
    std::map<std::string, std::vector<const Found*>> groups;
    for (const Found& found : found_) {
      auto& group = groups[key_of(found)];
      if (group.empty()) order.push_back(key_of(found));
      group.push_back(&found);
    }
    for (const std::string& key : order)
      add_series(groups[key]);
  }

  // "1.2" beside "650 ms" may be seconds or not.
  void drop_without_unit(std::vector<const Found*>& rows) {
    if (std::ranges::none_of(rows, &Found::seconds)) return;
    std::erase_if(rows, [&](const Found* found) {
      if (!found->seconds) add_note("time without a unit beside times with one", found->row->line);
      return !found->seconds;
    });
  }

  void add_series(std::vector<const Found*> rows) {
    TableSeries result;
    Series& series = result.series;
    const Column column = metric_name_ != kNone ? recognise_name(rows.front()->metric) : columns_[value_];
    if (column.role == Role::kTime) drop_without_unit(rows);
    series.name = name_of(*rows.front());
    series.metric = column.name;
    series.device = per_node_ != kNone ? "GPU" : columns_[count_].device;
    series.unit = column.role == Role::kTime ? (rows.front()->seconds ? "s" : "") : column.unit;
    series.per_device = column.per_device || column.role == Role::kEfficiency;
    series.measure = column.role == Role::kTime      ? Measure::kTime
                     : column.role == Role::kSpeedup ? Measure::kSpeedup
                                                     : Measure::kThroughput;
    for (const Found* found : rows) {
      auto point = std::ranges::find(series.points, found->count, &Point::count);
      if (point == series.points.end()) {
        series.points.push_back({found->count, {}, {}});
        point = std::prev(series.points.end());
      }
      point->values.push_back(found->value);
      point->lines.push_back(found->row->line);
    }
    if (series.points.size() < 2 && series.measure != Measure::kSpeedup) {
      ++reading_.single;
      return;
    }
    result.form = table_.form;
    result.line = table_.line;
    result.said = said_by(rows);
    add_stated(rows, result);
    add_differences(rows, result);
    add_changes(rows, result);
    for (std::size_t at = 0; at < columns_.size(); ++at)
      if (at != value_ && preference(columns_[at], "") != kNone && columns_[at].role != Role::kValue)
        result.alternatives.push_back(columns_[at].name);
    reading_.series.push_back(std::move(result));
  }

  // ---- what the table says of the mode

  struct Pair {
    double count, value;
  };
  [[nodiscard]] std::vector<Pair> numbers(const std::vector<const Found*>& rows, std::size_t column) const {
    std::vector<Pair> pairs;
    if (column == kNone) return pairs;
    for (const Found* found : rows)
      if (const auto number = parse_number(cell_at(*found->row, column), table_.decimal_comma);
          number && number->value > 0)
        pairs.push_back({static_cast<double>(found->count), number->value});
    if (pairs.size() != rows.size()) pairs.clear();  // of all, or it says nothing
    return pairs;
  }

  static bool constant(const std::vector<Pair>& pairs) {
    return std::ranges::all_of(pairs,
                               [&](const Pair& pair) { return same(pair.value, pairs.front().value); });
  }
  static bool proportional(const std::vector<Pair>& pairs) {
    return std::ranges::all_of(pairs, [&](const Pair& pair) {
      return same(pair.value / pair.count, pairs.front().value / pairs.front().count);
    });
  }

  [[nodiscard]] std::optional<Said> said_by_work(const std::vector<Pair>& work, const std::string& what,
                                                 const std::string& device) const {
    if (work.empty()) return std::nullopt;
    if (constant(work))
      return Said{Mode::kStrong, fmt::format("{} is {:.6g} at every N", what, work.front().value)};
    if (proportional(work))
      return Said{Mode::kWeak, fmt::format("{} grows with N: {:.6g} for each {}", what,
                                           work.front().value / work.front().count, device)};
    return std::nullopt;
  }

  static std::optional<Said> said_by_words(std::string_view text, const std::string& where) {
    const std::optional<Mode> mode = mode_in_words(text);
    if (!mode) return std::nullopt;
    return Said{*mode, fmt::format("{} says \"{}\"", where, printable(trim(text.substr(0, 60))))};
  }

  [[nodiscard]] std::optional<Said> said_by(const std::vector<const Found*>& rows) const {
    std::vector<Said> answers;
    const auto add = [&](std::optional<Said> said) {
      if (said) answers.push_back(std::move(*said));
    };
    const std::string device = columns_[count_].device;
    if (const std::size_t at = find_role(Role::kMode); at != kNone)
      add(said_by_words(cell_at(*rows.front()->row, at), "column " + printable(columns_[at].name)));
    if (contains(to_lower(table_.heading), "scaling")) add(said_by_words(table_.heading, "the heading"));
    for (const std::size_t at : keys_)
      if (contains(to_lower(cell_at(*rows.front()->row, at)), "scaling"))
        add(said_by_words(cell_at(*rows.front()->row, at), "column " + printable(columns_[at].name)));
    const std::size_t global = find_role(Role::kGlobalBatch);
    add(said_by_work(numbers(rows, global), "the global batch", device));
    const std::size_t local = find_role(Role::kLocalBatch);
    const std::vector<Pair> steps = numbers(rows, find_role(Role::kAccumulation));
    if (const auto batch = numbers(rows, local); global == kNone && !batch.empty() && constant(batch) &&
                                                 constant(steps) && (!steps.empty() || !is_micro(local)))
      answers.push_back({Mode::kWeak, fmt::format("{} is {:.6g} at every N", printable(columns_[local].name),
                                                  batch.front().value)});
    add(said_by_work(work_of_a_step(rows), "throughput times step time, the work of a step,", device));
    for (const Said& said : answers)
      if (said.mode != answers.front().mode) return std::nullopt;
    return answers.empty() ? std::nullopt : std::optional(answers.front());
  }

  // Of a batch in pieces: how many pieces a step has is not known by it.
  [[nodiscard]] bool is_micro(std::size_t column) const {
    const std::string key = plain_key(columns_[column].name);
    return key == "mbs" || contains(key, "micro");
  }

  // Throughput of all devices times the time of a step.
  [[nodiscard]] std::vector<Pair> work_of_a_step(const std::vector<const Found*>& rows) const {
    std::size_t rate = kNone;
    std::size_t time = kNone;
    for (std::size_t at = 0; at < columns_.size(); ++at) {
      const Column& column = columns_[at];
      const std::string key = plain_key(column.name);
      const bool of_a_step = contains(key, "step") || contains(key, "iter");
      if (column.role == Role::kThroughput && column.rank == 0 && rate == kNone) rate = at;
      if (column.role == Role::kTime && !column.inverse && of_a_step && time == kNone) time = at;
    }
    std::vector<Pair> rates = numbers(rows, rate);
    const std::vector<Pair> times = numbers(rows, time);
    if (rates.empty() || times.empty()) return {};
    for (std::size_t at = 0; at < rates.size(); ++at)
      rates[at].value *= times[at].value * std::max(columns_[time].to_seconds, 0.0);
    if (columns_[time].to_seconds <= 0) return {};
    return rates;
  }

  void add_stated(const std::vector<const Found*>& rows, TableSeries& result) const {
    for (std::size_t at = 0; at < columns_.size(); ++at) {
      const bool efficiency = columns_[at].role == Role::kEfficiency;
      if (at == value_ || (!efficiency && columns_[at].role != Role::kSpeedup)) continue;
      const bool of_hundred = efficiency && std::ranges::any_of(rows, [&](const Found* found) {
                                const auto number =
                                    parse_number(cell_at(*found->row, at), table_.decimal_comma);
                                constexpr double kMostAsShare = 3;  // super-linear beyond 300 % is no share
                                return number && (number->unit == "%" || number->value > kMostAsShare);
                              });
      for (const Found* found : rows)
        if (const auto number = parse_number(cell_at(*found->row, at), table_.decimal_comma);
            number && number->value > 0)
          result.stated.push_back(
              {found->count, found->row->line, efficiency, number->value / (of_hundred ? 100 : 1)});
    }
  }

  // Columns in which the rows of one N differ: they may be no repeats.
  void add_differences(const std::vector<const Found*>& rows, TableSeries& result) const {
    for (const Point& point : result.series.points) {
      if (point.values.size() < 2) continue;
      std::vector<std::string> words;
      for (std::size_t at = 0; at < columns_.size(); ++at) {
        const Role role = columns_[at].role;
        const bool setting = role == Role::kSetting || role == Role::kGlobalBatch ||
                             role == Role::kLocalBatch || role == Role::kAccumulation;
        if (!setting || at == value_) continue;
        std::set<std::string> values;
        for (const Found* found : rows)
          if (found->count == point.count) values.insert(cell_at(*found->row, at));
        if (values.size() > 1) words.push_back(printable(columns_[at].name));
      }
      if (!words.empty()) result.differences.emplace_back(point.count, join(words, ", "));
    }
  }

  // Settings that change with N, besides the batch of all: what a surprise may come from.
  void add_changes(const std::vector<const Found*>& rows, TableSeries& result) const {
    std::vector<std::string> words;
    for (std::size_t at = 0; at < columns_.size(); ++at) {
      const Role role = columns_[at].role;
      const bool setting = role == Role::kSetting || role == Role::kLocalBatch || role == Role::kAccumulation;
      if (!setting || at == value_ || at == count_) continue;
      if (std::ranges::any_of(rows, [&](const Found* found) {
            return cell_at(*found->row, at) != cell_at(*rows.front()->row, at);
          }))
        words.push_back(printable(columns_[at].name));
    }
    result.changes = join(words, ", ");
  }

  const RawTable& table_;
  const ReadWish& wish_;
  Reading& reading_;
  std::vector<Column> columns_;
  std::size_t count_ = kNone;
  std::size_t per_node_ = kNone;
  std::size_t value_ = kNone;
  std::size_t metric_name_ = kNone;
  std::vector<std::size_t> keys_;
  std::vector<std::size_t> named_;
  std::vector<Found> found_;
};

// A wish that names a column which no table has.
std::optional<Error> unknown_column(const RawTables& raw, const ReadWish& wish) {
  std::vector<std::string> wanted = wish.by;
  for (const auto& [column, value] : wish.where)
    wanted.push_back(column);
  for (const std::string& name : wanted) {
    std::vector<std::string_view> names;
    for (const RawTable& table : raw.tables)
      for (const std::string& header : table.header)
        names.push_back(header);
    if (std::ranges::any_of(names, [&](std::string_view one) { return plain_key(one) == plain_key(name); }))
      continue;
    const auto meant = did_you_mean(name, names);
    return Error{ErrorCode::kInvalidInput, "no table has a column " + printable(name),
                 meant ? "Did you mean " + printable(*meant) + "?" : ""};
  }
  return std::nullopt;
}

std::string first_reasons(const std::vector<Note>& notes) {
  constexpr std::size_t kShown = 3;
  std::vector<std::string> words;
  for (const Note& note : notes)
    if (words.size() < kShown)
      words.push_back(note.line > 0 ? fmt::format("line {}: {}", note.line, note.words) : note.words);
  return join(words, "; ");
}

void check_stated(const TableSeries& table, Scaling& scaling) {
  constexpr double kPercent = 100;
  for (const Stated& stated : table.stated) {
    const auto point = std::ranges::find(scaling.points, stated.count, &ScaledPoint::count);
    if (point == scaling.points.end()) continue;
    const double computed = stated.efficiency ? point->efficiency : point->speedup;
    if (same(computed, stated.value)) continue;
    scaling.remarks.push_back(
        {RemarkKind::kContradictory,
         stated.efficiency
             ? fmt::format(
                   "line {} states an efficiency of {:.3g} %, its result makes {:.3g} %: of another baseline "
                   "or mode?",
                   stated.line, stated.value * kPercent, computed * kPercent)
             : fmt::format("line {} states a speed-up of {:.4g}, its result makes {:.4g}: of another "
                           "baseline or mode?",
                           stated.line, stated.value, computed),
         {stated.line}});
  }
}

}  // namespace

Result<Reading> read_results(std::string_view text, const ReadWish& wish) {
  const RawTables raw = parse_tables(text);
  Reading reading;
  reading.notes = raw.notes;
  if (raw.tables.empty())
    return fail(
        ErrorCode::kInvalidInput,
        "no table of results found" + (raw.notes.empty() ? "" : ": " + first_reasons(raw.notes)),
        "It reads CSV, TSV, Markdown tables, words in columns and JSON, with a column such as gpus and one "
        "such as throughput or step_time_ms");
  if (auto error = unknown_column(raw, wish)) return std::unexpected(std::move(*error));
  for (const RawTable& table : raw.tables) {
    const std::size_t before = reading.series.size();
    TableReader(table, wish, reading).read();
    if (raw.tables.size() == 1 || table.heading.empty()) continue;
    for (std::size_t at = before; at < reading.series.size(); ++at) {
      std::string& name = reading.series[at].series.name;
      std::string_view heading = table.heading;
      while (heading.starts_with('#') || heading.starts_with(' ') || heading.starts_with('*'))
        heading.remove_prefix(1);
      constexpr std::size_t kHeading = 60;
      name = printable(heading.substr(0, kHeading)) + (name.empty() ? "" : ": " + name);
    }
  }
  if (reading.series.empty()) {
    std::string why = first_reasons(reading.notes);
    if (reading.single > 0)
      why = fmt::format("{} series with results at one N only{}{}", reading.single, why.empty() ? "" : "; ",
                        why);
    return fail(ErrorCode::kInvalidInput, "no results at two N or more: " + why,
                "Scaling needs a column of N (gpus, ranks, nodes) and a column of results (throughput, "
                "step_time_ms)");
  }
  return reading;
}

Result<Scaling> analyse(const TableSeries& table, Mode mode, std::optional<std::uint32_t> baseline) {
  auto scaling = analyse(table.series, mode, baseline);
  if (!scaling) return scaling;
  for (const auto& [count, words] : table.differences)
    for (Remark& remark : scaling->remarks)
      if ((remark.kind == RemarkKind::kContradictory || remark.kind == RemarkKind::kSpread) &&
          contains(remark.words, " at " + count_of(count, table.series.device) + ":"))
        remark.words += ". They differ in " + words + " (--by tells them apart)";
  if (!table.changes.empty())
    for (Remark& remark : scaling->remarks)
      if (remark.kind == RemarkKind::kSuperLinear)
        remark.words += " Not the same at every N: " + table.changes;
  check_stated(table, *scaling);
  if (table.said && table.said->mode != mode)
    scaling->remarks.push_back({RemarkKind::kContradictory,
                                fmt::format("read as {} scaling as you say, but {}: that is {} scaling",
                                            word_of(mode), table.said->why, word_of(table.said->mode)),
                                {}});
  return scaling;
}

}  // namespace angio::scaling
