#include "import/osu/osu.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "base/text.hpp"
#include "import/lines.hpp"

namespace angio::import::osu {
namespace {

using model::NcclCollective;
using model::OsuMeasure;
using model::OsuRow;
using model::OsuTable;

constexpr std::size_t kLongestLine = 1000;
// Hostile files hold any number of anything.
constexpr std::size_t kMostTables = 4096;
constexpr std::size_t kMostRows = 100'000;  // of all tables
constexpr std::uint32_t kMostRanks = 10'000'000;
constexpr double kMegabyte = 1e6;  // OSU divides bytes by 1e6

struct Collective {
  std::string_view words;  // of the title
  std::string_view program;
  NcclCollective collective;
};
// Longer words first: "Reduce_scatter" before "Reduce", "Allgather" before "Gather".
constexpr std::array kCollectives{
    Collective{"All-to-All", "osu_alltoall", NcclCollective::kAllToAll},
    Collective{"Alltoall", "osu_alltoall", NcclCollective::kAllToAll},
    Collective{"Reduce_scatter", "osu_reduce_scatter", NcclCollective::kReduceScatter},
    Collective{"Reduce-Scatter", "osu_reduce_scatter", NcclCollective::kReduceScatter},
    Collective{"Reduce Scatter", "osu_reduce_scatter", NcclCollective::kReduceScatter},
    Collective{"Allreduce", "osu_allreduce", NcclCollective::kAllReduce},
    Collective{"Allgather", "osu_allgather", NcclCollective::kAllGather},
    Collective{"Broadcast", "osu_bcast", NcclCollective::kBroadcast},
    Collective{"Bcast", "osu_bcast", NcclCollective::kBroadcast},
    Collective{"Scatter", "osu_scatter", NcclCollective::kScatter},
    Collective{"Gather", "osu_gather", NcclCollective::kGather},
    Collective{"Reduce", "osu_reduce", NcclCollective::kReduce},
    Collective{"Barrier", "osu_barrier", NcclCollective::kUnknown},
};

void name_measure(OsuTable& table) {
  const std::string_view title = table.title;
  for (const Collective& one : kCollectives) {
    const std::size_t at = title.find(one.words);
    if (at == std::string_view::npos) continue;
    table.measure = OsuMeasure::kCollective;
    table.collective = one.collective;
    table.vector = title.substr(at + one.words.size()).starts_with("v");
    table.program = std::string(one.program) + (table.vector ? "v" : "");
    return;
  }
  constexpr std::array<std::pair<std::string_view, std::pair<OsuMeasure, std::string_view>>, 6> kOthers{{
      {"Bi-Directional Bandwidth", {OsuMeasure::kBidirectional, "osu_bibw"}},
      {"Multiple Bandwidth", {OsuMeasure::kMessageRate, "osu_mbw_mr"}},
      {"Multi Latency", {OsuMeasure::kLatency, "osu_multi_lat"}},
      {"Multi-threaded Latency", {OsuMeasure::kLatency, "osu_latency_mt"}},
      {"Bandwidth", {OsuMeasure::kBandwidth, "osu_bw"}},
      {"Latency", {OsuMeasure::kLatency, "osu_latency"}},
  }};
  for (const auto& [words, kind] : kOthers) {
    if (!contains(title, words)) continue;
    table.measure = kind.first;
    table.program = kind.second;
    return;
  }
}

// "# OSU MPI-CUDA Allreduce Latency Test v7.5", "OSU MPI Broadcast Latency Test v5.9".
bool read_title(std::string_view line, OsuTable& table) {
  std::string_view text = trim(line);
  while (!text.empty() && (text.front() == '#' || text.front() == ' '))
    text.remove_prefix(1);
  if (!text.starts_with("OSU ")) return false;
  text.remove_prefix(4);
  const std::size_t test = text.find(" Test");
  if (test == std::string_view::npos) return false;
  table.title = printable(text.substr(0, test + 5));
  const std::string_view rest = trim(text.substr(test + 5));
  if (rest.size() > 1 && rest.front() == 'v') table.version = printable(rest.substr(1, rest.find(' ') - 1));
  const std::string_view library = text.substr(0, text.find(' '));
  table.library = printable(library);
  table.device = contains(library, "-CUDA") || contains(library, "-ROCM") || contains(library, "NCCL");
  name_measure(table);
  return table.measure != OsuMeasure::kUnknown;
}

enum class Column : std::uint8_t {
  kSize,
  kAverage,
  kMinimum,
  kMaximum,
  kIterations,
  kRate,
  kMessages,
  kValidation,
  kOther
};

// "# Size       Avg Latency(us)   Min Latency(us)   Max Latency(us)  Iterations": in the order of their
// places.
std::vector<Column> read_columns(std::string_view line) {
  std::string_view text = trim(line);
  while (!text.empty() && (text.front() == '#' || text.front() == ' '))
    text.remove_prefix(1);
  const bool barrier = text.starts_with("Avg Latency(us)");
  if (!text.starts_with("Size") && !barrier) return {};
  constexpr std::array<std::pair<std::string_view, Column>, 12> kNames{{
      {"Avg Latency(us)", Column::kAverage},
      {"Min Latency(us)", Column::kMinimum},
      {"Max Latency(us)", Column::kMaximum},
      {"Latency (us)", Column::kAverage},
      {"Latency(us)", Column::kAverage},
      {"Bandwidth (MB/s)", Column::kRate},
      {"MB/s", Column::kRate},
      {"Messages/s", Column::kMessages},
      {"Iterations", Column::kIterations},
      {"Validation", Column::kValidation},
      {"Lat(us)", Column::kOther},  // "P50 Tail Lat(us)"
      {"Size", Column::kSize},
  }};
  std::vector<Column> columns;
  std::size_t at = 0;
  while (at < text.size()) {
    std::size_t found = 0;
    for (const auto& [name, column] : kNames) {
      if (!text.substr(at).starts_with(name)) continue;
      columns.push_back(column);
      found = name.size();
      break;
    }
    at += found == 0 ? 1 : found;
  }
  const bool known = std::ranges::any_of(
      columns, [](Column column) { return column == Column::kAverage || column == Column::kRate; });
  return known ? columns : std::vector<Column>();
}

void put(Column column, double value, OsuRow& row) {
  switch (column) {
    case Column::kAverage:
      row.average_us = value;
      break;
    case Column::kMinimum:
      row.minimum_us = value;
      break;
    case Column::kMaximum:
      row.maximum_us = value;
      break;
    case Column::kRate:
      row.rate = BytesPerSecond{value * kMegabyte};
      break;
    case Column::kMessages:
      row.messages_per_second = value;
      break;
    default:
      break;
  }
}

enum class RowKind : std::uint8_t { kNone, kRow, kDamaged };

RowKind read_row(std::string_view line, const std::vector<Column>& columns, OsuRow& row) {
  const std::vector<std::string_view> words = split_words(line);
  if (words.size() < 2 || columns.empty() || !is_digits(words[0])) return RowKind::kNone;
  if (words.size() > columns.size() + 1) return RowKind::kNone;
  bool value = false;
  for (std::size_t i = 0; i < std::min(words.size(), columns.size()); ++i) {
    const Column column = columns[i];
    if (column == Column::kValidation) {
      if (words[i] == "Pass" || words[i] == "Fail") row.valid = words[i] == "Pass";
      continue;
    }
    if (column == Column::kSize || column == Column::kIterations) {
      const auto number = parse_integer<std::uint64_t>(words[i]);
      if (!number) return RowKind::kDamaged;
      if (column == Column::kSize) row.size = Bytes{*number};
      if (column == Column::kIterations) row.iterations = number;
      continue;
    }
    const auto number = parse_double(words[i]);
    if (!number || *number < 0) return i == 1 ? RowKind::kNone : RowKind::kDamaged;
    put(column, *number, row);
    value = true;
  }
  return value ? RowKind::kRow : RowKind::kDamaged;
}

std::optional<std::uint32_t> count_after(const std::vector<std::string_view>& words,
                                         std::initializer_list<std::string_view> names, std::size_t end) {
  for (std::size_t i = 0; i < end; ++i) {
    for (const std::string_view name : names) {
      std::string_view value;
      if (words[i] == name && i + 1 < end) value = words[i + 1];
      if (name.starts_with("--") && words[i].starts_with(name) && words[i].size() > name.size() &&
          words[i][name.size()] == '=')
        value = words[i].substr(name.size() + 1);
      const auto number = parse_integer<std::uint32_t>(value);
      if (number && *number > 0 && *number <= kMostRanks) return number;
    }
  }
  return std::nullopt;
}

struct Launch {
  std::optional<std::uint32_t> ranks, per_node;
  bool device = false;
};

// "mpirun -np 16 -N 8 ./osu_allreduce -d cuda D D"; srun's -N counts nodes, mpirun's ranks of a node.
std::optional<Launch> read_command(std::string_view line) {
  const std::vector<std::string_view> words = split_words(line);
  const auto program =
      std::ranges::find_if(words, [](std::string_view word) { return contains(word, "osu_"); });
  if (program == words.end() || program == words.begin()) return std::nullopt;
  const auto end = static_cast<std::size_t>(program - words.begin());
  Launch launch;
  const bool slurm = std::ranges::find_if(words.begin(), program, [](std::string_view word) {
                       return word.ends_with("srun");
                     }) != program;
  launch.ranks = count_after(words, {"-np", "-n", "--np", "--ntasks"}, end);
  if (slurm) {
    launch.per_node = count_after(words, {"--ntasks-per-node", "--tasks-per-node"}, end);
    const auto nodes = count_after(words, {"-N", "--nodes"}, end);
    if (!launch.ranks && launch.per_node && nodes && *nodes <= kMostRanks / *launch.per_node)
      launch.ranks = *nodes * *launch.per_node;
    if (!launch.per_node && launch.ranks && nodes && *launch.ranks % *nodes == 0)
      launch.per_node = *launch.ranks / *nodes;
  } else {
    launch.per_node = count_after(words, {"-N", "-npernode", "--npernode", "-ppn", "--ppn"}, end);
  }
  const auto rest = std::vector<std::string_view>(program + 1, words.end());
  launch.device = std::ranges::find(rest, "cuda") != rest.end() || std::ranges::find(rest, "D") != rest.end();
  return launch.ranks || launch.per_node || launch.device ? std::optional(launch) : std::nullopt;
}

class Reader {
 public:
  void read(std::uint32_t number, std::string_view line) {
    if (read_first(number, line)) return;
    if (!is_open_) return;
    if (auto columns = read_columns(line); !columns.empty()) {
      columns_ = std::move(columns);
      return;
    }
    const std::string_view text = trim(line);
    if (text.starts_with('#')) return read_comment(text);
    OsuRow row;
    const RowKind kind = read_row(text, columns_, row);
    if (kind == RowKind::kDamaged) ++current_.damaged_rows;
    if (kind != RowKind::kRow || ++rows_ > kMostRows) return;
    row.line = number;
    current_.rows.push_back(row);
  }

