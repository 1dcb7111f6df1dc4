// The tuning table and the choice per message.
#include <algorithm>
#include <array>

#include "base/text.hpp"
#include "import/nccl_log/rules.hpp"

namespace angio::import::nccl_log {

namespace {

constexpr std::size_t kMaxColumns = 64;
constexpr std::size_t kMaxCells = 4096;
constexpr std::size_t kMaxName = 48;

std::string_view trimmed(std::string_view text) {
  return trim(text);
}

std::string name_text(std::string_view text) {
  return printable(trimmed(text).substr(0, kMaxName));
}

// The cells of a table's line behind its title.
template <typename Use>
void each_cell(Scan scan, Use use) {
  if (!scan.skip_past("|")) return;
  for (std::size_t column = 0; !scan.done() && column < kMaxColumns; ++column) {
    const auto cell = trimmed(scan.until('|'));
    (void)scan.eat('|');
    if (!cell.empty()) use(column, cell);
  }
}

// "  Algorithm   |  Tree  |  Ring  | CollNetDirect |"
bool read_algorithms(Parser& parser, const Message& message, Scan scan) {
  auto& columns = parser.thread(message).columns;
  columns.clear();
  each_cell(scan, [&](std::size_t, std::string_view cell) { columns.push_back({name_text(cell), ""}); });
  return true;
}

// "  Protocol    | LL | LL128 | Simple | LL ...": as many for each algorithm of the line above.
bool read_protocols(Parser& parser, const Message& message, Scan scan) {
  auto& columns = parser.thread(message).columns;
  std::vector<std::string> protocols;
  each_cell(scan, [&](std::size_t, std::string_view cell) { protocols.push_back(name_text(cell)); });
  if (columns.empty() || protocols.size() % columns.size() != 0) return true;
  const auto each = protocols.size() / columns.size();
  std::vector<Column> made;
  for (std::size_t i = 0; i < protocols.size(); ++i)
    made.push_back({columns[i / each].algorithm, protocols[i]});
  columns = std::move(made);
  return true;
}

// Up to 2.17: "Latency/AlgBw | Tree/ LL | Tree/ LL128 | ..."
bool read_old_header(Parser& parser, const Message& message, Scan scan) {
  auto& columns = parser.thread(message).columns;
  columns.clear();
  each_cell(scan, [&](std::size_t, std::string_view cell) {
    const auto slash = cell.find('/');
    columns.push_back({name_text(cell.substr(0, slash)),
                       slash == std::string_view::npos ? std::string() : name_text(cell.substr(slash + 1))});
  });
  return true;
}

bool read_threads(Parser& parser, const Message& message, Scan scan) {
  const auto member = parser.init_rank(message);
  if (member == Members::kNone) return true;
  const auto& columns = parser.thread(message).columns;
  auto& facts = parser.members().group_of(member).facts;
  each_cell(scan, [&](std::size_t column, std::string_view cell) {
    Scan value(cell);
    std::uint32_t threads = 0;
    if (column >= columns.size() || !value.number(threads) || facts.max_threads.size() >= kMaxColumns) return;
    auto name = columns[column].algorithm + "/" + columns[column].protocol;
    const auto same = [&](const auto& known) { return known.first == name; };
    if (std::none_of(facts.max_threads.begin(), facts.max_threads.end(), same))
      facts.max_threads.emplace_back(std::move(name), threads);
  });
  return true;
}

bool has_cell(const model::NcclCommunicator& facts, const std::string& function, const Column& column) {
  return std::any_of(facts.tuning.begin(), facts.tuning.end(), [&](const auto& cell) {
    return cell.function == function && cell.algorithm == column.algorithm &&
           cell.protocol == column.protocol;
  });
}

// "   Broadcast |   15.2/  43.6 | ...": latency in us, bandwidth in GB/s.
bool read_row(Parser& parser, const Message& message, Scan /*scan*/) {
  Scan scan(message.text);
  const auto title = trimmed(message.text.substr(0, message.text.find('|')));
  if (title.empty() || title.size() == message.text.size() || title.find(' ') != std::string_view::npos)
    return false;
  const auto member = parser.init_rank(message);
  if (member == Members::kNone) return true;
  const auto& columns = parser.thread(message).columns;
  auto& facts = parser.members().group_of(member).facts;
  if (facts.tuning_source.line == 0) facts.tuning_source = message.source;
  const auto function = name_text(title);
  each_cell(scan, [&](std::size_t column, std::string_view text) {
    model::NcclTuningCell cell;
    Scan value(text);
    if (!value.decimal(cell.latency_us) || !value.eat('/')) return;
    value.blanks();
    if (!value.decimal(cell.bandwidth) || column >= columns.size() || facts.tuning.size() >= kMaxCells)
      return;
    if (has_cell(facts, function, columns[column])) return;
    cell.function = function;
    cell.algorithm = columns[column].algorithm;
    cell.protocol = columns[column].protocol;
    facts.tuning.push_back(std::move(cell));
  });
  return true;
}

bool read_thresholds(Parser& parser, const Message& message, Scan scan) {
  const auto member = parser.init_rank(message);
  if (member == Members::kNone) return true;
  auto& text = parser.members().group_of(member).facts.thread_thresholds;
  if (text.empty()) text = name_text(scan.rest());
  return true;
}

// The names of NCCL_ALGO_* and NCCL_PROTO_* by their numbers; nccl/src/include/nccl_common.h since 2.19.
std::string algorithm_name(std::string_view text) {
  constexpr auto kNames = std::to_array<std::string_view>(
      {"TREE", "RING", "COLLNET_DIRECT", "COLLNET_CHAIN", "NVLS", "NVLS_TREE", "PAT"});
  Scan scan(text);
  std::uint32_t number = 0;
  if (scan.number(number) && scan.done() && number < kNames.size()) return std::string(kNames[number]);
  return name_text(text);
}

std::string protocol_name(std::string_view text) {
  constexpr auto kNames = std::to_array<std::string_view>({"LL", "LL128", "SIMPLE"});
  Scan scan(text);
  std::uint32_t number = 0;
  if (scan.number(number) && scan.done() && number < kNames.size()) return std::string(kNames[number]);
  return name_text(text);
}

// "{Lo..Hi}={0..15}"
void read_channels(Scan scan, model::NcclChoice& choice) {
  std::uint32_t low = 0;
  std::uint32_t high = 0;
  if (!scan.skip_past("={") || !scan.number(low) || !scan.eat("..") || !scan.number(high)) return;
  choice.channel_low = low;
  choice.channel_high = high;
}

// Behind the bytes: "Algo RING proto SIMPLE channel{Lo..Hi}={0..15}", "Algo 1 proto 2 time 123.4",
// "Kernel AllReduce_RSxLDMC_AGxSTMC nchannels 8 nthreads 512 nWorks 1".
bool read_choice(Scan scan, model::NcclChoice& choice) {
  if (scan.eat("Kernel ")) {
    choice.kernel = name_text(scan.word());
    return true;
  }
  if (!scan.eat("Algo ") && !scan.eat("algo ")) return false;
  choice.algorithm = algorithm_name(scan.word());
  (void)scan.eat(' ');
  if (scan.eat("proto ") || scan.eat("Proto ")) choice.protocol = protocol_name(scan.word());
  double time = 0;
  Scan timed = scan;
  if (timed.skip_past("time ") && timed.decimal(time)) choice.time_us = time;
  read_channels(scan, choice);
  return true;
}

// True when this message was counted before, or there is no room for another.
bool count_choice(Group& group, std::uint64_t key) {
  const auto known = group.choices.find(key);
  if (known != Index::kNone && known < group.facts.choices.size()) {
    ++group.facts.choices[known].count;
    return true;
  }
  if (group.facts.choices.size() < kMaxChoices) return false;
  ++group.facts.choices_left_out;
  return true;
}

void add_choice(Group& group, std::uint64_t key, model::NcclChoice choice, model::Source source) {
  choice.source = source;
  choice.count = 1;
  group.choices.put(key, static_cast<std::uint32_t>(group.facts.choices.size()));
  group.facts.choices.push_back(std::move(choice));
}

// "AllReduce: 1048576 Bytes -> ...", "AllReduce [Symmetric]: ...", "AllGather [Copy Engine]: ..."
bool read_named(Parser& parser, const Message& message, Scan /*scan*/) {
  Scan scan(message.text);
  model::NcclChoice choice;
  const auto name = scan.until(':');
  if (!scan.eat(": ") || name.size() > kMaxName || !scan.number(choice.bytes) || !scan.eat(" Bytes -> "))
    return false;
  const auto member = parser.rank(message);
  const auto key = hash_text(message.text);
  if (member == Members::kNone || count_choice(parser.members().group_of(member), key)) return true;
  if (!read_choice(scan, choice)) return false;
  choice.function = name_text(name.substr(0, name.find(" [")));
  choice.symmetric = name.find("[Symmetric]") != std::string_view::npos;
  choice.copy_engine = name.find("[Copy Engine]") != std::string_view::npos;
  add_choice(parser.members().group_of(member), key, std::move(choice), message.source);
  return true;
}

// "1048576 Bytes -> Algo 1 proto 2 time 123.4"
bool read_numeric(Parser& parser, const Message& message, Scan /*scan*/) {
  Scan scan(message.text);
  model::NcclChoice choice;
  if (!scan.number(choice.bytes) || !scan.eat(" Bytes -> ")) return false;
  const auto member = parser.rank(message);
  const auto key = hash_text(message.text);
  if (member == Members::kNone || count_choice(parser.members().group_of(member), key)) return true;
  if (!read_choice(scan, choice)) return false;
  add_choice(parser.members().group_of(member), key, std::move(choice), message.source);
  return true;
}

}  // namespace

std::span<const Rule> tuning_rules() {
  static constexpr auto kRules = std::to_array<Rule>({
      {"  Algorithm ", read_algorithms},
      {"  Protocol ", read_protocols},
      {" Max NThreads ", read_threads},
      {"Max NThreads ", read_threads},
      {"Latency/AlgBw ", read_old_header},
      {"  Latency/AlgBw ", read_old_header},
      {" Latency/AlgBw ", read_old_header},
      {" ", read_row},
      {"threadThresholds ", read_thresholds},
      {"All", read_named},
      {"Broadcast", read_named},
      {"Reduce", read_named},
      {"Gather", read_named},
      {"Scatter", read_named},
      {"Send", read_named},
      {"Recv", read_named},
      {"ReduceScatter |", read_row},
      {"Broadcast |", read_row},
      {"AllReduce |", read_row},
      {"AllGather |", read_row},
      {"1", read_numeric},
      {"2", read_numeric},
      {"3", read_numeric},
      {"4", read_numeric},
      {"5", read_numeric},
      {"6", read_numeric},
      {"7", read_numeric},
      {"8", read_numeric},
      {"9", read_numeric},
      {"0", read_numeric},
  });
  return kRules;
}

}  // namespace angio::import::nccl_log
