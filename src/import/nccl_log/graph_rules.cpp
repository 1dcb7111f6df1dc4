// The topology as NCCL saw it, the patterns that it searched, trees. Rings come with connection_rules.
#include <algorithm>
#include <array>

#include "base/text.hpp"
#include "import/nccl_log/rules.hpp"

namespace angio::import::nccl_log {

namespace {

constexpr std::uint64_t kSystemKey = 501;
constexpr std::size_t kMaxSystems = 16384;
constexpr std::size_t kMaxDetailed = 64;  // systems with their nodes and paths
constexpr std::size_t kMaxNodes = 1024;   // NCCL allows 256 to 576 of each type
constexpr std::size_t kMaxRows = 512;
constexpr std::size_t kMaxCells = 1024;
constexpr std::size_t kMaxName = 64;

std::string name_text(std::string_view text) {
  return printable(text.substr(0, kMaxName));
}

// "=== System : maxBw 48.0 totalBw 450.0 ==="
bool read_system(Parser& parser, const Message& message, Scan scan) {
  auto& thread = parser.thread(message);
  thread.system.reset();
  auto& systems = parser.log().systems;
  const auto key = hash_text(message.text, mix(kSystemKey, hash_text(parser.host(message))));
  auto* system = parser.once(key, systems, kMaxSystems);
  if (system == nullptr || system->count++ > 0) return true;
  system->host = parser.host(message);
  system->source = message.source;
  if (!scan.skip_past("maxBw ") && !scan.skip_past("maxWidth ")) return true;
  (void)scan.decimal(system->max_bw);
  if (scan.skip_past("totalBw ") || scan.skip_past("totalWidth ")) (void)scan.decimal(system->total_bw);
  if (systems.size() <= kMaxDetailed) thread.system = static_cast<std::uint32_t>(systems.size() - 1);
  return true;
}

model::NcclSystem* open_system(Parser& parser, const Message& message) {
  const auto index = parser.thread(message).system;
  return index && *index < parser.log().systems.size() ? &parser.log().systems[*index] : nullptr;
}

// "GPU/0-1b000 :GPU/0-1b000 (0/5000.0/LOC) GPU/0-43000 (2/412.9/NVL)"
void read_row(Scan scan, std::string_view from, model::NcclSystem& system) {
  if (system.paths.size() >= kMaxRows) return;
  model::NcclPathRow row;
  row.from = name_text(from);
  while (!scan.done() && row.cells.size() < kMaxCells) {
    scan.blanks();
    model::NcclPathCell cell;
    cell.to = name_text(scan.word());
    if (!scan.eat(" (") || !scan.number(cell.hops) || !scan.eat('/') || !scan.decimal(cell.bandwidth) ||
        !scan.eat('/'))
      break;
    cell.type = name_text(scan.until(')'));
    (void)scan.eat(')');
    row.cells.push_back(std::move(cell));
  }
  system.paths.push_back(std::move(row));
}

// "GPU/0-1b000": the types of nodes of nccl/src/graph/topo.cc.
bool names_node(std::string_view text) {
  constexpr auto kTypes =
      std::to_array<std::string_view>({"GPU/", "NET/", "NVS/", "CPU/", "PCI/", "NIC/", "GIN/"});
  return std::any_of(kTypes.begin(), kTypes.end(), [&](auto type) { return text.starts_with(type); });
}

// A root of the tree "CPU/0-0 (1/1/2)", or a row of paths.
bool read_node(Parser& parser, const Message& message, Scan /*scan*/) {
  Scan scan(message.text);
  const auto name = scan.word();
  auto* system = open_system(parser, message);
  if (scan.eat(" :")) {
    if (!names_node(scan.rest())) return false;  // "NET/Plugin : No plugin found"
    if (system != nullptr) read_row(scan, name, *system);
    return true;
  }
  if (!scan.done() && !scan.eat(" (")) return false;
  if (system != nullptr && system->nodes.size() < kMaxNodes)
    system->nodes.push_back({0, "", 0, name_text(name), name_text(scan.until(')'))});
  return true;
}

// "    + PCI[24.0] - GPU/0-1b000 (0)"
bool read_branch(Parser& parser, const Message& message, Scan /*scan*/) {
  Scan scan(message.text);
  scan.blanks();
  const auto depth = message.text.size() - scan.rest().size();
  if (!scan.eat("+ ")) return false;
  auto* system = open_system(parser, message);
  if (system == nullptr || system->nodes.size() >= kMaxNodes) return true;
  model::NcclSystemNode node;
  node.depth = static_cast<std::uint32_t>(depth) + 1;
  node.link = name_text(scan.until('['));
  if (!scan.eat('[') || !scan.decimal(node.bandwidth) || !scan.eat("] - ")) return true;
  node.name = name_text(scan.word());
  if (scan.eat(" (")) node.detail = name_text(scan.until(')'));
  system->nodes.push_back(std::move(node));
  return true;
}

bool same(const model::NcclPattern& a, const model::NcclPattern& b) {
  return a.pattern == b.pattern && a.cross_nic == b.cross_nic && a.channels == b.channels &&
         a.bw_intra == b.bw_intra && a.bw_inter == b.bw_inter && a.type_intra == b.type_intra &&
         a.type_inter == b.type_inter && a.same_channels == b.same_channels;
}

// "4, crossNic 0, nChannels 16, bw 45.000000/45.000000, type NVL/PXN, sameChannels 1"; "speed" in 2.12 and
// older, where "nvlink 1, type 2" may stand for the types.
bool parse_pattern(Scan scan, model::NcclPattern& pattern) {
  if (!scan.number(pattern.pattern) || !scan.eat(", crossNic ") || !scan.number(pattern.cross_nic) ||
      !scan.eat(", nChannels ") || !scan.number(pattern.channels))
    return false;
  if (!scan.eat(", bw ") && !scan.eat(", speed ")) return false;
  if (!scan.decimal(pattern.bw_intra) || !scan.eat('/') || !scan.decimal(pattern.bw_inter)) return false;
  if (scan.skip_past("type ")) {
    pattern.type_intra =
        name_text(scan.rest().substr(0, std::min(scan.rest().find_first_of("/,"), scan.rest().size())));
    (void)scan.eat(pattern.type_intra);
    if (scan.eat('/')) pattern.type_inter = name_text(scan.until(','));
  }
  std::uint32_t flag = 0;
  if (scan.skip_past("sameChannels ") && scan.number(flag)) pattern.same_channels = flag != 0;
  return true;
}

bool read_pattern(Parser& parser, const Message& message, Scan scan) {
  model::NcclPattern pattern;
  if (!parse_pattern(scan, pattern)) return false;
  const auto member = parser.init_rank(message);
  auto& thread = parser.thread(message);
  thread.pattern.reset();
  if (member == Members::kNone) return true;
  auto& patterns = parser.members().group_of(member).facts.patterns;
  const auto known =
      std::find_if(patterns.begin(), patterns.end(), [&](const auto& other) { return same(other, pattern); });
  if (known != patterns.end()) {
    ++known->count;
    return true;
  }
  if (patterns.size() >= kMaxPatterns) {
    ++parser.log().left_out;
    return true;
  }
  pattern.source = message.source;
  pattern.count = 1;
  patterns.push_back(std::move(pattern));
  thread.pattern = {member, static_cast<std::uint32_t>(patterns.size() - 1)};
  return true;
}

// " 0 : NET/0-0 GPU/0-1b000 NET/0-0", "10 : ..."
bool read_chain(Parser& parser, const Message& message, Scan /*scan*/) {
  Scan scan(message.text);
  std::uint32_t channel = 0;
  scan.blanks();
  if (!scan.number(channel) || !scan.eat(" : ")) return false;
  if (!names_node(scan.rest())) return false;
  const auto open = parser.thread(message).pattern;
  if (!open) return true;
  auto& patterns = parser.members().group_of(open->first).facts.patterns;
  if (open->second < patterns.size() && patterns[open->second].chains.size() < kMaxChannels)
    patterns[open->second].chains.push_back(keep_text(scan.rest()));
  return true;
}

// "a/b/c": the slashed side of a tree is down.
bool read_down(Scan& scan, model::NcclTree& tree) {
  for (auto& down : tree.down) {
    if (!scan.number(down)) return false;
    if (!scan.eat('/')) return true;
  }
  return true;
}

// "1/8/-1->0->-1" (2.6+), "-1->0->2/8/-1" (2.4 and 2.5).
bool read_tree(std::string_view text, model::NcclTree& tree) {
  const auto first = text.substr(0, text.find("->"));
  Scan scan(text);
  const bool down_first = first.find('/') != std::string_view::npos;
  if (!(down_first ? read_down(scan, tree) : scan.number(tree.up))) return false;
  if (!scan.eat("->") || !scan.number(tree.self) || !scan.eat("->")) return false;
  return down_first ? scan.number(tree.up) : read_down(scan, tree);
}

bool read_trees(Parser& parser, const Message& message, Scan scan) {
  const auto member = parser.init_rank(message);
  if (member == Members::kNone) return true;
  auto& rank = parser.members().at(member).rank;
  if (!rank.trees.empty()) return true;
  rank.trees_source = message.source;
  while (!scan.done() && rank.trees.size() < kMaxChannels) {
    model::NcclTree tree;
    scan.blanks();
    if (!scan.eat('[') || !scan.number(tree.channel) || !scan.eat("] ")) break;
    const auto text = scan.word();
    if (!read_tree(text, tree)) break;
    if (!rank.rank && tree.self >= 0) rank.rank = static_cast<std::uint32_t>(tree.self);
    rank.trees.push_back(tree);
  }
  return true;
}

bool read_end(Parser& /*parser*/, const Message& /*message*/, Scan /*scan*/) {
  return true;
}

}  // namespace

std::span<const Rule> graph_rules() {
  static constexpr auto kRules = std::to_array<Rule>({
      {"=== System", read_system}, {"====", read_end},  {"+ ", read_branch},        {" ", read_branch},
      {" ", read_chain},           {"1", read_chain},   {"2", read_chain},          {"3", read_chain},
      {"4", read_chain},           {"5", read_chain},   {"6", read_chain},          {"0", read_chain},
      {"7", read_chain},           {"8", read_chain},   {"9", read_chain},          {"GPU/", read_node},
      {"CPU/", read_node},         {"NET/", read_node}, {"PCI/", read_node},        {"NVS/", read_node},
      {"NIC/", read_node},         {"GIN/", read_node}, {"Pattern ", read_pattern}, {"Trees ", read_trees},
  });
  return kRules;
}

}  // namespace angio::import::nccl_log
