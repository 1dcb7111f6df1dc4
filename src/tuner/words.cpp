#include "tuner/words.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "base/text.hpp"
#include "tuner/table.hpp"

namespace angio::tuner {
namespace {

using std::string_view_literals::operator""sv;

constexpr std::array kCollectiveWords{"broadcast"sv, "reduce"sv, "allgather"sv, "reducescatter"sv,
                                      "allreduce"sv};
constexpr std::array kAlgorithmWords{"tree"sv,     "ring"sv, "collnetdirect"sv, "collnetchain"sv, "nvls"sv,
                                     "nvlstree"sv, "pat"sv};
constexpr std::array kProtocolWords{"ll"sv, "ll128"sv, "simple"sv};
constexpr std::array kColumnWords{"collective"sv,   "min_bytes"sv, "max_bytes"sv, "algorithm"sv,
                                  "protocol"sv,     "channels"sv,  "nodes"sv,     "ranks"sv,
                                  "num_pipe_ops"sv, "reg_buff"sv};

struct Alias {
  std::string_view word;
  Column column;
};
// As the comments of NCCL's example tuner name its fields, and what is short for them.
constexpr std::array kAliases{Alias{"colltype", Column::kCollective}, Alias{"nnodes", Column::kNodes},
                              Alias{"nranks", Column::kRanks},        Alias{"nchannels", Column::kChannels},
                              Alias{"pipeops", Column::kPipeOps},     Alias{"algo", Column::kAlgorithm},
                              Alias{"proto", Column::kProtocol}};

template <typename Value>
std::optional<Value> find_word(std::string_view word, std::span<const std::string_view> known) {
  const std::string plain = plain_word(word);
  for (std::size_t i = 0; i < known.size(); ++i)
    if (plain == plain_word(known[i])) return static_cast<Value>(i);
  return std::nullopt;
}

}  // namespace

std::string plain_word(std::string_view word) {
  std::string plain = to_lower(word);
  std::erase_if(plain, [](char c) { return c == '_' || c == '-' || c == ' ' || c == '\t'; });
  return plain;
}

std::optional<Column> parse_column(std::string_view word) {
  if (const auto column = find_word<Column>(word, kColumnWords)) return column;
  const std::string plain = plain_word(word);
  const auto alias = std::ranges::find(kAliases, plain, &Alias::word);
  return alias == kAliases.end() ? std::nullopt : std::optional(alias->column);
}

std::string_view to_word(Column column) {
  return kColumnWords.at(static_cast<std::size_t>(column));
}

std::string nearest(std::string_view word, std::span<const std::string_view> known) {
  // Longer than any word: no typing error, and not worth an edit distance over megabytes.
  if (word.size() <= 64)
    if (const auto guess = did_you_mean(plain_word(word), known)) return "did you mean " + *guess + "?";
  std::vector<std::string> words(known.begin(), known.end());
  return "known are " + join(words, ", ");
}

std::string column_hint(std::string_view word) {
  return nearest(word, kColumnWords);
}
std::string algorithm_hint(std::string_view word) {
  return nearest(word, kAlgorithmWords);
}
std::string protocol_hint(std::string_view word) {
  return nearest(word, kProtocolWords);
}
std::string collective_hint(std::string_view word) {
  return nearest(word, kCollectiveWords);
}

std::optional<Collective> parse_collective(std::string_view word) {
  return find_word<Collective>(word, kCollectiveWords);
}
std::optional<Algorithm> parse_algorithm(std::string_view word) {
  return find_word<Algorithm>(word, kAlgorithmWords);
}
std::optional<Protocol> parse_protocol(std::string_view word) {
  return find_word<Protocol>(word, kProtocolWords);
}

std::string_view to_word(Collective value) {
  return kCollectiveWords.at(static_cast<std::size_t>(value));
}
std::string_view to_word(Algorithm value) {
  return kAlgorithmWords.at(static_cast<std::size_t>(value));
}
std::string_view to_word(Protocol value) {
  return kProtocolWords.at(static_cast<std::size_t>(value));
}

std::string to_text(const Range& range) {
  if (range.low <= 1 && range.high == kUnlimited) return "*";
  if (range.low == range.high) return std::to_string(range.low);
  return std::to_string(range.low) + "-" + (range.high == kUnlimited ? "*" : std::to_string(range.high));
}

std::string hash_text(std::uint64_t hash) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text(16, '0');
  for (std::size_t i = 16; i-- > 0; hash >>= 4U)
    text[i] = kDigits[hash & 15U];
  return text;
}

// NCCL's ncclTopoTuneModel (src/graph/tuning.cc, 2.23 to 2.30) gives every other combination no bandwidth at
// all.
bool exists(Collective collective, Algorithm algorithm, Protocol protocol) {
  if (algorithm == Algorithm::kRing) return true;
  const bool gathers = collective == Collective::kAllGather || collective == Collective::kReduceScatter;
  const bool reduces = collective == Collective::kAllReduce;
  if (algorithm == Algorithm::kTree) return reduces;
  if (protocol != Protocol::kSimple) return false;
  if (algorithm == Algorithm::kPat) return gathers;
  if (algorithm == Algorithm::kNvls || algorithm == Algorithm::kCollNetDirect) return gathers || reduces;
  return reduces;  // the chain of CollNet and the tree of NVLS
}

}  // namespace angio::tuner
