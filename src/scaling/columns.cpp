#include "scaling/columns.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <span>
#include <tuple>
#include <utility>

#include "base/text.hpp"

namespace angio::scaling {
namespace {

bool is_letter(char c) {
  return std::isalpha(static_cast<unsigned char>(c)) != 0;
}
bool is_digit(char c) {
  return std::isdigit(static_cast<unsigned char>(c)) != 0;
}

// "# GPUs" and "num_gpus" alike: letters, digits, and what units need.
std::string key_of(std::string_view name) {
  std::string key;
  for (const char c : to_lower(name))
    if (is_letter(c) || is_digit(c) || c == '/' || c == '%') key += c;
  return key;
}

// What stands in the last brackets: "Throughput (T/s/GPU)".
std::string_view in_brackets(std::string_view name) {
  for (const auto& [open, close] : {std::pair{'(', ')'}, std::pair{'[', ']'}}) {
    const std::size_t begin = name.rfind(open);
    const std::size_t end = name.rfind(close);
    if (begin != std::string_view::npos && end != std::string_view::npos && end > begin)
      return trim(name.substr(begin + 1, end - begin - 1));
  }
  return {};
}

// "GlobalBatchSize (T)" without its unit.
std::string bare_key(std::string_view name) {
  const std::size_t open = name.find_first_of("([");
  return key_of(open == 0 ? name : name.substr(0, open));
}

bool one_of(std::string_view word, std::span<const std::string_view> words) {
  return std::ranges::find(words, word) != words.end();
}

// ---- counts

struct CountName {
  std::string_view key;
  std::string_view device;
  int rank;
};
constexpr auto kCounts = std::to_array<CountName>({
    {"gpus", "GPU", 0},
    {"numgpus", "GPU", 0},
    {"numgpu", "GPU", 0},
    {"ngpus", "GPU", 0},
    {"ngpu", "GPU", 0},
    {"gpucount", "GPU", 0},
    {"gpunum", "GPU", 0},
    {"numberofgpus", "GPU", 0},
    {"totalgpus", "GPU", 0},
    {"gpu", "GPU", 1},
    {"gcds", "GPU", 1},
    {"cards", "card", 1},
    {"devices", "device", 2},
    {"numdevices", "device", 2},
    {"accelerators", "device", 2},
    {"chips", "chip", 2},
    {"tpus", "TPU", 2},
    {"npus", "NPU", 2},
    {"worldsize", "rank", 3},
    {"world", "rank", 3},
    {"ranks", "rank", 3},
    {"nranks", "rank", 3},
    {"numranks", "rank", 3},
    {"processes", "rank", 3},
    {"nprocs", "rank", 3},
    {"nproc", "rank", 3},
    {"np", "rank", 3},
    {"numprocesses", "rank", 3},
    {"workers", "worker", 3},
    {"numworkers", "worker", 3},
    {"cores", "core", 4},
    {"cpus", "CPU", 4},
    {"threads", "thread", 4},
    {"nodes", "node", 5},
    {"numnodes", "node", 5},
    {"nnodes", "node", 5},
    {"numberofnodes", "node", 5},
    {"hosts", "node", 5},
    {"servers", "node", 5},
    {"machines", "node", 5},
    {"n", "device", 6},
    {"p", "device", 7},
    {"scale", "device", 8},
});
constexpr auto kPerNodeNames = std::to_array<std::string_view>(
    {"gpuspernode", "gpus/node", "ngpuspernode", "gpupernode", "gpu/node", "ppn", "nprocpernode",
     "ranksperhost", "rankspernode", "ranks/node", "processespernode", "taskspernode", "ntaskspernode"});

// ---- times and rates

struct TimeUnit {
  std::string_view word;
  double seconds;
};
constexpr auto kTimeUnits = std::to_array<TimeUnit>({{"ns", 1e-9},
                                                     {"us", 1e-6},
                                                     {"µs", 1e-6},
                                                     {"usec", 1e-6},
                                                     {"ms", 1e-3},
                                                     {"msec", 1e-3},
                                                     {"milliseconds", 1e-3},
                                                     {"s", 1},
                                                     {"sec", 1},
                                                     {"secs", 1},
                                                     {"second", 1},
                                                     {"seconds", 1},
                                                     {"min", 60},
                                                     {"mins", 60},
                                                     {"minutes", 60},
                                                     {"h", 3600},
                                                     {"hr", 3600},
                                                     {"hours", 3600}});

double seconds_of(std::string_view word) {
  for (const TimeUnit& unit : kTimeUnits)
    if (unit.word == word) return unit.seconds;
  return 0;
}

// "step_time_ms", "time (s)", "ms/step", "s/it"; 0: not said.
std::pair<double, std::string> time_unit(std::string_view name) {
  const std::string bracket = to_lower(in_brackets(name));
  if (const double found = seconds_of(bracket); found > 0) return {found, bracket};
  std::string words = to_lower(name);
  std::ranges::replace_if(
      words, [](char c) { return c == '_' || c == '-' || c == '(' || c == ')' || c == '/'; }, ' ');
  const std::vector<std::string_view> parts = split_words(words);
  if (parts.size() < 2) return {seconds_of(words), words};
  for (const std::string_view part : {parts.back(), parts.front()})
    // "time_min" is the least time as likely as minutes.
    if (const double found = seconds_of(part); found > 0 && part != "min") return {found, std::string(part)};
  return {0, ""};
}

bool is_time(const std::string& key) {
  for (const std::string_view word :
       {"time", "elapsed", "duration", "latency", "runtime", "secondsperstep", "msperstep", "makespan"})
    if (contains(key, word)) return !contains(key, "timestamp") && !contains(key, "datetime");
  // "ms/step", "s/it", "sec/iteration"
  const std::size_t slash = key.find('/');
  return slash != std::string::npos && seconds_of(key.substr(0, slash)) > 0 &&
         (contains(key, "step") || contains(key, "it") || contains(key, "batch") || contains(key, "epoch"));
}

// "samples/s", "tokens/sec/gpu", "imgpersec".
bool ends_in_seconds(std::string key) {
  for (const std::string_view device : {"/gpu", "pergpu", "/device", "perdevice", "/rank", "perrank", "/node",
                                        "pernode", "/card", "/chip", "/gcd"})
    if (key.ends_with(device)) key.resize(key.size() - device.size());
  for (const std::string_view word : {"/s", "/sec", "/second", "persec", "persecond"})
    if (key.ends_with(word) && key.size() > word.size()) return true;
  return false;
}

bool is_per_device(const std::string& key) {
  for (const std::string_view word : {"/gpu", "pergpu", "/device", "perdevice", "/rank", "perrank", "/node",
                                      "pernode", "/card", "/chip", "/gcd", "peraccelerator"})
    if (contains(key, word)) return true;
  return false;
}

bool is_rate_of_steps(const std::string& key) {
  for (const std::string_view word :
       {"steps/s", "step/s", "it/s", "its/s", "iter/s", "iters/s", "iterations/s", "stepspersec", "itspersec",
        "iterationspersec", "batches/s", "batch/s"})
    if (key.starts_with(word)) return true;
  return false;
}

bool is_throughput(const std::string& key) {
  for (const std::string_view word : {"throughput", "tput", "tflop", "gflop", "pflop", "teraflop"})
    if (contains(key, word)) return !contains(key, "modeltflop") || contains(key, "/s");
  for (const std::string_view word : {"tps", "fps", "qps", "wps", "sps", "mfu", "hfu", "imagess", "rate"})
    if (key.starts_with(word) && (key.size() == word.size() || !is_letter(key[word.size()]))) return true;
  return ends_in_seconds(key) && !contains(key, "gb/s") && !contains(key, "gbit") && !contains(key, "bw");
}

std::string rate_unit(std::string_view name, const std::string& key) {
  if (const std::string_view bracket = in_brackets(name); !bracket.empty()) return std::string(bracket);
  if (key.starts_with("mfu") || key.starts_with("hfu")) return "%";
  if (key.starts_with("tps")) return "tokens/s";
  if (contains(key, "/s")) return std::string(trim(name));
  return "";
}

constexpr auto kGlobalBatches =
    std::to_array<std::string_view>({"gbs", "globalbatch", "globalbatchsize", "totalbatch", "totalbatchsize",
                                     "effectivebatchsize", "batchpersteptotal"});
constexpr auto kLocalBatches = std::to_array<std::string_view>(
    {"mbs", "microbatch", "microbatchsize", "localbatch", "localbatchsize", "batchpergpu", "batch/gpu",
     "batchsize/gpu", "batchsizepergpu", "perdevicebatchsize", "batchperrank", "batchsizeperrank",
     "pergpubatch", "pergpubatchsize"});
constexpr auto kAccumulations =
    std::to_array<std::string_view>({"ga", "gradaccum", "gradientaccumulation", "gradaccumsteps",
                                     "accumulation", "gradientaccumulationsteps", "accumulationsteps"});
constexpr auto kModes =
    std::to_array<std::string_view>({"mode", "scaling", "scalingmode", "scalingtype", "kindofscaling"});
constexpr auto kIgnoredNames = std::to_array<std::string_view>(
    {"note",       "notes",    "comment", "comments", "source",    "date",       "timestamp",
     "host",       "hostname", "hosts",   "job",      "jobid",     "slurmjobid", "run",
     "runid",      "repeat",   "trial",   "seed",     "iteration", "link",       "url",
     "file",       "log",      "commit",  "loss",     "id",        "index",      "row",
     "user",       "started",  "ended",   "status",   "step",      "steps",      "consumedsamples",
     "modeltflop", "captured"});

constexpr std::string_view kMemoryWords[] = {"memory", "mem(", "memgib", "gib", "mem/"};

}  // namespace

Column recognise_name(std::string_view name) {
  Column column;
  column.name = std::string(trim(name));
  const std::string key = key_of(name);
  const std::string bare = bare_key(name);
  for (const CountName& count : kCounts)
    if (count.key == bare) {
      column.role = Role::kCount;
      column.device = std::string(count.device);
      column.rank = count.rank;
      return column;
    }
  const auto is = [&](Role role) {
    column.role = role;
    return column;
  };
  if (one_of(bare, kPerNodeNames)) return is(Role::kPerNode);
  if (one_of(bare, kGlobalBatches)) return is(Role::kGlobalBatch);
  if (one_of(bare, kLocalBatches)) return is(Role::kLocalBatch);
  if (one_of(bare, kAccumulations)) return is(Role::kAccumulation);
  if (one_of(bare, kModes)) return is(Role::kMode);
  if (key == "metric" || key == "measurement") return is(Role::kMetricName);
  if (key == "value" || key == "result") return is(Role::kValue);
  if (one_of(bare, kIgnoredNames)) return is(Role::kIgnored);
  for (const std::string_view word : kMemoryWords)
    if (contains(key, word)) return is(Role::kIgnored);
  if (contains(key, "speedup") || key == "scalingfactor" || key == "x") return is(Role::kSpeedup);
  if (contains(key, "efficiency") || key == "eff" || key == "eff%") return is(Role::kEfficiency);
  if (is_rate_of_steps(key)) {
    column.inverse = true;
    column.unit = "s";
    column.to_seconds = 1;
    column.rank = 1;
    return is(Role::kTime);
  }
  if (is_throughput(key)) {
    column.per_device = is_per_device(key) || key.starts_with("mfu") || key.starts_with("hfu");
    column.unit = rate_unit(name, key);
    column.rank = key.starts_with("mfu") ? 3 : key.starts_with("hfu") ? 4 : column.per_device ? 2 : 0;
    if (contains(key, "flop")) column.rank = column.per_device ? 3 : 1;
    return is(Role::kThroughput);
  }
  if (is_time(key)) {
    std::tie(column.to_seconds, column.unit) = time_unit(name);
    column.rank = contains(key, "step") || contains(key, "iter") ? 0 : 1;
    return is(Role::kTime);
  }
  return column;
}

std::vector<Column> recognise_columns(const RawTable& table) {
  std::vector<Column> columns;
  for (std::size_t at = 0; at < table.header.size(); ++at) {
    Column column = recognise_name(table.header[at]);
    std::size_t cells = 0;
    std::size_t numbers = 0;
    std::size_t counts = 0;
    for (const RawRow& row : table.rows) {
      if (at >= row.cells.size() || row.cells[at].empty()) continue;
      ++cells;
      // "7b" is the name of a model.
      if (const auto number = parse_number(row.cells[at], table.decimal_comma);
          number && number->unit.empty())
        ++numbers;
      if (parse_count(row.cells[at]) || row.cells[at].find_first_of("/>") != std::string::npos) ++counts;
    }
    column.numeric = cells > 0 && numbers * 2 > cells;
    // "GPU" may hold "h100_80gb", and "scale" may be a word: then they are settings.
    if (column.role == Role::kCount && counts * 2 <= cells) column.role = Role::kSetting;
    columns.push_back(std::move(column));
  }
  return columns;
}

namespace {

// "1,234" and "12,345,678": groups of three.
bool has_groups(std::string_view digits) {
  const std::vector<std::string_view> parts = split(digits, ',');
  if (parts.size() < 2 || parts.front().empty() || parts.front().size() > 3) return false;
  return std::ranges::all_of(parts.begin() + 1, parts.end(), [](std::string_view part) {
    return part.size() == 3 && std::ranges::all_of(part, is_digit);
  });
}

std::optional<double> parse_figure(std::string_view text, bool decimal_comma) {
  std::string plain(text);
  const std::size_t comma = text.find(',');
  if (comma != std::string_view::npos) {
    const std::size_t point = text.find('.');
    const std::string_view whole = text.substr(0, point);
    if (has_groups(whole) && (point != std::string_view::npos || !decimal_comma)) {
      std::erase(plain, ',');
    } else if (decimal_comma && text.find(',', comma + 1) == std::string_view::npos && !has_groups(text) &&
               point == std::string_view::npos) {
      plain[comma] = '.';
    } else {
      return std::nullopt;  // "1,234" between semicolons may be either
    }
  }
  return parse_double(plain);
}

std::string_view without_emphasis(std::string_view cell) {
  cell = trim(cell);
  while (!cell.empty() && (cell.front() == '*' || cell.front() == '`' || cell.front() == '~'))
    cell.remove_prefix(1);
  while (!cell.empty() && (cell.back() == '*' || cell.back() == '`'))
    cell.remove_suffix(1);
  return trim(cell);
}

}  // namespace

std::optional<Number> parse_number(std::string_view cell, bool decimal_comma) {
  cell = without_emphasis(cell);
  std::size_t end = 0;
  while (end < cell.size() &&
         (is_digit(cell[end]) || std::string_view(".,+-").find(cell[end]) != std::string_view::npos ||
          ((cell[end] == 'e' || cell[end] == 'E') && end > 0 && end + 1 < cell.size() &&
           (is_digit(cell[end + 1]) || cell[end + 1] == '-' || cell[end + 1] == '+'))))
    ++end;
  std::string_view figure = cell.substr(0, end);
  std::string_view rest = trim(cell.substr(end));
  const auto value = parse_figure(figure, decimal_comma);
  if (!value) return std::nullopt;
  Number number{*value, ""};
  if (rest.starts_with("±") || rest.starts_with("+/-")) rest = {};
  if ((rest.starts_with('k') || rest.starts_with('K') || rest.starts_with('M')) &&
      (rest.size() == 1 || !is_letter(rest[1]))) {
    constexpr double kThousand = 1e3;
    constexpr double kMillion = 1e6;
    number.value *= rest[0] == 'M' ? kMillion : kThousand;
    rest = trim(rest.substr(1));
  }
  // "482 (369 without NVLS)", "5-6": more than a figure and a unit.
  if (std::ranges::any_of(rest, is_digit)) return std::nullopt;
  number.unit = std::string(rest);
  return number;
}

std::optional<std::uint32_t> parse_count(std::string_view cell) {
  constexpr double kMost = 1e8;
  cell = without_emphasis(cell);
  for (const std::string_view times : {"x", "×", "*"}) {
    const std::size_t at = cell.find(times);
    if (at == std::string_view::npos || at == 0 || at + times.size() >= cell.size()) continue;
    const auto left = parse_integer<std::uint32_t>(trim(cell.substr(0, at)));
    const auto right = parse_integer<std::uint32_t>(trim(cell.substr(at + times.size())));
    if (left && right && *left > 0 && *right > 0 && static_cast<double>(*left) * *right <= kMost)
      return *left * *right;
  }
  const auto number = parse_number(cell, false);
  if (!number || number->value < 1 || number->value > kMost) return std::nullopt;
  const auto count = static_cast<std::uint32_t>(number->value);
  if (static_cast<double>(count) != number->value) return std::nullopt;
  return count;
}

}  // namespace angio::scaling
