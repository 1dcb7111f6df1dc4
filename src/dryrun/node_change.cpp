#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text.hpp"
#include "dryrun/node_design.hpp"

namespace angio::dryrun {
namespace {

constexpr std::string_view kHint =
    "Write NODE:WHAT=VALUE, e.g. 1:without=mlx5_3, 3:without=gpu:5, 2:order=0,2,1,3, 1:ranks=4, "
    "1:slow=mlx5_3:100 (Gb/s) or 0:NCCL_IB_HCA=mlx5_0; several joined by ';'";
constexpr std::array<std::string_view, 4> kWords{"without", "order", "ranks", "slow"};

std::unexpected<Error> refuse(std::string message) {
  return fail(ErrorCode::kInvalidInput, std::move(message), std::string(kHint));
}

// Names of variables are words in capitals here: a small letter is a mistyped word of ours.
bool is_variable(std::string_view name) {
  const auto fits = [](char letter) {
    return (letter >= 'A' && letter <= 'Z') || (letter >= '0' && letter <= '9') || letter == '_';
  };
  return !name.empty() && (name.front() < '0' || name.front() > '9') && std::ranges::all_of(name, fits);
}

Result<void> add_without(std::string_view value, NodeChange& change) {
  for (const std::string_view name : split(value, ',')) {
    if (name.empty()) return refuse("without= names nothing");
    if (name.starts_with("gpu:") && !parse_integer<std::uint32_t>(name.substr(4)))
      return refuse(fmt::format("\"{}\" is no GPU", printable(name)));
    change.without.emplace_back(name);
  }
  return {};
}

Result<void> add_order(std::string_view value, NodeChange& change) {
  if (!change.order.empty()) return refuse("order= stands twice");
  for (const std::string_view word : split(value, ',')) {
    const auto device = parse_integer<std::uint32_t>(word);
    if (!device) return refuse(fmt::format("order: \"{}\" is no CUDA device", printable(word)));
    if (std::ranges::find(change.order, *device) != change.order.end())
      return refuse(fmt::format("order: device {} stands twice", *device));
    change.order.push_back(*device);
  }
  return {};
}

Result<void> add_ranks(std::string_view value, NodeChange& change) {
  const auto ranks = parse_integer<std::uint32_t>(value);
  if (!ranks || *ranks == 0)
    return refuse(fmt::format("ranks: \"{}\" is no number of ranks", printable(value)));
  change.ranks = ranks;
  return {};
}

Result<void> add_slow(std::string_view value, NodeChange& change) {
  constexpr std::uint32_t kFastest = 1000000;  // Gb/s: Mb/s of it fit 32 bits
  for (const std::string_view part : split(value, ',')) {
    const std::size_t colon = part.rfind(':');
    if (colon == std::string_view::npos || colon == 0)
      return refuse(fmt::format("slow: \"{}\" is not NIC:SPEED", printable(part)));
    const auto speed = parse_integer<std::uint32_t>(part.substr(colon + 1));
    if (!speed || *speed == 0 || *speed > kFastest)
      return refuse(fmt::format("slow: \"{}\" is no speed in Gb/s", printable(part.substr(colon + 1))));
    change.speed.emplace_back(part.substr(0, colon), *speed);
  }
  return {};
}

Result<void> add_part(std::string_view part, NodeChange& change) {
  const std::size_t equals = part.find('=');
  if (equals == std::string_view::npos) return refuse(fmt::format("\"{}\" has no '='", printable(part)));
  const std::string_view name = trim(part.substr(0, equals));
  const std::string_view value = part.substr(equals + 1);
  if (name == "without") return add_without(trim(value), change);
  if (name == "order") return add_order(trim(value), change);
  if (name == "ranks") return add_ranks(trim(value), change);
  if (name == "slow") return add_slow(trim(value), change);
  if (is_variable(name)) {
    change.environment.emplace_back(name, value);
    return {};
  }
  const auto meant = did_you_mean(name, kWords);
  return refuse(fmt::format("\"{}\" is nothing that a node can differ in{}", printable(name),
                            meant ? "; did you mean " + *meant + "?" : ""));
}

}  // namespace

Result<NodeChange> parse_node_change(std::string_view text) {
  const std::size_t colon = text.find(':');
  const auto node =
      colon == std::string_view::npos ? std::nullopt : parse_integer<std::uint32_t>(text.substr(0, colon));
  if (!node) return refuse(fmt::format("\"{}\" does not begin with the number of a node", printable(text)));
  NodeChange change;
  change.node = *node;
  for (const std::string_view part : split(text.substr(colon + 1), ';')) {
    if (auto added = add_part(trim(part), change); !added) return std::unexpected(std::move(added.error()));
  }
  return change;
}

}  // namespace angio::dryrun
