// What the views of a dry run put into rows: choices folded over sizes, the ways between ranks by class of
// pair, the adapters of each channel, and words they share. Only for src/views/dryrun_* and
// nccl_tuning_view.cpp.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "model/dryrun.hpp"
#include "views/nccl_ring_words.hpp"

namespace angio::views {

// ---- the run

std::uint32_t ranks_of(const model::DryRun& run);
std::string shape_words(const model::DryRun& run);     // "2 nodes × 8 ranks"; "2 nodes, 12 ranks (8, 4)"
std::string settings_words(const model::DryRun& run);  // "NCCL_ALGO=Ring NCCL_PROTO=LL"

// ---- choices

// "12 to 40", "12": of the first and the last.
std::string range_words(const std::string& first, const std::string& last);
std::string name_ranges(const std::set<std::string>& names);   // "eth0, mlx5_0-7"
std::string size_words(std::uint64_t from, std::uint64_t to);  // "8 B to 64 KiB"
std::string microseconds_words(double time);                   // "35.3", "5276"
std::string gigabytes_words(double gigabytes_per_second);      // "<0.1", "3.1", "356"

// What nccl-tests would print as busbw for a time, GB/s; none for a collective it has no factor of.
std::optional<double> bus_gigabytes(const std::string& collective, std::uint64_t bytes, double time_us,
                                    std::uint32_t ranks);

// Operations in a row, of one collective, with the same choice: operations[first] to operations[last].
struct DryRunChoice {
  std::size_t first = 0;
  std::size_t last = 0;
};
std::vector<DryRunChoice> folded_choices(const std::vector<model::DryRunOperation>& operations);
inline constexpr std::string_view kPointToPoint = "p2p";
// "RING", "p2p" (point to point), "not reached", "not named".
std::string algorithm_words(const model::DryRunOperation& operation);
// "RING LL128, 24 ch" of dryrun::choice_text; "p2p" for a collective of which NCCL names no choice.
std::string brief_choice(const std::string& collective, std::string choice);

// ---- ways

// Pairs of ranks of one class that go one way.
struct DryRunWay {
  std::string pairs;                                        // "within a node, NVL", "between nodes, p2p"
  std::string way;                                          // "P2P/CUMEM"
  std::set<std::pair<std::uint32_t, std::uint32_t>> ranks;  // from, to
  std::uint64_t channels = 0;                               // mask of channels 0 to 63
  std::set<std::string> adapters;
  bool slow = false;  // host memory or sockets
};
std::vector<DryRunWay> ways_of(const model::NcclLog& log, const NodeOfRank& nodes);
// Lines of connections that no pair is kept of.
std::uint64_t ways_left_out(const model::NcclLog& log);

struct ChannelAdapters {
  std::set<std::string> out;
  std::set<std::string> in;
  bool operator==(const ChannelAdapters&) const = default;
  auto operator<=>(const ChannelAdapters&) const = default;
};
using NodeAdapters = std::map<std::uint32_t, ChannelAdapters>;  // by channel
enum class DryRunGraph : std::uint8_t { kRing, kTree };
// By node: of the hops of that graph between nodes, for channels that NCCL connected whole. NCCL connects a
// graph when an operation first takes it.
std::map<std::uint32_t, NodeAdapters> adapters_of(const model::NcclLog& log, const NodeOfRank& nodes,
                                                  DryRunGraph graph);
std::string adapter_words(const NodeAdapters& adapters);  // "0,8: mlx5_0; 1,9: mlx5_0 in, mlx5_1 out"

// ---- kernels

struct DryRunKernel {
  std::string name;
  std::set<std::uint32_t> grids;   // blocks
  std::set<std::uint32_t> blocks;  // threads
  std::size_t operations = 0;
};
std::vector<DryRunKernel> kernels_of(const model::DryRun& run);  // by first launch

}  // namespace angio::views
