#include "import/numactl/numactl.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

#include "base/text.hpp"

namespace angio::import::numactl {
namespace {

constexpr std::string_view kRunAgain = "run 'numactl --hardware > numa.txt' again and send the whole file";
constexpr std::uint32_t kMaxNode = 1023;  // the kernel's largest CONFIG_NODES_SHIFT is 10
constexpr std::size_t kMaxTable = 1024;   // columns of the distance table: 2^10 nodes

// "node 4 cpus: 0 1 2": number, what it tells, the rest.
struct NodeLine {
  std::uint32_t node = 0;
  std::string_view what;
  std::string_view value;
};

std::optional<std::uint32_t> parse_node(std::string_view word) {
  const auto node = parse_integer<std::uint32_t>(word);
  return node && *node <= kMaxNode ? node : std::nullopt;
}

std::optional<NodeLine> parse_node_line(std::string_view text) {
  KeyValue pair;
  if (!trim(text).starts_with("node ") || !split_key_value(text, ":", pair)) return std::nullopt;
  const auto words = split_words(pair.key);
  if (words.size() != 3) return std::nullopt;
  const auto node = parse_node(words[1]);
  const bool told = words[2] == "cpus" || words[2] == "size" || words[2] == "free";
  if (!node || !told) return std::nullopt;
  return NodeLine{*node, words[2], pair.value};
}

bool is_distance_heading(std::string_view text) {
  const std::string_view trimmed = trim(text);
  return trimmed == "node distances:" || trimmed == "node distances";
}

// "node   0   1   2": the columns.
std::vector<std::uint32_t> parse_columns(std::string_view text) {
  std::vector<std::uint32_t> columns;
  const auto words = split_words(text);
  if (words.size() < 2 || words[0] != "node" || words.size() > kMaxTable + 1) return {};
  for (std::size_t i = 1; i < words.size(); ++i) {
    const auto node = parse_node(words[i]);
    if (!node) return {};
    columns.push_back(*node);
  }
  return columns;
}

bool is_numbers(std::string_view text) {
  const auto words = split_words(text);
  return !words.empty() && std::ranges::all_of(words, is_digits);
}

class HardwareImport {
 public:
  explicit HardwareImport(Draft& draft) : draft_(draft) {}

  void take(const Line& line) {
    const std::string_view text = line.text;
    const auto node_line = parse_node_line(text);
    const bool continues = cpu_list_ != nullptr && is_numbers(text);
    if (is_blank(text)) return;
    if (continues) return add_cpus(*cpu_list_, line, text, true);
    cpu_list_ = nullptr;
    if (node_line) return take_node(*node_line, line);
    if (take_table(line) || take_available(line)) return;
    const bool command = contains(text, "numactl") && (contains(text, "-H") || contains(text, "--hardware"));
    if (!command) draft_.note_unknown_line("numactl", line.number, text);
  }

  bool finish() {
    for (auto& [id, node] : nodes_)
      draft_.machine.numa.nodes.push_back(finish_node(id, node));
    note_missing();
    for (const auto& [id, node] : nodes_)
      draft_.machine.cpus.online |= node.cpus;
    return !nodes_.empty();
  }

 private:
  struct Node {
    CpuSet cpus;
    bool cpus_told = false;
    model::Observed<Bytes> memory;
    model::Observed<Bytes> free;
    std::uint32_t line = 0;
    std::vector<std::uint32_t> distances;  // to columns_
    std::uint32_t distance_line = 0;
  };

  void take_node(const NodeLine& told, const Line& line) {
    Node& node = nodes_[told.node];
    if (node.line == 0) node.line = line.number;
    if (told.what == "cpus") {
      if (node.cpus_told) note_twice(told.node, line);
      node.cpus_told = true;
      cpu_list_ = &node;
      add_cpus(node, line, told.value, false);
    } else {
      (told.what == "size" ? node.memory : node.free) = read_size(told.value, line);
    }
  }

  void note_twice(std::uint32_t node, const Line& line) {
    draft_.note(
        "numactl.node-twice", line.number, [&] { return fmt::format("node {} is listed twice", node); },
        "give one file per node");
  }

  void add_cpus(Node& node, const Line& line, std::string_view text, bool joined) {
    for (const std::string_view word : split_words(text)) {
      const auto single = parse_integer<std::uint32_t>(word);
      if (single && *single <= CpuSet::kMaxCpu) {
        node.cpus.insert(*single);
        continue;
      }
      const auto cpus = parse_cpu_list(word);
      if (cpus && !cpus->empty()) {
        node.cpus |= *cpus;
      } else {
        draft_.note(
            "numactl.cpus-unreadable", line.number,
            [&] { return fmt::format("{} is no CPU number", quoted(word)); }, kRunAgain);
      }
    }
    if (joined) {
      draft_.note("numactl.wrapped", line.number,
                  "the line continues the CPU list above and was joined to it",
                  "redirect the output into a file instead of copying from a terminal");
    }
  }

  model::Observed<Bytes> read_size(std::string_view value, const Line& line) {
    if (contains(value, "not available")) {
      return draft_.unreadable<Bytes>(model::Reason::kUnsupported, line.number);
    }
    const auto size = value.ends_with("MB") ? parse_byte_count(value) : std::nullopt;
    if (size) return draft_.known(Bytes{*size}, line.number);
    draft_.note(
        "numactl.size-unreadable", line.number,
        [&] { return fmt::format("{}: expected a number of MB", quoted(value)); }, kRunAgain);
    return draft_.unreadable<Bytes>(model::Reason::kUnparsable, line.number);
  }

