// The table of a tuner: which algorithm, protocol and number of channels NCCL shall take for which
// collective, size and shape of communicator. Parsing (TOML or CSV) and validation; choices.hpp answers
// questions about it. Pure: no file, no clock, no NCCL. Shared by the plugin that NCCL loads, where it runs
// inside a process that is not ours, and by `angio tuner`. Throws only bad_alloc.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"

namespace angio::tuner {

// The numbers are those of NCCL's plugin interface (ncclFunc_t, NCCL_ALGO_*, NCCL_PROTO_*), equal since 2.19.
enum class Collective : std::uint8_t { kBroadcast, kReduce, kAllGather, kReduceScatter, kAllReduce };
enum class Algorithm : std::uint8_t { kTree, kRing, kCollNetDirect, kCollNetChain, kNvls, kNvlsTree, kPat };
enum class Protocol : std::uint8_t { kLl, kLl128, kSimple };
inline constexpr std::size_t kCollectives = 5;

inline constexpr std::uint64_t kUnlimited = std::numeric_limits<std::uint64_t>::max();

// Both ends are in it.
struct Range {
  std::uint64_t low = 0;
  std::uint64_t high = kUnlimited;
  bool operator==(const Range&) const = default;
  [[nodiscard]] bool has(std::uint64_t value) const { return low <= value && value <= high; }
  [[nodiscard]] bool covers(const Range& other) const { return low <= other.low && other.high <= high; }
  [[nodiscard]] bool meets(const Range& other) const { return low <= other.high && other.low <= high; }
};

struct Rule {
  Collective collective = Collective::kAllReduce;
  Range bytes;
  Range nodes;
  Range ranks;
  Range pipe_ops;    // operations of the group that NCCL takes together; known from every interface
  Range registered;  // 0: plain buffers, 1: registered ones; NCCL 2.24 and newer say it
  Algorithm algorithm = Algorithm::kRing;
  Protocol protocol = Protocol::kSimple;
  std::uint32_t channels = 0;  // 0: as NCCL computes
  std::uint32_t line = 0;      // where it begins in the file
};

// What is wrong with a line, or worth knowing about it.
struct Remark {
  std::uint32_t line = 0;  // 0: of the whole file
  std::string message;
  std::string hint;  // may be empty
};

enum class Format : std::uint8_t { kToml, kCsv };

struct Table {
  Format format = Format::kToml;
  std::uint64_t hash = 0;         // FNV-1a of the file's bytes: equal files on all nodes have equal hashes
  std::vector<Rule> rules;        // in the file's order: the first that fits decides
  std::vector<Remark> problems;   // not empty: the table is refused
  std::size_t more_problems = 0;  // beyond those kept
  std::vector<Remark> remarks;    // rows that overlap
  std::size_t more_remarks = 0;
  [[nodiscard]] bool usable() const { return problems.empty(); }
};

inline constexpr std::size_t kMaxFile = std::size_t{16} << 20U;  // bytes; a larger file is no table
inline constexpr std::size_t kMaxRows = 65536;
inline constexpr std::size_t kMaxRemarks = 50;
// How many different ranges of num_pipe_ops a table may name: each doubles what a communicator keeps.
inline constexpr std::size_t kMaxPipeRanges = 8;

Table parse_table(std::string_view bytes);

// "65536", "64K", "1 MiB", "4GB": powers of 1024.
std::optional<std::uint64_t> parse_size(std::string_view text);
std::optional<Collective> parse_collective(std::string_view word);  // any case, '_' and '-' left out
std::optional<Algorithm> parse_algorithm(std::string_view word);
std::optional<Protocol> parse_protocol(std::string_view word);

std::string_view to_word(Collective value);  // "allreduce"
std::string_view to_word(Algorithm value);   // "nvlstree"
std::string_view to_word(Protocol value);    // "ll128"
std::string to_text(const Range& range);     // "8", "2-16", "16-*", "*"
std::string hash_text(std::uint64_t hash);   // 16 hexadecimal digits
// " Did you mean ring?", or the whole list.
std::string collective_hint(std::string_view word);

// Whether some NCCL can run this collective so; protocols and collectives of an algorithm are fixed in NCCL.
bool exists(Collective collective, Algorithm algorithm, Protocol protocol);

}  // namespace angio::tuner
