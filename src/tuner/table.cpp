#include "tuner/table.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "base/text.hpp"
#include "tuner/overlaps.hpp"
#include "tuner/rows.hpp"
#include "tuner/words.hpp"

namespace angio::tuner {

void Rows::problem(std::uint32_t line, std::string message, std::string hint) {
  if (problems.size() < kMaxRemarks)
    problems.push_back({line, std::move(message), std::move(hint)});
  else
    ++more_problems;
}

std::string quoted(std::string_view text) {
  constexpr std::size_t kLongest = 60;
  const std::string safe = printable(text.substr(0, kLongest));
  return "\"" + safe + (text.size() > kLongest ? "…\"" : "\"");
}

std::optional<std::uint64_t> parse_size(std::string_view text) {
  const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  const auto number = parse_integer<std::uint64_t>(text.substr(0, digits));
  std::string unit = to_lower(trim(text.substr(digits)));
  if (digits < text.size() && unit.empty()) return std::nullopt;
  if (unit.ends_with("b")) unit.pop_back();
  if (unit.ends_with("i") && unit.size() == 2) unit.pop_back();
  constexpr std::string_view kUnits = "kmgt";
  if (!number || unit.size() > 1 || (!unit.empty() && !contains(kUnits, unit))) return std::nullopt;
  const std::size_t shift = unit.empty() ? 0 : 10 * (kUnits.find(unit) + 1);
  if (shift != 0 && std::bit_width(*number) + shift > 64) return std::nullopt;
  return *number << shift;
}

namespace {

constexpr std::uint64_t kMaxChannels = 64;  // MAXCHANNELS of NCCL's src/include/device.h, 2.19 and newer

bool is_any(std::string_view text) {
  return text == "*" || text == "-1";  // -1 as in NCCL's example tuner
}

std::optional<Range> parse_range(std::string_view text) {
  const std::size_t dash = text.find('-');
  const auto low = parse_integer<std::uint64_t>(trim(text.substr(0, dash)));
  if (!low) return std::nullopt;
  if (dash == std::string_view::npos) return Range{*low, *low};
  const std::string_view end = trim(text.substr(dash + 1));
  const auto high = end == "*" ? kUnlimited : parse_integer<std::uint64_t>(end);
  if (!high) return std::nullopt;
  return Range{*low, *high};
}

// Makes one rule of one row; says what is wrong with each cell.
class RuleMaker {
 public:
  RuleMaker(const Row& row, Rows& rows) : row_(row), rows_(rows) {}

  std::optional<Rule> make() {
    rule_.line = row_.line;
    read_words();
    read_sizes();
    read_channels();
    rule_.nodes = counts(Column::kNodes);
    rule_.ranks = counts(Column::kRanks);
    rule_.pipe_ops = counts(Column::kPipeOps);
    read_registered();
    if (!bad_) find_contradictions();
    return bad_ ? std::nullopt : std::optional(rule_);
  }

 private:
  void problem(std::uint32_t line, std::string message, std::string hint = {}) {
    bad_ = true;
    rows_.problem(line, std::move(message), std::move(hint));
  }

  template <typename Value>
  void read_word(Column column, std::optional<Value> (*parse)(std::string_view),
                 std::string (*hint)(std::string_view), Value& value) {
    const std::optional<Cell>& cell = row_[column];
    const std::string name(to_word(column));
    if (!cell) {
      bad_ = true;
      if (!row_.broken)
        problem(row_.line, "the row has no " + name, "collective, algorithm and protocol are needed");
      return;
    }
    if (const auto known = parse(cell->text))
      value = *known;
    else
      problem(cell->line, "there is no " + name + " " + quoted(cell->text), hint(cell->text));
  }

  void read_words() {
    read_word(Column::kCollective, parse_collective, collective_hint, rule_.collective);
    read_word(Column::kAlgorithm, parse_algorithm, algorithm_hint, rule_.algorithm);
    read_word(Column::kProtocol, parse_protocol, protocol_hint, rule_.protocol);
  }

  void read_size(Column column, std::uint64_t& value) {
    const std::optional<Cell>& cell = row_[column];
    if (!cell || (column == Column::kMaxBytes && is_any(cell->text))) return;
    if (const auto size = parse_size(cell->text))
      value = *size;
    else
      problem(cell->line, std::string(to_word(column)) + " " + quoted(cell->text) + " is no size",
              "write 65536, 64K, 16M or 1G (powers of 1024); max_bytes may be *");
  }

  void read_sizes() {
    read_size(Column::kMinBytes, rule_.bytes.low);
    read_size(Column::kMaxBytes, rule_.bytes.high);
  }

  void read_channels() {
    const std::optional<Cell>& cell = row_[Column::kChannels];
    if (!cell || is_any(cell->text)) return;
    const auto count = parse_integer<std::uint64_t>(cell->text);
    if (count && *count >= 1 && *count <= kMaxChannels)
      rule_.channels = static_cast<std::uint32_t>(*count);
    else
      problem(cell->line,
              "channels " + quoted(cell->text) + " is no number from 1 to " + std::to_string(kMaxChannels),
              "* or nothing leaves it to NCCL");
  }