  bool take_table(const Line& line) {
    if (is_distance_heading(line.text)) return true;
    if (trim(line.text) == "No distance information available.") {
      no_distances_ = line.number;
      return true;
    }
    if (auto columns = parse_columns(line.text); !columns.empty()) {
      if (columns_.empty()) {
        columns_ = std::move(columns);
      } else {
        draft_.note("numactl.table-twice", line.number, "a second distance table; the first counts",
                    "give one file per node");
        second_table_ = true;
      }
      return true;
    }
    return take_distances(line);
  }

  // "  3:  21  31  21  10"
  bool take_distances(const Line& line) {
    KeyValue pair;
    if (!split_key_value(line.text, ":", pair) || !is_numbers(pair.value)) return false;
    const auto id = parse_node(pair.key);
    if (!id) return false;
    if (second_table_) return true;
    Node& node = nodes_[*id];
    if (node.line == 0) node.line = line.number;
    if (node.distance_line > 0) note_twice(*id, line);
    node.distance_line = line.number;
    node.distances.clear();
    for (const std::string_view word : split_words(pair.value)) {
      if (node.distances.size() == kMaxTable) break;
      node.distances.push_back(parse_integer<std::uint32_t>(word).value_or(0));
    }
    return true;
  }

  // "available: 8 nodes (0-7)"
  bool take_available(const Line& line) {
    KeyValue pair;
    if (!split_key_value(line.text, ":", pair) || pair.key != "available") return false;
    const auto words = split_words(pair.value);
    const auto count = words.empty() ? std::nullopt : parse_integer<std::uint32_t>(words[0]);
    if (!count || words.size() < 2 || !words[1].starts_with("node")) return false;
    available_ = count;
    available_line_ = line.number;
    return true;
  }

  model::NumaNode finish_node(std::uint32_t id, const Node& node) {
    model::NumaNode result;
    result.id = NumaId{id};
    result.cpus = node.cpus;
    result.memory = node.memory;
    result.memory_free = node.free;
    const bool memory = !node.memory.is(Bytes{0});
    if (node.cpus_told && node.cpus.empty()) {
      result.kind = memory ? model::NumaKind::kMemoryOnly : model::NumaKind::kEmpty;
    } else if (node.cpus_told && !memory) {
      result.kind = model::NumaKind::kCpuOnly;
    } else if (!node.cpus_told) {
      draft_.note(
          "numactl.cpus-missing", node.line,
          [&] { return fmt::format("the CPUs of node {} are not in the text", id); }, kRunAgain);
    }
    result.distances = finish_distances(id, node);
    return result;
  }

  // From the order of the table's columns to the order of the machine's nodes.
  model::Observed<std::vector<std::uint32_t>> finish_distances(std::uint32_t id, const Node& node) {
    using Distances = std::vector<std::uint32_t>;
    if (no_distances_ > 0) return draft_.absent<Distances>(no_distances_);
    if (node.distance_line == 0) return {};
    std::map<std::uint32_t, std::uint32_t> to;
    for (std::size_t i = 0; i < node.distances.size() && i < columns_.size(); ++i) {
      if (node.distances[i] > 0) to.emplace(columns_[i], node.distances[i]);
    }
    Distances ordered;
    for (const auto& [other, unused] : nodes_) {
      if (const auto found = to.find(other); found != to.end()) ordered.push_back(found->second);
    }
    if (ordered.size() == nodes_.size() && node.distances.size() == columns_.size()) {
      return draft_.known(std::move(ordered), node.distance_line);
    }
    draft_.note(
        "numactl.distances-incomplete", node.distance_line,
        [&] {
          return fmt::format("node {} has {} distances, expected {} (one per node)", id,
                             node.distances.size(), std::max(columns_.size(), nodes_.size()));
        },
        kRunAgain);
    return draft_.unreadable<Distances>(model::Reason::kUnparsable, node.distance_line);
  }

  void note_missing() {
    if (available_ && *available_ != nodes_.size()) {
      draft_.note(
          "numactl.nodes-missing", available_line_,
          [&] { return fmt::format("{} nodes announced, {} described", *available_, nodes_.size()); },
          kRunAgain);
    }
    const auto rows =
        std::ranges::count_if(nodes_, [](const auto& node) { return node.second.distance_line > 0; });
    const bool cut = columns_.empty() ? rows > 0 : static_cast<std::size_t>(rows) != columns_.size();
    if (cut) {
      draft_.note(
          "numactl.table-incomplete", 0,
          [&] { return fmt::format("the distance table has {} columns and {} rows", columns_.size(), rows); },
          kRunAgain);
    }
  }

  Draft& draft_;
  std::map<std::uint32_t, Node> nodes_;
  std::vector<std::uint32_t> columns_;
  Node* cpu_list_ = nullptr;  // the node whose list the next line may continue
  bool second_table_ = false;
  std::uint32_t no_distances_ = 0;  // line
  std::optional<std::uint32_t> available_;
  std::uint32_t available_line_ = 0;
};

}  // namespace

bool looks_like(const std::vector<Line>& lines) {
  for (const Line& line : lines) {
    if (parse_node_line(line.text) || is_distance_heading(line.text)) return true;
  }
  return false;
}

Result<model::Machine> import_hardware(const std::vector<Line>& lines, Draft draft) {
  HardwareImport hardware(draft);
  for (const Line& line : lines)
    hardware.take(line);
  if (!hardware.finish()) {
    return draft.nothing_read("lines such as 'node 0 cpus: 0 1 2 3' or a table 'node distances:'", kRunAgain);
  }
  return std::move(draft.machine);
}

}  // namespace angio::import::numactl