  std::vector<OsuTable> take() {
    close();
    return std::move(tables_);
  }

 private:
  bool read_first(std::uint32_t number, std::string_view line) {
    OsuTable fresh;
    if (read_title(line, fresh)) {
      close();
      current_ = std::move(fresh);
      current_.line = number;
      current_.mpi = mpi_;
      if (launch_) {
        current_.ranks = launch_->ranks;
        current_.per_node = launch_->per_node;
        current_.device = current_.device || launch_->device;
        launch_.reset();  // one command, one table
      }
      is_open_ = true;
      return true;
    }
    if (auto launch = read_command(line)) {
      launch_ = launch;
      return true;
    }
    if (contains(line, "MVAPICH") && contains(line, "ersion")) mpi_ = printable(trim(line).substr(0, 80));
    if (contains(line, "Open MPI) ") || contains(line, "Open MPI v"))
      mpi_ = printable(trim(line).substr(0, 80));
    return false;
  }

  void read_comment(std::string_view text) {
    if (contains(text, "Datatype:")) {
      current_.datatype = printable(trim(text.substr(text.find("Datatype:") + 9)).substr(0, 40));
      if (current_.datatype.ends_with('.')) current_.datatype.pop_back();
    }
    if (contains(text, "Send Buffer on DEVICE") && contains(text, "Receive Buffer on DEVICE"))
      current_.device = true;
    if (contains(text, "Send Buffer on HOST") && contains(text, "Receive Buffer on HOST"))
      current_.device = false;
    current_.managed = current_.managed || contains(text, "MANAGED");
    const std::vector<std::string_view> words = split_words(text);
    for (std::size_t i = 0; i + 1 < words.size(); ++i) {
      if (words[i] == "pairs:") current_.pairs = parse_integer<std::uint32_t>(words[i + 1]);
      if (words[i] == "size:" && i > 0 && words[i - 1] == "window")
        current_.window = parse_integer<std::uint32_t>(words[i + 1]);
    }
  }

  void close() {
    const bool worth = is_open_ && (!current_.rows.empty() || current_.damaged_rows > 0);
    if (worth && tables_.size() < kMostTables) tables_.push_back(std::move(current_));
    current_ = {};
    columns_.clear();
    is_open_ = false;
  }

  std::vector<OsuTable> tables_;
  OsuTable current_;
  std::vector<Column> columns_;
  std::optional<Launch> launch_;
  std::string mpi_;
  bool is_open_ = false;
  std::size_t rows_ = 0;
};

}  // namespace

std::vector<OsuTable> parse(std::string_view bytes) {
  const std::string cleaned = clean_terminal(bytes);
  Reader reader;
  for (const Line& line : number_lines(cleaned))
    reader.read(line.number, line.text.substr(0, kLongestLine));
  return reader.take();
}

bool looks_like(std::string_view bytes) {
  constexpr std::size_t kHead = std::size_t{1} << 20U;
  if (!contains(bytes.substr(0, kHead), "OSU ")) return false;
  for (const std::string_view line : split_lines(bytes.substr(0, kHead))) {
    OsuTable table;
    if (read_title(line.substr(0, kLongestLine), table)) return true;
  }
  return false;
}

}  // namespace angio::import::osu