  Range counts(Column column) {
    const std::optional<Cell>& cell = row_[column];
    if (!cell || is_any(cell->text)) return {1, kUnlimited};
    const auto range = parse_range(cell->text);
    if (range && range->low >= 1 && range->low <= range->high) return *range;
    const std::string what = std::string(to_word(column)) + " " + quoted(cell->text);
    if (range && range->low > range->high)
      problem(cell->line, what + " ends before it begins");
    else
      problem(cell->line, what + " is no number or range from 1 on", "write 4, 2-8, 16-* or *");
    return {1, kUnlimited};
  }

  void read_registered() {
    const std::optional<Cell>& cell = row_[Column::kRegistered];
    rule_.registered = {0, 1};
    if (!cell || is_any(cell->text)) return;
    if (cell->text == "0" || cell->text == "false")
      rule_.registered = {0, 0};
    else if (cell->text == "1" || cell->text == "true")
      rule_.registered = {1, 1};
    else
      problem(cell->line, "reg_buff " + quoted(cell->text) + " is unknown", "write 0, 1 or *");
  }

  void find_contradictions() {
    if (rule_.bytes.low > rule_.bytes.high)
      problem(row_.line, "min_bytes " + std::to_string(rule_.bytes.low) + " is above max_bytes " +
                             std::to_string(rule_.bytes.high));
    if (rule_.nodes.low > rule_.ranks.high)
      problem(row_.line, "nodes " + to_text(rule_.nodes) + " cannot be with ranks " + to_text(rule_.ranks),
              "a node has at least one rank; ranks counts those of all nodes");
    const std::string choice =
        std::string(to_word(rule_.algorithm)) + " with " + std::string(to_word(rule_.protocol));
    if (!exists(rule_.collective, rule_.algorithm, rule_.protocol))
      problem(row_.line, "NCCL has no " + choice + " for " + std::string(to_word(rule_.collective)), ways());
    if (rule_.algorithm == Algorithm::kNvlsTree && rule_.nodes.high == 1)
      problem(row_.line, "NCCL has no nvlstree on one node", "nvls is its form there");
  }

  // What NCCL has for the collective.
  [[nodiscard]] std::string ways() const {
    std::vector<std::string> words;
    for (std::uint8_t i = 0; i <= static_cast<std::uint8_t>(Algorithm::kPat); ++i) {
      const auto algorithm = static_cast<Algorithm>(i);
      if (!exists(rule_.collective, algorithm, Protocol::kSimple)) continue;
      const bool all = exists(rule_.collective, algorithm, Protocol::kLl);
      words.push_back(std::string(to_word(algorithm)) + (all ? "" : " (simple only)"));
    }
    return "it has " + join(words, ", ");
  }

  const Row& row_;
  Rows& rows_;
  Rule rule_;
  bool bad_ = false;
};

// TOML's first line that says anything is a header or a pair; of CSV it holds no '=' and begins with no '['.
Format format_of(std::string_view bytes) {
  for (std::string_view line : split_lines(bytes)) {
    line = trim(line);
    if (line.empty() || line.front() == '#') continue;
    const bool toml = line.front() == '[' || line.find('=') < line.find(',');
    return toml ? Format::kToml : Format::kCsv;
  }
  return Format::kCsv;
}

std::uint64_t hash_of(std::string_view bytes) {
  std::uint64_t hash = 14695981039346656037ULL;  // FNV-1a's offset and prime for 64 bits
  for (const char c : bytes)
    hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
  return hash;
}

void count_pipe_ranges(const std::vector<Rule>& rules, Rows& rows) {
  std::vector<Range> seen;
  for (const Rule& rule : rules) {
    if (rule.pipe_ops == Range{1, kUnlimited} || std::ranges::find(seen, rule.pipe_ops) != seen.end())
      continue;
    seen.push_back(rule.pipe_ops);
    if (seen.size() > kMaxPipeRanges)
      return rows.problem(rule.line, "the table has more than " + std::to_string(kMaxPipeRanges) +
                                         " different ranges of num_pipe_ops");
  }
}

}  // namespace

Table parse_table(std::string_view bytes) {
  Table table;
  table.hash = hash_of(bytes);
  if (bytes.starts_with("\xEF\xBB\xBF")) bytes.remove_prefix(3);  // a spreadsheet's mark of UTF-8
  if (bytes.size() > kMaxFile) {
    table.problems.push_back({0, "the file is larger than 16 MiB: that is no table", {}});
    return table;
  }
  table.format = format_of(bytes);
  Rows rows = table.format == Format::kToml ? read_toml(bytes) : read_csv(bytes);
  const std::size_t count = std::min(rows.rows.size(), kMaxRows);
  if (count < rows.rows.size())
    rows.problem(rows.rows[count].line, "the table has more than " + std::to_string(kMaxRows) + " rows");
  for (std::size_t i = 0; i < count; ++i)
    if (auto rule = RuleMaker(rows.rows[i], rows).make()) table.rules.push_back(*rule);
  if (rows.rows.empty() && rows.problems.empty()) rows.problem(0, "the table has no rows");
  count_pipe_ranges(table.rules, rows);
  table.problems = std::move(rows.problems);
  table.more_problems = rows.more_problems;
  find_overlaps(table);
  std::ranges::stable_sort(table.problems, {}, &Remark::line);
  return table;
}

}  // namespace angio::tuner
