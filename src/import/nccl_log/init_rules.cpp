// Identities, versions, settings and what a rank says while it is initialised.
#include <algorithm>
#include <array>

#include "base/text.hpp"
#include "import/nccl_log/events.hpp"
#include "import/nccl_log/rules.hpp"

namespace angio::import::nccl_log {

namespace {

constexpr std::uint64_t kSettingKey = 201;
constexpr std::uint64_t kSettingProcessKey = 202;
constexpr std::uint64_t kTopologyKey = 203;
constexpr std::uint64_t kTopologyProcessKey = 204;
constexpr std::size_t kMaxSettings = 4096;
constexpr std::size_t kMaxTopologies = 4096;
constexpr std::size_t kMaxTimings = 16;

template <typename Number>
std::optional<Number> number_after(std::string_view text, std::string_view name) {
  Scan scan(value_after(text, name));
  Number value{};
  if (!scan.number(value)) return std::nullopt;
  return value;
}

// busId as NCCL packs it: domain, bus, device, function in 20, 8, 8 and 4 bits from the left (utils.cc,
// busIdToInt64).
std::optional<PciAddress> unpack_bus_id(std::string_view text) {
  Scan scan(text);
  std::uint64_t value = 0;
  if (!scan.hex(value) || !scan.done() || value >> 52U != 0) return std::nullopt;
  PciAddress address;
  address.domain = static_cast<std::uint32_t>(value >> 20U);
  address.bus = static_cast<std::uint8_t>((value >> 12U) & 0xffU);
  address.device = static_cast<std::uint8_t>((value >> 4U) & 0xffU);
  address.function = static_cast<std::uint8_t>(value & 0xfU);
  return address;
}

std::uint64_t address_key(std::string_view text) {
  Scan scan(text);
  std::uint64_t value = 0;
  return scan.hex(value) && scan.done() ? value : hash_text(text);
}

// "comm 0x55d0 rank 0 nranks 2 cudaDev 0 nvmlDev 0 busId 7000 commId 0x33 parent 0x44 splitCount 1 color 0
// key 0 - Init START", with or without the name of the function in front.
struct Line {
  std::string_view function;
  std::string_view text;  // from "comm" on
  std::string_view address;
  std::string_view end;  // behind " - "
  Identity identity;
};

std::optional<Line> split_line(std::string_view text) {
  Line line;
  const auto at = text.starts_with("comm ") ? 0 : text.find(" comm ");
  if (at == std::string_view::npos) return std::nullopt;
  auto function = text.substr(0, at);
  if (function.starts_with('[')) {  // "[Rank 0] "
    const auto close = function.find("] ");
    function = close == std::string_view::npos ? std::string_view() : function.substr(close + 2);
  }
  line.function = function;
  line.text = text.substr(at == 0 ? 0 : at + 1);
  line.address = value_after(line.text, "comm");
  auto nranks = number_after<std::uint32_t>(line.text, "nranks");
  if (!nranks) nranks = number_after<std::uint32_t>(line.text, "nRanks");
  const auto rank = number_after<std::uint32_t>(line.text, "rank");
  if (!nranks || !rank) return std::nullopt;
  line.identity = {value_after(line.text, "commId"), *nranks, *rank};
  const auto dash = line.text.rfind(" - ");
  if (dash != std::string_view::npos) line.end = line.text.substr(dash + 3);
  return line;
}

void fill(Member& member, const Line& line) {
  auto& rank = member.rank;
  rank.rank = line.identity.rank;
  if (rank.address.empty()) rank.address = printable(line.address.substr(0, 32));
  if (!line.function.empty() && rank.function.empty()) rank.function = printable(line.function.substr(0, 64));
  if (const auto device = number_after<int>(line.text, "cudaDev")) rank.cuda_device = device;
  if (const auto device = number_after<int>(line.text, "nvmlDev")) rank.nvml_device = device;
  const auto bus_id = value_after(line.text, "busId");
  if (rank.bus_id.empty() && !bus_id.empty()) {
    rank.bus_id = printable(bus_id.substr(0, 32));
    rank.gpu = unpack_bus_id(bus_id);
  }
}

void fill_split(model::NcclCommunicator& facts, std::string_view text) {
  const auto parent = value_after(text, "parent");
  if (parent.empty() || !facts.parent.empty()) return;
  facts.parent = printable(parent.substr(0, 32));
  facts.color = number_after<std::int64_t>(text, "color");
  facts.key = number_after<std::int64_t>(text, "key");
}

// The rank that a line with an address names; the one that this thread initialises; a new one.
std::uint32_t find_member(Parser& parser, const Message& message, const Line& line) {
  auto& members = parser.members();
  const auto named = members.find(message.process, address_key(line.address));
  if (named != Members::kNone && members.at(named).rank.rank == line.identity.rank &&
      members.at(named).nranks == line.identity.nranks)
    return named;
  const auto pending = parser.thread(message).member;
  if (pending != Members::kNone && !members.at(pending).has_start && members.at(pending).nranks == 0)
    return pending;
  return parser.new_rank(message);
}

void identify(Parser& parser, const Message& message, std::uint32_t member, const Line& line) {
  auto& members = parser.members();
  fill(members.at(member), line);
  members.settle(member, line.identity, parser.host(message), message.source);
  members.name(member, message.process, address_key(line.address));
  parser.remember_device(message, member);
  fill_split(members.group_of(member).facts, line.text);
}

bool start(Parser& parser, const Message& message, const Line& line) {
  const auto member = parser.new_rank(message);
  if (member == Members::kNone) return true;
  identify(parser, message, member, line);
  auto& made = parser.members().at(member);
  made.has_start = true;
  made.rank.state = model::NcclRankState::kStarted;
  made.rank.started = message.source;
  return true;
}

bool finish(Parser& parser, const Message& message, const Line& line) {
  const auto member = find_member(parser, message, line);
  if (member == Members::kNone) return true;
  identify(parser, message, member, line);
  auto& rank = parser.members().at(member).rank;
  rank.state = model::NcclRankState::kComplete;
  rank.completed = message.source;
  return true;
}

bool leave(Parser& parser, const Message& message, const Line& line, model::NcclRankState state) {
  const auto member = find_member(parser, message, line);
  if (member == Members::kNone) return true;
  identify(parser, message, member, line);
  auto& rank = parser.members().at(member).rank;
  rank.state = state;
  rank.ended = message.source;
  if (state != model::NcclRankState::kAborted) return true;
  parser.event(message, model::NcclEventKind::kAbort, false);
  if (auto* made = parser.last_event(message, 0)) made->handled = true;  // the program's own wish
  return true;
}

// "comm 0x.. rank 0 nRanks 16 nNodes 2 localRanks 8 localRank 0 MNNVL 0"
bool place(Parser& parser, const Message& message, const Line& line) {
  const auto member = find_member(parser, message, line);
  if (member == Members::kNone) return true;
  identify(parser, message, member, line);
  auto& rank = parser.members().at(member).rank;
  rank.local_ranks = number_after<std::uint32_t>(line.text, "localRanks");
  rank.local_rank = number_after<std::uint32_t>(line.text, "localRank");
  auto& facts = parser.members().group_of(member).facts;
  if (facts.nodes) return true;
  facts.nodes = number_after<std::uint32_t>(line.text, "nNodes");
  facts.local_ranks = rank.local_ranks;
  if (const auto mnnvl = number_after<std::uint32_t>(line.text, "MNNVL")) facts.mnnvl = *mnnvl != 0;
  facts.nodes_source = message.source;
  return true;
}

bool read_comm(Parser& parser, const Message& message, Scan /*scan*/) {
  const auto line = split_line(message.text);
  if (!line) return false;
  if (line->end.starts_with("Init START")) return start(parser, message, *line);
  if (line->end.starts_with("Init COMPLETE")) return finish(parser, message, *line);
  if (line->end.starts_with("Destroy COMPLETE"))
    return leave(parser, message, *line, model::NcclRankState::kDestroyed);
  if (line->end.starts_with("Abort COMPLETE"))
    return leave(parser, message, *line, model::NcclRankState::kAborted);
  if (line->end.starts_with("Abort START")) parser.aborting(message) = true;
  if (line->text.find(" nNodes ") != std::string_view::npos) return place(parser, message, *line);
  return true;
}

// "Init timings - ncclCommInitRank: rank 0 nranks 8 total 1.23 (kernels 0.20, alloc 0.10, ...)"
bool read_timings(Parser& parser, const Message& message, Scan scan) {
  double total = 0;
  if (!scan.skip_past(" total ") || !scan.decimal(total)) return false;
  const auto member = parser.rank(message);
  if (member == Members::kNone) return true;
  auto& rank = parser.members().at(member).rank;
  rank.init_seconds = total;
  rank.timing_source = message.source;
  rank.init_parts.clear();
  if (!scan.eat(" (")) return true;
  while (!scan.done() && rank.init_parts.size() < kMaxTimings) {
    const auto name = scan.word();
    double seconds = 0;
    if (!scan.eat(' ') || !scan.decimal(seconds)) break;
    rank.init_parts.push_back({printable(name.substr(0, 32)), seconds});
    if (!scan.eat(", ")) break;
  }
  return true;
}

void set_affinity(Parser& parser, const Message& message, std::string_view text) {
  const auto member = parser.init_rank(message);
  if (member == Members::kNone) return;
  auto& rank = parser.members().at(member).rank;
  rank.affinity = keep_text(text);
  rank.affinity_source = message.source;
}

// "Setting affinity for GPU 0 to ff,fff00000"
bool read_old_affinity(Parser& parser, const Message& message, Scan scan) {
  if (!scan.skip_past(" to ")) return false;
  set_affinity(parser, message, scan.rest());
  return true;
}

// "ncclTopoGetCpuAffinity: Affinity for GPU 0 is 0-47. (GPU affinity = 0-47 ; CPU affinity = 0-95)."
bool read_affinity(Parser& parser, const Message& message, Scan scan) {
  if (!scan.skip_past(" is ")) return false;
  auto text = scan.word();
  if (text.ends_with('.')) text.remove_suffix(1);
  set_affinity(parser, message, text);
  return true;
}

bool read_driver(Parser& parser, const Message& message, Scan scan) {
  std::uint32_t version = 0;
  if (!scan.number(version)) return false;
  parser.process(message).cuda_driver = version;
  return true;
}

bool read_runtime(Parser& parser, const Message& message, Scan scan) {
  std::uint32_t version = 0;
  if (scan.number(version)) parser.process(message).cuda_runtime = version;
  return true;
}

bool read_version(Parser& parser, const Message& message, Scan scan) {
  if (scan.eat(": ")) scan.blanks();
  if (scan.peek() < '0' || scan.peek() > '9') return false;
  parser.version(scan.rest(), message.text.starts_with('R'), message.process, message.source);
  return true;
}

bool read_git(Parser& parser, const Message& message, Scan scan) {
  parser.process(message).git = printable(scan.rest().substr(0, 100));
  return true;
}

// "NCCL_IB_HCA set by environment to mlx5", "NCCL_SOCKET_IFNAME set to v0"
bool read_setting(Parser& parser, const Message& message, Scan scan) {
  const auto rest = scan.word();
  const auto name = message.text.substr(0, message.text.size() - scan.rest().size());
  std::string_view origin;
  if (rest.empty() || !scan.eat(" set ")) return false;
  if (scan.eat("by ")) {
    origin = scan.word();
    (void)scan.eat(' ');
  }
  if (!scan.eat("to ") && !scan.eat("to")) return false;
  auto value = scan.rest();
  if (value.ends_with('.')) value.remove_suffix(1);
  if (value.size() > 1 && value.front() == '"' && value.back() == '"')
    value = value.substr(1, value.size() - 2);
  const auto key = hash_text(value, hash_text(name, mix(kSettingKey, hash_text(origin))));
  auto* setting = parser.once(key, parser.log().settings, kMaxSettings);
  if (setting == nullptr) return true;
  if (setting->count++ == 0) {
    setting->name = printable(name.substr(0, 100));
    setting->value = keep_text(value);
    setting->origin = printable(origin.substr(0, 40));
    setting->source = message.source;
  }
  if (parser.first_time(mix(key, kSettingProcessKey + message.process)))
    setting->processes.push_back(message.process);
  return true;
}

// "Using eth0:10.0.0.1<0>", "Using [0]ib0:10.148.8.41<0> [1]ib1:10.149.8.41<0>"
bool read_bootstrap(Parser& parser, const Message& message, Scan scan) {
  scan.blanks();
  if (!scan.eat(": ") || !scan.eat("Using ")) return false;
  (void)scan.eat("[0]");
  auto& process = parser.process(message);
  const auto name = scan.until(':');
  if (!scan.eat(':')) return false;
  process.bootstrap_interface = printable(name.substr(0, 64));
  process.bootstrap_address = printable(scan.word().substr(0, 100));
  process.bootstrap_source = message.source;
  return true;
}

void add_topology(Parser& parser, const Message& message, std::string_view path,
                  model::NcclTopologyOutcome outcome, std::string_view error) {
  const auto key = hash_text(path, mix(kTopologyKey, static_cast<std::uint64_t>(outcome)));
  auto* file = parser.once(key, parser.log().topology_files, kMaxTopologies);
  if (file == nullptr) return;
  if (file->count++ == 0) {
    file->path = keep_text(path);
    file->outcome = outcome;
    file->error = keep_text(error);
    file->source = message.source;
  }
  if (parser.first_time(mix(key, kTopologyProcessKey + message.process)))
    file->processes.push_back(message.process);
}

bool read_topology_file(Parser& parser, const Message& message, Scan scan) {
  add_topology(parser, message, scan.rest(), model::NcclTopologyOutcome::kLoading, {});
  return true;
}

bool read_unnamed_topology(Parser& parser, const Message& message, Scan /*scan*/) {
  add_topology(parser, message, {}, model::NcclTopologyOutcome::kUnnamed, {});
  return true;
}

// "Could not open XML topology file /x : No such file or directory": a WARN, or an INFO for the default path.
bool read_unopened(Parser& parser, const Message& message, Scan scan) {
  const auto at = scan.rest().rfind(" : ");
  const auto path = scan.rest().substr(0, at);
  const auto error = at == std::string_view::npos ? std::string_view() : scan.rest().substr(at + 3);
  add_topology(parser, message, path, model::NcclTopologyOutcome::kFailed, error);
  return true;
}

bool read_nvls(Parser& parser, const Message& message, Scan scan) {
  const auto member = parser.init_rank(message);
  if (member == Members::kNone) return true;
  auto& rank = parser.members().at(member).rank;
  rank.nvls = !scan.eat("not ");
  rank.nvls_source = message.source;
  return true;
}

// "16 coll channels, 16 collnet channels, 0 nvls channels, 32 p2p channels, 32 p2p channels per peer"; what
// is not said in a version is not said.
bool read_channels(Parser& parser, const Message& message, Scan scan) {
  scan = Scan(message.text);
  std::uint32_t number = 0;
  if (!scan.number(number) || !scan.rest().starts_with(" coll channels")) return false;
  const auto member = parser.init_rank(message);
  if (member == Members::kNone) return true;
  auto& rank = parser.members().at(member).rank;
  rank.channels_source = message.source;
  rank.coll_channels = number;
  (void)scan.eat(" coll channels");
  while (scan.eat(", ") && scan.number(number)) {
    if (scan.eat(" collnet channels")) {
      rank.collnet_channels = number;
    } else if (scan.eat(" nvls channels")) {
      rank.nvls_channels = number;
    } else if (scan.eat(" p2p channels per peer")) {
      rank.p2p_channels_per_peer = number;
    } else if (scan.eat(" p2p channels")) {
      rank.p2p_channels = number;
    } else {
      break;
    }
  }
  return true;
}

bool read_chunk(Parser& parser, const Message& message, Scan scan) {
  std::uint32_t bytes = 0;
  const auto member = parser.init_rank(message);
  if (member != Members::kNone && scan.number(bytes))
    parser.members().at(member).rank.p2p_chunk_bytes = bytes;
  return true;
}

// Failures that NCCL says at INFO level: it goes on, or tries again.
bool read_failed_call(Parser& parser, const Message& message, Scan /*scan*/) {
  if (message.text.find("not supported") != std::string_view::npos) return true;
  parser.event(message, classify(message.text), false);
  const bool goes_on = message.text.find("retrying") != std::string_view::npos ||
                       message.text.starts_with("Could not enable P2P");
  if (auto* made = parser.last_event(message, 0); made != nullptr && goes_on) made->handled = true;
  return true;
}

}  // namespace

std::span<const Rule> init_rules() {
  static constexpr auto kRules = std::to_array<Rule>({
      {"comm ", read_comm},
      {"ncclComm", read_comm},
      {"[Rank ", read_comm},
      {"Init timings", read_timings},
      {"Setting affinity for GPU ", read_old_affinity},
      {"ncclTopoGetCpuAffinity: Affinity for GPU ", read_affinity},
      {"Affinity for GPU ", read_affinity},
      {"cudaDriverVersion ", read_driver},
      {"cudaRuntimeVersion ", read_runtime},
      {"NCCL version ", read_version},
      {"RCCL version ", read_version},
      {"NCCL git version ", read_git},
      {"NCCL_", read_setting},
      {"RCCL_", read_setting},
      {"HSA_", read_setting},
      {"CUDA_", read_setting},
      {"Bootstrap", read_bootstrap},
      {"Loading topology file ", read_topology_file},
      {"Loading unnamed topology", read_unnamed_topology},
      {"Could not open XML topology file ", read_unopened},
      {"NVLS multicast support is ", read_nvls},
      {"P2P Chunksize set to ", read_chunk},
      {"0", read_channels},
      {"1", read_channels},
      {"2", read_channels},
      {"3", read_channels},
      {"4", read_channels},
      {"5", read_channels},
      {"6", read_channels},
      {"7", read_channels},
      {"8", read_channels},
      {"9", read_channels},
      {"Call to ", read_failed_call},
      {"Could not enable P2P between ", read_failed_call},
      {"socketStartConnect", read_failed_call},
      {"socketPollConnect", read_failed_call},
      {"Retry ", read_failed_call},
  });
  return kRules;
}

}  // namespace angio::import::nccl_log
