// What the log of one communicator shows, summed up: its weakest graphs, the ways of its pairs, the NICs that
// carry connections. What compare, reasons and against ask of a log, and no verdict. Only for src/dryrun.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/nccl_log.hpp"
#include "model/nccl_world.hpp"

namespace angio::dryrun {

// "2.28.9" of "2.28.9+cuda13.0".
std::string release_of(std::string_view version);
// "2.18" and newer of a release; true also for a text that is no version.
bool is_at_least(std::string_view release, std::string_view bound);

enum class GraphKind : std::uint8_t { kRing, kTree, kNvls };
std::string_view label(GraphKind kind);  // "ring", "tree", "NVLS"
// Of those that the ranks found the one with the least bandwidth: NCCL takes the least of all ranks. Null:
// none.
const model::NcclPattern* weakest_graph(const model::NcclCommunicator& world, GraphKind kind);
// "12 channels of 30 GB/s, paths NVL", with several nodes "8 channels of 48 GB/s, between nodes 48, NVL/PIX".
std::string graph_in_words(const model::NcclPattern& graph, bool between_nodes);

// Pairs of ranks as (from, to).
using Pairs = std::set<std::pair<std::uint32_t, std::uint32_t>>;
struct Ways {
  std::map<std::string, Pairs> by_name;  // "P2P/CUMEM", "NET/IB GDRDMA"
  Pairs p2p, shm, net, net_gdr, proxied;
  std::map<std::uint32_t, std::uint64_t> nics;  // lines by the plugin's device number
  bool complete = true;                         // false: more pairs than the log's facts keep
  [[nodiscard]] bool empty() const { return by_name.empty(); }
};
Ways ways_of(const model::NcclCommunicator& world);
bool is_p2p(model::NcclTransport transport);
std::string count_pairs(std::size_t count);  // "1 pair", "56 pairs"

// The name of a network device by its number; "NIC 3" where no line names it.
std::string nic_name(const model::NcclLog& log, std::uint32_t device);
// The settings by that name which NCCL said it took; null: it named none. The one of most processes.
const model::NcclSetting* read_setting(const model::NcclLog& log, std::string_view name);
const std::string* find_setting(const std::vector<std::pair<std::string, std::string>>& settings,
                                std::string_view name);
// A number other than 0, as NCCL reads it.
bool is_on(std::string_view value);

// The most that a rank of the communicator says.
std::optional<std::uint32_t> most(const model::NcclCommunicator& world,
                                  std::optional<std::uint32_t> model::NcclRank::* member);
// What NCCL calls the network of its connections, "IB"; empty: not said.
std::string network_of(const model::NcclLog& log);

std::string number(double value);                                     // "30", "17.5"
std::string ranks_in_order(const std::vector<std::uint32_t>& order);  // "0 7 6 5", cut when long

}  // namespace angio::dryrun
