#include "dryrun/sizes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <set>
#include <string>

#include "base/text.hpp"

namespace angio::dryrun {
namespace {

using nccl_run::Collective;

constexpr std::array kAll{Collective::kAllReduce, Collective::kAllGather, Collective::kReduceScatter,
                          Collective::kBroadcast, Collective::kReduce,    Collective::kAllToAll,
                          Collective::kSendRecv};

constexpr std::string_view kSizesHint =
    "Write sizes of a buffer: 8,64K,1M,1G; or from:to (doubling) or from:to:factor, e.g. 8:1G:4; K, M, G are "
    "powers of 1024";

std::unexpected<Error> bad_size(std::string message) {
  return fail(ErrorCode::kInvalidInput, std::move(message), std::string(kSizesHint));
}

// How far a unit shifts; none for a word that is no unit.
std::optional<unsigned> shift_of(std::string_view unit) {
  const std::string word = to_lower(unit);
  if (word.empty() || word == "b") return 0;
  constexpr std::string_view kUnits = "kmgt";
  const std::size_t at = kUnits.find(word.front());
  const std::string_view rest = std::string_view(word).substr(1);
  if (at == std::string_view::npos || (!rest.empty() && rest != "b" && rest != "ib")) return std::nullopt;
  return 10 * (static_cast<unsigned>(at) + 1);
}

Result<std::uint64_t> parse_size(std::string_view text) {
  const std::size_t end = std::min(text.find_first_not_of("0123456789"), text.size());
  const auto number = parse_integer<std::uint64_t>(text.substr(0, end));
  const auto shift = shift_of(text.substr(end));
  if (!number || !shift) return bad_size(fmt::format("\"{}\" is no size", printable(text)));
  if (*number == 0) return bad_size("a size of 0 bytes");
  if (*number > (std::numeric_limits<std::uint64_t>::max() >> *shift))
    return bad_size(fmt::format("\"{}\" is more than 64 bits hold", printable(text)));
  return *number << *shift;
}

Result<void> add_range(const std::vector<std::string_view>& parts, std::set<std::uint64_t>& sizes) {
  const auto from = parse_size(parts[0]);
  if (!from) return std::unexpected(from.error());
  const auto to = parse_size(parts[1]);
  if (!to) return std::unexpected(to.error());
  const auto factor =
      parts.size() == 3 ? parse_integer<std::uint64_t>(parts[2]) : std::optional<std::uint64_t>(2);
  if (!factor || *factor < 2)
    return bad_size(fmt::format("the factor \"{}\" is no number from 2 on", printable(parts.back())));
  if (*from > *to)
    return bad_size(fmt::format("{} is more than {}", printable(parts[0]), printable(parts[1])));
  for (std::uint64_t size = *from; size <= *to; size *= *factor) {
    sizes.insert(size);
    if (size > *to / *factor || sizes.size() > kMostSizes) break;
  }
  return {};
}

}  // namespace

Result<std::vector<Collective>> parse_collectives(std::string_view text) {
  std::vector<Collective> chosen;
  for (const std::string_view part : split(text, ',')) {
    const std::string_view word = trim(part);
    if (to_lower(word) == "all") {
      chosen.insert(chosen.end(), kAll.begin(), kAll.end());
      continue;
    }
    auto one = nccl_run::parse_collective(word);
    if (!one) return std::unexpected(std::move(one.error()));
    chosen.push_back(*one);
  }
  std::vector<Collective> unique;
  for (const Collective each : chosen)
    if (std::ranges::find(unique, each) == unique.end()) unique.push_back(each);
  return unique;
}

Result<std::vector<std::uint64_t>> parse_sizes(std::string_view text) {
  std::set<std::uint64_t> sizes;
  for (const std::string_view word : split(text, ',')) {
    const std::vector<std::string_view> parts = split(trim(word), ':');
    if (parts.size() > 3) return bad_size(fmt::format("\"{}\" is no range of sizes", printable(word)));
    if (parts.size() == 1) {
      const auto one = parse_size(parts[0]);
      if (!one) return std::unexpected(one.error());
      sizes.insert(*one);
    } else if (auto range = add_range(parts, sizes); !range) {
      return std::unexpected(std::move(range.error()));
    }
    if (sizes.size() > kMostSizes)
      return bad_size(fmt::format("more than {} sizes: use a larger factor", kMostSizes));
  }
  return std::vector<std::uint64_t>(sizes.begin(), sizes.end());
}

std::vector<nccl_run::Operation> make_operations(const std::vector<Collective>& collectives,
                                                 const std::vector<std::uint64_t>& sizes) {
  std::vector<nccl_run::Operation> operations;
  operations.reserve(collectives.size() * sizes.size());
  for (const Collective collective : collectives)
    for (const std::uint64_t bytes : sizes)
      operations.push_back({collective, bytes});
  return operations;
}

}  // namespace angio::dryrun
