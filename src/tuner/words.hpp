// The columns of a table and the words that stand in them, between table.cpp and the readers. Internal.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace angio::tuner {

enum class Column : std::uint8_t {
  kCollective,
  kMinBytes,
  kMaxBytes,
  kAlgorithm,
  kProtocol,
  kChannels,
  kNodes,
  kRanks,
  kPipeOps,
  kRegistered,
};
inline constexpr std::size_t kColumns = 10;

// Lower case without '_', '-' and blanks.
std::string plain_word(std::string_view word);
// NCCL's own example plugin calls some columns otherwise; its names are known too.
std::optional<Column> parse_column(std::string_view word);
std::string_view to_word(Column column);

// "did you mean ring?"; without a near one "known are …".
std::string nearest(std::string_view word, std::span<const std::string_view> known);
std::string column_hint(std::string_view word);
std::string algorithm_hint(std::string_view word);
std::string protocol_hint(std::string_view word);

}  // namespace angio::tuner
