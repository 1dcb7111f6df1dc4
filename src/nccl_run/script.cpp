#include "nccl_run/script.hpp"

#include <fmt/format.h>

#include <array>

#include "base/text.hpp"

namespace angio::nccl_run {
namespace {

struct CollectiveName {
  Collective value;
  std::string_view name;
  std::string_view plain;  // lower case
};

constexpr std::array<CollectiveName, 7> kCollectives{{
    {Collective::kAllReduce, "AllReduce", "allreduce"},
    {Collective::kAllGather, "AllGather", "allgather"},
    {Collective::kReduceScatter, "ReduceScatter", "reducescatter"},
    {Collective::kBroadcast, "Broadcast", "broadcast"},
    {Collective::kReduce, "Reduce", "reduce"},
    {Collective::kAllToAll, "AllToAll", "alltoall"},
    {Collective::kSendRecv, "SendRecv", "sendrecv"},
}};

constexpr std::string_view kMark = "angio dryrun: operation ";

std::string plain_word(std::string_view word) {
  std::string plain = to_lower(trim(word));
  std::erase_if(plain, [](char c) { return c == '_' || c == '-'; });
  return plain;
}

}  // namespace

std::string_view label(Collective collective) {
  for (const CollectiveName& known : kCollectives) {
    if (known.value == collective) return known.name;
  }
  return "?";
}

Result<Collective> parse_collective(std::string_view word) {
  const std::string plain = plain_word(word);
  std::vector<std::string_view> names;
  std::vector<std::string> shown;
  for (const CollectiveName& known : kCollectives) {
    if (known.plain == plain) return known.value;
    names.push_back(known.plain);
    shown.emplace_back(known.plain);
  }
  const std::optional<std::string> nearest = did_you_mean(plain, names);
  return fail(ErrorCode::kInvalidInput, fmt::format("\"{}\" is no collective", printable(word)),
              nearest ? fmt::format("did you mean {}?", *nearest) : "known: " + join(shown, ", "));
}

std::string operation_mark(std::uint32_t index, const Operation& operation) {
  return fmt::format("{}{} {} {} bytes", kMark, index, label(operation.collective), operation.bytes);
}

std::optional<std::uint32_t> parse_operation_mark(std::string_view line) {
  line = trim(line);
  if (!line.starts_with(kMark)) return std::nullopt;
  const std::vector<std::string_view> words = split_words(line.substr(kMark.size()));
  if (words.size() != 4 || words[3] != "bytes" || !parse_integer<std::uint64_t>(words[2]) ||
      !parse_collective(words[1])) {
    return std::nullopt;
  }
  return parse_integer<std::uint32_t>(words[0]);
}

}  // namespace angio::nccl_run
