#include "import/nccl_log/rules.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

namespace angio::import::nccl_log {

namespace {

constexpr std::size_t kLetters = 128;

// The first four letters of a beginning as one number: most rules are passed over by one comparison.
struct Entry {
  Rule rule;
  std::uint32_t word = 0;
  std::uint32_t mask = 0;
};

std::uint32_t first_word(std::string_view text) {
  std::uint32_t word = 0;
  if (text.size() >= sizeof word) {
    std::memcpy(&word, text.data(), sizeof word);
  } else {
    std::memcpy(&word, text.data(), text.size());
  }
  return word;
}

// Rules by the first letter of their message.
struct Dispatch {
  std::array<std::vector<Entry>, kLetters> rules;
  std::array<std::vector<std::string_view>, kLetters> known;
};

void add_rules(Dispatch& dispatch, std::span<const Rule> rules) {
  for (const Rule& rule : rules) {
    constexpr std::string_view kOnes = "\xff\xff\xff\xff";
    Entry entry{rule, first_word(rule.start),
                first_word(kOnes.substr(0, std::min(rule.start.size(), kOnes.size())))};
    dispatch.rules[static_cast<std::size_t>(rule.start.front())].push_back(entry);
  }
}

// The families that come by the million first.
Dispatch make_dispatch() {
  Dispatch dispatch;
  add_rules(dispatch, connection_rules());
  add_rules(dispatch, call_rules());
  add_rules(dispatch, network_rules());
  add_rules(dispatch, tuning_rules());
  add_rules(dispatch, graph_rules());
  add_rules(dispatch, init_rules());
  add_rules(dispatch, plugin_rules());
  for (const auto start : known_starts())
    dispatch.known[static_cast<std::size_t>(start.front())].push_back(start);
  return dispatch;
}

// Beginnings specific enough that a new kind of line is still counted as unknown.
constexpr auto kKnown = std::to_array<std::string_view>({
    // init
    "Comm config ",
    "Launch mode ",
    "CC Off",
    "CC On",
    "Using non-device net plugin",
    "Using internal ",
    "MNNVL busId ",
    "MNNVL 0",
    "MNNVL 1",
    "Mem Realloc ",
    "MemManager: ",
    "Mem Alloc",
    "Mem Free",
    "Allocated ",
    "Cuda Alloc ",
    "Cuda Host ",
    "Cuda Free ",
    "Enabled NCCL Func/Proto/Algo Matrix",
    "Function |",
    "Bootstrap timings ",
    "RAS client ",
    "RAS failed ",
    "RAS handling ",
    "RAS link ",
    "RAS connection ",
    "KV Convert to int ",
    "Could not find real path of ",
    "Could not get speed from ",
    "dlvsym failed on ",
    "Topology detection",
    "TOPO/NET ",
    "ncclTopoPopulateNics ",
    "Attribute ",
    "CUDA Dev ",
    "ncclCuMem",
    "cuMem",
    "Trees enabled",
    "commDestroy",
    "commFree",
    "User buffer ",
    "ncclIntraNode",
    "ncclGetUniqueId",
    "Comm ",
    "Symmetric memory ",
    "isAllDirectP2p",
    "Tree/CollNet threshold",
    // connections
    "New proxy ",
    "proxyProgressAsync ",
    "ncclPollProxyResponse ",
    "resp.opId=",
    "Received and initiated ",
    "ncclP2pSchedule",
    "Check P2P Type ",
    "UDS: ",
    "[Proxy Service",
    "[Proxy Progress]",
    "[Service",
    "socketProgressOpt",
    "ncclIpcSocket",
    "ncclProxy",
    "ncclRegister",
    "ncclDeregister",
    "register comm ",
    "rank ",
    "Waiting for ",
    "P2P/CE ",
    "Loaded ",
    "Registered ",
    "Proxy ",
    // graphs
    "NVLS Head ",
    "NVLS rank ",
    "NVLS comm ",
    "NVLS importing ",
    "NVLS Creat",
    "NVLS Bound",
    "NVLS Unbind",
    "NVLS reg",
    "NVLS_NCHANNELS",
    "Search ",
    "Ring ",
    "Tree ",
    "PAT ",
    "Using 256 threads",
    "Using 512 threads",
    "Skipping ",
    // plugins
    "P2P plugin ",
    "NET/OFI ",
    "NET/gIB",
    "NET/IBext",
    "NET/UCX",
    "NET/Plugin",
    "TUNER/",
    "PROFILER/",
    "ENV/",
    "GIN/",
    "RMA/",
    "CollNet",
    "NET/IB : Initializing ",
    "NET/IB: GPU Direct",
    "NET/IB : GPU Direct",
    "NET/Socket ",
    "Profiler ",
});

bool is_digit(char letter) {
  return letter >= '0' && letter <= '9';
}

// "misc/socket.cc:845 -> 6": passes on what this thread said just before. RAS tries and gives up without
// harm.
void read_chain(Parser& parser, const Message& message, int result) {
  const bool ras = message.text.starts_with("ras/");
  if (auto* cause = parser.last_event(message, 1)) {
    if (!cause->result && cause->is_warning) cause->result = result;
    if (ras) cause->handled = true;
  }
  parser.event(message, model::NcclEventKind::kErrorChain, false);
  if (auto* own = parser.last_event(message, 0); own != nullptr && own->count == 1)
    own->handled = ras || parser.aborting(message);
}

}  // namespace

std::span<const std::string_view> known_starts() {
  return kKnown;
}

bool read_info(Parser& parser, const Message& message) {
  static const Dispatch dispatch = make_dispatch();
  if (message.text.empty()) return true;
  const auto letter = static_cast<unsigned char>(message.text.front());
  if (letter >= kLetters) return false;
  const auto word = first_word(message.text);
  for (const auto& [rule, start, mask] : dispatch.rules[letter]) {
    if (((word ^ start) & mask) != 0 || !message.text.starts_with(rule.start)) continue;
    if (rule.read(parser, message, Scan(message.text.substr(rule.start.size())))) return true;
  }
  if (read_located(parser, message)) return true;
  for (const auto start : dispatch.known[letter]) {
    if (message.text.starts_with(start)) return true;
  }
  return false;
}

bool read_located(Parser& parser, const Message& message) {
  const auto text = message.text;
  const auto blank = text.find(' ');
  if (blank == std::string_view::npos || blank < 4 || !is_digit(text[blank - 1])) return false;
  const auto colon = text.find(':');
  if (colon == std::string_view::npos || colon > blank || colon == 0) return false;
  const auto rest = text.substr(blank);
  constexpr std::string_view kArrow = " -> ";
  if (rest.starts_with(kArrow) && rest.size() > kArrow.size() && is_digit(rest[kArrow.size()])) {
    read_chain(parser, message, rest[kArrow.size()] - '0');
    return true;
  }
  // "init.cc:2353 Cuda Host Alloc Size 4 pointer 0x...": the subsystem ALLOC.
  const auto name = text.substr(0, colon);
  if (!name.ends_with(".cc") && !name.ends_with(".h") && !name.ends_with(".cu")) return false;
  if (rest.find("lloc") != std::string_view::npos) parser.log().memory_profile_lines = true;
  return true;
}

}  // namespace angio::import::nccl_log
